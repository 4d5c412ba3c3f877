/* What is larger than one message of NATS, and plans whose nodes run where the tool is, over a real
 * nats-server: a front host and one with tools in this process, and one in a process of its own,
 * which is killed. */
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

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "nats-server.h"
#include "patience.h"
#include "remote/nats/key.h"
#include "remote/nats/object.h"
#include "toolrack/hosts.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

#define BEAT_MS 50
#define PAYLOAD "16384"
#define LARGE   100000u

static struct toolrack_error err;
static struct nats_server server;
static struct nats_server plain; /* without JetStream */
static char group[32];
static unsigned group_number;

/* ------------------------------------------------------------------- tools */

static sem_t here;    /* `meet` runs in this process */
static sem_t there;   /* and in the other */
static int told = -1; /* of the other process: what it says to the test */
static int heard = -1;

/* A text of `length` letters. */
static tr_status run_long(struct tr_call *call) {
    size_t length = (size_t)tr_get_i64(call, "length", 0);
    CLEANUP(freep) char *text = malloc(length + 1);
    if (text == NULL) {
        return tr_fail(call, TR_FAILED, NULL, "out of memory");
    }
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)('a' + i % 26);
    }
    text[length] = '\0';
    if (tr_get_i64(call, "image", 0) != 0) {
        (void)tr_reply_text(call, "an image");
        return tr_reply_image(call, text, length, "image/png");
    }
    return tr_reply_text(call, text);
}

static tr_status run_size(struct tr_call *call) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_i64(call, "size", (int64_t)strlen(tr_get_string(call, "text", "")));
    return tr_put_end(call);
}

/* Each of two ends only when the other runs too. In the other process the test is told, and tells.
 */
static tr_status run_meet(struct tr_call *call) {
    char byte = 'm';
    if (told >= 0) {
        return write(told, &byte, 1) == 1 && patience_read(heard, &byte, 1) == 1
                       ? tr_reply_text(call, "met there")
                       : tr_fail(call, TR_FAILED, NULL, "nobody came");
    }
    struct timespec end = patience_end();
    (void)sem_post(&here);
    return sem_timedwait(&there, &end) == 0 ? tr_reply_text(call, "met here")
                                            : tr_fail(call, TR_FAILED, NULL, "nobody came");
}

#define ANYTHING TR_SCHEMA({"type" : "object"})
#define TOOL(tool_name, function, tool_permission, tool_flags)                                  \
    {                                                                                           \
        .size = sizeof(struct tr_tool), .flags = tool_flags, .name = tool_name,                 \
        .description = "A tool of the test", .permission = tool_permission, .schema = ANYTHING, \
        .run = function                                                                         \
    }
static const struct tr_tool tools[] = {
        TOOL("long", run_long, TR_SAFE, TR_READ_ONLY),
        TOOL("size", run_size, TR_SAFE, TR_READ_ONLY),
        TOOL("careful_size", run_size, TR_CONFIRM, 0),
        TOOL("meet_here", run_meet, TR_SAFE, 0),
        TOOL("meet_there", run_meet, TR_SAFE, 0),
        TOOL("hold_once", run_meet, TR_SAFE, 0),
        TOOL("hold", run_meet, TR_SAFE, TR_IDEMPOTENT),
        TOOL("zz_other", run_meet, TR_SAFE, 0),
};
enum { LONG, SIZE, CAREFUL_SIZE, MEET_HERE, MEET_THERE, HOLD_ONCE, HOLD, OTHER };

