/* Streams of all formats, fed whole, cut at each position and byte by byte: the message is the
 * same, and toolrack_answer()'s reader takes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "failing-malloc.h"
#include "format/stream-parts.h"
#include "format/turn.h"

CLEANUP_DEFINE(struct toolrack_stream, toolrack_stream_free)

/* A stream, and what it comes to. */
struct sample {
    const char *name;
    enum toolrack_format format;
    const char *bytes;
    const char *message;
    const char *text;
    size_t calls; /* in the message */
};

static const struct sample samples[] = {
        {"chat", TOOLRACK_FORMAT_OPENAI,
         ": keep alive\n\n"
         "data: "
         "{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}}]}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Le\"}},"
         "{\"index\":1,\"delta\":{\"content\":\"other\"}}]}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"t \xc3\xa9\"}}]}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
         "\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":\"\"}}]}}]}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
         "\"function\":{\"arguments\":\"{\\\"a\\\":\"}},{\"index\":1,\"id\":\"b\","
         "\"type\":\"function\",\"function\":{\"name\":\"say\"}}]}}]}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,"
         "\"function\":{\"arguments\":\"1}\"}}]}}]}\n\n"
         "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"
         "data: {\"choices\":[],\"usage\":{\"total_tokens\":9}}\n\n"
         "data: [DONE]\n\n",
         "{\"role\":\"assistant\",\"tool_calls\":["
         "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":"
         "\"{\\\"a\\\":1}\"}},{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"say\"}}]"
         ",\"content\":\"Let \xc3\xa9\"}",
         "Let \xc3\xa9", 2},
        {"chat without indexes, CR line ends and a mark", TOOLRACK_FORMAT_OPENAI,
         "\xef\xbb\xbf"
         "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":"
         "\"add\",\"arguments\":{\"a\":1}}}]}}]}\r\r"
         "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"b\",\"type\":\"custom\","
         "\"custom\":{\"name\":\"say\",\"input\":\"x\"}}]}}]}\r\r"
         "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"custom\":{\"input\":\"y\"}}]}}]}\r\r"
         "data:[DONE]",
         "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":"
         "\"add\",\"arguments\":{\"a\":1}}},{\"id\":\"b\",\"type\":\"custom\",\"custom\":{\"name\":"
         "\"say\",\"input\":\"xy\"}}],\"content\":null}",
         "", 2},
        {"responses", TOOLRACK_FORMAT_OPENAI_RESPONSES,
         "event: response.created\r\ndata: {\"type\":\"response.created\"}\r\n\r\n"
         "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":"
         "\"message\",\"content\":[]}}\r\n\r\n"
         "data: "
         "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"Hi\"}\r\n\r\n"
         "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":"
         "\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}]}}\r\n\r\n"
         "data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":"
         "\"function_call\",\"call_id\":\"a\",\"name\":\"add\",\"arguments\":\"\"}}\r\n\r\n"
         "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":1,\"delta\":"
         "\"{\\\"a\\\"\"}\r\n\r\n"
         "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":1,\"delta\":"
         "\":1}\"}\r\n\r\n"
         "data: {\"type\":\"response.completed\",\"response\":{\"output\":[]}}\r\n\r\n",
         "[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}]},"
         "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"add\",\"arguments\":"
         "\"{\\\"a\\\":1}\"}]",
         "Hi", 1},
        {"responses with the whole at its end", TOOLRACK_FORMAT_OPENAI_RESPONSES,
         "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":"
         "\"function_call\",\"call_id\":\"a\",\"name\":\"add\",\"arguments\":\"\"}}\n\n"
         "data: {\"type\":\"response.incomplete\",\n"
         "data: \"response\":{\"output\":[{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":"
         "\"add\",\"arguments\":\"{\"}]}}\n\n",
         "[{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"add\",\"arguments\":\"{\"}]",
         "", 1},
        {"anthropic", TOOLRACK_FORMAT_ANTHROPIC,
         "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n"
         "event: ping\ndata: {\"type\":\"ping\"}\n\n"
         "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
         "\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
         "\"thinking_delta\",\"thinking\":\"hm\"}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
         "\"signature_delta\",\"signature\":\"c2ln\"}}\n\n"
         "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
         "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\","
         "\"text\":\"\"}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\","
         "\"text\":\"Let\"}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\","
         "\"text\":\" me\"}}\n\n"
         "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":"
         "\"tool_use\",\"id\":\"a\",\"name\":\"add\",\"input\":{}}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":"
         "\"input_json_delta\",\"partial_json\":\"\"}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":"
         "\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":"
         "\"input_json_delta\",\"partial_json\":\" 1}\"}}\n\n"
         "data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":"
         "\"tool_use\",\"id\":\"b\",\"name\":\"say\",\"input\":{}}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":"
         "\"input_json_delta\",\"partial_json\":\"{\\\"b\"}}\n\n"
         "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\n"
         "data: {\"type\":\"message_stop\"}\n\n",
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\","
         "\"signature\":\"c2ln\"},{\"type\":\"text\",\"text\":\"Let me\"},{\"type\":\"tool_use\","
         "\"id\":\"a\",\"name\":\"add\",\"input\":{\"a\":1}},{\"type\":\"tool_use\",\"id\":\"b\","
         "\"name\":\"say\",\"input\":{\"INVALID_JSON\":\"{\\\"b\"}}]}",
         "Let me", 2},
        {"gemini", TOOLRACK_FORMAT_GEMINI,
         "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"hm\","
         "\"thought\":true}]}}]}\n\n"
         "data: "
         "{\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Le\"}]}}]}\n\n"
         "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"t\"},{\"functionCall\":{"
         "\"name\":\"add\",\"args\":{\"a\":1}},\"thoughtSignature\":\"c2ln\"}]}}]}\n\n"
         "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\",\"thoughtSignature\":"
         "\"eA==\"}]},\"finishReason\":\"STOP\"}]}\n\n",
         "{\"role\":\"model\",\"parts\":[{\"text\":\"hm\",\"thought\":true},{\"text\":\"Let\"},"
         "{\"functionCall\":{\"name\":\"add\",\"args\":{\"a\":1}},\"thoughtSignature\":\"c2ln\"},"
         "{\"text\":\"\",\"thoughtSignature\":\"eA==\"}]}",
         "Let", 1},
        {"ollama", TOOLRACK_FORMAT_OLLAMA,
         "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"h\"},\"done\":false}"
         "\n"
         "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"m\"},\"done\":false}"
         "\n"
         "{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\",\"tool_calls\":[{\"function\":{"
         "\"name\":\"add\",\"arguments\":{\"a\":1}}}]},\"done\":false}\n"
         "{\"message\":{\"content\":\"!\",\"tool_calls\":[{\"function\":{\"name\":\"say\","
         "\"arguments\":{}}}]},\"done\":false}\n"
         "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}",
         "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":"
         "{\"a\":1}}},{\"function\":{\"name\":\"say\",\"arguments\":{}}}],\"content\":\"Hi!\","
         "\"thinking\":\"hm\"}",
         "Hi!", 2},
        {"chat whose pieces all say that they are the last", TOOLRACK_FORMAT_OPENAI,
         "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"\"}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{"
         "\"name\":\"add\",\"arguments\":\"\"}}]},\"finish_reason\":\"stop\"}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":"
         "\"{}\"}}]},\"finish_reason\":\"stop\"}]}\n\n"
         "data: [DONE]\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"no\"}}]}\n\n",
         "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"add\","
         "\"arguments\":\"{}\"}}],\"content\":\"ab\"}",
         "ab", 1},
        {"gemini whose pieces all say that they are the last", TOOLRACK_FORMAT_GEMINI,
         "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":"
         "\"STOP\"}]}\n\n"
         "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"b\"},{\"functionCall\":{"
         "\"id\":\"\",\"name\":\"add\"}}]},\"finishReason\":\"STOP\"}]}\n\n",
         "{\"role\":\"model\",\"parts\":[{\"text\":\"ab\"},{\"functionCall\":{\"id\":\"FHjFo6DOA\","
         "\"name\":\"add\"}}]}",
         "ab", 1},
        {"chat with arrays in pieces", TOOLRACK_FORMAT_OPENAI,
         "data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":\"reasoning.text\","
         "\"text\":\"h\",\"format\":\"f\",\"index\":0}]}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":\"reasoning.text\","
         "\"text\":\"m\",\"format\":\"f\",\"index\":0}]}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":\"reasoning.text\","
         "\"signature\":\"c2ln\",\"index\":0},{\"type\":\"reasoning.encrypted\",\"data\":\"eA\","
         "\"index\":1}]}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n",
         "{\"role\":\"assistant\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":"
         "\"hm\",\"format\":\"f\",\"index\":0,\"signature\":\"c2ln\"},{\"type\":"
         "\"reasoning.encrypted\",\"data\":\"eA\",\"index\":1}],\"content\":\"ok\"}",
         "ok", 0},
        {"chat whose content is an array, then a string", TOOLRACK_FORMAT_OPENAI,
         "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{"
         "\"type\":\"text\",\"text\":\"h\"}]}]}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{"
         "\"type\":\"text\",\"text\":\"m\"}]},{\"type\":\"text\",\"text\":\"b\"}]}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"c\"},\"finish_reason\":\"stop\"}]}\n\n",
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":"
         "\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"hm\"}]},{\"type\":\"text\","
         "\"text\":\"bc\"}]}",
         "abc", 0},
        {"chat with halves of characters", TOOLRACK_FORMAT_OPENAI,
         "data: {\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"\\ude00b\\ud83d\"}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"c\",\"tool_calls\":[{\"index\":0,\"id\":"
         "\"a\",\"function\":{\"name\":\"say\",\"arguments\":\"{\\\"a\\\":\\\"\\ud83d\"}}]}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"content\":\"\\ud83d\",\"tool_calls\":[{\"index\":0,"
         "\"function\":{\"arguments\":\"\\ude00\\\"}\"}}]},\"finish_reason\":\"stop\"}]}\n\n",
         "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"say\","
         "\"arguments\":\"{\\\"a\\\":\\\"\xf0\x9f\x98\x80\\\"}\"}}],\"content\":"
         "\"a\xf0\x9f\x98\x80"
         "b\xef\xbf\xbd"
         "c\xef\xbf\xbd\"}",
         "a\xf0\x9f\x98\x80"
         "b\xef\xbf\xbd"
         "c\xef\xbf\xbd",
         1},
        {"anthropic with halves of characters", TOOLRACK_FORMAT_ANTHROPIC,
         "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
         "\"tool_use\",\"id\":\"\",\"name\":\"say\",\"input\":{}}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
         "\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\\\"x\\\\ud8\"}}\n\n"
         "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
         "\"input_json_delta\",\"partial_json\":\"3d\\\"}\"}}\n\n"
         "data: {\"type\":\"message_stop\"}\n\n",
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t3E7F3Faq\","
         "\"name\":"
         "\"say\",\"input\":{\"a\":\"x\xef\xbf\xbd\"}}]}",
         "", 1},
        {"chat that was not streamed", TOOLRACK_FORMAT_OPENAI,
         "\r\n {\"choices\":[\n{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\",\"refusal\":"
         "null,\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"add\",\"arguments\":\"{}\"}},"
         "{\"id\":\"\",\"function\":{\"name\":\"add\",\"arguments\":\"\"}}]},\"finish_reason\":"
         "\"length\"}]}",
         "{\"role\":\"assistant\",\"content\":\"Hi\",\"tool_calls\":[{\"id\":\"a\",\"function\":{"
         "\"name\":\"add\",\"arguments\":\"{}\"}},{\"id\":\"VdIwpLApq\",\"function\":{\"name\":"
         "\"add\",\"arguments\":\"{\"}}]}",
         "Hi", 2},
        {"chat with one call as before tool_calls", TOOLRACK_FORMAT_OPENAI,
         "data: {\"choices\":[{\"delta\":{\"content\":null,\"function_call\":{\"name\":\"add\","
         "\"arguments\":\"{\\\"a\\\"\"}}}]}\n\n"
         "data: {\"choices\":[{\"delta\":{\"function_call\":{\"arguments\":\":1}\"}},"
         "\"finish_reason\":null}]}\n\n"
         "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"function_call\"}]}\n\n",
         "{\"role\":\"assistant\",\"function_call\":{\"name\":\"add\",\"arguments\":"
         "\"{\\\"a\\\":1}\"},\"content\":null}",
         "", 1},
        {"responses that was not streamed", TOOLRACK_FORMAT_OPENAI_RESPONSES,
         "{\"status\":\"completed\",\"error\":null,\"output\":[{\"type\":\"message\",\"content\":[{"
         "\"type\":\"output_text\",\"text\":\"Hi\"}]},{\"type\":\"function_call\",\"call_id\":"
         "\"a\",\"name\":\"add\",\"arguments\":\"{}\"}]}",
         "[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}]},{"
         "\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"add\",\"arguments\":\"{}\"}]",
         "Hi", 1},
        {"anthropic that was not streamed", TOOLRACK_FORMAT_ANTHROPIC,
         "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
         "\"Hi\"},{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"add\",\"input\":{}}],"
         "\"stop_reason\":\"max_tokens\"}",
         "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"},{\"type\":"
         "\"tool_use\",\"id\":\"a\",\"name\":\"add\",\"input\":{\"INVALID_JSON\":\"{\"}}]}",
         "Hi", 1},
        {"gemini as an array of pieces", TOOLRACK_FORMAT_GEMINI,
         "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"H\"}]}}]},\n{\"candidates\":[{"
         "\"content\":{\"parts\":[{\"text\":\"i\"}]},\"finishReason\":\"STOP\"}]}]\n",
         "{\"role\":\"model\",\"parts\":[{\"text\":\"Hi\"}]}", "Hi", 0},
        {"ollama on several lines", TOOLRACK_FORMAT_OLLAMA,
         "{\n  \"message\": {\"content\": \"Hi\", \"tool_calls\": [{\"id\": \"\", \"function\":\n"
         "{\"name\": \"add\", \"arguments\": {}}}]},\n\"done\": true\n}\n",
         "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"88gMogL7p\",\"function\":{\"name\":"
         "\"add\","
         "\"arguments\":{}}}],\"content\":\"Hi\"}",
         "Hi", 1},
};

