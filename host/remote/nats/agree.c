/* agree.c - decisions that the group shares.
 *
 * One thread does everything, whenever people have decided here, something came from the bucket,
 * tools have changed, or the server is found again:
 *
 *   agree_tell()        what people have decided here since the last time is signed and kept
 *   agree_take_all()    what came is checked, and what is later than what there is of its host kept
 *   agree_judge_all()   of what is kept about a thing, what should be in effect is carried out
 *   agree_publish_all() what the bucket lacks is put into it
 *
 * In this order: a decision of a person here has seen what was in effect before, and nothing else
 * (host/README.md, "Decisions of the group").
 *
 * What is kept (store/shared.h) is what counts; the bucket only carries it. A value that someone
 * puts there, or puts back, or removes, is at most news: one that is wrong, foreign or old is
 * logged and replaced by what is kept. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "remote/nats/agree.h"

/* Between attempts to open the bucket. */
#define RETRY_MS  1000
/* How often a decision that people here get ahead of is judged again at once. */
#define AGAIN_MAX 3u

void agree_note(struct buf *texts, const char *text) {
    size_t size = strlen(text) + 1;
    if (texts->length < size || strcmp(texts->data + texts->length - size, text) != 0) {
        buf_add(texts, text, size);
    }
}

static void round_finish(struct round *round) {
    buf_finish(&round->things);
    buf_finish(&round->keys);
    buf_finish(&round->present);
}

static void go_round(struct agreement *agreement, bool is_to_be_read, bool have_tools_changed) {
    CLEANUP(round_finish) struct round round = {.agreement = agreement};
    CLEANUP(buf_finish) struct buf taken = BUF_INIT;
    struct toolrack_error err;
    int code = agree_tell(&round, &err);
    if (atomic_load(&agreement->member->connected)) {
        agree_read_bucket(&round, is_to_be_read);
    }
    (void)pthread_mutex_lock(&agreement->lock);
    taken = agreement->came;
    agreement->came = BUF_INIT;
    (void)pthread_mutex_unlock(&agreement->lock);
    code = code < 0 ? code : agree_take_all(&round, &taken, &err);
    if (code == 0 && have_tools_changed) { /* at the start, other hosts may be trusted */
        code = agree_note_things(&round, is_to_be_read, &err);
    }
    if (code < 0) {
        log_line(agree_log(agreement), LOG_WARNING, "nats",
                 "what the group decides is not in effect here, and is read again with the next "
                 "decision: %s",
                 err.message);
        (void)pthread_mutex_lock(&agreement->lock);
        agreement->is_to_be_read = true; /* what came is gone, and is in the bucket */
        (void)pthread_mutex_unlock(&agreement->lock);
        return;
    }
    agree_judge_all(&round);
    if (agreement->bucket != NULL && atomic_load(&agreement->member->connected)) {
        agree_publish_all(&round);
    }
    agreement->again = round.is_again ? agreement->again + 1 : 0;
    if (round.is_again && agreement->again <= AGAIN_MAX) {
        agreement_wake(agreement, true);
    }
}

/* Messages were lost, since they came faster than they were handled. */
static bool has_dropped(struct agreement *agreement) {
    int64_t dropped = 0;
    bool has = nats.Subscription_GetDropped(agreement->subscription, &dropped) == NATS_OK &&
               dropped != agreement->dropped;
    agreement->dropped = dropped;
    return has;
}

static void *run(void *user) {
    struct agreement *agreement = user;
    (void)pthread_mutex_lock(&agreement->lock);
    while (!agreement->stops) {
        bool is_to_be_read = agreement->is_to_be_read;
        bool have_tools_changed = agreement->have_tools_changed || is_to_be_read;
        agreement->is_woken = false;
        agreement->is_to_be_read = false;
        agreement->have_tools_changed = false;
        (void)pthread_mutex_unlock(&agreement->lock);
        go_round(agreement, is_to_be_read || has_dropped(agreement), have_tools_changed);
        const struct timespec until =
                clock_timespec(clock_now_ns() + (uint64_t)RETRY_MS * CLOCK_NS_PER_MS);
        (void)pthread_mutex_lock(&agreement->lock);
        int waited = 0;
        while (!agreement->stops && !agreement->is_woken && waited == 0) {
            waited =
                    agreement->bucket != NULL
                            ? pthread_cond_wait(&agreement->changed, &agreement->lock)
                            : pthread_cond_timedwait(&agreement->changed, &agreement->lock, &until);
        }
    }
    (void)pthread_mutex_unlock(&agreement->lock);
    return NULL;
}

void agreement_wake(struct agreement *agreement, bool tools) {
    if (agreement != NULL) {
        (void)pthread_mutex_lock(&agreement->lock);
        agreement->is_woken = true;
        agreement->have_tools_changed = agreement->have_tools_changed || tools;
        (void)pthread_cond_signal(&agreement->changed);
        (void)pthread_mutex_unlock(&agreement->lock);
    }
}

void agreement_reread(struct agreement *agreement) {
    if (agreement != NULL) {
        (void)pthread_mutex_lock(&agreement->lock);
        agreement->is_to_be_read = true;
        (void)pthread_mutex_unlock(&agreement->lock);
        agreement_wake(agreement, true);
    }
}

struct agreement *agreement_create(struct member *member) {
    struct agreement *agreement = calloc(1, sizeof *agreement);
    if (agreement != NULL) {
        agreement->member = member;
        agreement->is_to_be_read = true;
        (void)pthread_mutex_init(&agreement->lock, NULL);
        clock_cond_init(&agreement->changed);
    }
    return agreement;
}

int agreement_start(struct agreement *agreement, struct toolrack_error *err) {
    struct member *member = agreement->member;
    CLEANUP(buf_finish) struct buf subject = BUF_INIT;
    agreement->prefix = bucket_subject(member->options.group, &subject);
    if (subject.failed) {
        return error_oom(err);
    }
    int code = member_keep_subscribed(member, subject.data, agree_came, err);
    if (code < 0) {
        return code;
    }
    agreement->subscription = member->subscriptions[member->subscription_count - 1];
    char answers[SUBJECT_ROOM];
    agree_answers(agreement, answers);
    code = member_keep_subscribed(member, answers, agree_server_answered, err);
    if (code < 0) {
        return code;
    }
    int failed = thread_start(&agreement->thread, run, agreement);
    if (failed != 0) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "cannot start a thread: %s",
                         strerror(failed));
    }
    agreement->runs = true;
    return 0;
}

void agreement_stop(struct agreement *agreement) {
    if (agreement != NULL && agreement->runs) {
        (void)pthread_mutex_lock(&agreement->lock);
        agreement->stops = true;
        (void)pthread_cond_signal(&agreement->changed);
        (void)pthread_mutex_unlock(&agreement->lock);
        (void)pthread_join(agreement->thread, NULL);
        agreement->runs = false;
        bucket_close(STEAL(agreement->bucket));
    }
}

void agreement_destroy(struct agreement *agreement) {
    if (agreement != NULL) {
        bucket_close(agreement->bucket);
        buf_finish(&agreement->came);
        (void)pthread_cond_destroy(&agreement->changed);
        (void)pthread_mutex_destroy(&agreement->lock);
        free(agreement);
    }
}
