/* Runs of plans: what is kept of them, how they go on, and who agrees to them. */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "patience.h"
#include "schema/own-secrets.h"
#include "store/runs.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* --------------------------------------------------------------------------------------- tools */

static struct toolrack *host;
static struct toolrack_error err;
static atomic_int ran; /* calls of tools that have begun */
static atomic_bool blocks;
static sem_t entered; /* a call of `stay` has */

/* Gives its arguments. */
static tr_status act(struct tr_call *call) {
    atomic_fetch_add(&ran, 1);
    return tr_reply_json(call, tr_arguments(call));
}
static tr_status again(struct tr_call *call) {
    return act(call);
}
TR_JSON_TOOL(again, ("What may be done again", .flags = TR_IDEMPOTENT),
             TR_SCHEMA({"type" : "object"}))
static tr_status once(struct tr_call *call) {
    return act(call);
}
TR_JSON_TOOL(once, ("What is done once"), TR_SCHEMA({"type" : "object"}))

/* Does not end before it is cancelled, while it blocks. */
static tr_status wait_until_cancelled(struct tr_call *call) {
    atomic_fetch_add(&ran, 1);
    (void)sem_post(&entered);
    while (atomic_load(&blocks) && !tr_cancelled(call)) {
        (void)usleep(1000);
    }
    return tr_reply_json(call, tr_arguments(call));
}
static tr_status stay(struct tr_call *call) {
    return wait_until_cancelled(call);
}
TR_JSON_TOOL(stay, ("Stays"), TR_SCHEMA({"type" : "object"}))
static tr_status stay_again(struct tr_call *call) {
    return wait_until_cancelled(call);
}
TR_JSON_TOOL(stay_again, ("Stays", .flags = TR_IDEMPOTENT), TR_SCHEMA({"type" : "object"}))

static tr_status careful(struct tr_call *call) {
    return tr_get_bool(call, "fail", false) ? TR_FAILED : act(call);
}
TR_JSON_TOOL(careful, ("Asks", .permission = TR_CONFIRM), TR_SCHEMA({"type" : "object"}))
static tr_status careful_stay(struct tr_call *call) {
    return wait_until_cancelled(call);
}
TR_JSON_TOOL(careful_stay, ("Asks, and stays", .permission = TR_CONFIRM, .flags = TR_IDEMPOTENT),
             TR_SCHEMA({"type" : "object"}))
static tr_status risky(struct tr_call *call) {
    return act(call);
}
TR_JSON_TOOL(risky, ("Is dangerous", .permission = TR_DANGEROUS), TR_SCHEMA({"type" : "object"}))

/* Takes back what was decided about the tool that it names. */
static tr_status withdraw(struct tr_call *call) {
    struct toolrack_error why;
    const char *tool = tr_get_string(call, "tool", "");
    int code = tr_get_bool(call, "disable", false)
                       ? toolrack_set_enabled(host, tool, false, "test", &why)
                       : toolrack_revoke(host, tool, "test", &why);
    return code == 0 ? tr_reply_json(call, "{\"done\": true}") : TR_FAILED;
}
TR_JSON_TOOL(withdraw, ("Withdraws"), TR_SCHEMA({"type" : "object"}))

static tr_status log_in(struct tr_call *call) {
    atomic_fetch_add(&ran, 1);
    return tr_reply_json(call, "{\"token\": \"of-the-session\"}");
}
TR_JSON_TOOL(log_in,
             ("Logs in", .result_schema = TR_SCHEMA({
                             "type" : "object",
                             "properties" : {"token" : {"type" : "string", "writeOnly" : true}}
                         })),
             TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "user" : {"type" : "string"},
                     "password" : {"type" : "string", "format" : "password"}
                 }
             }))

/* Tells a secret of its process, marked nowhere. */
static tr_status leak(struct tr_call *call) {
    return tr_get_bool(call, "fail", false)
                   ? tr_fail(call, TR_FAILED, NULL, "no such key: of-the-provider")
                   : tr_reply_json(call, "{\"text\": \"key of-the-provider\"}");
}
TR_JSON_TOOL(leak, ("Leaks"), TR_SCHEMA({"type" : "object"}))

/* Says what it was given, as a tool does that is given something wrong. */
static tr_status complain(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "no such key: %s, of %s", tr_get_string(call, "x", ""),
                   tr_arguments(call));
}
TR_JSON_TOOL(complain, ("Complains"), TR_SCHEMA({"type" : "object"}))
static tr_status numbers(struct tr_call *call) {
    return act(call);
}
TR_JSON_TOOL(numbers, ("Takes a number"), TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"n" : {"type" : "string", "enum" : [ "one", "two" ]}}
             }))

TR_PLUGIN(("runs", .flags = TR_THREAD_SAFE), "1.0.0", again, once, stay, stay_again, careful,
          careful_stay, risky, withdraw, log_in, complain, numbers, leak)

/* ------------------------------------------------------------------------------------- fixture */

static char dir[64];

/* What is answered to a question, and what was asked. */
static int answer = TOOLRACK_APPROVAL_DENY;
static int answers;          /* how often, before all is denied; 0: always */
static unsigned staying = 1; /* how many calls begin before their host is closed */
static int later_from;       /* which question waits for an answer; 0: none */
static struct buf asked;
static struct buf asked_for; /* of each call by itself: node, plan, run and reason */
static char standing_of_plan[128];

static int approve(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    buf_printf(&asked, "%s %s\n", request->tool, request->arguments);
    if (request->node != NULL) {
        buf_printf(&asked_for, "%s %s %s %s\n", request->node,
                   request->plan != NULL ? request->plan : "-",
                   request->run != NULL ? request->run : "-", request->reason);
    }
    if (strncmp(request->tool, "plan ", 5) == 0) {
        (void)snprintf(standing_of_plan, sizeof standing_of_plan, "%s", request->version);
    }
    (void)snprintf(request->who, request->who_room, "kay");
    int given = later_from > 0 && --later_from == 0 ? TOOLRACK_APPROVAL_ASK_LATER : answer;
    if (answers > 0 && --answers == 0) {
        answer = TOOLRACK_APPROVAL_DENY;
    }
    return given;
}

static struct toolrack *open_another(bool asks) {
    struct toolrack *opened = NULL;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.approve = asks ? approve : NULL;
    assert_int_equal(toolrack_open(&options, &opened, &err), 0);
    assert_int_equal(toolrack_register(opened, &toolrack_plugin, NULL, &err), 0);
    return opened;
}

static void open_host(bool asks) {
    toolrack_close(host);
    host = open_another(asks);
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/toolrack-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    atomic_store(&ran, 0);
    atomic_store(&blocks, true);
    answer = TOOLRACK_APPROVAL_DENY;
    answers = 0;
    later_from = 0;
    staying = 1;
    return mkdtemp(dir) != NULL && sem_init(&entered, 0, 0) == 0 ? 0 : -1;
}

static int tear_down(void **state) {
    char command[96];
    (void)state;
    toolrack_close(host);
    host = NULL;
    buf_finish(&asked);
    buf_finish(&asked_for);
    (void)sem_destroy(&entered);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static void assert_ok(int code) {
    if (code != 0) {
        fail_msg("%s: %s", toolrack_code_name(code), err.message);
    }
}

static void assert_error(int code, int expected, const char *part) {
    if (code != expected || strstr(err.message, part) == NULL) {
        fail_msg("%s: %s", toolrack_code_name(code), code != 0 ? err.message : "");
    }
}

static struct toolrack_plan *open_plan(const char *text) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    struct toolrack_plan *plan = NULL;
    assert_ok(toolrack_plan_open(host, text, strlen(text), &findings, &plan, &err));
    if (plan == NULL) {
        fail_msg("%s", toolrack_findings_get(findings, 0)->cause);
    }
    return plan;
}

static char last_id[TOOLRACK_RUN_ID_ROOM];

static void take_id(void *user, const char *id) {
    (void)user;
    (void)snprintf(last_id, sizeof last_id, "%s", id);
}

static struct toolrack_call_options of_kim(void) {
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    call.caller = "kim";
    return call;
}

static int run_with(struct toolrack_plan *plan, const char *inputs) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = of_kim();
    options.call = &call;
    options.inputs = inputs;
    options.started = take_id;
    return toolrack_plan_run(plan, &options, &result, &err);
}

static int run_text(const char *text, const char *inputs) {
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = open_plan(text);
    return run_with(plan, inputs);
}

static yyjson_doc *read_run(const char *id) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_ok(toolrack_run_get(host, NULL, id, &text, &err));
    size_t length;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    assert_non_null(doc);
    return doc;
}

/* The value at a place of a run, as text. */
static void assert_run(const char *id, const char *pointer, const char *expected) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_run(id);
    yyjson_val *value = yyjson_doc_ptr_get(doc, pointer);
    CLEANUP(freep) char *text = value != NULL ? yyjson_val_write(value, 0, NULL) : NULL;
    assert_string_equal(text != NULL ? text : "nothing", expected);
}

static void assert_in_run(const char *id, const char *part, bool expected) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_ok(toolrack_run_get(host, NULL, id, &text, &err));
    if ((strstr(toolrack_text_data(text, NULL), part) != NULL) != expected) {
        fail_msg("%s", toolrack_text_data(text, NULL));
    }
}

/* How a run that was started has ended. */
struct end {
    sem_t come;
    int code;
    char message[256];
};

static void take_end(void *user, const char *id, int code, struct toolrack_text *result,
                     const struct toolrack_error *why) {
    struct end *end = user;
    (void)id;
    assert_true((code == 0) == (result != NULL));
    end->code = code;
    (void)snprintf(end->message, sizeof end->message, "%s",
                   code < 0 ? toolrack_error_message(why) : "");
    (void)sem_post(&end->come);
}

static void wait_until_they_stay(void) {
    for (unsigned i = 0; i < staying; i++) {
        while (sem_wait(&entered) != 0) {
        }
    }
}

/* Begin a run that stays, and wait until its call has begun. */
static void start(const char *text, const char *inputs, struct end *end) {
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = of_kim();
    options.call = &call;
    options.inputs = inputs;
    struct toolrack_plan *plan = open_plan(text);
    assert_int_equal(sem_init(&end->come, 0, 0), 0);
    while (sem_trywait(&entered) == 0) { /* of a run before */
    }
    assert_ok(toolrack_run_start(plan, &options, take_end, end, last_id, &err));
    wait_until_they_stay();
}

static void wait_for_end(struct end *end) {
    while (sem_wait(&end->come) != 0) {
    }
    (void)sem_destroy(&end->come);
}

/* A run that the end of its process has interrupted in the call of its second node. */
static void interrupt_with(const char *text, const char *inputs) {
    struct end end;
    start(text, inputs, &end);
    toolrack_close(host);
    host = NULL;
    wait_for_end(&end);
    assert_int_equal(end.code, TOOLRACK_E_CANCELLED);
    atomic_store(&blocks, false);
    open_host(true);
}

