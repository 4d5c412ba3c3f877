/* Hosts of a group when servers and hosts are killed, stopped, cut off and started again: three
 * real nats-servers that are a cluster, hosts that are processes of their own, and a front in this
 * process. Every call is answered once or fails clearly, and what is called once runs once at most.
 *
 * TEST_HOSTS_EVENTS is how many faults the last case makes, TEST_HOSTS_SEED which. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "nats-cluster.h"
#include "patience.h"
#include "remote/nats/libnats.h"
#include "simulated-hosts.h"
#include "toolrack/hosts.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

#define BEAT_MS   50
#define HOSTS     2
#define CALLS_MAX 20000u
/* Where a host writes what it does. */
#define TOLD_FD   200

static struct toolrack_error err;
static struct nats_cluster cluster;
static struct toolrack *front;
static char front_key[64];
static unsigned group_number;
static char group[32];

/* ------------------------------------------------------- a host, as a process */

/* One line, whole: more than one process writes. */
static void tell(const char *what, long long id) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %lld\n", what, id);
    if (write(TOLD_FD, line, (size_t)length) != length) {
        _exit(3);
    }
}

static const char *own_name;

static tr_status run_who(struct tr_call *call) {
    return tr_reply_text(call, own_name);
}

static tr_status run_once(struct tr_call *call) {
    tell("ran", tr_get_i64(call, "id", CALLS_MAX)); /* none: it is not counted */
    return tr_reply_text(call, "done");
}

static tr_status run_hold(struct tr_call *call) {
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    tell("holds", 0);
    while (!tr_cancelled(call)) { /* a tool is not told, it looks */
        (void)nanosleep(&pause, NULL);
    }
    return TR_CANCELLED;
}

#define TOOL(tool_name, function, tool_permission, tool_flags)                  \
    {                                                                           \
        .size = sizeof(struct tr_tool), .flags = tool_flags, .name = tool_name, \
        .description = "A tool of the test", .permission = tool_permission,     \
        .schema = "{\"type\":\"object\"}", .run = function                      \
    }
static const struct tr_tool tools[] = {
        TOOL("who", run_who, TR_SAFE, TR_READ_ONLY), TOOL("once", run_once, TR_SAFE, 0),
        TOOL("hold", run_hold, TR_SAFE, 0), TOOL("signed", run_once, TR_CONFIRM, 0)};
static const struct tr_tool *const table[] = {&tools[0], &tools[1], &tools[2], &tools[3]};
static const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                        .size = sizeof plugin,
                                        .abi_major = TR_ABI_MAJOR,
                                        .abi_minor = TR_ABI_MINOR,
                                        .flags = TR_THREAD_SAFE,
                                        .id = "test.faults",
                                        .version = "1.0.0",
                                        .tool_count = ARRAY_LENGTH(table),
                                        .tool_size = sizeof(struct tr_tool),
                                        .tools = table};

static void show_line(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    (void)level;
    (void)fprintf(stderr, "# %s: %s: %s\n", (const char *)user, source, line);
}

static struct toolrack *open_host(const char *name) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = 1;
    options.log = show_line;
    options.log_level = TOOLRACK_LOG_WARNING;
    options.user = (void *)(uintptr_t)name;
    return toolrack_open(&options, &host, &err) == 0 ? host : NULL;
}

static int join(struct toolrack *host, const char *url, const char *in_group, const char *name,
                const char *trusted, unsigned beat_ms) {
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    const char *const keys[] = {trusted, NULL};
    options.url = url;
    options.group = in_group;
    options.name = name;
    options.beat_ms = beat_ms;
    options.trusted = keys;
    return toolrack_join(host, &options, &err);
}

/* What this program is when it is started as "host URL GROUP NAME KEY BEAT_MS". It ends with its
 * input, which the test has. */
