/* offers.h - a request for what plugins offer beside tools, from its arguments to its answer. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "toolrack/offer.h"

struct request;

/** What is asked for. Strings stay as long as the request. */
struct offers {
    enum toolrack_offer what;
    const char *arguments; /* JSON, see offer.h; NULL: {} */
    const char *subject;   /* the URI or the name that it is about, or NULL */
    const char *near; /* the name that was probably meant, if no plugin has the subject; or NULL */
    bool asks;        /* the plugin may ask the client, see mrtr_begin() */
    bool for_all;     /* of all plugins, whatever the principal is shown */
    uint32_t deadline_ms; /* 0: the plugin's, or the host's */
    /* What follows, on a thread of the host: complete the request, or ask for more. */
    void (*end)(struct request *request, const struct toolrack_result *result);
    /* The same after a failure; NULL: the request is answered by an error. */
    void (*fail)(struct request *request);
    /* Before it is answered by an error; or NULL. */
    void (*refused)(struct request *request);
};

/** Ask. The request is answered by `end`, or by an error. `end` may call this again. */
void offers_ask(struct request *request, const struct offers *offers);

/** Append the members of a result as its plugin gave them, without the braces, as the revision has
 * them. */
void offers_add(struct request *request, const struct toolrack_result *result);

/** Whether the principal may read at all. @return false: the request is answered */
bool offers_check_scope(struct request *request, const char *what);
