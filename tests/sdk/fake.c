/* fake - the fake host of toolrack/test.h does what the real one does, with the same tools, arguments
 * and answers: the same results, the same types and fields of errors, and where a tool or its replies
 * are the cause, the same messages. Output is TAP. */
#include <stdlib.h>
#include <string.h>

#include <toolrack/plugin.h>
/* A name of a plugin's source that functions of the header have, too: no warning. */
typedef unsigned char record;
#include <toolrack/test.h>
#include <toolrack/toolrack.h>

/* ------------------------------------------------------------------ tools */

#define SCHEMA_ANY \
    TR_SCHEMA({"type": "object", "properties": {"how": {"type": "string"}, "value": true}})

/* What each getter makes of the argument "value". */
static tr_status get(struct tr_call *call) {
    bool truth = false;
    int64_t i64 = -7;
    uint64_t u64 = 7;
    double f64 = 0.5;
    const char *string = "none";
    struct tr_bytes bytes = {NULL, 0};
    tr_status status[6];
    status[0] = call->api->get_bool(call, "value", &truth);
    status[1] = call->api->get_i64(call, "value", &i64);
    status[2] = call->api->get_u64(call, "value", &u64);
    status[3] = call->api->get_f64(call, "value", &f64);
    status[4] = call->api->get_string(call, "value", &string, NULL);
    status[5] = call->api->get_bytes(call, "value", &bytes);
    return tr_reply_textf(call, "%d%d%d%d%d%d %d %lld %llu %.17g %s %llu %s kind %d count %llu %s",
                          (int)status[0], (int)status[1], (int)status[2], (int)status[3],
                          (int)status[4], (int)status[5], truth, (long long)i64,
                          (unsigned long long)u64, f64, string, (unsigned long long)bytes.size,
                          tr_get_json(call, "value", "no JSON"), (int)tr_kind_of(call, "value"),
                          (unsigned long long)tr_count(call, "value"), tr_arguments(call));
}
TR_JSON_TOOL(get, "Show an argument", SCHEMA_ANY)

/* What stands at the path "how". */
static tr_status at(struct tr_call *call) {
    return tr_reply_text(call, tr_get_json(call, tr_get_string(call, "how", ""), "nothing"));
}
TR_JSON_TOOL(at, "Show what is at a path", SCHEMA_ANY)

static tr_status all(struct tr_call *call) {
    const char *how = "no how";
    int64_t value = -1;
    bool missing = true;
    tr_status status = TR_GET_ALL(call, TR_GET(missing), TR_GET(value), TR_GET(how));
    return tr_reply_textf(call, "%d %s %lld %d", (int)status, how, (long long)value, missing);
}
TR_JSON_TOOL(all, "Read all at once", SCHEMA_ANY)

static tr_status checked(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(checked, "Give the arguments back", TR_SCHEMA({
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 2, "maxLength": 3},
        "number": {"type": "number", "minimum": 1, "exclusiveMaximum": 10, "default": 2.5},
        "whole": {"type": "integer"},
        "flag": {"type": ["boolean", "null"]},
        "choice": {"enum": ["a", 1, null]},
        "list": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 2},
        "inside": {"type": "object", "required": ["a/b"],
                   "properties": {"a/b": {"type": "string"}, "with": {"default": {"x": [1]}}}}
    },
    "required": ["text"],
    "additionalProperties": false
}))

static tr_status put(struct tr_call *call, const char *how) {
    if (strcmp(how, "whole") == 0) {
        (void)tr_put_object(call, NULL);
        (void)tr_put_string(call, "text", "a\"\\\n\x01\xc3\xbc");
        (void)tr_put_array(call, "numbers");
        static const double reals[] = {0,     1,    -1.5, 0.1,     1e20,   1e21,  1e22,    123456.75,
                                       1e-5,  1e-6, 1e-7, 1.5e-10, 2e300,  -0.0,  5e-324,  100,
                                       0.001, 1e15, 1e16, 1.0 / 3, 2e-308, 12e20, 123e-7, 4503599627370497.5};
        for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
            (void)tr_put_f64(call, NULL, reals[i]);
        }
        (void)tr_put_i64(call, NULL, INT64_MIN);
        (void)tr_put_u64(call, NULL, UINT64_MAX);
        (void)tr_put_end(call);
        (void)tr_put_bool(call, "flag", true);
        (void)tr_put_json(call, "json", " {\"a\" : [ 1.50, null ] } ");
        return tr_put_end(call);
    }
    if (strcmp(how, "open") == 0) {
        return tr_put_object(call, NULL);
    }
    if (strcmp(how, "no key") == 0) {
        (void)tr_put_object(call, NULL);
        return tr_put_i64(call, NULL, 1);
    }
    if (strcmp(how, "key") == 0) {
        return tr_put_i64(call, "key", 1);
    }
    if (strcmp(how, "two") == 0) {
        (void)tr_put_i64(call, NULL, 1);
        return tr_put_i64(call, NULL, 1);
    }
    if (strcmp(how, "end") == 0) {
        return tr_put_end(call);
    }
    if (strcmp(how, "nan") == 0) {
        return tr_put_f64(call, NULL, NAN);
    }
    if (strcmp(how, "not json") == 0) {
        return tr_put_json(call, NULL, "{");
    }
    return tr_put_string(call, NULL, "\xff");
}

