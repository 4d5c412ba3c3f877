/* counts.h - what the transports of one serving process count of their requests, for who shows it.
 *
 * A request counts when its answer is ready to be sent: who has the answer finds it counted. The
 * numbers only grow. There is one for each front and status, however many requests there are. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* What a request was for. */
enum counts_front {
    COUNTS_OTHER, /* a path that nobody has, or a front that does not say what it is */
    COUNTS_MCP,
    COUNTS_REST,
    COUNTS_PAGE,
    COUNTS_FRONTS
};

#define COUNTS_STATUS_FIRST 100u
#define COUNTS_STATUS_COUNT 500u

struct serve_counts {
    atomic_uint_fast64_t answers[COUNTS_FRONTS][COUNTS_STATUS_COUNT];
    atomic_uint_fast64_t unanswered[COUNTS_FRONTS]; /* the connection ended before */
    atomic_uint_fast64_t lost;                      /* lines of the access log */
};

/** As metrics and the access log name it. */
static inline const char *counts_front_name(enum counts_front front) {
    switch (front) {
    case COUNTS_MCP: return "mcp";
    case COUNTS_REST: return "rest";
    case COUNTS_PAGE: return "page";
    case COUNTS_OTHER:
    case COUNTS_FRONTS: break;
    }
    return "other";
}

/** `counts` may be NULL. [any-thread] */
static inline void counts_add_answer(struct serve_counts *counts, enum counts_front front,
                                     unsigned status) {
    unsigned index = status - COUNTS_STATUS_FIRST;
    if (counts != NULL && index < COUNTS_STATUS_COUNT) {
        (void)atomic_fetch_add_explicit(&counts->answers[front][index], 1, memory_order_relaxed);
    }
}

static inline void counts_add_unanswered(struct serve_counts *counts, enum counts_front front) {
    if (counts != NULL) {
        (void)atomic_fetch_add_explicit(&counts->unanswered[front], 1, memory_order_relaxed);
    }
}

static inline void counts_add_lost(struct serve_counts *counts) {
    if (counts != NULL) {
        (void)atomic_fetch_add_explicit(&counts->lost, 1, memory_order_relaxed);
    }
}
