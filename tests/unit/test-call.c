/* Calls through the embedding API, of tools that this program registers itself. */
#include <math.h>
#include <pthread.h>
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

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sanitizer.h"
#include "base/utf8.h"
#include "patience.h"
#include "registry/tool.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

/* ------------------------------------------------------------------- tools */

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second", TR_DEFAULT(1)))

static int64_t limited(int64_t n) {
    return 2 * n;
}
TR_TOOL(limited, "Doubles", TR_I64, (TR_I64, n, "number", TR_MINIMUM(1), TR_MAXIMUM(10)))

/* Results that are what an argument points to: a string, the items of an array. */
static const char *last_word(const char *const *words, size_t count) {
    return words[count - 1];
}
TR_TOOL(last_word, "Gives the last word", TR_STRING,
        (TR_ARRAY(TR_STRING), words, "words", .min_items = 1))

static struct tr_array all_but_first(const char *const *words, size_t count) {
    return (struct tr_array){.items = words + 1, .count = count - 1};
}
TR_TOOL(all_but_first, "Gives all words but the first", TR_ARRAY(TR_STRING),
        (TR_ARRAY(TR_STRING), words, "words", .min_items = 1))

static const char *picky(struct tr_call *call, const char *word) {
    (void)tr_fail(call, TR_INVALID_ARGUMENTS, "word", "I do not like %s", word);
    return "never seen";
}
TR_TOOL(picky, "Fails", TR_STRING, TR_CALL, (TR_STRING, word, "a word"))

static tr_status greet(struct tr_call *call) {
    return tr_reply_textf(call, "Hello, %s!", tr_get_string(call, "who/name", "world"));
}
TR_JSON_TOOL(greet, "Greets",
             TR_SCHEMA({"type" : "object", "properties" : {"who" : {"type" : "object"}}}))

static tr_status echo(struct tr_call *call) {
    return tr_reply_json(call, tr_arguments(call));
}
TR_JSON_TOOL(echo, "Echoes its arguments", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"n" : {"type" : "integer", "default" : 7}, "x" : {}}
             }))

static tr_status several(struct tr_call *call) {
    (void)tr_reply_text(call, "one");
    (void)tr_reply_image(call, "\x89PNG", 4, "image/png");
    (void)tr_reply_audio(call, "beep", 4, "audio/wav");
    (void)tr_reply_resource_text(call, "file:///a", "text/plain", "inside");
    (void)tr_reply_resource_bytes(call, "file:///b", NULL, "\0\1", 2);
    return tr_reply_json(call, "{\n\"answer\": 42}");
}
TR_JSON_TOOL(several, "Replies several times", TR_SCHEMA({"type" : "object"}))

static tr_status broken(struct tr_call *call) {
    const char *how = tr_get_string(call, "how", "");
    if (strcmp(how, "json") == 0) {
        return tr_reply_json(call, "{\"a\":");
    }
    if (strcmp(how, "member") == 0) {
        return tr_reply_json(call, "{\"a\":{\"b\":1,\"b\":2}}");
    }
    if (strcmp(how, "utf8") == 0) {
        return tr_reply_text(call, "\xff\xfe");
    }
    if (strcmp(how, "null") == 0) {
        return tr_reply_text(call, NULL);
    }
    if (strcmp(how, "twice") == 0) {
        (void)tr_reply_json(call, "1");
        return tr_reply_json(call, "2");
    }
    if (strcmp(how, "message") == 0) {
        return (call->api->fail)(call, TR_FAILED, "\xff", "\xff");
    }
    if (strcmp(how, "memory") == 0) {
        return tr_alloc(call, UINT64_C(1) << 40) == NULL ? TR_OK : TR_FAILED;
    }
    return 99;
}
TR_JSON_TOOL(broken, "Replies wrongly", TR_SCHEMA({"type" : "object"}))

/* Together more than a call may take, if they stayed; so many take ThreadSanitizer a minute. */
#define TALKS (SANITIZER_THREAD ? 2000 : 200000)

/* Talks a lot, asks for all its arguments again and again, and then takes much of what it may. */
static tr_status talkative(struct tr_call *call) {
    char line[1000];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    for (int i = 0; i < TALKS; i++) {
        tr_log(call, TR_LOG_DEBUG, "%s", line);
        tr_progress(call, i, 0, line);
        (void)tr_arguments(call);
    }
    return tr_alloc(call, 400u * 1024 * 1024) != NULL ? tr_reply_text(call, "done") : TR_FAILED;
}
TR_JSON_TOOL(talkative, "Talks", TR_SCHEMA({"type" : "object"}))

/* Each character of the text takes six in JSON. */
static tr_status bulky(struct tr_call *call) {
    const size_t size = 12u * 1024 * 1024;
    char *text = tr_alloc(call, size + 1);
    if (text == NULL) {
        return TR_FAILED;
    }
    memset(text, 1, size);
    text[size] = '\0';
    return tr_reply_text(call, text);
}
TR_JSON_TOOL(bulky, "Replies a lot", TR_SCHEMA({"type" : "object"}))

static void lines(struct tr_call *call) {
    tr_log(call, TR_LOG_WARNING, "one\ntwo\tthree");
}
TR_TOOL(lines, "Logs two lines", TR_VOID, TR_CALL)

static tr_status shaped(struct tr_call *call) {
    return tr_reply_json(call, tr_get_json(call, "give", "{}"));
}
TR_JSON_TOOL(shaped, ("Has a result schema", .result_schema = TR_SCHEMA({
                                                 "type" : "object",
                                                 "properties" : {"n" : {"type" : "integer"}},
                                                 "required" : ["n"]
                                             })),
             TR_SCHEMA({"type" : "object"}))

/* Puts a reply together, in the right way or in a wrong one. */
static tr_status pieces(struct tr_call *call) {
    const char *how = tr_get_string(call, "how", "");
    if (strcmp(how, "number") == 0) {
        return tr_put_i64(call, NULL, -5);
    }
    (void)tr_put_object(call, NULL);
    if (strcmp(how, "open") == 0) {
        return tr_put_array(call, "rest");
    }
    if (strcmp(how, "key") == 0) {
        return tr_put_bool(call, NULL, true);
    }
    if (strcmp(how, "nan") == 0) {
        return tr_put_f64(call, "n", (double)NAN);
    }
    if (strcmp(how, "json") == 0) {
        return tr_put_json(call, "n", "{");
    }
    if (strcmp(how, "utf8") == 0) {
        return tr_put_string(call, "s", "\xff");
    }
    if (strcmp(how, "huge") == 0) { /* too long to be looked at */
        return call->api->put_json(call, "n", "1", UINT64_C(1) << 40);
    }
    if (strcmp(how, "utf8 key") == 0) {
        return tr_put_bool(call, "\xff", true);
    }
    if (strcmp(how, "deep") == 0) {
        while (tr_put_object(call, "o") == TR_OK) {
        }
        return TR_OK;
    }
    (void)tr_put_string(call, "text", "a \"b\"\n");
    (void)tr_put_array(call, "list");
    (void)tr_put_i64(call, NULL, INT64_MIN);
    (void)tr_put_u64(call, NULL, UINT64_MAX);
    (void)tr_put_array(call, NULL);
    (void)tr_put_end(call);
    (void)tr_put_f64(call, NULL, 0.5);
    (void)tr_put_end(call);
    (void)tr_put_bool(call, "yes", true);
    (void)tr_put_json(call, "more", "[1,\n null]");
    (void)tr_put_i64(call, "k\"\xc3\xa9", 1);
    (void)tr_put_end(call);
    if (strcmp(how, "end") == 0) {
        return tr_put_end(call);
    }
    if (strcmp(how, "two") == 0) {
        return tr_put_i64(call, NULL, 1);
    }
    if (strcmp(how, "twice") == 0) {
        return tr_reply_json(call, "1");
    }
    return strcmp(how, "text") == 0 ? tr_reply_text(call, "and a text") : TR_OK;
}
TR_JSON_TOOL(pieces, "Puts pieces together", TR_SCHEMA({"type" : "object"}))

static tr_status silent(struct tr_call *call) {
    return tr_reply_text(call, "only a text");
}
TR_JSON_TOOL(silent, ("Breaks its word", .result_schema = TR_SCHEMA({"type" : "object"})),
             TR_SCHEMA({"type" : "object"}))

static int64_t replying(struct tr_call *call) {
    (void)tr_reply_text(call, "and more");
    return 1;
}
TR_TOOL(replying, "Replies and returns", TR_I64, TR_CALL)

static tr_status put_shaped(struct tr_call *call) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_json(call, "n", tr_get_json(call, "n", "null"));
    return tr_put_end(call);
}
TR_JSON_TOOL(put_shaped,
             ("Has a result schema",
              .result_schema =
                      TR_SCHEMA({"type" : "object", "properties" : {"n" : {"type" : "integer"}}})),
             TR_SCHEMA({"type" : "object"}))

/* Waits until it is cancelled, or for ever when told to be stubborn. */
static pthread_mutex_t release_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t release_cond = PTHREAD_COND_INITIALIZER;
static int sleeping;
static bool released;

static tr_status sleeper(struct tr_call *call) {
    bool stubborn = tr_get_bool(call, "stubborn", false);
    (void)pthread_mutex_lock(&release_lock);
    sleeping++;
    (void)pthread_cond_broadcast(&release_cond);
    while (!released) {
        if (!stubborn && tr_cancelled(call)) {
            break;
        }
        struct timespec soon;
        (void)clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 1000000;
        if (soon.tv_nsec >= 1000000000) {
            soon.tv_sec++;
            soon.tv_nsec -= 1000000000;
        }
        (void)pthread_cond_timedwait(&release_cond, &release_lock, &soon);
    }
    sleeping--;
    (void)pthread_cond_broadcast(&release_cond);
    (void)pthread_mutex_unlock(&release_lock);
    tr_log(call, TR_LOG_INFO, "late words");
    tr_progress(call, 1, 1, "late");
    return tr_fail(call, TR_CANCELLED, NULL, "woken");
}
TR_JSON_TOOL(sleeper, "Sleeps", TR_SCHEMA({"type" : "object"}))

