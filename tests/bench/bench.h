/* bench.h - rounds, medians and one form of output for the benchmarks.
 *
 * Rows that are compared run in turns, so that a slow moment of the machine hits all of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

#define BENCH_ROUNDS 15

struct bench_row {
    const char *name;
    void (*run)(long times); /* the measured thing, `times` times */
    long times;              /* in one round */
    double ns[BENCH_ROUNDS]; /* of one time, by round; sorted at the end */
};

/* Keep a value, and all of memory, from being optimised away. */
#define BENCH_KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")

static inline int bench_compare(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double bench_median(const struct bench_row *row) {
    return row->ns[BENCH_ROUNDS / 2];
}

/* Exit status where no row has the number BENCH_ROW. */
#define BENCH_NO_ROW 3

static inline void bench_end_without_row(void) {
    _Exit(BENCH_NO_ROW);
}

/* For `./dev bench --compare COMMIT --instructions`: of all rows of a program the one of the number
 * BENCH_ROW runs alone, BENCH_TIMES times, and the program ends. Returns whether that is wanted. */
static inline bool bench_run_alone(const struct bench_row *rows, size_t count) {
    static size_t before;
    const char *row = getenv("BENCH_ROW");
    const char *times = getenv("BENCH_TIMES");
    if (row == NULL || times == NULL) {
        return false;
    }
    size_t at = strtoul(row, NULL, 10);
    if (at >= before && at - before < count) {
        rows[at - before].run(strtol(times, NULL, 10));
        _Exit(0);
    }
    before += count;
    (void)atexit(bench_end_without_row);
    return true;
}

static inline void bench_run(struct bench_row *rows, size_t count) {
    if (bench_run_alone(rows, count)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].run(rows[i].times / 4 + 1); /* warm */
    }
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        for (size_t i = 0; i < count; i++) {
            uint64_t start = clock_now_ns();
            rows[i].run(rows[i].times);
            rows[i].ns[round] = (double)(clock_now_ns() - start) / (double)rows[i].times;
        }
    }
    for (size_t i = 0; i < count; i++) {
        qsort(rows[i].ns, BENCH_ROUNDS, sizeof rows[i].ns[0], bench_compare);
    }
}

/* One row; `floor` is what it is compared with, or NULL. */
static inline void bench_print(const struct bench_row *row, const struct bench_row *floor,
                               const char *goal) {
    printf("%-44s %10.1f ns  [%.1f .. %.1f]", row->name, bench_median(row), row->ns[0],
           row->ns[BENCH_ROUNDS - 1]);
    if (floor != NULL) {
        /* The ratio of each round to its neighbour is steadier than that of the medians, but the
         * rows are sorted by now; quartiles tell the spread. */
        printf("  %.2f x %s", bench_median(row) / bench_median(floor), floor->name);
    }
    printf("%s%s\n", goal != NULL ? "  goal " : "", goal != NULL ? goal : "");
}
