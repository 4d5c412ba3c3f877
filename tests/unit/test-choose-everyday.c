/* What is chosen for sentences of everyday use over the tools that agents often have: files, git,
 * issues, chat, calendar, lists, a browser, a home, weather, maps. everyday.json is the
 * configuration with the tools, everyday.tsv has the sentences, each with its tools. How many lead
 * to the right tool, and how many that ask for none of them to nothing, must not fall; with
 * EVERYDAY_SHOW=1 in the environment the others are printed. */
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
#include "toolrack/choose.h"
#include "toolrack/toolrack.h"

#include <cmocka.h>

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Of the sentences of everyday.tsv. */
#define RIGHT_LEAST    81
#define FIRST_LEAST    121
#define DECLINED_LEAST 34

/* Candidates of which one should be the right tool. */
#define FIRST 5u

static struct toolrack *host;
static struct toolrack_error err;

static int set_up(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = TEST_EVERYDAY "/everyday.json";
    options.state_dir = "";
    options.no_scan = true;
    return toolrack_open(&options, &host, &err);
}

static int tear_down(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

static yyjson_doc *choose(const char *text) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *answer = NULL;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    size_t length = 0;
    options.text = text;
    options.context = "{\"now\":1700000000000}";
    options.limit = FIRST;
    if (toolrack_select(host, &options, &answer, &err) != 0) {
        fail_msg("%s: %s", text, err.message);
    }
    const char *data = toolrack_text_data(answer, &length);
    return yyjson_read(data, length, 0);
}

/* Whether a name is one of "a|b". */
static bool is_one_of(const char *name, const char *list) {
    size_t size = name != NULL ? strlen(name) : 0;
    while (name != NULL && *list != '\0') {
        size_t length = strcspn(list, "|");
        if (length == size && strncmp(list, name, length) == 0) {
            return true;
        }
        list += length + (list[length] == '|');
    }
    return false;
}

struct counts {
    int wishes;
    int right;
    int first; /* the right tool is among the first */
    int others;
    int declined;
};

static bool count(const char *tools, yyjson_val *answer, struct counts *counts) {
    const char *chosen = yyjson_get_str(yyjson_obj_get(answer, "tool"));
    bool first = false;
    size_t at;
    size_t most;
    yyjson_val *row;
    if (strcmp(tools, "-") == 0) {
        counts->others++;
        counts->declined += chosen == NULL;
        return chosen == NULL;
    }
    yyjson_arr_foreach (yyjson_obj_get(answer, "candidates"), at, most, row) {
        first = first || is_one_of(yyjson_get_str(yyjson_obj_get(row, "tool")), tools);
    }
    counts->wishes++;
    counts->first += first;
    counts->right += is_one_of(chosen, tools);
    return is_one_of(chosen, tools);
}

static void show(const char *text, const char *tools, yyjson_val *answer) {
    const char *chosen = yyjson_get_str(yyjson_obj_get(answer, "tool"));
    size_t at;
    size_t most;
    yyjson_val *row;
    print_message("%s: %s instead of %s;", text, chosen != NULL ? chosen : "-", tools);
    yyjson_arr_foreach (yyjson_obj_get(answer, "candidates"), at, most, row) {
        print_message(" %s %.2f", yyjson_get_str(yyjson_obj_get(row, "tool")),
                      yyjson_get_num(yyjson_obj_get(row, "score")));
    }
    print_message("\n");
}

static void most_lead_to_the_right_tool_or_nowhere(void **state) {
    (void)state;
    struct counts counts = {0};
    FILE *file = fopen(TEST_EVERYDAY "/everyday.tsv", "re");
    CLEANUP(freep) char *line = NULL;
    size_t room = 0;
    assert_non_null(file);
    while (getline(&line, &room, file) > 0) {
        char *tools = strchr(line, '\t');
        if (line[0] == '#' || tools == NULL) {
            continue;
        }
        *tools++ = '\0';
        tools[strcspn(tools, "\n")] = '\0';
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = choose(line);
        yyjson_val *answer = yyjson_doc_get_root(doc);
        if (!count(tools, answer, &counts) && getenv("EVERYDAY_SHOW") != NULL) {
            show(line, tools, answer);
        }
    }
    assert_int_equal(fclose(file), 0);
    print_message("right %d, in the first five %d of %d; declined %d of %d\n", counts.right,
                  counts.first, counts.wishes, counts.declined, counts.others);
    assert_in_range(counts.right, RIGHT_LEAST, counts.wishes);
    assert_in_range(counts.first, FIRST_LEAST, counts.wishes);
    assert_in_range(counts.declined, DECLINED_LEAST, counts.others);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(most_lead_to_the_right_tool_or_nowhere),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
