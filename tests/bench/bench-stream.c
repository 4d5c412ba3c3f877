/* What it costs to read a model's streamed answer in each format: thinking, text, two tool calls
 * and the counts of tokens, fed in pieces as they come from the network.
 *
 * The floor finds the same events in the same bytes, parses each by yyjson, and keeps nothing. */
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "bench.h"
#include "toolrack/format.h"

/* The payload of one packet. */
#define PIECE 1400u
#define TIMES 300

/* ------------------------------------------------------------ the answers */

static const char said[] =
        "The report has twenty-five matches in three files. The first is at line 118, where the "
        "hand-made parser is \"replaced\"; the other two files hold one each, in their last lines. "
        "I look at the third file too: it was changed after the report was written.\n\n"
        "- `report-2026.txt`: 23 matches\n- `notes.txt`: one\n- `todo.txt`: one, near the end\n";

static const char arguments[] =
        "{\"path\":\"/srv/data/projects/report-2026.txt\",\"mode\":\"regex\",\"limit\":25,"
        "\"ratio\":0.75,\"recursive\":true}";

/* Events of an answer, in order. One with pieces is repeated for each piece of a text, which is
 * between `before` and `after`, a JSON string. */
struct step {
    enum { ONCE, SAID, ARGUMENTS } pieces;
    const char *event; /* its name; NULL: the format gives none */
    const char *before;
    const char *after;
};

/* Models write about four bytes at once. */
#define TOKEN 4u

#define CHUNK(delta)                                                                        \
    "{\"id\":\"chatcmpl-CtJ4q0v8wBqF3k\",\"object\":\"chat.completion.chunk\",\"created\":" \
    "1783200000,\"model\":\"gpt-5.2\",\"service_tier\":\"default\",\"system_fingerprint\":" \
    "\"fp_3f2a91\",\"choices\":[{\"index\":0,\"delta\":" delta
#define CHUNK_END ",\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}"
#define CHUNK_CALL(index, id)                                                                \
    {ONCE, NULL,                                                                             \
     CHUNK("{\"tool_calls\":[{\"index\":" index ",\"id\":\"" id "\",\"type\":\"function\","  \
           "\"function\":{\"name\":\"search_file\",\"arguments\":\"\"}}]}") CHUNK_END,       \
     NULL},                                                                                  \
    {                                                                                        \
        ARGUMENTS, NULL,                                                                     \
                CHUNK("{\"tool_calls\":[{\"index\":" index ",\"function\":{\"arguments\":"), \
                "}}]}" CHUNK_END                                                             \
    }

static const struct step openai[] = {
        {ONCE, NULL, CHUNK("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}") CHUNK_END,
         NULL},
        {SAID, NULL, CHUNK("{\"reasoning_content\":"), "}" CHUNK_END},
        {SAID, NULL, CHUNK("{\"content\":"), "}" CHUNK_END},
        CHUNK_CALL("0", "call_wB3kq0v8CtJ4qFqF"),
        CHUNK_CALL("1", "call_Jq0v8wB3kCt4qFqG"),
        {ONCE, NULL, CHUNK("{}") ",\"logprobs\":null,\"finish_reason\":\"tool_calls\"}]}", NULL},
        {ONCE, NULL,
         "{\"id\":\"chatcmpl-CtJ4q0v8wBqF3k\",\"object\":\"chat.completion.chunk\",\"choices\":[],"
         "\"usage\":{\"prompt_tokens\":1210,\"completion_tokens\":402,\"total_tokens\":1612,"
         "\"prompt_tokens_details\":{\"cached_tokens\":1024},"
         "\"completion_tokens_details\":{\"reasoning_tokens\":96}}}",
         NULL},
};

#define ITEM_ID "\"item_id\":\"msg_0c4f7d1be2a94f68\","
#define RESPONSES_CALL(index, id)                                                              \
    {ONCE, "response.output_item.added",                                                       \
     "{\"type\":\"response.output_item.added\",\"sequence_number\":90,\"output_index\":" index \
     ",\"item\":{\"id\":\"fc_" id "\",\"type\":\"function_call\",\"status\":\"in_progress\","  \
     "\"arguments\":\"\",\"call_id\":\"call_" id "\",\"name\":\"search_file\"}}",              \
     NULL},                                                                                    \
            {ARGUMENTS, "response.function_call_arguments.delta",                              \
             "{\"type\":\"response.function_call_arguments.delta\",\"sequence_number\":91,"    \
             "\"item_id\":\"fc_" id "\",\"output_index\":" index ",\"delta\":",                \
             ",\"obfuscation\":\"Zq3kWb\"}"},                                                  \
    {                                                                                          \
        ONCE, "response.output_item.done",                                                     \
                "{\"type\":\"response.output_item.done\",\"sequence_number\":92,\"output_"     \
                "index\":" index ",\"item\":{\"id\":\"fc_" id                                  \
                "\",\"type\":\"function_call\",\"status\":"                                    \
                "\"completed\",\"arguments\":\"{\\\"path\\\":\\\"/"                            \
                "srv\\\"}\",\"call_id\":\"call_" id "\",\"name\":\"search_file\"}}",           \
                NULL                                                                           \
    }

