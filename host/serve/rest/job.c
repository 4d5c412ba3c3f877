/* Calls with `Prefer: respond-async`. The task is stored before it is told; its row then says how
 * far it is, whoever asks, also after this process. */
#include "serve/rest/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/rendering.h"
#include "serve/rest/call.h"
#include "serve/rest/request.h"
#include "toolrack/serving.h"
#include "view/failure.h"

/* A call that runs. */
struct job {
    atomic_uint refs; /* of who submits it, and of its end */
    struct job *next; /* of those that have not ended; guarded by rest->lock, as are the next */
    struct job **link;
    struct toolrack_call *call; /* NULL: not there yet */
    bool unwanted;              /* it was cancelled */
    bool was_revoked;
    struct rest_request *request; /* a reference: its principal, tool and body */
    char id[TOOLRACK_TASK_ID_ROOM];
};

static void unref(struct job *job) {
    if (atomic_fetch_sub(&job->refs, 1) == 1) {
        toolrack_call_unref(job->call);
        rest_request_unref(job->request);
        free(job);
    }
}

static void list(struct rest *rest, struct job *job) {
    LOCK_SCOPE(&rest->lock);
    job->next = rest->jobs;
    job->link = &rest->jobs;
    if (job->next != NULL) {
        job->next->link = &job->next;
    }
    rest->jobs = job;
}

static void unlist(struct rest *rest, struct job *job) {
    LOCK_SCOPE(&rest->lock);
    *job->link = job->next;
    if (job->next != NULL) {
        job->next->link = job->link;
    }
}

/* --------------------------------------------------------------------- its end */

static void store_failure(struct rest *rest, const struct job *job,
                          const struct toolrack_error *from) {
    struct toolrack_error err;
    bool incomplete = false;
    view_take_error(&err, from);
    lock_take(&rest->lock);
    bool was_revoked = job->was_revoked;
    lock_release(&rest->lock);
    if (was_revoked) {
        (void)error_set(&err, TOOLRACK_E_CANCELLED,
                        "the token that began the call was revoked or has expired");
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new(&incomplete);
    if (doc != NULL) {
        yyjson_mut_doc_set_root(doc, error_object(doc, &err, NULL));
    }
    CLEANUP(freep) char *text = incomplete ? NULL : json_write(doc, 0, NULL, NULL);
    /* The row of one that was cancelled says so already. */
    (void)toolrack_task_set(rest->host, job->id, "failed", err.message, NULL,
                            text != NULL ? text : "{\"type\":\"OutOfMemory\"}", NULL, NULL);
}

static void end_job(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct job *job = user;
    struct rest *rest = job->request->rest;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (result == NULL) {
        store_failure(rest, job, err);
    } else {
        call_write_result(&out, result);
        (void)toolrack_task_set(rest->host, job->id, "completed", NULL,
                                out.failed ? "null" : out.data, NULL, NULL, NULL);
    }
    toolrack_result_free(result);
    unlist(rest, job);
    tick_release(&rest->ticker);
    unref(job);
}

/* ----------------------------------------------------------------- its beginning */

static void submit(struct job *job) {
    struct rest_request *request = job->request;
    struct rest *rest = request->rest;
    struct toolrack_call_options options;
    struct toolrack_call *call = NULL;
    struct toolrack_error *err = toolrack_error_create();
    call_options(request, &options);
    options.renewed = call_renewed;
    options.user = request;
    if (toolrack_submit_tool(rest->host, request->tool, request->body, request->body_length,
                             &options, end_job, job, &call, err) < 0) {
        end_job(job, NULL, err);
    } else {
        lock_take(&rest->lock);
        job->call = call;
        bool is_unwanted = job->unwanted;
        lock_release(&rest->lock);
        if (is_unwanted) {
            toolrack_cancel(call);
        }
    }
    toolrack_error_free(err);
    unref(job);
}

static void answer(struct rest_request *request, const struct job *job) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(buf_finish) struct buf fields = BUF_INIT;
    size_t length = 0;
    if (toolrack_task_get(request->rest->host, NULL, job->id, &text, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    const char *json = toolrack_text_data(text, &length);
    buf_printf(&fields, "Location: /api/tasks/%s\r\nPreference-Applied: respond-async\r\n",
               job->id);
    rest_answer_json(request, 202, json, length, NULL, fields.data);
}

/* On a thread that may wait for the store. */
static void begin(struct work *work) {
    struct rest_request *request =
            (struct rest_request *)((char *)work - offsetof(struct rest_request, work));
    struct rest *rest = request->rest;
    struct job *job = calloc(1, sizeof *job);
    struct toolrack_task row = TOOLRACK_TASK_INIT;
    row.owner = request->principal.id;
    row.tool = toolrack_tool_name(request->tool);
    row.version = toolrack_tool_version(request->tool);
    row.method = "rest/call";
    if (job == NULL) {
        rest_oom(request);
    } else if (toolrack_task_create(rest->host, &row, job->id, rest_err(request)) < 0) {
        rest_fail(request);
        free(job);
    } else {
        atomic_init(&job->refs, 2);
        job->request = rest_request_ref(request);
        list(rest, job);
        tick_hold(&rest->ticker);
        answer(request, job);
        submit(job);
    }
    rest_request_unref(request);
}

void rest_job_begin(struct rest_request *request) {
    /* The transport has its body back before the call begins. */
    const char *body = request->body != NULL ? request->body : "";
    request->body = arena_copy(&request->arena, body, request->body_length);
    request->work.run = begin;
    (void)rest_request_ref(request);
    if (request->body == NULL || !workers_add(&request->rest->store, &request->work)) {
        rest_request_unref(request);
        rest_oom(request);
    }
}

/* ------------------------------------------------------------------- cancelling */

/* The next that is to be ended, with a reference; NULL: there is none.
 * @param id  of the one, or NULL: each
 * @param revoked  only those whose token does not hold */
static struct job *take_next(struct rest *rest, const char *id, bool revoked) {
    LOCK_SCOPE(&rest->lock);
    struct job *job = rest->jobs;
    while (job != NULL && (job->unwanted || (id != NULL && strcmp(job->id, id) != 0) ||
                           (revoked && (job->request->grant == NULL ||
                                        toolrack_token_grant_holds(job->request->grant))))) {
        job = job->next;
    }
    if (job != NULL) {
        job->unwanted = true;
        job->was_revoked = revoked;
        (void)atomic_fetch_add(&job->refs, 1);
    }
    return job;
}

static void cancel(struct rest *rest, const char *id, bool revoked) {
    struct job *job;
    while ((job = take_next(rest, id, revoked)) != NULL) {
        lock_take(&rest->lock);
        struct toolrack_call *call = job->call;
        lock_release(&rest->lock);
        if (call != NULL) {
            toolrack_cancel(call);
        }
        unref(job);
    }
}

void rest_job_cancel(struct rest *rest, const char *id) {
    cancel(rest, id, false);
}

void rest_jobs_look(struct rest *rest) {
    cancel(rest, NULL, true);
}

void rest_jobs_cancel(struct rest *rest) {
    cancel(rest, NULL, false);
}
