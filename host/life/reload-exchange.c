/* The tools of a file take the place of others: those of its last generation, and of other files
 * with the same id or the same names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/semver.h"
#include "life/absent.h"
#include "life/history.h"
#include "life/keep.h"
#include "life/past.h"
#include "life/reload-parts.h"
#include "registry/refusal.h"
#include "registry/registry.h"
#include "store/loading.h"

/* ------------------------------------------------------------------------ exchange */

/* Whether a file, or a tool of it, may be registered when another one is gone. */
static bool waits_for_another(const struct toolrack_refusal *refusal) {
    return refusal->file != NULL && (strcmp(refusal->rule, REFUSAL_TOOL_EXISTS) == 0 ||
                                     strcmp(refusal->rule, IDENTITY_RULE_TAKEN) == 0 ||
                                     strcmp(refusal->rule, IDENTITY_RULE_BOUND) == 0);
}

/* Files that were refused for another file, or tools of them, may be registered now: all, or the
 * tools of one name. */
static void complete_others(struct life *life, const struct plugin_file *but, const char *tool) {
    struct toolrack_refusals *refusals = registry_refusals(life->options.registry);
    const struct plugin_file *last = NULL;
    for (size_t i = 0; refusals != NULL && i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, i);
        struct plugin_file *file =
                waits_for_another(refusal) && (tool == NULL || (refusal->tool != NULL &&
                                                                strcmp(refusal->tool, tool) == 0))
                        ? files_find(&life->files, refusal->file)
                        : NULL;
        if (file == NULL || file == but || file == last) {
            continue;
        }
        last = file;
        CLEANUP(plugin_unrefp)
        struct plugin *plugin = generations_serving(&life->generations, file);
        struct toolrack_error err;
        if (plugin == NULL) {
            /* None of its tools could be registered, so there is no generation to complete. A file
             * that another thread has taken is skipped: that thread looks at it. */
            struct reload_row row;
            if (files_take(&life->files, file, 1)) {
                (void)reload_file(life, file, RELOAD_OPENING, &row);
                reload_row_finish(&row);
                files_give(&life->files, file);
            }
        } else {
            if (registry_complete(life->options.registry, plugin, &err) < 0) {
                log_line(life->options.log, LOG_ERROR, "reload", "%s: tools may be missing: %s",
                         file->path, err.message);
            }
            if (files_take(&life->files, file, 1)) {
                past_complete_kept(life, file);
                files_give(&life->files, file);
            }
        }
    }
    toolrack_refusals_free(refusals);
}

void reload_waiting(struct life *life, const char *tool) {
    complete_others(life, NULL, tool);
}

/* Whether a person went back from the version of a package that served: it is not kept. */
static bool was_left(const struct reload *reload) {
    struct content_verdict verdict;
    const struct plugin *old = reload->old;
    const struct scan_folder *folder = reload->file->folder;
    if (!folder->installs || old == NULL || !atomic_load(&old->staged)) {
        return false;
    }
    content_read_verdict(&reload->life->options, reload->file->key, old->sha256, &verdict);
    return verdict.is_bad;
}

/* From here on calls get the new generation, if any; the old one ends with its last call. */
static int exchange_tools(struct reload *reload, const struct toolrack_refusal *rows, size_t count,
                          struct toolrack_error *err) {
    struct life *life = reload->life;
    size_t removed = 0;
    CLEANUP(keep_choice_finish) struct keep_choice choice;
    keep_choose(&life->generations, reload->file, reload->old, reload->new,
                reload->content.is_earlier || was_left(reload), &choice);
    const struct registry_swap swap = {.old = reload->old,
                                       .new = reload->new,
                                       .keeps = choice.keeps,
                                       .dropped = choice.dropped,
                                       .dropped_count = choice.dropped_count,
                                       .file = reload->file->path,
                                       .refusals = rows,
                                       .refusal_count = count};
    int code = registry_swap(life->options.registry, &swap, &removed, err);
    if (code < 0) {
        return code;
    }
    if (reload->old != NULL) {
        reload->row->old = reload->old->generation;
        reload->row->old_is_kept = atomic_load(&reload->old->kept);
        if (!reload->row->old_is_kept) {
            retire_note(&life->retirement, reload->old);
        }
    }
    for (size_t i = 0; i < choice.dropped_count; i++) {
        retire_note(&life->retirement, choice.dropped[i]);
    }
    generations_serve(&life->generations, reload->file, reload->new);
    if (removed > 0) {
        complete_others(life, reload->file, NULL);
    }
    return 0;
}

/* ---------------------------------------------------------------------- other files */

/* How long a file waits for another one whose id it takes over. */
#define RELOAD_TAKE_MS_MAX 5000u

/* A file from an origin that comes first has the id now: remove the tools of the file that had it.
 * A file waits only for files that come after it, so no two files wait for each other. */
