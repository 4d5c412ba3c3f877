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

/* ------------------------------------------------------------ many tools */

#define MANY  200u
#define PAIRS 60u
#define FOUND 3u /* readers of many tools */

static atomic_bool pairing;

static void register_named(const char *id, const char *const *names, uint32_t count) {
    static struct tr_tool tools[MANY];
    static const struct tr_tool *table[MANY];
    for (uint32_t i = 0; i < count; i++) {
        tools[i] = tr_tool_guest;
        tools[i].name = names[i];
        table[i] = &tools[i];
    }
    struct tr_plugin plugin = visitor;
    plugin.id = id;
    plugin.tools = table;
    plugin.tool_count = count;
    check(toolrack_register(host, &plugin, NULL, NULL) == 0);
}

/* In each list are all tools that stay, in order; and of a pair, which comes as one change and of
 * which the second leaves first, never the second alone. */
static void *read_many(void *unused) {
    static const char first[] = "pair_a_";
    (void)unused;
    while (atomic_load(&pairing)) {
        struct toolrack_tools *tools = NULL;
        bool has_first[PAIRS] = {false};
        bool has_second[PAIRS] = {false};
        unsigned staying = 0;
        check(toolrack_list(host, NULL, &tools, NULL) == 0);
        for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
            const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
            const struct toolrack_tool *before = i > 0 ? toolrack_tools_get(tools, i - 1) : NULL;
            const char *name = toolrack_tool_name(tool);
            check(before == NULL || toolrack_tool_priority(before) > toolrack_tool_priority(tool) ||
                  (toolrack_tool_priority(before) == toolrack_tool_priority(tool) &&
                   strcmp(toolrack_tool_name(before), name) < 0));
            bool is_pair = strncmp(name, "pair_", 5) == 0;
            unsigned number = (unsigned)strtoul(name + sizeof first - 1, NULL, 10) % PAIRS;
            staying += !is_pair;
            has_first[number] = has_first[number] || (is_pair && name[5] == 'a');
            has_second[number] = has_second[number] || (is_pair && name[5] == 'b');
        }
        toolrack_tools_free(tools);
        check(staying == MANY);
        for (unsigned i = 0; i < PAIRS; i++) {
            check(has_first[i] || !has_second[i]);
        }
    }
    return NULL;
}

/* By their names, the tools that stay are always found, and what is misspelt is suggested. */
static void *find_many(void *unused) {
    (void)unused;
    for (unsigned i = 0; atomic_load(&pairing); i++) {
        char name[32];
        struct toolrack_result *none = NULL;
        struct toolrack_error err;
        (void)snprintf(name, sizeof name, "tool_%03u", i % MANY);
        struct toolrack_tool *tool = toolrack_get(host, name);
        check(tool != NULL && strcmp(toolrack_tool_name(tool), name) == 0);
        toolrack_tool_unref(tool);
        call_once(name, "{\"n\":1}", "2", TOOLRACK_E_DISABLED, TOOLRACK_NO_DEADLINE);
        (void)snprintf(name, sizeof name, "tol_%03u", i % MANY);
        check(toolrack_call(host, name, "{}", NULL, &none, &err) == TOOLRACK_E_NOT_FOUND &&
              strstr(err.message, "did you mean 'tool_") != NULL);
    }
    return NULL;
}

static void change_many(void) {
    char names[2][32];
    const char *const pair[] = {names[0], names[1]};
    for (unsigned i = 0; i < PAIRS; i++) {
        (void)snprintf(names[0], sizeof names[0], "pair_a_%03u", i);
        (void)snprintf(names[1], sizeof names[1], "pair_b_%03u", i);
        register_named(names[0], pair, 2);
        char steady[32];
        (void)snprintf(steady, sizeof steady, "tool_%03u", i * 7 % MANY);
        check(toolrack_set_priority(host, steady, (int)(i % 3), NULL, NULL) == 0);
        if (i % 3 != 0) { /* some stay, so that the leaves get full */
            check(toolrack_unregister_name(host, names[1], NULL) == 0);
            check(toolrack_unregister_name(host, names[0], NULL) == 0);
        }
    }
}

static void no_reader_sees_a_half_of_a_change(void **state) {
    static char names[MANY][32];
    static const char *table[MANY];
    pthread_t threads[2 * FOUND];
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    atomic_store(&wrong, 0);
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "tool_%03u", i);
        table[i] = names[i];
    }
    register_named("many", table, MANY);
    atomic_store(&pairing, true);
    for (unsigned i = 0; i < 2 * FOUND; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, i < FOUND ? read_many : find_many, NULL),
                         0);
    }
    change_many();
    atomic_store(&pairing, false);
    for (unsigned i = 0; i < 2 * FOUND; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    toolrack_close(host);
    assert_int_equal(atomic_load(&wrong), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(readers_callers_choosers_and_a_writer),
            cmocka_unit_test(no_reader_sees_a_half_of_a_change),
    };
    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
