/* Runs of plans over REST, from the plan to the run that is kept. A run has a thread of the host;
 * what the request needs is copied into it. */
#include "serve/rest/runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/linked.h"
#include "serve/plans.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"
#include "toolrack/serving.h"

CLEANUP_DEFINE(struct toolrack_error, toolrack_error_free)
CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)

/* The event stream of a run; in the arena of its request. */
struct watch {
    struct run *run; /* NULL: it has ended, or the client has left. Guarded by runs->lock */
};

/* A run that was begun here. */
struct run {
    struct rest_runs *runs; /* with a reference */
    struct run *next; /* of those that have not ended; guarded by runs->lock, as are the next */
    struct run **link;
    struct rest_request *watcher;       /* a reference, whose `more` is the watch; NULL: nobody */
    bool unwanted;                      /* its token does not hold: it is being cancelled */
    char id[TOOLRACK_RUN_ID_ROOM];      /* "": it has not begun */
    struct toolrack_plan *plan;         /* until it has ended */
    struct toolrack_token_grant *grant; /* a reference, or NULL */
    struct arena arena;
    struct principal principal; /* in the arena */
};

/* Also after its server is gone: the host ends its runs last. */
struct rest_runs {
    struct lock lock;  /* guards what follows, and what is in the list */
    struct rest *rest; /* NULL: gone */
    struct toolrack *host;
    struct run *first;
    size_t refs; /* of the server, and of each run */
};

struct rest_runs *rest_runs_create(struct rest *rest) {
    struct rest_runs *runs = calloc(1, sizeof *runs);
    if (runs != NULL) {
        runs->rest = rest;
        runs->host = rest->host;
        runs->refs = 1;
        lock_init(&runs->lock);
    }
    return runs;
}

static void unref(struct rest_runs *runs) {
    lock_take(&runs->lock);
    bool is_last = --runs->refs == 0;
    lock_release(&runs->lock);
    if (is_last) {
        lock_finish(&runs->lock);
        free(runs);
    }
}

void rest_runs_close(struct rest_runs *runs) {
    if (runs != NULL) {
        lock_take(&runs->lock);
        runs->rest = NULL;
        lock_release(&runs->lock);
        unref(runs);
    }
}

/* ------------------------------------------------------------------- a run and its end */

static void destroy(struct run *run) {
    if (run != NULL) {
        toolrack_token_grant_unref(run->grant);
        arena_finish(&run->arena);
        unref(run->runs);
        free(run);
    }
}

CLEANUP_DEFINE(struct run, destroy)

/* A run of the request's principal; NULL: out of memory. */
static struct run *create(struct rest_request *request) {
    struct run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return NULL;
    }
    run->runs = request->rest->runs;
    lock_take(&run->runs->lock);
    run->runs->refs++;
    lock_release(&run->runs->lock);
    arena_init(&run->arena, NULL, 0);
    run->grant = request->grant != NULL ? toolrack_token_grant_ref(request->grant) : NULL;
    run->principal = request->principal;
    if (!principal_keep(&run->principal, &run->arena)) {
        destroy(STEAL(run));
    }
    return run;
}

/* Let it count among those that run. False: its party has as many as it leaves to others. */
static bool list(struct run *run) {
    size_t own = 0;
    size_t all = 0;
    struct rest_runs *runs = run->runs;
    lock_take(&runs->lock);
    for (const struct run *at = runs->first; at != NULL; at = at->next) {
        own += strcmp(at->principal.party, run->principal.party) == 0;
        all++;
    }
    bool fits = own == 0 || own + all < REST_RUNS_MAX;
    if (fits) {
        LINKED_ADD(&runs->first, run);
        tick_hold(&runs->rest->ticker);
    }
    lock_release(&runs->lock);
    return fits;
}

