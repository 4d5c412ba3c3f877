/* A model's turn through the embedding API: which calls run, when, and what becomes of them. */
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

#include "base/buf.h"
#include "base/cleanup.h"
#include "patience.h"
#include "toolrack/format.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_result, toolrack_result_free)

/* ------------------------------------------------------------------- tools */

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second", TR_DEFAULT(1)))

static tr_status own(struct tr_call *call) {
    return tr_reply_json(call, "{\"content\":[],\"structuredContent\":{\"n\":\"no number\"}}");
}
TR_JSON_TOOL(own,
             ("Has JSON that looks like content",
              .result_schema = TR_SCHEMA({"type" : "object", "required" : ["content"]})),
             TR_SCHEMA({"type" : "object"}))

static tr_status shot(struct tr_call *call) {
    (void)tr_reply_text(call, "seen");
    return tr_reply_image(call, "\x89PNG", 4, "image/png");
}
TR_JSON_TOOL(shot, "Gives a picture", TR_SCHEMA({"type" : "object"}))

static tr_status about(struct tr_call *call) {
    return tr_reply_textf(call, "%s %s %s %s", tr_context(call, TR_CONTEXT_CALLER),
                          tr_context(call, TR_CONTEXT_CHANNEL),
                          tr_context(call, TR_CONTEXT_CONVERSATION),
                          tr_context(call, TR_CONTEXT_TRACE));
}
TR_JSON_TOOL(about, "Tells of its call", TR_SCHEMA({"type" : "object"}))

static tr_status asks(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(asks, ("Needs consent", .permission = TR_CONFIRM), TR_SCHEMA({"type" : "object"}))

static tr_status keys(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(keys, "Has odd names of properties", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "filter[name]" : {"type" : "string"},
                     "input" : {"type" : "object"},
                     "n" : {"type" : "integer"}
                 },
                 "additionalProperties" : false
             }))

static tr_status query(struct tr_call *call) {
    return tr_fail(call, TR_INVALID_ARGUMENTS, "/$filter/0", "there is no such field");
}
TR_JSON_TOOL(query, "Has names of OData", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "$filter" : {"type" : "array", "items" : {"type" : "string"}},
                     "$top" : {"type" : "integer"},
                     "$skip" : {"type" : "integer"},
                     "opts" : {
                         "type" : "object",
                         "properties" : {"$deep" : {"type" : "integer"}},
                         "additionalProperties" : false
                     }
                 },
                 "required" : ["$filter"],
                 "dependentRequired" : {"$skip" : ["$top"]},
                 "additionalProperties" : false
             }))

static tr_status either(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(either, "Has odd names in alternatives", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"@type" : {"type" : "string"}},
                 "oneOf" : [
                     {
                         "properties" : {"@type" : {"const" : "id"}, "@id" : {"type" : "integer"}},
                         "required" : [ "@type", "@id" ]
                     },
                     {
                         "properties" : {"@type" : {"const" : "url"}, "@url" : {"type" : "string"}},
                         "required" : [ "@type", "@url" ]
                     }
                 ],
                 "unevaluatedProperties" : false
             }))

static tr_status nothing(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(nothing, "Takes whatever is given", TR_SCHEMA({"type" : "object"}))

static tr_status open_ended(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(open_ended, "Takes more than it lists", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"n" : {"type" : "integer"}, "s" : {"type" : "string"}}
             }))

static tr_status needs(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(needs, "Takes more than it requires", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"n" : {"type" : "integer"}},
                 "required" : ["n"]
             }))

/* Calls of `meet` return when so many are inside as they say. */
static pthread_mutex_t meeting_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t meeting = PTHREAD_COND_INITIALIZER;
static int64_t met;

static int64_t meet(int64_t count) {
    (void)pthread_mutex_lock(&meeting_lock);
    met++;
    (void)pthread_cond_broadcast(&meeting);
    AWAIT_SIGNALLED(met >= count, &meeting, &meeting_lock);
    (void)pthread_mutex_unlock(&meeting_lock);
    return count;
}
TR_TOOL(meet, "Waits for others", TR_I64, (TR_I64, count, "how many"))

