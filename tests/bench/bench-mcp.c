/* MCP over stdio: `toolrack mcp` beside the least that a server can do and beside the official
 * TypeScript SDKs, which npm installs for it. Rows of a table are measured by turns.
 *
 * Goals: 64 in flight at least 0.45 x the floor and 6 x SDK v1; the first answer with 1,000 plugins
 * that were scanned before within 10 ms; an isolated tool at most 1.2 x the sum of the isolated
 * call (bench-worker) and the bare endpoint; no growth over a million calls.
 *
 * The goal of 64 in flight is about a client that has one CPU, and a server whose threads have
 * another: they take no time from each other, and the client limits the floor. In the second table
 * each runs where the kernel puts it, which is what a real client gets. */
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "mcp/server.h"
#include "plugins.h"
#include "toolrack/toolrack.h"

enum { IN_FLIGHT = 64, REQUEST_MAX = 1024, STARTS = 15, MANY = 1000000 };

/* What is measured: a server and the revision. */
static const struct {
    enum server_kind kind;
    bool stateless;
} peers[] = {{SERVER_FLOOR, false},    {SERVER_TOOLRACK, false}, {SERVER_TOOLRACK, true},
             {SERVER_ISOLATED, false}, {SERVER_SDK_V1, false},   {SERVER_SDK_V2, true}};
enum { PEERS = sizeof peers / sizeof peers[0], FLOOR = 0, OURS = 1, ISOLATED = 3, V1 = 4 };

static struct server servers[PEERS];
static long last_id[PEERS];

static void send_all(const struct server *server, const char *text, size_t length) {
    while (length > 0) {
        ssize_t sent = write(server->in, text, length);
        if (sent <= 0) {
            die(server->name);
        }
        text += sent;
        length -= (size_t)sent;
    }
}

/* How many answers came with one read(); an error ends the benchmark. */
static long receive(struct server *server) {
    ssize_t got = read(server->out, server->buffer + server->used,
                       sizeof server->buffer - 1 - server->used);
    if (got <= 0) {
        die(server->name);
    }
    server->used += (size_t)got;
    long count = 0;
    size_t at = 0;
    for (char *end; (end = memchr(server->buffer + at, '\n', server->used - at)) != NULL;
         at = (size_t)(end - server->buffer) + 1) {
        *end = '\0';
        if (strstr(server->buffer + at, "\"error\"") != NULL ||
            strstr(server->buffer + at, "\"isError\":true") != NULL) {
            (void)fprintf(stderr, "bench: %s answers %s\n", server->name, server->buffer + at);
            exit(EXIT_FAILURE);
        }
        count += strstr(server->buffer + at, "\"result\"") != NULL;
    }
    memmove(server->buffer, server->buffer + at, server->used - at);
    server->used -= at;
    return count;
}

static size_t one_request(int peer, char *out) {
    size_t length = server_request(&servers[peer], out, REQUEST_MAX, ++last_id[peer]);
    out[length] = '\n';
    return length + 1;
}

static void one_by_one(int peer, long times) {
    char request[REQUEST_MAX];
    for (long i = 0; i < times; i++) {
        send_all(&servers[peer], request, one_request(peer, request));
        while (receive(&servers[peer]) == 0) {
        }
    }
}

static void in_flight(int peer, long times) {
    static char requests[IN_FLIGHT * REQUEST_MAX];
    long sent = 0;
    for (long done = 0; done < times;) {
        size_t length = 0;
        for (; sent < times && sent - done < IN_FLIGHT; sent++) {
            length += one_request(peer, requests + length);
        }
        send_all(&servers[peer], requests, length);
        done += receive(&servers[peer]);
    }
}

/* The rows of bench.h have no argument but the number of times. */
#define ROW(n)                                   \
    static void round_trips_##n(long times) {    \
        place(servers[n].pid, 0), place(0, 0);   \
        one_by_one(n, times);                    \
    }                                            \
    static void flights_##n(long times) {        \
        place(servers[n].pid, 1), place(0, 0);   \
        in_flight(n, times);                     \
    }                                            \
    static void anywhere_##n(long times) {       \
        place(servers[n].pid, -1), place(0, -1); \
        in_flight(n, times);                     \
    }
ROW(0)
ROW(1)
ROW(2)
ROW(3)
ROW(4)
ROW(5)

static const struct bench_row round_trips[PEERS] = {
        {"", round_trips_0, 1000, {0}}, {"", round_trips_1, 1000, {0}},
        {"", round_trips_2, 1000, {0}}, {"", round_trips_3, 500, {0}},
        {"", round_trips_4, 200, {0}},  {"", round_trips_5, 200, {0}}};
