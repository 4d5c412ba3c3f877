/* The parts of a conversation with a model that need no network, and its plans. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/agent-plan.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "net/http.h"
#include "net/libcurl.h"
#include "net/retry.h"
#include "provider.h"
#include "provider/call-secrets.h"
#include "provider/conversation.h"
#include "provider/endpoint.h"
#include "provider/headers.h"
#include "provider/key-pieces.h"
#include "provider/keys.h"
#include "provider/parameters.h"
#include "provider/prices.h"
#include "provider/said.h"
#include "provider/transcript.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

static int load(void **state) {
    (void)state;
    return libcurl_load(NULL);
}

/* ---------------------------------------------------------------- endpoints */

static void assert_url(enum toolrack_format format, const char *base, const char *model,
                       const char *expected) {
    CLEANUP(freep) char *url = NULL;
    struct toolrack_error err;
    assert_int_equal(endpoint_url(format, base, model, &url, &err), 0);
    assert_string_equal(url, expected);
}

static void endpoints_are_completed(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *base;
        const char *expected;
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI, "https://a.example", "https://a.example/v1/chat/completions"},
            {TOOLRACK_FORMAT_OPENAI, "https://a.example/", "https://a.example/v1/chat/completions"},
            {TOOLRACK_FORMAT_OPENAI, "http://h:8080/v1", "http://h:8080/v1/chat/completions"},
            {TOOLRACK_FORMAT_OPENAI, "http://h/p/v1//", "http://h/p/v1/chat/completions"},
            {TOOLRACK_FORMAT_OPENAI, "http://h/v1/chat/completions",
             "http://h/v1/chat/completions"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, "http://h/v1", "http://h/v1/responses"},
            {TOOLRACK_FORMAT_OPENAI, "https://g.example/v1beta/openai/",
             "https://g.example/v1beta/openai/chat/completions"},
            {TOOLRACK_FORMAT_OPENAI, "https://z.example/api/paas/v4",
             "https://z.example/api/paas/v4/chat/completions"},
            {TOOLRACK_FORMAT_OPENAI, "https://a.example/openai/deployments/d",
             "https://a.example/openai/deployments/d/chat/completions"},
            {TOOLRACK_FORMAT_ANTHROPIC, "http://h/anthropic", "http://h/anthropic/v1/messages"},
            {TOOLRACK_FORMAT_ANTHROPIC, "http://h/p/v2", "http://h/p/v2/messages"},
            {TOOLRACK_FORMAT_ANTHROPIC, "http://h/v1/messages", "http://h/v1/messages"},
            {TOOLRACK_FORMAT_OLLAMA, "http://h/p", "http://h/p/api/chat"},
            {TOOLRACK_FORMAT_ANTHROPIC, "http://[::1]:9", "http://[::1]:9/v1/messages"},
            {TOOLRACK_FORMAT_OLLAMA, "http://h:11434", "http://h:11434/api/chat"},
            {TOOLRACK_FORMAT_OLLAMA, "http://h:11434/api", "http://h:11434/api/chat"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        assert_url(cases[i].format, cases[i].base, "m", cases[i].expected);
    }
    assert_url(TOOLRACK_FORMAT_GEMINI, "https://g.example", "gemini-x",
               "https://g.example/v1beta/models/gemini-x:streamGenerateContent?alt=sse");
    assert_url(TOOLRACK_FORMAT_GEMINI, "https://g.example/v1", "gemini-x",
               "https://g.example/v1/models/gemini-x:streamGenerateContent?alt=sse");
    assert_url(TOOLRACK_FORMAT_GEMINI, "https://g.example/v1beta", "tunedModels/a b",
               "https://g.example/v1beta/tunedModels/a%20b:streamGenerateContent?alt=sse");
}

static void queries_are_added(void **state) {
    (void)state;
    struct toolrack_error err;
    CLEANUP(freep) char *url = strdup("https://g.example/x?alt=sse");
    const char *const query[] = {"api-version=2024-10-21", "who=a b&c", NULL};
    assert_int_equal(endpoint_add_query(&url, NULL, &err), 0);
    assert_string_equal(url, "https://g.example/x?alt=sse");
    assert_int_equal(endpoint_add_query(&url, query, &err), 0);
    assert_string_equal(url, "https://g.example/x?alt=sse&api-version=2024-10-21&who=a+b%26c");
    static const char *const wrong[] = {"",
                                        "=",
                                        "=1",
                                        "name",
                                        "key=1",
                                        "x-Api-KEY=1",
                                        "access_token=1",
                                        "sig=1",
                                        "accessToken=1"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        const char *const one[] = {wrong[i], NULL};
        assert_int_equal(endpoint_add_query(&url, one, &err), TOOLRACK_E_INVALID);
    }
    const char *many[ENDPOINT_QUERY_MAX + 2] = {NULL};
    for (size_t i = 0; i <= ENDPOINT_QUERY_MAX; i++) {
        many[i] = "a=b";
    }
    assert_int_equal(endpoint_add_query(&url, many, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_string_equal(url, "https://g.example/x?alt=sse&api-version=2024-10-21&who=a+b%26c");
}

static void headers_are_lines_that_may_be_sent(void **state) {
    (void)state;
    struct toolrack_error err;
    const char *const sound[] = {"anthropic-beta: a,b", "X-A:b", "Authorization: Bearer secret",
                                 NULL};
    assert_int_equal(headers_check(sound, &err), 0);
    assert_int_equal(headers_check(NULL, &err), 0);
    assert_true(headers_has(sound, "authorization: Bearer other"));
    assert_false(headers_has(sound, "x-api-key: other"));
    assert_false(headers_has(NULL, "x-api-key: other"));
    static const char *const wrong[] = {"",
                                        "name",
                                        "name:",
                                        "name: ",
                                        ": secret",
                                        "na me: secret",
                                        "name: secret\r\nother: 1",
                                        "Host: secret",
                                        "content-LENGTH: secret",
                                        "Transfer-Encoding: secret"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        const char *const one[] = {wrong[i], NULL};
        assert_int_equal(headers_check(one, &err), TOOLRACK_E_INVALID);
        assert_null(strstr(err.message, "secret"));
    }
    const char *many[HEADERS_MAX + 2] = {NULL};
    for (size_t i = 0; i <= HEADERS_MAX; i++) {
        many[i] = "a: b";
    }
    assert_int_equal(headers_check(many, &err), TOOLRACK_E_LIMIT_EXCEEDED);
}

/* -------------------------------------------------------------------- prices */

static void tokens_have_prices(void **state) {
    (void)state;
    static const struct {
        int64_t input, cached, written, output;
        double cost;
    } cases[] = {
            {1000000, 500000, 250000, 500000, 0.5 + 0.25 + 1 + 4},
            {0, 0, 0, 0, 0},
            {1000000, -1, -1, -1, 2},
            {-1, -1, -1, 1000000, 8},
            /* A provider that counts the cached ones beside the others. */
            {1000000, INT64_MAX, INT64_MAX, 0, 0.5},
    };
    /* Sums of powers of two have no error. */
    const struct prices prices = {.input = 2, .cached = 0.5, .written = 4, .output = 8};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct toolrack_usage usage = TOOLRACK_USAGE_INIT;
        usage.input = cases[i].input;
        usage.cached = cases[i].cached;
        usage.written = cases[i].written;
        usage.output = cases[i].output;
        assert_true(prices_cost(&prices, &usage) == cases[i].cost);
    }
}

/* ---------------------------------------------------------------- parameters */

static void parameters_have_each_formats_names(void **state) {
    (void)state;
    static const char *const given[] = {
            "temperature=0.20", "top_p=1", "max_tokens=100", "stop=[\"a\"]", "x.y=not \"JSON\"",
            "x.z=true",         NULL};
    static const struct {
        enum toolrack_format format;
        const char *expected;
        const char *url;
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI,
             "\"temperature\":0.20,\"top_p\":1,\"max_tokens\":100,\"stop\":[\"a\"],"
             "\"x\":{\"y\":\"not \\\"JSON\\\"\",\"z\":true},"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "\"temperature\":0.20,\"top_p\":1,\"max_output_tokens\":100,\"stop\":[\"a\"],"
             "\"x\":{\"y\":\"not \\\"JSON\\\"\",\"z\":true},"},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "\"temperature\":0.20,\"top_p\":1,\"max_tokens\":100,\"stop_sequences\":[\"a\"],"
             "\"x\":{\"y\":\"not \\\"JSON\\\"\",\"z\":true},"},
            {TOOLRACK_FORMAT_GEMINI,
             "\"generationConfig\":{\"temperature\":0.20,\"topP\":1,\"maxOutputTokens\":100,"
             "\"stopSequences\":[\"a\"]},\"x\":{\"y\":\"not \\\"JSON\\\"\",\"z\":true},"},
            {TOOLRACK_FORMAT_OLLAMA,
             "\"options\":{\"temperature\":0.20,\"top_p\":1,\"num_predict\":100,\"stop\":[\"a\"]},"
             "\"x\":{\"y\":\"not \\\"JSON\\\"\",\"z\":true},"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        assert_int_equal(parameters_write(cases[i].format, cases[i].url, given, &out, NULL), 0);
        assert_string_equal(out.data, cases[i].expected);
    }
    static const char *const wrong[] = {"",
                                        "=",
                                        "temperature",
                                        "=1",
                                        "a.=1",
                                        ".a=1",
                                        "a..b=1",
                                        "stream=1",
                                        "model=x",
                                        "tools.x=1",
                                        "\xff=1",
                                        "messages=[]",
                                        "a.b.c.d.e.f.g.h.i=1",
                                        "api_key=x",
                                        "a.apiKey=1",
                                        "metadata={\"o\":[{\"client_secret\":\"x\"}]}",
                                        "password=\"x\""};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        const char *const one[] = {wrong[i], NULL};
        assert_int_equal(parameters_write(TOOLRACK_FORMAT_OPENAI, NULL, one, &out, NULL),
                         TOOLRACK_E_INVALID);
        assert_int_equal(out.length, 0);
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const char *const through[] = {"a=1", "a.b=2", NULL};
    assert_int_equal(parameters_write(TOOLRACK_FORMAT_OPENAI, NULL, through, &out, NULL),
                     TOOLRACK_E_INVALID);
    assert_int_equal(parameters_write(TOOLRACK_FORMAT_OPENAI, NULL, NULL, &out, NULL), 0);
    assert_int_equal(out.length, 0);
}

/* The newer name is known to few. */
static void what_is_no_key_is_no_secret(void **state) {
    (void)state;
    static const char *const given[] = {
            "prompt_cache_key=a",
            "eos_token=b",
            "max_completion_tokens=1",
            "top_k=2",
            "response_format={\"schema\":{\"properties\":{\"api_key\":{},\"password\":{}}}}",
            NULL};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    assert_int_equal(parameters_write(TOOLRACK_FORMAT_OPENAI, NULL, given, &out, NULL), 0);
}

