/* record.h - what was called, on its way from the path of calls to the store, and back as a report.
 *
 * The thread that ends a call copies what the log wants into a ring (base/ring.h): one of a few, so
 * that threads seldom meet. The store's writer (store/writer.h) empties them: there secrets are
 * hidden, calls are counted, and lines are written in batches. No call waits for any of that: a
 * call that finds all rings full is counted and not logged.
 *
 * Counts that could not be written are kept in memory, and written when that is possible again; the
 * lines are lost, which the log says.
 *
 *   record.c   the rings, and the batches
 *   line.c     one call: from its end into a ring, and from there to a row of the log
 *   subject.c  one version of one tool: what is secret in its calls, and what was counted
 *   mask.c     secrets of arguments and results
 *   health.c   which tools go on the blacklist because they fail
 *   report.c   the log and the statistics as the app reads them */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "call/call.h"
#include "permit/permit.h"
#include "registry/registry.h"
#include "store/writer.h"
#include "toolrack/records.h"

/* Rings, at most; one for each CPU, a power of two of them. */
#define RECORD_RINGS_MAX         8u
/* About 20,000 lines. Memory that no burst has filled yet takes none. */
#define RECORD_RING_SIZE         (4u * 1024 * 1024)
/* What wakes the writer; the rest is for what comes until it runs, and while it writes. */
#define RECORD_RING_FILLING      (RECORD_RING_SIZE / 4)
/* How long lines are gathered; the rest of the window of the log is for writing them. */
#define RECORD_GATHER_MS         (TOOLRACK_LOG_WINDOW_MS / 4)
/* Most lines of one transaction: the store is locked that long. */
#define RECORD_BATCH_MAX         8192u
/* How much of the log is kept where the options do not say. */
#define RECORD_DAYS_DEFAULT      30u
#define RECORD_MEGABYTES_DEFAULT 256u

struct record;

/* All is borrowed until record_destroy(). */
struct record_options {
    const struct log *log;
    struct store *store;
    struct store_writer *writer;
    struct permit *permit; /* hears which tools go on the blacklist */
    struct registry *registry;
    bool keeps_lines; /* false: statistics alone, for the life of the host; its memory is bounded */
    uint32_t days;    /* how long lines are kept; 0: the default */
    uint32_t megabytes; /* of lines; 0: the default */
};

/** NULL when out of memory. [any-thread] */
struct record *record_create(const struct record_options *options);

/** Write what waits. No call ends any more, and the writer was stopped. NULL is ignored.
 * [any-thread] */
void record_stop(struct record *record);

/** Release it; NULL is ignored. The writer was stopped. [any-thread] */
void record_destroy(struct record *record);

/** A call has ended: for call_host.record. It takes no lock, but at the first call of a
 * registration. [any-thread] */
void record_note(struct record *record, const struct call_ending *ending);

/** Write what waits, now; the caller waits for the store.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int record_flush(struct record *record, struct toolrack_error *err);

/* As the functions of records.h that are called so. [any-thread] */
int record_log(struct record *record, const struct toolrack_log_filter *filter,
               struct toolrack_text **ret, struct toolrack_error *err);
int record_statistics(struct record *record, const char *name, struct toolrack_text **ret,
                      struct toolrack_error *err);