static void gather(void *user, const char *text, size_t length) {
    buf_add(user, text, length);
}

static void check(const struct sample *sample, struct toolrack_stream *stream,
                  const struct buf *text, int code, const struct toolrack_error *err) {
    const char *message = "";
    size_t length = 0;
    struct toolrack_error why = {0};
    if (code < 0) {
        fail_msg("%s: %s", sample->name, err->message);
    }
    if (toolrack_stream_end(stream, &message, &length, &why) < 0) {
        fail_msg("%s: %s", sample->name, why.message);
    }
    if (strcmp(message, sample->message) != 0) {
        fail_msg("%s: it is\n%s\nand not\n%s", sample->name, message, sample->message);
    }
    assert_int_equal(length, strlen(message));
    assert_string_equal(text->data != NULL ? text->data : "", sample->text);
}

/* Feed in two pieces, or with `at` 0 byte by byte. */
static void feed_cut(const struct sample *sample, size_t at) {
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_error err = {0};
    size_t length = strlen(sample->bytes);
    assert_int_equal(toolrack_stream_new(sample->format, gather, &text, &stream, &err), 0);
    int code = 0;
    if (at > 0) {
        code = toolrack_stream_feed(stream, sample->bytes, at, &err);
        code = code < 0 ? code
                        : toolrack_stream_feed(stream, sample->bytes + at, length - at, &err);
    }
    for (size_t i = 0; at == 0 && i < length && code == 0; i++) {
        code = toolrack_stream_feed(stream, sample->bytes + i, 1, &err);
    }
    check(sample, stream, &text, code, &err);
}

static void a_stream_may_be_cut_anywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
        for (size_t at = 0; at <= strlen(samples[i].bytes); at++) {
            feed_cut(&samples[i], at);
        }
    }
}

static void what_it_makes_is_a_message(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
        struct format_message message;
        struct toolrack_error err;
        assert_int_equal(format_read_message(samples[i].format, samples[i].message,
                                             strlen(samples[i].message), &message, &err),
                         0);
        assert_int_equal(message.count, samples[i].calls);
        format_message_finish(&message);
    }
}

/* Every start of a stream that lacks its end is no message. */
static void a_stream_that_breaks_off_is_no_message(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
        const char *last = strstr(samples[i].bytes, "finish_reason\"");
        last = last != NULL ? last : strstr(samples[i].bytes, "finishReason\"");
        size_t most =
                last != NULL ? (size_t)(last - samples[i].bytes) : strlen(samples[i].bytes) - 30;
        for (size_t length = 0; length < most; length++) {
            CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
            struct toolrack_error err = {0};
            const char *message;
            assert_int_equal(toolrack_stream_new(samples[i].format, NULL, NULL, &stream, &err), 0);
            assert_int_equal(toolrack_stream_feed(stream, samples[i].bytes, length, &err), 0);
            assert_int_equal(toolrack_stream_end(stream, &message, NULL, &err), TOOLRACK_E_INVALID);
        }
    }
}

/* ------------------------------------------------------------------ failures */

static void fails(enum toolrack_format format, const char *bytes, int wanted, const char *part) {
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    struct toolrack_error err = {0};
    const char *message;
    assert_int_equal(toolrack_stream_new(format, NULL, NULL, &stream, &err), 0);
    int code = toolrack_stream_feed(stream, bytes, strlen(bytes), &err);
    if (code != wanted || strstr(err.message, part) == NULL) {
        fail_msg("%s: %d %s", bytes, code, err.message);
    }
    /* It stays failed. */
    err = (struct toolrack_error){0};
    assert_int_equal(toolrack_stream_feed(stream, "\n", 1, &err), wanted);
    assert_int_equal(toolrack_stream_end(stream, &message, NULL, &err), wanted);
    assert_non_null(strstr(err.message, part));
}

