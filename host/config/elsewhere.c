#include "config/elsewhere.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/own-folder.h"

/* Largest note that is written and read. */
#define NOTE_SIZE_MAX (256u * 1024u)

/* A note: for each place its letter and its real path, each ended by a zero byte. The first one is
 * the state folder, without which nothing is decided there. */

/* ------------------------------------------------------------------- write */

static bool is_below(const char *path, const char *folder) {
    CLEANUP(freep) char *real = folder != NULL ? realpath(folder, NULL) : NULL;
    size_t length = real != NULL ? strlen(real) : 0;
    return real != NULL && strncmp(path, real, length) == 0 &&
           (path[length] == '/' || path[length] == '\0');
}

/* Add a place that is not the user's own; of the state folder in any case. */
static void add(struct buf *note, const struct places *places, enum elsewhere_kind kind,
                const char *path, bool *ret_elsewhere) {
    CLEANUP(freep) char *real = path != NULL ? realpath(path, NULL) : NULL;
    bool is_own = real != NULL &&
                  (is_below(real, places->user_state) || is_below(real, places->user_config) ||
                   is_below(real, places->data_dir));
    if (real != NULL && (!is_own || kind == ELSEWHERE_STATE)) {
        const char letter = (char)kind;
        buf_add(note, &letter, 1);
        buf_add(note, real, strlen(real) + 1);
        *ret_elsewhere = *ret_elsewhere || !is_own;
    }
}

/* The name of a note is the hash of what it says, so that a damaged one is known. */
#define NAME_LENGTH (2u * crypto_hash_sha256_BYTES)

static void find_name(const char *text, size_t length, char ret[NAME_LENGTH + 1]) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    (void)crypto_hash_sha256(hash, (const unsigned char *)text, length);
    (void)sodium_bin2hex(ret, NAME_LENGTH + 1, hash, sizeof hash);
}

/* A file of another name is none of ours: a draft, or what an editor left. */
static bool is_note(const char *name) {
    return strspn(name, "0123456789abcdef") == NAME_LENGTH && name[NAME_LENGTH] == '\0';
}

/* Whether a text has only places, each with its letter and an absolute path. */
static bool has_places(const char *text, size_t length) {
    bool is_good = length > 0 && text[0] == ELSEWHERE_STATE && text[length - 1] == '\0';
    for (const char *at = text; is_good && at < text + length; at += strlen(at) + 1) {
        is_good = at[0] != '\0' && at[1] == '/';
    }
    return is_good;
}

/* Read a note into the heap. 0; -ENOENT: it is gone; -EBADMSG: it is damaged; another errno. */
static int read_note(int folder, const char *name, char **ret, size_t *ret_length) {
    struct stat st;
    char found[NAME_LENGTH + 1];
    CLEANUP(closep) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        return -errno;
    }
    if (!S_ISREG(st.st_mode) || st.st_size == 0 || st.st_size > (off_t)NOTE_SIZE_MAX) {
        return -EBADMSG;
    }
    size_t size = (size_t)st.st_size;
    CLEANUP(freep) char *text = malloc(size);
    ssize_t length = text != NULL ? read(fd, text, size) : -1;
    if (length < 0) {
        return text != NULL ? -errno : -ENOMEM;
    }
    find_name(text, (size_t)length, found);
    if (strcmp(found, name) != 0 || !has_places(text, (size_t)length)) {
        return -EBADMSG;
    }
    *ret = STEAL(text);
    *ret_length = (size_t)length;
    return 0;
}

/* Remove the notes of state folders that are gone. */
static void clean(int folder) {
    struct stat st;
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = own >= 0 ? fdopendir(own) : NULL;
    if (dir == NULL) {
        closep(&own);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        CLEANUP(freep) char *note = NULL;
        size_t length;
        if (is_note(entry->d_name) && read_note(folder, entry->d_name, &note, &length) == 0 &&
            stat(note + 1, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            (void)unlinkat(folder, entry->d_name, 0);
        }
    }
    (void)closedir(dir);
}

/* So that a power cut leaves the note, and not an empty file of its name. */
static void sync_folders(int folder) {
    CLEANUP(closep) int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)fsync(folder);
    if (parent >= 0) {
        (void)fsync(parent);
    }
}

