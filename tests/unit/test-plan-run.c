/* Runs of plans through the API, as tables of plans and what becomes of their nodes: whatever a
 * node does, fails of, or is met by while it runs. */
#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "isolation-unit.h"
#include "plan/listed.h"
#include "remove-tree.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"

#include <cmocka.h>

static struct toolrack *host;
static struct toolrack_error err;

/* ----------------------------------------------------------------------------------- the tools */

static atomic_uint calls;
static atomic_uint failures_left; /* of "flaky" */
static uint64_t uid;              /* of "note" */
static sem_t held;                /* how often "hold" has begun */
static sem_t let_go;              /* and was cancelled */

#define ANY "{\"type\":\"object\"}"

/* Its argument "n" again. */
static tr_status note(struct tr_call *call) {
    atomic_fetch_add(&calls, 1);
    (void)tr_put_object(call, NULL);
    (void)tr_put_i64(call, "n", tr_get_i64(call, "n", 0));
    return tr_put_end(call);
}

static tr_status fails(struct tr_call *call) {
    atomic_fetch_add(&calls, 1);
    return tr_fail(call, TR_FAILED, NULL, "as it should");
}

static tr_status flaky(struct tr_call *call) {
    if (atomic_load(&failures_left) > 0) {
        atomic_fetch_sub(&failures_left, 1);
        return fails(call);
    }
    return note(call);
}

/* Runs until it is cancelled. */
static tr_status hold(struct tr_call *call) {
    (void)sem_post(&held);
    while (!tr_cancelled(call)) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    }
    (void)sem_post(&let_go);
    return tr_fail(call, TR_FAILED, NULL, "was cancelled");
}

static void register_note(void) {
    static const struct tr_tool tool = {.size = sizeof tool,
                                        .name = "note",
                                        .description = "Gives its argument",
                                        .schema = ANY,
                                        .flags = TR_IDEMPOTENT,
                                        .run = note};
    static const struct tr_tool *const table[] = {&tool};
    static const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                            .size = sizeof plugin,
                                            .abi_major = TR_ABI_MAJOR,
                                            .abi_minor = TR_ABI_MINOR,
                                            .id = "notes",
                                            .version = "1.0.0",
                                            .flags = TR_THREAD_SAFE,
                                            .tool_count = 1,
                                            .tool_size = sizeof tool,
                                            .tools = table};
    assert_int_equal(toolrack_register(host, &plugin, &uid, &err), 0);
}

static tr_status asks(struct tr_call *call) {
    const char *answer = NULL;
    tr_status status = tr_ask(call, "Which?", "{\"type\":\"object\",\"properties\":{}}", &answer);
    return status == TR_OK ? tr_reply_json(call, answer)
                           : tr_fail(call, TR_FAILED, NULL, "nobody answers");
}

static void register_others(void) {
#define TOOL(tool_name, function, ...)                                                   \
    {                                                                                    \
        .size = sizeof(struct tr_tool), .name = tool_name, .description = "Of the test", \
        .schema = ANY, .run = function, __VA_ARGS__                                      \
    }
    static const struct tr_tool tools[] = {
            TOOL("fail", fails, .flags = TR_IDEMPOTENT),
            TOOL("flaky", flaky, .flags = TR_IDEMPOTENT),
            TOOL("once", flaky, .flags = 0),
            TOOL("hold", hold, .flags = 0),
            TOOL("risky", note, .permission = TR_DANGEROUS),
            {.size = sizeof(struct tr_tool),
             .name = "typed",
             .description = "Of the test",
             .schema = "{\"type\":\"object\",\"required\":[\"s\"],\"additionalProperties\":false,"
                       "\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":"
                       "\"integer\"}}}",
             .result_schema =
                     "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                     "\"yes\":{\"type\":\"boolean\"},\"n\":{\"type\":\"integer\"},\"all\":{"
                     "\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}",
             .run = note},
            TOOL("asks", asks, .flags = 0)};
    static const struct tr_tool *const table[] = {&tools[0], &tools[1], &tools[2], &tools[3],
                                                  &tools[4], &tools[5], &tools[6]};
    static const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                            .size = sizeof plugin,
                                            .abi_major = TR_ABI_MAJOR,
                                            .abi_minor = TR_ABI_MINOR,
                                            .id = "others",
                                            .version = "1.0.0",
                                            .flags = TR_THREAD_SAFE,
                                            .tool_count = 7,
                                            .tool_size = sizeof(struct tr_tool),
                                            .tools = table};
    assert_int_equal(toolrack_register(host, &plugin, NULL, &err), 0);
}

static int set_up(void **state) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    (void)state;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0) {
        return -1;
    }
    register_note();
    register_others();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

/* ------------------------------------------------------------------------------------ the runs */

/* What a test does at an event. */
struct watch {
    struct toolrack_plan *plan;
    char states[65536]; /* "a=succeeded b=failed c=succeeded(fallback)", in the order of ends */
    size_t most;        /* bytes of `states` that are noted */
    unsigned began;
    bool has_begun[10001]; /* of each node */
    unsigned ended;
    unsigned running;
    unsigned running_most;
    const char *node; /* at whose beginning or end something happens; NULL: never */
    bool at_end;
    void (*happens)(struct watch *watch);
};

static void take_event(void *user, const struct toolrack_plan_event *event) {
    struct watch *watch = user;
    const char *id = toolrack_plan_node(watch->plan, event->node);
    size_t length = strlen(watch->states);
    if (event->kind == TOOLRACK_PLAN_BEGAN) {
        watch->has_begun[event->node] = true;
        watch->began++;
        watch->running++;
        watch->running_most =
                watch->running > watch->running_most ? watch->running : watch->running_most;
    }
    if (event->kind == TOOLRACK_PLAN_ENDED) {
        watch->ended++;
        watch->running -= watch->has_begun[event->node];
        assert_true(watch->has_begun[event->node] ||
                    (event->attempts == 0 && event->duration_ns == 0));
        (void)snprintf(watch->states + length, sizeof watch->states - length, "%s%s=%s%s",
                       length > 0 ? " " : "", id, event->state,
                       event->replaced != NULL ? "(fallback)" : "");
        assert_true((event->result != NULL) == (strcmp(event->state, "succeeded") == 0));
        assert_true((event->err != NULL) == (strcmp(event->state, "failed") == 0));
    }
    if (watch->node != NULL && strcmp(watch->node, id) == 0 &&
        event->kind == (watch->at_end ? TOOLRACK_PLAN_ENDED : TOOLRACK_PLAN_BEGAN)) {
        watch->happens(watch);
    }
}

/* JSON with ' for ". */
static void add_json(struct buf *out, const char *text) {
    for (; *text != '\0'; text++) {
        buf_add_char(out, *text == '\'' ? '"' : *text);
    }
}

static struct toolrack_plan *open_plan(const char *text, const char *rules) {
    struct toolrack_findings *findings = NULL;
    struct toolrack_plan *plan = NULL;
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    CLEANUP(buf_finish) struct buf found = BUF_INIT;
    add_json(&json, text);
    assert_int_equal(toolrack_plan_open(host, json.data, json.length, &findings, &plan, &err), 0);
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        buf_printf(&found, "%s%s", i > 0 ? " " : "", finding->rule);
        assert_non_null(finding->fix);
        assert_true(finding->line > 0);
    }
    assert_string_equal(found.length > 0 ? found.data : "", rules);
    toolrack_findings_free(findings);
    return plan;
}

/* Run a plan; `ret` gets its result, or the message of its error. */
static int run_plan(struct watch *watch, const char *text, uint32_t deadline_ms, struct buf *ret) {
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_text *result = NULL;
    watch->plan = open_plan(text, "");
    assert_non_null(watch->plan);
    call.deadline_ms = deadline_ms;
    options.unkept = 1;
    options.call = &call;
    options.event = take_event;
    options.user = watch;
    atomic_store(&calls, 0);
    int code = toolrack_plan_run(watch->plan, &options, &result, &err);
    assert_int_equal(watch->ended, toolrack_plan_count(watch->plan)); /* each node, in the end */
    buf_add_text(ret, code == 0 ? toolrack_text_data(result, NULL) : err.message);
    toolrack_text_unref(result);
    toolrack_plan_close(watch->plan);
    return code;
}

struct row {
    const char *name;
    const char *plan;
    unsigned flaky; /* failures of "flaky" before it succeeds */
    int code;
    const char *result; /* or a part of the error */
    const char *states; /* in the order of the ends, with "parallel" 1 in that of the plan */
    unsigned calls;
};

