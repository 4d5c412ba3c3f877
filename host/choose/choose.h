/* choose.h - which tools to recommend, and what people think of them.
 *
 *   choose.c     the tools that may run, what is known of each, and the answer
 *   recommend.c  the score of a tool; pure
 *   match.c      how well a tool fits a task; pure
 *   marks.c      feedback, whitelist and blacklist
 *
 * Other processes that share the state folder decide too: nothing of it is held in memory. */
#pragma once

#include "base/log.h"
#include "permit/permit.h"
#include "registry/registry.h"
#include "store/store.h"
#include "toolrack/records.h"

struct choose;
struct record; /* host/record's; here a name */

/* All is borrowed until choose_destroy(). */
struct choose_options {
    const struct log *log;
    struct store *store;
    struct registry *registry;
    struct permit *permit; /* may a tool run at all; hears what is marked */
    /* Write the calls that have ended to the store. [any-thread] */
    int (*flush)(struct record *record, struct toolrack_error *err);
    struct record *record;
};

/** NULL when out of memory. [any-thread] */
struct choose *choose_create(const struct choose_options *options);
/** NULL is ignored. [any-thread] */
void choose_destroy(struct choose *choose);

/* As the functions of records.h that are called so. [any-thread] */
int choose_recommend(const struct choose *choose, const struct toolrack_recommend_options *options,
                     struct toolrack_text **ret, struct toolrack_error *err);
int choose_feedback(const struct choose *choose, const char *name, bool good, uint64_t call,
                    const char *who, struct toolrack_error *err);
int choose_mark(const struct choose *choose, enum toolrack_mark mark, const char *name, bool on,
                const char *why, const char *who, struct toolrack_error *err);
int choose_marked(const struct choose *choose, enum toolrack_mark mark, struct toolrack_text **ret,
                  struct toolrack_error *err);
