/* The beginning of a request of offer.h, its handle, and its end. */
#include "api/offer-parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"

bool offering_is_list(enum toolrack_offer what) {
    return what == TOOLRACK_OFFER_RESOURCES || what == TOOLRACK_OFFER_TEMPLATES ||
           what == TOOLRACK_OFFER_PROMPTS;
}

void offering_unref(struct offering *offering) {
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
    if (offering_is_list(offering->what)) {
        own->ask = NULL;
        own->input = NULL;
    }
    char *at = offering->strings =
            malloc(size_of(own->caller) + size_of(own->channel) + size_of(own->conversation) +
                   size_of(own->trace) + size_of(own->party) + size_of(own->run) +
                   size_of(own->confirmed_by) + size_of(own->node) + size_of(own->plan) + 1);
    if (at == NULL) {
        return false;
    }
    own->caller = move_string(&at, own->caller);
    own->channel = move_string(&at, own->channel);
    own->conversation = move_string(&at, own->conversation);
    own->trace = move_string(&at, own->trace);
    own->party = move_string(&at, own->party);
    own->run = move_string(&at, own->run);
    own->confirmed_by = move_string(&at, own->confirmed_by);
    own->node = move_string(&at, own->node);
    own->plan = move_string(&at, own->plan);
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
    HOST_SCOPE(host);
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
    offering_go_on(offering);
    return 0;
}