static int be_host(char **args) {
    char byte;
    own_name = args[2];
    struct toolrack *host = open_host(own_name);
    if (host == NULL || toolrack_register(host, &plugin, NULL, &err) < 0 ||
        join(host, args[0], args[1], own_name, args[3][0] != '\0' ? args[3] : NULL,
             (unsigned)atoi(args[4])) < 0) {
        (void)fprintf(stderr, "# host %s: %s\n", own_name, err.message);
        return 1;
    }
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    toolrack_close(host);
    return 0;
}

/* ---------------------------------------------------------- what is told */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int told[2]; /* a pipe: what hosts tell */
static pthread_t listener;
static unsigned char ran[CALLS_MAX]; /* how often each call did; guarded by `lock`, as is: */
static unsigned holding;

static void *listen_to_hosts(void *user) {
    FILE *lines = fdopen(told[0], "r");
    char line[64];
    (void)user;
    while (lines != NULL && fgets(line, sizeof line, lines) != NULL) {
        unsigned id = 0;
        (void)pthread_mutex_lock(&lock);
        if (sscanf(line, "ran %u", &id) == 1 && id < CALLS_MAX) {
            ran[id]++;
        } else if (strncmp(line, "holds", 5) == 0) {
            holding++;
        }
        (void)pthread_cond_broadcast(&changed);
        (void)pthread_mutex_unlock(&lock);
    }
    if (lines != NULL) {
        (void)fclose(lines);
    }
    return NULL;
}

/* ------------------------------------------------------------- processes */

struct process {
    pid_t pid; /* 0: none */
    int input;
};
static struct process hosts[HOSTS];
static const char *const names[HOSTS] = {"a", "b"};

static void start_process(unsigned number, const char *url, const char *shift_ms,
                          unsigned beat_ms) {
    int input[2];
    char beat[16];
    (void)snprintf(beat, sizeof beat, "%u", beat_ms);
    assert_int_equal(pipe(input), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(input[0], STDIN_FILENO);
        (void)dup2(told[1], TOLD_FD);
        (void)close(input[0]);
        (void)close(input[1]);
        if (shift_ms != NULL) {
            (void)setenv("CLOCK_SHIFT_MS", shift_ms, 1);
            (void)setenv("LD_PRELOAD", SHIFTED_CLOCK, 1);
        }
        (void)execl("/proc/self/exe", "test-nats-faults", "host", url, group, names[number],
                    front_key, beat, (char *)NULL);
        _exit(127);
    }
    (void)close(input[0]);
    hosts[number] = (struct process){.pid = pid, .input = input[1]};
}

static void kill_process(unsigned number) {
    int status;
    if (hosts[number].pid > 0) {
        (void)kill(hosts[number].pid, SIGKILL);
        (void)patience_child(hosts[number].pid, &status);
        (void)close(hosts[number].input);
        hosts[number] = (struct process){0};
    }
}

/* -------------------------------------------------------------- the group */

static yyjson_doc *read_hosts(void) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    size_t length = 0;
    assert_int_equal(toolrack_hosts(front, 0, &text, &err), 0);
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    assert_non_null(doc);
    return doc;
}

/* A row of `toolrack hosts`, by name; NULL: it is not known. */
static yyjson_val *row_of(yyjson_doc *doc, const char *name) {
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        if (yyjson_equals_str(yyjson_obj_get(row, "name"), name)) {
            return row;
        }
    }
    return NULL;
}

static bool has_tools(const char *name) {
    yyjson_doc *doc = read_hosts();
    yyjson_val *row = row_of(doc, name);
    bool has = row != NULL && yyjson_get_uint(yyjson_obj_get(row, "tools")) == ARRAY_LENGTH(table);
    yyjson_doc_free(doc);
    return has;
}

static bool is_known(const char *name) {
    yyjson_doc *doc = read_hosts();
    bool is = row_of(doc, name) != NULL;
    yyjson_doc_free(doc);
    return is;
}

static bool is_state(const char *name, const char *state) {
    yyjson_doc *doc = read_hosts();
    yyjson_val *row = row_of(doc, name);
    bool is = row != NULL && yyjson_equals_str(yyjson_obj_get(row, "state"), state);
    yyjson_doc_free(doc);
    return is;
}