static void errors_of_the_provider_end_it(void **state) {
    (void)state;
    const int failed = TOOLRACK_E_EXECUTION_FAILED;
    fails(TOOLRACK_FORMAT_OPENAI, "data: {\"error\":{\"message\":\"too busy\"}}\n\n", failed,
          "too busy");
    fails(TOOLRACK_FORMAT_OPENAI_RESPONSES,
          "data: {\"type\":\"error\",\"message\":\"too busy\"}\n\n", failed, "too busy");
    fails(TOOLRACK_FORMAT_OPENAI_RESPONSES,
          "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"bad\"}}}\n\n",
          failed, "bad");
    fails(TOOLRACK_FORMAT_ANTHROPIC,
          "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\","
          "\"message\":\"Bad\"}}\n\n",
          failed, "Bad");
    fails(TOOLRACK_FORMAT_GEMINI, "data: {\"error\":{\"message\":\"quota\"}}\n\n", failed, "quota");
    fails(TOOLRACK_FORMAT_GEMINI, "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n",
          failed, "SAFETY");
    fails(TOOLRACK_FORMAT_OLLAMA, "{\"error\":\"model not found\"}\n", failed, "model not found");
    fails(TOOLRACK_FORMAT_OLLAMA, "{\"error\":500}\n", failed, "no reason given");
    fails(TOOLRACK_FORMAT_OPENAI, "event: error\ndata: {\"error\":\"\"}\n\n", failed,
          "no reason given");
    fails(TOOLRACK_FORMAT_OPENAI, "event: error\ndata: {\"message\":\"too long\"}\n\n", failed,
          "too long");
    fails(TOOLRACK_FORMAT_OPENAI, "event: error\ndata: \"too long\"\n\n", failed, "too long");
    fails(TOOLRACK_FORMAT_GEMINI, "event: error\ndata: out of memory\n\n", failed, "out of memory");
    fails(TOOLRACK_FORMAT_OPENAI,
          "data: {\"object\":\"error\",\"message\":\"too long\",\"code\":400}\n\n", failed,
          "too long");
    fails(TOOLRACK_FORMAT_OPENAI,
          "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
          "data: {\"error\":{\"code\":\"server_error\"}}\n\n",
          TOOLRACK_E_IO, "server_error");
    /* OpenRouter has it in the choice. */
    fails(TOOLRACK_FORMAT_OPENAI,
          "data: {\"choices\":[{\"delta\":{\"content\":\"It is\"},\"finish_reason\":null}]}\n\n"
          "data: "
          "{\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\",\"error\":{"
          "\"code\":502,\"message\":\"upstream died\"}}]}\n\ndata: [DONE]\n\n",
          TOOLRACK_E_IO, "upstream died");
    fails(TOOLRACK_FORMAT_OPENAI,
          "data: {\"choices\":[{\"delta\":{\"content\":\"It "
          "is\"},\"finish_reason\":\"error\"}]}\n\n",
          failed, "no reason given");
}

/* Some servers have an `error` that says nothing in each piece of a good answer. */
static void an_error_that_says_nothing_is_none_but_without_an_answer(void **state) {
    (void)state;
    static const char *const nothing[] = {"null", "\"\"", "{}", "[]", "false", "0"};
    for (size_t i = 0; i < ARRAY_LENGTH(nothing); i++) {
        for (int is_whole = 0; is_whole < 2; is_whole++) {
            for (int has_answer = 0; has_answer < 2; has_answer++) {
                char text[256];
                const char *said = has_answer ? "\"content\":\"b\"" : "";
                (void)snprintf(
                        text, sizeof text,
                        is_whole ? "{\"choices\":[{\"message\":{%s},\"error\":%s}],\"error\":%s}"
                                 : "data: {\"choices\":[{\"delta\":{%s},\"error\":%s}],"
                                   "\"error\":%s}\n\ndata: [DONE]\n\n",
                        said, nothing[i], nothing[i]);
                CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
                struct toolrack_error err = {0};
                const char *message;
                bool fails = !has_answer && strcmp(nothing[i], "null") != 0 &&
                             strcmp(nothing[i], "false") != 0;
                assert_int_equal(
                        toolrack_stream_new(TOOLRACK_FORMAT_OPENAI, NULL, NULL, &stream, &err), 0);
                assert_int_equal(toolrack_stream_feed(stream, text, strlen(text), &err), 0);
                int code = toolrack_stream_end(stream, &message, NULL, &err);
                if (code != (fails ? TOOLRACK_E_EXECUTION_FAILED : 0) ||
                    (fails && strstr(err.message, "error: no reason given") == NULL)) {
                    fail_msg("%s: %d %s", text, code, err.message);
                }
            }
        }
    }
}

/* Whatever the event looks like by the first of the two: of a piece of a text, of null, of an
 * answer that goes on, or of one that a filter has not stopped. */
static void a_member_given_twice_ends_it(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *stream;
    } rows[] = {
            {TOOLRACK_FORMAT_OPENAI,
             "data: "
             "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"id\":\"b\",\"function\":"
             "{\"name\":\"f\"}}]}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"f\",\"name\":\"g\"}}}]}"
             "\n\n"},
            {TOOLRACK_FORMAT_OPENAI, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\","
                                     "\"finish_reason\":\"content_filter\"}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"refusal\":\"no\",\"refusal\":null}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"output_index\":1,"
             "\"item\":{\"type\":\"function_call\"}}\n\n"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: "
             "{\"type\":\"response.completed\",\"response\":{\"output\":[],\"output\":[]}}\n\n"},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
             "\"tool_use\",\"name\":\"f\",\"name\":\"g\",\"input\":{}}}\n\n"},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
             "\"tool_use\",\"name\":\"f\",\"input\":{}}}\n\n"
             "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
             "\"input_json_delta\",\"partial_json\":\"{\",\"partial_json\":\"[\"}}\n\n"},
            {TOOLRACK_FORMAT_GEMINI,
             "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\","
             "\"name\":\"g\"}}]}}]}\n\n"},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"done\":false,\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\","
             "\"name\":\"g\"}}]}}\n"},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"done\":true,\"done_reason\":\"stop\",\"message\":{},\"message\":{}}\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"content\":\"b\"}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":null,"
                                     "\"finish_reason\":\"content_filter\"}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"refusal\":null,\"refusal\":\"no\"}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI, "data: {\"error\":null,\"error\":{\"message\":\"no\"},"
                                     "\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: {\"type\":\"response.in_progress\",\"type\":\"response.completed\","
             "\"response\":{\"output\":[]}}\n\n"},
            {TOOLRACK_FORMAT_ANTHROPIC, "data: {\"type\":\"ping\",\"type\":\"message_stop\"}\n\n"},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
             "null,\"stop_reason\":\"refusal\"}}\n\n"},
            {TOOLRACK_FORMAT_GEMINI, "data: {\"candidates\":[{\"content\":{\"parts\":[]},"
                                     "\"finishReason\":null,\"finishReason\":\"SAFETY\"}]}\n\n"},
            {TOOLRACK_FORMAT_OLLAMA, "{\"message\":{\"content\":\"a\"},\"done\":false,"
                                     "\"done\":true}\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"choices\":[]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":null,\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI, "data: "
                                     "{\"object\":\"chat.completion.chunk\",\"object\":\"error\","
                                     "\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"index\":0,\"index\":1,\"delta\":{\"content\":\"a\"}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"delta\":{}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: "
             "{\"choices\":[{\"delta\":{\"content\":\"a\"},\"error\":null,\"error\":\"no\"}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"tool_calls\":null,\"tool_calls\":[]}}]}\n\n"},
            {TOOLRACK_FORMAT_OPENAI,
             "data: "
             "{\"choices\":[{\"delta\":{\"function_call\":null,\"function_call\":null}}]}\n\n"},
            {TOOLRACK_FORMAT_GEMINI, "data: {\"candidates\":[],\"candidates\":[]}\n\n"},
            {TOOLRACK_FORMAT_GEMINI,
             "data: {\"promptFeedback\":null,\"promptFeedback\":{\"blockReason\":\"OTHER\"}}\n\n"},
            {TOOLRACK_FORMAT_GEMINI,
             "data: {\"promptFeedback\":{\"blockReason\":null,\"blockReason\":\"OTHER\"}}\n\n"},
            {TOOLRACK_FORMAT_GEMINI, "data: {\"candidates\":[{\"index\":0,\"index\":1}]}\n\n"},
            {TOOLRACK_FORMAT_GEMINI,
             "data: {\"candidates\":[{\"content\":{},\"content\":{}}]}\n\n"},
            {TOOLRACK_FORMAT_GEMINI,
             "data: {\"candidates\":[{\"content\":{\"parts\":[],\"parts\":[]}}]}\n\n"},
            {TOOLRACK_FORMAT_GEMINI,
             "data: "
             "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"text\":\"b\"}]}}]}\n\n"},
            {TOOLRACK_FORMAT_GEMINI, "data: "
                                     "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\","
                                     "\"thought\":false,\"thought\":true}]}}]}\n\n"},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"error\":null,\"error\":\"no\",\"message\":{\"content\":\"a\"}}\n"},
            {TOOLRACK_FORMAT_OLLAMA, "{\"message\":{\"content\":\"a\"},\"message\":{}}\n"},
            {TOOLRACK_FORMAT_OLLAMA, "{\"message\":{\"content\":\"a\",\"content\":\"b\"}}\n"},
            {TOOLRACK_FORMAT_OLLAMA, "{\"message\":{\"tool_calls\":[],\"tool_calls\":[]}}\n"},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"message\":{\"content\":\"a\"},\"done_reason\":null,\"done_reason\":\"length\"}\n"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        fails(rows[i].format, rows[i].stream, TOOLRACK_E_INVALID, "gives this member twice");
    }
}

