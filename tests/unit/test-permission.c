/* Whether a call may run: who is asked, what is kept of the answer, and what becomes of a tool that
 * is not as it was approved. */
#include <pthread.h>
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
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "call/pool.h"
#include "patience.h"
#include "permit/decisions.h"
#include "permit/permit.h"
#include "plain-commands.h"
#include "store/decisions.h"
#include "store/pending.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

/* ------------------------------------------------------------------- clock */

/* Seconds since 1970 as the host sees them. */
static _Atomic time_t now_s = 1000000;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
    if (clock == CLOCK_REALTIME) {
        *ret = (struct timespec){.tv_sec = atomic_load(&now_s)};
        return 0;
    }
    return __real_clock_gettime(clock, ret);
}

/* ------------------------------------------------------------------- tools */

static atomic_int runs;
/* Of its call, to the tool. One of a plugin runs at a time, but what is registered again is another
 * plugin with the same functions. */
static char told[128];
static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *or_dash(const char *text) {
    return text != NULL ? text : "-";
}

static tr_status answer(struct tr_call *call) {
    atomic_fetch_add(&runs, 1);
    (void)pthread_mutex_lock(&told_lock);
    (void)snprintf(told, sizeof told, "%s %s %s %s", or_dash(tr_context(call, TR_CONTEXT_CALLER)),
                   or_dash(tr_context(call, TR_CONTEXT_CHANNEL)),
                   or_dash(tr_context(call, TR_CONTEXT_CONVERSATION)),
                   or_dash(tr_context(call, TR_CONTEXT_TRACE)));
    (void)pthread_mutex_unlock(&told_lock);
    return tr_reply_text(call, "done");
}

#define NO_ARGUMENTS TR_SCHEMA({"type" : "object"})
static tr_status send(struct tr_call *call) {
    return answer(call);
}
TR_JSON_TOOL(send, ("Send it", .permission = TR_CONFIRM), NO_ARGUMENTS)
static tr_status sender(struct tr_call *call) {
    return answer(call);
}
TR_JSON_TOOL(sender, ("Send many", .permission = TR_CONFIRM, .flags = TR_DESTRUCTIVE), NO_ARGUMENTS)
static tr_status wipe(struct tr_call *call) {
    return answer(call);
}
TR_JSON_TOOL(wipe, ("Wipe it", .permission = TR_DANGEROUS), NO_ARGUMENTS)
static tr_status look(struct tr_call *call) {
    return answer(call);
}
TR_JSON_TOOL(look, "Look at it", NO_ARGUMENTS)
static tr_status off(struct tr_call *call) {
    return answer(call);
}
TR_JSON_TOOL(off, ("Off", .permission = TR_CONFIRM, .flags = TR_DISABLED), NO_ARGUMENTS)

static tr_status login(struct tr_call *call) {
    return answer(call);
}
TR_JSON_TOOL(login, ("Log in", .permission = TR_CONFIRM), TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"key" : {"type" : "string", "format" : "password"}}
             }))

/* Not thread safe: one call at a time. */
TR_PLUGIN("mail", "1.0.0", send, sender, wipe, look, off, login)

/* ----------------------------------------------------------------- approver */

/* The person, and what the person saw. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int answer;
    unsigned asked;
    bool holds;    /* does not answer before released */
    unsigned held; /* so many calls wait for that now */
    uint64_t thinks_ms;
    const char *name; /* written as `who`; NULL: nothing */
    char seen[512];
    char trace[64];
    pthread_t thread;
} person = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int approve(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    uint64_t until_ns = clock_now_ns() + person.thinks_ms * CLOCK_NS_PER_MS;
    while (clock_now_ns() < until_ns) {
    }
    (void)pthread_mutex_lock(&person.lock);
    person.asked++;
    person.thread = pthread_self();
    (void)snprintf(person.seen, sizeof person.seen, "%s %s %s %d %s %s %s %s: %s", request->tool,
                   request->version, request->plugin, request->permission, request->arguments,
                   or_dash(request->caller), request->channel, or_dash(request->conversation),
                   request->reason);
    (void)snprintf(person.trace, sizeof person.trace, "%s", or_dash(request->trace));
    if (person.name != NULL) {
        (void)snprintf(request->who, request->who_room, "%s", person.name);
    }
    person.held++;
    (void)pthread_cond_broadcast(&person.changed);
    AWAIT_SIGNALLED(!person.holds, &person.changed, &person.lock);
    person.held--;
    int given = person.answer;
    (void)pthread_mutex_unlock(&person.lock);
    return given;
}

static void will_answer(int given) {
    (void)pthread_mutex_lock(&person.lock);
    person.answer = given;
    person.asked = 0;
    person.holds = false;
    person.thinks_ms = 0;
    person.name = "ann";
    (void)pthread_mutex_unlock(&person.lock);
}

static void wait_until_held(unsigned count) {
    (void)pthread_mutex_lock(&person.lock);
    AWAIT_SIGNALLED(person.held == count, &person.changed, &person.lock);
    (void)pthread_mutex_unlock(&person.lock);
}

static void hold(bool holds) {
    (void)pthread_mutex_lock(&person.lock);
    person.holds = holds;
    (void)pthread_cond_broadcast(&person.changed);
    (void)pthread_mutex_unlock(&person.lock);
}

/* -------------------------------------------------------------------- host */

static struct toolrack *host;
static struct toolrack_error err;
static char dir[64];
static char state_dir[128];
static char plugin_dir[128];
static char config_file[128];

static int changed_events;
static char changed_message[ERROR_MESSAGE_MAX];
static char logged[4096];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;

static void take_event(void *user, const struct toolrack_event *event) {
    (void)user;
    if (event->kind == TOOLRACK_EVENT_CHANGED_TEXT) {
        changed_events++;
        (void)snprintf(changed_message, sizeof changed_message, "%s", event->message);
    }
}

static void take_log(void *user, enum toolrack_log_level level, const char *source,
                     const char *line) {
    (void)user;
    (void)level;
    (void)pthread_mutex_lock(&log_lock);
    if (strcmp(source, "permission") == 0) {
        size_t used = strlen(logged);
        (void)snprintf(logged + used, sizeof logged - used, "%s\n", line);
    }
    (void)pthread_mutex_unlock(&log_lock);
}

static void write_config(const char *text) {
    FILE *file = fopen(config_file, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void open_with(bool approver, const char *state, bool scan, uint32_t threads_max) {
    const char *const dirs[] = {plugin_dir, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config_file;
    options.state_dir = state;
    options.plugin_dirs = dirs;
    options.no_scan = !scan;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.threads_max = threads_max;
    options.approve = approver ? approve : NULL;
    options.event = take_event;
    options.log = take_log;
    options.log_level = TOOLRACK_LOG_INFO;
    changed_events = 0;
    logged[0] = '\0';
    if (toolrack_open(&options, &host, &err) < 0 ||
        (!scan && toolrack_register(host, &toolrack_plugin, NULL, &err) < 0)) {
        fail_msg("%s", err.message);
    }
}

static void open_host(bool approver) {
    open_with(approver, state_dir, false, 0);
}

static void reopen(bool approver) {
    toolrack_close(host);
    open_host(approver);
}

static int setup(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-test-XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(state_dir, sizeof state_dir, "%s/state", dir);
    (void)snprintf(plugin_dir, sizeof plugin_dir, "%s/plugins", dir);
    (void)snprintf(config_file, sizeof config_file, "%s/toolrack.json", dir);
    write_config("{}");
    host = NULL;
    atomic_store(&runs, 0);
    will_answer(TOOLRACK_APPROVAL_DENY);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    toolrack_close(host);
    (void)snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command);
}

/* Put a build of the plugin "leash" into the folder of plugins, in place of the one before. */
static void install(const char *build) {
    char target[256];
    char link[sizeof plugin_dir + 16];
    char command[2 * sizeof plugin_dir + 64];
    (void)snprintf(command, sizeof command, "mkdir -p '%s' && rm -f '%s/leash.so'", plugin_dir,
                   plugin_dir);
    assert_int_equal(system(command), 0);
    (void)snprintf(target, sizeof target, TEST_PLUGINS "/%s.so", build);
    (void)snprintf(link, sizeof link, "%s/leash.so", plugin_dir);
    assert_int_equal(symlink(target, link), 0);
}

static void open_on_folder(void) {
    toolrack_close(host);
    open_with(true, state_dir, true, 0);
}

/* ------------------------------------------------------------------- calls */

struct request {
    const char *name;
    const char *arguments;
    const char *caller; /* NULL: bob */
    const char *conversation;
    bool confirmed;
    uint32_t deadline_ms;
};

static struct toolrack_call_options options_of(const struct request *request) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.caller = request->caller == NULL      ? "bob"
                     : request->caller[0] != '\0' ? request->caller
                                                  : NULL;
    options.channel = "test";
    options.conversation = request->conversation;
    options.trace = "t-7";
    options.confirmed = request->confirmed;
    options.deadline_ms = request->deadline_ms;
    return options;
}

static int call_with(const struct request *request) {
    struct toolrack_call_options options = options_of(request);
    struct toolrack_result *result = NULL;
    memset(&err, 0, sizeof err);
    int code = toolrack_call(host, request->name, request->arguments, &options, &result, &err);
    assert_true((code == 0) == (result != NULL));
    if (code < 0) {
        assert_string_equal(err.tool, request->name);
    }
    toolrack_result_free(result);
    return code;
}

#define CALL(...) call_with(&(struct request){__VA_ARGS__})

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
    int code;
    char message[ERROR_MESSAGE_MAX];
};
#define OUTCOME_INIT \
    { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER }

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *failure) {
    struct outcome *outcome = user;
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&outcome->lock);
    outcome->count++;
    outcome->code = failure != NULL ? failure->code : 0;
    (void)snprintf(outcome->message, sizeof outcome->message, "%s",
                   failure != NULL ? failure->message : "");
    (void)pthread_cond_broadcast(&outcome->changed);
    (void)pthread_mutex_unlock(&outcome->lock);
}

