/* front.h - a front whose requests are told apart by method and path: where an HTTP transport meets
 * it.
 *
 * The transport asks a front what a request is for when its head was read, and so knows who may
 * send it and what it must look like; it refuses what is wrong with that by itself, in words of the
 * front's form. Then it hands the request over with an exchange (exchange.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "serve/counts.h"
#include "serve/exchange.h"
#include "serve/principal.h"

/** Who may send requests of a route. */
enum front_class {
    FRONT_PUBLIC, /* anybody; nobody asks who it is */
    FRONT_CALLER, /* who may call tools */
    FRONT_ADMIN   /* who administers the host: principal->admin */
};

/* What an answer may be. */
#define FRONT_GIVES_JSON   1u
#define FRONT_GIVES_EVENTS 2u
#define FRONT_GIVES_TEXT   4u

/* Room for all methods of one path. */
#define FRONT_ALLOW_ROOM 64u

/** What a front says of a method and a target. */
struct front_route {
    const void *route; /* the front's own; NULL: the request is refused, or asks for methods */
    enum front_class class;
    unsigned gives;               /* FRONT_GIVES_..., or-ed: the client must take one; 0: any */
    bool changes;                 /* it must say that its body is JSON, which a form cannot */
    bool logs_in;                 /* it shows a secret that may be a guess: only so often */
    bool is_page;                 /* a browser shows it, and it logs in */
    bool at_end;                  /* it is answered while the server ends, too */
    unsigned status;              /* of a refusal: 400, 404 or 405; of OPTIONS 204; else 0 */
    const char *message;          /* of a refusal: static */
    char allow[FRONT_ALLOW_ROOM]; /* for 405 and OPTIONS: the methods */
};

/** A request; borrowed until the function that gets it returns. */
struct front_request {
    const void *route;
    const char *target; /* as it came: path and query */
    const char *id;     /* of the request, for records */
    const char *trace;  /* of what it causes: a traceparent, or where it is in no trace `id` */
    const char *last_event_id; /* these are headers; NULL where it has none */
    const char *if_none_match;
    const char *prefer;
    bool prefers_events; /* it takes an event stream, and no JSON */
    char *body;          /* as for mcp_post(); NULL: none */
    size_t length;
};

struct front;

struct front_calls {
    /** Of what a request is. False: the path is none of the front's. */
    bool (*find)(struct front *front, const char *method, const char *target,
                 struct front_route *ret);
    void (*receive)(struct front *front, const struct principal *principal,
                    const struct front_request *request, struct exchange *exchange);
    /** As mcp_gone(). */
    void (*gone)(struct front *front, struct exchange *exchange);
    /** As mcp_drain(). */
    void (*drain)(struct front *front);
    /** As mcp_cut(). */
    void (*cut)(struct front *front);
    /** Write the body of a refusal by the transport. */
    void (*refuse)(struct buf *out, unsigned status, const char *message);
    const char *refusal_type; /* its Content-Type */
    enum counts_front counted_as;
};

/** The first member of the front's own struct. */
struct front {
    const struct front_calls *calls;
};
