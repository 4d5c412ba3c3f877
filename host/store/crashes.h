/* crashes.h - crashes of plugins. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* Most bundles kept of one plugin, and of all; beyond, the oldest are removed. */
#define STORE_CRASHES_PER_PLUGIN_MAX 8
#define STORE_CRASHES_MAX            1024
/* Largest bundle. */
#define STORE_CRASH_SIZE_MAX         (256u * 1024u)

/** One crash. */
struct store_crash {
    int64_t id;         /**< grows; never used twice */
    const char *plugin; /**< its identity (identities.h) */
    int64_t time_s;
    const char *bundle; /**< JSON; at most STORE_CRASH_SIZE_MAX */
};

/** Store a crash under a new id; crash->id is ignored.
 *
 * @param ret_id  may be NULL
 * @return see store.h. [any-thread] */
int store_crash_add(struct store *store, const struct store_crash *crash, int64_t *ret_id,
                    struct toolrack_error *err);

/** Visit the crashes of a plugin (NULL: of all), the newest first. [any-thread] */
int store_crashes_read(struct store *store, const char *plugin,
                       void (*visit)(void *user, const struct store_crash *crash), void *user,
                       struct toolrack_error *err);
