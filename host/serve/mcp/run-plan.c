/* run-plan.c - see run-plan.h. */
#include "serve/mcp/run-plan.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/object.h"
#include "base/text.h"
#include "serve/mcp/approve.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/later.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/progress.h"
#include "serve/mcp/request.h"
#include "serve/mcp/result.h"
#include "serve/mcp/search-tools.h"
#include "serve/mcp/shares.h"
#include "serve/mcp/submit.h"
#include "serve/mcp/task.h"
#include "serve/plans.h"
#include "toolrack/plan.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)

/* A plan that a request runs; in its arena. */
struct planned {
    const char *text; /* of the plan, and of its inputs (NULL: none); in the arena */
    size_t length;
    const char *inputs;
    struct toolrack_plan *plan; /* NULL: it does not run. Guarded by the lock of the request, as are
                                 * the next two */
    bool has_begun;
    bool asks;           /* a thread asks about a node */
    size_t ended;        /* nodes; of the run's thread, as is the next */
    struct buf ends;     /* a line for each of them */
    struct buf others;   /* those that did not plainly succeed, as members of an object */
    struct buf warnings; /* findings that keep nothing from running, as JSON; empty: none */
};

/* ------------------------------------------------------------------------- answers */

static void refuse(struct request *request, const struct buf *text) {
    if (text->failed) {
        request_oom(request);
        return;
    }
    struct buf *out = request_result(request);
    result_add_text(out, text->data, text->length);
    buf_add_text(out, ",\"isError\":true");
    request_complete(request);
}

/* What is wrong with the plan, for a model that writes it anew. */
static void refuse_plan(struct request *request, const struct toolrack_findings *findings) {
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    buf_add_text(&json, "{\"error\":\"Invalid\",\"message\":\"The plan is wrong; nothing has run. "
                        "Correct all findings and call run_plan again.\",\"findings\":");
    plans_add_findings(&json, &request->principal, findings, false);
    buf_add_char(&json, '}');
    if (json.failed) {
        request_oom(request);
        return;
    }
    struct buf *out = request_result(request);
    result_add_value(out, request->dialect, json.data, json.length);
    buf_add_text(out, ",\"isError\":true");
    request_complete(request);
}

/* How a run ended, or could not begin. */
struct ending {
    const char *id; /* NULL: it has not begun */
    const struct toolrack_text *result;
    const struct toolrack_error *err; /* NULL: it has a result */
};

static void add_failure(struct buf *out, const struct request *request,
                        const struct ending *ending) {
    const struct planned *planned = request->planned;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    result_add_words(&text, &request->principal, NULL, ending->err);
    if (ending->id == NULL) {
        buf_add_text(&text, "\nNothing has run.");
    } else {
        buf_printf(&text, "\nRun %s has ended. How its nodes have ended:\n", ending->id);
        buf_add(&text, planned->ends.data != NULL ? planned->ends.data : "none",
                planned->ends.length);
    }
    result_add_text(out, text.data != NULL ? text.data : "", text.length);
    buf_add_text(out, ",\"isError\":true");
    out->failed = out->failed || text.failed;
}

/* The members of the result. */
static void add_ending(struct buf *out, const struct request *request, const void *how) {
    const struct ending *ending = how;
    const struct planned *planned = request->planned;
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    size_t length = 0;
    if (ending->err != NULL) {
        add_failure(out, request, ending);
        return;
    }
    const char *value = toolrack_text_data(ending->result, &length);
    buf_printf(&json, "{\"run\":\"%s\",\"result\":", ending->id);
    buf_add(&json, value, length);
    if (planned->others.length > 0) {
        buf_add_text(&json, ",\"nodes\":{");
        buf_add(&json, planned->others.data, planned->others.length);
        buf_add_char(&json, '}');
    }
    if (planned->warnings.length > 0) {
        buf_add_text(&json, ",\"findings\":");
        buf_add(&json, planned->warnings.data, planned->warnings.length);
    }
    buf_add_char(&json, '}');
    if (json.failed || planned->warnings.failed || planned->others.failed) {
        out->failed = true;
    } else {
        result_add_value(out, request->dialect, json.data, json.length);
    }
}

/* --------------------------------------------------------------------------- a run */

/* It does not run any more, so nobody cancels it, and its share is free: what became of it is the
 * end of its task, or the answer. */
static void end(struct request *request, const struct ending *ending) {
    int code = ending->err != NULL ? toolrack_error_code(ending->err) : 0;
    lock_take(&request->lock);
    request->planned->plan = NULL;
    lock_release(&request->lock);
    approve_end(request, false);
    shares_give(request->mcp->shares, request->principal.party, SHARE_RUNS, 1);
    if (task_end_with(request, ending->err, add_ending, ending)) {
        /* The request is answered. */
    } else if (ending->id == NULL && code == TOOLRACK_E_INPUT_REQUIRED) {
        mrtr_ask(request);
    } else if (ending->id != NULL || code == 0 || !mrtr_refuse(request)) {
        add_ending(request_result(request), request, ending);
        request_complete(request);
    }
    buf_finish(&request->planned->ends);
    buf_finish(&request->planned->others);
    buf_finish(&request->planned->warnings);
    request_unref(request);
}

