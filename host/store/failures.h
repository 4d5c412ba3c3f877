/* failures.h - plugin files whose content could not be loaded. */
#pragma once

#include "store/store.h"

/** A content that could not be loaded. */
struct store_failure {
    const char *path; /**< of the file, as in generations.h; of a function of a library its
                           identity; one failure of each */
    unsigned char sha256[STORE_SHA256_SIZE];
    unsigned char conditions[STORE_SHA256_SIZE]; /**< a hash of what else a load depends on */
    const char *reason;
    int64_t since_s;
};

/** Store a failure; it replaces the one of the same path.
 * @return see store.h. [any-thread] */
int store_failure_set(struct store *store, const struct store_failure *failure,
                      struct toolrack_error *err);

/** Remove the failure of a content (NULL: of any content) at a path.
 * @return see store.h; TOOLRACK_E_NOT_FOUND. [any-thread] */
int store_failure_remove(struct store *store, const char *path,
                         const unsigned char sha256[STORE_SHA256_SIZE], struct toolrack_error *err);

/** Visit all, ordered by path. [any-thread] */
int store_failures_read(struct store *store,
                        void (*visit)(void *user, const struct store_failure *failure), void *user,
                        struct toolrack_error *err);
