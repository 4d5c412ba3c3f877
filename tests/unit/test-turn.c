/* Turns: calls out of the messages of all formats, results into them. What is expected stands in
 * tests/golden/turns, a file for each message. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/rendering.h"
#include "failing-malloc.h"
#include "format/turn.h"

#define OUTCOMES_MAX 16u

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* ------------------------------------------------------------------- golden */

static char *text_of(yyjson_val *value, size_t *ret_length) {
    char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, ret_length);
    assert_non_null(text);
    return text;
}

static const char *string_at(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

static void same_text(const char *file, const char *what, const char *got, const char *wanted) {
    if ((got == NULL) != (wanted == NULL) || (got != NULL && strcmp(got, wanted) != 0)) {
        fail_msg("%s: %s is\n%s\nand not\n%s", file, what, got != NULL ? got : "(none)",
                 wanted != NULL ? wanted : "(none)");
    }
}

static void check_calls(const char *file, const struct format_message *message,
                        yyjson_val *wanted) {
    size_t at;
    size_t count;
    yyjson_val *call;
    assert_int_equal(message->count, yyjson_arr_size(wanted));
    yyjson_arr_foreach (wanted, at, count, call) {
        const struct format_call *got = &message->calls[at];
        same_text(file, "the name", got->name, string_at(call, "name"));
        same_text(file, "the id", got->id, string_at(call, "id"));
        same_text(file, "the problem",
                  got->problem != NULL ? toolrack_code_name(got->problem->code) : NULL,
                  string_at(call, "problem"));
        same_text(file, "the text of arguments", got->arguments, string_at(call, "arguments"));
        assert_int_equal(got->arguments_length, strlen(got->arguments));
    }
}

/* Outcomes as a golden file has them. */
struct outcomes {
    struct format_outcome items[OUTCOMES_MAX];
    struct toolrack_error errors[OUTCOMES_MAX];
    char *texts[OUTCOMES_MAX];
};

static void take_outcomes(yyjson_val *list, struct outcomes *ret) {
    size_t at;
    size_t count;
    yyjson_val *one;
    assert_true(yyjson_arr_size(list) <= OUTCOMES_MAX);
    yyjson_arr_foreach (list, at, count, one) {
        struct format_outcome *outcome = &ret->items[at];
        yyjson_val *error = yyjson_obj_get(one, "error");
        if (error != NULL) {
            (void)error_set_field(&ret->errors[at],
                                  (int)yyjson_get_sint(yyjson_obj_get(error, "code")),
                                  string_at(error, "field"), "%s", string_at(error, "message"));
            outcome->err = &ret->errors[at];
        } else {
            ret->texts[at] = text_of(yyjson_obj_get(one, "json"), &outcome->length);
            outcome->json = ret->texts[at];
            outcome->is_content = yyjson_get_bool(yyjson_obj_get(one, "is_content"));
        }
    }
}

static void free_outcomes(struct outcomes *outcomes) {
    for (size_t i = 0; i < OUTCOMES_MAX; i++) {
        free(outcomes->texts[i]);
    }
}

static void check_golden(const char *file, yyjson_val *golden) {
    struct outcomes outcomes = {0};
    struct format_message message;
    struct toolrack_error err;
    enum toolrack_format format;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    size_t length = 0;
    CLEANUP(freep) char *text = text_of(yyjson_obj_get(golden, "message"), &length);
    CLEANUP(freep) char *wanted = text_of(yyjson_obj_get(golden, "answer"), NULL);
    assert_int_equal(toolrack_format_find(string_at(golden, "format"), &format, &err), 0);
    if (format_read_message(format, text, length, &message, &err) < 0) {
        fail_msg("%s: %s", file, err.message);
    }
    check_calls(file, &message, yyjson_obj_get(golden, "calls"));
    take_outcomes(yyjson_obj_get(golden, "outcomes"), &outcomes);
    assert_int_equal(format_write_results(&message, outcomes.items, &out, &err), 0);
    same_text(file, "the answer", out.data, wanted);
    format_message_finish(&message);
    free_outcomes(&outcomes);
}

static bool is_golden(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

static void messages_and_answers_are_as_they_were(void **state) {
    (void)state;
    size_t seen = 0;
    DIR *folder = opendir(TEST_GOLDEN "/turns");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[1024];
        if (is_golden(entry)) {
            (void)snprintf(path, sizeof path, TEST_GOLDEN "/turns/%s", entry->d_name);
            CLEANUP(yyjson_doc_freep)
            yyjson_doc *doc = yyjson_read_file(path, YYJSON_READ_BIGNUM_AS_RAW, NULL, NULL);
            assert_non_null(doc);
            check_golden(entry->d_name, yyjson_doc_get_root(doc));
            seen++;
        }
    }
    (void)closedir(folder);
    assert_true(seen >= 28);
}

/* ------------------------------------------------------------------- errors */

/* A message with one call, and what says that it failed: the text in the middle is what every
 * format has in common. */
static const struct {
    const char *message;
    const char *before;
    const char *after;
} one_call[] = {
        [TOOLRACK_FORMAT_OPENAI] = {"{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\","
                                    "\"function\":{\"name\":\"a\"}}]}",
                                    "[{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"",
                                    "\"}]"},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] =
                {"[{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"a\"}]",
                 "[{\"type\":\"function_call_output\",\"call_id\":\"1\",\"output\":\"", "\"}]"},
        [TOOLRACK_FORMAT_ANTHROPIC] =
                {"{\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"a\"}]}",
                 "[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\","
                 "\"content\":\"",
                 "\",\"is_error\":true}]}]"},
        [TOOLRACK_FORMAT_GEMINI] =
                {"{\"parts\":[{\"functionCall\":{\"name\":\"a\"}}]}",
                 "[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":"
                 "\"a\",\"response\":{\"error\":\"",
                 "\"}}}]}]"},
        [TOOLRACK_FORMAT_OLLAMA] = {"{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{"
                                    "\"name\":\"a\"}}]}",
                                    "[{\"role\":\"tool\",\"tool_name\":\"a\",\"content\":\"",
                                    "\"}]"},
        [TOOLRACK_FORMAT_MCP] =
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
                 "{\"name\":\"a\"}}",
                 "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":"
                 "\"text\",\"text\":\"",
                 "\"}],\"isError\":true}}]"},
};