static void end_run(void *user, const char *id, int code, struct toolrack_text *result,
                    const struct toolrack_error *err) {
    struct request *request = user;
    OBJECT_CHECK(request, REQUEST_MAGIC);
    end(request, &(struct ending){.id = id, .result = result, .err = code < 0 ? err : NULL});
}

/* How a node ended: the model has no other way to know what was done. */
static void add_end(struct planned *planned, const struct principal *principal,
                    const struct toolrack_plan_event *event) {
    CLEANUP(buf_finish) struct buf how = BUF_INIT;
    struct buf *ends = &planned->ends;
    const char *id = toolrack_plan_node(planned->plan, event->node);
    const struct toolrack_error *why = event->err != NULL ? event->err : event->replaced;
    if (ends->length > RUN_PLAN_ENDS_MAX) {
        return;
    }
    buf_add_text(&how, event->state);
    if (why != NULL) {
        CLEANUP(buf_finish) struct buf told = BUF_INIT;
        const char *message = toolrack_error_message(why);
        principal_add_message(&told, principal, message, strlen(message));
        buf_add_text(&how, event->replaced != NULL ? " by its fallback: " : ": ");
        text_add_line(&how, told.data != NULL ? told.data : "", told.length);
        how.failed = how.failed || told.failed;
    }
    buf_printf(ends, "%s: ", id);
    buf_add(ends, how.data != NULL ? how.data : "", how.length);
    buf_add_text(ends, ends->length > RUN_PLAN_ENDS_MAX ? "\n...\n" : "\n");
    ends->failed = ends->failed || how.failed;
    if (why != NULL || strcmp(event->state, "succeeded") != 0) {
        buf_add_text(&planned->others, planned->others.length > 0 ? "," : "");
        buf_add_json_string(&planned->others, id, strlen(id));
        buf_add_char(&planned->others, ':');
        buf_add_json_string(&planned->others, how.data != NULL ? how.data : "", how.length);
    }
}

static void take_event(void *user, const struct toolrack_plan_event *event) {
    struct request *request = user;
    struct planned *planned = request->planned;
    if (event->kind != TOOLRACK_PLAN_ENDED) {
        return;
    }
    planned->ended++;
    add_end(planned, &request->principal, event);
    if (request->progress != NULL || request->task != NULL) {
        CLEANUP(buf_finish) struct buf message = BUF_INIT;
        double done = (double)planned->ended;
        double total = (double)toolrack_plan_count(planned->plan);
        buf_printf(&message, "%s: %s", toolrack_plan_node(planned->plan, event->node),
                   event->state);
        const char *text = message.failed ? NULL : message.data;
        if (!task_progress(request, done, total, text) && request->progress != NULL) {
            progress_report(request, done, total, text);
        }
    }
}

/* From now on nodes begin. A run that is to be a task is one before that, else its first question
 * about a node would find that nobody can be asked. */
static void take_id(void *user, const char *id) {
    struct request *request = user;
    (void)id; /* that of the end is told */
    if (task_is_due(request)) {
        task_make_now(request);
    }
    LOCK_SCOPE(&request->lock);
    request->planned->has_begun = true;
}

/* Ask about a node where a thread waits for the answer: one question at a time, as several nodes
 * may ask at once. */
static int approve_node(struct request *request, const struct toolrack_approval_request *asked) {
    struct planned *planned = request->planned;
    lock_take(&request->lock);
    while (planned->asks) {
        lock_wait(&request->lock, &request->changed);
    }
    planned->asks = true;
    lock_release(&request->lock);
    int answer = approve_call(request, asked);
    lock_take(&request->lock);
    planned->asks = false;
    (void)pthread_cond_broadcast(&request->changed);
    lock_release(&request->lock);
    return answer;
}

/* Before the first node the client is asked about the whole plan. Later it is asked about a node
 * where a thread waits for the answer; an answer that came with another call would be of a run that
 * begins anew, so then the run waits for a person. */
static int approve(void *user, const struct toolrack_approval_request *asked) {
    struct request *request = user;
    lock_take(&request->lock);
    bool has_begun = request->planned->has_begun;
    lock_release(&request->lock);
    if (!has_begun) {
        return approve_call(request, asked);
    }
    return (request->dialect->traits & DIALECT_STATELESS) == 0 || task_is_made(request)
                   ? approve_node(request, asked)
                   : TOOLRACK_APPROVAL_ASK_LATER;
}

/* The request has ended, or its task: so does its run, if it goes on. One that has become a task
 * goes on when its request is answered by that. */
