/* What a plan adds to its calls, in time and in memory; nothing of the runs is kept.
 *
 * The same calls are made directly in the same run, in turns: those of a chain one after the other,
 * each with the result of the one before in its arguments; those of a fan submitted, as many at
 * once as the plan has. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "bench.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#define NODES    1000
#define PARALLEL 8
#define GOAL_NS  2000.0

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)

/* ------------------------------------------------------------ the tools */

static const char schema[] = TR_SCHEMA({
    "type" : "object",
    "properties" : {"n" : {"type" : "integer"}},
    "required" : ["n"],
    "additionalProperties" : false
});

static tr_status next(struct tr_call *call) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_i64(call, "n", tr_get_i64(call, "n", 0) + 1);
    return tr_put_end(call);
}

static tr_status sleep_10_ms(struct tr_call *call) {
    (void)nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    return next(call);
}

static struct toolrack *host;

static void die(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "bench-plan: %s: %s\n", what, err->message);
    exit(1);
}

static void register_tools(void) {
    static const struct tr_tool tools[] = {
            {.size = sizeof(struct tr_tool),
             .name = "next",
             .description = "The next number",
             .schema = schema,
             .run = next},
            {.size = sizeof(struct tr_tool),
             .name = "slow_next",
             .description = "The next number, after 10 ms",
             .schema = schema,
             .run = sleep_10_ms},
    };
    static const struct tr_tool *const table[] = {&tools[0], &tools[1]};
    static const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                            .size = sizeof plugin,
                                            .abi_major = TR_ABI_MAJOR,
                                            .id = "bench_plan",
                                            .version = "1.0.0",
                                            .flags = TR_THREAD_SAFE,
                                            .tool_count = 2,
                                            .tool_size = sizeof(struct tr_tool),
                                            .tools = table};
    struct toolrack_error err;
    if (toolrack_register(host, &plugin, NULL, &err) < 0) {
        die("register", &err);
    }
}

/* ------------------------------------------------------------ the plans */

static struct toolrack_plan *chain;
static struct toolrack_plan *fan;
static struct toolrack_plan *pair;
static struct toolrack_plan *one;

static struct toolrack_plan *open_plan(const struct buf *text) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    struct toolrack_plan *plan = NULL;
    struct toolrack_error err;
    if (toolrack_plan_open(host, text->data, text->length, &findings, &plan, &err) < 0) {
        die("open", &err);
    }
    if (plan == NULL) {
        (void)fprintf(stderr, "bench-plan: %s\n", toolrack_findings_get(findings, 0)->cause);
        exit(1);
    }
    return plan;
}

/* Nodes of a tool, each with the result of the one before, or all with a number. */
static struct toolrack_plan *make_plan(const char *tool, int count, bool is_chain) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"nodes\": [");
    for (int i = 0; i < count; i++) {
        buf_printf(&text,
                   "%s{\"id\": \"n%d\", \"tool\": \"%s\", \"arguments\": ", i > 0 ? ", " : "", i,
                   tool);
        if (is_chain && i > 0) {
            buf_printf(&text, "{\"n\": {\"$ref\": \"#/nodes/n%d/result/n\"}}}", i - 1);
        } else {
            buf_printf(&text, "{\"n\": %d}}", is_chain ? 0 : i);
        }
    }
    buf_add_text(&text, "]}");
    return open_plan(&text);
}

static void run_plan(struct toolrack_plan *plan,
                     void (*event)(void *user, const struct toolrack_plan_event *event)) {
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_text *result = NULL;
    struct toolrack_error err;
    options.unkept = 1;
    options.event = event;
    if (toolrack_plan_run(plan, &options, &result, &err) < 0) {
        die("run", &err);
    }
    BENCH_KEEP(result);
    toolrack_text_unref(result);
}

/* ------------------------------------------------------------ rows */

static struct toolrack_tool *direct_tool;

static void call_chain(void) {
    struct toolrack_error err;
    char arguments[64] = "{\"n\":0}";
    for (int i = 0; i < NODES; i++) {
        struct toolrack_result *result = NULL;
        if (toolrack_tool_call(host, direct_tool, arguments, strlen(arguments), NULL, &result,
                               &err) < 0) {
            die("call", &err);
        }
        (void)snprintf(arguments, sizeof arguments, "%s", toolrack_result_json(result, NULL));
        toolrack_result_free(result);
    }
}

