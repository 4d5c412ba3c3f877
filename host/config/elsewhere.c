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

static bool make_folders(const char *path) {
    CLEANUP(freep) char *part = strdup(path);
    for (char *slash = part != NULL ? strchr(part + 1, '/') : NULL; slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(part, 0700);
        *slash = '/';
    }
    return part != NULL && (mkdir(part, 0700) == 0 || errno == EEXIST);
}

static bool is_note(const char *name) {
    return name[0] != '.';
}

/* The note as text, in the heap; NULL: there is none. */
static char *read_note(int folder, const char *name, size_t *ret_length) {
    struct stat st;
    CLEANUP(closep) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 3 ||
        st.st_size > (off_t)NOTE_SIZE_MAX) {
        return NULL;
    }
    size_t size = (size_t)st.st_size;
    CLEANUP(freep) char *text = malloc(size);
    if (text == NULL || read(fd, text, size) != (ssize_t)size || text[size - 1] != '\0' ||
        text[0] != ELSEWHERE_STATE) {
        return NULL;
    }
    *ret_length = size;
    return STEAL(text);
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
        size_t length;
        CLEANUP(freep)
        char *note = is_note(entry->d_name) ? read_note(folder, entry->d_name, &length) : NULL;
        if (note != NULL && stat(note + 1, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
            (void)unlinkat(folder, entry->d_name, 0);
        }
    }
    (void)closedir(dir);
}

static bool write_note(int folder, const char *name, const struct buf *note) {
    char draft[40];
    (void)snprintf(draft, sizeof draft, ".%d-%.16s", getpid(), name);
    CLEANUP(closep)
    int fd = openat(folder, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    bool is_written = write(fd, note->data, note->length) == (ssize_t)note->length &&
                      renameat(folder, draft, folder, name) == 0;
    if (!is_written) {
        int why = errno;
        (void)unlinkat(folder, draft, 0);
        errno = why;
    }
    return is_written;
}

int elsewhere_note(const struct places *places, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf note = BUF_INIT;
    CLEANUP(freep) char *path = NULL;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char name[2 * sizeof hash + 1];
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
    if (!is_elsewhere || note.length > NOTE_SIZE_MAX || note.data[0] != ELSEWHERE_STATE) {
        return 0;
    }
    (void)crypto_hash_sha256(hash, (const unsigned char *)note.data, note.length);
    (void)sodium_bin2hex(name, sizeof name, hash, sizeof hash);
    CLEANUP(closep)
    int folder = make_folders(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (folder >= 0 && faccessat(folder, name, F_OK, 0) == 0) {
        return 0;
    }
    if (folder < 0 || !write_note(folder, name, &note)) {
        return error_set(err, TOOLRACK_E_IO, "cannot write to %s: %s", path, strerror(errno));
    }
    clean(folder);
    return 0;
}

/* -------------------------------------------------------------------- read */

struct reading {
    struct arena *arena;
    struct elsewhere *places;
    size_t count;
    size_t room;
};

static bool is_known(const struct reading *reading, const struct elsewhere *place) {
    for (size_t i = 0; i < reading->count; i++) {
        if (reading->places[i].kind == place->kind &&
            strcmp(reading->places[i].path, place->path) == 0) {
            return true;
        }
    }
    return false;
}

/* False: no memory. */
static bool take(struct reading *reading, const struct elsewhere *place) {
    if (is_known(reading, place)) {
        return true;
    }
    if (reading->count == reading->room) {
        size_t room = reading->room == 0 ? 16 : 2 * reading->room;
        struct elsewhere *places = arena_alloc(reading->arena, room * sizeof *places);
        if (places == NULL) {
            return false;
        }
        if (reading->count > 0) {
            memcpy(places, reading->places, reading->count * sizeof *places);
        }
        reading->places = places;
        reading->room = room;
    }
    const char *path = arena_copy(reading->arena, place->path, strlen(place->path));
    reading->places[reading->count++] = (struct elsewhere){place->kind, path};
    return path != NULL;
}

int elsewhere_read(const struct places *places, struct arena *arena, struct elsewhere **ret,
                   size_t *ret_count, struct toolrack_error *err) {
    struct reading reading = {.arena = arena};
    CLEANUP(freep) char *path = NULL;
    bool failed = false;
    *ret = NULL;
    *ret_count = 0;
    if (places->user_state == NULL) {
        return 0;
    }
    if (asprintf(&path, "%s/elsewhere", places->user_state) < 0) {
        path = NULL;
        return error_oom(err);
    }
    DIR *dir = opendir(path);
    unsigned notes = 0;
    for (struct dirent *entry;
         !failed && dir != NULL && notes < ELSEWHERE_NOTES_MAX && (entry = readdir(dir)) != NULL;) {
        size_t length = 0;
        CLEANUP(freep)
        char *note = is_note(entry->d_name) ? read_note(dirfd(dir), entry->d_name, &length) : NULL;
        notes += note != NULL;
        for (const char *at = note; note != NULL && !failed && at < note + length;
             at += strlen(at) + 1) {
            const struct elsewhere place = {(enum elsewhere_kind)at[0],
                                            at[0] != '\0' ? at + 1 : at};
            failed = place.path[0] == '/' && !take(&reading, &place);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    *ret = reading.places;
    *ret_count = reading.count;
    return failed ? error_oom(err) : 0;
}