static void interrupt(const char *text) {
    interrupt_with(text, NULL);
}

/* The calls of a trace in the log. */
static size_t count_calls(const char *trace) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    filter.trace = trace;
    assert_ok(toolrack_log(host, &filter, &text, &err));
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc =
            yyjson_read(toolrack_text_data(text, NULL), strlen(toolrack_text_data(text, NULL)), 0);
    return yyjson_arr_size(yyjson_doc_get_root(doc));
}

/* -------------------------------------------------------------------------------- what is kept */

static const char two[] = "{\"name\": \"two\", \"inputs\": {\"n\": {\"type\": \"integer\", "
                          "\"default\": 1}}, \"nodes\": ["
                          "{\"id\": \"a\", \"tool\": \"again\", \"arguments\": {\"x\": {\"$ref\": "
                          "\"#/inputs/n\"}}},"
                          "{\"id\": \"b\", \"tool\": \"once\", \"arguments\": {\"y\": {\"$ref\": "
                          "\"#/nodes/a/result/x\"}}}]}";

static void a_run_is_kept(void **state) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *list = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *none = NULL;
    (void)state;
    open_host(false);
    assert_ok(run_text(two, "{\"n\": 7}"));
    assert_int_equal(strlen(last_id), TOOLRACK_RUN_ID_ROOM - 1);
    assert_run(last_id, "/state", "\"succeeded\"");
    assert_run(last_id, "/name", "\"two\"");
    assert_run(last_id, "/caller", "\"kim\"");
    assert_run(last_id, "/owner", "\"kim\"");
    assert_run(last_id, "/inputs", "{\"n\":7}");
    assert_run(last_id, "/result", "{\"b\":{\"y\":7}}");
    assert_run(last_id, "/resume", "[]");
    assert_run(last_id, "/nodes/0/result", "{\"x\":7}");
    assert_run(last_id, "/nodes/0/attempts", "1");
    assert_run(last_id, "/nodes/1/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/1/tool", "\"once\"");
    assert_int_equal(count_calls(last_id), 2);
    assert_int_equal(count_calls("another"), 0);
    assert_ok(toolrack_runs(host, "kim", &list, &err));
    assert_non_null(strstr(toolrack_text_data(list, NULL), "\"succeeded\":2"));
    assert_ok(toolrack_runs(host, "sam", &none, &err));
    assert_string_equal(toolrack_text_data(none, NULL), "[]");
    toolrack_text_unref(STEAL(none));
    assert_error(toolrack_run_get(host, "sam", last_id, &none, &err), TOOLRACK_E_NOT_FOUND,
                 "there is no run");
    assert_error(toolrack_run_cancel(host, NULL, last_id, &err), TOOLRACK_E_REFUSED, "has ended");
    assert_error(toolrack_run_remove(host, "sam", last_id, &err), TOOLRACK_E_NOT_FOUND, "");
    assert_ok(toolrack_run_remove(host, "kim", last_id, &err));
    assert_error(toolrack_run_remove(host, NULL, last_id, &err), TOOLRACK_E_NOT_FOUND, "");
}

/* Whoever began the run, and whatever its trace is there. */
static void calls_are_found_by_their_run(void **state) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = of_kim();
    struct end end;
    (void)state;
    open_host(false);
    struct toolrack_plan *plan = open_plan(two);
    call.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    options.call = &call;
    options.started = take_id;
    assert_ok(toolrack_plan_run(plan, &options, &result, &err));
    toolrack_plan_close(plan);
    assert_int_equal(count_calls(last_id), 2);
    assert_int_equal(count_calls(call.trace), 2);
    options.started = NULL;
    assert_int_equal(sem_init(&end.come, 0, 0), 0);
    assert_ok(toolrack_run_start(open_plan(two), &options, take_end, &end, last_id, &err));
    wait_for_end(&end);
    assert_int_equal(count_calls(last_id), 2);
    assert_int_equal(count_calls(call.trace), 4);
}

static void a_run_may_be_unkept(void **state) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *list = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    (void)state;
    open_host(false);
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = open_plan(two);
    options.unkept = 1;
    options.started = take_id;
    last_id[0] = '\0';
    assert_ok(toolrack_plan_run(plan, &options, &result, &err));
    assert_string_equal(last_id, "");
    assert_ok(toolrack_runs(host, NULL, &list, &err));
    assert_string_equal(toolrack_text_data(list, NULL), "[]");
}

static void a_failure_is_kept(void **state) {
    (void)state;
    open_host(false);
    assert_error(run_text("{\"nodes\": [{\"id\": \"a\", \"tool\": \"once\", \"arguments\": {\"x\": "
                          "\"${nodes.b.result.none}\"}}, {\"id\": \"b\", \"tool\": \"again\"}, "
                          "{\"id\": \"c\", \"tool\": \"once\", \"depends_on\": [\"a\"]}]}",
                          NULL),
                 TOOLRACK_E_INVALID_ARGUMENTS, "has no value");
    assert_run(last_id, "/state", "\"failed\"");
    assert_run(last_id, "/nodes/0/state", "\"failed\"");
    assert_run(last_id, "/nodes/0/error/code", "\"InvalidArguments\"");
    assert_run(last_id, "/nodes/2/state", "\"cancelled\"");
    assert_in_run(last_id, "has no value", true);
}

/* ------------------------------------------------------------------------------------ going on */

#define CHAIN(tool)                                                                           \
    "{\"name\": \"chain\", \"nodes\": [{\"id\": \"a\", \"tool\": \"once\", \"arguments\": "   \
    "{\"v\": 5}}, {\"id\": \"b\", \"tool\": \"" tool "\", \"arguments\": {\"v\": {\"$ref\": " \
    "\"#/nodes/a/result/v\"}}}, {\"id\": \"c\", \"tool\": \"again\", \"arguments\": {\"v\": " \
    "{\"$ref\": \"#/nodes/b/result/v\"}}}]}"

static void an_idempotent_node_is_repeated(void **state) {
    struct toolrack_plan *plan = NULL;
    (void)state;
    open_host(false);
    interrupt(CHAIN("stay_again"));
    assert_run(last_id, "/state", "\"interrupted\"");
    assert_run(last_id, "/nodes/0/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/1/state", "\"running\"");
    assert_run(last_id, "/nodes/1/word", "null");
    assert_run(last_id, "/nodes/2/state", "\"waiting\"");
    atomic_store(&ran, 0);
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_ok(run_with(plan, NULL));
    assert_error(run_with(plan, NULL), TOOLRACK_E_INVALID, "goes on once");
    toolrack_plan_close(plan);
    assert_int_equal(atomic_load(&ran), 2);
    assert_run(last_id, "/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/1/attempts", "2");
    assert_run(last_id, "/result", "{\"c\":{\"v\":5}}");
}

static void another_node_waits_for_a_word(void **state) {
    struct toolrack_plan *plan = NULL;
    const struct toolrack_run_said repeat = {"b", TOOLRACK_RUN_REPEAT};
    const struct toolrack_run_said unknown = {"z", TOOLRACK_RUN_SKIP};
    (void)state;
    open_host(false);
    interrupt(CHAIN("stay"));
    assert_run(last_id, "/nodes/1/word", "\"needed\"");
    assert_in_run(last_id, " run --resume ", true);
    assert_in_run(last_id, " --repeat b\"", true);
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err),
                 TOOLRACK_E_INPUT_REQUIRED, "waits for a word about node 'b'");
    assert_non_null(strstr(err.message, " run --resume "));
    assert_non_null(strstr(err.message, " --repeat b; or --skip b"));
    assert_error(toolrack_run_reopen(host, NULL, last_id, &unknown, 1, &plan, &err),
                 TOOLRACK_E_INVALID, "has no node 'z'");
    assert_run(last_id, "/state", "\"interrupted\""); /* it was given back */
    assert_ok(toolrack_run_reopen(host, NULL, last_id, &repeat, 1, &plan, &err));
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
    assert_run(last_id, "/result", "{\"c\":{\"v\":5}}");
}

static void a_node_may_be_skipped(void **state) {
    struct toolrack_plan *plan = NULL;
    const struct toolrack_run_said skip = {"b", TOOLRACK_RUN_SKIP};
    (void)state;
    open_host(false);
    interrupt(CHAIN("stay"));
    assert_ok(toolrack_run_reopen(host, NULL, last_id, &skip, 1, &plan, &err));
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
    assert_run(last_id, "/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/1/state", "\"skipped\"");
    assert_run(last_id, "/nodes/2/state", "\"skipped\"");
}

static void one_host_goes_on_with_a_run(void **state) {
    struct toolrack_plan *plan = NULL;
    struct toolrack_plan *second = NULL;
    (void)state;
    open_host(false);
    interrupt(CHAIN("stay_again"));
    struct toolrack *other = open_another(false);
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_error(toolrack_run_reopen(other, NULL, last_id, NULL, 0, &second, &err),
                 TOOLRACK_E_REFUSED, "is run by another process, which alone can end it");
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &second, &err),
                 TOOLRACK_E_REFUSED, "runs, in this process");
    assert_error(toolrack_run_cancel(other, NULL, last_id, &err), TOOLRACK_E_REFUSED,
                 "press Ctrl-C where 'toolrack run' runs it, or have the server");
    assert_error(toolrack_run_remove(other, NULL, last_id, &err), TOOLRACK_E_REFUSED, "runs");
    toolrack_plan_close(plan);
    assert_ok(toolrack_run_reopen(other, NULL, last_id, NULL, 0, &second, &err));
    toolrack_plan_close(second);
    assert_ok(toolrack_run_cancel(other, NULL, last_id, &err));
    toolrack_close(other);
    assert_run(last_id, "/state", "\"cancelled\"");
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err), TOOLRACK_E_REFUSED,
                 "has ended: it was cancelled");
}

