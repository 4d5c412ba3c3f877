#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* How much is read or written before the call is looked at again. */
#define PIECE_SIZE ((size_t)256 << 10)

/* ----------------------------------------------------------------- reading */

static bool give_up(struct tr_call *call, struct place_fault *fault) {
    if (!tr_cancelled(call)) {
        return false;
    }
    fault->code = TR_CANCELLED;
    (void)snprintf(fault->message, sizeof fault->message, "the call was cancelled");
    return true;
}

/* `lines`: how many were asked for; UINT64_MAX: all. */
static bool too_long(const struct place *place, uint64_t lines, struct place_fault *fault) {
    fault->code = TR_LIMIT_EXCEEDED;
    (void)snprintf(fault->message, sizeof fault->message,
                   "%.400s is too long: %s more than %zu MiB, which a result has at most; %s",
                   place->path,
                   lines == UINT64_MAX ? "it has"
                   : lines == 1        ? "this line alone has"
                                       : "the lines that were asked for have",
                   TEXT_SIZE_MAX >> 20,
                   lines == UINT64_MAX ? "read_text_file with head or tail gives a part of a text"
                   : lines == 1 ? "a part of a line cannot be read, so the file is of use only to "
                                  "a tool for its format"
                                : "ask for fewer, at least 1");
    return false;
}

static bool failed(const struct place *place, const char *what, struct place_fault *fault) {
    place_say(fault, what, place->path, errno);
    return false;
}

/* Append what is at an offset, or from there to the end where `length` is SIZE_MAX; stop after
 * `lines_max` lines. */
static bool read_range(struct tr_call *call, const struct place *place, int fd, off_t offset,
                       size_t length, uint64_t lines_max, struct text *ret,
                       struct place_fault *fault) {
    uint64_t lines = 0;
    while (length > 0 && lines < lines_max) {
        size_t piece = length < PIECE_SIZE ? length : PIECE_SIZE;
        size_t left = TEXT_SIZE_MAX - ret->length;
        piece = piece < left ? piece : left + 1; /* one byte more shows that it is too long */
        if (give_up(call, fault)) {
            return false;
        }
        if (piece > left ? false : !text_reserve(ret, piece)) {
            return too_long(place, lines_max, fault);
        }
        char byte;
        ssize_t got = pread(fd, piece > left ? &byte : ret->data + ret->length,
                            piece > left ? 1 : piece, offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return failed(place, "cannot read", fault);
        }
        if (got == 0) {
            return true;
        }
        if (piece > left) {
            return too_long(place, lines_max, fault);
        }
        const char *from = ret->data + ret->length;
        const char *end = from + got;
        while (lines_max != UINT64_MAX && lines < lines_max && from < end) {
            const char *line_end = memchr(from, '\n', (size_t)(end - from));
            lines += line_end != NULL;
            from = line_end != NULL ? line_end + 1 : end;
        }
        size_t taken =
                lines_max != UINT64_MAX ? (size_t)(from - ret->data) - ret->length : (size_t)got;
        ret->length += taken;
        ret->data[ret->length] = '\0';
        offset += got;
        length -= length == SIZE_MAX ? 0 : (size_t)got;
    }
    return true;
}

static int open_to_read(const struct place *place, struct place_fault *fault) {
    if (!place->exists) {
        errno = ENOENT;
    }
    int fd = place->exists ? place_open_file(place) : -1;
    if (fd < 0) {
        (void)failed(place, "cannot read", fault);
    }
    return fd;
}

bool file_read(struct tr_call *call, const struct place *place, struct text *ret,
               struct place_fault *fault) {
    int fd = open_to_read(place, fault);
    bool is_read = fd >= 0 && read_range(call, place, fd, 0, SIZE_MAX, UINT64_MAX, ret, fault);
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_read;
}

bool file_read_head(struct tr_call *call, const struct place *place, uint64_t count,
                    struct text *ret, struct place_fault *fault) {
    int fd = open_to_read(place, fault);
    bool is_read = fd >= 0 && read_range(call, place, fd, 0, SIZE_MAX, count, ret, fault);
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_read;
}

/* Where the last lines begin: behind the line end number `count` from the end, or 0. */
static bool find_tail(struct tr_call *call, const struct place *place, int fd, uint64_t count,
                      off_t *ret, struct place_fault *fault) {
    char piece[16384];
    struct stat st;
    uint64_t ends = 0;
    if (fstat(fd, &st) < 0) {
        return failed(place, "cannot read", fault);
    }
    off_t at = st.st_size;
    while (at > 0) {
        size_t size = (uint64_t)at < sizeof piece ? (size_t)at : sizeof piece;
        if (give_up(call, fault)) {
            return false;
        }
        if (st.st_size - at > (off_t)TEXT_SIZE_MAX) {
            return too_long(place, count, fault);
        }
        ssize_t got = pread(fd, piece, size, at - (off_t)size);
        if (got < 0) {
            return failed(place, "cannot read", fault);
        }
        for (size_t i = (size_t)got; i > 0; i--) {
            ends += piece[i - 1] == '\n';
            if (ends == count && piece[i - 1] == '\n') {
                *ret = at - (off_t)size + (off_t)i;
                return true;
            }
        }
        at -= (off_t)size;
    }
    *ret = 0;
    return true;
}

