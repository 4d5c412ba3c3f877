/* choose.h - from a sentence to a tool with its arguments; recommendations of tools, feedback,
 * whitelist and blacklist.
 *
 *   select.c     the five steps from a text to a tool, in one table
 *   scene.h      step 1, what a text is about
 *   narrow.c     the candidates that this leaves out
 *   intent.h     step 2, what it wants done
 *   match.h      step 3, the tools whose texts fit, by an index (index.h) of words (words.h)
 *   evaluate.h   step 4, which of them fits best, or none well enough
 *   profile.h    what steps 4 and 5 need of a tool; profiles.h: those that are kept
 *   arguments.h  step 5, the arguments of that tool, by the values of the text (value-*.c)
 *   assist.c     a model that is asked too, where the configuration names one
 *   asking.h     whether it, or an embeddings model, may be asked now
 *   vectors.h    tools by what their texts mean, where it names an embeddings model; fuse.h: both
 *                rankings as one
 *   outcome.c    what came of it, as JSON; explain.c: as text
 *   past.c       what was chosen earlier, and whether that was right
 *   indexed.c    the registry's tools in the index; shortlist.c: those that a text may be about
 *   search.c     step 3 alone
 *   ranking.c    the tools that may run, the records of each, and the answer
 *   recommend.c  the score of a tool by its records; pure functions
 *   marks.c      feedback, whitelist and blacklist
 *
 * The steps are pure functions. Other processes that share the state folder change the records
 * too: they are read for each answer. */
#pragma once

#include "base/log.h"
#include "choose/embed.h"
#include "choose/model.h"
#include "permit/permit.h"
#include "registry/registry.h"
#include "store/store.h"
#include "toolrack/choose.h"
#include "toolrack/records.h"

struct choose;
struct record; /* defined in host/record */
struct scenes;

/* All pointers are borrowed until choose_destroy(). */
struct choose_options {
    const struct log *log;
    struct store *store;
    struct registry *registry;
    struct permit *permit; /* tells whether a tool may run; logs marks */
    struct scenes *scenes; /* taken, also on failure; NULL: those of the host alone */
    struct assist assist;  /* a model that is asked too; all zero: none */
    struct embed embed;    /* a model that gives vectors of texts; all zero: none */
    /* Write the calls that have ended to the store. [any-thread] */
    int (*flush)(struct record *record, struct toolrack_error *err);
    struct record *record;
};

/** NULL when out of memory. [any-thread] */
struct choose *choose_create(const struct choose_options *options);
/** NULL is ignored. [any-thread] */
void choose_destroy(struct choose *choose);

/** The registry has changed: what texts are looked up in follows, if anybody has done so yet. Who
 * looks something up never waits for it. [any-thread] */
void choose_follow(const struct choose *choose);

/* The same as the functions of records.h with these names; `order` NULL is a person's decision here
 * (store/shared.h). [any-thread] */
int choose_recommend(const struct choose *choose, const struct toolrack_recommend_options *options,
                     struct toolrack_text **ret, struct toolrack_error *err);
int choose_feedback(const struct choose *choose, const char *name, bool good, uint64_t call,
                    const char *who, struct toolrack_error *err);
int choose_mark(const struct choose *choose, enum toolrack_mark mark, const char *name, bool on,
                const char *why, const char *who, const struct store_shared_order *order,
                struct toolrack_error *err);
int choose_marked(const struct choose *choose, enum toolrack_mark mark, struct toolrack_text **ret,
                  struct toolrack_error *err);

/* The same as the functions of toolrack/choose.h with these names. [any-thread] */
int choose_prepare(const struct choose *choose, struct toolrack_error *err); /* search_prepare */
int choose_search(const struct choose *choose, const struct toolrack_select_options *options,
                  struct toolrack_text **ret, struct toolrack_error *err);
int choose_select(const struct choose *choose, const struct toolrack_select_options *options,
                  struct toolrack_text **ret, struct toolrack_error *err);
int choose_select_worked(const struct choose *choose, const char *principal, const char *id,
                         bool worked, struct toolrack_error *err);
int choose_select_feedback(const struct choose *choose, const char *principal, const char *id,
                           const char *tool, struct toolrack_error *err);
int choose_select_forget(const struct choose *choose, const char *principal, uint64_t *ret_count,
                         struct toolrack_error *err);
