/* Two threads that call tools by turns, for ../lines/judge, which sees each store of this program.
 *
 * Valgrind has no rseq area, so each thread writes the shards of its number (base/shard.h): what
 * they write is that of two CPUs, whatever this machine has. Before and after a measured call the
 * thread writes a mark, by which the stores between them are known to be the call's. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/host.h"
#include "base/error.h"
#include "call/pool-parts.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#define THREADS      2
#define WARM_UP      2
/* A CPU takes 64 lines of the log at once: so many it has left after the kinds of calls before. */
#define WARM_UP_LATE 30
#define ROUNDS       3

/* Of the pool, a call writes the two lines that are there for that (pool-parts.h), a third one
 * where threads spin, and, where locks know their holders, what that moves out of the two. */
#ifdef NDEBUG
#define POOL_LINES 3u
#else
#define POOL_LINES 4u
#endif

/* ------------------------------------------------------------- the machine */

/* The host's clock is an hour ahead, so that a thread of it that waits until a time waits for an
 * hour: the one that writes the log would store more than all calls do. For a call whose clock is
 * not ahead, the host has logged as many lines as it may. */
static _Thread_local bool is_late;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
    int code = __real_clock_gettime(clock, ret);
    if (clock == CLOCK_MONOTONIC && !is_late) {
        ret->tv_sec += 3600;
    }
    return code;
}

/* --------------------------------------------------------------- the tools */

static int64_t measure(const char *path, int64_t limit) {
    return (int64_t)strlen(path) + limit;
}
TR_TOOL(measure, "Measures", TR_I64, (TR_STRING, path, "a path"),
        (TR_I64, limit, "the most", TR_DEFAULT(3)))

static tr_status match(struct tr_call *call) {
    return tr_reply_textf(call, "found %s", tr_get_string(call, "path", ""));
}
TR_JSON_TOOL(match, "Matches", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"path" : {"type" : "string", "pattern" : "^[a-z]+[0-9]*$"}},
                 "required" : ["path"]
             }))

static tr_status refuse(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "it never works");
}
TR_JSON_TOOL(refuse, "Fails", TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(("lines", .flags = TR_THREAD_SAFE), "1.0.0", measure, match, refuse)

/* --------------------------------------------------------------- the calls */

static struct toolrack *host;
static struct toolrack_tool *handle;

static void die(const char *what, const struct toolrack_error *err) {
    (void)fprintf(stderr, "%s: %s\n", what, err->message);
    exit(1);
}

static int end(int code, struct toolrack_result *result) {
    if (code == 0) {
        toolrack_result_free(result);
    }
    return code;
}

static int call(const char *name, const char *arguments) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    return end(toolrack_call(host, name, arguments, &options, &result, &err), result);
}

#define PATH "{\"path\":\"abc12\"}"

static int call_typed(int thread) {
    (void)thread;
    return call("measure", PATH);
}

static int call_two(int thread) {
    return call(thread == 0 ? "measure" : "match", PATH);
}

static int call_pattern(int thread) {
    (void)thread;
    return call("match", PATH);
}

static int call_failing(int thread) {
    (void)thread;
    return call("refuse", "{}") == TOOLRACK_E_EXECUTION_FAILED ? 0 : -1;
}

static int call_wrong(int thread) {
    (void)thread;
    return call("match", "{\"path\":\"ABC\"}") == TOOLRACK_E_INVALID_ARGUMENTS ? 0 : -1;
}

static int call_handle(int thread) {
    (void)thread;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = TOOLRACK_NO_DEADLINE;
    return end(toolrack_tool_call(host, handle, PATH, strlen(PATH), &options, &result, &err),
               result);
}

static int call_in_time(int thread) {
    (void)thread;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    options.deadline_ms = 60000;
    return end(toolrack_call(host, "measure", PATH, &options, &result, &err), result);
}

static void take_outcome(void *user, struct toolrack_result *result,
                         const struct toolrack_error *err) {
    (void)err;
    toolrack_result_free(result);
    (void)sem_post(user);
}

