#include "life/past.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "life/history.h"
#include "life/keep.h"
#include "life/parts.h"
#include "permit/permit.h"
#include "registry/registry.h"

/* ------------------------------------------------------------ the last good one */

struct toolrack_refusal past_refusal(const struct plugin_file *file, const char *plugin_id,
                                     const struct content_rollback *rollback,
                                     char room[ERROR_MESSAGE_MAX]) {
    (void)snprintf(room, ERROR_MESSAGE_MAX,
                   "correct the plugin and put it there again; its last good content serves in its "
                   "place; to have it tried again: %s",
                   COMMAND("reload", file->path));
    return (struct toolrack_refusal){.file = file->path,
                                     .plugin = plugin_id,
                                     .rule = rollback->rule,
                                     .reason = rollback->reason,
                                     .fix = room};
}

void past_tell_refused(struct life *life, const struct plugin_file *file,
                       const struct plugin *serving, const char *reason) {
    char message[ERROR_MESSAGE_MAX];
    (void)snprintf(message, sizeof message,
                   "%s is refused: %s; its last good content, version %s, serves in its place "
                   "until the file is good again or removed",
                   file->path, reason, serving->desc->plugin->version);
    life_tell(life, TOOLRACK_EVENT_REFUSED, serving->desc->plugin->id, message);
    history_note(life, file, serving->desc->plugin->id, NULL, "refused", reason);
}

static int make_earlier(struct life *life, struct plugin_file *file,
                        const struct store_generation *row, struct descriptor *desc, bool is_kept,
                        struct plugin **ret, struct toolrack_error *err) {
    const struct generation_source source = {.file = file,
                                             .identity = file->identity,
                                             .desc = desc,
                                             .kept = is_kept,
                                             .sha256 = row->sha256};
    int code = generation_create(&life->generations, &source, ret, err);
    if (code == 0) {
        (*ret)->replaced = is_kept; /* not registered yet */
        atomic_store(&(*ret)->has_answered, row->has_worked);
    }
    return code;
}

/* Caller is between staging_enter() and staging_leave(). */
static int make_good(struct life *life, struct plugin_file *file,
                     const struct content_history *history, bool has_worked, struct plugin **ret,
                     struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = NULL;
    struct staged staged;
    int code = 0;
    size_t at = 0;
    while (code == 0 && plugin == NULL && at < history->count) {
        const struct store_generation *row = staging_find_good(
                &life->staging, &history->rows[at], history->count - at, has_worked, NULL, &staged);
        if (row == NULL) {
            return 0;
        }
        at = (size_t)(row - history->rows) + 1;
        struct store_generation found = *row;
        const char *slash = strrchr(staged.path, '/');
        found.staged = slash != NULL ? slash + 1 : staged.path;
        CLEANUP(descriptor_unrefp)
        struct descriptor *desc = staging_read_noted(&life->staging, &found);
        struct toolrack_error why = {0};
        code = desc == NULL ? 0 : make_earlier(life, file, &found, desc, false, &plugin, &why);
        if (code == TOOLRACK_E_REFUSED) {
            return 0; /* whoever may write to the file is not trusted with any content */
        }
        if (code == 0 && plugin != NULL) {
            code = staging_set_copy(&life->staging, plugin, &staged, &why);
        }
        if (code < 0 && err != NULL) {
            *err = why;
        }
    }
    if (code == 0 && plugin != NULL) {
        *ret = STEAL(plugin);
    }
    return code;
}

/* Of what never worked nothing bad is known: better than nothing. */
static int make_last_good(struct life *life, struct plugin_file *file, struct plugin **ret,
                          struct toolrack_error *err) {
    CLEANUP(content_history_finish) struct content_history history;
    int code = content_read_history(&life->options, file->key, &history, err);
    if (code == 0) {
        code = make_good(life, file, &history, true, ret, err);
    }
    if (code == 0 && *ret == NULL) {
        code = make_good(life, file, &history, false, ret, err);
    }
    return code;
}

int past_serve_last_good(struct life *life, struct plugin_file *file, const char *reason,
                         struct plugin **ret, struct toolrack_error *err) {
    staging_enter(&life->staging);
    int code = make_last_good(life, file, ret, err);
    staging_leave(&life->staging);
    if (code == 0 && *ret != NULL) {
        generations_serve(&life->generations, file, *ret);
        past_tell_refused(life, file, *ret, reason);
    }
    return code == TOOLRACK_E_IO ? 0 : code; /* the host has reported that its store is unusable */
}

/* ---------------------------------------------------------------------- go back */