static void give_way(struct reload *reload, struct plugin *plugin,
                     const struct identity_claim *claim) {
    struct life *life = reload->life;
    struct plugin_file *file = generation_of(plugin)->file;
    struct reload_row row = {0};
    struct toolrack_error err;
    const struct toolrack_refusal refusal = {.file = file->path,
                                             .plugin = plugin->desc->plugin->id,
                                             .rule = claim->rule,
                                             .reason = claim->reason,
                                             .fix = claim->fix};
    if (!files_take(&life->files, file,
                    clock_now_ns() + RELOAD_TAKE_MS_MAX * (uint64_t)CLOCK_NS_PER_MS)) {
        log_line(life->options.log, LOG_ERROR, "reload",
                 "%s is in use by another reload: reload it again, since %s", file->path,
                 claim->reason);
        return;
    }
    struct reload other = {.life = life, .file = file, .row = &row, .old = plugin};
    if (exchange_tools(&other, &refusal, 1, &err) < 0) {
        log_line(life->options.log, LOG_ERROR, "reload", "%s: %s", file->path, err.message);
    } else {
        struct toolrack_error words; /* cuts between characters, makes it one line */
        file->is_refused = true;
        (void)error_set(&words, TOOLRACK_E_REFUSED, "%s is refused: %s; %s", file->path,
                        claim->reason, claim->fix);
        (void)reload_tell_refused(life, file, refusal.plugin, words.message, true);
        identities_note_refused(&life->options, claim);
    }
    reload_row_finish(&row);
    files_give(&life->files, file);
}

/* Of the files with an id that serve, which are of one origin, all but the one with the highest
 * version are kept versions. */
static void settle_kept(struct life *life, const char *id) {
    CLEANUP(plugin_unrefp) struct plugin *highest = NULL;
    struct plugin *other;
    for (size_t at = 0; (other = generations_hold_claimant(&life->generations, id, at)) != NULL;
         at++) {
        if (highest == NULL ||
            semver_compare(other->desc->plugin->version, highest->desc->plugin->version) > 0) {
            plugin_unref(highest);
            highest = plugin_ref(other);
        }
        plugin_unref(other);
    }
    for (size_t at = 0; (other = generations_hold_claimant(&life->generations, id, at)) != NULL;
         at++) {
        struct toolrack_error err;
        if (registry_set_kept(life->options.registry, other, other != highest, &err) < 0) {
            log_line(life->options.log, LOG_ERROR, "reload", "%s: %s", other->path, err.message);
        }
        plugin_unref(other);
    }
}

/* The file serves: the others with its id give way, or become kept versions. */
static void settle_others(struct reload *reload) {
    identities_record(&reload->identities);
    for (size_t i = 0; i < reload->other_count; i++) {
        if (reload->claims[i + 1].verdict == IDENTITY_REFUSED) {
            give_way(reload, reload->others[i], &reload->claims[i + 1]);
        }
    }
    settle_kept(reload->life, reload->desc->plugin->id);
    if (reload->old != NULL &&
        strcmp(reload->old->desc->plugin->id, reload->desc->plugin->id) != 0) {
        settle_kept(reload->life, reload->old->desc->plugin->id);
    }
}

/* Hold the plugins of other files that have the same id. */
static bool find_others(struct reload *reload) {
    struct generations *generations = &reload->life->generations;
    const char *id = reload->desc->plugin->id;
    size_t room = 0;
    struct plugin *other;
    for (size_t at = 0; (other = generations_hold_claimant(generations, id, at)) != NULL; at++) {
        if (generation_of(other)->file == reload->file) {
            plugin_unref(other);
            continue;
        }
        if (reload->other_count == room) {
            room = room == 0 ? 4 : 2 * room;
            struct plugin **grown = realloc(reload->others, room * sizeof(struct plugin *));
            if (grown == NULL) {
                plugin_unref(other);
                return false;
            }
            reload->others = grown;
        }
        reload->others[reload->other_count++] = other;
    }
    return true;
}

enum reload_outcome reload_claim_id(struct reload *reload) {
    struct toolrack_error err;
    const struct life_options *options = &reload->life->options;
    bool complete = find_others(reload);
    reload->claims = complete ? calloc(reload->other_count + 1, sizeof *reload->claims) : NULL;
    if (reload->claims == NULL) {
        (void)error_oom(&err);
        return reload_refuse_for_now(reload, &err);
    }
    reload->claims[0] = (struct identity_claim){.path = reload->file->path,
                                                .folder = reload->file->folder,
                                                .identity = reload->content.staged.source,
                                                .desc = reload->desc};
    for (size_t i = 0; i < reload->other_count; i++) {
        const struct plugin *other = reload->others[i];
        reload->claims[i + 1] =
                (struct identity_claim){.path = other->path,
                                        .folder = generation_of(other)->file->folder,
                                        .identity = other->identity,
                                        .desc = other->desc,
                                        .came_before = true};
    }
    if (identities_judge(&reload->identities, options, reload->claims, reload->other_count + 1,
                         false, &err) < 0) {
        return reload_refuse_for_now(reload, &err);
    }
    const struct identity_claim *claim = &reload->claims[0];
    if (claim->verdict != IDENTITY_REFUSED) {
        return RELOAD_UNDECIDED;
    }
    identities_note_refused(options, claim);
    return reload_refuse(reload, claim->rule, NULL, claim->reason, claim->fix);
}

