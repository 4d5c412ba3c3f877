/* Hosts that are joined by NATS, over a real nats-server on this machine:
 *
 * - what a call costs, against a bare request and reply by libnats between the same two processes;
 * - how much more two hosts do than one, where each runs one call of 1 ms at a time: 1 ms of a CPU,
 *   of which the machine has few, and 1 ms of waiting, of which it has as much as anyone wants;
 * - how soon a front knows the tools of BENCH_HOSTS hosts (1,000) with BENCH_TOOLS tools each (65),
 *   what memory that takes, how soon it sees one change, and how soon one host gone;
 * - how soon 100 hosts see that a tool of one of them was disabled.
 *
 * BENCH_ONLY names one of these: calls, work, wait, scale, group.
 *
 * The program is also the other processes: see main(). */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "bench.h"
#include "nats-cluster.h"
#include "remote/nats/libnats.h"
#include "remove-tree.h"
#include "simulated-hosts.h"
#include "toolrack/hosts.h"
#include "toolrack/plugin.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

#define CALLS     500
#define WORKS     400
#define AT_ONCE   8u
#define WORK_NS   1000000u
#define FRONTS    100u
#define TOGGLES   15
#define LONGEST_S 120

static struct toolrack_error err;
static struct nats_cluster server;
static struct toolrack *front;

static void die(const char *what) {
    (void)fprintf(stderr, "bench-hosts: %s: %s\n", what, err.message);
    exit(1);
}

/* ------------------------------------------------------------------- tools */

static tr_status run_echo(struct tr_call *call) {
    return tr_reply_text(call, tr_get_string(call, "text", ""));
}

static tr_status run_work(struct tr_call *call) {
    uint64_t until = clock_cpu_ns() + WORK_NS;
    while (clock_cpu_ns() < until) {
    }
    return tr_reply_text(call, "done");
}

static tr_status run_wait(struct tr_call *call) {
    const struct timespec pause = {.tv_nsec = WORK_NS};
    (void)nanosleep(&pause, NULL);
    return tr_reply_text(call, "done");
}

#define TOOL(tool_name, function, tool_permission)                                        \
    {                                                                                     \
        .size = sizeof(struct tr_tool), .name = tool_name, .description = "Measured",     \
        .permission = tool_permission, .run = function, .schema = "{\"type\":\"object\"}" \
    }
static const struct tr_tool echoes[] = {TOOL("echo", run_echo, TR_SAFE),
                                        TOOL("echo_signed", run_echo, TR_CONFIRM)};
static const struct tr_tool *const echo_table[] = {&echoes[0], &echoes[1]};
static const struct tr_tool works[] = {TOOL("work", run_work, TR_SAFE),
                                       TOOL("wait", run_wait, TR_SAFE)};
static const struct tr_tool *const work_table[] = {&works[0], &works[1]};
/* The second one is called by one thread at a time. */
static const struct tr_plugin plugins[] = {
        {.magic = TR_MAGIC,
         .size = sizeof(struct tr_plugin),
         .abi_major = TR_ABI_MAJOR,
         .flags = TR_THREAD_SAFE,
         .id = "bench.echo",
         .version = "1.0.0",
         .tool_count = ARRAY_LENGTH(echo_table),
         .tool_size = sizeof(struct tr_tool),
         .tools = echo_table},
        {.magic = TR_MAGIC,
         .size = sizeof(struct tr_plugin),
         .abi_major = TR_ABI_MAJOR,
         .id = "bench.work",
         .version = "1.0.0",
         .tool_count = ARRAY_LENGTH(work_table),
         .tool_size = sizeof(struct tr_tool),
         .tools = work_table},
};

/* ------------------------------------------------------------------- hosts */

static void show_line(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    (void)user;
    (void)level;
    (void)fprintf(stderr, "%s: %s\n", source, line);
}

static struct toolrack *open_host(const char *folder) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = "";
    options.state_dir = folder;
    options.no_scan = 1;
    options.log = show_line;
    options.log_level = TOOLRACK_LOG_WARNING;
    if (toolrack_open(&options, &host, &err) < 0) {
        die("open");
    }
    return host;
}

static void join(struct toolrack *host, const char *url, const char *group, const char *name,
                 const char *trusted) {
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    const char *const keys[] = {trusted, NULL};
    options.url = url;
    options.group = group;
    options.name = name;
    options.trusted = keys;
    if (toolrack_join(host, &options, &err) < 0) {
        die("join");
    }
}

