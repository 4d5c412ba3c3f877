/* record.h - the record of calls: from the path of calls to the store, and back as a report.
 *
 * The thread that ends a call copies the logged data into a ring (base/ring.h). Each CPU has its
 * own, so that two threads seldom use the same one. The store's writer (store/writer.h) empties the
 * rings: it masks secrets, counts calls and writes lines in batches. No call waits for this: a call
 * that finds all rings full is counted but not logged.
 *
 * Statistics that could not be written are kept in memory and written later; the lines are lost,
 * and the host logs that.
 *
 *   record.c   the rings and the batches
 *   line.c     one call: into a ring, and from there into a row of the log
 *   subject.c  one version of one tool: its secrets and its statistics
 *   mask.c     secrets of arguments and results
 *   meter.c    what was counted of each tool since the host was opened
 *   health.c   which tools go on the blacklist because they fail
 *   report.c   the log and the statistics as JSON for the app */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/log.h"
#include "call/call.h"
#include "permit/permit.h"
#include "registry/registry.h"
#include "store/writer.h"
#include "toolrack/records.h"

/* Most rings; there is one for each CPU, rounded up to a power of two: the two threads that write a
 * ring at once write the same lines of the cache. */
#define RECORD_RINGS_MAX         64u
/* About 2,500 lines. Pages that were never written take no memory: so each ring that a CPU has used
 * takes at most this in a burst, and a quarter of it after that. */
#define RECORD_RING_SIZE         (512u * 1024)
/* So many bytes wake the writer; the rest is for calls that end until it has emptied the ring. */
#define RECORD_RING_FILLING      (RECORD_RING_SIZE / 4)
/* How long lines are gathered; the rest of TOOLRACK_LOG_WINDOW_MS is for writing them. */
#define RECORD_GATHER_MS         (TOOLRACK_LOG_WINDOW_MS / 4)
/* Most lines of one transaction, during which the store is locked. */
#define RECORD_BATCH_MAX         2048u
/* Lines in a second, by default, and so many at once. More would cost the calls more than it tells
 * people, and push older lines out of the log. */
#define RECORD_PER_SECOND        1000u
#define RECORD_AT_ONCE           16384u
/* So many of them are taken together by a CPU. */
#define RECORD_LINES_TAKEN       64u
/* How much of the log is kept by default. */
#define RECORD_DAYS_DEFAULT      30u
#define RECORD_MEGABYTES_DEFAULT 256u

struct record;

/* All pointers are borrowed until record_destroy(). */
struct record_options {
    const struct log *log;
    struct store *store;
    struct store_writer *writer;
    struct permit *permit; /* logs which tools are put on the blacklist */
    struct registry *registry;
    bool keeps_lines;    /* false: statistics only, in bounded memory, until the host is closed */
    uint32_t days;       /* how long lines are kept; 0: the default */
    uint32_t megabytes;  /* of lines; 0: the default */
    uint32_t per_second; /* most lines of calls that succeed; 0: the default */
};

/** NULL when out of memory. [any-thread] */
struct record *record_create(const struct record_options *options);

/** Write everything that waits. No call may end after this; the writer must be stopped. NULL is
 * ignored. [any-thread] */
void record_stop(struct record *record);

/** Release it; NULL is ignored. The writer must be stopped. [any-thread] */
void record_destroy(struct record *record);

/** Record a call that has ended; used as call_host.record. It takes a lock only at the first call
 * of a registration. [any-thread] */
void record_note(struct record *record, const struct call_ending *ending);

/** Write everything that waits now; the caller waits for the store.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int record_flush(struct record *record, struct toolrack_error *err);

/** Add what was counted since the record was created: `tools`, `bounds_ns`, `unlogged`, as
 * toolrack_metrics() has them. Waits for nothing. [any-thread] */
void record_describe(struct record *record, yyjson_mut_doc *doc, yyjson_mut_val *root);

/* The same as the functions of records.h with these names. [any-thread] */
int record_log(struct record *record, const struct toolrack_log_filter *filter,
               struct toolrack_text **ret, struct toolrack_error *err);
int record_statistics(struct record *record, const char *name, struct toolrack_text **ret,
                      struct toolrack_error *err);
