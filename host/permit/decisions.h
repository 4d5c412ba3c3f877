/* decisions.h - the log of permission decisions, off the path of calls.
 *
 * A decision is a line of the log at once, and a row of the store a little later: rows are
 * collected in memory and written in batches by a thread that the first of them starts. An unclean
 * end loses those of the last DECISIONS_DELAY_MS; a clean one loses none. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"
#include "base/log.h"
#include "store/decisions.h"
#include "toolrack/toolrack.h"

/* How long a row may wait for others to be written with. */
#define DECISIONS_DELAY_MS 1000u
/* So many are written without waiting; so many wait at most: those that come faster than the disk
 * takes them are counted as lost, and that is said. */
#define DECISIONS_BATCH    256u
#define DECISIONS_ROWS_MAX 4096u

struct decisions {
    const struct log *log; /* borrowed, as the store */
    struct store *store;
    struct lock write_lock;       /* held by who writes a batch: they are written in their order */
    struct lock lock;             /* guards what follows; the order is write_lock, then lock */
    pthread_cond_t changed;       /* there are rows, or it is over */
    struct store_decision **rows; /* each one block with its texts; NULL before the first */
    size_t count;
    size_t lost;
    uint64_t first_ns; /* when the oldest row came */
    bool started;      /* the thread exists */
    bool closing;
    pthread_t thread;
};

void decisions_init(struct decisions *decisions, const struct log *log, struct store *store);
/** Write what waits, and end the thread. May be called again. */
void decisions_stop(struct decisions *decisions);

/** As permit_note(). [any-thread] */
void decisions_note(struct decisions *decisions, const struct store_decision *decision);

/** Read the log as JSON, after what waits was written.
 * @return 0 with a reference; the store's; TOOLRACK_E_NO_MEMORY. [any-thread] */
int decisions_read(struct decisions *decisions, const struct toolrack_decisions_filter *filter,
                   struct toolrack_text **ret, struct toolrack_error *err);
