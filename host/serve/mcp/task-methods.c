/* task-methods.c - tasks/get, tasks/update, tasks/cancel: on the thread for what waits for the
 * store. */
#include <string.h>

#include "base/json-write.h"
#include "serve/mcp/inputs.h"
#include "serve/mcp/later.h"
#include "serve/mcp/task-parts.h"
#include "serve/mcp/task-text.h"
#include "serve/mcp/task.h"

/* Longest id in a message, to which no task has more. */
#define ID_MAX 64u

/* ---------------------------------------------------------------------- methods */

/* What a method of tasks is about; in the arena of its request. */
struct asked {
    const char *id;
    yyjson_doc *responses; /* of tasks/update */
};

static void refuse_task(struct request *request, const char *id) {
    request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                 "there is no task %s; tasks are kept for a time only", id);
}

static void refuse(struct request *request, const struct toolrack_error *err) {
    if (toolrack_error_code(err) == TOOLRACK_E_NOT_FOUND) {
        refuse_task(request, request->asked->id);
    } else {
        request_fail(request, 0, RPC_INTERNAL_ERROR, NULL, "%s", toolrack_error_message(err));
    }
}

static void acknowledge(struct request *request) {
    (void)request_result(request);
    request_complete(request);
}

/* Go on with a method on the thread for what waits for the store. */
static void run_method(struct request *request, yyjson_val *params,
                       void (*run)(struct request *request)) {
    const char *id = rpc_string(params, "taskId");
    if (!task_is_known(request)) {
        request_refuse_capability(request, CAPABILITY_TASKS);
        return;
    }
    if (id == NULL || strlen(id) > ID_MAX) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "params.taskId must be a string that tools/call gave");
        return;
    }
    if (request->asked == NULL) {
        request->asked = arena_zalloc(&request->arena, sizeof *request->asked);
    }
    if (request->asked != NULL) {
        request->asked->id = arena_copy(&request->arena, id, strlen(id));
    }
    if (request->asked == NULL || request->asked->id == NULL) {
        request_oom(request);
    } else {
        later_run(request, run);
    }
}

static void get(struct request *request) {
    CLEANUP(toolrack_error_freep) struct toolrack_error *err = toolrack_error_create();
    struct toolrack_text *text = NULL;
    if (toolrack_task_get(request->mcp->host, request->principal.id, request->asked->id, &text,
                          err) < 0) {
        refuse(request, err);
        return;
    }
    task_text_add(request_result(request), text, true);
    toolrack_text_unref(text);
    request_complete(request);
}

void task_get(struct request *request, yyjson_val *params) {
    run_method(request, params, get);
}

static void cancel(struct request *request) {
    CLEANUP(toolrack_error_freep) struct toolrack_error *err = toolrack_error_create();
    int code = toolrack_task_cancel(request->mcp->host, request->principal.id, request->asked->id,
                                    err);
    /* What has ended has ended. */
    if (code < 0 && code != TOOLRACK_E_EXISTS) {
        refuse(request, err);
    } else {
        acknowledge(request);
    }
}

void task_cancel(struct request *request, yyjson_val *params) {
    run_method(request, params, cancel);
}

/* Take the answers to what is open. Caller holds the lock of the request of the task.
 * @return whether there were any */
static bool take_answers(struct task *task, yyjson_val *responses) {
    bool took = false;
    for (size_t i = 0; i < task->count; i++) {
        yyjson_val *response = yyjson_obj_get(responses, task->inputs[i].key);
        if (task->waits[i] && response != NULL && inputs_take(&task->inputs[i], response)) {
            task->waits[i] = false;
            task->open--;
            took = true;
        }
    }
    if (took && task->open == 0) {
        (void)pthread_cond_broadcast(&task->request->changed);
    }
    return took;
}

/* An answer to what is not open is ignored. */
static void update(struct request *request) {
    CLEANUP(toolrack_error_freep) struct toolrack_error *err = toolrack_error_create();
    struct toolrack_text *text = NULL;
    if (toolrack_task_get(request->mcp->host, request->principal.id, request->asked->id, &text,
                          err) < 0) {
        refuse(request, err);
        return;
    }
    toolrack_text_unref(text);
    struct request *asking = task_find(request->mcp, request->asked->id);
    if (asking != NULL) {
        lock_take(&asking->lock);
        bool took = take_answers(asking->task, yyjson_doc_get_root(request->asked->responses));
        lock_release(&asking->lock);
        if (took) {
            task_show_open(asking->task);
        }
        request_unref(asking);
    }
    acknowledge(request);
}

void task_update(struct request *request, yyjson_val *params) {
    yyjson_val *responses = yyjson_obj_get(params, "inputResponses");
    if (task_is_known(request) && !yyjson_is_obj(responses)) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "params.inputResponses must be an object");
        return;
    }
    yyjson_alc alc = arena_alc(&request->arena);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    json_add_value(&text, responses);
    char *copy = text.failed ? NULL : arena_copy(&request->arena, text.data, text.length);
    request->asked = arena_zalloc(&request->arena, sizeof *request->asked);
    if (responses != NULL && copy != NULL && request->asked != NULL) {
        request->asked->responses =
                yyjson_read_opts(copy, text.length, YYJSON_READ_NUMBER_AS_RAW, &alc, NULL);
    }
    if (request->asked == NULL || (responses != NULL && request->asked->responses == NULL)) {
        request_oom(request);
    } else {
        run_method(request, params, update);
    }
}
