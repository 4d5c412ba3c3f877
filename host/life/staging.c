#include "life/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "life/content.h"
#include "life/generation.h"
#include "life/keep.h"
#include "registry/tool.h"

void staging_init(struct staging *staging) {
    (void)pthread_rwlock_init(&staging->use, NULL);
    lock_init(&staging->lock);
}

void staging_stop(struct staging *staging) {
    LOCK_SCOPE(&staging->lock);
    staging->is_stopped = true;
    if (staging->stage != NULL) {
        stage_stop(staging->stage);
    }
}

bool staging_is_stopped(struct staging *staging) {
    LOCK_SCOPE(&staging->lock);
    return staging->is_stopped;
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

/* Caller holds the lock. */
static int open_anew(struct staging *staging, struct toolrack_error *err) {
    const char *kept_dir = staging->options->places->kept_dir;
    CLEANUP(freep) char *folder = NULL;
    if (kept_dir == NULL) {
        return stage_open_temporary(&staging->stage, err);
    }
    if (asprintf(&folder, "%s/images", kept_dir) < 0) {
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

static int open_stage(struct staging *staging, struct toolrack_error *err) {
    LOCK_SCOPE(&staging->lock);
    int code = staging->stage != NULL ? 0 : open_anew(staging, err);
    if (code == 0 && staging->is_stopped) {
        stage_stop(staging->stage);
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
    if (!staged.is_old) {
        atomic_store(&staging->made_copy, true);
    }
    return staging_set_copy(staging, plugin, &staged, err);
}

/* An earlier content: not the file is copied, but its copy is looked for. */
static int find_as_noted(struct staging *staging, struct plugin *plugin,
                         struct toolrack_error *err) {
    const struct generation *generation = generation_of(plugin);
    CLEANUP(descriptor_unrefp) struct descriptor *copy = NULL;
    struct staged staged;
    int code = open_stage(staging, err);
    if (code == 0) {
        code = stage_find(staging->stage, generation->sha256, plugin->path, &staged, err);
    }
    if (code == 0) {
        CLEANUP(closep) int fd = open(staged.path, O_RDONLY | O_CLOEXEC);
        code = fd >= 0 ? descriptor_read(fd, &(struct descriptor_options){0}, &copy, err)
                       : error_set(err, TOOLRACK_E_IO, "cannot open %s: %s", staged.path,
                                   strerror(errno));
    }
    if (code == TOOLRACK_E_NOT_FOUND || (code == 0 && !descriptor_same(plugin->desc, copy))) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the copy of this earlier content of %s is damaged or gone", plugin->path);
    }
    return code < 0 ? code : staging_set_copy(staging, plugin, &staged, err);
}

int staging_copy(struct staging *staging, struct plugin *plugin, struct toolrack_error *err) {
    struct generation *generation = generation_of(plugin);
    int code = 0;
    (void)pthread_mutex_lock(&generation->stage_lock);
    if (!atomic_load(&plugin->staged)) {
        staging_enter(staging);
        code = generation->is_earlier ? find_as_noted(staging, plugin, err)
                                      : copy_as_scanned(staging, plugin, err);
        staging_leave(staging);
    }
    (void)pthread_mutex_unlock(&generation->stage_lock);
    return code;
}

void staging_note_used(struct staging *staging, struct plugin *plugin) {
    struct generation *generation = generation_of(plugin);
    if (atomic_exchange(&generation->is_unused, false)) {
        bool has_worked = content_note(staging->options, generation->file->key, plugin);
        atomic_store(&plugin->has_answered, has_worked);
    }
}

/* --------------------------------------------------------------- the file as it is now */

int staging_take(struct staging *staging, const struct plugin_file *file, bool tries,
                 struct content *ret, struct toolrack_error *err) {
    struct content content = {0};
    struct content_rollback *rollback = &content.rollback;
    int code = open_stage(staging, err);
    if (code == 0) {
        code = stage_copy(staging->stage, file->path, NULL, STAGE_REUSE, &content.staged, err);
    }
    if (code != 0) {
        return code;
    }
    memcpy(content.file_sha256, content.staged.sha256, STAGE_HASH_SIZE);
    if (content_find_rollback(staging->options, file->key, rollback)) {
        if (memcmp(content.staged.sha256, rollback->bad_sha256, STAGE_HASH_SIZE) != 0) {
            content_end_rollback(staging->options, file->key);
        } else if (!tries) {
            struct file_identity source = content.staged.source;
            code = stage_find(staging->stage, rollback->use_sha256, file->path, &content.staged,
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

static bool is_of(const struct store_generation *row, const uint8_t *sha256) {
    return sha256 != NULL && memcmp(row->sha256, sha256, STAGE_HASH_SIZE) == 0;
}

const struct store_generation *staging_find_good(struct staging *staging,
                                                 const struct store_generation *rows, size_t count,
                                                 bool has_worked, const uint8_t *but,
                                                 struct staged *ret) {
    struct toolrack_error unheard; /* then no copy is there */
    if (count == 0 || open_stage(staging, &unheard) < 0) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        if (content_is_good(&rows[i]) && rows[i].has_worked == has_worked &&
            !is_of(&rows[i], but) &&
            stage_find(staging->stage, rows[i].sha256, rows[i].path, ret, NULL) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

struct descriptor *staging_read_noted(struct staging *staging, const struct store_generation *row) {
    struct descriptor *desc = NULL;
    struct toolrack_error unheard;
    bool no_memory;
    const struct descriptor_options options = tool_descriptor_options(&no_memory);
    CLEANUP(freep) char *path = NULL;
    if (strchr(row->staged, '/') != NULL || open_stage(staging, &unheard) < 0) {
        return NULL;
    }
    if (asprintf(&path, "%s/%s", stage_path(staging->stage), row->staged) < 0) {
        path = NULL;
        return NULL;
    }
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int code = fd < 0 ? TOOLRACK_E_IO : descriptor_read(fd, &options, &desc, &unheard);
    if (code < 0 || no_memory || desc->plugin == NULL) {
        descriptor_unref(desc);
        return NULL;
    }
    return desc;
}

bool staging_has(struct staging *staging, const struct store_generation *row) {
    struct toolrack_error unheard;
    struct staged staged;
    if (open_stage(staging, &unheard) < 0) {
        return false;
    }
    staging_enter(staging);
    bool found = stage_find(staging->stage, row->sha256, row->path, &staged, NULL) == 0;
    staging_leave(staging);
    return found;
}

/* Why nothing was found: `lost` are the good contents whose copies are gone. */
static int refuse_previous(const struct plugin_file *file, const struct buf *lost,
                           struct toolrack_error *err) {
    if (lost->length == 0 || lost->failed) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "there is no earlier content of %s to go back to (a content is known "
                         "since a tool of it was first called, and not used once somebody went "
                         "back from it); put the file there that you want",
                         file->path);
    }
    return error_set(err, TOOLRACK_E_NOT_FOUND,
                     "there is no copy of an earlier content of %s to go back to: those of %s are "
                     "not kept any more (the last %u good contents of a file are, and those of "
                     "kept versions: a higher \"keep\" in the policy keeps more); put the file "
                     "there that you want",
                     file->path, lost->data, KEEP_CONTENTS);
}

int staging_find_previous(struct staging *staging, const struct plugin_file *file,
                          const uint8_t used_sha256[STAGE_HASH_SIZE],
                          const uint8_t file_sha256[STAGE_HASH_SIZE], struct staged *ret,
                          struct toolrack_error *err) {
    CLEANUP(content_history_finish) struct content_history history;
    int code = content_read_history(staging->options, file->key, &history, err);
    if (code == 0) {
        code = open_stage(staging, err);
    }
    if (code < 0) {
        return code;
    }
    /* Skip the contents that are not older than the one in use. */
    size_t at = 0;
    while (at < history.count && !is_of(&history.rows[at], used_sha256)) {
        at++;
    }
    bool found = false;
    CLEANUP(buf_finish) struct buf lost = BUF_INIT;
    staging_enter(staging);
    for (at = at < history.count ? at + 1 : 0; !found && at < history.count; at++) {
        const struct store_generation *row = &history.rows[at];
        bool is_wanted = !is_of(row, used_sha256) && !is_of(row, file_sha256) && row->rule == NULL;
        found = is_wanted && stage_find(staging->stage, row->sha256, file->path, ret, NULL) == 0;
        bool is_named = at > 0 && row->version != NULL && history.rows[at - 1].version != NULL &&
                        strcmp(row->version, history.rows[at - 1].version) == 0 && lost.length > 0;
        if (is_wanted && !found && !is_named) {
            buf_printf(&lost, "%s%s%s", lost.length > 0 ? ", " : "",
                       row->version != NULL ? "version " : "a content without a version",
                       row->version != NULL ? row->version : "");
        }
    }
    staging_leave(staging);
    return found ? 0 : refuse_previous(file, &lost, err);
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
    struct stage_needs needs = {
            .in_use = paths, .in_use_count = count, .size_max = STAGE_UNUSED_SIZE_MAX};
    if (paths != NULL && staging->stage != NULL && keep_needed(staging->options, &arena, &needs)) {
        (void)stage_collect(staging->stage, &needs);
    }
    (void)pthread_rwlock_unlock(&staging->use);
    arena_finish(&arena);
}
