/* What a tool asks for while it runs, what a caller hears of it, and who receives events: in the
 * host's process and in workers. */
#include <fcntl.h>
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

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "isolation-unit.h"
#include "patience.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

static int in_process(void **state) {
    return isolation_open(state, "asks", TOOLRACK_ISOLATION_NONE, true);
}

static int in_workers(void **state) {
    return isolation_open(state, "asks", TOOLRACK_ISOLATION_PROCESS, true);
}

/* ---------------------------------------------------------------- answering */

/* What a tool asked for, and what it gets. */
struct caller {
    int answer;
    const char *content; /* of each; NULL: none */
    bool later;          /* nobody answers during this call */
    unsigned later_from; /* or from this question on, if not 0 */
    uint64_t wait_ms;
    unsigned asked;
    char seen[1024];
    char lines[512];
    int approval;
    unsigned approvals;
};

static void see(struct caller *caller, const char *text) {
    size_t length = strlen(caller->seen);
    (void)snprintf(caller->seen + length, sizeof caller->seen - length, "%s%s",
                   length > 0 ? " " : "", text != NULL ? text : "-");
}

static int give(void *user, struct toolrack_input *inputs, size_t count) {
    static const char *const kinds[] = {"form", "url", "sample", "roots"};
    struct caller *caller = user;
    caller->asked++;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(inputs[i].size, sizeof inputs[i]);
        assert_int_equal(inputs[i].answer, TOOLRACK_ANSWER_NOBODY);
        see(caller, inputs[i].key);
        see(caller, kinds[inputs[i].kind]);
        see(caller, inputs[i].message);
        see(caller, inputs[i].schema);
        see(caller, inputs[i].request);
        inputs[i].answer = caller->answer;
        inputs[i].content = caller->content != NULL ? strdup(caller->content) : NULL;
    }
    if (caller->wait_ms > 0) {
        const struct timespec wait = clock_timespec(caller->wait_ms * CLOCK_NS_PER_MS);
        (void)nanosleep(&wait, NULL);
    }
    bool is_later =
            caller->later || (caller->later_from != 0 && caller->asked >= caller->later_from);
    return is_later ? TOOLRACK_INPUT_LATER : 0;
}

static void hear(void *user, enum toolrack_log_level level, const char *line) {
    struct caller *caller = user;
    size_t length = strlen(caller->lines);
    (void)snprintf(caller->lines + length, sizeof caller->lines - length, "%d %s\n", (int)level,
                   line);
}

static struct toolrack_call_options options_for(struct caller *caller) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.user = caller;
    options.input = give;
    options.log = hear;
    return options;
}

struct outcome {
    int code;
    struct toolrack_error err;
    char json[1024];
};

static void take(struct outcome *outcome, struct toolrack_result *result) {
    if (outcome->code == 0) {
        (void)snprintf(outcome->json, sizeof outcome->json, "%s",
                       toolrack_result_json(result, NULL));
    }
    toolrack_result_free(result);
}

static void call(struct toolrack *host, const char *tool, const char *arguments,
                 struct caller *caller, struct outcome *ret) {
    const struct toolrack_call_options options = options_for(caller);
    struct toolrack_result *result = NULL;
    *ret = (struct outcome){0};
    caller->asked = 0;
    caller->seen[0] = caller->lines[0] = '\0';
    ret->code = toolrack_call(host, tool, arguments, &options, &result, &ret->err);
    take(ret, result);
}

static void expect(struct toolrack *host, const char *tool, struct caller *caller,
                   const char *json) {
    struct outcome outcome;
    call(host, tool, NULL, caller, &outcome);
    if (outcome.code < 0) {
        fail_msg("%s", outcome.err.message);
    }
    assert_string_equal(outcome.json, json);
}

/* -------------------------------------------------------------------- tests */

