/* What it costs to describe 1,000 tools in each format, made anew and out of the cache.
 *
 * The floor reads the same schemas and writes them down again, and does nothing in between. */
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "bench.h"
#include "format/definitions.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#define TOOLS         1000
#define CACHED_TIMES  1000000
#define REBUILT_TIMES 3

static const char schema[] = TR_SCHEMA({
    "type" : "object",
    "properties" : {
        "path" : {"type" : "string", "description" : "Where to look", "minLength" : 1},
        "pattern" : {"type" : "string", "description" : "What to look for"},
        "limit" : {"type" : "integer", "minimum" : 1, "maximum" : 1000, "default" : 100},
        "order" : {"enum" : [ "name", "size", "date" ]},
        "filter" : {
            "type" : "object",
            "properties" : {"hidden" : {"type" : "boolean"}, "depth" : {"type" : "integer"}},
            "additionalProperties" : false
        },
        "tags" : {"type" : "array", "items" : {"type" : "string"}}
    },
    "required" : [ "path", "pattern" ],
    "additionalProperties" : false
});

static char names[TOOLS][32];
static struct format_tool tools[TOOLS];
static struct toolrack *host;

static void die(const char *what) {
    (void)fprintf(stderr, "bench-format: %s\n", what);
    exit(1);
}

static void run_floor(long times) {
    for (long i = 0; i < times; i++) {
        for (size_t t = 0; t < TOOLS; t++) {
            yyjson_doc *doc = yyjson_read(schema, sizeof schema - 1, 0);
            size_t length;
            char *text = yyjson_write(doc, 0, &length);
            BENCH_KEEP(text);
            free(text);
            yyjson_doc_free(doc);
        }
    }
}

static void rebuild(enum toolrack_format format, long times) {
    for (long i = 0; i < times; i++) {
        struct buf out = BUF_INIT;
        if (format_definitions(format, tools, TOOLS, NULL, &out, NULL, NULL, NULL) < 0) {
            die("out of memory");
        }
        BENCH_KEEP(out.data);
        buf_finish(&out);
    }
}

/* OpenAI and Gemini stop at their own limits; what is measured is all tools, so these go in parts.
 */
static void rebuild_in_parts(enum toolrack_format format, size_t part, long times) {
    for (long i = 0; i < times; i++) {
        for (size_t at = 0; at < TOOLS; at += part) {
            struct buf out = BUF_INIT;
            size_t count = TOOLS - at < part ? TOOLS - at : part;
            if (format_definitions(format, tools + at, count, NULL, &out, NULL, NULL, NULL) < 0) {
                die("out of memory");
            }
            BENCH_KEEP(out.data);
            buf_finish(&out);
        }
    }
}

static void run_openai(long times) {
    rebuild_in_parts(TOOLRACK_FORMAT_OPENAI, 125, times);
}

static void run_responses(long times) {
    rebuild_in_parts(TOOLRACK_FORMAT_OPENAI_RESPONSES, 125, times);
}

static void run_anthropic(long times) {
    rebuild(TOOLRACK_FORMAT_ANTHROPIC, times);
}

static void run_gemini(long times) {
    rebuild_in_parts(TOOLRACK_FORMAT_GEMINI, 500, times);
}

static void run_ollama(long times) {
    rebuild(TOOLRACK_FORMAT_OLLAMA, times);
}

static void run_mcp(long times) {
    rebuild(TOOLRACK_FORMAT_MCP, times);
}

static void run_cached(long times) {
    for (long i = 0; i < times; i++) {
        struct toolrack_text *text = NULL;
        size_t length;
        if (toolrack_export(host, TOOLRACK_FORMAT_ANTHROPIC, NULL, &text, NULL, NULL) < 0) {
            die("out of memory");
        }
        BENCH_KEEP(toolrack_text_data(text, &length));
        toolrack_text_unref(text);
    }
}

static tr_status run(struct tr_call *call) {
    return call->api->reply_json(call, "true", 4);
}

/* The same tools in a host, for the cache. */
static void open_host(void) {
    static struct tr_tool registered[TOOLS];
    static const struct tr_tool *table[TOOLS];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    for (size_t i = 0; i < TOOLS; i++) {
        registered[i] = (struct tr_tool){.size = sizeof registered[i],
                                         .name = names[i],
                                         .description = "Find files by a pattern",
                                         .schema = schema,
                                         .run = run};
        table[i] = &registered[i];
    }
    struct tr_plugin plugin = {.magic = TR_MAGIC,
                               .size = sizeof plugin,
                               .abi_major = TR_ABI_MAJOR,
                               .id = "bench",
                               .version = "1.0.0",
                               .flags = TR_THREAD_SAFE,
                               .tool_count = TOOLS,
                               .tool_size = sizeof(struct tr_tool),
                               .tools = table};
    struct toolrack_error err;
    if (toolrack_open(&options, &host, &err) < 0 ||
        toolrack_register(host, &plugin, NULL, &err) < 0) {
        die(err.message);
    }
}

int main(void) {
    static struct bench_row rows[] = {
            {"read and write 1,000 schemas", run_floor, REBUILT_TIMES},
            {"openai, 1,000 tools", run_openai, REBUILT_TIMES},
            {"openai-responses, 1,000 tools", run_responses, REBUILT_TIMES},
            {"anthropic, 1,000 tools", run_anthropic, REBUILT_TIMES},
            {"gemini, 1,000 tools", run_gemini, REBUILT_TIMES},
            {"ollama, 1,000 tools", run_ollama, REBUILT_TIMES},
            {"mcp, 1,000 tools", run_mcp, REBUILT_TIMES},
    };
    static struct bench_row cached[] = {{"cached, 1,000 tools", run_cached, CACHED_TIMES}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    for (size_t i = 0; i < TOOLS; i++) {
        (void)snprintf(names[i], sizeof names[i], "find_files_%03zu", i);
        tools[i] = (struct format_tool){
                .name = names[i], .description = "Find files by a pattern", .schema = schema};
    }
    open_host();
    bench_run(rows, ROWS);
    bench_run(cached, 1);
    bench_print(&rows[0], NULL, NULL);
    for (size_t i = 1; i < ROWS; i++) {
        bench_print(&rows[i], &rows[0], "5 ms");
    }
    bench_print(&cached[0], NULL, NULL);
    toolrack_close(host);
    return 0;
}
