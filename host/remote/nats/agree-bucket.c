/* agree-bucket.c - the bucket of a group: what comes from it, and what is put into it. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "remote/nats/agree.h"

/* Most bytes of what came and was not taken yet; beyond, the bucket is read as a whole. */
#define CAME_SIZE_MAX (8u * 1024 * 1024)
/* How long the server may take to say whether it has JetStream. */
#define SERVER_MS     2000
/* After so many lines about bad values only each 1000th is logged: who can put them can put many.
 */
#define BAD_LINES_MAX 100u

/* The thing of a key, in the arena, and where its last token begins. NULL: it is no key. */
static const char *thing_of(const char *key, struct arena *arena, const char **ret_host) {
    const char *dot = strrchr(key, '.');
    *ret_host = dot != NULL ? dot + 1 : "";
    return dot != NULL ? arena_copy(arena, key, (size_t)(dot - key)) : NULL;
}

/* ------------------------------------------------------------------- take */

static bool may_say(struct agreement *agreement) {
    agreement->bad++;
    return agreement->bad <= BAD_LINES_MAX || agreement->bad % 1000 == 0;
}

/* What is kept of the host of a key is put there again, if anything is. */
static void restore(struct round *round, const char *key) {
    agree_note(&round->keys, key);
}

/* One that was not kept: it is the one that is kept already, or someone has put an old one there
 * again. A host's own messages come back to it late, so of those nothing is said. */
static int take_old(struct round *round, const char *key, const char *thing,
                    const struct decision *decision, const char *value, struct arena *arena,
                    struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    struct reading reading;
    int code = agree_read_kept(agreement, thing, arena, &reading, err);
    const struct kept *kept = code == 0 ? agree_kept_of(&reading, decision->host) : NULL;
    if (kept == NULL || strcmp(kept->row.value, value) == 0) {
        return code;
    }
    restore(round, key);
    if (strcmp(decision->host, agree_own_key(agreement)) != 0 && may_say(agreement)) {
        log_line(agree_log(agreement), LOG_WARNING, "nats",
                 "a decision of the group is not obeyed, the value of %.200s in the bucket: it is "
                 "older than what this host has of the host %s, and someone has put it there again",
                 key, decision->name);
    }
    return 0;
}

static int keep(struct round *round, const char *key, const struct decision *decision,
                const char *value, size_t length, struct arena *arena, struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    const char *host;
    bool is_taken = false;
    const struct store_shared_row row = {.thing = thing_of(key, arena, &host),
                                         .host = decision->host,
                                         .stamp = decision->stamp,
                                         .value = arena_copy(arena, value, length)};
    if (row.thing == NULL || row.value == NULL) {
        return error_oom(err);
    }
    int code =
            store_shared_take(agree_store(agreement), agree_group(agreement), &row, &is_taken, err);
    if (code == 0 && is_taken) {
        agree_note(&round->things, row.thing);
        int64_t ahead_ms = decision->stamp - clock_wall_ms();
        if (ahead_ms > KEY_SKEW_MS_MAX && may_say(agreement)) {
            log_line(agree_log(agreement), LOG_WARNING, "nats",
                     "the clock of the host %s is %lld s ahead of this host's, by its decision "
                     "about %s; set the clocks of both hosts",
                     decision->name, (long long)ahead_ms / 1000, decision->selector);
        }
    } else if (code == 0) {
        code = take_old(round, key, row.thing, decision, row.value, arena, err);
    }
    return code;
}

/* One value of the bucket. */
static int take(struct round *round, const char *key, const char *value, size_t length,
                struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    struct decision decision;
    struct toolrack_error why = {0};
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    int code = agree_open(agreement, key, value, length, &arena, &decision, &why);
    if (code == 0 && !agree_obeys(agreement, decision.host)) {
        code = error_set(&why, TOOLRACK_E_PERMISSION_DENIED,
                         "its host %s is not trusted; add its key %s to \"trusted_hosts\" of "
                         "\"nats\" in the configuration, if it is to be obeyed",
                         decision.name, decision.host);
    }
    if (code == 0) {
        return keep(round, key, &decision, value, length, &arena, err);
    }
    if (code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err);
    }
    if (length > 0 && may_say(agreement)) {
        log_line(agree_log(agreement), LOG_WARNING, "nats",
                 "a decision of the group is not obeyed, the value of %.200s in the bucket: %s",
                 key, why.message);
    }
    restore(round, key);
    return 0;
}