static void a_limit_of_tokens_is_called_as_the_host_knows_it(void **state) {
    (void)state;
    static const struct {
        const char *url;
        const char *name;
    } cases[] = {
            {"https://api.openai.com/v1/chat/completions", "max_completion_tokens"},
            {"https://eu.api.openai.com/v1/chat/completions", "max_completion_tokens"},
            {"https://mine.openai.azure.com/openai/v1/chat/completions", "max_completion_tokens"},
            {"https://mine.services.ai.azure.com:443/x", "max_completion_tokens"},
            {"https://api.mistral.ai/v1/chat/completions", "max_tokens"},
            {"https://api.openai.com.example/v1/chat/completions", "max_tokens"},
            {"https://notapi.openai.com/v1/chat/completions", "max_tokens"},
            {"http://localhost:8080/v1/api.openai.com", "max_tokens"},
            {NULL, "max_tokens"},
    };
    const char *const given[] = {"max_tokens=10", NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        char expected[64];
        (void)snprintf(expected, sizeof expected, "\"%s\":10,", cases[i].name);
        assert_int_equal(parameters_write(TOOLRACK_FORMAT_OPENAI, cases[i].url, given, &out, NULL),
                         0);
        assert_string_equal(out.data, expected);
    }
}

static void a_limit_of_tokens_takes_the_place_of_ours(void **state) {
    (void)state;
    struct conversation conversation;
    CLEANUP(buf_finish) struct buf members = BUF_INIT;
    CLEANUP(buf_finish) struct buf body = BUF_INIT;
    const char *const given[] = {"max_tokens=5", NULL};
    assert_int_equal(conversation_init(&conversation, TOOLRACK_FORMAT_ANTHROPIC,
                                       "\"max_tokens\":8192,", NULL, "[]", "t", NULL),
                     0);
    assert_int_equal(parameters_write(TOOLRACK_FORMAT_ANTHROPIC, NULL, given, &members, NULL), 0);
    assert_int_equal(conversation_set_parameters(&conversation, &members, NULL), 0);
    assert_int_equal(conversation_body(&conversation, &body, NULL), 0);
    assert_string_equal(
            body.data,
            "{\"max_tokens\":5,\"model\":\"\\\"max_tokens\\\":8192,\","
            "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"t\"}]}],"
            "\"stream\":true}");
    conversation_finish(&conversation);
}

static void endpoints_hold_no_keys_and_go_nowhere_else(void **state) {
    (void)state;
    static const char *const wrong[] = {"",
                                        "a b",
                                        "h",
                                        "file:///etc/passwd",
                                        "ftp://h",
                                        "http://user@h",
                                        "http://user:word@h",
                                        "http://h/?key=1",
                                        "http://h/#here"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        char *url = NULL;
        struct toolrack_error err;
        assert_int_equal(endpoint_url(TOOLRACK_FORMAT_OPENAI, wrong[i], "m", &url, &err),
                         TOOLRACK_E_INVALID);
        assert_null(url);
    }
    char *url = NULL;
    assert_int_equal(endpoint_url(TOOLRACK_FORMAT_MCP, "http://h", "m", &url, NULL),
                     TOOLRACK_E_INVALID);
}

/* ------------------------------------------------------------------ retries */

#define NOW 784111777 /* Sun, 06 Nov 1994 08:49:37 GMT */

static void retry_after_is_seconds_or_a_date(void **state) {
    (void)state;
    static const struct {
        const char *value;
        uint32_t ms;
    } cases[] = {{"0", 0},
                 {"7", 7000},
                 {" 7 ", 7000},
                 {"119", 119000},
                 {"86400", RETRY_AFTER_MS_MAX},
                 {"86401", RETRY_AFTER_MS_MAX},
                 {"99999999999999999999999999", RETRY_AFTER_MS_MAX},
                 {"Sun, 06 Nov 1994 08:49:47 GMT", 10000},
                 {"Sunday, 06-Nov-94 08:49:47 GMT", 10000},
                 {"Sun Nov  6 08:49:47 1994", 10000},
                 {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
                 {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
                 {"Fri, 31 Dec 2100 00:00:00 GMT", RETRY_AFTER_MS_MAX}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        uint32_t ms = 1;
        assert_true(retry_after(cases[i].value, NOW, &ms));
        assert_int_equal(ms, cases[i].ms);
    }
    static const char *const wrong[] = {"", "-1", "1.5", "soon", "7 s"};
    uint32_t ms = 42;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_false(retry_after(wrong[i], NOW, &ms));
    }
    assert_false(retry_after(NULL, NOW, &ms));
    assert_int_equal(ms, 42);
}

static void waits_have_fractions(void **state) {
    (void)state;
    static const struct {
        bool (*read)(const char *value, uint32_t *ret_ms);
        const char *value;
        uint32_t ms;
    } cases[] = {{retry_after_ms, "0", 0},
                 {retry_after_ms, " 1500 ", 1500},
                 {retry_after_ms, "1.5", 2},
                 {retry_after_ms, "1.0", 1},
                 {retry_after_ms, "999999999999999999999", RETRY_AFTER_MS_MAX},
                 {retry_delay, "37s", 37000},
                 {retry_delay, "3.5s", 3500},
                 {retry_delay, "0.0301s", 31},
                 {retry_delay, "0.000000001s", 1},
                 {retry_delay, "999999999999999999999s", RETRY_AFTER_MS_MAX}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        uint32_t ms = 42;
        assert_true(cases[i].read(cases[i].value, &ms));
        assert_int_equal(ms, cases[i].ms);
    }
    static const char *const wrong[] = {"", "-1", ".5", "1.", "1 2", "soon", "s", "1e3"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        uint32_t ms = 42;
        assert_false(retry_after_ms(wrong[i], &ms));
        assert_false(retry_delay(wrong[i], &ms));
        assert_int_equal(ms, 42);
    }
    uint32_t ms = 42;
    assert_false(retry_delay("37", &ms));
    assert_false(retry_after_ms("37s", &ms));
    assert_false(retry_after_ms(NULL, &ms));
}

static void waits_double_up_to_a_limit(void **state) {
    (void)state;
    assert_int_equal(retry_wait_ms(1), RETRY_WAIT_MS_FIRST);
    assert_int_equal(retry_wait_ms(2), 2 * RETRY_WAIT_MS_FIRST);
    assert_int_equal(retry_wait_ms(4), 8 * RETRY_WAIT_MS_FIRST);
    assert_int_equal(retry_wait_ms(1000), RETRY_WAIT_MS_MAX);
    assert_true(retry_is_worthwhile(429));
    assert_true(retry_is_worthwhile(529));
    assert_true(retry_is_worthwhile(408));
    assert_true(retry_is_worthwhile(504));
    assert_false(retry_is_worthwhile(400));
    assert_false(retry_is_worthwhile(200));
}

/* --------------------------------------------------------------------- keys */

static void keys_come_from_the_environment(void **state) {
    (void)state;
    struct key key;
    (void)unsetenv("GEMINI_API_KEY");
    (void)setenv("GOOGLE_API_KEY", "g-1", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_GEMINI, NULL, &key, NULL), 0);
    assert_string_equal(key.header, "x-goog-api-key: g-1");
    key_finish(&key);
    (void)setenv("GEMINI_API_KEY", "g-2", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_GEMINI, NULL, &key, NULL), 0);
    assert_string_equal(key.value, "g-2");
    key_finish(&key);
    (void)setenv("OPENAI_API_KEY", "o", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI_RESPONSES, NULL, &key, NULL), 0);
    assert_string_equal(key.header, "Authorization: Bearer o");
    key_finish(&key);
    (void)setenv("ANTHROPIC_API_KEY", "", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_ANTHROPIC, NULL, &key, NULL), 0);
    assert_null(key.header);
    assert_string_equal(key.variable, "ANTHROPIC_API_KEY");
    key_finish(&key);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OLLAMA, NULL, &key, NULL), 0);
    assert_null(key.header);
    assert_null(key.variable);
    struct toolrack_error err;
    (void)setenv("OPENAI_API_KEY", "secret\r\nX-Other: 1", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI, NULL, &key, &err), TOOLRACK_E_INVALID);
    assert_null(strstr(err.message, "secret"));
}

/* A variable that the configuration names must be set, and has the header of the format. */
static void a_key_comes_from_a_named_variable(void **state) {
    (void)state;
    struct toolrack_error err;
    struct key key = {0};
    assert_int_equal(setenv("OPENAI_API_KEY", "not this one", 1), 0);
    assert_int_equal(unsetenv("TEST_MODEL_KEY"), 0);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI, "TEST_MODEL_KEY", &key, &err),
                     TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, "TEST_MODEL_KEY"));
    assert_int_equal(setenv("TEST_MODEL_KEY", "k-123", 1), 0);
    assert_int_equal(key_read(TOOLRACK_FORMAT_GEMINI, "TEST_MODEL_KEY", &key, &err), 0);
    assert_string_equal(key.header, "x-goog-api-key: k-123");
    key_finish(&key);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OLLAMA, "TEST_MODEL_KEY", &key, &err), 0);
    assert_string_equal(key.header, "Authorization: Bearer k-123");
    key_finish(&key);
}

static void keys_are_blotted_out(void **state) {
    (void)state;
    struct key key;
    (void)setenv("OPENAI_API_KEY", "abcdefg1", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI, NULL, &key, NULL), 0);
    char text[] = "abcdefg1 ab abcdefg1abcdefg1";
    key_redact(&key, text, strlen(text));
    assert_string_equal(text, "******** ab ****************");
    key_finish(&key);
    const struct key none = {0};
    char other[] = "abcdefgh";
    key_redact(&none, other, strlen(other));
    assert_string_equal(other, "abcdefgh");
}

/* It is sent, and its letters are everywhere. */
static void what_stands_in_for_a_key_is_no_secret(void **state) {
    (void)state;
    static const struct {
        const char *key;
        bool is_secret;
    } cases[] = {
            {"none", false},
            {"lm-studio", false},
            {"not-needed", false},
            {"Placeholder", false},
            {"YOUR_API_KEY", false},
            {"sk-no-key-required", false},
            {"sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx", false},
            {"00000000", false},
            {"sk-1234", false},
            {"lm-studio-7", true},
            {"kQzRtWpLmN", true},
            {"qwrtzpsdfghjklyxcvbn", true},
            {"a/b+cdefg", true},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct key key;
        char text[64];
        (void)setenv("OPENAI_API_KEY", cases[i].key, 1);
        assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI, NULL, &key, NULL), 0);
        assert_string_equal(key.value, cases[i].key);
        (void)snprintf(text, sizeof text, "/opt/%s/x", cases[i].key);
        key_redact(&key, text, strlen(text));
        assert_int_equal(strstr(text, cases[i].key) == NULL, cases[i].is_secret);
        key_finish(&key);
    }
}

static void a_key_has_several_forms(void **state) {
    (void)state;
    struct key key;
    (void)setenv("OPENAI_API_KEY", "ab/\"cd\\ef", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI, NULL, &key, NULL), 0);
    static const char *const headers[] = {"Authorization: Bearer 0123456789",
                                          "Accept-X: 0123456789x",
                                          "x-api-key: short",
                                          "Cookie: a=b; c=d",
                                          "Cookie: session=cookie-1234; lang=en; x=0=",
                                          "X-Foo: team-98765",
                                          "User-Agent: agent-98765",
                                          NULL};
    assert_int_equal(key_add_headers(&key, headers, NULL), 0);
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
            {"<ab/\"cd\\ef>", "<*********>"},
            {"<ab\\/\"cd\\ef>", "<**********>"},
            {"<ab/\\\"cd\\\\ef>", "<***********>"},
            {"<ab/\\\\\\\"cd\\\\\\\\ef>", "<***************>"},
            {"<0123456789> short a=b; c=d", "<**********> short ********"},
            {"session cookie-1234 en", "session *********** en"},
            {"team-98765 agent-98765", "********** agent-98765"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", cases[i].text);
        key_redact(&key, text, strlen(text));
        assert_string_equal(text, cases[i].expected);
    }
    key_finish(&key);
}

