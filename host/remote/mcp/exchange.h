/* exchange.h - one request over HTTP to an MCP server of the web and its response, for
 * streamable.c: it is sent, read, and what has come is put into the queue of its transport. What
 * its end means is decided in streamable.c. */
#pragma once

#include <stdatomic.h>

#include "remote/mcp/sse.h"
#include "remote/mcp/streamable-options.h"
#include "remote/mcp/transport.h"

#define SESSION_ID_MAX 1024u
#define REVISION_MAX   32u

enum exchange_kind {
    EXCHANGE_ASK,    /* a POST with a request */
    EXCHANGE_NOTIFY, /* a POST that nothing answers */
    EXCHANGE_HEAR    /* a GET of what the server says unasked */
};

/* One request of HTTP and its response; a redirect or a resumption makes it another one. */
struct exchange {
    struct exchange *next;
    struct streamable *of;
    enum exchange_kind kind;
    uint64_t number;  /* whose answer it brings; 0: of none */
    bool listens;     /* see struct outgoing */
    bool is_dropped;  /* nobody waits for it */
    bool has_answer;  /* it has come */
    bool resumes;     /* a GET after the last event, in place of the POST */
    bool begins;      /* its request is `initialize` */
    bool had_session; /* it was sent with the id of the session */
    uint64_t at_ns;   /* not before; 0: at once */
    unsigned resumed; /* in a row */
    unsigned redirects;
    unsigned token; /* of oauth_add_header() */
    struct buf url;
    struct buf body;
    struct buf lines; /* header lines of its own, each with its end */
    struct curl_slist *headers;
    CURL *easy; /* NULL: it has not begun */
    char reason[CURL_ERROR_SIZE];
    size_t header_length;
    bool is_typed;  /* the header has been looked at */
    bool is_stream; /* of events */
    bool is_json;
    struct sse sse;
    struct buf text; /* a response that is no stream; of an error the first bytes */
    int code;        /* negative: why it was stopped */
    struct toolrack_error why;
};

/* What has come and was not taken. */
struct item {
    struct item *next;
    struct message *message;
    uint64_t number;
    int code;
    char why[ERROR_MESSAGE_MAX];
};

/* Guarded by the session's lock, but for what is atomic and the multi handle's own wait. */
struct streamable {
    struct transport base;
    const struct streamable_options *options;
    CURLM *multi;
    struct exchange *exchanges;
    struct item *first;
    struct item *last;
    _Atomic uint64_t due_ns; /* when something is to begin; UINT64_MAX: nothing is */
    char session[SESSION_ID_MAX + 1];
    char revision[REVISION_MAX];
    bool is_stateless;
    bool is_over; /* the server does not know the session any more */
};

/* All of these are called under the session's lock. */

/** Queue a message, or why the answer to the request `number` does not come. Takes the message. */
void exchange_push(struct streamable *of, struct message *message, uint64_t number,
                   const struct toolrack_error *why);
/** NULL: no memory. */
struct exchange *exchange_create(struct streamable *of, enum exchange_kind kind);
/** Put it in the list, at its end; it begins when its time has come. Destroyed if it fails.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int exchange_add(struct exchange *exchange, struct toolrack_error *err);
/** Send it. False: no memory. */
bool exchange_begin(struct exchange *exchange);
/** It is not under way any more, and may begin again. */
void exchange_stop(struct exchange *exchange);
void exchange_destroy(struct exchange *exchange);
/** Queue the message that a response is, or what is wrong with it. A sse_taker's take.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int exchange_take_text(void *exchange, const char *text, size_t length, struct toolrack_error *err);
/** A header of the response, or NULL. */
const char *exchange_header(const struct exchange *exchange, const char *name);
/** The status of the response; 0: there is none. */
long exchange_status(const struct exchange *exchange);
bool exchange_is_success(long status);
