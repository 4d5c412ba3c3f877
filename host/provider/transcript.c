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
#include "base/error.h"
#include "base/file.h"

struct transcript {
    int fd; /* -1: nothing is kept */
    char *path;
    const struct key *key;
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

/* -------------------------------------------------------------------- open */

/* The path: the named file, or one in the state folder. */
static int find_path(const char *file, const char *state_dir, const char *id, char **ret,
                     struct toolrack_error *err) {
    if (file != NULL) {
        *ret = strdup(file);
        return *ret != NULL ? 0 : error_oom(err);
    }
    CLEANUP(freep) char *folder = NULL;
    if (state_dir == NULL) {
        return 0;
    }
    if (asprintf(&folder, "%s/transcripts", state_dir) < 0) {
        folder = NULL;
        return error_oom(err);
    }
    int made = make_folders(folder); /* with the permissions that the XDG specification requires */
    if (made < 0) {
        return error_set(
                err, TOOLRACK_E_IO,
                "cannot make %s for the transcript: %s; choose another place with --transcript",
                folder, strerror(-made));
    }
    if (asprintf(ret, "%s/%s.jsonl", folder, id) < 0) {
        *ret = NULL;
        return error_oom(err);
    }
    return 0;
}

/* A conversation is for its owner's eyes: an existing file is made private, and what others own,
 * or what is no file (a link may lead anywhere, a pipe waits for a reader), is refused. */
static int open_private(struct transcript *transcript, struct toolrack_error *err) {
    const char *path = transcript->path;
    transcript->fd = open(
            path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
            0600);
    struct stat st;
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
    if ((st.st_mode & 07777) != 0600 && fchmod(transcript->fd, 0600) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot make the transcript %s private: %s", path,
                         strerror(errno));
    }
    return 0;
}

int transcript_open(const char *file, const char *state_dir, const char *id, const struct key *key,
                    struct transcript **ret, struct toolrack_error *err) {
    struct transcript *transcript = calloc(1, sizeof *transcript);
    if (transcript == NULL) {
        return error_oom(err);
    }
    transcript->fd = -1;
    transcript->key = key;
    int code = find_path(file, state_dir, id, &transcript->path, err);
    if (code == 0 && transcript->path != NULL) {
        code = open_private(transcript, err);
    }
    if (code < 0) {
        transcript_close(transcript);
        return code;
    }
    *ret = transcript;
    return 0;
}

void transcript_close(struct transcript *transcript) {
    if (transcript != NULL) {
        closep(&transcript->fd);
        free(transcript->path);
        free(transcript);
    }
}

const char *transcript_path(const struct transcript *transcript) {
    return transcript->path;
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
    key_redact(transcript->key, line.data, line.length);
    int code = write_all(transcript->fd, line.data, line.length);
    if (code < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot write the transcript %s: %s", transcript->path,
                         strerror(-code));
    }
    return 0;
}
