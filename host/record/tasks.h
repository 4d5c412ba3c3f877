/* tasks.h - calls that are answered with a task: created before the client learns of it, and found
 * again whatever became of the host.
 *
 * A task says in which host it runs. When that has ended and the task has not, whoever looks at it
 * next finds it `failed`, and says so in the store. */
#pragma once

#include "base/log.h"
#include "store/runners.h"
#include "store/store.h"
#include "store/tasks.h"
#include "toolrack/serving.h"

struct tasks;

/* All pointers are borrowed until tasks_destroy(). */
struct tasks_options {
    const struct log *log;
    struct store *store;
    struct runner *runner; /* of this host */
    /* A task that this host runs was cancelled. No lock is held. [any-thread] */
    void (*cancelled)(void *user, const char *id);
    void *user;
};

/** NULL when out of memory. Nothing is read. */
struct tasks *tasks_create(const struct tasks_options *options);
/** NULL is ignored. */
void tasks_destroy(struct tasks *tasks);

/** Tasks may have been cancelled: tell of those that this host runs.
 * @return whether they could be read. [any-thread] */
bool tasks_follow(struct tasks *tasks);

/** As toolrack_task_create(); ttl_ms 0 and poll_ms are meant as they are here: for ever, and that
 * number. [any-thread] */
int tasks_add(struct tasks *tasks, const struct toolrack_task *task,
              const struct store_task_room *room, char ret_id[TOOLRACK_TASK_ID_ROOM],
              struct toolrack_error *err);

/* As the functions of serving.h with these names. [any-thread] */
int tasks_set(struct tasks *tasks, const char *id, const char *status, const char *message,
              const char *result, const char *failure, const char *input_requests,
              const struct store_task_room *room, struct toolrack_error *err);
int tasks_get(struct tasks *tasks, const char *owner, const char *id, struct toolrack_text **ret,
              struct toolrack_error *err);
int tasks_list(struct tasks *tasks, const char *owner, struct toolrack_text **ret,
               struct toolrack_error *err);
int tasks_cancel(struct tasks *tasks, const char *owner, const char *id,
                 struct toolrack_error *err);
int tasks_remove(struct tasks *tasks, const char *owner, const char *id,
                 struct toolrack_error *err);