static void add_piece(void *user, const char *text, size_t length) {
    buf_add(user, text, length);
}

/* However the text is cut. */
static void a_key_in_pieces_is_blotted_out(void **state) {
    (void)state;
    struct key key;
    static const char text[] =
            "s sk-sk-sk-01234567 sk- and sk-sk-012345678 sk-sk-0123456 sk-sk-012";
    (void)setenv("OPENAI_API_KEY", "sk-sk-01234567", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI, NULL, &key, NULL), 0);
    for (size_t size = 1; size < sizeof text; size++) {
        CLEANUP(buf_finish) struct buf shown = BUF_INIT;
        struct key_stream stream = {0};
        for (size_t at = 0; at < sizeof text - 1; at += size) {
            size_t left = sizeof text - 1 - at;
            key_stream_feed(&key, &stream, text + at, left < size ? left : size, add_piece, &shown);
        }
        key_stream_end(&key, &stream, add_piece, &shown);
        assert_string_equal(shown.data, "s sk-************** sk- and **************8 sk-sk-0123456 "
                                        "*********");
    }
    key_finish(&key);
}

/* Its rest at the beginning of a text: its beginning may have been thought. */
static void the_rest_of_a_key_is_blotted_out(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
            {"56789abc.", "********."}, {"3456789abc", "**********"},   {"6789abc.", "6789abc."},
            {"456789ab.", "456789ab."}, {"so 56789abc", "so 56789abc"}, {"567", "567"},
    };
    struct key key;
    (void)setenv("OPENAI_API_KEY", "sk-0123456789abc", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI, NULL, &key, NULL), 0);
    struct key_stream stream = {0};
    for (size_t size = 1; size < 12; size++) {
        for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
            CLEANUP(buf_finish) struct buf shown = BUF_INIT;
            const char *text = cases[i].text;
            for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
                n = left < size ? left : size;
                key_stream_feed(&key, &stream, text, n, add_piece, &shown);
            }
            key_stream_end(&key, &stream, add_piece, &shown);
            assert_string_equal(shown.data, cases[i].expected);
        }
    }
    key_finish(&key);
}

/* Whichever strings its parts stand in; what only looks like a part of it stays. */
static void a_key_in_several_strings_is_blotted_out(void **state) {
    (void)state;
    static const struct {
        const char *json;
        const char *expected;
    } cases[] = {
            {"[{\"text\":\"is sk-ab\"},{\"text\":\"cd-123 now\"}]",
             "[{\"text\":\"is *****\"},{\"text\":\"****** now\"}]"},
            {"[\"s\",\"k-\",\"abcd\",\"-123\"]", "[\"*\",\"**\",\"****\",\"****\"]"},
            {"[\"sk-abcd-12\",\"other\",\"sk-abcd-12\",\"3\"]",
             "[\"**********\",\"other\",\"**********\",\"*\"]"},
            {"[\"sk-abcd-123\",\"sk-abcd-12\"]", "[\"***********\",\"sk-abcd-12\"]"},
            /* Parts of four bytes and more in any order. */
            {"[\"cd-123\",\"sk-ab\"]", "[\"******\",\"*****\"]"},
            {"{\"arguments\":\"{\\\"t\\\":\\\"cd-123!\\\"}\",\"content\":\"so sk-ab\"}",
             "{\"arguments\":\"{\\\"t\\\":\\\"******!\\\"}\",\"content\":\"so *****\"}"},
            {"[\"-123\",\"sk-abcd\",\"x\"]", "[\"****\",\"*******\",\"x\"]"},
            {"[\"123\",\"sk-abcd-\"]", "[\"123\",\"sk-abcd-\"]"},
            {"[\"sk-ab\",\"d-123\"]", "[\"sk-ab\",\"d-123\"]"},
            {"[\"sk-ab cd-123\",\"s\"]", "[\"sk-ab cd-123\",\"s\"]"},
            {"{\"sk-ab\":\"cd-123\"}", "{\"*****\":\"******\"}"},
            {"[\"a\\\\\",\"\\\"sk-ab\",\"cd-123\\\"\"]",
             "[\"a\\\\\",\"\\\"*****\",\"******\\\"\"]"},
            /* Arguments are JSON in a string, which may have JSON in a string again. */
            {"{\"arguments\":\"{\\\"a\\\":\\\"sk-ab\\\",\\\"b\\\":\\\"cd-123\\\"}\"}",
             "{\"arguments\":\"{\\\"a\\\":\\\"*****\\\",\\\"b\\\":\\\"******\\\"}\"}"},
            {"{\"a\":\"[\\\"{\\\\\\\"b\\\\\\\":\\\\\\\"sk-ab\\\\\\\"}\\\",\\\"cd-123\\\"]\"}",
             "{\"a\":\"[\\\"{\\\\\\\"b\\\\\\\":\\\\\\\"*****\\\\\\\"}\\\",\\\"******\\\"]\"}"},
            /* Words of the message's own, and ends of other names. */
            {"{\"tool_calls\":[{\"type\":\"tool_calls\",\"arguments\":\"{\\\"apis\\\" "
             ":\\\"k-abcd-123\\\"}\"}]}",
             "{\"tool_calls\":[{\"type\":\"tool_calls\",\"arguments\":\"{\\\"apis\\\" "
             ":\\\"k-abcd-123\\\"}\"}]}"},
            {"{\"arguments\":[\"s\",\"k-abcd-123\"]}", "{\"arguments\":[\"*\",\"**********\"]}"},
            {"{\"s\":\"k-ab\",\"cd-1\":0,\"23\":0}", "{\"*\":\"****\",\"****\":0,\"**\":0}"},
            {"[\"sk-ab\",\"cd-123", "[\"sk-ab\",\"cd-123"},
            {"\"", "\""},
            {"", ""},
    };
    struct key key;
    (void)setenv("OPENAI_API_KEY", "sk-abcd-123", 1);
    assert_int_equal(key_read(TOOLRACK_FORMAT_OPENAI, NULL, &key, NULL), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        char text[160];
        (void)snprintf(text, sizeof text, "%s", cases[i].json);
        assert_int_equal(key_redact_json(&key, text, strlen(text), NULL), 0);
        assert_string_equal(text, cases[i].expected);
    }
    key_finish(&key);
    const struct key none = {0};
    char text[] = "[\"sk-ab\",\"cd-123\"]";
    assert_int_equal(key_redact_json(&none, text, strlen(text), NULL), 0);
    assert_string_equal(text, "[\"sk-ab\",\"cd-123\"]");
}

/* ------------------------------------------------------------- conversations */

static void assert_body(enum toolrack_format format, const char *system, const char *tools,
                        const char *message, const char *results, const char *expected) {
    struct conversation conversation;
    CLEANUP(buf_finish) struct buf body = BUF_INIT;
    assert_int_equal(
            conversation_init(&conversation, format, "m", system, tools, "do \"it\"", NULL), 0);
    if (message != NULL) {
        assert_int_equal(conversation_add_message(&conversation, message, strlen(message), NULL),
                         0);
        assert_int_equal(conversation_add_results(&conversation, results, strlen(results), NULL),
                         0);
    }
    assert_int_equal(conversation_body(&conversation, &body, NULL), 0);
    assert_string_equal(body.data, expected);
    conversation_finish(&conversation);
}

static void bodies_are_as_their_providers_want_them(void **state) {
    (void)state;
    assert_body(TOOLRACK_FORMAT_OPENAI, NULL, "[]", NULL, NULL,
                "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"do "
                "\\\"it\\\"\"}],\"stream\":true}");
    assert_body(TOOLRACK_FORMAT_OPENAI, "s", "[1]",
                "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"n\":1.50}}]}", "[{\"r\":1}]",
                "{\"model\":\"m\",\"tools\":[1],\"messages\":[{\"role\":\"system\",\"content\":"
                "\"s\"},{\"role\":\"user\",\"content\":\"do \\\"it\\\"\"},{\"role\":\"assistant\","
                "\"n\":1.50},{\"r\":1}],\"stream\":true}");
    assert_body(TOOLRACK_FORMAT_OPENAI_RESPONSES, "s", "[1]", "[{\"i\":1},{\"i\":2}]",
                "[{\"r\":1}]",
                "{\"model\":\"m\",\"instructions\":\"s\",\"tools\":[1],\"input\":[{\"role\":"
                "\"user\",\"content\":\"do \\\"it\\\"\"},{\"i\":1},{\"i\":2},{\"r\":1}],\"stream\":"
                "true}");
    assert_body(TOOLRACK_FORMAT_ANTHROPIC, "s", "[1]",
                "{\"id\":\"x\",\"role\":\"assistant\",\"content\":[{\"c\":1}],\"usage\":{}}",
                "[{\"r\":1}]",
                "{\"model\":\"m\",\"max_tokens\":8192,\"system\":\"s\",\"tools\":[1],\"messages\":"
                "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"do "
                "\\\"it\\\"\"}]},{\"role\":\"assistant\","
                "\"content\":[{\"c\":1}]},{\"r\":1}],\"stream\":true}");
    assert_body(TOOLRACK_FORMAT_GEMINI, "s", "[{\"functionDeclarations\":[1]}]",
                "{\"role\":\"model\",\"parts\":[{\"thoughtSignature\":\"x\"}]}", "[{\"r\":1}]",
                "{\"systemInstruction\":{\"parts\":[{\"text\":\"s\"}]},\"tools\":[{"
                "\"functionDeclarations\":[1]}],\"contents\":[{\"role\":\"user\",\"parts\":[{"
                "\"text\":\"do \\\"it\\\"\"}]},{\"role\":\"model\",\"parts\":[{\"thoughtSignature\""
                ":\"x\"}]},{\"r\":1}]}");
    assert_body(TOOLRACK_FORMAT_OLLAMA, NULL, "[1]", "{\"message\":{\"role\":\"assistant\"}}",
                "[{\"r\":1},{\"r\":2}]",
                "{\"model\":\"m\",\"tools\":[1],\"messages\":[{\"role\":\"user\",\"content\":\"do "
                "\\\"it\\\"\"},{\"role\":\"assistant\"},{\"r\":1},{\"r\":2}],\"stream\":true}");
}

/* What a message with calls is sent back as. */
static void assert_sent_back(enum toolrack_format format, const char *message,
                             const char *expected) {
    struct conversation conversation;
    assert_int_equal(conversation_init(&conversation, format, "m", NULL, "[]", NULL, NULL), 0);
    assert_int_equal(conversation_add_message(&conversation, message, strlen(message), NULL), 0);
    assert_string_equal(conversation.messages.data != NULL ? conversation.messages.data : "",
                        expected != NULL ? expected : "");
    conversation_finish(&conversation);
}