/* 0 or a negative errno value. */
static int write_note(int folder, const char *name, const struct buf *note) {
    char draft[40];
    (void)snprintf(draft, sizeof draft, ".%d-%.16s", getpid(), name);
    CLEANUP(closep)
    int fd = openat(folder, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code = fd < 0 ? -errno : write_all(fd, note->data, note->length);
    if (code == 0 && fsync(fd) < 0 && errno != EINVAL) { /* where it is not supported */
        code = -errno;
    }
    if (code == 0 && renameat(folder, draft, folder, name) < 0) {
        code = -errno;
    }
    if (code == 0) {
        sync_folders(folder);
    } else if (fd >= 0) {
        (void)unlinkat(folder, draft, 0);
    }
    return code;
}

/* Write a note, unless it is there and says what it should. 0 or a negative errno value. */
static int keep_note(char *path, const struct buf *note) {
    char name[NAME_LENGTH + 1];
    CLEANUP(freep) char *kept = NULL;
    size_t length;
    CLEANUP(closep) int folder = own_folder_open(path, true);
    if (folder < 0) {
        return folder;
    }
    find_name(note->data, note->length, name);
    if (read_note(folder, name, &kept, &length) == 0) {
        return 0;
    }
    int code = write_note(folder, name, note);
    if (code == 0) {
        clean(folder);
    }
    return code;
}

int elsewhere_note(const struct places *places, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf note = BUF_INIT;
    CLEANUP(freep) char *path = NULL;
    struct stat st;
    bool is_elsewhere = false;
    if (places->user_state == NULL || places->state_dir == NULL ||
        stat(places->state_dir, &st) < 0) {
        return 0;
    }
    add(&note, places, ELSEWHERE_STATE, places->state_dir, &is_elsewhere);
    add(&note, places, ELSEWHERE_CONFIG, places->config_file, &is_elsewhere);
    for (size_t i = 0; i < places->folder_count; i++) {
        if (places->folders[i].trust != TRUST_BUILTIN) {
            add(&note, places, ELSEWHERE_PLUGINS, places->folders[i].path, &is_elsewhere);
        }
    }
    if (note.failed || asprintf(&path, "%s/elsewhere", places->user_state) < 0) {
        path = NULL;
        return error_oom(err);
    }
    if (!is_elsewhere || note.data[0] != ELSEWHERE_STATE) {
        return 0;
    }
    if (note.length > NOTE_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the paths of its places have %zu bytes, more than the %u of a note",
                         note.length, NOTE_SIZE_MAX);
    }
    int code = keep_note(path, &note);
    return code == 0 ? 0
                     : error_set(err, TOOLRACK_E_IO, "cannot write to %s: %s", path,
                                 own_folder_words(code));
}

/* -------------------------------------------------------------------- read */

struct reading {
    struct arena *arena;
    const char *folder;
    struct elsewhere_list list;
    size_t room;
    unsigned notes;
    bool failed; /* out of memory */
};

static bool goes_on(const struct reading *reading) {
    return !reading->failed && reading->list.unknown == NULL;
}

static void set_unknown(struct reading *reading, const char *unknown) {
    reading->list.unknown = unknown;
    reading->failed = unknown == NULL;
}

static bool is_known(const struct reading *reading, const struct elsewhere *place) {
    for (size_t i = 0; i < reading->list.count; i++) {
        const struct elsewhere *known = &reading->list.places[i];
        if (known->kind == place->kind && strcmp(known->path, place->path) == 0) {
            return true;
        }
    }
    return false;
}

