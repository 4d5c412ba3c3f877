/* task.c - see task.h: tasks that run, and their ends. */
#include "serve/mcp/task.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/mcp/client.h"
#include "serve/mcp/guard.h"
#include "serve/mcp/listen.h"
#include "serve/mcp/result.h"
#include "serve/mcp/task-parts.h"
#include "serve/mcp/task-text.h"

struct tasks {
    struct lock rows; /* see task_rows() */
    struct lock lock;
    struct task *first;
};

/* -------------------------------------------------------------------- the list */

static void tell(struct timer *timer);

void task_link(struct task *task) {
    struct tasks *tasks = task->request->mcp->tasks;
    task->tell.run = tell;
    LOCK_SCOPE(&tasks->lock);
    task->prev = NULL;
    task->next = tasks->first;
    if (task->next != NULL) {
        task->next->prev = task;
    }
    tasks->first = task;
}

static void unlink_task(struct task *task) {
    struct tasks *tasks = task->request->mcp->tasks;
    LOCK_SCOPE(&tasks->lock);
    *(task->prev != NULL ? &task->prev->next : &tasks->first) = task->next;
    if (task->next != NULL) {
        task->next->prev = task->prev;
    }
}

struct request *task_find(struct mcp *mcp, const char *id) {
    LOCK_SCOPE(&mcp->tasks->lock);
    struct task *task = mcp->tasks->first;
    while (task != NULL && strcmp(task->id, id) != 0) {
        task = task->next;
    }
    return task != NULL ? request_ref(task->request) : NULL;
}

/* ---------------------------------------------------------------- subscriptions */

static void tell(struct timer *timer) {
    struct task *task = (struct task *)((char *)timer - offsetof(struct task, tell));
    struct request *request = task->request;
    struct toolrack_text *text = NULL;
    if (toolrack_task_get(request->mcp->host, request->principal.id, task->id, &text, NULL) == 0) {
        listen_tell_task(request->mcp, request->principal.id, task->id, text);
    }
    toolrack_text_unref(text);
    request_unref(request);
}

/* The row has changed: on the thread for what waits for the store, many changes as one. */
static void changed(struct task *task) {
    struct request *request = request_ref(task->request);
    if (!timer_set(&request->mcp->later, TIMER_NOW, &task->tell)) {
        request_unref(request); /* it is set already */
    }
}

struct lock *task_rows(struct mcp *mcp) {
    return &mcp->tasks->rows;
}

/* Set the row, and let that be told. A task that has ended keeps its end. */
int task_set_row(struct task *task, const char *status, const char *message, const char *result,
                 const char *failure, const char *inputs) {
    int code = toolrack_task_set(task->request->mcp->host, task->id, status, message, result,
                                 failure, inputs, NULL);
    changed(task);
    return code;
}

static void set_failed(struct task *task, const char *message, int code,
                       const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf failure = BUF_INIT;
    buf_printf(&failure, "{\"code\":%d,\"message\":", code);
    buf_add_json_string(&failure, message, strlen(message));
    if (err != NULL) {
        buf_add_text(&failure, ",\"data\":{");
        rpc_add_string(&failure, "type", toolrack_code_name(toolrack_error_code(err)));
        rpc_add_string(&failure, "tool", toolrack_error_tool(err));
        buf_add_char(&failure, '}');
    }
    buf_add_char(&failure, '}');
    (void)task_set_row(task, "failed", message, NULL,
                       failure.failed ? "{\"code\":-32603,\"message\":\"out of memory\"}"
                                      : failure.data,
                       NULL);
}

/* ------------------------------------------------------------------------ end */

void task_drop_call(struct toolrack_call *call) {
    if (call != NULL) {
        toolrack_cancel(call);
        toolrack_call_unref(call);
    }
}

/* The members of a result end the task. */
static void set_completed(struct task *task, const struct buf *members) {
    if (members->failed) {
        set_failed(task, "the server is out of memory", RPC_INTERNAL_ERROR, NULL);
    } else if (task_set_row(task, "completed", NULL, members->data, NULL, NULL) ==
               TOOLRACK_E_LIMIT_EXCEEDED) {
        set_failed(task, "the result is longer than a task may keep", RPC_INTERNAL_ERROR, NULL);
    }
}

