/* marks.h - tools that people put on a list: never to be recommended, or before all others. */
#pragma once

#include <stdint.h>

#include "store/store.h"

/* The numbers stand in files. */
enum store_list { STORE_BLACKLIST, STORE_WHITELIST };

/** One tool on one list, by "name" or "name@version". */
struct store_mark {
    const char *selector;
    enum store_list list;
    int64_t since_ms;
    const char *who;
    const char *why; /**< or NULL */
};

/** Put a tool on a list. It leaves the other one; one by name alone takes the place of those of
 * single versions: what was decided last holds. On the whitelist its failures are forgotten. One
 * that is on that list already stays as it is.
 * @return as all of the store. [any-thread] */
int store_mark(struct store *store, const struct store_mark *mark, struct toolrack_error *err);

/** Take a tool off a list; by name alone also single versions of it. Off the blacklist its failures
 * are forgotten.
 * @return as all of the store; TOOLRACK_E_NOT_FOUND for one that is not on it, which says where
 *         that is meant that all versions of it are. [any-thread] */
int store_unmark(struct store *store, enum store_list list, const char *selector,
                 struct toolrack_error *err);

/** Visit the marks, by selector. [any-thread] */
int store_marks_read(struct store *store, void (*visit)(void *user, const struct store_mark *mark),
                     void *user, struct toolrack_error *err);
