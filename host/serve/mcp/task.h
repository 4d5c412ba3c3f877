/* task.h - calls that are answered before they have ended: the tasks extension.
 *
 *   call -> asking -> call           what it asks for is asked in the way of a call
 *   call -> making -> task           the row is stored, the request is answered by the task
 *   call, asking, making -> settled  it ends as a call
 *
 * A call may become a task if its client knows tasks. A tool, or the configuration, can say that it
 * always does: then the task is made first, and the call begins after that. Otherwise it becomes
 * one when it takes long. From then on its questions are answered by tasks/update, its progress is
 * the message of the status, and its end is stored. The store has what clients see of it: what is
 * here is only what a running call needs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "toolrack/toolrack.h"

struct buf;
struct client;
struct mcp;
struct request;

/** Whether the client of a request knows tasks. */
bool task_is_known(const struct request *request);

/** Whether a request is a task: then it stays one. */
bool task_is_made(struct request *request);

/** Whether the call of a request must be a task from its beginning. */
bool task_is_due(const struct request *request);

/** Make a request a task, and answer it by that. On the thread for what waits for the store.
 * @return false: there is no task, and it is answered by that */
bool task_make_first(struct request *request);

/** For guard_begin(). */
bool task_look(struct request *request, bool holds);

/** From now on the call of a request may become a task, if its client knows them. */
void task_watch(struct request *request);

/** Make what runs for a request a task now, unless it is one or has ended: after task_watch(), on a
 * thread that may wait for the store. Where that is not possible it goes on as it is. */
void task_make_now(struct request *request);

/** The handle of the call of a request that became a task: taken. @return false: it is none */
bool task_take_call(struct request *request, struct toolrack_call *call);

/** The call has ended. @return false: it is no task, and will be none: answer the request */
bool task_end(struct request *request, const struct toolrack_result *result,
              const struct toolrack_error *err);

/** The same of what is no call of a tool: its `leave` lets it end.
 * @param err    NULL: it went well
 * @param write  adds the members of the result, which may say what failed */
bool task_end_with(struct request *request, const struct toolrack_error *err,
                   void (*write)(struct buf *out, const struct request *request, const void *end),
                   const void *end);

/** Before the call asks for something. @return whether it is a task: then task_input() asks;
 * otherwise it will not be one before task_asked() */
bool task_asks(struct request *request);
/** @param later  the answers come with another call */
void task_asked(struct request *request, bool later);
/** As options.input of a call that is a task: waits for the answers. */
void task_input(struct request *request, struct toolrack_input *inputs, size_t count);

/** Whether nobody wants the end of the call any more: of the task, or of the request, if it is no
 * task. */
bool task_is_unwanted(struct request *request);

/** As options.progress. @return false: it is no task */
bool task_progress(struct request *request, double done, double total, const char *message);

/* The methods. */
void task_get(struct request *request, yyjson_val *params);
void task_update(struct request *request, yyjson_val *params);
void task_cancel(struct request *request, yyjson_val *params);

/** @return false: out of memory */
bool task_open(struct mcp *mcp);
void task_close(struct mcp *mcp);
/** End the tasks of a client, or (NULL) all: they have failed, as the server ends. */
void task_stop(struct mcp *mcp, const struct client *client);
