#include "life/content.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "registry/plugin.h"
#include "store/generations.h"

/* --------------------------------------------------------------- rollbacks */

struct search {
    const char *path;
    struct content_rollback *ret;
    bool found;
};

static void see_rollback(void *user, const struct store_rollback *kept) {
    struct search *search = user;
    if (strcmp(kept->path, search->path) == 0) {
        memcpy(search->ret->bad_sha256, kept->bad_sha256, sizeof kept->bad_sha256);
        memcpy(search->ret->use_sha256, kept->use_sha256, sizeof kept->use_sha256);
        search->found = true;
    }
}

static void see_rule(void *user, const char *rule, const char *reason) {
    struct content_rollback *rollback = user;
    rollback->is_automatic = strcmp(rule, CONTENT_RULE_ROLLED_BACK) != 0;
    (void)snprintf(rollback->rule, sizeof rollback->rule, "%s", rule);
    (void)snprintf(rollback->reason, sizeof rollback->reason, "%s", reason);
}

bool content_find_rollback(const struct life_options *options, const char *path,
                           struct content_rollback *ret) {
    struct toolrack_error unheard; /* the host has reported that its store cannot be used */
    struct search search = {.path = path, .ret = ret};
    *ret = (struct content_rollback){0};
    if (store_rollback_read(options->store, see_rollback, &search, &unheard) < 0 || !search.found) {
        return false;
    }
    (void)store_content_condemned(options->store, path, ret->bad_sha256, see_rule, ret, &unheard);
    return true;
}

static int set_rollback(const struct life_options *options, const char *path,
                        const struct content_rollback *rollback, struct toolrack_error *err) {
    struct store_rollback kept = {.path = path};
    memcpy(kept.bad_sha256, rollback->bad_sha256, sizeof kept.bad_sha256);
    memcpy(kept.use_sha256, rollback->use_sha256, sizeof kept.use_sha256);
    return store_rollback_set(options->store, &kept, err);
}

/* The rules are stored first: a process that is killed in between has only noted what is true. */
int content_roll_back(const struct life_options *options, const char *path, const uint8_t *bad,
                      const uint8_t *from, const uint8_t *use, struct toolrack_error *err) {
    static const char words[] = "a person went back from it";
    struct content_rollback rollback = {0};
    memcpy(rollback.bad_sha256, bad, sizeof rollback.bad_sha256);
    memcpy(rollback.use_sha256, use, sizeof rollback.use_sha256);
    int code =
            store_content_condemn(options->store, path, bad, CONTENT_RULE_ROLLED_BACK, words, err);
    if (code == 0 && memcmp(from, bad, STAGE_HASH_SIZE) != 0) {
        code = store_content_condemn(options->store, path, from, CONTENT_RULE_ROLLED_BACK, words,
                                     err);
    }
    if (code == 0) { /* another content that the file serves now may be chosen again */
        code = store_content_condemn(options->store, path, use, NULL, NULL, err);
    }
    return code < 0 ? code : set_rollback(options, path, &rollback, err);
}

void content_set_rollback(const struct life_options *options, const char *path,
                          const struct content_rollback *rollback) {
    struct toolrack_error why;
    if (set_rollback(options, path, rollback, &why) < 0) {
        log_line(options->log, LOG_WARNING, "store", "the rollback of %s was not restored: %s",
                 path, why.message);
    }
}

static void take_verdict(void *user, const char *rule, const char *reason) {
    struct content_verdict *verdict = user;
    verdict->is_bad = true;
    (void)snprintf(verdict->rule, sizeof verdict->rule, "%s", rule);
    (void)snprintf(verdict->reason, sizeof verdict->reason, "%s", reason);
}

void content_read_verdict(const struct life_options *options, const char *path,
                          const uint8_t *sha256, struct content_verdict *ret) {
    struct toolrack_error unheard; /* the host has reported that its store cannot be used */
    *ret = (struct content_verdict){0};
    (void)store_content_condemned(options->store, path, sha256, take_verdict, ret, &unheard);
}

void content_set_verdict(const struct life_options *options, const char *path,
                         const uint8_t *sha256, const struct content_verdict *verdict) {
    struct toolrack_error why;
    if (store_content_condemn(options->store, path, sha256, verdict->is_bad ? verdict->rule : NULL,
                              verdict->is_bad ? verdict->reason : NULL, &why) < 0) {
        log_line(options->log, LOG_WARNING, "store", "whether a content of %s is good: %s", path,
                 why.message);
    }
}

void content_go_back(const struct life_options *options, const char *path,
                     const struct content_rollback *rollback) {
    struct toolrack_error why;
    int code = store_content_condemn(options->store, path, rollback->bad_sha256, rollback->rule,
                                     rollback->reason, &why);
    if (code == 0) {
        code = set_rollback(options, path, rollback, &why);
    }
    if (code < 0) {
        log_line(options->log, LOG_WARNING, "store",
                 "the next start will try the refused content of %s again: %s", path, why.message);
    }
}

