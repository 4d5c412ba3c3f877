/* Hosts that are joined by NATS, over a real nats-server on loopback: calls between two hosts of
 * this process, hosts that the test plays itself, and attacks. */
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
#include "remote/nats/key.h"
#include "remote/nats/libnats.h"
#include "toolrack/hosts.h"
#include "toolrack/plugin.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

#define BEAT_MS     50
#define PATIENCE_MS 20000

static struct toolrack_error err;

/* ------------------------------------------------------------------ server */

static pid_t server;
static char url[64];

/* The server says on which free port it listens, and when it is ready. */
static int start_server(void **state) {
    (void)state;
    int fds[2];
    char line[512];
    int port = 0;
    if (pipe(fds) < 0) {
        return -1;
    }
    server = fork();
    if (server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(fds[1], STDERR_FILENO);
        (void)execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", "-1", (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    FILE *out = fdopen(fds[0], "r");
    while (out != NULL && fgets(line, sizeof line, out) != NULL &&
           strstr(line, "Server is ready") == NULL) {
        const char *at = strstr(line, "client connections on 127.0.0.1:");
        port = at != NULL ? atoi(strrchr(at, ':') + 1) : port;
    }
    (void)snprintf(url, sizeof url, "nats://127.0.0.1:%d", port);
    /* `out` stays open: the server goes on writing. */
    return server > 0 && port > 0 && libnats_load(&err) == 0 ? 0 : -1;
}

static int stop_server(void **state) {
    (void)state;
    (void)kill(server, SIGKILL);
    return waitpid(server, NULL, 0) == server ? 0 : -1;
}

/* ------------------------------------------------------------------- tools */

static sem_t begun;           /* posted by `wait` when it runs */
static atomic_bool cancelled; /* `wait` was */
static atomic_uint ran;       /* how often `careful` did */

static tr_status run_double(struct tr_call *call) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_i64(call, "twice", 2 * tr_get_i64(call, "number", 0));
    return tr_put_end(call);
}

static tr_status run_say(struct tr_call *call) {
    return tr_reply_text(call, tr_get_string(call, "text", ""));
}

static tr_status run_draw(struct tr_call *call) {
    (void)tr_reply_text(call, "a dot");
    (void)tr_reply_image(call, "\x89PNG", 4, "image/png");
    return tr_reply_json(call, "{\"dots\":1}");
}

static tr_status run_fail_it(struct tr_call *call) {
    return tr_fail(call, TR_INVALID_ARGUMENTS, "text", "is not what was hoped for");
}

static tr_status run_report(struct tr_call *call) {
    tr_progress(call, 1, 2, "half");
    tr_log(call, TR_LOG_WARNING, "nearly there");
    const char *content = NULL;
    tr_status status = tr_ask(
            call, "Which one?",
            TR_SCHEMA({"type" : "object", "properties" : {"one" : {"type" : "string"}}}), &content);
    return status == TR_OK ? tr_reply_json(call, content)
                           : tr_fail(call, TR_FAILED, NULL, "nobody answered");
}

static tr_status run_wait(struct tr_call *call) {
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    (void)sem_post(&begun);
    while (!tr_cancelled(call)) { /* a tool is not told, it looks */
        (void)nanosleep(&pause, NULL);
    }
    atomic_store(&cancelled, true);
    return TR_CANCELLED;
}

static tr_status run_careful(struct tr_call *call) {
    (void)atomic_fetch_add(&ran, 1);
    return tr_reply_text(call, "done");
}

#define ANYTHING TR_SCHEMA({"type" : "object"})
#define TOOL(tool_name, function, tool_permission, tool_flags)                                  \
    {                                                                                           \
        .size = sizeof(struct tr_tool), .flags = tool_flags, .name = tool_name,                 \
        .description = "A tool of the test", .permission = tool_permission, .schema = ANYTHING, \
        .run = function                                                                         \
    }
static const struct tr_tool tools[] = {
        TOOL("double", run_double, TR_SAFE, TR_READ_ONLY),
        TOOL("say", run_say, TR_SAFE, 0),
        TOOL("draw", run_draw, TR_SAFE, 0),
        TOOL("fail_it", run_fail_it, TR_SAFE, 0),
        TOOL("report", run_report, TR_SAFE, 0),
        TOOL("wait", run_wait, TR_SAFE, 0),
        TOOL("careful", run_careful, TR_CONFIRM, 0),
};
static const struct tr_tool *const table[] = {&tools[0], &tools[1], &tools[2], &tools[3],
                                              &tools[4], &tools[5], &tools[6]};
static const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                        .size = sizeof plugin,
                                        .abi_major = TR_ABI_MAJOR,
                                        .abi_minor = TR_ABI_MINOR,
                                        .flags = TR_THREAD_SAFE,
                                        .id = "test.tools",
                                        .version = "1.2.3-rc.1",
                                        .tool_count = ARRAY_LENGTH(table),
                                        .tool_size = sizeof(struct tr_tool),
                                        .tools = table};

/* ------------------------------------------------------------------- hosts */

static struct toolrack *server_host; /* has the tools */
static struct toolrack *front;       /* has none */
static char *server_key;
static char *front_key;
static unsigned group_number;
static char group[32];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

/* A toolrack_listener of both. */
static void note_event(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)event;
    (void)pthread_mutex_lock(&lock);
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

static bool
        is_forgery_told; /* of a host whose tools are signed by another key; guarded by `lock` */
static unsigned refused_orders; /* likewise, lines about them */
static bool is_stranger_told;   /* likewise, that a message about a call is by nobody */

static struct timespec patience(void) {
    return clock_timespec(clock_now_ns() + (uint64_t)PATIENCE_MS * CLOCK_NS_PER_MS);
}

static bool has(struct toolrack *host, const char *name) {
    struct toolrack_tool *tool = toolrack_get(host, name);
    toolrack_tool_unref(tool);
    return tool != NULL;
}