static void expect_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        static struct watch watch;
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        watch = (struct watch){0};
        atomic_store(&failures_left, row->flaky);
        int code = run_plan(&watch, row->plan, 0, &out);
        CLEANUP(buf_finish) struct buf result = BUF_INIT;
        add_json(&result, row->result);
        if (code != row->code || strcmp(watch.states, row->states) != 0) {
            print_error("%s: %d, %s, %s\n", row->name, code, watch.states, out.data);
        }
        assert_int_equal(code, row->code);
        assert_string_equal(watch.states, row->states);
        if (code == 0) {
            assert_string_equal(out.data, result.data);
        } else {
            assert_non_null(strstr(out.data, result.data));
        }
        assert_int_equal(atomic_load(&calls), row->calls);
    }
}

static void test_shapes(void **state) {
    static const struct row rows[] = {
            {"diamond",
             "{'parallel': 1, 'nodes': ["
             "{'id': 'a', 'tool': 'note', 'arguments': {'n': 1}},"
             "{'id': 'b', 'tool': 'note', 'arguments': {'n': {'$ref': '#/nodes/a/result/n'}}},"
             "{'id': 'c', 'tool': 'note', 'arguments': {'n': {'$ref': '#/nodes/a/result/n'}}},"
             "{'id': 'd', 'tool': 'note', 'arguments': {'n': {'$ref': '#/nodes/b/result/n'}},"
             " 'depends_on': ['c']}]}",
             .result = "{'d':{'n':1}}", .states = "a=succeeded b=succeeded c=succeeded d=succeeded",
             .calls = 4},
            {"ready nodes begin in the order of the plan",
             "{'parallel': 1, 'nodes': [{'id': 'z', 'tool': 'note', 'depends_on': ['y']},"
             "{'id': 'y', 'tool': 'note'}, {'id': 'x', 'tool': 'note'}], 'result': 1}",
             .result = "1", .states = "y=succeeded z=succeeded x=succeeded", .calls = 3},
            {"a condition that does not hold",
             "{'parallel': 1, 'nodes': [{'id': 'a', 'tool': 'note', 'arguments': {'n': 1}},"
             "{'id': 'b', 'tool': 'note', 'when': {'value': {'$ref': '#/nodes/a/result/n'},"
             " 'is': {'minimum': 2}}},"
             "{'id': 'c', 'tool': 'note', 'arguments': {'b': {'$ref': '#/nodes/b/result'}}},"
             "{'id': 'd', 'tool': 'note', 'depends_on': ['b']}],"
             "'result': {'b': {'$ref': '#/nodes/b/result/n'}, 'd': '${nodes.d.result.n}'}}",
             .result = "{'b':null,'d':'0'}",
             .states = "a=succeeded b=skipped c=skipped d=succeeded", .calls = 2},
            {"no items", "{'nodes': [{'id': 'a', 'tool': 'note', 'for_each': []}]}",
             .result = "{'a':[]}", .states = "a=succeeded"},
            {"one item",
             "{'nodes': [{'id': 'a', 'tool': 'note', 'for_each': [7], 'arguments':"
             " {'n': {'$ref': '#/item'}}}]}",
             .result = "{'a':[{'n':7}]}", .states = "a=succeeded", .calls = 1},
            {"more items than allowed",
             "{'nodes': [{'id': 'a', 'tool': 'note', 'for_each': {'items': [1, 2, 3],"
             " 'max_items': 2}}]}",
             .code = TOOLRACK_E_LIMIT_EXCEEDED, .result = "3 items of the 2 allowed",
             .states = "a=failed"},
    };
    (void)state;
    expect_rows(rows, ARRAY_LENGTH(rows));
}

static void test_failures(void **state) {
    static const struct row rows[] = {
            {"stop",
             "{'parallel': 1, 'nodes': [{'id': 'a', 'tool': 'fail'}, {'id': 'b', 'tool': 'note'}]}",
             .code = TOOLRACK_E_EXECUTION_FAILED, .result = "as it should",
             .states = "a=failed b=cancelled", .calls = 1},
            {"stop cancels what runs",
             "{'nodes': [{'id': 'a', 'tool': 'hold'}, {'id': 'b', 'tool': 'fail'}]}",
             .code = TOOLRACK_E_EXECUTION_FAILED, .result = "as it should",
             .states = "b=failed a=cancelled", .calls = 1},
            {"skip: what needs the result is skipped, what only follows is not",
             "{'parallel': 1, 'on_error': 'skip', 'nodes': [{'id': 'a', 'tool': 'fail'},"
             "{'id': 'b', 'tool': 'note', 'arguments': {'x': {'$ref': '#/nodes/a/result'}}},"
             "{'id': 'c', 'tool': 'note', 'depends_on': ['a']},"
             "{'id': 'd', 'tool': 'note', 'depends_on': ['b']}]}",
             .result = "{'c':{'n':0},'d':{'n':0}}",
             .states = "a=failed b=skipped c=succeeded d=succeeded", .calls = 3},
            {"retry succeeds",
             "{'nodes': [{'id': 'a', 'tool': 'flaky', 'on_error': 'retry',"
             " 'retry': {'attempts': 3, 'delay_ms': 0}}]}",
             .flaky = 2, .result = "{'a':{'n':0}}", .states = "a=succeeded", .calls = 3},
            {"retry is exhausted: stop",
             "{'parallel': 1, 'nodes': [{'id': 'a', 'tool': 'flaky', 'on_error': 'retry',"
             " 'retry': {'attempts': 3, 'delay_ms': 0}}, {'id': 'b', 'tool': 'note'}]}",
             .flaky = 9, .code = TOOLRACK_E_EXECUTION_FAILED, .result = "as it should",
             .states = "a=failed b=cancelled", .calls = 3},
            {"retry is exhausted: skip",
             "{'parallel': 1, 'nodes': [{'id': 'a', 'tool': 'flaky', 'on_error': 'skip',"
             " 'retry': {'attempts': 2, 'delay_ms': 1}}, {'id': 'b', 'tool': 'note'}]}",
             .flaky = 9, .result = "{'b':{'n':0}}", .states = "a=failed b=succeeded", .calls = 3},
            {"retry is exhausted: a value",
             "{'nodes': [{'id': 'a', 'tool': 'flaky', 'on_error': {'fallback': {'value': [1]}},"
             " 'retry': {'attempts': 2, 'delay_ms': 0}}]}",
             .flaky = 9, .result = "{'a':[1]}", .states = "a=succeeded(fallback)", .calls = 2},
            {"a forced retry",
             "{'nodes': [{'id': 'a', 'tool': 'once', 'on_error': 'retry',"
             " 'retry': {'attempts': 2, 'delay_ms': 0, 'force': true}}]}",
             .flaky = 1, .result = "{'a':{'n':0}}", .states = "a=succeeded", .calls = 2},
            {"another tool",
             "{'nodes': [{'id': 'a', 'tool': 'fail', 'on_error': {'fallback': {'tool': 'note',"
             " 'arguments': {'n': 5}}}}]}",
             .result = "{'a':{'n':5}}", .states = "a=succeeded(fallback)", .calls = 2},
            {"another tool, which fails too",
             "{'nodes': [{'id': 'a', 'tool': 'fail', 'on_error': {'fallback': {'tool': 'fail'}}}]}",
             .code = TOOLRACK_E_EXECUTION_FAILED,
             .result = "its fallback failed too: ", .states = "a=failed", .calls = 2},
            {"a value made of another result and of the item",
             "{'nodes': [{'id': 'b', 'tool': 'note', 'arguments': {'n': 3}},"
             "{'id': 'a', 'tool': 'fail', 'for_each': {'items': [1, 2], 'parallel': 1},"
             " 'on_error': {'fallback': {'value': [{'$ref': '#/nodes/b/result/n'},"
             " {'$ref': '#/item'}]}}}]}",
             .result = "{'a':[[3,1],[3,2]]}", .states = "b=succeeded a=succeeded(fallback)",
             .calls = 3},
            {"items that may fail",
             "{'nodes': [{'id': 'a', 'tool': 'flaky', 'for_each': {'items': [1, 2, 3],"
             " 'parallel': 1}, 'on_error': 'skip', 'arguments': {'n': {'$ref': '#/item'}}}]}",
             .flaky = 1, .result = "{'a':[null,{'n':2},{'n':3}]}", .states = "a=succeeded",
             .calls = 3},
            {"an item that may not fail",
             "{'nodes': [{'id': 'a', 'tool': 'flaky', 'for_each': {'items': [1, 2, 3],"
             " 'parallel': 1}}]}",
             .flaky = 1, .code = TOOLRACK_E_EXECUTION_FAILED, .result = "as it should",
             .states = "a=failed", .calls = 1},
            {"all policies at once",
             "{'parallel': 1, 'on_error': 'skip', 'nodes': ["
             "{'id': 'a', 'tool': 'fail'},"
             "{'id': 'b', 'tool': 'fail', 'on_error': {'fallback': {'value': 1}}},"
             "{'id': 'c', 'tool': 'note', 'arguments': {'n': {'$ref': '#/nodes/b/result'}}},"
             "{'id': 'd', 'tool': 'note', 'arguments': {'n': {'$ref': '#/nodes/a/result'}}},"
             "{'id': 'e', 'tool': 'fail', 'on_error': 'stop', 'depends_on': ['c']},"
             "{'id': 'f', 'tool': 'note', 'depends_on': ['e']}]}",
             .code = TOOLRACK_E_EXECUTION_FAILED, .result = "as it should",
             .states = "a=failed d=skipped b=succeeded(fallback) c=succeeded e=failed f=cancelled",
             .calls = 4},
            {"what a result does not have",
             "{'nodes': [{'id': 'a', 'tool': 'note'}, {'id': 'b', 'tool': 'note', 'arguments':"
             " {'n': {'$ref': '#/nodes/a/result/none'}}}]}",
             .code = TOOLRACK_E_INVALID_ARGUMENTS, .result = "#/nodes/a/result/none has no value",
             .states = "a=succeeded b=failed", .calls = 1},
            {"items that are no array: a value in their place",
             "{'nodes': [{'id': 'a', 'tool': 'note', 'arguments': {'n': 3}},"
             "{'id': 'b', 'tool': 'note', 'for_each': {'$ref': '#/nodes/a/result/n'},"
             " 'on_error': {'fallback': {'value': 7}}},"
             "{'id': 'c', 'tool': 'note', 'for_each': {'$ref': '#/nodes/b/result'},"
             " 'arguments': {'n': {'$ref': '#/item'}}}]}",
             .result = "{'c':[{'n':7}]}", .states = "a=succeeded b=succeeded(fallback) c=succeeded",
             .calls = 2},
            {"too many items, which is not retried: another tool",
             "{'nodes': [{'id': 'a', 'tool': 'fail', 'for_each': {'items': [1, 2],"
             " 'max_items': 1}, 'retry': {'attempts': 3, 'delay_ms': 0},"
             " 'on_error': {'fallback': {'tool': 'note', 'arguments': {'n': 5}}}}]}",
             .result = "{'a':[{'n':5}]}", .states = "a=succeeded(fallback)", .calls = 1},
            {"no items: a value that needs one",
             "{'nodes': [{'id': 'a', 'tool': 'note'}, {'id': 'b', 'tool': 'note',"
             " 'for_each': {'$ref': '#/nodes/a/result/n'},"
             " 'on_error': {'fallback': {'value': {'$ref': '#/item'}}}}]}",
             .code = TOOLRACK_E_INVALID_ARGUMENTS, .result = "#/item has no value",
             .states = "a=succeeded b=failed", .calls = 1},
            {"a condition about what is not there: a value",
             "{'nodes': [{'id': 'a', 'tool': 'note'}, {'id': 'b', 'tool': 'note',"
             " 'when': {'$ref': '#/nodes/a/result/none'},"
             " 'on_error': {'fallback': {'value': 1}}}]}",
             .result = "{'b':1}", .states = "a=succeeded b=succeeded(fallback)", .calls = 1},
            {"a condition about what is not there: skip",
             "{'parallel': 1, 'nodes': [{'id': 'a', 'tool': 'note'}, {'id': 'b', 'tool': 'note',"
             " 'when': {'$ref': '#/nodes/a/result/none'}, 'on_error': 'skip'},"
             "{'id': 'c', 'tool': 'note', 'depends_on': ['b']}]}",
             .result = "{'c':{'n':0}}", .states = "a=succeeded b=failed c=succeeded", .calls = 2},
    };
    (void)state;
    expect_rows(rows, ARRAY_LENGTH(rows));
}

