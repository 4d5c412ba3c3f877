/* Plans when the n-th allocation or the n-th transaction of the store fails, for every n: an error
 * that says so, or the same as without; no secret is kept; and a run can be gone on with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "failing-malloc.h"
#include "store/database.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Above this the loop never ends, which is a fault of its own. */
#define FAILURES_MAX 5000u

/* ------------------------------------------------------------------------------------ the store */

static _Thread_local unsigned ends_left; /* transactions of this thread until one fails; 0: none */
static bool end_failed;

int __real_database_end(struct store *store, int code, struct toolrack_error *err);
int __wrap_database_end(struct store *store, int code, struct toolrack_error *err);

int __wrap_database_end(struct store *store, int code, struct toolrack_error *err) {
    if (ends_left > 0 && --ends_left == 0 && code == 0) {
        end_failed = true;
        code = error_set(err, TOOLRACK_E_IO, "the disk is gone");
    }
    return __real_database_end(store, code, err);
}

/* ---------------------------------------------------------------------------------------- tools */

static atomic_int effects; /* calls of `once` */

static tr_status again(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(again,
             ("What may be done again", .flags = TR_IDEMPOTENT,
              .result_schema = TR_SCHEMA({
                  "type" : "object",
                  "properties" : {"x" : {"type" : "integer"}, "i" : {"type" : "integer"}}
              })),
             TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "x" : {"type" : "integer"},
                     "i" : {"type" : "integer"},
                     "word" : {"type" : "string"}
                 },
                 "additionalProperties" : false
             }))
static tr_status once(struct tr_call *call) {
    atomic_fetch_add(&effects, 1);
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(once, ("What is done once"), TR_SCHEMA({"type" : "object"}))
static tr_status careful(struct tr_call *call) {
    return tr_reply_json(call, "{\"done\": true}");
}
TR_JSON_TOOL(careful, ("Asks", .permission = TR_CONFIRM, .flags = TR_IDEMPOTENT), TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"word" : {"type" : "string", "format" : "password"}}
             }))
static tr_status log_in(struct tr_call *call) {
    return tr_reply_json(call, "{\"token\": \"of-the-session\", \"user\": \"kim\"}");
}
TR_JSON_TOOL(log_in,
             ("Logs in", .flags = TR_IDEMPOTENT,
              .result_schema = TR_SCHEMA({
                  "type" : "object",
                  "properties" : {
                      "token" : {"type" : "string", "writeOnly" : true},
                      "user" : {"type" : "string"}
                  }
              })),
             TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("faults", .flags = TR_THREAD_SAFE), "1.0.0", again, once, careful, log_in)

/* -------------------------------------------------------------------------------------- fixture */

static struct toolrack *host;
static struct toolrack_error err;
static char dir[64];
static bool is_later; /* open calls are answered later */
static char last_id[TOOLRACK_RUN_ID_ROOM];

static int approve(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    /* What a person is asked about is whole. */
    assert_non_null(request->tool);
    assert_int_equal(request->arguments[strlen(request->arguments) - 1],
                     strncmp(request->tool, "plan ", 5) == 0 ? ']' : '}');
    (void)snprintf(request->who, request->who_room, "kay");
    return is_later && strncmp(request->tool, "plan ", 5) != 0 ? TOOLRACK_APPROVAL_ASK_LATER
                                                               : TOOLRACK_APPROVAL_ALLOW_ONCE;
}

static int set_up(void **state) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/toolrack-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    options.config_file = "";
    options.state_dir = dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.approve = approve;
    is_later = false;
    last_id[0] = '\0';
    atomic_store(&effects, 0);
    assert_int_equal(toolrack_open(&options, &host, &err), 0);
    return toolrack_register(host, &toolrack_plugin, NULL, &err);
}

