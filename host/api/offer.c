/* The requests of offer.h: one call after the other of the plugins that offer something. */
#include "toolrack/offer.h"

#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "api/offer-list.h"
#include "api/offer-plugins.h"
#include "api/offer-request.h"
#include "api/offer-route.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "call/job.h"
#include "format/offered.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

#define OFFERING_MAGIC 0x6f666672u

/* One request. For the app it is a struct toolrack_call, like a job: both begin with a magic
 * number. */
struct offering {
    uint32_t magic;
    atomic_uint refs; /* of the app, and of the step that runs */
    struct toolrack *host;
    enum toolrack_offer what;
    enum offer offer;
    struct toolrack_call_options options;
    char *strings; /* copies of the options' strings */
    char *arguments;
    size_t length;
    toolrack_done *done;
    void *user;
    struct offer_plugins plugins;
    size_t next; /* the plugin to ask next */
    struct offer_list list;
    struct offer_route route;
    bool learns;       /* who lists what is being asked for: a list of `learner` */
    enum offer lesson; /* which */
    size_t learner;
    struct toolrack_error failure; /* of the last plugin that failed; code 0: none has */
    uint64_t started_ns;

    struct lock lock; /* guards what follows */
    struct job *job;  /* of the step that runs; a reference, or NULL */
    uint64_t step;    /* its number */
    bool cancelled;
};

