/* The embedding API when the n-th allocation fails, for every n: an error that says so, and all as
 * it was before. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "failing-malloc.h"
#include "patience.h"
#include "toolrack/agent.h"
#include "toolrack/format.h"
#include "toolrack/plugin.h"
#include "toolrack/serving.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

/* Above this the loop never ends, which is a fault of its own. */
#define ALLOCATIONS_MAX 5000u

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second", TR_DEFAULT(1)))

static tr_status echo(struct tr_call *call) {
    tr_log(call, TR_LOG_INFO, "a word");
    tr_progress(call, 1, 2, "half");
    (void)tr_get_bytes(call, "bytes");
    (void)tr_get_json(call, "list", "");
    (void)tr_reply_text(call, "text");
    (void)tr_reply_image(call, "PNG", 3, "image/png");
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(
        echo, ("Echo", .version = "2.0.0"),
        TR_SCHEMA({"type" : "object", "properties" : {"n" : {"type" : "integer", "default" : 7}}}))
static tr_status risky(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(risky, ("Risky", .permission = TR_DANGEROUS), TR_SCHEMA({"type" : "object"}))
static tr_status asks(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(asks, ("Asks", .permission = TR_CONFIRM), TR_SCHEMA({"type" : "object"}))
static tr_status odata(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(odata, "Has names that providers change", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"$filter" : {"type" : "string"}, "n" : {"type" : "integer"}}
             }))
static tr_status made_0123456789ab(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(made_0123456789ab, "Has another name for providers", TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("memory", .flags = TR_THREAD_SAFE), "1.0.0", add, echo, risky, asks, odata,
          made_0123456789ab)

static struct toolrack *host;

/* A folder with a link to one fixture plugin, and a state folder. */
static char dir[] = "/tmp/toolrack-test-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    char path[64];
    (void)snprintf(path, sizeof path, "%s/good.so", mkdtemp(dir));
    return symlink(TEST_PLUGINS "/good.so", path);
}

static int remove_folder(void **state) {
    (void)state;
    char command[64];
    (void)snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command);
}

static int open_on(const char *const *dirs, const char *state_dir, struct toolrack_error *err) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = state_dir;
    options.plugin_dirs = dirs;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.no_scan = dirs == NULL;
    host = NULL;
    return toolrack_open(&options, &host, err);
}

static int open_host(void **state) {
    (void)state;
    return open_on(NULL, "", NULL) == 0 &&
                           toolrack_register(host, &toolrack_plugin, NULL, NULL) == 0
                   ? 0
                   : -1;
}

static int close_host(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

/* Whether the n-th allocation of `body` fails still; after a failure `check` looks. */
static bool fails_at(unsigned n, int (*body)(struct toolrack_error *err), void (*check)(void)) {
    struct toolrack_error err = {0};
    failing_malloc_set(n);
    int code = body(&err);
    bool hit = failing_malloc_hit();
    failing_malloc_set(0);
    assert_true(n < ALLOCATIONS_MAX);
    assert_int_equal(err.code, code);
    if (code < 0) {
        assert_true(hit);
        if (code != TOOLRACK_E_NO_MEMORY) {
            fail_msg("allocation %u: %s: %s", n, toolrack_code_name(code), err.message);
        }
        check();
    }
    return hit;
}

static void for_every_allocation(int (*body)(struct toolrack_error *err), void (*check)(void)) {
    for (unsigned n = 1; fails_at(n, body, check); n++) {
    }
}

static void check_nothing(void) {
}

static size_t count_tools(const char *name) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    struct toolrack_tools *tools = NULL;
    filter.name = name;
    assert_int_equal(toolrack_list(host, &filter, &tools, NULL), 0);
    size_t count = toolrack_tools_count(tools);
    toolrack_tools_free(tools);
    return count;
}

/* ------------------------------------------------------------- open, register */

static int open_and_close(struct toolrack_error *err) {
    const char *const dirs[] = {dir, NULL};
    int code = open_on(dirs, dir, err);
    if (code == 0) {
        toolrack_close(host);
    }
    host = NULL;
    return code;
}

static void opening(void **state) {
    (void)state;
    for_every_allocation(open_and_close, check_nothing);
}

static int reload_again(struct toolrack_error *err) {
    struct toolrack_text *report = NULL;
    int code = toolrack_reload(host, "org.example.good", &report, err);
    toolrack_text_unref(report);
    return code;
}