static const struct bench_row flights[PEERS] = {
        {"", flights_0, 50000, {0}}, {"", flights_1, 20000, {0}}, {"", flights_2, 20000, {0}},
        {"", flights_3, 2000, {0}},  {"", flights_4, 1000, {0}},  {"", flights_5, 1000, {0}}};
static const struct bench_row anywhere[PEERS] = {
        {"", anywhere_0, 50000, {0}}, {"", anywhere_1, 20000, {0}}, {"", anywhere_2, 20000, {0}},
        {"", anywhere_3, 2000, {0}},  {"", anywhere_4, 1000, {0}},  {"", anywhere_5, 1000, {0}}};

/* The first answer, from the start of the program; what the handshake era wants before a call. */
static bool begin(int peer) {
    char request[REQUEST_MAX];
    uint64_t start = clock_now_ns();
    if (!server_start(&servers[peer], peers[peer].kind, "stdio", peers[peer].stateless)) {
        return false;
    }
    size_t length = server_request(&servers[peer], request, sizeof request, 0);
    request[length] = '\n';
    send_all(&servers[peer], request, length + 1);
    while (receive(&servers[peer]) == 0) {
    }
    servers[peer].start_ms = (double)(clock_now_ns() - start) / 1e6;
    if (!peers[peer].stateless) {
        static const char ready[] =
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        send_all(&servers[peer], ready, sizeof ready - 1);
    }
    return true;
}

static void name_of(char *out, size_t size, int peer) {
    (void)snprintf(out, size, "%s, %s", servers[peer].name,
                   peers[peer].stateless ? "2026-07-28" : "2025-06-18");
}

/* Measure those that are there, and print each beside the floor and SDK v1. */
static void table(const char *title, const struct bench_row *all, bool rate) {
    struct bench_row rows[PEERS];
    char names[PEERS][64];
    int at[PEERS];
    size_t count = 0;
    for (int i = 0; i < PEERS; i++) {
        if (servers[i].pid != 0) {
            name_of(names[i], sizeof names[i], i);
            rows[count] = all[i];
            rows[count].name = names[i];
            at[count++] = i;
        }
    }
    bench_run(rows, count);
    (void)printf("%s\n", title);
    double floor = bench_median(&rows[0]);
    double v1 = 0;
    for (size_t i = 0; i < count; i++) {
        v1 = at[i] == V1 ? bench_median(&rows[i]) : v1;
    }
    for (size_t i = 0; i < count; i++) {
        double ns = bench_median(&rows[i]);
        (void)printf("  %-40s %9.1f us", rows[i].name, ns / 1000);
        if (rate) {
            (void)printf(" %10.0f calls/s  %6.2f x floor", 1e9 / ns, floor / ns);
            if (v1 > 0) {
                (void)printf("  %6.1f x SDK v1", v1 / ns);
            }
            (void)puts("");
        } else {
            (void)printf("  %6.2f x floor\n", ns / floor);
        }
    }
}

/* ------------------------------------------------------------------- isolation */

/* The same tool in a worker of this process. */
static struct toolrack *host;
static struct toolrack_tool *echo_tool;
static char echo_arguments[REQUEST_MAX];

static void open_host(void) {
    static const char *const folders[] = {ECHO_FOLDER, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    options.config_file = "";
    options.state_dir = "";
    options.plugin_dirs = folders;
    options.worker_program = WORKER_PROGRAM;
    options.isolation = TOOLRACK_ISOLATION_PROCESS;
    (void)snprintf(echo_arguments, sizeof echo_arguments, "{\"message\":\"%s\"}", server_message);
    if (toolrack_open(&options, &host, &err) < 0 ||
        (echo_tool = toolrack_get(host, "echo")) == NULL) {
        (void)fprintf(stderr, "bench: no host with the tool 'echo'\n");
        exit(EXIT_FAILURE);
    }
}

static void call_isolated(long times) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_error err;
    for (long i = 0; i < times; i++) {
        struct toolrack_result *result = NULL;
        if (toolrack_tool_call(host, echo_tool, echo_arguments, strlen(echo_arguments), &options,
                               &result, &err) < 0) {
            (void)fprintf(stderr, "bench: %s\n", err.message);
            exit(EXIT_FAILURE);
        }
        toolrack_result_free(result);
    }
}

static void call_isolated_pinned(long times) {
    place(0, 0);
    call_isolated(times);
}

static void call_isolated_anywhere(long times) {
    place(0, -1);
    call_isolated(times);
}

