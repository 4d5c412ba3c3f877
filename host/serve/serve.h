/* serve.h - what the command sees of this room: servers of the Model Context Protocol. */
#pragma once

#include <signal.h>

#include "toolrack/toolrack.h"

/** The descriptors of the messages of `toolrack mcp`. */
struct serve_stdio {
    int in;
    int out;
};

/** Take standard input and output away for messages: from then on descriptor 0 is empty and what is
 * written to descriptor 1 goes to descriptor 2. Before a host is opened and other threads exist.
 * @return 0, or a negative errno; then nothing has changed. */
int serve_stdio_take(struct serve_stdio *ret);
void serve_stdio_release(struct serve_stdio *stdio);

/** Serve one client at the descriptors until its end: it closes its side, or one of `signals`
 * (which are blocked) arrives, which cancels the calls that run. Closes neither descriptor.
 *
 * @param profile  the subset of tools that the client is shown, or NULL: all
 * @param err      of the caller's base/, never given to the library
 * @return 0; TOOLRACK_E_INVALID for what the configuration says of serving, and an unknown profile;
 *         TOOLRACK_E_IO when messages cannot be read or written; TOOLRACK_E_NO_MEMORY. */
int serve_stdio_run(struct toolrack *host, const char *profile, const struct serve_stdio *stdio,
                    const sigset_t *signals, struct toolrack_error *err);