static void check_serving(void) {
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "add", "{\"a\":1,\"b\":2}", NULL, &result, NULL), 0);
    toolrack_result_free(result);
}

/* What there was no memory for is told in the report, or is the error; either way what served
 * before goes on serving. */
static bool reload_fails_at(unsigned n) {
    struct toolrack_error err = {0};
    failing_malloc_set(n);
    int code = reload_again(&err);
    bool hit = failing_malloc_hit();
    failing_malloc_set(0);
    assert_true(n < ALLOCATIONS_MAX);
    assert_true(code == 0 || (hit && code == TOOLRACK_E_NO_MEMORY));
    check_serving();
    return hit;
}

static void reloading(void **state) {
    (void)state;
    const char *const dirs[] = {dir, NULL};
    char own_state[64];
    (void)snprintf(own_state, sizeof own_state, "%s/reload", dir);
    assert_int_equal(open_on(dirs, own_state, NULL), 0);
    check_serving();
    for (unsigned n = 1; reload_fails_at(n); n++) {
    }
    toolrack_close(host);
    host = NULL;
}

static int register_again(struct toolrack_error *err) {
    struct tr_plugin other = toolrack_plugin;
    other.version = "3.0.0";
    static const struct tr_tool *const tools[] = {&tr_tool_add};
    other.tools = tools;
    other.tool_count = 1;
    return toolrack_register(host, &other, NULL, err);
}

static void check_one_add(void) {
    assert_int_equal(count_tools("add"), 1);
}

static void registering(void **state) {
    (void)state;
    for_every_allocation(register_again, check_one_add);
    assert_int_equal(count_tools("add"), 2);
}

static int unregister(struct toolrack_error *err) {
    return toolrack_unregister_name(host, "add", err);
}

static void unregistering(void **state) {
    (void)state;
    for_every_allocation(unregister, check_one_add);
    assert_int_equal(count_tools("add"), 0);
}

/* ----------------------------------------------------------------------- lists */

static int list_everything(struct toolrack_error *err) {
    struct toolrack_tools *tools = NULL;
    struct toolrack_text *text = NULL;
    struct toolrack_text *warnings = NULL;
    struct toolrack_refusals *refused = NULL;
    int code = toolrack_list(host, NULL, &tools, err);
    if (code == 0) {
        code = toolrack_definitions(host, &text, err);
    }
    if (code == 0) {
        code = toolrack_refused(host, &refused, err);
    }
    if (code == 0) {
        code = toolrack_warnings(host, &warnings, err);
    }
    toolrack_tools_free(tools);
    toolrack_text_unref(text);
    toolrack_text_unref(warnings);
    toolrack_refusals_free(refused);
    return code;
}

static void listing(void **state) {
    (void)state;
    for_every_allocation(list_everything, check_nothing);
}

/* -------------------------------------------------------------------- settings */

static int disable(struct toolrack_error *err) {
    return toolrack_set_enabled(host, "add", false, NULL, err);
}

