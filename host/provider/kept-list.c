/* kept-list.c - which conversations are kept. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/own-folder.h"
#include "base/text.h"
#include "provider/kept.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

struct entry {
    int64_t last_us; /* when it was written to */
    char *json;      /* owned */
};

struct entries {
    struct entry *items;
    size_t count;
};

static void entries_finish(struct entries *entries) {
    for (size_t i = 0; i < entries->count; i++) {
        free(entries->items[i].json);
    }
    free(entries->items);
}

static int compare(const void *a, const void *b) {
    const struct entry *first = a;
    const struct entry *second = b;
    return first->last_us != second->last_us ? (first->last_us < second->last_us ? 1 : -1)
                                             : strcmp(second->json, first->json);
}

static bool is_in_use(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

static void add_text(struct buf *out, const char *key, yyjson_val *value) {
    buf_printf(out, ",\"%s\":", key);
    if (yyjson_is_str(value)) {
        buf_add_json_string(out, yyjson_get_str(value), yyjson_get_len(value));
    } else {
        buf_add_text(out, "null");
    }
}

static void add_task(struct buf *out, yyjson_val *task) {
    CLEANUP(buf_finish) struct buf cut = BUF_INIT;
    const char *text = yyjson_is_str(task) ? yyjson_get_str(task) : "";
    text_add_cut(&cut, text, strlen(text), KEPT_TASK_SHOWN);
    buf_add_text(out, ",\"task\":");
    buf_add_json_string(out, cut.data != NULL ? cut.data : "", cut.length);
    out->failed = out->failed || cut.failed;
}

/* Of the lines after the first: how many requests were sent to the model. */
static size_t count_steps(FILE *file) {
    static const char request[] = "{\"kind\":\"request\"";
    CLEANUP(freep) char *line = NULL;
    size_t room = 0;
    size_t bytes = 0;
    size_t count = 0;
    for (ssize_t got; bytes < TRANSCRIPT_RESUMED_MAX && (got = getline(&line, &room, file)) > 0;) {
        count += strncmp(line, request, sizeof request - 1) == 0;
        bytes += (size_t)got;
    }
    return count;
}

/* Append the object of a transcript; what is none appends nothing. */
static void look(FILE *file, const struct stat *st, const char *name, struct buf *out) {
    CLEANUP(freep) char *line = NULL;
    size_t room = 0;
    ssize_t length = getline(&line, &room, file);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = length > 0 ? yyjson_read(line, (size_t)length, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *beginning = yyjson_obj_get(root, "beginning");
    if (beginning == NULL) {
        return;
    }
    int64_t last_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
    buf_add_text(out, "{\"id\":");
    buf_add_json_string(out, name, strlen(name) - strlen(TRANSCRIPT_ENDING));
    add_text(out, "format", yyjson_obj_get(beginning, "format"));
    add_text(out, "endpoint", yyjson_obj_get(beginning, "endpoint"));
    add_text(out, "model", yyjson_obj_get(beginning, "model"));
    add_task(out, yyjson_obj_get(beginning, "task"));
    add_text(out, "began", yyjson_obj_get(root, "time"));
    buf_printf(out, ",\"last_ms\":%lld,\"steps\":%zu,\"bytes\":%lld,\"in_use\":%s}",
               (long long)last_ms, count_steps(file), (long long)st->st_size,
               is_in_use(fileno(file)) ? "true" : "false");
}

static bool is_transcript(const char *name) {
    char id[TRANSCRIPT_ID_ROOM];
    size_t length = strlen(name);
    size_t ending = strlen(TRANSCRIPT_ENDING);
    if (length <= ending || length - ending >= sizeof id ||
        strcmp(name + length - ending, TRANSCRIPT_ENDING) != 0) {
        return false;
    }
    memcpy(id, name, length - ending);
    id[length - ending] = '\0';
    return transcript_id_valid(id);
}

/* @return false: no memory */
static bool add_entry(struct entries *entries, int folder, const char *name) {
    struct stat st;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()
                         ? fdopen(fd, "r")
                         : NULL;
    if (file == NULL) {
        closep(&fd);
        return true;
    }
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    look(file, &st, name, &json);
    (void)fclose(file);
    if (json.length == 0 && !json.failed) {
        return true;
    }
    struct entry *more = realloc(entries->items, (entries->count + 1) * sizeof *more);
    entries->items = more != NULL ? more : entries->items;
    char *text = more != NULL ? buf_steal(&json) : NULL;
    if (text == NULL) {
        return false;
    }
    more[entries->count++] = (struct entry){.last_us = (int64_t)st.st_mtim.tv_sec * 1000000 +
                                                       st.st_mtim.tv_nsec / 1000,
                                            .json = text};
    return true;
}

static int list_folder(DIR *dir, struct buf *out, struct toolrack_error *err) {
    CLEANUP(entries_finish) struct entries entries = {0};
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (is_transcript(entry->d_name) && !add_entry(&entries, dirfd(dir), entry->d_name)) {
            return error_oom(err);
        }
    }
    if (entries.count > 1) {
        qsort(entries.items, entries.count, sizeof *entries.items, compare);
    }
    buf_add_char(out, '[');
    for (size_t i = 0; i < entries.count; i++) {
        buf_add_text(out, i > 0 ? "," : "");
        buf_add_text(out, entries.items[i].json);
    }
    buf_add_char(out, ']');
    return out->failed ? error_oom(err) : 0;
}

int kept_list(const char *state_dir, struct buf *out, struct toolrack_error *err) {
    CLEANUP(freep) char *path = NULL;
    if (state_dir != NULL && asprintf(&path, "%s/" TRANSCRIPT_FOLDER, state_dir) < 0) {
        path = NULL;
        return error_oom(err);
    }
    CLEANUP(closep) int folder = path != NULL ? own_folder_open(path, false) : -ENOENT;
    if (folder == -ENOENT) {
        buf_add_text(out, "[]");
        return out->failed ? error_oom(err) : 0;
    }
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
    if (dir == NULL) {
        return error_set(err, TOOLRACK_E_IO, "cannot list %s: %s", path,
                         own_folder_words(folder < 0 ? folder : -errno));
    }
    folder = -1;
    int code = list_folder(dir, out, err);
    (void)closedir(dir);
    return code;
}

int kept_remove(const char *state_dir, const char *id, struct toolrack_error *err) {
    struct transcript *transcript = NULL;
    int code = transcript_open(
            &(struct transcript_place){.state_dir = state_dir, .id = id, .is_kept = true},
            &transcript, err);
    if (code == 0 && unlink(transcript_path(transcript)) < 0) {
        code = error_set(err, TOOLRACK_E_IO, "cannot remove %s: %s", transcript_path(transcript),
                         strerror(errno));
    }
    transcript_close(transcript);
    return code;
}
