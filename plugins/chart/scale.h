/* scale.h - from values to places on an axis: round ticks for numbers and for times, and their
 * labels. Pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define TICKS_MAX       64u
#define TICK_LABEL_SIZE 32u

/* Beyond this an axis has no round ticks that a double could tell apart. */
#define SCALE_VALUE_MAX  1e300
#define SCALE_LENGTH_MIN 1e-290

struct tick {
    double value;
    char label[TICK_LABEL_SIZE];
};

/** An axis from `low` to `high`, which are ticks of it where `round` was said. */
struct scale {
    double low;
    double high;
    struct tick ticks[TICKS_MAX];
    size_t count;
};

/** A scale for values from low to high, with about `wanted` ticks at round numbers (1, 2 or 5 times
 * a power of ten). @param round  widen it to ticks. Equal or too close bounds are widened.
 * [any-thread] */
void scale_numbers(double low, double high, size_t wanted, bool round, struct scale *ret);

/** The same for seconds since 1970 in UTC: ticks at whole seconds, minutes, hours, days, months or
 * years. It is not widened, but where low and high are the same. [any-thread] */
void scale_times(double low, double high, size_t wanted, struct scale *ret);

/** A number as a label with `decimals` decimals: 1,234.5; from a million on 1.2M, 3B, then 1e+15.
 * [any-thread] */
void scale_number_label(double value, double step, char ret[static TICK_LABEL_SIZE]);

/** Read YYYY-MM, YYYY-MM-DD, or that with T or a space and HH:MM or HH:MM:SS, perhaps with a
 * fraction and Z or an offset, as seconds since 1970 in UTC; a time without an offset is taken as
 * UTC. False: it is none. [any-thread] */
bool scale_read_time(const char *text, double *ret);

/** Where a value is on an axis, from 0 to 1. [any-thread] */
static inline double scale_at(const struct scale *scale, double value) {
    return (value - scale->low) / (scale->high - scale->low);
}