static const struct step responses[] = {
        {ONCE, "response.created",
         "{\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":"
         "\"resp_0c4f7d1be2a94f68\",\"object\":\"response\",\"status\":\"in_progress\",\"output\":"
         "[],\"usage\":null}}",
         NULL},
        {ONCE, "response.output_item.added",
         "{\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,"
         "\"item\":{\"id\":\"rs_0c4f7d1be2a94f67\",\"type\":\"reasoning\",\"summary\":[]}}",
         NULL},
        {SAID, "response.reasoning_summary_text.delta",
         "{\"type\":\"response.reasoning_summary_text.delta\",\"sequence_number\":2,"
         "\"item_id\":\"rs_0c4f7d1be2a94f67\",\"output_index\":0,\"summary_index\":0,\"delta\":",
         ",\"obfuscation\":\"Zq3kWb\"}"},
        {ONCE, "response.output_item.added",
         "{\"type\":\"response.output_item.added\",\"sequence_number\":3,\"output_index\":1,"
         "\"item\":{\"id\":\"msg_0c4f7d1be2a94f68\",\"type\":\"message\",\"status\":"
         "\"in_progress\",\"role\":\"assistant\",\"content\":[]}}",
         NULL},
        {SAID, "response.output_text.delta",
         "{\"type\":\"response.output_text.delta\",\"sequence_number\":4," ITEM_ID
         "\"output_index\":1,\"content_index\":0,\"delta\":",
         ",\"logprobs\":[],\"obfuscation\":\"Zq3kWb\"}"},
        RESPONSES_CALL("2", "wB3kq0v8CtJ4qFqF"),
        RESPONSES_CALL("3", "Jq0v8wB3kCt4qFqG"),
        {ONCE, "response.completed",
         "{\"type\":\"response.completed\",\"sequence_number\":99,\"response\":{\"id\":"
         "\"resp_0c4f7d1be2a94f68\",\"object\":\"response\",\"status\":\"completed\",\"output\":"
         "[{\"id\":\"fc_wB3kq0v8CtJ4qFqF\",\"type\":\"function_call\",\"status\":\"completed\","
         "\"arguments\":\"{\\\"path\\\":\\\"/srv\\\"}\",\"call_id\":\"call_wB3kq0v8CtJ4qFqF\","
         "\"name\":\"search_file\"}],\"usage\":{\"input_tokens\":1210,\"input_tokens_details\":"
         "{\"cached_tokens\":1024},\"output_tokens\":402,\"output_tokens_details\":"
         "{\"reasoning_tokens\":96},\"total_tokens\":1612}}}",
         NULL},
};

#define BLOCK(index, block)                                                                      \
    {                                                                                            \
        ONCE, "content_block_start",                                                             \
                "{\"type\":\"content_block_start\",\"index\":" index ",\"content_block\":" block \
                "}",                                                                             \
                NULL                                                                             \
    }
#define BLOCK_DELTA(index, pieces, type, key)                        \
    {                                                                \
        pieces, "content_block_delta",                               \
                "{\"type\":\"content_block_delta\",\"index\":" index \
                ",\"delta\":{\"type\":\"" type "\",\"" key "\":",    \
                "}}"                                                 \
    }
#define BLOCK_STOP(index) \
    { ONCE, "content_block_stop", "{\"type\":\"content_block_stop\",\"index\":" index "}", NULL }
#define BLOCK_CALL(index, id)                                                               \
    BLOCK(index, "{\"type\":\"tool_use\",\"id\":\"toolu_" id "\",\"name\":\"search_file\"," \
                 "\"input\":{}}"),                                                          \
            BLOCK_DELTA(index, ARGUMENTS, "input_json_delta", "partial_json"), BLOCK_STOP(index)