static tr_status reply(struct tr_call *call) {
    static const struct tr_link link = {sizeof link, "file:///a b", "a", NULL, NULL, NULL, 0};
    static const struct tr_link good = {sizeof good, "file:///a", "a", "A", NULL, "text/plain", 5};
    const char *how = tr_get_string(call, "how", "nothing");
    if (strncmp(how, "put ", 4) == 0) {
        return put(call, how + 4);
    }
    if (strcmp(how, "text") == 0) {
        return tr_reply_text(call, "a\tb \x7f \xf0\x9f\x98\x80");
    }
    if (strcmp(how, "two texts") == 0) {
        (void)tr_reply_text(call, "one");
        return tr_reply_text(call, "two");
    }
    if (strcmp(how, "everything") == 0) {
        (void)tr_reply_image(call, "abcd", 4, "image/png");
        (void)tr_reply_json(call, "{\"a\":\n1.50}");
        (void)tr_reply_audio(call, "ab", 2, "audio/wav");
        (void)tr_reply_resource_text(call, "notes://a", "text/plain", "text");
        (void)tr_reply_resource_bytes(call, "notes://b", NULL, "xyz", 3);
        (void)tr_reply_link(call, &good);
        return tr_reply_content(call, "{\"type\": \"text\", \"text\": \"t\"}");
    }
    if (strcmp(how, "link") == 0) {
        return link.bytes == 0 ? tr_reply_text(call, "links with spaces are the host's") : TR_OK;
    }
    if (strcmp(how, "json") == 0) {
        return tr_reply_json(call, "[1, 1.50]");
    }
    if (strcmp(how, "two json") == 0) {
        (void)tr_reply_json(call, "1");
        return tr_reply_json(call, "2");
    }
    if (strcmp(how, "twice") == 0) {
        return tr_reply_json(call, "{\"a\": {\"b\": 1, \"b\": 2}}");
    }
    if (strcmp(how, "not utf-8") == 0) {
        return tr_reply_text(call, "\xc3\x28");
    }
    if (strcmp(how, "no mime") == 0) {
        return tr_reply_image(call, "x", 1, NULL);
    }
    if (strcmp(how, "wrong block") == 0) {
        return tr_reply_content(call, "{\"type\": \"video\"}");
    }
    return TR_OK;
}
TR_JSON_TOOL(reply, "Reply in many ways", SCHEMA_ANY)

static tr_status fails(struct tr_call *call) {
    tr_status code = (tr_status)tr_get_i64(call, "value", TR_FAILED);
    const char *how = tr_get_string(call, "how", "");
    if (strcmp(how, "silent") == 0) {
        return code;
    }
    if (strcmp(how, "twice") == 0) {
        (void)tr_fail(call, TR_FAILED, NULL, "the first");
    }
    return tr_fail(call, code, "how/it~1is", "%s", how);
}
TR_JSON_TOOL(fails, "Fail", SCHEMA_ANY)