/* Returns when it is asked to. */
static tr_status waits(struct tr_call *call) {
    AWAIT(tr_cancelled(call));
    return tr_fail(call, TR_CANCELLED, NULL, "it was told to end");
}
TR_JSON_TOOL(waits, "Waits for its end", TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(("answers", .flags = TR_THREAD_SAFE), "1.0.0", add, own, shot, about, asks, keys, query,
          either, nothing, open_ended, needs, meet, waits)

/* Another plugin, whose id is a word that models write before names. */
static tr_status tools_shot(struct tr_call *call) {
    return tr_reply_text(call, "of tools");
}
TR_JSON_TOOL(tools_shot, "Has a name that may be read in two ways", TR_SCHEMA({"type" : "object"}))
static tr_status wipe(struct tr_call *call) {
    return tr_reply_text(call, "wiped");
}
TR_JSON_TOOL(wipe, "Removes", TR_SCHEMA({"type" : "object"}))
static tr_status b__wipe(struct tr_call *call) {
    return tr_reply_text(call, "wiped b");
}
TR_JSON_TOOL(b__wipe, "Removes b", TR_SCHEMA({"type" : "object"}))
static const struct tr_tool *const tools_of_tools[] = {&tr_tool_tools_shot, &tr_tool_wipe,
                                                       &tr_tool_b__wipe};
static const struct tr_plugin plugin_tools = {.magic = TR_MAGIC,
                                              .size = sizeof(struct tr_plugin),
                                              .abi_major = TR_ABI_MAJOR,
                                              .abi_minor = TR_ABI_MINOR,
                                              .id = "tools",
                                              .version = "1.0.0",
                                              .tool_count = ARRAY_LENGTH(tools_of_tools),
                                              .tool_size = sizeof(struct tr_tool),
                                              .tools = tools_of_tools};

/* Comes and goes. */
static tr_status late(struct tr_call *call) {
    return tr_reply_text(call, "here");
}
TR_JSON_TOOL(late, "Comes late", TR_SCHEMA({"type" : "object"}))
static const struct tr_tool *const late_tools[] = {&tr_tool_late};
static const struct tr_plugin plugin_late = {.magic = TR_MAGIC,
                                             .size = sizeof(struct tr_plugin),
                                             .abi_major = TR_ABI_MAJOR,
                                             .abi_minor = TR_ABI_MINOR,
                                             .id = "late",
                                             .version = "1.0.0",
                                             .tool_count = ARRAY_LENGTH(late_tools),
                                             .tool_size = sizeof(struct tr_tool),
                                             .tools = late_tools};

static struct toolrack *host;

static int open_host(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0 ||
        toolrack_register(host, &toolrack_plugin, NULL, &err) < 0 ||
        toolrack_register(host, &plugin_tools, NULL, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
        return -1;
    }
    return 0;
}

static int close_host(void **state) {
    (void)state;
    toolrack_close(host);
    return 0;
}

/* ------------------------------------------------------------------- turns */

static void answers(enum toolrack_format format, const char *message,
                    const struct toolrack_call_options *options, const char *wanted) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_error err;
    size_t length = 0;
    if (toolrack_answer(host, format, message, strlen(message), options, &text, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(toolrack_text_data(text, &length), wanted);
    assert_int_equal(length, strlen(wanted));
}

#define CALL(id, name, input) \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"" name "\",\"input\":" input "}"
#define RESULT(id, rest) \
    "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":" rest "}"
#define MESSAGE(calls)     "{\"role\":\"assistant\",\"content\":[" calls "]}"
#define ANSWER(results)    "[{\"role\":\"user\",\"content\":[" results "]}]"
#define FAILURE(text)      "\"" text "\",\"is_error\":true"
#define ANTHROPIC(m, o, a) answers(TOOLRACK_FORMAT_ANTHROPIC, MESSAGE(m), o, ANSWER(a))

static void results_stand_in_the_order_of_the_calls(void **state) {
    (void)state;
    ANTHROPIC(
            CALL("a", "add", "{\"a\":1,\"b\":2}") "," CALL("b", "shot", "{}") "," CALL(
                    "c", "add", "{}") "," CALL("d", "ad",
                                               "{}") "," CALL("e", "add",
                                                              "\"{\"") "," CALL("f", "add",
                                                                                "{\"a\":5}"),
            NULL,
            RESULT("a", "\"3.0\"") "," RESULT(
                    "b",
                    "[{\"type\":\"text\",\"text\":\"seen\"},{\"type\":\"image\",\"source\":"
                    "{\"type\":\"base64\",\"media_type\":\"image/"
                    "png\",\"data\":\"iVBORw==\"}}]") "," RESULT("c",
                                                                 FAILURE("InvalidArguments: "
                                                                         "/a: required "
                                                                         "property "
                                                                         "\\\"a\\\" is "
                                                                         "missing")) "," RESULT("d",
                                                                                                FAILURE("NotFound: Tool 'ad' not found; did you mean 'add'?")) "," RESULT("e",
                                                                                                                                                                          FAILURE("InvalidArguments: the arguments are not JSON: unexpected end "
                                                                                                                                                                                  "of data at byte 1; call the tool again with one complete JSON object")) "," RESULT("f",
                                                                                                                                                                                                                                                                      "\"6.0\""));
    ANTHROPIC(CALL("a", "add", "{\"a\":1,\"a\":2}") "," CALL("b", "add",
                                                             "\"{\\\"a\\\":1,\\\"a\\\":2}\""),
              NULL,
              RESULT("a", FAILURE("InvalidArguments: /a: is given twice; give it once")) "," RESULT(
                      "b", FAILURE("InvalidArguments: /a: is given twice; give it once")));
    answers(TOOLRACK_FORMAT_ANTHROPIC, MESSAGE(""), NULL, "[]");
    answers(TOOLRACK_FORMAT_GEMINI, "{\"candidates\":[]}", NULL, "[]");
    /* The model of the call goes before that of the message. */
    static const char message[] =
            "{\"modelVersion\":\"gemini-2.5-pro\",\"candidates\":[{\"content\":{"
            "\"parts\":[{\"functionCall\":{\"name\":\"shot\"}}]}}]}";
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    answers(TOOLRACK_FORMAT_GEMINI, message, &options,
            "[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"shot\",\"response\":{"
            "\"output\":\"seen\\n(an image, image/png, 4 bytes: it cannot be shown here)\"}}}]}]");
    options.model = "gemini-3-pro";
    answers(TOOLRACK_FORMAT_GEMINI, message, &options,
            "[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"shot\",\"response\":{"
            "\"output\":\"seen\"},\"parts\":[{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":"
            "\"iVBORw==\"}}]}}]}]");
}

static void calls_run_side_by_side(void **state) {
    (void)state;
    met = 0;
    ANTHROPIC(CALL("a", "meet", "{\"count\":3}") "," CALL("b", "meet", "{\"count\":3}") "," CALL(
                      "c", "meet", "{\"count\":3}"),
              NULL, RESULT("a", "\"3\"") "," RESULT("b", "\"3\"") "," RESULT("c", "\"3\""));
}

static void json_that_looks_like_content_is_json(void **state) {
    (void)state;
    answers(TOOLRACK_FORMAT_OPENAI,
            "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"own\"}}"
            "]}",
            NULL,
            "[{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"{\\\"content\\\":[],"
            "\\\"structuredContent\\\":{\\\"n\\\":\\\"no number\\\"}}\"}]");
    CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
    struct toolrack_result *picture = NULL;
    assert_int_equal(toolrack_call(host, "own", "{}", NULL, &result, NULL), 0);
    assert_false(toolrack_result_is_content(result));
    assert_int_equal(toolrack_call(host, "shot", "{}", NULL, &picture, NULL), 0);
    assert_true(toolrack_result_is_content(picture));
    toolrack_result_free(picture);
}

static void options_reach_every_call(void **state) {
    (void)state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.caller = "me";
    options.conversation = "talk";
    options.trace = "t1";
    ANTHROPIC(CALL("a", "about", "{}") "," CALL("b", "about", "{}"), &options,
              RESULT("a", "\"me api talk t1\"") "," RESULT("b", "\"me api talk t1\""));
    options.channel = "mcp";
    options.confirmed = true;
    ANTHROPIC(CALL("a", "asks", "{}") "," CALL("b", "about", "{}") "," CALL("c", "asks", "{}"),
              &options,
              RESULT("a", "\"done\"") "," RESULT("b", "\"me mcp talk t1\"") "," RESULT("c",
                                                                                       "\"done\""));
}

/* That `part` stands twice in what answers a message. */
static void says_twice(const char *message, const struct toolrack_call_options *options,
                       const char *part) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_answer(host, TOOLRACK_FORMAT_ANTHROPIC, message, strlen(message),
                                     options, &text, NULL),
                     0);
    const char *answer = toolrack_text_data(text, NULL);
    const char *first = strstr(answer, part);
    if (first == NULL || strstr(first + 1, part) == NULL) {
        fail_msg("%s", answer);
    }
}