/* Not in effect, not noted for later tools, and not kept. */
static void check_enabled(void) {
    check_one_add();
    assert_int_equal(register_again(NULL), 0);
    assert_int_equal(count_tools("add"), 2);
    assert_int_equal(toolrack_unregister_name(host, "add@3.0.0", NULL), 0);
    struct toolrack *first = host;
    assert_int_equal(open_on(NULL, dir, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    check_one_add();
    toolrack_close(host);
    host = first;
}

static void deciding(void **state) {
    (void)state;
    assert_int_equal(open_on(NULL, dir, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    for_every_allocation(disable, check_enabled);
    assert_int_equal(count_tools("add"), 0);
    toolrack_close(host);
}

/* --------------------------------------------------------------------- serving */

static int read_serving(struct toolrack_error *err) {
    struct toolrack_text *text = NULL;
    int code = toolrack_serving(host, &text, err);
    assert_true((code == 0) == (text != NULL));
    toolrack_text_unref(text);
    return code;
}

static void configuring_a_server(void **state) {
    (void)state;
    for_every_allocation(read_serving, check_nothing);
}

/* Add a token, find it, list and revoke it. */
static int use_token(struct toolrack_error *err) {
    static const char *const tools[] = {"add", "file_*", NULL};
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    struct toolrack_text *secret = NULL;
    struct toolrack_text *list = NULL;
    struct toolrack_token_grant *grant = NULL;
    token.name = "ci";
    token.tools = tools;
    int code = toolrack_token_add(host, &token, &secret, "ann", err);
    if (code == 0) {
        code = toolrack_token_find(host, toolrack_text_data(secret, NULL), &grant, err);
    }
    if (code == 0) {
        code = toolrack_tokens(host, &list, err);
    }
    if (code == 0) {
        code = toolrack_token_revoke(host, "ci", "ann", err);
        assert_true(code < 0 || !toolrack_token_grant_holds(grant));
    }
    toolrack_text_unref(secret);
    toolrack_text_unref(list);
    toolrack_token_grant_unref(grant);
    return code;
}

static void remove_token(void) {
    struct toolrack_text *list = NULL;
    int code = toolrack_token_revoke(host, "ci", "ann", NULL);
    assert_true(code == 0 || code == TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_tokens(host, &list, NULL), 0);
    assert_string_equal(toolrack_text_data(list, NULL), "[]");
    toolrack_text_unref(list);
}

static void using_a_token(void **state) {
    (void)state;
    for_every_allocation(use_token, remove_token);
    remove_token();
}

static char task_id[TOOLRACK_TASK_ID_ROOM];

/* Create a task, let it ask and end, and read it. */
static int run_task(struct toolrack_error *err) {
    struct toolrack_task task = TOOLRACK_TASK_INIT;
    struct toolrack_text *text = NULL;
    struct toolrack_text *list = NULL;
    task.owner = "bob";
    task.tool = "add";
    task.version = "1.0.0";
    task.method = "tools/call";
    task_id[0] = '\0';
    int code = toolrack_task_create(host, &task, task_id, err);
    if (code == 0) {
        code = toolrack_task_set(host, task_id, "input_required", "asks", NULL, NULL, "{}", err);
    }
    if (code == 0) {
        code = toolrack_task_set(host, task_id, "completed", NULL, "{\"n\":1}", NULL, NULL, err);
    }
    if (code == 0) {
        code = toolrack_task_get(host, "bob", task_id, &text, err);
    }
    if (code == 0) {
        code = toolrack_tasks(host, "bob", &list, err);
    }
    toolrack_text_unref(text);
    toolrack_text_unref(list);
    return code;
}

/* It can be ended, unless it has. */
static void end_task(void) {
    if (task_id[0] != '\0') {
        int code = toolrack_task_cancel(host, "bob", task_id, NULL);
        assert_true(code == 0 || code == TOOLRACK_E_EXISTS);
    }
}

static void running_a_task(void **state) {
    (void)state;
    char config[96];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    (void)snprintf(config, sizeof config, "%s/tasks.json", dir);
    FILE *file = fopen(config, "w");
    assert_non_null(file);
    assert_true(fputs("{\"serve\": {\"tasks\": {\"max\": 10000}}}", file) >= 0);
    assert_int_equal(fclose(file), 0);
    options.config_file = config;
    options.state_dir = "";
    options.no_scan = 1;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    assert_int_equal(read_serving(NULL), 0); /* which has its own test */
    for_every_allocation(run_task, end_task);
    toolrack_close(host);
    host = NULL;
}

/* ----------------------------------------------------------------- permissions */

static int answer_always(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    (void)request;
    return TOOLRACK_APPROVAL_ALLOW_ALWAYS;
}

static int call_unconfirmed(const char *name, struct toolrack_error *err) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    int code = toolrack_call(host, name, NULL, &options, &result, err);
    toolrack_result_free(result);
    return code;
}

static void open_with_store(bool approver) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = dir;
    options.no_scan = true;
    options.approve = approver ? answer_always : NULL;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
}

static int grant_risky(struct toolrack_error *err) {
    return toolrack_grant(host, "risky", 0, "ann", err);
}

/* Neither in effect nor kept, or both. */
static void check_risky(bool runs) {
    int expected = runs ? 0 : TOOLRACK_E_PERMISSION_DENIED;
    assert_int_equal(call_unconfirmed("risky", NULL), expected);
    struct toolrack *first = host;
    open_with_store(false);
    assert_int_equal(call_unconfirmed("risky", NULL), expected);
    toolrack_close(host);
    host = first;
}

static void check_not_granted(void) {
    check_risky(false);
}

static void granting(void **state) {
    (void)state;
    open_with_store(false);
    for_every_allocation(grant_risky, check_not_granted);
    check_risky(true);
    toolrack_close(host);
}

/* Once what is withdrawn is off the disk, what is left to do may want memory and do without. */
static void revoking(void **state) {
    (void)state;
    bool hit = true;
    open_with_store(false);
    for (unsigned n = 1; hit; n++) {
        assert_true(n < ALLOCATIONS_MAX);
        assert_int_equal(grant_risky(NULL), 0);
        failing_malloc_set(n);
        int code = toolrack_revoke(host, "risky", "ann", NULL);
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(code == 0 || (hit && code == TOOLRACK_E_NO_MEMORY));
        check_risky(code < 0);
    }
    check_risky(false);
    toolrack_close(host);
}

static int list_permissions(struct toolrack_error *err) {
    struct toolrack_text *grants = NULL;
    struct toolrack_text *pending = NULL;
    struct toolrack_text *decisions = NULL;
    int code = toolrack_grants(host, &grants, err);
    if (code == 0) {
        code = toolrack_pending(host, &pending, err);
    }
    if (code == 0) {
        code = toolrack_decisions(host, NULL, &decisions, err);
    }
    toolrack_text_unref(grants);
    toolrack_text_unref(pending);
    toolrack_text_unref(decisions);
    return code;
}

static void listing_permissions(void **state) {
    (void)state;
    open_with_store(false);
    assert_int_equal(grant_risky(NULL), 0);
    for_every_allocation(list_permissions, check_nothing);
    assert_int_equal(toolrack_revoke(host, "risky", NULL, NULL), 0);
    toolrack_close(host);
}

/* What the person allowed runs, also when that cannot be kept: so its failures are not these. */
static void approving(void **state) {
    (void)state;
    open_with_store(true);
    unsigned n = 0;
    bool fails = true;
    while (fails) {
        struct toolrack_error err = {0};
        failing_malloc_set(++n);
        int code = call_unconfirmed("asks", &err);
        fails = failing_malloc_hit();
        failing_malloc_set(0);
        assert_true(n < ALLOCATIONS_MAX);
        assert_true(code == 0 || (fails && code == TOOLRACK_E_NO_MEMORY));
        (void)toolrack_revoke(host, "asks", NULL, NULL);
    }
    assert_int_equal(call_unconfirmed("asks", NULL), 0);
    toolrack_close(host);
    open_with_store(false);
    assert_int_equal(call_unconfirmed("asks", NULL), 0);
    toolrack_close(host);
}

/* ----------------------------------------------------------------------- calls */

static int call_with(const char *name, const char *arguments, uint32_t deadline_ms,
                     struct toolrack_error *err) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = deadline_ms;
    options.caller = "a test";
    options.confirmed = true;
    int code = toolrack_call(host, name, arguments, &options, &result, err);
    assert_true((code == 0) == (result != NULL));
    if (code < 0 && err != NULL) {
        assert_string_equal(err->tool, name);
    }
    toolrack_result_free(result);
    return code;
}

static int call_typed_here(struct toolrack_error *err) {
    return call_with("add", "{\"a\":1}", TOOLRACK_NO_DEADLINE, err);
}

static int call_json_here(struct toolrack_error *err) {
    return call_with("echo", "{\"bytes\":\"aGk=\",\"list\":[1,2,3]}", TOOLRACK_NO_DEADLINE, err);
}

static int call_json_on_a_thread(struct toolrack_error *err) {
    return call_with("echo", "{\"bytes\":\"aGk=\",\"list\":[1,2,3]}", 0, err);
}

static void calling(void **state) {
    (void)state;
    for_every_allocation(call_typed_here, check_nothing);
    for_every_allocation(call_json_here, check_nothing);
    assert_int_equal(call_json_on_a_thread(NULL), 0); /* the thread is there from now on */
    for_every_allocation(call_json_on_a_thread, check_nothing);
}

/* A plugin that could not be loaded for want of memory is tried again. */
static int load_and_call(struct toolrack_error *err) {
    return call_with("add", "{\"a\":1,\"b\":2}", TOOLRACK_NO_DEADLINE, err);
}

static void check_listed(void) {
    struct toolrack_tool *tool = toolrack_get(host, "add");
    assert_true(toolrack_tool_state(tool) != TOOLRACK_STATE_FAILED);
    toolrack_tool_unref(tool);
}

static void loading(void **state) {
    (void)state;
    const char *const dirs[] = {dir, NULL};
    bool fails = true;
    for (unsigned n = 1; fails; n++) {
        assert_int_equal(open_on(dirs, "", NULL), 0);
        fails = fails_at(n, load_and_call, check_listed);
        assert_int_equal(load_and_call(NULL), 0);
        toolrack_close(host);
    }
}

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool there;
    struct toolrack_error err;
};

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    struct outcome *outcome = user;
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&outcome->lock);
    outcome->there = true;
    if (err != NULL) {
        outcome->err = *err;
    }
    (void)pthread_cond_signal(&outcome->cond);
    (void)pthread_mutex_unlock(&outcome->lock);
}

