/* memory.h - what all runs of a host have in memory: results, what is parsed of them, and the
 * arguments of calls in flight that references made long.
 *
 * A run holds at most PLAN_RESULTS_MAX, all runs PLAN_RESULTS_ALL_MAX, and the runs of a party at
 * most half of what the others leave free of that: so no one takes all. A share takes its bytes
 * from the whole in steps, so that most nodes take no lock. */
#pragma once

#include "base/error.h"
#include "base/lock.h"

struct plan_memory_share;

/* Of a host. */
struct plan_memory {
    struct lock lock; /* guards what follows */
    size_t bytes;     /* of all shares */
    struct plan_memory_share *first;
};

/* Of a run; one thread uses it. */
struct plan_memory_share {
    struct plan_memory *all; /* NULL: only the limit of a run counts */
    const char *party; /* whose it is; NULL: nobody's, of which all runs together are the limit */
    size_t used;
    size_t taken; /* from the whole; of `all` guarded by its lock, written by this thread alone */
    struct plan_memory_share *next;
    struct plan_memory_share *previous;
};

void plan_memory_init(struct plan_memory *all);
void plan_memory_finish(struct plan_memory *all);

/** @param all    borrowed until plan_memory_share_end(); or NULL
 * @param party  likewise */
void plan_memory_share_begin(struct plan_memory_share *share, struct plan_memory *all,
                             const char *party);
/** Give all of it back; a share that was never begun, all zero, is ignored. */
void plan_memory_share_end(struct plan_memory_share *share);

/** Hold `more` bytes.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED, which says which limit: then none of it is held. */
int plan_memory_take(struct plan_memory_share *share, size_t more, struct toolrack_error *err);
/** Hold so many less. */
void plan_memory_give(struct plan_memory_share *share, size_t less);

/** The most bytes that a JSON text has when it is parsed. [any-thread] */
size_t plan_memory_parsed_size(const char *text, size_t length);