static void write_outcome(enum toolrack_format format, const struct format_outcome *outcome,
                          struct buf *out) {
    const char *text = one_call[format].message;
    struct format_message message;
    struct toolrack_error err;
    if (format_read_message(format, text, strlen(text), &message, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
    assert_int_equal(message.count, 1);
    assert_int_equal(format_write_results(&message, outcome, out, &err), 0);
    format_message_finish(&message);
}

static void write_one(enum toolrack_format format, const struct toolrack_error *failure,
                      struct buf *out) {
    write_outcome(format, &(struct format_outcome){.err = failure}, out);
}

/* Each code as its text, its object and each provider's result have it. */
static void an_error_is_the_same_to_everyone(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *name;
        bool recoverable;
    } codes[] = {
#define ROW(constant, value, name, recoverable) {value, name, recoverable},
            TOOLRACK_CODES(ROW)
#undef ROW
    };
    for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
        struct toolrack_error failure;
        char text[128];
        char object[256];
        (void)error_set_field(&failure, codes[i].code, "/a", "must be a number");
        error_set_tool(&failure, "a");
        (void)snprintf(text, sizeof text, "%s: /a: must be a number", codes[i].name);
        (void)snprintf(object, sizeof object,
                       "{\"type\":\"%s\",\"message\":\"must be a number\",\"is_recoverable\":%s,"
                       "\"field\":\"/a\",\"tool_name\":\"a\"}",
                       codes[i].name, codes[i].recoverable ? "true" : "false");
        CLEANUP(buf_finish) struct buf plain = BUF_INIT;
        error_add_text(&plain, &failure);
        assert_string_equal(plain.data, text);
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        CLEANUP(freep)
        char *json = yyjson_mut_val_write(error_object(doc, &failure, NULL), 0, NULL);
        assert_string_equal(json, object);
        for (int format = 0; format < TOOLRACK_FORMAT_COUNT; format++) {
            char wanted[512];
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            write_one((enum toolrack_format)format, &failure, &out);
            (void)snprintf(wanted, sizeof wanted, "%s%s%s", one_call[format].before, text,
                           one_call[format].after);
            if (format == TOOLRACK_FORMAT_MCP && codes[i].code == TOOLRACK_E_NOT_FOUND) {
                /* Of a tool that does not exist MCP has an error of the protocol. */
                (void)snprintf(wanted, sizeof wanted,
                               "[{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
                               "\"message\":\"%s\"}}]",
                               text);
            }
            assert_string_equal(out.data, wanted);
        }
    }
}

/* -------------------------------------------------------------------- media */

/* A request with media in a result is refused by models before the third generation. */
static void gemini_gets_images_from_its_third_generation_on(void **state) {
    (void)state;
    static const char result[] =
            "{\"content\":[{\"type\":\"image\",\"mimeType\":\"%s\",\"data\":\"AAAA\"},"
            "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"AA==\"}]}";
    static const char sound[] = "(a sound, audio/wav, 1 byte: it cannot be shown here)";
    static const struct {
        const char *model;
        const char *type;
        bool is_shown;
    } rows[] = {
            {"gemini-3-pro-preview", "image/png", true},
            {"gemini-3.1-flash", "image/jpeg", true},
            {"models/gemini-10-pro", "image/webp", true},
            {"google/gemini-3-flash", "image/tiff", false},
            {"gemini-2.5-pro", "image/png", false},
            {"gemini-2.0-flash", "image/png", false},
            {"gemini-flash-latest", "image/png", false},
            {"gemini-", "image/png", false},
            {"gemma-3-27b-it", "image/png", false},
            {"", "image/png", false},
            {NULL, "image/png", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        const char *text = one_call[TOOLRACK_FORMAT_GEMINI].message;
        char json[256];
        char wanted[512];
        struct format_message message;
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        (void)snprintf(json, sizeof json, result, rows[i].type);
        const struct format_outcome outcome = {
                .json = json, .length = strlen(json), .is_content = true};
        assert_int_equal(
                format_read_message(TOOLRACK_FORMAT_GEMINI, text, strlen(text), &message, NULL), 0);
        assert_null(message.model);
        message.model = rows[i].model;
        assert_int_equal(format_write_results(&message, &outcome, &out, NULL), 0);
        format_message_finish(&message);
        if (rows[i].is_shown) {
            (void)snprintf(wanted, sizeof wanted,
                           "\"response\":{\"output\":\"%s\"},\"parts\":[{\"inlineData\":{"
                           "\"mimeType\":\"%s\",\"data\":\"AAAA\"}}]}}",
                           sound, rows[i].type);
        } else {
            (void)snprintf(wanted, sizeof wanted,
                           "\"response\":{\"output\":\"(an image, %s, 3 bytes: it cannot be shown "
                           "here)\\n%s\"}}}",
                           rows[i].type, sound);
        }
        if (strstr(out.data, wanted) == NULL) {
            fail_msg("%s, %s: %s", rows[i].model, rows[i].type, out.data);
        }
    }
}

/* ------------------------------------------------------------------ refusals */

static void refused(enum toolrack_format format, const char *text, const char *field,
                    const char *part) {
    struct format_message message;
    struct toolrack_error err = {0};
    int code = format_read_message(format, text, strlen(text), &message, &err);
    if (code == 0) {
        format_message_finish(&message);
        fail_msg("%s is taken", text);
    }
    assert_int_equal(code, TOOLRACK_E_INVALID);
    assert_int_equal(err.code, code);
    assert_string_equal(err.field, field);
    if (strstr(err.message, part) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.message, part);
    }
}