static void a_deadline_holds_for_each_call(void **state) {
    (void)state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = 20;
    says_twice(MESSAGE(CALL("a", "waits", "{}") "," CALL("b", "waits", "{}")), &options,
               "\"Timeout: ");
}

static void nobody_consents_for_a_model(void **state) {
    (void)state;
    says_twice(MESSAGE(CALL("a", "asks", "{}") "," CALL("b", "asks", "{}")), NULL,
               "\"ConfirmationRequired: ");
}

struct questions {
    atomic_uint at_once;
    char asked[256];
};

/* Says no to every second. */
static int take_question(void *user, const struct toolrack_approval_request *request) {
    struct questions *questions = user;
    assert_int_equal(atomic_fetch_add(&questions->at_once, 1), 0);
    size_t length = strlen(questions->asked);
    const char *number = strrchr(request->reason, '(');
    (void)snprintf(questions->asked + length, sizeof questions->asked - length, "%s %s; ",
                   request->arguments, number != NULL ? number : "");
    (void)atomic_fetch_sub(&questions->at_once, 1);
    return strstr(request->arguments, "2}") != NULL ? TOOLRACK_APPROVAL_DENY
                                                    : TOOLRACK_APPROVAL_ALLOW_ONCE;
}

static void questions_come_in_the_order_of_the_calls(void **state) {
    (void)state;
    struct questions questions = {.asked = ""};
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.approve = take_question;
    options.user = &questions;
    options.conversation = "talk"; /* all are submitted */
    for (int i = 0; i < 2; i++) {
        questions.asked[0] = '\0';
        ANTHROPIC(CALL("a", "asks", "{\"n\":1}") "," CALL("b", "asks", "{\"n\":2}") "," CALL(
                          "c", "add", "{\"a\":1}") "," CALL("d", "asks", "{\"n\":3}"),
                  &options,
                  RESULT("a", "\"done\"") "," RESULT(
                          "b",
                          FAILURE("PermissionDenied: Tool 'asks' was "
                                  "denied by approver")) "," RESULT("c",
                                                                    "\"2.0\"") "," RESULT("d",
                                                                                          "\"done"
                                                                                          "\""));
        assert_string_equal(questions.asked,
                            "{\"n\":1} (question 1 of 3); {\"n\":2} (question 2 of 3); "
                            "{\"n\":3} (question 3 of 3); ");
        options.conversation = NULL; /* the last one runs on this thread */
    }
    questions.asked[0] = '\0';
    ANTHROPIC(CALL("a", "asks", "{\"n\":1}") "," CALL("b", "add", "{\"a\":1}"), &options,
              RESULT("a", "\"done\"") "," RESULT("b", "\"2.0\""));
    assert_string_equal(questions.asked, "{\"n\":1} ; ");
}