static const struct step anthropic[] = {
        {ONCE, "message_start",
         "{\"type\":\"message_start\",\"message\":{\"id\":\"msg_01XFDUDYJgAACzvnptvVoYEL\","
         "\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\","
         "\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":"
         "186,\"cache_read_input_tokens\":1024,\"output_tokens\":1}}}",
         NULL},
        BLOCK("0", "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"),
        BLOCK_DELTA("0", SAID, "thinking_delta", "thinking"),
        {ONCE, "content_block_delta",
         "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\","
         "\"signature\":\"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds\"}}",
         NULL},
        BLOCK_STOP("0"),
        BLOCK("1", "{\"type\":\"text\",\"text\":\"\"}"),
        BLOCK_DELTA("1", SAID, "text_delta", "text"),
        BLOCK_STOP("1"),
        BLOCK_CALL("2", "01T1x1fJ34qAmk2tNTrN7Up6"),
        BLOCK_CALL("3", "01T1x1fJ34qAmk2tNTrN7Up7"),
        {ONCE, "message_delta",
         "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":"
         "null},\"usage\":{\"output_tokens\":402}}",
         NULL},
        {ONCE, "message_stop", "{\"type\":\"message_stop\"}", NULL},
};

#define PARTS(parts) "{\"candidates\":[{\"content\":{\"parts\":[" parts
#define PARTS_END                                                                       \
    "],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":1210," \
    "\"candidatesTokenCount\":306,\"totalTokenCount\":1612,\"thoughtsTokenCount\":96}," \
    "\"modelVersion\":\"gemini-3-pro\",\"responseId\":\"f9Zcaf3gOdOgkdUP\"}"
#define PARTS_CALL                                                                              \
    {                                                                                           \
        ONCE, NULL,                                                                             \
                PARTS("{\"functionCall\":{\"name\":\"search_file\",\"args\":{\"path\":"         \
                      "\"/srv/data/projects/report-2026.txt\",\"mode\":\"regex\",\"limit\":25," \
                      "\"ratio\":0.75,\"recursive\":true}},\"thoughtSignature\":"               \
                      "\"EqQBCgIYAhIM\"}") PARTS_END,                                           \
                NULL                                                                            \
    }

static const struct step gemini[] = {
        {SAID, NULL, PARTS("{\"thought\":true,\"text\":"), "}" PARTS_END},
        {SAID, NULL, PARTS("{\"text\":"), "}" PARTS_END},
        PARTS_CALL,
        PARTS_CALL,
        {ONCE, NULL,
         "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},"
         "\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":1210,"
         "\"candidatesTokenCount\":306,\"totalTokenCount\":1612,\"thoughtsTokenCount\":96},"
         "\"modelVersion\":\"gemini-3-pro\",\"responseId\":\"f9Zcaf3gOdOgkdUP\"}",
         NULL},
};

#define LINE(message)                                                             \
    "{\"model\":\"qwen3:32b\",\"created_at\":\"2026-07-04T12:00:00.123456789Z\"," \
    "\"message\":{\"role\":\"assistant\"," message
#define LINE_CALL                                                                                \
    {                                                                                            \
        ONCE, NULL,                                                                              \
                LINE("\"content\":\"\",\"tool_calls\":[{\"id\":\"call_wB3kq0v8\",\"function\":{" \
                     "\"index\":0,\"name\":\"search_file\",\"arguments\":{\"path\":"             \
                     "\"/srv/data/projects/report-2026.txt\",\"mode\":\"regex\",\"limit\":25,"   \
                     "\"ratio\":0.75,\"recursive\":true}}}]},\"done\":false}"),                  \
                NULL                                                                             \
    }

static const struct step ollama[] = {
        {SAID, NULL, LINE("\"content\":\"\",\"thinking\":"), "},\"done\":false}"},
        {SAID, NULL, LINE("\"content\":"), "},\"done\":false}"},
        LINE_CALL,
        LINE_CALL,
        {ONCE, NULL,
         LINE("\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"total_duration\":"
              "4883583458,\"prompt_eval_count\":1210,\"eval_count\":402}"),
         NULL},
};

static const struct answer {
    const char *floor;
    const char *name;
    enum toolrack_format format;
    const struct step *steps;
    size_t count;
} answers[] = {
#define ANSWER(title, format, steps) \
    { title ", events parsed", title ", streamed", format, steps, sizeof steps / sizeof steps[0] }
        ANSWER("openai", TOOLRACK_FORMAT_OPENAI, openai),
        ANSWER("openai-responses", TOOLRACK_FORMAT_OPENAI_RESPONSES, responses),
        ANSWER("anthropic", TOOLRACK_FORMAT_ANTHROPIC, anthropic),
        ANSWER("gemini", TOOLRACK_FORMAT_GEMINI, gemini),
        ANSWER("ollama", TOOLRACK_FORMAT_OLLAMA, ollama),
#undef ANSWER
};

enum { ANSWERS = sizeof answers / sizeof answers[0] };

static struct buf bytes[ANSWERS];
static const char *prefix[ANSWERS]; /* of a line with an event */

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench-stream: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static void add_event(struct buf *out, const struct step *step, const char *line, const char *piece,
                      size_t length) {
    if (step->event != NULL) {
        buf_printf(out, "event: %s\n", step->event);
    }
    buf_add_text(out, line);
    buf_add_text(out, step->before);
    if (step->pieces != ONCE) {
        buf_add_json_string(out, piece, length);
        buf_add_text(out, step->after);
    }
    buf_add_text(out, line[0] != '\0' ? "\n\n" : "\n");
}