enum reload_outcome reload_exchange(struct reload *reload) {
    const struct life_options *options = &reload->life->options;
    struct plugin_file *file = reload->file;
    struct toolrack_error err;
    size_t count = 0;
    char fix[ERROR_MESSAGE_MAX];
    const struct content_rollback *rollback = &reload->content.rollback;
    struct toolrack_refusal *rows = reload_refusals(file->path, reload->desc, &count);
    /* One change of the registry: whoever sees that it serves sees why. */
    if (rows != NULL && reload_is_in_place_of_refused(reload)) {
        rows[count++] = past_refusal(file, reload->desc->plugin->id, rollback, fix);
    }
    int code = rows != NULL ? exchange_tools(reload, rows, count, &err) : error_oom(&err);
    free(rows);
    if (code < 0) {
        return reload_refuse_for_now(reload, &err);
    }
    if (reload->old != NULL && plugin_state(reload->old) == TOOLRACK_STATE_LEFT_OUT &&
        store_loading_clear(options->store, file->key, &err) < 0) {
        log_line(options->log, LOG_WARNING, "store", "'%s' will be left out again: %s",
                 reload->old->desc->plugin->id, err.message);
    }
    file->is_refused = count > 0;
    reload->row->generation = reload->new->generation;
    settle_others(reload);
    if (!reload->content.is_earlier) {
        atomic_store(&generation_of(reload->new)->is_unused, true);
        if (reload->how != RELOAD_OPENING) { /* else nothing was tried */
            staging_note_used(&reload->life->staging, reload->new);
        }
        content_end_rollback(options, file->key); /* a content that was refused before is good */
    } else if (reload_is_in_place_of_refused(reload)) {
        past_tell_refused(reload->life, file, reload->new, rollback->reason);
    }
    if (!reload->content.is_earlier && reload->how != RELOAD_RENEW) {
        past_complete_kept(reload->life, file);
    }
    if (reload->old == NULL || reload->how == RELOAD_FIRST) {
        return RELOAD_ADDED;
    }
    char words[ERROR_FIELD_MAX];
    (void)snprintf(words, sizeof words, "generation %u of content %.16s%s", reload->row->generation,
                   reload->row->sha256,
                   reload->how == RELOAD_RENEW  ? ", with another policy"
                   : reload->content.is_earlier ? ", by a rollback"
                                                : "");
    const struct tr_plugin *now = reload->new->desc->plugin;
    life_tell(reload->life, TOOLRACK_EVENT_RELOADED, now->id, words);
    if (!reload->content.is_earlier || reload->how == RELOAD_RENEW) { /* else it was gone back to */
        history_note_once(reload->life, file, reload->new, "reloaded", words);
    }
    return RELOAD_RELOADED;
}

enum reload_outcome reload_remove(struct reload *reload) {
    struct plugin_file *file = reload->file;
    struct toolrack_error err;
    bool was_known = reload->old != NULL || file->is_refused;
    /* A program that removes a file and writes it again gets some time for that. */
    if (reload->how == RELOAD_AND_KEEP && was_known && file->tries < RELOAD_GONE_TRIES) {
        return RELOAD_CHANGING;
    }
    /* A rollback stays: what was gone back from is no better when it is put there again. */
    content_removed(&reload->life->options, file->key);
    if (was_known && exchange_tools(reload, NULL, 0, &err) < 0) {
        return reload_refuse_for_now(reload, &err);
    }
    if (reload->old != NULL) {
        const struct tr_plugin *gone = reload->old->desc->plugin;
        settle_kept(reload->life, gone->id);
        history_note_once(reload->life, file, reload->old, "removed", "its file is gone");
    }
    file->exists = false;
    file->is_refused = false;
    if (was_known) {
        absent_note_removed(reload->life, file);
    }
    return was_known ? RELOAD_REMOVED : RELOAD_ABSENT;
}

int reload_remove_moved(struct reload *reload, const struct toolrack_refusal *rows, size_t count,
                        struct toolrack_error *err) {
    plugin_unref(reload->new);
    reload->new = NULL;
    int code = exchange_tools(reload, rows, count, err);
    if (code == 0) {
        settle_kept(reload->life, reload->old->desc->plugin->id);
    }
    return code;
}
