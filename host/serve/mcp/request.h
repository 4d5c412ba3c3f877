/* request.h - one message of a client, from its arrival until its exchange is finished.
 *
 *   new -> registered -> answered or cancelled
 *
 * Each request is answered once; what comes later (the result of a cancelled call) is dropped. A
 * notification and a response of the client are requests here that are never registered: they are
 * answered by nothing. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/lock.h"
#include "serve/mcp/dialect.h"
#include "serve/mcp/server.h"

/* When a client comes back for the rest of a stream that was ended before its answer. */
#define REQUEST_RETRY_MS 500u
/* Memory of a request of usual size. */
#define REQUEST_ROOM     4096u

struct listen;
struct mrtr;
struct approval;
struct offers;
struct page;
struct planned;
struct asked;
struct progress;
struct search;
struct task;

struct request {
    uint32_t magic;
    atomic_uint refs;
    struct mcp *mcp;
    /* The transport's until it is registered, then a copy, in the arena or the client's. */
    struct principal principal;
    const struct mcp_headers
            *headers; /* until the function that received it returns; NULL: stdio */
    /* NULL while the client of a session is away: what is sent is kept for its return. Guarded by
     * `lock`. */
    struct exchange *exchange;
    struct client
            *client; /* pipe or session, with a reference; NULL in the stateless era of HTTP */
    const struct dialect *dialect;
    const char *id; /* JSON text; NULL: not a request */
    size_t id_length;
    uint32_t hash; /* of client and id */
    unsigned capabilities;
    bool no_events; /* nothing can be sent before the answer: the client takes no stream */
    int log_level;  /* least that the client wants to see, see level.h */
    atomic_uint log_lines;

    struct request *live_next; /* guarded by mcp->lock, as are the next four */
    struct request *live_prev;
    struct request *bucket_next;
    struct request *free_next;
    bool registered;
    bool was_live; /* registered, or was */

    struct lock lock; /* one function of the exchange at a time; guards the following */
    pthread_cond_t changed;
    bool answered;   /* or cancelled: nothing may be sent any more */
    uint64_t stream; /* of a session: the number of its event stream; REPLAY_OWN: none has begun */
    struct toolrack_call *call;
    const char *trace; /* a traceparent, of its span; NULL: it is in no trace. In the arena */
    struct progress *progress; /* NULL: the client wants to hear of none */
    /* What is done before it is answered, and when it is answered or cancelled; NULL: nothing. */
    void (*before_answer)(struct request *request);
    void (*at_end)(struct request *request);
    /* Likewise, after at_end; and when nobody wants the end of the task that it is. */
    void (*leave)(struct request *request);

    struct toolrack_token_grant *grant; /* with a reference; NULL: it came without a token */
    struct timer guard;                 /* see guard.h; with a reference to the request */
    bool (*look)(struct request *request, bool holds); /* likewise; NULL: it is not looked at */
    /* Of a call, with a reference. Its file may be exchanged before the call begins, while other
     * threads read this: what it was before stays until the end. */
    struct toolrack_tool *_Atomic tool;
    struct toolrack_tool *tool_before; /* with a reference, or NULL */
    const char *called;                /* the tool's name, as the client wrote it; in the arena */
    const char *new_session; /* the secret of a session that begins with the answer, or NULL */
    struct mrtr *mrtr;       /* what is known of the client's answers; in the arena */
    struct listen *wanted;   /* the same before it is acknowledged */
    struct listen *listen;   /* of subscriptions/listen; in the arena */
    const char *choice;      /* that the call comes of, see search-tools.h; in the arena, or NULL */
    bool by_call_tool;       /* the call is one of call_tool, see search-tools.h */
    struct task *task;       /* what it is, or may become; in the arena */
    struct approval *approval; /* what let its call run; owned */
    struct asked *asked;       /* of a method of tasks; in the arena */
    const char *arguments;     /* of a call, as JSON text; in the arena */
    size_t arguments_length;
    struct search *search;       /* of search_tools; in the arena */
    struct planned *planned;     /* of run_plan; in the arena */
    const struct offers *offers; /* what plugins are asked for; in the arena, as is the next */
    struct page *page;           /* of a list of what they offer */
    struct timer turn;           /* see later.h, as are the next two */
    struct work choosing;
    void (*later)(struct request *request);
    struct toolrack_error *err; /* for functions of the library; kept for the next request */
    struct timer opening;       /* begins the event stream */
    struct buf out;
    struct arena arena;
    _Alignas(16) char room[REQUEST_ROOM];
};
#define REQUEST_MAGIC 0x72657131u