static void offering_unref(struct offering *offering) {
    if (offering == NULL ||
        atomic_fetch_sub_explicit(&offering->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    OBJECT_WIPE(offering, OFFERING_MAGIC);
    offer_list_finish(&offering->list);
    offer_plugins_finish(&offering->plugins);
    offer_route_finish(&offering->route);
    job_unref(offering->job);
    lock_finish(&offering->lock);
    free(offering->strings);
    free(offering->arguments);
    free(offering);
}
CLEANUP_DEFINE(struct offering, offering_unref)

static bool is_list(enum toolrack_offer what) {
    return what == TOOLRACK_OFFER_RESOURCES || what == TOOLRACK_OFFER_TEMPLATES ||
           what == TOOLRACK_OFFER_PROMPTS;
}

/* ------------------------------------------------------------------ the end */

/* The app may keep the handle: the plugins are not kept with it. The step's reference is released.
 */
static void end(struct offering *offering, struct toolrack_result *result,
                const struct toolrack_error *err) {
    offer_plugins_finish(&offering->plugins);
    offering->done(offering->user, result, err);
    offering_unref(offering);
}

/* With a result; what `out` holds is handed over. */
static void end_with(struct offering *offering, struct buf *out) {
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    int code = result_end(out, &result, &err);
    if (code == 0) {
        result->duration_ns = clock_now_ns() - offering->started_ns;
    }
    end(offering, result, code < 0 ? &err : NULL);
}

static void end_failed(struct offering *offering, const struct toolrack_error *err) {
    end(offering, NULL, err);
}

/* No plugin has it, or those that may have it have failed. */
static void end_without(struct offering *offering) {
    struct toolrack_error err = offering->failure;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (err.code != 0) {
        end_failed(offering, &err);
        return;
    }
    result_begin(&out);
    switch (offering->what) {
    case TOOLRACK_OFFER_READ:
        (void)error_set(&err, TOOLRACK_E_NOT_FOUND, "no plugin offers this resource");
        break;
    case TOOLRACK_OFFER_PROMPT:
        (void)error_set(&err, TOOLRACK_E_NOT_FOUND, "no plugin offers this prompt");
        break;
    case TOOLRACK_OFFER_COMPLETE: buf_add_text(&out, "{\"completion\":{\"values\":[]}}"); break;
    default: buf_add_text(&out, "{}"); break;
    }
    if (err.code != 0) {
        end_failed(offering, &err);
    } else {
        end_with(offering, &out);
    }
}

/* All plugins were asked, or there is none. */
static void conclude(struct offering *offering) {
    if (!is_list(offering->what)) {
        end_without(offering);
        return;
    }
    struct toolrack_error err = {0};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    result_begin(&out);
    if (offer_list_write(&offering->list, &offering->plugins, &offering->host->log, &out)) {
        end_with(offering, &out);
    } else {
        (void)error_oom(&err);
        end_failed(offering, &err);
    }
}

/* -------------------------------------------------------------------- steps */

static void go_on(struct offering *offering);

/* A plugin has failed, or what it replied is wrong. Another one may have what this one does not
 * own: its failure is told if nobody has. */
static void fail_step(struct offering *offering, const struct toolrack_error *err) {
    bool is_end = offering->route.is_owned || err->code == TOOLRACK_E_CANCELLED ||
                  err->code == TOOLRACK_E_INPUT_REQUIRED;
    if (is_end) {
        end_failed(offering, err);
    } else {
        offering->failure = *err;
        go_on(offering);
    }
}

/* The reply of a plugin that was asked alone. True: the request has ended, or goes on. */
static bool take_reply(struct offering *offering, const struct plugin *plugin,
                       const struct toolrack_result *result) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(result->json, result->json_length, YYJSON_READ_NOFLAG);
    yyjson_val *reply = yyjson_doc_get_root(doc);
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const char *wrong = "there is no memory for it";
    enum offered_reply taken = OFFERED_WRONG;
    result_begin(&out);
    switch (reply != NULL ? offering->what : TOOLRACK_OFFER_RESOURCES) {
    case TOOLRACK_OFFER_READ: taken = offered_read(reply, result->is_content, &out, &wrong); break;
    case TOOLRACK_OFFER_PROMPT:
        taken = offered_prompt(reply, result->is_content, &out, &wrong);
        break;
    case TOOLRACK_OFFER_COMPLETE: taken = offered_completion(reply, &out, &wrong); break;
    case TOOLRACK_OFFER_SUBSCRIBE:
    case TOOLRACK_OFFER_UNSUBSCRIBE:
        taken = yyjson_is_null(reply) ? OFFERED_NOTHING : OFFERED_DONE;
        buf_add_text(&out, "{}");
        break;
    default: break;
    }
    if (taken == OFFERED_NOTHING) {
        return false;
    }
    if (taken == OFFERED_DONE) {
        end_with(offering, &out);
        return true;
    }
    struct toolrack_error err = {0};
    (void)error_set(&err, TOOLRACK_E_EXECUTION_FAILED,
                    "the reply of plugin '%s' cannot be used: %s", plugin->desc->plugin->id, wrong);
    fail_step(offering, &err);
    return true;
}

static void take_list(struct offering *offering, const struct toolrack_result *result,
                      const struct toolrack_error *err) {
    struct offer_list *list = &offering->list;
    size_t at = offering->next - 1;
    offer_list_take(list, at, offering->plugins.items[at], result, err, &offering->host->log);
    offer_keys_take(offering->host->offered, &offering->plugins, at, list->kind,
                    offering->route.changes, list->items[at], result == NULL);
}

/* A list that says whose something is. */
static void learn(struct offering *offering, const struct toolrack_result *result,
                  const struct toolrack_error *err) {
    static const enum toolrack_offer lists[OFFERED_KIND_COUNT] = {
            [OFFERED_RESOURCE] = TOOLRACK_OFFER_RESOURCES,
            [OFFERED_TEMPLATE] = TOOLRACK_OFFER_TEMPLATES,
            [OFFERED_PROMPT] = TOOLRACK_OFFER_PROMPTS};
    enum offered_kind kind = offer_route_kind(offering->lesson);
    size_t at = offering->learner;
    struct offer_list list = {0};
    bool has_room = offer_list_init(&list, lists[kind], 1);
    if (has_room) {
        offer_list_take(&list, 0, offering->plugins.items[at], result, err, &offering->host->log);
    }
    offer_keys_take(offering->host->offered, &offering->plugins, at, kind, offering->route.changes,
                    has_room ? list.items[0] : NULL, result == NULL || !has_room);
    offer_list_finish(&list);
}

/* A step has ended; its reference goes to the next one. */
static void step_done(void *user, struct toolrack_result *result,
                      const struct toolrack_error *err) {
    struct offering *offering = user;
    OBJECT_CHECK(offering, OFFERING_MAGIC);
    lock_take(&offering->lock);
    struct job *job = STEAL(offering->job);
    offering->step++;
    lock_release(&offering->lock);
    job_unref(job);
    if (offering->learns) {
        learn(offering, result, err);
        go_on(offering);
    } else if (is_list(offering->what)) {
        take_list(offering, result, err);
        go_on(offering);
    } else if (err != NULL) {
        fail_step(offering, err);
    } else if (!take_reply(offering, offering->plugins.items[offering->next - 1], result)) {
        go_on(offering);
    }
    toolrack_result_free(result);
}

/* What a list is asked for with, to learn whose something is: nobody is told of that. */
static struct toolrack_call_options learning_options(const struct offering *offering) {
    struct toolrack_call_options options = offering->options;
    options.ask = NULL;
    options.input = NULL;
    options.log = NULL;
    options.approve = NULL;
    options.progress = NULL;
    options.deadline_ms = OFFER_KEYS_DEADLINE_MS;
    return options;
}

/* Ask plugin `at` for something. */
static int ask(struct offering *offering, size_t at, enum offer offer, uint64_t step,
               struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = tool_create_offer(offering->plugins.items[at], offer);
    struct toolrack *host = offering->host;
    if (tool == NULL) {
        return error_oom(err);
    }
    bool learns = offering->learns;
    const struct toolrack_call_options options =
            learns ? learning_options(offering) : offering->options;
    const struct call_time time = {.started_ns = clock_now_ns(),
                                   .deadline_ms = call_deadline_ms(&host->calls, tool, &options)};
    /* The step may end, and with it the request, before pool_submit() returns. */
    atomic_fetch_add_explicit(&offering->refs, 1, memory_order_relaxed);
    CLEANUP(offering_unrefp) struct offering *held = offering;
    CLEANUP(job_unrefp) struct job *job = NULL;
    int code = pool_submit(host->pool, NULL, tool, learns ? "{}" : offering->arguments,
                           learns ? 2 : offering->length, &options, &time, step_done, offering,
                           &job, err);
    if (code < 0) {
        return code;
    }
    lock_take(&held->lock);
    bool is_cancelled = held->cancelled;
    if (held->step == step) {
        held->job = job_ref(job);
    }
    lock_release(&held->lock);
    if (is_cancelled) {
        pool_cancel(job);
    }
    return 0;
}

/* Ask for the next list that says whose something is. @return false: enough is known, and those
 * that are to be asked are left */
static bool learn_next(struct offering *offering, uint64_t step) {
    struct offer_keys *keys = offering->host->offered;
    struct toolrack_error err = {0};
    while (offering->learns && offer_route_learns(&offering->route, keys, &offering->plugins,
                                                  &offering->learner, &offering->lesson)) {
        if (ask(offering, offering->learner, offering->lesson, step, &err) == 0) {
            return true;
        }
        learn(offering, NULL, &err);
    }
    if (offering->learns) {
        offering->learns = false;
        offer_route_choose(&offering->route, keys, &offering->plugins);
    }
    return false;
}

static void go_on(struct offering *offering) {
    struct toolrack_error err = {0};
    for (;;) {
        lock_take(&offering->lock);
        bool is_cancelled = offering->cancelled;
        uint64_t step = offering->step;
        lock_release(&offering->lock);
        if (is_cancelled) {
            (void)error_set(&err, TOOLRACK_E_CANCELLED, "the request was cancelled");
            end_failed(offering, &err);
            return;
        }
        if (learn_next(offering, step)) {
            return;
        }
        if (offering->next == offering->plugins.count) {
            conclude(offering);
            return;
        }
        size_t at = offering->next++;
        if (is_list(offering->what)) {
            (void)offer_keys_known(offering->host->offered, &offering->plugins, at,
                                   offering->list.kind, &offering->route.changes);
        }
        if (ask(offering, at, offering->offer, step, &err) == 0) {
            return;
        }
        if (is_list(offering->what)) {
            take_list(offering, NULL, &err);
        } else if (offering->route.is_owned) {
            end_failed(offering, &err);
            return;
        } else {
            offering->failure = err;
        }
    }
}

bool offering_cancel(struct toolrack_call *call) {
    struct offering *offering = (struct offering *)(void *)call;
    if (offering->magic != OFFERING_MAGIC) {
        return false;
    }
    lock_take(&offering->lock);
    offering->cancelled = true;
    CLEANUP(job_unrefp) struct job *job = offering->job != NULL ? job_ref(offering->job) : NULL;
    lock_release(&offering->lock);
    if (job != NULL) {
        pool_cancel(job);
    }
    return true;
}

bool offering_release(struct toolrack_call *call) {
    struct offering *offering = (struct offering *)(void *)call;
    if (call == NULL || offering->magic != OFFERING_MAGIC) {
        return false;
    }
    offering_unref(offering);
    return true;
}

/* -------------------------------------------------------------------- submit */

static size_t size_of(const char *string) {
    return string != NULL ? strlen(string) + 1 : 0;
}

static const char *move_string(char **at, const char *string) {
    const char *start = *at;
    *at = string != NULL ? stpcpy(*at, string) + 1 : *at;
    return string != NULL ? start : NULL;
}

/* A list is what there is, whoever asks. */
static bool take_options(struct offering *offering, const struct toolrack_call_options *options) {
    struct toolrack_call_options *own = &offering->options;
    if (options != NULL) {
        memcpy(own, options, options->size < sizeof *own ? options->size : sizeof *own);
    }
    own->size = sizeof *own;
    if (is_list(offering->what)) {
        own->ask = NULL;
        own->input = NULL;
    }
    char *at = offering->strings = malloc(size_of(own->caller) + size_of(own->channel) +
                                          size_of(own->conversation) + size_of(own->trace) + 1);
    if (at == NULL) {
        return false;
    }
    own->caller = move_string(&at, own->caller);
    own->channel = move_string(&at, own->channel);
    own->conversation = move_string(&at, own->conversation);
    own->trace = move_string(&at, own->trace);
    return true;
}

static void drop_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    (void)user;
    (void)err;
    toolrack_result_free(result);
}

