/* agree.c - decisions that the group shares.
 *
 * One thread does everything, whenever people have decided here, something came from the bucket,
 * tools have changed, or the server is found again:
 *
 *   tell()    what people have decided here since the last time is signed and kept
 *   take()    what came is checked, and kept if it is later than what there is of its host
 *   judge()   of what is kept about a thing, what should be in effect is carried out
 *   publish() what the bucket lacks is put into it
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
#include "remote/nats/bucket.h"
#include "remote/nats/parts.h"

/* Between attempts to open the bucket. */
#define RETRY_MS      1000
/* Most bytes of what came and was not taken yet; beyond, the bucket is read as a whole. */
#define CAME_SIZE_MAX (8u * 1024 * 1024)
/* How often a decision that people here get ahead of is judged again at once. */
#define AGAIN_MAX     3u
/* After so many lines about bad values only each 1000th is logged: who can put them can put many.
 */
#define BAD_LINES_MAX 100u

struct agreement {
    struct member *member;
    pthread_t thread;
    bool runs;
    size_t prefix; /* of the bucket's subject, before a key */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stops; /* guarded by `lock`, as are the next */
    bool is_woken;
    bool have_tools_changed;
    bool is_to_be_read; /* the bucket as a whole */
    struct buf came;    /* see add_entry() */

    /* The thread's own. */
    struct bucket *bucket; /* NULL: not open */
    bool is_missed;        /* that it is not open was logged */
    int64_t dropped;       /* messages that libnats had no room for */
    natsSubscription *subscription;
    uint64_t bad; /* how many bad values came */
    unsigned again;
};

/* What one round is about. */
struct round {
    struct agreement *agreement;
    struct buf things;  /* to be judged, each with its zero */
    struct buf keys;    /* to be published, likewise */
    struct buf present; /* keys that the bucket has, likewise; only where it was read as a whole */
    bool is_again;
};

static const struct log *log_of(const struct agreement *agreement) {
    return agreement->member->options.log;
}

static const char *own_key(const struct agreement *agreement) {
    return key_public(agreement->member->key);
}

static const char *group_of(const struct agreement *agreement) {
    return agreement->member->options.group;
}

static struct store *store_of(const struct agreement *agreement) {
    return agreement->member->options.store;
}

static bool is_obeyed(const struct agreement *agreement, const char *host) {
    return strcmp(host, own_key(agreement)) == 0 || member_trusts(agreement->member, host);
}

/* Add a text with its zero, unless it is the last one. */
static void note(struct buf *texts, const char *text) {
    size_t size = strlen(text) + 1;
    if (texts->length < size || strcmp(texts->data + texts->length - size, text) != 0) {
        buf_add(texts, text, size);
    }
}

/* The thing of a key, in the arena, and where its last token begins. NULL: it is no key. */
static const char *thing_of(const char *key, struct arena *arena, const char **ret_host) {
    const char *dot = strrchr(key, '.');
    *ret_host = dot != NULL ? dot + 1 : "";
    return dot != NULL ? arena_copy(arena, key, (size_t)(dot - key)) : NULL;
}

static int open_value(const struct agreement *agreement, const char *key, const char *value,
                      size_t length, struct arena *arena, struct decision *ret,
                      struct toolrack_error *err) {
    return decision_open(value, length, agreement->member->group_token, key, arena, ret, err);
}

/* ----------------------------------------------------------------- kept */

/* A decision that is kept and obeyed. */
struct kept {
    struct kept *next;
    struct store_shared_row row; /* texts in the arena */
    struct decision decision;
    struct merge_decision weighed;
};

struct reading {
    const struct agreement *agreement;
    struct arena *arena;
    struct kept *first;
    size_t count;
    bool failed;
};

