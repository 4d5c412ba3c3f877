/* Snapshots, each made from the one before: against a list that is sorted anew, at every number of
 * tools and under failing allocations; and the search for a similar name, against a look at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/name.h"
#include "failing-malloc.h"
#include "registry/find.h"
#include "registry/snapshot-step.h"

/* ----------------------------------------------------------------- tools */

#define NAMES    3000u
#define VERSIONS 3u

/* A version of a name. In some snapshots it is there, with one priority or another. */
struct made {
    char name[NAME_LENGTH_MAX + 1];
    char version[16];
    struct tr_tool said;
    struct descriptor_tool spec;
    struct registration *reg;
};

static struct plugin plugin;
static struct made all[NAMES][VERSIONS];
static struct toolrack_tool *present[NAMES][VERSIONS]; /* borrowed from the snapshot */
static size_t present_count;
static struct snapshot *snapshot;
static uint64_t published;
static uint32_t random_state;

static uint32_t random_below(uint32_t end) {
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)random_state * end >> 32);
}

static int make_tools(void **state) {
    static const char *const verbs[] = {"get", "list", "create", "delete", "update", "send"};
    static const char *const nouns[] = {"user", "file", "message", "report", "invoice"};
    (void)state;
    atomic_init(&plugin.refs, NAMES * VERSIONS + 1);
    for (unsigned n = 0; n < NAMES; n++) {
        for (unsigned v = 0; v < VERSIONS; v++) {
            struct made *made = &all[n][v];
            (void)snprintf(made->name, sizeof made->name, "%s_%s_%u", verbs[n % 6],
                           nouns[n / 6 % 5], n);
            (void)snprintf(made->version, sizeof made->version, "1.%u.0", v);
            made->said = (struct tr_tool){.size = sizeof made->said, .name = made->name};
            made->spec = (struct descriptor_tool){.tool = &made->said, .version = made->version};
            made->reg = aligned_alloc(_Alignof(struct registration), sizeof *made->reg);
            assert_non_null(made->reg);
            memset(made->reg, 0, sizeof *made->reg);
            atomic_init(&made->reg->refs, 1);
            made->reg->plugin = &plugin;
            made->reg->spec = &made->spec;
            made->reg->name_length = (uint32_t)strlen(made->name);
            made->reg->name_hash = name_hash(made->name, made->reg->name_length);
        }
    }
    return 0;
}

static int free_tools(void **state) {
    (void)state;
    for (unsigned n = 0; n < NAMES; n++) {
        for (unsigned v = 0; v < VERSIONS; v++) {
            assert_int_equal(atomic_load(&all[n][v].reg->refs), 1); /* no view of it is left */
            registration_unref(all[n][v].reg);
        }
    }
    return 0;
}

static struct toolrack_tool *make_view(struct registration *reg, int32_t priority) {
    struct toolrack_tool *view = calloc(1, sizeof *view);
    assert_non_null(view);
    atomic_init(&view->refs, 1);
    atomic_fetch_add(&reg->refs, 1);
    view->reg = reg;
    view->enabled = true;
    view->priority = priority;
    return view;
}

static int begin(void **state) {
    (void)state;
    random_state = 1;
    published = 0;
    present_count = 0;
    memset(present, 0, sizeof present);
    snapshot = snapshot_create();
    return snapshot == NULL;
}

static int end(void **state) {
    (void)state;
    snapshot_destroy(snapshot);
    return 0;
}

/* ----------------------------------------------------------------- steps */

#define STEP_MAX (NAMES * VERSIONS)

/* What a step is about, as snapshot_step_make() wants it. */
struct edit {
    struct toolrack_tool *before[STEP_MAX];
    size_t before_count;
    struct toolrack_tool *after[STEP_MAX];
    size_t after_count;
};
static struct edit edit;

static int compare_names(const void *a, const void *b) {
    return tool_compare_names(*(struct toolrack_tool *const *)a, *(struct toolrack_tool *const *)b);
}

static int compare_order(const void *a, const void *b) {
    return tool_compare_order(*(struct toolrack_tool *const *)a, *(struct toolrack_tool *const *)b);
}

static void sort_edit(void) {
    qsort(edit.before, edit.before_count, sizeof edit.before[0], compare_names);
    qsort(edit.after, edit.after_count, sizeof edit.after[0], compare_names);
}

/* Each version of a name comes, goes, or gets a view with another priority; with `gone` all go. */
static void edit_name(unsigned n, bool gone) {
    for (unsigned v = 0; v < VERSIONS; v++) {
        bool stays = !gone && random_below(3) > 0;
        if (present[n][v] != NULL) {
            edit.before[edit.before_count++] = present[n][v];
        }
        if (stays) {
            edit.after[edit.after_count++] =
                    make_view(all[n][v].reg, (int32_t)random_below(4) * 10);
        }
    }
}

static void unref_all(struct toolrack_tool *const *tools, size_t count) {
    for (size_t i = 0; i < count; i++) {
        toolrack_tool_unref(tools[i]);
    }
}