/* What a person says again changes what has ended with it, and nothing else. */
static void what_has_ended_follows_a_word(void **state) {
    static const char text[] =
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"once\", \"arguments\": {\"v\": 5}}, {\"id\": "
            "\"b\", \"tool\": \"%s\", \"arguments\": {\"v\": {\"$ref\": \"#/nodes/a/result/v\"}}}, "
            "{\"id\": \"after\", \"tool\": \"once\", \"depends_on\": [\"a\"]}, {\"id\": \"c\", "
            "\"tool\": \"stay_again\", \"arguments\": {\"v\": {\"$ref\": \"#/nodes/b/result/v\"}}, "
            "\"depends_on\": [\"after\"]}, {\"id\": \"d\", \"tool\": \"once\", \"depends_on\": "
            "[\"c\"]}]}";
    static const struct toolrack_run_said words[] = {
            {"a", TOOLRACK_RUN_REPEAT}, {"b", TOOLRACK_RUN_REPEAT}, {"d", TOOLRACK_RUN_SKIP}};
    static const struct toolrack_run_said skip = {"a", TOOLRACK_RUN_SKIP};
    struct toolrack_plan *plan = NULL;
    char plan_text[sizeof text + 8];
    (void)state;
    open_host(false);
    for (int is_idempotent = 0; is_idempotent < 2; is_idempotent++) {
        (void)snprintf(plan_text, sizeof plan_text, text, is_idempotent ? "again" : "once");
        atomic_store(&blocks, true);
        interrupt(plan_text);
        atomic_store(&ran, 0);
        if (!is_idempotent) {
            assert_error(toolrack_run_reopen(host, NULL, last_id, words, 1, &plan, &err),
                         TOOLRACK_E_INPUT_REQUIRED,
                         "node 'b': it has ended, with the result of 'a', which is to be called "
                         "again");
        }
        assert_ok(toolrack_run_reopen(host, NULL, last_id, words, is_idempotent ? 1 : 3, &plan,
                                      &err));
        assert_ok(run_with(plan, NULL));
        toolrack_plan_close(plan);
        assert_int_equal(atomic_load(&ran), is_idempotent ? 4 : 3); /* a, b, c; d */
        assert_run(last_id, "/state", "\"succeeded\"");
        assert_run(last_id, "/nodes/0/attempts", "2");
        assert_run(last_id, "/nodes/1/attempts", "2");
        assert_run(last_id, "/nodes/2/attempts", "1");
        assert_run(last_id, "/nodes/4/state", is_idempotent ? "\"succeeded\"" : "\"skipped\"");
    }
    atomic_store(&blocks, true);
    interrupt(plan_text);
    assert_ok(toolrack_run_reopen(host, NULL, last_id, &skip, 1, &plan, &err));
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
    assert_run(last_id, "/nodes/1/state", "\"skipped\"");
    assert_run(last_id, "/nodes/2/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/3/state", "\"skipped\"");
    assert_run(last_id, "/nodes/4/state", "\"succeeded\"");
}

/* The tool `stay_again` as another release describes it. */
static const struct tr_tool other_stay = {.size = sizeof(struct tr_tool),
                                          .name = "stay_again",
                                          .schema = "{\"type\": \"object\"}",
                                          .run = stay_again,
                                          .description = "Stays longer",
                                          .flags = TR_IDEMPOTENT};
static const struct tr_tool *const other_tools[] = {&tr_tool_once, &tr_tool_again, &other_stay};

static void tools_are_those_of_the_beginning(void **state) {
    struct toolrack_plan *plan = NULL;
    struct tr_plugin changed = toolrack_plugin;
    (void)state;
    open_host(false);
    interrupt(CHAIN("stay_again"));
    assert_ok(toolrack_unregister_name(host, "stay_again", &err));
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err), TOOLRACK_E_REFUSED,
                 "'stay_again@1.0.0', which its node 'b' calls, is not here");
    toolrack_close(host);
    host = NULL;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    assert_ok(toolrack_open(&options, &host, &err));
    changed.tools = other_tools;
    changed.tool_count = ARRAY_LENGTH(other_tools);
    assert_ok(toolrack_register(host, &changed, NULL, &err));
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err), TOOLRACK_E_REFUSED,
                 "is not what it was when the run began: its description");
    assert_run(last_id, "/state", "\"interrupted\"");
}

/* ------------------------------------------------------------------------------------- secrets */

static void secrets_are_not_kept(void **state) {
    static const char text[] =
            "{\"inputs\": {\"key\": {\"type\": \"string\", \"format\": \"password\"}, \"who\": "
            "{\"type\": \"string\"}}, \"nodes\": [{\"id\": \"a\", \"tool\": \"log_in\", "
            "\"arguments\": {\"user\": {\"$ref\": \"#/inputs/who\"}, \"password\": {\"$ref\": "
            "\"#/inputs/key\"}}}, {\"id\": \"b\", \"tool\": \"stay_again\", \"depends_on\": "
            "[\"a\"]}, {\"id\": \"c\", \"tool\": \"log_in\", \"arguments\": {\"password\": "
            "{\"$ref\": \"#/inputs/key\"}}, \"depends_on\": [\"b\"]}]}";
    struct toolrack_plan *plan = NULL;
    struct end end;
    (void)state;
    open_host(false);
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    options.inputs = "{\"key\": \"hunter2\", \"who\": \"kay\"}";
    assert_int_equal(sem_init(&end.come, 0, 0), 0);
    assert_ok(toolrack_run_start(open_plan(text), &options, take_end, &end, last_id, &err));
    while (sem_wait(&entered) != 0) {
    }
    assert_in_run(last_id, "hunter2", false);
    assert_in_run(last_id, "of-the-session", false);
    assert_run(last_id, "/inputs", "{\"key\":\"***\",\"who\":\"kay\"}");
    assert_run(last_id, "/nodes/0/unkept", "\"its tool says that it has secrets\"");
    toolrack_close(host);
    host = NULL;
    wait_for_end(&end);
    atomic_store(&blocks, false);
    open_host(false);
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_error(run_with(plan, NULL), TOOLRACK_E_INVALID_ARGUMENTS, "'key' of run");
    assert_error(run_with(plan, "{\"key\": \"k\", \"who\": \"sam\"}"), TOOLRACK_E_INVALID_ARGUMENTS,
                 "is kept, and cannot be another one");
    assert_ok(run_with(plan, "{\"key\": \"hunter2\"}"));
    toolrack_plan_close(plan);
    assert_in_run(last_id, "hunter2", false);
    assert_in_run(last_id, "of-the-session", false);
}

static void a_run_that_needs_a_secret_says_so(void **state) {
    static const char literal[] =
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"stay_again\"}, {\"id\": \"b\", \"tool\": "
            "\"log_in\", \"arguments\": {\"user\": \"kay\", \"password\": \"hunter2\"}, "
            "\"depends_on\": [\"a\"]}]}";
    static const char result[] =
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"log_in\"}, {\"id\": \"b\", \"tool\": "
            "\"stay_again\", \"arguments\": {\"v\": {\"$ref\": \"#/nodes/a/result/token\"}}}]}";
    struct toolrack_plan *plan = NULL;
    const struct toolrack_run_said repeat = {"a", TOOLRACK_RUN_REPEAT};
    (void)state;
    open_host(false);
    interrupt(literal);
    assert_in_run(last_id, "hunter2", false);
    assert_in_run(last_id, "kay", true);
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err), TOOLRACK_E_REFUSED,
                 "the plan had a secret in its node 'b'");
    atomic_store(&blocks, true);
    interrupt(result);
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_error(run_with(plan, NULL), TOOLRACK_E_REFUSED,
                 "the result of node 'a' is needed and was not kept");
    toolrack_plan_close(plan);
    assert_ok(toolrack_run_reopen(host, NULL, last_id, &repeat, 1, &plan, &err));
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
    assert_run(last_id, "/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/0/result", "nothing");
}

#define WITH_KEY(nodes, result)                                                                    \
    "{\"inputs\": {\"key\": {\"type\": \"string\", \"format\": \"password\"}}, \"nodes\": [" nodes \
    "], \"result\": " result "}"
#define GIVES_KEY_ON                                                                            \
    "{\"id\": \"a\", \"tool\": \"again\", \"arguments\": {\"x\": \"k=${inputs.key}\"}}, "       \
    "{\"id\": \"b\", \"tool\": \"again\", \"arguments\": {\"${nodes.a.result.x}\": {\"$ref\": " \
    "\"#/nodes/a/result/x\"}}}"
#define GIVES_TOKEN_ON                                                                            \
    "{\"id\": \"a\", \"tool\": \"log_in\"}, {\"id\": \"b\", \"tool\": \"again\", "                \
    "\"arguments\": {\"v\": {\"$ref\": \"#/nodes/a/result/token\"}}}, {\"id\": \"c\", \"tool\": " \
    "\"again\", \"arguments\": {\"v\": \"other\"}}"
#define FALLS_BACK_TO_KEY                                                             \
    "{\"id\": \"a\", \"tool\": \"again\", \"for_each\": {\"items\": [1, 2], "         \
    "\"max_items\": 1}, \"on_error\": {\"fallback\": {\"value\": {\"v\": {\"$ref\": " \
    "\"#/inputs/key\"}}}}}"

static void what_a_secret_comes_to_is_not_kept(void **state) {
    (void)state;
    open_host(false);
    assert_ok(run_text(WITH_KEY(GIVES_KEY_ON, "{\"$ref\": \"#/nodes/b/result\"}"),
                       "{\"key\": \"hunt\\\"er2\"}"));
    assert_run(last_id, "/nodes/0/unkept", "\"a secret of another value is in it\"");
    assert_run(last_id, "/nodes/1/unkept", "\"a secret of another value is in it\"");
    assert_run(last_id, "/result", "null");
    assert_in_run(last_id, "er2", false);
    assert_ok(run_text(WITH_KEY(GIVES_TOKEN_ON, "1"), "{\"key\": \"hunter2\"}"));
    assert_run(last_id, "/nodes/1/unkept", "\"a secret of another value is in it\"");
    assert_run(last_id, "/nodes/2/result", "{\"v\":\"other\"}");
    assert_in_run(last_id, "of-the-session", false);
    /* What the plan itself gives out is not kept even where a secret is too short to be found. */
    assert_ok(run_text(WITH_KEY(FALLS_BACK_TO_KEY, "2"), "{\"key\": \"q7\"}"));
    assert_run(last_id, "/nodes/0/unkept", "\"it or its fallback has secrets\"");
    assert_run(last_id, "/nodes/0/fallback/code", "\"LimitExceeded\"");
    assert_run(last_id, "/name", "\"again\""); /* without a name it has those of its tools */
    assert_in_run(last_id, "q7", false);
    assert_ok(
            run_text(WITH_KEY("{\"id\": \"a\", \"tool\": \"again\"}", "{\"r\": \"${inputs.key}\"}"),
                     "{\"key\": \"q7\"}"));
    assert_run(last_id, "/nodes/0/result", "{}");
    assert_run(last_id, "/result", "null");
}

static void assert_not_on_disk(const char *text) {
    char command[160];
    (void)snprintf(command, sizeof command, "! grep -rqsF -- '%s' '%s'", text, dir);
    if (system(command) != 0) {
        fail_msg("'%s' is kept", text);
    }
}

static char told[1024]; /* the error of the node that failed last */

static void take_failure(void *user, const struct toolrack_plan_event *event) {
    (void)user;
    if (event->err != NULL) {
        (void)snprintf(told, sizeof told, "%s", toolrack_error_message(event->err));
    }
}