/* Wait until the front has a tool, or has it no more. */
static void await(const char *name, bool there) {
    const struct timespec until = patience();
    (void)pthread_mutex_lock(&lock);
    while (has(front, name) != there) {
        assert_int_equal(pthread_cond_timedwait(&changed, &lock, &until), 0);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* What is wrong is in the test's log. */
static void show_line(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    (void)user;
    (void)level;
    (void)fprintf(stderr, "%s: %s\n", source, line);
    (void)pthread_mutex_lock(&lock);
    is_forgery_told = is_forgery_told ||
                      strstr(line, "the signature of its tools is wrong") != NULL ||
                      strstr(line, "are not signed by the key that it announces") != NULL;
    refused_orders += strstr(line, "an order was refused") != NULL;
    is_stranger_told = is_stranger_told || strstr(line, "was not sent by the host back") != NULL;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = 1;
    options.log = show_line;
    options.log_level = TOOLRACK_LOG_WARNING;
    assert_int_equal(toolrack_open(&options, &host, &err), 0);
    assert_int_equal(toolrack_add_listener(host, note_event, NULL, &err), 0);
    return host;
}

static void join(struct toolrack *host, const char *name, const char *trusted) {
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    const char *const keys[] = {trusted, NULL};
    options.url = url;
    options.group = group;
    options.name = name;
    options.beat_ms = BEAT_MS;
    options.trusted = keys;
    if (toolrack_join(host, &options, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static yyjson_doc *hosts_of(struct toolrack *host) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    size_t length = 0;
    assert_int_equal(toolrack_hosts(host, 0, &text, &err), 0);
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    assert_non_null(doc);
    return doc;
}

static char *key_of(struct toolrack *host) {
    yyjson_doc *doc = hosts_of(host);
    char *key = strdup(yyjson_get_str(json_at(yyjson_doc_get_root(doc), "0/key")));
    yyjson_doc_free(doc);
    return key;
}

/* The front joins first, without trust, since a key is known once its host has joined. */
static int open_hosts(void **state) {
    (void)state;
    (void)snprintf(group, sizeof group, "test.%u", ++group_number);
    (void)sem_init(&begun, 0, 0);
    atomic_store(&cancelled, false);
    atomic_store(&ran, 0);
    is_forgery_told = is_stranger_told = false;
    refused_orders = 0;
    front = open_host();
    server_host = open_host();
    assert_int_equal(toolrack_register(server_host, &plugin, NULL, &err), 0);
    return 0;
}

static int close_hosts(void **state) {
    (void)state;
    toolrack_close(front);
    toolrack_close(server_host);
    front = server_host = NULL;
    free(STEAL(front_key));
    free(STEAL(server_key));
    (void)sem_destroy(&begun);
    return 0;
}

/* The front trusts nobody and is trusted by the host that has the tools, or not. */
static void join_both(bool is_trusted) {
    join(front, "front", NULL);
    front_key = key_of(front);
    join(server_host, "back", is_trusted ? front_key : NULL);
    server_key = key_of(server_host);
    await("wait", true); /* the last one */
}

static int call(struct toolrack *host, const char *name, const char *arguments,
                const struct toolrack_call_options *given, char *ret, size_t room) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    if (given != NULL) {
        options = *given;
    }
    /* Its hosts are not trusted, so each tool is `confirm` here. */
    options.confirmed = 1;
    options.confirmed_by = "the test";
    int code = toolrack_call(host, name, arguments, &options, &result, &err);
    if (ret != NULL) {
        (void)snprintf(ret, room, "%s", code == 0 ? toolrack_result_json(result, NULL) : "");
    }
    toolrack_result_free(result);
    return code;
}

static void assert_call(const char *name, const char *arguments, const char *expected) {
    char text[1024];
    int code = call(front, name, arguments, NULL, text, sizeof text);
    if (code < 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(text, expected);
}

/* ------------------------------------------------------------------- calls */

static void test_results(void **state) {
    (void)state;
    join_both(false);
    assert_call("double", "{\"number\":21}", "{\"twice\":42}");
    assert_call("say", "{\"text\":\"h\\u00e4\\n\"}", "\"h\xc3\xa4\\n\"");
    assert_call("draw", "{}",
                "{\"content\":[{\"type\":\"text\",\"text\":\"a dot\"},{\"type\":\"image\",\"data\":"
                "\"iVBORw==\",\"mimeType\":\"image/png\"}],\"structuredContent\":{\"dots\":1}}");
    assert_int_equal(call(front, "fail_it", "{\"text\":1}", NULL, NULL, 0),
                     TOOLRACK_E_INVALID_ARGUMENTS);
    assert_string_equal(err.field, "/text");
    assert_non_null(strstr(err.message, "is not what was hoped for"));
    assert_non_null(strstr(err.message, "on the host back"));
}

/* Who has heard what of a call. */
struct heard {
    double done;
    char text[64];
    char line[64];
    char asked[128];
    atomic_bool cancels;
};

static void hear_progress(void *user, double done, double total, const char *message) {
    struct heard *heard = user;
    heard->done = done / total;
    (void)snprintf(heard->text, sizeof heard->text, "%s", message);
}

static void hear_log(void *user, enum toolrack_log_level level, const char *line) {
    struct heard *heard = user;
    assert_int_equal(level, TOOLRACK_LOG_WARNING);
    (void)snprintf(heard->line, sizeof heard->line, "%s", line);
}

static int hear_question(void *user, const char *message, const char *schema, char **ret_content) {
    struct heard *heard = user;
    static const char content[] = "{\"one\":\"the left\"}";
    assert_non_null(strstr(schema, "\"one\""));
    (void)snprintf(heard->asked, sizeof heard->asked, "%s", message);
    *ret_content = toolrack_alloc(sizeof content);
    memcpy(*ret_content, content, sizeof content);
    return TOOLRACK_ANSWER_ACCEPTED;
}

static void test_while_it_runs(void **state) {
    (void)state;
    struct heard heard = {0};
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    char text[128];
    join_both(false);
    options.progress = hear_progress;
    options.log = hear_log;
    options.ask = hear_question;
    options.user = &heard;
    assert_int_equal(call(front, "report", "{}", &options, text, sizeof text), 0);
    assert_string_equal(text, "{\"one\":\"the left\"}");
    assert_true(heard.done == 0.5);
    assert_string_equal(heard.text, "half");
    assert_string_equal(heard.line, "nearly there");
    assert_string_equal(heard.asked, "[report on the host back] Which one?");

    /* Nobody is there to be asked. */
    assert_int_equal(call(front, "report", "{}", NULL, NULL, 0), TOOLRACK_E_EXECUTION_FAILED);
    assert_non_null(strstr(err.message, "nobody answered"));
}

static void test_deadline(void **state) {
    (void)state;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    const struct timespec until = patience();
    join_both(false);
    options.deadline_ms = 100;
    assert_int_equal(call(front, "wait", "{}", &options, NULL, 0), TOOLRACK_E_TIMEOUT);
    while (!atomic_load(&cancelled)) { /* the tool is told too */
        const struct timespec pause = {.tv_nsec = 1000 * 1000};
        assert_true(clock_now_ns() / CLOCK_NS_PER_S < (uint64_t)until.tv_sec);
        (void)nanosleep(&pause, NULL);
    }
}

/* How a submitted call ended. */
struct ended {
    sem_t done;
    int code;
    struct toolrack_error error;
};

static void end_call(void *user, struct toolrack_result *result,
                     const struct toolrack_error *error) {
    struct ended *ended = user;
    ended->code = error != NULL ? error->code : 0;
    toolrack_error_copy(error != NULL ? &ended->error : NULL, error);
    toolrack_result_free(result);
    (void)sem_post(&ended->done);
}

static struct toolrack_call *submit(const char *name, struct ended *ended) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_call *submitted = NULL;
    options.confirmed = 1;
    options.deadline_ms = PATIENCE_MS;
    (void)sem_init(&ended->done, 0, 0);
    assert_int_equal(
            toolrack_submit(front, name, "{}", &options, end_call, ended, &submitted, &err), 0);
    return submitted;
}

static void test_cancel(void **state) {
    (void)state;
    struct ended ended = {0};
    join_both(false);
    struct toolrack_call *submitted = submit("wait", &ended);
    assert_int_equal(sem_wait(&begun), 0);
    toolrack_cancel(submitted);
    assert_int_equal(sem_wait(&ended.done), 0);
    assert_int_equal(ended.code, TOOLRACK_E_CANCELLED);
    toolrack_call_unref(submitted);
    (void)sem_destroy(&ended.done);
}

/* A host that leaves cancels what it runs for others; its tools go. */
static void test_leave(void **state) {
    (void)state;
    struct ended ended = {0};
    join_both(false);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *held = toolrack_get(front, "double");
    assert_non_null(held);
    assert_string_equal(toolrack_tool_trust(held), "community");
    struct toolrack_call *submitted = submit("wait", &ended);
    assert_int_equal(sem_wait(&begun), 0);
    toolrack_leave(server_host);
    assert_int_equal(sem_wait(&ended.done), 0);
    assert_int_not_equal(ended.code, 0);
    await("double", false);
    toolrack_call_unref(submitted);
    (void)sem_destroy(&ended.done);

    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    options.confirmed = 1;
    assert_int_equal(toolrack_tool_call(front, held, "{}", 2, &options, &result, &err),
                     TOOLRACK_E_UNAVAILABLE);
}

static void test_own_tool_first(void **state) {
    (void)state;
    join_both(false);
    assert_int_equal(toolrack_register(front, &plugin, NULL, &err), 0);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(front, "double");
    assert_string_equal(toolrack_tool_trust(tool), "builtin");
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(front, "double", "{\"number\":2}", NULL, &result, &err), 0);
    toolrack_result_free(result);

    /* That of the other host is there again when its own is gone. */
    assert_int_equal(toolrack_unregister_name(front, "double", &err), 0);
    await("double", true);
    assert_call("double", "{\"number\":3}", "{\"twice\":6}");
}

/* What a host has mounted is what it has: others call it, and its own is before that of others. */
static void test_mounted_server(void **state) {
    (void)state;
    char folder[] = "/tmp/toolrack-nats-XXXXXX";
    const char *const dirs[] = {folder, NULL};
    char path[64];
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/toolrack.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("{\"mcpServers\": {\"x\": {\"command\": \"" FAKE_SERVER
                "\", \"permission\": \"safe\"}}}",
                file);
    assert_int_equal(fclose(file), 0);
    options.config_file = path;
    options.state_dir = "";
    options.plugin_dirs = dirs;
    options.log = show_line;
    options.log_level = TOOLRACK_LOG_WARNING;
    toolrack_close(server_host);
    assert_int_equal(toolrack_open(&options, &server_host, &err), 0);
    join(front, "front", NULL);
    join(server_host, "back", NULL);
    await("x_echo", true);
    assert_call("x_echo", "{\"text\":\"hi\"}", "\"hi\"");
    assert_call("x_add", "{\"a\":1,\"b\":2}", "{\"sum\":3}");

    /* A third that has mounted it too has its own, although the other's are there first. */
    struct toolrack *third = NULL;
    assert_int_equal(toolrack_open(&options, &third, &err), 0);
    join(third, "third", NULL);
    struct toolrack_tool *tool = toolrack_get(third, "x_echo");
    assert_non_null(tool);
    assert_string_equal(toolrack_tool_plugin(tool), "mcp.x");
    toolrack_tool_unref(tool);
    toolrack_close(third);
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ------------------------------------------------------- a host of the test */

/* A host that the test plays: what it says is up to the test. */
struct played {
    natsConnection *connection;
    natsSubscription *subscriptions[8];
    size_t count;
    char *page;         /* its answer to a request for tools */
    const char *key;    /* headers of that; NULL: none */
    sem_t called;       /* posted by a call */
    char payload[4096]; /* of the last call */
    char headers[4][128];
    char call_subject[128];
    char call_reply[128];
};

#define PLAYED_INSTANCE "00000000deadbeef"

static void played_tools(natsConnection *connection, natsSubscription *subscription,
                         natsMsg *message, void *user) {
    (void)subscription;
    struct played *played = user;
    natsMsg *answer = NULL;
    assert_int_equal(nats.Msg_Create(&answer, nats.Msg_GetReply(message), NULL, played->page,
                                     (int)strlen(played->page)),
                     NATS_OK);
    if (played->key != NULL) { /* as if it had signed */
        static const char signature[] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                                        "AAAAAAAAAAAAAAAAAAAAAAAAAAAA==";
        (void)nats.MsgHeader_Set(answer, "Toolrack-Key", played->key);
        (void)nats.MsgHeader_Set(answer, "Toolrack-Signature", signature);
    }
    (void)nats.Connection_PublishMsg(connection, answer);
    nats.Msg_Destroy(answer);
    nats.Msg_Destroy(message);
}

static const char *const signed_headers[] = {"Toolrack-Key", "Toolrack-Time", "Toolrack-Nonce",
                                             "Toolrack-Code"};

/* Takes a call, as the host that it is for or as one that listens in, and does not answer. */
static void played_call(natsConnection *connection, natsSubscription *subscription,
                        natsMsg *message, void *user) {
    (void)connection;
    (void)subscription;
    struct played *played = user;
    (void)snprintf(played->payload, sizeof played->payload, "%.*s", nats.Msg_GetDataLength(message),
                   nats.Msg_GetData(message));
    (void)snprintf(played->call_subject, sizeof played->call_subject, "%s",
                   nats.Msg_GetSubject(message));
    (void)snprintf(played->call_reply, sizeof played->call_reply, "%s", nats.Msg_GetReply(message));
    for (size_t i = 0; i < ARRAY_LENGTH(signed_headers); i++) {
        const char *value = NULL;
        (void)nats.MsgHeader_Get(message, signed_headers[i], &value);
        (void)snprintf(played->headers[i], sizeof played->headers[i], "%s",
                       value != NULL ? value : "");
    }
    nats.Msg_Destroy(message);
    (void)sem_post(&played->called);
}

static void played_quiet(natsConnection *connection, natsSubscription *subscription,
                         natsMsg *message, void *user) {
    (void)connection;
    (void)subscription;
    (void)user;
    nats.Msg_Destroy(message);
}

static void played_subscribe(struct played *played, const char *rest, natsMsgHandler handle) {
    char subject[160];
    (void)snprintf(subject, sizeof subject, "toolrack.1.test=2E%u.%s", group_number, rest);
    assert_int_equal(nats.Connection_Subscribe(&played->subscriptions[played->count++],
                                               played->connection, subject, handle, played),
                     NATS_OK);
}

static void played_connect(struct played *played) {
    natsOptions *options = NULL;
    const char *servers[] = {url};
    *played = (struct played){0};
    (void)sem_init(&played->called, 0, 0);
    assert_int_equal(nats.Options_Create(&options), NATS_OK);
    assert_int_equal(nats.Options_SetServers(options, servers, 1), NATS_OK);
    assert_int_equal(nats.Connection_Connect(&played->connection, options), NATS_OK);
    nats.Options_Destroy(options);
}

/* Announce itself as a host with these tools (a JSON array). */
static void played_announce(struct played *played, const char *described, const char *digest) {
    char subject[160];
    char text[512];
    size_t room = strlen(described) + 256;
    played->page = malloc(room);
    assert_non_null(played->page);
    (void)snprintf(played->page, room,
                   "{\"v\":1,\"digest\":\"%s\",\"from\":0,\"tools\":%s,\"next\":null}", digest,
                   described);
    played_subscribe(played, "host." PLAYED_INSTANCE ".tools", played_tools);
    played_subscribe(played, "host." PLAYED_INSTANCE ".call", played_call);
    played_subscribe(played, "host." PLAYED_INSTANCE ".control", played_quiet);
    played_subscribe(played, "host." PLAYED_INSTANCE ".probe", played_quiet);
    (void)snprintf(subject, sizeof subject, "toolrack.1.test=2E%u.announce." PLAYED_INSTANCE,
                   group_number);
    int length = snprintf(text, sizeof text,
                          "{\"v\":1,\"instance\":\"" PLAYED_INSTANCE "\",\"name\":\"played\","
                          "\"version\":\"1\",\"digest\":\"%s\",\"running\":0,\"tools\":1}",
                          digest);
    assert_int_equal(nats.Connection_Publish(played->connection, subject, text, length), NATS_OK);
    assert_int_equal(nats.Connection_FlushTimeout(played->connection, PATIENCE_MS), NATS_OK);
}

/* Its connection ends, as that of a host that is killed. */
static void played_die(struct played *played) {
    nats.Connection_Close(played->connection);
    for (size_t i = 0; i < played->count; i++) {
        nats.Subscription_Destroy(played->subscriptions[i]);
    }
    nats.Connection_Destroy(played->connection);
    free(played->page);
    (void)sem_destroy(&played->called);
}

#define DESCRIBED(name, more)                                                                 \
    "[{\"name\":\"" name "\",\"version\":\"1.0.0\",\"description\":\"Played\",\"schema\":\"{" \
    "\\\"type\\\":\\\"object\\\"}\",\"permission\":\"safe\"" more "}]"

/* A host that dies in the middle of a call: the call fails clearly and is not repeated. */
static void test_death(void **state) {
    (void)state;
    struct played played;
    struct ended ended = {0};
    join(front, "front", NULL);
    played_connect(&played);
    played_announce(&played, DESCRIBED("once", ""), "d1");
    await("once", true);
    struct toolrack_call *submitted = submit("once", &ended);
    assert_int_equal(sem_wait(&played.called), 0);
    played_die(&played);
    assert_int_equal(sem_wait(&ended.done), 0);
    assert_int_equal(ended.code, TOOLRACK_E_EXECUTION_FAILED);
    assert_int_equal(toolrack_error_cause(&ended.error), TOOLRACK_CAUSE_DEATH);
    assert_non_null(strstr(ended.error.message, "the host played, which ran once, is gone"));
    toolrack_call_unref(submitted);
    (void)sem_destroy(&ended.done);
    await("once", false);
}

/* What is said of `double` of the host that has it. */
static char *described_double(void) {
    struct toolrack_tool *tool = toolrack_get(server_host, "double");
    static const char form[] =
            "[{\"name\":\"double\",\"version\":\"1.2.3-rc.1\",\"description\":\"A tool of the "
            "test\",\"schema\":\"{\\\"type\\\" : \\\"object\\\"}\",\"permission\":\"safe\","
            "\"read_only\":true}]";
    assert_string_equal(toolrack_tool_schema(tool), "{\"type\" : \"object\"}");
    toolrack_tool_unref(tool);
    return strdup(form);
}

/* A tool that changes nothing is called on another host that has it. The first call goes to the
 * host that dies: the other one is busy. */
static void test_retry(void **state) {
    (void)state;
    struct played played;
    struct ended busy = {0};
    struct ended ended = {0};
    join_both(false);
    CLEANUP(freep) char *described = described_double();
    struct toolrack_call *blocking = submit("wait", &busy);
    assert_int_equal(sem_wait(&begun), 0);
    played_connect(&played);
    played_announce(&played, described, "d2");
    const struct timespec until = patience();
    for (size_t known = 0;
         known < 2;) { /* the tool is there already: no event tells of another host */
        yyjson_doc *doc = hosts_of(front);
        size_t at;
        size_t count;
        yyjson_val *row;
        known = 0;
        yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
            known += yyjson_get_uint(yyjson_obj_get(row, "tools")) > 0;
        }
        yyjson_doc_free(doc);
        assert_true(clock_now_ns() / CLOCK_NS_PER_S < (uint64_t)until.tv_sec);
    }
    struct toolrack_call *submitted = submit("double", &ended);
    assert_int_equal(sem_wait(&played.called), 0);
    played_die(&played);
    assert_int_equal(sem_wait(&ended.done), 0);
    if (ended.code < 0) {
        fail_msg("%s", ended.error.message);
    }
    toolrack_cancel(blocking);
    assert_int_equal(sem_wait(&busy.done), 0);
    toolrack_call_unref(submitted);
    toolrack_call_unref(blocking);
    (void)sem_destroy(&busy.done);
    (void)sem_destroy(&ended.done);
}

/* ----------------------------------------------------------------- attacks */

/* An announcement sets no trust and lowers no permission, and a signature that is claimed counts
 * only if it fits. */
static void test_announcement(void **state) {
    (void)state;
    struct played played;
    join(front, "front", NULL);
    played_connect(&played);
    played_announce(&played, DESCRIBED("sly", ",\"trust\":\"builtin\""), "d3");
    await("sly", true);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(front, "sly");
    assert_int_equal(toolrack_tool_permission(tool), TOOLRACK_PERMISSION_CONFIRM);
    assert_string_equal(toolrack_tool_trust(tool), "community");
    assert_int_equal(toolrack_tool_priority(tool), TOOLRACK_PRIORITY_COMMUNITY);
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(front, "sly", "{}", NULL, &result, &err),
                     TOOLRACK_E_CONFIRMATION_REQUIRED);
    played_die(&played);
}

static void await_forgery_told(void) {
    const struct timespec until = patience();
    (void)pthread_mutex_lock(&lock);
    while (!is_forgery_told) {
        assert_int_equal(pthread_cond_timedwait(&changed, &lock, &until), 0);
    }
    (void)pthread_mutex_unlock(&lock);
}

static void test_forged_tools(void **state) {
    (void)state;
    struct played played;
    join(server_host, "back", NULL);
    server_key = key_of(server_host);
    join(front, "front", server_key);
    await("double", true);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = toolrack_get(front, "double");
    assert_int_equal(toolrack_tool_permission(tool), TOOLRACK_PERMISSION_SAFE); /* it is trusted */

    played_connect(&played);
    played.key = server_key; /* which it has not */
    played_announce(&played, DESCRIBED("forged", ""), "d4");
    await_forgery_told();
    assert_false(has(front, "forged"));
    played_die(&played);
}

/* Announce the host that the test plays as one with a key, which signs that. */
static void announce_signed(const struct played *played, const struct key *key) {
    char subject[160];
    char text[512];
    char token[64];
    char signature[KEY_SIGNATURE_ROOM];
    natsMsg *message = NULL;
    (void)snprintf(token, sizeof token, "test=2E%u", group_number);
    (void)snprintf(subject, sizeof subject, "toolrack.1.%s.announce." PLAYED_INSTANCE, token);
    int length = snprintf(text, sizeof text,
                          "{\"v\":1,\"instance\":\"" PLAYED_INSTANCE "\",\"name\":\"played\","
                          "\"key\":\"%s\",\"version\":\"1\",\"digest\":\"d5\"}",
                          key_public(key));
    const struct key_statement statement = {.purpose = "announcement",
                                            .group = token,
                                            .instance = PLAYED_INSTANCE,
                                            .time = "",
                                            .nonce = "1",
                                            .data = text,
                                            .length = (size_t)length};
    key_sign(key, &statement, signature);
    assert_int_equal(nats.Msg_Create(&message, subject, NULL, text, length), NATS_OK);
    assert_int_equal(nats.MsgHeader_Set(message, "Toolrack-Nonce", "1"), NATS_OK);
    assert_int_equal(nats.MsgHeader_Set(message, "Toolrack-Signature", signature), NATS_OK);
    assert_int_equal(nats.Connection_PublishMsg(played->connection, message), NATS_OK);
    nats.Msg_Destroy(message);
}

/* Who answers in the place of a host that a trusted key has announced has no tools here, and does
 * not become that host. */
static void test_stolen_pages(void **state) {
    (void)state;
    struct played played;
    CLEANUP(key_destroyp) struct key *key = NULL;
    assert_int_equal(key_open(NULL, &key, &err), 0);
    join(front, "front", key_public(key));
    played_connect(&played);
    /* Its number has been announced by nobody yet. */
    played_announce(&played, DESCRIBED("stolen", ""), "");
    announce_signed(&played, key);
    await_forgery_told();
    assert_false(has(front, "stolen"));
    yyjson_doc *doc = hosts_of(front);
    yyjson_val *row = yyjson_arr_get(yyjson_doc_get_root(doc), 1);
    assert_string_equal(yyjson_get_str(yyjson_obj_get(row, "key")), key_public(key));
    assert_int_equal(yyjson_get_uint(yyjson_obj_get(row, "tools")), 0);
    yyjson_doc_free(doc);
    played_die(&played);
}

/* Of so many hosts that nobody knows that no other fits, one makes room for a trusted one, whose
 * tools are asked for. */
static void test_crowd(void **state) {
    (void)state;
    struct played played;
    CLEANUP(key_destroyp) struct key *key = NULL;
    char subject[160];
    char text[256];
    assert_int_equal(key_open(NULL, &key, &err), 0);
    join(front, "front", key_public(key));
    played_connect(&played);
    played_subscribe(&played, "host.*.probe", played_quiet); /* else the server says: nobody */
    played_subscribe(&played, "host." PLAYED_INSTANCE ".tools", played_tools);
    played.page = strdup("{\"v\":1,\"digest\":\"d5\",\"from\":0,\"tools\":[],\"next\":null}");
    assert_non_null(played.page);
    assert_int_equal(nats.Connection_FlushTimeout(played.connection, PATIENCE_MS), NATS_OK);
    for (unsigned i = 0; i < 4500; i++) { /* more than MEMBER_HOSTS_MAX */
        (void)snprintf(subject, sizeof subject, "toolrack.1.test=2E%u.announce.%016x", group_number,
                       i);
        int length = snprintf(text, sizeof text,
                              "{\"v\":1,\"instance\":\"%016x\",\"name\":\"one of many\"}", i);
        assert_int_equal(nats.Connection_Publish(played.connection, subject, text, length),
                         NATS_OK);
    }
    announce_signed(&played, key);
    await_forgery_told(); /* it was asked: its page has no signature */
    played_die(&played);
}

/* Send a request and read the code of the error that is its answer; "": a result. */
static void ask_raw(struct played *played, const char *subject, const char *payload,
                    const char *const values[4], char *ret_code, char *ret_message, size_t room) {
    natsMsg *message = NULL;
    natsMsg *answer = NULL;
    assert_int_equal(nats.Msg_Create(&message, subject, NULL, payload, (int)strlen(payload)),
                     NATS_OK);
    for (size_t i = 0; values != NULL && i < 4; i++) {
        assert_int_equal(nats.MsgHeader_Set(message, signed_headers[i], values[i]), NATS_OK);
    }
    assert_int_equal(nats.Connection_RequestMsg(&answer, played->connection, message, PATIENCE_MS),
                     NATS_OK);
    yyjson_doc *doc =
            yyjson_read(nats.Msg_GetData(answer), (size_t)nats.Msg_GetDataLength(answer), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *code = yyjson_get_str(yyjson_obj_get(root, "code"));
    const char *text = yyjson_get_str(yyjson_obj_get(root, "message"));
    (void)snprintf(ret_code, room, "%s", code != NULL ? code : "");
    (void)snprintf(ret_message, room, "%s", text != NULL ? text : "");
    yyjson_doc_free(doc);
    nats.Msg_Destroy(answer);
    nats.Msg_Destroy(message);
}

static void test_permission(void **state) {
    (void)state;
    join_both(false);
    /* Granted or not: this host does not trust the one that calls. */
    assert_int_equal(toolrack_grant(server_host, "careful", 0, NULL, &err), 0);
    assert_int_equal(call(front, "careful", "{}", NULL, NULL, 0), TOOLRACK_E_PERMISSION_DENIED);
    assert_non_null(strstr(err.message, front_key));
    assert_non_null(strstr(err.message, "trusted_hosts"));
    assert_int_equal(atomic_load(&ran), 0);
}

/* A trusted host's call runs; a copy of it, and one that was changed, do not. */
static void test_replay(void **state) {
    (void)state;
    struct played spy;
    char code[128];
    char text[1024];
    char told[1024];
    join_both(true);
    played_connect(&spy);
    played_subscribe(&spy, "host.*.call", played_call);
    assert_int_equal(nats.Connection_FlushTimeout(spy.connection, PATIENCE_MS), NATS_OK);
    assert_call("careful", "{}", "\"done\"");
    assert_int_equal(atomic_load(&ran), 1);
    assert_int_equal(sem_wait(&spy.called), 0);
    char payload[4096];
    char values[4][128];
    char subject[128];
    memcpy(payload, spy.payload, sizeof payload);
    memcpy(values, spy.headers, sizeof values);
    memcpy(subject, spy.call_subject, sizeof subject);
    const char *const same[4] = {values[0], values[1], values[2], values[3]};
    assert_string_equal(values[0], front_key);

    /* With the same subject for its answer it is a repetition, which gets none. */
    natsMsg *copy = NULL;
    assert_int_equal(nats.Msg_Create(&copy, subject, spy.call_reply, payload, (int)strlen(payload)),
                     NATS_OK);
    for (size_t i = 0; i < ARRAY_LENGTH(same); i++) {
        assert_int_equal(nats.MsgHeader_Set(copy, signed_headers[i], same[i]), NATS_OK);
    }
    assert_int_equal(nats.Connection_PublishMsg(spy.connection, copy), NATS_OK);
    nats.Msg_Destroy(copy);

    ask_raw(&spy, subject, payload, same, code, told, sizeof code);
    assert_string_equal(code, "PermissionDenied");
    assert_non_null(strstr(told, "does not fit"));

    char nonce[128];
    (void)snprintf(nonce, sizeof nonce, "%s", values[2]);
    nonce[0] = nonce[0] == '0' ? '1' : '0';
    const char *const other[4] = {values[0], values[1], nonce, values[3]};
    ask_raw(&spy, subject, payload, other, code, told, sizeof code);
    assert_string_equal(code, "PermissionDenied");
    assert_non_null(strstr(told, "does not fit"));

    (void)snprintf(text, sizeof text, "%.900s ", payload);
    ask_raw(&spy, subject, text, same, code, told, sizeof code);
    assert_string_equal(code, "PermissionDenied");

    ask_raw(&spy, subject, payload, NULL, code, told, sizeof code);
    assert_string_equal(code, "PermissionDenied");
    assert_non_null(strstr(told, "not signed"));
    assert_int_equal(atomic_load(&ran), 1);
    played_die(&spy);
}

/* Somebody else's answer to a call is none, and so is what somebody else says of it to the host. */
static void test_forged_messages(void **state) {
    (void)state;
    struct played spy;
    struct ended ended = {0};
    char control[256];
    char subject[128];
    static const char result[] =
            "{\"v\":1,\"kind\":\"result\",\"form\":\"json\",\"result\":{\"forged\":true}}";
    join_both(true);
    played_connect(&spy);
    played_subscribe(&spy, "host.*.call", played_call);
    assert_int_equal(nats.Connection_FlushTimeout(spy.connection, PATIENCE_MS), NATS_OK);
    struct toolrack_call *submitted = submit("wait", &ended);
    assert_int_equal(sem_wait(&spy.called), 0);
    assert_int_equal(sem_wait(&begun), 0);

    (void)snprintf(control, sizeof control, "{\"v\":1,\"call\":\"%s\",\"cancel\":true}",
                   spy.call_reply);
    (void)snprintf(subject, sizeof subject, "%.*scontrol",
                   (int)(strlen(spy.call_subject) - strlen("call")), spy.call_subject);
    assert_int_equal(
            nats.Connection_Publish(spy.connection, subject, control, (int)strlen(control)),
            NATS_OK);
    assert_int_equal(
            nats.Connection_Publish(spy.connection, spy.call_reply, result, (int)strlen(result)),
            NATS_OK);
    const struct timespec until = patience();
    (void)pthread_mutex_lock(&lock);
    while (!is_stranger_told) {
        assert_int_equal(pthread_cond_timedwait(&changed, &lock, &until), 0);
    }
    (void)pthread_mutex_unlock(&lock);
    assert_call("say", "{\"text\":\"x\"}", "\"x\""); /* behind the control message */
    assert_false(atomic_load(&cancelled));
    toolrack_cancel(submitted);
    assert_int_equal(sem_wait(&ended.done), 0);
    assert_int_equal(ended.code, TOOLRACK_E_CANCELLED);
    toolrack_call_unref(submitted);
    (void)sem_destroy(&ended.done);
    played_die(&spy);
}

/* A person who is asked, while somebody who listens in answers first and cancels. */
static int answer_second(void *user, const char *message, const char *schema, char **ret_content) {
    static const char content[] = "{\"one\":\"the left\"}";
    struct played *spy = user;
    char subject[160];
    char text[512];
    static const char *const forged[] = {"\"ask\":1,\"answer\":1,\"content\":{\"one\":\"forged\"}",
                                         "\"cancel\":true"};
    (void)message;
    (void)schema;
    assert_int_equal(sem_wait(&spy->called), 0);
    char *last = strrchr(spy->call_subject, '.');
    (void)snprintf(subject, sizeof subject, "%.*s.control", (int)(last - spy->call_subject),
                   spy->call_subject);
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(forged); i++) {
        natsMsg *control = NULL;
        (void)snprintf(text, sizeof text, "{\"v\":1,\"call\":\"%s\",%s}", spy->call_reply,
                       forged[i / 2]);
        assert_int_equal(nats.Msg_Create(&control, subject, NULL, text, (int)strlen(text)),
                         NATS_OK);
        for (size_t j = 0; i % 2 == 1 && j < ARRAY_LENGTH(signed_headers); j++) {
            /* with the signature of the call */
            assert_int_equal(nats.MsgHeader_Set(control, signed_headers[j], spy->headers[j]),
                             NATS_OK);
        }
        assert_int_equal(nats.Connection_PublishMsg(spy->connection, control), NATS_OK);
        nats.Msg_Destroy(control);
    }
    /* The server has them before the answer that counts. */
    assert_int_equal(nats.Connection_FlushTimeout(spy->connection, PATIENCE_MS), NATS_OK);
    *ret_content = toolrack_alloc(sizeof content);
    memcpy(*ret_content, content, sizeof content);
    return TOOLRACK_ANSWER_ACCEPTED;
}

/* What comes after a signed call must be signed for it too. */
static void test_control(void **state) {
    (void)state;
    struct played spy;
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    char text[128];
    join_both(true);
    played_connect(&spy);
    played_subscribe(&spy, "host.*.call", played_call);
    assert_int_equal(nats.Connection_FlushTimeout(spy.connection, PATIENCE_MS), NATS_OK);
    options.ask = answer_second;
    options.user = &spy;
    if (call(front, "report", "{}", &options, text, sizeof text) < 0) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(text, "{\"one\":\"the left\"}");
    played_die(&spy);

    /* Its own end of a call counts. */
    struct ended ended = {0};
    struct toolrack_call *submitted = submit("wait", &ended);
    assert_int_equal(sem_wait(&begun), 0);
    toolrack_cancel(submitted);
    assert_int_equal(sem_wait(&ended.done), 0);
    assert_int_equal(ended.code, TOOLRACK_E_CANCELLED);
    const struct timespec until = patience();
    while (!atomic_load(&cancelled)) { /* the tool is told too */
        const struct timespec pause = {.tv_nsec = 1000 * 1000};
        assert_true(clock_now_ns() / CLOCK_NS_PER_S < (uint64_t)until.tv_sec);
        (void)nanosleep(&pause, NULL);
    }
    toolrack_call_unref(submitted);
    (void)sem_destroy(&ended.done);
}

/* One message cannot make a host deaf for the calls of another one, whatever number it names. */
static void test_blocking(void **state) {
    (void)state;
    struct played spy;
    char code[128];
    char told[128];
    char reply[192];
    join_both(true);
    played_connect(&spy);
    played_subscribe(&spy, "host.*.call", played_call);
    assert_int_equal(nats.Connection_FlushTimeout(spy.connection, PATIENCE_MS), NATS_OK);
    assert_call("careful", "{}", "\"done\"");
    assert_int_equal(sem_wait(&spy.called), 0);
    static const char *const numbers[] = {"9999999999999999999", "18446744073709551615", "1", "x"};
    static const char none[] = "{\"v\":1,\"tool\":\"none\",\"version\":\"1.0.0\",\"digest\":"
                               "\"\",\"deadline_ms\":1,\"arguments\":{}}";
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        char *last = strrchr(spy.call_reply, '.');
        (void)snprintf(reply, sizeof reply, "%.*s.%s", (int)(last - spy.call_reply), spy.call_reply,
                       numbers[i]);
        assert_int_equal(nats.Connection_PublishRequest(spy.connection, spy.call_subject, reply,
                                                        none, (int)strlen(none)),
                         NATS_OK);
    }
    (void)nats.Subscription_Unsubscribe(spy.subscriptions[0]);
    ask_raw(&spy, spy.call_subject, none, NULL, code, told, sizeof code);
    assert_string_equal(code, "NotFound"); /* they have come */
    assert_call("careful", "{}", "\"done\"");
    assert_call("say", "{\"text\":\"y\"}", "\"y\"");
    played_die(&spy);
}

