/* decisions.h - the log of permission decisions; calls do not wait for the store.
 *
 * A decision is logged at once and stored a little later: rows are collected in memory, and the
 * host's writer stores them in batches. An unclean end loses the rows of the last
 * DECISIONS_DELAY_MS; a clean end loses none. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/lock.h"
#include "base/log.h"
#include "store/decisions.h"
#include "store/writer.h"
#include "toolrack/toolrack.h"

/* How long a row may wait for other rows of its batch. */
#define DECISIONS_DELAY_MS   1000u
/* A batch of this size is written without delay; at most ROWS_MAX rows wait. Rows beyond that (the
 * disk is too slow) are counted as lost, and the loss is logged. */
#define DECISIONS_BATCH      256u
#define DECISIONS_ROWS_MAX   4096u
/* Rows allocated first; doubled when needed. */
#define DECISIONS_ROWS_FIRST 16u

struct decision_rows {
    struct store_decision *items; /* owned; the strings are in the arena */
    size_t count;
    size_t room;
    size_t lost; /* rows that were not kept */
    struct arena strings;
};

struct decisions {
    const struct log *log; /* borrowed, like the store */
    struct store *store;
    struct store_writer_source source;
    struct lock write_lock; /* held while a batch is written: keeps their order */
    struct lock lock;       /* guards the members below; taken after write_lock */
    struct decision_rows rows;
};

/** `writer` is borrowed until decisions_finish(); it must be stopped before that. */
void decisions_init(struct decisions *decisions, const struct log *log, struct store *store,
                    struct store_writer *writer);
/** Write the waiting rows and release everything. */
void decisions_finish(struct decisions *decisions);

/** Write the waiting rows now. [any-thread] */
void decisions_flush(struct decisions *decisions);

/** As permit_note(). [any-thread] */
void decisions_note(struct decisions *decisions, const struct store_decision *decision);

/** Read the log as JSON, after the waiting rows were written.
 * @return 0 with a reference; a code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int decisions_read(struct decisions *decisions, const struct toolrack_decisions_filter *filter,
                   struct toolrack_text **ret, struct toolrack_error *err);