/* What a stream comes to. */
static void comes_to(enum toolrack_format format, const char *bytes, const char *wanted) {
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    struct toolrack_error err = {0};
    const char *message = "";
    assert_int_equal(toolrack_stream_new(format, NULL, NULL, &stream, &err), 0);
    int code = toolrack_stream_feed(stream, bytes, strlen(bytes), &err);
    code = code < 0 ? code : toolrack_stream_end(stream, &message, NULL, &err);
    if (code < 0 || strcmp(message, wanted) != 0) {
        fail_msg("%s: %s %s", bytes, message, err.message);
    }
}

/* text-generation-inference streams one call where others have a list of them. */
static void a_lone_call_in_place_of_a_list_is_taken(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: "
             "{\"choices\":[{\"delta\":{\"tool_calls\":{\"index\":0,\"id\":\"a\",\"function\":{"
             "\"name\":\"f\",\"arguments\":\"{\"}}}}]}\n\n"
             "data: {\"choices\":[{\"delta\":{\"tool_calls\":{\"index\":0,\"function\":{"
             "\"arguments\":\"}\"}}},\"finish_reason\":\"eos_token\"}]}\n\n",
             "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
             "\"arguments\":\"{}\"}}],\"content\":null}");
}

/* What a status would say, were it not too late for one. */
static void failures_that_may_pass_have_a_code(void **state) {
    (void)state;
    const int busy = TOOLRACK_E_IO;
    const int limit = TOOLRACK_E_LIMIT_EXCEEDED;
    const int failed = TOOLRACK_E_EXECUTION_FAILED;
    fails(TOOLRACK_FORMAT_ANTHROPIC,
          "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
          "\"message\":\"Overloaded\"}}\n\n",
          busy, "Overloaded");
    fails(TOOLRACK_FORMAT_ANTHROPIC,
          "data: "
          "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n",
          limit, "slow");
    fails(TOOLRACK_FORMAT_OPENAI, "data: {\"error\":{\"message\":\"slow\",\"code\":429}}\n\n",
          limit, "slow");
    fails(TOOLRACK_FORMAT_OPENAI, "error: {\"message\":\"bad\",\"code\":500}\n\n", busy, "bad");
    fails(TOOLRACK_FORMAT_OPENAI, "error: bad\n\n", failed, "bad");
    fails(TOOLRACK_FORMAT_OPENAI,
          "data: "
          "{\"error\":{\"message\":\"pay\",\"code\":429,\"type\":\"insufficient_quota\"}}\n\n",
          failed, "pay");
    fails(TOOLRACK_FORMAT_OPENAI_RESPONSES,
          "data: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"slow\"}\n\n",
          limit, "slow");
    fails(TOOLRACK_FORMAT_OPENAI_RESPONSES,
          "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\","
          "\"message\":\"bad\"}}}\n\n",
          busy, "bad");
    fails(TOOLRACK_FORMAT_GEMINI,
          "data: {\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}}\n\n",
          busy, "busy");
    fails(TOOLRACK_FORMAT_GEMINI,
          "data: {\"error\":{\"message\":\"many\",\"status\":\"RESOURCE_EXHAUSTED\"}}\n\n", limit,
          "many");
}

/* A response that is one JSON text is read at its end. */
static void a_response_that_is_not_streamed_may_fail(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *bytes;
        int code;
        const char *part;
    } rows[] = {
            {TOOLRACK_FORMAT_OPENAI, "{\"choices\":[]}\n", TOOLRACK_E_INVALID,
             "no message in its choices"},
            {TOOLRACK_FORMAT_OPENAI, "{\"choices\":[{\"mess", TOOLRACK_E_INVALID, "too early"},
            {TOOLRACK_FORMAT_OPENAI, "{\"error\":{}}", TOOLRACK_E_EXECUTION_FAILED,
             "no reason given"},
            {TOOLRACK_FORMAT_OLLAMA, "{\"error\":\"\"}\n", TOOLRACK_E_EXECUTION_FAILED,
             "no reason given"},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"a\":1,"
             "\"a\":2}",
             TOOLRACK_E_INVALID, "gives this member twice"},
            {TOOLRACK_FORMAT_OPENAI, "{\"a\":1}\n{\"a\":2}\n", TOOLRACK_E_INVALID,
             "neither an event stream nor one JSON text"},
            {TOOLRACK_FORMAT_OPENAI, "{\"error\":{\"message\":\"no\"}}",
             TOOLRACK_E_EXECUTION_FAILED, "no"},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"It is\"},"
             "\"finish_reason\":\"error\",\"error\":{\"message\":\"upstream died\"}}]}",
             TOOLRACK_E_EXECUTION_FAILED, "upstream died"},
            {TOOLRACK_FORMAT_OPENAI, "{\"choices\":[{\"error\":{\"message\":\"upstream died\"}}]}",
             TOOLRACK_E_EXECUTION_FAILED, "upstream died"},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"It is\"},\"finish_reason\":\"error\"}]}",
             TOOLRACK_E_EXECUTION_FAILED, "no reason given"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, "{}", TOOLRACK_E_INVALID, "no array 'output'"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, "{\"status\":\"cancelled\",\"output\":[]}",
             TOOLRACK_E_EXECUTION_FAILED, "error: cancelled"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, "{\"status\":\"queued\",\"output\":[]}",
             TOOLRACK_E_INVALID, "status 'queued'"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"failed\","
             "\"error\":{\"message\":\"bad\"},\"output\":[]}}\n\n",
             TOOLRACK_E_EXECUTION_FAILED, "error: bad"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: {\"type\":\"response.cancelled\",\"response\":{\"status\":\"cancelled\"}}\n\n",
             TOOLRACK_E_EXECUTION_FAILED, "error: cancelled"},
            {TOOLRACK_FORMAT_ANTHROPIC, "{\"content\":4}", TOOLRACK_E_INVALID,
             "no array 'content'"},
            {TOOLRACK_FORMAT_GEMINI, "{}", TOOLRACK_E_INVALID, "no candidates"},
            {TOOLRACK_FORMAT_GEMINI, "[{\"error\":{\"message\":\"quota\"}}]",
             TOOLRACK_E_EXECUTION_FAILED, "quota"},
            {TOOLRACK_FORMAT_OLLAMA, "{\n\"a\":1}", TOOLRACK_E_INVALID, "no message"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
        struct toolrack_error err = {0};
        const char *message;
        assert_int_equal(toolrack_stream_new(rows[i].format, NULL, NULL, &stream, &err), 0);
        int code = toolrack_stream_feed(stream, rows[i].bytes, strlen(rows[i].bytes), &err);
        code = code < 0 ? code : toolrack_stream_end(stream, &message, NULL, &err);
        if (code != rows[i].code || strstr(err.message, rows[i].part) == NULL) {
            fail_msg("%s: %d %s", rows[i].bytes, code, err.message);
        }
    }
}

static void what_is_no_stream_is_refused(void **state) {
    (void)state;
    const int invalid = TOOLRACK_E_INVALID;
    fails(TOOLRACK_FORMAT_OPENAI, "<html>\n", invalid, "<html>");
    fails(TOOLRACK_FORMAT_OPENAI, "data: {\"choices\":\n\n", invalid, "not a JSON object");
    fails(TOOLRACK_FORMAT_OPENAI, "data: 4\n\n", invalid, "not a JSON object");
    fails(TOOLRACK_FORMAT_OLLAMA, "data: {}\n", invalid, "not a JSON object");
    fails(TOOLRACK_FORMAT_ANTHROPIC,
          "data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{}}\n\n", invalid, "3");
    fails(TOOLRACK_FORMAT_ANTHROPIC, "data: {\"type\":\"content_block_start\",\"index\":3}\n\n",
          invalid, "content_block");
    struct toolrack_stream *stream = NULL;
    struct toolrack_error err;
    assert_int_equal(toolrack_stream_new(TOOLRACK_FORMAT_MCP, NULL, NULL, &stream, &err), invalid);
    assert_int_equal(toolrack_stream_new(TOOLRACK_FORMAT_COUNT, NULL, NULL, &stream, &err),
                     invalid);
}

static void events_that_say_nothing_are_ignored(void **state) {
    (void)state;
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    struct toolrack_error err = {0};
    const char *message;
    static const char bytes[] = "retry: 10\nid\nevent\n\ndata\n\ndata:\n\n"
                                "data: {\"choices\":[4,{\"delta\":4},{\"delta\":{\"tool_calls\":4,"
                                "\"content\":4}}]}\n\ndata: [DONE]\n\ndata: {}\n\n";
    assert_int_equal(toolrack_stream_new(TOOLRACK_FORMAT_OPENAI, NULL, NULL, &stream, &err), 0);
    assert_int_equal(toolrack_stream_feed(stream, bytes, strlen(bytes), &err), 0);
    assert_int_equal(toolrack_stream_end(stream, &message, NULL, &err), 0);
    assert_string_equal(message, "{\"role\":\"assistant\",\"content\":null}");
    assert_int_equal(toolrack_stream_end(stream, &message, NULL, &err), 0);
    assert_int_equal(toolrack_stream_feed(stream, "\n", 1, &err), TOOLRACK_E_INVALID);
}