/* Keeps what comes, until it is looked at. */
static void played_note(natsConnection *connection, natsSubscription *subscription,
                        natsMsg *message, void *user) {
    (void)connection;
    (void)subscription;
    atomic_uint *count = user;
    (void)atomic_fetch_add(count, 1);
    nats.Msg_Destroy(message);
}

/* A host publishes nothing for others where they may not: no request is answered at a subject of
 * the server, of a service or of hosts. */
static void test_deputy(void **state) {
    (void)state;
    struct played spy;
    atomic_uint count = 0;
    char instance_subject[4][160];
    char hosts[64];
    join_both(false);
    played_connect(&spy);
    played_subscribe(&spy, "host.*.call", played_call);
    assert_int_equal(nats.Connection_FlushTimeout(spy.connection, PATIENCE_MS), NATS_OK);
    assert_call("say", "{\"text\":\"x\"}", "\"x\"");
    assert_int_equal(sem_wait(&spy.called), 0);
    (void)nats.Subscription_Unsubscribe(spy.subscriptions[0]);
    (void)snprintf(hosts, sizeof hosts, "toolrack.1.test=2E%u.somewhere", group_number);
    const char *const replies[] = {"$JS.API.STREAM.PURGE.X", "$SRV.X", hosts};
    for (size_t i = 0; i < ARRAY_LENGTH(replies); i++) {
        assert_int_equal(nats.Connection_Subscribe(&spy.subscriptions[spy.count++], spy.connection,
                                                   replies[i], played_note, &count),
                         NATS_OK);
    }
    static const char *const rests[] = {"call", "probe", "tools", "order"};
    for (size_t i = 0; i < ARRAY_LENGTH(rests); i++) {
        char *last = strrchr(spy.call_subject, '.');
        (void)snprintf(instance_subject[i], sizeof instance_subject[i], "%.*s.%s",
                       (int)(last - spy.call_subject), spy.call_subject, rests[i]);
    }
    char micro[128];
    (void)snprintf(micro, sizeof micro, "toolrack.1.test=2E%u.tool.double.1=2E2=2E3-rc=2E1",
                   group_number);
    const char *const subjects[] = {instance_subject[0], instance_subject[1], instance_subject[2],
                                    instance_subject[3], "$SRV.PING",         micro};
    for (size_t i = 0; i < ARRAY_LENGTH(subjects); i++) {
        char code[64];
        char told[64];
        for (size_t j = 0; j < ARRAY_LENGTH(replies); j++) {
            assert_int_equal(nats.Connection_PublishRequest(spy.connection, subjects[i], replies[j],
                                                            "{\"v\":1}", 7),
                             NATS_OK);
        }
        /* One that may be answered, behind them on the same way. */
        ask_raw(&spy, subjects[i], "{\"v\":1}", NULL, code, told, sizeof code);
    }
    assert_int_equal(nats.Connection_FlushTimeout(spy.connection, PATIENCE_MS), NATS_OK);
    assert_int_equal(atomic_load(&count), 0);
    played_die(&spy);
}