static void key_of(struct toolrack *host, char *ret, size_t room) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_hosts(host, 0, &text, &err) < 0) {
        die("hosts");
    }
    const char *at = strstr(toolrack_text_data(text, NULL), "\"key\":\"");
    (void)snprintf(ret, room, "%.44s", at + strlen("\"key\":\""));
}

static bool has(struct toolrack *host, const char *name) {
    struct toolrack_tool *tool = toolrack_get(host, name);
    toolrack_tool_unref(tool);
    return tool != NULL;
}

/* What was heard of tools that came and went. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static unsigned long added;
static unsigned long removed;

static void note(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)pthread_mutex_lock(&lock);
    added += event->kind == TOOLRACK_EVENT_ADDED;
    removed += event->kind == TOOLRACK_EVENT_REMOVED;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

static void await_count(const unsigned long *count, unsigned long wanted) {
    const struct timespec until =
            clock_timespec(clock_now_ns() + (uint64_t)LONGEST_S * CLOCK_NS_PER_S);
    (void)pthread_mutex_lock(&lock);
    while (*count < wanted) {
        if (pthread_cond_timedwait(&changed, &lock, &until) != 0) {
            (void)fprintf(stderr, "bench-hosts: %lu of %lu after %d s\n", *count, wanted,
                          LONGEST_S);
            exit(1);
        }
    }
    (void)pthread_mutex_unlock(&lock);
}

static void await_tool(struct toolrack *host, const char *name, bool there) {
    const struct timespec pause = {.tv_nsec = 200000};
    while (has(host, name) != there) {
        (void)nanosleep(&pause, NULL);
    }
}

/* -------------------------------------------------------- other processes */

struct role {
    pid_t pid;
    FILE *in;
    FILE *out;
    char key[64]; /* of a host */
};

/* Start this program as another one, and wait for its first line. */
static struct role start_role(const char *role, const char *const args[4]) {
    int in[2];
    int out[2];
    char line[128];
    if (pipe(in) < 0 || pipe(out) < 0) {
        die("pipe");
    }
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 256; fd++) {
            (void)close(fd);
        }
        (void)execl("/proc/self/exe", "bench-hosts", role, args[0], args[1], args[2], args[3],
                    (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    struct role made = {.pid = pid, .in = fdopen(in[1], "w"), .out = fdopen(out[0], "r")};
    if (made.out == NULL || fgets(line, sizeof line, made.out) == NULL) {
        die(role);
    }
    (void)sscanf(line, "ready %63s", made.key);
    return made;
}

static void end_role(struct role *role) {
    (void)fclose(role->in);
    (void)fclose(role->out);
    (void)waitpid(role->pid, NULL, 0);
}

/* Tell a process something, and wait for its answer. */
static void tell(struct role *role, const char *what, unsigned number) {
    char line[128];
    (void)fprintf(role->in, "%s %u\n", what, number);
    (void)fflush(role->in);
    if (fgets(line, sizeof line, role->out) == NULL) {
        die(what);
    }
}

static void say(const char *line) {
    (void)puts(line);
    (void)fflush(stdout);
}

static int be_host(const char *url, const char *group, const char *name, const char *trusted) {
    struct toolrack *host = open_host("");
    char line[64];
    for (size_t i = 0; i < ARRAY_LENGTH(plugins); i++) {
        if (toolrack_register(host, &plugins[i], NULL, &err) < 0) {
            die("register");
        }
    }
    join(host, url, group, name, trusted);
    char ready[80] = "ready ";
    key_of(host, ready + strlen(ready), sizeof ready - strlen(ready));
    say(ready);
    while (fgets(line, sizeof line, stdin) != NULL) {
    }
    toolrack_close(host);
    return 0;
}

static void reply_bare(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                       void *user) {
    (void)subscription;
    (void)user;
    (void)nats.Connection_Publish(connection, nats.Msg_GetReply(message), nats.Msg_GetData(message),
                                  nats.Msg_GetDataLength(message));
    nats.Msg_Destroy(message);
}

static natsConnection *connect_bare(const char *url) {
    natsOptions *options = NULL;
    natsConnection *connection = NULL;
    const char *servers[] = {url};
    if (libnats_load(&err) < 0 || nats.Options_Create(&options) != NATS_OK ||
        nats.Options_SetServers(options, servers, 1) != NATS_OK ||
        nats.Options_SetSendAsap(options, true) != NATS_OK ||
        nats.Connection_Connect(&connection, options) != NATS_OK) {
        die("connect");
    }
    nats.Options_Destroy(options);
    return connection;
}

static int be_responder(const char *url) {
    natsConnection *connection = connect_bare(url);
    natsSubscription *subscription = NULL;
    char line[64];
    if (nats.Connection_Subscribe(&subscription, connection, "bare", reply_bare, NULL) != NATS_OK ||
        nats.Connection_FlushTimeout(connection, 5000) != NATS_OK) {
        die("subscribe");
    }
    say("ready");
    while (fgets(line, sizeof line, stdin) != NULL) {
    }
    return 0;
}

static int be_simulation(const char *url, const char *hosts, const char *tools) {
    struct simulation *simulation =
            simulation_start(url, "scale", (unsigned)atoi(hosts), (unsigned)atoi(tools), 1000);
    char line[64];
    unsigned number;
    if (simulation == NULL) {
        return 1;
    }
    say("ready");
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "toggle %u", &number) == 1) {
            simulation_toggle(simulation, number);
        } else if (sscanf(line, "leave %u", &number) == 1) {
            simulation_leave(simulation, number);
        } else if (sscanf(line, "kill %u", &number) == 1) {
            simulation_kill(simulation, number);
        }
        say("done");
    }
    simulation_stop(simulation);
    return 0;
}