static void take(struct reading *reading, const struct elsewhere *place) {
    struct elsewhere_list *list = &reading->list;
    if (is_known(reading, place)) {
        return;
    }
    if (list->count == reading->room) {
        size_t room = reading->room == 0 ? 16 : 2 * reading->room;
        struct elsewhere *places = arena_alloc(reading->arena, room * sizeof *places);
        if (places == NULL) {
            reading->failed = true;
            return;
        }
        if (list->count > 0) {
            memcpy(places, list->places, list->count * sizeof *places);
        }
        list->places = places;
        reading->room = room;
    }
    const char *path = arena_copy(reading->arena, place->path, strlen(place->path));
    list->places[list->count++] = (struct elsewhere){place->kind, path};
    reading->failed = path == NULL;
}

static void take_note(struct reading *reading, int folder, const char *name) {
    CLEANUP(freep) char *note = NULL;
    size_t length = 0;
    int code = read_note(folder, name, &note, &length);
    if (code == -ENOENT) {
        return; /* removed meanwhile */
    }
    if (code == -ENOMEM) {
        reading->failed = true;
    } else if (code == -EBADMSG) {
        set_unknown(reading, arena_printf(reading->arena,
                                          "the note %s/%s is damaged; the next start of the host "
                                          "that made it repairs it, or remove it",
                                          reading->folder, name));
    } else if (code < 0) {
        set_unknown(reading,
                    arena_printf(reading->arena, "the note %s/%s cannot be read (%s); mend that",
                                 reading->folder, name, strerror(-code)));
    } else if (++reading->notes > ELSEWHERE_NOTES_MAX) {
        set_unknown(reading,
                    arena_printf(reading->arena,
                                 "%s has the notes of more than %u hosts; remove their state "
                                 "folders that are not used any more",
                                 reading->folder, ELSEWHERE_NOTES_MAX));
    }
    for (const char *at = note; note != NULL && goes_on(reading) && at < note + length;
         at += strlen(at) + 1) {
        take(reading, &(struct elsewhere){(enum elsewhere_kind)at[0], at + 1});
    }
}

/* Where no note can be, none is missing: also below what is no folder, as of a user whose home is
 * /dev/null. */
static bool is_absent(const char *path, int why) {
    struct stat st;
    return why == ENOENT || (why == ENOTDIR && lstat(path, &st) < 0);
}

static void read_folder(struct reading *reading) {
    int folder = own_folder_open(reading->folder, false);
    DIR *dir = folder >= 0 ? fdopendir(folder) : NULL;
    int why = folder < 0 ? -folder : dir == NULL ? errno : 0;
    while (dir != NULL && goes_on(reading)) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (entry == NULL) {
            why = errno;
            break;
        }
        if (is_note(entry->d_name)) {
            take_note(reading, dirfd(dir), entry->d_name);
        }
    }
    if (why != 0 && (dir != NULL || !is_absent(reading->folder, why))) {
        set_unknown(reading, arena_printf(reading->arena, "%s cannot be read (%s); mend that",
                                          reading->folder, own_folder_words(-why)));
    }
    if (dir != NULL) {
        (void)closedir(dir);
    } else {
        closep(&folder);
    }
}

int elsewhere_read(const struct places *places, struct arena *arena, struct elsewhere_list *ret,
                   struct toolrack_error *err) {
    struct reading reading = {.arena = arena};
    CLEANUP(freep) char *path = NULL;
    *ret = (struct elsewhere_list){0};
    if (places->user_state == NULL) {
        return 0;
    }
    if (asprintf(&path, "%s/elsewhere", places->user_state) < 0) {
        path = NULL;
        return error_oom(err);
    }
    reading.folder = path;
    read_folder(&reading);
    if (!reading.failed && reading.notes > ELSEWHERE_NOTES_MAX) {
        CLEANUP(closep) int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder >= 0) {
            clean(folder);
        }
        reading = (struct reading){.arena = arena, .folder = path};
        read_folder(&reading);
    }
    *ret = reading.list;
    return reading.failed ? error_oom(err) : 0;
}