static void wait_outcomes(struct outcome *outcome, int count) {
    (void)pthread_mutex_lock(&outcome->lock);
    AWAIT_SIGNALLED(outcome->count >= count, &outcome->changed, &outcome->lock);
    (void)pthread_mutex_unlock(&outcome->lock);
}

static struct toolrack_call *submit(const struct request *request, struct outcome *outcome) {
    struct toolrack_call_options options = options_of(request);
    struct toolrack_call *call = NULL;
    if (toolrack_submit(host, request->name, request->arguments, &options, take_outcome, outcome,
                        &call, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return call;
}

static int submit_and_wait(const struct request *request) {
    struct outcome outcome = OUTCOME_INIT;
    toolrack_call_unref(submit(request, &outcome));
    wait_outcomes(&outcome, 1);
    (void)snprintf(err.message, sizeof err.message, "%s", outcome.message);
    return outcome.code;
}

static void assert_says(const char *text) {
    if (strstr(plain_commands(err.message), text) == NULL) {
        fail_msg("'%s' is not in: %s", text, err.message);
    }
}

static void assert_logged(const char *text) {
    (void)pthread_mutex_lock(&log_lock);
    bool found = strstr(logged, text) != NULL;
    (void)pthread_mutex_unlock(&log_lock);
    if (!found) {
        fail_msg("'%s' is not in:\n%s", text, logged);
    }
}

/* ---------------------------------------------------------------- approvals */

typedef int make_call(const struct request *request);
static make_call *const ways[] = {call_with, submit_and_wait};

/* The same with a reference to the tool. */
static int call_tool(const struct request *request) {
    struct toolrack_call_options options = options_of(request);
    struct toolrack_result *result = NULL;
    struct toolrack_tool *tool = toolrack_get(host, request->name);
    int code = toolrack_tool_call(host, tool, "{}", 2, &options, &result, &err);
    toolrack_result_free(result);
    toolrack_tool_unref(tool);
    return code;
}

static int submit_tool(const struct request *request) {
    struct toolrack_call_options options = options_of(request);
    struct outcome outcome = OUTCOME_INIT;
    struct toolrack_tool *tool = toolrack_get(host, request->name);
    assert_int_equal(
            toolrack_submit_tool(host, tool, "{}", 2, &options, take_outcome, &outcome, NULL, &err),
            0);
    toolrack_tool_unref(tool);
    wait_outcomes(&outcome, 1);
    return outcome.code;
}

static void who_is_asked_decides(void **state) {
    (void)state;
    open_host(true);
    const struct request request = {.name = "send", .arguments = " { \"to\" : 1.50 } "};
    for (size_t way = 0; way < 2; way++) {
        will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
        atomic_store(&runs, 0);
        assert_int_equal(ways[way](&request), 0);
        assert_int_equal(ways[way](&request), 0);
        assert_int_equal(person.asked, 2);
        assert_int_equal(atomic_load(&runs), 2);
        assert_string_equal(person.seen,
                            "send 1.0.0 mail 1 {\"to\":1.50} bob test -: its plugin asks "
                            "for approval of each call");
        assert_string_equal(person.trace, "t-7");
        /* On the thread of who waits, or on one of the host. */
        assert_int_equal(pthread_equal(person.thread, pthread_self()) != 0, way == 0);

        will_answer(TOOLRACK_APPROVAL_DENY);
        assert_int_equal(ways[way](&request), TOOLRACK_E_PERMISSION_DENIED);
        assert_says("Tool 'send' was denied by ann");
        will_answer(4711);
        person.name = NULL;
        assert_int_equal(ways[way](&request), TOOLRACK_E_PERMISSION_DENIED);
        assert_says("by approver");
        assert_int_equal(atomic_load(&runs), 2);
    }
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(CALL(.name = "sender"), 0);
    assert_non_null(strstr(person.seen, "{} bob test -: its plugin asks for approval of each "
                                        "call; it may destroy something"));
    assert_logged("allowed: send 1.0.0, by ann, for bob, through test: this once\n");
    assert_logged("denied: send 1.0.0, by approver, for bob, through test: asked about this call");
}

/* What the log has of the last call. */
static void assert_last_logged(const char *part) {
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    struct toolrack_text *text = NULL;
    filter.limit = 1;
    assert_int_equal(toolrack_log(host, &filter, &text, &err), 0);
    if (strstr(toolrack_text_data(text, NULL), part) == NULL) {
        fail_msg("'%s' is not in: %s", part, toolrack_text_data(text, NULL));
    }
    toolrack_text_unref(text);
}

static void the_context_reaches_tool_log_and_approver(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    make_call *const each[] = {call_with, submit_and_wait, call_tool, submit_tool};
    for (size_t way = 0; way < ARRAY_LENGTH(each); way++) {
        const struct request request = {.name = "send", .conversation = "c-1"};
        assert_int_equal(each[way](&request), 0);
        assert_non_null(strstr(person.seen, " {} bob test c-1: "));
        assert_string_equal(person.trace, "t-7");
        assert_string_equal(told, "bob test c-1 t-7");
        assert_last_logged("\"caller\":\"bob\",\"channel\":\"test\",\"conversation\":\"c-1\","
                           "\"trace\":\"t-7\"");
        atomic_fetch_add(&now_s, 1); /* the log is in the order of the beginnings */
        const struct request alone = {.name = "send"};
        assert_int_equal(each[way](&alone), 0);
        assert_non_null(strstr(person.seen, " {} bob test -: "));
        assert_string_equal(told, "bob test - t-7");
        assert_last_logged("\"channel\":\"test\",\"conversation\":null,\"trace\":\"t-7\"");
        atomic_fetch_add(&now_s, 1);
    }
}

static void who_is_not_asked(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(CALL(.name = "look"), 0);
    assert_int_equal(CALL(.name = "send", .confirmed = true), 0);
    assert_int_equal(CALL(.name = "wipe", .confirmed = true), TOOLRACK_E_PERMISSION_DENIED);
    assert_says("the app can (toolrack_grant())"); /* no command knows what an app registers */
    assert_null(strstr(plain_commands(err.message), "toolrack grant"));
    assert_int_equal(toolrack_set_enabled(host, "look", false, NULL, &err), 0);
    assert_int_equal(CALL(.name = "look"), TOOLRACK_E_DISABLED);
    assert_says("toolrack_set_enabled()");
    assert_null(strstr(plain_commands(err.message), "toolrack enable"));
    assert_int_equal(toolrack_set_enabled(host, "look", true, NULL, &err), 0);
    assert_int_equal(CALL(.name = "off"), TOOLRACK_E_DISABLED);
    for (size_t way = 0; way < 2; way++) {
        const struct request broken = {.name = "send", .arguments = "{\"to\":"};
        assert_int_equal(ways[way](&broken), TOOLRACK_E_INVALID_ARGUMENTS);
        assert_says("not JSON");
        const struct request disabled = {.name = "off"};
        assert_int_equal(ways[way](&disabled), TOOLRACK_E_DISABLED);
    }
    assert_int_equal(person.asked, 0);
    reopen(false);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_says("runs only after a person agreed to this call");
    assert_logged("refused: send 1.0.0, by confirm, for bob");
}

/* What the person must see is what the tool gets, to the last digit. */
static void numbers_are_shown_as_they_are(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_DENY);
    (void)CALL(.name = "send",
               .arguments = "{\"n\":123456789012345678901, \"s\":\"a  b\\u0041\\u001b\"}");
    assert_non_null(
            strstr(person.seen, " {\"n\":123456789012345678901,\"s\":\"a  bA\\u001B\"} bob"));
}

static void what_is_approved_stays_so(void **state) {
    (void)state;
    open_host(true);
    for (size_t way = 0; way < 2; way++) {
        const struct request in_c1 = {.name = "send", .conversation = "c1"};
        const struct request in_c2 = {.name = "send", .conversation = "c2"};
        will_answer(TOOLRACK_APPROVAL_ALLOW_CONVERSATION);
        assert_int_equal(ways[way](&in_c1), 0);
        assert_int_equal(person.asked, 1 - (unsigned)way); /* still approved the second time */
        will_answer(TOOLRACK_APPROVAL_DENY);
        assert_int_equal(ways[way](&in_c1), 0);
        assert_int_equal(ways[way](&in_c2), TOOLRACK_E_PERMISSION_DENIED);
        assert_int_equal(CALL(.name = "send"), TOOLRACK_E_PERMISSION_DENIED);
        reopen(true);
        assert_int_equal(ways[way](&in_c1), 0);
        assert_int_equal(ways[way](&in_c2), TOOLRACK_E_PERMISSION_DENIED);
    }
    will_answer(TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(CALL(.name = "sender"), 0);
    will_answer(TOOLRACK_APPROVAL_DENY);
    assert_int_equal(CALL(.name = "sender"), 0);
    reopen(true);
    assert_int_equal(CALL(.name = "sender"), 0);
    assert_int_equal(CALL(.name = "sender", .conversation = "c9"), 0);
    assert_int_equal(person.asked, 0);
    assert_logged("allowed: sender 1.0.0, by ann, for bob, through test, in c9: approved before");

    /* Taken back, it asks again. */
    assert_int_equal(toolrack_revoke(host, "sender", NULL, &err), 0);
    assert_int_equal(CALL(.name = "sender"), TOOLRACK_E_PERMISSION_DENIED);
    reopen(true);
    assert_int_equal(CALL(.name = "sender"), TOOLRACK_E_PERMISSION_DENIED);
}

static void without_a_conversation_it_is_allowed_once(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ALLOW_CONVERSATION);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(CALL(.name = "send", .conversation = ""), 0);
    assert_int_equal(person.asked, 2);
}

/* Without a state folder it holds as long as the host. */
static void without_a_store_it_is_remembered(void **state) {
    (void)state;
    open_with(true, "", false, 0);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(CALL(.name = "send"), 0);
    will_answer(TOOLRACK_APPROVAL_DENY);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(toolrack_grant(host, "wipe", 0, NULL, &err), 0);
    assert_int_equal(CALL(.name = "wipe"), 0);
    assert_int_equal(toolrack_revoke(host, "wipe", NULL, &err), 0);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(toolrack_revoke(host, "wipe", NULL, &err), TOOLRACK_E_NOT_FOUND);
    open_with(true, "", false, 0);
    will_answer(TOOLRACK_APPROVAL_DENY);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_PERMISSION_DENIED);
}

