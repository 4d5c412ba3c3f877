#include "choose/recommend.h"

#include <math.h>
#include <stdlib.h>

static const struct {
    const char *name;
    double weight;
    double unknown;
} factors[RECOMMEND_FACTOR_COUNT] = {
#define FACTOR(constant, name, weight, unknown) [RECOMMEND_##constant] = {name, weight, unknown},
        RECOMMEND_FACTORS(FACTOR)
#undef FACTOR
};

static double raw_weight(size_t factor, bool has_task) {
    return factor == RECOMMEND_TASK && !has_task ? 0 : factors[factor].weight;
}

double recommend_weight(enum recommend_factor factor, bool has_task) {
    double sum = 0;
    for (size_t i = 0; i < RECOMMEND_FACTOR_COUNT; i++) {
        sum += raw_weight(i, has_task);
    }
    return raw_weight(factor, has_task) / sum;
}

const char *recommend_factor_name(enum recommend_factor factor) {
    return factors[factor].name;
}

/* ----------------------------------------------------------------- factors */

double recommend_wilson(uint64_t good, uint64_t all) {
    if (all == 0) {
        return 0;
    }
    double n = (double)all;
    double rate = (double)(good < all ? good : all) / n;
    double z2 = RECOMMEND_WILSON_Z * RECOMMEND_WILSON_Z;
    double middle = rate + z2 / (2 * n);
    double half = RECOMMEND_WILSON_Z * sqrt(rate * (1 - rate) / n + z2 / (4 * n * n));
    double bound = (middle - half) / (1 + z2 / n);
    return bound > 0 ? bound : 0;
}

/* 1 for a fast call, 0 for a slow one. */
static double quickness(uint64_t ns) {
    if (ns <= RECOMMEND_FAST_NS) {
        return 1;
    }
    if (ns >= RECOMMEND_SLOW_NS) {
        return 0;
    }
    return 1 - log((double)ns / (double)RECOMMEND_FAST_NS) /
                       log((double)RECOMMEND_SLOW_NS / (double)RECOMMEND_FAST_NS);
}

static double freshness(int64_t last_ms, int64_t now_ms) {
    return now_ms <= last_ms ? 1
                             : exp2(-(double)(now_ms - last_ms) / (double)RECOMMEND_HALF_LIFE_MS);
}

static void set_values(const struct recommend_tool *tool, const struct recommend_options *options,
                       double values[RECOMMEND_FACTOR_COUNT]) {
    for (size_t i = 0; i < RECOMMEND_FACTOR_COUNT; i++) {
        values[i] = factors[i].unknown;
    }
    uint64_t results = tool->calls > tool->failures ? tool->calls - tool->failures : 0;
    if (tool->calls > 0) {
        double rate = (double)results / (double)tool->calls;
        double speed = tool->median_ns > 0 ? quickness(tool->median_ns)
                                           : factors[RECOMMEND_EFFICIENCY].unknown;
        values[RECOMMEND_SUCCESS] = recommend_wilson(results, tool->calls);
        values[RECOMMEND_EFFICIENCY] = rate * speed;
        values[RECOMMEND_RECENCY] = rate * freshness(tool->last_ms, options->now_ms);
    }
    if (tool->good + tool->bad > 0) {
        values[RECOMMEND_FEEDBACK] = recommend_wilson(tool->good, tool->good + tool->bad);
    }
    if (options->has_task) {
        values[RECOMMEND_TASK] = tool->task;
    }
}

static double mean(const double values[RECOMMEND_FACTOR_COUNT], bool has_task) {
    double sum = 0;
    for (size_t i = 0; i < RECOMMEND_FACTOR_COUNT; i++) {
        sum += recommend_weight((enum recommend_factor)i, has_task) * values[i];
    }
    return sum;
}

/* -------------------------------------------------------------------- rank */

static int compare_rows(const void *left, const void *right) {
    const struct recommend_row *a = left;
    const struct recommend_row *b = right;
    if (a->first != b->first) {
        return a->first ? -1 : 1;
    }
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return a->index < b->index ? -1 : a->index > b->index;
}

void recommend_rank(const struct recommend_tool *tools, size_t count,
                    const struct recommend_options *options, struct recommend_row *ret_rows,
                    size_t *ret_count) {
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        const struct recommend_tool *tool = &tools[i];
        if (options->has_task && !tool->first && !(tool->task > 0)) {
            continue;
        }
        struct recommend_row *row = &ret_rows[taken++];
        row->index = i;
        row->first = tool->first;
        set_values(tool, options, row->values);
        row->score = mean(row->values, options->has_task);
    }
    if (taken > 1) {
        qsort(ret_rows, taken, sizeof ret_rows[0], compare_rows);
    }
    *ret_count = taken < options->limit ? taken : options->limit;
}