/* A call by a name, its arguments as a JSON value, and the result. */
struct call_row {
    enum toolrack_format format;
    const char *name;
    const char *arguments;
    const char *result;
};

static void check_calls(const struct call_row *rows, size_t count,
                        const struct toolrack_call_options *options) {
    for (size_t i = 0; i < count; i++) {
        CLEANUP(buf_finish) struct buf message = BUF_INIT;
        CLEANUP(buf_finish) struct buf wanted = BUF_INIT;
        if (rows[i].format == TOOLRACK_FORMAT_GEMINI) {
            buf_printf(&message, "{\"parts\":[{\"functionCall\":{\"name\":\"%s\",\"args\":%s}}]}",
                       rows[i].name, rows[i].arguments);
            buf_printf(&wanted,
                       "[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"%s\","
                       "\"response\":{%s}}}]}]",
                       rows[i].name, rows[i].result);
        } else {
            buf_printf(&message, MESSAGE(CALL("a", "%s", "%s")), rows[i].name, rows[i].arguments);
            buf_printf(&wanted, ANSWER(RESULT("a", "%s")), rows[i].result);
        }
        answers(rows[i].format, message.data, options, wanted.data);
    }
}

#define A TOOLRACK_FORMAT_ANTHROPIC
#define G TOOLRACK_FORMAT_GEMINI