static void leave_run(struct request *request) {
    bool is_unwanted = task_is_unwanted(request);
    LOCK_SCOPE(&request->lock);
    if (is_unwanted && request->planned->plan != NULL) {
        toolrack_plan_cancel(request->planned->plan);
    }
}

static void start(struct request *request, struct toolrack_plan *taken) {
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = taken;
    struct planned *planned = request->planned;
    struct toolrack_call_options call;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    char id[TOOLRACK_RUN_ID_ROOM];
    submit_options(request, &call);
    call.progress = NULL; /* that of the plan is told */
    call.approve = approve;
    if ((request->dialect->traits & DIALECT_STATELESS) != 0) {
        call.input = NULL; /* see approve() */
    }
    options.inputs = planned->inputs;
    options.call = &call;
    options.owner = request->principal.id;
    options.event = take_event;
    options.started = take_id;
    options.user = request;
    lock_take(&request->lock);
    planned->plan = plan;
    request->leave = leave_run;
    lock_release(&request->lock);
    task_watch(request);
    (void)request_ref(request); /* end()'s */
    if (toolrack_run_start(plan, &options, end_run, request, id, request->err) < 0) {
        end(request, &(struct ending){.err = request->err});
        return;
    }
    (void)STEAL(plan); /* the run's, which may have ended */
    if (request_is_over(request)) {
        leave_run(request); /* before there was something to cancel */
    }
}

/* ------------------------------------------------------------------ its beginning */

/* On a thread that may wait. */
static void check_and_start(struct request *request) {
    const struct planned *planned = request->planned;
    const struct subset subset = catalogue_subset(request->mcp);
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    enum toolrack_permission missing;
    if (request->err == NULL) {
        request->err = toolrack_error_create();
    }
    if (plans_open(&subset, &request->principal, planned->text, planned->length, &findings, &plan,
                   request->err) < 0) {
        request_oom(request);
    } else if (plan == NULL) {
        refuse_plan(request, findings);
    } else if (!plans_has_scopes(&request->principal, plan, &missing)) {
        request_refuse_scope(request, "the plan", missing);
    } else if (!shares_take(request->mcp->shares, request->principal.party, SHARE_RUNS, 1,
                            TOOLRACK_RUNS_STARTED_MAX)) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        buf_add_text(&text, "LimitExceeded: too many of your plans run; run this one when one of "
                            "them has ended.");
        refuse(request, &text);
    } else {
        if (toolrack_findings_count(findings) > 0) {
            plans_add_findings(&request->planned->warnings, &request->principal, findings, false);
        }
        start(request, STEAL(plan));
    }
}

/* A member of the arguments as text in the arena. NULL: out of memory. */
static const char *write_value(struct request *request, yyjson_val *value, size_t *ret_length) {
    yyjson_alc alc = arena_alc(&request->arena);
    return yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, ret_length, NULL);
}

/* What the call says, kept beyond its message. False: out of memory. */
static bool take(struct request *request, yyjson_val *arguments, size_t *ret_length) {
    struct planned *planned = arena_zalloc(&request->arena, sizeof *planned);
    const yyjson_alc alc = arena_alc(&request->arena);
    yyjson_val *plan = rpc_object(yyjson_obj_get(arguments, "plan"), &alc);
    yyjson_val *inputs = rpc_object(yyjson_obj_get(arguments, "inputs"), &alc);
    size_t length = 0;
    if (planned == NULL) {
        return false;
    }
    request->planned = planned;
    planned->text = write_value(request, plan, &planned->length);
    planned->inputs = yyjson_is_obj(inputs) ? write_value(request, inputs, &length) : NULL;
    request->arguments = write_value(request, arguments, ret_length);
    return planned->text != NULL && request->arguments != NULL &&
           (!yyjson_is_obj(inputs) || planned->inputs != NULL);
}

void run_plan_call(struct request *request, yyjson_val *params, yyjson_val *arguments) {
    CLEANUP(buf_finish) struct buf problem = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const yyjson_alc alc = arena_alc(&request->arena);
    if (!search_tools_check(SEARCH_RUN, arguments, &alc, &problem)) {
        buf_printf(&text, "InvalidArguments: %s.", problem.failed ? "" : problem.data);
        text.failed = text.failed || problem.failed;
        refuse(request, &text);
        return;
    }
    request->called = "run_plan";
    if (task_is_due(request) && !task_is_known(request)) {
        request_refuse_capability(request, CAPABILITY_TASKS);
        return;
    }
    if (!take(request, arguments, &request->arguments_length)) {
        request_oom(request);
        return;
    }
    if (!mrtr_begin(request, params, "tools/call", "run_plan", request->arguments,
                    request->arguments_length)) {
        return;
    }
    request_open_later(request);
    if (!later_choose(request, check_and_start)) {
        buf_add_text(&text, "LimitExceeded: too many of your plans are checked at once; send this "
                            "one again later.");
        refuse(request, &text);
    }
}
