#include "life/generation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/clock.h"
#include "base/error.h"
#include "life/allowance.h"
#include "store/loading.h"
#include "worker/crew.h"

/* Invariants:
 *
 *  (1) A generation is in the list from generation_create() to generation_destroy().
 *  (2) `plugin` is NULL when the last reference to the plugin is gone, or the host has ended; the
 *      `serving` generation of a file has a plugin.
 *  (3) `image_path` and `sha256` are set once. No two generations that run in this process have the
 *      same path.
 *  (4) A thread that holds this lock may take the lock of the files, and no other lock of the room.
 */

void generations_init(struct generations *all) {
    lock_init(&all->lock);
}

void generations_finish(struct generations *all) {
    lock_finish(&all->lock);
}

struct generation *generation_of(const struct plugin *plugin) {
    return plugin->services != NULL ? plugin->context : NULL;
}

/* ------------------------------------------------------------ made and released */

void generation_destroy(struct generation *generation) {
    struct generations *all = generation->all;
    lock_take(&all->lock);
    assert(generation->plugin == NULL && generation->file->serving != generation); /* (2) */
    *(generation->prev != NULL ? &generation->prev->next : &all->first) = generation->next;
    if (generation->next != NULL) {
        generation->next->prev = generation->prev;
    }
    lock_release(&all->lock);
    descriptor_unref(generation->desc);
    if (generation->foreign != NULL) {
        files_destroy_apart(generation->file);
    }
    arena_finish(&generation->arena);
    (void)pthread_mutex_destroy(&generation->stage_lock);
    free(generation->image_path);
    free(generation);
}

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

/* What other users could change must not run with the rights of the host, nor have the rights that
 * come with a trust. */
static int judge_exposure(const struct generations *all, const struct generation_source *source,
                          bool isolated, struct toolrack_error *err) {
    enum trust trust = source->file->folder->trust;
    if (source->exposure == NULL) {
        return 0;
    }
    if (!isolated || trust > TRUST_COMMUNITY) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "a plugin %s must not be one that others could change: %s",
                         !isolated                ? "with isolation \"none\""
                         : trust == TRUST_BUILTIN ? "of trust \"builtin\""
                                                  : "of trust \"official\"",
                         source->exposure);
    }
    if (!source->file->exposure_told) {
        source->file->exposure_told = true;
        log_line(all->options->log, LOG_WARNING, source->desc->plugin->id, "%s", source->exposure);
    }
    return 0;
}

static void tell_refusals(const struct life_options *options, const char *id,
                          const struct policy *policy) {
    for (size_t i = 0; i < policy->capability_count; i++) {
        const struct policy_capability *capability = &policy->capabilities[i];
        if (capability->refusal == NULL) {
            continue;
        }
        char line[32] = "";
        if (capability->allowance_line > 0) {
            (void)snprintf(line, sizeof line, ", line %zu", capability->allowance_line);
        }
        const char *file = options->places->config_file;
        log_line(options->log, LOG_ERROR, id, "'%s:%s' is not granted (%s%s): %s",
                 policy_capability_name(capability->declared->kind), capability->declared->value,
                 capability->allowance == NULL || file == NULL ? "by its trust" : file, line,
                 capability->refusal);
    }
}