/* One whose host is trusted no more does not count. */
static void take_row(void *user, const struct store_shared_row *row) {
    struct reading *reading = user;
    struct arena *arena = reading->arena;
    struct kept *kept = arena_zalloc(arena, sizeof *kept);
    struct toolrack_error unheard;
    CLEANUP(buf_finish) struct buf key = BUF_INIT;
    buf_printf(&key, "%s.", row->thing);
    subject_add_token(&key, row->host, strlen(row->host));
    if (kept == NULL || key.failed) {
        reading->failed = true;
        return;
    }
    kept->row = *row;
    kept->row.thing = arena_copy(arena, row->thing, strlen(row->thing));
    kept->row.host = arena_copy(arena, row->host, strlen(row->host));
    kept->row.value = arena_copy(arena, row->value, strlen(row->value));
    if (kept->row.thing == NULL || kept->row.host == NULL || kept->row.value == NULL) {
        reading->failed = true;
    } else if (is_obeyed(reading->agreement, row->host) &&
               open_value(reading->agreement, key.data, row->value, strlen(row->value), arena,
                          &kept->decision, &unheard) == 0) {
        decision_weigh(&kept->decision, kept->row.value, &kept->weighed);
        kept->next = reading->first;
        reading->first = kept;
        reading->count++;
    }
}

/* The obeyed decisions about a thing, or (NULL) all; in the arena. */
static int read_kept(const struct agreement *agreement, const char *thing, struct arena *arena,
                     struct reading *ret, struct toolrack_error *err) {
    *ret = (struct reading){.agreement = agreement, .arena = arena};
    int code =
            store_shared_read(store_of(agreement), group_of(agreement), thing, take_row, ret, err);
    return code == 0 && ret->failed ? error_oom(err) : code;
}

/* ------------------------------------------------------------------- tell */

static int64_t next_stamp(const struct agreement *agreement, struct toolrack_error *err) {
    int64_t last = 0;
    int64_t now_ms = clock_wall_ms();
    int code = store_shared_last(store_of(agreement), own_key(agreement), &last, err);
    return code < 0 ? code : last >= now_ms ? last + 1 : now_ms;
}

/* What a decision about a thing has seen: what was judged here. */
static size_t fill_seen(const struct reading *reading, const char *own,
                        struct merge_seen seen[DECISION_SEEN_MAX]) {
    size_t count = 0;
    for (const struct kept *kept = reading->first; kept != NULL && count < DECISION_SEEN_MAX;
         kept = kept->next) {
        if (kept->row.is_seen && strcmp(kept->row.host, own) != 0) {
            seen[count++] = (struct merge_seen){.host = kept->row.host, .stamp = kept->row.stamp};
        }
    }
    return count;
}

/* A grant as "UNTIL WORD" or "revoked WORD". */
static bool is_expired(const char *grant, int64_t now_s) {
    long long until_s = grant != NULL ? atoll(grant) : 0;
    return until_s > 0 && until_s <= now_s;
}

static const char *word_of(const char *grant) {
    const char *blank = grant != NULL ? strchr(grant, ' ') : NULL;
    return blank != NULL ? blank + 1 : "";
}

static bool is_revoked(const struct store_shared_local *local) {
    return local->kind == STORE_SHARED_GRANT && local->value != NULL &&
           strncmp(local->value, "revoked ", strlen("revoked ")) == 0;
}

/* What is stored as what is told. False: it cannot be told. */
static bool value_of(const struct agreement *agreement, const struct store_shared_local *local,
                     struct arena *arena, const char **ret) {
    const struct member *member = agreement->member;
    char digest[ANNOUNCE_DIGEST_ROOM];
    *ret = local->value;
    if (local->value == NULL || is_revoked(local)) {
        *ret = NULL;
        return true;
    }
    /* Without the word behind it. */
    *ret = arena_copy(arena, local->value, strcspn(local->value, " #"));
    if (*ret != NULL && local->kind == STORE_SHARED_DEFAULT) {
        const char *selector = arena_printf(arena, "%s@%s", local->selector, *ret);
        if (selector == NULL || !member->options.digest(member->options.user, selector, digest)) {
            return false;
        }
        *ret = arena_printf(arena, "%s %s", *ret, digest);
    }
    return *ret != NULL;
}