static void a_form_is_answered(void **state) {
    const struct isolation_unit *setup = *state;
    struct caller caller = {.answer = TOOLRACK_ANSWER_ACCEPTED, .content = "{\"branch\":\"main\"}"};
    expect(setup->host, "form", &caller, "\"0 {\\\"branch\\\":\\\"main\\\"} goes on\"");
    assert_string_equal(caller.seen, "ask-1 form Which branch? {\"type\" : \"object\", "
                                     "\"properties\" : {\"branch\" : {\"type\" : \"string\"}}} -");
    caller.content = NULL;
    expect(setup->host, "form", &caller, "\"0 {} goes on\"");
    caller.answer = TOOLRACK_ANSWER_DECLINED;
    expect(setup->host, "form", &caller, "\"3 none goes on\"");
    caller.answer = TOOLRACK_ANSWER_DISMISSED;
    expect(setup->host, "form", &caller, "\"5 none goes on\"");
    caller.answer = 99;
    expect(setup->host, "form", &caller, "\"5 none goes on\"");
    caller.answer = TOOLRACK_ANSWER_NOBODY;
    expect(setup->host, "form", &caller, "\"7 none goes on\"");
}

static void several_things_are_asked_for_at_once(void **state) {
    const struct isolation_unit *setup = *state;
    struct caller caller = {.answer = TOOLRACK_ANSWER_ACCEPTED, .content = "{\"a\":1}"};
    expect(setup->host, "together", &caller,
           "{\"status\":0,\"answers\":[[1,{\"a\":1}],[1,{\"a\":1}],[1,{\"a\":1}],[1,{\"a\":1}]]}");
    assert_int_equal(caller.asked, 1);
    assert_string_equal(caller.seen,
                        "branch form Which branch? {\"type\":\"object\",\"properties\":{}} - "
                        "sample-2 sample - - {\"messages\":[],\"maxTokens\":5} "
                        "roots-3 roots - - - "
                        "login url Log in - https://example.org/login");
    caller.answer = TOOLRACK_ANSWER_NOBODY;
    expect(setup->host, "together", &caller,
           "{\"status\":7,\"answers\":[[0,null],[0,null],[0,null],[0,null]]}");
    expect(setup->host, "each", &caller, "\"7 none, 7 none, 7\"");
    caller.answer = TOOLRACK_ANSWER_ACCEPTED;
    expect(setup->host, "each", &caller, "\"0 {\\\"a\\\":1}, 0 {\\\"a\\\":1}, 0\"");
    assert_string_equal(caller.seen, "poem sample - - {} roots-2 roots - - - "
                                     "ask-3 url Log in - https://example.org/");
    struct outcome outcome;
    caller.content = NULL; /* the model said nothing */
    call(setup->host, "each", NULL, &caller, &outcome);
    assert_int_equal(outcome.code, TOOLRACK_E_EXECUTION_FAILED);
    assert_non_null(strstr(outcome.err.message, "the answer to the tool's question is not a JSON"));
}

/* An app that knows forms only. */
static int answer_form(void *user, const char *message, const char *schema, char **ret_content) {
    (void)user;
    (void)message;
    (void)schema;
    *ret_content = strdup("{\"old\":true}");
    return TOOLRACK_ANSWER_ACCEPTED;
}

static void an_older_app_answers_forms(void **state) {
    const struct isolation_unit *setup = *state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.size = offsetof(struct toolrack_call_options, log);
    options.ask = answer_form;
    options.input = give; /* behind what it states: not read */
    assert_int_equal(toolrack_call(setup->host, "together", NULL, &options, &result, NULL), 0);
    assert_string_equal(
            toolrack_result_json(result, NULL),
            "{\"status\":0,\"answers\":[[1,{\"old\":true}],[0,null],[0,null],[0,null]]}");
    toolrack_result_free(result);
}