static void names_and_arguments_that_are_nearly_right_are_taken(void **state) {
    (void)state;
    static const struct call_row rows[] = {
            {A, "functions.add", "{\"a\":1}", "\"2.0\""},
            {A, "default_api.add", "{\"a\":1}", "\"2.0\""},
            {A, "default_api:add", "{\"a\":1}", "\"2.0\""},
            {A, "mcp__answers__add", "{\"a\":1}", "\"2.0\""},
            {A, "mcp__my__server__add", "{\"a\":1}",
             FAILURE("NotFound: Tool 'mcp__my__server__add' not found; did you mean 'add'?")},
            {A, "add<|channel|>commentary", "{\"a\":1}",
             FAILURE("NotFound: Tool 'add<|channel|>commentary' not found; did you mean 'add'?")},
            {A, "functions.", "{}", FAILURE("NotFound: Tool 'functions.' not found")},
            {A, "functions.mcp__answers__add", "{\"a\":1}", "\"2.0\""},
            /* The server is the plugin that the tool must be of. */
            {A, "mcp__safe__wipe", "{}",
             FAILURE("NotFound: Tool 'mcp__safe__wipe' not found; did you mean 'wipe'?")},
            {A, "functions.mcp__safe__wipe", "{}",
             FAILURE("NotFound: Tool 'functions.mcp__safe__wipe' not found; did you mean 'wipe'?")},
            {A, "mcp__tools__wipe", "{}", "\"wiped\""},
            {A, "tools.wipe", "{}", "\"wiped\""},
            {A, "default_api:wipe", "{}", "\"wiped\""},
            /* A word that is a plugin's name means only this plugin. */
            {A, "tools.add", "{\"a\":1}",
             FAILURE("NotFound: Tool 'tools.add' not found; did you mean 'add'?")},
            /* Two readings: `tools_shot`, or `shot`. */
            {A, "tools.shot", "{}",
             FAILURE("NotFound: Tool 'tools.shot' not found; did you mean 'shot'?")},
            {A, "mcp__tools__b__wipe", "{}", "\"wiped b\""},
            {A, "add", "{\"arguments\":{\"a\":1}}", "\"2.0\""},
            {A, "add", "{\"parameters\":\"{\\\"a\\\":1}\"}", "\"2.0\""},
            {A, "add", "\"{\\\"input\\\":{\\\"a\\\":1}}\"", "\"2.0\""},
            {A, "keys", "{\"input\":{\"n\":1}}", "\"{\\\"input\\\":{\\\"n\\\":1}}\""},
            {A, "keys", "{\"arguments\":{\"n\":1}}", "\"{\\\"n\\\":1}\""},
            /* What the tool takes as it is, is not taken out. */
            {A, "nothing", "{\"input\":{}}", "\"{\\\"input\\\":{}}\""},
            {A, "open_ended", "{\"input\":{\"n\":1}}", "\"{\\\"input\\\":{\\\"n\\\":1}}\""},
            {A, "needs", "{\"input\":{\"n\":1}}", "\"{\\\"n\\\":1}\""},
            {A, "needs", "{\"input\":{\"m\":1}}",
             FAILURE("InvalidArguments: /n: required property \\\"n\\\" is missing")},
            {A, "keys", "{\"filter_name__6cbf7116ed87\":\"x\",\"n\":1}",
             "\"{\\\"filter[name]\\\":\\\"x\\\",\\\"n\\\":1}\""},
            {A, "keys", "{\"filter[name]\":\"x\"}", "\"{\\\"filter[name]\\\":\\\"x\\\"}\""},
            {G, "keys", "{\"arguments\":{\"filter_name__6cbf7116ed87\":\"x\"}}",
             "\"output\":{\"filter[name]\":\"x\"}"},
    };
    check_calls(rows, ARRAY_LENGTH(rows), NULL);
}