int generation_create(struct generations *all, const struct generation_source *source,
                      struct plugin **ret, struct toolrack_error *err) {
    const struct life_options *options = all->options;
    const struct scan_folder *folder = source->file->folder;
    CLEANUP(freep) struct generation *generation = calloc(1, sizeof *generation);
    if (generation == NULL) {
        return error_oom(err);
    }
    arena_init(&generation->arena, NULL, 0);
    struct policy_options policy = allowance_options(options, folder, source->desc);
    CLEANUP(freep) char *identity = identity_text(source->desc->plugin->id, folder->origin);
    int code = identity == NULL
                       ? error_oom(err)
                       : allowance_read(options, identity, &generation->arena, &policy, err);
    if (code == 0) {
        code = policy_make(&policy, &generation->arena, &generation->policy, err);
    }
    bool isolated = source->isolated || generation->policy.isolation == ISOLATION_PROCESS;
    if (code == 0) {
        code = judge_exposure(all, source, isolated, err);
    }
    if (code == 0 && options->require_sandbox && !isolated) {
        code = error_set(err, TOOLRACK_E_REFUSED,
                         "the sandbox is required, and the plugin would run with isolation "
                         "\"none\": without any");
    }
    if (code == 0) {
        tell_refusals(options, source->desc->plugin->id, &generation->policy);
    }
    bool failed = false;
    CLEANUP(freep)
    char *new_capabilities =
            code == 0 && isolated ? allowance_new_text(&generation->policy, &failed) : NULL;
    bool failed_too = false;
    CLEANUP(freep)
    char *missing = code == 0 && isolated ? allowance_missing_text(source->desc->plugin->id,
                                                                   &generation->policy, &failed_too)
                                          : NULL;
    if (failed || failed_too) {
        code = error_oom(err);
    }
    struct plugin *plugin =
            code < 0 ? NULL
                     : plugin_create(source->file->path, folder->trust, folder->origin,
                                     &source->identity, source->desc, options->images);
    const char *text = plugin != NULL ? plugin->identity_text : "";
    generation->identity_text = arena_copy(&generation->arena, text, strlen(text));
    if (plugin == NULL || generation->identity_text == NULL ||
        (source->foreign != NULL && !set_foreign(generation, plugin, source))) {
        plugin_unref(plugin);
        arena_finish(&generation->arena);
        return code < 0 ? code : error_oom(err);
    }
    (void)pthread_mutex_init(&generation->stage_lock, NULL);
    generation->all = all;
    generation->file = source->file;
    generation->number = ++source->file->newest;
    generation->plugin = plugin;
    generation->desc = descriptor_ref(source->desc);
    atomic_store(&plugin->kept, source->kept);
    if (source->sha256 != NULL) {
        generation->is_earlier = true;
        memcpy(generation->sha256, source->sha256, sizeof generation->sha256);
    }
    plugin->generation = generation->number;
    plugin->isolated = isolated;
    plugin->pin = generation->policy.pin;
    plugin->measures_all = generation->policy.measures_all;
    plugin->missing_capabilities = STEAL(missing);
    plugin->new_capabilities = STEAL(new_capabilities);
    generation->is_isolated = plugin->isolated;
    atomic_store(&plugin->kept, source->kept);
    if (plugin->isolated) { /* as many calls may hold a thread of the pool as its crew can serve */
        uint32_t workers = generation->policy.limits.workers_max;
        workers = workers != 0 ? workers : CREW_WORKERS_DEFAULT;
        plugin->calls_max = plugin->serial ? workers : workers * CREW_LANES_MAX;
    }
    plugin->services = all->services;
    plugin->services_user = all->services_user;
    plugin->context = generation;
    lock_take(&all->lock);
    generation->next = all->first;
    if (all->first != NULL) {
        all->first->prev = generation;
    }
    all->first = STEAL(generation); /* its plugin owns it from now on */
    lock_release(&all->lock);
    *ret = plugin;
    return 0;
}

/* ------------------------------------------------------------------ what it has */

/* Caller holds the lock. */
static struct plugin *hold(struct generation *generation) {
    LOCK_ASSERT_HELD(&generation->all->lock);
    struct plugin *plugin = generation->plugin;
    return plugin != NULL && plugin_ref_unless_gone(plugin) ? plugin : NULL;
}

struct plugin *generation_hold(struct generation *generation) {
    LOCK_SCOPE(&generation->all->lock);
    return hold(generation);
}

/* Whether an image in this process has the path; each worker is a process of its own. Caller holds
 * the lock. */
static bool is_path_taken(struct generations *all, const struct plugin *plugin, const char *path) {
    LOCK_ASSERT_HELD(&all->lock);
    if (plugin->isolated) {
        return false;
    }
    for (const struct generation *at = all->first; at != NULL; at = at->next) {
        if (at != plugin->context && !at->is_isolated && at->image_path != NULL &&
            strcmp(at->image_path, path) == 0) {
            return true;
        }
    }
    return image_is_mapped(path);
}