static tr_status asker(struct tr_call *call) {
    static char too_long[65538]; /* by a byte */
    const char *fault = tr_get_string(call, "fault", "");
    const char *message = tr_get_string(call, "message", "Which?");
    const char *schema = tr_get_string(call, "schema", NULL);
    memset(too_long, 'x', sizeof too_long - 1);
    if (strcmp(fault, "null") == 0) {
        message = NULL;
    } else if (strcmp(fault, "bytes") == 0) {
        message = "\xff";
    } else if (strcmp(fault, "long") == 0) {
        message = too_long;
    } else if (strcmp(fault, "longest") == 0) {
        message = too_long + 1;
    } else if (strcmp(fault, "long schema") == 0) {
        schema = too_long;
    }
    const char *answer = "none";
    tr_status status = tr_ask(call, message, schema, &answer);
    return tr_reply_textf(call, "%d %s", (int)status, answer);
}
TR_JSON_TOOL(asker, "Asks the person", TR_SCHEMA({"type" : "object"}))

static tr_status about(struct tr_call *call) {
    char text[512];
    const char *conversation = tr_context(call, TR_CONTEXT_CONVERSATION);
    const char *trace = tr_context(call, TR_CONTEXT_TRACE);
    (void)snprintf(text, sizeof text, "%s %s %s %s %s %s", tr_context(call, TR_CONTEXT_CALLER),
                   tr_context(call, TR_CONTEXT_CHANNEL),
                   conversation != NULL ? conversation : "alone",
                   trace != NULL ? trace : "untraced", tr_context(call, TR_CONTEXT_TOOL),
                   tr_time_left_ms(call) == UINT64_MAX ? "endless" : "limited");
    tr_progress(call, 1, 2, "half");
    tr_progress(call, 2, 2, NULL);
    tr_log(call, TR_LOG_WARNING, "a %s", "word");
    return tr_reply_text(call, text);
}
TR_JSON_TOOL(about, "Tells of its call", TR_SCHEMA({"type" : "object"}))

static tr_status getters(struct tr_call *call) {
    struct tr_bytes bytes = tr_get_bytes(call, "bytes");
    char text[512];
    (void)snprintf(text, sizeof text, "%d %lld %llu %g %s %.*s %llu %d %d %lld %s",
                   tr_get_bool(call, "/flag", false), (long long)tr_get_i64(call, "list/1", -1),
                   (unsigned long long)tr_get_u64(call, "big", 0), tr_get_f64(call, "list/2", 0),
                   tr_get_string(call, "a~1b", "?"), (int)bytes.size, (const char *)bytes.data,
                   (unsigned long long)tr_count(call, "list"), tr_kind_of(call, "list"),
                   tr_kind_of(call, "nothing"), (long long)tr_get_i64(call, "flag", -5),
                   tr_get_string(call, "zero", "has zero"));
    return tr_reply_text(call, text);
}
TR_JSON_TOOL(getters, "Reads its arguments", TR_SCHEMA({"type" : "object"}))

/* Reads them all at once, and writes what it got: the status of each, and the values. */
static tr_status all_at_once(struct tr_call *call) {
    bool flag = true;
    int64_t number = -1;
    uint64_t big = 1;
    double real = 0.5;
    const char *text = "none";
    const char *json = "none";
    struct tr_bytes bytes = {"-", 1};
    struct tr_argument arguments[] = {{"text", TR_KIND_STRING, TR_OK, &text},
                                      TR_GET(flag),
                                      TR_GET(number),
                                      TR_GET(big),
                                      TR_GET(real),
                                      TR_GET(bytes),
                                      {"json", TR_KIND_JSON, TR_OK, &json},
                                      {"text", TR_KIND_STRUCT, TR_OK, &text},
                                      {NULL, TR_KIND_STRING, TR_OK, &text},
                                      {"text", TR_KIND_STRING, TR_OK, NULL}};
    uint32_t count = sizeof arguments / sizeof arguments[0];
    char states[sizeof arguments / sizeof arguments[0] + 1] = "";
    tr_status status = tr_get_all(call, arguments, count);
    if (status != TR_OK) {
        return status;
    }
    if (call->api->get_all(call, NULL, 1, sizeof arguments[0]) != TR_INVALID_ARGUMENTS ||
        call->api->get_all(call, arguments, 1, sizeof arguments[0] - 1) != TR_INVALID_ARGUMENTS) {
        return tr_fail(call, TR_FAILED, NULL, "a table that is none was taken");
    }
    for (uint32_t i = 0; i < count; i++) {
        states[i] = arguments[i].status == TR_OK       ? 'k'
                    : arguments[i].status == TR_ABSENT ? 'a'
                                                       : 'i';
    }
    return tr_reply_textf(call, "%s %d %lld %llu %g %s %.*s %s", states, flag, (long long)number,
                          (unsigned long long)big, real, text, (int)bytes.size,
                          (const char *)bytes.data, json);
}
TR_JSON_TOOL(all_at_once, "Reads its arguments at once", TR_SCHEMA({"type" : "object"}))

static void nothing(void) {
}
TR_TOOL(nothing, ("Asks first", .permission = TR_CONFIRM), TR_VOID)
static void wipe(void) {
}
TR_TOOL(wipe, ("Dangerous", .permission = TR_DANGEROUS), TR_VOID)
static void off(void) {
}
TR_TOOL(off, ("Off", .flags = TR_DISABLED), TR_VOID)

TR_PLUGIN(("test", .flags = TR_THREAD_SAFE), "1.0.0", add, limited, last_word, all_but_first, picky,
          greet, echo, several, broken, talkative, bulky, lines, shaped, pieces, silent, replying,
          put_shaped, sleeper, about, asker, getters, all_at_once, nothing, wipe, off)

/* The same sleeper in a plugin that is not thread safe. */
static const struct tr_tool serial_sleeper = {.size = sizeof(struct tr_tool),
                                              .name = "serial_sleeper",
                                              .description = "Sleeps alone",
                                              .schema = "{\"type\":\"object\"}",
                                              .run = sleeper};
/* A typed one. */
static atomic_bool has_run;
static bool serial_typed(void) {
    return !atomic_exchange(&has_run, true);
}
TR_TOOL(serial_typed, "Says whether it is the first to run", TR_BOOL)
/* It calls itself on its own host. */
static tr_status nested(struct tr_call *call);
static const struct tr_tool serial_nested = {.size = sizeof(struct tr_tool),
                                             .name = "serial_nested",
                                             .description = "Calls itself",
                                             .schema = "{\"type\":\"object\"}",
                                             .run = nested};
static const struct tr_tool *const serial_tools[] = {&serial_sleeper, &serial_nested,
                                                     &tr_tool_serial_typed};
static const struct tr_plugin serial_plugin = {.magic = TR_MAGIC,
                                               .size = sizeof(struct tr_plugin),
                                               .abi_major = TR_ABI_MAJOR,
                                               .abi_minor = TR_ABI_MINOR,
                                               .id = "serial",
                                               .version = "1.0.0",
                                               .tool_count = 3,
                                               .tool_size = sizeof(struct tr_tool),
                                               .tools = serial_tools};

/* ----------------------------------------------------------------- fixture */

static struct toolrack *host;
static char last_log[256];
static int stuck_events;
static int recovered_events;
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t event_cond = PTHREAD_COND_INITIALIZER;

static void take_log(void *user, enum toolrack_log_level level, const char *source,
                     const char *line) {
    (void)user;
    (void)level;
    (void)pthread_mutex_lock(&event_lock);
    (void)snprintf(last_log, sizeof last_log, "%s: %s", source, line);
    (void)pthread_mutex_unlock(&event_lock);
}

static void take_event(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)pthread_mutex_lock(&event_lock);
    stuck_events += event->kind == TOOLRACK_EVENT_STUCK;
    recovered_events += event->kind == TOOLRACK_EVENT_RECOVERED;
    (void)pthread_cond_broadcast(&event_cond);
    (void)pthread_mutex_unlock(&event_lock);
}

static tr_status nested(struct tr_call *call) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = (uint32_t)tr_get_u64(call, "deadline", 0);
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    (void)toolrack_call(host, "serial_nested", "{\"deadline\":1}", &options, &result, &err);
    toolrack_result_free(result);
    return tr_reply_text(call, strstr(err.message, "calls itself") != NULL
                                       ? "calls itself"
                                       : toolrack_code_name(err.code));
}