/* Where a crash was is for developers. */
static void a_model_is_told_the_brief_message(void **state) {
    (void)state;
    struct toolrack_error failure;
    (void)error_set(&failure, TOOLRACK_E_EXECUTION_FAILED, "it crashed in boom+0xc (boom.so)");
    failure.brief_length = strlen("it crashed");
    for (int format = 0; format < TOOLRACK_FORMAT_COUNT; format++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        write_one((enum toolrack_format)format, &failure, &out);
        assert_non_null(strstr(out.data, "ExecutionFailed: it crashed\""));
        assert_null(strstr(out.data, "boom"));
    }
}

static void what_is_no_message_is_refused_with_its_place(void **state) {
    (void)state;
    char deep[2 * 129 + 1] = "";
    memset(deep, '[', 129);
    memset(deep + 129, ']', 129);
    for (int i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
        refused((enum toolrack_format)i, "", "", "not JSON");
        refused((enum toolrack_format)i, "{\"a\":", "", "at byte 5");
        refused((enum toolrack_format)i, "{}", "", "not a message of the format");
        refused((enum toolrack_format)i, "4", "", "not a message of the format");
        refused((enum toolrack_format)i, deep, "", "nested deeper than 128 levels");
        refused((enum toolrack_format)i, "{\"error\":{\"message\":\"no key\"}}", "/error",
                "no key");
        refused((enum toolrack_format)i, "{\"error\":\"no model\"}", "/error", "no model");
    }
    refused(TOOLRACK_FORMAT_OPENAI, "{\"choices\":[]}", "/choices/0/message", "object");
    refused(TOOLRACK_FORMAT_OPENAI, "{\"choices\":[{\"message\":{\"tool_calls\":{}}}]}",
            "/choices/0/message/tool_calls", "array");
    refused(TOOLRACK_FORMAT_OPENAI,
            "{\"choices\":[{\"message\":{\"role\":\"assistant\"},\"finish_reason\":\"error\","
            "\"error\":{\"code\":502,\"message\":\"upstream died\"}}]}",
            "/choices/0/error", "upstream died");
    refused(TOOLRACK_FORMAT_OPENAI,
            "{\"choices\":[{\"message\":{\"role\":\"assistant\"},\"finish_reason\":\"error\"}]}",
            "/choices/0/finish_reason", "gave no reason");
    refused(TOOLRACK_FORMAT_OPENAI_RESPONSES, "{\"output\":4}", "/output", "array");
    refused(TOOLRACK_FORMAT_ANTHROPIC, "{\"content\":4}", "/content", "array");
    refused(TOOLRACK_FORMAT_GEMINI, "{\"parts\":4}", "", "parts");
    refused(TOOLRACK_FORMAT_GEMINI, "{\"candidates\":[4]}", "/candidates", "objects");
    refused(TOOLRACK_FORMAT_GEMINI, "{\"candidates\":[{\"content\":{\"parts\":4}}]}",
            "/candidates/0/content", "parts");
    refused(TOOLRACK_FORMAT_OLLAMA, "{\"message\":4}", "/message", "object");
    refused(TOOLRACK_FORMAT_MCP, "[{\"id\":1,\"method\":\"ping\"}]", "/0", "tools/call");
    refused(TOOLRACK_FORMAT_MCP, "{\"method\":\"tools/call\"}", "", "id");
    refused(TOOLRACK_FORMAT_COUNT, "{}", "", "number");
}

/* What stands in a list in place of an object is not skipped, as if it said nothing. */
static void what_is_no_object_in_a_list_is_refused(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *before;
        const char *after;
        const char *place;
    } lists[] = {
            {TOOLRACK_FORMAT_OPENAI, "{\"tool_calls\":[", "]}", "/tool_calls/0"},
            {TOOLRACK_FORMAT_OPENAI, "{\"choices\":[{\"message\":{\"tool_calls\":[{},", "]}}]}",
             "/choices/0/message/tool_calls/1"},
            {TOOLRACK_FORMAT_OPENAI, "{\"choices\":[", "]}", "/choices/0/message"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, "[", "]", "/0"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, "{\"output\":[{},", "]}", "/output/1"},
            {TOOLRACK_FORMAT_ANTHROPIC, "{\"content\":[{\"type\":\"text\"},", "]}", "/content/1"},
            {TOOLRACK_FORMAT_GEMINI, "{\"parts\":[", "]}", "/parts/0"},
            {TOOLRACK_FORMAT_GEMINI, "{\"candidates\":[{\"content\":{\"parts\":[{},", "]}}]}",
             "/candidates/0/content/parts/1"},
            {TOOLRACK_FORMAT_OLLAMA, "{\"message\":{\"tool_calls\":[", "]}}",
             "/message/tool_calls/0"},
            {TOOLRACK_FORMAT_MCP, "[", "]", "/0"},
    };
    static const char *const odd[] = {"null", "4", "\"x\"", "[{}]", "true"};
    for (size_t i = 0; i < ARRAY_LENGTH(lists) * ARRAY_LENGTH(odd); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        size_t list = i / ARRAY_LENGTH(odd);
        buf_printf(&text, "%s%s%s", lists[list].before, odd[i % ARRAY_LENGTH(odd)],
                   lists[list].after);
        refused(lists[list].format, text.data, lists[list].place, "expected");
    }
}

/* The number of calls in a message. */
static size_t count_calls(enum toolrack_format format, const char *text) {
    struct format_message message;
    struct toolrack_error err;
    if (format_read_message(format, text, strlen(text), &message, &err) < 0) {
        fail_msg("%s: %s", text, err.message);
    }
    size_t count = message.count;
    format_message_finish(&message);
    return count;
}

#define OPENAI_CALL "\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"a\"}}]"

