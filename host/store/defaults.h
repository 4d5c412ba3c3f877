/* defaults.h - which version of a tool an administrator made the default of its name. */
#pragma once

#include "store/store.h"

struct store_default {
    const char *tool;
    const char *version; /**< to set: NULL is none any more */
};

/** Keep one, in place of that of the same tool; or keep none.
 * @return as all of the store. [any-thread] */
int store_default_set(struct store *store, const struct store_default *chosen,
                      struct toolrack_error *err);

/** Visit all, by tool. [any-thread] */
int store_defaults_read(struct store *store,
                        void (*visit)(void *user, const struct store_default *chosen), void *user,
                        struct toolrack_error *err);