static int open_host(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    options.log = take_log;
    options.event = take_event;
    released = false;
    stuck_events = 0;
    recovered_events = 0;
    struct toolrack_error err;
    if (toolrack_open(&options, &host, &err) < 0 ||
        toolrack_register(host, &toolrack_plugin, NULL, &err) < 0 ||
        toolrack_register(host, &serial_plugin, NULL, &err) < 0) {
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

static void wait_for_sleepers(int count) {
    (void)pthread_mutex_lock(&release_lock);
    AWAIT_SIGNALLED(sleeping == count, &release_cond, &release_lock);
    (void)pthread_mutex_unlock(&release_lock);
}

static void release_sleepers(void) {
    (void)pthread_mutex_lock(&release_lock);
    released = true;
    (void)pthread_cond_broadcast(&release_cond);
    (void)pthread_mutex_unlock(&release_lock);
    wait_for_sleepers(0);
}

/* Call both on a thread of the host and on this one; both must give the same JSON. */
static void gives(const char *name, const char *arguments, const char *json) {
    for (int here = 0; here < 2; here++) {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        options.deadline_ms = here ? TOOLRACK_NO_DEADLINE : 0;
        struct toolrack_result *result = NULL;
        struct toolrack_error err = {0};
        int code = toolrack_call(host, name, arguments, &options, &result, &err);
        if (code < 0) {
            fail_msg("%s: %s", name, err.message);
        }
        size_t length = 0;
        assert_string_equal(toolrack_result_json(result, &length), json);
        assert_int_equal(length, strlen(json));
        assert_true(toolrack_result_duration_ns(result) > 0);
        toolrack_result_free(result);
    }
}

/* How many of the calls had reached their tool: 0 or 2. */
static int fails(const char *name, const char *arguments, int code, const char *field,
                 const char *message) {
    int begun = 0;
    for (int here = 0; here < 2; here++) {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        options.deadline_ms = here ? TOOLRACK_NO_DEADLINE : 0;
        struct toolrack_result *result = NULL;
        struct toolrack_error err = {0};
        assert_int_equal(toolrack_call(host, name, arguments, &options, &result, &err), code);
        assert_int_equal(err.code, code);
        assert_null(result);
        assert_string_equal(err.field, field);
        assert_int_equal(strlen(err.tool), strcspn(name, "@")); /* the name alone */
        assert_memory_equal(err.tool, name, strlen(err.tool));
        if (strstr(err.message, message) == NULL) {
            fail_msg("'%s' is not in: %s", message, err.message);
        }
        begun += toolrack_error_has_begun(&err);
    }
    return begun;
}

/* ------------------------------------------------------------------- tests */

static void typed_tools(void **state) {
    (void)state;
    gives("add", "{\"a\":2,\"b\":3}", "5.0");
    gives("add", "{\"a\":2}", "3.0");
    gives("limited", "{\"n\":10}", "20");
    fails("limited", "{\"n\":11}", TOOLRACK_E_INVALID_ARGUMENTS, "/n", "10");
    fails("limited", "{\"n\":1.5}", TOOLRACK_E_INVALID_ARGUMENTS, "/n", "integer");
    fails("limited", "{}", TOOLRACK_E_INVALID_ARGUMENTS, "/n", "missing");
    fails("limited", "{\"n\":1,\"m\":2}", TOOLRACK_E_INVALID_ARGUMENTS, "/m", "unknown");
    fails("picky", "{\"word\":\"ham\"}", TOOLRACK_E_INVALID_ARGUMENTS, "/word",
          "I do not like ham");
}

static void a_result_may_be_what_an_argument_points_to(void **state) {
    (void)state;
    gives("last_word", "{\"words\":[\"a\",\"some longer word\"]}", "\"some longer word\"");
    gives("all_but_first", "{\"words\":[\"a\",\"b\",\"c\"]}", "[\"b\",\"c\"]");
}

static void json_tools(void **state) {
    (void)state;
    gives("greet", "{\"who\":{\"name\":\"Ada\"}}", "\"Hello, Ada!\"");
    gives("greet", NULL, "\"Hello, world!\"");
    gives("greet", "", "\"Hello, world!\"");
    gives("echo", "{\"x\": [1, 18446744073709551615]}", "{\"x\":[1,18446744073709551615],\"n\":7}");
    gives("echo", "{\"n\":1}", "{\"n\":1}");
    gives("several", "{}",
          "{\"content\":[{\"type\":\"text\",\"text\":\"one\"},"
          "{\"type\":\"image\",\"data\":\"iVBORw==\",\"mimeType\":\"image/png\"},"
          "{\"type\":\"audio\",\"data\":\"YmVlcA==\",\"mimeType\":\"audio/wav\"},"
          "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\",\"mimeType\":\"text/plain\","
          "\"text\":\"inside\"}},"
          "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///b\",\"blob\":\"AAE=\"}}],"
          "\"structuredContent\":{\"answer\":42}}");
    gives("getters",
          "{\"flag\":true,\"list\":[1,2.0,2.5],\"big\":18446744073709551615,\"a/b\":\"slash\","
          "\"bytes\":\"aGk=\",\"zero\":\"a\\u0000b\"}",
          "\"1 2 18446744073709551615 2.5 slash hi 3 5 0 -5 has zero\"");
    gives("all_at_once", "{}", "\"aaaaaaaiii 1 -1 1 0.5 none - none\"");
    gives("all_at_once",
          "{\"flag\":false,\"number\":-7,\"big\":18446744073709551615,\"real\":2,"
          "\"bytes\":\"aGk=\",\"json\":null,\"text\":\"t\",\"other\":[{},1]}",
          "\"kkkkkkkiii 0 -7 18446744073709551615 2 t hi null\""); /* in another order */
    gives("all_at_once",
          "{\"text\":\"a\\u0000b\",\"flag\":0,\"number\":2.0,\"other\":{\"real\":1},\"big\":-1,"
          "\"real\":\"2\",\"bytes\":\"?\",\"json\":[1, {}]}",
          "\"iikiiikiii 1 2 1 0.5 none - [1,{}]\"");
    gives("all_at_once", "{\"text\":null,\"flag\":null}", "\"aaaaaaaiii 1 -1 1 0.5 none - none\"");
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "greet", NULL, NULL, &result, NULL), 0);
    size_t length = 0;
    assert_string_equal(toolrack_result_text(result, &length), "Hello, world!");
    assert_int_equal(length, 13);
    toolrack_result_free(result);
}

static void bad_arguments(void **state) {
    (void)state;
    fails("echo", "{\"n\":", TOOLRACK_E_INVALID_ARGUMENTS, "", "not JSON");
    fails("echo", "[1]", TOOLRACK_E_INVALID_ARGUMENTS, "", "one JSON object");
    fails("echo", "{} {}", TOOLRACK_E_INVALID_ARGUMENTS, "", "not JSON");
    fails("echo", "{\"n\":\"7\"}", TOOLRACK_E_INVALID_ARGUMENTS, "/n", "integer");
    fails("greet", "{\"who\":3}", TOOLRACK_E_INVALID_ARGUMENTS, "/who", "object");
}

/* A text of `count` members with names of their own, and of two with one name if `twice`. */
static char *write_members(unsigned count, bool twice) {
    struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"s\":\"\",\"many\":[{");
    for (unsigned i = 0; i < count; i++) {
        buf_printf(&text, "\"%u\":%u,", i * 2654435761u, i);
    }
    buf_printf(&text, "\"%u\":0}]}", twice ? 2654435761u : count);
    assert_false(text.failed);
    return text.data;
}

/* Of two members of one name, one program takes the first and another the last. */
static void a_member_given_twice_is_refused(void **state) {
    (void)state;
    const int invalid = TOOLRACK_E_INVALID_ARGUMENTS;
    fails("echo", "{\"n\":1,\"s\":\"\",\"n\":1}", invalid, "/n", "is given twice; give it once");
    fails("echo", "{\"n\":1,\"\\u006e\":2}", invalid, "/n", "is given twice");
    fails("add", "{\"a\":2,\"b\":3,\"b\":3}", invalid, "/b", "is given twice");
    fails("echo", "{\"x\":[0,{\"a/b\":{}},{\"a/b\":{\"\":1,\"c\":[],\"\":2}}]}", invalid,
          "/x/2/a~1b/", "is given twice");
    for (unsigned count = 14; count < 100000; count = count < 18 ? count + 1 : count * 9) {
        CLEANUP(freep) char *good = write_members(count, false);
        CLEANUP(freep) char *bad = write_members(count, true);
        struct toolrack_error err = {0};
        struct toolrack_tool *tool = toolrack_get(host, "echo");
        assert_int_equal(toolrack_arguments_check(tool, good, strlen(good), &err), 0);
        assert_int_equal(toolrack_arguments_check(tool, bad, strlen(bad), &err), invalid);
        assert_string_equal(err.field, "/many/0/2654435761");
        toolrack_tool_unref(tool);
    }
}

static void broken_replies(void **state) {
    (void)state;
    const int failed = TOOLRACK_E_EXECUTION_FAILED;
    fails("broken", "{\"how\":\"json\"}", failed, "", "it is not JSON");
    fails("broken", "{\"how\":\"member\"}", failed, "", "/a/b is given twice");
    fails("broken", "{\"how\":\"utf8\"}", failed, "", "not UTF-8");
    fails("broken", "{\"how\":\"null\"}", failed, "", "NULL");
    fails("broken", "{\"how\":\"twice\"}", failed, "", "two JSON replies");
    fails("broken", "{\"how\":\"message\"}", failed, "/(a message that is not UTF-8)", "not UTF-8");
    fails("broken", "{\"how\":\"memory\"}", TOOLRACK_E_LIMIT_EXCEEDED, "", "asked for");
    fails("broken", "{}", failed, "", "status 99");
    gives("shaped", "{\"give\":{\"n\":1}}", "{\"n\":1}");
    fails("shaped", "{\"give\":{\"n\":\"1\"}}", failed, "", "does not fit its own schema: /n");
    fails("shaped", "{}", failed, "", "does not fit its own schema");
    fails("shaped", "{\"give\":null}", failed, "", "does not fit its own schema");
    fails("silent", "{}", failed, "", "gave no JSON reply");
}

#define PIECES                                                                                  \
    "{\"text\":\"a \\\"b\\\"\\n\",\"list\":[-9223372036854775808,18446744073709551615,[],0.5]," \
    "\"yes\":true,\"more\":[1,null],\"k\\\"\xc3\xa9\":1}"

static void replies_in_pieces(void **state) {
    (void)state;
    const int failed = TOOLRACK_E_EXECUTION_FAILED;
    gives("pieces", "{}", PIECES);
    gives("pieces", "{\"how\":\"number\"}", "-5");
    gives("pieces", "{\"how\":\"text\"}",
          "{\"content\":[{\"type\":\"text\",\"text\":\"and a text\"}],"
          "\"structuredContent\":" PIECES "}");
    fails("pieces", "{\"how\":\"open\"}", failed, "", "not complete: 2 objects or arrays");
    fails("pieces", "{\"how\":\"key\"}", failed, "", "a member without a key");
    fails("pieces", "{\"how\":\"nan\"}", failed, "", "NaN");
    fails("pieces", "{\"how\":\"json\"}", failed, "", "not JSON");
    fails("pieces", "{\"how\":\"utf8\"}", failed, "", "not UTF-8");
    fails("pieces", "{\"how\":\"huge\"}", TOOLRACK_E_LIMIT_EXCEEDED, "", "67108864 bytes");
    fails("pieces", "{\"how\":\"utf8 key\"}", failed, "", "a key is not UTF-8");
    fails("pieces", "{\"how\":\"deep\"}", TOOLRACK_E_LIMIT_EXCEEDED, "", "deeper than the 64");
    fails("pieces", "{\"how\":\"end\"}", failed, "", "without an open object or array");
    fails("pieces", "{\"how\":\"two\"}", failed, "", "two values");
    fails("pieces", "{\"how\":\"twice\"}", failed, "", "two JSON replies");
    fails("replying", "{}", failed, "", "must be a JSON tool");
    gives("put_shaped", "{\"n\":3}", "{\"n\":3}");
    fails("put_shaped", "{\"n\":\"3\"}", failed, "", "does not fit its own schema: /n");
}

