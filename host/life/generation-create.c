/* How a generation is made: its policy, whether it may run so, its plugin; then others see it. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "life/allowance.h"
#include "life/generation.h"
#include "worker/crew.h"
#include "worker/granted.h"

/* ------------------------------------------------------------------------- policy */

static int read_policy(struct generation *generation, const struct generation_source *source,
                       struct toolrack_error *err) {
    const struct life_options *options = generation->all->options;
    const struct scan_folder *folder = generation->file->folder;
    struct policy_options policy = allowance_options(options, folder, source->desc);
    generation->identity_text =
            identity_text_in(&generation->arena, source->desc->plugin->id, folder->origin);
    if (generation->identity_text == NULL) {
        return error_oom(err);
    }
    int code = allowance_read(options, generation->identity_text, &generation->arena, &policy, err);
    if (code == 0) {
        code = policy_make(&policy, &generation->arena, &generation->policy, err);
    }
    generation->is_isolated = source->isolated || generation->policy.isolation == ISOLATION_PROCESS;
    return code;
}

/* What other users could change must not run with the rights of the host, nor have the rights that
 * come with a trust. */
static int judge_exposure(const struct generation *generation,
                          const struct generation_source *source, struct toolrack_error *err) {
    enum trust trust = source->file->folder->trust;
    if (source->exposure == NULL) {
        return 0;
    }
    if (!generation->is_isolated || trust > TRUST_COMMUNITY) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "a plugin %s must not be one that others could change: %s",
                         !generation->is_isolated ? "with isolation \"none\""
                         : trust == TRUST_BUILTIN ? "of trust \"builtin\""
                                                  : "of trust \"official\"",
                         source->exposure);
    }
    if (!source->file->exposure_told) {
        source->file->exposure_told = true;
        log_line(generation->all->options->log, LOG_WARNING, source->desc->plugin->id, "%s",
                 source->exposure);
    }
    return 0;
}

/* Of a plugin that needs a worker, only its own policy decides otherwise: what is said of all
 * plugins of a folder or of an app was not said with it in mind. */
static int judge_isolation(const struct generation *generation, const struct tr_plugin *plugin,
                           struct toolrack_error *err) {
    const struct life_options *options = generation->all->options;
    if (generation->is_isolated) {
        return 0;
    }
    if (options->require_sandbox) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the sandbox is required, and the plugin would run with isolation "
                         "\"none\": without any");
    }
    if ((plugin->flags & TR_NEEDS_WORKER) == 0) {
        return 0;
    }
    if (!generation->policy.isolation_is_own) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "only the sandbox of a worker keeps the plugin within what it is granted, "
                         "and it would run with isolation \"none\": without any");
    }
    log_line(
            options->log, LOG_WARNING, plugin->id,
            "runs with isolation \"none\", as its policy says, though only the sandbox of a worker "
            "keeps it within what it is granted");
    return 0;
}

/* Log what is allowed and yet not granted, but not what a placeholder leaves open. */
static void tell_refusals(const struct generation *generation, const char *id) {
    const struct life_options *options = generation->all->options;
    const struct policy *policy = &generation->policy;
    for (size_t i = 0; i < policy->capability_count; i++) {
        const struct policy_capability *capability = &policy->capabilities[i];
        if (capability->refusal == NULL || capability->is_void) {
            continue;
        }
        char line[32] = "";
        if (capability->allowance_line > 0) {
            (void)snprintf(line, sizeof line, ", line %zu", capability->allowance_line);
        }
        const char *file = options->places->config_file;
        log_line(options->log, LOG_ERROR, id, "'%s:%s' is not granted (%s%s): %s",
                 policy_capability_name(capability->declared->kind), capability->declared->value,
                 capability->is_given                            ? "by 'toolrack allow'"
                 : capability->allowance == NULL || file == NULL ? "by its trust"
                                                                 : file,
                 line, capability->refusal);
    }
}

/* ------------------------------------------------------------------------- plugin */

/* A function of a library has no file to copy: the library belongs to the system, and only the
 * worker finds out which file it is. A quarantine then applies to the definition. */