static void test_refused(void **state) {
    static const struct {
        const char *plan;
        const char *rules;
    } rows[] = {
            {"{'nodes': [{'id': 'a', 'tool': 'nothing'}]}", "plan-tool"},
            {"{'nodes': [{'id': 'a', 'tool': 'note'}, {'id': 'b', 'tool': 'risky'}]}",
             "plan-permission"},
            {"{'nodes': [{'id': 'a', 'tool': 'once', 'on_error': 'retry'}]}", "plan-retry"},
            {"{'nodes': [{'id': 'a', 'tool': 'note', 'depends_on': ['a']}]}", "plan-cycle"},
            /* All at once: of the text, the graph and the tools. */
            {"{'nodes': [{'id': 'a', 'tool': 'note', 'depends_on': ['a']}, {'id': 'b', 'tool': "
             "'nothing'}, {'id': 5, 'tool': '', 'arguments': 3}]}",
             "plan-value plan-value plan-value plan-cycle plan-tool"},
            {"{'nodes': [{'id': 'a', 'tool': 'note', 'depends_on': ['b']},"
             "{'id': 'b', 'tool': 'note', 'arguments': {'x': '${nodes.a.result}'}}]}",
             "plan-cycle"},
            {"{'nodes': [{'id': 'a', 'tool': 'note', 'for_each': {'item': []}}]}",
             "plan-key plan-missing"},
            {"{'nodes': [{'id': 'a', 'tool': 'note', 'for_each': 'all'}]}", "plan-value"},
            {"{'nodes': [{'id': 'a', 'tool': 'note', 'for_each': {'items': [], 'max_items': 0,"
             " 'parallel': 257}}]}",
             "plan-value plan-value"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        atomic_store(&calls, 0);
        assert_null(open_plan(rows[i].plan, rows[i].rules));
        assert_int_equal(atomic_load(&calls), 0);
    }
}

/* What is known of results and inputs is used, and each finding says what to write instead. The
 * first node is "a", of the tool "typed"; there is an input "i", an integer. */
static void test_known_types(void **state) {
    static const struct {
        const char *node; /* the second */
        const char *rule; /* NULL: nothing is wrong */
        const char *fix;  /* its begin */
    } rows[] = {
            {"'when': {'$ref': '#/nodes/a/result/yes'}", NULL, NULL},
            {"'when': {'$ref': '#/nodes/a/result'}", "plan-type",
             "refer to a part that fits: #/nodes/a/result/yes"},
            {"'when': {'$ref': '#/nodes/a/result/n'}", "plan-type",
             "write {'value': {'$ref': ...}, 'is': ...}"},
            {"'when': {'$ref': '#/inputs/i'}", "plan-type", "write {'value'"},
            {"'when': {'value': {'$ref': '#/nodes/a/result/n'}, 'is': {'minimum': 1}}", NULL, NULL},
            {"'when': {'value': {'$ref': '#/nodes/a/result/n'}, 'is': {'const': 'x'}}", "plan-type",
             "correct 'is'"},
            {"'for_each': {'$ref': '#/nodes/a/result/all'}", NULL, NULL},
            {"'for_each': {'$ref': '#/nodes/a/result'}", "plan-type",
             "refer to a part that fits: #/nodes/a/result/all"},
            {"'for_each': {'items': {'$ref': '#/inputs/i'}}", "plan-type", "refer to an array"},
            {"'for_each': {'items': {'x': 1}}", "plan-type", "refer to an array"},
            {"'arguments': {'s': '${nodes.a.result.n}'}", NULL, NULL},
            {"'arguments': {'s': {'$ref': '#/nodes/a/result/n'}}", "plan-type",
             "refer to a value of that type, or put it into a string: '${nodes.a.result.n}'"},
            {"'arguments': {'s': '', 'n': {'$ref': '#/nodes/a/result'}}", "plan-type",
             "refer to a part that fits: #/nodes/a/result/n"},
            {"'arguments': {'s': {'$ref': '#/nodes/a/result/text'}}", "plan-reference",
             "refer to #/nodes/a/result/yes, #/nodes/a/result/n, #/nodes/a/result/all"},
            {"'arguments': {'s': {'$ref': '#/nodes/a/result/n/value'}}", "plan-reference",
             "refer to #/nodes/a/result/n as a whole: it is an integer"},
            {"'arguments': {'text': ''}", "plan-arguments",
             "the parameters of typed: s, a string; n, an integer, may be left out"},
            /* What was meant to be a reference is wrong once. */
            {"'arguments': {'s': '', 'n': {'$ref': 'nodes.a.result.n'}}", "plan-reference",
             "write {'$ref': '#/nodes/a/result/n'}"},
            {"'arguments': {'s': '', 'n': '{{a.result.n}}'}", "plan-reference",
             "write {'$ref': '#/nodes/a/result/n'}"},
            {"'when': {'$ref': 'a.result.yes'}", "plan-reference",
             "write {'$ref': '#/nodes/a/result/yes'}"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct toolrack_findings *findings = NULL;
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(buf_finish) struct buf fix = BUF_INIT;
        const char *arguments = strstr(rows[i].node, "'arguments'");
        add_json(&text, "{'inputs': {'i': {'type': 'integer'}}, 'nodes': [{'id': 'a', 'tool': "
                        "'typed', 'arguments': {'s': 'x'}}, {'id': 'b', 'tool': 'typed', ");
        add_json(&text, rows[i].node);
        add_json(&text, arguments == NULL ? ", 'arguments': {'s': 'x'}}]}" : "}]}");
        add_json(&fix, rows[i].fix != NULL ? rows[i].fix : "");
        assert_int_equal(toolrack_plan_open(host, text.data, text.length, &findings, NULL, &err),
                         0);
        const struct toolrack_finding *found = toolrack_findings_get(findings, 0);
        bool is_right = toolrack_findings_count(findings) == (rows[i].rule != NULL) &&
                        (rows[i].rule == NULL || (strcmp(found->rule, rows[i].rule) == 0 &&
                                                  strncmp(found->fix, fix.data, fix.length) == 0));
        if (!is_right) {
            print_error("%s: %zu, %s: %s\n", rows[i].node, toolrack_findings_count(findings),
                        found != NULL ? found->cause : "", found != NULL ? found->fix : "");
        }
        assert_true(is_right);
        toolrack_findings_free(findings);
    }
}

/* What is wrong with the arguments of a node is told at once, up to five mistakes. */
static void test_all_mistakes(void **state) {
    static const char *const pointers[] = {"/nodes/0/arguments/a",
                                           "/nodes/0/arguments/b",
                                           "/nodes/0/arguments/n",
                                           "/nodes/0/arguments/s",
                                           "/nodes/1/on_error/fallback/arguments/n",
                                           "/nodes/1/on_error/fallback/arguments/s"};
    struct toolrack_findings *findings = NULL;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)state;
    add_json(&text,
             "{'nodes': [{'id': 'a', 'tool': 'typed', 'arguments': {'a': 1, 'b': 2, 'n': "
             "'x', 's': 1}}, {'id': 'b', 'tool': 'note', 'on_error': {'fallback': {'tool': "
             "'typed', 'arguments': {'n': 'x'}}}}, {'id': 'c', 'tool': 'typed', 'arguments': "
             "{'a': 1, 'b': 2, 'c': 3, 'd': 4, 'e': 5, 'n': 'x', 's': 1}}]}");
    assert_int_equal(toolrack_plan_open(host, text.data, text.length, &findings, NULL, &err), 0);
    bool found[ARRAY_LENGTH(pointers)] = {false};
    size_t of_last = 0;
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        assert_string_equal(finding->rule, "plan-arguments");
        assert_int_equal(finding->severity, TOOLRACK_SEVERITY_ERROR);
        assert_int_equal(strncmp(finding->fix, "the parameters of typed: s, ", 28), 0);
        of_last += strcmp(finding->tool, "c") == 0;
        bool is_known = strcmp(finding->tool, "c") == 0;
        for (size_t k = 0; k < ARRAY_LENGTH(pointers); k++) {
            bool is_this = strcmp(finding->pointer, pointers[k]) == 0;
            assert_false(is_this && found[k]);
            found[k] = found[k] || is_this;
            is_known = is_known || is_this;
        }
        assert_true(is_known);
    }
    for (size_t k = 0; k < ARRAY_LENGTH(pointers); k++) {
        assert_true(found[k]);
    }
    assert_int_equal(of_last, 5);
    const struct toolrack_finding *last =
            toolrack_findings_get(findings, toolrack_findings_count(findings) - 1);
    assert_non_null(strstr(last->cause, "; 2 more mistakes of these arguments are not shown"));
    toolrack_findings_free(findings);
}