/* Who sends many wrong messages does not fill the log: 100 lines a minute, and the test may see the
 * end of one minute and the begin of the next. */
static void test_many_warnings(void **state) {
    (void)state;
    struct played spy;
    char subject[160];
    char code[64];
    char told[64];
    join_both(false);
    played_connect(&spy);
    yyjson_doc *doc = hosts_of(server_host);
    (void)snprintf(subject, sizeof subject, "toolrack.1.test=2E%u.host.%s.order", group_number,
                   yyjson_get_str(json_at(yyjson_doc_get_root(doc), "0/instance")));
    yyjson_doc_free(doc);
    for (unsigned i = 0; i < 500; i++) {
        ask_raw(&spy, subject, "{}", NULL, code, told, sizeof code);
        assert_string_equal(code, "PermissionDenied");
    }
    (void)pthread_mutex_lock(&lock);
    unsigned lines = refused_orders;
    (void)pthread_mutex_unlock(&lock);
    assert_in_range(lines, 1, 200);
    played_die(&spy);
}

/* What is no call is an error, and the host goes on. */
static void test_garbage(void **state) {
    (void)state;
    struct played spy;
    char code[128];
    char told[128];
    char subject[128];
    join_both(false);
    played_connect(&spy);
    played_subscribe(&spy, "host.*.call", played_call);
    assert_int_equal(nats.Connection_FlushTimeout(spy.connection, PATIENCE_MS), NATS_OK);
    assert_call("say", "{\"text\":\"x\"}", "\"x\"");
    assert_int_equal(sem_wait(&spy.called), 0);
    (void)snprintf(subject, sizeof subject, "%s", spy.call_subject);
    nats.Subscription_Unsubscribe(spy.subscriptions[0]);
    static const char *const wrong[] = {"",
                                        "x",
                                        "[]",
                                        "{}",
                                        "{\"v\":2}",
                                        "{\"v\":1}",
                                        "{\"v\":1,\"tool\":\"say\",\"version\":\"1.2.3-rc.1\","
                                        "\"digest\":\"\",\"deadline_ms\":-1,"
                                        "\"arguments\":{}}",
                                        "{\"v\":1,\"tool\":\"say\",\"version\":\"1.2.3-rc.1\","
                                        "\"digest\":\"\",\"deadline_ms\":1,"
                                        "\"arguments\":[]}"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        ask_raw(&spy, subject, wrong[i], NULL, code, told, sizeof code);
        assert_string_equal(code, "Invalid");
    }
    ask_raw(&spy, subject,
            "{\"v\":1,\"tool\":\"say\",\"version\":\"1.2.3-rc.1\",\"digest\":\"\",\"deadline_ms\":"
            "1,"
            "\"arguments\":{}}",
            NULL, code, told, sizeof code);
    assert_string_equal(code, "NotFound"); /* of another description */
    assert_call("say", "{\"text\":\"y\"}", "\"y\"");
    played_die(&spy);
}

