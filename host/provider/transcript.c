#include "provider/transcript.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/file.h"
#include "base/own-folder.h"
#include "base/ownership.h"
#include "provider/key-pieces.h"

struct transcript {
    int fd; /* -1: nothing is kept */
    char *path;
    const struct key *key; /* NULL: nothing is written yet */
    off_t cut;             /* where a line ends that was not written to its end; -1: none is such */
};

void transcript_id(char ret[TRANSCRIPT_ID_ROOM]) {
    time_t now = (time_t)clock_wall_s();
    struct tm parts;
    (void)gmtime_r(&now, &parts);
    uint64_t number = (uint64_t)getpid();
    (void)getrandom(&number, sizeof number, GRND_NONBLOCK);
    size_t length = strftime(ret, TRANSCRIPT_ID_ROOM, "%Y%m%d-%H%M%S-", &parts);
    (void)snprintf(ret + length, TRANSCRIPT_ID_ROOM - length, "%016" PRIx64, number);
}

bool transcript_id_valid(const char *id) {
    size_t length = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
    return length > 0 && length < TRANSCRIPT_ID_ROOM && id[length] == '\0';
}

/* -------------------------------------------------------------------- open */

/* The path: the named file, or one in the state folder. */
static int find_path(const struct transcript_place *place, char **ret, struct toolrack_error *err) {
    CLEANUP(freep) char *folder = NULL;
    if (place->file == NULL && place->state_dir == NULL) {
        return place->is_kept ? error_set(err, TOOLRACK_E_NOT_FOUND,
                                          "no conversation is kept: there is no state folder; name "
                                          "one with --state DIR, or a file with --transcript FILE")
                              : 0;
    }
    if (place->file == NULL && place->is_kept && !transcript_id_valid(place->id)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "\"%.64s\" is not the id of a conversation; list them: %s", place->id,
                         COMMAND("agent --list"));
    }
    if (place->file != NULL) {
        *ret = strdup(place->file);
        return *ret != NULL ? 0 : error_oom(err);
    }
    if (asprintf(&folder, "%s/" TRANSCRIPT_FOLDER, place->state_dir) < 0) {
        folder = NULL;
        return error_oom(err);
    }
    int failed = own_folder_check(folder, true);
    if (failed < 0) {
        return error_set(err, TOOLRACK_E_IO,
                         "cannot keep the transcript in %s: %s; or choose another place with "
                         "--transcript",
                         folder, own_folder_words(failed));
    }
    if (asprintf(ret, "%s/%s" TRANSCRIPT_ENDING, folder, place->id) < 0) {
        *ret = NULL;
        return error_oom(err);
    }
    return 0;
}

/* One conversation writes at a time. A file system without locks has none of them. */
static int lock(const struct transcript *transcript, struct toolrack_error *err) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(transcript->fd, F_OFD_SETLK, &whole) < 0 && (errno == EAGAIN || errno == EACCES)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the conversation in %s goes on in another process; wait until that has "
                         "ended",
                         transcript->path);
    }
    return 0;
}

/* Nothing is added to a file that is something else. */
static bool begins_as_transcript(int fd) {
    static const char beginning[] = "{\"kind\":\"";
    char text[sizeof beginning - 1];
    return pread(fd, text, sizeof text, 0) == (ssize_t)sizeof text &&
           memcmp(text, beginning, sizeof text) == 0;
}

/* A conversation is for its owner's eyes: an existing file is made private. What others own or may
 * write to, or what is no file (a link may lead anywhere, a pipe waits for a reader), is refused.
 */
static int open_private(struct transcript *transcript, int flags, struct toolrack_error *err) {
    const char *path = transcript->path;
    transcript->fd = open(
            path, flags | O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    struct stat st;
    bool is_by_list;
    if (transcript->fd < 0 && errno == ENOENT && flags == 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "no conversation is kept in %s; list those that are: %s", path,
                         COMMAND("agent --list"));
    }
    if (transcript->fd < 0 || fstat(transcript->fd, &st) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot write the transcript %s: %s", path,
                         errno == ELOOP   ? "it is a symbolic link"
                         : errno == ENXIO ? "it is not a regular file"
                                          : strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return error_set(err, TOOLRACK_E_IO,
                         "cannot write the transcript %s: it is not a regular file", path);
    }
    if (st.st_uid != geteuid()) {
        return error_set(err, TOOLRACK_E_IO,
                         "the transcript %s belongs to user %u, who could read it; choose another "
                         "file",
                         path, st.st_uid);
    }
    if (st.st_size > 0 && ownership_lets_others_write(&st, path, &is_by_list)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "others may write to the transcript %s (mode %04o%s), and the model would "
                         "be told what they wrote; look at what is in it, then: chmod go-rw %s",
                         path, st.st_mode & 07777,
                         is_by_list ? ", with an access control list" : "", path);
    }
    if (st.st_size > 0 && flags != 0 && !begins_as_transcript(transcript->fd)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s is no transcript of a conversation; choose another file", path);
    }
    if ((st.st_mode & 07777) != 0600 && fchmod(transcript->fd, 0600) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot make the transcript %s private: %s", path,
                         strerror(errno));
    }
    return lock(transcript, err);
}