/* A model knows a property by the name in its definition only. */
static void mistakes_are_told_by_the_names_that_the_model_was_given(void **state) {
    (void)state;
    static const struct call_row rows[] = {
            {A, "query", "{}",
             FAILURE("InvalidArguments: /_filter_c41d4e355363: required property "
                     "\\\"_filter_c41d4e355363\\\" is missing")},
            {A, "query", "{\"_filter_c41d4e355363\":1}",
             FAILURE("InvalidArguments: /_filter_c41d4e355363: must be an array, not an integer; "
                     "give an array that has it as its only item; also /_filter_c41d4e355363/0: "
                     "must be a string, not an integer; write it in quotes")},
            {A, "query", "{\"$filter\":[1]}",
             FAILURE("InvalidArguments: /_filter_c41d4e355363/0: must be a string, not an integer; "
                     "write it in quotes")},
            {A, "query", "{\"_filter_c41d4e355363\":[],\"filters\":1}",
             FAILURE("InvalidArguments: /filters: unknown property \\\"filters\\\"; did you mean "
                     "\\\"_filter_c41d4e355363\\\"?")},
            {A, "query", "{\"_filter_c41d4e355363\":[],\"x y\":1}",
             FAILURE("InvalidArguments: /x y: unknown property \\\"x y\\\"; the known properties "
                     "are \\\"_filter_c41d4e355363\\\", \\\"_top_a8241707509c\\\", "
                     "\\\"_skip_6ebf44b40ad3\\\", \\\"opts\\\"")},
            {A, "query", "{\"_filter_c41d4e355363\":[],\"SKIP\":1}",
             FAILURE("InvalidArguments: /SKIP: unknown property \\\"SKIP\\\"; did you mean "
                     "\\\"_skip_6ebf44b40ad3\\\"?")},
            {A, "query", "{\"_filter_c41d4e355363\":[],\"opts\":{\"SKIP\":2}}",
             FAILURE("InvalidArguments: /opts/SKIP: unknown property \\\"SKIP\\\"; the only known "
                     "property is \\\"$deep\\\"")},
            {A, "query", "{\"_filter_c41d4e355363\":[],\"$deep\":2}",
             FAILURE("InvalidArguments: /$deep: unknown property \\\"$deep\\\"; put \\\"$deep\\\" "
                     "inside \\\"opts\\\"")},
            {A, "query", "{\"_filter_c41d4e355363\":[],\"opts.$deep\":2}",
             FAILURE("InvalidArguments: /opts.$deep: unknown property \\\"opts.$deep\\\"; put it "
                     "at /opts/$deep")},
            {A, "query", "{\"opts\":{\"$filter\":[]}}",
             FAILURE("InvalidArguments: /_filter_c41d4e355363: required property "
                     "\\\"_filter_c41d4e355363\\\" is missing; also /opts/$filter: unknown "
                     "property \\\"$filter\\\"; put it at /_filter_c41d4e355363")},
            {A, "query", "{\"_filter_c41d4e355363\":[],\"_skip_6ebf44b40ad3\":2}",
             FAILURE("InvalidArguments: /_top_a8241707509c: required property "
                     "\\\"_top_a8241707509c\\\" is missing; \\\"_skip_6ebf44b40ad3\\\" requires "
                     "it")},
            {A, "query", "{\"_filter_c41d4e355363\":[\"a\"]}",
             FAILURE("InvalidArguments: /_filter_c41d4e355363/0: there is no such field")},
            {A, "query", "{\"_filter_c41d4e355363\":\"[]\",\"opts\":\"{}\"}",
             FAILURE("InvalidArguments: /_filter_c41d4e355363/0: there is no such field; the "
                     "argument /_filter_c41d4e355363 was changed to fit: json-text; the argument "
                     "/opts was changed to fit: json-text")},
            {A, "query", "{\"_filter_c41d4e355363\":[],\"$filter\":[]}",
             FAILURE("InvalidArguments: /_filter_c41d4e355363: is given twice; give it once")},
            {A, "either", "{}",
             FAILURE("InvalidArguments: /_type_1d1b8bb95c5f: required property "
                     "\\\"_type_1d1b8bb95c5f\\\" is missing; also /_id_2a5e8fcfc84d: required "
                     "property \\\"_id_2a5e8fcfc84d\\\" is missing")},
            {A, "either", "{\"@type\":\"x\"}",
             FAILURE("InvalidArguments: /_type_1d1b8bb95c5f: must be one of \\\"id\\\", "
                     "\\\"url\\\", not \\\"x\\\"; \\\"id\\\" needs \\\"_id_2a5e8fcfc84d\\\", and "
                     "\\\"url\\\" needs \\\"_url_79542fbed891\\\"")},
            {A, "either", "{\"@type\":\"id\"}",
             FAILURE("InvalidArguments: /_id_2a5e8fcfc84d: required property "
                     "\\\"_id_2a5e8fcfc84d\\\" is missing")},
            {A, "either", "{\"@type\":\"id\",\"@id\":1,\"@url\":\"x\"}",
             FAILURE("InvalidArguments: /_url_79542fbed891: unknown property "
                     "\\\"_url_79542fbed891\\\"")},
            {G, "query", "{\"_filter_c41d4e355363\":1}",
             "\"error\":\"InvalidArguments: /_filter_c41d4e355363: must be an array, not an "
             "integer; give an array that has it as its only item; also /_filter_c41d4e355363/0: "
             "must be a string, not an integer; write it in quotes\""},
    };
    check_calls(rows, ARRAY_LENGTH(rows), NULL);
}

