/* tasks-parts.h - for the files tasks*.c of this folder. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/lock.h"
#include "record/tasks.h"
#include "store/tasks.h"

struct tasks {
    struct tasks_options options;
    struct lock large_lock;
    struct lock lock; /* guards what follows */
    struct running *running;
    struct failure *failures;
    bool swept; /* left-over files were looked for */
};

/* An internal error of JSON-RPC. */
#define TASKS_INTERNAL_ERROR (-32603)

/** By status. (tasks-read.c) */
#define TASKS_STATUS_COUNT (STORE_TASK_FAILED + 1)
extern const char *const tasks_status_names[TASKS_STATUS_COUNT];

/** Store that a task has failed, unless its status is final. `runner` as in store_task_set(). */
int tasks_fail(struct tasks *tasks, const char *id, const char *runner, const char *why,
               struct toolrack_error *err);

/** Why the end of a task could not be stored, into `ret`; false: nothing such is known. */
bool tasks_find_failure(struct tasks *tasks, const char *id, char ret[ERROR_MESSAGE_MAX]);
