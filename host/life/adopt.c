/* What an administrator says about plugins and names: adopt a plugin, find who provides a tool. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/semver.h"
#include "life/find.h"
#include "life/identities.h"
#include "life/life.h"
#include "life/parts.h"
#include "life/reload.h"
#include "permit/permit.h"
#include "plugin/origin.h"
#include "registry/refusal.h"
#include "registry/registry.h"

/* Read what a file states. NULL with err set: it has no plugin. */
static struct descriptor *read_file(const char *path, struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    bool no_memory;
    const struct descriptor_options options = tool_descriptor_options(&no_memory);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || descriptor_read(fd, &options, &desc, err) < 0 || desc->plugin == NULL) {
        (void)error_set(err, TOOLRACK_E_INVALID, "%s is not a plugin; see why: %s", path,
                        COMMAND("check", path));
        return NULL;
    }
    return STEAL(desc);
}

/* ------------------------------------------------------------------- adopt */

/* The claims of a file and of those that serve its id; the first is the file's. */
struct claims {
    struct identity_claim *items;
    struct plugin **others; /* references */
    size_t other_count;
};

static void claims_finish(struct claims *claims) {
    for (size_t i = 0; i < claims->other_count; i++) {
        plugin_unref(claims->others[i]);
    }
    free(claims->others);
    free(claims->items);
}

static bool claims_add(struct claims *claims, struct plugin *other) {
    size_t count = claims->other_count + 1;
    struct plugin **others = realloc(claims->others, count * sizeof(struct plugin *));
    claims->others = others != NULL ? others : claims->others;
    struct identity_claim *items = realloc(claims->items, (count + 1) * sizeof *items);
    claims->items = items != NULL ? items : claims->items;
    if (others == NULL || items == NULL) {
        return false;
    }
    claims->items[count] = (struct identity_claim){.path = other->path,
                                                   .folder = generation_of(other)->file->folder,
                                                   .identity = other->identity,
                                                   .desc = other->desc,
                                                   .came_before = true};
    claims->others[claims->other_count++] = other;
    return true;
}

static bool collect(struct life *life, const struct plugin_file *file,
                    const struct descriptor *desc, struct claims *ret) {
    struct plugin *other;
    struct stat st;
    ret->items = calloc(1, sizeof *ret->items);
    if (ret->items == NULL) {
        return false;
    }
    ret->items[0] =
            (struct identity_claim){.path = file->path, .folder = file->folder, .desc = desc};
    if (stat(file->path, &st) == 0) {
        ret->items[0].identity = identity_of(&st);
    }
    for (size_t at = 0;
         (other = generations_hold_claimant(&life->generations, desc->plugin->id, at)) != NULL;
         at++) {
        if (generation_of(other)->file == file || !claims_add(ret, other)) {
            plugin_unref(other);
        }
    }
    return true;
}

int life_adopt(struct life *life, const char *name, const char *who, struct toolrack_error *err) {
    struct plugin_file *file = find_file(life, name, err);
    if (file == NULL) {
        return err != NULL && err->code < 0
                       ? err->code
                       : error_set(err, TOOLRACK_E_NOT_FOUND, "'%s' is no plugin file", name);
    }
    CLEANUP(descriptor_unrefp) struct descriptor *desc = read_file(file->path, err);
    if (desc == NULL) {
        return TOOLRACK_E_INVALID;
    }
    CLEANUP(claims_finish) struct claims claims = {0};
    struct identities identities = {0};
    int code = collect(life, file, desc, &claims) ? 0 : error_oom(err);
    if (code == 0) {
        code = identities_judge(&identities, &life->options, claims.items, claims.other_count + 1,
                                false, err);
    }
    if (code == 0) {
        const struct identity_claim *claim = &claims.items[0];
        code = claim->verdict != IDENTITY_REFUSED
                       ? error_set(err, TOOLRACK_E_INVALID,
                                   "plugin '%s' of %s needs no adoption: nothing is decided about "
                                   "another one with its id",
                                   desc->plugin->id, file->path)
               : claim->owner == NULL
                       ? error_set(err, TOOLRACK_E_INVALID, "%s; %s", claim->reason, claim->fix)
                       : identities_adopt(&life->options, claim, who, err);
    }
    identities_finish(&identities);
    if (code == 0 && files_take(&life->files, file, 0)) {
        struct reload_row row;
        (void)reload_file(life, file, RELOAD_OPENING, &row);
        reload_row_finish(&row);
        files_give(&life->files, file);
    }
    return code;
}

void life_retry_bound(struct life *life) {
    struct toolrack_refusals *refusals = registry_refusals(life->options.registry);
    bool found = false;
    for (size_t i = 0; refusals != NULL && !found && i < toolrack_refusals_count(refusals); i++) {
        found = strcmp(toolrack_refusals_get(refusals, i)->rule, IDENTITY_RULE_BOUND) == 0;
    }
    toolrack_refusals_free(refusals);
    if (found) {
        reload_waiting(life, NULL);
    }
}

/* ---------------------------------------------------------------- provider */

/* Whether a row is about this version of a tool, which has no name until its plugin is chosen. */
static bool is_shadowed(const struct toolrack_refusal *row, const char *tool, const char *version,
                        const char *plugin_id) {
    return strcmp(row->rule, REFUSAL_TOOL_EXISTS) == 0 && row->file != NULL && row->tool != NULL &&
           row->plugin != NULL && row->version != NULL && strcmp(row->tool, tool) == 0 &&
           strcmp(row->plugin, plugin_id) == 0 && semver_compare(row->version, version) == 0;
}

/* An earlier version cannot be chosen: say which one can. */
static int refuse_kept(const struct toolrack_refusals *refusals, const struct toolrack_refusal *row,
                       struct toolrack_error *err) {
    const struct toolrack_refusal *own = refusals_find_own(refusals, row);
    return error_set(err, TOOLRACK_E_REFUSED,
                     "%s@%s is kept from an earlier content of %s and cannot be the default%s%s",
                     row->tool, row->version, row->file,
                     own != NULL ? "; the version of that file is " : "",
                     own != NULL ? own->version : "");
}

int life_find_provider(struct life *life, const char *tool, const char *version,
                       const char *plugin_id, char **ret_identity, struct toolrack_error *err) {
    struct toolrack_refusals *refusals = registry_refusals(life->options.registry);
    const struct toolrack_refusal *kept = NULL;
    char *identity = NULL;
    if (refusals == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; identity == NULL && i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        if (!is_shadowed(row, tool, version, plugin_id)) {
            continue;
        }
        if (row->kept) {
            kept = row;
            continue;
        }
        const struct plugin_file *file = files_find(&life->files, row->file);
        identity = identity_text(plugin_id,
                                 file != NULL ? file->folder->origin : ORIGIN_CONFIGURATION);
        if (identity == NULL) {
            toolrack_refusals_free(refusals);
            return error_oom(err);
        }
    }
    int code = identity != NULL ? 0
               : kept != NULL   ? refuse_kept(refusals, kept, err)
                                : error_set(err, TOOLRACK_E_NOT_FOUND,
                                            "no plugin '%s' provides %s %s; see who does: %s",
                                            plugin_id, tool, version, COMMAND("list --all"));
    toolrack_refusals_free(refusals);
    *ret_identity = identity;
    return code;
}

void life_settle_name(struct life *life, const char *tool) {
    reload_waiting(life, tool);
}