/* ----------------------------------------------------------- micro services */

static yyjson_doc *ask_json(struct played *played, const char *subject, const char *payload) {
    natsMsg *message = NULL;
    natsMsg *answer = NULL;
    assert_int_equal(nats.Msg_Create(&message, subject, NULL, payload, (int)strlen(payload)),
                     NATS_OK);
    assert_int_equal(nats.Connection_RequestMsg(&answer, played->connection, message, PATIENCE_MS),
                     NATS_OK);
    yyjson_doc *doc =
            yyjson_read(nats.Msg_GetData(answer), (size_t)nats.Msg_GetDataLength(answer), 0);
    nats.Msg_Destroy(answer);
    nats.Msg_Destroy(message);
    return doc;
}

static void test_micro(void **state) {
    (void)state;
    struct played client;
    char name[64];
    char subject[128];
    join(server_host, "back", NULL);
    played_connect(&client);
    (void)snprintf(name, sizeof name, "toolrack-test_%u", group_number);
    (void)snprintf(subject, sizeof subject, "$SRV.PING.%s", name);
    yyjson_doc *ping = ask_json(&client, subject, "");
    yyjson_val *root = yyjson_doc_get_root(ping);
    assert_string_equal(yyjson_get_str(json_at(root, "type")), "io.nats.micro.v1.ping_response");
    assert_string_equal(yyjson_get_str(json_at(root, "name")), name);
    assert_string_equal(yyjson_get_str(json_at(root, "version")), toolrack_version());
    (void)snprintf(subject, sizeof subject, "$SRV.INFO.%s.%s", name,
                   yyjson_get_str(json_at(root, "id")));
    yyjson_doc_free(ping);

    /* An endpoint for each tool but the one that is not safe. */
    yyjson_doc *info = ask_json(&client, subject, "");
    root = yyjson_doc_get_root(info);
    assert_string_equal(yyjson_get_str(json_at(root, "type")), "io.nats.micro.v1.info_response");
    assert_int_equal(yyjson_arr_size(json_at(root, "endpoints")), ARRAY_LENGTH(tools) - 1);
    yyjson_doc_free(info);

    (void)snprintf(subject, sizeof subject, "toolrack.1.test=2E%u.tool.double.1=2E2=2E3-rc=2E1",
                   group_number);
    yyjson_doc *result = ask_json(&client, subject, "{\"number\":4}");
    assert_int_equal(yyjson_get_int(json_at(yyjson_doc_get_root(result), "twice")), 8);
    yyjson_doc_free(result);

    (void)snprintf(subject, sizeof subject, "$SRV.STATS.%s", name);
    yyjson_doc *stats = ask_json(&client, subject, "");
    root = yyjson_doc_get_root(stats);
    assert_string_equal(yyjson_get_str(json_at(root, "type")), "io.nats.micro.v1.stats_response");
    size_t at;
    size_t count;
    yyjson_val *endpoint;
    uint64_t requests = 0;
    yyjson_arr_foreach (json_at(root, "endpoints"), at, count, endpoint) {
        requests += yyjson_get_uint(json_at(endpoint, "num_requests"));
    }
    assert_int_equal(requests, 1);
    yyjson_doc_free(stats);
    played_die(&client);
}

int main(void) {
#define JOINED(test) cmocka_unit_test_setup_teardown(test, open_hosts, close_hosts)
    const struct CMUnitTest tests[] = {
            JOINED(test_results),      JOINED(test_while_it_runs),   JOINED(test_deadline),
            JOINED(test_cancel),       JOINED(test_leave),           JOINED(test_own_tool_first),
            JOINED(test_death),        JOINED(test_retry),           JOINED(test_announcement),
            JOINED(test_forged_tools), JOINED(test_permission),      JOINED(test_replay),
            JOINED(test_garbage),      JOINED(test_forged_messages), JOINED(test_micro),
            JOINED(test_blocking),     JOINED(test_many_warnings),   JOINED(test_deputy),
            JOINED(test_control),      JOINED(test_stolen_pages),    JOINED(test_mounted_server),
            JOINED(test_crowd),
    };
    clock_cond_init(&changed);
    (void)setenv("TOOLRACK_WORKER", FAKE_SERVER_WORKER, 1);
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