static int tear_down(void **state) {
    char command[96];
    (void)state;
    toolrack_close(host);
    host = NULL;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void assert_ok(int code) {
    if (code != 0) {
        fail_msg("%s: %s", toolrack_code_name(code), err.message);
    }
}

/* Run a part with the n-th allocation failing, and all after it or none, for each n until none
 * fails. `check` is given the code and what the part left.
 * @return how many failed */
static unsigned for_each_allocation(int (*part)(void), void (*check)(int code)) {
    unsigned failures = 0;
    for (int only = 0; only < 2; only++) {
        bool hit = true;
        for (unsigned n = 1; hit; n++) {
            assert_true(n < FAILURES_MAX);
            (only ? failing_malloc_set_one : failing_malloc_set)(n);
            int code = part();
            hit = failing_malloc_hit();
            failing_malloc_set(0);
            if (code != 0 && (code != TOOLRACK_E_NO_MEMORY || !hit)) {
                fail_msg("allocation %u%s: %s: %s", n, only ? " only" : "",
                         toolrack_code_name(code), err.message);
            }
            check(code);
            failures += code != 0;
        }
    }
    return failures;
}

/* -------------------------------------------------------------------------------------- reading */

/* JSON with ' for ". */
static const char whole_written[] =
        "{'name': 'whole', 'inputs': {'n': {'type': 'integer', 'default': 1}, "
        "'word': {'type': 'string', 'format': 'password'}}, 'nodes': ["
        "{'id': 'a', 'tool': 'again', 'arguments': {'x': {'$ref': '#/inputs/n'}}}, "
        "{'id': 'b', 'tool': 'once', "
        "'arguments': {'y': {'$ref': '#/nodes/a/result/x'}, 'w': '<${inputs.word}>'}, "
        "'when': {'value': {'$ref': '#/nodes/a/result/x'}, 'is': {'type': 'integer'}}}, "
        "{'id': 'c', 'tool': 'again', 'arguments': {'i': {'$ref': '#/item'}}, "
        "'for_each': {'items': [1, 2], 'max_items': 3}, 'depends_on': ['b'], "
        "'on_error': {'fallback': {'tool': 'again', 'arguments': {'i': 7}}}}, "
        "{'id': 's', 'tool': 'log_in'}, "
        "{'id': 't', 'tool': 'once', 'arguments': {'u': {'$ref': '#/nodes/s/result/user'}, "
        "'t': '\\u0022${nodes.s.result.token}'}}, "
        "{'id': 'd', 'tool': 'careful', 'arguments': {'word': {'$ref': '#/inputs/word'}}, "
        "'depends_on': ['c', 't']}], 'result': {'of': {'$ref': '#/nodes/d/result'}}}";

static const char wrong_written[] =
        "{'inputs': {'n': {'type': 'nothing'}}, 'nodes': ["
        "{'id': 'a', 'tool': 'agian'}, "
        "{'id': 'b', 'tool': 'again', 'arguments': {'z': 1}}, "
        "{'id': 'c', 'tool': 'again', 'arguments': {'x': 'text'}}, "
        "{'id': 'd', 'tool': 'again', 'arguments': {'x': '${nodes.c.result.x}'}}, "
        "{'id': 'e', 'tool': 'again', 'arguments': {'x': {'$ref': '#/nodes/c/result/none'}}}, "
        "{'id': 'f', 'tool': 'again', 'depends_on': ['g', 'none']}, "
        "{'id': 'g', 'tool': 'again', 'depends_on': ['f']}, "
        "{'id': 'g', 'tool': 'once', 'retry': {'attempts': 2}, 'more': 1}, "
        "{'id': 'h', 'tool': 'again', 'arguments': {'word': '{{a.result}} ${item}'}}]}";

/* Its last node waits for an answer of its own. */
static const char waits_written[] =
        "{'inputs': {'word': {'type': 'string', 'format': 'password'}, 'n': {'default': 3}}, "
        "'nodes': ["
        "{'id': 'a', 'tool': 'once', 'arguments': {'x': {'$ref': '#/inputs/n'}}}, "
        "{'id': 'b', 'tool': 'careful', 'arguments': {'word': {'$ref': '#/inputs/word'}}, "
        "'depends_on': ['a']}, "
        "{'id': 'c', 'tool': 'careful', 'arguments': {'of': {'$ref': '#/nodes/a/result/x'}, "
        "'b': {'$ref': '#/nodes/b/result'}}}], 'result': {'of': {'$ref': '#/nodes/c/result'}}}";

static char whole[sizeof whole_written];
static char wrong[sizeof wrong_written];
static char waits[sizeof waits_written];

static void write_json(const char *from, char *to) {
    for (; *from != '\0'; from++) {
        *to++ = *from == '\'' ? '"' : *from;
    }
    *to = '\0';
}

static int write_plans(void **state) {
    (void)state;
    write_json(whole_written, whole);
    write_json(wrong_written, wrong);
    write_json(waits_written, waits);
    return 0;
}

static const char *text_of_plan;
static char expected[16384];
static char told[16384]; /* what was found, and whether there is a plan */

static int open_and_tell(void) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    size_t used = 0;
    int code = toolrack_plan_open(host, text_of_plan, strlen(text_of_plan), &findings, &plan, &err);
    for (size_t i = 0; code == 0 && i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *at = toolrack_findings_get(findings, i);
        used += (size_t)snprintf(told + used, sizeof told - used, "%s %s %s: %s; %s\n", at->rule,
                                 at->pointer != NULL ? at->pointer : "-",
                                 at->tool != NULL ? at->tool : "-", at->cause,
                                 at->fix != NULL ? at->fix : "-");
        assert_true(used < sizeof told);
    }
    (void)snprintf(told + used, sizeof told - used, "%s", plan != NULL ? "a plan" : "none");
    return code;
}

