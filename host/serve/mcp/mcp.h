/* mcp.h - the Model Context Protocol, without a transport.
 *
 * Three layers. A transport (stdio/, http/) has bytes, connections and principals. The dialects
 * (one file for each era of the protocol) know how a revision writes what is meant. The features
 * (tools, resources, prompts, tasks ...) know what is meant and no revision. A transport hands each
 * message over as an exchange; what is sent because of the message goes back through it.
 *
 * Threads. A transport may hand messages over on several threads at once. The functions of an
 * exchange are called on any thread, also before mcp_receive() returns, one at a time for one
 * exchange. Nothing here waits for a tool or a client. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/exchange.h"
#include "serve/principal.h"
#include "toolrack/toolrack.h"

struct mcp;      /* the protocol's side of one serving process */
struct mcp_pipe; /* a client that has one connection for everything: stdio */

/** The headers of a request that the protocol reads; NULL where it has none. They and the principal
 * are borrowed until the function that gets them returns. */
struct mcp_headers {
    const char *version;       /* MCP-Protocol-Version */
    const char *session;       /* Mcp-Session-Id */
    const char *method;        /* Mcp-Method */
    const char *name;          /* Mcp-Name */
    const char *last_event_id; /* Last-Event-ID */
    const char *traceparent;   /* what its sender says of its trace, as it came */
    bool no_events;            /* it accepts no event stream */
    /* The value of Mcp-Param-NAME, or NULL; `more`: set to true if it is there more than once. */
    const char *(*parameter)(const struct mcp_headers *headers, const char *name, bool *more);
};

struct mcp_options {
    struct toolrack *host; /* borrowed */
    const char *profile;   /* of clients whose principal has none, or NULL */
};

/** @return 0; TOOLRACK_E_INVALID for what the configuration says of serving;
 *          TOOLRACK_E_NO_MEMORY. */
int mcp_create(const struct mcp_options *options, struct mcp **ret, struct toolrack_error *err);
/** End what runs: calls are cancelled, each exchange is finished. Tasks that run become `failed`.
 */
void mcp_destroy(struct mcp *mcp);
/** Take no more requests: begin to end. Streams end, calls that run are answered. */
void mcp_drain(struct mcp *mcp);
/** Cancel what still runs because the server ends: each request is answered by an error that says
 * so. */
void mcp_cut(struct mcp *mcp);
/** Cancel all that runs: each exchange is finished. */
void mcp_cancel(struct mcp *mcp);
/** How many exchanges are not finished. */
size_t mcp_exchanges(struct mcp *mcp);

/* ------------------------------------------------------------------ stdio */

/** A client at a pipe. `way` carries what belongs to no request; its finish() is called by
 * mcp_pipe_close(). */
int mcp_pipe_open(struct mcp *mcp, const struct principal *principal, struct exchange *way,
                  struct mcp_pipe **ret, struct toolrack_error *err);
/** A message: `text` is borrowed until this returns, and changed; YYJSON_PADDING_SIZE bytes behind
 * it may be written. `exchange` is finished without a text for a message that needs no answer. */
void mcp_pipe_receive(struct mcp_pipe *pipe, char *text, size_t length, struct exchange *exchange);
/** The client is gone. Calls that run are answered before finish() of the way is called, or
 * cancelled if `cancel`. The pipe is released. */
void mcp_pipe_close(struct mcp_pipe *pipe, bool cancel);

/* ------------------------------------------------------------------- HTTP */

/** A POST: `text` as for mcp_pipe_receive(). */
void mcp_post(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
              char *text, size_t length, struct exchange *exchange);
/** A GET: the stream of a session. */
void mcp_get(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
             struct exchange *exchange);
/** A DELETE: the end of a session. */
void mcp_delete(struct mcp *mcp, const struct principal *principal,
                const struct mcp_headers *headers, struct exchange *exchange);
/** The client closed the connection of an exchange that is not finished. In the stateless era that
 * cancels the request; in the handshake era what is sent later is kept for the client's return.
 * finish() is called soon, perhaps before this returns. Another thread may have called finish() by
 * the time this is: then there is nothing to do. The memory of the exchange stays until this
 * returns in any case, so what protects `exchange->own` must not be in what it points to. */
void mcp_gone(struct exchange *exchange);