int transcript_open(const struct transcript_place *place, struct transcript **ret,
                    struct toolrack_error *err) {
    struct transcript *transcript = calloc(1, sizeof *transcript);
    if (transcript == NULL) {
        return error_oom(err);
    }
    transcript->fd = -1;
    transcript->cut = -1;
    int code = find_path(place, &transcript->path, err);
    if (code == 0 && transcript->path != NULL) {
        code = open_private(transcript, place->is_kept ? 0 : O_CREAT, err);
    }
    if (code < 0) {
        transcript_close(transcript);
        return code;
    }
    *ret = transcript;
    return 0;
}

void transcript_set_key(struct transcript *transcript, const struct key *key) {
    transcript->key = key;
}

void transcript_close(struct transcript *transcript) {
    if (transcript != NULL) {
        /* A process that is about to begin may have a copy of the descriptor for a moment: closing
         * ours alone would leave the lock to it. */
        struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
        (void)fcntl(transcript->fd, F_OFD_SETLK, &whole);
        closep(&transcript->fd);
        free(transcript->path);
        free(transcript);
    }
}

const char *transcript_path(const struct transcript *transcript) {
    return transcript->path;
}

/* -------------------------------------------------------------------- read */

int transcript_read(struct transcript *transcript, struct buf *ret, struct toolrack_error *err) {
    struct stat st;
    if (fstat(transcript->fd, &st) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read the transcript %s: %s", transcript->path,
                         strerror(errno));
    }
    if ((uint64_t)st.st_size > TRANSCRIPT_RESUMED_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the transcript %s has more than the %u MiB from which a conversation "
                         "goes on; begin another one",
                         transcript->path, TRANSCRIPT_RESUMED_MAX >> 20);
    }
    for (off_t at = 0; buf_reserve(ret, 65536);) {
        ssize_t got = pread(transcript->fd, ret->data + ret->length, 65536, at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            if (got < 0) {
                return error_set(err, TOOLRACK_E_IO, "cannot read the transcript %s: %s",
                                 transcript->path, strerror(errno));
            }
            break;
        }
        at += got;
        ret->length += (size_t)got;
        ret->data[ret->length] = '\0';
    }
    if (ret->failed) {
        return error_oom(err);
    }
    /* A host that was killed while it wrote leaves a part of a line. */
    const char *end = ret->length > 0 ? memrchr(ret->data, '\n', ret->length) : NULL;
    size_t whole = end != NULL ? (size_t)(end - ret->data) + 1 : 0;
    transcript->cut = whole < ret->length ? (off_t)whole : -1;
    buf_truncate(ret, whole);
    return 0;
}

/* ------------------------------------------------------------------- lines */

int transcript_write(struct transcript *transcript, const char *kind, const char *value,
                     size_t length, struct toolrack_error *err) {
    if (transcript->fd < 0) {
        return 0;
    }
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    char time_text[CLOCK_TEXT_ROOM];
    int64_t now_ms = clock_wall_ms();
    size_t seconds = strcspn(clock_wall_text(now_ms / 1000, time_text), "Z");
    buf_printf(&line, "{\"kind\":\"%s\",\"time\":\"%.*s.%03dZ\",\"%s\":", kind, (int)seconds,
               time_text, (int)(now_ms % 1000), kind);
    /* Write on one line: a line end in JSON is always white space between tokens. */
    for (size_t i = 0; i < length; i++) {
        buf_add_char(&line, value[i] == '\n' || value[i] == '\r' ? ' ' : value[i]);
    }
    buf_add_text(&line, "}\n");
    if (line.failed) {
        return error_oom(err);
    }
    int code = key_redact_json(transcript->key, line.data, line.length, err);
    if (code < 0) {
        return code;
    }
    if (transcript->cut >= 0 && ftruncate(transcript->fd, transcript->cut) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot write the transcript %s: %s", transcript->path,
                         strerror(errno));
    }
    transcript->cut = -1;
    code = write_all(transcript->fd, line.data, line.length);
    if (code < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot write the transcript %s: %s", transcript->path,
                         strerror(-code));
    }
    return 0;
}