/* The front is a client of the first server, the hosts of the others. */
static void open_front(unsigned beat_ms) {
    (void)snprintf(group, sizeof group, "faults.%u", ++group_number);
    front = open_host("front");
    assert_non_null(front);
    assert_int_equal(join(front, cluster.nodes[0].url, group, "front", NULL, beat_ms), 0);
    yyjson_doc *doc = read_hosts();
    (void)snprintf(front_key, sizeof front_key, "%s",
                   yyjson_get_str(yyjson_obj_get(row_of(doc, "front"), "key")));
    yyjson_doc_free(doc);
}

static void open_group(unsigned beat_ms) {
    open_front(beat_ms);
    for (unsigned i = 0; i < HOSTS; i++) {
        start_process(i, cluster.nodes[1 + i].url, NULL, beat_ms);
    }
    for (unsigned i = 0; i < HOSTS; i++) {
        AWAIT(has_tools(names[i]));
    }
}

static int close_group(void **state) {
    (void)state;
    for (unsigned i = 0; i < HOSTS; i++) {
        kill_process(i);
    }
    toolrack_close(front);
    front = NULL;
    for (unsigned i = 0; i < cluster.count; i++) {
        if (cluster.nodes[i].pid > 0) {
            nats_cluster_resume(&cluster, i);
        } else if (!nats_cluster_restart(&cluster, i)) {
            return -1;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------- calls */

static int call(const char *name, unsigned deadline_ms, char *ret, size_t room) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.confirmed = 1; /* the hosts are not trusted: each tool is `confirm` here */
    options.deadline_ms = deadline_ms;
    int code = toolrack_call(front, name, "{}", &options, &result, &err);
    (void)snprintf(ret, room, "%s", code == 0 ? toolrack_result_json(result, NULL) : "");
    toolrack_result_free(result);
    return code;
}

/* A call that goes through, however long that takes. */
static bool goes_through(void) {
    char text[64];
    return call("who", 500, text, sizeof text) == 0;
}

/* Each call that was submitted: how often it ended, and how. */
static atomic_uint ends[CALLS_MAX];
static atomic_int codes[CALLS_MAX];
static unsigned submitted; /* of all cases */
static atomic_uint answered;

static void end_call(void *user, struct toolrack_result *result,
                     const struct toolrack_error *error) {
    unsigned id = (unsigned)(uintptr_t)user;
    atomic_store(&codes[id], error != NULL ? error->code : 0);
    (void)atomic_fetch_add(&ends[id], 1);
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&lock);
    (void)atomic_fetch_add(&answered, 1);
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

/* Call `once` so many times without waiting. */
static void submit(unsigned count, unsigned deadline_ms) {
    for (unsigned i = 0; i < count && submitted < CALLS_MAX; i++) {
        struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
        struct toolrack_call *made = NULL;
        char arguments[32];
        unsigned id = submitted++;
        (void)snprintf(arguments, sizeof arguments, "{\"id\":%u}", id);
        options.confirmed = 1;
        options.deadline_ms = deadline_ms;
        int code = toolrack_submit(front, "once", arguments, &options, end_call,
                                   (void *)(uintptr_t)id, &made, &err);
        if (code < 0) { /* its tool is gone: that is an end too */
            if (code != TOOLRACK_E_NOT_FOUND && code != TOOLRACK_E_UNAVAILABLE) {
                fail_msg("submit: %s", err.message);
            }
            atomic_store(&codes[id], code);
            (void)atomic_fetch_add(&ends[id], 1);
            (void)atomic_fetch_add(&answered, 1);
        } else {
            toolrack_call_unref(made);
        }
    }
}

/* All calls have ended, each once; what succeeded ran once, what failed once at most. */
static void check_calls(void) {
    (void)pthread_mutex_lock(&lock);
    AWAIT_SIGNALLED(atomic_load(&answered) == submitted, &changed, &lock);
    (void)pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < submitted; i++) {
        int code = atomic_load(&codes[i]);
        assert_int_equal(atomic_load(&ends[i]), 1);
        if (code != 0 && code != TOOLRACK_E_UNAVAILABLE && code != TOOLRACK_E_TIMEOUT &&
            code != TOOLRACK_E_EXECUTION_FAILED && code != TOOLRACK_E_NOT_FOUND) {
            fail_msg("call %u ended with %s", i, toolrack_code_name(code));
        }
        (void)pthread_mutex_lock(&lock);
        if (code == 0) { /* its host has told it before it answered */
            AWAIT_SIGNALLED(ran[i] > 0, &changed, &lock);
        }
        unsigned times = ran[i];
        (void)pthread_mutex_unlock(&lock);
        if (times > 1) {
            fail_msg("call %u ran %u times", i, times);
        }
    }
}

/* ------------------------------------------------------------------- cases */

/* The server of the front is killed: it goes on with another one. */
static void test_server_killed(void **state) {
    (void)state;
    open_group(BEAT_MS);
    submit(40, 3000);
    nats_cluster_kill(&cluster, 0);
    submit(40, 3000);
    AWAIT(goes_through());
    assert_true(nats_cluster_restart(&cluster, 0));
    submit(20, 3000);
    check_calls();
    assert_int_equal(atomic_load(&codes[submitted - 1]), 0);
}

/* The server of a host is cut off: its calls end, others go to the other host, and it returns. */
static void test_partition(void **state) {
    (void)state;
    open_group(BEAT_MS);
    nats_cluster_pause(&cluster, 1);
    submit(40, 300);
    AWAIT(!is_known("a"));
    char text[64];
    assert_int_equal(call("who", 3000, text, sizeof text), 0);
    assert_string_equal(text, "\"b\"");
    nats_cluster_resume(&cluster, 1);
    AWAIT(has_tools("a"));
    submit(20, 3000);
    check_calls();
}

/* A host that hangs and is not silent for long enough to be gone gets no calls after three. */
static void test_slow_host(void **state) {
    (void)state;
    char text[64];
    open_group(2000);
    (void)kill(hosts[0].pid, SIGSTOP);
    AWAIT((call("who", 100, text, sizeof text), is_state("a", "slow")));
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(call("who", 3000, text, sizeof text), 0);
        assert_string_equal(text, "\"b\"");
    }
    (void)kill(hosts[0].pid, SIGCONT);

    CLEANUP(toolrack_text_unrefp) struct toolrack_text *metrics = NULL;
    size_t length = 0;
    assert_int_equal(toolrack_metrics(front, &metrics, &err), 0);
    const char *json = toolrack_text_data(metrics, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *counts = yyjson_obj_get(yyjson_doc_get_root(doc), "hosts");
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(counts, "known")), 2);
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(counts, "slow")), 1);
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(counts, "ejected")), 1);
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(counts, "tools")), 2 * ARRAY_LENGTH(table));
    assert_int_equal(yyjson_get_uint(json_at(counts, "calls/late")), 3);
    assert_true(yyjson_get_uint(json_at(counts, "calls/answered")) >= 20);
    yyjson_doc_free(doc);
}