/* It is not the name before it, by which a call would run that who checks the answer has not seen.
 */
static void a_name_with_a_zero_byte_is_no_other(void **state) {
    (void)state;
#define ZERO_CALLS \
    "\"tool_calls\\u0000\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]"
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":\"a\"," ZERO_CALLS "}}]}\n\n"
             "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
             "{\"role\":\"assistant\",\"content\":\"a\"}");
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"a\"," ZERO_CALLS
             "},\"finish_reason\":\"stop\"}]}",
             "{\"role\":\"assistant\",\"content\":\"a\"}");
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"index\":0,"
             "\"text\":\"a\"}]}}]}\n\n"
             "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"index\":0,"
             "\"text\\u0000\":\"b\"}]},\"finish_reason\":\"stop\"}]}\n\n",
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"index\":0,\"text\":"
             "\"a\"}]}");
#undef ZERO_CALLS
}

/* Who checks a stream looks for calls where they are, and a message is read where a response has
 * its choices, if it has any. */
static void no_message_has_another_in_it(void **state) {
    (void)state;
#define HIDDEN                                                                                  \
    "\"choices\":[{\"message\":{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"type\":" \
    "\"function\",\"function\":{\"name\":\"wipe\",\"arguments\":\"{}\"}}]}}]"
    static const char made[] = "{\"role\":\"assistant\",\"content\":\"a\"}";
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":\"a\"," HIDDEN "}}]}\n\n"
             "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
             made);
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"role\":\"user\",\"content\":\"a\"," HIDDEN
             "},\"finish_reason\":\"stop\"}]}",
             made);
#undef HIDDEN
}

/* Whatever of the events a server leaves out, its text is shown once, and is in the message. */
static void text_is_shown_once_wherever_it_comes(void **state) {
    (void)state;
#define EVENT(type, more) "data: {\"type\":\"" type "\"," more "}\n\n"
#define MESSAGE(content)  "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[" content "]}"
#define PART              "{\"type\":\"output_text\",\"text\":\"Hi\"}"
#define ADDED(content) \
    EVENT("response.output_item.added", "\"output_index\":0,\"item\":" MESSAGE(content))
#define DELTA \
    EVENT("response.output_text.delta", "\"output_index\":0,\"content_index\":0,\"delta\":\"Hi\"")
#define TEXT_DONE \
    EVENT("response.output_text.done", "\"output_index\":0,\"content_index\":0,\"text\":\"Hi\"")
#define ITEM_DONE         EVENT("response.output_item.done", "\"output_index\":0,\"item\":" MESSAGE(PART))
#define COMPLETED(output) EVENT("response.completed", "\"response\":{\"output\":[" output "]}")
    static const char *const responses[] = {
            ADDED("") DELTA TEXT_DONE ITEM_DONE COMPLETED(MESSAGE(PART)),
            DELTA TEXT_DONE ITEM_DONE COMPLETED(MESSAGE(PART)),
            ADDED("") TEXT_DONE ITEM_DONE COMPLETED(MESSAGE(PART)),
            ADDED("") TEXT_DONE COMPLETED(""),
            TEXT_DONE COMPLETED(""),
            DELTA TEXT_DONE COMPLETED(""),
            ADDED("") ITEM_DONE COMPLETED(""),
            ITEM_DONE COMPLETED(MESSAGE(PART)),
            COMPLETED(MESSAGE(PART)),
            ADDED(PART) COMPLETED(""),
            ADDED(PART) COMPLETED(MESSAGE(PART)),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(responses); i++) {
        feed_cut(&(struct sample){"responses", TOOLRACK_FORMAT_OPENAI_RESPONSES, responses[i],
                                  "[" MESSAGE(PART) "]", "Hi", 0},
                 1);
    }
    feed_cut(&(struct sample){"two parts", TOOLRACK_FORMAT_OPENAI_RESPONSES,
                              ADDED("") DELTA EVENT("response.output_item.done",
                                                    "\"output_index\":0,\"item\":" MESSAGE(
                                                            PART "," PART)) COMPLETED(""),
                              "[" MESSAGE(PART "," PART) "]", "HiHi", 0},
             1);
    feed_cut(
            &(struct sample){
                    "anthropic", TOOLRACK_FORMAT_ANTHROPIC,
                    EVENT("message_start",
                          "\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}],"
                          "\"stop_reason\":\"end_turn\"}") EVENT("message_stop", "\"a\":1"),
                    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}",
                    "Hi", 0},
            1);
    feed_cut(
            &(struct sample){
                    "chat", TOOLRACK_FORMAT_OPENAI,
                    "data: {\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
                    "\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
                    "{\"role\":\"assistant\",\"content\":\"Hi\"}", "Hi", 0},
            1);
    feed_cut(&(struct sample){"chat that repeats", TOOLRACK_FORMAT_OPENAI,
                              "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n"
                              "data: {\"choices\":[{\"message\":{\"content\":\"Hi\"},"
                              "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
                              "{\"role\":\"assistant\",\"content\":\"Hi\"}", "Hi", 0},
             1);
}

/* Providers refuse a message in which an id repeats. */
static void ids_that_repeat_are_renewed(void **state) {
    (void)state;
    comes_to(
            TOOLRACK_FORMAT_OPENAI,
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":["
            "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
            "{\"index\":1,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n"
            "data: [DONE]\n\n",
            "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\","
            "\"arguments\":\"{}\"}},{\"id\":\"GUBWLmtkq\",\"function\":{\"name\":\"f\","
            "\"arguments\":\"{}\"}}],\"content\":null}");
    comes_to(TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "{\"output\":[{\"type\":\"function_call\",\"call_id\":\"a\"},"
             "{\"type\":\"custom_tool_call\",\"call_id\":\"a\"}]}",
             "[{\"type\":\"function_call\",\"call_id\":\"a\"},{\"type\":\"custom_tool_call\","
             "\"call_id\":\"fNAtvj9iJ\"}]");
    comes_to(TOOLRACK_FORMAT_ANTHROPIC,
             "{\"content\":[{\"type\":\"tool_use\",\"id\":\"a\"},{\"type\":\"tool_use\",\"id\":"
             "\"a\"}]}",
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\"},{\"type\":"
             "\"tool_use\",\"id\":\"5NXf0p9ta\"}]}");
    comes_to(TOOLRACK_FORMAT_GEMINI,
             "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"a\"}},"
             "{\"functionCall\":{\"id\":\"a\"}}]},\"finishReason\":\"STOP\"}]}",
             "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"a\"}},{\"functionCall\":{"
             "\"id\":\"QnNFvB567\"}}]}");
}

/* Providers refuse a text that is empty, also where it is the model's. */
static void texts_without_any_are_left_out(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_ANTHROPIC,
             "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"\"},{\"type\":\"text\",\"text\":"
             "\"\"},"
             "{\"type\":\"text\",\"text\":\" \\n\"},{\"type\":\"text\",\"text\":\" a\"},"
             "{\"type\":\"tool_use\",\"id\":\"a\"}]}",
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"\"},"
             "{\"type\":\"text\",\"text\":\" a\"},{\"type\":\"tool_use\",\"id\":\"a\"}]}");
    comes_to(TOOLRACK_FORMAT_ANTHROPIC,
             "data: "
             "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\","
             "\"text\":\"\"}}\n\n"
             "data: "
             "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
             "\"text\":\"\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
             "{\"role\":\"assistant\",\"content\":[]}");
    comes_to(TOOLRACK_FORMAT_GEMINI,
             "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"},"
             "{\"text\":\"\",\"thought\":true},{\"functionCall\":{\"name\":\"f\"}},"
             "{\"text\":\"\",\"thoughtSignature\":\"s\"},{\"text\":\" \"}]},"
             "\"finishReason\":\"STOP\"}]}",
             "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"f\"}},"
             "{\"text\":\"\",\"thoughtSignature\":\"s\"},{\"text\":\" \"}]}");
}

/* As they come from those who speak the format nearly. */
static void calls_without_ids_are_told_apart(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"tool_calls\":["
             "{\"index\":0,\"id\":\"\",\"function\":{\"name\":\"add\",\"arguments\":\"{}\"}},"
             "{\"index\":0,\"id\":\"\",\"function\":{\"name\":\"say\",\"arguments\":\"{}\"}},"
             "{\"function\":{\"name\":\"add\",\"arguments\":{}}}]}}]}\n\n"
             "data: [DONE]\n\n",
             "{\"role\":\"assistant\",\"tool_calls\":["
             "{\"function\":{\"name\":\"add\",\"arguments\":\"{}\"},\"id\":\"mRMPG9p3b\"},"
             "{\"function\":{\"name\":\"say\",\"arguments\":\"{}\"},\"id\":\"tOccSbrQI\"},"
             "{\"function\":{\"name\":\"add\",\"arguments\":{}},\"id\":\"3B11vRBJj\"}],\"content\":"
             "null}");
}