static int submit_and_wait(struct toolrack_error *err) {
    struct outcome outcome = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct toolrack_call *call = NULL;
    int code = toolrack_submit(host, "echo", "{\"list\":[1]}", NULL, take_outcome, &outcome, &call,
                               err);
    if (code < 0) {
        assert_false(outcome.there);
        assert_null(call);
        assert_string_equal(err->tool, "echo");
        return code;
    }
    (void)pthread_mutex_lock(&outcome.lock);
    AWAIT_SIGNALLED(outcome.there, &outcome.cond, &outcome.lock);
    (void)pthread_mutex_unlock(&outcome.lock);
    toolrack_call_unref(call);
    *err = outcome.err;
    return outcome.err.code;
}

static void submitting(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    assert_int_equal(submit_and_wait(&err), 0);
    for_every_allocation(submit_and_wait, check_nothing);
}

/* -------------------------------------------------------- for models and of them */

/* A body that gives a text, or fails; what the text is when there is memory. */
struct giving {
    int (*body)(const void *what, struct toolrack_text **ret, struct toolrack_error *err);
    const void *what;
    bool may_tell; /* the text may say instead that a call had no memory */
};

/* What was made once of the snapshot before would need no memory again. The order stays. */
static void change_snapshot(unsigned n) {
    assert_int_equal(toolrack_set_priority(host, "asks", (int32_t)(n % 2) + 1, NULL, NULL), 0);
}