/* Servers that parse the history refuse it for arguments that are no JSON object. */
static void arguments_are_sent_back_as_objects(void **state) {
    (void)state;
    static const struct {
        const char *made; /* JSON of the arguments; NULL: none */
        const char *text; /* sent back, as text */
        const char *object;
    } cases[] = {
            {"\"{\\\"a\\\": 1.50}\"", "\"{\\\"a\\\": 1.50}\"", "{\"a\":1.50}"},
            {"\"{\\\"a\\\":\"", "\"{}\"", "{}"},
            {"\"a=1\"", "\"{}\"", "{}"},
            {"\"[1]\"", "\"{}\"", "{}"},
            {"\"{\\\"a\\\":1}}\"", "\"{}\"", "{}"},
            {"\"\"", "\"{}\"", "{}"},
            {"null", "\"{}\"", "{}"},
            {"7", "\"{}\"", "{}"},
            {NULL, "\"{}\"", "{}"},
            {"{\"a\":1}", "\"{\\\"a\\\":1}\"", "{\"a\":1}"},
            /* Called with what is within the string. */
            {"\"\\\"{\\\\\\\"a\\\\\\\":1}\\\"\"", "\"{\\\"a\\\":1}\"", "{\"a\":1}"},
    };
    static const struct {
        enum toolrack_format format;
        const char *before, *after;
    } places[] = {
            {TOOLRACK_FORMAT_OPENAI,
             "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"x\",\"type\":\"custom\",\"custom\":"
             "{"
             "\"name\":\"c\",\"input\":\"{\"}},{\"id\":\"a\",\"function\":{\"name\":\"f\"",
             "}}]}"},
            {TOOLRACK_FORMAT_OPENAI, "{\"role\":\"assistant\",\"function_call\":{\"name\":\"f\"",
             "}}"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "{\"type\":\"reasoning\",\"encrypted_content\":\"{\"},{\"type\":"
             "\"custom_tool_call\",\"call_id\":\"x\",\"name\":\"c\",\"input\":\"{\"},{\"type\":"
             "\"function_call\",\"call_id\":\"a\",\"name\":\"f\"",
             "}"},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\"", "}}]}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
        for (size_t k = 0; k < ARRAY_LENGTH(cases); k++) {
            CLEANUP(buf_finish) struct buf made = BUF_INIT;
            CLEANUP(buf_finish) struct buf wanted = BUF_INIT;
            const bool is_items = places[i].format == TOOLRACK_FORMAT_OPENAI_RESPONSES;
            buf_printf(&made, "%s%s%s%s%s%s", is_items ? "[" : "", places[i].before,
                       cases[k].made != NULL ? ",\"arguments\":" : "",
                       cases[k].made != NULL ? cases[k].made : "", places[i].after,
                       is_items ? "]" : "");
            buf_printf(&wanted, "%s,\"arguments\":%s%s", places[i].before,
                       places[i].format == TOOLRACK_FORMAT_OLLAMA ? cases[k].object : cases[k].text,
                       places[i].after);
            assert_sent_back(places[i].format, made.data, wanted.data);
        }
    }
}

/* ",a,b" of a body, or what of it there is. */
static void expect_extras(enum toolrack_format format, const char *key, const char *parameters,
                          const char *expected) {
    struct conversation conversation;
    CLEANUP(buf_finish) struct buf members = BUF_INIT;
    CLEANUP(buf_finish) struct buf body = BUF_INIT;
    buf_add_text(&members, parameters);
    assert_int_equal(conversation_init(&conversation, format, "m", NULL, "[]", "t", NULL), 0);
    assert_int_equal(conversation_set_extras(&conversation, CONVERSATION_EXTRAS, key, NULL), 0);
    assert_int_equal(conversation_set_parameters(&conversation, &members, NULL), 0);
    assert_int_equal(conversation_body(&conversation, &body, NULL), 0);
    const char *end = strstr(body.data, "}],"); /* of the only message */
    assert_non_null(end);
    assert_string_equal(end + 2, expected);
    conversation_finish(&conversation);
}

static void extras_are_behind_the_messages(void **state) {
    (void)state;
#define STREAM ",\"stream\":true}"
#define USAGE  ",\"stream_options\":{\"include_usage\":true}"
    expect_extras(TOOLRACK_FORMAT_OPENAI, NULL, "", USAGE STREAM);
    expect_extras(TOOLRACK_FORMAT_OPENAI, NULL, "\"stream_options\":{},", STREAM);
    expect_extras(TOOLRACK_FORMAT_OPENAI, "a\"b", "",
                  USAGE ",\"prompt_cache_key\":\"a\\\"b\"" STREAM);
    expect_extras(TOOLRACK_FORMAT_OPENAI, "id", "\"prompt_cache_key\":1,", USAGE STREAM);
    expect_extras(TOOLRACK_FORMAT_OPENAI_RESPONSES, "id", "",
                  ",\"store\":false,\"include\":[\"reasoning.encrypted_content\"],"
                  "\"prompt_cache_key\":\"id\"" STREAM);
    expect_extras(TOOLRACK_FORMAT_OPENAI_RESPONSES, NULL, "\"store\":true,\"a\":{\"include\":1},",
                  ",\"include\":[\"reasoning.encrypted_content\"]" STREAM);
    expect_extras(TOOLRACK_FORMAT_ANTHROPIC, "id", "", STREAM);
    expect_extras(TOOLRACK_FORMAT_OLLAMA, "id", "", STREAM);
}

/* An ordinary word is not the name of what was sent. */
static void a_refusal_names_an_extra(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *name;
        bool is_store;
    } cases[] = {
            {"{\"error\":{\"message\":\"Unknown parameter: 'store'.\"}}", NULL, true},
            {"{\"detail\":[{\"loc\":[\"body\",\"include\"]}]}", "include", false},
            {"{\"error\":{\"message\":\"Encrypted content is not "
             "supported\",\"param\":\"include\"}}",
             "include", false},
            {"body.store: Extra inputs are not permitted", NULL, true},
            {"include[0]: no such value", "include", false},
            {"we store no messages that include images", NULL, false},
            {"'restore' 'include_usage' \"includes\"", NULL, false},
            {"", NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct conversation conversation;
        assert_int_equal(conversation_init(&conversation, TOOLRACK_FORMAT_OPENAI_RESPONSES, "m",
                                           NULL, "[]", "t", NULL),
                         0);
        assert_int_equal(conversation_set_extras(&conversation, CONVERSATION_EXTRAS, NULL, NULL),
                         0);
        struct conversation_refused refused = {0};
        assert_int_equal(conversation_drop_refused(&conversation, cases[i].text, &refused),
                         cases[i].name != NULL);
        assert_string_equal(refused.name != NULL ? refused.name : "",
                            cases[i].name != NULL ? cases[i].name : "");
        /* It is dropped once. */
        assert_false(conversation_drop_refused(&conversation, cases[i].text, &refused));
        /* `store` is never, and the error says what to do. */
        assert_true((conversation.extras & CONVERSATION_STORE) != 0);
        const char *advice = conversation_refusal_advice(&conversation, cases[i].text);
        assert_int_equal(advice != NULL, cases[i].is_store);
        conversation_finish(&conversation);
    }
}

/* The body of a conversation with two steps after a refusal, of which the second comes later. */
static void after_refusal(const char *text, const struct conversation_refused *wanted,
                          const char *expected) {
    static const char tools[] = "[{\"function\":{\"name\":\"f\",\"strict\":true}}]";
    static const char message[] = "{\"role\":\"assistant\",\"reasoning\":\"r\",\"content\":\"c\","
                                  "\"reasoning_content\":\"s\",\"n\":1.50}";
    CLEANUP(buf_finish) struct buf members = BUF_INIT;
    CLEANUP(buf_finish) struct buf body = BUF_INIT;
    struct conversation conversation;
    struct conversation_refused refused = {0};
    buf_add_text(&members, "\"a\":{\"max_tokens\":1},\"max_tokens\":2,");
    assert_int_equal(
            conversation_init(&conversation, TOOLRACK_FORMAT_OPENAI, "m", NULL, tools, "t", NULL),
            0);
    assert_int_equal(conversation_set_parameters(&conversation, &members, NULL), 0);
    assert_int_equal(conversation_add_message(&conversation, message, strlen(message), NULL), 0);
    assert_int_equal(conversation_drop_refused(&conversation, text, &refused),
                     wanted->name != NULL);
    assert_string_equal(refused.name != NULL ? refused.name : "",
                        wanted->name != NULL ? wanted->name : "");
    assert_string_equal(refused.instead != NULL ? refused.instead : "",
                        wanted->instead != NULL ? wanted->instead : "");
    assert_false(conversation_drop_refused(&conversation, text, &refused));
    assert_int_equal(conversation_add_message(&conversation, message, strlen(message), NULL), 0);
    assert_int_equal(conversation_add_tools(&conversation, tools, NULL), 0);
    assert_int_equal(conversation_body(&conversation, &body, NULL), 0);
    assert_string_equal(body.data, expected);
    conversation_finish(&conversation);
}

