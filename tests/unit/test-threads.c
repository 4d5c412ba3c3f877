/* Readers, callers, choosers and a writer on one host at once; run under ThreadSanitizer as well.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "toolrack/choose.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#define ROUNDS        300
#define SUBMITTED_MIN 50u
#define READERS       2
#define CALLERS       2
#define CHOOSERS      2

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second"))
static tr_status echo(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(echo, "Echo", TR_SCHEMA({"type" : "object"}))
static int64_t guest(int64_t n) {
    return n + 1;
}
TR_TOOL(guest, "Comes and goes", TR_I64, (TR_I64, n, "number"))
TR_PLUGIN(("steady", .flags = TR_THREAD_SAFE), "1.0.0", add, echo)

static const struct tr_tool *const guests[] = {&tr_tool_guest};
static const struct tr_plugin visitor = {.magic = TR_MAGIC,
                                         .size = sizeof(struct tr_plugin),
                                         .abi_major = TR_ABI_MAJOR,
                                         .abi_minor = TR_ABI_MINOR,
                                         .id = "visitor",
                                         .version = "1.0.0",
                                         .tool_count = 1,
                                         .tool_size = sizeof(struct tr_tool),
                                         .tools = guests};

static struct toolrack *host;
static atomic_bool writing;
static atomic_uint wrong;
static atomic_uint finished;

static void check(bool holds) {
    if (!holds) {
        atomic_fetch_add(&wrong, 1);
    }
}

static void *read_registry(void *unused) {
    (void)unused;
    while (atomic_load(&writing)) {
        struct toolrack_tools *tools = NULL;
        check(toolrack_list(host, NULL, &tools, NULL) == 0);
        size_t count = toolrack_tools_count(tools);
        check(count >= 1 && count <= 3);
        for (size_t i = 1; i < count; i++) {
            check(toolrack_tool_priority(toolrack_tools_get(tools, i - 1)) >=
                  toolrack_tool_priority(toolrack_tools_get(tools, i)));
        }
        toolrack_tools_free(tools);
        struct toolrack_tool *tool = toolrack_get(host, "echo");
        check(tool != NULL && strcmp(toolrack_tool_name(tool), "echo") == 0);
        toolrack_tool_unref(tool);
        struct toolrack_text *text = NULL;
        check(toolrack_definitions(host, &text, NULL) == 0);
        check(toolrack_text_data(text, NULL)[0] == '[');
        toolrack_text_unref(text);
    }
    return NULL;
}

static void call_once(const char *name, const char *arguments, const char *json, int else_code,
                      uint32_t deadline_ms) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = deadline_ms;
    struct toolrack_result *result = NULL;
    int code = toolrack_call(host, name, arguments, &options, &result, NULL);
    check(code == else_code ||
          (code == 0 && strcmp(toolrack_result_json(result, NULL), json) == 0));
    toolrack_result_free(result);
}

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    (void)user;
    check(err != NULL ? err->code == TOOLRACK_E_CANCELLED
                      : strcmp(toolrack_result_json(result, NULL), "{\"q\":1}") == 0);
    toolrack_result_free(result);
    atomic_fetch_add(&finished, 1);
}

static void *call_tools(void *submitted) {
    while (atomic_load(&writing)) {
        call_once("add", "{\"a\":1,\"b\":2}", "3.0", TOOLRACK_E_DISABLED, TOOLRACK_NO_DEADLINE);
        call_once("add", "{\"a\":1,\"b\":2}", "3.0", TOOLRACK_E_DISABLED, 0);
        call_once("guest", "{\"n\":1}", "2", TOOLRACK_E_NOT_FOUND, 0);
        if (toolrack_submit(host, "echo", "{\"q\":1}", NULL, take_outcome, NULL, NULL, NULL) == 0) {
            atomic_fetch_add((atomic_uint *)submitted, 1);
        }
    }
    return NULL;
}

static void *choose_tools(void *unused) {
    (void)unused;
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    for (unsigned i = 0; atomic_load(&writing); i++) {
        struct toolrack_text *text = NULL;
        options.text = i % 2 == 0 ? "add the two numbers 1 and 2" : "who comes and goes, number 3?";
        check(toolrack_select(host, &options, &text, NULL) == 0);
        check(text != NULL && strstr(toolrack_text_data(text, NULL), "\"candidates\"") != NULL);
        toolrack_text_unref(text);
    }
    return NULL;
}

/* At least so many rounds, and until the callers have had their share of the machine. */
static void write_registry(const atomic_uint *submitted) {
    for (int i = 0; i < ROUNDS || atomic_load(submitted) < SUBMITTED_MIN; i++) {
        check(toolrack_set_enabled(host, "add", i % 2 == 0, NULL, NULL) == 0);
        check(toolrack_set_priority(host, "echo", i % 7, NULL, NULL) == 0);
        check(toolrack_register(host, &visitor, NULL, NULL) == 0);
        check(toolrack_unregister_name(host, "guest", NULL) == 0);
    }
}

static void readers_callers_choosers_and_a_writer(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    atomic_uint submitted = 0;
    atomic_store(&writing, true);
    pthread_t threads[READERS + CALLERS + CHOOSERS];
    for (int i = 0; i < READERS + CALLERS + CHOOSERS; i++) {
        void *(*run)(void *) = i < READERS             ? read_registry
                               : i < READERS + CALLERS ? call_tools
                                                       : choose_tools;
        assert_int_equal(pthread_create(&threads[i], NULL, run, &submitted), 0);
    }
    write_registry(&submitted);
    atomic_store(&writing, false);
    for (int i = 0; i < READERS + CALLERS + CHOOSERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    toolrack_close(host); /* delivers what was submitted, or cancels it */
    assert_int_equal(atomic_load(&wrong), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(readers_callers_choosers_and_a_writer),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
