#include "life/content.h"

#include <string.h>

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

bool content_find_rollback(const struct life_options *options, const char *path,
                           struct content_rollback *ret) {
    struct toolrack_error unheard; /* the host has reported that its store cannot be used */
    struct search search = {.path = path, .ret = ret};
    return store_rollback_read(options->store, see_rollback, &search, &unheard) == 0 &&
           search.found;
}

int content_roll_back(const struct life_options *options, const char *path,
                      const struct content_rollback *rollback, struct toolrack_error *err) {
    struct store_rollback kept = {.path = path};
    memcpy(kept.bad_sha256, rollback->bad_sha256, sizeof kept.bad_sha256);
    memcpy(kept.use_sha256, rollback->use_sha256, sizeof kept.use_sha256);
    return store_rollback_set(options->store, &kept, err);
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

static void take_content(void *user, const struct store_generation *kept) {
    struct content_history *history = user;
    if (history->count < STORE_GENERATIONS_PER_FILE_MAX) {
        memcpy(history->sha256[history->count++], kept->sha256, sizeof kept->sha256);
    }
}

int content_read_history(const struct life_options *options, const char *path,
                         struct content_history *ret, struct toolrack_error *err) {
    ret->count = 0;
    return store_generations_read(options->store, path, take_content, ret, err);
}

void content_note(const struct life_options *options, const char *path,
                  const struct plugin *plugin) {
    struct content_history history;
    struct toolrack_error err;
    int code = content_read_history(options, path, &history, &err);
    bool is_newest = code == 0 && history.count > 0 &&
                     memcmp(history.sha256[0], plugin->sha256, sizeof history.sha256[0]) == 0;
    if (code == 0 && !is_newest) {
        const char *slash = strrchr(plugin->image_path, '/');
        struct store_generation generation = {.path = path,
                                              .staged = slash != NULL ? slash + 1
                                                                      : plugin->image_path,
                                              .seen_s = clock_wall_s(),
                                              .identity = plugin->identity_text};
        memcpy(generation.sha256, plugin->sha256, sizeof generation.sha256);
        code = store_generation_add(options->store, &generation, NULL, &err);
    }
    if (code < 0) {
        log_line(options->log, LOG_WARNING, "store",
                 "a rollback to this content of %s will not be possible, as it could not be "
                 "recorded: %s",
                 path, err.message);
    }
}