/* What is known of the results of for_each, of its items, and of fallbacks. There are inputs "i",
 * an integer, and "l", an array of objects with a string "t"; "typed" gives "yes", "n" and "all".
 */
static void test_known_items(void **state) {
    static const struct {
        const char *nodes;
        const char *rule;  /* NULL: nothing is wrong */
        const char *cause; /* a part */
        const char *fix;   /* its begin */
    } rows[] = {
#define EACH           "{'id': 'e', 'tool': 'typed', 'arguments': {'s': ''}, 'for_each': [1, 2]}, "
#define USE(arguments) "{'id': 'u', 'tool': 'typed', 'arguments': " arguments "}"
            {EACH USE("{'s': '${nodes.e.result}', 'n': {'$ref': '#/nodes/e/result/0/n'}}"), NULL,
             NULL, NULL},
            {EACH USE("{'s': '', 'n': {'$ref': '#/nodes/e/result/n'}}"), "plan-reference",
             "the node has 'for_each'",
             "refer to the array, #/nodes/e/result, or to one of its results: "
             "#/nodes/e/result/0/n"},
            {EACH USE("{'s': '${nodes.e.result.n}'}"), "plan-reference", "the node has 'for_each'",
             "refer to the array"},
            {EACH USE("{'s': '', 'n': {'$ref': '#/nodes/e/result'}}"), "plan-type",
             "will be an array", "refer to a value"},
            {EACH USE("{'s': {'$ref': '#/nodes/e/result/0/n'}}"), "plan-type", "will be an integer",
             "refer to a value"},
    /* Items that are written, of an input, of a result, of the results of for_each. */
#define OF(items, arguments) \
    "{'id': 'e', 'tool': 'typed', 'for_each': " items ", 'arguments': " arguments "}"
            {OF("['a', 'b']", "{'s': {'$ref': '#/item'}}"), NULL, NULL, NULL},
            {OF("['a', 'b']", "{'s': '${item.x}'}"), "plan-reference",
             "the items of 'for_each' have no such part", "refer to #/item as a whole"},
            {OF("['a', 'b']", "{'s': '', 'n': {'$ref': '#/item'}}"), "plan-type",
             "will be a string", "refer to a value"},
            {OF("{'$literal': ['a']}", "{'s': {'$ref': '#/item/x'}}"), "plan-reference",
             "have no such part", "refer to #/item as a whole"},
            {OF("[1, 'b']", "{'s': {'$ref': '#/item'}}"), NULL, NULL, NULL},
            {OF("[{'x': 1}, {'y': 'b'}]", "{'s': {'$ref': '#/item/y'}}"), NULL, NULL, NULL},
            {OF("[{'x': 1}, {'x': 2}]", "{'s': {'$ref': '#/item/x'}}"), "plan-type",
             "will be an integer", "refer to a value"},
            {OF("[{'x': 1}, {'y': 'b'}]", "{'s': {'$ref': '#/item/z'}}"), "plan-reference",
             "have no such part", "refer to #/item/x, #/item/y"},
            {OF("[{'$ref': '#/inputs/i'}, 'b']", "{'s': {'$ref': '#/item/z'}}"), NULL, NULL, NULL},
            {OF("[]", "{'s': {'$ref': '#/item/z'}}"), NULL, NULL, NULL},
            {OF("{'$ref': '#/inputs/l'}", "{'s': {'$ref': '#/item/t'}}"), NULL, NULL, NULL},
            {OF("{'$ref': '#/inputs/l'}", "{'s': '', 'n': {'$ref': '#/item/t'}}"), "plan-type",
             "will be a string", "refer to a value"},
            {"{'id': 'a', 'tool': 'typed', 'arguments': {'s': ''}}, " OF(
                     "{'items': {'$ref': '#/nodes/a/result/all'}}", "{'s': '${item.t}'}"),
             "plan-reference", "have no such part", "refer to #/item as a whole: it is a string"},
            {EACH "{'id': 'u', 'tool': 'typed', 'for_each': {'$ref': '#/nodes/e/result'}, "
                  "'arguments': {'s': {'$ref': '#/item/n'}}}",
             "plan-type", "will be an integer", "refer to a value"},
    /* What stands in for a result. */
#define ELSE(fallback)                                                                             \
    "{'id': 'a', 'tool': 'typed', 'arguments': {'s': ''}, 'on_error': {'fallback': " fallback "}}" \
    ", "
            {ELSE("{'value': {'n': 1}}") USE("{'s': '', 'n': {'$ref': '#/nodes/a/result/n'}}"),
             NULL, NULL, NULL},
            {ELSE("{'value': {'n': 'x'}}") USE("{'s': '', 'n': {'$ref': '#/nodes/a/result/n'}}"),
             "plan-type", "will be a string if the fallback gives it", "make the fallback one"},
            {ELSE("{'value': null}") USE("{'s': '', 'n': {'$ref': '#/nodes/a/result/n'}}"),
             "plan-reference", "the fallback of the node has no such part", "give the fallback"},
            {ELSE("{'value': {'n': 1}}") USE("{'s': '${nodes.a.result.m}'}"), "plan-reference",
             "the tool says that its result has no such part", "refer to #/nodes/a/result/yes"},
            {ELSE("{'value': {'n': {'$ref': '#/inputs/i'}}}")
                     USE("{'s': {'$ref': '#/nodes/a/result/n'}}"),
             "plan-type", "will be an integer if the tool gives it", "refer to a part"},
            {ELSE("{'tool': 'typed'}") USE("{'s': {'$ref': '#/nodes/a/result/n'}}"), "plan-type",
             "will be an integer, and", "refer to a value"},
            {ELSE("{'tool': 'typed', 'arguments': {'s': '${inputs.i.x}'}}") USE("{'s': ''}"),
             "plan-reference", "the JSON Schema of the input has no such part",
             "refer to #/inputs/i as a whole"},
            {ELSE("{'value': null}") "{'id': 'u', 'tool': 'typed', 'when': {'value': {'$ref': "
                                     "'#/nodes/a/result'}, 'is': {'type': 'object'}}, "
                                     "'arguments': {'s': '', 'n': {'$ref': "
                                     "'#/nodes/a/result/n'}}}",
             NULL, NULL, NULL},
            {ELSE("{'value': 'none'}") "{'id': 'u', 'tool': 'typed', 'for_each': {'$ref': "
                                       "'#/nodes/a/result/all'}, 'arguments': {'s': ''}}",
             "plan-reference", "the fallback of the node", "give the fallback"},
#undef EACH
#undef USE
#undef OF
#undef ELSE
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct toolrack_findings *findings = NULL;
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(buf_finish) struct buf cause = BUF_INIT;
        CLEANUP(buf_finish) struct buf fix = BUF_INIT;
        add_json(&text,
                 "{'inputs': {'i': {'type': 'integer'}, 'l': {'type': 'array', 'items': "
                 "{'type': 'object', 'properties': {'t': {'type': 'string'}}}}}, 'nodes': [");
        add_json(&text, rows[i].nodes);
        add_json(&text, "]}");
        add_json(&cause, rows[i].rule != NULL ? rows[i].cause : "");
        add_json(&fix, rows[i].rule != NULL ? rows[i].fix : "");
        assert_int_equal(toolrack_plan_open(host, text.data, text.length, &findings, NULL, &err),
                         0);
        const struct toolrack_finding *found = toolrack_findings_get(findings, 0);
        bool is_right = toolrack_findings_count(findings) == (rows[i].rule != NULL) &&
                        (rows[i].rule == NULL || (strcmp(found->rule, rows[i].rule) == 0 &&
                                                  strstr(found->cause, cause.data) != NULL &&
                                                  strncmp(found->fix, fix.data, fix.length) == 0));
        if (!is_right) {
            print_error("%s: %zu, %s: %s\n", rows[i].nodes, toolrack_findings_count(findings),
                        found != NULL ? found->cause : "", found != NULL ? found->fix : "");
        }
        assert_true(is_right);
        toolrack_findings_free(findings);
    }
}

