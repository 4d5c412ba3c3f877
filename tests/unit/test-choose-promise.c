/* `ready` is a promise: with it, the call does what the text says. promises.json is a configuration
 * with tools of files, git, chat, a calendar, a home and more; promises.jsonl has texts over them,
 * with the call that is right ("call"), what must be asked for ("ask"), or that nothing is to be
 * called ("none"). {"any": [...]} is one of several values; a member with "?" behind its name may
 * be left out. "undone" is what a call leaves of a text with several wishes, and "ready" whether it
 * can be made. How many answers are ready and wrong must not rise, and how many are ready and right
 * must not fall; with PROMISE_SHOW=1 in the environment those are printed that are wrong.
 *
 * wary.jsonl has texts over the tools of wary.json and those that every installation has, each with
 * what it must lead to: "ready" false, the call that is ready, or the "nodes" of a plan, of which
 * "told" says why a part of the text gave none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-equal.h"
#include "toolrack/choose.h"
#include "toolrack/plan.h"
#include "toolrack/toolrack.h"

#include <cmocka.h>

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Of the texts of promises.jsonl. */
#define KEPT_LEAST  88
#define BROKEN_MOST 0

#define STEPS 100000

#define LONG_WORDS 5000u

static struct toolrack *host;
static struct toolrack_error err;

static int set_up(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = TEST_PROMISES "/promises.json";
    options.state_dir = "";
    options.no_scan = true;
    return toolrack_open(&options, &host, &err);
}

static int set_up_wary(void **state) {
    static const char *const folders[] = {TEST_BUNDLED, NULL};
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = TEST_PROMISES "/wary.json";
    options.state_dir = "";
    options.plugin_dirs = folders;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    return toolrack_open(&options, &host, &err);
}

static int tear_down(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

static yyjson_doc *choose(yyjson_val *row) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *answer = NULL;
    CLEANUP(freep) char *context = yyjson_val_write(yyjson_obj_get(row, "context"), 0, NULL);
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    size_t length = 0;
    options.text = yyjson_get_str(yyjson_obj_get(row, "text"));
    options.context = context;
    if (toolrack_select(host, &options, &answer, &err) != 0) {
        fail_msg("%s: %s", options.text, err.message);
    }
    const char *data = toolrack_text_data(answer, &length);
    return yyjson_read(data, length, 0);
}

static bool is_right_value(yyjson_val *given, yyjson_val *wanted) {
    yyjson_val *any = yyjson_obj_get(wanted, "any");
    struct budget budget = {.steps = STEPS};
    size_t at;
    size_t count;
    yyjson_val *one;
    if (any == NULL) {
        return json_equal(given, wanted, &budget);
    }
    yyjson_arr_foreach (any, at, count, one) {
        if (json_equal(given, one, &budget)) {
            return true;
        }
    }
    return false;
}

/* Whether all that is wanted is given, and nothing else. */
static bool are_right(yyjson_val *given, yyjson_val *wanted) {
    size_t found = 0;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach (wanted, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        size_t length = yyjson_get_len(key);
        bool optional = length > 0 && name[length - 1] == '?';
        yyjson_val *own = yyjson_obj_getn(given, name, optional ? length - 1 : length);
        if (own == NULL ? !optional : !is_right_value(own, value)) {
            return false;
        }
        found += own != NULL;
    }
    return found == yyjson_obj_size(given);
}

static bool is_right(yyjson_val *row, yyjson_val *answer) {
    yyjson_val *tool = yyjson_obj_get(row, "tool");
    return yyjson_equals_str(yyjson_obj_get(row, "is"), "call") &&
           yyjson_equals_str(yyjson_obj_get(answer, "tool"), yyjson_get_str(tool)) &&
           are_right(yyjson_obj_get(answer, "arguments"), yyjson_obj_get(row, "arguments"));
}

static void show(yyjson_val *row, yyjson_val *answer) {
    CLEANUP(freep) char *given = yyjson_val_write(yyjson_obj_get(answer, "arguments"), 0, NULL);
    print_message("# %s: %s %s\n", yyjson_get_str(yyjson_obj_get(row, "text")),
                  yyjson_get_str(yyjson_obj_get(answer, "tool")), given);
}

