/* feedback.h - feedback of people about tools. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* Most opinions kept of one version of a tool of one plugin; beyond, the oldest are removed: old
 * opinions say little about the tool of today. */
#define STORE_FEEDBACK_PER_TOOL_MAX 1000

/** One opinion. */
struct store_feedback {
    const char *tool;
    const char *version;
    const char *plugin; /**< the identity of the tool's plugin (identities.h) */
    bool good;
    uint64_t call; /**< id of the logged call that the opinion is about; 0: none */
    const char *who;
    int64_t time_ms; /**< since 1970 */
};

/** Store an opinion.
 * @return see store.h. [any-thread] */
int store_feedback_add(struct store *store, const struct store_feedback *feedback,
                       struct toolrack_error *err);

/** How many opinions of each kind there are of one version of a tool of one plugin. */
struct store_opinions {
    const char *tool;
    const char *version;
    const char *plugin; /**< its identity; "": whoever provides the name, see identities.h */
    uint64_t good;
    uint64_t bad;
};

/** Visit the counts, ordered by tool, version and plugin as strings. [any-thread] */
int store_feedback_count(struct store *store,
                         void (*visit)(void *user, const struct store_opinions *opinions),
                         void *user, struct toolrack_error *err);