static void only_calls_of_a_model_are_made(void **state) {
    (void)state;
    static const char *const roles[] = {"user", "system", "tool", "developer", "Assistant"};
    static const char *const models[] = {"\"role\":\"assistant\",", "\"role\":\"model\",",
                                         "\"role\":\"\",", "\"role\":null,", ""};
    static const struct {
        enum toolrack_format format;
        const char *before;
        const char *after;
        const char *place;
    } rows[] = {
            {TOOLRACK_FORMAT_OPENAI, "{", OPENAI_CALL "}", "/role"},
            {TOOLRACK_FORMAT_OPENAI, "{", "\"function_call\":{\"name\":\"a\"}}", "/role"},
            {TOOLRACK_FORMAT_OPENAI, "{\"choices\":[{\"message\":{", OPENAI_CALL "}}]}",
             "/choices/0/message/role"},
            {TOOLRACK_FORMAT_ANTHROPIC, "{",
             "\"content\":[{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{}}]}", "/role"},
            {TOOLRACK_FORMAT_GEMINI, "{", "\"parts\":[{\"functionCall\":{\"name\":\"a\"}}]}",
             "/role"},
            {TOOLRACK_FORMAT_OLLAMA, "{", OPENAI_CALL "}", "/role"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        for (size_t k = 0; k < ARRAY_LENGTH(roles); k++) {
            CLEANUP(buf_finish) struct buf text = BUF_INIT;
            buf_printf(&text, "%s\"role\":\"assistant\",\"role\":\"%s\",%s", rows[i].before,
                       roles[k], rows[i].after);
            refused(rows[i].format, text.data, rows[i].place, "only those of a model");
        }
        for (size_t k = 0; k < ARRAY_LENGTH(models); k++) {
            CLEANUP(buf_finish) struct buf text = BUF_INIT;
            buf_printf(&text, "%s%s%s", rows[i].before, models[k], rows[i].after);
            assert_int_equal(count_calls(rows[i].format, text.data), 1);
        }
    }
    assert_int_equal(count_calls(TOOLRACK_FORMAT_OPENAI, "{\"role\":\"user\"}"), 0);
    /* Of the items of a response those of others are no calls. */
    assert_int_equal(count_calls(TOOLRACK_FORMAT_OPENAI_RESPONSES,
                                 "[{\"type\":\"function_call\",\"role\":\"user\",\"name\":\"a\"},"
                                 "{\"type\":\"custom_tool_call\",\"role\":\"tool\",\"name\":\"a\"},"
                                 "{\"type\":\"function_call\",\"role\":\"assistant\",\"name\":"
                                 "\"b\"}]"),
                     1);
}

/* What another format has its calls in would be lost without a word. */
static void a_message_of_another_format_is_refused_with_its_format(void **state) {
    (void)state;
    static const char *const messages[][3] = {
            [TOOLRACK_FORMAT_OPENAI] =
                    {"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\","
                     "\"type\":\"function\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}}]}",
                     "{\"role\":\"assistant\",\"content\":\"b\",\"function_call\":{\"name\":\"a\","
                     "\"arguments\":\"{}\"}}",
                     "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"b\"}}]}"},
            [TOOLRACK_FORMAT_OPENAI_RESPONSES] =
                    {"[{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"a\"}]",
                     "{\"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}]}",
                     "{\"type\":\"function_call\",\"call_id\":\"1\",\"name\":\"a\"}"},
            [TOOLRACK_FORMAT_ANTHROPIC] =
                    {"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"b\"},"
                     "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"a\",\"input\":{}}]}",
                     "{\"content\":[{\"type\":\"tool_use\",\"name\":\"a\"}]}",
                     "[{\"type\":\"tool_use\",\"name\":\"a\"}]"},
            [TOOLRACK_FORMAT_GEMINI] =
                    {"{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"a\"}}]}",
                     "{\"role\":\"model\",\"parts\":[{\"text\":\"b\"}]}",
                     "{\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[]}}]}"},
            [TOOLRACK_FORMAT_OLLAMA] =
                    {"{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{"
                     "\"function\":{\"name\":\"a\",\"arguments\":{}}}]}}",
                     "{\"message\":{\"role\":\"assistant\",\"content\":\"b\"},\"done\":true}",
                     "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"a\"}}]}}"},
            [TOOLRACK_FORMAT_MCP] =
                    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}",
                     "{\"id\":\"1\",\"method\":\"tools/call\",\"role\":\"assistant\"}",
                     "[{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\"}}]"},
    };
    for (int of = 0; of < TOOLRACK_FORMAT_COUNT; of++) {
        for (int as = 0; as < TOOLRACK_FORMAT_COUNT; as++) {
            /* Of a message alone, Ollama takes what OpenAI does, and finds the calls. */
            for (size_t i = as == TOOLRACK_FORMAT_OLLAMA && of == TOOLRACK_FORMAT_OPENAI; i < 3;
                 i++) {
                char said[96];
                (void)snprintf(said, sizeof said, "it looks like %s: use --format %s",
                               toolrack_format_name((enum toolrack_format)of),
                               toolrack_format_name((enum toolrack_format)of));
                if (of == as && strncmp(messages[of][i], "[{\"type\":\"tool_use", 18) != 0) {
                    (void)count_calls((enum toolrack_format)as, messages[of][i]);
                } else if (of != as) {
                    refused((enum toolrack_format)as, messages[of][i], "", said);
                }
            }
        }
    }
    refused(TOOLRACK_FORMAT_GEMINI, "{\"role\":\"assistant\",\"content\":\"b\"}", "",
            "no candidates and no parts");
    assert_int_equal(count_calls(TOOLRACK_FORMAT_GEMINI, "{\"role\":\"model\"}"), 0);
    assert_int_equal(count_calls(TOOLRACK_FORMAT_ANTHROPIC, "{\"content\":\"b\"}"), 0);
}

static void a_stream_is_told_from_a_message(void **state) {
    (void)state;
    refused(TOOLRACK_FORMAT_OPENAI, "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", "",
            "a stream of events");
    refused(TOOLRACK_FORMAT_ANTHROPIC, "event: message_start\ndata: {}\n\n", "",
            "a stream of events");
    refused(TOOLRACK_FORMAT_OLLAMA, "{\"message\":{},\"done\":false}\n{\"done\":true}\n", "",
            "the second begins at byte 28");
    refused(TOOLRACK_FORMAT_OLLAMA, "{} x", "", "not JSON");
}