/* What others put before the name of a tool is no part of it. */
static void test_prefixes(void **state) {
    static const char *const names[] = {"functions.note", "mcp__others__note", "others/note"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        struct toolrack_findings *findings = NULL;
        char text[128];
        (void)snprintf(text, sizeof text, "{\"nodes\": [{\"id\": \"a\", \"tool\": \"%s\"}]}",
                       names[i]);
        assert_int_equal(toolrack_plan_open(host, text, strlen(text), &findings, NULL, &err), 0);
        assert_int_equal(toolrack_findings_count(findings), 1);
        assert_string_equal(toolrack_findings_get(findings, 0)->fix, "did you mean \"note\"?");
        toolrack_findings_free(findings);
    }
}

/* An index that is not below the number of nodes names none. */
static void test_indices(void **state) {
    static const size_t beyond[] = {1, 2, SIZE_MAX};
    struct toolrack_plan *plan = open_plan("{'nodes': [{'id': 'a', 'tool': 'note'}]}", "");
    size_t node;
    bool data;
    (void)state;
    assert_string_equal(toolrack_plan_node(plan, 0), "a");
    assert_string_equal(toolrack_plan_tool(plan, 0), "note");
    assert_string_equal(toolrack_plan_tool_version(plan, 0), "1.0.0");
    assert_non_null(toolrack_plan_called(plan, 0, false));
    assert_null(toolrack_plan_called(plan, 0, true));
    for (size_t i = 0; i < ARRAY_LENGTH(beyond); i++) {
        assert_null(toolrack_plan_node(plan, beyond[i]));
        assert_null(toolrack_plan_tool(plan, beyond[i]));
        assert_null(toolrack_plan_tool_version(plan, beyond[i]));
        assert_null(toolrack_plan_called(plan, beyond[i], false));
        assert_null(toolrack_plan_called(plan, beyond[i], true));
        assert_false(toolrack_plan_need(plan, beyond[i], 0, &node, &data));
    }
    toolrack_plan_close(plan);
}

/* Commands are for a person at a shell: a plan of somebody else is told what to do without them. */
static void test_commands(void **state) {
    static const char *const plans[] = {"{'nodes': [{'id': 'a', 'tool': 'risky'}]}",
                                        "{'nodes': [{'id': 'a', 'tool': 'once'}]}",
                                        "{'nodes': [{'id': 'a', 'tool': 'nothing'}]}"};
    (void)state;
    assert_int_equal(toolrack_set_enabled(host, "once", false, NULL, &err), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(plans); i++) {
        struct toolrack_findings *findings[2] = {NULL, NULL};
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        add_json(&text, plans[i]);
        assert_int_equal(toolrack_plan_open(host, text.data, text.length, &findings[0], NULL, &err),
                         0);
        assert_int_equal(toolrack_plan_open_for(host, text.data, text.length, NULL, NULL,
                                                &findings[1], NULL, &err),
                         0);
        for (size_t k = 0; k < 2; k++) {
            const struct toolrack_finding *found = toolrack_findings_get(findings[k], 0);
            assert_non_null(found);
            assert_null(strstr(found->cause, "toolrack "));
            assert_int_equal(strstr(found->fix, "toolrack ") != NULL, k == 0);
            toolrack_findings_free(findings[k]);
        }
    }
}

/* ---------------------------------------------------------------------------------- many nodes */

#define MANY 1000u

static void expect_many(const char *text, unsigned nodes, unsigned made, unsigned running_most) {
    static struct watch watch;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    watch = (struct watch){0};
    assert_int_equal(run_plan(&watch, text, 0, &out), 0);
    assert_int_equal(watch.began, nodes);
    assert_int_equal(atomic_load(&calls), made);
    assert_in_range(watch.running_most, 1, running_most);
}

static void test_wide(void **state) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)state;
    buf_add_text(&text, "{'parallel': 16, 'nodes': [");
    for (unsigned i = 0; i < MANY; i++) {
        buf_printf(&text, "{'id': 'n%u', 'tool': 'note'}, ", i);
    }
    buf_add_text(&text, "{'id': 'end', 'tool': 'note', 'depends_on': [");
    for (unsigned i = 0; i < MANY; i++) {
        buf_printf(&text, "%s'n%u'", i > 0 ? ", " : "", i);
    }
    buf_add_text(&text, "]}]}");
    expect_many(text.data, MANY + 1, MANY + 1, 16);
}

/* Listed backwards; and the first skips all others. */
static void test_deep(void **state) {
    (void)state;
    for (int skips = 0; skips < 2; skips++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        buf_add_text(&text, "{'on_error': 'skip', 'nodes': [");
        for (unsigned i = MANY; i > 0; i--) {
            buf_printf(&text,
                       "{'id': 'n%u', 'tool': 'note', 'arguments': {'n': {'$ref': "
                       "'#/nodes/n%u/result/n'}}}, ",
                       i, i - 1);
        }
        buf_printf(&text, "{'id': 'n0', 'tool': '%s'}]}", skips ? "fail" : "note");
        expect_many(text.data, skips ? 1 : MANY + 1, skips ? 1 : MANY + 1, 1);
    }
}