static void wrong_questions_fail_the_call(void **state) {
    const struct isolation_unit *setup = *state;
    static const char *const faults[][2] = {
            {"key", "its key is no name"},
            {"same key", "its key is that of an earlier question"},
            {"key of a number", "its key is that of an earlier question"},
            {"kind", "something that this host does not know"},
            {"none", "it is none, more than 16 at once"},
            {"many", "it is none, more than 16 at once"},
            {"size", "does not state its size"},
            {"request", "its request for the model is not a JSON object"},
            {"no request", "it has no request for the model"},
            {"url", "its address is no https: or http: URL"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(faults); i++) {
        struct caller caller = {.answer = TOOLRACK_ANSWER_ACCEPTED};
        struct outcome outcome;
        char arguments[64];
        (void)snprintf(arguments, sizeof arguments, "{\"fault\":\"%s\"}", faults[i][0]);
        call(setup->host, "wrong", arguments, &caller, &outcome);
        assert_int_equal(outcome.code, TOOLRACK_E_EXECUTION_FAILED);
        if (strstr(outcome.err.message, faults[i][1]) == NULL) {
            fail_msg("%s: %s", faults[i][0], outcome.err.message);
        }
        assert_int_equal(caller.asked, 0);
    }
}

static void expect_unanswered(struct toolrack *host, const char *tool, struct caller *caller) {
    struct outcome outcome;
    call(host, tool, NULL, caller, &outcome);
    assert_int_equal(outcome.code, TOOLRACK_E_INPUT_REQUIRED);
    assert_string_equal(toolrack_code_name(outcome.code), "InputRequired");
    assert_false(outcome.err.from_tool);
    assert_string_equal(outcome.err.tool, tool);
}

/* The tool runs twice, from its beginning, and its source is the same. */
static void answers_may_come_with_another_call(void **state) {
    const struct isolation_unit *setup = *state;
    struct caller caller = {.answer = TOOLRACK_ANSWER_ACCEPTED, .content = "{\"n\":1}"};
    caller.later = true;
    expect_unanswered(setup->host, "twice", &caller);
    assert_int_equal(caller.asked, 1); /* not a second time in a call that has ended */
    assert_string_equal(caller.lines, "0 run  1\n");
    caller.later = false;
    caller.later_from = 2;
    expect_unanswered(setup->host, "twice", &caller);
    assert_string_equal(caller.seen,
                        "ask-1 form First? {\"type\":\"object\",\"properties\":{}} - "
                        "second form Second? {\"type\":\"object\",\"properties\":{}} -");
    caller.later_from = 0;
    expect(setup->host, "twice", &caller, "\"run 3: 0 {\\\"n\\\":1}, 0 {\\\"n\\\":1}\"");
    /* Whatever the tool returns. */
    caller.later = true;
    expect_unanswered(setup->host, "fails", &caller);
    expect_unanswered(setup->host, "typed", &caller);
    expect_unanswered(setup->host, "form", &caller);
}

static uint64_t number_in(const char *json, const char *member) {
    const char *at = strstr(json, member);
    return at != NULL ? strtoull(at + strlen(member) + 1, NULL, 10) : UINT64_MAX;
}

static void such_a_call_is_neither_success_nor_failure(void **state) {
    const struct isolation_unit *setup = *state;
    struct caller caller = {.later = true};
    for (int i = 0; i < 6; i++) { /* more than a tool may fail before it is on the blacklist */
        expect_unanswered(setup->host, "fails", &caller);
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(setup->host, "fails");
    struct toolrack_tool_statistics counted = TOOLRACK_TOOL_STATISTICS_INIT;
    toolrack_tool_statistics(tool, &counted);
    assert_int_equal(counted.calls, 0);
    assert_int_equal(counted.failures, 0);
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *log = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *statistics = NULL;
    struct toolrack_error err;
    struct toolrack_log_filter filter = TOOLRACK_LOG_FILTER_INIT;
    assert_int_equal(toolrack_log(setup->host, &filter, &log, &err), 0);
    unsigned lines = 0;
    for (const char *at = toolrack_text_data(log, NULL);
         (at = strstr(at, "\"error.type\":\"InputRequired\"")) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 6);
    caller.later = false;
    struct outcome outcome;
    call(setup->host, "fails", NULL, &caller, &outcome);
    assert_int_equal(outcome.code, TOOLRACK_E_EXECUTION_FAILED);
    assert_int_equal(toolrack_statistics(setup->host, "fails", &statistics, &err), 0);
    assert_int_equal(number_in(toolrack_text_data(statistics, NULL), "\"calls\""), 1);
    assert_int_equal(number_in(toolrack_text_data(statistics, NULL), "\"failures\""), 1);
}

/* The wait is longer than the deadline, and both than what a loaded machine needs for the rest. */
static void time_of_a_question_does_not_count(void **state) {
    const struct isolation_unit *setup = *state;
    struct caller caller = {.answer = TOOLRACK_ANSWER_ACCEPTED};
    expect(setup->host, "form", &caller, "\"0 {} goes on\""); /* its plugin is loaded now */
    struct toolrack_call_options options = options_for(&caller);
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    options.deadline_ms = 1000;
    caller.wait_ms = 1200;
    if (toolrack_call(setup->host, "twice", NULL, &options, &result, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_true(toolrack_result_duration_ns(result) < 2 * caller.wait_ms * CLOCK_NS_PER_MS);
    toolrack_result_free(result);
}

struct waited {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;
    struct outcome outcome;
};

static void on_done(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct waited *waited = user;
    (void)pthread_mutex_lock(&waited->lock);
    waited->outcome.code = err != NULL ? err->code : 0;
    if (err != NULL) {
        waited->outcome.err = *err;
    }
    take(&waited->outcome, result);
    waited->over = true;
    (void)pthread_cond_signal(&waited->changed);
    (void)pthread_mutex_unlock(&waited->lock);
}

static void await(struct waited *waited) {
    (void)pthread_mutex_lock(&waited->lock);
    AWAIT_SIGNALLED(waited->over, &waited->changed, &waited->lock);
    (void)pthread_mutex_unlock(&waited->lock);
}

static void a_submitted_call_asks_too(void **state) {
    const struct isolation_unit *setup = *state;
    struct caller caller = {.answer = TOOLRACK_ANSWER_ACCEPTED};
    struct toolrack_call_options options = options_for(&caller);
    struct waited waited = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, {0}};
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(setup->host, "form");
    /* By reference, before the plugin was copied. */
    assert_int_equal(toolrack_submit_tool(setup->host, tool, "{}", 2, &options, on_done, &waited,
                                          NULL, NULL),
                     0);
    await(&waited);
    assert_string_equal(waited.outcome.json, "\"0 {} goes on\"");
    options.deadline_ms = 1000;
    caller.wait_ms = 1200;
    waited.over = false;
    assert_int_equal(
            toolrack_submit(setup->host, "form", NULL, &options, on_done, &waited, NULL, NULL), 0);
    await(&waited);
    assert_int_equal(waited.outcome.code, 0);
    caller.wait_ms = 0;
    caller.later = true;
    waited.over = false;
    assert_int_equal(
            toolrack_submit(setup->host, "form", NULL, &options, on_done, &waited, NULL, NULL), 0);
    await(&waited);
    assert_int_equal(waited.outcome.code, TOOLRACK_E_INPUT_REQUIRED);
}

/* Cancels the call that asks. */
struct canceller {
    struct caller caller;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct toolrack_call *call;
    bool asks;
};

static int give_after_cancel(void *user, struct toolrack_input *inputs, size_t count) {
    struct canceller *canceller = user;
    (void)pthread_mutex_lock(&canceller->lock);
    AWAIT_SIGNALLED(canceller->call != NULL, &canceller->changed, &canceller->lock);
    (void)pthread_mutex_unlock(&canceller->lock);
    toolrack_cancel(canceller->call);
    for (size_t i = 0; i < count; i++) {
        inputs[i].answer = TOOLRACK_ANSWER_ACCEPTED;
    }
    return 0;
}

static void an_answer_after_cancelling_is_of_no_use(void **state) {
    const struct isolation_unit *setup = *state;
    struct canceller canceller = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                  .changed = PTHREAD_COND_INITIALIZER};
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct waited waited = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, {0}};
    struct toolrack_call *submitted = NULL;
    options.user = &canceller;
    options.input = give_after_cancel;
    assert_int_equal(toolrack_submit(setup->host, "fails", NULL, &options, on_done, &waited,
                                     &submitted, NULL),
                     0);
    (void)pthread_mutex_lock(&canceller.lock);
    canceller.call = submitted;
    (void)pthread_cond_signal(&canceller.changed);
    (void)pthread_mutex_unlock(&canceller.lock);
    await(&waited);
    assert_true(waited.outcome.code == TOOLRACK_E_CANCELLED ||
                waited.outcome.code == TOOLRACK_E_EXECUTION_FAILED);
    toolrack_call_unref(submitted);
}

/* --------------------------------------------------------- beside inputs: approve, log, events */

static int approve(void *user, const struct toolrack_approval_request *request) {
    struct caller *caller = user;
    caller->approvals++;
    assert_string_equal(request->tool, "sure");
    return caller->approval;
}

static void each_call_may_have_its_own_approver(void **state) {
    const struct isolation_unit *setup = *state;
    struct caller caller = {.approval = TOOLRACK_APPROVAL_ALLOW_ONCE};
    struct outcome outcome;
    call(setup->host, "sure", NULL, &caller, &outcome);
    assert_int_equal(outcome.code, TOOLRACK_E_CONFIRMATION_REQUIRED);
    struct toolrack_call_options options = options_for(&caller);
    struct toolrack_result *result = NULL;
    options.approve = approve;
    assert_int_equal(toolrack_call(setup->host, "sure", NULL, &options, &result, NULL), 0);
    toolrack_result_free(result);
    caller.approval = TOOLRACK_APPROVAL_DENY;
    assert_int_equal(toolrack_call(setup->host, "sure", NULL, &options, &result, NULL),
                     TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(caller.approvals, 2);
}

/* A listener that counts, and removes itself at its second event. */
struct listening {
    struct toolrack *host;
    atomic_uint heard;
    bool leaves;
};

static void listen_to(void *user, const struct toolrack_event *event) {
    struct listening *listening = user;
    if (event->kind == TOOLRACK_EVENT_CHANGED && atomic_fetch_add(&listening->heard, 1) == 1 &&
        listening->leaves) {
        toolrack_remove_listener(listening->host, listen_to, listening);
    }
}

static void listeners_come_and_go(void **state) {
    const struct isolation_unit *setup = *state;
    struct listening stays = {.host = setup->host};
    struct listening leaves = {.host = setup->host, .leaves = true};
    struct toolrack_error err;
    assert_int_equal(toolrack_add_listener(setup->host, listen_to, &leaves, &err), 0);
    assert_int_equal(toolrack_add_listener(setup->host, listen_to, &stays, &err), 0);
    assert_int_equal(toolrack_add_listener(setup->host, listen_to, &stays, &err),
                     TOOLRACK_E_EXISTS);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(toolrack_set_enabled(setup->host, "form", i % 2 != 0, NULL, &err), 0);
    }
    assert_int_equal(atomic_load(&leaves.heard), 2);
    assert_int_equal(atomic_load(&stays.heard), 4);
    toolrack_remove_listener(setup->host, listen_to, &stays);
    toolrack_remove_listener(setup->host, listen_to, &stays);
    assert_int_equal(toolrack_set_enabled(setup->host, "form", false, NULL, &err), 0);
    assert_int_equal(atomic_load(&stays.heard), 4);
    assert_int_equal(toolrack_add_listener(setup->host, listen_to, &stays, &err), 0);
    assert_int_equal(toolrack_set_enabled(setup->host, "form", true, NULL, &err), 0);
    assert_int_equal(atomic_load(&stays.heard), 5);
}

/* One thread makes events, another removes and adds a listener: none is called after its removal.
 */
struct mover {
    struct toolrack *host;
    atomic_bool stop;
};

static void *make_events(void *user) {
    struct mover *mover = user;
    for (bool on = false; !atomic_load(&mover->stop); on = !on) {
        assert_int_equal(toolrack_set_enabled(mover->host, "each", on, NULL, NULL), 0);
    }
    return NULL;
}

static void expect_listening(void *user, const struct toolrack_event *event) {
    (void)event;
    assert_true(atomic_load((atomic_bool *)user));
}

static void a_removed_listener_is_called_no_more(void **state) {
    const struct isolation_unit *setup = *state;
    struct mover mover = {.host = setup->host};
    atomic_bool listens = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_events, &mover), 0);
    for (int i = 0; i < 200; i++) {
        atomic_store(&listens, true);
        assert_int_equal(toolrack_add_listener(setup->host, expect_listening, &listens, NULL), 0);
        toolrack_remove_listener(setup->host, expect_listening, &listens);
        atomic_store(&listens, false);
    }
    atomic_store(&mover.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

#define BOTH(test)                                                      \
    {#test " (in process)", test, in_process, isolation_close, NULL}, { \
#test " (in workers)", test, in_workers, isolation_close, NULL  \
    }

int main(void) {
    const struct CMUnitTest tests[] = {
            BOTH(a_form_is_answered),
            BOTH(several_things_are_asked_for_at_once),
            BOTH(an_older_app_answers_forms),
            BOTH(wrong_questions_fail_the_call),
            BOTH(answers_may_come_with_another_call),
            BOTH(such_a_call_is_neither_success_nor_failure),
            BOTH(time_of_a_question_does_not_count),
            BOTH(a_submitted_call_asks_too),
            BOTH(an_answer_after_cancelling_is_of_no_use),
            BOTH(each_call_may_have_its_own_approver),
            cmocka_unit_test_setup_teardown(listeners_come_and_go, in_process, isolation_close),
            cmocka_unit_test_setup_teardown(a_removed_listener_is_called_no_more, in_process,
                                            isolation_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
