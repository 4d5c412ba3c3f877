/* transport.h - how messages go to an MCP server and come from it, below session.h.
 *
 * One thread at a time receives: it waits without the session's lock, and takes what came with it.
 * All else is called with that lock held. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "remote/mcp/message.h"

struct session_wait;
struct transport;

/* One thing that came. */
struct incoming {
    struct message *message;   /* of the taker; NULL: */
    uint64_t number;           /* the request with this number has failed; 0: something came that is
                                  no message, */
    struct toolrack_error why; /* because of this */
};

/* A request or a notification that goes out. */
struct outgoing {
    const struct buf *text; /* without line end */
    uint64_t number;        /* of the request; 0: nothing answers it */
    const char *mirrored;   /* header lines of its arguments, each with "\r\n"; NULL: none */
    bool listens;           /* its answer ends when the server stops telling of changes */
};

struct transport_calls {
    /** Send, without waiting. @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY */
    int (*send)(struct transport *transport, const struct outgoing *out,
                struct toolrack_error *err);
    /** Nobody waits for the answer of a request any more.
     * @return whether the server learns by that that it is cancelled */
    bool (*drop)(struct transport *transport, uint64_t number);
    /** The server speaks this revision of the protocol from now on. NULL: that is of no interest */
    void (*agree)(struct transport *transport, const char *revision);
    /** Hear what it says unasked, in the era of sessions. NULL: it is heard anyhow */
    void (*listen)(struct transport *transport);
    /** Whether all notifications have arrived. NULL: order is kept anyhow */
    bool (*is_settled)(const struct transport *transport);
    /** Wait for something to send or to receive, `ms` milliseconds at most. Without the lock */
    void (*wait)(struct transport *transport, int ms);
    /** Send and receive what can be at once.
     * @return 0; another code: the server has ended or cannot be understood, once that is taken
     *         which transport_calls.next() has */
    int (*receive)(struct transport *transport, struct toolrack_error *err);
    /** @return false: nothing more has come */
    bool (*next)(struct transport *transport, struct incoming *ret);
    /** A request failed with TOOLRACK_E_PERMISSION_DENIED: get what permits it. NULL: nothing can.
     * Without the lock.
     * @return 0: it is worth another try */
    int (*authorize)(struct transport *transport, uint64_t number, const struct session_wait *wait,
                     struct toolrack_error *err);
    /** Its process group; 0: it has ended. NULL: it has none */
    pid_t (*group)(const struct transport *transport);
    /** End it. Without the lock; nobody else uses it */
    void (*end)(struct transport *transport);
};

/* The first member of each. */
struct transport {
    const struct transport_calls *calls;
};