/* Every server goes and comes back, so that all clients are cut and return at once. */
static void test_storm(void **state) {
    (void)state;
    static struct toolrack *crowd[12];
    open_group(BEAT_MS);
    for (size_t i = 0; i < ARRAY_LENGTH(crowd); i++) {
        crowd[i] = open_host("crowd");
        assert_non_null(crowd[i]);
        assert_int_equal(join(crowd[i], cluster.nodes[i % 3].url, group, "crowd", NULL, BEAT_MS),
                         0);
    }
    submit(20, 3000);
    for (unsigned i = 0; i < 3; i++) {
        nats_cluster_kill(&cluster, i);
    }
    submit(40, 300);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(nats_cluster_restart(&cluster, i));
    }
    AWAIT(goes_through());
    for (unsigned i = 0; i < HOSTS; i++) {
        AWAIT(has_tools(names[i]));
    }
    submit(40, 5000);
    check_calls();
    for (size_t i = 0; i < ARRAY_LENGTH(crowd); i++) {
        toolrack_close(crowd[i]);
    }
}

/* A host is killed while it runs a call that may not be repeated. */
static void test_host_killed(void **state) {
    (void)state;
    open_group(BEAT_MS);
    kill_process(1);
    AWAIT(!is_known("b"));
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_call *made = NULL;
    unsigned id = submitted++;
    options.confirmed = 1;
    options.deadline_ms = 20000;
    unsigned before = holding;
    assert_int_equal(toolrack_submit(front, "hold", "{}", &options, end_call, (void *)(uintptr_t)id,
                                     &made, &err),
                     0);
    (void)pthread_mutex_lock(&lock);
    AWAIT_SIGNALLED(holding > before, &changed, &lock);
    (void)pthread_mutex_unlock(&lock);
    kill_process(0);
    check_calls();
    assert_int_equal(atomic_load(&codes[id]), TOOLRACK_E_EXECUTION_FAILED);
    toolrack_call_unref(made);
}