/* What one server requires back another refuses: what it names is not sent to it again. */
static void what_is_refused_by_name_is_not_sent_again(void **state) {
    (void)state;
#define HEAD(limit)  "{\"a\":{\"max_tokens\":1},\"" limit "\":2,\"model\":\"m\",\"tools\":["
#define TOOL(strict) "{\"function\":{\"name\":\"f\"" strict "}}"
#define TOOLS(strict) \
    TOOL(strict) "," TOOL(strict) "],\"messages\":[{\"role\":\"user\",\"content\":\"t\"},"
#define SAID(thought) "{\"role\":\"assistant\"," thought ",\"n\":1.50}"
#define END           "],\"stream\":true}"
#define STRICT        ",\"strict\":true"
#define BOTH          "\"reasoning\":\"r\",\"content\":\"c\",\"reasoning_content\":\"s\""
    static const struct {
        const char *text;
        struct conversation_refused refused;
        const char *body;
    } cases[] = {
            {"{\"error\":{\"message\":\"'messages.1' : for 'role:assistant' the following must be "
             "satisfied[('messages.1' : property 'reasoning' is unsupported)]\"}}",
             {"reasoning", NULL},
             HEAD("max_tokens") TOOLS(STRICT)
                     SAID("\"content\":\"c\",\"reasoning_content\":\"s\"") "," SAID(
                             "\"content\":\"c\",\"reasoning_content\":\"s\"") END},
            {"{\"message\":\"messages.1.assistant.reasoning_content: property "
             "'messages.1.assistant.reasoning_content' is unsupported\"}",
             {"reasoning_content", NULL},
             HEAD("max_tokens") TOOLS(STRICT)
                     SAID("\"reasoning\":\"r\",\"content\":\"c\"") "," SAID(
                             "\"reasoning\":\"r\",\"content\":\"c\"") END},
            {"{\"message\":\"Tools with mixed values for 'strict' are not allowed.\"}",
             {"strict", NULL},
             HEAD("max_tokens") TOOLS("") SAID(BOTH) "," SAID(BOTH) END},
            {"{\"message\":\"Tools with strict=True are not supported by this model\"}",
             {"strict", NULL},
             HEAD("max_tokens") TOOLS("") SAID(BOTH) "," SAID(BOTH) END},
            {"{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with "
             "this "
             "model. Use 'max_completion_tokens' instead.\"}}",
             {"max_tokens", "max_completion_tokens"},
             HEAD("max_completion_tokens") TOOLS(STRICT) SAID(BOTH) "," SAID(BOTH) END},
            /* A value is refused, what is needed, or what was not sent. */
            {"max_tokens: 2 is less than the minimum of 16", {NULL, NULL}, NULL},
            {"The `reasoning_content` in the thinking mode must be passed back to the API.",
             {NULL, NULL},
             NULL},
            {"property 'content' is unsupported", {NULL, NULL}, NULL},
            {"property 'thinking' is unsupported", {NULL, NULL}, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        after_refusal(cases[i].text, &cases[i].refused,
                      cases[i].body != NULL ? cases[i].body
                                            : HEAD("max_tokens") TOOLS(STRICT)
                                                      SAID(BOTH) "," SAID(BOTH) END);
    }
}

/* What becomes of the ids of a message, behind another one. */
static void renews(enum toolrack_format format, const char *before, const char *message,
                   const char *expected) {
    struct conversation conversation;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    assert_int_equal(conversation_init(&conversation, format, "m", NULL, "[]", NULL, NULL), 0);
    assert_int_equal(conversation_add_message(&conversation, before, strlen(before), NULL), 0);
    buf_add_text(&text, message);
    assert_int_equal(conversation_renew_ids(&conversation, &text, NULL), 0);
    assert_string_equal(text.data, expected);
    /* The new one is not taken either. */
    assert_int_equal(conversation_add_message(&conversation, text.data, text.length, NULL), 0);
    assert_int_equal(conversation_renew_ids(&conversation, &text, NULL), 0);
    assert_string_not_equal(text.data, expected);
    conversation_finish(&conversation);
}

/* Providers refuse a conversation in which an id repeats. */
static void an_id_of_an_earlier_call_is_renewed(void **state) {
    (void)state;
#define CHAT(id)                                            \
    "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"" id \
    "\",\"function\":{\"arguments\":\"{}\"}}]}"
#define ITEM(id)  "[{\"type\":\"function_call\",\"call_id\":\"" id "\",\"arguments\":\"{}\"}]"
#define BLOCK(id) "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"" id "\"}]}"
#define PART(id)  "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"" id "\"}}]}"
    renews(TOOLRACK_FORMAT_OPENAI, CHAT("a"), CHAT("b"), CHAT("b"));
    renews(TOOLRACK_FORMAT_OPENAI, CHAT("a"), CHAT("a"), CHAT("kKalbjvMm"));
    renews(TOOLRACK_FORMAT_OPENAI_RESPONSES, ITEM("a"), ITEM("b"), ITEM("b"));
    renews(TOOLRACK_FORMAT_OPENAI_RESPONSES, ITEM("a"), ITEM("a"), ITEM("Kl3aQGGFn"));
    renews(TOOLRACK_FORMAT_ANTHROPIC, BLOCK("a"), BLOCK("b"), BLOCK("b"));
    renews(TOOLRACK_FORMAT_ANTHROPIC, BLOCK("a"), BLOCK("a"), BLOCK("s5KddosOV"));
    renews(TOOLRACK_FORMAT_GEMINI, PART("a"), PART("b"), PART("b"));
    renews(TOOLRACK_FORMAT_GEMINI, PART("a"), PART("a"), PART("4CquD0g1V"));
    renews(TOOLRACK_FORMAT_OLLAMA, CHAT("a"), CHAT("a"), CHAT("DE9QDDixB"));
}

/* Providers refuse a message without content, and a text without any. */
static void what_is_empty_is_not_sent(void **state) {
    (void)state;
    static const char *const blank[] = {"", " \n"};
    struct conversation conversation;
    struct toolrack_error err;
    assert_sent_back(TOOLRACK_FORMAT_ANTHROPIC, "{\"role\":\"assistant\",\"content\":[]}", NULL);
    assert_sent_back(TOOLRACK_FORMAT_GEMINI, "{\"role\":\"model\",\"parts\":[]}", NULL);
    assert_sent_back(TOOLRACK_FORMAT_GEMINI, "{\"role\":\"model\"}", NULL);
    for (size_t i = 0; i < ARRAY_LENGTH(blank); i++) {
        assert_int_equal(conversation_init(&conversation, TOOLRACK_FORMAT_OPENAI, "m", NULL, "[]",
                                           blank[i], &err),
                         TOOLRACK_E_INVALID);
        assert_non_null(strstr(err.message, "the task is empty"));
    }
}

static void what_is_no_message_changes_nothing(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "{", "[]", "1", "{}", "{\"choices\":[]}"};
    struct conversation conversation;
    struct toolrack_error err;
    assert_int_equal(
            conversation_init(&conversation, TOOLRACK_FORMAT_OPENAI, "m", NULL, "[]", "t", NULL),
            0);
    size_t length = conversation.messages.length;
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        assert_int_equal(conversation_add_message(&conversation, wrong[i], strlen(wrong[i]), &err),
                         TOOLRACK_E_INVALID);
        assert_int_equal(conversation.messages.length, length);
        assert_int_equal(conversation.count, 1);
    }
    assert_int_equal(conversation_add_results(&conversation, "{}", 2, &err), TOOLRACK_E_INVALID);
    conversation_finish(&conversation);
    assert_int_equal(
            conversation_init(&conversation, TOOLRACK_FORMAT_OPENAI, "m", NULL, "[]", "\xff", &err),
            TOOLRACK_E_INVALID);
}

/* A provider puts no words into the mouth of others, by a transcript either. */
static void what_is_no_models_is_not_sent_on(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *message;
        const char *sent; /* as the last message */
        size_t foreign;
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI, "{\"role\":\"system\",\"content\":\"x\"}",
             ",{\"role\":\"assistant\",\"content\":\"x\"}", 1},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"role\":\"user\",\"content\":\"x\"}}]}",
             ",{\"role\":\"assistant\",\"content\":\"x\"}", 1},
            {TOOLRACK_FORMAT_OLLAMA, "{\"role\":\"tool\",\"content\":\"x\"}",
             ",{\"role\":\"assistant\",\"content\":\"x\"}", 1},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "[{\"type\":\"message\",\"role\":\"system\",\"content\":\"x\"},{\"role\":\"user\","
             "\"content\":"
             "\"x\"},{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"x\"},"
             "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"y\"}]",
             ",{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"y\"}", 3},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}"
             ","
             "{\"type\":\"text\",\"text\":\"y\"}]}",
             ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"y\"}]}", 1},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"f\"}},{\"text\":"
             "\"y\"}]}",
             ",{\"role\":\"model\",\"parts\":[{\"text\":\"y\"}]}", 2},
            /* Nothing is left to send. */
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}"
             "]}",
             "", 1},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"role\":\"model\",\"parts\":[{\"function_response\":{\"name\":\"f\"}}]}", "", 1},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, "[{\"type\":\"item_reference\",\"id\":\"a\"}]", "",
             1},
            /* Neither another place nor a name that comes twice hides it. */
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"message\":{\"content\":[]},\"content\":[{\"type\":\"tool_result\"},{\"type\":"
             "\"text\",\"text\":\"y\"}]}",
             ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"y\"}]}", 1},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"content\":[{\"type\":\"text\",\"type\":\"tool_result\",\"text\":\"x\"}]}", "", 1},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"role\":\"assistant\",\"role\":\"system\",\"content\":\"x\"}",
             ",{\"role\":\"assistant\",\"content\":\"x\"}", 1},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "[{\"role\":\"assistant\",\"role\":\"user\",\"content\":\"x\"}]", "", 1},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"role\":\"model\",\"parts\":[{\"text\":\"y\"}],\"parts\":[{\"functionResponse\":{}"
             "}]}",
             ",{\"role\":\"model\",\"parts\":[{\"text\":\"y\"}],\"parts\":[]}", 1},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct conversation conversation;
        struct toolrack_error err;
        assert_int_equal(
                conversation_init(&conversation, cases[i].format, "m", NULL, "[]", "t", NULL), 0);
        size_t before = conversation.messages.length;
        assert_int_equal(conversation_add_message(&conversation, cases[i].message,
                                                  strlen(cases[i].message), &err),
                         0);
        assert_string_equal(conversation.messages.data + before, cases[i].sent);
        assert_int_equal(conversation.foreign, cases[i].foreign);
        assert_int_equal(conversation.count, cases[i].sent[0] != '\0' ? 2 : 1);
        conversation_finish(&conversation);
    }
}

static void add_levels(struct buf *out, size_t levels) {
    for (size_t i = 0; i < levels; i++) {
        buf_add_char(out, '[');
    }
    for (size_t i = 0; i < levels; i++) {
        buf_add_char(out, ']');
    }
}

/* Of a transcript, too: what a message is mended with goes down its levels by recursion. */
static void a_message_that_is_nested_too_deep_is_refused(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *before, *after;
        int code;
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI, "{\"role\":\"assistant\",\"c\":", "}", TOOLRACK_E_INVALID},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, "[{\"type\":\"message\",\"content\":", "}]",
             TOOLRACK_E_INVALID},
            {TOOLRACK_FORMAT_ANTHROPIC, "{\"role\":\"assistant\",\"content\":", "}",
             TOOLRACK_E_INVALID},
            {TOOLRACK_FORMAT_GEMINI, "{\"role\":\"model\",\"parts\":", "}", TOOLRACK_E_INVALID},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
             "\"arguments\":{\"a\":",
             "}}}]}", TOOLRACK_E_INVALID},
            /* As text they are only bytes: {} is sent. */
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
             "\"arguments\":\"{\\\"a\\\":",
             "}\"}}]}", 0},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(buf_finish) struct buf message = BUF_INIT;
        struct conversation conversation;
        struct toolrack_error err;
        assert_int_equal(
                conversation_init(&conversation, cases[i].format, "m", NULL, "[]", "t", NULL), 0);
        buf_add_text(&message, cases[i].before);
        add_levels(&message, 200000);
        buf_add_text(&message, cases[i].after);
        assert_false(message.failed);
        assert_int_equal(
                conversation_add_message(&conversation, message.data, message.length, &err),
                cases[i].code);
        assert_int_equal(conversation.count, cases[i].code < 0 ? 1 : 2);
        if (cases[i].code < 0) {
            assert_non_null(strstr(err.message, "nested deeper than the 128 levels allowed"));
        } else {
            assert_non_null(strstr(conversation.messages.data, "\"arguments\":{}"));
        }
        conversation_finish(&conversation);
    }
}

/* --------------------------------------------------------------------- said */

static void add_line(void *user, const struct said_call *call) {
    buf_printf(user, "%zu %s %s|", call->index, call->tool, call->arguments);
}

static void assert_said(enum toolrack_format format, const char *message, const char *calls) {
    CLEANUP(buf_finish) struct buf lines = BUF_INIT;
    buf_add_text(&lines, "");
    size_t count = said_calls(format, message, strlen(message), add_line, &lines);
    assert_string_equal(lines.data, calls);
    assert_int_equal(said_calls(format, message, strlen(message), NULL, NULL), count);
}

static void calls_are_shown(void **state) {
    (void)state;
    assert_said(TOOLRACK_FORMAT_OPENAI,
                "{\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":\"{\\n \\\"a\\\": "
                "2}\"}},{}]}",
                "0 add { \"a\": 2}|1 <unnamed> |");
    assert_said(TOOLRACK_FORMAT_OPENAI_RESPONSES,
                "[{\"type\":\"reasoning\"},{\"call_id\":\"c\",\"name\":\"add\",\"arguments\":\"{}"
                "\"}]",
                "0 add {}|");
    assert_said(TOOLRACK_FORMAT_ANTHROPIC,
                "{\"content\":[{\"text\":\"t\"},{\"name\":\"add\",\"input\":{\"a\":2}}]}",
                "0 add {\"a\":2}|");
    assert_said(TOOLRACK_FORMAT_GEMINI,
                "{\"parts\":[{\"text\":\"t\"},{\"functionCall\":{\"name\":\"add\",\"args\":{}}}]}",
                "0 add {}|");
    assert_said(TOOLRACK_FORMAT_OLLAMA, "no JSON", "");
}

