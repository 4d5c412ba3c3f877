/* Calls with `Prefer: respond-async`. The task is stored before it is told; its row then says how
 * far it is, whoever asks, also after this process. */
#include "serve/rest/job.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json-write.h"
#include "base/linked.h"
#include "base/object.h"
#include "base/rendering.h"
#include "base/text.h"
#include "serve/rest/call.h"
#include "serve/rest/request.h"
#include "toolrack/serving.h"
#include "view/failure.h"

/* Between two stores of how far a call is, which are durable writes; and calls of which that is
 * stored in one look. */
#define PROGRESS_MS   1000u
#define PROGRESS_MAX  8u
/* Characters of what a tool says of it. */
#define PROGRESS_TEXT 200u

/* Why a call is to end. */
enum unwanted {
    WANTED,
    CANCELLED,
    REVOKED, /* the token that began it */
    ENDED    /* the server */
};

/* A call that runs. */
struct job {
    atomic_uint refs; /* of who submits it, and of its end */
    struct job *next; /* of those that have not ended; guarded by rest->lock, as are the next */
    struct job **link;
    struct toolrack_call *call; /* NULL: not there yet */
    enum unwanted unwanted;
    char *progress;               /* what the tool has told and is not stored yet, or NULL */
    uint64_t told_ns;             /* when that was stored last */
    struct rest_request *request; /* a reference: its principal, tool and body */
    char id[TOOLRACK_TASK_ID_ROOM];
};

static void unref(struct job *job) {
    if (atomic_fetch_sub(&job->refs, 1) == 1) {
        toolrack_call_unref(job->call);
        rest_request_unref(job->request);
        free(job->progress);
        free(job);
    }
}

static void list(struct rest *rest, struct job *job) {
    LOCK_SCOPE(&rest->lock);
    LINKED_ADD(&rest->jobs, job);
}

static void unlist(struct rest *rest, struct job *job) {
    LOCK_SCOPE(&rest->lock);
    LINKED_REMOVE(job);
}

/* --------------------------------------------------------------------- its end */

static void store_failure(struct rest *rest, const struct job *job,
                          const struct toolrack_error *from) {
    static const char *const words[] = {
            [REVOKED] = "the token that began the call was revoked or has expired",
            [ENDED] = "the server ended before the call did"};
    struct toolrack_error err;
    bool incomplete = false;
    view_take_error(&err, from);
    rest_tell(&job->request->principal, &err);
    lock_take(&rest->lock);
    enum unwanted why = job->unwanted;
    lock_release(&rest->lock);
    if (why == REVOKED || why == ENDED) {
        (void)error_set(&err, TOOLRACK_E_CANCELLED, "%s", words[why]);
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new(&incomplete);
    if (doc != NULL) {
        yyjson_mut_doc_set_root(doc, error_object(doc, &err, NULL));
    }
    CLEANUP(freep) char *text = incomplete ? NULL : json_write(doc, 0, NULL, NULL);
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    buf_printf(&message, "%s%s%s", err.field, err.field[0] != '\0' ? ": " : "", err.message);
    /* The row of one that was cancelled says so already. */
    (void)toolrack_task_set(rest->host, job->id, "failed",
                            message.failed ? err.message : message.data, NULL,
                            text != NULL ? text : "{\"type\":\"OutOfMemory\"}", NULL, NULL);
}

static void end_job(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct job *job = user;
    struct rest *rest = job->request->rest;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_error no_memory;
    if (result != NULL) {
        call_write_result(&out, result);
    }
    if (result != NULL && !out.failed) {
        (void)toolrack_task_set(rest->host, job->id, "completed", NULL, out.data, NULL, NULL, NULL);
    } else {
        (void)error_oom(&no_memory);
        store_failure(rest, job, result == NULL ? err : &no_memory);
    }
    toolrack_result_free(result);
    unlist(rest, job);
    tick_release(&rest->ticker);
    unref(job);
}

/* ------------------------------------------------------------------ how far it is */

static void add_number(struct buf *out, double number) {
    bool is_whole = number > -1e15 && number < 1e15 && number == (double)(long long)number;
    if (is_whole) {
        buf_printf(out, "%lld", (long long)number);
    } else {
        buf_add_json_double(out, number);
    }
}

/* "MESSAGE (DONE of TOTAL)", without what the tool did not tell. */
static void write_progress(struct buf *out, double done, double total, const char *message) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    text_add_line(&line, message != NULL ? message : "", message != NULL ? strlen(message) : 0);
    if (line.length > 0) {
        text_add_cut(out, line.data, line.length, PROGRESS_TEXT);
    }
    buf_add_text(out, line.length > 0 ? " (" : "");
    add_number(out, done);
    if (total > 0) {
        buf_add_text(out, " of ");
        add_number(out, total);
    }
    buf_add_text(out, line.length > 0 ? ")" : "");
    out->failed = out->failed || line.failed;
}

