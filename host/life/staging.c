#include "life/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "life/content.h"
#include "life/generation.h"

void staging_init(struct staging *staging) {
    (void)pthread_rwlock_init(&staging->use, NULL);
    lock_init(&staging->lock);
}

void staging_close(struct staging *staging) {
    stage_close(staging->stage);
    staging->stage = NULL;
}

void staging_finish(struct staging *staging) {
    lock_finish(&staging->lock);
    (void)pthread_rwlock_destroy(&staging->use);
}

void staging_enter(struct staging *staging) {
    (void)pthread_rwlock_rdlock(&staging->use);
}

void staging_leave(struct staging *staging) {
    (void)pthread_rwlock_unlock(&staging->use);
}

static int open_stage(struct staging *staging, struct toolrack_error *err) {
    const char *state_dir = staging->options->places->state_dir;
    CLEANUP(freep) char *folder = NULL;
    LOCK_SCOPE(&staging->lock);
    if (staging->stage != NULL) {
        return 0;
    }
    if (state_dir == NULL) {
        return stage_open_temporary(&staging->stage, err);
    }
    if (asprintf(&folder, "%s/images", state_dir) < 0) {
        folder = NULL;
        return error_oom(err);
    }
    struct toolrack_error why;
    int code = stage_open(folder, &staging->stage, &why);
    if (code == TOOLRACK_E_IO) { /* a read-only disk, or a home of another user */
        log_line(staging->options->log, LOG_WARNING, "life",
                 "%s: plugins are copied into a temporary folder, and cannot be rolled back after "
                 "this host has closed",
                 why.message);
        return stage_open_temporary(&staging->stage, err);
    }
    if (code < 0 && err != NULL) {
        *err = why;
    }
    return code;
}

/* -------------------------------------------------------------- the file that was read */

int staging_set_copy(struct staging *staging, struct plugin *plugin, const struct staged *staged,
                     struct toolrack_error *err) {
    struct staged copy = *staged;
    int code = generation_set_image(plugin, &copy, err);
    while (code == TOOLRACK_E_EXISTS) {
        struct staged renewed;
        code = stage_renew(staging->stage, &copy, &renewed, err);
        if (code == 0) {
            copy = renewed;
            code = generation_set_image(plugin, &copy, err);
        }
    }
    return code;
}

/* The copy must have the descriptor that was read in the scan: only that one was checked. */
static int copy_as_scanned(struct staging *staging, struct plugin *plugin,
                           struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *copy = NULL;
    struct staged staged;
    int code = open_stage(staging, err);
    if (code < 0) {
        return code;
    }
    code = stage_copy(staging->stage, plugin->path, &plugin->identity, STAGE_REUSE, &staged, err);
    if (code == 0) {
        CLEANUP(closep) int fd = open(staged.path, O_RDONLY | O_CLOEXEC);
        code = fd >= 0 ? descriptor_read(fd, &(struct descriptor_options){0}, &copy, err)
                       : error_set(err, TOOLRACK_E_IO, "cannot open %s: %s", staged.path,
                                   strerror(errno));
    }
    if (code < 0) {
        return code;
    }
    if (code == STAGE_CHANGING || !descriptor_same(plugin->desc, copy)) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s has changed since it was read; reload it",
                         plugin->path);
    }
    return staging_set_copy(staging, plugin, &staged, err);
}

int staging_copy(struct staging *staging, struct plugin *plugin, struct toolrack_error *err) {
    struct generation *generation = generation_of(plugin);
    int code = 0;
    (void)pthread_mutex_lock(&generation->stage_lock);
    if (!atomic_load(&plugin->staged)) {
        staging_enter(staging);
        code = copy_as_scanned(staging, plugin, err);
        staging_leave(staging);
        if (code == 0) {
            content_note(staging->options, plugin->path, plugin);
        }
    }
    (void)pthread_mutex_unlock(&generation->stage_lock);
    return code;
}

/* --------------------------------------------------------------- the file as it is now */

int staging_take(struct staging *staging, const struct plugin_file *file, struct content *ret,
                 struct toolrack_error *err) {
    struct content content = {0};
    struct content_rollback rollback;
    int code = open_stage(staging, err);
    if (code == 0) {
        code = stage_copy(staging->stage, file->path, NULL, STAGE_REUSE, &content.staged, err);
    }
    if (code != 0) {
        return code;
    }
    if (content_find_rollback(staging->options, file->path, &rollback)) {
        if (memcmp(content.staged.sha256, rollback.bad_sha256, STAGE_HASH_SIZE) != 0) {
            content_end_rollback(staging->options, file->path);
        } else {
            struct file_identity source = content.staged.source;
            code = stage_find(staging->stage, rollback.use_sha256, file->path, &content.staged,
                              err);
            content.staged.source = source;
            content.is_earlier = true;
        }
    }
    if (code == TOOLRACK_E_NOT_FOUND) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the file has the content that was rolled back, and the content before "
                         "it is not kept any more");
    }
    if (code == 0) {
        *ret = content;
    }
    return code;
}

int staging_find_previous(struct staging *staging, const struct plugin_file *file,
                          const uint8_t used_sha256[STAGE_HASH_SIZE],
                          const uint8_t file_sha256[STAGE_HASH_SIZE], struct staged *ret,
                          struct toolrack_error *err) {
    struct content_history history;
    int code = content_read_history(staging->options, file->path, &history, err);
    if (code < 0) {
        return code;
    }
    /* Skip the contents that are not older than the one in use. */
    size_t at = 0;
    while (at < history.count && memcmp(history.sha256[at], used_sha256, STAGE_HASH_SIZE) != 0) {
        at++;
    }
    bool found = false;
    staging_enter(staging);
    for (at = at < history.count ? at + 1 : 0; !found && at < history.count; at++) {
        const uint8_t *sha256 = history.sha256[at];
        found = memcmp(sha256, used_sha256, STAGE_HASH_SIZE) != 0 &&
                memcmp(sha256, file_sha256, STAGE_HASH_SIZE) != 0 &&
                stage_find(staging->stage, sha256, file->path, ret, NULL) == 0;
    }
    staging_leave(staging);
    return found ? 0
                 : error_set(
                           err, TOOLRACK_E_NOT_FOUND,
                           "there is no earlier content of %s to go back to: the last %u contents "
                           "of a file are kept, each since a tool of it was first called; put "
                           "the file there that you want",
                           file->path, STAGE_CONTENTS_KEPT);
}

/* ------------------------------------------------------------------------ unused */

/* No thread makes or looks for a copy meanwhile: a copy that was just found might not be in the
 * list of generations_list_copies() yet. */
void staging_collect(struct staging *staging, struct plugin_files *files) {
    struct arena arena;
    size_t count = 0;
    arena_init(&arena, NULL, 0);
    (void)pthread_rwlock_wrlock(&staging->use);
    const char *const *paths = generations_list_copies(staging->generations, files, &arena, &count);
    if (paths != NULL && staging->stage != NULL) {
        (void)stage_collect(staging->stage, paths, count);
    }
    (void)pthread_rwlock_unlock(&staging->use);
    arena_finish(&arena);
}
