/* What earlier texts lead to, and how much each of them counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "choose/past.h"

#define NOW INT64_C(1700000000000)
#define DAY (INT64_C(24) * 60 * 60 * 1000)

static struct store *store;
static struct past *past;
static struct toolrack_error err;
static struct past_leads leads;

static int set_up(void **state) {
    (void)state;
    store = store_open(NULL, &err);
    past = store != NULL ? past_create(store) : NULL;
    return past != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    past_leads_finish(&leads);
    past_destroy(past);
    store_close(store);
    return 0;
}

static void assert_ok(int code) {
    if (code != 0) {
        fail_msg("%s: %s", toolrack_code_name(code), err.message);
    }
}

/* A text of a principal for which a tool was chosen. */
static void choose(const char *principal, const char *text, const char *tool, int64_t time_ms,
                   char ret_id[STORE_SELECTION_ID_SIZE]) {
    assert_ok(past_id(past, principal, text, strlen(text), ret_id, &err));
    assert_ok(store_selection_put(store,
                                  &(struct store_selection){.id = ret_id,
                                                            .principal = principal,
                                                            .text = text,
                                                            .tool = tool,
                                                            .plugin = "p app",
                                                            .time_ms = time_ms},
                                  &err));
}

static void it_worked(const char *principal, const char *text, const char *tool, int64_t time_ms) {
    char id[STORE_SELECTION_ID_SIZE];
    choose(principal, text, tool, time_ms, id);
    assert_ok(store_selection_called(store, NULL, id, true, &err));
}

static void it_is(const char *principal, const char *text, const char *tool) {
    char id[STORE_SELECTION_ID_SIZE];
    choose(principal, text, "", NOW, id);
    assert_ok(store_selection_correct(store, NULL, id, tool, "p app", NOW, &err));
}

/* How strongly a text leads to a tool. */
static double leads_to(const char *principal, const char *text, const char *tool) {
    past_leads_finish(&leads);
    assert_ok(past_find(past, text, strlen(text), principal, NOW, &leads, &err));
    for (size_t i = 0; i < leads.count; i++) {
        if (strcmp(leads.items[i].tool, tool) == 0) {
            return leads.items[i].value;
        }
    }
    return 0;
}

static void a_text_leads_to_what_worked(void **state) {
    (void)state;
    char id[STORE_SELECTION_ID_SIZE];
    assert_true(leads_to("ann", "water the roses", "garden") == 0);
    it_worked("ann", "water the roses", "garden", NOW);
    assert_true(leads_to("ann", "water the roses", "garden") > 0.5);
    assert_true(leads_to("ann", "water all roses please", "garden") > 0);
    assert_true(leads_to("ann", "pay the bill", "garden") == 0);
    /* That it was chosen says nothing yet, and that it failed even less. */
    choose("ann", "feed the cat", "bowl", NOW, id);
    assert_true(leads_to("ann", "feed the cat", "bowl") == 0);
    assert_ok(store_selection_called(store, NULL, id, false, &err));
    assert_true(leads_to("ann", "feed the cat", "bowl") == 0);
}

/* A text that nobody asked before is like one earlier text in this word, like another in that. */
static void texts_of_a_tool_lead_together(void **state) {
    (void)state;
    it_is("ann", "water the roses", "garden");
    it_is("ann", "trim the hedge at noon", "garden");
    it_is("ann", "water for the cat", "bowl");
    it_is("ann", "feed the cat at noon", "bowl");
    double together = leads_to("ann", "water the hedge", "garden");
    assert_true(together > 0.99);
    assert_true(leads_to("ann", "water the hedge", "bowl") < together / 2);
    /* A word that no earlier text has counts against, one that all tools have says nothing. */
    assert_true(leads_to("ann", "water the hippopotamus", "garden") < 0.5);
    assert_true(leads_to("ann", "the hippopotamus at", "garden") == 0);
    /* The same in Chinese. */
    it_is("ann", "\xe7\xbb\x99\xe7\x8e\xab\xe7\x91\xb0\xe6\xb5\x87\xe6\xb0\xb4", "garden");
    assert_true(leads_to("ann", "\xe7\x8e\xab\xe7\x91\xb0\xe8\xa6\x81\xe6\xb5\x87\xe6\xb0\xb4",
                         "garden") > 0.3);
    assert_true(leads_to("ann", "\xe7\x8e\xab\xe7\x91\xb0\xe5\xa4\x9a\xe5\xb0\x91\xe9\x92\xb1",
                         "garden") < 0.5);
}

static void what_a_person_says_replaces_what_worked(void **state) {
    (void)state;
    it_worked("ann", "water the roses", "hose", NOW);
    it_is("ann", "water the roses", "garden");
    assert_true(leads_to("ann", "water the roses", "garden") > 0.5);
    assert_true(leads_to("ann", "water the roses", "hose") == 0);
    it_is("ann", "water the roses", "");
    assert_true(leads_to("ann", "water the roses", "garden") == 0);
    assert_int_equal(leads.count, 0);
}

