#include "provider/results.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/own-folder.h"
#include "base/text.h"
#include "base/utf8.h"
#include "schema/secret.h"

/* Invariants:
 *
 *  (1) Without a folder the text of a kept result is in `texts`; of one that went to make room for
 *      others the data is NULL.
 *  (2) With a folder `texts` is empty, and a file may go at any time. */
struct results {
    char *folder; /* NULL: in memory */
    char *conversation;
    const struct key *key;     /* NULL: none */
    const struct buf *secrets; /* NULL: none */
    struct buf *texts;
    uint64_t count;
    uint64_t bytes; /* of the texts */
};

/* Room for the name of a file: an id of a conversation, a dot, and a number. */
#define ID_LENGTH_MAX 64u
#define NAME_ROOM     96u

/* An id that can be a part of a file's name. */
static bool is_plain(const char *id) {
    size_t length = strnlen(id, ID_LENGTH_MAX + 1);
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_word(id[i]) && id[i] != '-') {
            return false;
        }
    }
    return length > 0 && length <= ID_LENGTH_MAX;
}

/* The number in the name of a file, of this conversation or with NULL of any; 0: it has another. */
static uint64_t number_in(const char *name, const char *conversation) {
    const char *dot = strchr(name, '.');
    char *end = NULL;
    if (dot == NULL || !ascii_is_digit(dot[1]) ||
        (conversation != NULL && (strlen(conversation) != (size_t)(dot - name) ||
                                  strncmp(name, conversation, (size_t)(dot - name)) != 0))) {
        return 0;
    }
    uint64_t number = strtoull(dot + 1, &end, 10);
    return *end == '\0' && number <= RESULTS_MAX ? number : 0;
}

static void name_of(const struct results *results, uint64_t number, char ret[NAME_ROOM]) {
    (void)snprintf(ret, NAME_ROOM, "%s.%" PRIu64, results->conversation, number);
}

/* -------------------------------------------------------------------- life */

static int find_folder(const char *state_dir, char **ret, struct toolrack_error *err) {
    if (asprintf(ret, "%s/results", state_dir) < 0) {
        *ret = NULL;
        return error_oom(err);
    }
    return 0;
}

/* The folder; NULL: there is none, or it is not the user's own, and errno says why. */
static DIR *open_folder(const char *path) {
    int folder = own_folder_open(path, false);
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
    errno = folder < 0 ? -folder : errno;
    if (dir == NULL) {
        closep(&folder);
    }
    return dir;
}

/* Those of an earlier process. */
static void count_files(struct results *results) {
    DIR *dir = open_folder(results->folder);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        uint64_t number = number_in(entry->d_name, results->conversation);
        results->count = number > results->count ? number : results->count;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
}

int results_create(const char *state_dir, const char *conversation, struct results **ret,
                   struct toolrack_error *err) {
    struct results *results = calloc(1, sizeof *results);
    int code = results != NULL ? 0 : error_oom(err);
    if (code == 0) {
        results->conversation = strdup(conversation);
        code = results->conversation != NULL ? 0 : error_oom(err);
    }
    if (code == 0 && state_dir != NULL && is_plain(conversation)) {
        code = find_folder(state_dir, &results->folder, err);
    }
    if (code < 0) {
        results_destroy(results);
        return code;
    }
    if (results->folder != NULL) {
        count_files(results);
    }
    *ret = results;
    return 0;
}

void results_destroy(struct results *results) {
    if (results != NULL) {
        for (uint64_t i = 0; results->texts != NULL && i < results->count; i++) {
            buf_finish(&results->texts[i]);
        }
        free(results->texts);
        free(results->folder);
        free(results->conversation);
        free(results);
    }
}

void results_hide(struct results *results, const struct key *key, const struct buf *secrets) {
    results->key = key;
    results->secrets = secrets;
}

uint64_t results_count(const struct results *results) {
    return results->count;
}

