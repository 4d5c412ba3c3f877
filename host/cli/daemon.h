/* daemon.h - this process as the daemon of a state folder: the `toolrack serve` that commands find
 * there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/daemon-places.h"
#include "cli/options.h"

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

/** Become the daemon of the state folder: take the lock, and find the path of the socket.
 *
 * @param options  borrowed until daemon_finish()
 * @return 0, also when there is no state folder: then there is no lock and no socket;
 *         TOOLRACK_E_EXISTS with the daemon that there is; TOOLRACK_E_IO; TOOLRACK_E_REFUSED for a
 *         folder that belongs to others or that they may write; TOOLRACK_E_NO_MEMORY. */
int daemon_take(const struct options *options, struct daemon *ret, struct toolrack_error *err);

/** It takes commands from now on. 0, or a negative errno. */
int daemon_tell_commands(struct daemon *daemon);

/** It serves there, too: commands are told. 0, or a negative errno. */
int daemon_tell(struct daemon *daemon, const char *where);

/** Give the lock back. Also for DAEMON_INIT. */
void daemon_finish(struct daemon *daemon);