/* --------------------------------------------------------- while it is asked */

static void time_begins_with_the_answer(void **state) {
    (void)state;
    open_host(true);
    for (size_t way = 0; way < 2; way++) {
        const struct request request = {.name = "send", .deadline_ms = 500};
        will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
        person.thinks_ms = 600;
        assert_int_equal(ways[way](&request), 0);
    }
    assert_int_equal(atomic_load(&runs), 2);
}

/* A call that has not begun by its deadline is never asked about: on a busy machine 50 ms were too
 * few, and the test waited for ever for the person to be asked. */
#define BEGINS_MS 20000u

static void assert_nothing_waits(void) {
    struct toolrack_text *text = NULL;
    size_t length;
    assert_int_equal(toolrack_pending(host, &text, &err), 0);
    assert_string_equal(toolrack_text_data(text, &length), "[]");
    toolrack_text_unref(text);
}

static void a_call_that_is_cancelled_ends_with_the_answer(void **state) {
    (void)state;
    static const int answers[] = {TOOLRACK_APPROVAL_ALLOW_ONCE, TOOLRACK_APPROVAL_DENY,
                                  TOOLRACK_APPROVAL_ASK_LATER, TOOLRACK_APPROVAL_UNWANTED};
    open_host(true);
    for (size_t i = 0; i < ARRAY_LENGTH(answers); i++) {
        struct outcome outcome = OUTCOME_INIT;
        will_answer(answers[i]);
        hold(true);
        struct toolrack_call *call =
                submit(&(struct request){.name = "send", .deadline_ms = BEGINS_MS}, &outcome);
        wait_until_held(1);
        toolrack_cancel(call);
        toolrack_cancel(call);
        assert_int_equal(outcome.count, 0);
        hold(false);
        wait_outcomes(&outcome, 1);
        assert_int_equal(outcome.code, TOOLRACK_E_CANCELLED);
        toolrack_call_unref(call);
        toolrack_close(host); /* nothing more is delivered */
        assert_int_equal(outcome.count, 1);
        open_host(true);
        assert_nothing_waits();
    }
    /* An app may know it where nothing was cancelled. */
    will_answer(TOOLRACK_APPROVAL_UNWANTED);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_CANCELLED);
    assert_nothing_waits();
    /* Or that no person comes. */
    will_answer(TOOLRACK_APPROVAL_NOBODY);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_nothing_waits();
    assert_int_equal(atomic_load(&runs), 0);
}

/* One thread, and a plugin that runs one call at a time: neither is held by who waits. */
static void nobody_else_waits(void **state) {
    (void)state;
    struct outcome asking = OUTCOME_INIT;
    struct outcome other = OUTCOME_INIT;
    open_with(true, state_dir, false, 1);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    hold(true);
    (void)alarm(60);
    for (unsigned i = 1; i <= 3; i++) {
        toolrack_call_unref(submit(&(struct request){.name = "send"}, &asking));
        wait_until_held(i);
        toolrack_call_unref(submit(&(struct request){.name = "look"}, &other));
        wait_outcomes(&other, (int)i);
        assert_int_equal(other.code, 0);
        assert_int_equal(CALL(.name = "look"), 0);
    }
    assert_int_equal(asking.count, 0);
    hold(false);
    wait_outcomes(&asking, 3);
    (void)alarm(0);
    assert_int_equal(asking.code, 0);
    assert_int_equal(atomic_load(&runs), 9);
}

