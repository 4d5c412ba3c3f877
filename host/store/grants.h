/* grants.h - grants of an administrator for dangerous tools. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/** One grant, by "name" or "name@version". */
struct store_grant {
    const char *selector;
    int64_t expires_s; /**< 0: never */
    const char *who;
    int64_t granted_s;
    const struct store_shared_order *order; /**< when stored; NULL: a person's decision */
};

/** Visit the grants that have not expired, ordered by selector. [any-thread] */
int store_read_grants(struct store *store, int64_t now_s,
                      void (*visit)(void *user, const struct store_grant *grant), void *user,
                      struct toolrack_error *err);
