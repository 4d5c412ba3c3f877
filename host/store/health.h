/* health.h - the latest failures of tools, by the identity of their plugin, and which tools are on
 * the blacklist because of them.
 *
 * health-rules.h defines what the numbers mean and when they change. Several processes share them:
 * each change reads the stored numbers and writes them in one transaction. A change is not a
 * person's decision: it survives the end of the process, but may be lost by a power cut. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* Failures kept of one version of a tool. */
#define STORE_HEALTH_FAILURES 5
/* Most rows kept; beyond, the rows with the oldest last failure and retry_ms are removed. */
#define STORE_HEALTH_MAX      4096

/** One version of a tool of one plugin; all zero when nothing is stored. Times are milliseconds
 * since 1970. */
struct store_health {
    int64_t failed_ms[STORE_HEALTH_FAILURES]; /**< failures in a row, the oldest first; 0: none */
    int64_t since_ms;                         /**< when it was put on the blacklist; 0: not on it */
    int64_t retry_ms;                         /**< when its next retry may begin */
    int64_t cool_down_ms;                     /**< length of its current rest */
    bool tried;                               /**< it was recommended for a retry since */
};

/** Change the stored numbers of one version of a tool.
 *
 * @param plugin  the identity of the tool's plugin (identities.h)
 * @param change  gets the stored numbers and returns whether it changed them. It must not call the
 *                store
 * @return see store.h. [any-thread] */
int store_health_change(struct store *store, const char *tool, const char *version,
                        const char *plugin, bool (*change)(void *user, struct store_health *health),
                        void *user, struct toolrack_error *err);

/** What is stored of one version of a tool; all zero for nothing. [any-thread] */
int store_health_find(struct store *store, const char *tool, const char *version,
                      const char *plugin, struct store_health *ret, struct toolrack_error *err);

/** Visit all, ordered by tool, version and plugin as strings. `plugin` is "" in a row of schema 3:
 * whoever provides the name. [any-thread] */
int store_health_read(struct store *store,
                      void (*visit)(void *user, const char *tool, const char *version,
                                    const char *plugin, const struct store_health *health),
                      void *user, struct toolrack_error *err);