int results_forget(const char *state_dir, const char *conversation, struct toolrack_error *err) {
    CLEANUP(freep) char *folder = NULL;
    int code = find_folder(state_dir, &folder, err);
    DIR *dir = code == 0 ? open_folder(folder) : NULL;
    int failed = code == 0 && dir == NULL && errno != ENOENT ? errno : 0;
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (number_in(entry->d_name, conversation) != 0 &&
            unlinkat(dirfd(dir), entry->d_name, 0) < 0 && errno != ENOENT) {
            failed = errno;
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return failed == 0 ? code
                       : error_set(err, TOOLRACK_E_IO,
                                   "cannot remove the results of the conversation from %s: %s",
                                   folder, own_folder_words(-failed));
}

/* -------------------------------------------------------------------- keep */

/* A file of the folder. */
struct kept {
    char name[NAME_ROOM];
    struct timespec changed;
    uint64_t size;
};

static int compare_ages(const void *a, const void *b) {
    const struct kept *x = a;
    const struct kept *y = b;
    return x->changed.tv_sec != y->changed.tv_sec
                   ? (x->changed.tv_sec > y->changed.tv_sec ? 1 : -1)
                   : (x->changed.tv_nsec > y->changed.tv_nsec) -
                             (x->changed.tv_nsec < y->changed.tv_nsec);
}

/* All files of the folder, of any conversation. NULL: none, or no memory. */
static struct kept *list_files(DIR *dir, size_t *ret_count) {
    struct kept *files = NULL;
    size_t room = 0;
    struct stat st;
    *ret_count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (number_in(entry->d_name, NULL) == 0 || strlen(entry->d_name) >= NAME_ROOM ||
            fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            continue;
        }
        if (*ret_count == room) {
            room = room == 0 ? 64 : 2 * room;
            struct kept *grown = realloc(files, room * sizeof *grown);
            if (grown == NULL) {
                break;
            }
            files = grown;
        }
        struct kept *file = &files[(*ret_count)++];
        (void)snprintf(file->name, sizeof file->name, "%s", entry->d_name);
        file->changed = st.st_mtim;
        file->size = (uint64_t)st.st_size;
    }
    return files;
}

/* Remove what is too old, and the oldest until there is room. A file that cannot be removed stays:
 * the next one is kept all the same. */
static void make_room(const struct results *results, size_t length) {
    DIR *dir = open_folder(results->folder);
    size_t count = 0;
    uint64_t bytes = length;
    if (dir == NULL) {
        return;
    }
    CLEANUP(freep) struct kept *files = list_files(dir, &count);
    int64_t oldest_s = clock_wall_s() - (int64_t)RESULTS_AGE_S_MAX;
    for (size_t i = 0; i < count; i++) {
        bytes += files[i].size;
    }
    if (count > 0) {
        qsort(files, count, sizeof *files, compare_ages);
    }
    for (size_t i = 0; i < count; i++) {
        if (bytes > RESULTS_BYTES_MAX || files[i].changed.tv_sec < oldest_s) {
            (void)unlinkat(dirfd(dir), files[i].name, 0);
            bytes -= files[i].size;
        }
    }
    (void)closedir(dir);
}

static int keep_file(struct results *results, const char *text, size_t length,
                     struct toolrack_error *err) {
    char name[NAME_ROOM];
    uint64_t number = results->count;
    int code = own_folder_check(results->folder, true);
    int fd = -1;
    if (code == 0) {
        make_room(results, length);
        /* Another process may go on with the same conversation: its numbers are not used again. */
        do {
            name_of(results, ++number, name);
            fd = own_file_open(results->folder, name, O_WRONLY | O_CREAT | O_EXCL);
        } while (fd == -EEXIST && number < RESULTS_MAX);
        code = fd < 0 ? fd : write_all(fd, text, length);
    }
    closep(&fd);
    if (fd >= 0 && code < 0) { /* a part would be taken for the whole */
        CLEANUP(closep) int folder = open(results->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)unlinkat(folder, name, 0);
    }
    results->count = code == 0 ? number : results->count;
    return code == 0 ? 0
                     : error_set(err, TOOLRACK_E_IO, "cannot keep a long result in %s: %s",
                                 results->folder, own_folder_words(code));
}