static tr_status asks(struct tr_call *call) {
    const char *how = tr_get_string(call, "how", "");
    const char *content = "nothing";
    const char *schema = strcmp(how, "nested") == 0
                                 ? "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\"}}}"
                         : strcmp(how, "no schema") == 0 ? NULL
                         : strcmp(how, "no object") == 0
                                 ? "[]"
                                 : "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}";
    tr_status status = strcmp(how, "key twice") == 0 ? tr_ask_as(call, "key", "?", NULL, NULL)
                                                     : TR_OK;
    status = strcmp(how, "key twice") == 0 ? tr_ask_as(call, "key", "?", NULL, NULL)
             : strcmp(how, "url") == 0     ? tr_ask_url(call, NULL, "Open it", "ftp://a")
             : strcmp(how, "sample") == 0  ? tr_sample(call, NULL, "{}", &content)
             : strcmp(how, "roots") == 0   ? tr_roots(call, NULL, &content)
                                           : tr_ask(call, strcmp(how, "silent") == 0 ? "" : "Right?",
                                                    schema, &content);
    return tr_reply_textf(call, "%d %s", (int)status, content);
}
TR_JSON_TOOL(asks, "Ask", SCHEMA_ANY)

static tr_status facts(struct tr_call *call) {
    tr_progress(call, 1, 2, "half");
    tr_log(call, TR_LOG_WARNING, "careful");
    return tr_reply_textf(call, "%s %d %d %d", tr_context(call, TR_CONTEXT_TOOL),
                          tr_context(call, 99) == NULL, tr_cancelled(call),
                          tr_alloc(call, UINT64_C(1) << 40) == NULL);
}
TR_JSON_TOOL(facts, "Tell facts, and ask for too much", SCHEMA_ANY)

static double half(struct tr_call *call, double number) {
    if (number < 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "number", "must not be negative");
    }
    return number / 2;
}
TR_TOOL(half, "Half of a number", TR_F64, TR_CALL, (TR_F64, number, "a number"))

static char greeting[32];

static tr_status open_fake(struct tr_host *host) {
    const char *text = tr_host_config(host, "greeting/text", "hello");
    tr_host_log(host, TR_LOG_INFO, "greeting %s", text);
    (void)snprintf(greeting, sizeof greeting, "%s", text);
    return greeting[0] != '\0' ? TR_OK : tr_host_fail(host, "greeting is empty");
}

static void close_fake(void) {
    greeting[0] = '\0';
}

TR_PLUGIN(("fake", .open = open_fake, .close = close_fake,
           TR_CAPABILITIES(TR_READS("${data}"), TR_CONNECTS("*:443"))),
          "1.0.0", get, at, all, checked, reply, fails, asks, facts, half)

/* -------------------------------------------------------------- the cases */

static unsigned count;
static unsigned failures;

static void report(bool passed, const char *what, const char *more) {
    failures += !passed;
    printf("%sok %u - %s %s\n", passed ? "" : "not ", ++count, what, more);
}

enum message { SAME, OTHER }; /* the message of an error */

struct fake_case {
    const char *tool;
    const char *arguments;
    enum message message;
};

