/* The requests of offer.h: one call after the other of the plugins that offer something. */
#include "toolrack/offer.h"

#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "api/offer-list.h"
#include "api/offer-plugins.h"
#include "api/offer-request.h"
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

/* No plugin has it. */
static void end_without(struct offering *offering) {
    struct toolrack_error err = {0};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
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

/* The reply of a plugin that was asked alone. True: the request has ended. */
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
    end_failed(offering, &err);
    return true;
}

/* A step has ended; its reference goes to the next one. */
static void step_done(void *user, struct toolrack_result *result,
                      const struct toolrack_error *err) {
    struct offering *offering = user;
    OBJECT_CHECK(offering, OFFERING_MAGIC);
    size_t asked = offering->next - 1;
    const struct plugin *plugin = offering->plugins.items[asked];
    lock_take(&offering->lock);
    struct job *job = STEAL(offering->job);
    offering->step++;
    lock_release(&offering->lock);
    job_unref(job);
    if (is_list(offering->what)) {
        offer_list_take(&offering->list, asked, plugin, result, err, &offering->host->log);
        go_on(offering);
    } else if (err != NULL) {
        end_failed(offering, err);
    } else if (!take_reply(offering, plugin, result)) {
        go_on(offering);
    }
    toolrack_result_free(result);
}

/* Ask one plugin. */
static int ask(struct offering *offering, struct plugin *plugin, uint64_t step,
               struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = tool_create_offer(plugin, offering->offer);
    struct toolrack *host = offering->host;
    if (tool == NULL) {
        return error_oom(err);
    }
    const struct call_time time = {
            .started_ns = clock_now_ns(),
            .deadline_ms = call_deadline_ms(&host->calls, tool, &offering->options)};
    /* The step may end, and with it the request, before pool_submit() returns. */
    atomic_fetch_add_explicit(&offering->refs, 1, memory_order_relaxed);
    CLEANUP(offering_unrefp) struct offering *held = offering;
    CLEANUP(job_unrefp) struct job *job = NULL;
    int code = pool_submit(host->pool, NULL, tool, offering->arguments, offering->length,
                           &offering->options, &time, step_done, offering, &job, err);
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
        if (offering->next == offering->plugins.count) {
            conclude(offering);
            return;
        }
        struct plugin *plugin = offering->plugins.items[offering->next++];
        if (ask(offering, plugin, step, &err) == 0) {
            return;
        }
        if (!is_list(offering->what)) {
            end_failed(offering, &err);
            return;
        }
        offer_list_take(&offering->list, offering->next - 1, plugin, NULL, &err,
                        &offering->host->log);
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
    if (offering->arguments == NULL || offering->plugins.failed || !is_taken ||
        !offer_list_init(&offering->list, what, offering->plugins.count)) {
        offering_unref(offering);
        return error_oom(err);
    }
    if (ret != NULL) {
        atomic_fetch_add_explicit(&offering->refs, 1, memory_order_relaxed);
        *ret = (struct toolrack_call *)(void *)offering;
    }
    go_on(offering);
    return 0;
}

/* ---------------------------------------------------------------------- wait */

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_over;
    struct toolrack_result *result;
    struct toolrack_error err;
};

static void wake_waiting(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    struct waiting *waiting = user;
    (void)pthread_mutex_lock(&waiting->lock);
    waiting->result = result;
    if (err != NULL) {
        waiting->err = *err;
    }
    waiting->is_over = true;
    (void)pthread_cond_signal(&waiting->changed);
    (void)pthread_mutex_unlock(&waiting->lock);
}

int toolrack_offer_call(struct toolrack *host, enum toolrack_offer what, const char *arguments,
                        const struct toolrack_call_options *options, struct toolrack_result **ret,
                        struct toolrack_error *err) {
    struct waiting waiting = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    int code = toolrack_offer_submit(host, what, arguments, options, wake_waiting, &waiting, NULL,
                                     err);
    if (code < 0) {
        return code;
    }
    (void)pthread_mutex_lock(&waiting.lock);
    while (!waiting.is_over) {
        (void)pthread_cond_wait(&waiting.changed, &waiting.lock);
    }
    (void)pthread_mutex_unlock(&waiting.lock);
    if (waiting.result == NULL) {
        if (err != NULL) {
            *err = waiting.err;
        }
        return waiting.err.code;
    }
    *ret = waiting.result;
    return 0;
}

bool toolrack_offers(struct toolrack *host, enum toolrack_offer what) {
    switch (what) {
    case TOOLRACK_OFFER_RESOURCES:
    case TOOLRACK_OFFER_TEMPLATES:
    case TOOLRACK_OFFER_READ:
    case TOOLRACK_OFFER_SUBSCRIBE:
    case TOOLRACK_OFFER_UNSUBSCRIBE: return offer_plugins_any(host->registry, OFFER_RESOURCES);
    case TOOLRACK_OFFER_PROMPTS:
    case TOOLRACK_OFFER_PROMPT: return offer_plugins_any(host->registry, OFFER_PROMPTS);
    case TOOLRACK_OFFER_COMPLETE:
        return offer_plugins_any(host->registry, OFFER_RESOURCES) ||
               offer_plugins_any(host->registry, OFFER_PROMPTS);
    }
    return false;
}