static void a_member_given_twice_is_refused_with_its_place(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *text;
        const char *place;
    } rows[] = {
            {TOOLRACK_FORMAT_OPENAI,
             "{\"tool_calls\":[{\"function\":{\"name\":\"a\",\"arguments\":\"{}\","
             "\"arguments\":\"{\\\"x\\\":1}\"}}]}",
             "/tool_calls/0/function/arguments"},
            {TOOLRACK_FORMAT_OPENAI, "{\"role\":\"assistant\",\"content\":\"a\",\"content\":\"b\"}",
             "/content"},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"content\":[{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{}},{\"type\":"
             "\"tool_use\",\"name\":\"a\",\"name\":\"b\",\"input\":{\"x\":1}}]}",
             "/content/1/name"},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"content\":[{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{},\"input\":{}}]}",
             "/content/0/input"},
            {TOOLRACK_FORMAT_MCP,
             "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\",\"arguments\":{},"
             "\"arguments\":{}}}",
             "/params/arguments"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        refused(rows[i].format, rows[i].text, rows[i].place, "twice");
    }
    /* In arguments the call is refused, which the model is told. */
    assert_int_equal(
            count_calls(TOOLRACK_FORMAT_ANTHROPIC,
                        "{\"content\":[{\"type\":\"tool_use\",\"name\":\"a\",\"input\":"
                        "{\"x\":1,\"x\":2}},{\"type\":\"tool_use\",\"name\":\"a\",\"input\":"
                        "{\"y\":[{\"x\":1,\"x\":2},{\"x\":1,\"x\":2}]}}]}"),
            2);
}

/* Whatever a client has for an id, it gets back. */
static void a_request_has_an_id_of_any_size(void **state) {
    (void)state;
    static const char text[] = "{\"id\":18446744073709551617,\"method\":\"tools/call\",\"params\":"
                               "{\"name\":\"a\"}}";
    struct format_message message;
    struct toolrack_error err;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (format_read_message(TOOLRACK_FORMAT_MCP, text, strlen(text), &message, &err) < 0) {
        fail_msg("%s", err.message);
    }
    const struct format_outcome outcome = {.json = "1", .length = 1};
    assert_int_equal(format_write_results(&message, &outcome, &out, &err), 0);
    assert_non_null(strstr(out.data, "\"id\":18446744073709551617,"));
    format_message_finish(&message);
}

static void a_call_without_a_name_says_what_it_has(void **state) {
    (void)state;
    static const char *const rows[][2] = {{"null", "no name"},
                                          {"5", "not a string"},
                                          {"\"\"", "an empty name"},
                                          {"\"a\\u0000b\"", "a zero byte"}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char text[128];
        struct format_message message;
        struct toolrack_error err;
        (void)snprintf(text, sizeof text, "{\"tool_calls\":[{\"function\":{\"name\":%s}}]}",
                       rows[i][0]);
        assert_int_equal(
                format_read_message(TOOLRACK_FORMAT_OPENAI, text, strlen(text), &message, &err), 0);
        assert_non_null(message.calls[0].problem);
        assert_int_equal(message.calls[0].problem->code, TOOLRACK_E_NOT_FOUND);
        assert_non_null(strstr(message.calls[0].problem->message, rows[i][1]));
        format_message_finish(&message);
    }
}

static void other_spellings_are_read(void **state) {
    (void)state;
    assert_int_equal(
            count_calls(TOOLRACK_FORMAT_GEMINI,
                        "\xef\xbb\xbf{\"role\":\"model\",\"parts\":[{\"functionCall\":null},"
                        "{\"function_call\":{\"name\":\"a\"}},{\"text\":\"b\"}]}"),
            1);
    refused(TOOLRACK_FORMAT_OPENAI, "\xef\xbb\xbf{\"a\":", "", "at byte 8");
}

/* A message of `count` calls. */
static char *many_calls(unsigned count) {
    struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"role\":\"assistant\",\"tool_calls\":[");
    for (unsigned i = 0; i < count; i++) {
        buf_printf(&text, "%s{\"id\":\"%u\",\"function\":{\"name\":\"a\",\"arguments\":\"\"}}",
                   i > 0 ? "," : "", i);
    }
    buf_add_text(&text, "]}");
    return buf_steal(&text);
}