static void a_name_that_is_said_again_is_one_name(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"tool_calls\":["
             "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"add\",\"arguments\":\"{\"}},"
             "{\"index\":0,\"function\":{\"name\":\"add\",\"arguments\":\"}\"}},"
             "{\"index\":0,\"function\":{\"name\":\"add\",\"arguments\":\"\"}},"
             "{\"index\":0,\"function\":{\"name\":\"\"}}]}}]}\n\n"
             "data: [DONE]\n\n",
             "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"add\","
             "\"arguments\":\"{}\"}}],\"content\":null}");
}

static void a_name_in_pieces_is_one_name(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"tool_calls\":["
             "{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"text_\"}},"
             "{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"calc\",\"arguments\":\"\"}},"
             "{\"index\":0,\"function\":{\"name\":\"statis\"}},"
             "{\"index\":1,\"function\":{\"name\":\"ulator\",\"arguments\":\"{}\"}},"
             "{\"index\":0,\"function\":{\"name\":\"tics\"}},"
             "{\"index\":0,\"function\":{\"name\":\"text_statistics\",\"arguments\":\"{}\"}}"
             "]}}]}\n\n"
             "data: [DONE]\n\n",
             "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":"
             "\"text_statistics\",\"arguments\":\"{}\"}},{\"id\":\"b\",\"function\":{\"name\":"
             "\"calculator\",\"arguments\":\"{}\"}}],\"content\":null}");
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"calc\"}}}]}\n\n"
             "data: {\"choices\":[{\"delta\":{\"function_call\":{\"name\":\"ulator\",\"arguments\":"
             "\"{}\"}}}]}\n\n"
             "data: [DONE]\n\n",
             "{\"role\":\"assistant\",\"function_call\":{\"name\":\"calculator\",\"arguments\":"
             "\"{}\"},\"content\":null}");
    /* Without ids a name behind a complete call is that of another one. */
    comes_to(
            TOOLRACK_FORMAT_OPENAI,
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":["
            "{\"index\":0,\"function\":{\"name\":\"add\",\"arguments\":\"{}\"}},"
            "{\"index\":0,\"function\":{\"name\":\"echo\",\"arguments\":\"\"}},"
            "{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}}]}\n\n"
            "data: [DONE]\n\n",
            "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":"
            "\"{}\"},\"id\":\"odAePDPM1\"},{\"function\":{\"name\":\"echo\",\"arguments\":\"{}\"},"
            "\"id\":\"aBSWgRBOT\"}],\"content\":null}");
}

static void of_several_answers_the_first_counts(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_GEMINI,
             "data: {\"candidates\":[{\"index\":1,\"content\":{\"parts\":[{\"text\":\"b\"}]},"
             "\"finishReason\":\"STOP\"}]}\n\n"
             "data: {\"candidates\":[{\"index\":1,\"content\":{\"parts\":[{\"text\":\"c\"}]}},"
             "{\"index\":0,\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":"
             "\"STOP\"}]}\n\n",
             "{\"role\":\"model\",\"parts\":[{\"text\":\"a\"}]}");
}

/* The arguments of a call are not empty because there was no room left for them. */
static void a_call_that_was_cut_off_has_no_arguments(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
             "\"function\":{\"name\":\"add\",\"arguments\":\"\"}}]},\"finish_reason\":"
             "\"length\"}]}\n\n",
             "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"add\","
             "\"arguments\":\"{\"}}],\"content\":null}");
    comes_to(TOOLRACK_FORMAT_ANTHROPIC,
             "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
             "\"tool_use\",\"id\":\"a\",\"name\":\"add\",\"input\":{}}}\n\n"
             "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\n"
             "data: {\"type\":\"message_stop\"}\n\n",
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":"
             "\"add\",\"input\":{\"INVALID_JSON\":\"{\"}}]}");
    comes_to(TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: {\"type\":\"response.incomplete\",\"response\":{\"output\":[{\"type\":"
             "\"function_call\",\"status\":\"incomplete\",\"call_id\":\"a\",\"name\":\"add\","
             "\"arguments\":\"\"}]}}\n\n",
             "[{\"type\":\"function_call\",\"status\":\"incomplete\",\"call_id\":\"a\",\"name\":"
             "\"add\",\"arguments\":\"{\"}]");
}

static const char broken_chat[] =
        "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":"
        "{\"INVALID_JSON\":\"{\"}}}],\"content\":\"\"}";

/* The same where arguments come whole, as an object, and so are empty or not. */
static void a_whole_call_that_was_cut_off_has_no_arguments(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_OLLAMA,
             "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":{}}}]}}\n"
             "{\"done\":true,\"done_reason\":\"length\"}\n",
             broken_chat);
    comes_to(
            TOOLRACK_FORMAT_OLLAMA,
            "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":{\"a\":1}}"
            "}"
            "]}}\n{\"done\":true,\"done_reason\":\"length\"}\n",
            "{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":"
            "{\"a\":1}}}],\"content\":\"\"}");
    comes_to(TOOLRACK_FORMAT_GEMINI,
             "data: "
             "{\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"add\"}}]},"
             "\"finishReason\":\"MAX_TOKENS\"}]}\n\n",
             "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"add\",\"args\":"
             "{\"INVALID_JSON\":\"{\"}}}]}");
    comes_to(
            TOOLRACK_FORMAT_GEMINI,
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"add\"}},"
            "{\"text\":\"b\"}]},\"finishReason\":\"MAX_TOKENS\"}]}\n\n",
            "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"add\"}},{\"text\":\"b\"}]"
            "}");
    struct format_message message;
    assert_int_equal(format_read_message(TOOLRACK_FORMAT_OLLAMA, broken_chat, strlen(broken_chat),
                                         &message, NULL),
                     0);
    assert_int_equal(message.calls[0].problem->code, TOOLRACK_E_INVALID_ARGUMENTS);
    format_message_finish(&message);
}

#define CHAT(delta, reason)                                                              \
    "data: {\"choices\":[{\"delta\":{" delta "},\"finish_reason\":\"" reason "\"}]}\n\n" \
    "data: [DONE]\n\n"
#define MESSAGES(reason)                                                                \
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"" reason "\"}}\n\n" \
    "data: {\"type\":\"message_stop\"}\n\n"
#define CANDIDATE(reason) "data: {\"candidates\":[{\"finishReason\":\"" reason "\"}]}\n\n"
#define RESPONSE(kind, members) \
    "data: {\"type\":\"response." kind "\",\"response\":{" members "}}\n\n"

#define ENDS(reason) "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" reason "\"}]}\n\n"

static void each_ending_has_a_word(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *bytes;
        const char *word;
        const char *reason;
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI, "data: {\"choices\":[{\"delta\":{}}]}\n\n", "none", ""},
            {TOOLRACK_FORMAT_OPENAI, "data: [DONE]\n\n", "done", ""},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "stop"), "done", "stop"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "tool_calls"), "done", "tool_calls"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "length"), "length", "length"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "content_filter"), "content-filter",
             "content_filter"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"refusal\":\"I cannot\"", "stop"), "refusal", "stop"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("\"refusal\":null", "stop"), "done", "stop"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "error"), "other", "error"},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("end_turn"), "done", "end_turn"},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("stop_sequence"), "done", "stop_sequence"},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("tool_use"), "done", "tool_use"},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("max_tokens"), "length", "max_tokens"},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("refusal"), "refusal", "refusal"},
            {TOOLRACK_FORMAT_ANTHROPIC, MESSAGES("pause_turn"), "other", "pause_turn"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("STOP"), "done", "STOP"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("MAX_TOKENS"), "length", "MAX_TOKENS"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("SAFETY"), "safety", "SAFETY"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("RECITATION"), "safety", "RECITATION"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("MALFORMED_FUNCTION_CALL"), "malformed-call",
             "MALFORMED_FUNCTION_CALL"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("LANGUAGE"), "stopped", "LANGUAGE"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("OTHER"), "stopped", "OTHER"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("A_NEW_WORD"), "stopped", "A_NEW_WORD"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "OTHER"), "stopped", "OTHER"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "a_new_word"), "other", "a_new_word"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "insufficient_system_resource"), "stopped",
             "insufficient_system_resource"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "network_error"), "stopped", "network_error"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "sensitive"), "content-filter", "sensitive"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "tool-calls"), "done", "tool-calls"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "content_filter: SPII"), "content-filter",
             "content_filter: SPII"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "function_call_filter: MALFORMED_FUNCTION_CALL"),
             "malformed-call", "function_call_filter: MALFORMED_FUNCTION_CALL"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", ": stop"), "other", ": stop"},
            {TOOLRACK_FORMAT_OPENAI, CHAT("", "stopp"), "other", "stopp"},
            /* What a filter has stopped stays so, whatever comes after. */
            {TOOLRACK_FORMAT_OPENAI, ENDS("content_filter") ENDS("stop"), "content-filter",
             "content_filter"},
            {TOOLRACK_FORMAT_OPENAI, ENDS("stop") ENDS("length"), "length", "length"},
            {TOOLRACK_FORMAT_OPENAI, ENDS("stop") ENDS("sensitive"), "content-filter", "sensitive"},
            {TOOLRACK_FORMAT_GEMINI, CANDIDATE("SAFETY") CANDIDATE("STOP"), "safety", "SAFETY"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: {\"type\":\"response.content_part.done\",\"output_index\":0,\"part\":{"
             "\"type\":\"refusal\",\"refusal\":\"no\"}}\n\n" RESPONSE("completed", "\"output\":[]"),
             "refusal", ""},
            {TOOLRACK_FORMAT_GEMINI,
             "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"}}\n\n", "safety",
             "PROHIBITED_CONTENT"},
            {TOOLRACK_FORMAT_OLLAMA, "{\"done\":true,\"done_reason\":\"length\"}\n", "length",
             "length"},
            {TOOLRACK_FORMAT_OLLAMA, "{\"done\":true}\n", "done", ""},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES, RESPONSE("completed", "\"status\":\"completed\""),
             "done", ""},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("incomplete", "\"status\":\"incomplete\",\"incomplete_details\":{"
                                    "\"reason\":\"max_output_tokens\"}"),
             "length", "max_output_tokens"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("incomplete", "\"incomplete_details\":{\"reason\":\"content_filter\"}"),
             "content-filter", "content_filter"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("incomplete", "\"status\":\"incomplete\",\"incomplete_details\":null"),
             "length", "incomplete"},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             RESPONSE("completed", "\"output\":[{\"type\":\"message\",\"content\":[{\"type\":"
                                   "\"refusal\",\"refusal\":\"no\"}]}]"),
             "refusal", ""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
        const char *reason = NULL;
        assert_int_equal(toolrack_stream_new(cases[i].format, NULL, NULL, &stream, NULL), 0);
        (void)toolrack_stream_feed(stream, cases[i].bytes, strlen(cases[i].bytes), NULL);
        assert_string_equal(toolrack_ending_word(toolrack_stream_ending(stream, &reason)),
                            cases[i].word);
        assert_string_equal(reason, cases[i].reason);
    }
    assert_null(toolrack_ending_word(TOOLRACK_ENDING_COUNT));
}

