/* The public headers as an embedding program has them: errors, structs that grow, constants. */
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "patience.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/serving.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

/* What a program allocates ends with its last member: a size tells the members, and a new one does
 * not hide in what was padding. */
#define ENDS_WITH(type, member)                                                      \
    static_assert(offsetof(struct type, size) == 0, #type " begins with its size");  \
    static_assert(offsetof(struct type, member) + sizeof((struct type){0}.member) == \
                          sizeof(struct type),                                       \
                  #type " ends with " #member)
ENDS_WITH(toolrack_options, who);
ENDS_WITH(toolrack_reached, unreachable);
ENDS_WITH(toolrack_filter, all);
ENDS_WITH(toolrack_tool_statistics, max_ns);
ENDS_WITH(toolrack_decisions_filter, plugin);
ENDS_WITH(toolrack_pending_filter, caller);
ENDS_WITH(toolrack_call_options, definitions);
ENDS_WITH(toolrack_approval_request, masked);
ENDS_WITH(toolrack_export_options, profile);
ENDS_WITH(toolrack_log_filter, trace);
ENDS_WITH(toolrack_recommend_options, limit);
ENDS_WITH(toolrack_token, approves);
ENDS_WITH(toolrack_task, poll_ms);
ENDS_WITH(toolrack_plan_options, started);
ENDS_WITH(toolrack_usage, reasoning);

static_assert(TOOLRACK_PRIORITY_BUILTIN == TR_PRIORITY_BUILTIN &&
                      TOOLRACK_PRIORITY_OFFICIAL == TR_PRIORITY_OFFICIAL &&
                      TOOLRACK_PRIORITY_COMMUNITY == TR_PRIORITY_COMMUNITY,
              "both headers state the same priorities");

static int failed_line; /* of the call of tr_fail() */

static int32_t answer(struct tr_call *call, int32_t n) {
    if (n < 0) {
        failed_line = __LINE__ + 1;
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "n", "must not be negative");
    }
    return n;
}
TR_TOOL(answer, "Give a number back", TR_I32, TR_CALL, (TR_I32, n, "number"))
TR_PLUGIN("public", "1.0.0", answer)

static struct toolrack *host;

static int open_host(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = options.state_dir = "";
    options.no_scan = 1;
    return toolrack_open(&options, &host, NULL) < 0
                   ? -1
                   : toolrack_register(host, &toolrack_plugin, NULL, NULL);
}

static int close_host(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

static void an_error_says_what_failed(void **state) {
    (void)state;
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_error *copy = toolrack_error_create();
    struct toolrack_result *result = NULL;
    char place[32];
    assert_int_equal(toolrack_error_code(err), TOOLRACK_OK);
    assert_string_equal(toolrack_error_message(err), "");
    assert_int_equal(toolrack_call(host, "answer", "{\"n\":-1}", NULL, &result, err),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    assert_int_equal(toolrack_error_code(err), TOOLRACK_E_INVALID_ARGUMENTS);
    assert_string_equal(toolrack_error_message(err), "must not be negative");
    assert_string_equal(toolrack_error_tool(err), "answer");
    assert_string_equal(toolrack_error_field(err), "/n");
    (void)snprintf(place, sizeof place, "test-public.c:%d", failed_line);
    assert_string_equal(toolrack_error_trace(err), place);
    assert_int_equal(toolrack_error_signal(err), 0);
    toolrack_error_copy(copy, err);
    /* Each failure replaces the one before it, all of it. */
    assert_int_equal(toolrack_release(host, "no such", NULL, err), TOOLRACK_E_NOT_FOUND);
    assert_string_equal(toolrack_error_field(err), "");
    assert_string_equal(toolrack_error_field(copy), "/n");
    assert_string_equal(toolrack_error_message(copy), "must not be negative");
    toolrack_error_copy(copy, NULL);
    toolrack_error_copy(NULL, copy);
    assert_int_equal(toolrack_error_code(copy), TOOLRACK_E_INVALID_ARGUMENTS);
    toolrack_error_free(copy);
    toolrack_error_free(err);
}

static void no_error_says_that_memory_ran_out(void **state) {
    (void)state;
    assert_int_equal(toolrack_error_code(NULL), TOOLRACK_E_NO_MEMORY);
    assert_string_equal(toolrack_error_message(NULL), "out of memory");
    assert_string_equal(toolrack_error_tool(NULL), "");
    assert_string_equal(toolrack_error_field(NULL), "");
    assert_string_equal(toolrack_error_trace(NULL), "");
    assert_int_equal(toolrack_error_signal(NULL), 0);
    toolrack_error_free(NULL);
    toolrack_free(NULL);
}

/* A program with an older header has a smaller struct: nothing behind it is written. */
static void statistics_fill_what_the_program_knows(void **state) {
    (void)state;
    struct toolrack_result *result = NULL;
    struct toolrack_tool *tool = toolrack_get(host, "answer");
    assert_int_equal(toolrack_call(host, "answer", "{\"n\":1}", NULL, &result, NULL), 0);
    toolrack_result_free(result);
    struct toolrack_tool_statistics whole = TOOLRACK_TOOL_STATISTICS_INIT;
    toolrack_tool_statistics(tool, &whole);
    assert_int_equal(whole.size, sizeof whole);
    assert_int_equal(whole.calls, 1);
    assert_int_equal(whole.failures, 0);
    assert_true(whole.max_ns > 0 && whole.max_ns == whole.total_ns);
    struct toolrack_tool_statistics part;
    memset(&part, 0xaa, sizeof part);
    part.size = offsetof(struct toolrack_tool_statistics, failures);
    toolrack_tool_statistics(tool, &part);
    assert_int_equal(part.calls, 1);
    assert_int_equal(part.failures, UINT64_C(0xaaaaaaaaaaaaaaaa));
    assert_int_equal(part.max_ns, UINT64_C(0xaaaaaaaaaaaaaaaa));
    toolrack_tool_unref(tool);
}

static void nothing_is_behind_the_end_of_a_list(void **state) {
    (void)state;
    struct toolrack_tools *tools = NULL;
    struct toolrack_refusals *refusals = NULL;
    struct toolrack_findings *findings = NULL;
    assert_int_equal(toolrack_list(host, NULL, &tools, NULL), 0);
    assert_null(toolrack_tools_get(tools, toolrack_tools_count(tools)));
    toolrack_tools_free(tools);
    assert_int_equal(toolrack_refused(host, &refusals, NULL), 0);
    assert_null(toolrack_refusals_get(refusals, toolrack_refusals_count(refusals)));
    toolrack_refusals_free(refusals);
    assert_int_equal(toolrack_check("/proc/self/exe", &findings, NULL), 0);
    assert_non_null(toolrack_findings_get(findings, 0));
    assert_null(toolrack_findings_get(findings, toolrack_findings_count(findings)));
    toolrack_findings_free(findings);
    assert_int_equal(toolrack_check_with("/proc/self/exe", NULL, &findings, NULL), 0);
    toolrack_findings_free(findings);
    toolrack_cancel_conversation(host, NULL); /* of no conversation nothing is cancelled */
}

static void a_suggestion_is_released_by_the_library(void **state) {
    (void)state;
    char *near = toolrack_suggest(host, "anwser");
    assert_string_equal(near, "answer");
    toolrack_free(near);
    assert_null(toolrack_suggest(host, "nothing_like_it"));
    void *memory = toolrack_alloc(0);
    assert_non_null(memory);
    toolrack_free(memory);
}

static void arguments_have_the_types_of_the_schema(void **state) {
    (void)state;
    struct toolrack_tool *tool = toolrack_get(host, "answer");
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_text *text = NULL;
    assert_int_equal(
            toolrack_arguments(tool, "{\"n\":1}", (const char *const[]){"n=7"}, 1, &text, err), 0);
    assert_string_equal(toolrack_text_data(text, NULL), "{\"n\":7}");
    toolrack_text_unref(text);
    assert_int_equal(toolrack_arguments(tool, NULL, NULL, 0, &text, err), 0);
    assert_string_equal(toolrack_text_data(text, NULL), "{}");
    toolrack_text_unref(text);
    assert_int_equal(
            toolrack_arguments(tool, NULL, (const char *const[]){"n=7", "n=8"}, 2, &text, err),
            TOOLRACK_E_INVALID_ARGUMENTS);
    assert_string_equal(toolrack_error_field(err), "/n");
    assert_string_equal(toolrack_error_tool(err), "answer");
    assert_string_equal(toolrack_error_message(err), "is given twice, and is not an array");
    assert_int_equal(toolrack_arguments(tool, NULL, (const char *const[]){"n"}, 1, &text, err),
                     TOOLRACK_E_INVALID);
    assert_string_equal(toolrack_error_message(err), "an argument is name=value, not \"n\"");
    toolrack_error_free(err);
    toolrack_tool_unref(tool);
}

/* In the words of the call, whether its schema was compiled before or not; and nothing is recorded.
 */
static void arguments_are_checked_without_a_call(void **state) {
    (void)state;
    static const char *const wrong[] = {"[1", "[]", "{}", "{\"n\":\"7\"}", "{\"n\":7,\"m\":8}"};
    struct toolrack_tool *tool = toolrack_get(host, "answer");
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_error *called = toolrack_error_create();
    for (int round = 0; round < 2; round++) {
        assert_int_equal(toolrack_arguments_check(tool, "{\"n\":7} rest", 7, err), 0);
        assert_int_equal(toolrack_arguments_check(tool, "{\"n\":7}", 7, NULL), 0);
        for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
            struct toolrack_result *result = NULL;
            assert_int_equal(toolrack_arguments_check(tool, wrong[i], strlen(wrong[i]), err),
                             TOOLRACK_E_INVALID_ARGUMENTS);
            if (round > 0) {
                assert_int_equal(toolrack_call(host, "answer", wrong[i], NULL, &result, called),
                                 TOOLRACK_E_INVALID_ARGUMENTS);
                assert_string_equal(toolrack_error_message(err), toolrack_error_message(called));
                assert_string_equal(toolrack_error_field(err), toolrack_error_field(called));
                assert_string_equal(toolrack_error_tool(err), toolrack_error_tool(called));
            }
        }
        assert_int_equal(toolrack_arguments_check(tool, NULL, 0, err),
                         TOOLRACK_E_INVALID_ARGUMENTS);
        assert_string_equal(toolrack_error_message(err), "required property \"n\" is missing");
        if (round == 0) { /* it compiles the schema */
            struct toolrack_tool_statistics statistics = {.size = sizeof statistics};
            toolrack_tool_statistics(tool, &statistics);
            assert_int_equal(statistics.calls, 0);
            struct toolrack_result *result = NULL;
            assert_int_equal(toolrack_call(host, "answer", "{\"n\":7}", NULL, &result, err), 0);
            toolrack_result_free(result);
        }
    }
    toolrack_error_free(called);
    toolrack_error_free(err);
    toolrack_tool_unref(tool);
}

static void ignore_end(void *user, struct toolrack_result *result,
                       const struct toolrack_error *err) {
    (void)user;
    (void)err;
    toolrack_result_free(result);
}

/* In a child of fork(). @return the line of what is wrong; 0: nothing */
static int use_as_child(void) {
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_result *result = NULL;
    struct toolrack_call *call = NULL;
    struct toolrack *own = NULL;
    if (toolrack_call(host, "answer", "{\"n\":1}", NULL, &result, err) != TOOLRACK_E_INVALID ||
        strcmp(toolrack_error_message(err), "the host was opened by another process, of which this "
                                            "is a fork; open one in this process") != 0) {
        return __LINE__;
    }
    if (toolrack_submit(host, "answer", "{\"n\":1}", NULL, ignore_end, NULL, &call, err) !=
        TOOLRACK_E_INVALID) {
        return __LINE__;
    }
    toolrack_close(host);
    const struct toolrack_options options = {
            .size = sizeof options, .config_file = "", .state_dir = "", .no_scan = 1};
    /* ThreadSanitizer takes no threads of a child. */
    if (!SANITIZER_THREAD && toolrack_open(&options, &own, NULL) != 0) {
        return __LINE__;
    }
    toolrack_close(own);
    toolrack_error_free(err);
    return 0;
}

static void a_child_does_not_use_the_host_of_its_parent(void **state) {
    (void)state;
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "answer", "{\"n\":1}", NULL, &result, NULL), 0);
    toolrack_result_free(result);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int line = use_as_child();
        if (line != 0) {
            (void)fprintf(stderr, "the child: line %d\n", line);
        }
        _exit(line != 0);
    }
    int status = 0;
    assert_int_equal(patience_child(pid, &status), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(toolrack_call(host, "answer", "{\"n\":2}", NULL, &result, NULL), 0);
    toolrack_result_free(result);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(a_child_does_not_use_the_host_of_its_parent, open_host,
                                            close_host),
            cmocka_unit_test_setup_teardown(an_error_says_what_failed, open_host, close_host),
            cmocka_unit_test(no_error_says_that_memory_ran_out),
            cmocka_unit_test_setup_teardown(statistics_fill_what_the_program_knows, open_host,
                                            close_host),
            cmocka_unit_test_setup_teardown(arguments_have_the_types_of_the_schema, open_host,
                                            close_host),
            cmocka_unit_test_setup_teardown(arguments_are_checked_without_a_call, open_host,
                                            close_host),
            cmocka_unit_test_setup_teardown(nothing_is_behind_the_end_of_a_list, open_host,
                                            close_host),
            cmocka_unit_test_setup_teardown(a_suggestion_is_released_by_the_library, open_host,
                                            close_host),
    };
    return cmocka_run_group_tests_name("public", tests, NULL, NULL);
}
