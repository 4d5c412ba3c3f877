/* health.h - which tools have failed lately, and which of them are on the blacklist for it.
 *
 * What the numbers mean, and when they change, is health-rules.h's business. Several processes
 * share them: each change begins with what is kept, inside one transaction. No change is a decision
 * of somebody's: it survives the end of the process, and not always a power cut. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* Moments of failures kept of one version of a tool. */
#define STORE_HEALTH_FAILURES 5
/* Most rows kept; beyond, those whose last failure is the oldest go. */
#define STORE_HEALTH_MAX      4096

/** Of one version of a tool; all zero is one of which nothing is kept. Times are milliseconds since
 * 1970. */
struct store_health {
    int64_t failed_ms[STORE_HEALTH_FAILURES]; /**< failures in a row, the oldest first; 0: none */
    int64_t since_ms;                         /**< when it was put on the blacklist; 0: it is not */
    int64_t trial_ms;                         /**< when it is tried again */
    int64_t cool_down_ms;                     /**< how long it was to rest */
    bool tried;                               /**< it was recommended since, for a trial */
};

/** Change what is kept of one version of a tool.
 *
 * @param change  is given what is kept, and says whether it has changed that. It must not call the
 *                store
 * @return as all of the store. [any-thread] */
int store_health_change(struct store *store, const char *tool, const char *version,
                        bool (*change)(void *user, struct store_health *health), void *user,
                        struct toolrack_error *err);

/** Visit all that is kept, by tool and version as texts. [any-thread] */
int store_health_read(struct store *store,
                      void (*visit)(void *user, const char *tool, const char *version,
                                    const struct store_health *health),
                      void *user, struct toolrack_error *err);
