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

#include "toolrack/toolrack.h"

struct toolrack_token_grant;
struct mcp;          /* the protocol's side of one serving process */
struct mcp_pipe;     /* a client that has one connection for everything: stdio */
struct mcp_exchange; /* below */

/** Who sends a message: decided by the transport, never by what a message says. */
struct mcp_principal {
    /* The caller of its calls, and the owner of its tasks and approvals: "token:ID", "uid:1000",
     * "oauth:ISSUER SUBJECT". NULL: the message does not say (a pipe, and HTTP on loopback without
     * authorisation): then the principal is the pipe, "stdio:ID", or the session, "session:ID";
     * where there is neither, who() of the exchange says it. No two that are not the same client
     * or the same user have the same one. */
    const char *id;
    /* Whose shares it takes of what all clients use: "uid:1000", the user who sends a message
     * without `id`. NULL: its `id`, that of the pipe, or where there is none, as all of whom nobody
     * knows who they are. */
    const char *party;
    /* The subset of tools that it is shown; NULL: all. */
    const char *profile;
    /* The tools that it may see and call, by "name" or "name@range", NULL-terminated; NULL: all. */
    const char *const *allow;
    /* Bit 1 << enum toolrack_permission is set if it may call tools of that permission (the others
     * are shown to it: a call is answered by `missing_scope`). */
    uint32_t permissions;
    /* What its token was found to be; NULL: it came without one of toolrack's. */
    struct toolrack_token_grant *grant;
    /* Its answer to a question about a `confirm` tool counts as that of a person. */
    bool approves;
};

/** The headers of a request that the protocol reads; NULL where it has none. They and the principal
 * are borrowed until the function that gets them returns. */
struct mcp_headers {
    const char *version;       /* MCP-Protocol-Version */
    const char *session;       /* Mcp-Session-Id */
    const char *method;        /* Mcp-Method */
    const char *name;          /* Mcp-Name */
    const char *last_event_id; /* Last-Event-ID */
    /* The value of Mcp-Param-NAME, or NULL; `more`: set to true if it is there more than once. */
    const char *(*parameter)(const struct mcp_headers *headers, const char *name, bool *more);
};

/** The last thing that goes back. */
struct mcp_answer {
    int status;          /* of HTTP */
    const char *text;    /* one JSON-RPC message; NULL: no body */
    size_t length;       /* of the text */
    const char *session; /* Mcp-Session-Id of a session that was begun, or NULL */
    /* For 403: the scopes that are missing, all of them, separated by spaces; or NULL. */
    const char *missing_scope;
};

/** Functions of the transport. Texts are one JSON-RPC message without a line feed, borrowed until
 * the function returns. The memory of an exchange is the transport's, and stays until finish() is
 * called, which happens exactly once, also if the client is gone: then nothing more is sent. */
struct mcp_exchange_calls {
    /* A message that is not the last: a notification, or a request to the client. HTTP begins an
     * event stream with the first one. `event_id` is the id of the event, NULL: none; an empty text
     * is an event with an id and no message, and without an id none at all: the stream begins. */
    void (*send)(struct mcp_exchange *exchange, const char *event_id, const char *text,
                 size_t length);
    void (*finish)(struct mcp_exchange *exchange, const struct mcp_answer *answer);
    /* End an event stream without an answer: the client comes back for the rest after `retry_ms`.
     * finish() follows. HTTP only. */
    void (*pause)(struct mcp_exchange *exchange, uint32_t retry_ms);
    /* The id of the principal of a message that came without one and belongs to no session: of the
     * user or the connection that it comes from. Called before the function that hands the message
     * over returns, and the text stays until then. NULL: the system has no memory for it. HTTP
     * only. */
    const char *(*who)(struct mcp_exchange *exchange);
};

/** One message of a client, and the way back. A member of a struct of the transport. */
struct mcp_exchange {
    const struct mcp_exchange_calls *calls;
    void *mcp; /* the protocol's own, for mcp_gone(); NULL at first */
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
/** Cancel all that runs: each exchange is finished. */
void mcp_cancel(struct mcp *mcp);
/** How many exchanges are not finished. */
size_t mcp_exchanges(struct mcp *mcp);

/* ------------------------------------------------------------------ stdio */

/** A client at a pipe. `way` carries what belongs to no request; its finish() is called by
 * mcp_pipe_close(). */
int mcp_pipe_open(struct mcp *mcp, const struct mcp_principal *principal, struct mcp_exchange *way,
                  struct mcp_pipe **ret, struct toolrack_error *err);
/** A message: `text` is borrowed until this returns, and changed; YYJSON_PADDING_SIZE bytes behind
 * it may be written. `exchange` is finished without a text for a message that needs no answer. */
void mcp_pipe_receive(struct mcp_pipe *pipe, char *text, size_t length,
                      struct mcp_exchange *exchange);
/** The client is gone. Calls that run are answered before finish() of the way is called, or
 * cancelled if `cancel`. The pipe is released. */
void mcp_pipe_close(struct mcp_pipe *pipe, bool cancel);

/* ------------------------------------------------------------------- HTTP */

/** A POST: `text` as for mcp_pipe_receive(). */
void mcp_post(struct mcp *mcp, const struct mcp_principal *principal,
              const struct mcp_headers *headers, char *text, size_t length,
              struct mcp_exchange *exchange);
/** A GET: the stream of a session. */
void mcp_get(struct mcp *mcp, const struct mcp_principal *principal,
             const struct mcp_headers *headers, struct mcp_exchange *exchange);
/** A DELETE: the end of a session. */
void mcp_delete(struct mcp *mcp, const struct mcp_principal *principal,
                const struct mcp_headers *headers, struct mcp_exchange *exchange);
/** The client closed the connection of an exchange that is not finished. In the stateless era that
 * cancels the request; in the handshake era what is sent later is kept for the client's return.
 * finish() is called soon, perhaps before this returns. Another thread may have called finish() by
 * the time this is: then there is nothing to do. The memory of the exchange stays until this
 * returns in any case, so what protects `exchange->mcp` must not be in what it points to. */
void mcp_gone(struct mcp_exchange *exchange);
