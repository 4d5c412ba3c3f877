/* marks.h - tools that people put on the blacklist (never recommended) or the whitelist
 * (recommended first). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* The numbers are stored in files. */
enum store_list { STORE_BLACKLIST, STORE_WHITELIST };

/** One tool on one list, by "name" or "name@version". The blacklist is for the name, whoever
 * provides it; the whitelist is for the plugin that provided it. */
struct store_mark {
    const char *selector;
    const char *plugin; /**< its identity (identities.h); "": whoever provides the name. Set when
                             read; ignored when a tool is put on a list */
    enum store_list list;
    int64_t since_ms;
    const char *who;
    const char *why; /**< or NULL */
    const struct store_shared_order *order; /**< when stored; NULL: a person's decision */
};

/** Put a tool on a list and take it off the other list. The blacklist takes it off the whitelist
 * for all plugins. A mark by name alone replaces the marks of
 * single versions: the last decision holds. Putting a tool on the whitelist clears its failures. A
 * mark that exists already is not changed.
 * @param plugins  for the whitelist, the identities that provide the tool; else none
 * @return see store.h. [any-thread] */
int store_mark(struct store *store, const struct store_mark *mark, const char *const *plugins,
               size_t plugin_count, struct toolrack_error *err);

/** Take a tool off a list; a name alone also removes the marks of its single versions. Taking it
 * off the blacklist clears its failures.
 * @param order  NULL: a person's decision
 * @return see store.h; TOOLRACK_E_NOT_FOUND when it is not on the list; the message says so when
 *         the list has all its versions instead. [any-thread] */
int store_unmark(struct store *store, enum store_list list, const char *selector,
                 const struct store_shared_order *order, struct toolrack_error *err);

/** Visit the marks, ordered by selector and plugin. [any-thread] */
int store_marks_read(struct store *store, void (*visit)(void *user, const struct store_mark *mark),
                     void *user, struct toolrack_error *err);