int agree_take_all(struct round *round, const struct buf *came, struct toolrack_error *err) {
    int code = 0;
    for (size_t at = 0; at < came->length && code == 0;) {
        size_t length;
        const char *key = came->data + at;
        at += strlen(key) + 1;
        memcpy(&length, came->data + at, sizeof length);
        at += sizeof length;
        code = take(round, key, came->data + at, length, err);
        at += length;
    }
    return code;
}

/* As agree_take_all() reads it: a key with its zero, a length, and so many bytes. */
static void add_entry(struct buf *came, const char *key, const char *value, size_t length) {
    buf_add(came, key, strlen(key) + 1);
    buf_add(came, (const char *)&length, sizeof length);
    buf_add(came, value, length);
}

void agree_came(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                void *user) {
    (void)connection;
    (void)subscription;
    const struct member *member = user;
    struct agreement *agreement = member->agreement;
    struct buf *came = &agreement->came;
    const char *value = nats.Msg_GetData(message);
    size_t length = (size_t)nats.Msg_GetDataLength(message);
    (void)pthread_mutex_lock(&agreement->lock);
    bool fits = came->length + length <= CAME_SIZE_MAX;
    if (fits) {
        add_entry(came, nats.Msg_GetSubject(message) + agreement->prefix,
                  value != NULL ? value : "", length);
    }
    if (!fits || came->failed) { /* of a buffer without memory the last entry is not whole */
        buf_finish(came);
        *came = BUF_INIT;
        agreement->is_to_be_read = true;
    }
    agreement->is_woken = true;
    (void)pthread_cond_signal(&agreement->changed);
    (void)pthread_mutex_unlock(&agreement->lock);
    nats.Msg_Destroy(message);
}

/* ---------------------------------------------------------------- publish */

/* What is put into the bucket. */
struct putting {
    const struct agreement *agreement;
    const struct kept *kept;
};

/* Whether the value in the bucket is later than what is kept: it comes by itself. */
static bool keeps(void *user, const char *key, const char *value, size_t length) {
    const struct putting *putting = user;
    CLEANUP(arena_finish) struct arena arena;
    struct decision decision;
    struct merge_decision present;
    struct toolrack_error unheard;
    arena_init(&arena, NULL, 0);
    const char *text = arena_copy(&arena, value, length);
    if (text == NULL) {
        return true;
    }
    if (agree_open(putting->agreement, key, value, length, &arena, &decision, &unheard) < 0) {
        return false;
    }
    decision_weigh(&decision, text, &present);
    return merge_later(&present, &putting->kept->weighed) == &present;
}

static int publish_kept(struct round *round, const char *key, const struct kept *kept,
                        struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf value = BUF_INIT;
    struct putting putting = {.agreement = round->agreement, .kept = kept};
    buf_add_text(&value, kept->row.value);
    return value.failed ? error_oom(err)
                        : bucket_put(round->agreement->bucket, key, &value, keeps, &putting, err);
}

static int publish(struct round *round, const char *key, struct toolrack_error *err) {
    struct reading reading;
    const char *host;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    const char *thing = thing_of(key, &arena, &host);
    int code = thing != NULL ? agree_read_kept(round->agreement, thing, &arena, &reading, err) : 0;
    if (thing == NULL || code < 0) {
        return code;
    }
    for (const struct kept *kept = reading.first; kept != NULL && code == 0; kept = kept->next) {
        CLEANUP(buf_finish) struct buf token = BUF_INIT;
        subject_add_token(&token, kept->row.host, strlen(kept->row.host));
        if (!token.failed && strcmp(token.data, host) == 0) {
            code = publish_kept(round, key, kept, err);
        }
    }
    return code;
}

void agree_publish_all(struct round *round) {
    struct toolrack_error err;
    int code = 0;
    for (size_t at = 0; at < round->keys.length && code == 0;
         at += strlen(round->keys.data + at) + 1) {
        code = publish(round, round->keys.data + at, &err);
    }
    if (code < 0) { /* with the bucket it is read, and what it lacks is put into it */
        log_line(agree_log(round->agreement), LOG_WARNING, "nats",
                 "the group is told later what was decided: %s", err.message);
        bucket_close(STEAL(round->agreement->bucket));
    }
}

/* ------------------------------------------------------------------ bucket */

static void take_present(void *user, const char *key, const char *value, size_t length) {
    struct round *round = user;
    struct toolrack_error err;
    buf_add(&round->present, key, strlen(key) + 1);
    if (take(round, key, value, length, &err) < 0) {
        log_line(agree_log(round->agreement), LOG_WARNING, "nats",
                 "a decision of the group, %.200s, cannot be kept: %s", key, err.message);
    }
}