/* Take it out, and give whoever watches it: a reference, or NULL. */
static struct rest_request *unlist(struct run *run) {
    LOCK_SCOPE(&run->runs->lock);
    struct rest_request *watcher = STEAL(run->watcher);
    if (watcher != NULL) {
        ((struct watch *)watcher->more)->run = NULL;
    }
    LINKED_REMOVE(run);
    if (run->runs->rest != NULL) {
        tick_release(&run->runs->rest->ticker);
    }
    return watcher;
}

/* The request that watches a run now: a reference, or NULL. */
static struct rest_request *watcher_of(struct run *run) {
    LOCK_SCOPE(&run->runs->lock);
    return run->watcher != NULL ? rest_request_ref(run->watcher) : NULL;
}

/* A run as it is kept, as a principal may read it. */
static void add_run(struct buf *out, const struct principal *principal,
                    const struct toolrack_text *text) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    principal_add_message(out, principal, json, length);
}

/* The last event of a stream: the run. */
static void send_end(struct rest_request *request, const char *id) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(toolrack_error_freep) struct toolrack_error *err = toolrack_error_create();
    if (toolrack_run_get(request->rest->host, NULL, id, &text, err) < 0) {
        rest_fail_of(request, err);
        return;
    }
    buf_add_text(&out, "{\"run\":");
    add_run(&out, &request->principal, text);
    buf_add_char(&out, '}');
    if (out.failed) {
        rest_oom_done(request);
    } else {
        rest_answer_json(request, 200, out.data, out.length, NULL, NULL);
    }
}

/* On the run's thread, as the next two. */
static void end_run(void *user, const char *id, int code, struct toolrack_text *result,
                    const struct toolrack_error *err) {
    struct run *run = user;
    struct rest_request *watcher = unlist(run);
    (void)code;
    (void)result;
    (void)err; /* it is kept with the run */
    if (watcher != NULL) {
        send_end(watcher, id);
        rest_request_unref(watcher);
    }
    destroy(run);
}

static void take_id(void *user, const char *id) {
    struct run *run = user;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    lock_take(&run->runs->lock);
    memcpy(run->id, id, sizeof run->id);
    lock_release(&run->runs->lock);
    struct rest_request *watcher = watcher_of(run);
    if (watcher != NULL) {
        buf_printf(&out, "{\"id\":\"%s\"}", id);
        rest_send(watcher, NULL, out.failed ? "" : out.data, out.length);
        rest_request_unref(watcher);
    }
}

static void take_event(void *user, const struct toolrack_plan_event *event) {
    struct run *run = user;
    struct rest_request *watcher = watcher_of(run);
    if (watcher == NULL) {
        return;
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    buf_add_char(&out, '{');
    plans_add_event(&out, &run->principal, run->plan, event);
    buf_add_char(&out, '}');
    if (!out.failed) {
        rest_send(watcher, NULL, out.data, out.length);
    }
    rest_request_unref(watcher);
}

/* ----------------------------------------------------------------- its beginning */

/* The client of a stream has left: the run goes on. */
static void leave(struct rest_request *request) {
    struct watch *watch = request->more;
    struct rest_runs *runs = request->rest->runs;
    lock_take(&runs->lock);
    bool watched = watch->run != NULL;
    if (watched) {
        watch->run->watcher = NULL;
        watch->run = NULL;
    }
    lock_release(&runs->lock);
    if (watched) {
        rest_end_stream(request);
        rest_request_unref(request);
    }
}

/* Let the request be told what happens. False: out of memory. */
static bool begin_watch(struct rest_request *request, struct run *run) {
    struct watch *watch = arena_zalloc(&request->arena, sizeof *watch);
    if (watch != NULL) {
        watch->run = run;
        request->more = watch;
        run->watcher = rest_request_ref(request);
    }
    return watch != NULL;
}

static void answer_begun(struct rest_request *request, const char *id) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf fields = BUF_INIT;
    buf_printf(&out, "{\"id\":\"%s\"}", id);
    buf_printf(&fields, "Location: /api/runs/%s\r\n", id);
    if (out.failed || fields.failed) {
        rest_oom_done(request);
    } else {
        rest_answer_json(request, 202, out.data, out.length, NULL, fields.data);
    }
}