static void too_many_are_asked(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    hold(true);
    for (unsigned i = 0; i < POOL_ASKING_MAX; i++) {
        toolrack_call_unref(submit(&(struct request){.name = "send"}, &outcome));
    }
    wait_until_held(POOL_ASKING_MAX);
    assert_int_equal(toolrack_submit(host, "send", NULL, NULL, take_outcome, &outcome, NULL, &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
    assert_says("too many calls wait for somebody to permit them");
    assert_int_equal(toolrack_submit(host, "look", NULL, NULL, take_outcome, &outcome, NULL, &err),
                     0);
    wait_outcomes(&outcome, 1);
    hold(false);
    wait_outcomes(&outcome, POOL_ASKING_MAX + 1);
    assert_int_equal(outcome.count, POOL_ASKING_MAX + 1);
    assert_int_equal(atomic_load(&runs), POOL_ASKING_MAX + 1);
}

static void *release_person(void *unused) {
    (void)unused;
    hold(false);
    return NULL;
}

static void closing_waits_for_the_answer(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    pthread_t thread;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    hold(true);
    toolrack_call_unref(submit(&(struct request){.name = "send"}, &outcome));
    wait_until_held(1);
    assert_int_equal(pthread_create(&thread, NULL, release_person, NULL), 0);
    toolrack_close(host);
    host = NULL;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(outcome.count, 1);
    assert_true(outcome.code == 0 || outcome.code == TOOLRACK_E_CANCELLED);
}

/* ------------------------------------------------------------------ waiting */

/* The id that the last error names. */
static const char *id_of_error(void) {
    static char id[STORE_PENDING_ID_SIZE];
    const char *at = strstr(err.message, " as ");
    assert_non_null(at);
    (void)snprintf(id, sizeof id, "%s", at + strlen(" as "));
    assert_int_equal(strspn(id, "0123456789abcdef"), STORE_PENDING_ID_SIZE - 1);
    return id;
}

static int resolve(const char *id, enum toolrack_approval approval) {
    return toolrack_resolve(host, id, approval, "ann", &err);
}

static yyjson_doc *read_list(int (*list)(struct toolrack *host, struct toolrack_text **ret,
                                         struct toolrack_error *err)) {
    struct toolrack_text *text = NULL;
    assert_int_equal(list(host, &text, &err), 0);
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    assert_non_null(doc);
    toolrack_text_unref(text);
    return doc;
}

static yyjson_doc *read_decisions(const char *tool, uint32_t limit);

static size_t count_of(yyjson_doc *doc) {
    size_t count = yyjson_arr_size(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return count;
}

/* A person is asked only about a call that can run, and that can be read in one way. */
static void arguments_are_checked_before_anybody_is_asked(void **state) {
    (void)state;
    static const struct {
        const char *name, *arguments, *field;
    } rows[] = {{"send", "{\"to\":\"mallory\",\"to\":\"bob\"}", "/to"},
                {"send", "{\"to\":[{\"a\":1,\"b\":2,\"\\u0061\":3}]}", "/to/0/a"},
                {"login", "{\"key\":5}", "/key"}};
    for (unsigned asks = 0; asks < 2; asks++) {
        if (asks == 0) {
            open_host(true);
            will_answer(TOOLRACK_APPROVAL_ASK_LATER);
        } else {
            reopen(false);
        }
        for (size_t i = 0; i < 2 * ARRAY_LENGTH(rows); i++) {
            const struct request request = {.name = rows[i / 2].name,
                                            .arguments = rows[i / 2].arguments};
            assert_int_equal(ways[i % 2](&request), TOOLRACK_E_INVALID_ARGUMENTS);
            assert_string_equal(err.field, rows[i / 2].field);
        }
        assert_int_equal(person.asked, 0);
        assert_int_equal(count_of(read_list(toolrack_pending)), 0);
    }
}

/* A reader of JSON may round numbers; the text that a person is shown has all digits. */
static void a_waiting_call_has_its_text(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ASK_LATER);
    assert_int_equal(CALL(.name = "send",
                          .arguments = "{ \"n\": 9007199254740993123456, \"s\": [1.50, \"b\"]}"),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    yyjson_doc *doc = read_list(toolrack_pending);
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/arguments_text")),
                        "{\"n\":9007199254740993123456,\"s\":[1.50,\"b\"]}");
    yyjson_doc_free(doc);
}

static void a_call_waits_for_its_answer(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ASK_LATER);
    const struct request request = {
            .name = "send", .arguments = "{\"to\": \"eve\"}", .conversation = "c1"};
    assert_int_equal(submit_and_wait(&request), TOOLRACK_E_CONFIRMATION_REQUIRED);
    char id[STORE_PENDING_ID_SIZE];
    (void)snprintf(id, sizeof id, "%s", id_of_error());
    assert_says(": toolrack approvals allow ");

    /* Asked again, it is the same one. */
    assert_int_equal(CALL(.name = "send", .arguments = "{\"to\":\"eve\"}", .conversation = "c1"),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_string_equal(id_of_error(), id);
    yyjson_doc *doc = read_list(toolrack_pending);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_int_equal(yyjson_arr_size(root), 1);
    yyjson_val *row = yyjson_arr_get_first(root);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(row, "id")), id);
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/arguments/to")), "eve");
    assert_int_equal(yyjson_get_sint(yyjson_obj_get(row, "expires_s")),
                     atomic_load(&now_s) + PENDING_EXPIRY_S);
    yyjson_doc_free(doc);

    /* Allowed once: one call, and only this one; also after a restart, and with nobody to ask. */
    assert_int_equal(toolrack_unregister_name(host, "send", &err), 0);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ASK_LATER), TOOLRACK_E_INVALID);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ONCE), 0);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ALWAYS), TOOLRACK_E_NOT_FOUND);
    assert_says("was allowed already, by ann; until the call is made, take that back with: "
                "toolrack approvals deny");
    assert_int_equal(count_of(read_list(toolrack_pending)), 0);
    /* Whose tool it is, the row says also where another process has answered. */
    doc = read_decisions("send", 1);
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/decision")), "approved");
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/plugin")), "mail");
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/origin")), "app");
    yyjson_doc_free(doc);
    reopen(false);
    assert_int_equal(CALL(.name = "send", .arguments = "{\"to\":\"adam\"}", .conversation = "c1"),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(CALL(.name = "send", .arguments = "{\"to\":\"eve\"}"),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(submit_and_wait(&request), 0);
    assert_logged("allowed: send 1.0.0, by ann, for bob, through test, in c1: this once, "
                  "beforehand");
    assert_int_equal(submit_and_wait(&request), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(atomic_load(&runs), 1);
}

/* The person at hand sees what he agrees to; what is kept for later has no secret. */
/* Who is asked answers with another call: this one neither waits nor is refused. */
static void an_answer_comes_with_another_call(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_INPUT_LATER);
    assert_int_equal(CALL(.name = "send", .arguments = "{\"to\":\"eve\"}"),
                     TOOLRACK_E_INPUT_REQUIRED);
    assert_int_equal(count_of(read_list(toolrack_pending)), 0);
    assert_int_equal(count_of(read_decisions("send", 0)), 0);
    assert_int_equal(resolve("a", TOOLRACK_APPROVAL_INPUT_LATER), TOOLRACK_E_INVALID);
    assert_int_equal(resolve("a", TOOLRACK_APPROVAL_NOBODY), TOOLRACK_E_INVALID);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(CALL(.name = "send", .arguments = "{\"to\":\"eve\"}"), 0);
}

static void a_call_waits_without_its_secrets(void **state) {
    (void)state;
    char command[256];
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ASK_LATER);
    assert_int_equal(CALL(.name = "login", .arguments = "{\"key\":\"hunter2-x\",\"n\":1e3}"),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_non_null(strstr(person.seen, "hunter2-x"));
    char id[STORE_PENDING_ID_SIZE];
    (void)snprintf(id, sizeof id, "%s", id_of_error());
    yyjson_doc *doc = read_list(toolrack_pending);
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/arguments/key")), "***");
    assert_int_equal(count_of(doc), 1);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ONCE), 0);
    reopen(false);
    (void)snprintf(command, sizeof command, "grep -rqF hunter2-x '%s'", state_dir);
    assert_int_not_equal(system(command), 0);
    assert_int_equal(CALL(.name = "login", .arguments = "{\"key\":\"hunter3-x\",\"n\":1e3}"),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(CALL(.name = "login", .arguments = "{\"key\":\"***\",\"n\":1e3}"),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(CALL(.name = "login", .arguments = "{\"key\":\"hunter2-x\",\"n\":1e3}"), 0);
}

static void without_a_store_a_call_waits_as_long_as_the_host(void **state) {
    (void)state;
    open_with(true, "", false, 0);
    will_answer(TOOLRACK_APPROVAL_ASK_LATER);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(resolve(id_of_error(), TOOLRACK_APPROVAL_ALLOW_ONCE), 0);
    assert_int_equal(resolve("x", TOOLRACK_APPROVAL_DENY), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(count_of(read_list(toolrack_pending)), 1);
    open_with(true, "", false, 0);
    assert_int_equal(count_of(read_list(toolrack_pending)), 0);
}

/* An answer is for who called, with the same arguments, in the same conversation, once: nobody else
 * takes it, and it is not listed for others. */
static void an_answer_is_for_its_caller_alone(void **state) {
    (void)state;
    static const char *const others[] = {"eve", "", "bob ", "Bob"};
    open_host(true);
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        char id[STORE_PENDING_ID_SIZE];
        will_answer(TOOLRACK_APPROVAL_ASK_LATER);
        assert_int_equal(CALL(.name = "send"), TOOLRACK_E_CONFIRMATION_REQUIRED);
        (void)snprintf(id, sizeof id, "%s", id_of_error());
        assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ONCE), 0);
        assert_int_equal(CALL(.name = "send", .caller = others[i]),
                         TOOLRACK_E_CONFIRMATION_REQUIRED);
        assert_string_not_equal(id_of_error(), id);
        assert_int_equal(resolve(id_of_error(), TOOLRACK_APPROVAL_DENY), 0);
        assert_int_equal(CALL(.name = "send", .caller = others[i]), TOOLRACK_E_PERMISSION_DENIED);
        assert_int_equal(CALL(.name = "send"), 0); /* it was not taken, and not denied */
        assert_int_equal(CALL(.name = "send"), TOOLRACK_E_CONFIRMATION_REQUIRED);
        assert_int_equal(resolve(id_of_error(), TOOLRACK_APPROVAL_DENY), 0);
        assert_int_equal(CALL(.name = "send"), TOOLRACK_E_PERMISSION_DENIED);
    }
}

static size_t count_pending(const char *caller) {
    struct toolrack_pending_filter filter = TOOLRACK_PENDING_FILTER_INIT;
    struct toolrack_text *text = NULL;
    filter.caller = caller;
    assert_int_equal(toolrack_pending_of(host, &filter, &text, &err), 0);
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    size_t count = count_of(doc);
    toolrack_text_unref(text);
    return count;
}

