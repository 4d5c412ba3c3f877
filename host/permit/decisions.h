/* decisions.h - the log of permission decisions, off the path of calls.
 *
 * A decision is a line of the log at once, and a row of the store a little later: rows are
 * collected in memory and written in batches by the host's writer. An unclean end loses those of
 * the last DECISIONS_DELAY_MS; a clean one loses none. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/lock.h"
#include "base/log.h"
#include "store/decisions.h"
#include "store/writer.h"
#include "toolrack/toolrack.h"

/* How long a row may wait for others to be written with. */
#define DECISIONS_DELAY_MS   1000u
/* So many are written without waiting; so many wait at most: those that come faster than the disk
 * takes them are counted as lost, and that is said. */
#define DECISIONS_BATCH      256u
#define DECISIONS_ROWS_MAX   4096u
/* Room that is made for the first of a batch; it doubles. */
#define DECISIONS_ROWS_FIRST 16u

struct decision_rows {
    struct store_decision *items; /* owned; the strings are in the arena */
    size_t count;
    size_t room;
    size_t lost; /* not among them */
    struct arena strings;
};

struct decisions {
    const struct log *log; /* borrowed, as the store */
    struct store *store;
    struct store_writer_source source;
    struct lock write_lock; /* held by who writes a batch: they are written in their order */
    struct lock lock;       /* guards what follows; the order is write_lock, then lock */
    struct decision_rows rows;
};

/** `writer` is borrowed until decisions_finish(), before which it is stopped. */
void decisions_init(struct decisions *decisions, const struct log *log, struct store *store,
                    struct store_writer *writer);
/** Write what waits, and release it all. */
void decisions_finish(struct decisions *decisions);

/** Write what waits now. [any-thread] */
void decisions_flush(struct decisions *decisions);

/** As permit_note(). [any-thread] */
void decisions_note(struct decisions *decisions, const struct store_decision *decision);

/** Read the log as JSON, after what waits was written.
 * @return 0 with a reference; the store's; TOOLRACK_E_NO_MEMORY. [any-thread] */
int decisions_read(struct decisions *decisions, const struct toolrack_decisions_filter *filter,
                   struct toolrack_text **ret, struct toolrack_error *err);
