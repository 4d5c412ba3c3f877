/* What a model's turn costs: toolrack_answer() on a message of four calls, against the same four
 * calls made one after the other. Once with tools in this process, once with tools in a worker. */
#include <string.h>

#include "bench.h"
#include "toolrack/format.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#define CALLS     4
#define ARGUMENTS "{\"a\":1,\"b\":2}"

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second"))
TR_PLUGIN(("answers", .flags = TR_THREAD_SAFE), "1.0.0", add)

#define CALL(id, name)                                                                            \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":" \
    "\"{\\\"a\\\":1,\\\"b\\\":2}\"}}"
#define MESSAGE(name)                                                                     \
    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" CALL("a", name) "," CALL( \
            "b", name) "," CALL("c", name) "," CALL("d", name) "]}"

static struct toolrack *host;

static void die(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "bench-answer: %s: %s\n", what, err->message);
    exit(EXIT_FAILURE);
}

static void make_calls(const char *name, const struct toolrack_call_options *options, long times) {
    struct toolrack_error err;
    for (long i = 0; i < times * CALLS; i++) {
        struct toolrack_result *result = NULL;
        if (toolrack_call(host, name, ARGUMENTS, options, &result, &err) < 0) {
            die(name, &err);
        }
        BENCH_KEEP(toolrack_result_json(result, NULL));
        toolrack_result_free(result);
    }
}

static void make_turns(const char *message, const struct toolrack_call_options *options,
                       long times) {
    struct toolrack_error err;
    for (long i = 0; i < times; i++) {
        struct toolrack_text *text = NULL;
        if (toolrack_answer(host, TOOLRACK_FORMAT_OPENAI, message, strlen(message), options, &text,
                            &err) < 0) {
            die("answer", &err);
        }
        if (strstr(toolrack_text_data(text, NULL), "\"3.0\"") == NULL) {
            die(toolrack_text_data(text, NULL), &err);
        }
        toolrack_text_unref(text);
    }
}

static const struct toolrack_call_options endless = {.size = sizeof endless,
                                                     .deadline_ms = TOOLRACK_NO_DEADLINE};

static void calls_here(long times) {
    make_calls("add", &endless, times);
}
static void turns_here(long times) {
    make_turns(MESSAGE("add"), &endless, times);
}
static void calls_timed(long times) {
    make_calls("add", NULL, times);
}
static void turns_timed(long times) {
    make_turns(MESSAGE("add"), NULL, times);
}
static void calls_isolated(long times) {
    make_calls("bench_0000", NULL, times);
}
static void turns_isolated(long times) {
    make_turns(MESSAGE("bench_0000"), NULL, times);
}

int main(void) {
    struct bench_row rows[] = {
            {.name = "four calls, no deadline", .run = calls_here, .times = 20000},
            {.name = "answer of four calls, no deadline", .run = turns_here, .times = 5000},
            {.name = "four calls", .run = calls_timed, .times = 2000},
            {.name = "answer of four calls", .run = turns_timed, .times = 2000},
            {.name = "four calls of a worker", .run = calls_isolated, .times = 500},
            {.name = "answer of four calls of a worker", .run = turns_isolated, .times = 500},
    };
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = (const char *const[]){PLUGIN_FOLDER, NULL};
    options.worker_program = WORKER_PROGRAM;
    if (toolrack_open(&options, &host, &err) < 0 ||
        toolrack_register(host, &toolrack_plugin, NULL, &err) < 0) {
        die("the host", &err);
    }
    bench_run(rows, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += 2) {
        bench_print(&rows[i], NULL, NULL);
        bench_print(&rows[i + 1], &rows[i], "1.5 x");
    }
    toolrack_close(host);
    return EXIT_SUCCESS;
}