/* Have a plan run, which is taken, and answer by its id, or by what happens. A run that is resumed
 * is given back before the client is told that it does not go on: it may try again. */
static void start(struct rest_request *request, struct toolrack_plan *taken) {
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = taken;
    CLEANUP(destroyp) struct run *run = create(request);
    yyjson_val *inputs = yyjson_obj_get(request->json, "inputs");
    CLEANUP(buf_finish) struct buf given = BUF_INIT;
    struct toolrack_call_options call;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    char id[TOOLRACK_RUN_ID_ROOM];
    if (yyjson_is_obj(inputs)) {
        json_add_value(&given, inputs);
    }
    if (run == NULL || given.failed || (request->prefers_events && !begin_watch(request, run))) {
        toolrack_plan_close(STEAL(plan));
        rest_oom(request);
        return;
    }
    plans_call_options(&request->principal, "rest", request->trace, &call);
    run->plan = plan;
    options.call = &call;
    options.inputs = given.data;
    options.owner = request->principal.id;
    options.event = take_event;
    options.started = take_id;
    options.user = run;
    if (!list(run)) {
        toolrack_plan_close(STEAL(plan));
        if (run->watcher != NULL) {
            rest_request_unref(STEAL(run->watcher));
        }
        rest_refuse(request, TOOLRACK_E_LIMIT_EXCEEDED,
                    "too many of your plans run, of the %u of all clients; send this one again "
                    "when one has ended",
                    REST_RUNS_MAX);
        return;
    }
    bool is_watched = run->watcher != NULL;
    if (toolrack_run_start(plan, &options, end_run, run, id, rest_err(request)) < 0) {
        struct rest_request *watcher = unlist(run);
        toolrack_plan_close(STEAL(plan));
        rest_fail(request);
        if (watcher != NULL) {
            rest_request_unref(watcher);
        }
        return;
    }
    (void)STEAL(plan); /* the run's, as the other is: it may have ended */
    (void)STEAL(run);
    if (is_watched) {
        rest_leave_with(request, leave);
    } else {
        answer_begun(request, id);
    }
}

/* Run a plan, which is taken, if the principal may. */
static void start_allowed(struct rest_request *request, struct toolrack_plan *taken) {
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = taken;
    enum toolrack_permission missing;
    if (!plans_shows(&request->rest->subset, &request->principal, plan)) {
        toolrack_plan_close(STEAL(plan));
        rest_refuse(request, TOOLRACK_E_PERMISSION_DENIED,
                    "the plan has a tool that you are not shown any more; ask whoever gave you the "
                    "token");
    } else if (!plans_has_scopes(&request->principal, plan, &missing)) {
        toolrack_plan_close(STEAL(plan));
        rest_refuse_scope(request, missing);
    } else {
        start(request, STEAL(plan));
    }
}

/* What is wrong with a plan, in a failure that says all of it. */
static void refuse_plan(struct rest_request *request, const struct toolrack_findings *findings) {
    struct toolrack_error err;
    CLEANUP(buf_finish) struct buf list = BUF_INIT;
    const struct toolrack_finding *first = toolrack_findings_get(findings, 0);
    size_t count = toolrack_findings_count(findings);
    (void)error_set(&err, TOOLRACK_E_INVALID, "the plan cannot run: %s%s%s; %s%s",
                    first->tool != NULL ? first->tool : "", first->tool != NULL ? ": " : "",
                    first->cause, first->fix, count > 1 ? "; see findings for the others" : "");
    plans_add_findings(&list, &request->principal, findings, false);
    if (list.failed) {
        rest_oom(request);
    } else {
        rest_fail_more(request, &err, "findings", list.data);
    }
}

