/* results.h - what all runs of a host have in memory: results, what is parsed of them, and the
 * arguments of calls in flight that references made long.
 *
 * A run holds at most PLAN_RESULTS_MAX, all runs PLAN_RESULTS_ALL_MAX, and the runs of a party at
 * most half of what the others leave free of that: so no one takes all. A share takes its bytes
 * from the whole in steps, so that most nodes take no lock. */
#pragma once

#include "base/error.h"
#include "base/lock.h"

struct results_share;

/* Of a host. */
struct results {
    struct lock lock; /* guards what follows */
    size_t bytes;     /* of all shares */
    struct results_share *first;
};

/* Of a run; one thread uses it. */
struct results_share {
    struct results *all; /* NULL: only the limit of a run counts */
    const char *party;   /* whose it is; NULL: nobody's, of which all runs together are the limit */
    size_t used;
    size_t taken; /* from the whole; of `all` guarded by its lock, written by this thread alone */
    struct results_share *next;
    struct results_share *previous;
};

void results_init(struct results *all);
void results_finish(struct results *all);

/** @param all    borrowed until results_share_end(); or NULL
 * @param party  likewise */
void results_share_begin(struct results_share *share, struct results *all, const char *party);
/** Give all of it back; a share that was never begun, all zero, is ignored. */
void results_share_end(struct results_share *share);

/** Hold `more` bytes.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED, which says which limit: then none of it is held. */
int results_take(struct results_share *share, size_t more, struct toolrack_error *err);
/** Hold so many less. */
void results_give(struct results_share *share, size_t less);

/** The most bytes that a JSON text has when it is parsed. [any-thread] */
size_t results_parsed_size(const char *text, size_t length);