/* As the providers send them, in several events or at once. */
static void all_providers_count_the_same_tokens(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *bytes;
        int64_t input, cached, written, output, reasoning;
    } cases[] = {
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],"
             "\"usage\":null}\n\n"
             "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,"
             "\"prompt_tokens_details\":{\"cached_tokens\":5},"
             "\"completion_tokens_details\":{\"reasoning_tokens\":3}}}\n\ndata: [DONE]\n\n",
             9, 5, -1, 4, 3},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":9}}", 9,
             -1, -1, -1, -1},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: {\"type\":\"response.completed\",\"response\":{\"output\":[],\"usage\":{"
             "\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":5},"
             "\"output_tokens\":4,\"output_tokens_details\":{\"reasoning_tokens\":3}}}}\n\n",
             9, 5, -1, 4, 3},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "{\"output\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":4}}", 9, -1, -1, 4,
             -1},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":2,"
             "\"cache_read_input_tokens\":5,\"cache_creation_input_tokens\":2,"
             "\"output_tokens\":1}}}\n\n"
             "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},"
             "\"usage\":{\"output_tokens\":4}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
             9, 5, 2, 4, -1},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "{\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":4}}", 9, -1, -1, 4,
             -1},
            {TOOLRACK_FORMAT_GEMINI,
             "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}],"
             "\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":0}}\n\n"
             "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{"
             "\"promptTokenCount\":7,\"toolUsePromptTokenCount\":2,\"cachedContentTokenCount\":5,"
             "\"candidatesTokenCount\":1,\"thoughtsTokenCount\":3}}\n\n",
             9, 5, -1, 4, 3},
            {TOOLRACK_FORMAT_GEMINI,
             "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]},"
             "\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":9}}]",
             9, -1, -1, -1, -1},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"message\":{\"content\":\"a\"},\"done\":true,\"prompt_eval_count\":9,"
             "\"eval_count\":4}\n",
             9, -1, -1, 4, -1},
            /* Compatible servers: DeepSeek, Moonshot and Groq in a stream, xAI. */
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":9,"
             "\"completion_tokens\":4,\"prompt_cache_hit_tokens\":5,\"prompt_cache_miss_tokens\":4}"
             "}",
             9, 5, -1, 4, -1},
            {TOOLRACK_FORMAT_OPENAI,
             "data: "
             "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\","
             "\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,\"total_tokens\":13,"
             "\"cached_tokens\":5}}]}\n\ndata: [DONE]\n\n",
             9, 5, -1, 4, -1},
            {TOOLRACK_FORMAT_OPENAI,
             "data: "
             "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]"
             ","
             "\"x_groq\":{\"id\":\"r\",\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}}"
             "\n\n"
             "data: [DONE]\n\n",
             9, -1, -1, 4, -1},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":9,"
             "\"completion_tokens\":1,\"total_tokens\":13,\"completion_tokens_details\":{"
             "\"reasoning_tokens\":3}}}",
             9, -1, -1, 4, 3},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":9,"
             "\"completion_tokens\":4,\"total_tokens\":13,\"completion_tokens_details\":{"
             "\"reasoning_tokens\":3}}}",
             9, -1, -1, 4, 3},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":9.0,"
             "\"completion_tokens\":4e0,\"prompt_tokens_details\":{\"cached_tokens\":5.5},"
             "\"completion_tokens_details\":{\"reasoning_tokens\":1e300}}}",
             9, -1, -1, 4, -1},
            /* The input is what no cache had; or the total says that it is all; or it is not said.
             */
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":2,"
             "\"completion_tokens\":4,\"cached_tokens\":7}}",
             9, 7, -1, 4, -1},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":2,"
             "\"completion_tokens\":4,\"total_tokens\":6,\"cached_tokens\":7}}",
             2, -1, -1, 4, -1},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{"
             "\"completion_tokens\":4,\"cached_tokens\":7}}",
             -1, -1, -1, 4, -1},
            /* Not said, and no numbers of tokens. */
            {TOOLRACK_FORMAT_OLLAMA, "{\"message\":{\"content\":\"a\"},\"done\":true}\n", -1, -1,
             -1, -1, -1},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"message\":{\"content\":\"a\"},\"done\":true,\"prompt_eval_count\":-9,"
             "\"eval_count\":18446744073709551615}\n",
             -1, -1, -1, -1, -1},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":\"9\","
             "\"completion_tokens\":4.5,\"prompt_tokens_details\":[5]}}",
             -1, -1, -1, -1, -1},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
        struct toolrack_usage usage = TOOLRACK_USAGE_INIT;
        const char *message;
        assert_int_equal(toolrack_stream_new(cases[i].format, NULL, NULL, &stream, NULL), 0);
        assert_int_equal(toolrack_stream_feed(stream, cases[i].bytes, strlen(cases[i].bytes), NULL),
                         0);
        assert_int_equal(toolrack_stream_end(stream, &message, NULL, NULL), 0);
        assert_int_equal(toolrack_stream_usage(stream, &usage),
                         cases[i].input >= 0 || cases[i].output >= 0);
        assert_int_equal(usage.input, cases[i].input);
        assert_int_equal(usage.cached, cases[i].cached);
        assert_int_equal(usage.written, cases[i].written);
        assert_int_equal(usage.output, cases[i].output);
        assert_int_equal(usage.reasoning, cases[i].reasoning);
    }
}

static void what_breaks_off_behind_the_end_does_not_matter(void **state) {
    (void)state;
    comes_to(TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}"
             "\n\ndata: {\"choices\":[],\"usa",
             "{\"role\":\"assistant\",\"content\":\"a\"}");
}

/* One look over all that is left for each line would take hours here. */
static void lines_that_end_in_returns_take_no_longer(void **state) {
    (void)state;
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    struct toolrack_error err = {0};
    const size_t size = 16u << 20;
    CLEANUP(freep) char *returns = malloc(size);
    assert_non_null(returns);
    memset(returns, '\r', size);
    returns[size - 1] = '\n';
    assert_int_equal(toolrack_stream_new(TOOLRACK_FORMAT_OPENAI, NULL, NULL, &stream, &err), 0);
    assert_int_equal(toolrack_stream_feed(stream, returns, size, &err), 0);
}

static void a_part_has_so_many_members_and_no_more(void **state) {
    (void)state;
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    CLEANUP(buf_finish) struct buf event = BUF_INIT;
    struct toolrack_error err = {0};
    buf_add_text(&event, "data: {\"type\":\"content_block_start\",\"content_block\":{\"type\":1");
    for (unsigned i = 0; i < STREAM_MEMBERS_MAX; i++) {
        buf_printf(&event, ",\"%u\":1", i);
    }
    buf_add_text(&event, "}}\n\n");
    assert_int_equal(toolrack_stream_new(TOOLRACK_FORMAT_ANTHROPIC, NULL, NULL, &stream, &err), 0);
    assert_int_equal(toolrack_stream_feed(stream, event.data, event.length, &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "1024 members"));
}