static const struct fake_case cases[] = {
        {"get", "{}", SAME},
        {"get", "{\"value\": null}", SAME},
        {"get", "{\"value\": true}", SAME},
        {"get", "{\"value\": 0}", SAME},
        {"get", "{\"value\": -0}", SAME},
        {"get", "{\"value\": 12}", SAME},
        {"get", "{\"value\": -12}", SAME},
        {"get", "{\"value\": 12.0}", SAME},
        {"get", "{\"value\": 1.2e1}", SAME},
        {"get", "{\"value\": 12.5}", SAME},
        {"get", "{\"value\": 9223372036854775807}", SAME},
        {"get", "{\"value\": 9223372036854775808}", SAME},
        {"get", "{\"value\": -9223372036854775808}", SAME},
        {"get", "{\"value\": 18446744073709551615}", SAME},
        {"get", "{\"value\": 1e300}", SAME},
        {"get", "{\"value\": \"\"}", SAME},
        {"get", "{\"value\": \"QUI=\"}", SAME},
        {"get", "{\"value\": \"QUJD\"}", SAME},
        {"get", "{\"value\": \"QQ=\"}", SAME},
        {"get", "{\"value\": \"QR==\"}", SAME},
        {"get", "{\"value\": \"Q===\"}", SAME},
        {"get", "{\"value\": \"=\"}", SAME},
        {"get", "{\"value\": \"a\\u0000b\"}", SAME},
        {"get", "{\"value\": \"\\ud83d\\ude00 \\u00e9 \\\" \\/ \\b\\f\\n\\r\\t\"}", SAME},
        {"get", "{\"value\": [1, [2], {}]}", SAME},
        {"get", "{\"value\": {\"a\": 1, \"b\": [ ]}}", SAME},
        {"get", "{ \"how\" : \"x\" , \"value\" : 1.50 }", SAME},
        {"at", "{\"how\": \"value\", \"value\": [1]}", SAME},
        {"at", "{\"how\": \"\", \"value\": [1]}", SAME},
        {"at", "{\"how\": \"value/0\", \"value\": [1]}", SAME},
        {"at", "{\"how\": \"/value/1/a\", \"value\": [1, {\"a\": 2}]}", SAME},
        {"at", "{\"how\": \"value/00\", \"value\": [1]}", SAME},
        {"at", "{\"how\": \"value/-\", \"value\": [1]}", SAME},
        {"at", "{\"how\": \"value/1\", \"value\": [1]}", SAME},
        {"at", "{\"how\": \"value/a~1b~0/c\", \"value\": {\"a/b~\": {\"c\": 3}}}", SAME},
        {"at", "{\"how\": \"value/\", \"value\": {\"\": 4}}", SAME},
        {"at", "{\"how\": \"nowhere/0\"}", SAME},
        {"all", "{\"value\": 5, \"how\": \"h\"}", SAME},
        {"all", "{\"value\": \"5\"}", SAME},
        {"all", "{\"missing\": false}", SAME},
        {"checked", "{\"text\": \"abc\"}", SAME},
        {"checked", "{}", SAME},
        {"checked", "{\"text\": 5}", OTHER},
        {"checked", "{\"text\": null}", OTHER},
        {"checked", "{\"text\": \"a\"}", OTHER},
        {"checked", "{\"text\": \"\xc3\xbc\xc3\xbc\xc3\xbc\"}", SAME},
        {"checked", "{\"text\": \"abcd\"}", OTHER},
        {"checked", "{\"text\": \"ab\", \"number\": 0}", OTHER},
        {"checked", "{\"text\": \"ab\", \"number\": 10}", OTHER},
        {"checked", "{\"text\": \"ab\", \"number\": 1}", SAME},
        {"checked", "{\"text\": \"ab\", \"number\": []}", OTHER},
        {"checked", "{\"text\": \"ab\", \"whole\": 1.5}", OTHER},
        {"checked", "{\"text\": \"ab\", \"whole\": 2.0}", SAME},
        {"checked", "{\"text\": \"ab\", \"flag\": 1}", OTHER},
        {"checked", "{\"text\": \"ab\", \"flag\": null}", SAME},
        {"checked", "{\"text\": \"ab\", \"choice\": null}", SAME},
        {"checked", "{\"text\": \"ab\", \"choice\": \"b\"}", OTHER},
        {"checked", "{\"text\": \"ab\", \"list\": [1, -1]}", OTHER},
        {"checked", "{\"text\": \"ab\", \"list\": [1, 2, 3]}", OTHER},
        {"checked", "{\"text\": \"ab\", \"inside\": {}}", SAME},
        {"checked", "{\"text\": \"ab\", \"inside\": {\"a/b\": 1}}", OTHER},
        {"checked", "{\"text\": \"ab\", \"inside\": {\"a/b\": \"x\"}}", SAME},
        {"checked", "{\"text\": \"ab\", \"more\": 1}", OTHER},
        {"checked", "{\"text\": \"ab\", \"text\": \"cd\"}", SAME},
        {"checked", "[]", OTHER},
        {"checked", "{\"text\": \"ab\"", OTHER},
        {"checked", "{\"text\": \"ab\",}", OTHER},
        {"checked", "{\"text\": 01}", OTHER},
        {"checked", "{\"text\": \"\\ud800\"}", OTHER},
        {"checked", "{\"text\": \"\x01\"}", OTHER},
        {"checked", "{} {}", OTHER},
        {"checked", "", SAME},
        {"reply", "{\"how\": \"nothing\"}", SAME},
        {"reply", "{\"how\": \"text\"}", SAME},
        {"reply", "{\"how\": \"two texts\"}", SAME},
        {"reply", "{\"how\": \"everything\"}", SAME},
        {"reply", "{\"how\": \"json\"}", SAME},
        {"reply", "{\"how\": \"two json\"}", SAME},
        {"reply", "{\"how\": \"twice\"}", SAME},
        {"reply", "{\"how\": \"not utf-8\"}", SAME},
        {"reply", "{\"how\": \"no mime\"}", SAME},
        {"reply", "{\"how\": \"wrong block\"}", SAME},
        {"reply", "{\"how\": \"put whole\"}", SAME},
        {"reply", "{\"how\": \"put open\"}", SAME},
        {"reply", "{\"how\": \"put no key\"}", SAME},
        {"reply", "{\"how\": \"put key\"}", SAME},
        {"reply", "{\"how\": \"put two\"}", SAME},
        {"reply", "{\"how\": \"put end\"}", SAME},
        {"reply", "{\"how\": \"put nan\"}", SAME},
        {"reply", "{\"how\": \"put not json\"}", SAME},
        {"reply", "{\"how\": \"put not utf-8\"}", SAME},
        {"fails", "{\"how\": \"why\"}", SAME},
        {"fails", "{\"how\": \"\"}", SAME},
        {"fails", "{\"how\": \"silent\", \"value\": 0}", SAME},
        {"fails", "{\"how\": \"silent\", \"value\": 9}", SAME},
        {"fails", "{\"how\": \"twice\", \"value\": 1}", SAME},
        {"fails", "{\"how\": \"x\", \"value\": 0}", SAME},
        {"fails", "{\"how\": \"x\", \"value\": 1}", SAME},
        {"fails", "{\"how\": \"x\", \"value\": 3}", SAME},
        {"fails", "{\"how\": \"x\", \"value\": 4}", SAME},
        {"fails", "{\"how\": \"x\", \"value\": 5}", SAME},
        {"fails", "{\"how\": \"x\", \"value\": 6}", SAME},
        {"fails", "{\"how\": \"x\", \"value\": 77}", SAME},
        {"asks", "{}", SAME},
        {"asks", "{\"how\": \"nested\"}", OTHER},
        {"asks", "{\"how\": \"no schema\"}", SAME},
        {"asks", "{\"how\": \"no object\"}", OTHER},
        {"asks", "{\"how\": \"key twice\"}", SAME},
        {"asks", "{\"how\": \"url\"}", SAME},
        {"asks", "{\"how\": \"sample\"}", SAME},
        {"asks", "{\"how\": \"roots\"}", SAME},
        {"asks", "{\"how\": \"silent\"}", SAME},
        {"facts", "{}", OTHER},
        {"nothing", "{}", OTHER},
};