static void a_caller_sees_its_own_calls(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ASK_LATER);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(CALL(.name = "sender"), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(CALL(.name = "send", .caller = "token:ci-1"),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(CALL(.name = "send", .caller = ""), TOOLRACK_E_CONFIRMATION_REQUIRED);
    assert_int_equal(count_pending("bob"), 2);
    assert_int_equal(count_pending("token:ci-1"), 1);
    assert_int_equal(count_pending("token:ci"), 0);
    assert_int_equal(count_pending(""), 1);
    assert_int_equal(count_pending(NULL), 4);
}

/* Another caller that names the same conversation is another one. */
static void an_approval_for_a_conversation_is_for_its_caller(void **state) {
    (void)state;
    open_host(true);
    for (size_t way = 0; way < 2; way++) { /* at once, and later */
        char name[8];
        (void)snprintf(name, sizeof name, "%s", way == 0 ? "send" : "sender");
        will_answer(way == 0 ? TOOLRACK_APPROVAL_ALLOW_CONVERSATION : TOOLRACK_APPROVAL_ASK_LATER);
        int code = CALL(.name = name, .conversation = "c1");
        if (way == 1) {
            assert_int_equal(code, TOOLRACK_E_CONFIRMATION_REQUIRED);
            assert_int_equal(resolve(id_of_error(), TOOLRACK_APPROVAL_ALLOW_CONVERSATION), 0);
        }
        will_answer(TOOLRACK_APPROVAL_DENY);
        for (int round = 0; round < 2; round++) {
            assert_int_equal(CALL(.name = name, .conversation = "c1"), 0);
            assert_int_equal(CALL(.name = name, .conversation = "c1", .caller = "eve"),
                             TOOLRACK_E_PERMISSION_DENIED);
            assert_int_equal(CALL(.name = name, .conversation = "c1", .caller = ""),
                             TOOLRACK_E_PERMISSION_DENIED);
            reopen(true);
        }
        will_answer(TOOLRACK_APPROVAL_ALLOW_CONVERSATION);
        assert_int_equal(CALL(.name = name, .conversation = "c2", .caller = ""), 0);
        will_answer(TOOLRACK_APPROVAL_DENY);
        assert_int_equal(CALL(.name = name, .conversation = "c2", .caller = ""), 0);
        assert_int_equal(CALL(.name = name, .conversation = "c2"), TOOLRACK_E_PERMISSION_DENIED);
    }
}

static const char *wait_for_answer(const char *conversation) {
    will_answer(TOOLRACK_APPROVAL_ASK_LATER);
    assert_int_equal(CALL(.name = "send", .conversation = conversation),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    return id_of_error();
}

static void answers_to_a_call_that_waits(void **state) {
    (void)state;
    open_host(true);
    const char *id = wait_for_answer(NULL);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_CONVERSATION), TOOLRACK_E_INVALID);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_DENY), 0);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_PERMISSION_DENIED);
    assert_says("by ann");

    id = wait_for_answer(NULL);
    atomic_fetch_add(&now_s, PENDING_EXPIRY_S);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ONCE), TOOLRACK_E_NOT_FOUND);
    assert_says("expired");
    id = wait_for_answer(NULL);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ONCE), 0);
    atomic_fetch_add(&now_s, PENDING_EXPIRY_S);
    (void)wait_for_answer(NULL);
    assert_int_equal(resolve("0123", TOOLRACK_APPROVAL_DENY), TOOLRACK_E_NOT_FOUND);

    id = wait_for_answer("c1");
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_CONVERSATION), 0);
    will_answer(TOOLRACK_APPROVAL_DENY);
    assert_int_equal(CALL(.name = "send", .conversation = "c1"), 0);
    assert_int_equal(CALL(.name = "send", .conversation = "c1", .arguments = "{\"x\":1}"), 0);
    assert_int_equal(CALL(.name = "send", .conversation = "c2"), TOOLRACK_E_PERMISSION_DENIED);
    id = wait_for_answer("c2");
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ALWAYS), 0);
    reopen(true);
    will_answer(TOOLRACK_APPROVAL_DENY);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(person.asked, 0);
}

/* What was agreed to is agreed to in one place: what takes it back leaves nothing. */
static void an_answer_does_not_outlive_its_revocation(void **state) {
    (void)state;
    static const enum toolrack_approval given[] = {TOOLRACK_APPROVAL_ALLOW_ONCE,
                                                   TOOLRACK_APPROVAL_ALLOW_CONVERSATION,
                                                   TOOLRACK_APPROVAL_ALLOW_ALWAYS};
    for (size_t i = 0; i < 3; i++) {
        open_host(true);
        assert_int_equal(resolve(wait_for_answer("c1"), given[i]), 0);
        for (size_t made = 0; made < 2; made++) { /* before the call is made again, and after */
            assert_int_equal(toolrack_revoke(host, "send", "eve", &err), 0);
            assert_int_equal(count_of(read_list(toolrack_grants)), 0);
            will_answer(TOOLRACK_APPROVAL_DENY);
            assert_int_equal(CALL(.name = "send", .conversation = "c1"),
                             TOOLRACK_E_PERMISSION_DENIED);
            assert_int_equal(person.asked, 1);
            assert_int_equal(count_of(read_list(toolrack_grants)), 0);
            if (made == 0) {
                assert_int_equal(resolve(wait_for_answer("c1"), given[i]), 0);
                if (given[i] != TOOLRACK_APPROVAL_ALLOW_ONCE) {
                    assert_int_equal(CALL(.name = "send", .conversation = "c1"), 0);
                }
            }
        }
        toolrack_close(host);
        host = NULL;
    }
}

/* What was allowed once can be denied until the call is made. */
static void an_answer_is_taken_back(void **state) {
    (void)state;
    char id[STORE_PENDING_ID_SIZE];
    open_host(true);
    (void)snprintf(id, sizeof id, "%s", wait_for_answer(NULL));
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ONCE), 0);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_DENY), 0);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_PERMISSION_DENIED);
    assert_says("was denied by ann");
    (void)snprintf(id, sizeof id, "%s", wait_for_answer(NULL));
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ONCE), 0);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_DENY), TOOLRACK_E_NOT_FOUND);
    assert_says("was allowed already, by ann, and is used: the call was made");
    (void)snprintf(id, sizeof id, "%s", wait_for_answer(NULL));
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ALWAYS), 0);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_DENY), TOOLRACK_E_NOT_FOUND);
    assert_says("by ann, always; take that back with: toolrack revoke send");
}

/* Another process answers a call that waits in this one. */
static void answer_elsewhere(const char *id, enum toolrack_approval approval) {
    struct toolrack *first = host;
    open_host(false);
    assert_int_equal(resolve(id, approval), 0);
    toolrack_close(host);
    host = first;
    will_answer(TOOLRACK_APPROVAL_DENY);
}

static void an_answer_from_elsewhere(void **state) {
    (void)state;
    open_host(true);
    /* For one call: that call takes it. */
    answer_elsewhere(wait_for_answer("c1"), TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_PERMISSION_DENIED); /* not the same call */
    assert_int_equal(CALL(.name = "send", .conversation = "c1"), 0);
    assert_int_equal(CALL(.name = "send", .conversation = "c1"), TOOLRACK_E_PERMISSION_DENIED);
    /* For all calls: the store has it, and each call looks there. */
    answer_elsewhere(wait_for_answer("c1"), TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(CALL(.name = "send", .conversation = "c2"), 0);
    assert_int_equal(person.asked, 0);
}

/* --------------------------------------------------------- while one thinks */

static void disable_send(void) {
    assert_int_equal(toolrack_set_enabled(host, "send", false, NULL, &err), 0);
}

static void remove_send(void) {
    assert_int_equal(toolrack_unregister_name(host, "send", &err), 0);
}

static void exchange_send(void) {
    static const char *const names[] = {"send", "sender", "wipe", "look", "off", "login"};
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(toolrack_unregister_name(host, names[i], &err), 0);
    }
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, &err), 0);
}

/* A person takes any time: what was decided in it counts for this call too. */
static void a_yes_lets_run_what_may_run_then(void **state) {
    (void)state;
    static const struct {
        void (*decide)(void);
        int code;
        const char *message;
    } cases[] = {
            {disable_send, TOOLRACK_E_DISABLED, "Tool 'send' is disabled"},
            {remove_send, TOOLRACK_E_NOT_FOUND, "'send'"},
            {exchange_send, TOOLRACK_E_CONFIRMATION_REQUIRED,
             "'send' is not the tool that was asked about: that was removed or exchanged before "
             "the answer came; call it again"},
    };
    static const int answers[] = {TOOLRACK_APPROVAL_ALLOW_ONCE, TOOLRACK_APPROVAL_ALLOW_ALWAYS};
    for (size_t i = 0; i < 6; i++) {
        struct outcome outcome = OUTCOME_INIT;
        open_with(true, "", false, 0);
        will_answer(answers[i % 2]);
        hold(true);
        toolrack_call_unref(submit(&(struct request){.name = "send"}, &outcome));
        wait_until_held(1);
        cases[i / 2].decide();
        hold(false);
        wait_outcomes(&outcome, 1);
        (void)snprintf(err.message, sizeof err.message, "%s", outcome.message);
        assert_int_equal(outcome.code, cases[i / 2].code);
        assert_says(cases[i / 2].message);
        assert_int_equal(count_of(read_list(toolrack_grants)), 0);
        toolrack_close(host);
        host = NULL;
    }
    assert_int_equal(atomic_load(&runs), 0);
}

/* ------------------------------------------------------------------- grants */