int toolrack_offer_submit(struct toolrack *host, enum toolrack_offer what, const char *arguments,
                          const struct toolrack_call_options *options, toolrack_done *done,
                          void *user, struct toolrack_call **ret, struct toolrack_error *err) {
    enum offer offer;
    arguments = arguments != NULL && arguments[0] != '\0' ? arguments : "{}";
    int code = offer_request_check(what, arguments, &offer, err);
    if (code < 0) {
        return code;
    }
    struct offering *offering = calloc(1, sizeof *offering);
    if (offering == NULL) {
        return error_oom(err);
    }
    offering->magic = OFFERING_MAGIC;
    atomic_init(&offering->refs, 1);
    lock_init(&offering->lock);
    offering->host = host;
    offering->what = what;
    offering->offer = offer;
    offering->done = done != NULL ? done : drop_outcome;
    offering->user = user;
    offering->started_ns = clock_now_ns();
    offering->arguments = strdup(arguments);
    offering->length = strlen(arguments);
    bool is_taken = take_options(offering, options);
    offer_plugins_find(host->registry, offer, offering->options.plugins, &offering->plugins);
    offering->options.plugins = NULL; /* the caller's */
    if (!offering->plugins.failed) {
        offer_keys_sort(host->offered, host->store, &offering->plugins);
    }
    if (offering->arguments == NULL || offering->plugins.failed || !is_taken ||
        !offer_route_init(&offering->route, offer, arguments, &offering->plugins) ||
        !offer_list_init(&offering->list, what, offering->plugins.count)) {
        offering_unref(offering);
        return error_oom(err);
    }
    offering->learns = offering->route.list_count > 0;
    if (ret != NULL) {
        atomic_fetch_add_explicit(&offering->refs, 1, memory_order_relaxed);
        *ret = (struct toolrack_call *)(void *)offering;
    }
    go_on(offering);
    return 0;
}
