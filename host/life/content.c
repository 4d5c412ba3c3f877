#include "life/content.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "registry/plugin.h"

/* Invariants:
 *
 *  (1) At most one rollback of each path.
 *  (2) Nothing of the room is locked by who holds this lock; the store may be waited for. */

void contents_init(struct contents *contents, const struct life_options *options) {
    *contents = (struct contents){.options = options};
    lock_init(&contents->lock);
}

void contents_finish(struct contents *contents) {
    for (size_t i = 0; i < contents->rollback_count; i++) {
        free(contents->rollbacks[i].path);
    }
    free(contents->rollbacks);
    lock_finish(&contents->lock);
}

/* --------------------------------------------------------------- rollbacks */

/* Caller holds the lock, as in the next ones. */
static struct rollback *find_rollback(struct contents *contents, const char *path) {
    LOCK_ASSERT_HELD(&contents->lock);
    for (size_t i = 0; i < contents->rollback_count; i++) {
        if (strcmp(contents->rollbacks[i].path, path) == 0) {
            return &contents->rollbacks[i];
        }
    }
    return NULL;
}

static bool set_rollback(struct contents *contents, const char *path, const uint8_t *bad_sha256,
                         const uint8_t *use_sha256) {
    struct rollback *known = find_rollback(contents, path);
    if (known == NULL) {
        struct rollback *grown =
                realloc(contents->rollbacks, (contents->rollback_count + 1) * sizeof *grown);
        char *copy = strdup(path);
        contents->rollbacks = grown != NULL ? grown : contents->rollbacks;
        if (grown == NULL || copy == NULL) {
            free(copy);
            return false;
        }
        known = &grown[contents->rollback_count++];
        known->path = copy;
    }
    memcpy(known->bad_sha256, bad_sha256, sizeof known->bad_sha256);
    memcpy(known->use_sha256, use_sha256, sizeof known->use_sha256);
    return true;
}

static void forget_rollback(struct contents *contents, struct rollback *rollback) {
    free(rollback->path);
    *rollback = contents->rollbacks[--contents->rollback_count];
}

struct reading_kept {
    struct contents *contents;
    bool failed;
};

static void take_rollback(void *user, const struct store_rollback *kept) {
    struct reading_kept *reading = user;
    reading->failed =
            !set_rollback(reading->contents, kept->path, kept->bad_sha256, kept->use_sha256) ||
            reading->failed;
}

int contents_read(struct contents *contents, struct toolrack_error *err) {
    struct reading_kept reading = {.contents = contents};
    LOCK_SCOPE(&contents->lock);
    int code = store_rollback_read(contents->options->store, take_rollback, &reading, err);
    return code == 0 && reading.failed ? error_oom(err) : code;
}

bool contents_find_rollback(struct contents *contents, const char *path, struct rollback *ret) {
    LOCK_SCOPE(&contents->lock);
    const struct rollback *found = find_rollback(contents, path);
    if (found != NULL && ret != NULL) {
        *ret = *found;
    }
    return found != NULL;
}

int contents_roll_back(struct contents *contents, const char *path,
                       const uint8_t bad_sha256[STAGE_HASH_SIZE],
                       const uint8_t use_sha256[STAGE_HASH_SIZE], struct toolrack_error *err) {
    struct store_rollback kept = {.path = path};
    memcpy(kept.bad_sha256, bad_sha256, sizeof kept.bad_sha256);
    memcpy(kept.use_sha256, use_sha256, sizeof kept.use_sha256);
    int code = store_rollback_set(contents->options->store, &kept, err);
    if (code < 0) {
        return code;
    }
    lock_take(&contents->lock);
    bool set = set_rollback(contents, path, bad_sha256, use_sha256);
    lock_release(&contents->lock);
    return set ? 0 : error_oom(err);
}

void contents_end_rollback(struct contents *contents, const char *path) {
    lock_take(&contents->lock);
    struct rollback *known = find_rollback(contents, path);
    bool found = known != NULL;
    if (found) {
        forget_rollback(contents, known);
    }
    lock_release(&contents->lock);
    struct toolrack_error why;
    int code = found ? store_rollback_clear(contents->options->store, path, &why) : 0;
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        log_line(contents->options->log, LOG_ERROR, "store",
                 "%s has a new content, and still the store keeps that its last one was bad: %s",
                 path, why.message);
    }
}

/* ----------------------------------------------------------------- history */

static void take_content(void *user, const struct store_generation *kept) {
    struct content_history *history = user;
    if (history->count < STORE_GENERATIONS_PER_FILE_MAX) {
        memcpy(history->sha256[history->count++], kept->sha256, sizeof kept->sha256);
    }
}

int contents_read_history(const struct contents *contents, const char *path,
                          struct content_history *ret, struct toolrack_error *err) {
    ret->count = 0;
    return store_generations_read(contents->options->store, path, take_content, ret, err);
}

void contents_note(const struct contents *contents, const char *path, const struct plugin *plugin) {
    struct content_history history;
    struct toolrack_error err;
    int code = contents_read_history(contents, path, &history, &err);
    bool is_newest = code == 0 && history.count > 0 &&
                     memcmp(history.sha256[0], plugin->sha256, sizeof history.sha256[0]) == 0;
    if (code == 0 && !is_newest) {
        const char *slash = strrchr(plugin->image_path, '/');
        struct store_generation generation = {.path = path,
                                              .staged = slash != NULL ? slash + 1
                                                                      : plugin->image_path,
                                              .seen_s = clock_wall_s()};
        memcpy(generation.sha256, plugin->sha256, sizeof generation.sha256);
        code = store_generation_add(contents->options->store, &generation, NULL, &err);
    }
    if (code < 0) {
        log_line(contents->options->log, LOG_WARNING, "store",
                 "nobody will be able to go back to this content of %s: %s", path, err.message);
    }
}