static void check_told(int code) {
    size_t same = 0;
    /* Without memory a command is the help of its verb, and a suggestion is left to the message. */
    if (strstr(told, "toolrack help ") != NULL ||
        strstr(told, "; name a tool that there is: ") != NULL) {
        return;
    }
    while (told[same] != '\0' && told[same] == expected[same]) {
        same++;
    }
    if (code == 0 && told[same] != expected[same]) {
        fail_msg("told is \"%.200s\", not \"%.200s\"", told + same, expected + same);
    }
}

static void what_is_found_does_not_depend_on_memory(void **state) {
    const char *const texts[] = {whole, wrong, "{\"nodes\": [", "{\"nodes\": 5}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        text_of_plan = texts[i];
        assert_ok(open_and_tell());
        (void)snprintf(expected, sizeof expected, "%s", told);
        assert_true((i == 0) == (strcmp(told, "a plan") == 0));
        assert_true((i == 1) == (strstr(told, "did you mean \"again\"") != NULL));
        assert_true(for_each_allocation(open_and_tell, check_told) > 0);
    }
}

/* ----------------------------------------------------------------------------------------- runs */

#define INPUTS "{\"word\": \"hunter-of-kim\"}"
#define RESULT "{\"of\":{\"done\": true}}"

static void take_id(void *user, const char *id) {
    (void)user;
    (void)snprintf(last_id, sizeof last_id, "%s", id);
}

static struct toolrack_plan *opened; /* that the part runs */
static char result_text[256];

static int run_opened(void) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    call.caller = "kim";
    options.call = &call;
    options.inputs = INPUTS;
    options.started = take_id;
    int code = toolrack_plan_run(opened, &options, &result, &err);
    (void)snprintf(result_text, sizeof result_text, "%s",
                   code == 0 ? toolrack_text_data(result, NULL) : "");
    return code;
}

static void open_whole(void) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    last_id[0] = '\0';
    toolrack_plan_close(opened);
    opened = NULL;
    assert_ok(toolrack_plan_open(host, whole, strlen(whole), &findings, &opened, &err));
    assert_non_null(opened);
}

