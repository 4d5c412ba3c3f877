/* routes.h - the table of all routes, from which the router, the OpenAPI document and the tests
 * come. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/front.h"
#include "serve/rest/target.h"

struct rest_request;

enum field_type {
    FIELD_STRING,
    FIELD_BOOLEAN,
    FIELD_INTEGER,
    FIELD_SIGNED,
    FIELD_STRINGS,
    FIELD_OBJECT
};

/** A parameter of a query, or a member of a body. */
struct field {
    const char *name; /* NULL: the end of the list */
    enum field_type type;
    bool required;
    const char *description;
    const char *choices; /* of a string: "a|b", or NULL: any */
    uint64_t most;       /* of a number; 0: FIELD_NUMBER_MAX */
    uint64_t least;
};
/* Clients that keep numbers as JavaScript does know each one up to this from the next. */
#define FIELD_NUMBER_MAX 9007199254740991u

static inline uint64_t field_most(const struct field *field) {
    return field->most != 0 ? field->most : FIELD_NUMBER_MAX;
}

/* What an answer is beside JSON, and where a handler runs. */
#define ROUTE_EVENTS      1u /* it may be an event stream ... */
#define ROUTE_EVENTS_ONLY 2u /* ... or is always one */
#define ROUTE_WAITS       4u /* the handler waits for the store or a plugin: on a thread for that */
#define ROUTE_LONG        8u /* it waits for tools */
#define ROUTE_TAGGED      16u   /* the answer has an ETag, and If-None-Match is heard */
#define ROUTE_LOGS_IN     64u   /* as front_route.logs_in */
#define ROUTE_ANY_BODY    32u   /* the body is any JSON, and is not taken apart */
#define ROUTE_TEXT        128u  /* the answer is no JSON but plain text */
#define ROUTE_AT_END      512u  /* as front_route.at_end */
#define ROUTE_RESUMES     1024u /* its stream goes on after the event of Last-Event-ID */
#define ROUTE_ASYNC       2048u /* Prefer: respond-async is heard, and answered by a task */
#define ROUTE_CHOOSES     4096u /* it may wait for a model: on a thread for that */
#define ROUTE_EXACT       8192u /* numbers in the body stay as they are written */
#define ROUTE_METRICS     256u  /* the configuration says who may have it: see routes_class() */

struct route {
    const char *method;
    const char *path; /* parts in braces stand for any: "/api/tools/{name}" */
    enum front_class class;
    unsigned flags;
    void (*handle)(struct rest_request *request);
    const char *operation; /* its name in the document */
    const char *summary;
    const struct field *query; /* or NULL: none */
    const struct field *body;  /* or NULL: none, or any */
    const char *response;      /* the name of its schema */
    const char *event;         /* likewise of the data of an event of its stream; NULL: no stream */
    unsigned status;           /* of success */
    const char *failures;      /* types of the error table, separated by spaces */
    const char *example;       /* of the body, or NULL */
};

extern const struct route routes[];
extern const size_t route_count;

/** The route of a method and a target; NULL: none.
 * @param ret_allow  receives the methods of the path, "" for a path that no route has */
const struct route *routes_find(const char *method, const struct target *target,
                                char ret_allow[static FRONT_ALLOW_ROOM]);

/** Who may send requests of a route.
 * @param metrics  what the configuration says of /metrics */
enum front_class routes_class(const struct route *route, enum front_class metrics);

/** The segment of a target that stands where a route has {name}; or NULL. */
const char *route_part(const struct route *route, const struct target *target, const char *name);