static void limits_of_a_call(void **state) {
    (void)state;
    gives("talkative", NULL, "\"done\"");
    assert_int_equal(fails("bulky", NULL, TOOLRACK_E_LIMIT_EXCEEDED, "", "67108864 bytes"), 2);
    /* 40 million values are more than a call may take. */
    const size_t length = 64u * 1024 * 1024 - 8;
    char *many = malloc(length + 1);
    assert_non_null(many);
    memcpy(many, "{\"a\":[", 6);
    memcpy(many + 6, "1,", 2);
    for (size_t filled = 2; 6 + filled < length; filled *= 2) {
        memcpy(many + 6 + filled, many + 6,
               filled < length - 6 - filled ? filled : length - 6 - filled);
    }
    memcpy(many + length - 3, "1]}", 4);
    assert_int_equal(fails("greet", many, TOOLRACK_E_LIMIT_EXCEEDED, "", "bytes of memory allowed"),
                     0);
    free(many);
}

static char *write_nested(size_t levels) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"a\":");
    for (size_t i = 1; i < levels; i++) {
        buf_add_char(&text, '[');
    }
    for (size_t i = 1; i < levels; i++) {
        buf_add_char(&text, ']');
    }
    buf_add_char(&text, '}');
    return buf_steal(&text);
}

static void deep_arguments(void **state) {
    (void)state;
    CLEANUP(freep) char *most = write_nested(128);
    CLEANUP(freep) char *deeper = write_nested(129);
    CLEANUP(freep) char *deepest = write_nested(1000000);
    assert_true(most != NULL && deeper != NULL && deepest != NULL);
    struct toolrack_tool *tool = toolrack_get(host, "echo");
    assert_int_equal(toolrack_arguments_check(tool, most, strlen(most), NULL), 0);
    toolrack_tool_unref(tool);
    const char *words = "the arguments are nested deeper than 128 levels";
    assert_int_equal(fails("echo", deeper, TOOLRACK_E_INVALID_ARGUMENTS, "", words), 0);
    assert_int_equal(fails("echo", deepest, TOOLRACK_E_INVALID_ARGUMENTS, "", words), 0);
}

/* Messages and log lines are one line of UTF-8, whatever they are made of. */
static void texts_are_lines_of_utf8(void **state) {
    (void)state;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    char name[200] = "";
    for (int i = 0; i < 30; i++) { /* cut inside a character */
        (void)strcat(name, "a\u20ac");
    }
    assert_int_equal(toolrack_call(host, name, NULL, NULL, &result, &err), TOOLRACK_E_NOT_FOUND);
    assert_true(utf8_valid(err.message, strlen(err.message)));
    assert_int_equal(toolrack_call(host, "\xff\n\xe2\x82", NULL, NULL, &result, &err),
                     TOOLRACK_E_NOT_FOUND);
    assert_true(utf8_valid(err.message, strlen(err.message)));
    assert_true(utf8_valid(err.tool, strlen(err.tool)));
    assert_null(strchr(err.tool, '\n'));
    gives("lines", NULL, "null");
    assert_string_equal(last_log, "test: one two three");
}

/* A host with one thread, on which a tool calls itself so many times. */
static struct toolrack *narrow_host;

static int64_t nesting(struct tr_call *call, int64_t levels) {
    char arguments[32];
    if (levels == 0) {
        return 0;
    }
    (void)snprintf(arguments, sizeof arguments, "{\"levels\":%d}", (int)levels - 1);
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    if (toolrack_call(narrow_host, "nesting", arguments, NULL, &result, &err) < 0) {
        (void)tr_fail(call, TR_LIMIT_EXCEEDED, NULL, "%s", err.message);
        return -1;
    }
    int64_t below = strtoll(toolrack_result_json(result, NULL), NULL, 10);
    toolrack_result_free(result);
    return below + 1;
}
TR_TOOL(nesting, "Calls itself", TR_I64, TR_CALL, (TR_I64, levels, "how often"))

static pthread_t calling_thread;

static bool is_here(void) {
    return pthread_equal(pthread_self(), calling_thread) != 0;
}
TR_TOOL(is_here, "Says whether it runs on its caller's thread", TR_BOOL)

static void tools_that_call_tools(void **state) {
    (void)state;
    static const struct tr_tool *const table[] = {&tr_tool_nesting, &tr_tool_is_here};
    static const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                            .size = sizeof(struct tr_plugin),
                                            .abi_major = TR_ABI_MAJOR,
                                            .flags = TR_THREAD_SAFE,
                                            .id = "nesting",
                                            .version = "1.0.0",
                                            .tool_count = ARRAY_LENGTH(table),
                                            .tool_size = sizeof(struct tr_tool),
                                            .tools = table};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    options.threads_max = 1;
    uint64_t uids[ARRAY_LENGTH(table)];
    assert_int_equal(toolrack_open(&options, &narrow_host, NULL), 0);
    assert_int_equal(toolrack_register(narrow_host, &plugin, uids, NULL), 0);
    calling_thread = pthread_self();
    /* On the pool; then on this thread, as these tools return by themselves; then as before. */
    static const bool returns[] = {false, true, false};
    for (size_t i = 0; i < ARRAY_LENGTH(returns); i++) {
        struct toolrack_result *result = NULL;
        struct toolrack_error err;
        for (size_t k = 0; k < ARRAY_LENGTH(uids); k++) {
            assert_int_equal(toolrack_set_returns(narrow_host, uids[k], returns[i], &err), 0);
        }
        assert_int_equal(
                toolrack_call(narrow_host, "nesting", "{\"levels\":16}", NULL, &result, &err), 0);
        assert_string_equal(toolrack_result_json(result, NULL), "16");
        toolrack_result_free(result);
        assert_int_equal(
                toolrack_call(narrow_host, "nesting", "{\"levels\":17}", NULL, &result, &err),
                TOOLRACK_E_LIMIT_EXCEEDED);
        assert_non_null(strstr(err.message, "deeper than the 16 allowed"));
        assert_int_equal(toolrack_call(narrow_host, "is_here", NULL, NULL, &result, &err), 0);
        assert_string_equal(toolrack_result_json(result, NULL), returns[i] ? "true" : "false");
        toolrack_result_free(result);
    }
    toolrack_close(narrow_host);
}

static void a_promise_is_for_a_tool_that_there_is(void **state) {
    (void)state;
    struct toolrack_error err;
    assert_int_equal(toolrack_set_returns(host, 0, true, &err), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(toolrack_set_returns(host, UINT64_MAX, true, &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "no tool is registered with the number"));
}

static void names_and_permissions(void **state) {
    (void)state;
    fails("ad", "{}", TOOLRACK_E_NOT_FOUND, "", "did you mean 'add'?");
    fails("xyzzy", "{}", TOOLRACK_E_NOT_FOUND, "", "Tool 'xyzzy' not found");
    fails("add@2.0.0", "{}", TOOLRACK_E_NOT_FOUND, "", "no version '2.0.0'; it has 1.0.0");
    gives("add@1.0.0", "{\"a\":1}", "2.0");
    fails("off", "{}", TOOLRACK_E_DISABLED, "", "disabled");
    fails("wipe", "{}", TOOLRACK_E_PERMISSION_DENIED, "", "dangerous");
    fails("nothing", "{}", TOOLRACK_E_CONFIRMATION_REQUIRED, "", "agreed");
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.confirmed = true;
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "nothing", NULL, &options, &result, NULL), 0);
    assert_string_equal(toolrack_result_json(result, NULL), "null");
    toolrack_result_free(result);
}

/* The nearest name is one that a call may run; a person who decides is shown any. */
static void what_may_not_be_called_is_not_suggested(void **state) {
    (void)state;
    static const char *const names[] = {"wipes", "of", "offf"};
    static const char *const meant[] = {"wipe", "off", "off"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct toolrack_result *result = NULL;
        struct toolrack_error err;
        assert_int_equal(toolrack_call(host, names[i], "{}", NULL, &result, &err),
                         TOOLRACK_E_NOT_FOUND);
        char suggested[32];
        (void)snprintf(suggested, sizeof suggested, "mean '%s'", meant[i]);
        assert_null(strstr(err.message, suggested));
        assert_int_equal(toolrack_grant(host, names[i], 0, NULL, &err), TOOLRACK_E_NOT_FOUND);
        assert_non_null(strstr(err.message, suggested));
        char *any = toolrack_suggest(host, names[i]);
        char *called = toolrack_suggest_call(host, names[i]);
        assert_string_equal(any, meant[i]);
        assert_true(called == NULL || strcmp(called, meant[i]) != 0);
        toolrack_free(any);
        toolrack_free(called);
    }
}

struct progress {
    int count;
    double last;
};

static void take_progress(void *user, double done, double total, const char *message) {
    struct progress *progress = user;
    progress->count++;
    progress->last = done / total;
    (void)message;
}

static void context_of_a_call(void **state) {
    (void)state;
    struct progress progress = {0};
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.caller = "ada";
    options.channel = "test";
    options.conversation = "c-1";
    options.trace = "t-7";
    options.progress = take_progress;
    options.user = &progress;
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "about", NULL, &options, &result, NULL), 0);
    assert_string_equal(toolrack_result_text(result, NULL), "ada test c-1 t-7 about limited");
    toolrack_result_free(result);
    assert_int_equal(progress.count, 2);
    assert_true(progress.last == 1.0);
    assert_string_equal(last_log, "test: a word");
    options.conversation = NULL;
    options.trace = NULL;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    assert_int_equal(toolrack_call(host, "about", NULL, &options, &result, NULL), 0);
    assert_string_equal(toolrack_result_text(result, NULL),
                        "ada test alone untraced about endless");
    toolrack_result_free(result);
}

/* --------------------------------------------------------------- questions */

/* What the tool `asker` was told, and what it is to be answered. */
struct person {
    int answer;
    const char *content; /* NULL for none */
    uint64_t wait_ms;    /* thinks for so long */
    unsigned asked;
    char seen[128];
};

static int answer_question(void *user, const char *message, const char *schema,
                           char **ret_content) {
    struct person *person = user;
    person->asked++;
    (void)snprintf(person->seen, sizeof person->seen, "%s %s", message, schema);
    if (person->wait_ms > 0) {
        const struct timespec wait = clock_timespec(person->wait_ms * CLOCK_NS_PER_MS);
        (void)nanosleep(&wait, NULL);
    }
    *ret_content = person->content != NULL ? strdup(person->content) : NULL;
    return person->answer;
}

static void asks(const char *arguments, struct person *person, uint32_t deadline_ms,
                 const char *expected) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.ask = person != NULL ? answer_question : NULL;
    options.user = person;
    options.deadline_ms = deadline_ms;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    if (toolrack_call(host, "asker", arguments, &options, &result, &err) < 0) {
        if (strstr(err.message, expected) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", expected, err.message);
        }
        return;
    }
    assert_string_equal(toolrack_result_text(result, NULL), expected);
    toolrack_result_free(result);
}

