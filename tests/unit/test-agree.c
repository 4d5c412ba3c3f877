/* Decisions that a group of hosts shares, over a real nats-server with JetStream on loopback: hosts
 * of this process, one that the test plays itself, and attacks by whoever may write to the bucket.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "../support/remove-tree.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "remote/nats/bucket.h"
#include "remote/nats/decision.h"
#include "remote/nats/libnats.h"
#include "toolrack/hosts.h"
#include "toolrack/plugin.h"
#include "toolrack/records.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

#define BEAT_MS     50
#define PATIENCE_MS 20000

static struct toolrack_error err;
static char folder[64];

/* ------------------------------------------------------------------ server */

static pid_t server;
static char url[64];
static char port[16] = "-1";

/* With JetStream if `jets`. The server says on which free port it listens, and when it is ready. */
static void start_server(bool jets) {
    int fds[2];
    char line[512];
    char data[96];
    int found = 0;
    (void)snprintf(data, sizeof data, "%s/jets", folder);
    assert_int_equal(pipe(fds), 0);
    server = fork();
    if (server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(fds[1], STDERR_FILENO);
        (void)execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", port,
                     jets ? "-js" : (char *)NULL, "-sd", data, (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    FILE *out = fdopen(fds[0], "r");
    while (out != NULL && fgets(line, sizeof line, out) != NULL &&
           strstr(line, "Server is ready") == NULL) {
        const char *at = strstr(line, "client connections on 127.0.0.1:");
        found = at != NULL ? atoi(strrchr(at, ':') + 1) : found;
    }
    assert_true(server > 0 && found > 0);
    (void)snprintf(url, sizeof url, "nats://127.0.0.1:%d", found);
    (void)snprintf(port, sizeof port, "%d", found); /* it is started again at the same one */
    /* `out` stays open: the server goes on writing. */
}

static void stop_server(void) {
    (void)kill(server, SIGKILL);
    assert_int_equal(waitpid(server, NULL, 0), server);
}

/* ------------------------------------------------------------------- tools */

static tr_status run_say(struct tr_call *call) {
    return tr_reply_text(call, "hello");
}

#define TOOL(tool_name, tool_version, tool_text)                                    \
    {                                                                               \
        .size = sizeof(struct tr_tool), .name = tool_name, .version = tool_version, \
        .description = tool_text, .permission = TR_DANGEROUS,                       \
        .schema = TR_SCHEMA({"type" : "object"}), .run = run_say                    \
    }
static const struct tr_tool tools[] = {
        TOOL("say", "1.0.0", "Says hello"),
        TOOL("say", "2.0.0", "Says hello twice"),
        TOOL("wipe", "1.0.0", "Wipes the disk"),
};
static const struct tr_tool other_tools[] = {
        TOOL("say", "1.0.0", "Says hello"),
        TOOL("say", "2.0.0", "Says hello twice"),
        TOOL("wipe", "1.0.0", "Wipes the other disk"),
};
static const struct tr_tool *const table[] = {&tools[0], &tools[1], &tools[2]};
static const struct tr_tool *const other_table[] = {&other_tools[0], &other_tools[1],
                                                    &other_tools[2]};
#define PLUGIN(tool_table)                                                              \
    {                                                                                   \
        .magic = TR_MAGIC, .size = sizeof(struct tr_plugin), .abi_major = TR_ABI_MAJOR, \
        .abi_minor = TR_ABI_MINOR, .flags = TR_THREAD_SAFE, .id = "test.tools",         \
        .version = "1.0.0", .tool_count = 3, .tool_size = sizeof(struct tr_tool),       \
        .tools = tool_table                                                             \
    }
static const struct tr_plugin plugin = PLUGIN(table);
static const struct tr_plugin other_plugin = PLUGIN(other_table);

/* ------------------------------------------------------------------- hosts */

enum { A, B, C, HOSTS };

struct node {
    struct toolrack *host;
    char state_dir[96];
    char *key;
};

static struct node nodes[HOSTS];
static unsigned group_number;
static char group[32];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static unsigned happened; /* how often something did; guarded by `lock` */
static char lines[65536]; /* what was logged; guarded by `lock` */
static size_t lines_length;

static void wake(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)event;
    (void)pthread_mutex_lock(&lock);
    happened++;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

static void hear(void *user, enum toolrack_log_level level, const char *source, const char *line) {
    (void)user;
    (void)level;
    (void)pthread_mutex_lock(&lock);
    int length =
            snprintf(lines + lines_length, sizeof lines - lines_length, "%s: %s\n", source, line);
    if (length > 0 && lines_length + (size_t)length < sizeof lines) {
        lines_length += (size_t)length;
    }
    happened++;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

/* Every change of a tool has an event, and everything else a line of the log. */
#define AWAIT_THAT(condition)                                                             \
    do {                                                                                  \
        const struct timespec until =                                                     \
                clock_timespec(clock_now_ns() + (uint64_t)PATIENCE_MS * CLOCK_NS_PER_MS); \
        unsigned before = happenings();                                                   \
        while (!(condition)) {                                                            \
            if (!await_happening(&before, &until)) {                                      \
                fail_msg("%s: not so; the log is\n%s", #condition, lines);                \
            }                                                                             \
        }                                                                                 \
    } while (0)

static unsigned happenings(void) {
    (void)pthread_mutex_lock(&lock);
    unsigned count = happened;
    (void)pthread_mutex_unlock(&lock);
    return count;
}

/* Wait for more than there were. */
static bool await_happening(unsigned *before, const struct timespec *until) {
    int waited = 0;
    (void)pthread_mutex_lock(&lock);
    while (happened == *before && waited == 0) {
        waited = pthread_cond_timedwait(&changed, &lock, until);
    }
    *before = happened;
    (void)pthread_mutex_unlock(&lock);
    return waited == 0;
}

static bool has_line(const char *part) {
    (void)pthread_mutex_lock(&lock);
    bool has = strstr(lines, part) != NULL;
    (void)pthread_mutex_unlock(&lock);
    return has;
}

#define AWAIT_LINE(text) AWAIT_THAT(has_line(text))

static void forget_lines(void) {
    (void)pthread_mutex_lock(&lock);
    lines_length = 0;
    lines[0] = '\0';
    (void)pthread_mutex_unlock(&lock);
}

static void open_node(struct node *node, const struct tr_plugin *with) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = node->state_dir;
    options.no_scan = 1;
    options.log = hear;
    options.log_level = TOOLRACK_LOG_INFO;
    options.who = "alice";
    assert_int_equal(toolrack_open(&options, &node->host, &err), 0);
    assert_int_equal(toolrack_add_listener(node->host, wake, NULL, &err), 0);
    assert_int_equal(toolrack_register(node->host, with, NULL, &err), 0);
}

static void close_node(struct node *node) {
    toolrack_close(STEAL(node->host));
}

/* Each trusts the nodes whose bits are set. */
static void join_node(struct node *node, unsigned trusted) {
    static const char *const names[HOSTS] = {"a", "b", "c"};
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    const char *keys[HOSTS + 1] = {NULL};
    size_t count = 0;
    for (size_t i = 0; i < HOSTS; i++) {
        if ((trusted & (1u << i)) != 0) {
            keys[count++] = nodes[i].key;
        }
    }
    options.url = url;
    options.group = group;
    options.name = names[node - nodes];
    options.beat_ms = BEAT_MS;
    options.trusted = keys;
    if (toolrack_join(node->host, &options, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static char *key_in(const char *state_dir) {
    CLEANUP(key_destroyp) struct key *key = NULL;
    (void)mkdir(state_dir, 0700);
    assert_int_equal(key_open(state_dir, &key, &err), 0);
    return strdup(key_public(key));
}

static int set_up(void **state) {
    (void)state;
    (void)snprintf(group, sizeof group, "test_%u.x", ++group_number);
    forget_lines();
    for (size_t i = 0; i < HOSTS; i++) {
        (void)snprintf(nodes[i].state_dir, sizeof nodes[i].state_dir, "%s/%u.%zu", folder,
                       group_number, i);
        nodes[i].key = key_in(nodes[i].state_dir);
        open_node(&nodes[i], &plugin);
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < HOSTS; i++) {
        close_node(&nodes[i]);
        free(STEAL(nodes[i].key));
    }
    return 0;
}

#define ALL ((1u << HOSTS) - 1)

static void join_all(void) {
    for (size_t i = 0; i < HOSTS; i++) {
        join_node(&nodes[i], ALL);
    }
}

/* --------------------------------------------------------------- what is so */

static bool is_enabled(const struct node *node, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(node->host, name);
    return tool != NULL && toolrack_tool_enabled(tool);
}

static int priority(const struct node *node, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(node->host, name);
    return tool != NULL ? toolrack_tool_priority(tool) : -1;
}

static bool is_version(const struct node *node, const char *name, const char *version) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(node->host, name);
    return tool != NULL && strcmp(toolrack_tool_version(tool), version) == 0;
}

static int call(const struct node *node, const char *name) {
    struct toolrack_result *result = NULL;
    int code = toolrack_call(node->host, name, "{}", NULL, &result, &err);
    toolrack_result_free(result);
    return code;
}

/* Whether a text about a host has a part. */
static bool text_has(struct toolrack_text *given, const char *part) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = given;
    return strstr(toolrack_text_data(text, NULL), part) != NULL;
}

static bool has_decision(const struct node *node, const char *part) {
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_decisions(node->host, NULL, &text, &err), 0);
    return text_has(text, part);
}

static bool is_marked(const struct node *node, enum toolrack_mark mark, const char *name) {
    struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_marked(node->host, mark, &text, &err), 0);
    return text_has(text, name);
}

static void set_enabled(const struct node *node, const char *name, bool enabled) {
    assert_int_equal(toolrack_set_enabled(node->host, name, enabled, NULL, &err), 0);
}

#define AWAIT_ENABLED(which, name, enabled) AWAIT_THAT(is_enabled(&nodes[which], name) == (enabled))

/* -------------------------------------------------------------- decisions */

static void test_enabled(void **state) {
    (void)state;
    join_all();
    set_enabled(&nodes[A], "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
    AWAIT_ENABLED(C, "wipe", false);
    AWAIT_LINE("as the host a (key ");
    AWAIT_THAT(has_decision(&nodes[B], "the host a, 20"));
    set_enabled(&nodes[B], "wipe", true); /* it has seen that */
    AWAIT_ENABLED(A, "wipe", true);
    AWAIT_ENABLED(C, "wipe", true);
    assert_false(has_decision(&nodes[A], "overruled"));
}

static void test_kinds(void **state) {
    (void)state;
    join_all();
    assert_int_equal(toolrack_set_priority(nodes[A].host, "wipe", 77, NULL, &err), 0);
    AWAIT_THAT(priority(&nodes[B], "wipe") == 77);

    assert_true(is_version(&nodes[B], "say", "2.0.0"));
    assert_int_equal(toolrack_set_default(nodes[A].host, "say", "1.0.0", NULL, &err), 0);
    AWAIT_THAT(is_version(&nodes[B], "say", "1.0.0"));
    assert_int_equal(toolrack_set_default(nodes[B].host, "say", NULL, NULL, &err), 0);
    AWAIT_THAT(is_version(&nodes[A], "say", "2.0.0"));

    assert_int_equal(call(&nodes[B], "wipe"), TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(toolrack_grant(nodes[A].host, "wipe", 3600, NULL, &err), 0);
    AWAIT_THAT(call(&nodes[B], "wipe") == 0 && call(&nodes[C], "wipe") == 0);
    assert_int_equal(toolrack_revoke(nodes[C].host, "wipe", NULL, &err), 0);
    AWAIT_THAT(call(&nodes[A], "wipe") == TOOLRACK_E_PERMISSION_DENIED &&
               call(&nodes[B], "wipe") == TOOLRACK_E_PERMISSION_DENIED);

    assert_int_equal(toolrack_mark(nodes[A].host, TOOLRACK_MARK_BLACKLIST, "say@1.0.0", true,
                                   "too loud", NULL, &err),
                     0);
    AWAIT_THAT(is_marked(&nodes[B], TOOLRACK_MARK_BLACKLIST, "say@1.0.0"));
    assert_int_equal(toolrack_mark(nodes[B].host, TOOLRACK_MARK_WHITELIST, "say@1.0.0", true, NULL,
                                   NULL, &err),
                     0);
    AWAIT_THAT(is_marked(&nodes[A], TOOLRACK_MARK_WHITELIST, "say@1.0.0"));
    assert_int_equal(toolrack_mark(nodes[A].host, TOOLRACK_MARK_WHITELIST, "say@1.0.0", false, NULL,
                                   NULL, &err),
                     0);
    AWAIT_THAT(!is_marked(&nodes[B], TOOLRACK_MARK_WHITELIST, "say@1.0.0"));
}

/* What is decided about a name replaces what was about its versions, at each host. */
static void test_versions(void **state) {
    (void)state;
    join_all();
    set_enabled(&nodes[A], "say@1.0.0", false);
    AWAIT_ENABLED(B, "say@1.0.0", false);
    set_enabled(&nodes[B], "say", true);
    AWAIT_ENABLED(A, "say@1.0.0", true);
    AWAIT_ENABLED(C, "say@1.0.0", true);
    assert_true(is_enabled(&nodes[A], "say@2.0.0"));
}

/* Another process of the state folder: what it stores reaches the group by the host that serves. */
static void test_other_process(void **state) {
    (void)state;
    struct node command = {0};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    join_all();
    options.config_file = "";
    options.state_dir = nodes[A].state_dir;
    options.no_scan = 1;
    options.brief = 1;
    assert_int_equal(toolrack_open(&options, &command.host, &err), 0);
    assert_int_equal(toolrack_register(command.host, &plugin, NULL, &err), 0);
    set_enabled(&command, "wipe", false);
    toolrack_close(command.host);
    AWAIT_ENABLED(A, "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
}

/* Decisions at the same time, as far as their hosts can know: the one that denies wins. */
static void test_offline(void **state) {
    (void)state;
    join_all();
    set_enabled(&nodes[A], "wipe", true); /* nothing changes, but it is a decision */
    AWAIT_THAT(has_decision(&nodes[B], "the host a, 20"));
    AWAIT_THAT(has_decision(&nodes[C], "the host a, 20"));
    close_node(&nodes[C]);
    open_node(&nodes[C], &plugin);
    set_enabled(&nodes[C], "wipe", false); /* alone */
    set_enabled(&nodes[C], "wipe", false);
    set_enabled(&nodes[A], "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
    set_enabled(&nodes[B], "wipe", true);
    AWAIT_ENABLED(A, "wipe", true);
    join_node(&nodes[C], ALL);
    AWAIT_ENABLED(A, "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
    AWAIT_THAT(has_decision(&nodes[A], "enabled; at the same time it was disabled by the host c"));
    AWAIT_THAT(has_decision(&nodes[C], "overruled"));
    assert_false(is_enabled(&nodes[C], "wipe"));
    set_enabled(&nodes[C], "wipe", true);
    AWAIT_ENABLED(A, "wipe", true);
    AWAIT_ENABLED(B, "wipe", true);
}

/* To deny again what is denied is a decision too. */
static void test_again(void **state) {
    (void)state;
    join_all();
    set_enabled(&nodes[A], "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
    AWAIT_ENABLED(C, "wipe", false);
    AWAIT_THAT(has_decision(&nodes[C], "the host a, 20"));
    close_node(&nodes[C]);
    open_node(&nodes[C], &plugin);
    set_enabled(&nodes[C], "wipe", false); /* as it is, and alone */
    set_enabled(&nodes[B], "wipe", true);
    AWAIT_ENABLED(A, "wipe", true);
    join_node(&nodes[C], ALL);
    AWAIT_ENABLED(A, "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
    assert_false(is_enabled(&nodes[C], "wipe"));
}

/* The same for grants and lists. */
static void test_offline_denials(void **state) {
    (void)state;
    join_all();
    assert_int_equal(toolrack_grant(nodes[A].host, "wipe", 3600, NULL, &err), 0);
    AWAIT_THAT(call(&nodes[B], "wipe") == 0 && call(&nodes[C], "wipe") == 0);
    close_node(&nodes[C]);
    open_node(&nodes[C], &plugin);
    assert_int_equal(toolrack_revoke(nodes[C].host, "wipe", NULL, &err), 0);
    assert_int_equal(
            toolrack_mark(nodes[C].host, TOOLRACK_MARK_BLACKLIST, "say", true, NULL, NULL, &err),
            0);
    assert_int_equal(toolrack_grant(nodes[A].host, "wipe", 0, NULL, &err), 0);
    assert_int_equal(
            toolrack_mark(nodes[B].host, TOOLRACK_MARK_WHITELIST, "say", true, NULL, NULL, &err),
            0);
    AWAIT_THAT(is_marked(&nodes[A], TOOLRACK_MARK_WHITELIST, "say"));
    join_node(&nodes[C], ALL);
    AWAIT_THAT(is_marked(&nodes[A], TOOLRACK_MARK_BLACKLIST, "say") &&
               is_marked(&nodes[B], TOOLRACK_MARK_BLACKLIST, "say"));
    AWAIT_THAT(call(&nodes[A], "wipe") == TOOLRACK_E_PERMISSION_DENIED &&
               call(&nodes[B], "wipe") == TOOLRACK_E_PERMISSION_DENIED);
    assert_int_equal(call(&nodes[C], "wipe"), TOOLRACK_E_PERMISSION_DENIED);
    AWAIT_THAT(has_decision(
            &nodes[C],
            "granted until it is revoked; at the same time it was revoked by the host c"));
}

/* A host that comes back is told what was decided meanwhile. */
static void test_return(void **state) {
    (void)state;
    join_all();
    close_node(&nodes[C]);
    set_enabled(&nodes[A], "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
    open_node(&nodes[C], &plugin);
    assert_true(is_enabled(&nodes[C], "wipe"));
    join_node(&nodes[C], ALL);
    AWAIT_ENABLED(C, "wipe", false);
}

/* A tool of the same name that is not the same is another one: also when it becomes the same. */
static void test_same_pin(void **state) {
    (void)state;
    close_node(&nodes[B]);
    open_node(&nodes[B], &other_plugin);
    join_all();
    set_enabled(&nodes[A], "wipe", false);
    set_enabled(&nodes[A], "say", false);
    AWAIT_ENABLED(C, "wipe", false);
    AWAIT_ENABLED(B, "say", false);
    assert_true(is_enabled(&nodes[B], "wipe"));
    assert_int_equal(toolrack_unregister_name(nodes[B].host, "wipe", &err), 0);
    assert_int_equal(toolrack_unregister_name(nodes[B].host, "say", &err), 0);
    assert_int_equal(toolrack_register(nodes[B].host, &plugin, NULL, &err), 0);
    AWAIT_ENABLED(B, "wipe", false);
}

/* The server is away while people decide. */
static void test_server_lost(void **state) {
    (void)state;
    join_all();
    set_enabled(&nodes[A], "say", false);
    AWAIT_ENABLED(B, "say", false);
    stop_server();
    AWAIT_LINE("the connection to the NATS server was lost");
    set_enabled(&nodes[A], "wipe", false);
    set_enabled(&nodes[B], "say", true);
    start_server(true);
    AWAIT_ENABLED(B, "wipe", false);
    AWAIT_ENABLED(C, "wipe", false);
    AWAIT_ENABLED(A, "say", true);
}

static void test_no_jets(void **state) {
    (void)state;
    stop_server();
    start_server(false);
    join_all();
    AWAIT_LINE("start it with JetStream (nats-server -js)");
    set_enabled(&nodes[A], "wipe", false);
    assert_false(is_enabled(&nodes[A], "wipe"));
    assert_true(is_enabled(&nodes[B], "wipe"));
    stop_server();
    start_server(true);
    AWAIT_ENABLED(B, "wipe", false); /* now it has one */
}

/* ---------------------------------------------------------------- attacks */

/* What is put into the bucket is something that happens. */
static void see_put(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                    void *user) {
    (void)connection;
    (void)subscription;
    (void)user;
    wake(NULL, NULL);
    nats.Msg_Destroy(message);
}

/* Someone who may use the NATS server. */
struct attacker {
    natsConnection *connection;
    natsSubscription *subscription;
    struct bucket *bucket;
    struct key *key; /* of a host */
};

static void attack(struct attacker *attacker, const char *state_dir) {
    natsOptions *options = NULL;
    assert_int_equal(nats.Options_Create(&options), NATS_OK);
    const char *servers[] = {url};
    assert_int_equal(nats.Options_SetServers(options, servers, 1), NATS_OK);
    assert_int_equal(nats.Connection_Connect(&attacker->connection, options), NATS_OK);
    nats.Options_Destroy(options);
    assert_int_equal(
            bucket_open(attacker->connection, group, DECISION_SIZE_MAX, &attacker->bucket, &err),
            0);
    assert_int_equal(key_open(state_dir, &attacker->key, &err), 0);
    CLEANUP(buf_finish) struct buf subject = BUF_INIT;
    (void)bucket_subject(group, &subject);
    assert_int_equal(nats.Connection_Subscribe(&attacker->subscription, attacker->connection,
                                               subject.data, see_put, NULL),
                     NATS_OK);
}

static void end_attack(struct attacker *attacker) {
    bucket_close(attacker->bucket);
    nats.Subscription_Destroy(attacker->subscription);
    nats.Connection_Close(attacker->connection);
    nats.Connection_Destroy(attacker->connection);
    key_destroy(attacker->key);
}

static bool never(void *user, const char *key, const char *value, size_t length) {
    (void)user;
    (void)key;
    (void)value;
    (void)length;
    return false;
}

static void put(const struct attacker *attacker, const char *key, const char *value,
                size_t length) {
    CLEANUP(buf_finish) struct buf data = BUF_INIT;
    buf_add(&data, value, length);
    assert_int_equal(bucket_put(attacker->bucket, key, &data, never, NULL, &err), 0);
}

/* The value of a key of the bucket; "" for none. On the heap. */
struct looking {
    const char *key;
    char *value;
};

static void look(void *user, const char *key, const char *value, size_t length) {
    struct looking *looking = user;
    if (strcmp(key, looking->key) == 0) {
        free(looking->value);
        looking->value = strndup(value, length);
    }
}

static char *value_of(const struct attacker *attacker, const char *key) {
    struct looking looking = {.key = key, .value = strdup("")};
    assert_int_equal(bucket_read(attacker->bucket, look, &looking, &err), 0);
    return looking.value;
}

static bool has_value(const struct attacker *attacker, const char *key, const char *value) {
    CLEANUP(freep) char *now = value_of(attacker, key);
    return strcmp(now, value) == 0;
}

/* The digest of `wipe`, from the key of a decision about it. */
struct key_search {
    char key[512];
    const char *part;
};

static void find_key(void *user, const char *key, const char *value, size_t length) {
    struct key_search *finding = user;
    (void)value;
    (void)length;
    if (strstr(key, finding->part) != NULL) {
        (void)snprintf(finding->key, sizeof finding->key, "%s", key);
    }
}

/* A decides about `wipe`, and the others follow. @return its key in the bucket */
static const char *decide_first(const struct attacker *attacker) {
    static struct key_search finding;
    CLEANUP(buf_finish) struct buf token = BUF_INIT;
    subject_add_token(&token, nodes[A].key, strlen(nodes[A].key));
    set_enabled(&nodes[A], "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
    finding = (struct key_search){.part = token.data};
    assert_int_equal(bucket_read(attacker->bucket, find_key, &finding, &err), 0);
    assert_int_equal(strncmp(finding.key, "enabled.wipe.", strlen("enabled.wipe.")), 0);
    return finding.key;
}

static struct decision about_wipe(const char *first_key, const char *host, const char *value) {
    static char digest[ANNOUNCE_DIGEST_ROOM];
    (void)snprintf(digest, sizeof digest, "%.32s", first_key + strlen("enabled.wipe."));
    return (struct decision){.kind = STORE_SHARED_ENABLED,
                             .selector = "wipe",
                             .digest = digest,
                             .host = host,
                             .stamp = clock_wall_ms() + 5,
                             .value = value,
                             .name = "evil",
                             .who = "mallory"};
}

static void put_decision(const struct attacker *attacker, const struct decision *decision,
                         const struct key *key, const char *of_group) {
    CLEANUP(buf_finish) struct buf value = BUF_INIT;
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    CLEANUP(buf_finish) struct buf token = BUF_INIT;
    subject_add_token(&token, of_group, strlen(of_group));
    decision_seal(decision, token.data, key, &value);
    decision_add_key(&name, decision);
    assert_false(value.failed || name.failed);
    put(attacker, name.data, value.data, value.length);
}

/* Only hosts that are trusted are obeyed. */
static void test_untrusted(void **state) {
    (void)state;
    struct attacker attacker = {0};
    join_node(&nodes[A], 1u << B);
    join_node(&nodes[B], 1u << A);
    join_node(&nodes[C], ALL); /* it trusts them, but they do not trust it */
    attack(&attacker, nodes[C].state_dir);
    const char *first = decide_first(&attacker);
    AWAIT_ENABLED(C, "wipe", false);
    set_enabled(&nodes[C], "wipe", true);
    AWAIT_LINE("a decision of the group is not obeyed");
    AWAIT_LINE("its host c is not trusted");
    set_enabled(&nodes[C], "say", false);
    set_enabled(&nodes[A], "say@1.0.0", false);
    AWAIT_ENABLED(B, "say@1.0.0", false); /* what came before was taken, or not, by now */
    assert_false(is_enabled(&nodes[A], "wipe") || is_enabled(&nodes[B], "wipe"));
    assert_true(is_enabled(&nodes[A], "say") && is_enabled(&nodes[B], "say"));
    assert_true(is_enabled(&nodes[C], "wipe"));
    (void)first;
    end_attack(&attacker);
}

/* Nobody can decide for another host. */
static void test_forged(void **state) {
    (void)state;
    struct attacker attacker = {0};
    join_node(&nodes[A], 1u << B);
    join_node(&nodes[B], 1u << A);
    attack(&attacker, nodes[C].state_dir);
    const char *first = decide_first(&attacker);
    CLEANUP(freep) char *true_value = value_of(&attacker, first);

    /* Signed by another key. */
    const struct decision forged = about_wipe(first, nodes[A].key, "true");
    forget_lines();
    put_decision(&attacker, &forged, attacker.key, group);
    AWAIT_LINE("its signature is not that of its host for this group");
    AWAIT_THAT(has_value(&attacker, first, true_value)); /* it is put right */

    /* Signed by the host, for another group. */
    CLEANUP(key_destroyp) struct key *of_a = NULL;
    assert_int_equal(key_open(nodes[A].state_dir, &of_a, &err), 0);
    forget_lines();
    put_decision(&attacker, &forged, of_a, "another");
    AWAIT_LINE("its signature is not that of its host for this group");

    /* Signed by the host, for another tool. */
    CLEANUP(freep) char *other_key = strdup(first);
    memcpy(strstr(other_key, "wipe"), "wipf", 4);
    forget_lines();
    put(&attacker, other_key, true_value, strlen(true_value));
    AWAIT_LINE("it is one of another key");

    assert_false(is_enabled(&nodes[A], "wipe") || is_enabled(&nodes[B], "wipe"));
    end_attack(&attacker);
}

/* A decision that was followed by another one of its host stays so, whoever puts it there again;
 * nor does a removal end anything. */
static void test_replayed(void **state) {
    (void)state;
    struct attacker attacker = {0};
    join_node(&nodes[A], ALL);
    join_node(&nodes[B], ALL);
    attack(&attacker, nodes[C].state_dir);
    const char *first = decide_first(&attacker);
    CLEANUP(freep) char *disabled = value_of(&attacker, first);
    set_enabled(&nodes[A], "wipe", true);
    AWAIT_ENABLED(B, "wipe", true);
    AWAIT_THAT(!has_value(&attacker, first, disabled));
    CLEANUP(freep) char *enabled = value_of(&attacker, first);
    set_enabled(&nodes[A], "wipe", false);
    AWAIT_ENABLED(B, "wipe", false);
    AWAIT_THAT(!has_value(&attacker, first, enabled));
    CLEANUP(freep) char *last = value_of(&attacker, first);
    assert_string_not_equal(last, disabled);

    put(&attacker, first, enabled, strlen(enabled));
    AWAIT_LINE("is older than what this host has");
    AWAIT_THAT(has_value(&attacker, first, last));
    put(&attacker, first, "", 0);
    AWAIT_THAT(has_value(&attacker, first, last));
    assert_false(is_enabled(&nodes[A], "wipe") || is_enabled(&nodes[B], "wipe"));

    /* A host that comes for the first time gets the last one. */
    join_node(&nodes[C], ALL);
    AWAIT_ENABLED(C, "wipe", false);
    end_attack(&attacker);
}

/* Whatever bytes are there, each is refused by a line. */
static void test_garbage(void **state) {
    (void)state;
    static char huge[DECISION_SIZE_MAX + 1];
    CLEANUP(buf_finish) struct buf subject = BUF_INIT;
    struct attacker attacker = {0};
    join_node(&nodes[A], ALL);
    join_node(&nodes[B], ALL);
    attack(&attacker, nodes[C].state_dir);
    const char *first = decide_first(&attacker);
    memset(huge, '[', sizeof huge);
    const struct {
        const char *key;
        const char *value;
        size_t length;
        const char *line;
    } bad[] = {
            {"x", "{}", 2, "the value of x in the bucket"},
            {"enabled.wipe", "\0\xff", 2, "the value of enabled.wipe in the bucket"},
            {"a.b.c.d.e", huge, sizeof huge / 2, "the value of a.b.c.d.e in the bucket"},
            {first, "{\"v\":1}", 7, "it has no usable \"signature\""},
            {first, "{\"v\":1,\"signature\":\"\",\"decision\":\"{}\"}", 39, "not obeyed"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        forget_lines();
        put(&attacker, bad[i].key, bad[i].value, bad[i].length);
        AWAIT_LINE(bad[i].line);
    }
    /* The bucket does not take that, and the hosts hear of it all the same. */
    subject.length = bucket_subject(group, &subject);
    buf_add_text(&subject, "x.y");
    assert_int_equal(
            nats.Connection_Publish(attacker.connection, subject.data, huge, (int)sizeof huge),
            NATS_OK);
    AWAIT_LINE("it has 16385 bytes, at most 16384 may be");
    set_enabled(&nodes[B], "wipe", true);
    AWAIT_ENABLED(A, "wipe", true);
    end_attack(&attacker);
}

/* Two hosts disagree about the time: it is told, and their decisions hold all the same. */
static void test_clock(void **state) {
    (void)state;
    struct attacker attacker = {0};
    join_node(&nodes[A], ALL);
    join_node(&nodes[B], ALL);
    attack(&attacker, nodes[C].state_dir);
    const char *first = decide_first(&attacker);
    struct decision ahead = about_wipe(first, nodes[C].key, "true");
    const struct merge_seen seen[] = {{nodes[A].key, clock_wall_ms()}};
    ahead.stamp += (int64_t)3600 * 1000;
    ahead.seen = seen;
    ahead.seen_count = 1;
    put_decision(&attacker, &ahead, attacker.key, group);
    AWAIT_LINE("the clock of the host evil is 3");
    AWAIT_ENABLED(A, "wipe", true);
    AWAIT_ENABLED(B, "wipe", true);
    set_enabled(&nodes[A], "wipe", false); /* earlier by the clock, and it has seen that */
    AWAIT_ENABLED(B, "wipe", false);
    end_attack(&attacker);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(test_enabled, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_kinds, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_versions, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_other_process, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_offline, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_again, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_offline_denials, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_return, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_same_pin, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_untrusted, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_forged, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_replayed, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_garbage, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_clock, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_server_lost, set_up, tear_down),
            cmocka_unit_test_setup_teardown(test_no_jets, set_up, tear_down),
    };
    (void)snprintf(folder, sizeof folder, "/tmp/toolrack-agree-XXXXXX");
    if (mkdtemp(folder) == NULL || libnats_load(&err) < 0) {
        return 1;
    }
    clock_cond_init(&changed);
    start_server(true);
    int failures = cmocka_run_group_tests_name("agree", tests, NULL, NULL);
    stop_server();
    return remove_tree(folder) == 0 ? failures : 1;
}