static unsigned number_of(const struct toolrack_tool *tool) {
    return (unsigned)(((const char *)tool->reg->spec - (const char *)&all[0][0].spec) /
                      (ptrdiff_t)sizeof all[0][0]);
}

static void note_present(void) {
    for (size_t i = 0; i < edit.before_count; i++) {
        unsigned number = number_of(edit.before[i]);
        present[number / VERSIONS][number % VERSIONS] = NULL;
    }
    for (size_t i = 0; i < edit.after_count; i++) {
        unsigned number = number_of(edit.after[i]);
        present[number / VERSIONS][number % VERSIONS] = edit.after[i];
    }
    present_count += edit.after_count - edit.before_count;
}

/* Take the step, and leave `edit` empty. */
static void take_step(void) {
    struct snapshot_step step;
    sort_edit();
    assert_true(snapshot_step_make(&step, snapshot, edit.before, edit.before_count, edit.after,
                                   edit.after_count));
    snapshot_step_number(&step, ++published);
    struct snapshot *old = snapshot;
    snapshot = step.next;
    note_present();
    unref_all(edit.before, edit.before_count);
    snapshot_step_finish(&step, old);
    edit.before_count = 0;
    edit.after_count = 0;
}

/* The snapshot is what the list of those present says. */
static void expect_present(void) {
    static struct toolrack_tool *sorted[STEP_MAX];
    struct snapshot_place at = {0};
    size_t count = 0;
    snapshot_check(snapshot);
    for (unsigned n = 0; n < NAMES; n++) {
        uint32_t versions = 0;
        const struct name_group *group =
                snapshot_find(snapshot, all[n][0].name, strlen(all[n][0].name));
        for (unsigned v = VERSIONS; v-- > 0;) { /* the highest first */
            if (present[n][v] != NULL) {
                assert_non_null(group);
                assert_ptr_equal(group->tools[versions], present[n][v]);
                sorted[count++] = present[n][v];
                versions++;
            }
        }
        assert_int_equal(group != NULL ? group->count : 0, versions);
    }
    qsort(sorted, count, sizeof sorted[0], compare_order);
    assert_int_equal(snapshot->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_ptr_equal(snapshot_next(snapshot, &at), sorted[i]);
    }
    assert_null(snapshot_next(snapshot, &at));
}

/* ----------------------------------------------------------------- tests */

static void steps_of_every_size(void **state) {
    static const unsigned sizes[] = {1, 2, 1, 40, 3, 700, 1, 5, 2000, 1, 1};
    (void)state;
    expect_present();
    for (unsigned round = 0; round < 66; round++) {
        unsigned names = sizes[round % (sizeof sizes / sizeof sizes[0])];
        unsigned first = random_below(NAMES);
        for (unsigned i = 0; i < names; i++) { /* 7 divides no number of names: each once */
            edit_name((first + i * 7) % NAMES, round % 13 == 12);
        }
        take_step();
        expect_present();
    }
    for (unsigned n = 0; n < NAMES; n++) {
        edit_name(n, true);
    }
    take_step();
    expect_present();
    assert_int_equal(snapshot->count, 0);
}

static void one_by_one_up_and_down(void **state) {
    (void)state;
    for (unsigned i = 0; i < NAMES; i++) {
        unsigned n = (unsigned)((uint64_t)i * 1301 % NAMES);
        edit.after[edit.after_count++] = make_view(all[n][0].reg, 10);
        take_step();
    }
    expect_present();
    for (unsigned n = 0; n < NAMES; n++) {
        edit.before[edit.before_count++] = present[n][0];
        take_step();
        if (n % 500 == 0) {
            expect_present();
        }
    }
    expect_present();
}

static size_t count_new_leaves(uint64_t number) {
    size_t count = 0;
    for (size_t i = 0; i < (size_t)1 << snapshot->name_bits; i++) {
        count += snapshot->names[i]->leaf.number == number;
    }
    for (size_t i = 0; i < snapshot->order_count; i++) {
        count += snapshot->order[i]->leaf.number == number;
    }
    return count;
}

/* A change of one tool makes a leaf of names and as many of order as it is moved between, whatever
 * the number of tools; and no leaf is nearly empty, so that their number stays small. */
static void a_step_shares_what_it_is_not_about(void **state) {
    (void)state;
    for (unsigned n = 0; n < NAMES; n++) {
        edit.after[edit.after_count++] = make_view(all[n][0].reg, 10);
    }
    take_step();
    for (unsigned i = 0; i < 2000; i++) {
        unsigned n = random_below(NAMES);
        edit.before[edit.before_count++] = present[n][0];
        edit.after[edit.after_count++] = make_view(all[n][0].reg, (int32_t)random_below(3));
        take_step();
        assert_in_range(count_new_leaves(published), 2, 6);
    }
    expect_present();
    assert_in_range(snapshot->order_count, NAMES / 128, NAMES / 32 + 1);
    assert_in_range((size_t)1 << snapshot->name_bits, NAMES / 64, NAMES / 16);
}