static int compare_keys(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What is kept and the bucket does not have. */
static int find_missing(struct round *round, struct toolrack_error *err) {
    struct reading reading;
    size_t count = 0;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    int code = agree_read_kept(round->agreement, NULL, &arena, &reading, err);
    for (size_t at = 0; at < round->present.length; at++) {
        count += round->present.data[at] == '\0';
    }
    const char **present = arena_alloc(&arena, (count + 1) * sizeof *present);
    if (code < 0 || present == NULL) {
        return code < 0 ? code : error_oom(err);
    }
    count = 0;
    for (size_t at = 0; at < round->present.length; at += strlen(round->present.data + at) + 1) {
        present[count++] = round->present.data + at;
    }
    qsort(present, count, sizeof *present, compare_keys);
    for (const struct kept *kept = reading.first; kept != NULL; kept = kept->next) {
        CLEANUP(buf_finish) struct buf key = BUF_INIT;
        decision_add_key(&key, &kept->decision);
        if (!key.failed && bsearch(&(const char *){key.data}, present, count, sizeof *present,
                                   compare_keys) == NULL) {
            agree_note(&round->keys, key.data);
        }
    }
    return 0;
}

void agree_server_answered(natsConnection *connection, natsSubscription *subscription,
                           natsMsg *message, void *user) {
    (void)connection;
    (void)subscription;
    const struct member *member = user;
    struct agreement *agreement = member->agreement;
    (void)pthread_mutex_lock(&agreement->lock);
    agreement->server = nats.Msg_IsNoResponders(message) ? AGREE_NOBODY : AGREE_ANSWERED;
    (void)pthread_cond_signal(&agreement->changed);
    (void)pthread_mutex_unlock(&agreement->lock);
    nats.Msg_Destroy(message);
}

/* Wait until the server has said whether it has JetStream. libnats would wait too, but not be
 * interrupted when this host leaves. */
static int ask_server(struct agreement *agreement, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf subject = BUF_INIT;
    char none[] = "";
    const struct buf nothing = {.data = none};
    char answers[SUBJECT_ROOM];
    bucket_request(agree_group(agreement), &subject);
    agree_answers(agreement, answers);
    (void)pthread_mutex_lock(&agreement->lock);
    agreement->server = AGREE_ASKED;
    (void)pthread_mutex_unlock(&agreement->lock);
    if (subject.failed || !member_publish(agreement->member, subject.data, answers, &nothing)) {
        return bucket_missing(agree_group(agreement), "it cannot be asked", err);
    }
    const struct timespec until =
            clock_timespec(clock_now_ns() + (uint64_t)SERVER_MS * CLOCK_NS_PER_MS);
    int waited = 0;
    (void)pthread_mutex_lock(&agreement->lock);
    while (agreement->server == AGREE_ASKED && !agreement->stops && waited == 0) {
        waited = pthread_cond_timedwait(&agreement->changed, &agreement->lock, &until);
    }
    int answer = (int)agreement->server;
    (void)pthread_mutex_unlock(&agreement->lock);
    return answer == AGREE_ANSWERED ? 0
                                    : bucket_missing(agree_group(agreement),
                                                     answer == AGREE_NOBODY ? "it has no JetStream"
                                                                            : "it does not answer",
                                                     err);
}

static void note_missing(struct agreement *agreement, const struct toolrack_error *err) {
    (void)pthread_mutex_lock(&agreement->lock);
    bool stops = agreement->stops;
    (void)pthread_mutex_unlock(&agreement->lock);
    if (!agreement->is_missed && !stops) {
        log_line(agree_log(agreement), LOG_WARNING, "nats",
                 "decisions are not shared with the group, and each host has its own: %s",
                 err->message);
        agreement->is_missed = true;
    }
}

void agree_read_bucket(struct round *round, bool is_to_be_read) {
    struct agreement *agreement = round->agreement;
    struct toolrack_error err;
    int code = 0;
    if (agreement->bucket == NULL) {
        is_to_be_read = true;
        code = ask_server(agreement, &err);
        code = code < 0 ? code
                        : bucket_open(agreement->member->connection, agree_group(agreement),
                                      DECISION_SIZE_MAX, &agreement->bucket, &err);
    }
    if (code == 0 && is_to_be_read) {
        code = bucket_read(agreement->bucket, take_present, round, &err);
        code = code < 0 ? code : find_missing(round, &err);
    }
    if (code == 0) {
        agreement->is_missed = false;
        return;
    }
    note_missing(agreement, &err);
    bucket_close(STEAL(agreement->bucket));
}