/* Sends each request that it hears once more. */
static void repeat(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                   void *user) {
    atomic_uint *repeated = user;
    (void)subscription;
    if (atomic_fetch_add(repeated, 1) % 2 == 0) { /* not its own again */
        (void)nats.Connection_PublishRequest(connection, nats.Msg_GetSubject(message),
                                             nats.Msg_GetReply(message), nats.Msg_GetData(message),
                                             nats.Msg_GetDataLength(message));
    }
    nats.Msg_Destroy(message);
}

/* A request that comes twice runs once. One after the other, since the repeater counts. */
static void test_duplicates(void **state) {
    (void)state;
    natsOptions *options = NULL;
    natsConnection *connection = NULL;
    natsSubscription *subscription = NULL;
    const char *servers[] = {cluster.nodes[0].url};
    static atomic_uint repeated;
    char subject[128];
    open_group(BEAT_MS);
    assert_int_equal(libnats_load(&err), 0);
    assert_int_equal(nats.Options_Create(&options), NATS_OK);
    assert_int_equal(nats.Options_SetServers(options, servers, 1), NATS_OK);
    assert_int_equal(nats.Connection_Connect(&connection, options), NATS_OK);
    nats.Options_Destroy(options);
    (void)snprintf(subject, sizeof subject, "toolrack.1.faults=2E%u.host.*.call", group_number);
    assert_int_equal(
            nats.Connection_Subscribe(&subscription, connection, subject, repeat, &repeated),
            NATS_OK);
    assert_int_equal(nats.Connection_FlushTimeout(connection, 5000), NATS_OK);
    for (unsigned i = 1; i <= 10; i++) {
        submit(1, 5000);
        AWAIT(atomic_load(&repeated) == 2 * i);
    }
    check_calls(); /* and after a later call, behind the copies on the same way: */
    AWAIT(goes_through());
    check_calls();
    nats.Connection_Close(connection);
    nats.Subscription_Destroy(subscription);
    nats.Connection_Destroy(connection);
}

static int64_t clock_of(const char *name) {
    yyjson_doc *doc = read_hosts();
    yyjson_val *clock = yyjson_obj_get(row_of(doc, name), "clock_ms");
    int64_t ms = yyjson_is_null(clock) ? 0 : yyjson_get_sint(clock);
    yyjson_doc_free(doc);
    return ms;
}

/* A host whose clock is a minute ahead: `hosts` says so, and a call, which is signed since the
 * front does not trust the host, fails with the reason. Five seconds are no matter. */
static void test_clock(void **state) {
    (void)state;
    char text[64];
    open_front(BEAT_MS);
    start_process(0, cluster.nodes[1].url, "60000", BEAT_MS);
    AWAIT(has_tools("a"));
    AWAIT(clock_of("a") > 50000 && clock_of("a") < 70000);
    assert_int_equal(call("signed", 5000, text, sizeof text), TOOLRACK_E_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, "set the clocks of both hosts; on the host a"));

    start_process(1, cluster.nodes[2].url, "-5000", BEAT_MS);
    AWAIT(has_tools("b"));
    AWAIT(clock_of("b") < -1000 && clock_of("b") > -9000);
    kill_process(0);
    AWAIT(!is_known("a"));
    assert_int_equal(call("signed", 5000, text, sizeof text), 0);
}