static yyjson_doc *plan(yyjson_val *row) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *made = NULL;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    size_t length = 0;
    options.text = yyjson_get_str(yyjson_obj_get(row, "plan"));
    if (toolrack_plan_make(host, &options, &made, &err) != 0) {
        fail_msg("%s: %s", options.text, err.message);
    }
    const char *data = toolrack_text_data(made, &length);
    return yyjson_read(data, length, 0);
}

/* Each row of a file, and the answer to it. */
static void for_each(const char *path, void (*take)(yyjson_val *row, yyjson_val *answer)) {
    FILE *file = fopen(path, "re");
    CLEANUP(freep) char *line = NULL;
    size_t room = 0;
    ssize_t length;
    assert_non_null(file);
    while ((length = getline(&line, &room, file)) > 0) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *row = yyjson_read(line, (size_t)length, 0);
        yyjson_val *root = yyjson_doc_get_root(row);
        CLEANUP(yyjson_doc_freep)
        yyjson_doc *doc = yyjson_obj_get(root, "plan") != NULL ? plan(root) : choose(root);
        take(root, yyjson_doc_get_root(doc));
    }
    assert_int_equal(fclose(file), 0);
}

static int kept;
static int broken;

static void count(yyjson_val *row, yyjson_val *answer) {
    if (!yyjson_get_bool(yyjson_obj_get(answer, "ready"))) {
        return;
    }
    bool right = is_right(row, answer);
    kept += right;
    broken += !right;
    if (!right && getenv("PROMISE_SHOW") != NULL) {
        show(row, answer);
    }
}

static void what_is_ready_is_right(void **state) {
    (void)state;
    for_each(TEST_PROMISES "/promises.jsonl", count);
    print_message("# ready and right %d, ready and wrong %d\n", kept, broken);
    assert_in_range(kept, KEPT_LEAST, INT32_MAX);
    assert_in_range(broken, 0, BROKEN_MOST);
}

static int with_undone;

static void check_undone(yyjson_val *row, yyjson_val *answer) {
    yyjson_val *wanted = yyjson_obj_get(row, "undone");
    struct budget budget = {.steps = STEPS};
    if (wanted == NULL) {
        return;
    }
    CLEANUP(freep) char *given = yyjson_val_write(answer, 0, NULL);
    bool right = json_equal(yyjson_obj_get(answer, "undone"), wanted, &budget);
    with_undone++;
    if (!right || !is_right(row, answer) ||
        !yyjson_equals(yyjson_obj_get(answer, "ready"), yyjson_obj_get(row, "ready"))) {
        fail_msg("%s: %s", yyjson_get_str(yyjson_obj_get(row, "text")), given);
    }
}

static void what_is_left_is_told(void **state) {
    (void)state;
    for_each(TEST_PROMISES "/promises.jsonl", check_undone);
    assert_in_range(with_undone, 1, INT32_MAX);
}

/* ------------------------------------------------------------------------------------- wary */

static bool are_nodes(yyjson_val *nodes, yyjson_val *wanted) {
    size_t at;
    size_t number;
    yyjson_val *one;
    if (yyjson_arr_size(nodes) != yyjson_arr_size(wanted)) {
        return false;
    }
    yyjson_arr_foreach (wanted, at, number, one) {
        yyjson_val *node = yyjson_arr_get(nodes, at);
        const char *tool = yyjson_get_str(yyjson_arr_get(one, 0));
        if (!yyjson_equals_str(yyjson_obj_get(node, "tool"), tool) ||
            !are_right(yyjson_obj_get(node, "arguments"), yyjson_arr_get(one, 1))) {
            return false;
        }
    }
    return true;
}

static bool is_told(yyjson_val *answer, const char *told) {
    size_t at;
    size_t number;
    yyjson_val *one;
    yyjson_arr_foreach (yyjson_obj_get(answer, "unsure"), at, number, one) {
        const char *reason = yyjson_get_str(yyjson_obj_get(one, "reason"));
        if (reason != NULL && strstr(reason, told) != NULL) {
            return true;
        }
    }
    return false;
}

