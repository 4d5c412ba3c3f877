/* client.h - a client that the server remembers: one at a pipe, or a session of HTTP. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "serve/mcp/dialect.h"
#include "serve/mcp/replay.h"
#include "serve/mcp/server.h"
#include "serve/mcp/watches.h"

/* Characters of a client's id, and of its secret: 128 random bits in hexadecimal. */
#define CLIENT_ID_LENGTH 32u

struct ask;

struct client {
    uint32_t magic;
    atomic_uint refs;
    struct mcp *mcp;
    struct client *next; /* in mcp->clients, guarded by mcp->lock, as is `listed` */
    struct client *prev;
    struct client *bucket_next; /* of a session, likewise */
    bool listed;
    size_t used_count; /* requests of it that somebody has a reference to; likewise */
    bool is_pipe;
    /* By which tools, the log and lists know it: the conversation of its calls, and in the id of
     * its principal where nobody else is known. It opens nothing. */
    char id[CLIENT_ID_LENGTH + 1];
    /* Of a session, what its requests have in Mcp-Session-Id: only its client and this server know
     * it. */
    char secret[CLIENT_ID_LENGTH + 1];
    struct principal principal; /* a copy, in the arena */
    struct arena arena;

    struct lock lock;
    /* The revision that was agreed on; NULL: no handshake yet. Guarded by `lock`, as is what
     * follows. */
    const struct dialect *dialect;
    atomic_bool gone; /* nothing will come from it any more */
    unsigned capabilities;
    int log_level; /* least that it wants to see */
    uint64_t used_ns;
    struct exchange *way;   /* of a pipe, for what belongs to no request */
    struct request *stream; /* of a session: its GET, with a reference, or NULL */
    struct ask
            *asks; /* questions that it has not answered; each belongs to the thread that waits */
    uint64_t ask_number;
    unsigned offered; /* the lists whose changes it was promised to hear of: bits of enum change */
    struct watch_list watches; /* resources that it has subscribed to, while it is listed */
    struct replay replay;      /* of a session; has a lock of its own */
    bool streamed;             /* it has had a stream that belongs to no request */
};
#define CLIENT_MAGIC 0x636c6e74u

/** A client with one reference, not listed. @return NULL when out of memory. */
struct client *client_create(struct mcp *mcp, const struct principal *principal, bool is_pipe);
struct client *client_ref(struct client *client);
void client_unref(struct client *client);
CLEANUP_DEFINE(struct client, client_unref)
