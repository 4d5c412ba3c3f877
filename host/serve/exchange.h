/* exchange.h - one request of a client, and how it is answered: where a transport and a front meet.
 *
 * A transport (http/, stdio/) has bytes and connections. A front (mcp/) knows what a request means.
 * The transport hands a request over with an exchange; what is sent because of the request goes
 * back through it, at once or by pieces, on any thread. That is all a front knows of a transport,
 * so a transport can have more than one front. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exchange; /* below */

/** The last thing that goes back. */
struct exchange_answer {
    int status;       /* of HTTP */
    const char *text; /* one JSON value; NULL: no body */
    size_t length;    /* of the text */
    const char *type; /* of the text; NULL: application/json */
    /* NULL: the text is borrowed until finish() returns. Else it stays until the transport calls
     * this with `lent`, once: what many clients get is not copied for each. */
    void (*release)(void *lent);
    void *lent;
    const char *fields;  /* more headers, "Name: value" and CRLF each, or NULL */
    const char *session; /* Mcp-Session-Id of a session that was begun, or NULL */
    /* For 403: the scopes that are missing, all of them, separated by spaces; or NULL. */
    const char *missing_scope;
    /* What was asked for was begun and may have been done, or a part of it: a client must not be
     * told to send the request again. */
    bool is_begun;
};

/** What the client of a session is told of it. */
struct exchange_session {
    const char *csrf; /* what each of its requests has in X-CSRF-Token; NULL: of one that was begun
                       * before */
    uint64_t left_s;  /* until it ends by itself */
    const char *cookie; /* headers of the answer, as its `fields`; NULL likewise */
};

/** Functions of the transport. Texts are one JSON value without a line feed, borrowed until the
 * function returns. The memory of an exchange is the transport's, and stays until finish() is
 * called, which happens exactly once, also if the client is gone: then nothing more is sent. */
struct exchange_calls {
    /* A message that is not the last: a notification, or a request to the client. HTTP begins an
     * event stream with the first one. `event_id` is the id of the event, NULL: none; an empty text
     * is an event with an id and no message, and without an id none at all: the stream begins. */
    void (*send)(struct exchange *exchange, const char *event_id, const char *text, size_t length);
    void (*finish)(struct exchange *exchange, const struct exchange_answer *answer);
    /* End an event stream without an answer: the client comes back for the rest after `retry_ms`.
     * finish() follows. HTTP only. */
    void (*pause)(struct exchange *exchange, uint32_t retry_ms);
    /* The id of the principal of a message that came without one and belongs to no session: of the
     * user or the connection that it comes from. Called before the function that hands the message
     * over returns, and the text stays until then. NULL: the system has no memory for it. HTTP
     * only. */
    const char *(*who)(struct exchange *exchange);
    /* Sessions of pages. The same holds of them, and of what they return: `who()` says when it may
     * be called and how long it stays.
     *
     * Begin one of the token of the request. 0; -EPERM: the request shows no token; -ENOMEM. */
    int (*begin_session)(struct exchange *exchange, struct exchange_session *ret);
    /* That by which the request came. False: it came by none. */
    bool (*get_session)(struct exchange *exchange, struct exchange_session *ret);
    /* End it. `ret->cookie` removes the cookie. False likewise. */
    bool (*end_session)(struct exchange *exchange, struct exchange_session *ret);
};

/** One request of a client, and the way back. A member of a struct of the transport. */
struct exchange {
    const struct exchange_calls *calls;
    void *own; /* what the front keeps with it until finish(); NULL at first */
};
