/* quarantine.h - plugins that are kept from running until someone releases them. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/** A plugin in quarantine. */
struct store_quarantine {
    const char *plugin;
    unsigned char sha256[STORE_SHA256_SIZE]; /**< of its file; all zero: unknown */
    const char *reason;
    int64_t since_s;
    uint32_t crash_count;
};

/** Keep a plugin in quarantine; what was kept of the same plugin is replaced.
 * @return as all of the store. [any-thread] */
int store_quarantine_set(struct store *store, const struct store_quarantine *quarantine,
                         struct toolrack_error *err);

/** Release a plugin.
 * @return as all of the store; TOOLRACK_E_NOT_FOUND when it is not in quarantine. [any-thread] */
int store_quarantine_remove(struct store *store, const char *plugin, struct toolrack_error *err);

/** Visit all, by plugin. [any-thread] */
int store_quarantine_read(struct store *store,
                          void (*visit)(void *user, const struct store_quarantine *quarantine),
                          void *user, struct toolrack_error *err);
