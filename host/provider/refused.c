/* refused.c - the file is an array, the oldest first, of {"url", "model", "name", "time"}. It is
 * exchanged as a whole: of two processes that write at the same time one may lose what it learned,
 * and learns it again. */
#include "provider/refused.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own-folder.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

#define FILE_NAME "refused.json"
#define FILE_NEW  ".refused.json.new"

/* What is kept, or an empty list. NULL: no memory. */
static yyjson_doc *load(const char *state_dir) {
    CLEANUP(freep) char *text = malloc(REFUSED_BYTES_MAX);
    CLEANUP(closep) int fd = own_file_open(state_dir, FILE_NAME, O_RDONLY);
    ssize_t length = fd >= 0 && text != NULL ? read(fd, text, REFUSED_BYTES_MAX) : 0;
    yyjson_doc *doc = length > 0 ? yyjson_read(text, (size_t)length, 0) : NULL;
    if (!yyjson_is_arr(yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        doc = yyjson_read("[]", 2, 0);
    }
    return doc;
}

static bool is_recent(yyjson_val *row) {
    int64_t time_s = yyjson_get_sint(yyjson_obj_get(row, "time"));
    int64_t now_s = clock_wall_s();
    return yyjson_is_str(yyjson_obj_get(row, "name")) && time_s <= now_s &&
           time_s > now_s - (int64_t)REFUSED_AGE_S_MAX;
}

static bool is_of(yyjson_val *row, const char *url, const char *model) {
    return yyjson_equals_str(yyjson_obj_get(row, "url"), url) &&
           yyjson_equals_str(yyjson_obj_get(row, "model"), model);
}

void refused_apply(const char *state_dir, const char *url, const char *model,
                   struct conversation *conversation) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = state_dir != NULL ? load(state_dir) : NULL;
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        if (is_of(row, url, model) && is_recent(row)) {
            conversation_drop(conversation, yyjson_get_str(yyjson_obj_get(row, "name")));
        }
    }
}

/* Write the file, in the place of the one before. */
static void store(const char *state_dir, yyjson_mut_doc *doc) {
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, &length);
    CLEANUP(closep) int dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (text == NULL || dir < 0 || length > REFUSED_BYTES_MAX) {
        return;
    }
    (void)unlinkat(dir, FILE_NEW, 0);
    CLEANUP(closep)
    int fd = openat(dir, FILE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 &&
        (write_all(fd, text, length) < 0 || renameat(dir, FILE_NEW, dir, FILE_NAME) < 0)) {
        (void)unlinkat(dir, FILE_NEW, 0);
    }
}

void refused_keep(const char *state_dir, const char *url, const char *model, const char *name) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = state_dir != NULL ? load(state_dir) : NULL;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *kept = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_arr(kept);
    size_t at;
    size_t count;
    yyjson_val *row;
    if (doc == NULL || root == NULL) {
        return;
    }
    yyjson_mut_doc_set_root(kept, root);
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        const bool is_this =
                is_of(row, url, model) && yyjson_equals_str(yyjson_obj_get(row, "name"), name);
        if (is_recent(row) && !is_this && count - at < REFUSED_MAX) {
            (void)yyjson_mut_arr_append(root, yyjson_val_mut_copy(kept, row));
        }
    }
    yyjson_mut_val *added = yyjson_mut_arr_add_obj(kept, root);
    if (yyjson_mut_obj_add_str(kept, added, "url", url) &&
        yyjson_mut_obj_add_str(kept, added, "model", model) &&
        yyjson_mut_obj_add_str(kept, added, "name", name) &&
        yyjson_mut_obj_add_sint(kept, added, "time", clock_wall_s())) {
        store(state_dir, kept);
    }
}
