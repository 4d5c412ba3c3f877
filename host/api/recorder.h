/* recorder.h - what was called, on its way from the path of calls to the store.
 *
 * The thread that ends a call copies what the log wants into a ring (base/ring.h): one
 * of a few, so that threads seldom meet. One thread of the host empties them, hides
 * secrets, counts, and writes in batches; it begins with the first call and sleeps
 * while there is none. Nobody ever waits for it: what finds all rings full is counted
 * and not logged.
 *
 * Counts that could not be written are kept in memory, and written when that is possible again; the
 * lines are lost, which the log says. Without a state folder the store is in memory: it has the
 * statistics as long as the host lives, and no lines. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/ring.h"
#include "call/call.h"
#include "store/calls.h"
#include "toolrack/records.h"

/* Rings, at most; one for each CPU, a power of two of them. */
#define RECORDER_RINGS_MAX         8u
/* About 20,000 lines. Memory that no burst has filled yet takes none. */
#define RECORDER_RING_SIZE         (4u * 1024 * 1024)
/* What wakes the recorder; the rest is for what comes until it runs, and while it writes. */
#define RECORDER_RING_FILLING      (RECORDER_RING_SIZE / 4)
/* Longest caller, channel, conversation and trace in the log; cut at a character. */
#define RECORDER_TEXT_MAX          256u
/* Longest arguments, or result, that hold secrets and are logged: above that all of it is masked.
 */
#define RECORDER_SECRETIVE_MAX     (64u * 1024)
/* How long lines are gathered; the rest of the window of the log is for writing them. */
#define RECORDER_GATHER_MS         (TOOLRACK_LOG_WINDOW_MS / 4)
/* Most lines of one transaction: the store is locked that long. */
#define RECORDER_BATCH_MAX         8192u
/* How much of the log is kept where the configuration does not say. */
#define RECORDER_DAYS_DEFAULT      30u
#define RECORDER_MEGABYTES_DEFAULT 256u

/* What the calls of a tool were, since they were last written. Written by the recorder, and by who
 * finds all rings full. */
struct tally {
    atomic_uint_fast64_t calls;
    atomic_uint_fast64_t failures;
    atomic_uint_fast64_t unlogged;
    atomic_uint_fast64_t total_ns;
    atomic_uint_fast64_t max_ns;
    atomic_uint_fast64_t cpu_calls;
    atomic_uint_fast64_t cpu_ns;
    atomic_uint_fast64_t memory_calls;
    atomic_uint_fast64_t memory;
    atomic_uint_fast64_t bytes_in;
    atomic_uint_fast64_t bytes_out;
    atomic_uint_fast64_t first_ns; /* of the monotonic clock; UINT64_MAX: none */
    atomic_uint_fast64_t last_ns;
    atomic_uint_fast64_t times[STORE_USAGE_BUCKETS];
};

/* One version of one tool of one plugin, as long as the host. What each call reads comes first, and
 * the tally, which the recorder changes all the time, a line of the caches behind it. */
struct subject {
    yyjson_doc *schema;        /* of arguments, where it has secrets; else NULL */
    yyjson_doc *result_schema; /* the same */
    struct subject *next;
    char *tool; /* the block of all three texts */
    const char *version;
    const char *plugin;
    char *last_error; /* guarded by recorder.write_lock; NULL: none to write */
    int64_t last_error_ms;
    struct tally tally;
};

enum recorder_sleep {
    RECORDER_AWAKE,
    RECORDER_IDLE,     /* until something is put into a ring */
    RECORDER_GATHERING /* until a ring is filling, or it is time */
};

struct recorder {
    struct ring rings[RECORDER_RINGS_MAX];
    atomic_uint ring_count; /* 0: not begun */
    atomic_int sleep;       /* enum recorder_sleep */

    pthread_mutex_t write_lock; /* held by who reads the rings and writes to the store */
    uint64_t unwritten;         /* lines that the store did not take; guarded by it */

    pthread_mutex_t lock; /* guards what follows; the order is write_lock, then lock */
    pthread_cond_t wake;
    struct subject *subjects;
    bool started; /* the thread exists */
    bool closing;
    pthread_t thread;
};

void recorder_init(struct recorder *recorder);
/** Write what waits, and end the thread. No call ends any more. */
void recorder_stop(struct toolrack *host);
void recorder_finish(struct recorder *recorder);

/** A call has ended: call_host.record. [any-thread] */
void recorder_note(void *user, const struct call_ending *ending);

/** Write what waits now.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int recorder_flush(struct toolrack *host, struct toolrack_error *err);

/** Visit what was counted and is not in the store. [any-thread] */
void recorder_read(struct toolrack *host,
                   void (*visit)(void *user, const struct store_usage *usage), void *user);