static int call_submitted(int thread) {
    static _Alignas(64) struct { _Alignas(64) sem_t is_over; } outcomes[THREADS];
    struct toolrack_error err;
    int code = toolrack_submit(host, "measure", PATH, NULL, take_outcome, &outcomes[thread].is_over,
                               NULL, &err);
    return code < 0 ? code : sem_wait(&outcomes[thread].is_over);
}

/* What the judge must see if it sees anything: a counter of the app's that all calls write. */
static int64_t shared;

static int call_counted(int thread) {
    (void)__atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED);
    return call_typed(thread);
}

/* Of the calls of two threads that are run by threads of the pool, one thread runs both here, and
 * writes its own memory for either: so only the lines of the pool count. */
static const struct {
    const char *name;
    int (*call)(int thread);
    bool is_late;
    bool is_of_pool;
    unsigned shared; /* lines that calls of both threads write */
} kinds[] = {
        {.name = "a counter of the app that all calls write", .call = call_counted, .shared = 1},
        {.name = "one typed tool", .call = call_typed},
        {.name = "two tools", .call = call_two},
        {.name = "a JSON tool with a pattern", .call = call_pattern},
        {.name = "a tool that fails", .call = call_failing},
        {.name = "arguments that do not fit", .call = call_wrong},
        {.name = "a handle of a tool", .call = call_handle},
        {.name = "one typed tool, without a line in the log", .call = call_typed, .is_late = true},
        {.name = "one typed tool, with a deadline: lines of the pool",
         .call = call_in_time,
         .is_of_pool = true,
         .shared = POOL_LINES},
        {.name = "one typed tool, submitted: lines of the pool",
         .call = call_submitted,
         .is_of_pool = true,
         .shared = POOL_LINES},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* -------------------------------------------------------------- by turns */

/* Written before a call, with the kind, and after it. */
static struct {
    _Alignas(64) volatile uint64_t begins;
    volatile uint64_t ends;
} marks[THREADS];
static sem_t turns[THREADS];

static void *run(void *argument) {
    int self = (int)(intptr_t)argument;
    for (size_t kind = 0; kind < KINDS; kind++) {
        int warm_up = kinds[kind].is_late ? WARM_UP_LATE : WARM_UP;
        for (int round = 0; round < warm_up + ROUNDS; round++) {
            (void)sem_wait(&turns[self]);
            bool is_measured = round >= warm_up;
            is_late = kinds[kind].is_late;
            if (is_measured) {
                marks[self].begins = kind;
            }
            int code = kinds[kind].call(self);
            if (is_measured) {
                marks[self].ends = kind;
            }
            if (code != 0) {
                (void)fprintf(stderr, "%s: %d\n", kinds[kind].name, code);
                exit(1);
            }
            (void)sem_post(&turns[1 - self]);
        }
    }
    return NULL;
}

int main(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    pthread_t threads[THREADS];
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = true;
    if (toolrack_open(&options, &host, &err) < 0) {
        die("open", &err);
    }
    if (toolrack_register(host, &toolrack_plugin, NULL, &err) < 0) {
        die("register", &err);
    }
    handle = toolrack_get(host, "measure");
    for (int i = 0; i < THREADS; i++) {
        printf("mark %d %p %p\n", i, (void *)(uintptr_t)&marks[i].begins,
               (void *)(uintptr_t)&marks[i].ends);
        (void)sem_init(&turns[i], 0, i == 0);
    }
    printf("pool %p %zu\n", (void *)host->pool, sizeof *host->pool);
    for (size_t i = 0; i < KINDS; i++) {
        printf("kind %u %s %s\n", kinds[i].shared, kinds[i].is_of_pool ? "pool" : "all",
               kinds[i].name);
    }
    (void)fflush(stdout);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    toolrack_tool_unref(handle);
    toolrack_close(host);
    return 0;
}