/* The answers that both hosts give next. */
static int32_t next_answer;

static int give_answer(void *user, struct toolrack_input *inputs, size_t input_count) {
    (void)user;
    for (size_t i = 0; i < input_count; i++) {
        inputs[i].answer = next_answer;
        inputs[i].content = next_answer == TOOLRACK_ANSWER_ACCEPTED ? strdup("{\"a\": \"yes\"}") : NULL;
    }
    return 0;
}

static void compare(struct toolrack *host, struct tr_test *test, const struct fake_case *at,
                    struct toolrack_error *err) {
    struct toolrack_result *result = NULL;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.input = give_answer;
    int code = toolrack_call(host, at->tool, at->arguments, &options, &result, err);
    test->answer_count = 0;
    if (next_answer != TR_ANSWER_NOBODY) {
        tr_test_answer(test, next_answer, "{\"a\": \"yes\"}");
        tr_test_answer(test, next_answer, "{\"a\": \"yes\"}");
    }
    bool succeeded = tr_test_call(test, at->tool, at->arguments);
    bool same = succeeded == (code == 0);
    if (code == 0) {
        same = same && strcmp(test->result.data, toolrack_result_json(result, NULL)) == 0;
    } else {
        same = same && strcmp(test->error.type, toolrack_code_name(code)) == 0 &&
               strcmp(test->error.field, toolrack_error_field(err)) == 0 &&
               (at->message == OTHER ||
                strcmp(test->error.message, toolrack_error_message(err)) == 0);
    }
    report(same, at->tool, at->arguments);
    if (!same) {
        printf("# real: %s %s %s %s\n# fake: %s %s %s %s\n", toolrack_code_name(code),
               code < 0 ? toolrack_error_field(err) : "",
               code < 0 ? toolrack_error_message(err) : "",
               code == 0 ? toolrack_result_json(result, NULL) : "",
               succeeded ? "Ok" : test->error.type, test->error.field, test->error.message,
               test->result.data != NULL ? test->result.data : "");
    }
    toolrack_result_free(result);
}

/* ---------------------------------------------- what only the fake one has */

