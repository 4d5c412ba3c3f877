/* What is told of tasks: as they stand in the store, or as what became of their host makes them. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "record/tasks-parts.h"
#include "registry/document.h"

#define HOST_ENDED "the host that ran it ended before the call did"

const char *const tasks_status_names[TASKS_STATUS_COUNT] = {[STORE_TASK_WORKING] = "working",
                                                            [STORE_TASK_INPUT_REQUIRED] =
                                                                    "input_required",
                                                            [STORE_TASK_CANCELLED] = "cancelled",
                                                            [STORE_TASK_COMPLETED] = "completed",
                                                            [STORE_TASK_FAILED] = "failed"};

static void add_time(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *key, int64_t ms) {
    char text[CLOCK_TEXT_ROOM];
    char exact[CLOCK_TEXT_ROOM + 8];
    (void)clock_wall_text(ms / 1000, text);
    size_t length = strcspn(text, "Z");
    (void)snprintf(exact, sizeof exact, "%.*s.%03dZ", (int)length, text, (int)(ms % 1000));
    document_add_text(doc, row, key, exact);
}

/* A task as it stands in the store, or as what became of its host makes it. */
static void describe(struct tasks *tasks, yyjson_mut_doc *doc, yyjson_mut_val *row,
                     const struct store_task *task, bool *ret_failed_now, const char *lost,
                     char why[ERROR_MESSAGE_MAX]) {
    const char *failed = NULL;
    *ret_failed_now = false;
    if (lost != NULL) {
        (void)snprintf(why, ERROR_MESSAGE_MAX, "its result is lost: %s", lost);
        failed = why;
    } else if (task->status < STORE_TASK_CANCELLED && tasks_find_failure(tasks, task->id, why)) {
        failed = why;
    } else if (task->status < STORE_TASK_CANCELLED &&
               !runner_lives(tasks->options.runner, task->runner)) {
        (void)snprintf(why, ERROR_MESSAGE_MAX, "%s", HOST_ENDED);
        failed = why;
        *ret_failed_now = true;
    }
    document_add_text(doc, row, "taskId", task->id);
    document_add_text(doc, row, "status",
                      tasks_status_names[failed ? STORE_TASK_FAILED : task->status]);
    document_add_text(doc, row, "statusMessage", failed != NULL ? failed : task->message);
    add_time(doc, row, "createdAt", task->created_ms);
    add_time(doc, row, "lastUpdatedAt", task->updated_ms);
    if (task->expires_ms == 0) {
        (void)yyjson_mut_obj_add_null(doc, row, "ttlMs");
    } else {
        (void)yyjson_mut_obj_add_sint(doc, row, "ttlMs", task->expires_ms - task->created_ms);
    }
    (void)yyjson_mut_obj_add_uint(doc, row, "pollIntervalMs", task->poll_ms);
    document_add_text(doc, row, "tool", task->tool);
    document_add_text(doc, row, "version", task->version);
    document_add_text(doc, row, "method", task->method);
    document_add_text(doc, row, "owner", task->owner);
    if (failed != NULL) {
        yyjson_mut_val *error = yyjson_mut_obj_add_obj(doc, row, "error");
        (void)yyjson_mut_obj_add_int(doc, error, "code", TASKS_INTERNAL_ERROR);
        document_add_text(doc, error, "message", failed);
    } else if (task->status == STORE_TASK_INPUT_REQUIRED && task->input != NULL) {
        (void)yyjson_mut_obj_add_val(doc, row, "inputRequests",
                                     yyjson_mut_rawcpy(doc, task->input));
    } else if (task->outcome != NULL) {
        (void)yyjson_mut_obj_add_val(doc, row,
                                     task->status == STORE_TASK_COMPLETED ? "result" : "error",
                                     yyjson_mut_rawncpy(doc, task->outcome, task->outcome_size));
    }
}

struct reading {
    struct tasks *tasks;
    yyjson_mut_doc *doc;
    yyjson_mut_val *root; /* an object, or the list */
    struct buf ended;     /* the ids and runners of tasks that have just been found failed */
};

static void add_ended(struct reading *reading, const struct store_task *task) {
    buf_printf(&reading->ended, "%s %s\n", task->id, task->runner);
}

static void add_task(void *user, const struct store_task *task, const char *lost) {
    struct reading *reading = user;
    char why[ERROR_MESSAGE_MAX];
    bool failed_now = false;
    describe(reading->tasks, reading->doc, reading->root, task, &failed_now, lost, why);
    if (failed_now) {
        add_ended(reading, task);
    }
}

static void add_row(void *user, const struct store_task *task) {
    struct reading *reading = user;
    struct store_task shown = *task;
    char why[ERROR_MESSAGE_MAX];
    bool failed_now = false;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(reading->doc, reading->root);
    shown.outcome = shown.input = NULL;
    describe(reading->tasks, reading->doc, row, &shown, &failed_now, NULL, why);
    (void)yyjson_mut_obj_remove_key(row, "error");
    if (failed_now) {
        add_ended(reading, task);
    }
}

/* Say in the store what was found: a message of it may be the last sign of its host. */
static void store_ended(struct tasks *tasks, struct buf *ended) {
    struct toolrack_error unheard;
    char *at = ended->failed || ended->data == NULL ? NULL : ended->data;
    while (at != NULL && *at != '\0') {
        char *runner = strchr(at, ' ') + 1;
        char *end = strchr(runner, '\n');
        runner[-1] = '\0';
        *end = '\0';
        (void)tasks_fail(tasks, at, runner, HOST_ENDED, &unheard);
        at = end + 1;
    }
}

static int end_reading(struct reading *reading, int code, struct toolrack_text **ret,
                       struct toolrack_error *err) {
    if (code < 0) {
        yyjson_mut_doc_free(reading->doc);
    } else {
        store_ended(reading->tasks, &reading->ended);
        code = document_end(reading->doc, ret, err);
    }
    buf_finish(&reading->ended);
    return code;
}

int tasks_get(struct tasks *tasks, const char *owner, const char *id, struct toolrack_text **ret,
              struct toolrack_error *err) {
    struct reading reading = {.tasks = tasks, .ended = BUF_INIT};
    reading.doc = document_begin(&reading.root);
    int code = store_task_find(tasks->options.store, owner, id, clock_wall_ms(), add_task, &reading,
                               err);
    return end_reading(&reading, code, ret, err);
}

int tasks_list(struct tasks *tasks, const char *owner, struct toolrack_text **ret,
               struct toolrack_error *err) {
    struct reading reading = {.tasks = tasks, .ended = BUF_INIT};
    reading.doc = document_begin_list(&reading.root);
    int code =
            store_tasks_read(tasks->options.store, owner, clock_wall_ms(), add_row, &reading, err);
    return end_reading(&reading, code, ret, err);
}