/* A question with a schema, which is written with single quotes. */
static void ask_with(const char *schema, struct person *person, const char *expected) {
    char arguments[512] = "{\"schema\":\"";
    size_t length = strlen(arguments);
    for (const char *at = schema; *at != '\0'; at++) {
        if (*at == '\'') {
            arguments[length++] = '\\';
        }
        arguments[length++] = *at == '\'' ? '"' : *at;
    }
    (void)snprintf(arguments + length, sizeof arguments - length, "\"}");
    asks(arguments, person, 0, expected);
}

static void questions_are_answered(void **state) {
    (void)state;
    static const uint32_t deadlines[] = {0, TOOLRACK_NO_DEADLINE};
    for (size_t i = 0; i < 2; i++) {
        struct person person = {.answer = TOOLRACK_ANSWER_ACCEPTED,
                                .content = "{\"branch\":\"main\"}"};
        asks("{\"schema\":\"{\\\"type\\\":\\\"object\\\"}\"}", &person, deadlines[i],
             "0 {\"branch\":\"main\"}");
        assert_int_equal(person.asked, 1);
        assert_string_equal(person.seen, "Which? {\"type\":\"object\"}");
        /* A formatted reply has no limit of its own, and is not cut inside a character. */
        char content[2000] = "{\"a\":\"";
        for (size_t n = 0; n < 600; n++) {
            strcat(content, "\u00e4");
        }
        strcat(content, "\"}");
        char reply[sizeof content + 2];
        (void)snprintf(reply, sizeof reply, "0 %s", content);
        person.content = content;
        asks("{}", &person, deadlines[i], reply);
        person.content = NULL;
        asks("{\"fault\":\"longest\"}", &person, deadlines[i], "0 {}");
        asks("{}", &person, deadlines[i], "0 {}");
        assert_string_equal(person.seen, "Which? {\"type\":\"object\",\"properties\":{}}");
        ask_with("{'type':'object','properties':{'a':{'type':'integer'},'b':{'type':'number'},"
                 "'c':{'type':'boolean'},'d':{'type':'string','enum':['x']},'e':{'type':'array',"
                 "'items':{'type':'string','enum':['x']}},'f':{'type':'array','items':{'anyOf':"
                 "[{'const':'x','title':'X'}]}}}}",
                 &person, "0 {}");
        person.answer = TOOLRACK_ANSWER_DECLINED;
        asks("{}", &person, deadlines[i], "3 none");
        person.answer = TOOLRACK_ANSWER_DISMISSED;
        asks("{}", &person, deadlines[i], "5 none");
        person.answer = 99;
        asks("{}", &person, deadlines[i], "5 none");
        person.answer = TOOLRACK_ANSWER_NOBODY;
        person.content = "{\"not\":\"used\"}";
        asks("{}", &person, deadlines[i], "7 none");
        asks("{}", NULL, deadlines[i], "7 none");
    }
}

static void bad_questions_and_answers_fail_the_call(void **state) {
    (void)state;
    struct person person = {.answer = TOOLRACK_ANSWER_ACCEPTED, .content = "[1]"};
    asks("{}", &person, 0, "the answer to the tool's question is not a JSON object");
    person.content = "{\"a\":";
    asks("{}", &person, 0, "the answer to the tool's question is not a JSON object");
    person.asked = 0;
    asks("{\"schema\":\"3\"}", &person, 0, "its schema is not a JSON object");
    asks("{\"schema\":\"{\"}", &person, 0, "its schema is not a JSON object");
    static const char *const nested[] = {
            "{'type':'object','properties':{'at':{'type':'object','properties':{}}}}",
            "{'type':'object','properties':{'at':{'type':'array','items':{'type':'string'}}}}",
            "{'type':'object','properties':{'at':{'type':['string','null']}}}",
            "{'type':'object','properties':{'at':{'$ref':'#/$defs/at'}}}",
            "{'type':'object','properties':{'good':{'type':'string'},'at':true}}",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(nested); i++) {
        ask_with(nested[i], &person,
                 "its schema is not flat: property \"at\" has no type, or another");
    }
    ask_with("{'type':'array','properties':{}}", &person, "its schema is not one of an object");
    asks("{\"message\":\"\"}", &person, 0, "it has no message");
    asks("{\"fault\":\"null\"}", &person, 0, "it has no message");
    asks("{\"fault\":\"bytes\"}", &person, 0, "its message is not UTF-8");
    asks("{\"fault\":\"long\"}", &person, 0, "more than the 65536 bytes allowed");
    asks("{\"fault\":\"long schema\"}", &person, 0, "more than the 65536 bytes allowed");
    assert_int_equal(person.asked, 0);
    /* Wrong questions are wrong whoever is there. */
    asks("{\"message\":\"\"}", NULL, 0, "it has no message");
}

/* Time enough for a thread of the pool to begin on a machine that does other things too. */
#define BEGIN_MS 400u

static void late_answers_are_of_no_use(void **state) {
    (void)state;
    struct person person = {
            .answer = TOOLRACK_ANSWER_ACCEPTED, .content = "{\"a\":1}", .wait_ms = BEGIN_MS + 50};
    asks("{}", &person, BEGIN_MS, "did not finish within its deadline");
    assert_int_equal(person.asked, 1);
}

static void times_out_after(uint32_t ms, const char *tool, const char *arguments,
                            const char *message) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = ms;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    uint64_t start = clock_now_ns();
    assert_int_equal(toolrack_call(host, tool, arguments, &options, &result, &err),
                     TOOLRACK_E_TIMEOUT);
    assert_true(clock_now_ns() - start >= (uint64_t)ms * CLOCK_NS_PER_MS);
    if (strstr(err.message, message) == NULL) {
        fail_msg("%s", err.message);
    }
}

static void times_out(const char *tool, const char *arguments, const char *message) {
    times_out_after(BEGIN_MS, tool, arguments, message);
}

/* Ends by itself at its deadline: whoever looks first, it is a Timeout. */
static void a_tool_that_listens_times_out_too(void **state) {
    (void)state;
    times_out("sleeper", "{}", "did not finish within its deadline");
    for (uint32_t ms = 20; ms < 40; ms++) { /* it may not even have begun */
        times_out_after(ms, "sleeper", "{}", "");
    }
}

static enum toolrack_tool_state state_of(const char *name) {
    struct toolrack_tool *tool = toolrack_get(host, name);
    enum toolrack_tool_state state = toolrack_tool_state(tool);
    toolrack_tool_unref(tool);
    return state;
}

static void wait_for_recovery(int count) {
    (void)pthread_mutex_lock(&event_lock);
    AWAIT_SIGNALLED(recovered_events == count, &event_cond, &event_lock);
    (void)pthread_mutex_unlock(&event_lock);
}

static void deadline_passes_while_the_tool_runs(void **state) {
    (void)state;
    times_out("sleeper", "{\"stubborn\":true}", "did not finish within its deadline");
    assert_int_equal(state_of("sleeper"), TOOLRACK_STATE_STUCK);
    assert_int_equal(stuck_events, 1);
    gives("add", "{\"a\":1,\"b\":1}", "2.0"); /* thread safe: others go on */
    last_log[0] = '\0';
    release_sleepers();
    wait_for_recovery(1);
    assert_int_equal(state_of("sleeper"), TOOLRACK_STATE_LOADED);
    assert_null(strstr(last_log, "late words")); /* nobody waits: its words lead nowhere */
    struct toolrack_tool *tool = toolrack_get(host, "sleeper");
    struct toolrack_tool_statistics statistics = TOOLRACK_TOOL_STATISTICS_INIT;
    toolrack_tool_statistics(tool, &statistics);
    assert_int_equal(statistics.calls, 1);
    assert_int_equal(statistics.failures, 1);
    toolrack_tool_unref(tool);
}

/* Who has a deadline waits behind a call that does not return, as behind any other. */
static void a_stuck_serial_plugin_is_waited_for(void **state) {
    (void)state;
    times_out("serial_sleeper", "{\"stubborn\":true}", "did not finish");
    times_out("serial_typed", "{}", "its plugin is stuck in a call that did not return");
    release_sleepers();
    wait_for_recovery(1);
}

/* A tool of a stuck plugin that could not run is as good as before. */
static void to_wait_for_a_stuck_plugin_is_no_failure_of_the_tool(void **state) {
    (void)state;
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    times_out("serial_sleeper", "{\"stubborn\":true}", "did not finish");
    for (int i = 0; i < 6; i++) {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        struct toolrack_result *result = NULL;
        options.deadline_ms = i % 2 == 0 ? 10 : TOOLRACK_NO_DEADLINE;
        assert_true(toolrack_call(host, "serial_typed", NULL, &options, &result, NULL) < 0);
    }
    assert_int_equal(toolrack_marked(host, TOOLRACK_MARK_BLACKLIST, &text, &err), 0);
    assert_string_equal(toolrack_text_data(text, NULL), "[]");
    toolrack_text_unref(text);
    release_sleepers();
    wait_for_recovery(1);
}

struct outcome {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    int count;
    int code;
    bool is_odd;      /* neither a result nor an error, or both */
    pthread_t thread; /* of the last */
    char json[64];
};
#define OUTCOME_INIT \
    { .lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER }

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    struct outcome *outcome = user;
    (void)pthread_mutex_lock(&outcome->lock);
    outcome->count++;
    outcome->code = err != NULL ? err->code : 0;
    outcome->is_odd = outcome->is_odd || (result != NULL) == (err != NULL);
    outcome->thread = pthread_self();
    if (result != NULL) {
        (void)snprintf(outcome->json, sizeof outcome->json, "%s",
                       toolrack_result_json(result, NULL));
    }
    (void)pthread_cond_broadcast(&outcome->cond);
    (void)pthread_mutex_unlock(&outcome->lock);
    toolrack_result_free(result);
}

static void wait_outcomes(struct outcome *outcome, int count) {
    (void)pthread_mutex_lock(&outcome->lock);
    AWAIT_SIGNALLED(outcome->count >= count, &outcome->cond, &outcome->lock);
    assert_int_equal(outcome->count, count);
    assert_false(outcome->is_odd);
    (void)pthread_mutex_unlock(&outcome->lock);
}