/* Fail at the n-th allocation, with all after it or alone; the text is whole or not there. */
static bool gives_or_fails(const struct giving *giving, const char *whole, unsigned n, bool alone) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err = {0};
    change_snapshot(n);
    if (alone) {
        failing_malloc_set_one(n);
    } else {
        failing_malloc_set(n);
    }
    int code = giving->body(giving->what, &text, &err);
    bool hit = failing_malloc_hit();
    failing_malloc_set(0);
    assert_true(n < ALLOCATIONS_MAX);
    assert_int_equal(err.code, code);
    if (code < 0) {
        assert_true(hit && code == TOOLRACK_E_NO_MEMORY && text == NULL);
    } else if (strcmp(toolrack_text_data(text, NULL), whole) != 0 &&
               !(hit && giving->may_tell &&
                 strstr(toolrack_text_data(text, NULL), "out of memory") != NULL)) {
        fail_msg("allocation %u%s: %s\n%s", n, alone ? " alone" : "",
                 toolrack_text_data(text, NULL), whole);
    }
    toolrack_text_unref(text);
    return hit;
}

static void gives_whole(const struct giving *giving) {
    struct toolrack_text *whole = NULL;
    change_snapshot(0);
    assert_int_equal(giving->body(giving->what, &whole, NULL), 0);
    for (unsigned alone = 0; alone < 2; alone++) {
        for (unsigned n = 1; gives_or_fails(giving, toolrack_text_data(whole, NULL), n, alone == 1);
             n++) {
        }
    }
    toolrack_text_unref(whole);
}

/* A message of a model, and what it was offered. */
struct message {
    enum toolrack_format format;
    const char *text;
    const char *const *allow; /* NULL: any tool */
};

static int answer(const void *what, struct toolrack_text **ret, struct toolrack_error *err) {
    const struct message *message = what;
    struct toolrack_export_options offered = TOOLRACK_EXPORT_OPTIONS_INIT;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    offered.allow = message->allow;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    options.offered = message->allow != NULL ? &offered : NULL;
    return toolrack_answer(host, message->format, message->text, strlen(message->text), &options,
                           ret, err);
}

#define USE(name, input)                                                                           \
    "{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"" name "\",\"input\":" input "}" \
    "]"                                                                                            \
    "}"
#define FILTER "_filter_c41d4e355363"

