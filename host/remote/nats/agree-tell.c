/* agree-tell.c - decisions of people here are signed and kept, for the group. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "remote/nats/agree.h"

static int64_t next_stamp(const struct agreement *agreement, struct toolrack_error *err) {
    int64_t last = 0;
    int64_t now_ms = clock_wall_ms();
    int code = store_shared_last(agree_store(agreement), agree_own_key(agreement), &last, err);
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
                                .host = agree_own_key(agreement),
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
    agree_note(&round->things, thing);
    agree_note(&round->keys, key.data);
    return store_shared_tell(agree_store(agreement), agree_group(agreement), &row, local, err);
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
    int code = agree_read_kept(agreement, thing.data, &arena, &reading, err);
    if (code < 0) {
        return code;
    }
    if (is_same_value && !is_same_tool && !is_none &&
        agree_kept_of(&reading, agree_own_key(agreement)) != NULL) {
        is_none = true; /* the tool is again what it was when this host decided about it */
    }
    if (!is_same_tool && !is_none) {
        agree_note(&round->things, thing.data);
    }
    return is_none ? store_shared_tell(agree_store(agreement), agree_group(agreement), NULL, local,
                                       err)
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

int agree_tell(struct round *round, struct toolrack_error *err) {
    struct agreement *agreement = round->agreement;
    struct telling telling = {.round = round, .err = err};
    int code = store_shared_has_begun(agree_store(agreement), agree_group(agreement),
                                      &telling.begun, err);
    if (code == 0) {
        code = store_shared_locals(agree_store(agreement), agree_group(agreement), clock_wall_s(),
                                   tell_local, &telling, err);
    }
    code = code < 0 ? code : telling.code;
    return code == 0 && !telling.begun
                   ? store_shared_begin(agree_store(agreement), agree_group(agreement), err)
                   : code;
}