static void what_was_not_offered_is_not_found(void **state) {
    (void)state;
    static const char *const allow[] = {"add", "keys", NULL};
    struct toolrack_export_options offered = TOOLRACK_EXPORT_OPTIONS_INIT;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    static const struct call_row allowed[] = {
            {A, "add", "{\"a\":1}", "\"2.0\""},
            {A, "functions.add", "{\"a\":1}", "\"2.0\""},
            {A, "ad", "{}", FAILURE("NotFound: Tool 'ad' not found; did you mean 'add'?")},
            {A, "add_tool", "{}",
             FAILURE("NotFound: Tool 'add_tool' not found; did you mean 'add'?")},
            {A, "mcp_x_shot", "{}",
             FAILURE("NotFound: Tool 'mcp_x_shot' not found; it was not offered")},
            {A, "shot", "{}", FAILURE("NotFound: Tool 'shot' not found; it was not offered")},
            {A, "functions.shot", "{}",
             FAILURE("NotFound: Tool 'functions.shot' not found; it was not offered")},
            {A, "add@1.0.0", "{}",
             FAILURE("NotFound: Tool 'add@1.0.0' not found; it was not offered")},
            {A, "keys", "{\"filter_name__6cbf7116ed87\":\"x\"}",
             "\"{\\\"filter[name]\\\":\\\"x\\\"}\""},
    };
    static const struct call_row first[] = {
            {A, "add", "{\"a\":1}", "\"2.0\""},
            {A, "keys", "{}", FAILURE("NotFound: Tool 'keys' not found; it was not offered")},
    };
    options.offered = &offered;
    offered.allow = allow;
    check_calls(allowed, ARRAY_LENGTH(allowed), &options);
    offered.limit = 1;
    check_calls(first, ARRAY_LENGTH(first), &options);
    offered.limit = 0;
    offered.budget = 100; /* tokens: the other one has more */
    check_calls(first, ARRAY_LENGTH(first), &options);
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    const char *message = MESSAGE(CALL("a", "add", "{}"));
    offered.profile = "mine";
    assert_int_equal(toolrack_answer(host, A, message, strlen(message), &options, &text, &err),
                     TOOLRACK_E_INVALID);
    assert_non_null(strstr(toolrack_error_message(&err), "no profile 'mine'"));
    assert_null(text);
    /* An app that was built before this option has none. */
    options.size = offsetof(struct toolrack_call_options, offered);
    ANTHROPIC(CALL("a", "shot", "{}") "," CALL("b", "add", "{\"a\":1}"), &options,
              RESULT("a", "[{\"type\":\"text\",\"text\":\"seen\"},{\"type\":\"image\",\"source\":"
                          "{\"type\":\"base64\",\"media_type\":\"image/"
                          "png\",\"data\":\"iVBORw==\"}}]") "," RESULT("b", "\"2.0\""));
}

