/* agree-judge.c - the decisions that are kept, and what of them is in effect. */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "remote/nats/agree.h"

bool agree_obeys(const struct agreement *agreement, const char *host) {
    return strcmp(host, agree_own_key(agreement)) == 0 || member_trusts(agreement->member, host);
}

int agree_open(const struct agreement *agreement, const char *key, const char *value, size_t length,
               struct arena *arena, struct decision *ret, struct toolrack_error *err) {
    return decision_open(value, length, agreement->member->group_token, key, arena, ret, err);
}

/* ----------------------------------------------------------------- kept */

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
    } else if (agree_obeys(reading->agreement, row->host) &&
               agree_open(reading->agreement, key.data, row->value, strlen(row->value), arena,
                          &kept->decision, &unheard) == 0) {
        decision_weigh(&kept->decision, kept->row.value, &kept->weighed);
        kept->next = reading->first;
        reading->first = kept;
        reading->count++;
    }
}

int agree_read_kept(const struct agreement *agreement, const char *thing, struct arena *arena,
                    struct reading *ret, struct toolrack_error *err) {
    *ret = (struct reading){.agreement = agreement, .arena = arena};
    int code = store_shared_read(agree_store(agreement), agree_group(agreement), thing, take_row,
                                 ret, err);
    return code == 0 && ret->failed ? error_oom(err) : code;
}

const struct kept *agree_kept_of(const struct reading *reading, const char *host) {
    const struct kept *kept = reading->first;
    while (kept != NULL && strcmp(kept->row.host, host) != 0) {
        kept = kept->next;
    }
    return kept;
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
    const struct store_shared_order order = {.group = agree_group(agreement),
                                             .thing = winner->row.thing,
                                             .host = decision->host,
                                             .kind = decision->kind,
                                             .selector = decision->selector,
                                             .digest = decision->digest,
                                             .now_s = clock_wall_s()};
    int code = member->options.carry_out(member->options.user, decision, &order, err);
    if (code == 0) {
        log_line(agree_log(agreement), LOG_INFO, "nats",
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
    int code = agree_read_kept(agreement, thing, &arena, &reading, err);
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
    code = winner->row.is_done ? store_shared_settle(agree_store(agreement), agree_group(agreement),
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
    agree_note(&round->things, row->thing);
}

/* What was judged stays so when tools change, and there may be much of it. */
static void note_unseen(void *user, const struct store_shared_row *row) {
    if (!row->is_seen) {
        note_thing(user, row);
    }
}

int agree_note_things(struct round *round, bool all, struct toolrack_error *err) {
    const struct agreement *agreement = round->agreement;
    return store_shared_read(agree_store(agreement), agree_group(agreement), NULL,
                             all ? note_thing : note_unseen, round, err);
}

/* A failure at one thing keeps no other from being judged. */
void agree_judge_all(struct round *round) {
    for (size_t at = 0; at < round->things.length; at += strlen(round->things.data + at) + 1) {
        struct toolrack_error err;
        const char *thing = round->things.data + at;
        if (judge(round, thing, &err) < 0) {
            log_line(agree_log(round->agreement), LOG_WARNING, "nats",
                     "what the group has decided, %.200s, cannot be put into effect here, and is "
                     "tried again with the next change: %s",
                     thing, err.message);
        }
    }
}
