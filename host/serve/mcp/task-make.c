/* task-make.c - how a call becomes a task. */
#include <string.h>

#include "base/clock.h"
#include "serve/mcp/client.h"
#include "serve/mcp/guard.h"
#include "serve/mcp/task-parts.h"
#include "serve/mcp/task-text.h"
#include "serve/mcp/task.h"

/* Answer by the task. */
static void answer(struct request *request, const struct toolrack_text *text) {
    struct buf *out = request_result_of(request, "task");
    task_text_add(out, text, false);
    request_complete(request);
}

/* When the row is removed, by the clock of waits. */
static uint64_t find_expiry(const struct toolrack_text *text) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *ttl = yyjson_obj_get(yyjson_doc_get_root(doc), "ttlMs");
    uint64_t ttl_ms = yyjson_get_uint(ttl);
    yyjson_doc_free(doc);
    return ttl_ms > 0 && ttl_ms < UINT64_MAX / CLOCK_NS_PER_MS / 2
                   ? clock_now_ns() + ttl_ms * CLOCK_NS_PER_MS
                   : 0;
}

/* Store the row. @return a code; then the state is TASK_SETTLED */
static int make_row(struct task *task, struct toolrack_text **ret_text,
                    struct toolrack_error *err) {
    struct request *request = task->request;
    struct toolrack *host = request->mcp->host;
    struct toolrack_task row = TOOLRACK_TASK_INIT;
    row.owner = request->principal.id;
    row.tool = request->tool != NULL ? toolrack_tool_name(request->tool) : request->called;
    row.version = request->tool != NULL ? toolrack_tool_version(request->tool) : "";
    row.method = "tools/call";
    int code = toolrack_task_create(host, &row, task->id, err);
    if (code == 0) {
        code = toolrack_task_get(host, NULL, task->id, ret_text, err);
        if (code < 0) {
            (void)toolrack_task_cancel(host, NULL, task->id, NULL);
        }
    }
    if (code == 0) {
        task->expires_ns = find_expiry(*ret_text);
        task_link(task);
    }
    lock_take(&request->lock);
    task->state = code == 0 ? TASK_IS : TASK_SETTLED;
    struct toolrack_call *unwanted = NULL;
    if (code == 0) {
        task->cancelled = request->answered; /* the client wants it no more */
        *(task->cancelled ? &unwanted : &task->call) = STEAL(request->call);
    }
    (void)pthread_cond_broadcast(&request->changed);
    lock_release(&request->lock);
    task_drop_call(unwanted);
    if (code == 0) {
        guard_begin(request, task_look);
    }
    return code;
}

/* Take the right to make it a task. Caller holds the lock of the request. */
static bool begin_making(struct task *task) {
    bool begins = task->state == TASK_CALL && !task->request->answered;
    task->state = begins ? TASK_MAKING : task->state;
    return begins;
}

/* Whether its client has closed the pipe: nobody can ask for a task of it later. */
static bool is_left(struct request *request) {
    struct client *client = request->client;
    if (client == NULL) {
        return false;
    }
    LOCK_SCOPE(&client->lock);
    return client->gone;
}

/* Make a call that runs a task. Where that is not possible it goes on as a call. */
static void make(struct task *task) {
    struct request *request = task->request;
    struct toolrack_text *text = NULL;
    lock_take(&request->lock);
    bool makes = begin_making(task);
    lock_release(&request->lock);
    if (makes && make_row(task, &text, NULL) == 0) {
        answer(request, text);
        if (is_left(request)) {
            task_stop(request->mcp, request->client);
        }
    }
    toolrack_text_unref(text);
}

/* Whether half of the calls of a tool take longer than what makes a call a task. What is no call of
 * a tool is several calls. */
static bool is_expected_long(const struct request *request) {
    if (request->tool == NULL) {
        return true;
    }
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    struct toolrack_text *text = NULL;
    size_t length = 0;
    buf_printf(&name, "%s@%s", toolrack_tool_name(request->tool),
               toolrack_tool_version(request->tool));
    if (name.failed || toolrack_statistics(request->mcp->host, name.data, &text, NULL) < 0) {
        return false;
    }
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *row = yyjson_arr_get_first(yyjson_doc_get_root(doc));
    uint64_t p50_ns = yyjson_get_uint(yyjson_obj_get(row, "p50_ns"));
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return p50_ns > (uint64_t)request->mcp->settings.task_after_ms * CLOCK_NS_PER_MS;
}