/* A run whose secret has quotes, which are escaped where it stands in JSON. */
static int run_with_key(const char *nodes, const struct toolrack_call_options *call) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    buf_printf(&text, WITH_KEY("%s", "1"), nodes);
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = open_plan(text.data);
    options.call = call;
    options.inputs = "{\"key\": \"sesame\\\"opener\"}";
    options.started = take_id;
    options.event = take_failure;
    told[0] = '\0';
    return toolrack_plan_run(plan, &options, &result, &err);
}

static void assert_silent(size_t calls) {
    assert_int_equal(count_calls(last_id), calls);
    assert_ok(toolrack_flush(host, &err));
    assert_null(strstr(err.message, "opener"));
    assert_null(strstr(told, "opener"));
    assert_in_run(last_id, "opener", false);
    assert_not_on_disk("opener");
    assert_not_on_disk("sesame");
}

/* Whatever parameter it is given to, marked or not. */
static void a_secret_input_is_masked_in_the_calls_of_its_run(void **state) {
    struct toolrack_call_options call = of_kim();
    (void)state;
    open_host(true);
    assert_ok(run_with_key("{\"id\": \"a\", \"tool\": \"again\", \"arguments\": {\"x\": "
                           "\"k=${inputs.key}\"}}",
                           &call));
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *log = NULL;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    filter.trace = last_id;
    assert_ok(toolrack_log(host, &filter, &log, &err));
    assert_non_null(strstr(toolrack_text_data(log, NULL), "k=***"));
    assert_silent(1);
    assert_error(run_with_key("{\"id\": \"a\", \"tool\": \"complain\", \"arguments\": {\"x\": "
                              "{\"$ref\": \"#/inputs/key\"}}}",
                              &call),
                 TOOLRACK_E_EXECUTION_FAILED, "no such key: ***, of {\"x\":\"***\"}");
    assert_non_null(strstr(told, "***"));
    assert_silent(1);
    /* The host's own refusal tells the value that does not fit. */
    assert_int_equal(run_with_key("{\"id\": \"a\", \"tool\": \"numbers\", \"arguments\": "
                                  "{\"n\": \"${inputs.key}\"}}",
                                  &call),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    assert_silent(1);
}

/* What the run itself finds wrong, and not a call, may quote one too. */
static void a_secret_input_is_masked_in_errors_of_its_run(void **state) {
    struct toolrack_call_options call = of_kim();
    (void)state;
    open_host(true);
    assert_error(run_with_key("{\"id\": \"a\", \"tool\": \"again\"}, {\"id\": \"b\", \"tool\": "
                              "\"again\", \"arguments\": {\"x\": {\"$ref\": "
                              "\"#/nodes/a/result/sesame\\\"opener\"}}}",
                              &call),
                 TOOLRACK_E_INVALID_ARGUMENTS, "#/nodes/a/result/*** has no value");
    assert_non_null(strstr(told, "#/nodes/a/result/*** has no value"));
    assert_error(run_text("{\"inputs\": {\"key\": {\"type\": \"string\", \"writeOnly\": true, "
                          "\"enum\": [\"a\"]}}, \"nodes\": [{\"id\": \"a\", \"tool\": "
                          "\"again\"}]}",
                          "{\"key\": \"open sesame\"}"),
                 TOOLRACK_E_INVALID_ARGUMENTS, "the input key ");
    assert_null(strstr(err.message, "sesame"));
}

/* A key that the process itself has, and that a tool gets hold of, is not kept. */
static void a_key_of_the_process_is_not_kept(void **state) {
    (void)state;
    open_host(false);
    assert_true(own_secrets_add("of-the-provider"));
    assert_ok(run_text("{\"nodes\": [{\"id\": \"a\", \"tool\": \"leak\"}]}", NULL));
    assert_run(last_id, "/nodes/0/result", "nothing");
    assert_run(last_id, "/result", "null");
    assert_error(run_text("{\"nodes\": [{\"id\": \"a\", \"tool\": \"leak\", \"arguments\": "
                          "{\"fail\": true}}]}",
                          NULL),
                 TOOLRACK_E_EXECUTION_FAILED, "no such key");
    assert_in_run(last_id, "no such key: ***", true);
    assert_ok(toolrack_flush(host, &err));
    assert_not_on_disk("of-the-provider");
}

/* What the text of a plan gives to a marked parameter is a secret wherever the run has it. */
static void a_secret_of_the_text_is_masked_in_the_calls_of_its_run(void **state) {
    (void)state;
    open_host(false);
    assert_ok(run_text(
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"log_in\", \"arguments\": {\"password\": "
            "\"planliteral\"}}, {\"id\": \"b\", \"tool\": \"log_in\", \"for_each\": [{\"p\": "
            "\"planitem\"}], \"arguments\": {\"password\": {\"$ref\": \"#/item/p\"}}}, {\"id\": "
            "\"c\", \"tool\": \"log_in\", \"arguments\": {\"password\": "
            "\"${nodes.b.result}\"}}, {\"id\": \"d\", \"tool\": \"again\", \"arguments\": "
            "{\"x\": \"hello with planliteral\", \"y\": \"planitem\", \"z\": \"kay null\"}}]}",
            NULL));
    assert_ok(toolrack_flush(host, &err));
    assert_run(last_id, "/nodes/3/unkept", "\"a secret of another value is in it\"");
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *log = NULL;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    filter.trace = last_id;
    assert_ok(toolrack_log(host, &filter, &log, &err));
    assert_null(strstr(toolrack_text_data(log, NULL), "planliteral"));
    assert_null(strstr(toolrack_text_data(log, NULL), "planitem"));
    assert_non_null(strstr(toolrack_text_data(log, NULL), "kay null"));
}

static void a_secret_result_is_masked_in_the_calls_after_it(void **state) {
    (void)state;
    open_host(false);
    assert_error(run_text("{\"nodes\": [{\"id\": \"a\", \"tool\": \"log_in\"}, {\"id\": \"b\", "
                          "\"tool\": \"complain\", \"arguments\": {\"x\": {\"$ref\": "
                          "\"#/nodes/a/result/token\"}}}]}",
                          NULL),
                 TOOLRACK_E_EXECUTION_FAILED, "no such key: ***,");
    assert_ok(toolrack_flush(host, &err));
    assert_not_on_disk("of-the-session");
}

/* Both the plan as a whole and a call by itself. */
static void a_secret_input_does_not_wait_for_an_answer(void **state) {
    static const char asking[] = "{\"id\": \"a\", \"tool\": \"careful\", \"arguments\": {\"x\": "
                                 "\"k=${inputs.key}\"}}";
    struct toolrack_call_options call = of_kim();
    (void)state;
    open_host(true);
    later_from = 1;
    assert_int_equal(run_with_key(asking, &call), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_non_null(strstr(asked.data, "opener")); /* the person sees what is agreed to */
    assert_not_on_disk("opener");
    struct toolrack_result *given = NULL;
    later_from = 1;
    call.secrets = "sesame";
    call.secrets_length = sizeof "sesame";
    assert_int_equal(
            toolrack_call(host, "careful", "{\"x\": \"sesame-seeds\"}", &call, &given, &err),
            TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_non_null(strstr(asked.data, "sesame-seeds"));
    assert_ok(toolrack_flush(host, &err));
    assert_not_on_disk("sesame");
}

/* A plan whose second node has a secret in its text is interrupted before that. */
static void assert_masked(const char *node) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_plan *plan = NULL;
    buf_printf(&text,
               "{\"inputs\": {\"key\": {\"type\": \"string\", \"format\": \"password\", "
               "\"default\": \"hunter2\"}}, \"nodes\": [{\"id\": \"a\", \"tool\": \"stay_again\"}, "
               "{\"id\": \"b\", \"depends_on\": [\"a\"], %s}]}",
               node);
    atomic_store(&blocks, true);
    interrupt(text.data);
    assert_not_on_disk("hunter2"); /* the plan as it is kept; runs do not show it */
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err), TOOLRACK_E_REFUSED,
                 "the plan had a secret in its node 'b'");
}

static void secrets_of_the_text_are_not_kept(void **state) {
    (void)state;
    open_host(false);
    assert_masked("\"tool\": \"log_in\", \"for_each\": [{\"p\": \"hunter2\"}], \"arguments\": "
                  "{\"password\": {\"$ref\": \"#/item/p\"}}");
    assert_masked(
            "\"tool\": \"log_in\", \"for_each\": {\"items\": [\"hunter2\"], \"parallel\": 1}, "
            "\"arguments\": {\"password\": \"${item}\"}");
    assert_masked("\"tool\": \"log_in\", \"for_each\": [{\"password\": \"hunter2\"}], "
                  "\"arguments\": {\"$ref\": \"#/item\"}");
    assert_masked("\"tool\": \"again\", \"on_error\": {\"fallback\": {\"tool\": \"log_in\", "
                  "\"arguments\": {\"password\": \"hunter2\"}}}");
    assert_masked("\"tool\": \"again\", \"arguments\": {\"password\": \"hunter2\"}, \"on_error\": "
                  "{\"fallback\": {\"tool\": \"log_in\"}}");
    assert_masked("\"tool\": \"log_in\", \"on_error\": {\"fallback\": {\"value\": {\"token\": "
                  "\"hunter2\"}}}");
    assert_masked("\"tool\": \"again\", \"when\": {\"value\": {\"$ref\": \"#/inputs/key\"}, "
                  "\"is\": {\"const\": \"hunter2\"}}");
}

/* A masked text may fit its tool no more; that matters only where it is needed again. */
static void a_node_that_had_a_secret_has_ended(void **state) {
    struct toolrack_plan *plan = NULL;
    (void)state;
    open_host(false);
    interrupt("{\"nodes\": [{\"id\": \"a\", \"tool\": \"log_in\", \"for_each\": [{\"p\": "
              "\"hunter2\"}], \"arguments\": {\"password\": {\"$ref\": \"#/item/p\"}}}, {\"id\": "
              "\"b\", \"tool\": \"stay_again\", \"depends_on\": [\"a\"]}]}");
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
}

/* What is kept of a plan with one long array of references, and of members whose names differ only
 * after a zero. The time of it would be minutes if it grew with the square of the length. */
