/* What statistics and log cost: a call on its caller's thread, and how many records a second reach
 * the disk without holding a call up.
 *
 * The tool does next to nothing, so that what is added shows. "Neither" is the same host with its
 * recorder taken out; the two clock reads and the four counters of each call are still in it and
 * are measured by themselves. */
#include <string.h>
#include <unistd.h>

#include "api/host.h"
#include "bench.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"
#include "toolrack/toolrack.h"

#define RATE       200000u /* records a second */
#define RATE_S     2u
#define FULL_SPEED 1000000u /* calls, without a pause */
#define SLOW_SHARE 1000u    /* of one call in so many the time is shown */

static const char arguments[] =
        "{\"path\":\"/var/log/messages\",\"mode\":\"literal\",\"limit\":20}";

static struct toolrack *plain;   /* records nothing */
static struct toolrack *counted; /* without a state folder */
static struct toolrack *kept;
static char state[64] = "/tmp/toolrack-bench-XXXXXX";

static void die(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "bench-store: %s: %s\n", what, err->message);
    exit(1);
}

static tr_status answer(struct tr_call *call) {
    return tr_put_i64(call, NULL, 7);
}

static struct toolrack *open_host(const char *state_dir) {
    static const struct tr_tool tool = {.size = sizeof tool,
                                        .name = "answer",
                                        .description = "Answer",
                                        .schema = "{\"type\":\"object\"}",
                                        .run = answer};
    static const struct tr_tool *const table[] = {&tool};
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .id = "bench",
                                     .version = "1.0.0",
                                     .flags = TR_THREAD_SAFE,
                                     .tools = table,
                                     .tool_count = 1,
                                     .tool_size = sizeof(struct tr_tool)};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = state_dir;
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0 ||
        toolrack_register(host, &plugin, NULL, &err) < 0) {
        die("open", &err);
    }
    return host;
}

static void call(struct toolrack *host) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    options.caller = "bench";
    if (toolrack_call(host, "answer", arguments, &options, &result, &err) < 0) {
        die("call", &err);
    }
    toolrack_result_free(result);
}

static void row_plain(long times) {
    for (long i = 0; i < times; i++) {
        call(plain);
    }
}

static void row_counted(long times) {
    for (long i = 0; i < times; i++) {
        call(counted);
    }
}

static void row_kept(long times) {
    for (long i = 0; i < times; i++) {
        call(kept);
    }
}

/* Those that are in every call: two reads of the clock, four counters. */
static void row_counters(long times) {
    static struct registration registration;
    for (long i = 0; i < times; i++) {
        uint64_t start_ns = clock_now_ns();
        BENCH_KEEP(start_ns);
        registration_record(&registration, shard_here(), false, clock_now_ns() - start_ns);
    }
}

/* ------------------------------------------------------------------- a rate */

static int compare_times(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Calls at a steady rate, or for 0 without a pause: how long each took, by length. */
static void call_at_rate(struct toolrack *host, uint32_t rate, uint32_t *times, uint32_t count) {
    uint64_t start_ns = clock_now_ns();
    for (uint32_t i = 0; i < count; i++) {
        uint64_t due_ns = rate != 0 ? start_ns + (uint64_t)i * CLOCK_NS_PER_S / rate : 0;
        uint64_t now_ns = clock_now_ns();
        while (now_ns < due_ns) {
            now_ns = clock_now_ns();
        }
        call(host);
        times[i] = (uint32_t)(clock_now_ns() - now_ns);
    }
    qsort(times, count, sizeof *times, compare_times);
}

static uint64_t unlogged_of(struct toolrack *host) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    size_t length = 0;
    if (toolrack_statistics(host, "answer", &text, &err) < 0) {
        die("usage", &err);
    }
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    uint64_t unlogged = yyjson_get_uint(yyjson_ptr_get(yyjson_doc_get_root(doc), "/0/unlogged"));
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return unlogged;
}

static void print_rate(const char *name, const uint32_t *times, uint32_t count) {
    printf("%-44s %10u ns  1 of %u: %u ns, longest %u us\n", name, times[count / 2], SLOW_SHARE,
           times[count - count / SLOW_SHARE], times[count - 1] / 1000);
}