static void a_text_is_shown_on_one_line(void **state) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)state;
    said_add(&line, " a\n\tb\x1b[2J ", strlen(" a\n\tb\x1b[2J "));
    assert_string_equal(line.data, "a b\\u001b[2J");
    for (unsigned i = 0; i <= SAID_WIDTH_MAX; i++) {
        buf_add_char(&text, 'x');
    }
    buf_clear(&line);
    said_add(&line, text.data, text.length);
    assert_string_equal(line.data + SAID_WIDTH_MAX - 1, "\xe2\x80\xa6");
}

/* What looks like the name of a tool and is none is shown as what it is. */
static void names_are_shown_with_codes(void **state) {
    static const struct {
        const char *name;
        const char *shown;
    } names[] = {
            {"text_lines", "text_lines"},
            {"text_lines\\u0000", "\"text_lines\\u0000\""},
            {"wipe ", "\"wipe \""},
            {"wipe\\n", "\"wipe\\n\""},
            {"wipe\\u200b", "\"wipe\\u200b\""},
            {"\\u001b[31m", "\"\\u001b[31m\""},
            {"", "\"\""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        char message[256];
        char call[128];
        (void)snprintf(message, sizeof message,
                       "{\"tool_calls\":[{\"function\":{\"name\":\"%s\",\"arguments\":{}}}]}",
                       names[i].name);
        (void)snprintf(call, sizeof call, "0 %s {}|", names[i].shown);
        assert_said(TOOLRACK_FORMAT_OLLAMA, message, call);
    }
}

static void conversations_have_names_of_their_own(void **state) {
    (void)state;
    char one[TRANSCRIPT_ID_ROOM];
    char other[TRANSCRIPT_ID_ROOM];
    transcript_id(one);
    transcript_id(other);
    assert_string_not_equal(one, other);
    assert_int_equal(strspn(one, "0123456789abcdef-"), strlen(one));
}

/* -------------------------------------------------------------------------------------- plans */

static unsigned calls;

static double add(double a, double b) {
    calls++;
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second"))
static tr_status breaks(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "it broke");
}
TR_JSON_TOOL(breaks, "Break", TR_SCHEMA({"type" : "object"}))
static tr_status asks(struct tr_call *call) {
    calls++;
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(asks, ("Ask", .permission = TR_CONFIRM), TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("plans", .flags = TR_THREAD_SAFE), "1.0.0", add, breaks, asks)

static struct toolrack *host;

static int open_host(void **state) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    (void)state;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    calls = 0;
    return toolrack_open(&options, &host, NULL) == 0
                   ? toolrack_register(host, &toolrack_plugin, NULL, NULL)
                   : -1;
}

static int close_host(void **state) {
    (void)state;
    toolrack_close(host);
    host = NULL;
    return 0;
}

/* Parts of what a model is told of its calls, which are given as JSON. */
static void expect_told(const char *made, const char *const *parts) {
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *results = NULL;
    struct toolrack_agent_options app = TOOLRACK_AGENT_OPTIONS_INIT;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    app.format = TOOLRACK_FORMAT_OLLAMA;
    app.stop_fd = -1;
    app.call = &call;
    buf_printf(&message, "{\"message\":{\"role\":\"assistant\",\"tool_calls\":[%s]}}", made);
    struct agent_tools tools = {.host = host, .app = &app};
    assert_int_equal(agent_plan_answer(&tools, message.data, message.length, NULL, &results, NULL),
                     0);
    for (size_t i = 0; parts[i] != NULL; i++) {
        if (strstr(toolrack_text_data(results, NULL), parts[i]) == NULL) {
            fail_msg("%s: there is no '%s' in %s", made, parts[i],
                     toolrack_text_data(results, NULL));
        }
    }
}

#define CALL(name, arguments) "{\"function\":{\"name\":\"" name "\",\"arguments\":" arguments "}}"
#define RUN_PLAN(nodes, more) CALL("run_plan", "{\"plan\":{\"nodes\":[" nodes "]" more "}}")
#define NODE(id, tool, more)  "{\"id\":\"" id "\",\"tool\":\"" tool "\"" more "}"
#define SUM                   NODE("sum", "add", ",\"arguments\":{\"a\":2,\"b\":3}")
#define PARTS(...)            ((const char *const[]){__VA_ARGS__, NULL})

static void a_model_runs_plans(void **state) {
    (void)state;
    expect_told(RUN_PLAN(SUM, ""), PARTS("\\\"run\\\":\\\"", "\\\"result\\\":{\\\"sum\\\":5.0}"));
    assert_int_equal(calls, 1);
    /* Two in a turn, each with its own result. */
    expect_told(RUN_PLAN(SUM, ",\"result\":1") "," RUN_PLAN(SUM, ",\"result\":2"),
                PARTS("\\\"result\\\":1}", "\\\"result\\\":2}"));
    assert_int_equal(calls, 3);
    expect_told(CALL("run_plan", "{\"plan\":{\"inputs\":{\"n\":{}},\"nodes\":[" SUM
                                 "],\"result\":{\"$ref\":\"#/inputs/"
                                 "n\"}},\"inputs\":{\"n\":12345678901234567890}}"),
                PARTS("12345678901234567890"));
}

/* What is wrong comes back with its places, and nothing has run; then the plan is right. */
static void a_model_is_told_what_is_wrong_with_its_plan(void **state) {
    (void)state;
    expect_told(RUN_PLAN(NODE("sum", "ad", "") "," NODE("next", "add",
                                                        ",\"arguments\":{\"a\":1,\"b\":{\"$ref\":"
                                                        "\"#/nodes/summ/result\"}}"),
                         ""),
                PARTS("The plan is wrong; nothing has run. Correct all findings and call run_plan "
                      "again.",
                      "\\\"id\\\":\\\"plan-reference\\\",\\\"node\\\":\\\"next\\\",\\\"pointer\\\":"
                      "\\\"/nodes/1/arguments/b\\\"",
                      "did you mean \\\\\\\"sum\\\\\\\"?", "\\\"id\\\":\\\"plan-tool\\\"",
                      "\\\"pointer\\\":\\\"/nodes/0/tool\\\""));
    assert_int_equal(calls, 0);
    expect_told(RUN_PLAN(SUM "," NODE("next", "add",
                                      ",\"arguments\":{\"a\":1,\"b\":{\"$ref\":\"#/nodes/sum/"
                                      "result\"}}"),
                         ""),
                PARTS("\\\"result\\\":{\\\"next\\\":6.0}"));
}

static void a_model_is_told_what_was_done_before_a_failure(void **state) {
    (void)state;
    expect_told(RUN_PLAN(SUM "," NODE("bad", "breaks", ",\"depends_on\":[\"sum\"]") "," NODE(
                                 "never", "add",
                                 ",\"arguments\":{\"a\":1,\"b\":1},\"depends_on\":["
                                 "\"bad\"]"),
                         ""),
                PARTS("\\\"error\\\":\\\"ExecutionFailed\\\"", "\\\"sum\\\":\\\"succeeded\\\"",
                      "\\\"bad\\\":\\\"failed: it broke\\\""));
    assert_int_equal(calls, 1);
    expect_told(RUN_PLAN(NODE("a", "asks", ""), ""),
                PARTS("\\\"error\\\":\\\"ConfirmationRequired\\\"", "\\\"nodes\\\":{}"));
    assert_int_equal(calls, 1);
    /* A run that goes on without it has a result, which says so. */
    expect_told(RUN_PLAN(SUM "," NODE("bad", "breaks", ",\"on_error\":\"skip\""), ""),
                PARTS("\\\"result\\\":{\\\"sum\\\":5.0}",
                      "\\\"nodes\\\":{\\\"bad\\\":\\\"failed: it broke\\\"}"));
}

/* As for other calls: a word before the name, a wrapper, and text for an object. */
static void a_model_may_write_the_call_of_a_plan_loosely(void **state) {
    (void)state;
#define SUM_TEXT                                                                           \
    "{\\\"nodes\\\":[{\\\"id\\\":\\\"sum\\\",\\\"tool\\\":\\\"add\\\",\\\"arguments\\\":{" \
    "\\\"a\\\":2,\\\"b\\\":3}}]}"
    static const char *const loose[] = {
            CALL("functions.run_plan", "{\"plan\":{\"nodes\":[" SUM "]}}"),
            CALL("default_api.run_plan", "{\"plan\":{\"nodes\":[" SUM "]}}"),
            CALL("run_plan", "{\"arguments\":{\"plan\":{\"nodes\":[" SUM "]}}}"),
            CALL("run_plan", "{\"plan\":\"" SUM_TEXT "\",\"inputs\":\"{}\"}"),
            CALL("run_plan", "{\"input\":\"{\\\"plan\\\":" SUM_TEXT "}\"}")};
    for (size_t i = 0; i < ARRAY_LENGTH(loose); i++) {
        expect_told(loose[i], PARTS("\\\"result\\\":{\\\"sum\\\":5.0}"));
    }
    assert_int_equal(calls, ARRAY_LENGTH(loose));
}

static void a_model_that_calls_anything_else_is_told_of_plans(void **state) {
    (void)state;
    expect_told(CALL("add", "{\"a\":1,\"b\":2}"), PARTS("there is only run_plan"));
    expect_told(CALL("run_plan", "{\"plan\":\"[]\"}"), PARTS("plan: run_plan takes {"));
    expect_told(CALL("run_plan", "{}"), PARTS("plan: run_plan takes {", "is required"));
    expect_told(CALL("run_plan", "{\"plan\":{},\"inputs\":[1]}"),
                PARTS("inputs: run_plan takes {"));
    assert_int_equal(calls, 0);
}

static void a_model_is_told_which_tools_a_plan_may_call(void **state) {
    CLEANUP(buf_finish) struct buf system = BUF_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *definitions = NULL;
    (void)state;
    struct toolrack_agent_options app = TOOLRACK_AGENT_OPTIONS_INIT;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    CLEANUP(agent_tools_finish) struct agent_tools tools = {.host = host, .app = &app};
    app.call = &call;
    app.system = "Be brief.";
    assert_int_equal(agent_plan_system(&tools, &system, NULL), 0);
    assert_memory_equal(system.data, "Be brief.\n\n", strlen("Be brief.\n\n"));
    assert_non_null(strstr(system.data, "- add: Add two numbers\n  parameters: {"));
    assert_int_equal(toolrack_set_enabled(host, "add", false, NULL, NULL), 0);
    buf_clear(&system);
    app.system = NULL;
    assert_int_equal(agent_plan_system(&tools, &system, NULL), 0);
    assert_null(strstr(system.data, "- add:"));
    assert_non_null(strstr(system.data, "- breaks: Break\n"));
    assert_int_equal(agent_plan_definitions(&tools, &definitions, NULL), 0);
    assert_non_null(strstr(toolrack_text_data(definitions, NULL), "\"name\":\"run_plan\""));
    assert_null(strstr(toolrack_text_data(definitions, NULL), "\"name\":\"breaks\""));
}

#define IN_HOST(test) cmocka_unit_test_setup_teardown(test, open_host, close_host)

/* A child that was forked meanwhile has a copy of the descriptor, until it runs its program. */
/* ---------------------------------------------------------------------------------- what was sent
 */

/* The registry changes while the model thinks, which then calls both tools. */
static void answer_after_a_change(int fd, const char *body) {
    static const char both[] =
            "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":"
            "[" CALL("breaks", "{}") "," CALL(
                    "add", "{\"a\":2,\"b\":3}") "]},"
                                                "\"done\":true,\"done_reason\":\"stop\"}\n";
    static const char last[] = "{\"message\":{\"role\":\"assistant\",\"content\":\"Done.\"},"
                               "\"done\":true,\"done_reason\":\"stop\"}\n";
    const bool is_first = strstr(body, "\"role\":\"tool\"") == NULL;
    if (is_first) {
        (void)toolrack_set_priority(host, "breaks", 9999, NULL, NULL);
        (void)toolrack_set_enabled(host, "breaks", true, NULL, NULL);
    }
    provider_write(fd, "200 OK", "Content-Type: application/x-ndjson\r\n", is_first ? both : last,
                   is_first ? sizeof both - 1 : sizeof last - 1);
}

static void ignore_text(void *user, const char *text, size_t length) {
    (void)user;
    (void)text;
    (void)length;
}

static void ignore_note(void *user, const char *line) {
    (void)user;
    (void)line;
}

/* "add" was in the request and runs; "breaks" was not, although an export would have it by now. */
static void expect_add_alone(const struct toolrack_export_options *offered) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *outcome = NULL;
    struct toolrack_agent_options app = TOOLRACK_AGENT_OPTIONS_INIT;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    char endpoint[64];
    const unsigned short port = provider_start();
    assert_int_not_equal(port, 0);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", port);
    provider_set(answer_after_a_change);
    call.conversation = "one";
    call.offered = offered;
    app.format = TOOLRACK_FORMAT_OLLAMA;
    app.endpoint = endpoint;
    app.model = "m";
    app.task = "Do it";
    app.call = &call;
    app.text = ignore_text;
    app.note = ignore_note;
    calls = 0;
    if (toolrack_agent(host, &app, &outcome, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(provider_asked(), 2);
    assert_int_equal(calls, 1);
    assert_non_null(strstr(provider_request(), "Tool 'breaks' not found; it was not offered"));
    assert_null(strstr(provider_request(), "it broke"));
    assert_non_null(strstr(provider_request(), "\"content\":\"5.0\""));
    provider_stop();
}

static void what_a_request_did_not_have_does_not_run(void **state) {
    (void)state;
    struct toolrack_export_options offered = TOOLRACK_EXPORT_OPTIONS_INIT;
    assert_int_equal(toolrack_set_enabled(host, "breaks", false, NULL, NULL), 0);
    expect_add_alone(NULL);
    assert_int_equal(toolrack_set_priority(host, "breaks", 1, NULL, NULL), 0);
    assert_int_equal(toolrack_set_priority(host, "add", 200, NULL, NULL), 0);
    offered.limit = 1;
    expect_add_alone(&offered);
}

/* --------------------------------------------------------------- secrets of calls */

static const char secret_schema[] =
        "{\"type\":\"object\",\"properties\":{\"user\":{\"type\":\"string\"},"
        "\"pin\":{\"type\":\"string\",\"format\":\"password\"}}}";

static bool look_up(void *user, const char *name, enum call_secrets *ret_what,
                    yyjson_doc **ret_schema) {
    (void)user;
    *ret_what = strcmp(name, "login") == 0      ? CALL_SECRETS_MARKED
                : strcmp(name, "run_plan") == 0 ? CALL_SECRETS_PLAN
                : strcmp(name, "add") == 0      ? CALL_SECRETS_NONE
                                                : CALL_SECRETS_ANY;
    if (*ret_what == CALL_SECRETS_MARKED) {
        *ret_schema = yyjson_read(secret_schema, strlen(secret_schema), 0);
    }
    return true;
}

/* A message of the model, and what is kept of it, with the secrets of all messages. */
static void expect_masked(enum toolrack_format format, struct buf *secrets, const char *message,
                          const char *wanted) {
    CLEANUP(buf_finish) struct buf masked = BUF_INIT;
    assert_int_equal(call_secrets_of_message(format, message, strlen(message), look_up, NULL,
                                             secrets, &masked, NULL),
                     0);
    assert_string_equal(masked.data, wanted);
}

static void secrets_of_calls_are_not_kept(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *message;
        const char *wanted;
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI,
             "{\"role\":\"assistant\",\"content\":\"use 4711\",\"tool_calls\":[{\"id\":\"a\","
             "\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"a\\\": 1}\"}},{\"id\":\"4711\","
             "\"function\":{\"name\":\"login\",\"arguments\":\"{\\\"user\\\":\\\"x\\\","
             "\\\"pin\\\":\\\"4711\\\"}\"}}]}",
             "{\"role\":\"assistant\",\"content\":\"use ***\",\"tool_calls\":[{\"id\":\"a\","
             "\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"a\\\": 1}\"}},{\"id\":\"4711\","
             "\"function\":{\"name\":\"login\",\"arguments\":\"{\\\"user\\\":\\\"x\\\","
             "\\\"pin\\\":\\\"***\\\"}\"}}]}"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "[{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"login\",\"arguments\":"
             "\"{\\\"pin\\\":\\\"4711\\\"}\"}]",
             "[{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"login\",\"arguments\":"
             "\"{\\\"pin\\\":\\\"***\\\"}\"}]"},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"so\"},{\"type\":"
             "\"tool_use\",\"id\":\"a\",\"name\":\"login\",\"input\":{\"pin\":\"4711\"}}]}",
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"so\"},{\"type\":"
             "\"tool_use\",\"id\":\"a\",\"name\":\"login\",\"input\":{\"pin\":\"***\"}}]}"},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"login\",\"args\":{"
             "\"pin\":"
             "\"4711\",\"Pin\":\"4711\"}}}]}",
             "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"login\",\"args\":{"
             "\"pin\":"
             "\"***\",\"Pin\":\"***\"}}}]}"},
            /* What cannot be read may be anything. */
            {TOOLRACK_FORMAT_OPENAI,
             "{\"tool_calls\":[{\"function\":{\"name\":\"login\",\"arguments\":\"{\\\"pin\\\": "
             "4711\"}}]}",
             "{\"tool_calls\":[{\"function\":{\"name\":\"login\",\"arguments\":\"\\\"***\\\"\"}}]"
             "}"},
            /* A plan has the calls inside. */
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"tool_calls\":[{\"function\":{\"name\":\"run_plan\",\"arguments\":{\"plan\":{"
             "\"nodes\":[{\"id\":\"n\",\"tool\":\"add\",\"arguments\":{\"pin\":\"1234\"},"
             "\"fallback\":{\"tool\":\"login\",\"arguments\":{\"pin\":\"4711\"}}}]}}}}]}",
             "{\"tool_calls\":[{\"function\":{\"name\":\"run_plan\",\"arguments\":{\"plan\":{"
             "\"nodes\":[{\"id\":\"n\",\"tool\":\"add\",\"arguments\":{\"pin\":\"1234\"},"
             "\"fallback\":{\"tool\":\"login\",\"arguments\":{\"pin\":\"***\"}}}]}}}}]}"},