static void check_alone(struct tr_test *test) {
    tr_test_close(test);
    test->settings = "{\"greeting\": {\"text\": \"\"}}";
    report(!tr_test_open(test) && tr_test_failed(test, "ExecutionFailed", "") &&
                   strcmp(test->error.message, "greeting is empty") == 0,
           "it refuses to open", "");
    report(!tr_test_call(test, "get", "{}") && !test->opened, "then no tool is called", "");
    test->settings = "{\"greeting\": {\"text\": \"moin\"}}";
    report(tr_test_open(test) && strcmp(greeting, "moin") == 0, "it opens with a setting", "");
    report(tr_test_logged(test, "info: greeting moin"), "and says so", "");
    tr_test_close(test);
    report(greeting[0] == '\0', "it closes", "");

    double result = half(tr_test_begin(test), 3);
    report(tr_test_end(test) && result > 1.4 && result < 1.6, "a typed tool", "");
    (void)half(tr_test_begin(test), -1);
    report(!tr_test_end(test) && tr_test_failed(test, "InvalidArguments", "/number") &&
                   test->error.from_tool && strncmp(test->error.place, "fake.c:", 7) == 0,
           "fails", "");
    (void)tr_reply_text(tr_test_begin(test), "text");
    report(!tr_test_end(test), "and may not reply", "");

    (void)tr_test_call(test, "facts", "{}");
    report(test->progress_count == 1 && test->done < 1.5 && tr_test_logged(test, "warning: careful"),
           "progress and log are kept", "");
    report(tr_test_failed(test, "LimitExceeded", NULL), "memory has its limit", "");
    test->cancelled = true;
    tr_test_answer(test, TR_ANSWER_ACCEPTED, "{}");
    report(tr_test_call(test, "asks", "{}") && tr_test_replied(test, "\"5 nothing\""),
           "a cancelled call asks nobody", "");
    report(!tr_test_call(test, "fails", "{\"value\": 5}") &&
                   tr_test_failed(test, "Cancelled", "/how/it~1is"),
           "and says that it was cancelled", "");
    test->cancelled = false;
    test->answer_count = 0;
    test->answers_later = true;
    report(!tr_test_call(test, "asks", "{}") && tr_test_failed(test, "InputRequired", NULL),
           "a caller that cannot wait", "");
    tr_test_answer(test, TR_ANSWER_ACCEPTED, "{\"a\": \"b\"}");
    report(tr_test_call(test, "asks", "{}") && tr_test_replied(test, "\"0 {\\\"a\\\": \\\"b\\\"}\"") &&
                   strcmp(test->asked.data, "Right?\n") == 0,
           "calls again, with the answer", "");

    report(tr_test_run(test, checked, "{\"any\": 1}") && tr_test_replied(test, "{\"any\": 1}"),
           "a function of an extension has no schema", "");

    test->minor = 0;
    tr_test_answer(test, TR_ANSWER_ACCEPTED, "{}");
    report(tr_test_call(test, "asks", "{}") && tr_test_replied(test, "\"7 nothing\""),
           "a host of 1.0 asks nobody", "");
    report(tr_test_call(test, "all", "{\"value\": 5}") && tr_test_replied(test, "\"0 no how 5 1\""),
           "and is asked for one argument after the other", "");
    report(!tr_test_call(test, "fails", "{\"how\": \"x\"}") && test->error.place[0] == '\0',
           "and does not know places", "");
    test->minor = TR_ABI_MINOR;
    report(tr_test_declares(test, TR_CAP_NETWORK, "*:443") &&
                   !tr_test_declares(test, TR_CAP_NETWORK, "*"),
           "capabilities are those of the plugin", "");
    report(!tr_test_call(test, "half", "{}") && tr_test_failed(test, "Invalid", NULL),
           "a typed tool has no arguments in JSON", "");
}

int main(void) {
    struct tr_test test;
    struct toolrack *host = NULL;
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = options.state_dir = "";
    if (err == NULL || toolrack_open(&options, &host, err) < 0 ||
        toolrack_register(host, &toolrack_plugin, NULL, err) < 0) {
        printf("Bail out! %s\n", toolrack_error_message(err));
        return 1;
    }
    tr_test_init(&test, &toolrack_plugin);
    for (next_answer = TR_ANSWER_NOBODY; next_answer <= TR_ANSWER_DISMISSED; next_answer++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            if (next_answer == TR_ANSWER_NOBODY || strcmp(cases[i].tool, "asks") == 0) {
                compare(host, &test, &cases[i], err);
            }
        }
    }
    check_alone(&test);
    toolrack_close(host);
    toolrack_error_free(err);
    printf("1..%u\n# ", count);
    (void)tr_test_finish(&test);
    return failures > 0;
}