int generation_set_image(struct plugin *plugin, const struct staged *staged,
                         struct toolrack_error *err) {
    struct generation *generation = plugin->context;
    struct generations *all = generation->all;
    CLEANUP(freep) char *own_path = strdup(staged->path);
    CLEANUP(freep) char *path = strdup(staged->path);
    if (own_path == NULL || path == NULL) {
        return error_oom(err);
    }
    lock_take(&all->lock);
    bool is_taken = is_path_taken(all, plugin, path);
    if (!is_taken) {
        generation->image_path = STEAL(own_path);
        memcpy(generation->sha256, staged->sha256, sizeof generation->sha256);
    }
    lock_release(&all->lock);
    if (is_taken) {
        return TOOLRACK_E_EXISTS;
    }
    plugin->image_path = STEAL(path);
    plugin->image_identity = staged->identity;
    memcpy(plugin->sha256, staged->sha256, sizeof plugin->sha256);
    atomic_store(&plugin->staged, true);
    return 0;
}

void generation_set_crew(struct generation *generation, struct crew *crew) {
    lock_take(&generation->all->lock);
    generation->crew = crew;
    lock_release(&generation->all->lock);
    atomic_store(&generation->plugin->crew, crew);
}

struct crew *generation_part(struct generation *generation) {
    LOCK_SCOPE(&generation->all->lock);
    generation->plugin = NULL;
    if (generation->file->serving == generation) {
        generation->file->serving = NULL;
    }
    return generation->crew;
}

void generation_note_loading(struct plugin *plugin, bool begins) {
    struct generation *generation = plugin->context;
    const struct life_options *options = generation->all->options;
    struct toolrack_error err;
    int code = 0;
    if (begins) {
        code = store_loading_begin(options->store, plugin->path, clock_wall_s(),
                                   &generation->marker, &err);
        generation->marked = code == 0;
    } else if (generation->marked) {
        generation->marked = false;
        code = store_loading_end(options->store, generation->marker, &err);
    }
    if (code < 0) {
        log_line(options->log, LOG_WARNING, "store",
                 "a crash while '%s' is loaded may go unnoticed: %s", plugin->desc->plugin->id,
                 err.message);
    }
}

/* ------------------------------------------------------------------ which serves */

struct plugin *generations_serving(struct generations *all, struct plugin_file *file) {
    LOCK_SCOPE(&all->lock);
    return file->serving != NULL ? hold(file->serving) : NULL;
}

void generations_serve(struct generations *all, struct plugin_file *file, struct plugin *plugin) {
    struct generation *new = plugin != NULL ? generation_of(plugin) : NULL;
    LOCK_SCOPE(&all->lock);
    const struct generation *old = file->serving;
    bool had_another = old != NULL && old->image_path != NULL &&
                       (new == NULL || memcmp(old->sha256, new->sha256, sizeof old->sha256) != 0);
    char *path = had_another ? strdup(old->image_path) : NULL;
    if (path != NULL) {
        free(file->previous_path);
        file->previous_path = path;
    }
    file->serving = new;
}

struct plugin *generations_hold_kept(struct generations *all, const struct plugin_file *file,
                                     size_t index) {
    LOCK_SCOPE(&all->lock);
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        bool fits = at->file == file && file->serving != at && at->plugin != NULL &&
                    atomic_load(&at->plugin->kept);
        struct plugin *found = fits && index == 0 ? hold(at) : NULL;
        if (found != NULL) {
            return found;
        }
        index -= fits && index != 0;
    }
    return NULL;
}

struct plugin *generations_hold(struct generations *all, const char *plugin_id, size_t index) {
    LOCK_SCOPE(&all->lock);
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        if (at->plugin == NULL || strcmp(at->desc->plugin->id, plugin_id) != 0) {
            continue;
        }
        struct plugin *found = index == 0 ? hold(at) : NULL;
        if (found != NULL) {
            return found;
        }
        index -= index != 0;
    }
    return NULL;
}

struct plugin *generations_hold_claimant(struct generations *all, const char *plugin_id,
                                         size_t index) {
    LOCK_SCOPE(&all->lock);
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        if (at->file->serving != at || at->foreign != NULL ||
            strcmp(at->desc->plugin->id, plugin_id) != 0) {
            continue;
        }
        struct plugin *found = index == 0 ? hold(at) : NULL;
        if (found != NULL) {
            return found;
        }
        index -= index != 0;
    }
    return NULL;
}