static void check_wary(yyjson_val *row, yyjson_val *answer) {
    CLEANUP(freep) char *given = yyjson_val_write(answer, 0, NULL);
    yyjson_val *text = yyjson_obj_get(row, "text");
    if (text == NULL) {
        const char *told = yyjson_get_str(yyjson_obj_get(row, "told"));
        yyjson_val *made = yyjson_obj_get(answer, "plan");
        if (!are_nodes(yyjson_obj_get(made, "nodes"), yyjson_obj_get(row, "nodes")) ||
            (told != NULL && !is_told(answer, told))) {
            fail_msg("%s: %s", yyjson_get_str(yyjson_obj_get(row, "plan")), given);
        }
        return;
    }
    bool wanted = yyjson_get_bool(yyjson_obj_get(row, "ready"));
    bool ready = yyjson_get_bool(yyjson_obj_get(answer, "ready"));
    const char *tool = yyjson_get_str(yyjson_obj_get(row, "tool"));
    bool right = !wanted ||
                 (yyjson_equals_str(yyjson_obj_get(answer, "tool"), tool) &&
                  are_right(yyjson_obj_get(answer, "arguments"), yyjson_obj_get(row, "arguments")));
    bool asks = ready || yyjson_is_str(yyjson_obj_get(answer, "question"));
    if (ready != wanted || !right || !asks) {
        fail_msg("%s: %s", yyjson_get_str(text), given);
    }
}

static void what_is_not_wanted_is_not_ready(void **state) {
    (void)state;
    for_each(TEST_PROMISES "/wary.jsonl", check_wary);
}

static yyjson_doc *choose_for_ann(const char *text) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *answer = NULL;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    size_t length = 0;
    options.text = text;
    options.principal = "ann";
    if (toolrack_select(host, &options, &answer, &err) != 0) {
        fail_msg("%s: %s", text, err.message);
    }
    const char *data = toolrack_text_data(answer, &length);
    return yyjson_read(data, length, 0);
}

static void it_worked(const char *text) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = choose_for_ann(text);
    const char *id = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "id"));
    assert_non_null(id);
    assert_int_equal(toolrack_select_worked(host, "ann", id, true, &err), 0);
}

static void assert_led(const char *text, const char *tool, bool ready) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = choose_for_ann(text);
    yyjson_val *answer = yyjson_doc_get_root(doc);
    CLEANUP(freep) char *given = yyjson_val_write(answer, 0, NULL);
    if (yyjson_get_bool(yyjson_obj_get(answer, "ready")) != ready ||
        (ready && !yyjson_equals_str(yyjson_obj_get(answer, "tool"), tool))) {
        fail_msg("%s: %s", text, given);
    }
}

/* One earlier text makes no call of what a text does not say, and hides no tool that it does. */
static void earlier_texts_make_nothing_ready(void **state) {
    (void)state;
    it_worked("delete mail 1");
    assert_led("mail 9", NULL, false);
    assert_led("the mail 3", NULL, false);
    assert_led("show mail 9", "show_mail", true);
    assert_led("delete mail 9", "delete_mail", true);
    it_worked("it is 10:30 in Madrid, what time is it in Sydney");
    assert_led("what time is it in Madrid", "get_current_time", true);
    assert_led("what time is it in Sydney", "get_current_time", true);
}

/* What stands behind the words that are read may say that nothing is to be done. */
static void a_text_that_is_not_read_whole_is_not_ready(void **state) {
    (void)state;
    CLEANUP(freep) char *text = malloc(LONG_WORDS * 3 + 100);
    assert_non_null(text);
    size_t length = (size_t)sprintf(text, "delete mail 6");
    for (size_t i = 0; i < LONG_WORDS; i++) {
        length += (size_t)sprintf(text + length, " so");
    }
    (void)sprintf(text + length, ", but do not delete anything");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *answer = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *made = NULL;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    options.text = text;
    assert_int_equal(toolrack_select(host, &options, &answer, &err), 0);
    const char *data = toolrack_text_data(answer, &length);
    assert_non_null(strstr(data, "\"ready\":false"));
    assert_non_null(strstr(data, "\"question\":\"The text is too long"));
    assert_int_equal(toolrack_plan_make(host, &options, &made, &err), 0);
    assert_non_null(strstr(toolrack_text_data(made, &length), "the text is too long"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define WARY(name) cmocka_unit_test_setup_teardown(name, set_up_wary, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(what_is_ready_is_right),
            TEST(what_is_left_is_told),
            WARY(what_is_not_wanted_is_not_ready),
            WARY(a_text_that_is_not_read_whole_is_not_ready),
            WARY(earlier_texts_make_nothing_ready),
    };
    return cmocka_run_group_tests_name("choose-promise", tests, NULL, NULL);
}
