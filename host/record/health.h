/* health.h - the ends of calls, as far as they decide whether a tool is recommended.
 *
 * The record hands them over in batches, away from the path of calls. Most batches have no failure
 * and are about tools that had none: they cost one look into the store. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct record_options;

/** How a call ended. Strings are borrowed. */
struct health_outcome {
    const char *tool;
    const char *version;
    int code;         /**< 0, or why it failed */
    int64_t ended_ms; /**< since 1970 */
};

/** Take note of calls, in the order in which they ended. What cannot be kept is an error in the
 * log. [any-thread] */
void health_note_outcomes(const struct record_options *options,
                          const struct health_outcome *outcomes, size_t count);