/* CPU time of all other threads of this process. */
static uint64_t others_cpu_ns(void) {
    struct timespec all;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all);
    return (uint64_t)all.tv_sec * CLOCK_NS_PER_S + (uint64_t)all.tv_nsec - clock_cpu_ns();
}

static uint32_t *allocate_times(uint32_t count) {
    uint32_t *times = malloc(count * sizeof *times);
    if (times == NULL) {
        exit(1);
    }
    return times;
}

/* How many of so many calls are in the log, and what they cost; `goal` is what to say of that. */
static void measure_kept(const char *name, uint32_t rate, uint32_t count, const char *goal) {
    uint32_t *times = allocate_times(count);
    struct toolrack_error err;
    uint64_t before = unlogged_of(kept);
    uint64_t cpu_ns = others_cpu_ns();
    uint64_t start_ns = clock_now_ns();
    call_at_rate(kept, rate, times, count);
    cpu_ns = others_cpu_ns() - cpu_ns;
    if (toolrack_flush(kept, &err) < 0) {
        die("flush", &err);
    }
    double s = (double)(clock_now_ns() - start_ns) / CLOCK_NS_PER_S;
    uint64_t lost = unlogged_of(kept) - before;
    print_rate(name, times, count);
    printf("%-44s %10.0f /s  %llu of %u not logged%s\n", "  records kept per second",
           (double)(count - lost) / s, (unsigned long long)lost, count, goal);
    printf("%-44s %10.0f ns\n", "  CPU time of the recorder, a record",
           (double)cpu_ns / (double)(count - lost));
    free(times);
}

static void measure_rates(void) {
    uint32_t *times = allocate_times(RATE * RATE_S);
    call_at_rate(plain, RATE, times, RATE * RATE_S);
    print_rate("200,000 calls a second, neither", times, RATE * RATE_S);
    free(times);
    measure_kept("200,000 calls a second, with the log", RATE, RATE * RATE_S, "  goal 0");
    measure_kept("a caller at full speed, with the log", 0, FULL_SPEED, "");
}

/* ------------------------------------------------------------------- bursts */

#define BURSTS 101
#define BURST  4000 /* calls; less than half a ring, so that nobody but the caller is at work */

struct burst_row {
    const char *name;
    void (*run)(long times);
    double ns[BURSTS];
};

static void measure_bursts(struct burst_row *rows, size_t count) {
    struct toolrack_error err;
    for (int burst = 0; burst < BURSTS; burst++) {
        if (toolrack_flush(counted, &err) < 0 || toolrack_flush(kept, &err) < 0) {
            die("flush", &err);
        }
        for (size_t i = 0; i < count; i++) {
            uint64_t start_ns = clock_now_ns();
            rows[i].run(BURST);
            rows[i].ns[burst] = (double)(clock_now_ns() - start_ns) / BURST;
        }
    }
    for (size_t i = 0; i < count; i++) {
        qsort(rows[i].ns, BURSTS, sizeof rows[i].ns[0], bench_compare);
        printf("%-44s %10.1f ns  [%.1f .. %.1f]\n", rows[i].name, rows[i].ns[BURSTS / 2],
               rows[i].ns[0], rows[i].ns[BURSTS - 1]);
    }
}

int main(void) {
    struct burst_row rows[] = {
            {.name = "two clock reads and the counters", .run = row_counters},
            {.name = "call, neither statistics nor log", .run = row_plain},
            {.name = "call, nothing is kept", .run = row_counted},
            {.name = "call, all is kept", .run = row_kept},
    };
    if (mkdtemp(state) == NULL) {
        return 1;
    }
    plain = open_host("");
    plain->calls.record = NULL;
    counted = open_host("");
    kept = open_host(state);
    measure_bursts(rows, sizeof rows / sizeof rows[0]);
    printf("%-44s %10.1f ns  goal 100; of the fastest %.1f\n",
           "statistics and log add, counters included",
           rows[3].ns[BURSTS / 2] - rows[1].ns[BURSTS / 2] + rows[0].ns[BURSTS / 2],
           rows[3].ns[0] - rows[1].ns[0] + rows[0].ns[0]);
    measure_rates();
    toolrack_close(plain);
    toolrack_close(counted);
    toolrack_close(kept);
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", state);
    return system(command) == 0 ? 0 : 1;
}
