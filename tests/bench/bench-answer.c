/* What a model's turn costs: toolrack_answer() on a message of four calls, against the same four
 * calls made one after the other. Once with tools in this process, once with tools in a worker.
 *
 * And against a turn put together by hand: read such a message, make each call by hand (by-hand.h),
 * write the messages with the results, all by yyjson. */
#include <string.h>

#include "bench.h"
#include "hand-tools.h"
#include "toolrack/format.h"

#define CALLS     4
#define ARGUMENTS "{\"a\":1,\"b\":2}"

static double add(double a, double b) {
    return a + b;
}
TR_TOOL(add, "Add two numbers", TR_F64, (TR_F64, a, "first"), (TR_F64, b, "second"))
TR_PLUGIN(("answers", .flags = TR_THREAD_SAFE), "1.0.0", add)

#define CALL(id, name, given)                                                                     \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"arguments\":" \
    "\"" given "\"}}"
#define FOUR(name, given)  \
    CALL("a", name, given) \
    "," CALL("b", name, given) "," CALL("c", name, given) "," CALL("d", name, given)
#define TURN(calls)   "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" calls "]}"
#define MESSAGE(name) TURN(FOUR(name, "{\\\"a\\\":1,\\\"b\\\":2}"))

/* The `arguments` of by-hand.h within a string. */
static const char search_message[] = TURN(
        FOUR(TOOL_NAME,
             "{\\\"path\\\":\\\"/srv/data/projects/report-2026.txt\\\",\\\"mode\\\":\\\"regex\\\","
             "\\\"limit\\\":25,\\\"ratio\\\":0.75,\\\"recursive\\\":true}"));

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

/* The messages with the results; to be freed. */
static char *turn_by_hand(const char *message, size_t length, size_t *ret_length) {
    yyjson_doc *doc = yyjson_read(message, length, 0);
    yyjson_val *calls = yyjson_obj_get(yyjson_doc_get_root(doc), "tool_calls");
    yyjson_mut_doc *results = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *list = yyjson_mut_arr(results);
    char out[CALLS][HAND_OUT_MAX];
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_mut_doc_set_root(results, list);
    yyjson_arr_foreach (calls, at, count, call) {
        yyjson_val *function = yyjson_obj_get(call, "function");
        const char *name = yyjson_get_str(yyjson_obj_get(function, "name"));
        yyjson_val *given = yyjson_obj_get(function, "arguments");
        yyjson_mut_val *result = yyjson_mut_arr_add_obj(results, list);
        size_t out_length = call_by_hand(name != NULL ? name : "", yyjson_get_str(given),
                                         yyjson_get_len(given), true, out[at]);
        (void)yyjson_mut_obj_add_str(results, result, "role", "tool");
        (void)yyjson_mut_obj_add_str(results, result, "tool_call_id",
                                     yyjson_get_str(yyjson_obj_get(call, "id")));
        (void)yyjson_mut_obj_add_strn(results, result, "content", out[at], out_length);
    }
    char *text = yyjson_mut_write(results, 0, ret_length);
    yyjson_mut_doc_free(results);
    yyjson_doc_free(doc);
    return text;
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

static void turns_by_hand(long times) {
    for (long i = 0; i < times; i++) {
        size_t length = 0;
        char *text = turn_by_hand(search_message, sizeof search_message - 1, &length);
        BENCH_KEEP(text);
        free(text);
    }
}

static struct toolrack_text *search(void) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    if (toolrack_answer(host, TOOLRACK_FORMAT_OPENAI, search_message, sizeof search_message - 1,
                        &endless, &text, &err) < 0) {
        die("answer", &err);
    }
    return text;
}
static void turns_of_search(long times) {
    for (long i = 0; i < times; i++) {
        struct toolrack_text *text = search();
        BENCH_KEEP(toolrack_text_data(text, NULL));
        toolrack_text_unref(text);
    }
}

static void show_the_work_is_the_same(void) {
    size_t length = 0;
    char *by_hand = turn_by_hand(search_message, sizeof search_message - 1, &length);
    struct toolrack_text *text = search();
    if (strcmp(by_hand, toolrack_text_data(text, NULL)) != 0) {
        (void)fprintf(stderr, "bench-answer: not the same work:\n%s\n%s\n", by_hand,
                      toolrack_text_data(text, NULL));
        exit(EXIT_FAILURE);
    }
    toolrack_text_unref(text);
    free(by_hand);
}

int main(void) {
    struct bench_row rows[] = {
            {.name = "four calls, no deadline", .run = calls_here, .times = 20000},
            {.name = "answer of four calls, no deadline", .run = turns_here, .times = 5000},
            {.name = "four calls", .run = calls_timed, .times = 2000},
            {.name = "answer of four calls", .run = turns_timed, .times = 2000},
            {.name = "four calls of a worker", .run = calls_isolated, .times = 500},
            {.name = "answer of four calls of a worker", .run = turns_isolated, .times = 500},
            {.name = "a turn by hand", .run = turns_by_hand, .times = 20000},
            {.name = "the same turn by answer", .run = turns_of_search, .times = 5000},
    };
    static const char *const goals[] = {"1.5 x", "1.5 x", "1.5 x", "1.3 x"};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = (const char *const[]){PLUGIN_FOLDER, NULL};
    options.worker_program = WORKER_PROGRAM;
    make_hand_tools();
    if (toolrack_open(&options, &host, &err) < 0 ||
        toolrack_register(host, &toolrack_plugin, NULL, &err) < 0 ||
        register_hand_tools(host, &err) < 0) {
        die("the host", &err);
    }
    show_the_work_is_the_same();
    bench_run(rows, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += 2) {
        bench_print(&rows[i], NULL, NULL);
        bench_print(&rows[i + 1], &rows[i], goals[i / 2]);
    }
    toolrack_close(host);
    return EXIT_SUCCESS;
}