static bool set_timer(struct task *task, enum timer_line line) {
    task->line = line;
    return timer_set(&task->request->mcp->later, line, &task->timer);
}

/* It has run for some time. On the thread for what waits for the store. */
static void take_time(struct timer *timer) {
    struct task *task = (struct task *)((char *)timer - offsetof(struct task, timer));
    struct request *request = task->request;
    bool is_long = task->line == TIMER_TASK || is_expected_long(request);
    lock_take(&request->lock);
    bool goes_on = (task->state == TASK_CALL && !is_long) || task->state == TASK_ASKING;
    goes_on = goes_on && set_timer(task, is_long ? TIMER_EXPECT : TIMER_TASK);
    lock_release(&request->lock);
    if (goes_on) {
        return; /* with the reference */
    }
    if (!is_left(request)) {
        make(task);
    }
    request_unref(request);
}

static struct task *create(struct request *request) {
    struct task *task = arena_zalloc(&request->arena, sizeof *task);
    if (task != NULL) {
        task->request = request;
        request->task = task;
    }
    return task;
}

bool task_is_known(const struct request *request) {
    return (request->dialect->traits & DIALECT_STATELESS) != 0 &&
           (request->capabilities & CAPABILITY_TASKS) != 0;
}

static enum toolrack_task_mode mode_of(const struct request *request) {
    const struct settings *settings = &request->mcp->settings;
    return request->tool != NULL ? settings_task(settings, request->tool)
                                 : settings_task_of(settings, request->called, TOOLRACK_TASK_AUTO);
}

bool task_is_due(const struct request *request) {
    /* What call_tool calls is not known before, so its client may wait for that. */
    return (request->dialect->traits & DIALECT_STATELESS) != 0 &&
           (task_is_known(request) || !request->by_call_tool) &&
           mode_of(request) == TOOLRACK_TASK_ALWAYS;
}

bool task_make_first(struct request *request) {
    CLEANUP(toolrack_error_freep) struct toolrack_error *err = toolrack_error_create();
    if (!task_is_known(request)) {
        request_refuse_capability(request, CAPABILITY_TASKS);
        return false;
    }
    struct task *task = create(request);
    struct toolrack_text *text = NULL;
    if (task == NULL) {
        request_oom(request);
        return false;
    }
    task->state = TASK_MAKING;
    int code = make_row(task, &text, err);
    if (code == 0) {
        answer(request, text);
    } else {
        request_fail(request, 0, RPC_INTERNAL_ERROR, NULL, "there is no room for a task: %s",
                     toolrack_error_message(err));
    }
    toolrack_text_unref(text);
    return code == 0;
}

void task_watch(struct request *request) {
    struct mcp *mcp = request->mcp;
    if (request->task != NULL || !task_is_known(request) ||
        mode_of(request) == TOOLRACK_TASK_NEVER) {
        return;
    }
    struct task *task = create(request);
    if (task == NULL) {
        return; /* it is a call then */
    }
    task->timer.run = take_time;
    (void)request_ref(request);
    if (!set_timer(task, mcp->settings.task_after_ms > TASK_EXPECTED_AFTER_MS ? TIMER_EXPECT
                                                                              : TIMER_TASK)) {
        request_unref(request);
    }
}

void task_make_now(struct request *request) {
    if (request->task != NULL) {
        make(request->task);
    }
}

bool task_take_call(struct request *request, struct toolrack_call *call) {
    struct task *task = request->task;
    if (task == NULL) {
        return false;
    }
    lock_take(&request->lock);
    bool is_task = task->state == TASK_IS;
    bool is_unwanted = is_task && task->cancelled;
    if (is_task && !is_unwanted) {
        task->call = call;
    }
    lock_release(&request->lock);
    task_drop_call(is_unwanted ? call : NULL);
    return is_task;
}