static void answering(void **state) {
    (void)state;
    static const char *const allow[] = {"odata", "made_0123456789ab", NULL};
    static const struct message messages[] = {
            {TOOLRACK_FORMAT_ANTHROPIC, USE("odata", "{\"" FILTER "\":\"x\"}"), NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, USE("odata", "{\"" FILTER "\":\"x\"}"), allow},
            {TOOLRACK_FORMAT_ANTHROPIC, USE("odata", "{\"" FILTER "\":1,\"n\":\"x\"}"), NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, USE("odata", "{\"arguments\":{\"" FILTER "\":\"x\"}}"),
             NULL},
            {TOOLRACK_FORMAT_ANTHROPIC,
             USE("odata", "{\"arguments\":\"{\\\"" FILTER "\\\":\\\"x\\\"}\"}"), NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, USE("functions.odata", "\"{\\\"n\\\":1}\""), NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, USE("made_0123456789ab", "{}"), NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, USE("made_0123456789ab_5f0d0b1ba8bb", "{}"), allow},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"parts\":[{\"functionCall\":{\"name\":\"odata\",\"args\":{\"" FILTER
             "\":\"x\"}}}]}",
             NULL},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"odata\",\"arguments\":"
             "\"{\\\"n\\\":1}\"}}]}",
             NULL},
    };
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        gives_whole(&(struct giving){answer, &messages[i], .may_tell = true});
    }
}

struct exporting {
    enum toolrack_format format;
    const char *const *allow;
    bool reports;
};

static int export_tools(const void *what, struct toolrack_text **ret, struct toolrack_error *err) {
    const struct exporting *exporting = what;
    struct toolrack_export_options options = TOOLRACK_EXPORT_OPTIONS_INIT;
    struct toolrack_text *text = NULL;
    struct toolrack_text *report = NULL;
    options.allow = exporting->allow;
    options.limit = exporting->allow != NULL ? 1 : 0;
    int code = toolrack_export(host, exporting->format, &options, &text,
                               exporting->reports ? &report : NULL, err);
    *ret = exporting->reports ? report : text;
    toolrack_text_unref(exporting->reports ? text : NULL);
    return code;
}

static void exporting(void **state) {
    (void)state;
    static const char *const allow[] = {"odata", "nobody", "asks", NULL};
    for (enum toolrack_format f = 0; f < TOOLRACK_FORMAT_COUNT; f++) {
        const struct exporting ways[] = {{f, NULL, false}, {f, allow, false}, {f, allow, true}};
        for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
            gives_whole(&(struct giving){export_tools, &ways[i]});
        }
    }
}

static int list_models(const void *what, struct toolrack_text **ret, struct toolrack_error *err) {
    (void)what;
    return toolrack_models(host, ret, err);
}

static void listing_models(void **state) {
    (void)state;
    char config[96];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    (void)snprintf(config, sizeof config, "%s/models.json", dir);
    FILE *file = fopen(config, "w");
    assert_non_null(file);
    assert_true(fputs("{\"models\": {\"fast\": {\"endpoint\": \"http://127.0.0.1:1\", \"model\": "
                      "\"m\", "
                      "\"headers\": {\"X-A\": \"b\"}, \"query\": {\"v\": \"1\"}, \"parameters\": "
                      "{\"temperature\": 0.5}, \"prices\": {\"input\": 1, \"output\": 2}}, "
                      "\"slow\": {\"endpoint\": \"http://127.0.0.1:2\", \"model\": \"n\", "
                      "\"key_env\": \"SLOW_KEY\"}}, \"agent\": {\"model\": \"slow\"}}",
                      file) >= 0);
    assert_int_equal(fclose(file), 0);
    options.config_file = config;
    options.state_dir = "";
    options.no_scan = 1;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    gives_whole(&(struct giving){list_models, NULL});
    toolrack_close(host);
    host = NULL;
}

#define IN_HOST(test) cmocka_unit_test_setup_teardown(test, open_host, close_host)

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(opening),
            IN_HOST(registering),
            IN_HOST(unregistering),
            IN_HOST(listing),
            cmocka_unit_test(deciding),
            IN_HOST(calling),
            cmocka_unit_test(granting),
            cmocka_unit_test(revoking),
            cmocka_unit_test(listing_permissions),
            cmocka_unit_test(approving),
            cmocka_unit_test(loading),
            IN_HOST(submitting),
            IN_HOST(answering),
            IN_HOST(exporting),
            cmocka_unit_test(listing_models),
            IN_HOST(configuring_a_server),
            IN_HOST(using_a_token),
            cmocka_unit_test(running_a_task),
            cmocka_unit_test(reloading),
    };
    return cmocka_run_group_tests_name("api-memory", tests, make_folder, remove_folder);
}
