/* tasks.h - calls that are answered with a task.
 *
 * A row is made before the client learns the id. The host that runs the call is named in it by its
 * runner (runners.h), so that each process finds out whether it still runs. Large results are files
 * in the folder `tasks` of the state folder, named by the id: a database does not give back the
 * room of what was removed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Size of an id, 128 random bits as hexadecimal digits, with its final zero. */
#define STORE_TASK_ID_SIZE 33u

/* Most tasks, whoever owns them. */
#define STORE_TASKS_MAX 10000

/* A longer result or error is kept in a file. */
#define STORE_TASK_INLINE_MAX 65536u

/* Longest result or error, and what a task may ask for. */
#define STORE_TASK_OUTCOME_MAX (64u * 1024 * 1024 + 65536u)
#define STORE_TASK_INPUT_MAX   (1024u * 1024)

/* Final from CANCELLED on; a statement relies on the order. */
enum store_task_status {
    STORE_TASK_WORKING,
    STORE_TASK_INPUT_REQUIRED,
    STORE_TASK_CANCELLED,
    STORE_TASK_COMPLETED,
    STORE_TASK_FAILED
};

/** What the tasks of an owner, and all of them, may take. Of bytes an owner's share is at most half
 * of what the results of others leave free: so no one takes all. */
struct store_task_room {
    size_t tasks;       /**< of one owner */
    uint64_t bytes;     /**< of one owner's results that are longer than STORE_TASK_INLINE_MAX */
    uint64_t all_bytes; /**< of all such results */
};

/** A task. */
struct store_task {
    const char *id;
    const char *owner;
    const char *runner; /**< of the host that runs it */
    const char *tool;
    const char *version;
    const char *method;
    enum store_task_status status;
    const char *message; /**< or NULL */
    const char *input;   /**< JSON: what it asks for; or NULL */
    const char *outcome; /**< JSON: of COMPLETED the result, of FAILED the error; or NULL */
    size_t outcome_size;
    int64_t created_ms; /**< since 1970 */
    int64_t updated_ms;
    int64_t expires_ms; /**< 0: never */
    uint32_t poll_ms;
};

/** Store a task under a new id, with the times, the strings but `id`, `message`, `input` and
 * `outcome`, and the status WORKING. Tasks that have expired are removed.
 *
 * @return see store.h; TOOLRACK_E_LIMIT_EXCEEDED also when there is no room. [any-thread] */
int store_task_add(struct store *store, const struct store_task *task,
                   const struct store_task_room *room, char ret_id[STORE_TASK_ID_SIZE],
                   struct toolrack_error *err);

/** Change the status of a task that has no final one, with `message`, `input`, `outcome` and
 * `updated_ms`.
 *
 * @param task  `owner` and `runner`, unless NULL, must be those of the task
 * @param room  for a long outcome; NULL: it is kept in any case
 * @return see store.h; TOOLRACK_E_NOT_FOUND, also when it has expired; TOOLRACK_E_EXISTS when its
 *         status is final; TOOLRACK_E_LIMIT_EXCEEDED also when there is no room. [any-thread] */
int store_task_set(struct store *store, const struct store_task *task,
                   const struct store_task_room *room, struct toolrack_error *err);

/** Remove a task that is completed or failed, with its result.
 *
 * @param owner  NULL: any
 * @return see store.h; TOOLRACK_E_NOT_FOUND, also when it has expired; TOOLRACK_E_INVALID when it
 *         has another status. [any-thread] */
int store_task_remove(struct store *store, const char *owner, const char *id, int64_t now_ms,
                      struct toolrack_error *err);

/** Visit a task. If its outcome should be in a file and is not, it is NULL, and `lost` says why.
 *
 * @param owner  NULL: any
 * @return see store.h; TOOLRACK_E_NOT_FOUND, also when it has expired. [any-thread] */
int store_task_find(struct store *store, const char *owner, const char *id, int64_t now_ms,
                    void (*visit)(void *user, const struct store_task *task, const char *lost),
                    void *user, struct toolrack_error *err);

/** Visit the tasks that have not expired, the oldest first, without input and outcome.
 * @param owner  NULL: of all. [any-thread] */
int store_tasks_read(struct store *store, const char *owner, int64_t now_ms,
                     void (*visit)(void *user, const struct store_task *task), void *user,
                     struct toolrack_error *err);

/** Visit the ids of the cancelled tasks of a runner. [any-thread] */
int store_tasks_cancelled(struct store *store, const char *runner,
                          void (*visit)(void *user, const char *id), void *user,
                          struct toolrack_error *err);

/** Remove what is left of tasks that are not stored any more: files. [any-thread] */
void store_tasks_sweep(struct store *store);
