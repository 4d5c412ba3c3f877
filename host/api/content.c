#include "api/content.h"

#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/clock.h"
#include "base/error.h"

void contents_init(struct contents *contents) {
    *contents = (struct contents){0};
    (void)pthread_mutex_init(&contents->lock, NULL);
}

void contents_finish(struct contents *contents) {
    for (size_t i = 0; i < contents->rollback_count; i++) {
        free(contents->rollbacks[i].path);
    }
    free(contents->rollbacks);
    (void)pthread_mutex_destroy(&contents->lock);
}

/* --------------------------------------------------------------- rollbacks */

/* Caller holds the lock, as in the next ones. */
static struct rollback *find_rollback(const struct contents *contents, const char *path) {
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

int contents_read(struct toolrack *host, struct toolrack_error *err) {
    struct reading_kept reading = {.contents = &host->contents};
    int code = store_rollback_read(host->store, take_rollback, &reading, err);
    return code == 0 && reading.failed ? error_oom(err) : code;
}

bool content_is_rolled_back(struct toolrack *host, const char *path) {
    (void)pthread_mutex_lock(&host->contents.lock);
    bool found = find_rollback(&host->contents, path) != NULL;
    (void)pthread_mutex_unlock(&host->contents.lock);
    return found;
}

/* Copied into `ret`, but for the path. */
static bool get_rollback(struct toolrack *host, const char *path, struct rollback *ret) {
    (void)pthread_mutex_lock(&host->contents.lock);
    const struct rollback *found = find_rollback(&host->contents, path);
    if (found != NULL) {
        *ret = *found;
    }
    (void)pthread_mutex_unlock(&host->contents.lock);
    return found != NULL;
}

int content_roll_back(struct toolrack *host, const struct plugin_file *file,
                      const uint8_t bad_sha256[STAGE_HASH_SIZE],
                      const uint8_t use_sha256[STAGE_HASH_SIZE], struct toolrack_error *err) {
    struct store_rollback kept = {.path = file->path};
    memcpy(kept.bad_sha256, bad_sha256, sizeof kept.bad_sha256);
    memcpy(kept.use_sha256, use_sha256, sizeof kept.use_sha256);
    int code = store_rollback_set(host->store, &kept, err);
    if (code < 0) {
        return code;
    }
    (void)pthread_mutex_lock(&host->contents.lock);
    bool set = set_rollback(&host->contents, file->path, bad_sha256, use_sha256);
    (void)pthread_mutex_unlock(&host->contents.lock);
    return set ? 0 : error_oom(err);
}

void content_end_rollback(struct toolrack *host, const char *path) {
    (void)pthread_mutex_lock(&host->contents.lock);
    struct rollback *known = find_rollback(&host->contents, path);
    bool found = known != NULL;
    if (found) {
        forget_rollback(&host->contents, known);
    }
    (void)pthread_mutex_unlock(&host->contents.lock);
    struct toolrack_error why;
    int code = found ? store_rollback_clear(host->store, path, &why) : 0;
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        log_line(&host->log, LOG_ERROR, "store",
                 "%s has a new content, and still the store keeps that its last one was bad: %s",
                 path, why.message);
    }
}

/* -------------------------------------------------------------------- take */

static int take_earlier(struct toolrack *host, const struct plugin_file *file,
                        const struct rollback *rollback, struct content *content,
                        struct toolrack_error *err) {
    struct file_identity source = content->staged.source;
    int code = stage_find(host->stage, rollback->use_sha256, file->path, &content->staged, err);
    content->staged.source = source;
    content->is_earlier = true;
    return code != TOOLRACK_E_NOT_FOUND
                   ? code
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "it has the content that somebody went back from, and the one "
                               "before it is not kept any more");
}

int content_take(struct toolrack *host, struct plugin_file *file, struct content *ret,
                 struct toolrack_error *err) {
    struct content content = {0};
    struct rollback rollback;
    int code = generation_open_stage(host, err);
    if (code == 0) {
        code = stage_copy(host->stage, file->path, NULL, STAGE_REUSE, &content.staged, err);
    }
    if (code != 0) {
        return code;
    }
    memcpy(content.file_sha256, content.staged.sha256, sizeof content.file_sha256);
    if (get_rollback(host, file->path, &rollback)) {
        if (memcmp(content.file_sha256, rollback.bad_sha256, sizeof content.file_sha256) == 0) {
            code = take_earlier(host, file, &rollback, &content, err);
        } else {
            content_end_rollback(host, file->path);
        }
    }
    if (code == 0) {
        *ret = content;
    }
    return code;
}