static bool set_foreign(struct generation *generation, struct plugin *plugin,
                        const struct generation_source *source) {
    size_t length = strlen(source->foreign_text);
    generation->foreign = arena_copy(&generation->arena, source->foreign_text, length);
    plugin->image_path = strdup(source->foreign->library);
    (void)crypto_hash_sha256(plugin->sha256, (const unsigned char *)source->foreign_text, length);
    memcpy(generation->sha256, plugin->sha256, sizeof generation->sha256);
    atomic_store(&plugin->staged, true);
    return generation->foreign != NULL && plugin->image_path != NULL;
}

/* What the policy says of the plugin to those who call it. */
static int apply_policy(const struct generation *generation, struct plugin *plugin,
                        struct toolrack_error *err) {
    const struct policy *policy = &generation->policy;
    plugin->isolated = generation->is_isolated;
    plugin->host.paths = granted_paths(&policy->sandbox, &plugin->arena);
    if (plugin->host.paths == NULL) {
        return error_oom(err);
    }
    plugin->pin = policy->pin;
    plugin->measures_all = policy->measures_all;
    if (!plugin->isolated) {
        return 0;
    }
    /* As many calls may hold a thread of the pool as the crew can serve. */
    uint32_t workers = policy->limits.workers_max;
    workers = workers != 0 ? workers : CREW_WORKERS_DEFAULT;
    plugin->calls_max = plugin->serial ? workers : workers * CREW_LANES_MAX;
    int code = allowance_new_text(policy, &plugin->new_capabilities, err);
    return code < 0 ? code
                    : allowance_missing(plugin->desc->plugin->id, policy, &plugin->missing, err);
}

static int make_plugin(struct generation *generation, const struct generation_source *source,
                       struct plugin **ret, struct toolrack_error *err) {
    const struct scan_folder *folder = source->file->folder;
    CLEANUP(plugin_unrefp)
    struct plugin *plugin =
            plugin_create(source->file->path, folder->trust, folder->origin, &source->identity,
                          source->desc, generation->all->options->images);
    if (plugin == NULL || (source->foreign != NULL && !set_foreign(generation, plugin, source))) {
        return error_oom(err);
    }
    int code = apply_policy(generation, plugin, err);
    if (code == 0) {
        atomic_store(&plugin->kept, source->kept);
        *ret = STEAL(plugin);
    }
    return code;
}

/* ---------------------------------------------------------------------------- whole */

/* From here on others see the generation, and its plugin owns it. */
static void list(struct generation *generation, const struct generation_source *source,
                 struct plugin *plugin) {
    struct generations *all = generation->all;
    (void)pthread_mutex_init(&generation->stage_lock, NULL);
    generation->number = ++source->file->newest;
    generation->plugin = plugin;
    generation->desc = descriptor_ref(source->desc);
    if (source->sha256 != NULL) {
        generation->is_earlier = true;
        memcpy(generation->sha256, source->sha256, sizeof generation->sha256);
    }
    plugin->generation = generation->number;
    atomic_init(&plugin->services, all->services);
    plugin->services_user = all->services_user;
    plugin->context = generation;
    lock_take(&all->lock);
    generation->next = all->first;
    if (all->first != NULL) {
        all->first->prev = generation;
    }
    all->first = generation;
    lock_release(&all->lock);
}

int generation_create(struct generations *all, const struct generation_source *source,
                      struct plugin **ret, struct toolrack_error *err) {
    struct generation *generation = calloc(1, sizeof *generation);
    struct plugin *plugin = NULL;
    if (generation == NULL) {
        return error_oom(err);
    }
    generation->all = all;
    generation->file = source->file;
    arena_init(&generation->arena, generation->arena_first, sizeof generation->arena_first);
    int code = read_policy(generation, source, err);
    if (code == 0) {
        code = judge_exposure(generation, source, err);
    }
    if (code == 0) {
        code = judge_isolation(generation, source->desc->plugin, err);
    }
    if (code == 0) {
        tell_refusals(generation, source->desc->plugin->id);
        code = make_plugin(generation, source, &plugin, err);
    }
    if (code < 0) {
        arena_finish(&generation->arena);
        free(generation);
        return code;
    }
    list(generation, source, plugin);
    *ret = plugin;
    return 0;
}