bool past_has_gone_back(const struct life *life, const struct plugin_file *file,
                        const uint8_t bad_sha256[]) {
    struct content_rollback rollback;
    return content_find_rollback(&life->options, file->key, &rollback) &&
           memcmp(rollback.bad_sha256, bad_sha256, sizeof rollback.bad_sha256) == 0;
}

bool past_go_back(struct life *life, struct plugin_file *file, const uint8_t bad_sha256[],
                  const char *rule, const char *reason) {
    struct content_rollback rollback = {.is_automatic = true};
    struct toolrack_error unheard;
    struct staged staged;
    bool found = false;
    char words[2 * ERROR_MESSAGE_MAX];
    CLEANUP(content_history_finish) struct content_history history;
    if (content_read_history(&life->options, file->key, &history, &unheard) == 0) {
        staging_enter(&life->staging);
        const struct store_generation *row = staging_find_good(
                &life->staging, history.rows, history.count, true, bad_sha256, &staged);
        if (row == NULL) {
            row = staging_find_good(&life->staging, history.rows, history.count, false, bad_sha256,
                                    &staged);
        }
        staging_leave(&life->staging);
        found = row != NULL;
        if (found) {
            bool is_known = row->version != NULL; /* not of a content of an older database */
            (void)snprintf(words, sizeof words, "%s; %s%s serves in its place", reason,
                           is_known ? "version " : "the content before",
                           is_known ? row->version : "");
            permit_note(life->options.permit,
                        &(struct store_decision){
                                .version = row->version,
                                .plugin = row->plugin,
                                .origin = ((const struct scan_folder *)file->folder)->origin,
                                .decision = "rolled-back",
                                .who = "host",
                                .why = words});
        }
    }
    if (!found) {
        return false;
    }
    memcpy(rollback.bad_sha256, bad_sha256, sizeof rollback.bad_sha256);
    memcpy(rollback.use_sha256, staged.sha256, sizeof rollback.use_sha256);
    (void)snprintf(rollback.rule, sizeof rollback.rule, "%s", rule);
    (void)snprintf(rollback.reason, sizeof rollback.reason, "%s", reason);
    content_go_back(&life->options, file->key, &rollback);
    return true;
}

/* ------------------------------------------------------------------ kept versions */

/* Plugins under construction; each item is a reference. */
struct batch {
    struct plugin **items;
    size_t count;
    size_t room;
};

static void batch_finish(struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        plugin_unref(batch->items[i]);
    }
    free(batch->items);
}

static int batch_add(struct batch *batch, struct plugin *plugin, struct toolrack_error *err) {
    if (batch->count == batch->room) {
        size_t room = batch->room == 0 ? 8 : 2 * batch->room;
        struct plugin **items = realloc(batch->items, room * sizeof *items);
        if (items == NULL) {
            plugin_unref(plugin);
            return error_oom(err);
        }
        batch->items = items;
        batch->room = room;
    }
    batch->items[batch->count++] = plugin;
    return 0;
}

/* Whether a content of a file is one of its kept versions now. */
static bool is_held(struct life *life, const struct plugin_file *file, const uint8_t *sha256) {
    struct plugin *kept;
    bool found = false;
    for (size_t at = 0;
         !found && (kept = generations_hold_kept(&life->generations, file, at)) != NULL; at++) {
        found = memcmp(generation_of(kept)->sha256, sha256, STAGE_HASH_SIZE) == 0;
        plugin_unref(kept);
    }
    return found;
}

static int add_kept(struct life *life, struct plugin_file *file, const struct plugin *serving,
                    const struct store_generation *rows, size_t count, struct batch *batch,
                    struct toolrack_error *err) {
    size_t chosen[CONFIG_KEEP_MAX];
    const struct tr_plugin *now = serving->desc->plugin;
    size_t kept = keep_select(rows, count, now->id, now->version,
                              generation_of(serving)->policy.keep, chosen);
    int code = 0;
    for (size_t i = kept; code == 0 && i > 0; i--) { /* the newest gets the highest number */
        const struct store_generation *row = &rows[chosen[i - 1]];
        if (is_held(life, file, row->sha256)) {
            continue;
        }
        CLEANUP(descriptor_unrefp)
        struct descriptor *desc = staging_read_noted(&life->staging, row);
        struct plugin *plugin = NULL;
        struct toolrack_error why;
        if (desc == NULL) {
            log_line(life->options.log, LOG_INFO, now->id,
                     "version %s is not kept: its copy is gone", row->version);
            continue;
        }
        code = make_earlier(life, file, row, desc, true, &plugin, &why);
        if (code == 0) {
            code = batch_add(batch, plugin, err);
        } else if (code == TOOLRACK_E_REFUSED) {
            code = 0;
        } else if (err != NULL) {
            *err = why;
        }
    }
    return code;
}