static int keep_in_memory(struct results *results, const char *text, size_t length,
                          struct toolrack_error *err) {
    struct buf copy = BUF_INIT;
    struct buf *grown = realloc(results->texts, (results->count + 1) * sizeof *grown);
    results->texts = grown != NULL ? grown : results->texts;
    buf_add(&copy, text, length);
    if (grown == NULL || copy.failed) {
        buf_finish(&copy);
        return error_oom(err);
    }
    for (uint64_t i = 0; i < results->count && results->bytes + length > RESULTS_BYTES_MAX; i++) {
        results->bytes -= grown[i].length;
        buf_finish(&grown[i]);
    }
    grown[results->count++] = copy;
    results->bytes += length;
    return 0;
}

/* Mask secrets in place, before and behind each zero. @return the length that is left */
static size_t mask(const struct buf *secrets, char *text, size_t length) {
    size_t to = 0;
    for (size_t at = 0; at <= length;) {
        const size_t size = strlen(text + at) + 1;
        secrets_mask(secrets, text + at);
        const size_t left = strlen(text + at) + 1;
        memmove(text + to, text + at, left);
        to += left;
        at += size;
    }
    return to - 1;
}

int results_keep(struct results *results, char *text, size_t *length, uint64_t *ret_number,
                 struct toolrack_error *err) {
    if (results->key != NULL) {
        key_redact(results->key, text, *length);
    }
    if (results->secrets != NULL) {
        *length = mask(results->secrets, text, *length);
    }
    if (results->count >= RESULTS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "a conversation keeps at most %u long results", RESULTS_MAX);
    }
    int code = results->folder != NULL ? keep_file(results, text, *length, err)
                                       : keep_in_memory(results, text, *length, err);
    if (code == 0) {
        *ret_number = results->count;
    }
    return code;
}

/* -------------------------------------------------------------------- read */

static int is_gone(uint64_t number, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_NOT_FOUND,
                     "result %" PRIu64 " is not kept any more: call its tool again", number);
}

/* Load up to `most` bytes from `begin` on; `*ret_size`: of the whole. */
static int load_file(const struct results *results, uint64_t number, uint64_t begin, size_t most,
                     struct buf *out, uint64_t *ret_size, struct toolrack_error *err) {
    char name[NAME_ROOM];
    struct stat st;
    name_of(results, number, name);
    int is_own = own_folder_check(results->folder, false);
    CLEANUP(closep)
    int fd = is_own == 0 ? own_file_open(results->folder, name, O_RDONLY) : is_own;
    if (fd == -ENOENT) {
        return is_gone(number, err);
    }
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read result %" PRIu64 ", %s/%s: %s", number,
                         results->folder, name,
                         is_own == 0 ? own_file_words(fd) : own_folder_words(is_own));
    }
    if (fstat(fd, &st) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read result %" PRIu64 ": %s", number,
                         strerror(errno));
    }
    *ret_size = (uint64_t)st.st_size;
    uint64_t left = begin < *ret_size ? *ret_size - begin : 0;
    size_t wanted = left < most ? (size_t)left : most;
    if (!buf_reserve(out, wanted)) {
        return error_oom(err);
    }
    while (wanted > 0) {
        ssize_t got = pread(fd, out->data + out->length, wanted, (off_t)begin);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return error_set(err, TOOLRACK_E_IO, "cannot read result %" PRIu64 ": %s", number,
                             got < 0 ? strerror(errno) : "it became shorter");
        }
        out->length += (size_t)got;
        out->data[out->length] = '\0';
        begin += (uint64_t)got;
        wanted -= (size_t)got;
    }
    return 0;
}