static void a_kept_plan_is_the_plan(void **state) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const size_t many = 100000;
    (void)state;
    open_host(false);
    buf_add_text(&text, "{\"inputs\": {\"n\": {\"type\": \"integer\", \"default\": 1}}, "
                        "\"nodes\": [{\"id\": \"a\", \"tool\": \"log_in\", \"for_each\": "
                        "[\"kay\"], \"arguments\": {\"to\": \"kim\", \"to\\u0000x\": {\"$ref\": "
                        "\"#/inputs/n\"}, \"user\": \"sam\", \"list\": [");
    for (size_t i = 0; i < many; i++) {
        buf_printf(&text, "%s{\"$ref\": \"#/%s\"}", i > 0 ? ", " : "",
                   i % 2 == 0 ? "inputs/n" : "item");
    }
    buf_add_text(&text, "]}}]}");
    assert_false(text.failed);
    assert_ok(run_text(text.data, NULL));
    /* A name that the tool does not know may have been meant for its secret. */
    assert_run(last_id, "/plan/nodes/0/arguments/to", "\"***\"");
    assert_run(last_id, "/plan/nodes/0/arguments/user", "\"sam\"");
    assert_run(last_id, "/plan/nodes/0/arguments/list/99998", "{\"$ref\":\"#/inputs/n\"}");
    assert_run(last_id, "/plan/nodes/0/arguments/list/99999", "{\"$ref\":\"#/item\"}");
    assert_in_run(last_id, "\"to\\u0000x\":{\"$ref\":\"#/inputs/n\"}", true);
}

static void items_that_are_no_secrets_are_kept(void **state) {
    struct toolrack_plan *plan = NULL;
    (void)state;
    open_host(false);
    interrupt("{\"nodes\": [{\"id\": \"a\", \"tool\": \"stay_again\"}, {\"id\": \"b\", "
              "\"depends_on\": [\"a\"], "
              "\"tool\": \"log_in\", \"for_each\": [\"kay\", \"kim\"], \"arguments\": {\"user\": "
              "{\"$ref\": \"#/item\"}}, \"when\": {\"value\": 1, \"is\": {\"const\": 1}}}]}");
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    atomic_store(&ran, 0);
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
    assert_int_equal(atomic_load(&ran), 3);
}

/* --------------------------------------------------------------------------- own threads, ends */

static void a_started_run_is_cancelled(void **state) {
    struct end end;
    (void)state;
    open_host(false);
    start(CHAIN("stay"), NULL, &end);
    assert_run(last_id, "/state", "\"running\"");
    assert_error(toolrack_run_cancel(host, "sam", last_id, &err), TOOLRACK_E_NOT_FOUND, "");
    assert_error(toolrack_run_remove(host, NULL, last_id, &err), TOOLRACK_E_REFUSED, "runs");
    assert_ok(toolrack_run_cancel(host, "kim", last_id, &err));
    wait_for_end(&end);
    assert_int_equal(end.code, TOOLRACK_E_CANCELLED);
    assert_run(last_id, "/state", "\"cancelled\"");
    assert_run(last_id, "/nodes/2/state", "\"cancelled\"");
}

/* A run that ends while a person asks for it: after its row was read, and before it is known who
 * runs it. It has ended then, and is not interrupted. */
static struct end *ends_now; /* the run that ends when it has been read; NULL: none */

static void let_it_end(void) {
    struct end *end = ends_now;
    ends_now = NULL;
    if (end != NULL) {
        atomic_store(&blocks, false);
        wait_for_end(end);
    }
}

int __real_store_run_find(struct store *store, const char *owner, const char *id,
                          void (*visit)(void *user, const struct store_run *run),
                          void (*visit_node)(void *user, const struct store_run_node *node),
                          void *user, struct toolrack_error *why);
int __wrap_store_run_find(struct store *store, const char *owner, const char *id,
                          void (*visit)(void *user, const struct store_run *run),
                          void (*visit_node)(void *user, const struct store_run_node *node),
                          void *user, struct toolrack_error *why);
int __real_store_runs_read(struct store *store, const char *owner,
                           void (*visit)(void *user, const struct store_run *run), void *user,
                           struct toolrack_error *why);
int __wrap_store_runs_read(struct store *store, const char *owner,
                           void (*visit)(void *user, const struct store_run *run), void *user,
                           struct toolrack_error *why);

int __wrap_store_run_find(struct store *store, const char *owner, const char *id,
                          void (*visit)(void *user, const struct store_run *run),
                          void (*visit_node)(void *user, const struct store_run_node *node),
                          void *user, struct toolrack_error *why) {
    int code = __real_store_run_find(store, owner, id, visit, visit_node, user, why);
    let_it_end();
    return code;
}

/* Of what is read, a visitor sees the rows one after the other. */
struct visiting {
    void (*visit)(void *user, const struct store_run *run);
    void *user;
};

static void end_and_visit(void *user, const struct store_run *run) {
    const struct visiting *visiting = user;
    let_it_end();
    visiting->visit(visiting->user, run);
}

int __wrap_store_runs_read(struct store *store, const char *owner,
                           void (*visit)(void *user, const struct store_run *run), void *user,
                           struct toolrack_error *why) {
    struct visiting visiting = {visit, user};
    return __real_store_runs_read(store, owner, end_and_visit, &visiting, why);
}

static void a_run_that_ends_meanwhile_is_not_interrupted(void **state) {
    static const char text[] = "{\"nodes\": [{\"id\": \"a\", \"tool\": \"stay\"}]}";
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *list = NULL;
    struct end end;
    (void)state;
    open_host(false);
    start(text, NULL, &end);
    ends_now = &end;
    assert_run(last_id, "/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/0/state", "\"succeeded\"");
    atomic_store(&blocks, true);
    start(text, NULL, &end);
    ends_now = &end;
    assert_ok(toolrack_runs(host, NULL, &list, &err));
    assert_null(strstr(toolrack_text_data(list, NULL), "interrupted"));
    assert_null(ends_now);
}

/* Who begins many runs leaves others their share, under whatever names. */
static void a_party_leaves_others_their_share(void **state) {
    enum { MOST = TOOLRACK_RUNS_STARTED_MAX / 2 };
    static struct end ends[MOST + 1];
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = of_kim();
    (void)state;
    open_host(false);
    options.call = &call;
    call.party = "kim";
    for (size_t i = 0; i < MOST; i++) {
        assert_int_equal(sem_init(&ends[i].come, 0, 0), 0);
        call.caller = i % 2 == 0 ? "session:1" : "session:2";
        assert_ok(toolrack_run_start(open_plan(CHAIN("stay")), &options, take_end, &ends[i],
                                     last_id, &err));
    }
    struct toolrack_plan *refused = open_plan(CHAIN("stay"));
    assert_error(toolrack_run_start(refused, &options, NULL, NULL, last_id, &err),
                 TOOLRACK_E_LIMIT_EXCEEDED, "of 'kim', which is the most");
    toolrack_plan_close(refused);
    call.party = "sam";
    assert_int_equal(sem_init(&ends[MOST].come, 0, 0), 0);
    assert_ok(toolrack_run_start(open_plan(CHAIN("stay")), &options, take_end, &ends[MOST], last_id,
                                 &err));
    toolrack_close(host);
    host = NULL;
    for (size_t i = 0; i <= MOST; i++) {
        wait_for_end(&ends[i]);
        assert_int_equal(ends[i].code, TOOLRACK_E_CANCELLED);
    }
}

static struct toolrack_plan *refused; /* cannot begin */

/* A yes that comes when the host is being closed. */
static int approve_when_closing(void *user, const struct toolrack_approval_request *request) {
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_error why;
    char id[TOOLRACK_RUN_ID_ROOM];
    (void)request;
    (void)sem_post(user);
    options.inputs = "{\"n\": \"one\"}";
    while (toolrack_run_start(refused, &options, NULL, NULL, id, &why) != TOOLRACK_E_CANCELLED) {
        (void)usleep(1000);
    }
    toolrack_plan_close(refused);
    return TOOLRACK_APPROVAL_ALLOW_ONCE;
}

/* What a thread begins. */
struct beginning {
    struct toolrack_plan *plan;
    struct end end;
    sem_t asks;
    int code;
};

static void *begin_with_question(void *user) {
    struct beginning *beginning = user;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = of_kim();
    struct toolrack_error why;
    call.approve = approve_when_closing;
    call.user = &beginning->asks;
    options.call = &call;
    beginning->code =
            toolrack_run_start(beginning->plan, &options, take_end, &beginning->end, last_id, &why);
    return NULL;
}

/* A run that is asked about while its host is closed ends with the host. */
static void a_run_that_is_asked_about_ends_with_its_host(void **state) {
    struct beginning beginning;
    pthread_t thread;
    (void)state;
    open_host(false);
    refused = open_plan(two);
    beginning.plan = open_plan("{\"nodes\": [{\"id\": \"a\", \"tool\": \"stay\"}, {\"id\": "
                               "\"b\", \"tool\": \"careful\"}]}");
    assert_int_equal(sem_init(&beginning.end.come, 0, 0), 0);
    assert_int_equal(sem_init(&beginning.asks, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, begin_with_question, &beginning), 0);
    while (sem_wait(&beginning.asks) != 0) {
    }
    struct toolrack *closed = STEAL(host);
    toolrack_close(closed);
    wait_for_end(&beginning.end);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)sem_destroy(&beginning.asks);
    assert_int_equal(beginning.code, 0);
    assert_int_equal(beginning.end.code, TOOLRACK_E_CANCELLED);
    assert_int_equal(atomic_load(&ran), 0);
    open_host(false);
    assert_run(last_id, "/state", "\"interrupted\"");
}

static void a_start_that_fails_says_so(void **state) {
    char id[TOOLRACK_RUN_ID_ROOM] = "";
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    (void)state;
    open_host(false);
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = open_plan(two);
    options.inputs = "{\"n\": \"one\"}";
    assert_error(toolrack_run_start(plan, &options, NULL, NULL, id, &err),
                 TOOLRACK_E_INVALID_ARGUMENTS, "the input n");
    assert_int_equal(atomic_load(&ran), 0);
}

/* ------------------------------------------------------------------------------------ approval */

#define CAREFUL                                                                               \
    "{\"name\": \"mail\", \"inputs\": {\"to\": {\"type\": \"string\", \"default\": \"a\"}}, " \
    "\"nodes\": [{\"id\": \"a\", \"tool\": \"careful\", \"arguments\": {\"to\": {\"$ref\": "  \
    "\"#/inputs/to\"}}}, {\"id\": \"b\", \"tool\": \"careful\", \"arguments\": {\"of\": "     \
    "{\"$ref\": \"#/nodes/a/result/to\"}}}]}"
#define ASKED_ABOUT_PLAN                                                                        \
    "plan \"mail\" [{\"node\":\"a\",\"tool\":\"careful\",\"version\":\"1.0.0\",\"permission\":" \
    "\"confirm\",\"asks\":true,\"open\":false,\"arguments\":{\"to\":\"a\"}},{\"node\":\"b\","   \
    "\"tool\":"                                                                                 \
    "\"careful\",\"version\":\"1.0.0\",\"permission\":\"confirm\",\"asks\":true,\"open\":true," \
    "\"arguments\":{\"of\":{\"$ref\":\"#/nodes/a/result/to\"}}}]\n"

