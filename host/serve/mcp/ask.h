/* ask.h - requests to a client of the handshake era: elicitation, sampling, roots.
 *
 * A question goes out on the way back of the request that caused it, and the thread of the tool
 * waits for the answer. */
#pragma once

#include <stddef.h>

#include "serve/mcp/rpc.h"
#include "toolrack/toolrack.h"

struct client;
struct request;

/* How long a client may take to answer. */
#define ASK_WAIT_S 300u

/** As options.input of a call. */
int ask_input(struct request *request, struct toolrack_input *inputs, size_t count);

/** A response of the client. Unknown ids are ignored. */
void ask_answer(struct client *client, const struct rpc_message *message);
