/* quarantine.h - plugins that may not run until they are released. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/** A plugin in quarantine. */
struct store_quarantine {
    const char *plugin;                      /**< its identity (identities.h) */
    unsigned char sha256[STORE_SHA256_SIZE]; /**< of its file; all zero: unknown */
    const char *reason;
    int64_t since_s;
    uint32_t crash_count;
};

/** Put a content of a plugin into quarantine; this replaces the previous row of that content.
 * @return see store.h. [any-thread] */
int store_quarantine_set(struct store *store, const struct store_quarantine *quarantine,
                         struct toolrack_error *err);

/** Release a plugin: one content of it, or (`sha256` NULL) all. A row of an unknown content is
 * removed in any case.
 * @return see store.h; TOOLRACK_E_NOT_FOUND when it is not in quarantine. [any-thread] */
int store_quarantine_remove(struct store *store, const char *plugin,
                            const unsigned char sha256[STORE_SHA256_SIZE],
                            struct toolrack_error *err);

/** Visit all, ordered by plugin. [any-thread] */
int store_quarantine_read(struct store *store,
                          void (*visit)(void *user, const struct store_quarantine *quarantine),
                          void *user, struct toolrack_error *err);