/* How strongly a text leads away from a tool. */
static double leads_from(const char *principal, const char *text, const char *tool) {
    past_leads_finish(&leads);
    assert_ok(past_find(past, text, strlen(text), principal, NOW, &leads, &err));
    for (size_t i = 0; i < leads.count; i++) {
        if (leads.items[i].away && strcmp(leads.items[i].tool, tool) == 0) {
            return leads.items[i].value;
        }
    }
    return 0;
}

static void a_text_for_which_none_is_right_leads_away(void **state) {
    (void)state;
    char id[STORE_SELECTION_ID_SIZE];
    choose("ann", "water the roses", "garden", NOW, id);
    assert_ok(store_selection_correct(store, NULL, id, "", "", NOW, &err));
    assert_true(leads_from("ann", "water the roses", "garden") >= 1);
    assert_true(leads.none);
    assert_int_equal(leads.count, 1);
    /* That none was chosen then is no news. */
    choose("ann", "water the roses", "", NOW, id);
    assert_true(leads_from("ann", "water the roses", "garden") >= 1);
    assert_true(leads.none);
    double like = leads_from("ann", "water the lilies", "garden");
    assert_true(like > 0 && like < 1);
    assert_false(leads.none);
    /* To others one principal's says nothing, as if it had led there. */
    assert_true(leads_from("bob", "water the roses", "garden") == 0);
    assert_false(leads.none);
    /* Beside it, another of the same tool leads there. */
    it_is("ann", "trim the hedge", "garden");
    assert_true(leads_to("ann", "trim the hedge", "garden") >= 1);
    assert_true(leads_from("ann", "trim the hedge", "garden") == 0);
    /* A person who changes her mind is followed. */
    it_is("ann", "water the roses", "garden");
    assert_true(leads_from("ann", "water the roses", "garden") == 0);
    assert_false(leads.none);
}

/* Where nothing was chosen, there is no tool that it says anything of. */
static void that_none_was_chosen_was_right(void **state) {
    (void)state;
    it_is("ann", "water the roses", "");
    assert_true(leads_from("ann", "water the roses", "garden") == 0);
    assert_true(leads.none);
    assert_int_equal(leads.count, 0);
    (void)leads_from("ann", "water the lilies", "garden");
    assert_false(leads.none);
}

static void old_texts_count_less(void **state) {
    (void)state;
    it_worked("ann", "water the roses", "garden", NOW);
    double now = leads_to("ann", "water the roses", "garden");
    it_worked("ann", "water the roses", "garden", NOW - 61 * DAY);
    double then = leads_to("ann", "water the roses", "garden");
    assert_true(then > now * 0.49 && then < now * 0.51);
    /* A clock that was set back makes nothing count more. */
    it_worked("ann", "water the roses", "garden", NOW + 61 * DAY);
    assert_true(leads_to("ann", "water the roses", "garden") <= now);
}

/* However many texts another principal has, and however many others there are. */
static void others_count_in_sum_and_bounded(void **state) {
    (void)state;
    char name[16];
    char text[64];
    it_is("ann", "water the roses", "garden");
    double own = leads_to("ann", "water the roses", "garden");
    it_is("cid", "water the roses", "garden");
    it_is("dan", "water the roses", "garden");
    double three = leads_to("bob", "water the roses", "garden");
    assert_true(three > 0 && three <= own / 2);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(text, sizeof text, "water the roses%.*s", i, "....................");
        it_is("ann", text, "garden");
    }
    double many = leads_to("bob", "water the roses", "garden");
    assert_true(many >= three && many <= three);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(name, sizeof name, "user%d", i);
        it_is(name, "water the roses", "garden");
    }
    assert_true(leads_to("bob", "water the roses", "garden") <= 0.5);
    /* One's own word counts more than that of all others. */
    it_is("bob", "water the roses", "hose");
    assert_true(leads_to("bob", "water the roses", "hose") >
                leads_to("bob", "water the roses", "garden"));
    assert_string_equal(leads.items[0].tool, "hose");
    /* Nobody's own: all others count. */
    assert_true(leads_to(NULL, "water the roses", "garden") <= 0.5);
}

static const char *const secrets[] = {"Globex", "Initech",      "terminate",
                                      "merger", "4711",         "Globexx",
                                      "roses",  "water Globex", "\xe5\xb9\xb6\xe8\xb4\xad"};
#define SECRETS (sizeof secrets / sizeof secrets[0])

/* What bob's words lead to, all of it. */
static void hear_all(double ret[2 * SECRETS]) {
    for (size_t i = 0; i < SECRETS; i++) {
        ret[2 * i] = leads_to("bob", secrets[i], "search");
        ret[2 * i + 1] = leads_to("bob", secrets[i], "garden");
    }
}