static void a_message_has_so_many_calls_and_no_more(void **state) {
    (void)state;
    struct format_message message;
    struct toolrack_error err;
    CLEANUP(freep) char *most = many_calls(FORMAT_CALLS_MAX);
    CLEANUP(freep) char *more = many_calls(FORMAT_CALLS_MAX + 1);
    assert_int_equal(
            format_read_message(TOOLRACK_FORMAT_OPENAI, most, strlen(most), &message, &err), 0);
    assert_int_equal(message.count, FORMAT_CALLS_MAX);
    assert_string_equal(message.calls[FORMAT_CALLS_MAX - 1].id, "1023");
    format_message_finish(&message);
    assert_int_equal(
            format_read_message(TOOLRACK_FORMAT_OPENAI, more, strlen(more), &message, &err),
            TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "1024"));
    assert_int_equal(format_read_message(TOOLRACK_FORMAT_OPENAI, more, FORMAT_MESSAGE_MAX + 1u,
                                         &message, &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
}

static void a_name_with_a_zero_byte_is_no_name(void **state) {
    (void)state;
    static const char text[] = "{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":"
                               "\"add\\u0000x\",\"input\":[]}]}";
    struct format_message message;
    struct toolrack_error err;
    assert_int_equal(
            format_read_message(TOOLRACK_FORMAT_ANTHROPIC, text, strlen(text), &message, &err), 0);
    assert_string_equal(message.calls[0].name, "");
    assert_int_equal(message.calls[0].problem->code, TOOLRACK_E_INVALID_ARGUMENTS);
    format_message_finish(&message);
}

#define CHAT(reason, arguments)                                                           \
    "{\"choices\":[{\"finish_reason\":" reason ",\"message\":{\"role\":\"assistant\","    \
    "\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"a\",\"arguments\":" arguments \
    "}}]}}]}"
#define LEGACY(reason, arguments)                                                      \
    "{\"choices\":[{\"finish_reason\":" reason ",\"message\":{\"role\":\"assistant\"," \
    "\"function_call\":{\"name\":\"a\",\"arguments\":" arguments "}}}]}"
#define RESPONSE(members, call)                                                                   \
    "{" members ",\"output\":[{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"a\"," call \
    "}]}"
#define STOPPED(reason) "\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":" reason "}"
#define MESSAGES(reason, input)                                                                    \
    "{\"stop_reason\":" reason ",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"a\"," \
    "\"input\":" input "}]}"
#define CANDIDATE(reason, args)                                                                   \
    "{\"candidates\":[{" reason ",\"content\":{\"role\":\"model\",\"parts\":[{\"functionCall\":{" \
    "\"name\":\"a\",\"args\":" args "}}]}}]}"
#define FINISH(reason) CANDIDATE("\"finishReason\":" reason, "{\"b\":1}")
#define SAY(reason, calls) \
    "{\"done\":true,\"done_reason\":" reason ",\"message\":{\"tool_calls\":" calls "}}"
#define CALL(arguments) "[{\"function\":{\"name\":\"a\",\"arguments\":" arguments "}}]"
#define TEXT            "\"{\\\"b\\\":1}\""
#define OBJECT          "{\"b\":1}"

#define IS_REFUSED  "the model refuses the task, so no call of the message is made: "
#define IS_FILTERED "the provider's content filter stopped the message (content_filter)"
#define IS_UNSAFE   "the provider's safety filter stopped the message ("
#define IS_BROKEN   "the model wrote a call that cannot be read ("
#define IS_STOPPED  "the provider stopped the message ("
#define IS_CUT_OFF  "reached its length limit before the arguments of this call"

/* How a message ended decides which of its calls are made, in all formats as for an agent. */
static void calls_are_made_as_the_message_ended(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *text;
        const char *words; /* of the refusal, or else of the call that cannot be made; NULL: none */
        const char *place; /* of what refuses the message; NULL: it is read */
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"stop\"", TEXT), NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"\"", TEXT), NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI, CHAT("null", TEXT), NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"a_new_word\"", TEXT), NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"abort\"", TEXT), IS_STOPPED "abort)",
             "/choices/0/finish_reason"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"sensitive\"", TEXT),
             "the provider's content filter stopped the message (sensitive)",
             "/choices/0/finish_reason"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"content_filter: SPII\"", TEXT),
             "the provider's content filter stopped the message (content_filter: SPII)",
             "/choices/0/finish_reason"},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"finish_reason\":\"function_call_filter: "
             "MALFORMED_FUNCTION_CALL\"}]}",
             IS_BROKEN, "/choices/0/finish_reason"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"length\"", TEXT), NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"length\"", "\"\""), IS_CUT_OFF, NULL},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"model_length\"", "\"\""), IS_CUT_OFF, NULL},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"content_filter\"", TEXT), IS_FILTERED,
             "/choices/0/finish_reason"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"content_filter\"", "\"{}\""), IS_FILTERED,
             "/choices/0/finish_reason"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"SAFETY\"", TEXT), IS_UNSAFE "SAFETY)",
             "/choices/0/finish_reason"},
            {TOOLRACK_FORMAT_OPENAI, LEGACY("\"function_call\"", TEXT), NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI, LEGACY("\"length\"", "\"\""), IS_CUT_OFF, NULL},
            {TOOLRACK_FORMAT_OPENAI, LEGACY("\"content_filter\"", TEXT), IS_FILTERED,
             "/choices/0/finish_reason"},
            {TOOLRACK_FORMAT_OPENAI, "{\"refusal\":\"No.\",\"tool_calls\":" CALL(TEXT) "}",
             IS_REFUSED, "/refusal"},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"refusal\":\"No.\",\"function_call\":{\"name\":\"a\"}}}]"
             "}",
             IS_REFUSED, "/choices/0/message/refusal"},
            {TOOLRACK_FORMAT_OPENAI, "{\"refusal\":\"\",\"tool_calls\":" CALL(TEXT) "}", NULL,
             NULL},
            {TOOLRACK_FORMAT_OPENAI, "{\"refusal\":null,\"tool_calls\":" CALL(TEXT) "}", NULL,
             NULL},

            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("\"status\":\"completed\",\"incomplete_details\":null",
                      "\"arguments\":" TEXT),
             NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE(STOPPED("\"content_filter\""), "\"arguments\":" TEXT), IS_FILTERED,
             "/incomplete_details/reason"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE(STOPPED("\"max_output_tokens\""), "\"arguments\":" TEXT), NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE(STOPPED("\"max_output_tokens\""), "\"arguments\":\"\""), IS_CUT_OFF, NULL},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE(STOPPED("\"max_output_tokens\""),
                      "\"status\":\"completed\",\"arguments\":\"\""),
             NULL, NULL},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("\"status\":\"incomplete\"", "\"arguments\":\"\""), IS_CUT_OFF, NULL},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("\"status\":\"completed\"", "\"status\":\"in_progress\",\"arguments\":\"\""),
             IS_CUT_OFF, NULL},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("\"status\":\"in_progress\"", "\"arguments\":" TEXT),
             "no call of it is made: retrieve it again", "/status"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("\"status\":\"failed\"", "\"arguments\":" TEXT),
             "'failed', so no call of it is made: ask again", "/status"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "{\"output\":[{\"type\":\"function_call\",\"name\":\"a\"},{\"type\":\"message\","
             "\"content\":"
             "[{\"type\":\"output_text\"},{\"type\":\"refusal\",\"refusal\":\"No.\"}]}]}",
             IS_REFUSED, "/output/1/content/1"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "[{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"No.\"}]},"
             "{\"type\":\"function_call\",\"name\":\"a\"}]",
             IS_REFUSED, "/0/content/0"},

            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "[{\"type\":\"function_call\",\"status\":\"incomplete\",\"name\":\"a\",\"arguments\":"
             "\"\"}]",
             IS_CUT_OFF, NULL},

            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("\"tool_use\"", OBJECT), NULL, NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("\"pause_turn\"", OBJECT), NULL, NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("\"refusal\"", OBJECT), IS_REFUSED,
             "/stop_reason"},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("\"max_tokens\"", OBJECT), NULL, NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("\"max_tokens\"", "{}"), IS_CUT_OFF, NULL},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("\"model_context_window_exceeded\"", "{}"),
             IS_CUT_OFF, NULL},

            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"stop_reason\":\"max_tokens\",\"content\":[{\"type\":\"tool_use\",\"name\":\"a\","
             "\"input\":{}},{\"type\":\"text\",\"text\":\"b\"}]}",
             NULL, NULL},

            {TOOLRACK_FORMAT_GEMINI, FINISH("\"STOP\""), NULL, NULL},
            {TOOLRACK_FORMAT_GEMINI, FINISH("null"), NULL, NULL},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"FINISH_REASON_UNSPECIFIED\""), NULL, NULL},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"OTHER\""), IS_STOPPED "OTHER)",
             "/candidates/0/finishReason"},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"A_NEW_WORD\""), IS_STOPPED "A_NEW_WORD)",
             "/candidates/0/finishReason"},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"SAFETY\""), IS_UNSAFE "SAFETY)",
             "/candidates/0/finishReason"},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"RECITATION\""), IS_UNSAFE "RECITATION)",
             "/candidates/0/finishReason"},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"PROHIBITED_CONTENT\""),
             IS_UNSAFE "PROHIBITED_CONTENT)", "/candidates/0/finishReason"},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"MALFORMED_FUNCTION_CALL\""),
             IS_BROKEN "MALFORMED_FUNCTION_CALL)", "/candidates/0/finishReason"},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"UNEXPECTED_TOOL_CALL\""), IS_BROKEN,
             "/candidates/0/finishReason"},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}", IS_BROKEN,
             "/candidates/0/finishReason"},
            {TOOLRACK_FORMAT_GEMINI,
             CANDIDATE("\"finishReason\":null,\"finish_reason\":\"SAFETY\"", OBJECT), IS_UNSAFE,
             "/candidates/0/finish_reason"},
            {TOOLRACK_FORMAT_GEMINI, FINISH("\"MAX_TOKENS\""), NULL, NULL},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("\"finishReason\":\"MAX_TOKENS\"", "{}"), IS_CUT_OFF,
             NULL},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"promptFeedback\":{\"blockReason\":\"OTHER\"},\"candidates\":[{\"content\":{"
             "\"parts\":["
             "{\"functionCall\":{\"name\":\"a\"}}]}}]}",
             IS_UNSAFE "OTHER)", "/promptFeedback/blockReason"},

            {TOOLRACK_FORMAT_OLLAMA, SAY("\"stop\"", CALL("{}")), NULL, NULL},
            {TOOLRACK_FORMAT_OLLAMA, SAY("\"length\"", CALL(OBJECT)), NULL, NULL},
            {TOOLRACK_FORMAT_OLLAMA, SAY("\"length\"", CALL("{}")), IS_CUT_OFF, NULL},
            {TOOLRACK_FORMAT_OLLAMA, SAY("\"content_filter\"", CALL(OBJECT)), IS_FILTERED,
             "/done_reason"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *words = cases[i].words;
        struct format_message message;
        struct toolrack_error err = {0};
        int code = format_read_message(cases[i].format, cases[i].text, strlen(cases[i].text),
                                       &message, &err);
        const struct toolrack_error *told = code < 0             ? &err
                                            : message.count == 1 ? message.calls[0].problem
                                                                 : NULL;
        if ((code < 0) != (cases[i].place != NULL) || (told != NULL) != (words != NULL) ||
            (told != NULL && strstr(told->message, words) == NULL)) {
            fail_msg("%s: %s", cases[i].text, told != NULL ? told->message : "the call is made");
        }
        if (code < 0) {
            bool is_withdrawn = strstr(words, "refuses") != NULL || strstr(words, "filter") != NULL;
            assert_int_equal(code, is_withdrawn ? TOOLRACK_E_REFUSED : TOOLRACK_E_INVALID);
            assert_string_equal(err.field, cases[i].place);
        } else {
            assert_int_equal(message.count, 1);
            format_message_finish(&message);
        }
    }
}