static void grants_hold_until_they_expire(void **state) {
    (void)state;
    open_host(true);
    assert_int_equal(toolrack_grant(host, "wpe", 0, NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_says("did you mean 'wipe'?");
    assert_int_equal(toolrack_grant(host, "wipe@2.0.0", 0, NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_says("no version '2.0.0'");
    assert_int_equal(toolrack_grant(host, "wipe", UINT64_MAX, NULL, &err), TOOLRACK_E_INVALID);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);

    assert_int_equal(toolrack_grant(host, "wipe", 60, "eve", &err), 0);
    assert_int_equal(CALL(.name = "wipe"), 0);
    assert_logged("granted: wipe, by eve: for 60 s");
    assert_logged("pinned: wipe 1.0.0, by eve: granted as it is now");
    assert_logged("allowed: wipe 1.0.0, by eve, for bob, through test: granted");
    reopen(true);
    atomic_fetch_add(&now_s, 59);
    assert_int_equal(submit_and_wait(&(struct request){.name = "wipe"}), 0);
    assert_int_equal(count_of(read_list(toolrack_grants)), 1);
    atomic_fetch_add(&now_s, 1);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(count_of(read_list(toolrack_grants)), 0);
    /* What it has left: how the tool was. */
    assert_int_equal(toolrack_revoke(host, "wipe", NULL, &err), 0);
    assert_int_equal(toolrack_revoke(host, "wipe", NULL, &err), TOOLRACK_E_NOT_FOUND);

    /* One that does not expire, of one version. */
    assert_int_equal(toolrack_grant(host, "wipe@1.0.0", 0, "eve", &err), 0);
    atomic_fetch_add(&now_s, 1000000);
    assert_int_equal(CALL(.name = "wipe"), 0);
    yyjson_doc *doc = read_list(toolrack_grants);
    yyjson_val *row = yyjson_arr_get_first(yyjson_doc_get_root(doc));
    assert_string_equal(yyjson_get_str(yyjson_obj_get(row, "kind")), "grant");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(row, "tool")), "wipe");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(row, "version")), "1.0.0");
    assert_string_equal(yyjson_get_str(yyjson_obj_get(row, "who")), "eve");
    assert_true(yyjson_is_null(yyjson_obj_get(row, "expires_s")));
    yyjson_doc_free(doc);

    /* Revoked, also when the tool is gone. */
    assert_int_equal(toolrack_unregister_name(host, "wipe", &err), 0);
    assert_int_equal(toolrack_revoke(host, "wipe", "eve", &err), 0);
    reopen(true);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(atomic_load(&runs), 3);
}

static void a_grant_answers_for_the_person(void **state) {
    (void)state;
    open_host(true);
    assert_int_equal(toolrack_grant(host, "send", 0, "eve", &err), 0);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(person.asked, 0);
    assert_int_equal(CALL(.name = "sender"), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(person.asked, 1);
}

static void the_configuration_grants(void **state) {
    (void)state;
    write_config("{\"grants\": [\"wipe\"]}");
    open_host(true);
    assert_int_equal(CALL(.name = "wipe"), 0);
    assert_logged("allowed: wipe 1.0.0, by configuration");
    assert_int_equal(toolrack_revoke(host, "wipe", NULL, &err), TOOLRACK_E_NOT_FOUND);
    assert_says("no person has granted 'wipe'; the configuration does, ");
    /* What a person has granted too goes, and the rest stays. */
    assert_int_equal(toolrack_grant(host, "wipe", 0, "eve", &err), 0);
    assert_int_equal(count_of(read_list(toolrack_grants)), 2);
    assert_int_equal(toolrack_revoke(host, "wipe", NULL, &err), 0);
    assert_int_equal(CALL(.name = "wipe"), 0);
    yyjson_doc *doc = read_list(toolrack_grants);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 1);
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/who")), "configuration");
    assert_string_equal(yyjson_get_str(yyjson_doc_ptr_get(doc, "/0/state")), "in-force");
    yyjson_doc_free(doc);
}

/* What the store cannot say permits nothing, and keeps nobody from what needs no decision. */
static void a_store_that_cannot_be_read_permits_nothing(void **state) {
    (void)state;
    char path[256];
    char away[256];
    open_host(true);
    assert_int_equal(toolrack_grant(host, "wipe", 0, "eve", &err), 0);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(CALL(.name = "send"), 0);
    toolrack_close(host);
    (void)snprintf(path, sizeof path, "%s/toolrack.db", state_dir);
    (void)snprintf(away, sizeof away, "%s/away.db", state_dir);
    assert_int_equal(rename(path, away), 0);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs("somebody's own words, and no database\n", file) >= 0);
    assert_int_equal(fclose(file), 0);

    write_config("{\"grants\": [\"sender\"]}");
    open_host(true);
    assert_logged("those that need a decision are refused, and only builtin plugins, ");
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
    assert_says("Tool 'wipe' needs a decision, and what was decided cannot be read: ");
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_PERMISSION_DENIED);
    assert_says("Tool 'send' needs a decision, and what was decided cannot be read: ");
    assert_int_equal(person.asked, 0);
    assert_int_equal(CALL(.name = "send", .confirmed = true), 0);
    assert_int_equal(CALL(.name = "sender"), TOOLRACK_E_PERMISSION_DENIED);
    assert_says("Tool 'sender' needs a decision, and what was decided cannot be read: ");
    assert_int_equal(CALL(.name = "look"), 0);
    /* Also for an app that does not ask why. */
    struct tr_tool another = *toolrack_plugin.tools[0];
    const struct tr_tool *const tools[] = {&another};
    struct tr_plugin other = toolrack_plugin;
    another.name = "another";
    other.id = "other";
    other.tools = tools;
    other.tool_count = 1;
    assert_int_equal(toolrack_register(host, &other, NULL, NULL), 0);
    assert_int_equal(toolrack_revoke(host, "wipe", NULL, &err), TOOLRACK_E_IO);
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_grants(host, &text, &err), TOOLRACK_E_IO);

    /* When it can be read again, the host need not be opened again. */
    assert_int_equal(rename(away, path), 0);
    assert_int_equal(CALL(.name = "wipe"), 0);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(person.asked, 0);
}

/* A grant counts for a version, or for all of them; of two the one that holds longer. */
static void a_grant_is_of_a_version_or_of_all(void **state) {
    (void)state;
    open_host(true);
    assert_int_equal(toolrack_grant(host, "wipe", 60, "ann", &err), 0);
    assert_int_equal(toolrack_grant(host, "wipe@1.0.0", 120, "bob", &err), 0);
    assert_int_equal(CALL(.name = "wipe"), 0);
    assert_logged("allowed: wipe 1.0.0, by bob");
    atomic_fetch_add(&now_s, 60);
    assert_int_equal(CALL(.name = "wipe"), 0);
    atomic_fetch_add(&now_s, 60);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
    /* What changes a view keeps its grant. */
    assert_int_equal(toolrack_grant(host, "wipe", 60, "ann", &err), 0);
    assert_int_equal(toolrack_set_priority(host, "wipe", 3, NULL, &err), 0);
    assert_int_equal(CALL(.name = "wipe"), 0);
    assert_int_equal(toolrack_set_enabled(host, "wipe", false, NULL, &err), 0);
    assert_int_equal(toolrack_revoke(host, "wipe", NULL, &err), 0);
    assert_int_equal(toolrack_set_enabled(host, "wipe", true, NULL, &err), 0);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
}

/* Whoever takes the name of a tool does not get what was granted to it. */
static void a_name_is_not_a_permission(void **state) {
    (void)state;
    struct tr_plugin other = toolrack_plugin;
    other.id = "evil";
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(CALL(.name = "send"), 0);
    assert_int_equal(toolrack_grant(host, "wipe", 0, NULL, &err), 0);
    will_answer(TOOLRACK_APPROVAL_DENY);
    for (size_t i = 0; i < toolrack_plugin.tool_count; i++) {
        assert_int_equal(toolrack_unregister_name(host, toolrack_plugin.tools[i]->name, &err), 0);
    }
    assert_int_equal(toolrack_register(host, &other, NULL, &err), 0);
    assert_int_equal(CALL(.name = "send"), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
}

/* --------------------------------------------------------------------- pins */

static enum toolrack_tool_state state_of(const char *name) {
    struct toolrack_tool *tool = toolrack_get(host, name);
    assert_non_null(tool);
    enum toolrack_tool_state state = toolrack_tool_state(tool);
    toolrack_tool_unref(tool);
    return state;
}

/* A text in what the host says about a tool; "" where there is none. */
static const char *why(const char *name, const char *pointer) {
    static char found[256];
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_why(host, name, &text, &err), 0);
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    const char *value = yyjson_get_str(yyjson_doc_ptr_get(doc, pointer));
    (void)snprintf(found, sizeof found, "%s", value != NULL ? value : "");
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return found;
}

