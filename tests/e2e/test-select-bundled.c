/* Which of all bundled tools is chosen for a sentence, when each plugin has the capabilities that
 * it declares. `select-sentences` has what comes of it with the few that every installation has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "bundled-sentences.h"
#include "e2e.h"
#include "toolrack/choose.h"
#include "toolrack/toolrack.h"

#define SENTENCES          (sizeof bundled_sentences / sizeof bundled_sentences[0])
#define EACH_TOOL_AT_LEAST 2

/* Which no sentence is sure enough of: what there is to delete or to think is a list or a text that
 * only a model writes. */
static const char *const unchosen[] = {"delete_relations", "sequentialthinking"};

/* Every capability that a bundled plugin declares, so that no tool is left out. %s: where
 * `work` is. */
#define CONFIG                                                                             \
    "{\"paths\": {\"workspace\": \"%s/work\"},"                                            \
    " \"plugins\": {\"process\": {\"programs\": \"/usr/bin/true\"},"                       \
    "               \"web_search\": {\"url\": \"http://127.0.0.1:9/\"}},"                  \
    " \"policies\": {"                                                                     \
    "  \"archive\": {\"allow\": [\"read\", \"write\"]}, \"csv\": {\"allow\": [\"read\"]}," \
    "  \"document\": {\"allow\": [\"read\"]}, \"fetch\": {\"allow\": [\"network\"]},"      \
    "  \"filesystem\": {\"allow\": [\"read\", \"write\"]},"                                \
    "  \"git\": {\"allow\": [\"read\", \"write\"]}, \"image\": {\"allow\": [\"read\", "    \
    "\"write\"]},"                                                                         \
    "  \"memory\": {\"allow\": [\"read\", \"write\"]},"                                    \
    "  \"process\": {\"allow\": [\"spawn\", \"read\", \"write\"]},"                        \
    "  \"sqlite\": {\"allow\": [\"read\", \"write\"]}, \"web_search\": {\"allow\": "       \
    "[\"network\"]}}}"

static struct toolrack *host;

static int set_up(void **state) {
    const char *bundled = getenv("E2E_BUNDLED");
    if (e2e_setup(state) != 0) {
        return -1;
    }
    if (bundled == NULL || *bundled == '\0') {
        return 0;
    }
    const char *const folders[] = {bundled, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    char folder[1024];
    char text[sizeof CONFIG + sizeof folder];
    assert_non_null(getcwd(folder, sizeof folder));
    assert_int_equal(mkdir("work", 0700), 0);
    (void)snprintf(text, sizeof text, CONFIG, folder);
    e2e_write("toolrack.json", text);
    options.config_file = "toolrack.json";
    options.state_dir = "state";
    options.plugin_dirs = folders;
    return toolrack_open(&options, &host, NULL);
}

static int tear_down(void **state) {
    toolrack_close(host);
    host = NULL;
    return e2e_teardown(state);
}

static bool is_chosen(const struct bundled_sentence *row) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    struct toolrack_text *text = NULL;
    options.text = row->text;
    assert_int_equal(toolrack_select(host, &options, &text, NULL), 0);
    const char *json = toolrack_text_data(text, NULL);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    const char *tool = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "tool"));
    bool chosen = tool != NULL && strcmp(tool, row->tool) == 0;
    if (!chosen) {
        print_error("\"%s\": %s is chosen, not %s\n", row->text, tool == NULL ? "none" : tool,
                    row->tool);
    }
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return chosen;
}

static void the_tool_that_is_meant_is_chosen(void **state) {
    (void)state;
    unsigned wrong = 0;
    if (host == NULL) {
        skip();
    }
    for (size_t i = 0; i < SENTENCES; i++) {
        wrong += !is_chosen(&bundled_sentences[i]);
    }
    assert_int_equal(wrong, 0);
}

static bool is_unchosen(const char *name) {
    bool found = false;
    for (size_t i = 0; i < sizeof unchosen / sizeof unchosen[0]; i++) {
        found = found || strcmp(unchosen[i], name) == 0;
    }
    return found;
}

static unsigned count_sentences(const char *name) {
    unsigned count = 0;
    for (size_t i = 0; i < SENTENCES; i++) {
        count += strcmp(bundled_sentences[i].tool, name) == 0;
    }
    return count;
}

static void each_tool_has_sentences(void **state) {
    (void)state;
    struct toolrack_tools *tools = NULL;
    if (host == NULL) {
        skip();
    }
    assert_int_equal(toolrack_list(host, NULL, &tools, NULL), 0);
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const char *name = toolrack_tool_name(toolrack_tools_get(tools, i));
        unsigned count = count_sentences(name);
        if (is_unchosen(name) ? count > 0 : count < EACH_TOOL_AT_LEAST) {
            fail_msg("%s has %u sentences in bundled-sentences.h", name, count);
        }
    }
    toolrack_tools_free(tools);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(the_tool_that_is_meant_is_chosen, set_up, tear_down),
            cmocka_unit_test_setup_teardown(each_tool_has_sentences, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("select-bundled", tests, NULL, NULL);
}