struct plugin **generations_hold_troubled(struct generations *all, size_t *ret_count) {
    LOCK_SCOPE(&all->lock);
    size_t most = 0;
    *ret_count = 0;
    for (const struct generation *at = all->first; at != NULL; at = at->next) {
        most++;
    }
    struct plugin **found = calloc(most + 1, sizeof(struct plugin *));
    for (struct generation *at = all->first; found != NULL && at != NULL; at = at->next) {
        int state = at->plugin != NULL ? atomic_load(&at->plugin->state) : TOOLRACK_STATE_LISTED;
        if (state != TOOLRACK_STATE_LISTED && state != TOOLRACK_STATE_LOADED &&
            (found[*ret_count] = hold(at)) != NULL) {
            ++*ret_count;
        }
    }
    return found;
}

struct plugin *generations_hold_serving(struct generations *all, const char *plugin_id) {
    LOCK_SCOPE(&all->lock);
    struct plugin *kept = NULL;
    for (struct generation *at = all->first; at != NULL; at = at->next) {
        bool fits = at->file->serving == at && strcmp(at->desc->plugin->id, plugin_id) == 0 &&
                    (kept == NULL || !atomic_load(&at->plugin->kept));
        struct plugin *found = fits ? hold(at) : NULL;
        if (found != NULL && !atomic_load(&found->kept)) {
            plugin_unref(kept);
            return found;
        }
        kept = found != NULL ? found : kept;
    }
    return kept;
}

const char *const *generations_list_copies(struct generations *all, struct plugin_files *files,
                                           struct arena *arena, size_t *ret_count) {
    LOCK_SCOPE(&all->lock);
    size_t most = 1;
    for (const struct generation *at = all->first; at != NULL; at = at->next) {
        most++;
    }
    for (const struct plugin_file *at = NULL; (at = files_next(files, at)) != NULL;) {
        most += at->previous_path != NULL;
    }
    const char **paths = arena_alloc(arena, most * sizeof *paths);
    size_t count = 0;
    bool complete = paths != NULL;
    for (const struct generation *at = all->first; complete && at != NULL; at = at->next) {
        if (at->image_path != NULL) {
            paths[count] = arena_copy(arena, at->image_path, strlen(at->image_path));
            complete = paths[count++] != NULL;
        }
    }
    for (const struct plugin_file *at = NULL; complete && (at = files_next(files, at)) != NULL;) {
        if (at->previous_path != NULL) {
            paths[count] = arena_copy(arena, at->previous_path, strlen(at->previous_path));
            complete = paths[count++] != NULL;
        }
    }
    *ret_count = count;
    return complete ? paths : NULL;
}

/* ------------------------------------------------------------------------ the end */

struct generation *generations_detach(struct generations *all) {
    LOCK_SCOPE(&all->lock);
    struct generation *generation = all->first;
    while (generation != NULL && generation->plugin == NULL) {
        generation = generation->next; /* its plugin was released before; its workers are ending */
    }
    if (generation != NULL) {
        generation->plugin->services = NULL;
        atomic_store(&generation->plugin->crew, NULL);
        generation->plugin = NULL;
        if (generation->file->serving == generation) {
            generation->file->serving = NULL;
        }
    }
    return generation;
}

void generations_check(struct generations *all) {
    LOCK_SCOPE(&all->lock);
    for (const struct generation *at = all->first; at != NULL; at = at->next) {
        assert(at->next == NULL || at->next->prev == at); /* (1) */
        assert(at->all == all && at->number <= at->file->newest);
        assert(at->file->serving != at || at->plugin != NULL); /* (2) */
        assert(at->plugin == NULL || at->plugin->context == at);
        for (const struct generation *other = at->next; other != NULL; other = other->next) {
            bool may_share = at->is_isolated || other->is_isolated || at->image_path == NULL ||
                             other->image_path == NULL;
            assert(may_share || strcmp(at->image_path, other->image_path) != 0); /* (3) */
            assert(at->file != other->file || at->number != other->number);
            (void)may_share;
        }
    }
}
