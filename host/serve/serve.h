/* serve.h - what the command sees of this room: servers of the Model Context Protocol. */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "toolrack/toolrack.h"

struct manager;

/** The descriptors of the messages of `toolrack mcp`. */
struct serve_stdio {
    int in;
    int out;
    int stop;  /* when it can be read, serving ends, in place of a signal; -1: by signals */
    int drain; /* when it can be read, no more is read and what runs is answered; -1: never */
    int cut;   /* when it can be read, likewise, and what still runs is cancelled and answered by an
                  error; it counts before `stop`; -1: never */
};

/** What `toolrack serve` is told. */
struct serve_http {
    const char *const *listen; /* addresses ("127.0.0.1:8137") and their number; 0: see sockets */
    size_t listen_count;
    const char *const *sockets; /* paths and their number; neither: as the configuration says */
    size_t socket_count;
    const char *local;   /* a socket besides, for the users of this machine; NULL: none */
    const char *profile; /* the subset of tools that clients are shown, or NULL: all */
    /** A file with the token of an administrator, read again on SIGHUP, or NULL; see
     * toolrack_token_file(). */
    const char *token_file;
    /** The service manager, whose sockets are served too, and which is told how the server is; or
     * NULL. An address of its takes the place of the default one. */
    const struct manager *manager;
    /** The server listens, at "http://127.0.0.1:8137" or "unix:/path"; once for each. */
    void (*ready)(void *user, const char *where);
    /** One line for the operator, on any thread. */
    void (*note)(void *user, const char *line);
    /** SIGHUP came; what the server reads again has been read. NULL: nobody wants to know. */
    void (*reloaded)(void *user);
    void *user;
};

/** Why the process at the other end of a socket of this machine is not its user's, but a plugin's:
 * it is confined as workers are, or descends from one; NULL: it is the user's. */
const char *serve_find_worker(pid_t pid);

/** Take standard input and output away for messages: from then on descriptor 0 is empty and what is
 * written to descriptor 1 goes to descriptor 2. Before a host is opened and other threads exist.
 * @return 0, or a negative errno; then nothing has changed. */
int serve_stdio_take(struct serve_stdio *ret);
void serve_stdio_release(struct serve_stdio *stdio);

/** Whether serve_stdio_run() would begin, as far as the configuration and the profile say.
 * @return as there */
int serve_stdio_check(struct toolrack *host, const char *profile, struct toolrack_error *err);

/** Serve one client at the descriptors until its end: it closes its side, or one of `signals`
 * (which are blocked) arrives, or `stop` of `stdio` can be read, which cancels the calls that run.
 * Closes no descriptor.
 *
 * @param profile  the subset of tools that the client is shown, or NULL: all
 * @param err      of the caller's base/, never given to the library
 * @return 0; 1: `drain` or `cut` ended it; TOOLRACK_E_INVALID for what the configuration says of
 * serving, and an unknown profile; TOOLRACK_E_IO when messages cannot be read or written;
 * TOOLRACK_E_NO_MEMORY. */
int serve_stdio_run(struct toolrack *host, const char *profile, const struct serve_stdio *stdio,
                    const sigset_t *signals, struct toolrack_error *err);

/** Tell what serve_http_run() would refuse of "serve" of the configuration, beyond what
 * toolrack_open() and toolrack_serving_check() refuse: certificate, key and key set. What only a
 * start can know (a port that another process has, rights) is not told; that it needs a token is a
 * note. */
void serve_http_check(struct toolrack *host, toolrack_tell *tell, void *telling);

/** Serve clients over HTTP until SIGINT or SIGTERM, which let the calls that run be answered, for
 * as long as the configuration says; a second one ends them. SIGHUP reads certificates, keys and
 * plugin files again.
 *
 * @param signals  those three, blocked since before there were other threads
 * @param err      of the caller's base/, never given to the library
 * @return 0; TOOLRACK_E_INVALID for what the configuration says of serving, an address or an
 * unknown profile; TOOLRACK_E_REFUSED for an address that others reach without authorisation;
 *         TOOLRACK_E_EXISTS, TOOLRACK_E_IO for one that cannot be listened at;
 *         TOOLRACK_E_NO_MEMORY. */
int serve_http_run(struct toolrack *host, const struct serve_http *options, const sigset_t *signals,
                   struct toolrack_error *err);
