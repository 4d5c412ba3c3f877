/* Wait for what is offered, and whether something is. */
#include <pthread.h>

#include "api/host.h"
#include "api/offer-plugins.h"
#include "toolrack/offer.h"

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
    HOST_SCOPE(host);
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
    HOST_SCOPE(host);
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