static void row_chain_direct(long times) {
    for (long i = 0; i < times; i += NODES) {
        call_chain();
    }
}

static void row_chain(long times) {
    for (long i = 0; i < times; i += NODES) {
        run_plan(chain, NULL);
    }
}

static pthread_mutex_t fan_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fan_ended = PTHREAD_COND_INITIALIZER;
static int running;

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    (void)user;
    if (result == NULL) {
        die("a submitted call", err);
    }
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&fan_lock);
    running--;
    (void)pthread_cond_signal(&fan_ended);
    (void)pthread_mutex_unlock(&fan_lock);
}

static void wait_below(int most) {
    (void)pthread_mutex_lock(&fan_lock);
    while (running > most) {
        (void)pthread_cond_wait(&fan_ended, &fan_lock);
    }
    running++;
    (void)pthread_mutex_unlock(&fan_lock);
}

static void row_fan_direct(long times) {
    struct toolrack_error err;
    for (long i = 0; i < times; i++) {
        char arguments[64];
        (void)snprintf(arguments, sizeof arguments, "{\"n\":%ld}", i % NODES);
        wait_below(PARALLEL - 1);
        if (toolrack_submit_tool(host, direct_tool, arguments, strlen(arguments), NULL,
                                 take_outcome, NULL, NULL, &err) < 0) {
            die("submit", &err);
        }
    }
    wait_below(0);
    running--;
}

static void row_fan(long times) {
    for (long i = 0; i < times; i += NODES) {
        run_plan(fan, NULL);
    }
}

static void row_one_slow(long times) {
    for (long i = 0; i < times; i++) {
        run_plan(one, NULL);
    }
}

static void row_pair(long times) {
    for (long i = 0; i < times; i++) {
        run_plan(pair, NULL);
    }
}

/* ------------------------------------------------------------ memory */

static size_t before;
static size_t peak;

static void look_at_memory(void *user, const struct toolrack_plan_event *event) {
    size_t now = mallinfo2().uordblks;
    (void)user;
    (void)event;
    peak = now > peak ? now : peak;
}

static void print_memory(const char *name, struct toolrack_plan *plan) {
    run_plan(plan, NULL);
    before = peak = mallinfo2().uordblks;
    run_plan(plan, look_at_memory);
    printf("%-44s %10zu bytes a node, with its result  goal 1024\n", name, (peak - before) / NODES);
}

static void print_added(const struct bench_row *direct, const struct bench_row *plan) {
    bench_print(direct, NULL, NULL);
    bench_print(plan, direct, NULL);
    printf("%-44s %10.1f ns a node  goal %.0f\n", "  the plan adds",
           bench_median(plan) - bench_median(direct), GOAL_NS);
}

int main(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0) {
        die("open", &err);
    }
    register_tools();
    direct_tool = toolrack_get(host, "next");
    chain = make_plan("next", NODES, true);
    fan = make_plan("next", NODES, false);
    pair = make_plan("slow_next", 2, false);
    one = make_plan("slow_next", 1, false);
    struct bench_row rows[] = {
            {.name = "a chain of 1,000, direct", .run = row_chain_direct, .times = NODES},
            {.name = "a chain of 1,000, a plan", .run = row_chain, .times = NODES},
            {.name = "a fan of 1,000, direct, 8 at once", .run = row_fan_direct, .times = NODES},
            {.name = "a fan of 1,000, a plan", .run = row_fan, .times = NODES},
            {.name = "one node of 10 ms", .run = row_one_slow, .times = 2},
            {.name = "two nodes of 10 ms", .run = row_pair, .times = 2},
    };
    bench_run(rows, sizeof rows / sizeof rows[0]);
    for (size_t i = 0; i < 4; i += 2) {
        print_added(&rows[i], &rows[i + 1]);
    }
    bench_print(&rows[4], NULL, NULL);
    bench_print(&rows[5], &rows[4], "1.0");
    print_memory("a chain of 1,000", chain);
    print_memory("a fan of 1,000", fan);
    toolrack_plan_close(chain);
    toolrack_plan_close(fan);
    toolrack_plan_close(pair);
    toolrack_plan_close(one);
    toolrack_tool_unref(direct_tool);
    toolrack_close(host);
    return 0;
}
