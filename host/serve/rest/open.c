/* Begin and end of REST, and a request between the transport and its handler. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/linked.h"
#include "base/object.h"
#include "serve/rest/events.h"
#include "serve/rest/follow.h"
#include "serve/rest/job.h"
#include "serve/rest/kept.h"
#include "serve/rest/listing.h"
#include "serve/rest/openapi.h"
#include "serve/rest/problem.h"
#include "serve/rest/receive.h"
#include "serve/rest/request.h"
#include "serve/rest/runs.h"
#include "toolrack/serving.h"

/* Something happened in the host: what was made of its state is of an earlier one. */
static void take_event(void *user, const struct toolrack_event *event) {
    struct rest *rest = user;
    (void)atomic_fetch_add(&rest->state, 1);
    rest_events_tell(rest->events, event);
    if (event->kind == TOOLRACK_EVENT_TASK && event->message != NULL) {
        rest_job_cancel(rest, event->message);
    }
}

/* On the thread of the ticker. */
static void look(void *user) {
    struct rest *rest = user;
    rest_jobs_look(rest);
    rest_runs_look(rest->runs);
    rest_follow_look(rest);
}

/* ------------------------------------------------------------------- routing */

static const struct {
    const char *prefix;
    bool has_more; /* what begins so is a path too */
} own_paths[] = {{"/api", true}, {"/healthz", false}, {"/readyz", false}, {"/metrics", false}};

static bool is_own(const char *target) {
    const char *path = target_path(target);
    for (size_t i = 0; i < ARRAY_LENGTH(own_paths); i++) {
        size_t length = strlen(own_paths[i].prefix);
        if (strncmp(path, own_paths[i].prefix, length) == 0 &&
            (path[length] == '\0' || path[length] == '?' || path[length] == '#' ||
             (own_paths[i].has_more && path[length] == '/'))) {
            return true;
        }
    }
    return false;
}

static void refuse(struct front_route *ret, unsigned status, const char *message) {
    ret->status = status;
    ret->message = message;
}

static bool front_find(struct front *front, const char *method, const char *target,
                       struct front_route *ret) {
    const struct rest *rest = (struct rest *)front;
    struct target parts;
    char room[TARGET_LENGTH_MAX + 1];
    OBJECT_CHECK(rest, REST_MAGIC);
    *ret = (struct front_route){0};
    if (!is_own(target)) {
        return false;
    }
    if (strlen(target) > TARGET_LENGTH_MAX) {
        refuse(ret, 414, "the URL is longer than 2048 bytes");
        return true;
    }
    const char *problem = target_read(target, room, &parts);
    if (problem != NULL) {
        refuse(ret, 400, problem);
        return true;
    }
    const struct route *route = routes_find(method, &parts, ret->allow);
    bool is_head = strcmp(method, "HEAD") == 0; /* a stream would have a body */
    if (route != NULL) {
        ret->route = route;
        ret->class = routes_class(route, rest->metrics);
        ret->changes = strcmp(route->method, "GET") != 0 && strcmp(route->method, "DELETE") != 0;
        ret->logs_in = (route->flags & ROUTE_LOGS_IN) != 0;
        ret->at_end = (route->flags & ROUTE_AT_END) != 0;
        ret->gives = (route->flags & ROUTE_EVENTS_ONLY) != 0 ? FRONT_GIVES_EVENTS
                     : (route->flags & ROUTE_TEXT) != 0      ? FRONT_GIVES_TEXT
                     : (route->flags & ROUTE_EVENTS) != 0 && !is_head
                             ? FRONT_GIVES_EVENTS | FRONT_GIVES_JSON
                             : FRONT_GIVES_JSON;
    } else if (ret->allow[0] == '\0') {
        refuse(ret, 404, "there is nothing here; GET /api/openapi.json describes what there is");
    } else if (strcmp(method, "OPTIONS") == 0) {
        ret->status = 204;
    } else {
        refuse(ret, 405, "the method is not taken here; the header Allow has those that are");
    }
    return true;
}

/* ------------------------------------------------------------------ a request */

static struct rest_request *create(struct rest *rest, struct exchange *exchange) {
    struct rest_request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        return NULL;
    }
    request->magic = REST_REQUEST_MAGIC;
    atomic_init(&request->refs, 2); /* the caller's, and that of the list of live ones */
    request->rest = rest;
    request->exchange = exchange;
    lock_init(&request->lock);
    arena_init(&request->arena, request->room, sizeof request->room);
    LOCK_SCOPE(&rest->lock);
    rest->used++;
    LINKED_ADD(&rest->live, request);
    exchange->own = rest;
    return request;
}