static void a_message_has_so_many_parts_and_no_more(void **state) {
    (void)state;
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    struct toolrack_error err = {0};
    static const char part[] =
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{}}]}}]}\n\n";
    assert_int_equal(toolrack_stream_new(TOOLRACK_FORMAT_GEMINI, NULL, NULL, &stream, &err), 0);
    for (unsigned i = 0; i < STREAM_ITEMS_MAX; i++) {
        assert_int_equal(toolrack_stream_feed(stream, part, strlen(part), &err), 0);
    }
    assert_int_equal(toolrack_stream_feed(stream, part, strlen(part), &err),
                     TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "4096"));
}

static void an_event_has_so_many_bytes_and_no_more(void **state) {
    (void)state;
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    struct toolrack_error err = {0};
    const size_t size = 1u << 20;
    CLEANUP(freep) char *spaces = malloc(size);
    assert_non_null(spaces);
    memset(spaces, ' ', size);
    assert_int_equal(toolrack_stream_new(TOOLRACK_FORMAT_OLLAMA, NULL, NULL, &stream, &err), 0);
    for (size_t fed = 0; fed < STREAM_EVENT_MAX; fed += size) {
        assert_int_equal(toolrack_stream_feed(stream, spaces, size, &err), 0);
    }
    assert_int_equal(toolrack_stream_feed(stream, spaces, 1, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "67108864"));
}

/* An event or a response in which text stands in place of "@", nested so many times in arrays. */
static char *write_nested(const char *around, size_t levels) {
    struct buf out = BUF_INIT;
    const char *place = strchr(around, '@');
    assert_non_null(place);
    buf_add(&out, around, (size_t)(place - around));
    for (size_t i = 0; i < levels; i++) {
        buf_add_char(&out, '[');
    }
    for (size_t i = 0; i < levels; i++) {
        buf_add_char(&out, ']');
    }
    buf_add_text(&out, place + 1);
    assert_false(out.failed);
    return out.data;
}

static int take_nested(enum toolrack_format format, const char *around, size_t levels,
                       struct toolrack_stream **ret, struct toolrack_error *err) {
    CLEANUP(freep) char *bytes = write_nested(around, levels);
    int code = toolrack_stream_new(format, NULL, NULL, ret, err);
    code = code < 0 ? code : toolrack_stream_feed(*ret, bytes, strlen(bytes), err);
    return code < 0 ? code : toolrack_stream_end(*ret, &(const char *){NULL}, NULL, err);
}

/* Later a message is copied by recursion, which no stack is long enough for. */
static void an_event_has_so_many_levels_and_no_more(void **state) {
    (void)state;
    static const struct {
        enum toolrack_format format;
        const char *around;
        size_t levels; /* of the event around "@" */
    } events[] = {
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":\"a\",\"c\":@}}]}\n\ndata: [DONE]\n\n",
             4},
            {TOOLRACK_FORMAT_OPENAI,
             "data: {\"choices\":[{\"delta\":{\"content\":@}}]}\n\ndata: [DONE]\n\n", 4},
            {TOOLRACK_FORMAT_OPENAI,
             "{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"a\",\"c\":@}}]}", 4},
            {TOOLRACK_FORMAT_OPENAI_RESPONSES,
             "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":"
             "\"reasoning\",\"summary\":@}]}}\n\n",
             4},
            {TOOLRACK_FORMAT_ANTHROPIC,
             "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
             "\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{\"a\":@}}}\n\n"
             "data: {\"type\":\"message_stop\"}\n\n",
             3},
            {TOOLRACK_FORMAT_GEMINI,
             "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\","
             "\"args\":{\"a\":@}}}]},\"finishReason\":\"STOP\"}]}\n\n",
             8},
            {TOOLRACK_FORMAT_OLLAMA,
             "{\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"function\":{"
             "\"name\":\"f\",\"arguments\":{\"a\":@}}}]},\"done\":true}\n",
             6},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(events); i++) {
        const size_t most = STREAM_DEPTH_MAX - events[i].levels;
        CLEANUP(toolrack_stream_freep) struct toolrack_stream *sound = NULL;
        CLEANUP(toolrack_stream_freep) struct toolrack_stream *deeper = NULL;
        CLEANUP(toolrack_stream_freep) struct toolrack_stream *deepest = NULL;
        CLEANUP(format_message_finish) struct format_message message = {0};
        struct toolrack_error err = {0};
        size_t length;
        const char *text;
        assert_int_equal(take_nested(events[i].format, events[i].around, most, &sound, &err), 0);
        assert_int_equal(toolrack_stream_end(sound, &text, &length, &err), 0);
        assert_int_equal(format_read_message(events[i].format, text, length, &message, &err), 0);
        assert_int_equal(take_nested(events[i].format, events[i].around, most + 1, &deeper, &err),
                         TOOLRACK_E_LIMIT_EXCEEDED);
        assert_non_null(strstr(err.message, "nested deeper than the 120 levels allowed"));
        assert_int_equal(take_nested(events[i].format, events[i].around, 200000, &deepest, &err),
                         TOOLRACK_E_LIMIT_EXCEEDED);
    }
}

/* A call fails by its own arguments alone. */
static void arguments_have_so_many_levels_and_no_more(void **state) {
    (void)state;
    static const char around[] =
            "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":"
            "\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}}\n\n"
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":"
            "\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":@}\"}}\n\n"
            "data: {\"type\":\"message_stop\"}\n\n";
    static const size_t levels[] = {STREAM_DEPTH_MAX - 1, STREAM_DEPTH_MAX, 200000};
    for (size_t i = 0; i < ARRAY_LENGTH(levels); i++) {
        CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
        CLEANUP(format_message_finish) struct format_message message = {0};
        struct toolrack_error err = {0};
        size_t length;
        const char *text;
        assert_int_equal(take_nested(TOOLRACK_FORMAT_ANTHROPIC, around, levels[i], &stream, &err),
                         0);
        assert_int_equal(toolrack_stream_end(stream, &text, &length, &err), 0);
        assert_int_equal(
                format_read_message(TOOLRACK_FORMAT_ANTHROPIC, text, length, &message, &err), 0);
        assert_int_equal(message.count, 1);
        assert_int_equal(strncmp(message.calls[0].arguments, "{\"a\":[[", 7), 0);
        assert_int_equal(strstr(text, TURN_BROKEN_INPUT) != NULL, i > 0);
    }
}

/* -------------------------------------------------------------------- memory */

static int whole(const struct sample *sample, struct toolrack_error *err) {
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    const char *message;
    int code = toolrack_stream_new(sample->format, NULL, NULL, &stream, err);
    if (code == 0) {
        code = toolrack_stream_feed(stream, sample->bytes, strlen(sample->bytes), err);
    }
    return code < 0 ? code : toolrack_stream_end(stream, &message, NULL, err);
}

static void without_memory_it_says_so(void **state) {
    (void)state;
    struct toolrack_error err;
    for (size_t i = 0; i < ARRAY_LENGTH(samples); i++) {
        bool hit = true;
        for (unsigned n = 1; hit; n++) {
            failing_malloc_set(n);
            int code = whole(&samples[i], &err);
            hit = failing_malloc_hit();
            failing_malloc_set(0);
            assert_int_equal(code, hit ? TOOLRACK_E_NO_MEMORY : 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_stream_may_be_cut_anywhere),
            cmocka_unit_test(what_it_makes_is_a_message),
            cmocka_unit_test(a_stream_that_breaks_off_is_no_message),
            cmocka_unit_test(errors_of_the_provider_end_it),
            cmocka_unit_test(an_error_that_says_nothing_is_none_but_without_an_answer),
            cmocka_unit_test(a_member_given_twice_ends_it),
            cmocka_unit_test(a_name_with_a_zero_byte_is_no_other),
            cmocka_unit_test(a_lone_call_in_place_of_a_list_is_taken),
            cmocka_unit_test(failures_that_may_pass_have_a_code),
            cmocka_unit_test(a_response_that_is_not_streamed_may_fail),
            cmocka_unit_test(what_is_no_stream_is_refused),
            cmocka_unit_test(events_that_say_nothing_are_ignored),
            cmocka_unit_test(no_message_has_another_in_it),
            cmocka_unit_test(text_is_shown_once_wherever_it_comes),
            cmocka_unit_test(ids_that_repeat_are_renewed),
            cmocka_unit_test(texts_without_any_are_left_out),
            cmocka_unit_test(calls_without_ids_are_told_apart),
            cmocka_unit_test(a_name_that_is_said_again_is_one_name),
            cmocka_unit_test(a_name_in_pieces_is_one_name),
            cmocka_unit_test(of_several_answers_the_first_counts),
            cmocka_unit_test(a_call_that_was_cut_off_has_no_arguments),
            cmocka_unit_test(a_whole_call_that_was_cut_off_has_no_arguments),
            cmocka_unit_test(each_ending_has_a_word),
            cmocka_unit_test(all_providers_count_the_same_tokens),
            cmocka_unit_test(what_breaks_off_behind_the_end_does_not_matter),
            cmocka_unit_test(lines_that_end_in_returns_take_no_longer),
            cmocka_unit_test(a_part_has_so_many_members_and_no_more),
            cmocka_unit_test(a_message_has_so_many_parts_and_no_more),
            cmocka_unit_test(an_event_has_so_many_bytes_and_no_more),
            cmocka_unit_test(an_event_has_so_many_levels_and_no_more),
            cmocka_unit_test(arguments_have_so_many_levels_and_no_more),
            cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