static void test_many_items(void **state) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)state;
    buf_add_text(&text, "{'nodes': [{'id': 'a', 'tool': 'note', 'arguments': {'n': {'$ref': "
                        "'#/item'}}, 'for_each': {'max_items': 10000, 'parallel': 64, 'items': [0");
    for (unsigned i = 1; i < 10000; i++) {
        buf_printf(&text, ", %u", i);
    }
    buf_add_text(&text, "]}}], 'result': {'$ref': '#/nodes/a/result/9999/n'}}");
    static struct watch watch;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    watch = (struct watch){0};
    assert_int_equal(run_plan(&watch, text.data, 0, &out), 0);
    assert_string_equal(out.data, "9999");
    assert_int_equal(atomic_load(&calls), 10000);
}

/* --------------------------------------------------------------------------- while a plan runs */

static const char chain[] = "{'parallel': 1, 'nodes': [{'id': 'a', 'tool': 'note'},"
                            "{'id': 'b', 'tool': 'note', 'depends_on': ['a']},"
                            "{'id': 'c', 'tool': 'note', 'depends_on': ['b']}]}";

static void cancel_run(struct watch *watch) {
    toolrack_plan_cancel(watch->plan);
}

static void disable_note(struct watch *watch) {
    (void)watch;
    assert_int_equal(toolrack_set_enabled(host, "note", false, "test", &err), 0);
}

static void exchange_note(struct watch *watch) {
    (void)watch;
    assert_int_equal(toolrack_unregister(host, uid, &err), 0);
    register_note();
}

static void exchange_and_disable_note(struct watch *watch) {
    exchange_note(watch);
    disable_note(watch);
}

static void remove_note(struct watch *watch) {
    (void)watch;
    assert_int_equal(toolrack_unregister(host, uid, &err), 0);
}

static void expect_met(const char *node, bool at_end, void (*happens)(struct watch *watch),
                       int code, const char *states) {
    static struct watch watch;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    watch = (struct watch){.node = node, .at_end = at_end, .happens = happens};
    int got = run_plan(&watch, chain, 0, &out);
    if (got != code || strcmp(watch.states, states) != 0) {
        print_error("at %s: %d, %s\n", node, got, watch.states);
    }
    assert_int_equal(got, code);
    assert_string_equal(watch.states, states);
    assert_int_equal(watch.running, 0);
}

static void test_cancel(void **state) {
    (void)state;
    expect_met("a", true, cancel_run, TOOLRACK_E_CANCELLED, "a=succeeded b=cancelled c=cancelled");
    expect_met("b", true, cancel_run, TOOLRACK_E_CANCELLED, "a=succeeded b=succeeded c=cancelled");
    expect_met("c", true, cancel_run, 0, "a=succeeded b=succeeded c=succeeded");
    /* Each call that runs is cancelled. */
    static struct watch watch;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    watch = (struct watch){.node = "b", .happens = cancel_run};
    assert_int_equal(run_plan(&watch,
                              "{'nodes': [{'id': 'a', 'tool': 'hold'}, {'id': 'b', 'tool': 'hold',"
                              " 'for_each': [1, 2, 3]}, {'id': 'c', 'tool': 'note', 'depends_on':"
                              " ['a']}]}",
                              0, &out),
                     TOOLRACK_E_CANCELLED);
    assert_int_equal(watch.began, 2);
    assert_int_equal(watch.running, 0);
    /* So is the wait for another attempt. */
    uint64_t from = clock_now_ns();
    watch = (struct watch){.node = "b", .at_end = true, .happens = cancel_run};
    buf_clear(&out);
    atomic_store(&failures_left, 99);
    assert_int_equal(run_plan(&watch,
                              "{'nodes': [{'id': 'a', 'tool': 'flaky', 'retry': {'delay_ms':"
                              " 3600000, 'max_delay_ms': 3600000}}, {'id': 'b', 'tool': 'note',"
                              " 'for_each': [1, 2, 3, 4, 5]}]}",
                              0, &out),
                     TOOLRACK_E_CANCELLED);
    assert_string_equal(watch.states, "b=succeeded a=cancelled");
    assert_true(clock_now_ns() - from < 60u * CLOCK_NS_PER_S);
}

static void test_deadline(void **state) {
    static struct watch watch;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    (void)state;
    watch = (struct watch){0};
    assert_int_equal(run_plan(&watch,
                              "{'deadline_ms': 500, 'on_error': 'skip', 'nodes': [{'id': 'a',"
                              " 'tool': 'note'}, {'id': 'b', 'tool': 'hold', 'depends_on': ['a']},"
                              " {'id': 'c', 'tool': 'note', 'depends_on': ['b']}]}",
                              0, &out),
                     TOOLRACK_E_TIMEOUT);
    assert_string_equal(watch.states, "a=succeeded b=cancelled c=cancelled");
    assert_non_null(strstr(out.data, "within its 500 ms"));
    /* That of one call is of its node alone. */
    watch = (struct watch){0};
    buf_clear(&out);
    assert_int_equal(run_plan(&watch,
                              "{'on_error': 'skip', 'nodes': [{'id': 'b', 'tool': 'hold',"
                              " 'deadline_ms': 20}, {'id': 'c', 'tool': 'note', 'depends_on':"
                              " ['b']}]}",
                              0, &out),
                     0);
    assert_string_equal(watch.states, "b=failed c=succeeded");
}

static void test_changes(void **state) {
    (void)state;
    expect_met("a", true, disable_note, TOOLRACK_E_DISABLED, "a=succeeded b=failed c=cancelled");
    assert_int_equal(toolrack_set_enabled(host, "note", true, "test", &err), 0);
    /* The tools that the plan was opened with are those that it runs. */
    expect_met("a", true, exchange_note, 0, "a=succeeded b=succeeded c=succeeded");
    expect_met("b", true, exchange_and_disable_note, TOOLRACK_E_DISABLED,
               "a=succeeded b=succeeded c=failed");
    assert_int_equal(toolrack_set_enabled(host, "note", true, "test", &err), 0);
    expect_met("a", true, remove_note, 0, "a=succeeded b=succeeded c=succeeded");
    register_note();
}

static void revoke_risky(struct watch *watch) {
    (void)watch;
    assert_int_equal(toolrack_revoke(host, "risky", "test", &err), 0);
}

static void test_revoked(void **state) {
    static struct watch watch;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    (void)state;
    assert_int_equal(toolrack_grant(host, "risky", 0, "test", &err), 0);
    watch = (struct watch){.node = "a", .at_end = true, .happens = revoke_risky};
    assert_int_equal(run_plan(&watch,
                              "{'nodes': [{'id': 'a', 'tool': 'risky'}, {'id': 'b', 'tool':"
                              " 'risky', 'depends_on': ['a']}]}",
                              0, &out),
                     TOOLRACK_E_PERMISSION_DENIED);
    assert_string_equal(watch.states, "a=succeeded b=failed");
}

/* A worker that crashes fails its node, and the run goes on as the policy says. */
static void test_crash(void **state) {
    static struct watch watch;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack *before = host;
    (void)state;
    void *unit = NULL;
    assert_int_equal(isolation_open(&unit, "says", TOOLRACK_ISOLATION_PROCESS, false), 0);
    host = ((struct isolation_unit *)unit)->host;
    register_note();
    watch = (struct watch){0};
    assert_int_equal(run_plan(&watch,
                              "{'on_error': 'skip', 'nodes': [{'id': 'a', 'tool': 'aborts'},"
                              " {'id': 'b', 'tool': 'note', 'depends_on': ['a']},"
                              " {'id': 'c', 'tool': 'note', 'arguments': {'x':"
                              " {'$ref': '#/nodes/a/result'}}}]}",
                              0, &out),
                     0);
    assert_string_equal(watch.states, "a=failed c=skipped b=succeeded");
    assert_string_equal(out.data, "{\"b\":{\"n\":0}}");
    watch = (struct watch){0};
    buf_clear(&out);
    assert_int_equal(run_plan(&watch, "{'nodes': [{'id': 'a', 'tool': 'aborts'}]}", 0, &out),
                     TOOLRACK_E_EXECUTION_FAILED);
    assert_non_null(strstr(out.data, "SIGABRT"));
    assert_int_equal(isolation_close(&unit), 0);
    host = before;
}

/* ------------------------------------------------------------------------------ plans as tools */

static const char folder_template[] = "/tmp/toolrack-test-XXXXXX";
static char folder[sizeof folder_template];

static void write_file(const char *name, const char *text) {
    char path[128];
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    add_json(&json, text);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(json.data, 1, json.length, file), json.length);
    assert_int_equal(fclose(file), 0);
}