static void register_tools(struct toolrack *host, const char *id, const int *which, size_t count) {
    const struct tr_tool *table[ARRAY_LENGTH(tools)];
    for (size_t i = 0; i < count; i++) {
        table[i] = &tools[which[i]];
    }
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .abi_minor = TR_ABI_MINOR,
                                     .flags = TR_THREAD_SAFE,
                                     .id = id,
                                     .version = "1.0.0",
                                     .tool_count = (uint32_t)count,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = table};
    if (toolrack_register(host, &plugin, NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

/* ------------------------------------------------------------------- hosts */

static struct toolrack *front;
static struct toolrack *back;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;

static void note_event(void *user, const struct toolrack_event *event) {
    (void)user;
    (void)event;
    (void)pthread_mutex_lock(&lock);
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

static bool has(const char *name) {
    struct toolrack_tool *tool = toolrack_get(front, name);
    toolrack_tool_unref(tool);
    return tool != NULL;
}

static void await(const char *name) {
    (void)pthread_mutex_lock(&lock);
    AWAIT_SIGNALLED(has(name), &changed, &lock);
    (void)pthread_mutex_unlock(&lock);
}

static void show_line(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    (void)user;
    (void)level;
    (void)fprintf(stderr, "%s: %s\n", source, line);
}

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = 1;
    options.log = show_line;
    options.log_level = TOOLRACK_LOG_WARNING;
    if (toolrack_open(&options, &host, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    return host;
}

static void join(struct toolrack *host, const char *url, const char *name, const char *trusted) {
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    const char *const keys[] = {trusted, NULL};
    options.url = url;
    options.group = group;
    options.name = name;
    options.beat_ms = BEAT_MS;
    options.trusted = keys;
    if (toolrack_join(host, &options, &err) < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
}

static char *key_of(struct toolrack *host) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    size_t length = 0;
    assert_int_equal(toolrack_hosts(host, 0, &text, &err), 0);
    const char *json = toolrack_text_data(text, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    return strdup(yyjson_get_str(json_at(yyjson_doc_get_root(doc), "0/key")));
}

/* The front joins first: its key is trusted by the other. */
static void open_hosts(const char *url, const int *which, size_t count) {
    (void)snprintf(group, sizeof group, "large-%u", ++group_number);
    front = open_host();
    back = open_host();
    assert_int_equal(toolrack_add_listener(front, note_event, NULL, &err), 0);
    register_tools(back, "test.back", which, count);
    join(front, url, "front", NULL);
    CLEANUP(freep) char *key = key_of(front);
    join(back, url, "back", key);
    for (size_t i = 0; i < count; i++) {
        await(tools[which[i]].name);
    }
}

static int close_hosts(void **state) {
    (void)state;
    toolrack_close(STEAL(front));
    toolrack_close(STEAL(back));
    return 0;
}

/* @return the code; the result is written to `ret` */
static int call(const char *name, const char *arguments, struct buf *ret) {
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_result *result = NULL;
    size_t length = 0;
    options.confirmed = 1;
    options.confirmed_by = "the test";
    int code = toolrack_call(front, name, arguments, &options, &result, &err);
    if (code == 0) {
        const char *json = toolrack_result_json(result, &length);
        buf_add(ret, json, length);
    }
    toolrack_result_free(result);
    return code;
}

static void succeed(const char *name, const char *arguments, struct buf *ret) {
    if (call(name, arguments, ret) < 0) {
        fail_msg("%s: %s", name, err.message);
    }
}

static char *long_arguments(void) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"text\":\"");
    for (size_t i = 0; i < LARGE; i++) {
        buf_add_char(&text, 'x');
    }
    buf_add_text(&text, "\"}");
    return buf_steal(&text);
}

/* ------------------------------------------------------------------- large */

static natsConnection *connect_raw(void) {
    natsOptions *options = NULL;
    natsConnection *made = NULL;
    const char *urls[] = {server.url};
    assert_int_equal(nats.Options_Create(&options), NATS_OK);
    assert_int_equal(nats.Options_SetServers(options, urls, 1), NATS_OK);
    assert_int_equal(nats.Connection_Connect(&made, options), NATS_OK);
    nats.Options_Destroy(options);
    return made;
}

static struct objects *open_messages(natsConnection *connection) {
    char bucket[64];
    struct objects *objects = NULL;
    (void)snprintf(bucket, sizeof bucket, "toolrack_%s_messages", group);
    const struct objects_options options = {.bucket = bucket};
    assert_int_equal(objects_open(connection, &options, &objects, &err), 0);
    return objects;
}

static bool count_one(void *user, const struct object_info *info) {
    (void)info;
    ++*(size_t *)user;
    return true;
}

static const int sizes[] = {LONG, SIZE, CAREFUL_SIZE};

static void test_large(void **state) {
    (void)state;
    size_t left = 0;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf image = BUF_INIT;
    CLEANUP(buf_finish) struct buf size = BUF_INIT;
    CLEANUP(freep) char *arguments = long_arguments();
    open_hosts(server.url, sizes, ARRAY_LENGTH(sizes));
    succeed("long", "{\"length\":100000}", &text);
    assert_int_equal(text.length, LARGE + 2);
    assert_memory_equal(text.data, "\"abcdefghijklmnopqrstuvwxyzabc", 30);
    succeed("long", "{\"length\":100000,\"image\":1}", &image);
    assert_non_null(strstr(image.data, "image/png"));
    assert_true(image.length > LARGE);
    succeed("size", arguments, &size);
    assert_string_equal(size.data, "{\"size\":100000}");
    buf_clear(&size);
    succeed("careful_size", arguments, &size); /* the signature is over what names the object */
    assert_string_equal(size.data, "{\"size\":100000}");

    natsConnection *raw = connect_raw();
    struct objects *objects = open_messages(raw);
    assert_int_equal(objects_list(objects, count_one, &left, &err), 0);
    assert_int_equal(left, 0);
    objects_close(objects);
    nats.Connection_Destroy(raw);
}

static void test_no_jetstream(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(freep) char *arguments = long_arguments();
    open_hosts(plain.url, sizes, ARRAY_LENGTH(sizes));
    assert_int_equal(call("long", "{\"length\":100000}", &text), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "the result of 10"));
    assert_non_null(strstr(err.message, "nats-server -js"));
    assert_int_equal(call("size", arguments, &text), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "the call of 10"));
    assert_non_null(strstr(err.message, "nats-server -js"));
    succeed("long", "{\"length\":10}", &text); /* what fits goes */
}

/* ------------------------------------------------------------------ attack */

/* The answer to a message as another client sends it to the host that has the tools. */
static void assert_answer(natsConnection *raw, const char *instance, const char *payload,
                          const char *words) {
    char subject[128];
    natsMsg *message = NULL;
    natsMsg *answer = NULL;
    (void)snprintf(subject, sizeof subject, "toolrack.1.%s.host.%s.call", group, instance);
    assert_int_equal(nats.Msg_Create(&message, subject, NULL, payload, (int)strlen(payload)),
                     NATS_OK);
    assert_int_equal(nats.Connection_RequestMsg(&answer, raw, message, 20000), NATS_OK);
    if (strstr(nats.Msg_GetData(answer), words) == NULL) {
        fail_msg("'%s' has no '%s'", nats.Msg_GetData(answer), words);
    }
    nats.Msg_Destroy(message);
    nats.Msg_Destroy(answer);
}

static void test_attack(void **state) {
    (void)state;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    size_t length = 0;
    char named[512];
    char digest[OBJECT_DIGEST_ROOM];
    struct object_info info;
    open_hosts(server.url, sizes, ARRAY_LENGTH(sizes));
    assert_int_equal(toolrack_hosts(back, 0, &text, &err), 0);
    const char *json = toolrack_text_data(text, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    const char *instance = yyjson_get_str(json_at(yyjson_doc_get_root(doc), "0/instance"));
    natsConnection *raw = connect_raw();
    struct objects *objects = open_messages(raw);

#define NAMED "{\"v\":1,\"kind\":\"object\",\"name\":\"%s\",\"size\":%zu,\"digest\":\"%s\"}"
    static const char call[] = "{\"v\":1,\"kind\":\"object\",\"name\":\"a\",\"size\":1,\"digest\":"
                               "\"SHA-256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=\"}";
    assert_answer(raw, instance, call, "no longer there");
    /* What is there is not what was named. */
    assert_int_equal(object_put(objects, "a", "x", 1, &info, &err), 0);
    assert_answer(raw, instance, call, "another digest");
    assert_int_equal(object_find(objects, "a", &info, &err), 0); /* and stays */
    assert_int_equal(object_put(objects, "a", "more", 4, &info, &err), 0);
    assert_answer(raw, instance, call, "at most 1 are taken");
    /* It is no call; it is another object. */
    assert_int_equal(object_put(objects, "a", "x", 1, &info, &err), 0);
    object_digest_write(info.hash, digest);
    (void)snprintf(named, sizeof named, NAMED, "a", (size_t)1, digest);
    assert_answer(raw, instance, named, "no JSON object");
    assert_int_equal(object_put(objects, "b", call, strlen(call), &info, &err), 0);
    object_digest_write(info.hash, digest);
    (void)snprintf(named, sizeof named, NAMED, "b", strlen(call), digest);
    assert_answer(raw, instance, named, "is another object");
    assert_answer(raw, instance, "{\"v\":1,\"kind\":\"object\",\"name\":\"\"}", "\\\"name\\\"");
    assert_answer(raw, instance, "{\"v\":1,\"kind\":\"object\",\"name\":\"a\",\"size\":-1}",
                  "\\\"size\\\"");
    objects_close(objects);
    nats.Connection_Destroy(raw);
}

/* ------------------------------------------------------------------ orders */

/* An order to the host `back` with such a signature. The answer, to be released. */
static natsMsg *give_order(natsConnection *raw, const struct key *key,
                           const struct key_statement *signed_as, const char *time,
                           const char *nonce, const char *payload) {
    char subject[128];
    char signature[KEY_SIGNATURE_ROOM];
    natsMsg *message = NULL;
    natsMsg *answer = NULL;
    (void)snprintf(subject, sizeof subject, "toolrack.1.%s.host.%s.order", group,
                   signed_as->instance);
    assert_int_equal(nats.Msg_Create(&message, subject, NULL, payload, (int)strlen(payload)),
                     NATS_OK);
    if (key != NULL) {
        key_sign(key, signed_as, signature);
        assert_int_equal(nats.MsgHeader_Set(message, "Toolrack-Key", key_public(key)), NATS_OK);
        assert_int_equal(nats.MsgHeader_Set(message, "Toolrack-Time", time), NATS_OK);
        assert_int_equal(nats.MsgHeader_Set(message, "Toolrack-Nonce", nonce), NATS_OK);
        assert_int_equal(nats.MsgHeader_Set(message, "Toolrack-Signature", signature), NATS_OK);
    }
    assert_int_equal(nats.Connection_RequestMsg(&answer, raw, message, 20000), NATS_OK);
    nats.Msg_Destroy(message);
    return answer;
}

static void assert_order(natsConnection *raw, const struct key *key,
                         const struct key_statement *signed_as, const char *payload,
                         const char *words) {
    natsMsg *answer = give_order(raw, key, signed_as, signed_as->time, signed_as->nonce, payload);
    if (strstr(nats.Msg_GetData(answer), words) == NULL) {
        fail_msg("'%s' has no '%s'", nats.Msg_GetData(answer), words);
    }
    nats.Msg_Destroy(answer);
}

#define LIST    "{\"v\":1,\"order\":\"list\",\"size\":0}"
/* The SHA-256 of "abc", and an object of that name that is another. */
#define PACKAGE "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define INSTALL                                                                                  \
    "{\"v\":1,\"order\":\"install\",\"id\":\"org.example.x\",\"version\":\"1.0.0\",\"package\":" \
    "\"" PACKAGE "\",\"size\":3,\"signature\":\"untrusted comment: x\",\"file\":\"x.trp\"}"

/* Whoever may publish to the subject of a host: an order is carried out once, for trusted keys. */
static void test_orders(void **state) {
    (void)state;
    struct key *own = NULL;
    struct key *stranger = NULL;
    char time[24];
    char instance[32];
    char nonces[6][KEY_NONCE_ROOM];
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    size_t length = 0;
    assert_int_equal(key_open(NULL, &own, &err), 0);
    assert_int_equal(key_open(NULL, &stranger, &err), 0);
    (void)snprintf(group, sizeof group, "large-%u", ++group_number);
    back = open_host();
    join(back, server.url, "back", key_public(own));
    /* That waits until the server knows what it listens to. */
    assert_int_equal(toolrack_hosts(back, 1, &text, &err), 0);
    const char *json = toolrack_text_data(text, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    (void)snprintf(instance, sizeof instance, "%s",
                   yyjson_get_str(json_at(yyjson_doc_get_root(doc), "0/instance")));
    (void)snprintf(time, sizeof time, "%lld", (long long)clock_wall_ms());
    for (size_t i = 0; i < ARRAY_LENGTH(nonces); i++) {
        key_nonce(nonces[i]);
    }
    natsConnection *raw = connect_raw();
    struct key_statement statement = {.purpose = "order",
                                      .group = group,
                                      .instance = instance,
                                      .time = time,
                                      .nonce = nonces[0],
                                      .data = LIST,
                                      .length = strlen(LIST)};
    assert_order(raw, NULL, &statement, LIST, "is not signed");
    assert_order(raw, stranger, &statement, LIST, "does not trust the one that gives the order");
    /* It is carried out: this host has no state folder, so no packages. */
    assert_order(raw, own, &statement, LIST, "this host has none; name one with --state");
    assert_order(raw, own, &statement, LIST, "taken"); /* once */
    statement.nonce = nonces[1];
    assert_order(raw, own, &statement, INSTALL, "does not fit"); /* of another order */
    statement.nonce = nonces[2];
    statement.purpose = "call";
    assert_order(raw, own, &statement, LIST, "does not fit");
    statement.purpose = "order";
    statement.nonce = nonces[3];
    statement.data = "{\"v\":1,\"order\":\"burn\"}";
    statement.length = strlen(statement.data);
    assert_order(raw, own, &statement, statement.data, "no usable");
    statement.data = INSTALL;
    statement.length = strlen(INSTALL);
    statement.nonce = nonces[4];
    assert_order(raw, own, &statement, INSTALL, "there is no object");
    /* What is there under the name is another file. */
    char bucket[64];
    struct objects *objects = NULL;
    (void)snprintf(bucket, sizeof bucket, "toolrack_%s_packages", group);
    const struct objects_options options = {.bucket = bucket};
    assert_int_equal(objects_open(raw, &options, &objects, &err), 0);
    assert_int_equal(object_put(objects, PACKAGE, "xyz", 3, NULL, &err), 0);
    statement.nonce = nonces[5];
    assert_order(raw, own, &statement, INSTALL, "is not the package that it is named after");
    objects_close(objects);
    nats.Connection_Destroy(raw);
    key_destroy(own);
    key_destroy(stranger);
}

/* --------------------------------------------------------- another process */

/* test-nats-large host URL GROUP TOOL: a host with a tool and `zz_other`, until it is killed. */
static int be_host(char **argv) {
    const int which[] = {atoi(argv[4]), OTHER};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)snprintf(group, sizeof group, "%s", argv[3]);
    told = STDOUT_FILENO;
    heard = STDIN_FILENO;
    struct toolrack *host = open_host();
    register_tools(host, "test.other", which, 2);
    join(host, argv[2], "other", NULL);
    (void)pause();
    return 1;
}

struct other {
    pid_t pid;
    int in;
    int out;
};

static struct other start_other(int which) {
    struct other other;
    int to[2];
    int from[2];
    char number[16];
    (void)snprintf(number, sizeof number, "%d", which);
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    other.pid = fork();
    if (other.pid == 0) {
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(to[1]);
        (void)close(from[0]);
        (void)execl("/proc/self/exe", "test-nats-large", "host", server.url, group, number,
                    (char *)NULL);
        _exit(127);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    other.in = to[1];
    other.out = from[0];
    await(tools[OTHER].name); /* its last tool: all are known */
    return other;
}

static void kill_other(struct other *other) {
    (void)kill(other->pid, SIGKILL);
    assert_int_equal(waitpid(other->pid, NULL, 0), other->pid);
    (void)close(other->in);
    (void)close(other->out);
}

/* ------------------------------------------------------------------- plans */

struct running {
    pthread_t thread;
    struct toolrack_plan *plan;
    struct toolrack_text *result;
    struct toolrack_error err;
    int code;
};

static int agree(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    (void)request;
    return TOOLRACK_APPROVAL_ALLOW_ONCE;
}

static void *run_plan(void *user) {
    struct running *running = user;
    struct toolrack_plan_options options = TOOLRACK_PLAN_OPTIONS_INIT;
    struct toolrack_call_options call_options = TOOLRACK_CALL_OPTIONS_INIT;
    call_options.approve = agree;
    options.call = &call_options;
    running->code = toolrack_plan_run(running->plan, &options, &running->result, &running->err);
    return NULL;
}

static void start_plan(struct running *running, const char *text) {
    struct toolrack_findings *findings = NULL;
    *running = (struct running){.code = 0};
    if (toolrack_plan_open(front, text, strlen(text), &findings, &running->plan, &err) < 0) {
        fail_msg("%s", err.message);
    }
    toolrack_findings_free(findings);
    assert_int_equal(pthread_create(&running->thread, NULL, run_plan, running), 0);
}

/* @param words  of the result, or of the error */
static void end_plan(struct running *running, int code, const char *words) {
    (void)pthread_join(running->thread, NULL);
    const char *said =
            running->code == 0 ? toolrack_text_data(running->result, NULL) : running->err.message;
    if (running->code != code || strstr(said, words) == NULL) {
        fail_msg("%d: '%s' is not %d: '%s'", running->code, said, code, words);
    }
    toolrack_text_unref(running->result);
    toolrack_plan_close(running->plan);
}

/* Neither node ends before the other runs. */
static void test_two_hosts(void **state) {
    (void)state;
    char byte = 0;
    struct running running;
    const int which[] = {MEET_HERE};
    open_hosts(server.url, which, ARRAY_LENGTH(which));
    struct other other = start_other(MEET_THERE);
    (void)sem_init(&here, 0, 0);
    (void)sem_init(&there, 0, 0);
    start_plan(&running, "{\"nodes\":[{\"id\":\"a\",\"tool\":\"meet_here\"},{\"id\":\"b\","
                         "\"tool\":\"meet_there\"}]}");
    struct timespec end = patience_end();
    assert_int_equal(sem_timedwait(&here, &end), 0);
    assert_int_equal(patience_read(other.out, &byte, 1), 1); /* both run now */
    (void)sem_post(&there);
    assert_int_equal(write(other.in, "m", 1), 1);
    end_plan(&running, 0, "\"a\":\"met here\",\"b\":\"met there\"");
    (void)sem_destroy(&here);
    (void)sem_destroy(&there);
    kill_other(&other);
}

/* A large result of one node is the argument of another one. */
static void test_large_in_plan(void **state) {
    (void)state;
    struct running running;
    open_hosts(server.url, sizes, ARRAY_LENGTH(sizes));
    start_plan(&running,
               "{\"nodes\":[{\"id\":\"a\",\"tool\":\"long\",\"arguments\":{\"length\":"
               "100000}},{\"id\":\"b\",\"tool\":\"size\",\"arguments\":{\"text\":{\"$ref\":"
               "\"#/nodes/a/result\"}}}],\"result\":{\"$ref\":\"#/nodes/b/result\"}}");
    end_plan(&running, 0, "{\"size\":100000}");
}

/* The only host of a tool that is not idempotent dies: the node fails. */
static void test_death_in_plan(void **state) {
    (void)state;
    char byte = 0;
    struct running running;
    const int which[] = {SIZE};
    open_hosts(server.url, which, ARRAY_LENGTH(which));
    struct other other = start_other(HOLD_ONCE);
    start_plan(&running, "{\"nodes\":[{\"id\":\"a\",\"tool\":\"hold_once\"}]}");
    assert_int_equal(patience_read(other.out, &byte, 1), 1);
    kill_other(&other);
    end_plan(&running, TOOLRACK_E_EXECUTION_FAILED, "the host other");
}

/* Two calls of one that is idempotent, one on each host: what the dead one had goes to the other,
 * and the plan does not see it. */
static void test_retry_in_plan(void **state) {
    (void)state;
    char byte = 0;
    struct running running;
    const int which[] = {HOLD};
    open_hosts(server.url, which, ARRAY_LENGTH(which));
    struct other other = start_other(HOLD);
    (void)sem_init(&here, 0, 0);
    (void)sem_init(&there, 0, 0);
    start_plan(&running, "{\"nodes\":[{\"id\":\"a\",\"tool\":\"hold\"},{\"id\":\"b\","
                         "\"tool\":\"hold\"}]}");
    struct timespec end = patience_end();
    assert_int_equal(sem_timedwait(&here, &end), 0);
    assert_int_equal(patience_read(other.out, &byte, 1), 1);
    kill_other(&other);
    assert_int_equal(sem_timedwait(&here, &end), 0);
    (void)sem_post(&there);
    (void)sem_post(&there);
    end_plan(&running, 0, "\"a\":\"met here\",\"b\":\"met here\"");
    (void)sem_destroy(&here);
    (void)sem_destroy(&there);
}

/* -------------------------------------------------------------------- main */

static int start(void **state) {
    (void)state;
    clock_cond_init(&changed);
    return libnats_load(&err) == 0 &&
                           nats_server_start(&server, true, "max_payload: " PAYLOAD "\n") &&
                           nats_server_start(&plain, false, "max_payload: " PAYLOAD "\n")
                   ? 0
                   : -1;
}

static int stop(void **state) {
    (void)state;
    nats_server_stop(&server);
    nats_server_stop(&plain);
    return 0;
}

int main(int argc, char **argv) {
#define HOSTS(test) cmocka_unit_test_teardown(test, close_hosts)
    const struct CMUnitTest tests[] = {
            HOSTS(test_large),         HOSTS(test_no_jetstream),  HOSTS(test_attack),
            HOSTS(test_two_hosts),     HOSTS(test_large_in_plan), HOSTS(test_death_in_plan),
            HOSTS(test_retry_in_plan), HOSTS(test_orders),
    };
    return argc == 5 && strcmp(argv[1], "host") == 0 ? be_host(argv)
                                                     : cmocka_run_group_tests(tests, start, stop);
}