#define PLAN(arguments) \
    "{\"tool_calls\":[{\"function\":{\"name\":\"run_plan\",\"arguments\":" arguments "}}]}"
            /* As text, with values of its inputs, one of which it does not know, and items. */
            {TOOLRACK_FORMAT_OLLAMA,
             PLAN("{\"arguments\":{\"plan\":\"{\\\"nodes\\\":[{\\\"tool\\\":\\\"login\\\","
                  "\\\"arguments\\\":{\\\"pin\\\":\\\"4711\\\"}}],\\\"note\\\":\\\"4711\\\"}\"}}"),
             PLAN("{\"arguments\":{\"plan\":\"{\\\"nodes\\\":[{\\\"tool\\\":\\\"login\\\","
                  "\\\"arguments\\\":{\\\"pin\\\":\\\"***\\\"}}],\\\"note\\\":\\\"***\\\"}\"}}")},
            {TOOLRACK_FORMAT_OLLAMA,
             PLAN("{\"plan\":{\"inputs\":{\"k\":{\"format\":\"password\",\"default\":\"pass "
                  "word\"},"
                  "\"u\":{}},\"nodes\":[{\"tool\":\"add\",\"arguments\":{\"a\":{\"$ref\":"
                  "\"#/inputs/k\"}}}]},\"inputs\":{\"k\":\"abc\",\"K\":\"4711\",\"u\":\"ann\"}}"),
             PLAN("{\"plan\":{\"inputs\":{\"k\":{\"format\":\"password\",\"default\":\"***\"},"
                  "\"u\":{}},\"nodes\":[{\"tool\":\"add\",\"arguments\":{\"a\":{\"$ref\":"
                  "\"#/inputs/k\"}}}]},\"inputs\":{\"k\":\"***\",\"K\":\"***\",\"u\":\"ann\"}}")},
            {TOOLRACK_FORMAT_OLLAMA,
             PLAN("{\"nodes\":[{\"tool\":\"login\",\"for_each\":[\"4711\"],\"arguments\":{\"user\":"
                  "\"ann\"}},{\"tool\":\"logout\",\"arguments\":{\"pin\":\"1234\"}}]}"),
             PLAN("{\"nodes\":[{\"tool\":\"login\",\"for_each\":[\"***\"],\"arguments\":{\"user\":"
                  "\"ann\"}},{\"tool\":\"logout\",\"arguments\":{\"pin\":\"***\"}}]}")},
            {TOOLRACK_FORMAT_OLLAMA,
             PLAN("{\"nodes\":[{\"tool\":\"add\",\"arguments\":\"{\\\"pin\\\": 4711}\"}]}"),
             PLAN("{\"nodes\":[{\"tool\":\"add\",\"arguments\":\"{\\\"pin\\\": 4711}\"}]}")},
            {TOOLRACK_FORMAT_OLLAMA,
             PLAN("{\"plan\":{\"inputs\":{\"k\":{\"writeOnly\":true,\"default\":\"4711\"}},"
                  "\"nodes\":[]}}"),
             PLAN("{\"plan\":{\"inputs\":{\"k\":{\"writeOnly\":true,\"default\":\"***\"}},"
                  "\"nodes\":[]}}")},
            /* No tool has this name. Another text is not what it was given. */
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"content\":[{\"type\":\"text\",\"text\":\"4711\"},{\"type\":\"tool_use\",\"name\":"
             "\"log_in\",\"input\":{\"pin\":\"4711\",\"n\":[1]}}]}",
             "{\"content\":[{\"type\":\"text\",\"text\":\"4711\"},{\"type\":\"tool_use\",\"name\":"
             "\"log_in\",\"input\":{\"pin\":\"***\",\"n\":\"***\"}}]}"},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"tool_calls\":[{\"function\":{\"name\":5,\"arguments\":\"{\\\"pin\\\":4711}\"}}]}",
             "{\"tool_calls\":[{\"function\":{\"name\":5,\"arguments\":\"{\\\"pin\\\":\\\"***\\\"}"
             "\"}}]}"},
            /* Wherever it stood, it is masked where it is repeated. */
            {TOOLRACK_FORMAT_OPENAI,
             "{\"content\":\"use 4711 as 1234\",\"tool_calls\":[{\"function\":{\"name\":\"login\","
             "\"arguments\":\"{\\\"input\\\":{\\\"pin\\\":\\\"4711\\\"},\\\"Pin\\\":1234}\"}}]}",
             "{\"content\":\"use *** as ***\",\"tool_calls\":[{\"function\":{\"name\":\"login\","
             "\"arguments\":\"{\\\"input\\\":{\\\"pin\\\":\\\"***\\\"},\\\"Pin\\\":\\\"***\\\"}\"}}"
             "]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
        expect_masked(cases[i].format, &secrets, cases[i].message, cases[i].wanted);
    }
}