bool file_read_tail(struct tr_call *call, const struct place *place, uint64_t count,
                    struct text *ret, struct place_fault *fault) {
    off_t begin = 0;
    int fd = open_to_read(place, fault);
    bool is_read = fd >= 0 && find_tail(call, place, fd, count, &begin, fault) &&
                   read_range(call, place, fd, begin, SIZE_MAX, UINT64_MAX, ret, fault);
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_read;
}

/* ----------------------------------------------------------------- writing */

/* 0, or an errno. */
static int write_all(struct tr_call *call, int fd, const char *data, size_t length) {
    while (length > 0) {
        if (tr_cancelled(call)) {
            return ECANCELED;
        }
        ssize_t done = write(fd, data, length < PIECE_SIZE ? length : PIECE_SIZE);
        if (done < 0 && errno != EINTR) {
            return errno;
        }
        data += done > 0 ? done : 0;
        length -= done > 0 ? (size_t)done : 0;
    }
    return 0;
}

/* A file of its own beside it, which then takes its name: a reader sees the one or the other, and a
 * symbolic or hard link of that name is not written through. The mode stays, as far as the umask
 * and the sandbox, which allows no chmod(), let it. */
static int exchange(struct tr_call *call, int folder, const char *name, mode_t mode,
                    const char *data, size_t length) {
    unsigned char random[16];
    char other[sizeof ".toolrack-.tmp" + 2 * sizeof random];
    int used = snprintf(other, sizeof other, ".toolrack-");
    if (getrandom(random, sizeof random, 0) != sizeof random) {
        return EIO;
    }
    for (size_t i = 0; i < sizeof random; i++) {
        used += snprintf(other + used, sizeof other - (size_t)used, "%02x", random[i]);
    }
    (void)snprintf(other + used, sizeof other - (size_t)used, ".tmp");
    int fd = openat(folder, other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    mode & 0777);
    if (fd < 0) {
        return errno;
    }
    int number = write_all(call, fd, data, length);
    number = close(fd) < 0 && number == 0 ? errno : number;
    if (number == 0 && renameat(folder, other, folder, name) < 0) {
        number = errno;
    }
    if (number != 0) {
        (void)unlinkat(folder, other, 0);
    }
    return number;
}

static int write_in(struct tr_call *call, int folder, const char *name, const char *data,
                    size_t length) {
    struct stat st;
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        return errno != EEXIST                                       ? errno
               : fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? errno
               : S_ISDIR(st.st_mode)                                 ? EISDIR
               : !S_ISREG(st.st_mode)                                ? EINVAL
                                      : exchange(call, folder, name, st.st_mode, data, length);
    }
    int number = write_all(call, fd, data, length);
    number = close(fd) < 0 && number == 0 ? errno : number;
    if (number != 0) {
        (void)unlinkat(folder, name, 0);
    }
    return number;
}

bool file_write(struct tr_call *call, const struct place *place, const char *data, size_t length,
                struct place_fault *fault) {
    int folder = place_open_parent(place);
    int number = folder < 0 ? errno : write_in(call, folder, place_name(place), data, length);
    if (folder >= 0) {
        (void)close(folder);
    }
    if (number != 0) {
        place_say(fault, "cannot write", place->path, number);
    }
    return number == 0;
}

bool file_make_folder(const struct place *place, struct place_fault *fault) {
    int folder = dup(place->root->fd);
    const char *path = place_below(place);
    int number = folder < 0 ? errno : 0;
    while (number == 0 && *path != '\0') {
        char name[NAME_MAX + 1];
        size_t length = strcspn(path, "/");
        int next = -1;
        if (length >= sizeof name) {
            number = ENAMETOOLONG;
            break;
        }
        memcpy(name, path, length);
        name[length] = '\0';
        path += length + (path[length] == '/');
        next = place_open_in(folder, name, O_PATH | O_DIRECTORY);
        if (next < 0 && errno == ENOENT && mkdirat(folder, name, 0777) < 0 && errno != EEXIST) {
            number = errno;
        } else if (next < 0) {
            next = place_open_in(folder, name, O_PATH | O_DIRECTORY);
            number = next < 0 ? errno : 0;
        }
        (void)close(folder);
        folder = next;
    }
    if (folder >= 0) {
        (void)close(folder);
    }
    if (number != 0) {
        place_say(fault, "cannot make the directory", place->path, number);
    }
    return number == 0;
}

bool file_move(const struct place *from, const struct place *to, struct place_fault *fault) {
    int from_folder = from->exists ? place_open_parent(from) : -1;
    int number = !from->exists ? ENOENT : from_folder < 0 ? errno : 0;
    const struct place *at_fault = from;
    int to_folder = -1;
    if (number == 0) {
        to_folder = place_open_parent(to);
        if (to_folder < 0) {
            number = errno;
            at_fault = to;
        }
    }
    if (number == 0 &&
        renameat2(from_folder, place_name(from), to_folder, place_name(to), RENAME_NOREPLACE) < 0) {
        number = errno;
        at_fault = number == EEXIST ? to : from;
    }
    if (from_folder >= 0) {
        (void)close(from_folder);
    }
    if (to_folder >= 0) {
        (void)close(to_folder);
    }
    if (number == EINVAL) { /* which rename() says of this alone */
        *fault = (struct place_fault){.code = TR_INVALID_ARGUMENTS};
        (void)snprintf(fault->message, sizeof fault->message,
                       "cannot move %.400s into itself; choose a destination outside of it",
                       from->path);
    } else if (number != 0) {
        place_say(fault, "cannot move", at_fault->path, number);
    }
    return number == 0;
}
