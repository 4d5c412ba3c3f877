/* daemon.h - the daemon of a state folder: the `toolrack serve` that commands find there.
 *
 * A daemon holds a lock of the kernel on the file daemon.lock of the state folder, which is
 * released however the daemon ends; the text of the file says who it is, and counts only while the
 * lock is held. Programs that embed toolrack, `serve --no-daemon` and commands share the state
 * folder without the lock. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <yyjson.h>

#include "base/buf.h"
#include "cli/options.h"

/* The state folder of a daemon that is no user's, as its service has it; and of its socket. */
#define DAEMON_SYSTEM_STATE  "/var/lib/toolrack"
#define DAEMON_SYSTEM_SOCKET "/run/toolrack"

/* A mark of a configuration file. */
#define DAEMON_MARK_ROOM 96

/** This process as a daemon. */
struct daemon {
    int lock;        /* the file, or -1 */
    char *folder;    /* owned: the state folder, from the root */
    char *socket;    /* owned: where it serves the users of this machine; NULL: nowhere */
    char *commands;  /* owned: where it takes commands; NULL: nowhere */
    bool takes;      /* it does */
    int64_t since_s; /* since 1970 */
    const struct options *options;
    char config_mark[DAEMON_MARK_ROOM]; /* of the configuration file at the start */
    struct buf listens;                 /* the places where it serves, each with its final zero */
};
#define DAEMON_INIT ((struct daemon){.lock = -1})

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

/** A path from the root, to be freed; "" stays so. NULL for NULL, and without memory. */
char *daemon_absolute(const char *path);

/** The state folder that the command line means, from the root, to be freed; NULL: none, or no
 * memory. */
char *daemon_folder(const struct options *options);

/** Become the daemon of the state folder: take the lock, and find the path of the socket.
 *
 * @param options  borrowed until daemon_finish()
 * @return 0, also when there is no state folder: then there is no lock and no socket;
 *         TOOLRACK_E_EXISTS with the daemon that there is; TOOLRACK_E_IO; TOOLRACK_E_REFUSED for a
 *         folder of the socket that others may write; TOOLRACK_E_NO_MEMORY. */
int daemon_take(const struct options *options, struct daemon *ret, struct toolrack_error *err);

/** It takes commands from now on. 0, or a negative errno. */
int daemon_tell_commands(struct daemon *daemon);

/** It serves there, too: commands are told. 0, or a negative errno. */
int daemon_tell(struct daemon *daemon, const char *where);

/** Give the lock back. Also for DAEMON_INIT. */
void daemon_finish(struct daemon *daemon);

/** Look for the daemon of a state folder; NULL is none.
 * @return 1: it is there, to be released with daemon_found_finish(); 0: none; a negative errno. */
int daemon_find(const char *folder, struct daemon_found *ret);
/** Whether a command with these options wants the host that the daemon has: what the command line
 * says of the host is as the daemon's says it, and so is what their environments say besides. */
bool daemon_is_same(const struct daemon_found *found, const struct options *options);
/** The configuration file that has changed since the daemon started; NULL: it has not, or is not
 * known. */
const char *daemon_changed_config(const struct daemon_found *found);
void daemon_found_finish(struct daemon_found *found);
