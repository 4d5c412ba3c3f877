#include "choose/asking.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/text.h"

/* ---------------------------------------------------------------------------- resting */

uint64_t rest_after(struct rest *rest, unsigned patience, uint32_t wait_ms,
                    const struct toolrack_error *problem) {
    uint64_t ms = ASKING_REST_MS_FIRST;
    uint64_t now_ns = clock_now_ns();
    toolrack_error_copy(&rest->problem, problem);
    /* Who has asked before the rest began says nothing new. */
    rest->failures += rest->until_ns <= now_ns;
    for (unsigned i = patience; i < rest->failures && ms < ASKING_REST_MS_MAX; i++) {
        ms *= 2;
    }
    ms = ms < ASKING_REST_MS_MAX ? ms : ASKING_REST_MS_MAX;
    ms = rest->failures < patience ? 0 : ms;
    ms = ms > wait_ms ? ms : wait_ms;
    rest->until_ns = ms > 0 ? now_ns + ms * CLOCK_NS_PER_MS : 0;
    return ms;
}

void rest_end(struct rest *rest) {
    rest->failures = 0;
    rest->until_ns = 0;
}

int rest_check(const struct rest *rest, struct toolrack_error *err) {
    uint64_t now = clock_now_ns();
    if (rest->until_ns <= now) {
        return 0;
    }
    return error_set(err, rest->problem.code, "it is left alone for %llu s after: %s",
                     (unsigned long long)((rest->until_ns - now) / CLOCK_NS_PER_S + 1),
                     rest->problem.message);
}

/* ---------------------------------------------------------------------------- waiting */

struct asking {
    struct lock lock; /* guards what follows */
    unsigned patience;
    struct rest rest;
    const char *waiting[ASKING_MAX]; /* the principal of each choice that waits; NULL: free */
    size_t count;
};

struct asking *asking_create(unsigned patience) {
    struct asking *asking = calloc(1, sizeof *asking);
    if (asking != NULL) {
        asking->patience = patience;
        lock_init(&asking->lock);
    }
    return asking;
}

void asking_destroy(struct asking *asking) {
    if (asking != NULL) {
        lock_finish(&asking->lock);
        free(asking);
    }
}

/* Who names no principal is one. */
static const char *name_of(const char *who) {
    return who != NULL ? who : "";
}

static size_t count_own(const struct asking *asking, const char *who) {
    size_t own = 0;
    for (size_t i = 0; i < ASKING_MAX; i++) {
        own += asking->waiting[i] != NULL && strcmp(asking->waiting[i], who) == 0;
    }
    return own;
}

/* Whether one more may wait. Caller holds the lock. */
static int check_room(const struct asking *asking, const char *who, struct toolrack_error *err) {
    size_t own = count_own(asking, who);
    if (asking->rest.until_ns != 0 && asking->count > 0) {
        return error_set(err, asking->rest.problem.code,
                         "another choice tries whether it answers again after: %s",
                         asking->rest.problem.message);
    }
    if (asking->count == ASKING_MAX || (own > 0 && own + asking->count >= ASKING_MAX)) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%zu choice%s wait%s for it, %zu of the same caller; at most %u may, and "
                         "of one caller as many as it leaves free",
                         asking->count, text_plural(asking->count), asking->count == 1 ? "s" : "",
                         own, ASKING_MAX);
    }
    return 0;
}

int asking_begin(struct asking *asking, const char *who, struct toolrack_error *err) {
    LOCK_SCOPE(&asking->lock);
    int code = rest_check(&asking->rest, err);
    if (code == 0) {
        code = check_room(asking, name_of(who), err);
    }
    for (size_t i = 0; code == 0 && i < ASKING_MAX; i++) {
        if (asking->waiting[i] == NULL) {
            asking->waiting[i] = name_of(who);
            asking->count++;
            break;
        }
    }
    return code;
}

static void leave(struct asking *asking, const char *who) {
    size_t at = 0;
    while (at < ASKING_MAX && asking->waiting[at] != who) {
        at++;
    }
    assert(at < ASKING_MAX);
    asking->waiting[at] = NULL;
    asking->count--;
}

uint64_t asking_end(struct asking *asking, const char *who, uint32_t wait_ms,
                    const struct toolrack_error *problem) {
    LOCK_SCOPE(&asking->lock);
    leave(asking, name_of(who));
    if (problem != NULL) {
        return rest_after(&asking->rest, asking->patience, wait_ms, problem);
    }
    rest_end(&asking->rest);
    return 0;
}
