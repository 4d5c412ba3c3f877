/* runs.h - runs of plans, so that one can go on after its process has ended.
 *
 * A run has a row from before its first call on. Each commit of it says at once which nodes have
 * ended and which begin now: what has ended is on the disk before anything that depends on it
 * begins, and a node that has begun is there before its call is made. The host that runs it is
 * named by its runner (runners.h); a commit of another one fails. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Size of an id, 128 random bits as hexadecimal digits, with its final zero. */
#define STORE_RUN_ID_SIZE 33u

/* Most runs that have ended: the oldest are removed of the party that has most of them. Most that
 * have not, of all and of one party: those that were interrupted are removed, the oldest first;
 * when there are none, no further one begins. */
#define STORE_RUNS_ENDED_MAX      1000
#define STORE_RUNS_OPEN_MAX       1000
#define STORE_RUNS_OPEN_PARTY_MAX 100

/* Most bytes of the texts of runs (plans, inputs, results, errors), of one party and of all. Where
 * more are to be stored, runs that have ended are removed: the oldest of that party; of all, the
 * oldest of the party whose runs have most. When that is not enough, so are those that were
 * interrupted; when that is not enough, a result is not kept, and no run begins. A run that waits
 * for a person, or that a host runs, is never removed so. */
#define STORE_RUNS_BYTES_MAX       (1024u * 1024 * 1024)
#define STORE_RUNS_BYTES_PARTY_MAX (256u * 1024 * 1024)

/* Longest plan, with what belongs to it; longest result. */
#define STORE_RUN_TEXT_MAX   (64u * 1024 * 1024)
#define STORE_RUN_RESULT_MAX (1024u * 1024)

/* Final from SUCCEEDED on; statements rely on the order. */
enum store_run_state {
    STORE_RUN_RUNNING, /* or its process has ended */
    STORE_RUN_WAITING, /* for a person */
    STORE_RUN_SUCCEEDED,
    STORE_RUN_FAILED,
    STORE_RUN_CANCELLED
};

enum store_node_state {
    STORE_NODE_WAITING, /* has no row, or is made again */
    STORE_NODE_RUNNING,
    STORE_NODE_SUCCEEDED,
    STORE_NODE_FAILED,
    STORE_NODE_SKIPPED,
    STORE_NODE_CANCELLED
};
#define STORE_NODE_STATES (STORE_NODE_CANCELLED + 1u)

/* A call that a person has agreed to. */
struct store_run_agreed {
    uint32_t node;
    bool is_fallback;
    const char *tool;
    const char *version;
    uint64_t standing;                     /**< of the tool, before the person was asked */
    bool is_open;                          /**< its arguments were not known: it asks again */
    unsigned char hash[STORE_SHA256_SIZE]; /**< else: of its arguments, by a key */
    bool any;                              /**< whatever its arguments are */
    const char *who;
};

struct store_run {
    const char *id;
    const char *party; /**< whose share it takes; NULL: its owner's. Written only */
    const char *name;  /**< or NULL, as the next three */
    const char *owner;
    const char *caller;
    const char *channel;
    const char *runner; /**< of the host that runs it, or has taken it; "": none has */
    enum store_run_state state;
    int64_t created_ms; /**< since 1970 */
    int64_t updated_ms;
    int64_t ended_ms; /**< 0: it has not ended */
    uint64_t seed;
    uint32_t node_count;
    const char *error;                       /**< of FAILED and WAITING; else NULL */
    int code;                                /**< of that */
    const char *plan;                        /**< this and the next four: NULL in a list */
    const char *inputs;                      /**< JSON */
    const char *tools;                       /**< JSON, of plan/journal.c */
    const char *result;                      /**< JSON; or NULL */
    unsigned char sha256[STORE_SHA256_SIZE]; /**< of all of it, by a key */
    const struct store_run_agreed *agreed;   /**< to be stored with it; written only */
    size_t agreed_count;
    uint32_t counts[STORE_NODE_STATES]; /**< of nodes with a row; read only */
};

struct store_run_node {
    uint32_t node; /**< its index in the plan */
    enum store_node_state state;
    uint32_t attempts;
    int64_t began_ms;
    int64_t ended_ms;   /**< 0: it has not ended */
    const char *result; /**< JSON; NULL: none, or it is not kept */
    size_t result_size;
    const char *unkept; /**< why the result is not kept as it was; NULL: it is */
    const char *error;  /**< of FAILED; else NULL */
    int code;
};

