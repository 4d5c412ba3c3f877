/* health.h - how ended calls change the health of tools, which decides whether a tool is
 * recommended.
 *
 * The record passes ended calls in batches, away from the path of calls. Most batches have no
 * failures, of tools without earlier failures: they cost one read of the store. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct record_options;

/** How a call ended. Strings are borrowed. */
struct health_outcome {
    const char *tool;
    const char *version;
    const char *plugin; /**< the identity of the tool's plugin */
    int code;           /**< 0, or why it failed */
    int64_t ended_ms;   /**< since 1970 */
};

/** Record calls, in the order in which they ended. A failure to store them is logged.
 * [any-thread] */
void health_note_outcomes(const struct record_options *options,
                          const struct health_outcome *outcomes, size_t count);