/* Who asks word by word learns nothing of what one other, or two, have said. */
static void the_words_of_few_others_say_nothing(void **state) {
    (void)state;
    static const char *const others[] = {"ann", "cid", "dan"};
    static const char text[] = "terminate the merger 4711 with Globex \xe5\xb9\xb6\xe8\xb4\xad";
    double before[2 * SECRETS];
    double after[2 * SECRETS];
    it_is("bob", "water the roses", "garden");
    hear_all(before);
    for (int i = 0; i < 2; i++) {
        it_is(others[i], text, "search");
        it_is(others[i], "water the merger for Globex and Globex alone", "search");
        it_is(others[i], "Globex water", "garden");
        hear_all(after);
        assert_memory_equal(before, after, sizeof before);
    }
    /* Four principals: three others have them, and so they are common words. A word that two of
     * them have is none. */
    it_is(others[2], "terminate Globex", "search");
    assert_true(leads_to("bob", "Globex", "search") > 0);
    assert_true(leads_to("bob", "terminate", "search") > 0);
    assert_true(leads_to("bob", "merger", "search") == 0);
    assert_true(leads_to("bob", "4711", "search") == 0);
    /* Each asks for itself: of ann there are two others. */
    assert_true(leads_to("ann", "Globex", "search") > 0.5);
    assert_ok(store_selections_forget(store, "cid", NULL, &err));
    assert_true(leads_to("bob", "Globex", "search") == 0);
}

static void what_is_forgotten_leads_nowhere(void **state) {
    (void)state;
    it_is("ann", "water the roses", "garden");
    it_is("bob", "water the roses", "garden");
    it_is("cid", "water the roses", "garden");
    it_is("dan", "water the roses", "garden");
    assert_true(leads_to("ann", "water the roses", "garden") > 0.5);
    assert_ok(store_selections_forget(store, "ann", NULL, &err));
    double others = leads_to("ann", "water the roses", "garden");
    assert_true(others > 0 && others <= 0.5);
    assert_ok(store_selections_forget(store, NULL, NULL, &err));
    assert_true(leads_to("ann", "water the roses", "garden") == 0);
    it_is("ann", "feed the cat", "bowl");
    assert_true(leads_to("ann", "feed the cat", "bowl") > 0.5);
}

static void an_id_is_of_principal_and_text(void **state) {
    (void)state;
    char ids[4][STORE_SELECTION_ID_SIZE];
    assert_ok(past_id(past, "ann", "a text", 6, ids[0], &err));
    assert_ok(past_id(past, "ann", "a text", 6, ids[1], &err));
    assert_ok(past_id(past, "bob", "a text", 6, ids[2], &err));
    assert_ok(past_id(past, "ann", "a test", 6, ids[3], &err));
    assert_string_equal(ids[0], ids[1]);
    assert_string_not_equal(ids[0], ids[2]);
    assert_string_not_equal(ids[0], ids[3]);
    assert_int_equal(strlen(ids[0]), STORE_SELECTION_ID_SIZE - 1);
    /* Not by who has the store of another, nor by what looks like a secret. */
    (void)tear_down(NULL);
    assert_int_equal(set_up(NULL), 0);
    assert_ok(past_id(past, "ann", "a text", 6, ids[1], &err));
    assert_string_not_equal(ids[0], ids[1]);
    static const char one[] = "log in, my password is hunter2";
    static const char other[] = "log in, my password is swordfish";
    assert_ok(past_id(past, "ann", one, strlen(one), ids[0], &err));
    assert_ok(past_id(past, "ann", other, strlen(other), ids[1], &err));
    assert_string_equal(ids[0], ids[1]);
}

/* What the store removed between others is dropped, and the rest still counts. */
static void what_the_store_removed_leads_nowhere(void **state) {
    (void)state;
    it_worked("ann", "feed the cat", "bowl", NOW);
    it_is("bob", "polish the shoes", "brush");
    it_is("ann", "water the roses", "garden");
    it_is("cid", "paint the fence", "brush");
    assert_true(leads_to("ann", "feed the cat", "bowl") > 0.5);
    assert_ok(store_selections_forget(store, "ann", NULL, &err));
    it_is("bob", "water the roses", "garden");
    assert_true(leads_to("ann", "feed the cat", "bowl") == 0);
    assert_true(leads_to("bob", "polish the shoes", "brush") > 0.5);
    assert_true(leads_to("bob", "water the roses", "garden") > 0.5);
    assert_true(leads_to("cid", "paint the fence", "brush") > 0.5);
    it_is("bob", "polish the shoes", "garden");
    assert_true(leads_to("bob", "polish the shoes", "brush") == 0);
    assert_ok(store_selections_forget(store, "cid", NULL, &err));
    assert_ok(store_selections_forget(store, "bob", NULL, &err));
    assert_true(leads_to("cid", "paint the fence", "brush") == 0);
    it_is("ann", "feed the cat", "bowl");
    assert_true(leads_to("ann", "feed the cat", "bowl") > 0.5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(a_text_leads_to_what_worked),
            TEST(texts_of_a_tool_lead_together),
            TEST(what_a_person_says_replaces_what_worked),
            TEST(a_text_for_which_none_is_right_leads_away),
            TEST(that_none_was_chosen_was_right),
            TEST(old_texts_count_less),
            TEST(others_count_in_sum_and_bounded),
            TEST(the_words_of_few_others_say_nothing),
            TEST(what_is_forgotten_leads_nowhere),
            TEST(what_the_store_removed_leads_nowhere),
            TEST(an_id_is_of_principal_and_text),
    };
    return cmocka_run_group_tests_name("choose-past", tests, NULL, NULL);
}