static void submitted_calls(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    struct toolrack_error err;
    for (int i = 0; i < 100; i++) {
        char arguments[32];
        (void)snprintf(arguments, sizeof arguments, "{\"a\":%d}", i);
        assert_int_equal(
                toolrack_submit(host, "add", arguments, NULL, take_outcome, &outcome, NULL, &err),
                0);
    }
    wait_outcomes(&outcome, 100);
    assert_int_equal(outcome.code, 0);
    assert_int_equal(
            toolrack_submit(host, "limited", "{}", NULL, take_outcome, &outcome, NULL, &err), 0);
    wait_outcomes(&outcome, 101);
    assert_int_equal(outcome.code, TOOLRACK_E_INVALID_ARGUMENTS);
    assert_int_equal(toolrack_submit(host, "none", "{}", NULL, take_outcome, &outcome, NULL, &err),
                     TOOLRACK_E_NOT_FOUND);
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = BEGIN_MS;
    assert_int_equal(toolrack_submit(host, "sleeper", "{\"stubborn\":true}", &options, take_outcome,
                                     &outcome, NULL, &err),
                     0);
    wait_outcomes(&outcome, 102);
    assert_int_equal(outcome.code, TOOLRACK_E_TIMEOUT);
    release_sleepers();
    wait_for_recovery(1);
}

static void cancelled_calls(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    struct toolrack_call *call = NULL;
    assert_int_equal(
            toolrack_submit(host, "sleeper", "{}", NULL, take_outcome, &outcome, &call, NULL), 0);
    wait_for_sleepers(1);
    toolrack_cancel(call);
    wait_outcomes(&outcome, 1);
    assert_int_equal(outcome.code, TOOLRACK_E_CANCELLED);
    toolrack_cancel(call); /* it has ended: nothing happens */
    toolrack_call_unref(call);

    /* One that ignores the request is given up after the grace. */
    assert_int_equal(toolrack_submit(host, "sleeper", "{\"stubborn\":true}", NULL, take_outcome,
                                     &outcome, &call, NULL),
                     0);
    wait_for_sleepers(1);
    toolrack_cancel(call);
    wait_outcomes(&outcome, 2);
    assert_int_equal(outcome.code, TOOLRACK_E_CANCELLED);
    toolrack_call_unref(call);
    release_sleepers();
    wait_for_recovery(1);
}

/* What one party has queued does not keep another from its turn. */
static void parties_take_turns(void **state) {
    (void)state;
    struct outcome much = OUTCOME_INIT;
    struct outcome little = OUTCOME_INIT;
    enum { CALLS = 8, OTHERS = 4 };
    struct toolrack_call *calls[CALLS];
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    options.party = "much";
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(toolrack_submit(host, "serial_sleeper", "{}", &options, take_outcome,
                                         &much, &calls[i], NULL),
                         0);
    }
    wait_for_sleepers(1);
    /* Two parties may count as one, by chance: not all of these do. */
    static const char *const others[OTHERS] = {"little", "less", "few", "one"};
    for (int i = 0; i < OTHERS; i++) {
        options.party = others[i];
        assert_int_equal(toolrack_submit(host, "serial_typed", "{}", &options, take_outcome,
                                         &little, NULL, NULL),
                         0);
    }
    toolrack_cancel(calls[0]);
    (void)pthread_mutex_lock(&little.lock);
    AWAIT_SIGNALLED(little.count > 0, &little.cond, &little.lock);
    assert_int_equal(little.code, 0);
    (void)pthread_mutex_unlock(&little.lock);
    for (int i = 0; i < CALLS; i++) {
        toolrack_cancel(calls[i]);
        toolrack_call_unref(calls[i]);
    }
    wait_outcomes(&much, CALLS);
    wait_outcomes(&little, OTHERS);
}

/* Nor does what it runs, where there are places enough: calls that go on for ever leave one. */
static void a_party_leaves_a_place_to_others(void **state) {
    (void)state;
    struct outcome much = OUTCOME_INIT;
    struct outcome little = OUTCOME_INIT;
    enum { PLACES = 4, CALLS = PLACES + 2 };
    struct toolrack_call *calls[CALLS];
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_tool *tool = toolrack_get(host, "sleeper");
    tool->reg->plugin->calls_max = PLACES; /* as that of one in workers */
    toolrack_tool_unref(tool);
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    options.party = "much";
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(toolrack_submit(host, "sleeper", "{}", &options, take_outcome, &much,
                                         &calls[i], NULL),
                         0);
    }
    wait_for_sleepers(PLACES - 1);
    /* Not all of these count as the same party. */
    static const char *const others[] = {"little", "less", "few", NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        options.party = others[i];
        assert_int_equal(toolrack_submit(host, "add", "{\"a\":1}", &options, take_outcome, &little,
                                         NULL, NULL),
                         0);
    }
    (void)pthread_mutex_lock(&little.lock);
    AWAIT_SIGNALLED(little.count > 0, &little.cond, &little.lock);
    (void)pthread_mutex_unlock(&little.lock);
    for (int i = 0; i < CALLS; i++) {
        toolrack_cancel(calls[i]);
        toolrack_call_unref(calls[i]);
    }
    wait_outcomes(&much, CALLS);
    wait_outcomes(&little, ARRAY_LENGTH(others));
    /* All places are of whom nothing is said, as of the app itself. */
    options.party = NULL;
    for (int i = 0; i < PLACES; i++) {
        assert_int_equal(toolrack_submit(host, "sleeper", "{}", &options, take_outcome, &much,
                                         &calls[i], NULL),
                         0);
    }
    wait_for_sleepers(PLACES);
    for (int i = 0; i < PLACES; i++) {
        toolrack_cancel(calls[i]);
        toolrack_call_unref(calls[i]);
    }
    wait_outcomes(&much, CALLS + PLACES);
}

static void a_party_has_half_of_the_queue(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    struct toolrack_call *first = NULL;
    struct toolrack_error why;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    options.party = "much";
    assert_int_equal(toolrack_submit(host, "serial_sleeper", "{}", &options, take_outcome, &outcome,
                                     &first, NULL),
                     0);
    wait_for_sleepers(1);
    int count = 1;
    int code;
    while ((code = toolrack_submit(host, "serial_typed", "{}", &options, take_outcome, &outcome,
                                   NULL, &why)) == 0) {
        count++;
        assert_true(count <= TOOLRACK_QUEUE_MAX / 2 + 1);
    }
    assert_int_equal(count, TOOLRACK_QUEUE_MAX / 2 + 1);
    assert_int_equal(code, TOOLRACK_E_LIMIT_EXCEEDED);
    assert_false(toolrack_error_has_begun(&why));
    assert_string_equal(why.message,
                        "2048 calls of this caller wait for a thread of the host, and no more of "
                        "one caller may; try again later");
    options.party = NULL;
    assert_int_equal(toolrack_submit(host, "serial_typed", "{}", &options, take_outcome, &outcome,
                                     NULL, NULL),
                     0);
    toolrack_cancel(first);
    toolrack_call_unref(first);
    wait_outcomes(&outcome, count + 1);
}

static void queue_is_bounded_and_cancelled_while_waiting(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    options.threads_max = 1;
    struct toolrack *narrow = NULL;
    assert_int_equal(toolrack_open(&options, &narrow, NULL), 0);
    assert_int_equal(toolrack_register(narrow, &toolrack_plugin, NULL, NULL), 0);
    struct outcome outcome = OUTCOME_INIT;
    struct toolrack_call *first = NULL;
    struct toolrack_call *waiting = NULL;
    assert_int_equal(
            toolrack_submit(narrow, "sleeper", "{}", NULL, take_outcome, &outcome, &first, NULL),
            0);
    wait_for_sleepers(1);
    assert_int_equal(
            toolrack_submit(narrow, "add", "{}", NULL, take_outcome, &outcome, &waiting, NULL), 0);
    toolrack_cancel(waiting);
    wait_outcomes(&outcome, 1);
    assert_int_equal(outcome.code, TOOLRACK_E_CANCELLED);
    assert_false(pthread_equal(outcome.thread, pthread_self())); /* which may hold a lock */
    toolrack_call_unref(waiting);
    int queued = 1;
    struct toolrack_error err;
    int code;
    while ((code = toolrack_submit(narrow, "add", "{\"a\":1}", NULL, take_outcome, &outcome, NULL,
                                   &err)) == 0) {
        queued++;
        assert_true(queued <= TOOLRACK_QUEUE_MAX);
    }
    assert_int_equal(code, TOOLRACK_E_LIMIT_EXCEEDED);
    toolrack_cancel(first);
    toolrack_call_unref(first);
    wait_outcomes(&outcome, queued + 1);
    toolrack_close(narrow);
}

struct pair {
    struct outcome first;
    struct outcome second;
};

static void take_first_after_second(void *user, struct toolrack_result *result,
                                    const struct toolrack_error *err) {
    struct pair *pair = user;
    wait_outcomes(&pair->second, 1);
    take_outcome(&pair->first, result, err);
}

/* A plugin that runs one call at a time is free again before the callback of its call ends. */
static void a_callback_may_wait_for_the_next_call_of_its_plugin(void **state) {
    (void)state;
    static const char arguments[] = "{\"deadline\":4294967295}";
    (void)alarm(20);
    for (int i = 0; i < 20; i++) {
        struct pair pair = {.first = OUTCOME_INIT, .second = OUTCOME_INIT};
        assert_int_equal(toolrack_submit(host, "serial_nested", arguments, NULL,
                                         take_first_after_second, &pair, NULL, NULL),
                         0);
        assert_int_equal(toolrack_submit(host, "serial_nested", arguments, NULL, take_outcome,
                                         &pair.second, NULL, NULL),
                         0);
        wait_outcomes(&pair.first, 1);
        assert_int_equal(pair.second.code, 0);
    }
    (void)alarm(0);
}

static uint64_t cpu_time_ns(void) {
    struct timespec used;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * CLOCK_NS_PER_S + (uint64_t)used.tv_nsec;
}

static bool uses_no_cpu_for_a_while(void) {
    const struct timespec nap = {.tv_nsec = 50 * 1000 * 1000};
    uint64_t before = cpu_time_ns();
    (void)nanosleep(&nap, NULL);
    return cpu_time_ns() - before < 5 * (uint64_t)CLOCK_NS_PER_MS;
}

static void idle_host_uses_no_cpu(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        gives("add", "{\"a\":2}", "3.0");
    }
    /* What the calls left to do may still be done; a thread that looks without end is never idle.
     */
    AWAIT(uses_no_cpu_for_a_while());
}