/** What runs are to make room for another one. */
struct store_runs_others {
    /** Whether the runner of that name runs the run. The lock of the store is held. */
    bool (*lives)(void *user, const char *id, const char *runner);
    /** A run that was interrupted, and could have gone on, was removed. No lock is held. */
    void (*removed)(void *user, const char *id);
    void *user;
};

/** Make an id for a run. [any-thread] */
int store_run_make_id(char ret_id[STORE_RUN_ID_SIZE], struct toolrack_error *err);

/** Store a run, with its first nodes. Runs that ended are removed beyond their number.
 * @param others  NULL: none was interrupted
 * @param run     `state`, `counts` and the times but `created_ms` are ignored: it is RUNNING
 * @return see store.h; TOOLRACK_E_LIMIT_EXCEEDED also when too many have not ended, or have too
 *         many bytes, of all or of its party (NULL, as its owner: only of all). [any-thread] */
int store_run_add(struct store *store, const struct store_run *run,
                  const struct store_run_node *nodes, size_t count,
                  const struct store_runs_others *others, struct toolrack_error *err);

/** Store what has become of nodes of a run, and of the run itself, at once. A result for which
 * there is no room is not kept: its node says so in `unkept`.
 *
 * @param run     `id`, `runner`, `updated_ms`, and `state`, of which other than RUNNING `error`,
 *                `code`, `result` too: then the run is nobody's any more
 * @param others  as in store_run_add()
 * @return see store.h; TOOLRACK_E_NOT_FOUND: it was removed; TOOLRACK_E_EXISTS: it has ended, or is
 *         not that runner's. [any-thread] */
int store_run_commit(struct store *store, const struct store_run *run,
                     const struct store_run_node *nodes, size_t count,
                     const struct store_runs_others *others, struct toolrack_error *err);

/** Store what a person has agreed to while a run goes on.
 * @return as store_run_commit(). [any-thread] */
int store_run_agree(struct store *store, const char *id, const char *runner,
                    const struct store_run_agreed *agreed, struct toolrack_error *err);

/** Visit what was agreed to in a run, in the order in which it was. [any-thread] */
int store_run_agreed_read(struct store *store, const char *id,
                          void (*visit)(void *user, const struct store_run_agreed *agreed),
                          void *user, struct toolrack_error *err);

/** Take a run that no host runs for the host of the given runner. Its state stays as it is until it
 * goes on, by store_run_commit().
 *
 * @param lives  whether the runner of that name runs the run. The lock of the store is held
 * @return see store.h; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_REFUSED when it has ended or another host
 *         runs it. [any-thread] */
int store_run_take(struct store *store, const char *id, const char *runner,
                   bool (*lives)(void *user, const char *id, const char *runner), void *user,
                   struct toolrack_error *err);

/** Give a run back that was taken and has not gone on: it is as it was before. Nothing happens if
 * it is not that runner's. @return see store.h. [any-thread] */
int store_run_release(struct store *store, const char *id, const char *runner,
                      struct toolrack_error *err);

/** Say that a run that no host runs is cancelled. @return as store_run_take(). [any-thread] */
int store_run_cancel(struct store *store, const char *id, int64_t now_ms,
                     bool (*lives)(void *user, const char *id, const char *runner), void *user,
                     struct toolrack_error *err);

/** Remove a run that no host runs. @return as store_run_take(), but whatever its state is.
 * [any-thread] */
int store_run_remove(struct store *store, const char *id,
                     bool (*lives)(void *user, const char *id, const char *runner), void *user,
                     struct toolrack_error *err);

/** Visit the runs, the newest first. @param owner  NULL: of all. [any-thread] */
int store_runs_read(struct store *store, const char *owner,
                    void (*visit)(void *user, const struct store_run *run), void *user,
                    struct toolrack_error *err);

/** Visit a run, and then its nodes in the order of their indices, with results.
 * @param owner  NULL: any
 * @return see store.h; TOOLRACK_E_NOT_FOUND. [any-thread] */
int store_run_find(struct store *store, const char *owner, const char *id,
                   void (*visit)(void *user, const struct store_run *run),
                   void (*visit_node)(void *user, const struct store_run_node *node), void *user,
                   struct toolrack_error *err);
