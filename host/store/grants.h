/* grants.h - dangerous tools that an administrator lets run. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/** One grant, by "name" or "name@version". */
struct store_grant {
    const char *selector;
    int64_t expires_s; /**< 0: never */
    const char *who;
    int64_t granted_s;
};

/** Keep a grant, in place of one with the same selector. One by name alone takes the place of those
 * of single versions: what was decided last holds. Removes those that had expired at granted_s.
 * @return as all of the store. [any-thread] */
int store_grant(struct store *store, const struct store_grant *grant, struct toolrack_error *err);

/** Remove a grant; by name alone also those of single versions of it.
 * @return as all of the store; TOOLRACK_E_NOT_FOUND when there is none, or it has expired.
 * [any-thread] */
int store_revoke(struct store *store, const char *selector, int64_t now_s,
                 struct toolrack_error *err);

/** Visit the grants that have not expired, by selector. [any-thread] */
int store_read_grants(struct store *store, int64_t now_s,
                      void (*visit)(void *user, const struct store_grant *grant), void *user,
                      struct toolrack_error *err);
