/* request.h - one request from its arrival to its answer.
 *
 * A handler gets a request whose query and body are as its route says, and answers it once, with
 * one of the functions below: at once, or later on any thread. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/lock.h"
#include "serve/rest/routes.h"
#include "serve/rest/server.h"
#include "serve/work.h"
#include "view/json.h"

struct rest_request {
    uint32_t magic;
    atomic_uint refs;
    struct rest *rest;
    const struct route *route;
    struct rest_request *next; /* of the live ones; guarded by rest->lock, as is the next */
    struct rest_request **link;
    struct rest_request *turn_next; /* of those with ROUTE_LONG or ROUTE_CHOOSES; likewise */
    struct workers *turn_of;        /* on which threads */
    struct target target;
    struct principal principal; /* with an id, but for what is public */
    struct toolrack_token_grant *grant;
    const char *id;
    const char *trace;         /* of the calls that it makes */
    const char *last_event_id; /* these may be NULL */
    const char *if_none_match;
    const char *prefer;
    bool prefers_events;
    char *body; /* as it came, of a route with ROUTE_ANY_BODY; else NULL */
    size_t body_length;
    yyjson_val *json; /* the body that was taken apart, or NULL */
    struct work work;
    struct toolrack_error *err; /* of the library */

    struct lock lock;
    struct exchange *exchange; /* NULL: it is answered */
    bool gone;                 /* the client has left */
    bool follows;              /* it is an event stream that ends when its client leaves */
    struct toolrack_call *call;
    void (*leave)(struct rest_request *request); /* the client has left; NULL: nothing is done */

    struct toolrack_tool *tool; /* of a call, with a reference */
    bool renewed;               /* another one was looked for in its place */
    void *more;                 /* the handler's own */
    bool incomplete;            /* memory ran out for `doc` */
    yyjson_mut_doc *doc;
    struct buf out;
    struct arena arena;
    char room[1024];
};
#define REST_REQUEST_MAGIC 0x72726571u

struct rest_request *rest_request_ref(struct rest_request *request);
void rest_request_unref(struct rest_request *request);

/* ------------------------------------------------------------ what it says */

/** The part of the path in braces. */
const char *rest_part(const struct rest_request *request, const char *name);
/** A parameter of the query, or NULL; a number, or 0; whether it is "true". */
const char *rest_query(const struct rest_request *request, const char *name);
uint64_t rest_query_number(const struct rest_request *request, const char *name);
bool rest_query_true(const struct rest_request *request, const char *name);
/** A member of the body, as rest_query(). */
const char *rest_text(const struct rest_request *request, const char *name);
uint64_t rest_number(const struct rest_request *request, const char *name);
/** Who decides, for the log of decisions. NULL: out of memory. */
const char *rest_who(struct rest_request *request);

/* --------------------------------------------------------------- the answer */

/** An object to be filled: rest_answer() takes it. */
yyjson_mut_val *rest_object(struct rest_request *request);
void rest_answer(struct rest_request *request, yyjson_mut_val *root);
/** The object {KEY: JSON of the host}. */
void rest_answer_text(struct rest_request *request, const char *key,
                      const struct toolrack_text *text);
/** JSON of the host as it is. */
void rest_answer_whole(struct rest_request *request, const struct toolrack_text *text);
/** A text of JSON, with headers or NULL; `tag`: its ETag, or NULL for that of the text, of a route
 * that has one. */
void rest_answer_json(struct rest_request *request, unsigned status, const char *text,
                      size_t length, const char *tag, const char *fields);
/* Room for an ETag: 128 bits as hexadecimal digits, in quotes, and a zero. */
#define REST_TAG_ROOM 35u
void rest_make_tag(const char *text, size_t length, char ret[static REST_TAG_ROOM]);
/** The same with a text that stays until `release` is called with `lent`. */
void rest_answer_lent(struct rest_request *request, const char *text, size_t length,
                      const char *tag, void (*release)(void *lent), void *lent);
/** A text that is no JSON. */
void rest_answer_typed(struct rest_request *request, const char *type, const char *text,
                       size_t length);
/** {"name": NAME, KEY: VALUE}, and whom the decision reached. */
void rest_answer_done(struct rest_request *request, const char *name, const char *key, bool value);

/** Fail with the error that the library has set in request->err. */
void rest_fail(struct rest_request *request);
/** The same with one that a callback got. */
void rest_fail_of(struct rest_request *request, const struct toolrack_error *err);
/** Make an error one that the principal may be told, see principal_add_message(). */
void rest_tell(const struct principal *principal, struct toolrack_error *err);
/** The principal may not call tools of a permission. */
void rest_refuse_scope(struct rest_request *request, enum toolrack_permission permission);
/** Fail with an error of base/; `detail` and `near` as for problem_write(). */
void rest_fail_with(struct rest_request *request, const struct toolrack_error *err,
                    const char *detail, const char *near);
/** The same with a further member, whose value is JSON. */
void rest_fail_more(struct rest_request *request, const struct toolrack_error *err, const char *key,
                    const char *json);
void rest_refuse(struct rest_request *request, int code, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);
void rest_oom(struct rest_request *request);
/** The same when what was asked for is done, and only the answer could not be made. */
void rest_oom_done(struct rest_request *request);
/** The same of a function that is about a tool: one that is not there is unknown. */
void rest_fail_named(struct rest_request *request, int code, const char *name);
/** Whether the principal is shown a tool, in lists and by name. Nobody agreed to the texts of one
 * that is not as it was approved: who reads them as instructions, as a model does, is not shown it.
 */
bool rest_shows(const struct rest_request *request, const struct toolrack_tool *tool);
/** No tool of that name is there, or shown to the principal. */
void rest_fail_unknown(struct rest_request *request, const char *name);

/** Begin an event stream, or add an event to it. `id`: that of the event, or NULL. */
void rest_send(struct rest_request *request, const char *id, const char *text, size_t length);
/** End an event stream without another event. */
void rest_end_stream(struct rest_request *request);
/** An event stream that lasts until its client leaves, or the server ends: `leave` is called then,
 * perhaps at once. */
void rest_leave_with(struct rest_request *request, void (*leave)(struct rest_request *request));
/** Append a text as a JSON string; what is no UTF-8 in it is replaced. */
void rest_add_string(struct buf *out, const char *text);

/** For the library's `err`. NULL: out of memory, which every function takes. */
struct toolrack_error *rest_err(struct rest_request *request);