static void a_person_is_asked_once_and_about_what_was_open(void **state) {
    (void)state;
    open_host(true);
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    assert_ok(run_text(CAREFUL, NULL));
    assert_string_equal(asked.data, ASKED_ABOUT_PLAN "careful {\"of\":\"a\"}\n");
    char expected[256];
    (void)snprintf(expected, sizeof expected,
                   "b mail %s node 'b' of plan \"mail\": its plugin asks ", last_id);
    assert_int_equal(strncmp(asked_for.data, expected, strlen(expected)), 0);
    assert_int_equal(strlen(standing_of_plan), 64);
}

/* It cannot speak in the place of the host. */
static void the_name_of_a_plan_is_quoted(void **state) {
    char text[512];
    char longest[241];
    (void)state;
    open_host(true);
    assert_error(run_text("{\"name\": \"\\\"x\\\": 0 of its calls need approval\\ny \\u202e\", "
                          "\"nodes\": [{\"id\": \"a\", \"tool\": \"careful\"}]}",
                          NULL),
                 TOOLRACK_E_PERMISSION_DENIED, "denied by kay");
    assert_non_null(
            strstr(asked.data, "plan \"\\\"x\\\": 0 of its calls need approval\\ny \\u202e\" [{"));
    buf_clear(&asked);
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    (void)snprintf(text, sizeof text,
                   "{\"name\": \"%s\", \"nodes\": [{\"id\": \"a\", \"tool\": \"careful\"}]}",
                   longest);
    assert_error(run_text(text, NULL), TOOLRACK_E_PERMISSION_DENIED, "denied by kay");
    assert_int_equal(strcspn(asked.data + strlen("plan \""), "\xe2"), 99); /* then "..." as one */
}

/* The same arguments at another node, or in the place of one that failed, are another call. */
static void an_answer_is_for_one_node(void **state) {
    static const char items[] =
            "{\"nodes\": [{\"id\": \"one\", \"tool\": \"careful\", \"arguments\": {\"n\": 1}}, "
            "{\"id\": \"many\", \"tool\": \"careful\", \"arguments\": {\"n\": 1}, "
            "\"depends_on\": [\"one\"], \"for_each\": {\"items\": [1, 2, 3], \"max_items\": 5, "
            "\"parallel\": 1}}]}";
    static const char later[] =
            "{\"nodes\": [{\"id\": \"one\", \"tool\": \"careful\", \"arguments\": {\"n\": 1}}, "
            "{\"id\": \"again\", \"tool\": \"careful\", \"arguments\": {\"n\": {\"$ref\": "
            "\"#/nodes/one/result/n\"}}}]}";
    static const char never[] =
            "{\"nodes\": [{\"id\": \"one\", \"tool\": \"again\", \"arguments\": {\"n\": 1}, "
            "\"on_error\": {\"fallback\": {\"tool\": \"careful\"}}}, {\"id\": \"two\", \"tool\": "
            "\"careful\", \"arguments\": {\"n\": {\"$ref\": \"#/nodes/one/result/n\"}}}]}";
    static const char instead[] =
            "{\"nodes\": [{\"id\": \"one\", \"tool\": \"again\", \"arguments\": {\"x\": true}}, "
            "{\"id\": \"two\", \"tool\": \"careful\", \"arguments\": {\"fail\": true}, "
            "\"depends_on\": "
            "[\"one\"], \"on_error\": {\"fallback\": {\"tool\": \"careful\", \"arguments\": "
            "{\"fail\": "
            "{\"$ref\": \"#/nodes/one/result/x\"}}}}}]}";
    static const char *const texts[] = {items, later, never, instead};
    static const char *const calls[] = {"\ncareful {\"n\":1}\n", "\ncareful {\"n\":1}\n",
                                        "\ncareful {\"n\":1}\n", "\ncareful {\"fail\":true}\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        open_host(true);
        buf_clear(&asked);
        atomic_store(&ran, 0);
        answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
        answers = 1;
        assert_error(run_text(texts[i], NULL), TOOLRACK_E_PERMISSION_DENIED, "denied by kay");
        assert_non_null(strstr(asked.data, calls[i]));
        assert_int_equal(atomic_load(&ran), 1);
    }
}

/* What the person is shown says how often a call may be made. */
static void a_person_sees_how_often_a_call_is_made(void **state) {
    static const struct {
        const char *items;
        const char *most;
    } rows[] = {
            {"{\"items\": [1], \"max_items\": 5}", "1"},
            {"[{\"$ref\": \"#/nodes/b/result\"}, 2]", "2"},
            {"{\"$literal\": [1, 2, 3]}", "3"},
            {"{\"$ref\": \"#/inputs/list\"}", "4"},
            {"{\"items\": {\"$ref\": \"#/inputs/list\"}, \"max_items\": 3}", "3"},
            {"{\"$ref\": \"#/nodes/b/result\"}", "1000"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        char shown[1024];
        open_host(true);
        buf_clear(&asked);
        (void)snprintf(text, sizeof text,
                       "{\"inputs\": {\"list\": {\"default\": [1, 2, 3, 4]}}, \"nodes\": [{\"id\": "
                       "\"a\", \"tool\": \"careful\", \"retry\": {\"attempts\": 4, \"force\": "
                       "true}, \"when\": {\"value\": 1, \"is\": {\"const\": 1}}, \"for_each\": %s, "
                       "\"on_error\": {\"fallback\": {\"tool\": \"careful\"}}}, {\"id\": \"b\", "
                       "\"tool\": \"again\"}]}",
                       rows[i].items);
        (void)snprintf(shown, sizeof shown,
                       "plan without a name [{\"node\":\"a\",\"tool\":\"careful\",\"version\":"
                       "\"1.0.0\",\"permission\":\"confirm\",\"asks\":true,\"when\":true,\"for_"
                       "each\":true,"
                       "\"max_items\":%s,\"attempts\":4,\"force\":true,\"open\":true,"
                       "\"arguments\":{}},{\"node\":\"a\",\"tool\":\"careful\",\"version\":"
                       "\"1.0.0\",\"permission\":\"confirm\",\"asks\":true,\"fallback\":true,"
                       "\"when\":true,"
                       "\"for_each\":true,\"max_items\":%s,\"open\":true,\"arguments\":{}},",
                       rows[i].most, rows[i].most);
        assert_error(run_text(text, NULL), TOOLRACK_E_PERMISSION_DENIED, "denied by kay");
        if (strncmp(asked.data, shown, strlen(shown)) != 0) {
            print_error("%s: %s\n", rows[i].items, asked.data);
        }
        assert_int_equal(strncmp(asked.data, shown, strlen(shown)), 0);
    }
}

/* A run that goes on asks again if its secrets, which are not kept, are others than those that were
 * agreed to at each node; also if another node had them. */
static void an_answer_is_for_one_node_of_a_run_that_goes_on(void **state) {
#define SECRETS                                                                       \
    "{\"inputs\": {\"x\": {\"type\": \"string\", \"format\": \"password\"}, \"y\": "  \
    "{\"type\": \"string\", \"format\": \"password\"}}, \"nodes\": [{\"id\": \"a\", " \
    "\"tool\": \"stay_again\"}, "
#define CAREFUL_OF_X                                                              \
    "\"tool\": \"careful\", \"arguments\": {\"v\": {\"$ref\": \"#/inputs/x\"}}, " \
    "\"depends_on\": [\"a\"]"
#define CAREFUL_OF_Y "\"tool\": \"careful\", \"arguments\": {\"v\": {\"$ref\": \"#/inputs/y\"}}"
    static const char *const texts[] = {
            SECRETS "{\"id\": \"b\", " CAREFUL_OF_X "}, {\"id\": \"c\", " CAREFUL_OF_Y
                    ", \"depends_on\": [\"a\"]}]}",
            SECRETS "{\"id\": \"b\", " CAREFUL_OF_X ", \"on_error\": {\"fallback\": {" CAREFUL_OF_Y
                    "}}}]}"};
    static const int calls[] = {3, 2}; /* that of `a` among them */
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct toolrack_plan *plan = NULL;
        open_host(true);
        atomic_store(&blocks, true);
        answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
        interrupt_with(texts[i], "{\"x\": \"first\", \"y\": \"second\"}");
        buf_clear(&asked);
        atomic_store(&ran, 0);
        answer = TOOLRACK_APPROVAL_DENY;
        assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
        assert_error(run_with(plan, "{\"x\": \"second\", \"y\": \"second\"}"),
                     TOOLRACK_E_PERMISSION_DENIED, "denied by kay");
        toolrack_plan_close(plan);
        assert_int_equal(atomic_load(&ran), 0);
        buf_clear(&asked);
        assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
        assert_ok(run_with(plan, "{\"x\": \"first\", \"y\": \"second\"}"));
        toolrack_plan_close(plan);
        assert_int_equal(asked.length, 0);
        assert_int_equal(atomic_load(&ran), calls[i]);
    }
}

/* Who sees the hash of a plan cannot find a secret of it by guessing: it has a key of the store. */
static void hashes_of_a_plan_have_a_key(void **state) {
    char first[sizeof standing_of_plan];
    char parent[sizeof dir];
    (void)state;
    open_host(true);
    assert_error(run_text(CAREFUL, NULL), TOOLRACK_E_PERMISSION_DENIED, "");
    (void)snprintf(first, sizeof first, "%s", standing_of_plan);
    open_host(true);
    assert_error(run_text(CAREFUL, NULL), TOOLRACK_E_PERMISSION_DENIED, "");
    assert_string_equal(standing_of_plan, first);
    toolrack_close(host);
    host = NULL;
    (void)snprintf(parent, sizeof parent, "%s", dir);
    (void)strncat(dir, "/2", sizeof dir - strlen(dir) - 1); /* a store of its own */
    assert_int_equal(mkdir(dir, 0700), 0);
    open_host(true);
    assert_error(run_text(CAREFUL, NULL), TOOLRACK_E_PERMISSION_DENIED, "");
    assert_string_not_equal(standing_of_plan, first);
    assert_int_equal(strlen(standing_of_plan), strlen(first));
    (void)snprintf(dir, sizeof dir, "%s", parent);
}

static void any_arguments_may_be_agreed_to(void **state) {
    (void)state;
    open_host(true);
    answer = TOOLRACK_APPROVAL_ALLOW_ALWAYS;
    assert_ok(run_text(CAREFUL, NULL));
    assert_string_equal(asked.data, ASKED_ABOUT_PLAN);
    buf_clear(&asked);
    answer = TOOLRACK_APPROVAL_DENY;
    assert_ok(run_text(CAREFUL, "{\"to\": \"b\"}"));
    assert_int_equal(asked.length, 0);
}