/* A file that is not known was removed from a folder that is there: which one. NULL: it was not. */
static const struct scan_folder *removed_from(const struct life *life, const char *path) {
    const struct places *places = life->options.places;
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 0;
    struct stat st;
    for (size_t i = 0; i < places->folder_count; i++) {
        const char *folder = places->folders[i].real;
        if (strlen(folder) == length && memcmp(folder, path, length) == 0) {
            return lstat(path, &st) < 0 && errno == ENOENT && stat(folder, &st) == 0
                           ? &places->folders[i]
                           : NULL;
        }
    }
    return NULL;
}

static void note_removed(struct life *life, const struct store_generation *newest) {
    const struct scan_folder *folder = removed_from(life, newest->path);
    if (folder == NULL) {
        return;
    }
    content_removed(&life->options, newest->path);
    if (newest->plugin != NULL) {
        permit_note(life->options.permit,
                    &(struct store_decision){.version = newest->version,
                                             .plugin = newest->plugin,
                                             .origin = folder->origin,
                                             .decision = "removed",
                                             .who = "host",
                                             .why = "its file was gone at the start"});
    }
}

static int register_kept(struct life *life, const struct batch *batch, struct toolrack_error *err) {
    for (size_t i = 0; i < batch->count; i++) {
        isolate_recall(&life->isolate, batch->items[i]);
    }
    return batch->count == 0
                   ? 0
                   : registry_add(life->options.registry, batch->items, batch->count, err);
}

void past_complete_kept(struct life *life, struct plugin_file *file) {
    CLEANUP(content_history_finish) struct content_history history;
    CLEANUP(batch_finish) struct batch batch = {0};
    CLEANUP(plugin_unrefp) struct plugin *serving = generations_serving(&life->generations, file);
    struct toolrack_error err = {0};
    struct plugin *kept;
    if (serving == NULL || content_read_history(&life->options, file->key, &history, &err) < 0) {
        return; /* the host has reported that its store cannot be used */
    }
    int code = 0;
    for (size_t at = 0;
         code == 0 && (kept = generations_hold_kept(&life->generations, file, at)) != NULL; at++) {
        code = registry_complete(life->options.registry, kept, &err);
        plugin_unref(kept);
    }
    if (code == 0) {
        code = add_kept(life, file, serving, history.rows, history.count, &batch, &err);
    }
    code = code < 0 ? code : register_kept(life, &batch, &err);
    if (code < 0) {
        log_line(life->options.log, LOG_ERROR, "reload", "%s: earlier versions may be missing: %s",
                 file->path, err.message);
    }
}

struct opening {
    struct life *life;
    struct batch batch;
    int code;
    struct toolrack_error *err;
};

/* Whether a file may have contents beside the one that serves, or is gone and that is not noted. */
static bool is_worth_reading(const struct store_history *known, const struct plugin_file *file,
                             const struct plugin *serving) {
    if (file == NULL) {
        return !known->is_removed;
    }
    return serving != NULL &&
           (known->version == NULL || strcmp(known->version, serving->desc->plugin->version) != 0);
}

static void open_kept_of(void *user, const struct store_history *known) {
    struct opening *opening = user;
    struct life *life = opening->life;
    struct plugin_file *file = files_find_key(&life->files, known->path);
    CLEANUP(plugin_unrefp)
    struct plugin *serving = file != NULL ? generations_serving(&life->generations, file) : NULL;
    if (opening->code < 0 || !is_worth_reading(known, file, serving)) {
        return;
    }
    CLEANUP(content_history_finish) struct content_history history;
    struct toolrack_error unheard; /* the host has reported that its store cannot be used */
    if (content_read_history(&life->options, known->path, &history, &unheard) < 0) {
        opening->code = history.failed ? error_oom(opening->err) : 0;
    } else if (serving != NULL) {
        opening->code = add_kept(life, file, serving, history.rows, history.count, &opening->batch,
                                 opening->err);
    } else if (history.count > 0 && !history.rows->is_removed) {
        note_removed(life, history.rows);
    }
}

int past_open_kept(struct life *life, struct toolrack_error *err) {
    struct opening opening = {.life = life, .err = err};
    struct toolrack_error unheard; /* the host has reported that its store cannot be used */
    (void)store_histories_read(life->options.store, open_kept_of, &opening, &unheard);
    int code = opening.code < 0 ? opening.code : register_kept(life, &opening.batch, err);
    batch_finish(&opening.batch);
    return code;
}
