/* Invariants:
 *
 *  (1) `running` has the tasks that this host has created and not ended: of these it must tell when
 *      they are cancelled. A task leaves it before that is told, so it is told once.
 *
 *  (2) `failures` has the tasks whose end could not be stored, and why. They count as failed here;
 *      for others, when this host has ended. The next write tries again.
 *
 *  (3) No lock is held while the store is used, except `large_lock`, which only writers of large
 *      results take: two that write the file of one task would mix. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "record/tasks-parts.h"
#include "registry/document.h"

_Static_assert(STORE_TASK_ID_SIZE == TOOLRACK_TASK_ID_ROOM &&
                       STORE_TASK_INPUT_MAX == TOOLRACK_TASK_INPUT_MAX &&
                       STORE_TASK_OUTCOME_MAX == TOOLRACK_RESULT_MAX + 65536u,
               "the limits of the API are those of the store");

struct running {
    struct running *next;
    char id[STORE_TASK_ID_SIZE];
};

struct failure {
    struct failure *next;
    char id[STORE_TASK_ID_SIZE];
    char why[]; /* zero-terminated */
};

struct tasks *tasks_create(const struct tasks_options *options) {
    struct tasks *tasks = calloc(1, sizeof *tasks);
    if (tasks != NULL) {
        tasks->options = *options;
        lock_init(&tasks->large_lock);
        lock_init(&tasks->lock);
    }
    return tasks;
}

void tasks_destroy(struct tasks *tasks) {
    if (tasks == NULL) {
        return;
    }
    for (struct running *next; tasks->running != NULL; tasks->running = next) {
        next = tasks->running->next;
        free(tasks->running);
    }
    for (struct failure *next; tasks->failures != NULL; tasks->failures = next) {
        next = tasks->failures->next;
        free(tasks->failures);
    }
    lock_finish(&tasks->large_lock);
    lock_finish(&tasks->lock);
    free(tasks);
}

/* ------------------------------------------------------------ what runs here */

/* Returns whether it was there. */
static bool take_running(struct tasks *tasks, const char *id) {
    LOCK_SCOPE(&tasks->lock);
    for (struct running **at = &tasks->running; *at != NULL; at = &(*at)->next) {
        struct running *found = *at;
        if (strcmp(found->id, id) == 0) {
            *at = found->next;
            free(found);
            return true;
        }
    }
    return false;
}

static bool has_running(struct tasks *tasks) {
    LOCK_SCOPE(&tasks->lock);
    return tasks->running != NULL;
}

static void tell_cancelled(void *user, const char *id) {
    struct tasks *tasks = user;
    if (take_running(tasks, id)) {
        tasks->options.cancelled(tasks->options.user, id);
    }
}

bool tasks_follow(struct tasks *tasks) {
    char runner[RUNNER_NAME_ROOM];
    struct toolrack_error err;
    if (!has_running(tasks)) {
        return true;
    }
    int code = runner_begin(tasks->options.runner, runner, &err);
    if (code == 0) {
        code = store_tasks_cancelled(tasks->options.store, runner, tell_cancelled, tasks, &err);
    }
    if (code < 0) {
        log_line(tasks->options.log, LOG_ERROR, "store",
                 "whether tasks were cancelled cannot be read: %s", err.message);
    }
    return code == 0;
}

/* --------------------------------------------------- what could not be stored */

/* An error of JSON-RPC as text; empty when out of memory. */
static void write_failure(struct buf *text, const char *message) {
    yyjson_mut_val *root;
    struct toolrack_text *made = NULL;
    struct toolrack_error unheard;
    yyjson_mut_doc *doc = document_begin(&root);
    (void)yyjson_mut_obj_add_int(doc, root, "code", TASKS_INTERNAL_ERROR);
    document_add_text(doc, root, "message", message);
    if (document_end(doc, &made, &unheard) == 0) {
        buf_add_text(text, toolrack_text_data(made, NULL));
    }
    toolrack_text_unref(made);
}