static void closing_gives_up_what_does_not_end(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    assert_int_equal(
            toolrack_submit(host, "sleeper", "{}", NULL, take_outcome, &outcome, NULL, NULL), 0);
    wait_for_sleepers(1);
    toolrack_close(host); /* a call that listens ends in time */
    host = NULL;
    wait_outcomes(&outcome, 1);
    assert_int_equal(outcome.code, TOOLRACK_E_CANCELLED);
}

static void a_conversation_is_cancelled_whole(void **state) {
    (void)state;
    struct outcome ours = OUTCOME_INIT;
    struct outcome theirs = OUTCOME_INIT;
    struct toolrack_call *call = NULL;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.conversation = "ours";
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
                toolrack_submit(host, "sleeper", "{}", &options, take_outcome, &ours, NULL, NULL),
                0);
    }
    options.conversation = "theirs";
    assert_int_equal(
            toolrack_submit(host, "sleeper", "{}", &options, take_outcome, &theirs, &call, NULL),
            0);
    wait_for_sleepers(3);
    toolrack_cancel_conversation(host, "nobody's");
    toolrack_cancel_conversation(host, "ours");
    wait_outcomes(&ours, 2);
    assert_int_equal(ours.code, TOOLRACK_E_CANCELLED);
    wait_for_sleepers(1);
    toolrack_cancel(call);
    wait_outcomes(&theirs, 1);
    toolrack_call_unref(call);
}

static uint64_t now_ms(void) {
    return clock_now_ns() / CLOCK_NS_PER_MS;
}

static atomic_int progressed;
static struct toolrack_call *_Atomic progressing;

static void cancel_from_progress(void *user, double done, double total, const char *message) {
    (void)user;
    (void)done;
    (void)total;
    (void)message;
    struct toolrack_call *call;
    AWAIT((call = atomic_load(&progressing)) != NULL);
    toolrack_cancel(call);
    assert_int_equal(toolrack_submit(host, "add", "{\"a\":1}", NULL, NULL, NULL, NULL, NULL), 0);
    atomic_fetch_add(&progressed, 1);
}

static void progress_may_call_back(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_call *call = NULL;
    options.progress = cancel_from_progress;
    options.caller = "me";
    (void)alarm(20);
    assert_int_equal(
            toolrack_submit(host, "about", "{}", &options, take_outcome, &outcome, &call, NULL), 0);
    atomic_store(&progressing, call);
    wait_outcomes(&outcome, 1);
    (void)alarm(0);
    assert_int_equal(atomic_load(&progressed), 2);
    toolrack_call_unref(call);
}

static atomic_bool holding_progress;
static atomic_bool in_progress;

static void hold_progress(void *user, double done, double total, const char *message) {
    (void)done;
    (void)total;
    (void)message;
    atomic_store(&in_progress, true);
    AWAIT(!atomic_load(&holding_progress));
    atomic_store((atomic_bool *)user, true);
}

/* Who gave the callbacks may release what they use as soon as the call has ended. */
static void progress_holds_up_its_own_call_alone(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    atomic_bool ended = false;
    options.progress = hold_progress;
    options.user = &ended;
    options.caller = "me";
    options.deadline_ms = BEGIN_MS;
    atomic_store(&holding_progress, true);
    (void)alarm(20);
    struct toolrack_tool *tool = toolrack_get(host, "about");
    assert_int_equal(
            toolrack_submit(host, "about", "{}", &options, take_outcome, &outcome, NULL, NULL), 0);
    AWAIT(atomic_load(&in_progress));
    AWAIT(atomic_load(&tool->reg->plugin->stuck) == 1); /* the call was given up */
    toolrack_tool_unref(tool);
    gives("add", "{\"a\":1}", "2.0");
    assert_int_equal(outcome.count, 0);
    atomic_store(&holding_progress, false);
    wait_outcomes(&outcome, 1);
    (void)alarm(0);
    assert_int_equal(outcome.code, TOOLRACK_E_TIMEOUT);
    assert_true(atomic_load(&ended));
    wait_for_recovery(1);
}

struct serial_call {
    pthread_t thread;
    const char *tool;
    int code;
    struct toolrack_error err;
};

static void *call_serial_without_deadline(void *argument) {
    struct serial_call *call = argument;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    call->code = toolrack_call(host, call->tool, NULL, &options, &result, &call->err);
    toolrack_result_free(result);
    return NULL;
}

static void waiting_for_a_turn_ends(void **state) {
    (void)state;
    struct outcome first = OUTCOME_INIT;
    struct outcome second = OUTCOME_INIT;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = 400;
    (void)alarm(20);
    assert_int_equal(toolrack_submit(host, "serial_sleeper", "{\"stubborn\":true}", &options,
                                     take_outcome, &first, NULL, NULL),
                     0);
    wait_for_sleepers(1);

    /* One that is cancelled has not begun: it ends at once. */
    struct toolrack_call *call = NULL;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    assert_int_equal(toolrack_submit(host, "serial_sleeper", NULL, &options, take_outcome, &second,
                                     &call, NULL),
                     0);
    (void)usleep(20000);
    uint64_t began_ms = now_ms();
    toolrack_cancel(call);
    wait_outcomes(&second, 1);
    assert_int_equal(second.code, TOOLRACK_E_CANCELLED);
    assert_true(now_ms() - began_ms < 300);
    toolrack_call_unref(call);

    /* One without a deadline would wait for ever when the turn is lost. */
    struct serial_call waiting = {.tool = "serial_sleeper"};
    assert_int_equal(pthread_create(&waiting.thread, NULL, call_serial_without_deadline, &waiting),
                     0);
    wait_outcomes(&first, 1);
    assert_int_equal(first.code, TOOLRACK_E_TIMEOUT);
    assert_int_equal(pthread_join(waiting.thread, NULL), 0);
    assert_int_equal(waiting.code, TOOLRACK_E_EXECUTION_FAILED);
    assert_non_null(strstr(waiting.err.message, "is stuck"));

    /* Who has a deadline gets the turn when that call returns after all. */
    struct outcome third = OUTCOME_INIT;
    options.deadline_ms = 0;
    assert_int_equal(
            toolrack_submit(host, "serial_typed", NULL, &options, take_outcome, &third, NULL, NULL),
            0);
    (void)usleep(20000);
    release_sleepers();
    wait_for_recovery(1);
    wait_outcomes(&third, 1);
    assert_int_equal(third.code, 0);
    (void)alarm(0);
    fails("serial_sleeper", NULL, TOOLRACK_E_EXECUTION_FAILED, "",
          "the tool says Cancelled: woken");
}

static void a_typed_tool_waits_for_its_turn(void **state) {
    (void)state;
    struct serial_call first = {.tool = "serial_sleeper"};
    struct serial_call second = {.tool = "serial_typed"};
    atomic_store(&has_run, false);
    (void)alarm(20);
    assert_int_equal(pthread_create(&first.thread, NULL, call_serial_without_deadline, &first), 0);
    wait_for_sleepers(1);
    assert_int_equal(pthread_create(&second.thread, NULL, call_serial_without_deadline, &second),
                     0);
    (void)usleep(50000);
    assert_false(atomic_load(&has_run));
    release_sleepers();
    assert_int_equal(pthread_join(first.thread, NULL), 0);
    assert_int_equal(pthread_join(second.thread, NULL), 0);
    (void)alarm(0);
    assert_int_equal(first.code, TOOLRACK_E_EXECUTION_FAILED); /* nobody cancelled it */
    assert_int_equal(second.code, 0);
    assert_true(atomic_load(&has_run));
}

static void a_serial_plugin_that_calls_itself(void **state) {
    (void)state;
    (void)alarm(20);
    gives("serial_nested", "{\"deadline\":4294967295}", "\"calls itself\"");
    gives("serial_nested", "{\"deadline\":20}", "\"Timeout\"");
    (void)alarm(0);
}

static unsigned opened;

static tr_status open_own(struct tr_host *own_host) {
    opened++;
    return tr_host_config(own_host, "refuses", NULL) != NULL || opened > 1
                   ? tr_host_fail(own_host, "opened %u times", opened)
                   : TR_OK;
}

static tr_status own_runs(struct tr_call *call) {
    return tr_reply_text(call, "open");
}

static void an_own_plugin_opens_at_its_first_call(void **state) {
    (void)state;
    struct tr_tool tool = {.size = sizeof tool,
                           .name = "own_runs",
                           .description = "Says that it is open",
                           .schema = "{\"type\":\"object\"}",
                           .run = own_runs};
    const struct tr_tool *const tools[] = {&tool};
    struct tr_plugin plugin = serial_plugin;
    plugin.id = "own";
    plugin.tool_count = 1;
    plugin.tools = tools;
    plugin.open = open_own;
    assert_int_equal(toolrack_register(host, &plugin, NULL, NULL), 0);
    assert_int_equal(opened, 0);
    assert_int_equal(state_of("own_runs"), TOOLRACK_STATE_LISTED);
    gives("own_runs", "{}", "\"open\"");
    assert_int_equal(opened, 1);
    assert_int_equal(state_of("own_runs"), TOOLRACK_STATE_LOADED);
    /* One that cannot open is registered all the same, and its calls say why. */
    tool.name = "own_fails";
    plugin.id = "own2";
    assert_int_equal(toolrack_register(host, &plugin, NULL, NULL), 0);
    fails("own_fails", "{}", TOOLRACK_E_EXECUTION_FAILED, "",
          "plugin 'own2' could not open: opened 2 times");
    assert_int_equal(state_of("own_fails"), TOOLRACK_STATE_FAILED);
    struct toolrack_tool *own = toolrack_get(host, "own_runs");
    assert_int_equal(toolrack_tool_priority(own), TOOLRACK_PRIORITY_BUILTIN);
    toolrack_tool_unref(own);
}

