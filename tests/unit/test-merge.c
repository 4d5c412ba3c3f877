/* What a group of hosts has decided: a small group is explored in all that can happen to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "remote/nats/merge.h"

/* ------------------------------------------------------------------- group */

/* Three hosts make a few decisions together, each to allow or to deny. Messages come in any order,
 * several times, late or never; hosts are parted; a host may lose what it has stored. */
enum { HOSTS = 3, EACH = 2 };

static const char *const names[HOSTS] = {"a", "b", "c"};
/* The clocks of the hosts differ. */
static const int64_t clocks[HOSTS] = {1, 1000, 30};

/* A number is that of a decision of a host, from 1 on; 0: none. A mask has a bit for each
 * decision. */
struct state {
    uint8_t made[HOSTS];
    uint8_t denies[HOSTS][EACH];
    uint8_t seen[HOSTS][EACH][HOSTS]; /* what the decision says that it has seen */
    uint8_t past[HOSTS][EACH];        /* a mask of what came before it, as nobody knows it */
    uint8_t holds[HOSTS][HOSTS];      /* of each host, the latest decision of each */
    uint8_t knows[HOSTS];             /* a mask of what has come to it, with what came before */
    uint8_t losses;                   /* how often a host has lost what it had */
};

static uint8_t bit(unsigned host, unsigned number) {
    return (uint8_t)(1u << (host * EACH + number - 1));
}

/* A decision as the hosts have it. */
struct written {
    struct merge_decision decision;
    struct merge_seen seen[HOSTS];
};

static void write_down(const struct state *state, unsigned host, unsigned number,
                       struct written *ret) {
    ret->decision = (struct merge_decision){.host = names[host],
                                            .stamp = number * clocks[host],
                                            .care = state->denies[host][number - 1],
                                            .seen = ret->seen,
                                            .text = ""};
    for (unsigned i = 0; i < HOSTS; i++) {
        unsigned seen = state->seen[host][number - 1][i];
        if (seen != 0) {
            ret->seen[ret->decision.seen_count++] =
                    (struct merge_seen){.host = names[i], .stamp = seen * clocks[i]};
        }
    }
}

/* What is in effect where these are the latest, in an order; -1: nothing. */
static int effect(const struct state *state, const uint8_t latest[HOSTS],
                  const unsigned order[HOSTS]) {
    struct written written[HOSTS];
    struct merge_decision all[HOSTS];
    size_t count = 0;
    for (unsigned i = 0; i < HOSTS; i++) {
        if (latest[order[i]] != 0) {
            write_down(state, order[i], latest[order[i]], &written[count]);
            all[count] = written[count].decision;
            count++;
        }
    }
    const struct merge_decision *winner = merge_winner(all, count);
    return winner == NULL ? -1 : (int)winner->care;
}

/* ------------------------------------------------------------------ moves */

static void decide(struct state *state, unsigned host, bool denies) {
    unsigned number = ++state->made[host];
    state->denies[host][number - 1] = denies;
    memcpy(state->seen[host][number - 1], state->holds[host], HOSTS);
    state->past[host][number - 1] = state->knows[host];
    if (number > 1) { /* who decides again has decided before, also if nothing is left of it */
        state->past[host][number - 1] |=
                (uint8_t)(state->past[host][number - 2] | bit(host, number - 1));
    }
    state->holds[host][host] = (uint8_t)number;
    state->knows[host] |= (uint8_t)(bit(host, number) | state->past[host][number - 1]);
}

/* @return whether it changes anything */
static bool deliver(struct state *state, unsigned to, unsigned from, unsigned number) {
    struct state before = *state;
    struct written came;
    struct written held;
    unsigned has = state->holds[to][from];
    write_down(state, from, number, &came);
    if (has == 0) {
        state->holds[to][from] = (uint8_t)number;
    } else {
        write_down(state, from, has, &held);
        const struct merge_decision *later = merge_later(&came.decision, &held.decision);
        if (later->stamp != merge_later(&held.decision, &came.decision)->stamp) {
            fail_msg("of two decisions the kept one depends on their order");
        }
        state->holds[to][from] = (uint8_t)(later->stamp / clocks[from]);
    }
    state->knows[to] |= (uint8_t)(bit(from, number) | state->past[from][number - 1]);
    return memcmp(&before, state, sizeof before) != 0;
}