/* Whether the process of the tool died, or could not be started: in place of a call that is a
 * result, since the caller must see it and go on; a task of it has failed. */
static bool is_crash(const struct request *request, const struct toolrack_error *err) {
    enum toolrack_tool_state state = toolrack_tool_state(request->tool);
    return toolrack_error_code(err) == TOOLRACK_E_EXECUTION_FAILED &&
           !toolrack_error_is_from_tool(err) &&
           (toolrack_error_cause(err) == TOOLRACK_CAUSE_DEATH || state == TOOLRACK_STATE_FAILED ||
            state == TOOLRACK_STATE_QUARANTINED || state == TOOLRACK_STATE_LEFT_OUT);
}

static void set_result(struct task *task, const struct toolrack_result *result,
                       const struct toolrack_error *err) {
    struct request *request = task->request;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    buf_add_char(&out, '{');
    if (result != NULL) {
        result_add(&out, request->dialect, request->tool, result);
    } else {
        result_add_failure(&out, &request->principal, request->tool, err);
    }
    buf_add_char(&out, '}');
    set_completed(task, &out);
}

/* How a call of a tool has ended. */
struct call_end {
    const struct toolrack_result *result;
    const struct toolrack_error *err;
};

static void store_call(struct task *task, const void *how) {
    const struct call_end *end = how;
    const struct toolrack_result *result = end->result;
    const struct toolrack_error *err = end->err;
    int code = result != NULL ? 0 : toolrack_error_code(err);
    const char *message = result != NULL ? NULL : toolrack_error_message(err);
    const struct principal *principal = &task->request->principal;
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    CLEANUP(buf_finish) struct buf told = BUF_INIT;
    if (message != NULL) {
        principal_add_message(&told, principal, message, strlen(message));
        message = told.failed || told.data == NULL ? "" : told.data;
    }
    if (code == TOOLRACK_E_CANCELLED) {
        (void)task_set_row(task, "cancelled", message, NULL, NULL, NULL);
    } else if (code == TOOLRACK_E_NOT_FOUND) {
        set_failed(task, message, RPC_INVALID_PARAMS, err);
    } else if (result == NULL && is_crash(task->request, err)) {
        result_add_words(&words, principal, task->request->tool, err);
        set_failed(task, words.failed ? message : words.data, RPC_INTERNAL_ERROR, err);
    } else {
        set_result(task, result, err);
    }
}

/* How something else has. */
struct other_end {
    const struct toolrack_error *err;
    void (*write)(struct buf *out, const struct request *request, const void *end);
    const void *end;
};

static void store_other(struct task *task, const void *how) {
    const struct other_end *end = how;
    const struct principal *principal = &task->request->principal;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (end->err != NULL && toolrack_error_code(end->err) == TOOLRACK_E_CANCELLED) {
        const char *message = toolrack_error_message(end->err);
        principal_add_message(&out, principal, message, strlen(message));
        (void)task_set_row(task, "cancelled", out.failed ? NULL : out.data, NULL, NULL, NULL);
        return;
    }
    buf_add_char(&out, '{');
    end->write(&out, task->request, end->end);
    buf_add_char(&out, '}');
    set_completed(task, &out);
}

bool task_settle(struct task *task) {
    task->state = TASK_SETTLED;
    return task->timer.run != NULL &&
           timer_clear(&task->request->mcp->later, task->line, &task->timer);
}

static bool end_task(struct request *request, void (*store)(struct task *task, const void *how),
                     const void *how) {
    struct task *task = request->task;
    if (task == NULL) {
        return false;
    }
    lock_take(&request->lock);
    while (task->state == TASK_MAKING) {
        lock_wait(&request->lock, &request->changed);
    }
    bool is_task = task->state == TASK_IS;
    bool was_set = !is_task && task_settle(task);
    bool is_stopped = task->stopped;
    task->ended = true;
    task->cancelled = true; /* a handle that comes only now is released */
    struct toolrack_call *call = STEAL(task->call);
    lock_release(&request->lock);
    if (was_set) {
        request_unref(request); /* the timer's */
    }
    if (is_task) {
        if (!is_stopped) {
            store(task, how);
        }
        unlink_task(task);
    }
    guard_end(request);
    toolrack_call_unref(call);
    return is_task;
}