/* 50 hosts with 20 tools each: all are known, a change of one is seen, and so is its end. */
static void test_many(void **state) {
    (void)state;
    open_front(1000);
    struct simulation *simulation = simulation_start(cluster.nodes[1].url, group, 50, 20, 1000);
    assert_non_null(simulation);
    struct toolrack_filter all = TOOLRACK_FILTER_INIT;
    all.all = true;
    for (size_t count = 0; count < 50u * 20;) {
        struct toolrack_tools *found = NULL;
        assert_int_equal(toolrack_list(front, &all, &found, &err), 0);
        count = toolrack_tools_count(found);
        toolrack_tools_free(found);
    }
#define HAS(name) (toolrack_tool_unref(tool = toolrack_get(front, name)), tool != NULL)
    struct toolrack_tool *tool;
    simulation_toggle(simulation, 7);
    AWAIT(!HAS("sim_7_0"));
    assert_true(HAS("sim_7_1"));
    simulation_toggle(simulation, 7);
    AWAIT(HAS("sim_7_0"));
    simulation_leave(simulation, 9);
    AWAIT(!HAS("sim_9_19"));
    assert_true(HAS("sim_8_19"));
    assert_true(simulation_pages(simulation) < 60); /* a change of one is no reason to ask others */
    simulation_stop(simulation);
}

/* Faults by chance, each between calls. */
static void test_chance(void **state) {
    (void)state;
    const char *events = getenv("TEST_HOSTS_EVENTS");
    const char *given = getenv("TEST_HOSTS_SEED");
    unsigned seed = given != NULL ? (unsigned)atoi(given) : 1;
    open_group(BEAT_MS);
    print_message("# seed %u\n", seed);
    for (int i = 0; i < (events != NULL ? atoi(events) : 4); i++) {
        unsigned node = (unsigned)rand_r(&seed) % cluster.count;
        unsigned host = (unsigned)rand_r(&seed) % HOSTS;
        submit(10, 500);
        switch (rand_r(&seed) % 4) {
        case 0:
            nats_cluster_kill(&cluster, node);
            submit(10, 500);
            assert_true(nats_cluster_restart(&cluster, node));
            break;
        case 1:
            nats_cluster_pause(&cluster, node);
            submit(10, 300);
            nats_cluster_resume(&cluster, node);
            break;
        case 2:
            (void)kill(hosts[host].pid, SIGSTOP);
            submit(10, 300);
            (void)kill(hosts[host].pid, SIGCONT);
            break;
        default:
            kill_process(host);
            submit(10, 500);
            start_process(host, cluster.nodes[1 + host].url, NULL, BEAT_MS);
            break;
        }
        AWAIT(has_tools("a") && has_tools("b"));
        AWAIT(goes_through());
        check_calls();
    }
}

static int start_all(void **state) {
    (void)state;
    return nats_cluster_start(&cluster, 3) && pipe(told) == 0 &&
                           pthread_create(&listener, NULL, listen_to_hosts, NULL) == 0
                   ? 0
                   : -1;
}

static int stop_all(void **state) {
    (void)state;
    nats_cluster_stop(&cluster);
    (void)close(told[1]);
    (void)pthread_join(listener, NULL);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 7 && strcmp(argv[1], "host") == 0) {
        return be_host(&argv[2]);
    }
#define GROUP(test) cmocka_unit_test_teardown(test, close_group)
    const struct CMUnitTest tests[] = {
            GROUP(test_server_killed), GROUP(test_partition),   GROUP(test_slow_host),
            GROUP(test_storm),         GROUP(test_host_killed), GROUP(test_duplicates),
            GROUP(test_clock),         GROUP(test_many),        GROUP(test_chance),
    };
    if (argc == 2) { /* one case, by name */
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, start_all, stop_all);
}