static void close_opened(void) {
    toolrack_plan_close(opened);
    opened = NULL;
}

/* A node that has succeeded has its result, or the reason why that is not kept. */
static void check_results(yyjson_val *nodes) {
    size_t at;
    size_t count;
    yyjson_val *node;
    yyjson_arr_foreach (nodes, at, count, node) {
        bool has_succeeded = yyjson_equals_str(yyjson_obj_get(node, "state"), "succeeded");
        assert_true(!has_succeeded || yyjson_obj_get(node, "result") != NULL ||
                    yyjson_obj_get(node, "unkept") != NULL);
    }
}

/* The state of the last run, of which nothing secret is kept. */
static const char *state_of_run(void) {
    static char state[32];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_ok(toolrack_run_get(host, NULL, last_id, &text, &err));
    const char *json = toolrack_text_data(text, NULL);
    if (strstr(json, "hunter-of-kim") != NULL || strstr(json, "of-the-session") != NULL) {
        fail_msg("a secret is kept: %s", json);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    check_results(yyjson_obj_get(yyjson_doc_get_root(doc), "nodes"));
    (void)snprintf(state, sizeof state, "%s",
                   yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "state")));
    return state;
}

static bool is_over(const char *state) {
    return strcmp(state, "succeeded") == 0 || strcmp(state, "failed") == 0 ||
           strcmp(state, "cancelled") == 0;
}

/* What began is kept, is no more said to run, and can be removed. */
static void check_run(int code) {
    if (code == 0) {
        assert_string_equal(result_text, RESULT);
        assert_string_equal(state_of_run(), "succeeded");
    } else if (last_id[0] != '\0') {
        const char *state = state_of_run();
        assert_string_not_equal(state, "running");
        assert_string_not_equal(state, "succeeded");
        if (!is_over(state)) {
            assert_ok(toolrack_run_cancel(host, NULL, last_id, &err));
        }
    }
    if (last_id[0] != '\0') {
        assert_ok(toolrack_run_remove(host, NULL, last_id, &err));
    }
    open_whole();
}

static void a_run_ends_as_it_says(void **state) {
    (void)state;
    open_whole();
    assert_ok(run_opened());
    check_run(0);
    assert_true(for_each_allocation(run_opened, check_run) > 0);
    close_opened();
}

/* ------------------------------------------------------------------------------- runs that go on
 */

static void make_waiting_run(void) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    close_opened();
    atomic_store(&effects, 0);
    is_later = true;
    assert_ok(toolrack_plan_open(host, waits, strlen(waits), &findings, &opened, &err));
    assert_int_equal(run_opened(), TOOLRACK_E_CONFIRMATION_REQUIRED);
    is_later = false;
    close_opened();
    assert_string_equal(state_of_run(), "waiting");
    assert_int_equal(atomic_load(&effects), 1);
}

static int reopen(void) {
    return toolrack_run_reopen(host, NULL, last_id, NULL, 0, &opened, &err);
}

static void assert_can_go_on(void) {
    const char *state = state_of_run();
    if (strcmp(state, "waiting") != 0 && strcmp(state, "interrupted") != 0) {
        fail_msg("the run is %s", state);
    }
}

static int reopen_only(void) {
    int code = reopen();
    assert_true((code == 0) == (opened != NULL));
    close_opened();
    return code;
}

static void check_waiting(int code) {
    (void)code;
    assert_can_go_on();
}

static void go_on_to_the_end(void) {
    assert_ok(reopen());
    assert_ok(run_opened());
    close_opened();
    assert_string_equal(result_text, RESULT);
    assert_string_equal(state_of_run(), "succeeded");
    assert_int_equal(atomic_load(&effects), 1);
}

static void a_run_is_reopened_or_stays_as_it_was(void **state) {
    (void)state;
    make_waiting_run();
    assert_true(for_each_allocation(reopen_only, check_waiting) > 0);
    go_on_to_the_end();
}

