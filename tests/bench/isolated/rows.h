/* rows.h - what the files of bench-worker share. */
#pragma once

#include <errno.h>
#include <string.h>

#include "bench.h"
#include "isolated/mailbox.h"

/** Whole calls through the embedding API, and what a host costs that nobody calls. Of the calls
 * those whose name has this part. */
void call_rows(const char *part);
/** Start, crash and replacement of a worker; all of them, whatever the part. */
void life_rows(const char *part);

static inline _Noreturn void fail(const char *what, const char *why) {
    (void)fprintf(stderr, "bench-worker: %s: %s\n", what, why);
    exit(1);
}

/* The same for what errno tells. */
static inline _Noreturn void die(const char *what) {
    fail(what, strerror(errno));
}

/* A row and its floor, when all rounds are over. */
static inline void print_pair(struct bench_row *floor, struct bench_row *row, const char *goal) {
    qsort(floor->ns, BENCH_ROUNDS, sizeof floor->ns[0], bench_compare);
    qsort(row->ns, BENCH_ROUNDS, sizeof row->ns[0], bench_compare);
    bench_print(floor, NULL, NULL);
    bench_print(row, floor, goal);
}