static void write_answer(const struct answer *answer, const char *line, struct buf *out) {
    for (size_t i = 0; i < answer->count; i++) {
        const struct step *step = &answer->steps[i];
        const char *text = step->pieces == ARGUMENTS ? arguments : said;
        size_t length = step->pieces == ONCE        ? 1
                        : step->pieces == ARGUMENTS ? sizeof arguments - 1
                                                    : sizeof said - 1;
        for (size_t at = 0; at < length; at += TOKEN) {
            add_event(out, step, line, text + at, length - at < TOKEN ? length - at : TOKEN);
        }
    }
    if (answer->format == TOOLRACK_FORMAT_OPENAI) {
        buf_add_text(out, "data: [DONE]\n\n");
    }
    if (out->failed) {
        die(answer->name, "out of memory");
    }
}

/* ------------------------------------------------------------ rows */

static void parse_events(size_t index, long times) {
    size_t skipped = strlen(prefix[index]);
    for (long i = 0; i < times; i++) {
        const char *at = bytes[index].data;
        const char *end = at + bytes[index].length;
        while (at < end) {
            const char *line_end = memchr(at, '\n', (size_t)(end - at));
            size_t length = (size_t)(line_end - at);
            if (length > skipped && memcmp(at, prefix[index], skipped) == 0) {
                yyjson_doc *doc = yyjson_read(at + skipped, length - skipped, 0);
                BENCH_KEEP(yyjson_doc_get_root(doc));
                yyjson_doc_free(doc);
            }
            at = line_end + 1;
        }
    }
}

static size_t shown;

static void show(void *user, const char *text, size_t length) {
    (void)user;
    BENCH_KEEP(text);
    shown += length;
}

static void read_stream(size_t index, long times) {
    const struct buf *answer = &bytes[index];
    struct toolrack_error err;
    for (long i = 0; i < times; i++) {
        struct toolrack_stream *stream = NULL;
        const char *message = NULL;
        size_t length = 0;
        int code = toolrack_stream_new(answers[index].format, show, NULL, &stream, &err);
        for (size_t at = 0; code == 0 && at < answer->length; at += PIECE) {
            size_t left = answer->length - at;
            code = toolrack_stream_feed(stream, answer->data + at, left < PIECE ? left : PIECE,
                                        &err);
        }
        code = code < 0 ? code : toolrack_stream_end(stream, &message, &length, &err);
        if (code < 0) {
            die(answers[index].name, err.message);
        }
        BENCH_KEEP(message);
        toolrack_stream_free(stream);
    }
}

#define ROWS_OF(index)                       \
    static void floor_##index(long times) {  \
        parse_events(index, times);          \
    }                                        \
    static void stream_##index(long times) { \
        read_stream(index, times);           \
    }
ROWS_OF(0)
ROWS_OF(1)
ROWS_OF(2)
ROWS_OF(3)
ROWS_OF(4)

/* What is measured is the whole answer: all of its text was shown. */
static void show_the_work(size_t index) {
    shown = 0;
    read_stream(index, 1);
    if (shown != sizeof said - 1) {
        die(answers[index].name, "the text is not complete");
    }
    printf("%s: %zu bytes\n", answers[index].name, bytes[index].length);
}

int main(void) {
    static void (*const runs[ANSWERS][2])(long) = {{floor_0, stream_0},
                                                   {floor_1, stream_1},
                                                   {floor_2, stream_2},
                                                   {floor_3, stream_3},
                                                   {floor_4, stream_4}};
    static struct bench_row rows[2 * ANSWERS];
    for (size_t i = 0; i < ANSWERS; i++) {
        prefix[i] = answers[i].format == TOOLRACK_FORMAT_OLLAMA ? "" : "data: ";
        write_answer(&answers[i], prefix[i], &bytes[i]);
        show_the_work(i);
        rows[2 * i] =
                (struct bench_row){.name = answers[i].floor, .run = runs[i][0], .times = TIMES};
        rows[2 * i + 1] =
                (struct bench_row){.name = answers[i].name, .run = runs[i][1], .times = TIMES};
    }
    bench_run(rows, 2 * (size_t)ANSWERS);
    for (size_t i = 0; i < ANSWERS; i++) {
        bench_print(&rows[2 * i], NULL, NULL);
        bench_print(&rows[2 * i + 1], &rows[2 * i], "2 x");
        buf_finish(&bytes[i]);
    }
    return EXIT_SUCCESS;
}