static void check_gone_on(int code) {
    close_opened();
    assert_int_equal(atomic_load(&effects), 1);
    assert_true((code == 0) == (strcmp(state_of_run(), "succeeded") == 0));
    if (code != 0 && !is_over(state_of_run())) {
        assert_can_go_on();
        go_on_to_the_end();
    }
    assert_ok(toolrack_run_remove(host, NULL, last_id, &err));
    make_waiting_run();
    assert_ok(reopen());
}

static void a_run_goes_on_as_it_says(void **state) {
    (void)state;
    make_waiting_run();
    assert_ok(reopen());
    assert_true(for_each_allocation(run_opened, check_gone_on) > 0);
    close_opened();
}

static int list_runs(void) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *list = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *run = NULL;
    int code = toolrack_runs(host, NULL, &list, &err);
    code = code == 0 ? toolrack_run_get(host, NULL, last_id, &run, &err) : code;
    (void)snprintf(told, sizeof told, "%s%s", code == 0 ? toolrack_text_data(list, NULL) : "",
                   code == 0 ? toolrack_text_data(run, NULL) : "");
    return code;
}

static void runs_are_told_whole(void **state) {
    (void)state;
    make_waiting_run();
    assert_ok(list_runs());
    (void)snprintf(expected, sizeof expected, "%s", told);
    assert_true(for_each_allocation(list_runs, check_told) > 0);
}

static int cancel(void) {
    return toolrack_run_cancel(host, NULL, last_id, &err);
}

static void check_cancelled(int code) {
    if (code != 0) {
        assert_can_go_on();
        return;
    }
    assert_string_equal(state_of_run(), "cancelled");
    assert_ok(toolrack_run_remove(host, NULL, last_id, &err));
    make_waiting_run();
}

static void a_run_is_cancelled_or_stays_as_it_was(void **state) {
    (void)state;
    make_waiting_run();
    assert_true(for_each_allocation(cancel, check_cancelled) > 0);
}

/* ----------------------------------------------------------------------------------- the disk */

/* Run a part with the n-th transaction failing, for each n until none fails; how many did. */
static unsigned for_each_transaction(int (*part)(void), void (*check)(int code)) {
    unsigned n = 0;
    do {
        end_failed = false;
        ends_left = ++n;
        int code = part();
        ends_left = 0;
        if (code != 0 && (code != TOOLRACK_E_IO || !end_failed)) {
            fail_msg("transaction %u: %s: %s", n, toolrack_code_name(code), err.message);
        }
        check(code);
    } while (end_failed && n < FAILURES_MAX);
    return n - 1;
}

static void a_run_ends_when_it_cannot_be_kept(void **state) {
    (void)state;
    open_whole();
    assert_true(for_each_transaction(run_opened, check_run) > 3);
    close_opened();
}

static void a_run_goes_on_when_it_can_be_kept_again(void **state) {
    (void)state;
    make_waiting_run();
    assert_true(for_each_transaction(reopen_only, check_waiting) > 0);
    assert_ok(reopen());
    assert_true(for_each_transaction(run_opened, check_gone_on) > 1);
    close_opened();
}

#define WITH_HOST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            WITH_HOST(what_is_found_does_not_depend_on_memory),
            WITH_HOST(a_run_ends_as_it_says),
            WITH_HOST(a_run_is_reopened_or_stays_as_it_was),
            WITH_HOST(a_run_goes_on_as_it_says),
            WITH_HOST(runs_are_told_whole),
            WITH_HOST(a_run_is_cancelled_or_stays_as_it_was),
            WITH_HOST(a_run_ends_when_it_cannot_be_kept),
            WITH_HOST(a_run_goes_on_when_it_can_be_kept_again),
    };
    return cmocka_run_group_tests(tests, write_plans, NULL);
}
