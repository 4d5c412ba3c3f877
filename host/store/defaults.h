/* defaults.h - the version of a tool that an administrator chose as the default of its name. */
#pragma once

#include "store/store.h"

struct store_default {
    const char *tool;
    const char *version;  /**< when set: NULL removes the default */
    const char *identity; /**< of the plugin that has the name, of several origins (identities.h);
                             NULL: not chosen; when set, an earlier choice stays */
    const struct store_shared_order *order; /**< when set; NULL: a person's decision */
};

/** Set the default of a tool, or remove it.
 * @return see store.h. [any-thread] */
int store_default_set(struct store *store, const struct store_default *chosen,
                      struct toolrack_error *err);

/** Visit all, ordered by tool. [any-thread] */
int store_defaults_read(struct store *store,
                        void (*visit)(void *user, const struct store_default *chosen), void *user,
                        struct toolrack_error *err);

/** Visit those with an identity, ordered by tool. [any-thread] */
int store_choices_read(struct store *store,
                       void (*visit)(void *user, const struct store_default *chosen), void *user,
                       struct toolrack_error *err);