#define PLAN_TOOL(name, more)                                                   \
    ", {'name': '" name "', 'description': 'A plan', 'type': 'function', " more \
    "'implementation': {'type': 'plan', 'file': '" name ".json'}}"

static const char configuration[] =
        "{'tools': ["
        "{'name': 'say', 'description': 'Its arguments', 'type': 'function', 'parameters':"
        " {'type': 'object'}, 'implementation': {'type': 'builtin', 'handler': 'echo'}},"
        "{'name': 'careful', 'description': 'Asks', 'type': 'function', 'permission': 'confirm',"
        " 'parameters': {'type': 'object'}, 'implementation': {'type': 'mock', 'mock_response':"
        " 1}}" PLAN_TOOL("inner", "") PLAN_TOOL("outer", "") PLAN_TOOL("itself", "")
                PLAN_TOOL("there", "") PLAN_TOOL("back", "") PLAN_TOOL("low", "")
                        PLAN_TOOL("high", "'permission': 'confirm',")
                                PLAN_TOOL("top", "'permission': 'confirm',")
                                        PLAN_TOOL("missing", "") PLAN_TOOL("broken", "")
                                                PLAN_TOOL("waits", "") PLAN_TOOL("asking", "")
                                                        PLAN_TOOL("none", "") "]}";

static int open_configured(const char *state_dir) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    char file[128];
    (void)snprintf(file, sizeof file, "%s/toolrack.json", folder);
    options.config_file = file;
    options.state_dir = state_dir;
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0) {
        print_error("%s\n", err.message);
        return -1;
    }
    register_others();
    return 0;
}

static int open_plan_tools(void **state) {
    (void)state;
    memcpy(folder, folder_template, sizeof folder);
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    write_file("toolrack.json", configuration);
    write_file("inner.json",
               "{'inputs': {'word': {'type': 'string'}, 'times': {'type': 'integer', 'default': 2,"
               " 'maximum': 9}}, 'nodes': [{'id': 'a', 'tool': 'say', 'arguments': {'w':"
               " '<${inputs.word}>', 't': {'$ref': '#/inputs/times'}}}], 'result': {'$ref':"
               " '#/nodes/a/result'}}");
    write_file("outer.json", "{'nodes': [{'id': 'a', 'tool': 'inner', 'arguments': {'word': 'x'}},"
                             "{'id': 'b', 'tool': 'inner', 'arguments': {'word':"
                             " {'$ref': '#/nodes/a/result/w'}}}]}");
    write_file("itself.json", "{'nodes': [{'id': 'a', 'tool': 'itself'}]}");
    write_file("there.json", "{'nodes': [{'id': 'a', 'tool': 'back'}]}");
    write_file("back.json", "{'nodes': [{'id': 'a', 'tool': 'say', 'on_error': {'fallback':"
                            " {'tool': 'there'}}}]}");
    write_file("low.json", "{'nodes': [{'id': 'a', 'tool': 'careful'}]}");
    write_file("high.json", "{'nodes': [{'id': 'a', 'tool': 'careful'}]}");
    write_file("top.json", "{'nodes': [{'id': 'a', 'tool': 'high'}]}");
    write_file("missing.json", "{'nodes': [{'id': 'a', 'tool': 'nowhere'}]}");
    write_file("waits.json", "{'nodes': [{'id': 'a', 'tool': 'hold'}]}");
    write_file("asking.json",
               "{'nodes': [{'id': 'a', 'tool': 'asks'}, {'id': 'b', 'tool': 'asks'}]}");
    write_file("broken.json", "{'nodes': [{'id': 'a', 'tool': 'say', 'depends_on': ['a']}]}");
    return open_configured("");
}

static int close_plan_tools(void **state) {
    (void)state;
    toolrack_close(host);
    return remove_tree(folder);
}

static void expect_call(const char *tool, const char *arguments, bool confirmed, int code,
                        const char *expected) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    CLEANUP(buf_finish) struct buf given = BUF_INIT;
    CLEANUP(buf_finish) struct buf wanted = BUF_INIT;
    add_json(&given, arguments);
    add_json(&wanted, expected);
    options.confirmed = confirmed;
    int got = toolrack_call(host, tool, given.data, &options, &result, &err);
    const char *text = got == 0 ? toolrack_result_json(result, NULL) : err.message;
    if (got != code || strstr(text, wanted.data) == NULL) {
        print_error("%s: %d: %s\n", tool, got, text);
    }
    assert_int_equal(got, code);
    assert_non_null(strstr(text, wanted.data));
    toolrack_result_free(result);
}

static void test_plan_tools(void **state) {
    (void)state;
    expect_call("inner", "{'word': 'a'}", false, 0, "{'w':'<a>','t':2}");
    expect_call("inner", "{'word': 'a', 'times': 3}", false, 0, "{'w':'<a>','t':3}");
    expect_call("inner", "{}", false, TOOLRACK_E_INVALID_ARGUMENTS, "word");
    expect_call("inner", "{'word': 'a', 'times': 10}", false, TOOLRACK_E_INVALID_ARGUMENTS,
                "at most 9");
    expect_call("outer", "{}", false, 0, "{'b':{'w':'<<x>>','t':2}}");
    expect_call("itself", "{}", false, TOOLRACK_E_EXECUTION_FAILED,
                "the plan calls itself: itself -> itself");
    expect_call("there", "{}", false, TOOLRACK_E_EXECUTION_FAILED,
                "the plan calls itself: there -> back -> there");
    expect_call("missing", "{}", false, TOOLRACK_E_EXECUTION_FAILED, "nowhere");
    /* Whoever lets a plan run lets all of it run. */
    expect_call("low", "{}", true, TOOLRACK_E_PERMISSION_DENIED,
                "which is confirm, and is safe itself");
    struct toolrack_text *decisions = NULL;
    assert_int_equal(toolrack_decisions(host, NULL, &decisions, &err), 0);
    assert_non_null(strstr(toolrack_text_data(decisions, NULL), "\"decision\":\"refused\""));
    assert_non_null(strstr(toolrack_text_data(decisions, NULL), "which is confirm, and is safe"));
    toolrack_text_unref(decisions);
    expect_call("high", "{}", false, TOOLRACK_E_CONFIRMATION_REQUIRED, "high");
    expect_call("high", "{}", true, 0, "{'a':1}");
}

/* How a person answers, and how often one was asked. */
struct answering {
    int way; /* of `input`; else the answer of `ask` */
    unsigned asked;
};

static int answer_form(void *user, const char *message, const char *schema, char **ret_content) {
    struct answering *answering = user;
    (void)schema;
    (void)ret_content;
    assert_string_equal(message, "Which?");
    answering->asked++;
    return answering->way;
}

static int answer_inputs(void *user, struct toolrack_input *inputs, size_t count) {
    struct answering *answering = user;
    assert_int_equal(count, 1);
    answering->asked++;
    inputs[0].answer = TOOLRACK_ANSWER_ACCEPTED;
    return answering->way;
}

static void call_asking(const struct toolrack_call_options *options, int code,
                        const char *expected) {
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "asking", "{}", options, &result, &err), code);
    const char *text = code == 0 ? toolrack_result_json(result, NULL) : err.message;
    if (strstr(text, expected) == NULL) {
        print_error("%s\n", text);
    }
    assert_non_null(strstr(text, expected));
    toolrack_result_free(result);
}

/* The caller of a plan that is a tool is asked by its nodes, one at a time. */
static void test_plan_tools_ask(void **state) {
    (void)state;
    struct answering answering = {.way = TOOLRACK_ANSWER_ACCEPTED};
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    call_asking(&options, TOOLRACK_E_EXECUTION_FAILED, "nobody answers");
    options.user = &answering;
    options.ask = answer_form;
    call_asking(&options, 0, "{\"a\":{},\"b\":{}}");
    assert_int_equal(answering.asked, 2);
    answering.way = 0;
    options.input = answer_inputs;
    call_asking(&options, 0, "{\"a\":{},\"b\":{}}");
    assert_int_equal(answering.asked, 4);
    /* Another call with the answers would run its nodes anew. */
    answering.way = TOOLRACK_INPUT_LATER;
    call_asking(&options, TOOLRACK_E_EXECUTION_FAILED, "nobody answers");
}

/* What is asked about a plan, whose calls by themselves wait then. */
struct approving {
    char version[128];
    char arguments[1024];
    char id[TOOLRACK_RUN_ID_ROOM];
};

static int approve_plan(void *user, const struct toolrack_approval_request *request) {
    struct approving *approving = user;
    if (strncmp(request->tool, "plan ", 5) != 0) {
        return TOOLRACK_APPROVAL_ASK_LATER;
    }
    (void)snprintf(approving->version, sizeof approving->version, "%s", request->version);
    (void)snprintf(approving->arguments, sizeof approving->arguments, "%s", request->arguments);
    return TOOLRACK_APPROVAL_ALLOW_ONCE;
}