/* The tool waits for this: it is stored on the thread of the ticker. */
static void report_progress(void *user, double done, double total, const char *message) {
    struct rest_request *request = user;
    OBJECT_CHECK(request, REST_REQUEST_MAGIC);
    struct job *job = request->more;
    struct buf out = BUF_INIT;
    write_progress(&out, done, total, message);
    char *text = buf_steal(&out); /* NULL without memory: the last one stays */
    if (text != NULL) {
        LOCK_SCOPE(&request->rest->lock);
        free(job->progress);
        job->progress = text;
    }
}

/* The job that has waited longest of those whose progress may be stored now, with a reference;
 * NULL: there is none. */
static struct job *take_told(struct rest *rest, char **ret_progress) {
    uint64_t now_ns = clock_now_ns();
    struct job *found = NULL;
    LOCK_SCOPE(&rest->lock);
    for (struct job *job = rest->jobs; job != NULL; job = job->next) {
        bool is_due = job->told_ns == 0 ||
                      now_ns - job->told_ns >= (uint64_t)PROGRESS_MS * CLOCK_NS_PER_MS;
        if (job->progress != NULL && is_due && (found == NULL || job->told_ns < found->told_ns)) {
            found = job;
        }
    }
    if (found != NULL) {
        found->told_ns = now_ns;
        *ret_progress = STEAL(found->progress);
        (void)atomic_fetch_add(&found->refs, 1);
    }
    return found;
}

static void store_progress(struct rest *rest) {
    struct job *job;
    CLEANUP(freep) char *progress = NULL;
    for (unsigned i = 0; i < PROGRESS_MAX && (job = take_told(rest, &progress)) != NULL; i++) {
        /* A task that has ended meanwhile keeps its end. */
        (void)toolrack_task_set(rest->host, job->id, "working", progress, NULL, NULL, NULL, NULL);
        free(STEAL(progress));
        unref(job);
    }
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
    options.progress = report_progress;
    options.user = request;
    if (toolrack_submit_tool(rest->host, request->tool, request->body, request->body_length,
                             &options, end_job, job, &call, err) < 0) {
        end_job(job, NULL, err);
    } else {
        lock_take(&rest->lock);
        job->call = call;
        bool is_unwanted = job->unwanted != WANTED;
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

void rest_job_begin(struct rest_request *request) {
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
        request->more = job;
        list(rest, job);
        tick_hold(&rest->ticker);
        answer(request, job);
        submit(job);
    }
}

/* ------------------------------------------------------------------- cancelling */

static bool holds(const struct job *job) {
    return job->request->grant == NULL || toolrack_token_grant_holds(job->request->grant);
}

/* The next that is to be ended, with a reference; NULL: there is none.
 * @param id   of the one, or NULL: each
 * @param why  REVOKED: only those whose token does not hold */
static struct job *take_next(struct rest *rest, const char *id, enum unwanted why) {
    LOCK_SCOPE(&rest->lock);
    struct job *job = rest->jobs;
    while (job != NULL && (job->unwanted != WANTED || (id != NULL && strcmp(job->id, id) != 0) ||
                           (why == REVOKED && holds(job)))) {
        job = job->next;
    }
    if (job != NULL) {
        job->unwanted = why;
        (void)atomic_fetch_add(&job->refs, 1);
    }
    return job;
}

static void cancel(struct rest *rest, const char *id, enum unwanted why) {
    struct job *job;
    while ((job = take_next(rest, id, why)) != NULL) {
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
    cancel(rest, id, CANCELLED);
}

void rest_jobs_look(struct rest *rest) {
    cancel(rest, NULL, REVOKED);
    store_progress(rest);
}

void rest_jobs_cancel(struct rest *rest) {
    cancel(rest, NULL, ENDED);
}