/* ----------------------------------------------------------------- history */

static void take_generation(void *user, const struct store_generation *kept) {
    struct plugin_file *file = user;
    if (file->content_count < STORE_GENERATIONS_PER_FILE_MAX) {
        memcpy(file->contents[file->content_count++].sha256, kept->sha256, sizeof kept->sha256);
    }
}

/* What the store knows, once. Caller holds the lock. */
static int read_history(struct toolrack *host, struct plugin_file *file,
                        struct toolrack_error *err) {
    if (file->contents == NULL) {
        file->contents = calloc(STORE_GENERATIONS_PER_FILE_MAX, sizeof *file->contents);
        file->content_count = 0;
        if (file->contents == NULL) {
            return error_oom(err);
        }
        return store_generations_read(host->store, file->path, take_generation, file, err);
    }
    return 0;
}

static bool is_newest(const struct plugin_file *file, const uint8_t *sha256) {
    return file->content_count > 0 &&
           memcmp(file->contents[0].sha256, sha256, sizeof file->contents[0].sha256) == 0;
}

static int add_content(struct toolrack *host, struct plugin_file *file, const struct plugin *plugin,
                       struct toolrack_error *err) {
    size_t kept = file->content_count < STORE_GENERATIONS_PER_FILE_MAX
                          ? file->content_count
                          : STORE_GENERATIONS_PER_FILE_MAX - 1;
    memmove(file->contents + 1, file->contents, kept * sizeof *file->contents);
    memcpy(file->contents[0].sha256, plugin->sha256, sizeof plugin->sha256);
    file->content_count = kept + 1;
    const char *slash = strrchr(plugin->image_path, '/');
    struct store_generation generation = {.path = file->path,
                                          .staged = slash != NULL ? slash + 1 : plugin->image_path,
                                          .seen_s = clock_wall_s()};
    memcpy(generation.sha256, plugin->sha256, sizeof generation.sha256);
    return store_generation_add(host->store, &generation, NULL, err);
}

void content_note(struct toolrack *host, struct plugin_file *file, const struct plugin *plugin) {
    struct toolrack_error err;
    (void)pthread_mutex_lock(&host->contents.lock);
    int code = read_history(host, file, &err);
    if (code == 0 && !is_newest(file, plugin->sha256)) {
        code = add_content(host, file, plugin, &err);
    }
    (void)pthread_mutex_unlock(&host->contents.lock);
    if (code < 0) {
        log_line(&host->log, LOG_WARNING, "store",
                 "nobody will be able to go back to this content of %s: %s", file->path,
                 err.message);
    }
}

/* How many of the newest contents are not older than the one that is used. */
static size_t count_newer(const struct plugin_file *file, const uint8_t *used_sha256) {
    for (size_t i = 0; i < file->content_count; i++) {
        if (memcmp(file->contents[i].sha256, used_sha256, sizeof file->contents[i].sha256) == 0) {
            return i + 1;
        }
    }
    return 0;
}

int content_find_previous(struct toolrack *host, struct plugin_file *file,
                          const uint8_t used_sha256[STAGE_HASH_SIZE],
                          const uint8_t file_sha256[STAGE_HASH_SIZE], struct staged *ret,
                          struct toolrack_error *err) {
    (void)pthread_mutex_lock(&host->contents.lock);
    int code = read_history(host, file, err);
    bool found = false;
    for (size_t i = count_newer(file, used_sha256); code == 0 && !found && i < file->content_count;
         i++) {
        const uint8_t *sha256 = file->contents[i].sha256;
        found = memcmp(sha256, used_sha256, STAGE_HASH_SIZE) != 0 &&
                memcmp(sha256, file_sha256, STAGE_HASH_SIZE) != 0 &&
                stage_find(host->stage, sha256, file->path, ret, NULL) == 0;
    }
    (void)pthread_mutex_unlock(&host->contents.lock);
    if (code < 0 || found) {
        return code;
    }
    return error_set(
            err, TOOLRACK_E_NOT_FOUND,
            "there is no earlier content of %s to go back to: of each file the last %u are "
            "kept, once a tool of it was called; put the file there that you want",
            file->path, STAGE_CONTENTS_KEPT);
}