static void secrets_of_calls_are_not_kept_of_results(void **state) {
    (void)state;
    static const char results[] =
            "[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\"4711\",\"response\":"
            "{\"output\":\"{\\\"said\\\":\\\"4711\\\"}\",\"id\":\"4711\",\"n\":4711.50}}}]}]";
    CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    assert_int_equal(call_secrets_of_results(results, sizeof results - 1, &secrets, &kept, NULL),
                     0);
    assert_string_equal(kept.data, results); /* there are none */
    expect_masked(TOOLRACK_FORMAT_OLLAMA, &secrets,
                  "{\"tool_calls\":[{\"function\":{\"name\":\"login\",\"arguments\":{\"pin\":"
                  "\"4711\"}}}]}",
                  "{\"tool_calls\":[{\"function\":{\"name\":\"login\",\"arguments\":{\"pin\":"
                  "\"***\"}}}]}");
    buf_clear(&kept);
    assert_int_equal(call_secrets_of_results(results, sizeof results - 1, &secrets, &kept, NULL),
                     0);
    assert_string_equal(kept.data,
                        "[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\"4711\","
                        "\"response\":{\"output\":\"{\\\"said\\\":\\\"***\\\"}\",\"id\":"
                        "\"***\",\"n\":\"***\"}}}]}]");
    /* What the model says later is masked, too. */
    expect_masked(TOOLRACK_FORMAT_OLLAMA, &secrets, "{\"content\":\"It is 4711.\"}",
                  "{\"content\":\"It is ***.\"}");
}

/* --------------------------------------------------------------- limits of ours */

/* An event of the stream that is nested too deep. */
static void answer_too_deep(int fd, const char *body) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)body;
    buf_add_text(&text, "data: {\"x\":");
    for (size_t i = 0; i < JSON_DEEPER_MAX; i++) {
        buf_add_char(&text, '[');
    }
    for (size_t i = 0; i < JSON_DEEPER_MAX; i++) {
        buf_add_char(&text, ']');
    }
    buf_add_text(&text, "}\n\n");
    provider_write(fd, "200 OK", "Content-Type: text/event-stream\r\n", text.data, text.length);
}

static void what_is_beyond_our_limits_is_asked_for_once(void **state) {
    (void)state;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *outcome = NULL;
    struct toolrack_agent_options app = TOOLRACK_AGENT_OPTIONS_INIT;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    char endpoint[64];
    const unsigned short port = provider_start();
    assert_int_not_equal(port, 0);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u", port);
    provider_set(answer_too_deep);
    call.conversation = "one";
    app.format = TOOLRACK_FORMAT_OPENAI;
    app.endpoint = endpoint;
    app.model = "m";
    app.task = "Do it";
    app.call = &call;
    app.text = ignore_text;
    app.note = ignore_note;
    assert_int_equal(toolrack_agent(host, &app, &outcome, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "nested deeper"));
    assert_int_equal(provider_asked(), 1);
    provider_stop();
}

/* --------------------------------------------------------------- endless responses */

/* What a response begins with, and what then comes without an end. */
static struct {
    const char *begin;
    const char *piece;
} endless;

static void answer_endlessly(int fd, const char *body) {
    char pieces[65536];
    const size_t size = strlen(endless.piece);
    const size_t length = sizeof pieces / size * size;
    (void)body;
    for (size_t at = 0; at < length; at += size) {
        memcpy(pieces + at, endless.piece, size);
    }
    (void)send(fd, endless.begin, strlen(endless.begin), MSG_NOSIGNAL);
    while (send(fd, pieces, length, MSG_NOSIGNAL) > 0) {
        continue; /* until the client gives up */
    }
}

static int take_nothing(void *user, const char *bytes, size_t length, struct toolrack_error *err) {
    (void)user;
    (void)bytes;
    (void)length;
    (void)err;
    return 0;
}

/* Each kind of byte that is no body has a limit, so that no server keeps the host reading. */
static void no_part_of_a_response_is_endless(void **state) {
    (void)state;
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    static const struct {
        const char *begin;
        const char *piece;
        int code;
        const char *message;
    } cases[] = {
            {"", "x", TOOLRACK_E_IO, "does not answer in HTTP"},
            {"HTTP/1.1 200 ", "x", TOOLRACK_E_LIMIT_EXCEEDED, "a line in the header"},
            {"HTTP/1.1 200 OK\r\nX-A: ", "x", TOOLRACK_E_LIMIT_EXCEEDED, "a line in the header"},
            {"HTTP/1.1 200 OK\r\n", "X-A: x\r\n", TOOLRACK_E_LIMIT_EXCEEDED, "the header of"},
            {"", "HTTP/1.1 100 Continue\r\n\r\n", TOOLRACK_E_LIMIT_EXCEEDED, "the header of"},
            {CHUNKED, "0", TOOLRACK_E_IO, "broke off"},
            {CHUNKED "1;", "x", TOOLRACK_E_LIMIT_EXCEEDED, "extensions of chunks"},
            {CHUNKED, "1;xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\nx\r\n",
             TOOLRACK_E_LIMIT_EXCEEDED, "extensions of chunks"},
            {CHUNKED "0\r\n", "X-A: x\r\n", TOOLRACK_E_LIMIT_EXCEEDED, "the header of"},
            {CHUNKED "0\r\nX-A: ", "x", TOOLRACK_E_IO, "broke off"},
    };
    const char *const none[] = {NULL};
    const unsigned short port = provider_start();
    char url[64];
    assert_int_not_equal(port, 0);
    assert_int_equal(libcurl_load(NULL), 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/v1", port);
    provider_set(answer_endlessly);
    /* One client for all: what earlier connections took counts no more. */
    int stop = http_timer(60000);
    struct http *http = http_create(stop);
    assert_non_null(http);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct http_request request = {
                .url = url, .headers = none, .body = "{}", .length = 2};
        const struct http_sink sink = {.take = take_nothing};
        struct http_response response = {0};
        struct toolrack_error err = {0};
        endless.begin = cases[i].begin;
        endless.piece = cases[i].piece;
        int code = http_post(http, &request, &sink, &response, &err);
        if (code != cases[i].code || strstr(err.message, cases[i].message) == NULL) {
            fail_msg("case %zu: %d, %s", i, code, err.message);
        }
        assert_false(http_was_reset(http)); /* so it is not asked again */
    }
    http_destroy(http);
    (void)close(stop);
    provider_stop();
}

static void a_closed_transcript_is_locked_by_nobody(void **state) {
    (void)state;
    char path[] = "/tmp/toolrack-transcript-XXXXXX";
    const struct transcript_place place = {.file = path};
    const struct transcript_place kept = {.file = path, .is_kept = true};
    struct transcript *first = NULL;
    struct transcript *second = NULL;
    struct toolrack_error err;
    int ends[2];
    int status;
    int fd = mkstemp(path);
    assert_true(fd >= 0 && pipe2(ends, O_CLOEXEC) == 0);
    assert_int_equal(transcript_open(&place, &first, &err), 0);
    assert_int_equal(transcript_open(&kept, &second, &err), TOOLRACK_E_REFUSED);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        (void)close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    transcript_close(first);
    assert_int_equal(transcript_open(&kept, &second, &err), 0);
    transcript_close(second);
    (void)close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)close(ends[0]);
    (void)close(fd);
    (void)unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(endpoints_are_completed),
            cmocka_unit_test(queries_are_added),
            cmocka_unit_test(headers_are_lines_that_may_be_sent),
            cmocka_unit_test(tokens_have_prices),
            cmocka_unit_test(parameters_have_each_formats_names),
            cmocka_unit_test(what_is_no_key_is_no_secret),
            cmocka_unit_test(a_limit_of_tokens_is_called_as_the_host_knows_it),
            cmocka_unit_test(a_limit_of_tokens_takes_the_place_of_ours),
            cmocka_unit_test(endpoints_hold_no_keys_and_go_nowhere_else),
            cmocka_unit_test(retry_after_is_seconds_or_a_date),
            cmocka_unit_test(waits_have_fractions),
            cmocka_unit_test(waits_double_up_to_a_limit),
            cmocka_unit_test(keys_come_from_the_environment),
            cmocka_unit_test(a_key_comes_from_a_named_variable),
            cmocka_unit_test(keys_are_blotted_out),
            cmocka_unit_test(what_stands_in_for_a_key_is_no_secret),
            cmocka_unit_test(the_rest_of_a_key_is_blotted_out),
            cmocka_unit_test(a_key_has_several_forms),
            cmocka_unit_test(a_key_in_pieces_is_blotted_out),
            cmocka_unit_test(a_key_in_several_strings_is_blotted_out),
            cmocka_unit_test(bodies_are_as_their_providers_want_them),
            cmocka_unit_test(arguments_are_sent_back_as_objects),
            cmocka_unit_test(extras_are_behind_the_messages),
            cmocka_unit_test(a_refusal_names_an_extra),
            cmocka_unit_test(what_is_refused_by_name_is_not_sent_again),
            cmocka_unit_test(an_id_of_an_earlier_call_is_renewed),
            cmocka_unit_test(what_is_empty_is_not_sent),
            cmocka_unit_test(what_is_no_message_changes_nothing),
            cmocka_unit_test(what_is_no_models_is_not_sent_on),
            cmocka_unit_test(a_message_that_is_nested_too_deep_is_refused),
            cmocka_unit_test(calls_are_shown),
            cmocka_unit_test(a_text_is_shown_on_one_line),
            cmocka_unit_test(names_are_shown_with_codes),
            cmocka_unit_test(conversations_have_names_of_their_own),
            IN_HOST(a_model_runs_plans),
            IN_HOST(a_model_is_told_what_is_wrong_with_its_plan),
            IN_HOST(a_model_is_told_what_was_done_before_a_failure),
            IN_HOST(a_model_may_write_the_call_of_a_plan_loosely),
            IN_HOST(a_model_that_calls_anything_else_is_told_of_plans),
            IN_HOST(a_model_is_told_which_tools_a_plan_may_call),
            IN_HOST(what_a_request_did_not_have_does_not_run),
            cmocka_unit_test(secrets_of_calls_are_not_kept),
            cmocka_unit_test(secrets_of_calls_are_not_kept_of_results),
            IN_HOST(what_is_beyond_our_limits_is_asked_for_once),
            cmocka_unit_test(no_part_of_a_response_is_endless),
            cmocka_unit_test(a_closed_transcript_is_locked_by_nobody),
    };
    return cmocka_run_group_tests_name("agent", tests, load, NULL);
}