static const char *keep(struct rest_request *request, const char *text, bool *failed) {
    const char *copy = text != NULL ? arena_copy(&request->arena, text, strlen(text)) : NULL;
    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

/* Who sends it. False: out of memory. */
static bool take_principal(struct rest_request *request, const struct principal *principal) {
    request->principal = *principal;
    if (routes_class(request->route, request->rest->metrics) == FRONT_PUBLIC) {
        return true;
    }
    bool failed = !principal_keep(&request->principal, &request->arena);
    if (request->principal.grant != NULL) {
        request->grant = toolrack_token_grant_ref(request->principal.grant);
    }
    if (request->principal.id == NULL) {
        const char *who = request->exchange->calls->who(request->exchange);
        request->principal.id = keep(request, who, &failed);
        failed = failed || who == NULL;
    }
    return !failed;
}

/* Copy what is needed after the transport has its own back. False: out of memory. */
static bool take(struct rest_request *request, const struct principal *principal,
                 const struct front_request *from) {
    bool failed = false;
    char *room = arena_alloc(&request->arena, strlen(from->target) + 1);
    request->route = from->route;
    request->id = keep(request, from->id, &failed);
    request->trace = keep(request, from->trace, &failed);
    request->last_event_id = keep(request, from->last_event_id, &failed);
    request->if_none_match = keep(request, from->if_none_match, &failed);
    request->prefer = keep(request, from->prefer, &failed);
    request->prefers_events = from->prefers_events;
    if (room == NULL) {
        return false;
    }
    (void)target_read(from->target, room, &request->target); /* as front_find() did */
    return !failed && take_principal(request, principal);
}

/* ------------------------------------------------------------------- turns */

/* Take a thread's share for a request that waits for tools, or chooses one. False: its party has as
 * many as it leaves to others. */
static bool begin_turn(struct rest *rest, struct rest_request *request, struct workers *workers) {
    unsigned own = 0;
    unsigned all = 0;
    LOCK_SCOPE(&rest->lock);
    for (const struct rest_request *at = rest->turn; at != NULL; at = at->turn_next) {
        all += at->turn_of == workers;
        own += at->turn_of == workers && strcmp(at->principal.party, request->principal.party) == 0;
    }
    if (own > 0 && own + all >= workers->most) {
        return false;
    }
    request->turn_of = workers;
    request->turn_next = rest->turn;
    rest->turn = request;
    return true;
}

static void end_turn(struct rest *rest, struct rest_request *request) {
    LOCK_SCOPE(&rest->lock);
    struct rest_request **at = &rest->turn;
    while (*at != request) {
        at = &(*at)->turn_next;
    }
    *at = request->turn_next;
}

static void run(struct work *work) {
    struct rest_request *request =
            (struct rest_request *)((char *)work - offsetof(struct rest_request, work));
    lock_take(&request->lock);
    bool is_gone = request->gone;
    lock_release(&request->lock);
    if (is_gone) { /* while it waited for a thread: what nobody waits for is not begun */
        rest_refuse(request, TOOLRACK_E_CANCELLED, "the client has left");
    } else {
        request->route->handle(request);
    }
    rest_request_unref(request);
}

static void run_turn(struct work *work) {
    struct rest_request *request =
            (struct rest_request *)((char *)work - offsetof(struct rest_request, work));
    (void)rest_request_ref(request);
    run(work);
    end_turn(request->rest, request);
    rest_request_unref(request);
}

/* Where a route's requests are handled; NULL: at once. */
static struct workers *workers_of(struct rest *rest, const struct route *route) {
    return (route->flags & ROUTE_LONG) != 0      ? &rest->turns
           : (route->flags & ROUTE_CHOOSES) != 0 ? &rest->choices
           : (route->flags & ROUTE_WAITS) != 0   ? &rest->store
                                                 : NULL;
}

static void handle(struct rest_request *request) {
    struct rest *rest = request->rest;
    struct workers *workers = workers_of(rest, request->route);
    if (workers == NULL) {
        request->route->handle(request);
        return;
    }
    bool is_shared = workers != &rest->store;
    if (is_shared && !begin_turn(rest, request, workers)) {
        rest_refuse(request, TOOLRACK_E_LIMIT_EXCEEDED,
                    "too many of your %s, of the %u of all clients; send this one again later",
                    workers == &rest->turns ? "messages are executed" : "texts are looked up",
                    workers->most);
        return;
    }
    request->work.run = is_shared ? run_turn : run;
    (void)rest_request_ref(request);
    if (!workers_add(workers, &request->work)) {
        if (is_shared) {
            end_turn(rest, request);
        }
        rest_request_unref(request);
        rest_oom(request);
    }
}

static void front_receive(struct front *front, const struct principal *principal,
                          const struct front_request *from, struct exchange *exchange) {
    struct rest *rest = (struct rest *)front;
    OBJECT_CHECK(rest, REST_MAGIC);
    struct rest_request *request = create(rest, exchange);
    if (request == NULL) {
        exchange->calls->finish(exchange, &(struct exchange_answer){.status = 503});
        return;
    }
    if (!take(request, principal, from)) {
        rest_oom(request);
    } else if (request->principal.profile != NULL &&
               !toolrack_has_profile(rest->host, request->principal.profile)) {
        rest_refuse(request, TOOLRACK_E_NOT_FOUND,
                    "the configuration has no profile of the name %.64s",
                    request->principal.profile);
    } else if (rest_request_check(request, from)) {
        handle(request);
    }
    rest_request_unref(request);
}

/* ------------------------------------------------------------------- the end */

/* A live request, with a reference: of an exchange, or where that is NULL the next that fits. */
static struct rest_request *find_live(struct rest *rest, const struct exchange *exchange) {
    LOCK_SCOPE(&rest->lock);
    struct rest_request *request = rest->live;
    while (request != NULL) {
        lock_take(&request->lock);
        bool found = request->exchange == exchange;
        lock_release(&request->lock);
        if (found) {
            return rest_request_ref(request);
        }
        request = request->next;
    }
    return NULL;
}

static void leave(struct rest_request *request) {
    lock_take(&request->lock);
    request->gone = true;
    struct toolrack_call *call = request->call;
    void (*function)(struct rest_request *) = request->leave;
    lock_release(&request->lock);
    if (call != NULL) { /* it has a reference as long as the request is there */
        toolrack_cancel(call);
    }
    if (function != NULL) {
        function(request);
    }
}

static void front_gone(struct front *front, struct exchange *exchange) {
    struct rest *rest = (struct rest *)front;
    struct rest_request *request = exchange->own != NULL ? find_live(rest, exchange) : NULL;
    if (request != NULL) {
        leave(request);
        rest_request_unref(request);
    }
}

/* Each live request that fits, with a reference; NULL: none. */
static struct rest_request **collect(struct rest *rest, size_t *ret_count) {
    size_t count = 0;
    *ret_count = 0;
    LOCK_SCOPE(&rest->lock);
    for (struct rest_request *at = rest->live; at != NULL; at = at->next) {
        count++;
    }
    struct rest_request **list = count > 0 ? calloc(count, sizeof *list) : NULL;
    for (struct rest_request *at = rest->live; list != NULL && at != NULL; at = at->next) {
        list[(*ret_count)++] = rest_request_ref(at);
    }
    return list;
}

static void each_live(struct rest *rest, void (*function)(struct rest_request *request)) {
    size_t count;
    CLEANUP(freep) struct rest_request **list = collect(rest, &count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        function(list[i]);
        rest_request_unref(list[i]);
    }
}

static void leave_stream(struct rest_request *request) {
    lock_take(&request->lock);
    bool follows = request->follows;
    lock_release(&request->lock);
    if (follows) {
        leave(request);
    }
}

static void front_drain(struct front *front) {
    struct rest *rest = (struct rest *)front;
    lock_take(&rest->lock);
    rest->draining = true;
    lock_release(&rest->lock);
    each_live(rest, leave_stream);
}

/* It is answered first: its call ends with words for a client that cancelled it. */
static void cut(struct rest_request *request) {
    struct toolrack_error err;
    (void)error_set(&err, TOOLRACK_E_CANCELLED,
                    "the server ended before it answered the request; what runs for it was "
                    "cancelled, and what was done by then stays done");
    error_set_begun(&err, strcmp(request->route->method, "GET") != 0);
    rest_fail_with(request, &err, NULL, NULL);
    leave(request);
}

static void front_cut(struct front *front) {
    struct rest *rest = (struct rest *)front;
    each_live(rest, cut);
}

static const struct front_calls calls = {.find = front_find,
                                         .receive = front_receive,
                                         .gone = front_gone,
                                         .drain = front_drain,
                                         .cut = front_cut,
                                         .refuse = problem_refuse,
                                         .refusal_type = PROBLEM_TYPE,
                                         .counted_as = COUNTS_REST};

/* Who is given the metrics, and what OAuth asks for, where it is configured. False: out of memory.
 */
static bool read_settings(struct rest *rest) {
    static const char *const names[REST_SCOPES] = {"safe", "confirm", "dangerous"};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_serving(rest->host, &text, NULL) < 0) {
        return false;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *metrics = yyjson_obj_get(root, "metrics");
    rest->metrics = yyjson_equals_str(metrics, "public")   ? FRONT_PUBLIC
                    : yyjson_equals_str(metrics, "caller") ? FRONT_CALLER
                                                           : FRONT_ADMIN;
    yyjson_val *scopes = yyjson_ptr_get(root, "/oauth/scopes");
    bool is_read = doc != NULL;
    for (size_t i = 0; i < REST_SCOPES; i++) {
        const char *scope = yyjson_get_str(yyjson_obj_get(scopes, names[i]));
        rest->scopes[i] = scope != NULL ? strdup(scope) : NULL;
        is_read = is_read && (scope == NULL || rest->scopes[i] != NULL);
    }
    return is_read;
}

/* What the routes are does not change while the server runs. False: out of memory. */
static bool make_document(struct rest *rest) {
    struct buf out = BUF_INIT;
    openapi_write(&out, rest->metrics);
    size_t length = out.length;
    rest->document = kept_create(buf_steal(&out), length);
    return rest->document != NULL;
}

int rest_create(const struct rest_options *options, struct front **ret,
                struct toolrack_error *err) {
    struct rest *rest = sodium_init() >= 0 ? calloc(1, sizeof *rest) : NULL;
    if (rest == NULL) {
        return error_oom(err);
    }
    rest->front.calls = &calls;
    rest->magic = REST_MAGIC;
    rest->host = options->host;
    rest->counts = options->counts;
    rest->profile = options->profile != NULL ? strdup(options->profile) : NULL;
    rest->subset = (struct subset){.host = options->host, .profile = rest->profile};
    lock_init(&rest->lock);
    (void)pthread_cond_init(&rest->quiet, NULL);
    bool made = workers_init(&rest->store, REST_STORE_THREADS);
    made = workers_init(&rest->choices, WORK_CHOICE_THREADS) && made;
    made = workers_init(&rest->turns, REST_TURN_THREADS) && made;
    rest->listing = listing_create();
    rest->events = rest_events_create();
    rest->runs = rest_runs_create(rest);
    tick_init(&rest->ticker, look, rest);
    if (!made || rest->listing == NULL || rest->events == NULL || rest->runs == NULL ||
        !read_settings(rest) || !make_document(rest) ||
        (options->profile != NULL && rest->profile == NULL) ||
        toolrack_add_listener(rest->host, take_event, rest, NULL) < 0) {
        rest_destroy(&rest->front);
        return error_oom(err);
    }
    *ret = &rest->front;
    return 0;
}

void rest_destroy(struct front *front) {
    struct rest *rest = (struct rest *)front;
    if (rest == NULL) {
        return;
    }
    OBJECT_CHECK(rest, REST_MAGIC);
    toolrack_remove_listener(rest->host, take_event, rest);
    each_live(rest, leave);
    workers_finish(&rest->turns);
    workers_finish(&rest->choices);
    workers_finish(&rest->store);
    rest_jobs_cancel(rest);
    lock_take(&rest->lock);
    while (rest->used > 0) {
        lock_wait(&rest->lock, &rest->quiet);
    }
    lock_release(&rest->lock);
    rest_runs_close(rest->runs); /* a run that ends later does not hold the ticker any more */
    tick_finish(&rest->ticker);
    listing_destroy(rest->listing);
    kept_unref(rest->document);
    rest_events_destroy(rest->events);
    for (size_t i = 0; i < REST_SCOPES; i++) {
        free(rest->scopes[i]);
    }
    free(rest->profile);
    (void)pthread_cond_destroy(&rest->quiet);
    lock_finish(&rest->lock);
    OBJECT_WIPE(rest, REST_MAGIC);
    free(rest);
}