/* ------------------------------------------------------------ rows of calls */

static natsConnection *bare;

static void run_bare(long times) {
    static const char text[] = "{\"text\":\"a short text\"}";
    for (long i = 0; i < times; i++) {
        natsMsg *message = NULL;
        natsMsg *answer = NULL;
        if (nats.Msg_Create(&message, "bare", NULL, text, (int)strlen(text)) != NATS_OK ||
            nats.Connection_RequestMsg(&answer, bare, message, 5000) != NATS_OK) {
            die("a bare request");
        }
        nats.Msg_Destroy(message);
        nats.Msg_Destroy(answer);
    }
}

static void run_calls(const char *name, long times, bool has_deadline) {
    for (long i = 0; i < times; i++) {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        struct toolrack_result *result = NULL;
        options.confirmed = 1;
        options.deadline_ms = has_deadline ? 10000 : TOOLRACK_NO_DEADLINE;
        if (toolrack_call(front, name, "{\"text\":\"a short text\"}", &options, &result, &err) <
            0) {
            die(name);
        }
        toolrack_result_free(result);
    }
}

static void run_safe(long times) {
    run_calls("echo", times, true);
}

static void run_signed(long times) {
    run_calls("echo_signed", times, true);
}

static void run_without_deadline(long times) {
    run_calls("echo", times, false);
}

/* Both hosts trust each other: a safe tool's call is not signed then. The key of the front is in
 * its folder, so that it has the same when it joins again. */
static void measure_calls(void) {
    char key[64];
    char folder[] = "/tmp/bench-hosts.XXXXXX";
    const char *const none[4] = {server.urls, NULL, NULL, NULL};
    if (mkdtemp(folder) == NULL) {
        die("mkdtemp");
    }
    front = open_host(folder);
    join(front, server.urls, "calls", "front", NULL);
    key_of(front, key, sizeof key);
    toolrack_leave(front);
    struct role responder = start_role("responder", none);
    struct role host = start_role("host", (const char *const[]){server.urls, "calls", "back", key});
    join(front, server.urls, "calls", "front", host.key);
    bare = connect_bare(server.urls);
    await_tool(front, "echo", true);
    await_tool(front, "echo_signed", true);
    struct bench_row rows[] = {
            {.name = "bare request and reply", .run = run_bare, .times = CALLS},
            {.name = "call of a tool of another host", .run = run_safe, .times = CALLS},
            {.name = "the same without a deadline", .run = run_without_deadline, .times = CALLS},
            {.name = "call that is signed", .run = run_signed, .times = CALLS},
    };
    bench_run(rows, ARRAY_LENGTH(rows));
    bench_print(&rows[0], NULL, NULL);
    for (size_t i = 1; i < ARRAY_LENGTH(rows); i++) {
        bench_print(&rows[i], &rows[0], "1.2 x");
    }
    end_role(&host);
    end_role(&responder);
    nats.Connection_Close(bare);
    nats.Connection_Destroy(bare);
    toolrack_close(front);
    (void)remove_tree(folder);
}

/* ---------------------------------------------------------- two responders */

static const char *work_tool;
static sem_t slots;
static sem_t ended;

