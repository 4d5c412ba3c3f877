/* The steps of a request of offer.h: one call after the other of the plugins that offer something.
 */
#include "api/offer-parts.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "format/offered.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

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
    int code = result_end(out, NULL, &result, &err);
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
    if (!offering_is_list(offering->what)) {
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

/* A plugin has failed, or what it replied is wrong. Another one may have what this one does not
 * own: its failure is told if nobody has. */
static void fail_step(struct offering *offering, const struct toolrack_error *err) {
    if (err->code == TOOLRACK_E_NOT_FOUND) { /* it does not offer that any more */
        offering_go_on(offering);
        return;
    }
    bool is_end = offering->route.is_owned || err->code == TOOLRACK_E_CANCELLED ||
                  err->code == TOOLRACK_E_INPUT_REQUIRED;
    if (is_end) {
        end_failed(offering, err);
    } else {
        offering->failure = *err;
        offering_go_on(offering);
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
        offering_go_on(offering);
    } else if (offering_is_list(offering->what)) {
        take_list(offering, result, err);
        offering_go_on(offering);
    } else if (err != NULL) {
        fail_step(offering, err);
    } else if (!take_reply(offering, offering->plugins.items[offering->next - 1], result)) {
        offering_go_on(offering);
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
    int code = host_check_process(host, err);
    if (code < 0) {
        return code;
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
    code = pool_submit(host->pool, NULL, tool, learns ? "{}" : offering->arguments,
                       learns ? 2 : offering->length, &options, &time, step_done, offering, &job,
                       err);
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

void offering_go_on(struct offering *offering) {
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
        if (offering_is_list(offering->what)) {
            (void)offer_keys_known(offering->host->offered, &offering->plugins, at,
                                   offering->list.kind, &offering->route.changes);
        }
        if (ask(offering, at, offering->offer, step, &err) == 0) {
            return;
        }
        if (offering_is_list(offering->what)) {
            take_list(offering, NULL, &err);
        } else if (offering->route.is_owned) {
            end_failed(offering, &err);
            return;
        } else {
            offering->failure = err;
        }
    }
}