/* The plugin as it is approved, and then as it comes back. */
static void approve_and_change(const char *build) {
    install("leash");
    open_on_folder();
    will_answer(TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(CALL(.name = "erase"), 0);
    assert_int_equal(toolrack_grant(host, "launch", 0, "eve", &err), 0);
    open_on_folder();
    assert_int_equal(changed_events, 0);
    assert_string_equal(why("erase", "/changed/description/now"), "");
    install(build);
    open_on_folder();
    will_answer(TOOLRACK_APPROVAL_DENY);
}

static void a_tool_that_changed_does_not_run(void **state) {
    (void)state;
    approve_and_change("leash-reworded");
    assert_int_equal(changed_events, 1);
    assert_non_null(strstr(changed_message, "its description changed; it does not run"));
    assert_int_equal(state_of("erase"), TOOLRACK_STATE_CHANGED);
    assert_int_equal(state_of("launch"), TOOLRACK_STATE_LISTED);
    for (size_t way = 0; way < 2; way++) {
        const struct request request = {.name = "erase", .confirmed = true};
        assert_int_equal(ways[way](&request), TOOLRACK_E_PERMISSION_DENIED);
        assert_says("Tool 'erase' is not what was approved: its description changed; see the "
                    "difference: toolrack why erase; approve it again: toolrack grant erase");
    }
    assert_int_equal(CALL(.name = "launch"), 0); /* its text is what it was */
    assert_int_equal(CALL(.name = "peek"), 0);
    assert_string_equal(why("erase", "/state"), "changed");
    assert_string_equal(why("erase", "/reason"), "its description changed since it was approved");
    assert_string_equal(why("erase", "/changed/description/approved"), "Erase a file");
    assert_string_equal(why("erase", "/changed/description/now"),
                        "Erase a file, and send a copy elsewhere first");
    assert_string_equal(why("erase", "/changed/schema/now"), "");
    assert_string_equal(why("leash", "/state"), "loaded");
    assert_logged("refused: erase 1.0.0, by pin, for bob");

    /* As it was before, it is what was approved. */
    install("leash");
    open_on_folder();
    assert_int_equal(CALL(.name = "erase"), 0);
    install("leash-reworded");
    open_on_folder();

    /* Approved again, and for good. */
    assert_int_equal(toolrack_grant(host, "erase", 0, "eve", &err), 0);
    assert_int_equal(state_of("erase"), TOOLRACK_STATE_LISTED);
    assert_int_equal(CALL(.name = "erase"), 0);
    open_on_folder();
    assert_int_equal(changed_events, 0);
    assert_int_equal(CALL(.name = "erase"), 0);
    assert_int_equal(person.asked, 0);
}

static void a_new_version_with_another_schema(void **state) {
    (void)state;
    approve_and_change("leash-renumbered");
    assert_int_equal(state_of("erase"), TOOLRACK_STATE_CHANGED);
    assert_non_null(strstr(changed_message, "its schema or plan changed"));
    assert_int_equal(CALL(.name = "erase", .confirmed = true), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(CALL(.name = "launch"), 0); /* granted in all versions, and the same */
    assert_non_null(strstr(why("erase", "/changed/schema/now"), "array"));

    /* What is no longer approved has nothing to be compared with, and asks. */
    assert_int_equal(toolrack_revoke(host, "erase", "eve", &err), 0);
    assert_int_equal(state_of("erase"), TOOLRACK_STATE_LOADED);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(CALL(.name = "erase"), 0);
    assert_int_equal(person.asked, 1);
}

static void a_policy_may_only_warn(void **state) {
    (void)state;
    write_config("{\"pin\": \"warn\"}");
    approve_and_change("leash-reshaped");
    assert_int_equal(changed_events, 1);
    assert_non_null(strstr(changed_message, "its schema or plan changed; it runs all the same"));
    assert_int_equal(state_of("erase"), TOOLRACK_STATE_LISTED);
    assert_int_equal(CALL(.name = "erase"), 0); /* this version is approved */
    assert_non_null(strstr(why("erase", "/changed/schema/approved"), "string"));
    assert_logged("changed: erase 1.0.0, by pin");
}

static void a_policy_may_look_away(void **state) {
    (void)state;
    write_config("{\"policies\": {\"leash\": {\"pin\": \"off\"}}}");
    approve_and_change("leash-reworded");
    assert_int_equal(changed_events, 0);
    assert_int_equal(state_of("erase"), TOOLRACK_STATE_LISTED);
    assert_int_equal(CALL(.name = "erase"), 0);
}

/* Who is asked about a tool that changed is told so. */
static void a_person_hears_of_a_change(void **state) {
    (void)state;
    write_config("{\"pin\": \"warn\"}");
    approve_and_change("leash-renumbered");
    assert_int_equal(CALL(.name = "erase"), TOOLRACK_E_PERMISSION_DENIED);
    assert_non_null(strstr(person.seen,
                           "2.0.0 leash 1 {} bob test -: its schema or plan changed since it "
                           "was approved"));
    will_answer(TOOLRACK_APPROVAL_ALLOW_ALWAYS);
    assert_int_equal(CALL(.name = "erase"), 0);
    open_on_folder();
    assert_int_equal(changed_events, 0);
}

static bool grants_say(const char *pointer, const char *text) {
    yyjson_doc *doc = read_list(toolrack_grants);
    const char *found = yyjson_get_str(yyjson_doc_ptr_get(doc, pointer));
    bool is_said = found != NULL && strstr(found, text) != NULL;
    yyjson_doc_free(doc);
    return is_said;
}

/* What is granted in all versions counts if a call by the name alone runs, whatever a kept version
 * does. */
static void a_grant_is_in_force_where_the_name_runs(void **state) {
    (void)state;
    install("leash");
    open_on_folder();
    assert_int_equal(toolrack_grant(host, "erase", 0, "eve", &err), 0);
    assert_int_equal(CALL(.name = "erase"), 0);
    assert_true(grants_say("/0/state", "in-force"));
    install("leash-renumbered");
    open_on_folder();
    assert_int_equal(CALL(.name = "erase"), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(CALL(.name = "erase@1.0.0"), 0);
    assert_true(grants_say("/0/state", "changed"));
    assert_true(grants_say("/0/reason", "it is not what was approved: its schema or plan changed"));
    assert_int_equal(toolrack_grant(host, "erase", 0, "eve", &err), 0);
    assert_true(grants_say("/0/state", "in-force"));
}

/* A call of the plugin's tool that waits. */
static void let_erase_wait(char ret_id[STORE_PENDING_ID_SIZE]) {
    will_answer(TOOLRACK_APPROVAL_ASK_LATER);
    assert_int_equal(CALL(.name = "erase"), TOOLRACK_E_CONFIRMATION_REQUIRED);
    (void)snprintf(ret_id, STORE_PENDING_ID_SIZE, "%s", id_of_error());
}

static void come_back_as(const char *build) {
    install(build);
    open_on_folder();
    will_answer(TOOLRACK_APPROVAL_DENY);
}

/* The answer was given, and then the tool is another: whatever the policy does with approvals. */
static void an_answer_is_for_the_tool_that_was_called(void **state) {
    (void)state;
    static const char *const configs[] = {"{}", "{\"pin\": \"warn\"}", "{\"pin\": \"off\"}"};
    char id[STORE_PENDING_ID_SIZE];
    for (size_t i = 0; i < 3; i++) {
        write_config(configs[i]);
        install("leash");
        open_on_folder();
        let_erase_wait(id);
        assert_int_equal(resolve(id, TOOLRACK_APPROVAL_ALLOW_ONCE), 0);
        come_back_as("leash-reworded");
        assert_int_equal(CALL(.name = "erase"), TOOLRACK_E_PERMISSION_DENIED);
        assert_int_equal(person.asked, 1);
        /* As it was before, it is what was allowed. */
        come_back_as("leash");
        assert_int_equal(CALL(.name = "erase"), 0);
        assert_int_equal(person.asked, 0);
    }
}

/* The tool is another while the call waits: who answers has not agreed to that. */
static void an_answer_to_what_changed_is_refused(void **state) {
    (void)state;
    static const enum toolrack_approval given[] = {TOOLRACK_APPROVAL_ALLOW_ONCE,
                                                   TOOLRACK_APPROVAL_ALLOW_ALWAYS};
    char id[STORE_PENDING_ID_SIZE];
    install("leash");
    open_on_folder();
    let_erase_wait(id);
    come_back_as("leash-reworded");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(resolve(id, given[i]), TOOLRACK_E_INVALID);
        assert_says("'erase@1.0.0' is not what it was when this call began to wait: its "
                    "description changed; let it be called again; see what it is now: toolrack "
                    "show erase@1.0.0");
    }
    assert_int_equal(count_of(read_list(toolrack_grants)), 0);
    /* Called again, it waits as what it is. */
    char other[STORE_PENDING_ID_SIZE];
    let_erase_wait(other);
    assert_string_not_equal(other, id);
    assert_int_equal(resolve(id, TOOLRACK_APPROVAL_DENY), 0);
    assert_int_equal(resolve(other, TOOLRACK_APPROVAL_ALLOW_ALWAYS), 0);
    will_answer(TOOLRACK_APPROVAL_DENY);
    assert_int_equal(CALL(.name = "erase"), 0);
    assert_int_equal(person.asked, 0);
}

/* ---------------------------------------------------------------- decisions */

static yyjson_doc *read_decisions(const char *tool, uint32_t limit) {
    struct toolrack_decisions_filter filter = TOOLRACK_DECISIONS_FILTER_INIT;
    struct toolrack_text *text = NULL;
    filter.tool = tool;
    filter.limit = limit;
    assert_int_equal(toolrack_decisions(host, &filter, &text, &err), 0);
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    toolrack_text_unref(text);
    return doc;
}

static const char *text_at(yyjson_doc *doc, const char *pointer) {
    const char *text = yyjson_get_str(yyjson_doc_ptr_get(doc, pointer));
    return text != NULL ? text : "";
}

static void decisions_are_kept(void **state) {
    (void)state;
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ALLOW_ONCE);
    assert_int_equal(CALL(.name = "look"), 0);
    assert_int_equal(CALL(.name = "send", .conversation = "c1"), 0);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
    yyjson_doc *doc = read_decisions(NULL, 0); /* without waiting for the writer */
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 2);
    assert_string_equal(text_at(doc, "/0/tool"), "wipe");
    assert_string_equal(text_at(doc, "/0/decision"), "refused");
    assert_string_equal(text_at(doc, "/0/who"), "dangerous");
    assert_string_equal(text_at(doc, "/1/tool"), "send");
    assert_string_equal(text_at(doc, "/1/version"), "1.0.0");
    assert_string_equal(text_at(doc, "/1/plugin"), "mail");
    assert_string_equal(text_at(doc, "/1/caller"), "bob");
    assert_string_equal(text_at(doc, "/1/channel"), "test");
    assert_string_equal(text_at(doc, "/1/conversation"), "c1");
    assert_string_equal(text_at(doc, "/1/decision"), "allowed");
    assert_string_equal(text_at(doc, "/1/who"), "ann");
    assert_string_equal(text_at(doc, "/1/why"), "this once");
    assert_true(yyjson_get_sint(yyjson_doc_ptr_get(doc, "/1/time_ms")) > 0);
    yyjson_doc_free(doc);

    /* Closing writes what waits. */
    assert_int_equal(toolrack_grant(host, "wipe", 0, "eve", &err), 0);
    assert_int_equal(toolrack_revoke(host, "wipe", "eve", &err), 0);
    reopen(true);
    doc = read_decisions("wipe", 3);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), 3);
    assert_string_equal(text_at(doc, "/0/decision"), "revoked");
    assert_string_equal(text_at(doc, "/1/decision"), "pinned");
    assert_string_equal(text_at(doc, "/2/decision"), "granted");
    assert_string_equal(text_at(doc, "/2/who"), "eve");
    yyjson_doc_free(doc);
}