bool task_end(struct request *request, const struct toolrack_result *result,
              const struct toolrack_error *err) {
    return end_task(request, store_call, &(struct call_end){.result = result, .err = err});
}

bool task_end_with(struct request *request, const struct toolrack_error *err,
                   void (*write)(struct buf *out, const struct request *request, const void *end),
                   const void *end) {
    return end_task(request, store_other,
                    &(struct other_end){.err = err, .write = write, .end = end});
}

/* --------------------------------------------------------------- the whole server */

/* Let a call that nobody wants end. */
static void end_unwanted(struct task *task, bool is_stopped) {
    struct request *request = task->request;
    lock_take(&request->lock);
    task->cancelled = true;
    task->stopped = task->stopped || is_stopped;
    struct toolrack_call *call = STEAL(task->call);
    void (*leave)(struct request *) = request->leave;
    (void)pthread_cond_broadcast(&request->changed);
    lock_release(&request->lock);
    task_drop_call(call);
    if (leave != NULL) {
        leave(request);
    }
    changed(task);
}

bool task_look(struct request *request, bool holds) {
    struct task *task = request->task;
    lock_take(&request->lock);
    bool runs = task->state == TASK_IS && !task->ended;
    lock_release(&request->lock);
    if (runs && !holds) {
        (void)task_set_row(task, "cancelled", "the token that began it is revoked or has expired",
                           NULL, NULL, NULL);
        end_unwanted(task, true);
    }
    return runs && holds;
}

/* A task was cancelled, perhaps by another process. */
static void note(void *user, const struct toolrack_event *event) {
    struct mcp *mcp = user;
    if (event->kind == TOOLRACK_EVENT_TASK && event->message != NULL) {
        struct request *request = task_find(mcp, event->message);
        if (request != NULL) {
            end_unwanted(request->task, true);
            request_unref(request);
        }
    }
}

bool task_open(struct mcp *mcp) {
    mcp->tasks = calloc(1, sizeof *mcp->tasks);
    if (mcp->tasks == NULL) {
        return false;
    }
    lock_init(&mcp->tasks->rows);
    lock_init(&mcp->tasks->lock);
    mcp->later.delay_ms[TIMER_EXPECT] = TASK_EXPECTED_AFTER_MS;
    uint32_t after_ms = mcp->settings.task_after_ms;
    mcp->later.delay_ms[TIMER_TASK] =
            after_ms > TASK_EXPECTED_AFTER_MS ? after_ms - TASK_EXPECTED_AFTER_MS : after_ms;
    if (toolrack_add_listener(mcp->host, note, mcp, NULL) < 0) {
        lock_finish(&mcp->tasks->lock);
        lock_finish(&mcp->tasks->rows);
        free(STEAL(mcp->tasks));
    }
    return mcp->tasks != NULL;
}

void task_close(struct mcp *mcp) {
    if (mcp->tasks != NULL) {
        toolrack_remove_listener(mcp->host, note, mcp);
        lock_finish(&mcp->tasks->lock);
        lock_finish(&mcp->tasks->rows);
        free(STEAL(mcp->tasks));
    }
}

/* The first task of a client (NULL: of any) that is not stopped: a reference to its request. */
static struct request *find_running(struct mcp *mcp, const struct client *client) {
    LOCK_SCOPE(&mcp->tasks->lock);
    for (struct task *task = mcp->tasks->first; task != NULL; task = task->next) {
        if (!task->stopping && (client == NULL || task->request->client == client)) {
            task->stopping = true;
            return request_ref(task->request);
        }
    }
    return NULL;
}

void task_stop(struct mcp *mcp, const struct client *client) {
    struct request *request;
    while ((request = find_running(mcp, client)) != NULL) {
        set_failed(request->task, "the server ended before the call did", RPC_INTERNAL_ERROR, NULL);
        end_unwanted(request->task, true);
        request_unref(request);
    }
}