static void end_work(void *user, struct toolrack_result *result,
                     const struct toolrack_error *error) {
    (void)user;
    if (error != NULL) {
        (void)fprintf(stderr, "bench-hosts: %s\n", error->message);
        exit(1);
    }
    toolrack_result_free(result);
    (void)sem_post(&slots);
    (void)sem_post(&ended);
}

static void run_works(long times) {
    (void)sem_init(&slots, 0, AT_ONCE);
    (void)sem_init(&ended, 0, 0);
    for (long i = 0; i < times; i++) {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        struct toolrack_call *call = NULL;
        options.confirmed = 1;
        options.deadline_ms = 30000;
        (void)sem_wait(&slots);
        if (toolrack_submit(front, work_tool, "{}", &options, end_work, NULL, &call, &err) < 0) {
            die("submit");
        }
        toolrack_call_unref(call);
    }
    for (long i = 0; i < times; i++) {
        (void)sem_wait(&ended);
    }
    (void)sem_destroy(&slots);
    (void)sem_destroy(&ended);
}

/* How many hosts a front knows. */
static unsigned count_hosts(struct toolrack *host) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    unsigned count = 0;
    if (toolrack_hosts(host, 0, &text, &err) < 0) {
        die("hosts");
    }
    for (const char *at = toolrack_text_data(text, NULL); (at = strstr(at, "\"tools\":4,")) != NULL;
         at++) {
        count++;
    }
    return count;
}

static void measure_works(const char *tool) {
    struct bench_row rows[2] = {{.name = "one host", .run = run_works, .times = WORKS},
                                {.name = "two hosts", .run = run_works, .times = WORKS}};
    char group[32];
    struct role hosts[2];
    work_tool = tool;
    (void)snprintf(group, sizeof group, "works-%s", tool);
    front = open_host("");
    join(front, server.urls, group, "front", NULL);
    for (unsigned i = 0; i < 2; i++) {
        hosts[i] = start_role("host",
                              (const char *const[]){server.urls, group, i == 0 ? "a" : "b", ""});
        while (count_hosts(front) <= i) {
            (void)usleep(1000);
        }
        await_tool(front, tool, true);
        run_works(WORKS / 4);
        for (int round = 0; round < BENCH_ROUNDS; round++) {
            uint64_t start = clock_now_ns();
            run_works(rows[i].times);
            rows[i].ns[round] = (double)(clock_now_ns() - start) / (double)rows[i].times;
        }
        qsort(rows[i].ns, BENCH_ROUNDS, sizeof rows[i].ns[0], bench_compare);
    }
    printf("1 ms of %s, %u calls at once\n", strcmp(tool, "work") == 0 ? "a CPU" : "waiting",
           AT_ONCE);
    bench_print(&rows[0], NULL, NULL);
    bench_print(&rows[1], NULL, NULL);
    printf("  two hosts do %.2f x as much as one  goal 1.8 x, with a CPU for each and for the "
           "rest; this machine has %ld\n",
           bench_median(&rows[0]) / bench_median(&rows[1]), sysconf(_SC_NPROCESSORS_ONLN));
    end_role(&hosts[0]);
    end_role(&hosts[1]);
    toolrack_close(front);
}

static void measure_work(void) {
    measure_works("work");
}

static void measure_wait(void) {
    measure_works("wait");
}

/* ------------------------------------------------------------------- scale */

static double resident_mib(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        die("statm");
    }
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

static double ms_since(uint64_t start_ns) {
    return (double)(clock_now_ns() - start_ns) / CLOCK_NS_PER_MS;
}

static unsigned wanted(const char *name, unsigned otherwise) {
    const char *text = getenv(name);
    return text != NULL ? (unsigned)atoi(text) : otherwise;
}

static void measure_toggles(struct role *simulation, unsigned hosts) {
    double ms[TOGGLES];
    for (unsigned i = 0; i < TOGGLES; i++) {
        const unsigned long *count = i % 2 == 0 ? &removed : &added;
        unsigned long before = *count;
        uint64_t start = clock_now_ns();
        tell(simulation, "toggle", hosts / 2);
        await_count(count, before + 1);
        ms[i] = ms_since(start);
    }
    qsort(ms, TOGGLES, sizeof ms[0], bench_compare);
    printf("%-44s %10.2f ms  [%.2f .. %.2f]\n", "one of their tools goes or comes", ms[TOGGLES / 2],
           ms[0], ms[TOGGLES - 1]);
}