static void lose(struct state *state, unsigned host) {
    memset(state->holds[host], 0, HOSTS);
    state->knows[host] = 0;
    state->losses++;
}

/* ------------------------------------------------------------------ checks */

/* Whether a decision to deny is left that nothing came after. */
static bool is_denied(const struct state *state) {
    uint8_t past = 0;
    for (unsigned host = 0; host < HOSTS; host++) {
        for (unsigned number = 1; number <= state->made[host]; number++) {
            past |= state->past[host][number - 1];
        }
    }
    for (unsigned host = 0; host < HOSTS; host++) {
        for (unsigned number = 1; number <= state->made[host]; number++) {
            if (state->denies[host][number - 1] && (past & bit(host, number)) == 0) {
                return true;
            }
        }
    }
    return false;
}

static const unsigned orders[][HOSTS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* All hosts are together again and send each other all that there is, in an order. */
static void reunite(const struct state *state, const unsigned order[HOSTS], struct state *ret) {
    *ret = *state;
    for (unsigned i = 0; i < HOSTS * HOSTS; i++) {
        unsigned to = order[i / HOSTS];
        unsigned from = order[i % HOSTS];
        for (unsigned number = 1; number <= state->made[from]; number++) {
            (void)deliver(ret, to, from, number);
        }
        /* Once more, and what is old. */
        if (state->made[from] > 0 && deliver(ret, to, from, 1)) {
            fail_msg("%s took an old decision of %s", names[to], names[from]);
        }
    }
}

static void check(const struct state *state, size_t turn) {
    uint8_t made = state->made[0] | state->made[1] | state->made[2];
    struct state after;
    reunite(state, orders[turn % ARRAY_LENGTH(orders)], &after);
    for (unsigned host = 0; host < HOSTS; host++) {
        assert_memory_equal(after.holds[host], state->made, HOSTS);
    }
    int first = effect(state, state->made, orders[0]);
    for (size_t order = 1; order < ARRAY_LENGTH(orders); order++) {
        assert_int_equal(effect(&after, after.holds[order % HOSTS], orders[order]), first);
    }
    if (made == 0) {
        assert_int_equal(first, -1);
    } else if (state->losses == 0) {
        assert_int_equal(first, is_denied(state));
    } else if (is_denied(state)) { /* who has lost what it saw is taken for one that saw nothing */
        assert_int_equal(first, 1);
    }
}

/* ----------------------------------------------------------------- explore */

#define PLACES (1u << 20)

struct exploring {
    struct state *places; /* that were visited; all zero: free, as the first state is not kept */
    size_t count;
    struct state *stack;
    size_t height;
};

static uint64_t hash(const struct state *state) {
    const unsigned char *bytes = (const unsigned char *)state;
    uint64_t value = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < sizeof *state; i++) {
        value = (value ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return value ^ (value >> 29);
}

static void visit(struct exploring *exploring, const struct state *state) {
    static const struct state none;
    size_t at = hash(state) % PLACES;
    while (memcmp(&exploring->places[at], &none, sizeof none) != 0) {
        if (memcmp(&exploring->places[at], state, sizeof *state) == 0) {
            return;
        }
        at = (at + 1) % PLACES;
    }
    exploring->places[at] = *state;
    exploring->stack[exploring->height++] = *state;
    assert_true(++exploring->count < PLACES);
}

static void explore_from(struct exploring *exploring, const struct state *state, unsigned made_max,
                         bool may_lose) {
    bool may_decide = state->made[0] + state->made[1] + state->made[2] < (int)made_max;
    for (unsigned host = 0; host < HOSTS; host++) {
        for (unsigned denies = 0; may_decide && denies < 2 && state->made[host] < EACH; denies++) {
            struct state next = *state;
            decide(&next, host, denies != 0);
            visit(exploring, &next);
        }
        for (unsigned from = 0; from < HOSTS; from++) {
            for (unsigned number = 1; from != host && number <= state->made[from]; number++) {
                struct state next = *state;
                if (deliver(&next, host, from, number)) {
                    visit(exploring, &next);
                }
            }
        }
        if (may_lose && state->losses == 0 && state->knows[host] != 0) {
            struct state next = *state;
            lose(&next, host);
            visit(exploring, &next);
        }
    }
}

static size_t explore(unsigned made_max, bool may_lose) {
    struct exploring exploring = {.places = calloc(PLACES, sizeof(struct state)),
                                  .stack = calloc(PLACES, sizeof(struct state))};
    assert_true(exploring.places != NULL && exploring.stack != NULL);
    struct state state = {0};
    check(&state, 0);
    explore_from(&exploring, &state, made_max, may_lose);
    while (exploring.height > 0) {
        state = exploring.stack[--exploring.height];
        check(&state, exploring.count);
        explore_from(&exploring, &state, made_max, may_lose);
    }
    free(exploring.places);
    free(exploring.stack);
    return exploring.count;
}

static void test_model(void **state) {
    (void)state;
    size_t count = explore(4, false);
    print_message("# %zu states\n", count);
    assert_true(count > 10000);
}

static void test_model_with_loss(void **state) {
    (void)state;
    size_t count = explore(3, true);
    print_message("# %zu states\n", count);
    assert_true(count > 10000);
}

/* ---------------------------------------------------------------- by hand */

static void test_later(void **state) {
    (void)state;
    const struct merge_decision all[] = {{.host = "a", .stamp = 1, .text = "x"},
                                         {.host = "a", .stamp = 1, .text = "y"},
                                         {.host = "a", .stamp = 2, .text = "a"}};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 3; k++) {
            assert_ptr_equal(merge_later(&all[i], &all[k]), &all[i > k ? i : k]);
            for (size_t m = 0; m < 3; m++) {
                assert_ptr_equal(merge_later(merge_later(&all[i], &all[k]), &all[m]),
                                 merge_later(&all[i], merge_later(&all[k], &all[m])));
            }
        }
    }
}