static void a_plugin_that_does_not_open_in_time(void **state) {
    (void)state;
    char dir[] = "/tmp/toolrack-test-XXXXXX";
    char path[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/slow.so", dir);
    assert_int_equal(symlink(TEST_PLUGINS "/slow-open.so", path), 0);
    const char *const dirs[] = {dir, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = dirs;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.threads_max = 1;
    options.event = take_event;
    struct toolrack *before = host;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    assert_int_equal(toolrack_register(host, &toolrack_plugin, NULL, NULL), 0);
    /* It takes two seconds to open: a machine that does much else has begun by then. */
    times_out_after(500, "late", "{}", "still being loaded");
    uint64_t began_ms = now_ms();
    assert_int_equal(state_of("late"), TOOLRACK_STATE_STUCK);
    times_out("late", "{}", "its plugin is stuck");
    struct toolrack_call_options waiting = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err = {0};
    waiting.deadline_ms = TOOLRACK_NO_DEADLINE;
    assert_int_equal(toolrack_call(host, "late", "{}", &waiting, &result, &err),
                     TOOLRACK_E_EXECUTION_FAILED);
    assert_non_null(strstr(err.message, "is stuck: it is being loaded"));
    gives("add", "{\"a\":1}", "2.0");
    assert_true(now_ms() - began_ms < 1000);
    waiting.deadline_ms = 0; /* it waits until the plugin is loaded */
    assert_int_equal(toolrack_call(host, "late", "{}", &waiting, &result, &err), 0);
    toolrack_result_free(result);
    wait_for_recovery(1);
    assert_int_equal(state_of("late"), TOOLRACK_STATE_LOADED);
    gives("late", "{}", "\"late\"");
    toolrack_close(host);
    (void)unlink(path);
    (void)rmdir(dir);
    host = before;
}

static void submit_again(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    toolrack_result_free(result);
    if (toolrack_submit(host, "sleeper", NULL, NULL, submit_again, user, NULL, NULL) < 0) {
        take_outcome(user, NULL, err);
    }
}

static void closing_ends_what_submits_again(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    (void)alarm(20);
    for (int i = 0; i < 100; i++) { /* more than there are threads */
        assert_int_equal(
                toolrack_submit(host, "sleeper", NULL, NULL, submit_again, &outcome, NULL, NULL),
                0);
    }
    toolrack_close(host);
    (void)alarm(0);
    host = NULL;
    wait_outcomes(&outcome, 100);
    assert_int_equal(outcome.code, TOOLRACK_E_CANCELLED);
}

/* A thread of the app that waits for its call. */
struct caller {
    const char *tool;
    const char *arguments;
    uint64_t deadline_ms;
    pthread_t thread;
    int code;
    atomic_int id; /* of the thread, once it is about to call; 0: not yet */
};

static void *call_and_wait(void *argument) {
    struct caller *caller = argument;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.deadline_ms = (uint32_t)caller->deadline_ms;
    atomic_store(&caller->id, (int)gettid());
    caller->code = toolrack_call(host, caller->tool, caller->arguments, &options, &result, NULL);
    toolrack_result_free(result);
    return NULL;
}

/* Whether it waits for something: then it is inside the host, which close may free before one that
 * is about to call. */
static bool waits(const struct caller *caller) {
    char path[64];
    char text[300] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&caller->id));
    FILE *file = atomic_load(&caller->id) != 0 ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return false;
    }
    (void)!fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'S';
}

static void start_callers(struct caller *callers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_and_wait, &callers[i]), 0);
    }
    for (size_t i = 0; i < count; i++) {
        AWAIT(waits(&callers[i]));
    }
}

static void join_cancelled(struct caller *callers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].code, TOOLRACK_E_CANCELLED);
    }
}

/* On their own threads and on those of the host; in the tool, and before its turn. */
static void closing_ends_the_calls_of_other_threads(void **state) {
    (void)state;
    struct caller callers[] = {
            {.tool = "sleeper", .deadline_ms = TOOLRACK_NO_DEADLINE},
            {.tool = "sleeper", .deadline_ms = 60000},
            {.tool = "serial_sleeper", .deadline_ms = TOOLRACK_NO_DEADLINE},
            {.tool = "serial_sleeper", .deadline_ms = TOOLRACK_NO_DEADLINE},
            {.tool = "serial_sleeper", .deadline_ms = 60000},
    };
    (void)alarm(20);
    start_callers(callers, ARRAY_LENGTH(callers));
    wait_for_sleepers(3);
    toolrack_close(host);
    (void)alarm(0);
    join_cancelled(callers, ARRAY_LENGTH(callers));
    host = NULL;
}

/* One waits for a thread of the host, and is given up; in the others the tools run themselves, and
 * return to a host that was closed. */
static void closing_leaves_callers_whose_tools_do_not_end(void **state) {
    (void)state;
    static const char stubborn[] = "{\"stubborn\":true}";
    struct caller callers[] = {
            {.tool = "sleeper", .arguments = stubborn, .deadline_ms = 60000},
            {.tool = "sleeper", .arguments = stubborn, .deadline_ms = TOOLRACK_NO_DEADLINE},
            {.tool = "serial_sleeper", .arguments = stubborn, .deadline_ms = TOOLRACK_NO_DEADLINE},
    };
    (void)alarm(20);
    start_callers(callers, ARRAY_LENGTH(callers));
    wait_for_sleepers(3);
    uint64_t began_ms = now_ms();
    toolrack_close(host);
    assert_true(now_ms() - began_ms < 3000);
    join_cancelled(callers, 1);
    release_sleepers();
    join_cancelled(callers + 1, 2);
    (void)alarm(0);
    host = NULL;
}

/* The last test: its sleepers are never released. */
static void closing_waits_for_nothing_that_does_not_end(void **state) {
    (void)state;
    struct outcome outcome = OUTCOME_INIT;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    (void)alarm(20);
    for (int i = 0; i < 3; i++) { /* one runs, the others wait for their turn */
        assert_int_equal(toolrack_submit(host, "serial_sleeper", "{\"stubborn\":true}", &options,
                                         take_outcome, &outcome, NULL, NULL),
                         0);
    }
    wait_for_sleepers(1);
    (void)usleep(20000); /* until the others wait */
    uint64_t began_ms = now_ms();
    toolrack_close(host);
    (void)alarm(0);
    host = NULL;
    assert_true(now_ms() - began_ms < 3000);
    wait_outcomes(&outcome, 3);
    assert_int_equal(outcome.code, TOOLRACK_E_CANCELLED);
}

#define IN_HOST(test) cmocka_unit_test_setup_teardown(test, open_host, close_host)

/* A tool that calls itself, deeper than a CPU has notes of calls, and in the last call removes
 * itself: what all of them use stays until they have ended. */
#define REMOVED_DEPTH 12u

static tr_status remove_itself(struct tr_call *call) {
    uint64_t depth = tr_get_u64(call, "depth", 0);
    if (depth == REMOVED_DEPTH) {
        assert_int_equal(toolrack_unregister_name(host, "remove_itself", NULL), 0);
    } else {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        struct toolrack_result *result = NULL;
        char arguments[32];
        (void)snprintf(arguments, sizeof arguments, "{\"depth\":%u}", (unsigned)depth + 1);
        options.deadline_ms = TOOLRACK_NO_DEADLINE;
        assert_int_equal(toolrack_call(host, "remove_itself", arguments, &options, &result, NULL),
                         0);
        toolrack_result_free(result);
    }
    return tr_reply_textf(call, "%s is removed", tr_context(call, TR_CONTEXT_TOOL));
}
TR_JSON_TOOL(remove_itself, "Removes itself", TR_SCHEMA({"type" : "object"}))

static void a_removed_tool_stays_while_calls_use_it(void **state) {
    (void)state;
    static const struct tr_tool *const table[] = {&tr_tool_remove_itself};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = "removed",
                                     .version = "1.0.0",
                                     .flags = TR_THREAD_SAFE,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = table};
    for (int i = 0; i < 3; i++) {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        struct toolrack_result *result = NULL;
        options.deadline_ms = TOOLRACK_NO_DEADLINE;
        assert_int_equal(toolrack_register(host, &plugin, NULL, NULL), 0);
        assert_int_equal(toolrack_call(host, "remove_itself", "{}", &options, &result, NULL), 0);
        assert_non_null(strstr(toolrack_result_json(result, NULL), "remove_itself is removed"));
        toolrack_result_free(result);
        assert_null(toolrack_get(host, "remove_itself"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            IN_HOST(typed_tools),
            IN_HOST(a_result_may_be_what_an_argument_points_to),
            IN_HOST(json_tools),
            IN_HOST(bad_arguments),
            IN_HOST(a_member_given_twice_is_refused),
            IN_HOST(broken_replies),
            IN_HOST(replies_in_pieces),
            IN_HOST(limits_of_a_call),
            IN_HOST(a_removed_tool_stays_while_calls_use_it),
            IN_HOST(deep_arguments),
            IN_HOST(texts_are_lines_of_utf8),
            cmocka_unit_test(tools_that_call_tools),
            IN_HOST(a_promise_is_for_a_tool_that_there_is),
            IN_HOST(names_and_permissions),
            IN_HOST(what_may_not_be_called_is_not_suggested),
            IN_HOST(context_of_a_call),
            IN_HOST(questions_are_answered),
            IN_HOST(bad_questions_and_answers_fail_the_call),
            IN_HOST(late_answers_are_of_no_use),
            IN_HOST(a_tool_that_listens_times_out_too),
            IN_HOST(deadline_passes_while_the_tool_runs),
            IN_HOST(a_stuck_serial_plugin_is_waited_for),
            IN_HOST(to_wait_for_a_stuck_plugin_is_no_failure_of_the_tool),
            IN_HOST(submitted_calls),
            IN_HOST(cancelled_calls),
            IN_HOST(parties_take_turns),
            IN_HOST(a_party_leaves_a_place_to_others),
            IN_HOST(a_party_has_half_of_the_queue),
            IN_HOST(queue_is_bounded_and_cancelled_while_waiting),
            IN_HOST(a_callback_may_wait_for_the_next_call_of_its_plugin),
            IN_HOST(idle_host_uses_no_cpu),
            IN_HOST(closing_gives_up_what_does_not_end),
            IN_HOST(a_conversation_is_cancelled_whole),
            IN_HOST(progress_may_call_back),
            IN_HOST(progress_holds_up_its_own_call_alone),
            IN_HOST(waiting_for_a_turn_ends),
            IN_HOST(a_typed_tool_waits_for_its_turn),
            IN_HOST(a_serial_plugin_that_calls_itself),
            IN_HOST(an_own_plugin_opens_at_its_first_call),
            IN_HOST(a_plugin_that_does_not_open_in_time),
            IN_HOST(closing_ends_what_submits_again),
            IN_HOST(closing_ends_the_calls_of_other_threads),
            IN_HOST(closing_leaves_callers_whose_tools_do_not_end),
            IN_HOST(closing_waits_for_nothing_that_does_not_end),
    };
    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
