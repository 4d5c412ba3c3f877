/* offer-parts.h - inside a request of offer.h; not for other parts.
 *
 *   offer-submit.c  its beginning, its handle and its end
 *   offer.c         its steps: one call of a plugin after the other */
#pragma once

#include <stdatomic.h>

#include "api/host.h"
#include "api/offer-list.h"
#include "api/offer-plugins.h"
#include "api/offer-request.h"
#include "api/offer-route.h"
#include "base/cleanup.h"
#include "call/job.h"

#define OFFERING_MAGIC 0x6f666672u

/* One request. For the app it is a struct toolrack_call, like a job: both begin with a magic
 * number. */
struct offering {
    uint32_t magic;
    atomic_uint refs; /* of the app, and of the step that runs */
    struct toolrack *host;
    enum toolrack_offer what;
    enum offer offer;
    struct toolrack_call_options options;
    char *strings; /* copies of the options' strings */
    char *arguments;
    size_t length;
    toolrack_done *done;
    void *user;
    struct offer_plugins plugins;
    size_t next; /* the plugin to ask next */
    struct offer_list list;
    struct offer_route route;
    bool learns;       /* who lists what is being asked for: a list of `learner` */
    enum offer lesson; /* which */
    size_t learner;
    struct toolrack_error failure; /* of the last plugin that failed; code 0: none has */
    uint64_t started_ns;

    struct lock lock; /* guards what follows */
    struct job *job;  /* of the step that runs; a reference, or NULL */
    uint64_t step;    /* its number */
    bool cancelled;
};

void offering_unref(struct offering *offering);
CLEANUP_DEFINE(struct offering, offering_unref)

/** Whether a list is asked for, of all plugins. */
bool offering_is_list(enum toolrack_offer what);

/** Take the next step, with a reference, which is released at the end. */
void offering_go_on(struct offering *offering);