/* What was registered after the export is not called, nor what was removed. */
static void only_what_was_exported_is_called(void **state) {
    (void)state;
    static const char *const allow[] = {"add", "late", "keys", NULL};
    static const char *const nobody[] = {NULL};
    struct toolrack_export_options export = TOOLRACK_EXPORT_OPTIONS_INIT;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    static const struct call_row before[] = {
            {A, "add", "{\"a\":1}", "\"2.0\""},
            {A, "functions.late", "{}",
             FAILURE("NotFound: Tool 'functions.late' not found; it was not offered")},
            {A, "late", "{}", FAILURE("NotFound: Tool 'late' not found; it was not offered")},
            {A, "keys", "{\"filter_name__6cbf7116ed87\":\"x\"}",
             "\"{\\\"filter[name]\\\":\\\"x\\\"}\""},
    };
    static const struct call_row after[] = {
            {A, "add", "{\"a\":1}", "\"2.0\""},
            {A, "late", "{}", "\"here\""},
    };
    static const struct call_row gone[] = {
            {A, "late", "{}", FAILURE("NotFound: Tool 'late' not found")},
    };
    const struct toolrack_export_options *const exports[] = {NULL, &export};
    export.allow = allow;
    for (size_t i = 0; i < ARRAY_LENGTH(exports); i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *early = NULL;
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *late = NULL;
        assert_int_equal(toolrack_export(host, A, exports[i], &early, NULL, &err), 0);
        assert_int_equal(toolrack_register(host, &plugin_late, NULL, &err), 0);
        assert_int_equal(toolrack_export(host, A, exports[i], &late, NULL, &err), 0);
        options.definitions = early;
        check_calls(before, ARRAY_LENGTH(before), &options);
        options.definitions = late;
        check_calls(after, ARRAY_LENGTH(after), &options);
        assert_int_equal(toolrack_unregister_name(host, "late", &err), 0);
        check_calls(gone, ARRAY_LENGTH(gone), &options);
    }
    /* None at all is not all; definitions of another format, or what is none, are refused. */
    const char *message = MESSAGE(CALL("a", "add", "{}"));
    for (int i = 0; i < 3; i++) {
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
        CLEANUP(toolrack_text_unrefp) struct toolrack_text *answer = NULL;
        export.allow = nobody;
        assert_int_equal(i == 2 ? toolrack_log(host, NULL, &text, &err)
                                : toolrack_export(host, i == 0 ? A : G, &export, &text, NULL, &err),
                         0);
        options.definitions = text;
        int code = toolrack_answer(host, A, message, strlen(message), &options, &answer, &err);
        assert_int_equal(code, i == 0 ? 0 : TOOLRACK_E_INVALID);
        if (i == 0) {
            assert_non_null(strstr(toolrack_text_data(answer, NULL), "it was not offered"));
        } else {
            assert_non_null(strstr(toolrack_error_message(&err), "toolrack_export()"));
        }
    }
}

#undef A
#undef G

/* As many calls as a message may have. */
static void a_long_turn_ends(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *answer = NULL;
    struct toolrack_error err;
    buf_add_text(&text, "[");
    for (int i = 0; i < 1024; i++) {
        buf_printf(&text,
                   "%s{\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"add\","
                   "\"arguments\":{\"a\":%d}}}",
                   i > 0 ? "," : "", i, i);
    }
    buf_add_text(&text, "]");
    assert_int_equal(
            toolrack_answer(host, TOOLRACK_FORMAT_MCP, text.data, text.length, NULL, &answer, &err),
            0);
    buf_clear(&text);
    buf_add_text(&text, "[");
    for (int i = 0; i < 1024; i++) {
        buf_printf(&text,
                   "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[{\"type\":"
                   "\"text\",\"text\":\"%d.0\"}]}}",
                   i > 0 ? "," : "", i, i + 1);
    }
    buf_add_text(&text, "]");
    assert_string_equal(toolrack_text_data(answer, NULL), text.data);
}

static void what_is_no_message_is_refused(void **state) {
    (void)state;
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    assert_int_equal(toolrack_answer(host, TOOLRACK_FORMAT_OPENAI, "[]", 2, NULL, &text, &err),
                     TOOLRACK_E_INVALID);
    assert_int_equal(toolrack_answer(host, TOOLRACK_FORMAT_COUNT, "{}", 2, NULL, &text, &err),
                     TOOLRACK_E_INVALID);
    assert_null(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(results_stand_in_the_order_of_the_calls),
            cmocka_unit_test(calls_run_side_by_side),
            cmocka_unit_test(json_that_looks_like_content_is_json),
            cmocka_unit_test(options_reach_every_call),
            cmocka_unit_test(a_deadline_holds_for_each_call),
            cmocka_unit_test(nobody_consents_for_a_model),
            cmocka_unit_test(questions_come_in_the_order_of_the_calls),
            cmocka_unit_test(names_and_arguments_that_are_nearly_right_are_taken),
            cmocka_unit_test(mistakes_are_told_by_the_names_that_the_model_was_given),
            cmocka_unit_test(what_was_not_offered_is_not_found),
            cmocka_unit_test(only_what_was_exported_is_called),
            cmocka_unit_test(a_long_turn_ends),
            cmocka_unit_test(what_is_no_message_is_refused),
    };
    return cmocka_run_group_tests_name("answer", tests, open_host, close_host);
}