static void endpoint_anywhere(long times) {
    place(servers[OURS].pid, -1), place(0, -1);
    one_by_one(OURS, times);
}

static void isolated_anywhere(long times) {
    place(servers[ISOLATED].pid, -1), place(0, -1);
    one_by_one(ISOLATED, times);
}

/* What an isolated tool costs over MCP, beside the sum of what it is made of. */
static void sum(const char *title, struct bench_row rows[3]) {
    bench_run(rows, 3);
    (void)printf("%s\n", title);
    for (int i = 0; i < 3; i++) {
        (void)printf("  %-40s %9.1f us\n", rows[i].name, bench_median(&rows[i]) / 1000);
    }
    (void)printf("  %-40s %9.2f x the sum of the two above it  goal 1.2 x\n", "",
                 bench_median(&rows[2]) / (bench_median(&rows[0]) + bench_median(&rows[1])));
}

static void sums(void) {
    struct bench_row pinned[] = {{"isolated call, embedded", call_isolated_pinned, 500, {0}},
                                 {"toolrack, tool in its process", round_trips_1, 500, {0}},
                                 {"toolrack, isolated tool", round_trips_3, 500, {0}}};
    struct bench_row anywhere_one[] = {
            {"isolated call, embedded", call_isolated_anywhere, 500, {0}},
            {"toolrack, tool in its process", endpoint_anywhere, 500, {0}},
            {"toolrack, isolated tool", isolated_anywhere, 500, {0}}};
    place(0, 0);
    open_host();
    sum("one isolated call at a time, all on one CPU", pinned);
    sum("one isolated call at a time, on any CPU", anywhere_one);
    toolrack_tool_unref(echo_tool);
    toolrack_close(host);
}

/* ----------------------------------------------------------------------- start */

static int compare_doubles(const void *a, const void *b) {
    return bench_compare(a, b);
}

static void starts(void) {
    (void)printf("start until the first answer\n");
    for (int i = 0; i < PEERS; i++) {
        double ms[STARTS];
        int rounds = 0;
        while (rounds < STARTS && begin(i)) {
            ms[rounds++] = servers[i].start_ms;
            server_stop(&servers[i]);
        }
        if (rounds > 0) {
            char name[64];
            name_of(name, sizeof name, i);
            qsort(ms, (size_t)rounds, sizeof ms[0], compare_doubles);
            (void)printf("  %-40s %9.1f ms  [%.1f .. %.1f]\n", name, ms[rounds / 2], ms[0],
                         ms[rounds - 1]);
        }
    }
}

/* The same with the thousand plugins of bench-list, as each start but the first finds them: with a
 * cache, a copy of each, and its history. */
static void start_with_many(void) {
    make_folder(SCAN_PLUGIN);
    (void)sleep(3); /* before that a scan takes the files for unfinished */
    double ms[STARTS];
    (void)setenv("BENCH_PLUGINS", folder, 1);
    for (int i = -1; i < STARTS; i++) {
        (void)begin(OURS);
        if (i < 0) {
            server_await_copies(PLUGINS);
        }
        ms[i < 0 ? 0 : i] = servers[OURS].start_ms;
        server_stop(&servers[OURS]);
    }
    (void)unsetenv("BENCH_PLUGINS");
    remove_folder();
    qsort(ms, STARTS, sizeof ms[0], compare_doubles);
    (void)printf("  %-40s %9.1f ms  [%.1f .. %.1f]  goal 10 ms\n", "toolrack, 1,000 plugins",
                 ms[STARTS / 2], ms[0], ms[STARTS - 1]);
}

static void growth(void) {
    in_flight(OURS, MANY / 10);
    double before = server_rss_mib(&servers[OURS]);
    in_flight(OURS, MANY);
    (void)printf("memory of toolrack: %.1f MiB after 100,000 calls, %.1f MiB a million later\n",
                 before, server_rss_mib(&servers[OURS]));
}

int main(void) {
    starts();
    start_with_many();
    for (int i = 0; i < PEERS; i++) {
        if (!begin(i)) {
            (void)printf("%s is not installed: no row for it\n", server_names[peers[i].kind]);
        }
    }
    table("one call at a time, client and server on one CPU", round_trips, false);
    sums();
    table("64 calls in flight, client and server each on a CPU of its own  goal for toolrack: 0.45 "
          "x "
          "floor, 6 x SDK v1",
          flights, true);
    table("64 calls in flight, on any CPU", anywhere, true);
    growth();
    for (int i = 0; i < PEERS; i++) {
        server_stop(&servers[i]);
    }
    return 0;
}