/** A request of an exchange, with one reference; NULL when out of memory. */
struct request *request_create(struct mcp *mcp, const struct principal *principal,
                               const struct mcp_headers *headers, struct exchange *exchange);
struct request *request_ref(struct request *request);
void request_unref(struct request *request);

/** Take its place in the trace that its sender names: in `_meta`, or else in the header. What
 * cannot be read, or finds no memory, is ignored. */
void request_take_trace(struct request *request, yyjson_val *meta);

/** Register it under the id of its message. `client` is borrowed, or NULL.
 * @return false, and it is answered, if the id is in use or nothing is taken any more */
bool request_register(struct request *request, struct client *client,
                      const struct rpc_message *message);

/** It is not live any more. Caller holds mcp->lock, and has another reference than that of the
 * list, which is the caller's then. */
void request_unlink(struct request *request);

/** Register a stream, which has no id. */
void request_register_stream(struct request *request, struct client *client);

/** The live request of a client with this id (JSON text): a new reference, or NULL. */
struct request *request_find(struct mcp *mcp, struct client *client, const char *id);

/** The live request of an exchange that is perhaps being finished: a new reference, or NULL. */
struct request *request_of_exchange(struct mcp *mcp, const struct exchange *exchange);

/** Begin the answer: the buffer, in which the members of the result follow. */
struct buf *request_result(struct request *request);
/** The same of another resultType than "complete", in the stateless era. */
struct buf *request_result_of(struct request *request, const char *type);
/** The result is complete, but for what the revision adds to each. */
void request_complete(struct request *request);
/** The result is complete. */
void request_complete_whole(struct request *request);

/** Answer by an error. `data` is JSON or NULL; `status` 0: by the code. */
void request_fail(struct request *request, int status, int code, const char *data,
                  const char *format, ...) TOOLRACK_PRINTF(5, 6);
void request_oom(struct request *request);
/** Answer by the error that says which capabilities the client must declare: bits. */
void request_refuse_capability(struct request *request, unsigned capabilities);
/** Answer by 403: the principal may not call tools of this permission, which `what` needs. */
void request_refuse_scope(struct request *request, const char *what,
                          enum toolrack_permission permission);

/** Answer by nothing: notifications, responses, what was cancelled. */
void request_end(struct request *request, int status);

/** Begin an event stream before there is something to send. */
void request_open(struct request *request);
/** The same after a second, where the client can come back for the rest of a stream that it loses:
 * for that it needs the id of an event. One that has opened a stream of its own before, and so
 * knows how to come back, is sent away until then: a long call holds no connection. */
void request_open_later(struct request *request);

/** Send a notification or a request to the client before the answer; nothing once it is answered.
 * @return whether it was sent */
bool request_send(struct request *request, const struct buf *message);

/** The call that runs for it: taken. It is cancelled if the request is. */
void request_set_call(struct request *request, struct toolrack_call *call);

/** Cancel: the call is told, and nothing more is sent. */
void request_cancel(struct request *request);

/** The same, but for an error that says that the server ends. */
void request_cut(struct request *request);

/** The client has closed the connection of this exchange. A request of a session goes on, any other
 * is cancelled. */
void request_gone(struct request *request, const struct exchange *exchange);

/** The client of a session has come back for the rest of a stream, by a GET that is not registered:
 * the request gets its exchange, after the events that it missed.
 * @return false: the request has been answered */
bool request_resume(struct request *request, const struct request *get, uint64_t after);
/** Send on a GET what is kept of a stream whose request has been answered. */
void request_replay(struct request *get, uint64_t stream, uint64_t after);
/** The live request of a client with this stream: a new reference, or NULL. */
struct request *request_of_stream(struct client *client, uint64_t stream);

/** Let who waits for `changed` look again. */
void request_wake(struct request *request);

/** Whether it is answered or cancelled. */
bool request_is_over(struct request *request);

/** Cancel all live requests of a client, or (NULL) all. */
void requests_cancel(struct mcp *mcp, const struct client *client);
/** Call a function for each live request of a client, or (NULL) all: with a reference of its own.
 */
void requests_each(struct mcp *mcp, const struct client *client,
                   void (*function)(struct request *request));

/** Release the requests that nobody uses. */
void requests_free(struct mcp *mcp);