/* Sign and keep what was decided here. */
static int tell_one(struct round *round, const struct store_shared_local *local, const char *thing,
                    const struct reading *reading, bool has_seen, struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    struct merge_seen seen[DECISION_SEEN_MAX];
    CLEANUP(buf_finish) struct buf value = BUF_INIT;
    CLEANUP(buf_finish) struct buf key = BUF_INIT;
    struct decision decision = {.kind = local->kind,
                                .selector = local->selector,
                                .digest = local->digest,
                                .host = own_key(agreement),
                                .stamp = next_stamp(agreement, err),
                                .name = agreement->member->options.name,
                                .seen = seen};
    if (decision.stamp < 0) {
        return (int)decision.stamp;
    }
    if (!value_of(agreement, local, reading->arena, &decision.value)) {
        return 0; /* its version is not here; when it comes, it is told */
    }
    decision.seen_count = has_seen ? fill_seen(reading, decision.host, seen) : 0;
    decision_seal(&decision, agreement->member->group_token, agreement->member->key, &value);
    decision_add_key(&key, &decision);
    if (value.failed || key.failed) {
        return error_oom(err);
    }
    const struct store_shared_row row = {.thing = thing,
                                         .host = decision.host,
                                         .stamp = decision.stamp,
                                         .value = value.data,
                                         .is_seen = true,
                                         .is_done = true};
    note(&round->things, thing);
    note(&round->keys, key.data);
    return store_shared_tell(store_of(agreement), group_of(agreement), &row, local, err);
}

static bool has_own(const struct reading *reading, const char *own) {
    const struct kept *kept = reading->first;
    while (kept != NULL && strcmp(kept->row.host, own) != 0) {
        kept = kept->next;
    }
    return kept != NULL;
}

/* @param local   with the digest of now
 * @param before  the digest of the base; NULL: there is no base
 * @param begun   whether this state folder has told the group anything */
static int tell_changed(struct round *round, const struct store_shared_local *local,
                        const char *before, bool begun, struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    struct reading reading;
    CLEANUP(arena_finish) struct arena arena;
    CLEANUP(buf_finish) struct buf thing = BUF_INIT;
    arena_init(&arena, NULL, 0);
    decision_add_thing(&thing, local->kind, local->selector, local->digest);
    if (thing.failed) {
        return 0; /* a name that no host can be told */
    }
    bool is_same_value = before != NULL && (local->value == NULL || local->base == NULL
                                                    ? local->value == local->base
                                                    : strcmp(local->value, local->base) == 0);
    bool is_same_tool = before != NULL && strcmp(before, local->digest) == 0;
    /* The end of a grant is no decision; nor is a revocation from before, or of another tool. */
    bool is_none = local->digest[0] == '\0' ||
                   (local->kind == STORE_SHARED_GRANT && is_expired(local->base, clock_wall_s()) &&
                    strcmp(word_of(local->base), word_of(local->value)) == 0 &&
                    (local->value == NULL || is_revoked(local))) ||
                   (is_revoked(local) && (before == NULL ? !begun : is_same_value));
    int code = read_kept(agreement, thing.data, &arena, &reading, err);
    if (code < 0) {
        return code;
    }
    if (is_same_value && !is_same_tool && !is_none && has_own(&reading, own_key(agreement))) {
        is_none = true; /* the tool is again what it was when this host decided about it */
    }
    if (!is_same_tool && !is_none) {
        note(&round->things, thing.data);
    }
    return is_none ? store_shared_tell(store_of(agreement), group_of(agreement), NULL, local, err)
                   : tell_one(round, local, thing.data, &reading, !is_same_value, err);
}

struct telling {
    struct round *round;
    bool begun;
    int code;
    struct toolrack_error *err;
};

static void tell_local(void *user, const struct store_shared_local *stored) {
    struct telling *telling = user;
    const struct member *member = telling->round->agreement->member;
    struct store_shared_local local = *stored;
    char digest[ANNOUNCE_DIGEST_ROOM] = "";
    bool is_here = member->options.digest(member->options.user, stored->selector, digest);
    if (is_here && stored->kind == STORE_SHARED_DEFAULT) {
        memset(digest, '0', sizeof digest - 1); /* it is about all versions */
    }
    bool is_same = stored->has_base && (stored->value == NULL || stored->base == NULL
                                                ? stored->value == stored->base
                                                : strcmp(stored->value, stored->base) == 0);
    bool is_same_tool = stored->has_base && (!is_here || strcmp(stored->digest, digest) == 0);
    if (telling->code < 0 || (is_same && (is_same_tool || stored->value == NULL))) {
        return;
    }
    local.digest = is_here || !stored->has_base ? digest : stored->digest;
    telling->code = tell_changed(telling->round, &local, stored->has_base ? stored->digest : NULL,
                                 telling->begun, telling->err);
}

