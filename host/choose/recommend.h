/* recommend.h - rank tools by their records.
 *
 * The score of a tool is the mean of its factors, each from 0 to 1, by their weights:
 *
 *   success     lower bound of the 95 % Wilson interval of results among calls: ten of ten count
 *               more than one of one
 *   efficiency  results among calls, times 1 at RECOMMEND_FAST_NS and below, 0 at RECOMMEND_SLOW_NS
 *               and above, linear in the logarithm of the median time in between
 *   feedback    lower bound of the 95 % Wilson interval of good among all opinions
 *   recency     results among calls, times one half for each RECOMMEND_HALF_LIFE_MS since the last
 *               call
 *   task        how well the tool fits, given by the caller; with a task, this counts as much as
 *               all else, and tools that do not fit at all are left out
 *
 * A fast or recent failure is worth nothing: so efficiency and recency are multiplied by the
 * fraction of calls that gave a result. A factor without data has a default value, such that one
 * good call scores better than none, and one bad call worse.
 *
 * Pure functions: the same records, time and task give the same answer. Tools with equal scores
 * keep their order. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** X(constant, name, weight, value of a tool without data) */
#define RECOMMEND_FACTORS(X)               \
    X(SUCCESS, "success", 0.40, 0.2)       \
    X(EFFICIENCY, "efficiency", 0.15, 0.5) \
    X(FEEDBACK, "feedback", 0.25, 0.2)     \
    X(RECENCY, "recency", 0.20, 0.5)       \
    X(TASK, "task", 1.00, 0)

enum recommend_factor {
#define RECOMMEND_CONSTANT(constant, name, weight, unknown) RECOMMEND_##constant,
    RECOMMEND_FACTORS(RECOMMEND_CONSTANT)
#undef RECOMMEND_CONSTANT
            RECOMMEND_FACTOR_COUNT
};

/* Times that count as fastest, and as slowest. */
#define RECOMMEND_FAST_NS UINT64_C(1000000)
#define RECOMMEND_SLOW_NS UINT64_C(30000000000)

#define RECOMMEND_HALF_LIFE_MS (INT64_C(14) * 24 * 60 * 60 * 1000)

/* 95 % of a normal distribution are within so many standard deviations. */
#define RECOMMEND_WILSON_Z 1.959963984540054

/** The records of one tool. */
struct recommend_tool {
    bool first; /**< on the whitelist: before all others */
    uint64_t calls;
    uint64_t failures;
    uint64_t median_ns; /**< of a call; 0: unknown */
    int64_t last_ms;    /**< when the last call began, since 1970 */
    uint64_t good;      /**< opinions */
    uint64_t bad;
    double task; /**< how well it fits, 0 to 1; used only with a task */
};

struct recommend_options {
    int64_t now_ms;
    bool has_task;
    size_t limit; /**< at most so many */
};

/** One tool that is recommended. */
struct recommend_row {
    size_t index; /**< among the tools given */
    bool first;
    double score; /**< 0 to 1 */
    double values[RECOMMEND_FACTOR_COUNT];
};

/** The weight of a factor; all weights sum to 1. Without a task, the weight of the task is 0. */
double recommend_weight(enum recommend_factor factor, bool has_task);
const char *recommend_factor_name(enum recommend_factor factor);

/** The lower bound of the 95 % Wilson interval of `good` among `all`; 0 when `all` is 0. */
double recommend_wilson(uint64_t good, uint64_t all);

/** Sort the tools, the best first.
 * @param ret_rows   room for `count` rows
 * @param ret_count  how many of them are recommended. [any-thread] */
void recommend_rank(const struct recommend_tool *tools, size_t count,
                    const struct recommend_options *options, struct recommend_row *ret_rows,
                    size_t *ret_count);