/* A deny that another host has answered by an allow; then a third one that knows of neither. */
static void test_allow_after_deny(void **state) {
    (void)state;
    const struct merge_seen seen[] = {{"a", 5}};
    struct merge_decision all[] = {{.host = "a", .stamp = 5, .care = 1, .text = ""},
                                   {.host = "b", .stamp = 3, .seen = seen, .text = ""},
                                   {.host = "c", .stamp = 9, .care = 1, .text = ""}};
    all[1].seen_count = 1;
    assert_ptr_equal(merge_winner(all, 2), &all[1]);
    assert_false(merge_counts(&all[0], all, 2));
    assert_ptr_equal(merge_winner(all, 3), &all[2]);
    all[0].stamp = 6; /* denied once more, at the same time as it was allowed */
    assert_ptr_equal(merge_winner(all, 2), &all[0]);
    assert_null(merge_winner(all, 0));
}

/* Two hosts that lie, each of which says to have seen the other: one is in effect all the same. */
static void test_liars(void **state) {
    (void)state;
    const struct merge_seen a[] = {{"b", 9}};
    const struct merge_seen b[] = {{"a", 9}};
    const struct merge_decision all[] = {
            {.host = "a", .stamp = 5, .seen = a, .seen_count = 1, .text = ""},
            {.host = "b", .stamp = 3, .care = 1, .seen = b, .seen_count = 1, .text = ""}};
    const struct merge_decision turned[] = {all[1], all[0]};
    assert_string_equal(merge_winner(all, 2)->host, "b");
    assert_string_equal(merge_winner(turned, 2)->host, "b");
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_later),           cmocka_unit_test(test_allow_after_deny),
            cmocka_unit_test(test_liars),           cmocka_unit_test(test_model),
            cmocka_unit_test(test_model_with_loss),
    };
    return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