/* More than one batch, in their order. */
static void count_decision(void *user, const struct store_decision *decision) {
    (void)decision;
    ++*(unsigned *)user;
}

/* As the store has them, without having the host write them. */
static unsigned count_kept(struct store *store) {
    const struct store_decisions_filter filter = {.tool = "send"};
    unsigned count = 0;
    assert_int_equal(store_decisions_read(store, &filter, count_decision, &count, &err), 0);
    return count;
}

/* Neither before its time, nor after it when there are many. On a busy machine a round may take
 * longer than a batch waits, and shows nothing: then there is another. */
static void a_full_batch_does_not_wait(void **state) {
    (void)state;
    const uint64_t half_ns = (uint64_t)DECISIONS_DELAY_MS * CLOCK_NS_PER_MS / 2;
    bool shown = false;
    open_host(true);
    struct store *store = store_open(state_dir, &err);
    assert_non_null(store);
    for (int round = 0; !shown && round < 20; round++) {
        toolrack_close(host);
        open_host(true);
        unsigned before = count_kept(store);
        uint64_t start_ns = clock_now_ns();
        for (unsigned i = 0; i < DECISIONS_BATCH - 1; i++) {
            assert_int_equal(CALL(.name = "send", .confirmed = true), 0);
        }
        bool waits = count_kept(store) == before;
        assert_int_equal(CALL(.name = "send", .confirmed = true), 0);
        while (clock_now_ns() < start_ns + half_ns &&
               count_kept(store) < before + DECISIONS_BATCH) {
            (void)usleep(1000);
        }
        shown = clock_now_ns() < start_ns + half_ns;
        assert_true(!shown || waits);
    }
    store_close(store);
    assert_true(shown);
}

static void many_decisions_keep_their_order(void **state) {
    (void)state;
    const unsigned count = 3 * DECISIONS_BATCH + 1;
    open_host(true);
    for (unsigned i = 0; i < count; i++) {
        char conversation[16];
        (void)snprintf(conversation, sizeof conversation, "%u", i);
        assert_int_equal(CALL(.name = "send", .confirmed = true, .conversation = conversation), 0);
    }
    reopen(true);
    yyjson_doc *doc = read_decisions("send", 0);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(doc)), count);
    size_t at;
    size_t size;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, size, row) {
        char conversation[16];
        (void)snprintf(conversation, sizeof conversation, "%zu", count - 1 - at);
        assert_string_equal(yyjson_get_str(yyjson_obj_get(row, "conversation")), conversation);
    }
    yyjson_doc_free(doc);
}

/* -------------------------------------------------------------------- threads */

#define ROUNDS 40

static void *grant_and_revoke(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        struct toolrack_error failure;
        struct toolrack_text *text = NULL;
        (void)toolrack_grant(host, "wipe", 60, "eve", &failure);
        (void)toolrack_revoke(host, "send", "eve", &failure);
        if (toolrack_grants(host, &text, &failure) == 0) {
            toolrack_text_unref(text);
        }
        (void)toolrack_revoke(host, "wipe", "eve", &failure);
    }
    return NULL;
}

static void *call_all(void *unused) {
    (void)unused;
    static const char *const names[] = {"send", "wipe", "look", "sender"};
    for (int i = 0; i < ROUNDS; i++) {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        struct toolrack_result *result = NULL;
        struct toolrack_error failure;
        options.conversation = i % 2 == 0 ? "c1" : "c2";
        int code = toolrack_call(host, names[i % 4], "{}", &options, &result, &failure);
        assert_true(code == 0 || code == TOOLRACK_E_PERMISSION_DENIED);
        toolrack_result_free(result);
    }
    return NULL;
}

static void *register_again(void *unused) {
    (void)unused;
    static const struct tr_tool *const tools[] = {&tr_tool_send, &tr_tool_wipe};
    struct tr_plugin other = toolrack_plugin;
    other.version = "2.0.0";
    other.tools = tools;
    other.tool_count = 2;
    for (int i = 0; i < ROUNDS; i++) {
        struct toolrack_error failure;
        assert_int_equal(toolrack_register(host, &other, NULL, &failure), 0);
        assert_int_equal(toolrack_unregister_name(host, "send@2.0.0", &failure), 0);
        assert_int_equal(toolrack_unregister_name(host, "wipe@2.0.0", &failure), 0);
    }
    return NULL;
}

static void all_at_once(void **state) {
    (void)state;
    static void *(*const bodies[])(void *) = {grant_and_revoke, call_all, call_all, call_all,
                                              register_again};
    struct outcome outcome = OUTCOME_INIT;
    pthread_t threads[5];
    open_host(true);
    will_answer(TOOLRACK_APPROVAL_ALLOW_CONVERSATION);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, bodies[i], NULL), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        struct toolrack_call *call =
                submit(&(struct request){.name = "send", .conversation = "c3"}, &outcome);
        if (i % 3 == 0) {
            toolrack_cancel(call);
        }
        toolrack_call_unref(call);
        wait_outcomes(&outcome, i - 8); /* or more than may be asked at once */
    }
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    wait_outcomes(&outcome, ROUNDS);
    assert_int_equal(outcome.count, ROUNDS);
    assert_int_equal(CALL(.name = "wipe"), TOOLRACK_E_PERMISSION_DENIED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(who_is_asked_decides),
            TEST(the_context_reaches_tool_log_and_approver),
            TEST(who_is_not_asked),
            TEST(numbers_are_shown_as_they_are),
            TEST(what_is_approved_stays_so),
            TEST(without_a_conversation_it_is_allowed_once),
            TEST(without_a_store_it_is_remembered),
            TEST(time_begins_with_the_answer),
            TEST(a_call_that_is_cancelled_ends_with_the_answer),
            TEST(nobody_else_waits),
            TEST(too_many_are_asked),
            TEST(closing_waits_for_the_answer),
            TEST(arguments_are_checked_before_anybody_is_asked),
            TEST(a_waiting_call_has_its_text),
            TEST(a_call_waits_for_its_answer),
            TEST(an_answer_comes_with_another_call),
            TEST(a_call_waits_without_its_secrets),
            TEST(without_a_store_a_call_waits_as_long_as_the_host),
            TEST(an_answer_is_for_its_caller_alone),
            TEST(a_caller_sees_its_own_calls),
            TEST(an_approval_for_a_conversation_is_for_its_caller),
            TEST(answers_to_a_call_that_waits),
            TEST(an_answer_from_elsewhere),
            TEST(a_yes_lets_run_what_may_run_then),
            TEST(an_answer_does_not_outlive_its_revocation),
            TEST(an_answer_is_taken_back),
            TEST(grants_hold_until_they_expire),
            TEST(a_grant_answers_for_the_person),
            TEST(the_configuration_grants),
            TEST(a_store_that_cannot_be_read_permits_nothing),
            TEST(a_grant_is_of_a_version_or_of_all),
            TEST(a_name_is_not_a_permission),
            TEST(a_tool_that_changed_does_not_run),
            TEST(a_new_version_with_another_schema),
            TEST(a_policy_may_only_warn),
            TEST(a_policy_may_look_away),
            TEST(a_person_hears_of_a_change),
            TEST(a_grant_is_in_force_where_the_name_runs),
            TEST(an_answer_is_for_the_tool_that_was_called),
            TEST(an_answer_to_what_changed_is_refused),
            TEST(decisions_are_kept),
            TEST(a_full_batch_does_not_wait),
            TEST(many_decisions_keep_their_order),
            TEST(all_at_once),
    };
    return cmocka_run_group_tests_name("permission", tests, NULL, NULL);
}