void content_end_rollback(const struct life_options *options, const char *path) {
    struct content_rollback unused;
    struct toolrack_error why;
    int code = content_find_rollback(options, path, &unused)
                       ? store_rollback_clear(options->store, path, &why)
                       : 0;
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        log_line(options->log, LOG_ERROR, "store",
                 "the rollback of %s has ended, and the store could not note it: %s", path,
                 why.message);
    }
}

/* ----------------------------------------------------------------- history */

static const char *copy_text(struct content_history *history, const char *text) {
    const char *copy = text != NULL ? arena_copy(&history->arena, text, strlen(text)) : NULL;
    history->failed = history->failed || (text != NULL && copy == NULL);
    return copy;
}

#define HISTORY_FIRST_ROOM 32u

static void take_content(void *user, const struct store_generation *kept) {
    struct content_history *history = user;
    if (history->count == history->room) {
        size_t room = history->room == 0 ? HISTORY_FIRST_ROOM : 2 * history->room;
        struct store_generation *rows = realloc(history->rows, room * sizeof *rows);
        history->failed = history->failed || rows == NULL;
        if (rows == NULL) {
            return;
        }
        history->rows = rows;
        history->room = room;
    }
    struct store_generation *row = &history->rows[history->count];
    const char *path = history->count > 0 ? row[-1].path : NULL; /* shared by the rows of a file */
    *row = *kept;
    row->path =
            path != NULL && strcmp(path, kept->path) == 0 ? path : copy_text(history, kept->path);
    row->staged = copy_text(history, kept->staged);
    row->plugin = copy_text(history, kept->plugin);
    row->version = copy_text(history, kept->version);
    row->rule = copy_text(history, kept->rule);
    row->reason = copy_text(history, kept->reason);
    history->count += !history->failed;
}

int content_read_history(const struct life_options *options, const char *path,
                         struct content_history *ret, struct toolrack_error *err) {
    *ret = (struct content_history){0};
    arena_init(&ret->arena, NULL, 0);
    int code = store_generations_read(options->store, path, take_content, ret, err);
    return code == 0 && ret->failed ? error_oom(err) : code;
}

void content_history_finish(struct content_history *history) {
    arena_finish(&history->arena);
    free(history->rows);
    history->rows = NULL;
    history->count = 0;
}

size_t content_history_of_file(const struct content_history *history, size_t first) {
    size_t next = first;
    while (next < history->count &&
           strcmp(history->rows[next].path, history->rows[first].path) == 0) {
        next++;
    }
    return next - first;
}

static bool is_noted(const struct content_history *history, const struct plugin *plugin) {
    const struct store_generation *newest = history->count > 0 ? &history->rows[0] : NULL;
    return newest != NULL && memcmp(newest->sha256, plugin->sha256, STAGE_HASH_SIZE) == 0 &&
           content_is_good(newest) && newest->plugin != NULL;
}

bool content_note(const struct life_options *options, const char *path,
                  const struct plugin *plugin) {
    bool has_worked = false;
    CLEANUP(content_history_finish) struct content_history history;
    struct toolrack_error err;
    int code = content_read_history(options, path, &history, &err);
    if (code == 0 && is_noted(&history, plugin)) {
        has_worked = history.rows[0].has_worked;
    } else if (code == 0) {
        const char *slash = strrchr(plugin->image_path, '/');
        struct store_generation generation = {.path = path,
                                              .staged = slash != NULL ? slash + 1
                                                                      : plugin->image_path,
                                              .seen_ms = clock_wall_ms(),
                                              .plugin = plugin->desc->plugin->id,
                                              .version = plugin->desc->plugin->version};
        memcpy(generation.sha256, plugin->sha256, sizeof generation.sha256);
        code = store_generation_add(options->store, &generation, NULL, &err);
    }
    if (code < 0) {
        log_line(options->log, LOG_WARNING, "store",
                 "a rollback to this content of %s will not be possible, as it could not be "
                 "recorded: %s",
                 path, err.message);
    }
    return has_worked;
}

void content_note_worked(const struct life_options *options, const char *path,
                         const uint8_t *sha256) {
    struct toolrack_error err;
    if (store_content_worked(options->store, path, sha256, &err) < 0) {
        log_line(options->log, LOG_DEBUG, "store", "that a content of %s works: %s", path,
                 err.message);
    }
}

void content_removed(const struct life_options *options, const char *path) {
    CLEANUP(content_history_finish) struct content_history history;
    struct toolrack_error err;
    int code = content_read_history(options, path, &history, &err);
    bool was_there = false;
    for (size_t i = 0; code == 0 && i < history.count; i++) {
        was_there = was_there || !history.rows[i].is_removed;
    }
    if (was_there) {
        code = store_contents_remove(options->store, path, &err);
    }
    if (code < 0) {
        log_line(options->log, LOG_WARNING, "store",
                 "that %s was removed could not be recorded: %s", path, err.message);
    }
}