static void a_yes_of_the_caller_is_for_all(void **state) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = of_kim();
    (void)state;
    open_host(true);
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = open_plan(CAREFUL);
    call.confirmed = 1;
    options.call = &call;
    assert_ok(toolrack_plan_run(plan, &options, &result, &err));
    assert_int_equal(asked.length, 0);
}

static void a_refusal_comes_before_the_first_call(void **state) {
    static const char text[] = "{\"nodes\": [{\"id\": \"a\", \"tool\": \"once\"}, {\"id\": \"b\", "
                               "\"tool\": \"careful\", \"depends_on\": [\"a\"]}]}";
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *list = NULL;
    (void)state;
    open_host(true);
    assert_error(run_text(text, NULL), TOOLRACK_E_PERMISSION_DENIED, "denied by kay");
    open_host(false);
    assert_error(run_text(text, NULL), TOOLRACK_E_CONFIRMATION_REQUIRED,
                 "only after a person agreed");
    assert_int_equal(atomic_load(&ran), 0);
    assert_ok(toolrack_runs(host, NULL, &list, &err));
    assert_string_equal(toolrack_text_data(list, NULL), "[]");
}

/* The id of the only call that waits. */
static void find_pending(char ret[64]) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_ok(toolrack_pending(host, &text, &err));
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc =
            yyjson_read(toolrack_text_data(text, NULL), strlen(toolrack_text_data(text, NULL)), 0);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 1);
    yyjson_val *row = yyjson_arr_get_first(yyjson_doc_get_root(doc));
    (void)snprintf(ret, 64, "%s", yyjson_get_str(yyjson_obj_get(row, "id")));
}

/* Who agreed to a tool's calls, the first first, with why. */
static void assert_decided(const char *tool, const char *expected) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(buf_finish) struct buf got = BUF_INIT;
    struct toolrack_decisions_filter filter = TOOLRACK_DECISIONS_FILTER_INIT;
    filter.tool = tool;
    assert_ok(toolrack_decisions(host, &filter, &text, &err));
    size_t length;
    const char *json = toolrack_text_data(text, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    for (size_t i = 0; i < yyjson_arr_size(root); i++) {
        yyjson_val *row = yyjson_arr_get(root, i);
        buf_printf(&got, "%s %s: %s\n", yyjson_get_str(yyjson_obj_get(row, "who")),
                   yyjson_get_str(yyjson_obj_get(row, "decision")),
                   yyjson_get_str(yyjson_obj_get(row, "why")));
    }
    assert_string_equal(got.length > 0 ? got.data : "", expected);
}

static void decisions_name_who_agreed(void **state) {
    (void)state;
    open_host(true);
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    assert_ok(run_text(CAREFUL, NULL));
    assert_decided("careful", "kay allowed: this once\n"
                              "kay allowed: asked beforehand by the caller\n");
}

#define STAYS_CAREFULLY                                                                       \
    "{\"nodes\": [{\"id\": \"a\", \"tool\": \"again\", \"arguments\": {\"v\": 5}}, {\"id\": " \
    "\"b\", \"tool\": \"careful_stay\", \"arguments\": {\"v\": {\"$ref\": "                   \
    "\"#/nodes/a/result/v\"}}, "                                                              \
    "\"for_each\": [1, 2]}]}"

/* Go on with a run, and end this process in its call. */
static void interrupt_again(void) {
    struct toolrack_plan *plan = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = of_kim();
    struct end end;
    options.call = &call;
    atomic_store(&blocks, true);
    while (sem_trywait(&entered) == 0) {
    }
    assert_int_equal(sem_init(&end.come, 0, 0), 0);
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_ok(toolrack_run_start(plan, &options, take_end, &end, last_id, &err));
    wait_until_they_stay();
    toolrack_close(host);
    host = NULL;
    wait_for_end(&end);
    atomic_store(&blocks, false);
    open_host(true);
}

/* A yes to a call of an open node is for that call, however often it has to be made again. */
static void what_is_agreed_to_in_a_run_is_kept(void **state) {
    struct toolrack_plan *plan = NULL;
    (void)state;
    open_host(true);
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    staying = 2; /* both are asked about */
    interrupt(STAYS_CAREFULLY);
    buf_clear(&asked);
    answer = TOOLRACK_APPROVAL_DENY;
    interrupt_again();
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
    assert_int_equal(asked.length, 0);
    /* Taken back, it counts no more: all is asked about anew, which is kept too. */
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    atomic_store(&blocks, true);
    interrupt(STAYS_CAREFULLY);
    assert_error(toolrack_revoke(host, "careful_stay", "test", &err), TOOLRACK_E_NOT_FOUND,
                 "are asked about again");
    buf_clear(&asked);
    interrupt_again();
    assert_non_null(strstr(asked.data, "plan without a name"));
    assert_non_null(strstr(asked.data, "careful_stay {\"v\":5}"));
    buf_clear(&asked);
    answer = TOOLRACK_APPROVAL_DENY;
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
    assert_int_equal(asked.length, 0);
}

static void an_answer_that_waited_is_kept(void **state) {
    char id[64];
    struct toolrack_plan *plan = NULL;
    (void)state;
    open_host(true);
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    later_from = 2;
    assert_error(
            run_text("{\"nodes\": [{\"id\": \"a\", \"tool\": \"again\", \"arguments\": {\"v\": "
                     "5}}, {\"id\": \"b\", \"tool\": \"careful_stay\", \"arguments\": {\"v\": "
                     "{\"$ref\": \"#/nodes/a/result/v\"}}}]}",
                     NULL),
            TOOLRACK_E_CONFIRMATION_REQUIRED, "waits");
    find_pending(id);
    assert_ok(toolrack_resolve(host, id, TOOLRACK_APPROVAL_ALLOW_ONCE, "ann", &err));
    answer = TOOLRACK_APPROVAL_DENY;
    buf_clear(&asked);
    interrupt_again();
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_ok(run_with(plan, NULL));
    toolrack_plan_close(plan);
    assert_int_equal(asked.length, 0);
}

static void a_plan_waits_for_an_answer(void **state) {
    char id[64];
    struct toolrack_plan *plan = NULL;
    (void)state;
    open_host(true);
    answer = TOOLRACK_APPROVAL_ASK_LATER;
    assert_error(run_text(CAREFUL, NULL), TOOLRACK_E_CONFIRMATION_REQUIRED,
                 "this plan waits for somebody to allow it");
    find_pending(id);
    assert_ok(toolrack_resolve(host, id, TOOLRACK_APPROVAL_ALLOW_ONCE, "kay", &err));
    /* The answer is for these inputs alone. */
    assert_error(run_text(CAREFUL, "{\"to\": \"b\"}"), TOOLRACK_E_CONFIRMATION_REQUIRED, "waits");
    assert_int_equal(atomic_load(&ran), 0);
    find_pending(id);
    assert_ok(toolrack_resolve(host, id, TOOLRACK_APPROVAL_DENY, "kay", &err));
    /* It runs as far as was agreed; the open node waits, and with it the run. */
    assert_error(run_text(CAREFUL, NULL), TOOLRACK_E_CONFIRMATION_REQUIRED,
                 "this call of 'careful'");
    assert_int_equal(atomic_load(&ran), 1);
    assert_run(last_id, "/state", "\"waiting\"");
    assert_run(last_id, "/nodes/0/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/1/state", "\"waiting\"");
    find_pending(id);
    assert_ok(toolrack_resolve(host, id, TOOLRACK_APPROVAL_ALLOW_ONCE, "kay", &err));
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    int code = run_with(plan, NULL);
    toolrack_plan_close(plan);
    assert_ok(code);
    assert_int_equal(atomic_load(&ran), 2);
    assert_run(last_id, "/state", "\"succeeded\"");
}

/* What is not to end before node 'b' has. */
static void let_go_behind_b(void *user, const struct toolrack_plan_event *event) {
    (void)user;
    if (event->kind == TOOLRACK_PLAN_ENDED && event->node == 1) {
        atomic_store(&blocks, false);
    }
}

static void what_needs_no_approval_goes_on(void **state) {
    static const char text[] =
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"again\", \"arguments\": {\"v\": 5}},"
            "{\"id\": \"b\", \"tool\": \"careful\", \"arguments\": {\"v\": {\"$ref\": "
            "\"#/nodes/a/result/v\"}}},"
            "{\"id\": \"c\", \"tool\": \"stay\", \"depends_on\": [\"a\"]},"
            "{\"id\": \"d\", \"tool\": \"once\", \"depends_on\": [\"c\"]},"
            "{\"id\": \"e\", \"tool\": \"once\", \"depends_on\": [\"b\"]}]}";
    char id[64];
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *again = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *result = NULL;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call = of_kim();
    (void)state;
    open_host(true);
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = open_plan(text);
    options.call = &call;
    options.started = take_id;
    options.event = let_go_behind_b;
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    later_from = 2;
    assert_error(toolrack_plan_run(plan, &options, &result, &err), TOOLRACK_E_CONFIRMATION_REQUIRED,
                 "this call of 'careful'");
    assert_run(last_id, "/state", "\"waiting\"");
    assert_run(last_id, "/nodes/1/state", "\"waiting\"");
    assert_run(last_id, "/nodes/2/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/3/state", "\"succeeded\"");
    assert_run(last_id, "/nodes/4/state", "\"waiting\"");
    assert_int_equal(atomic_load(&ran), 3);
    find_pending(id);
    assert_ok(toolrack_resolve(host, id, TOOLRACK_APPROVAL_ALLOW_ONCE, "kay", &err));
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &again, &err));
    assert_ok(run_with(again, NULL));
    assert_int_equal(atomic_load(&ran), 5);
}

/* Some of its items were called: to call them again is for a person to say. */
static void an_item_that_waits_may_have_siblings_that_ran(void **state) {
    struct toolrack_plan *again = NULL;
    (void)state;
    open_host(true);
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    later_from = 3;
    assert_error(run_text("{\"nodes\": [{\"id\": \"a\", \"tool\": \"careful\", \"arguments\": "
                          "{\"v\": {\"$ref\": \"#/item\"}}, \"for_each\": {\"items\": [1, 2], "
                          "\"parallel\": 1}}]}",
                          NULL),
                 TOOLRACK_E_CONFIRMATION_REQUIRED, "this call of 'careful'");
    assert_int_equal(atomic_load(&ran), 1);
    assert_run(last_id, "/state", "\"waiting\"");
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &again, &err),
                 TOOLRACK_E_INPUT_REQUIRED, "waits for a word about node 'a'");
}

