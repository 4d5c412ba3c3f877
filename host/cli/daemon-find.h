/* daemon-find.h - the daemon of a state folder, as others find it.
 *
 * A daemon holds a lock of the kernel on the file daemon.lock of the state folder, which is
 * released however the daemon ends; the text of the file says who it is, and counts only while the
 * lock is held. Programs that embed toolrack, `serve --no-daemon` and commands share the state
 * folder without the lock. */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>
#include <yyjson.h>

#define DAEMON_LOCK_FILE "daemon.lock"

/** What a daemon says of itself; strings are those of `doc`. */
struct daemon_found {
    yyjson_doc *doc;      /* owned; NULL: it is starting, or its text cannot be read */
    pid_t pid;            /* 0: not known */
    int64_t since_s;      /* 0: not known */
    const char *version;  /* NULL: not known */
    const char *socket;   /* NULL: none */
    const char *commands; /* where it takes commands; NULL: nowhere */
    yyjson_val *options;  /* those of its command line that are about the host */
    yyjson_val *listens;  /* an array of strings, or NULL */
};

/** The lock of the whole file, which belongs to the open file and not to the process. */
struct flock daemon_lock(short type);

/** Look for the daemon of a state folder; NULL is none.
 * @return 1: it is there, to be released with daemon_found_finish(); 0: none; a negative errno. */
int daemon_find(const char *folder, struct daemon_found *ret);
void daemon_found_finish(struct daemon_found *found);
