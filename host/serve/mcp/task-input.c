/* task-input.c - what a call that is a task tells its client while it runs: questions and progress.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "serve/mcp/inputs.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/task-parts.h"
#include "serve/mcp/task.h"

/* ------------------------------------------------------------------- questions */

bool task_asks(struct request *request) {
    struct task *task = request->task;
    if (task == NULL) {
        return false;
    }
    LOCK_SCOPE(&request->lock);
    while (task->state == TASK_MAKING) {
        lock_wait(&request->lock, &request->changed);
    }
    if (task->state == TASK_CALL) {
        task->state = TASK_ASKING;
    }
    return task->state == TASK_IS;
}

void task_asked(struct request *request, bool later) {
    struct task *task = request->task;
    if (task == NULL) {
        return;
    }
    lock_take(&request->lock);
    bool was_set = false;
    if (task->state == TASK_ASKING) {
        task->state = TASK_CALL;
        was_set = later && task_settle(task);
    }
    lock_release(&request->lock);
    if (was_set) {
        request_unref(request);
    }
}

bool task_is_made(struct request *request) {
    const struct task *task = request->task;
    LOCK_SCOPE(&request->lock);
    while (task != NULL && task->state == TASK_MAKING) {
        lock_wait(&request->lock, &request->changed);
    }
    return task != NULL && task->state == TASK_IS;
}

bool task_is_unwanted(struct request *request) {
    LOCK_SCOPE(&request->lock);
    const struct task *task = request->task;
    return task != NULL && task->state == TASK_IS ? task->cancelled : request->answered;
}

/* What is open, as inputRequests. Caller holds the lock of the request. */
static void write_open(struct buf *out, const struct task *task) {
    buf_add_char(out, '{');
    for (size_t i = 0; i < task->count; i++) {
        const struct toolrack_input *input = &task->inputs[i];
        if (task->waits[i]) {
            rpc_add_member(out, input->key);
            buf_add_char(out, '{');
            inputs_add(out, task->request->dialect, input, NULL);
            buf_add_char(out, '}');
        }
    }
    buf_add_char(out, '}');
}

/* Caller holds the lock of the rows. */
static void show_open(struct task *task) {
    CLEANUP(buf_finish) struct buf open = BUF_INIT;
    struct request *request = task->request;
    lock_take(&request->lock);
    bool waits = task->open > 0;
    if (waits) {
        write_open(&open, task);
    }
    lock_release(&request->lock);
    if (waits && !open.failed) {
        (void)task_set_row(task, "input_required", "it waits for the client's input", NULL, NULL,
                           open.data);
    }
}

void task_show_open(struct task *task) {
    LOCK_SCOPE(task_rows(task->request->mcp));
    show_open(task);
}

/* Wait until all is answered, or nobody will answer. Caller holds the lock of the request. */
static void wait_for_answers(struct task *task) {
    struct request *request = task->request;
    struct timespec until = clock_timespec(task->expires_ns);
    bool in_time = true;
    while (task->open > 0 && !task->cancelled && in_time) {
        if (task->expires_ns == 0) {
            lock_wait(&request->lock, &request->changed);
        } else {
            in_time = lock_wait_until(&request->lock, &request->changed, &until);
        }
    }
}

void task_input(struct request *request, struct toolrack_input *inputs, size_t count) {
    struct task *task = request->task;
    CLEANUP(freep) bool *waits = calloc(count + 1, sizeof *waits);
    size_t open = 0;
    for (size_t i = 0; waits != NULL && i < count; i++) {
        /* What was answered before it was a task is not asked again. */
        waits[i] = (request->capabilities & inputs_capability(&inputs[i])) != 0 &&
                   !mrtr_answer(request, &inputs[i]);
        open += waits[i];
    }
    if (open == 0) {
        return;
    }
    struct lock *rows = task_rows(request->mcp);
    lock_take(rows);
    lock_take(&request->lock);
    task->inputs = inputs;
    task->waits = waits;
    task->count = count;
    task->open = open;
    lock_release(&request->lock);
    show_open(task);
    lock_release(rows);
    lock_take(&request->lock);
    wait_for_answers(task);
    lock_release(&request->lock);
    lock_take(rows);
    lock_take(&request->lock);
    bool goes_on = !task->cancelled;
    task->inputs = NULL;
    task->count = task->open = 0;
    lock_release(&request->lock);
    if (goes_on) {
        (void)task_set_row(task, "working", NULL, NULL, NULL, NULL);
    }
    lock_release(rows);
}

/* --------------------------------------------------------------------- progress */

bool task_progress(struct request *request, double done, double total, const char *message) {
    struct task *task = request->task;
    if (task == NULL) {
        return false;
    }
    uint64_t now_ns = clock_now_ns();
    uint64_t pause_ns = (uint64_t)request->mcp->settings.task_poll_ms * CLOCK_NS_PER_MS;
    LOCK_SCOPE(task_rows(request->mcp));
    lock_take(&request->lock);
    bool is_task = task->state == TASK_IS;
    bool is_told = is_task && task->inputs == NULL && !task->cancelled &&
                   (task->told_ns == 0 || now_ns - task->told_ns >= pause_ns);
    if (is_told) {
        task->told_ns = now_ns;
    }
    lock_release(&request->lock);
    if (is_told) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        if (message != NULL) {
            text_add_line(&line, message, strlen(message));
        }
        buf_add_text(&line, line.length > 0 ? " (" : "");
        bool in_brackets = line.length > 0;
        buf_printf(&line, total > 0 ? "%.10g of %.10g" : "%.10g", done, total);
        buf_add_text(&line, in_brackets ? ")" : "");
        if (!line.failed) {
            (void)task_set_row(task, "working", line.data, NULL, NULL, NULL);
        }
    }
    return is_task;
}