/* A message that calls nothing is answered by nothing, however it ended. */
static void what_calls_nothing_is_not_refused(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *text;
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI, "{\"choices\":[{\"finish_reason\":\"content_filter\","
                                     "\"message\":{\"content\":\"a\"}}]}"},
            {TOOLRACK_FORMAT_OPENAI, "{\"role\":\"assistant\",\"refusal\":\"No.\"}"},
            {TOOLRACK_FORMAT_ANTHROPIC, "{\"stop_reason\":\"refusal\",\"content\":[]}"},
            {TOOLRACK_FORMAT_GEMINI,
             "{\"promptFeedback\":{\"blockReason\":\"SAFETY\"},\"candidates\":[]}"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct format_message message;
        assert_int_equal(format_read_message(cases[i].format, cases[i].text, strlen(cases[i].text),
                                             &message, NULL),
                         0);
        assert_int_equal(message.count, 0);
        format_message_finish(&message);
    }
}

static void formats_have_names(void **state) {
    (void)state;
    enum toolrack_format format;
    struct toolrack_error err;
    assert_string_equal(toolrack_format_name(TOOLRACK_FORMAT_MCP), "mcp");
    assert_null(toolrack_format_name(TOOLRACK_FORMAT_COUNT));
    assert_int_equal(toolrack_format_find("cohere", &format, &err), TOOLRACK_E_NOT_FOUND);
    assert_non_null(strstr(err.message, "'cohere'"));
    assert_non_null(strstr(err.message, "anthropic"));
}