static int load(const struct results *results, uint64_t number, uint64_t begin, size_t most,
                struct buf *out, uint64_t *ret_size, struct toolrack_error *err) {
    if (number == 0 || number > results->count) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "there is no result %" PRIu64 "; %" PRIu64
                         " results of this conversation are kept, numbered from 1",
                         number, results->count);
    }
    if (results->folder != NULL) {
        return load_file(results, number, begin, most, out, ret_size, err);
    }
    const struct buf *text = &results->texts[number - 1];
    if (text->data == NULL) {
        return is_gone(number, err);
    }
    *ret_size = text->length;
    if (begin < text->length) {
        size_t left = text->length - (size_t)begin;
        buf_add(out, text->data + begin, left < most ? left : most);
    }
    return out->failed ? error_oom(err) : 0;
}

/* Longest character of UTF-8. */
#define CHARACTER_MAX 4u

static bool is_continued(char c) {
    return ((unsigned char)c & 0xc0) == 0x80;
}

static int check_begin(const struct results_part *part, struct toolrack_error *err) {
    return part->begin < part->size
                   ? 0
                   : error_set_field(err, TOOLRACK_E_INVALID_ARGUMENTS, "/offset",
                                     "%" PRIu64 " is behind the end of result %" PRIu64
                                     ", which has %" PRIu64 " bytes",
                                     part->begin, part->number, part->size);
}

int results_read(const struct results *results, struct results_part *part, size_t length,
                 struct buf *out, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    /* Where it begins within a character, the rest of that is left out. */
    size_t most = length < SIZE_MAX - 2 * CHARACTER_MAX ? length + 2 * CHARACTER_MAX : length;
    int code = load(results, part->number, part->begin, most, &text, &part->size, err);
    code = code < 0 ? code : check_begin(part, err);
    if (code < 0) {
        return code;
    }
    size_t from = 0;
    while (from < text.length && from < CHARACTER_MAX && is_continued(text.data[from])) {
        from++;
    }
    size_t left = text.length - from;
    size_t given = utf8_cut(text.data + from, length < left ? length : left);
    if (given == 0 && left > 0) { /* one character is longer than what is wanted */
        uint32_t point;
        given = utf8_decode(text.data + from, left, &point);
        given = given > 0 ? given : 1;
    }
    buf_add(out, text.data + from, given);
    part->begin += from;
    part->end = part->begin + given;
    return out->failed ? error_oom(err) : 0;
}

static void add_place(struct buf *out, const struct buf *text, size_t at, size_t length,
                      uint64_t offset) {
    size_t around = RESULTS_PLACE_BYTES_MAX / 2;
    size_t from = at > around ? at - around : 0;
    while (from < at && is_continued(text->data[from])) {
        from++;
    }
    size_t left = text->length - from;
    size_t most = at - from + length + around;
    size_t given = utf8_cut(text->data + from, most < left ? most : left);
    buf_printf(out, "byte %" PRIu64 ": ", offset + at);
    text_add_line(out, text->data + from, given);
    buf_add_char(out, '\n');
}

int results_find(const struct results *results, struct results_part *part, const char *wanted,
                 struct buf *out, size_t *ret_count, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    size_t length = strlen(wanted);
    int code = load(results, part->number, part->begin, SIZE_MAX, &text, &part->size, err);
    code = code < 0 ? code : check_begin(part, err);
    if (code < 0) {
        return code;
    }
    size_t at = 0;
    *ret_count = 0;
    while (*ret_count < RESULTS_PLACES_MAX) {
        const char *found = memmem(text.data + at, text.length - at, wanted, length);
        if (found == NULL) {
            at = text.length;
            break;
        }
        size_t place = (size_t)(found - text.data);
        add_place(out, &text, place, length, part->begin);
        (*ret_count)++;
        at = place + length;
    }
    part->end = part->begin + at;
    return out->failed ? error_oom(err) : 0;
}