/* Whatever a run is refused for when it is resumed: it is as it was. */
static void a_refused_resume_changes_nothing(void **state) {
    static const struct toolrack_run_said unknown = {"z", TOOLRACK_RUN_SKIP};
    static const struct toolrack_run_said both[] = {{"b", TOOLRACK_RUN_REPEAT},
                                                    {"b", TOOLRACK_RUN_SKIP}};
    struct toolrack_plan *plan = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *before = NULL;
    (void)state;
    open_host(true);
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    answers = 1;
    assert_error(run_text(CAREFUL, NULL), TOOLRACK_E_PERMISSION_DENIED, "denied");
    answer = TOOLRACK_APPROVAL_ALLOW_ONCE;
    later_from = 2;
    assert_error(run_text(CAREFUL, NULL), TOOLRACK_E_CONFIRMATION_REQUIRED, "waits");
    assert_run(last_id, "/state", "\"waiting\"");
    assert_ok(toolrack_run_get(host, NULL, last_id, &before, &err));
    assert_error(toolrack_run_reopen(host, NULL, last_id, &unknown, 1, &plan, &err),
                 TOOLRACK_E_INVALID, "has no node 'z'");
    assert_error(toolrack_run_reopen(host, NULL, last_id, both, 2, &plan, &err), TOOLRACK_E_INVALID,
                 "cannot be repeated and skipped");
    assert_ok(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err));
    assert_run(last_id, "/state", "\"waiting\""); /* it has not begun */
    struct toolrack *other = open_another(false);
    struct toolrack_plan *second = NULL;
    assert_error(toolrack_run_reopen(other, NULL, last_id, NULL, 0, &second, &err),
                 TOOLRACK_E_REFUSED, "runs");
    assert_error(toolrack_run_remove(other, NULL, last_id, &err), TOOLRACK_E_REFUSED, "runs");
    toolrack_close(other);
    assert_error(run_with(plan, "{\"to\": \"b\"}"), TOOLRACK_E_INVALID_ARGUMENTS, "is kept");
    toolrack_plan_close(plan);
    assert_ok(toolrack_unregister_name(host, "careful", &err));
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err), TOOLRACK_E_REFUSED,
                 "is not here");
    open_host(true);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *after = NULL;
    assert_ok(toolrack_run_get(host, NULL, last_id, &after, &err));
    assert_string_equal(toolrack_text_data(after, NULL), toolrack_text_data(before, NULL));
}

static void what_is_taken_back_counts_no_more(void **state) {
    static const char dangerous[] =
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"withdraw\", \"arguments\": {\"tool\": "
            "\"risky\"}}, {\"id\": \"b\", \"tool\": \"risky\", \"depends_on\": [\"a\"]}]}";
    static const char disabled[] =
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"withdraw\", \"arguments\": {\"tool\": "
            "\"once\", \"disable\": true}}, {\"id\": \"b\", \"tool\": \"once\", \"depends_on\": "
            "[\"a\"]}]}";
    static const char confirmed[] =
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"careful\"}, {\"id\": \"b\", \"tool\": "
            "\"withdraw\", \"arguments\": {\"tool\": \"careful\"}, \"depends_on\": [\"a\"]}, "
            "{\"id\": \"c\", \"tool\": \"careful\", \"depends_on\": [\"b\"]}]}";
    (void)state;
    open_host(true);
    assert_ok(toolrack_grant(host, "risky", 0, "kay", &err));
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *early = open_plan(dangerous);
    assert_error(run_text(dangerous, NULL), TOOLRACK_E_PERMISSION_DENIED, "is dangerous");
    assert_run(last_id, "/nodes/1/error/code", "\"PermissionDenied\"");
    last_id[0] = '\0';
    assert_error(run_with(early, NULL), TOOLRACK_E_PERMISSION_DENIED, "is dangerous");
    assert_string_equal(last_id, ""); /* before its first call */
    assert_error(run_text(disabled, NULL), TOOLRACK_E_DISABLED, "disabled");
    assert_run(last_id, "/nodes/1/error/code", "\"Disabled\"");
    assert_int_equal(atomic_load(&ran), 0);
    answer = TOOLRACK_APPROVAL_ALLOW_ALWAYS;
    assert_ok(run_text(confirmed, NULL));
    /* The plan, and the call after the approval was withdrawn. */
    assert_non_null(strstr(asked.data, "\ncareful {}\n"));
}

/* ------------------------------------------------------------------------------ a damaged store */

static void change_store(const char *statement) {
    char path[96];
    sqlite3 *db;
    (void)snprintf(path, sizeof path, "%s/toolrack.db", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 10000), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, statement, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_changes(db), 1);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A row that was changed does not crash: it is told, and the run can be removed. */
static void a_damaged_run_is_told(void **state) {
    static const char *const damages[] = {
            "UPDATE runs SET node_count = -1",
            "UPDATE runs SET node_count = 0",
            "UPDATE runs SET node_count = 2",
            "UPDATE runs SET node_count = 2000000000",
            "UPDATE runs SET node_count = 4294967299", /* cut to 32 bits it is 3 */
            "UPDATE run_texts SET plan = substr(plan, 1, 40)",
            "UPDATE run_texts SET plan = replace(plan, '\"id\"', '\"ix\"')",
            "UPDATE run_texts SET plan = ''",
            "UPDATE run_texts SET inputs = '{'",
            "UPDATE run_texts SET tools = substr(tools, 1, 40)",
            "UPDATE run_nodes SET result = '{\"v\"' WHERE node = 0",
    };
    (void)state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        struct toolrack_plan *plan = NULL;
        atomic_store(&blocks, true);
        open_host(false);
        interrupt(CHAIN("stay_again"));
        change_store(damages[i]);
        assert_error(toolrack_run_get(host, NULL, last_id, &text, &err), TOOLRACK_E_IO,
                     "is not whole");
        assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err), TOOLRACK_E_IO,
                     "is not whole");
        assert_ok(toolrack_runs(host, NULL, &text, &err));
        assert_ok(toolrack_run_remove(host, "kim", last_id, &err));
    }
}

/* Indices that are no nodes of the plan are of none. */
static void a_damaged_row_of_a_node_is_left_out(void **state) {
    struct toolrack_plan *plan = NULL;
    (void)state;
    open_host(false);
    interrupt(CHAIN("stay_again"));
    change_store("UPDATE run_nodes SET node = -1 WHERE node = 1");
    assert_run(last_id, "/nodes/1/state", "\"waiting\"");
    change_store("UPDATE run_texts SET tools = replace(tools, '\"nodes\":[0', '\"nodes\":[77')");
    assert_run(last_id, "/nodes/0/tool", "null");
    assert_error(toolrack_run_reopen(host, NULL, last_id, NULL, 0, &plan, &err), TOOLRACK_E_IO,
                 "is not whole");
}

/* A run that was interrupted goes where another one needs its room; one that runs stays. */
static void an_interrupted_run_makes_room(void **state) {
    struct toolrack_plan *plan = NULL;
    struct end end;
    char id[TOOLRACK_RUN_ID_ROOM];
    (void)state;
    open_host(false);
    interrupt(CHAIN("stay_again"));
    memcpy(id, last_id, sizeof id);
    change_store("UPDATE run_bytes SET bytes = 268435456");
    assert_ok(run_text(two, NULL));
    assert_error(toolrack_run_reopen(host, NULL, id, NULL, 0, &plan, &err), TOOLRACK_E_NOT_FOUND,
                 "make room for others");
    assert_ok(toolrack_run_remove(host, NULL, last_id, &err));
    atomic_store(&blocks, true);
    start(CHAIN("stay"), NULL, &end);
    change_store("UPDATE run_bytes SET bytes = 268435456");
    assert_error(run_text(two, NULL), TOOLRACK_E_LIMIT_EXCEEDED, "have not ended");
    assert_run(last_id, "/state", "\"running\"");
    toolrack_close(host);
    host = NULL;
    wait_for_end(&end);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            IN_FOLDER(a_run_is_kept),
            IN_FOLDER(calls_are_found_by_their_run),
            IN_FOLDER(a_run_may_be_unkept),
            IN_FOLDER(a_failure_is_kept),
            IN_FOLDER(an_idempotent_node_is_repeated),
            IN_FOLDER(another_node_waits_for_a_word),
            IN_FOLDER(a_node_may_be_skipped),
            IN_FOLDER(what_has_ended_follows_a_word),
            IN_FOLDER(one_host_goes_on_with_a_run),
            IN_FOLDER(tools_are_those_of_the_beginning),
            IN_FOLDER(secrets_are_not_kept),
            IN_FOLDER(a_run_that_needs_a_secret_says_so),
            IN_FOLDER(what_a_secret_comes_to_is_not_kept),
            IN_FOLDER(a_secret_input_is_masked_in_the_calls_of_its_run),
            IN_FOLDER(a_secret_input_is_masked_in_errors_of_its_run),
            IN_FOLDER(a_key_of_the_process_is_not_kept),
            IN_FOLDER(a_secret_of_the_text_is_masked_in_the_calls_of_its_run),
            IN_FOLDER(a_secret_result_is_masked_in_the_calls_after_it),
            IN_FOLDER(a_secret_input_does_not_wait_for_an_answer),
            IN_FOLDER(secrets_of_the_text_are_not_kept),
            IN_FOLDER(a_node_that_had_a_secret_has_ended),
            IN_FOLDER(a_kept_plan_is_the_plan),
            IN_FOLDER(items_that_are_no_secrets_are_kept),
            IN_FOLDER(a_started_run_is_cancelled),
            IN_FOLDER(a_run_that_ends_meanwhile_is_not_interrupted),
            IN_FOLDER(a_party_leaves_others_their_share),
            IN_FOLDER(a_run_that_is_asked_about_ends_with_its_host),
            IN_FOLDER(a_start_that_fails_says_so),
            IN_FOLDER(a_person_is_asked_once_and_about_what_was_open),
            IN_FOLDER(the_name_of_a_plan_is_quoted),
            IN_FOLDER(an_answer_is_for_one_node),
            IN_FOLDER(a_person_sees_how_often_a_call_is_made),
            IN_FOLDER(an_answer_is_for_one_node_of_a_run_that_goes_on),
            IN_FOLDER(hashes_of_a_plan_have_a_key),
            IN_FOLDER(any_arguments_may_be_agreed_to),
            IN_FOLDER(a_yes_of_the_caller_is_for_all),
            IN_FOLDER(a_refusal_comes_before_the_first_call),
            IN_FOLDER(decisions_name_who_agreed),
            IN_FOLDER(what_is_agreed_to_in_a_run_is_kept),
            IN_FOLDER(an_answer_that_waited_is_kept),
            IN_FOLDER(a_plan_waits_for_an_answer),
            IN_FOLDER(what_needs_no_approval_goes_on),
            IN_FOLDER(an_item_that_waits_may_have_siblings_that_ran),
            IN_FOLDER(a_refused_resume_changes_nothing),
            IN_FOLDER(what_is_taken_back_counts_no_more),
            IN_FOLDER(a_damaged_run_is_told),
            IN_FOLDER(a_damaged_row_of_a_node_is_left_out),
            IN_FOLDER(an_interrupted_run_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