int tasks_fail(struct tasks *tasks, const char *id, const char *runner, const char *why,
               struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf outcome = BUF_INIT;
    write_failure(&outcome, why);
    return store_task_set(tasks->options.store,
                          &(struct store_task){.id = id,
                                               .runner = runner,
                                               .status = STORE_TASK_FAILED,
                                               .message = why,
                                               .outcome = outcome.failed ? NULL : outcome.data,
                                               .outcome_size = outcome.length,
                                               .updated_ms = clock_wall_ms()},
                          NULL, err);
}

static void keep_failure(struct tasks *tasks, const char *id, const char *why) {
    size_t size = strlen(why) + 1;
    struct failure *failure = malloc(sizeof *failure + size);
    if (failure == NULL || strlen(id) >= sizeof failure->id) {
        free(failure); /* others learn of it when this host ends */
        return;
    }
    memcpy(failure->id, id, strlen(id) + 1);
    memcpy(failure->why, why, size);
    LOCK_SCOPE(&tasks->lock);
    failure->next = tasks->failures;
    tasks->failures = failure;
}

/* Store what could not be stored before. */
static void store_failures(struct tasks *tasks) {
    lock_take(&tasks->lock);
    struct failure *failure = tasks->failures;
    tasks->failures = NULL;
    lock_release(&tasks->lock);
    for (struct failure *next; failure != NULL; failure = next) {
        struct toolrack_error err;
        next = failure->next;
        int code = tasks_fail(tasks, failure->id, NULL, failure->why, &err);
        if (code == TOOLRACK_E_IO || code == TOOLRACK_E_NO_MEMORY) {
            LOCK_SCOPE(&tasks->lock);
            failure->next = tasks->failures;
            tasks->failures = failure;
        } else {
            free(failure);
        }
    }
}

bool tasks_find_failure(struct tasks *tasks, const char *id, char ret[ERROR_MESSAGE_MAX]) {
    LOCK_SCOPE(&tasks->lock);
    const struct failure *failure = tasks->failures;
    while (failure != NULL && strcmp(failure->id, id) != 0) {
        failure = failure->next;
    }
    if (failure != NULL) {
        (void)snprintf(ret, ERROR_MESSAGE_MAX, "%s", failure->why);
    }
    return failure != NULL;
}

/* --------------------------------------------------------------------- add */

/* Once a host: what a process that was killed has left. */
static void sweep(struct tasks *tasks) {
    lock_take(&tasks->lock);
    bool is_due = !tasks->swept;
    tasks->swept = true;
    lock_release(&tasks->lock);
    if (is_due) {
        store_tasks_sweep(tasks->options.store);
    }
}

int tasks_add(struct tasks *tasks, const struct toolrack_task *task,
              const struct store_task_room *room, char ret_id[TOOLRACK_TASK_ID_ROOM],
              struct toolrack_error *err) {
    char runner[RUNNER_NAME_ROOM];
    CLEANUP(freep) struct running *running = calloc(1, sizeof *running);
    if (running == NULL) {
        return error_oom(err);
    }
    int64_t now_ms = clock_wall_ms();
    bool is_kept = task->ttl_ms == 0 || task->ttl_ms > (uint64_t)(INT64_MAX - now_ms);
    int code = runner_begin(tasks->options.runner, runner, err);
    if (code == 0) {
        sweep(tasks);
        store_failures(tasks);
        code = store_task_add(
                tasks->options.store,
                &(struct store_task){.owner = task->owner,
                                     .runner = runner,
                                     .tool = task->tool,
                                     .version = task->version,
                                     .method = task->method,
                                     .created_ms = now_ms,
                                     .expires_ms = is_kept ? 0 : now_ms + (int64_t)task->ttl_ms,
                                     .poll_ms = task->poll_ms < UINT32_MAX ? (uint32_t)task->poll_ms
                                                                           : UINT32_MAX},
                room, running->id, err);
    }
    if (code == 0) {
        memcpy(ret_id, running->id, sizeof running->id);
        LOCK_SCOPE(&tasks->lock);
        running->next = tasks->running;
        tasks->running = STEAL(running);
    }
    return code;
}

/* --------------------------------------------------------------------- set */

static int read_status(const char *text, enum store_task_status *ret, struct toolrack_error *err) {
    for (size_t i = 0; i < TASKS_STATUS_COUNT; i++) {
        if (strcmp(text, tasks_status_names[i]) == 0) {
            *ret = (enum store_task_status)i;
            return 0;
        }
    }
    return error_set(err, TOOLRACK_E_INVALID, "\"%.64s\" is no status of a task", text);
}