static void measure_scale(void) {
    unsigned hosts = wanted("BENCH_HOSTS", 1000);
    unsigned tools = wanted("BENCH_TOOLS", 65);
    char host_text[16];
    char tool_text[16];
    (void)snprintf(host_text, sizeof host_text, "%u", hosts);
    (void)snprintf(tool_text, sizeof tool_text, "%u", tools);
    struct role simulation = start_role(
            "simulation", (const char *const[]){server.urls, host_text, tool_text, NULL});
    front = open_host("");
    if (toolrack_add_listener(front, note, NULL, &err) < 0) {
        die("listen");
    }
    added = removed = 0;
    double before_mib = resident_mib();
    uint64_t start = clock_now_ns();
    join(front, server.urls, "scale", "front", NULL);
    await_count(&added, (unsigned long)hosts * tools);
    printf("%u hosts with %u tools each\n", hosts, tools);
    printf("%-44s %10.0f ms\n", "until a front has all of their tools", ms_since(start));
    printf("%-44s %10.0f MiB\n", "memory for them", resident_mib() - before_mib);
    measure_toggles(&simulation, hosts);
    unsigned long gone = removed;
    start = clock_now_ns();
    tell(&simulation, "leave", 0);
    await_count(&removed, gone + tools);
    printf("%-44s %10.1f ms\n", "a host that leaves is gone, with its tools", ms_since(start));
    gone = removed;
    start = clock_now_ns();
    tell(&simulation, "kill", 1);
    await_count(&removed, gone + tools);
    printf("%-44s %10.0f ms  of 5,000 until it is held for silent\n",
           "a host that hangs is gone, with its tools", ms_since(start));
    start = clock_now_ns();
    toolrack_close(front);
    printf("%-44s %10.0f ms\n", "leaving and closing", ms_since(start));
    end_role(&simulation);
}

/* ------------------------------------------------------------------ toggle */

static void measure_group(void) {
    static struct toolrack *fronts[FRONTS];
    static struct toolrack *owner;
    double ms[TOGGLES];
    owner = open_host("");
    if (toolrack_register(owner, &plugins[0], NULL, &err) < 0) {
        die("register");
    }
    join(owner, server.urls, "group", "owner", NULL);
    added = removed = 0;
    for (unsigned i = 0; i < FRONTS; i++) {
        fronts[i] = open_host("");
        if (toolrack_add_listener(fronts[i], note, NULL, &err) < 0) {
            die("listen");
        }
        join(fronts[i], server.urls, "group", "front", NULL);
    }
    await_count(&added, 2ul * FRONTS);
    for (unsigned i = 0; i < TOGGLES; i++) {
        const unsigned long *count = i % 2 == 0 ? &removed : &added;
        unsigned long before = *count;
        uint64_t start = clock_now_ns();
        if (toolrack_set_enabled(owner, "echo", i % 2 != 0, "bench", &err) < 0) {
            die("toggle");
        }
        await_count(count, before + FRONTS);
        ms[i] = ms_since(start);
    }
    qsort(ms, TOGGLES, sizeof ms[0], bench_compare);
    printf("%-44s %10.1f ms  [%.1f .. %.1f]  goal 100 ms\n",
           "a tool is disabled, until 100 hosts see it", ms[TOGGLES / 2], ms[0], ms[TOGGLES - 1]);
    for (unsigned i = 0; i < FRONTS; i++) {
        toolrack_close(fronts[i]);
    }
    toolrack_close(owner);
}

int main(int argc, char **argv) {
    clock_cond_init(&changed);
    if (argc >= 3 && strcmp(argv[1], "responder") == 0) {
        return be_responder(argv[2]);
    }
    if (argc >= 5 && strcmp(argv[1], "simulation") == 0) {
        return be_simulation(argv[2], argv[3], argv[4]);
    }
    if (argc >= 6 && strcmp(argv[1], "host") == 0) {
        return be_host(argv[2], argv[3], argv[4], argv[5][0] != '\0' ? argv[5] : NULL);
    }
    if (!nats_cluster_start(&server, 1)) {
        (void)fprintf(stderr, "bench-hosts: there is no nats-server\n");
        return 1;
    }
    const struct {
        const char *name;
        void (*measure)(void);
    } parts[] = {{"calls", measure_calls},
                 {"work", measure_work},
                 {"wait", measure_wait},
                 {"scale", measure_scale},
                 {"group", measure_group}};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        const char *only = getenv("BENCH_ONLY");
        if (only == NULL || strcmp(only, parts[i].name) == 0) {
            parts[i].measure();
        }
    }
    nats_cluster_stop(&server);
    return 0;
}