static void without_memory_nothing_changes(void **state) {
    (void)state;
    for (unsigned n = 0; n < NAMES; n++) {
        edit_name(n, false);
    }
    take_step();
    for (unsigned n = 0; n < NAMES / 2;
         n++) { /* the names are distributed to more leaves or fewer */
        edit_name(n, n % 8 != 0);
    }
    sort_edit();
    struct snapshot_step step;
    bool made = false;
    for (unsigned fails_at = 1; !made; fails_at++) {
        failing_malloc_set(fails_at);
        made = snapshot_step_make(&step, snapshot, edit.before, edit.before_count, edit.after,
                                  edit.after_count);
        assert_true(made || failing_malloc_hit());
        failing_malloc_set(0);
        assert_true(made || step.next == NULL);
        if (fails_at % 16 == 1) {
            expect_present();
        }
    }
    snapshot_step_drop(&step); /* it was not published after all */
    expect_present();
    unref_all(edit.after, edit.after_count);
    edit.before_count = 0;
    edit.after_count = 0;
}

/* ----------------------------------------------------------------- similar names */

/* What find_nearest() has to find: a look at each name, in order. */
static const char *look_at_all(const char *typed) {
    static struct toolrack_tool *sorted[NAMES];
    struct nearest nearest = nearest_to(typed);
    size_t count = 0;
    for (unsigned n = 0; n < NAMES; n++) {
        if (present[n][0] != NULL) {
            sorted[count++] = present[n][0];
        }
    }
    qsort(sorted, count, sizeof sorted[0], compare_names);
    for (size_t i = 0; i < count; i++) {
        (void)nearest_try_tool(&nearest, toolrack_tool_name(sorted[i]));
    }
    return nearest.name;
}

/* Letters are exchanged, left out, doubled and swapped; some names get what models write around
 * them, and some are cut. */
static void misspell(const char *name, char ret[256]) {
    static const char *const around[][2] = {
            {"server__", ""}, {"functions.", ""},  {"mcp_x_", ""}, {"", "_tool"},
            {"", ":0"},       {"", "<|channel|>"}, {"a/", ".b"}};
    unsigned edits = random_below(5);
    char text[128];
    (void)snprintf(text, sizeof text, "%s", name);
    for (unsigned i = 0; i < edits; i++) {
        size_t length = strlen(text);
        size_t at = random_below((uint32_t)length - 1);
        char letter = text[at];
        switch (random_below(5)) {
        case 0: text[at] = (char)('a' + random_below(26)); break;
        case 1: memmove(&text[at], &text[at + 1], length - at); break;
        case 2: memmove(&text[at + 1], &text[at], length - at + 1); break;
        case 3: text[at] = (char)(letter ^ 0x20); break;
        default:
            text[at] = text[at + 1];
            text[at + 1] = letter;
            break;
        }
    }
    if (random_below(6) == 0) {
        text[1 + random_below((uint32_t)strlen(text) - 1)] = '\0';
    }
    bool is_plain = random_below(6) > 0;
    const char *const *parts = around[random_below(7)];
    (void)snprintf(ret, 256, "%s%s%s", is_plain ? "" : parts[0], text, is_plain ? "" : parts[1]);
}

static void a_similar_name_is_that_of_a_look_at_all(void **state) {
    char typed[256];
    unsigned found = 0;
    (void)state;
    for (unsigned n = 0; n < NAMES; n += 1 + random_below(3)) {
        edit.after[edit.after_count++] = make_view(all[n][0].reg, 10);
    }
    take_step();
    for (unsigned i = 0; i < 600; i++) {
        misspell(all[random_below(NAMES)][0].name, typed);
        const char *expected = look_at_all(typed);
        const char *actual = find_nearest(snapshot, typed, false);
        found += expected != NULL;
        if ((expected == NULL) != (actual == NULL) ||
            (expected != NULL && strcmp(expected, actual) != 0)) {
            fail_msg("'%s': %s, not %s", typed, actual != NULL ? actual : "nothing",
                     expected != NULL ? expected : "nothing");
        }
    }
    assert_in_range(found, 200, 580); /* some find nothing */
}

static void only_what_may_be_called_is_suggested(void **state) {
    (void)state;
    edit.after[edit.after_count++] = make_view(all[0][0].reg, 10);
    edit.after[0]->enabled = false;
    take_step();
    assert_string_equal(find_nearest(snapshot, "get_userr_0", false), all[0][0].name);
    assert_null(find_nearest(snapshot, "get_userr_0", true));
    assert_null(find_nearest(snapshot, "server__get_user_0", true));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
            TEST(steps_of_every_size),
            TEST(one_by_one_up_and_down),
            TEST(a_step_shares_what_it_is_not_about),
            TEST(without_memory_nothing_changes),
            TEST(a_similar_name_is_that_of_a_look_at_all),
            TEST(only_what_may_be_called_is_suggested),
    };
    return cmocka_run_group_tests(tests, make_tools, free_tools);
}