/* A text that is given exactly with its status, and is JSON. */
static int check_text(const char *what, const char *text, bool is_due, size_t max,
                      struct toolrack_error *err) {
    yyjson_read_err why;
    if ((text != NULL) != is_due) {
        return error_set(err, TOOLRACK_E_INVALID,
                         is_due ? "a task with this status needs its %s"
                                : "a task with this status takes no %s",
                         what);
    }
    size_t length = text != NULL ? strlen(text) : 0;
    if (length > max) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the %s of a task has %zu bytes, more than the %zu allowed", what, length,
                         max);
    }
    yyjson_doc *doc = text != NULL ? yyjson_read_opts((char *)(uintptr_t)text, length,
                                                      YYJSON_READ_NUMBER_AS_RAW, NULL, &why)
                                   : NULL;
    yyjson_doc_free(doc);
    return text == NULL || doc != NULL ? 0
           : why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                   ? error_oom(err)
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the %s of a task is not JSON: %s at byte %zu", what, why.msg,
                               why.pos);
}

static int store_large(struct tasks *tasks, const struct store_task *task,
                       const struct store_task_room *room, struct toolrack_error *err) {
    if (task->outcome_size <= STORE_TASK_INLINE_MAX) {
        return store_task_set(tasks->options.store, task, room, err);
    }
    LOCK_SCOPE(&tasks->large_lock);
    return store_task_set(tasks->options.store, task, room, err);
}

int tasks_set(struct tasks *tasks, const char *id, const char *status, const char *message,
              const char *result, const char *failure, const char *input_requests,
              const struct store_task_room *room, struct toolrack_error *err) {
    struct toolrack_error unasked;
    // cppcheck-suppress uninitvar ; it is only written to
    err = err != NULL ? err : &unasked; /* why an end cannot be stored is the task's error */
    struct store_task task = {.id = id, .message = message, .input = input_requests};
    int code = read_status(status, &task.status, err);
    if (code == 0) {
        code = check_text("result", result, task.status == STORE_TASK_COMPLETED,
                          STORE_TASK_OUTCOME_MAX, err);
    }
    if (code == 0) {
        code = check_text("error", failure, task.status == STORE_TASK_FAILED,
                          STORE_TASK_OUTCOME_MAX, err);
    }
    if (code == 0) {
        code = check_text("inputRequests", input_requests, task.status == STORE_TASK_INPUT_REQUIRED,
                          STORE_TASK_INPUT_MAX, err);
    }
    if (code < 0) {
        return code;
    }
    bool is_end = task.status >= STORE_TASK_CANCELLED;
    task.outcome = result != NULL ? result : failure;
    task.outcome_size = task.outcome != NULL ? strlen(task.outcome) : 0;
    task.updated_ms = clock_wall_ms();
    code = store_large(tasks, &task, room, err);
    /* Less may be stored where this cannot. */
    if ((code == TOOLRACK_E_IO || code == TOOLRACK_E_LIMIT_EXCEEDED) && is_end) {
        struct toolrack_error unheard;
        if (tasks_fail(tasks, id, NULL, err->message, &unheard) == TOOLRACK_E_IO) {
            keep_failure(tasks, id, err->message);
        }
    }
    if (is_end && code != TOOLRACK_E_NO_MEMORY) {
        (void)take_running(tasks, id);
    }
    if (code == 0) {
        store_failures(tasks);
    }
    return code;
}

int tasks_cancel(struct tasks *tasks, const char *owner, const char *id,
                 struct toolrack_error *err) {
    int code = store_task_set(tasks->options.store,
                              &(struct store_task){.id = id,
                                                   .owner = owner,
                                                   .status = STORE_TASK_CANCELLED,
                                                   .message = "it was cancelled",
                                                   .updated_ms = clock_wall_ms()},
                              NULL, err);
    if (code == 0) {
        tell_cancelled(tasks, id);
    }
    return code;
}

int tasks_remove(struct tasks *tasks, const char *owner, const char *id,
                 struct toolrack_error *err) {
    return store_task_remove(tasks->options.store, owner, id, clock_wall_ms(), err);
}