static int tell(struct round *round, struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    struct telling telling = {.round = round, .err = err};
    int code =
            store_shared_has_begun(store_of(agreement), group_of(agreement), &telling.begun, err);
    if (code == 0) {
        code = store_shared_locals(store_of(agreement), group_of(agreement), clock_wall_s(),
                                   tell_local, &telling, err);
    }
    code = code < 0 ? code : telling.code;
    return code == 0 && !telling.begun
                   ? store_shared_begin(store_of(agreement), group_of(agreement), err)
                   : code;
}

/* ------------------------------------------------------------------- take */

static bool may_say(struct agreement *agreement) {
    agreement->bad++;
    return agreement->bad <= BAD_LINES_MAX || agreement->bad % 1000 == 0;
}

/* What is kept of the host of a key is put there again, if anything is. */
static void restore(struct round *round, const char *key) {
    note(&round->keys, key);
}

/* One that was not kept: it is the one that is kept already, or someone has put an old one there
 * again. A host's own messages come back to it late, so of those nothing is said. */
static int take_old(struct round *round, const char *key, const char *thing,
                    const struct decision *decision, const char *value, struct arena *arena,
                    struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    struct reading reading;
    int code = read_kept(agreement, thing, arena, &reading, err);
    const struct kept *kept = code == 0 ? reading.first : NULL;
    while (kept != NULL && strcmp(kept->row.host, decision->host) != 0) {
        kept = kept->next;
    }
    if (kept == NULL || strcmp(kept->row.value, value) == 0) {
        return code;
    }
    restore(round, key);
    if (strcmp(decision->host, own_key(agreement)) != 0 && may_say(agreement)) {
        log_line(log_of(agreement), LOG_WARNING, "nats",
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
    int code = store_shared_take(store_of(agreement), group_of(agreement), &row, &is_taken, err);
    if (code == 0 && is_taken) {
        note(&round->things, row.thing);
        int64_t ahead_ms = decision->stamp - clock_wall_ms();
        if (ahead_ms > KEY_SKEW_MS_MAX && may_say(agreement)) {
            log_line(log_of(agreement), LOG_WARNING, "nats",
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
    int code = open_value(agreement, key, value, length, &arena, &decision, &why);
    if (code == 0 && !is_obeyed(agreement, decision.host)) {
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
        log_line(log_of(agreement), LOG_WARNING, "nats",
                 "a decision of the group is not obeyed, the value of %.200s in the bucket: %s",
                 key, why.message);
    }
    restore(round, key);
    return 0;
}

static int take_all(struct round *round, const struct buf *came, struct toolrack_error *err) {
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

/* As take_all() reads it: a key with its zero, a length, and so many bytes. */
static void add_entry(struct buf *came, const char *key, const char *value, size_t length) {
    buf_add(came, key, strlen(key) + 1);
    buf_add(came, (const char *)&length, sizeof length);
    buf_add(came, value, length);
}

static void came(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                 void *user) {
    (void)connection;
    (void)subscription;
    const struct member *member = user;
    struct agreement *agreement = member->agreement;
    const char *value = nats.Msg_GetData(message);
    (void)pthread_mutex_lock(&agreement->lock);
    if (agreement->came.length + (size_t)nats.Msg_GetDataLength(message) > CAME_SIZE_MAX) {
        buf_finish(&agreement->came);
        agreement->came = BUF_INIT;
        agreement->is_to_be_read = true;
    } else {
        add_entry(&agreement->came, nats.Msg_GetSubject(message) + agreement->prefix,
                  value != NULL ? value : "", (size_t)nats.Msg_GetDataLength(message));
    }
    agreement->is_woken = true;
    (void)pthread_cond_signal(&agreement->changed);
    (void)pthread_mutex_unlock(&agreement->lock);
    nats.Msg_Destroy(message);
}

/* ------------------------------------------------------------------ judge */

static bool is_same_tool(const struct agreement *agreement, const struct decision *decision) {
    const struct member *member = agreement->member;
    char digest[ANNOUNCE_DIGEST_ROOM];
    return member->options.digest(member->options.user, decision->selector, digest) &&
           (decision->kind == STORE_SHARED_DEFAULT || strcmp(digest, decision->digest) == 0);
}

static int carry_out(struct round *round, const struct kept *winner, struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    const struct member *member = agreement->member;
    const struct decision *decision = &winner->decision;
    char time[CLOCK_TEXT_ROOM];
    const struct store_shared_order order = {.group = group_of(agreement),
                                             .thing = winner->row.thing,
                                             .host = decision->host,
                                             .kind = decision->kind,
                                             .selector = decision->selector,
                                             .digest = decision->digest,
                                             .now_s = clock_wall_s()};
    int code = member->options.carry_out(member->options.user, decision, &order, err);
    if (code == 0) {
        log_line(log_of(agreement), LOG_INFO, "nats",
                 "%s of '%s' is %s, as the host %s (key %s) decided at %s",
                 decision_kind_name(decision->kind), decision->selector,
                 decision->value != NULL ? decision->value : "none", decision->name, decision->host,
                 clock_wall_text(decision->stamp / 1000, time));
    }
    return code;
}

/* Decisions that count and are not in effect are in the log too. */
static void note_overruled(const struct agreement *agreement, const struct reading *reading,
                           const struct merge_decision *all, const struct kept *winner) {
    const struct member *member = agreement->member;
    for (const struct kept *kept = reading->first; kept != NULL; kept = kept->next) {
        if (kept != winner && (!winner->row.is_done || !kept->row.is_seen) &&
            merge_counts(&kept->weighed, all, reading->count)) {
            member->options.overruled(member->options.user, &kept->decision, &winner->decision);
        }
    }
}

static const struct kept *find_winner(const struct reading *reading,
                                      const struct merge_decision *all) {
    const struct merge_decision *won = merge_winner(all, reading->count);
    const struct kept *kept = reading->first;
    for (size_t i = 0; won != NULL && &all[i] != won; i++) {
        kept = kept->next;
    }
    return won != NULL ? kept : NULL;
}

static bool are_all_seen(const struct reading *reading) {
    const struct kept *kept = reading->first;
    while (kept != NULL && kept->row.is_seen) {
        kept = kept->next;
    }
    return kept == NULL;
}

static int judge(struct round *round, const char *thing, struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    struct reading reading;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    int code = read_kept(agreement, thing, &arena, &reading, err);
    struct merge_decision *all = arena_alloc(&arena, (reading.count + 1) * sizeof *all);
    if (code < 0 || all == NULL) {
        return code < 0 ? code : error_oom(err);
    }
    size_t count = 0;
    for (const struct kept *kept = reading.first; kept != NULL; kept = kept->next) {
        all[count++] = kept->weighed;
    }
    const struct kept *winner = find_winner(&reading, all);
    if (winner == NULL || (winner->row.is_done && are_all_seen(&reading)) ||
        !is_same_tool(agreement, &winner->decision)) {
        return 0; /* of a tool that is not here, nothing can be in effect, nor seen */
    }
    code = winner->row.is_done ? store_shared_settle(store_of(agreement), group_of(agreement),
                                                     thing, winner->row.host, err)
                               : carry_out(round, winner, err);
    if (code == 0) {
        note_overruled(agreement, &reading, all, winner);
    } else if (code == TOOLRACK_E_UNAVAILABLE) {
        round->is_again = true;
        code = 0;
    } else if (code == TOOLRACK_E_NOT_FOUND) {
        code = 0; /* the tool has gone meanwhile; when it comes, this is judged again */
    }
    return code;
}

static void note_thing(void *user, const struct store_shared_row *row) {
    struct round *round = user;
    note(&round->things, row->thing);
}

/* What was judged stays so when tools change, and there may be much of it. */
static void note_unseen(void *user, const struct store_shared_row *row) {
    if (!row->is_seen) {
        note_thing(user, row);
    }
}

/* A failure at one thing keeps no other from being judged. */
static void judge_all(struct round *round) {
    for (size_t at = 0; at < round->things.length; at += strlen(round->things.data + at) + 1) {
        struct toolrack_error err;
        const char *thing = round->things.data + at;
        if (judge(round, thing, &err) < 0) {
            log_line(log_of(round->agreement), LOG_WARNING, "nats",
                     "what the group has decided, %.200s, cannot be put into effect here, and is "
                     "tried again with the next change: %s",
                     thing, err.message);
        }
    }
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
    if (open_value(putting->agreement, key, value, length, &arena, &decision, &unheard) < 0) {
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
    int code = thing != NULL ? read_kept(round->agreement, thing, &arena, &reading, err) : 0;
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

static void publish_all(struct round *round) {
    struct toolrack_error err;
    int code = 0;
    for (size_t at = 0; at < round->keys.length && code == 0;
         at += strlen(round->keys.data + at) + 1) {
        code = publish(round, round->keys.data + at, &err);
    }
    if (code < 0) { /* with the bucket it is read, and what it lacks is put into it */
        log_line(log_of(round->agreement), LOG_WARNING, "nats",
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
        log_line(log_of(round->agreement), LOG_WARNING, "nats",
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
    int code = read_kept(round->agreement, NULL, &arena, &reading, err);
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
            note(&round->keys, key.data);
        }
    }
    return 0;
}

/* Open the bucket, if it is not, and read it, if it was not or something may be missing. */
static void read_bucket(struct round *round, bool is_to_be_read) {
    struct agreement *agreement = round->agreement;
    struct toolrack_error err;
    int code = 0;
    if (agreement->bucket == NULL) {
        is_to_be_read = true;
        code = bucket_open(agreement->member->connection, group_of(agreement), DECISION_SIZE_MAX,
                           &agreement->bucket, &err);
    }
    if (code == 0 && is_to_be_read) {
        code = bucket_read(agreement->bucket, take_present, round, &err);
        code = code < 0 ? code : find_missing(round, &err);
    }
    if (code == 0) {
        agreement->is_missed = false;
        return;
    }
    if (!agreement->is_missed) {
        log_line(log_of(agreement), LOG_WARNING, "nats",
                 "decisions are not shared with the group, and each host has its own: %s",
                 err.message);
        agreement->is_missed = true;
    }
    bucket_close(STEAL(agreement->bucket));
}

/* ------------------------------------------------------------------ thread */

static void round_finish(struct round *round) {
    buf_finish(&round->things);
    buf_finish(&round->keys);
    buf_finish(&round->present);
}

static void go_round(struct agreement *agreement, bool is_to_be_read, bool have_tools_changed) {
    CLEANUP(round_finish) struct round round = {.agreement = agreement};
    CLEANUP(buf_finish) struct buf taken = BUF_INIT;
    struct toolrack_error err;
    int code = tell(&round, &err);
    if (atomic_load(&agreement->member->connected)) {
        read_bucket(&round, is_to_be_read);
    }
    (void)pthread_mutex_lock(&agreement->lock);
    taken = agreement->came;
    agreement->came = BUF_INIT;
    (void)pthread_mutex_unlock(&agreement->lock);
    code = code < 0 ? code : take_all(&round, &taken, &err);
    if (code == 0 && have_tools_changed) { /* at the start, other hosts may be trusted */
        code = store_shared_read(store_of(agreement), group_of(agreement), NULL,
                                 is_to_be_read ? note_thing : note_unseen, &round, &err);
    }
    if (code < 0) {
        log_line(log_of(agreement), LOG_WARNING, "nats",
                 "what the group decides is not in effect here, and is read again with the next "
                 "decision: %s",
                 err.message);
        return;
    }
    judge_all(&round);
    if (agreement->bucket != NULL && atomic_load(&agreement->member->connected)) {
        publish_all(&round);
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
    int code = member_keep_subscribed(member, subject.data, came, err);
    if (code < 0) {
        return code;
    }
    agreement->subscription = member->subscriptions[member->subscription_count - 1];
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