static void note_id(void *user, const char *id) {
    struct approving *approving = user;
    (void)snprintf(approving->id, sizeof approving->id, "%s", id);
}

/* Run a plan as far as the question about its open node. */
static void run_to_question(struct approving *approving) {
    static const char text[] =
            "{'nodes': [{'id': 'a', 'tool': 'say'}, {'id': 'b', 'tool': 'careful', 'arguments':"
            " {'x': {'$ref': '#/nodes/a/result'}}}, {'id': 'c', 'tool': 'top', 'depends_on':"
            " ['b']}]}";
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_text *result = NULL;
    struct toolrack_plan *plan = open_plan(text, "");
    call.approve = approve_plan;
    call.user = approving;
    options.call = &call;
    options.started = note_id;
    options.user = approving;
    assert_int_equal(toolrack_plan_run(plan, &options, &result, &err),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    toolrack_plan_close(plan);
}

/* Whoever agrees to a plan sees what the plans that are its tools call, and agrees to that alone:
 * also where a plan is exchanged that only another one calls. */
static void test_plan_tools_are_agreed_to(void **state) {
    struct approving first;
    struct approving same;
    struct approving other;
    struct toolrack_plan *plan = NULL;
    char dir[128];
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/state", folder);
    toolrack_close(host);
    assert_int_equal(open_configured(dir), 0);
    run_to_question(&first);
    assert_non_null(strstr(first.arguments, "\"calls\":\"high; high calls careful\""));
    run_to_question(&same);
    assert_string_equal(same.version, first.version);
    assert_int_equal(toolrack_run_reopen(host, NULL, first.id, NULL, 0, &plan, &err), 0);
    toolrack_plan_close(plan);
    toolrack_close(host);
    write_file("high.json", "{'nodes': [{'id': 'a', 'tool': 'careful'}, {'id': 'b', 'tool':"
                            " 'careful'}]}");
    assert_int_equal(open_configured(dir), 0);
    assert_int_equal(toolrack_run_reopen(host, NULL, first.id, NULL, 0, &plan, &err),
                     TOOLRACK_E_REFUSED);
    assert_non_null(
            strstr(err.message, "'top@1.0.0', which its node 'c' calls, is not what it was"));
    run_to_question(&other);
    assert_string_not_equal(other.version, first.version);
}

/* A secret of a plan goes through another one that does not mark it. */
static void test_plan_tools_give_secrets_on(void **state) {
    static const char text[] = "{'inputs': {'k': {'type': 'string', 'writeOnly': true}}, 'nodes':"
                               " [{'id': 'a', 'tool': 'inner', 'arguments': {'word':"
                               " '${inputs.k}'}}]}";
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    struct toolrack_text *result = NULL;
    struct toolrack_text *log = NULL;
    char dir[128];
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/state", folder);
    toolrack_close(host);
    assert_int_equal(open_configured(dir), 0);
    struct toolrack_plan *plan = open_plan(text, "");
    options.inputs = "{\"k\": \"open-sesame\"}";
    assert_int_equal(toolrack_plan_run(plan, &options, &result, &err), 0);
    assert_non_null(strstr(toolrack_text_data(result, NULL), "<open-sesame>"));
    filter.tool = "say";
    assert_int_equal(toolrack_log(host, &filter, &log, &err), 0);
    assert_non_null(strstr(toolrack_text_data(log, NULL), "<***>"));
    assert_null(strstr(toolrack_text_data(log, NULL), "sesame"));
    toolrack_text_unref(log);
    toolrack_text_unref(result);
    toolrack_plan_close(plan);
}

static void test_refused_plan_tools(void **state) {
    struct toolrack_refusals *refusals = NULL;
    (void)state;
    assert_int_equal(toolrack_refused(host, &refusals, &err), 0);
    assert_int_equal(toolrack_refusals_count(refusals), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, i);
        assert_string_equal(refusal->rule, "definition-plan");
        assert_non_null(strstr(refusal->reason, strcmp(refusal->tool, "broken") == 0
                                                        ? "the node needs itself: a -> a"
                                                        : "cannot read"));
    }
    toolrack_refusals_free(refusals);
}

/* The deadline of the call is that of the whole plan; what runs then is cancelled. */
static void test_plan_tool_deadline(void **state) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    (void)state;
    options.deadline_ms = 30;
    assert_int_equal(toolrack_call(host, "waits", "{}", &options, &result, &err),
                     TOOLRACK_E_TIMEOUT);
}

/* How a call has ended that runs elsewhere. */
struct ending {
    int code;
    sem_t ended;
};

static void take_ending(void *user, struct toolrack_result *result,
                        const struct toolrack_error *why) {
    struct ending *ending = user;
    ending->code = result != NULL ? 0 : toolrack_error_code(why);
    toolrack_result_free(result);
    (void)sem_post(&ending->ended);
}

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {
        assert_int_equal(errno, EINTR);
    }
}

/* Whoever cancels the call of a plan ends what the plan runs. */
static void test_plan_tool_cancelled(void **state) {
    struct ending ending = {.code = 0};
    struct toolrack_call *call = NULL;
    (void)state;
    assert_int_equal(sem_init(&ending.ended, 0, 0), 0);
    while (sem_trywait(&held) == 0 || sem_trywait(&let_go) == 0) {
    }
    assert_int_equal(toolrack_submit(host, "waits", "{}", NULL, take_ending, &ending, &call, &err),
                     0);
    wait_for(&held);
    toolrack_cancel(call);
    wait_for(&ending.ended);
    assert_int_equal(ending.code, TOOLRACK_E_CANCELLED);
    assert_int_equal(sem_trywait(&let_go), 0); /* before the plan had ended */
    toolrack_call_unref(call);
    (void)sem_destroy(&ending.ended);
}

/* As a pointer is followed, also where the items of an array are listed. */
static void parts_of_long_arrays_are_found(void **state) {
    static const char *const pointers[] = {
            "",     "/a",       "/a/0", "/a/299",  "/a/299/x",     "/a/300",
            "/a/-", "/a/01",    "/a/",  "/a/1x",   "/b/5/255/1/x", "/b/5/255/255",
            "/b/6", "/a/299/y", "/c/x", "/a/0/x/", "/a/1~0/x",     "/a/18446744073709551616"};
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        buf_printf(&text, "%s{\"x\":%u}", i == 0 ? "{\"a\":[" : ",", i);
    }
    buf_add_text(&text, "],\"b\":[1,2,3,4,5,[");
    for (unsigned i = 0; i < 256; i++) {
        buf_printf(&text, "%s[%u,{\"x\":7}]", i > 0 ? "," : "", i);
    }
    buf_add_text(&text, "]]}");
    yyjson_doc *doc = yyjson_read(text.data, text.length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct listed *lists = NULL;
    assert_non_null(root);
    for (unsigned round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
            const size_t length = strlen(pointers[i]);
            assert_ptr_equal(listed_find(&lists, root, pointers[i], length),
                             length > 0 ? yyjson_ptr_getn(root, pointers[i], length) : root);
        }
    }
    assert_non_null(lists);
    assert_null(listed_find(&lists, NULL, "/a", 2));
    listed_free(lists);
    yyjson_doc_free(doc);
}

int main(void) {
    (void)sem_init(&held, 0, 0);
    (void)sem_init(&let_go, 0, 0);
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(parts_of_long_arrays_are_found),
            cmocka_unit_test_setup_teardown(test_shapes, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_known_types, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_all_mistakes, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_known_items, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_indices, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_prefixes, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_commands, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_wide, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_deep, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_many_items, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_cancel, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_deadline, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_changes, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_revoked, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_crash, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_plan_tools, open_plan_tools, close_plan_tools),
            cmocka_unit_test_setup_teardown(test_plan_tools_ask, open_plan_tools, close_plan_tools),
            cmocka_unit_test_setup_teardown(test_plan_tools_are_agreed_to, open_plan_tools,
                                            close_plan_tools),
            cmocka_unit_test_setup_teardown(test_plan_tools_give_secrets_on, open_plan_tools,
                                            close_plan_tools),
            cmocka_unit_test_setup_teardown(test_refused_plan_tools, open_plan_tools,
                                            close_plan_tools),
            cmocka_unit_test_setup_teardown(test_plan_tool_deadline, open_plan_tools,
                                            close_plan_tools),
            cmocka_unit_test_setup_teardown(test_plan_tool_cancelled, open_plan_tools,
                                            close_plan_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
