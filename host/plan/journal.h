/* journal.h - what is kept of a run, so that it can go on after its process has ended.
 *
 * A run is kept from before its first call on (store/runs.h): its plan, its inputs, its tools as
 * they were, and of each node whether it has begun, and how it has ended. A node is kept as begun
 * with the same commit as the end that it waited for, and as ended before anything begins that
 * needs it: so one that is not kept as ended may have run, and one that is not kept at all has not.
 *
 * Secrets (schema/secret.h) are not kept: inputs, those in the text of the plan (kept-plan.h),
 * results that are secrets or in which one is found. A run that goes on asks for its secret inputs
 * again; it cannot go on where it needs another secret. Results longer than STORE_RUN_RESULT_MAX
 * are not kept either.
 *
 * A node with for_each is kept as a whole: if it was running, all of its items are made again, or
 * none. */
#pragma once

#include "plan/run.h"
#include "plan/secrets.h"
#include "store/runs.h"

struct journal;
struct registry;

/* All is borrowed until journal_destroy(). */
struct journal_options {
    struct store *store;
    const struct plan *plan;
    const struct plan_tools *tools;
    yyjson_val *inputs;                 /* with secrets and defaults */
    const struct plan_secrets *secrets; /* those of an event are noted before journal_note() */
    const char *runner;
    const struct store_runs_others *others;
    const char *owner; /* or NULL, as the next three */
    const char *party; /* whose share it takes */
    const char *caller;
    const char *channel;
    uint64_t seed;
    const char *id;                        /* of the run */
    bool resumed;                          /* it is kept already */
    const struct plan_kept *kept;          /* of a run that is resumed */
    const struct store_run_agreed *agreed; /* what is new of it, of consent.h */
    size_t agreed_count;
};

/** @return NULL: no memory. Nothing is kept yet. */
struct journal *journal_create(const struct journal_options *options);
/** NULL is ignored. */
void journal_destroy(struct journal *journal);

/** Take an event, to be kept the next time. */
void journal_note(struct journal *journal, const struct plan_event *event);

/** As `keep` of struct plan_run_options; the first time of a new run it becomes known.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY; TOOLRACK_E_EXISTS,
 *         _NOT_FOUND: it is not this host's any more. [call-thread] */
int journal_keep(struct journal *journal, const uint32_t *begun, uint32_t count,
                 struct toolrack_error *err);

/** Keep how the run has ended.
 * @param state   WAITING too: nodes that have not ended are made when it goes on
 * @param result  of SUCCEEDED; may be NULL
 * @return as journal_keep(). */
int journal_end(struct journal *journal, const struct plan_run *run, enum store_run_state state,
                const char *result, const struct toolrack_error *why, struct toolrack_error *err);

/* ------------------------------------------------------------- a run that goes on */

enum journal_word { JOURNAL_NONE, JOURNAL_REPEAT, JOURNAL_SKIP };

/** A run that was kept. */
struct journal_kept {
    struct arena arena;
    struct store_run run; /* of which the strings are in the arena */
    struct store_run_node *nodes;
    size_t count;
    struct store_run_agreed *agreed; /* what persons have agreed to, the first first */
    size_t agreed_count;
    size_t agreed_room;
    bool failed; /* no memory */
};

/** Read a run. @return as store_run_find(); finish it also after a failure. [any-thread] */
int journal_read(struct store *store, const char *owner, const char *id, struct journal_kept *ret,
                 struct toolrack_error *err);
void journal_kept_finish(struct journal_kept *kept);

/** Whether what was read of a run fits together: its plan has as many nodes, and all of its JSON is
 * whole. A run that does not may still be removed.
 * @return 0; TOOLRACK_E_IO: the store is damaged; TOOLRACK_E_NO_MEMORY. [any-thread] */
int journal_check(const struct journal_kept *kept, struct toolrack_error *err);

/** The list of `tools` that was kept of a run, to be freed. NULL: no memory. [any-thread] */
yyjson_val **journal_tools(yyjson_val *tools, size_t *ret_count);
/** One of them, by the value that was kept as its index; NULL: there is none. [any-thread] */
yyjson_val *journal_tool(yyjson_val *const *list, size_t count, yyjson_val *index);

/** Let the nodes of a plan, which was read from a kept run, have the tools that they had.
 * @param ret_masked  whether a secret of its text was masked: then it may not fit its tools any
 * more, which it did when the run began. journal_go_on() refuses where that matters
 * @return 0; TOOLRACK_E_REFUSED: one is gone, or is not what it was; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
int journal_pin(const struct journal_kept *kept, struct plan *plan, struct registry *registry,
                bool *ret_masked, struct toolrack_error *err);

/** What a run goes on with, in the arena of `kept`.
 * @param tools  of the plan
 * @param words  enum journal_word of each node
 * @param ret    of each node
 * @return 0; TOOLRACK_E_INPUT_REQUIRED: a node needs a word: its process ended while it was called,
 *         or it has ended with the result of a node that is called again; TOOLRACK_E_REFUSED: what
 * a node needs was not kept; TOOLRACK_E_NO_MEMORY. [any-thread] */
int journal_go_on(struct journal_kept *kept, const struct plan *plan,
                  const struct plan_tools *tools, const unsigned char *words,
                  const struct plan_kept **ret, struct toolrack_error *err);

/** The hash of a plan, its inputs and its tools as they are now, by a key of key.h. @return false:
 * no memory. [any-thread] */
bool journal_hash(const struct plan *plan, const struct plan_tools *tools, yyjson_val *inputs,
                  const unsigned char *key, unsigned char ret[STORE_SHA256_SIZE]);

/** Whether the call of a node may be made twice. [any-thread] */
bool journal_is_idempotent(const struct plan_tools *tools, uint32_t node);

/** The inputs of a run that goes on: those that were kept, and the secret ones that are given.
 * @param given  an object
 * @param ret    receives a document for plan_take_inputs(), to be released by yyjson_mut_doc_free()
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS, with the field; TOOLRACK_E_NO_MEMORY. [any-thread] */
int journal_inputs(const struct journal_kept *kept, const struct plan *plan, yyjson_val *given,
                   yyjson_doc **ret, struct toolrack_error *err);