/* Where a string belongs, something of another type has no bytes, however long it is. */
static void content_of_other_types_is_empty(void **state) {
    (void)state;
    static const char content[] = "{\"content\":[{\"type\":\"text\",\"text\":[1,2,3]},"
                                  "{\"type\":\"image\",\"data\":[1,2,3],\"mimeType\":{\"a\":1}},"
                                  "{\"type\":\"audio\",\"data\":{\"a\":1}},"
                                  "{\"type\":\"resource\",\"resource\":[1,2]},{\"type\":[1]},7]}";
    const struct format_outcome outcome = {
            .json = content, .length = strlen(content), .is_content = true};
    for (int format = 0; format < TOOLRACK_FORMAT_COUNT; format++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        write_outcome((enum toolrack_format)format, &outcome, &out);
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(out.data, out.length, 0);
        assert_non_null(doc);
        assert_null(strstr(out.data, "\\u0000"));
    }
}

/* -------------------------------------------------------------------- memory */

static int whole_turn(struct toolrack_error *err) {
    static const char text[] =
            "{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"x\",\"input\":{\"a\":1}},"
            "{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"x\",\"input\":\"{\"}]}";
    static const char content[] =
            "{\"content\":[{\"type\":\"image\",\"data\":\"YQ==\",\"mimeType\":"
            "\"image/png\"}],\"structuredContent\":{\"a\":1}}";
    struct format_message message;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    int code = format_read_message(TOOLRACK_FORMAT_ANTHROPIC, text, strlen(text), &message, err);
    if (code < 0) {
        return code;
    }
    const struct format_outcome outcomes[] = {
            {.json = content, .length = strlen(content), .is_content = true},
            {.err = message.calls[1].problem}};
    code = format_write_results(&message, outcomes, &out, err);
    assert_true(code == 0 || out.length == 0);
    format_message_finish(&message);
    return code;
}

/* What is told in place of a long text, with its length and its first bytes. */
static bool keep_text(void *user, const struct format_call *call, char *text, size_t length,
                      struct buf *out) {
    unsigned *kept = user;
    assert_string_equal(call->name, "a");
    (*kept)++;
    buf_printf(out, "%zu %.4s", length, text);
    return true;
}

/* All text of a result counts together; images stay. */
static void a_long_text_is_kept_elsewhere(void **state) {
    (void)state;
    static const char content[] =
            "{\"content\":[{\"type\":\"text\",\"text\":\"12345\"},{\"type\":\"image\",\"data\":"
            "\"eA==\","
            "\"mimeType\":\"image/"
            "png\"},{\"type\":\"text\",\"text\":\"67890\"}],\"structuredContent\":{"
            "\"a\":1}}";
    unsigned kept = 0;
    struct format_keeping keeping = {.length_max = 10, .user = &kept, .keep = keep_text};
    const struct format_outcome outcome = {
            .json = content, .length = strlen(content), .is_content = true, .keeping = &keeping};
    for (int format = 0; format < TOOLRACK_FORMAT_MCP; format++) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        write_outcome((enum toolrack_format)format, &outcome, &out);
        assert_non_null(strstr(out.data, "19 1234"));
        assert_null(strstr(out.data, "67890"));
        assert_null(strstr(out.data, "\"a\":1"));
        assert_non_null(strstr(out.data, format == TOOLRACK_FORMAT_ANTHROPIC ? "eA==" : "image"));
    }
    assert_int_equal(kept, TOOLRACK_FORMAT_MCP);
    keeping.length_max = 17; /* without the line ends between them */
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    write_outcome(TOOLRACK_FORMAT_OPENAI, &outcome, &out);
    assert_non_null(strstr(out.data, "67890"));
    assert_int_equal(kept, TOOLRACK_FORMAT_MCP);
}

static void without_memory_it_says_so(void **state) {
    (void)state;
    struct toolrack_error err;
    bool hit = true;
    for (unsigned n = 1; hit; n++) {
        failing_malloc_set(n);
        int code = whole_turn(&err);
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_int_equal(code, hit ? TOOLRACK_E_NO_MEMORY : 0);
    }
}

/* Arguments are kept parsed for their call, unless they are long. */
static void arguments_are_parsed_once(void **state) {
    (void)state;
    static const struct {
        const char *value;
        int width;
        bool stays;
    } cases[] = {{"1", 0, true}, {"1", 20000, false}};
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        struct format_message message;
        buf_printf(&text,
                   "{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"add\",\"arguments\":"
                   "\"{\\\"a\\\":%*s}\"}}]}",
                   cases[i].width, cases[i].value);
        assert_int_equal(
                format_read_message(TOOLRACK_FORMAT_OPENAI, text.data, text.length, &message, NULL),
                0);
        assert_int_equal(message.count, 1);
        assert_null(message.calls[0].problem);
        assert_int_equal(message.calls[0].parsed != NULL, cases[i].stays);
        assert_true(message.calls[0].parsed == NULL || yyjson_is_obj(message.calls[0].parsed));
        format_message_finish(&message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(arguments_are_parsed_once),
            cmocka_unit_test(messages_and_answers_are_as_they_were),
            cmocka_unit_test(an_error_is_the_same_to_everyone),
            cmocka_unit_test(gemini_gets_images_from_its_third_generation_on),
            cmocka_unit_test(a_model_is_told_the_brief_message),
            cmocka_unit_test(what_is_no_message_is_refused_with_its_place),
            cmocka_unit_test(a_message_has_so_many_calls_and_no_more),
            cmocka_unit_test(a_name_with_a_zero_byte_is_no_name),
            cmocka_unit_test(what_is_no_object_in_a_list_is_refused),
            cmocka_unit_test(only_calls_of_a_model_are_made),
            cmocka_unit_test(a_message_of_another_format_is_refused_with_its_format),
            cmocka_unit_test(a_stream_is_told_from_a_message),
            cmocka_unit_test(a_member_given_twice_is_refused_with_its_place),
            cmocka_unit_test(a_request_has_an_id_of_any_size),
            cmocka_unit_test(a_call_without_a_name_says_what_it_has),
            cmocka_unit_test(other_spellings_are_read),
            cmocka_unit_test(calls_are_made_as_the_message_ended),
            cmocka_unit_test(what_calls_nothing_is_not_refused),
            cmocka_unit_test(formats_have_names),
            cmocka_unit_test(content_of_other_types_is_empty),
            cmocka_unit_test(a_long_text_is_kept_elsewhere),
            cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