void rest_runs_begin(struct rest_request *request) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    json_add_value(&text, yyjson_obj_get(request->json, "plan"));
    if (text.failed) {
        rest_oom(request);
    } else if (plans_open(&request->rest->subset, &request->principal, text.data, text.length,
                          &findings, &plan, rest_err(request)) < 0) {
        rest_fail(request);
    } else if (plan == NULL) {
        refuse_plan(request, findings);
    } else {
        start_allowed(request, STEAL(plan));
    }
}

/* --------------------------------------------------------------- those that are kept */

/* Each principal sees its own runs, and administrators all. */
static const char *owner_of(const struct rest_request *request) {
    return request->principal.admin ? NULL : request->principal.id;
}

void rest_runs_list(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_runs(request->rest->host, owner_of(request), &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, "runs", text);
    }
}

static void show(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_run_get(request->rest->host, owner_of(request), rest_part(request, "id"), &text,
                         rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    add_run(&request->out, &request->principal, text);
    if (request->out.failed) {
        rest_oom_done(request);
    } else {
        rest_answer_json(request, 200, request->out.data, request->out.length, NULL, NULL);
    }
}

void rest_runs_show(struct rest_request *request) {
    show(request);
}

void rest_runs_cancel(struct rest_request *request) {
    if (toolrack_run_cancel(request->rest->host, owner_of(request), rest_part(request, "id"),
                            rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        show(request);
    }
}

void rest_runs_remove(struct rest_request *request) {
    const char *id = rest_part(request, "id");
    if (toolrack_run_remove(request->rest->host, owner_of(request), id, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "id", id);
    (void)yyjson_mut_obj_add_bool(request->doc, root, "removed", true);
    rest_answer(request, root);
}

static void add_words(struct toolrack_run_said *said, size_t *count, yyjson_val *nodes,
                      enum toolrack_run_word word) {
    size_t at;
    size_t size;
    yyjson_val *node;
    yyjson_arr_foreach (nodes, at, size, node) {
        said[(*count)++] = (struct toolrack_run_said){.node = yyjson_get_str(node), .word = word};
    }
}

void rest_runs_resume(struct rest_request *request) {
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    yyjson_val *repeat = yyjson_obj_get(request->json, "repeat");
    yyjson_val *skip = yyjson_obj_get(request->json, "skip");
    size_t most = yyjson_arr_size(repeat) + yyjson_arr_size(skip);
    struct toolrack_run_said *said = arena_alloc(&request->arena, (most + 1) * sizeof *said);
    size_t count = 0;
    if (said == NULL) {
        rest_oom(request);
        return;
    }
    add_words(said, &count, repeat, TOOLRACK_RUN_REPEAT);
    add_words(said, &count, skip, TOOLRACK_RUN_SKIP);
    if (toolrack_run_reopen(request->rest->host, owner_of(request), rest_part(request, "id"), said,
                            count, &plan, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        start_allowed(request, STEAL(plan));
    }
}

/* ------------------------------------------------------------------- cancelling */

/* The next run whose token does not hold. False: there is none. */
static bool take_revoked(struct rest_runs *runs, char ret_id[static TOOLRACK_RUN_ID_ROOM]) {
    LOCK_SCOPE(&runs->lock);
    for (struct run *at = runs->first; at != NULL; at = at->next) {
        if (at->grant != NULL && !at->unwanted && at->id[0] != '\0' &&
            !toolrack_token_grant_holds(at->grant)) {
            at->unwanted = true;
            memcpy(ret_id, at->id, TOOLRACK_RUN_ID_ROOM);
            return true;
        }
    }
    return false;
}

void rest_runs_look(struct rest_runs *runs) {
    char id[TOOLRACK_RUN_ID_ROOM];
    while (take_revoked(runs, id)) {
        (void)toolrack_run_cancel(runs->host, NULL, id, NULL); /* it may have ended meanwhile */
    }
}
