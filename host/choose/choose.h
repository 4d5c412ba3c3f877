/* choose.h - recommendations of tools, feedback, whitelist and blacklist.
 *
 *   ranking.c    the tools that may run, the records of each, and the answer
 *   recommend.c  the score of a tool; pure functions
 *   marks.c      feedback, whitelist and blacklist
 *   index.h      which tools have which words
 *   match.h      how well tools fit a text
 *
 * Other processes that share the state folder change these records too, so nothing is cached in
 * memory. */
#pragma once

#include "base/log.h"
#include "permit/permit.h"
#include "registry/registry.h"
#include "store/store.h"
#include "toolrack/records.h"

struct choose;
struct record; /* defined in host/record */

/* All pointers are borrowed until choose_destroy(). */
struct choose_options {
    const struct log *log;
    struct store *store;
    struct registry *registry;
    struct permit *permit; /* tells whether a tool may run; logs marks */
    /* Write the calls that have ended to the store. [any-thread] */
    int (*flush)(struct record *record, struct toolrack_error *err);
    struct record *record;
};

/** NULL when out of memory. [any-thread] */
struct choose *choose_create(const struct choose_options *options);
/** NULL is ignored. [any-thread] */
void choose_destroy(struct choose *choose);

/* The same as the functions of records.h with these names. [any-thread] */
int choose_recommend(const struct choose *choose, const struct toolrack_recommend_options *options,
                     struct toolrack_text **ret, struct toolrack_error *err);
int choose_feedback(const struct choose *choose, const char *name, bool good, uint64_t call,
                    const char *who, struct toolrack_error *err);
int choose_mark(const struct choose *choose, enum toolrack_mark mark, const char *name, bool on,
                const char *why, const char *who, struct toolrack_error *err);
int choose_marked(const struct choose *choose, enum toolrack_mark mark, struct toolrack_text **ret,
                  struct toolrack_error *err);
