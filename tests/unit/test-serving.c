/* What servers keep: their configuration with its defaults, profiles, and tasks, which are found
 * again whatever became of the host that runs them. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "toolrack/plugin.h"
#include "toolrack/serving.h"

#include <cmocka.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "host-unit.h"
#include "patience.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

#define NO_ARGUMENTS TR_SCHEMA({"type" : "object"})
static tr_status file_read(struct tr_call *call) {
    return tr_reply_text(call, "read");
}
TR_JSON_TOOL(file_read, ("Read", .category = "files", .tags = "read,disk"), NO_ARGUMENTS)
static tr_status file_write(struct tr_call *call) {
    return tr_reply_text(call, "written");
}
TR_JSON_TOOL(file_write, ("Write", .category = "files", .tags = "disk", .permission = TR_CONFIRM),
             NO_ARGUMENTS)
static tr_status wipe(struct tr_call *call) {
    return tr_reply_text(call, "wiped");
}
TR_JSON_TOOL(wipe, ("Wipe", .permission = TR_DANGEROUS), NO_ARGUMENTS)
TR_PLUGIN("files", "1.2.0", file_read, file_write, wipe)

/* The tasks of which an event came. */
static char events[256];
static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

static void take_event(void *user, const struct toolrack_event *event) {
    if (event->kind == TOOLRACK_EVENT_TASK) {
        (void)pthread_mutex_lock(&events_lock);
        size_t used = strlen(events);
        (void)snprintf(events + used, sizeof events - used, "%s %s;", (const char *)user,
                       event->message);
        (void)pthread_mutex_unlock(&events_lock);
    }
}

static int open_as(const char *name, struct toolrack **ret) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config_file;
    options.state_dir = state_dir;
    options.no_scan = 1;
    options.event = take_event;
    options.user = (void *)(uintptr_t)name;
    return toolrack_open(&options, ret, &err);
}

static struct toolrack *open_host(const char *name) {
    struct toolrack *opened = NULL;
    if (open_as(name, &opened) < 0) {
        fail_msg("%s", err.message);
    }
    return opened;
}

static int set_up(void **state) {
    (void)state;
    events[0] = '\0';
    return host_set_up();
}

/* ----------------------------------------------------------- configuration */

static yyjson_doc *read_serving(void) {
    struct toolrack_text *text = NULL;
    assert_ok(toolrack_serving(host, &text, &err));
    return host_read_json(text);
}

static void assert_at(yyjson_doc *doc, const char *pointer, const char *expected) {
    yyjson_val *value = yyjson_doc_ptr_get(doc, pointer);
    CLEANUP(freep) char *text = yyjson_val_write(value, 0, NULL);
    if (text == NULL || strcmp(text, expected) != 0) {
        fail_msg("%s is %s, not %s", pointer, text != NULL ? text : "missing", expected);
    }
}

static void all_defaults_are_filled_in(void **state) {
    (void)state;
    static const char *const files[] = {NULL, "{}", "{\"serve\": {}}",
                                        "{\"serve\": {\"tasks\": {}, \"limits\": {}}}"};
    for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
        if (files[i] != NULL) {
            host_configure(files[i]);
        } else {
            assert_int_equal(unlink(config_file), 0);
            config_file[0] = '\0';
        }
        host = open_host("host");
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_serving();
        assert_at(doc, "/listen", "\"127.0.0.1:8137\"");
        assert_at(doc, "/expose", "\"tools\"");
        assert_at(doc, "/elicitation", "\"pending\"");
        assert_at(doc, "/hosts", "[]");
        assert_at(doc, "/profiles", "{}");
        assert_at(doc, "/tls", "null");
        assert_at(doc, "/oauth", "null");
        assert_at(doc, "/public_url", "null");
        assert_at(doc, "/tasks/ttl_ms", "3600000");
        assert_at(doc, "/tasks/tools", "{}");
        assert_at(doc, "/limits/requests_per_minute", "0");
        toolrack_close(host);
        host = NULL;
        (void)snprintf(config_file, sizeof config_file, "%s/toolrack.json", dir);
    }
}

static void what_is_given_stays_and_the_rest_is_filled_in(void **state) {
    (void)state;
    host_configure("{\"serve\": {\"listen\": \"[::1]:0\", \"socket\": \"mcp.sock\","
                   "\"tls\": {\"certificate\": \"cert.pem\", \"key\": \"/etc/key.pem\"},"
                   "\"public_url\": \"https://tools.example\","
                   "\"oauth\": {\"issuer\": \"https://a.example\", \"jwks_file\": \"keys.json\","
                   "            \"scopes\": {\"safe\": \"read\"}},"
                   "\"limits\": {\"connections\": 7}, \"tasks\": {\"max\": 3},"
                   "\"profiles\": {\"small\": {\"tools\": [\"file_*\"]}}}}");
    host = open_host("host");
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_serving();
    char expected[128];
    assert_at(doc, "/listen", "\"[::1]:0\"");
    (void)snprintf(expected, sizeof expected, "\"%s/mcp.sock\"", dir);
    assert_at(doc, "/socket", expected);
    (void)snprintf(expected, sizeof expected, "\"%s/cert.pem\"", dir);
    assert_at(doc, "/tls/certificate", expected);
    assert_at(doc, "/tls/key", "\"/etc/key.pem\"");
    (void)snprintf(expected, sizeof expected, "\"%s/keys.json\"", dir);
    assert_at(doc, "/oauth/jwks_file", expected);
    assert_at(doc, "/oauth/jwks_url", "null");
    assert_at(doc, "/oauth/clock_skew_s", "60");
    assert_at(doc, "/oauth/scopes/safe", "\"read\"");
    assert_at(doc, "/oauth/scopes/dangerous", "\"toolrack:dangerous\"");
    assert_at(doc, "/limits/connections", "7");
    assert_at(doc, "/limits/read_s", "30");
    assert_at(doc, "/tasks/max", "3");
    assert_at(doc, "/tasks/poll_ms", "1000");
    assert_at(doc, "/profiles/small", "{\"tools\":[\"file_*\"]}");
}

/* Other hosts start with such a file. */
static void what_a_server_cannot_open_names_its_place(void **state) {
    (void)state;
    static const struct {
        const char *serve;
        uint32_t parts;
        const char *said; /* NULL: nothing */
    } rows[] = {
            {"\"tls\": {\"certificate\": \"no.pem\", \"key\": \"/dev/null\"}",
             TOOLRACK_SERVING_FILES,
             "/no.pem: No such file or directory; make the file, or correct the path"},
            {"\"tls\": {\"certificate\": \"toolrack.json\", \"key\": \"toolrack.json\"}",
             TOOLRACK_SERVING_FILES, NULL},
            {"\"tls\": {\"certificate\": \"/dev/null\", \"key\": \"toolrack.json\"}",
             TOOLRACK_SERVING_FILES,
             "certificate /dev/null: it is not a regular file; name another file"},
            {"\"tls\": {\"certificate\": \"toolrack.json\", \"key\": \"/tmp\"}",
             TOOLRACK_SERVING_FILES, "key /tmp: it is a folder; name a file in it"},
            {"\"tls\": {\"certificate\": \"no.pem\", \"key\": \"no.key\"}", TOOLRACK_SERVING_SOCKET,
             NULL},
            {"\"public_url\": \"https://b\", \"oauth\": {\"issuer\": \"https://a\", \"jwks_file\": "
             "\"keys/none.json\"}",
             TOOLRACK_SERVING_FILES, "/keys/none.json: No such file or directory"},
            {"\"socket\": \"none/mcp.sock\"", TOOLRACK_SERVING_FILES | TOOLRACK_SERVING_SOCKET,
             "the folder of the socket does not exist; make the folder"},
            {"\"socket\": \"none/mcp.sock\"", TOOLRACK_SERVING_FILES, NULL},
            {"\"socket\": \"mcp.sock\"", TOOLRACK_SERVING_SOCKET, NULL},
            {"\"socket\": \"toolrack.json\"", TOOLRACK_SERVING_SOCKET,
             "/toolrack.json: it exists and is no socket; remove it, or choose another path"},
            {"\"socket\": \".\"", TOOLRACK_SERVING_SOCKET, "it exists and is no socket"},
            {"\"socket\": \"toolrack.json\"", TOOLRACK_SERVING_FILES, NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "{\n\"serve\": {%s}}", rows[i].serve);
        host_configure(text);
        host = open_host("host");
        int code = toolrack_serving_check(host, rows[i].parts, &err);
        if (rows[i].said != NULL) {
            assert_error(code, TOOLRACK_E_INVALID, rows[i].said);
            assert_non_null(strstr(err.message, "/toolrack.json, line 2, column "));
        } else {
            assert_ok(code);
        }
        toolrack_close(host);
        host = NULL;
    }
}

static void what_a_server_finds_wrong_names_its_place(void **state) {
    (void)state;
    host_configure("{\n\"serve\": {\n\"tls\": {\"certificate\": \"/dev/null\", \"key\": "
                   "\"/dev/null\"}}}");
    host = open_host("host");
    assert_error(
            toolrack_serving_refuse(host, "/serve/tls/key", "/dev/null is empty; write it", &err),
            TOOLRACK_E_INVALID, "/toolrack.json, line 3, column 44: /dev/null is empty; write it");
    assert_string_equal(err.field, "/serve/tls/key");
}

#define FOUR          "\"[::1]:0\", \"[::1]:0\", \"[::1]:0\", \"[::1]:0\""
#define SIXTEEN(more) "[" FOUR ", " FOUR ", " FOUR ", " FOUR more "]"
#define OAUTH(issuer, more) \
    "{\"oauth\": {\"issuer\": \"" issuer "\", \"audience\": \"a\", " more "}}"

static void what_looks_like_that_is_taken(void **state) {
    (void)state;
    static const char *const right[] = {
            "{\"listen\": [\"[::1]:0\", \"[::1]:0\"]}",
            "{\"listen\": [\"[::]:9\", \"0.0.0.0:9\"]}",
            "{\"listen\": [\"127.0.0.1:9\", \"127.0.0.2:9\", \"127.0.0.1:10\"]}",
            "{\"listen\": " SIXTEEN("") "}",
            "{\"origins\": [\"HTTPS://App.Example:443\", \"http://[2001:DB8:0::1]:81\", "
            "\"chrome-extension://abcdefghijklmnop\"], \"hosts\": [\"App.Example:443\", \"a_b\"]}",
            "{\"public_url\": \"http://tools.example:81/a%20b/~c'(d)\"}",
            "{\"public_url\": \"https://[2001:db8::1]:81/a\"}",
            OAUTH("https://a", "\"jwks_url\": \"https://u@a.example/k?x=1\""),
            OAUTH("http://localhost:1", "\"jwks_url\": \"http://[::1]:1/k\""),
            OAUTH("https://a", "\"jwks_url\": null, \"jwks_file\": \"k\""),
    };
    for (size_t i = 0; i < ARRAY_LENGTH(right); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "{\"serve\": %s}", right[i]);
        host_configure(text);
        assert_ok(open_as("host", &host));
        toolrack_close(host);
        host = NULL;
    }
}

static void wrong_members_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *serve;
        const char *said;
    } wrong[] = {
            {"{\"listn\": \"127.0.0.1:1\"}", "did you mean \"listen\"?"},
            {"{\"listen\": \"127.0.0.1\"}", "must be an address and a port"},
            {"{\"listen\": \"127.0.0.1:65536\"}", "must be an address and a port"},
            {"{\"listen\": [\"127.0.0.1:1\", \"::1\"]}", "/serve/listen/1"},
            {"{\"listen\": []}", "/serve/listen"},
            {"{\"expose\": \"all\"}", "/serve/expose"},
            {"{\"elicitation\": \"yes\"}", "/serve/elicitation"},
            {"{\"limits\": {\"connections\": 0}}", "/serve/limits/connections"},
            {"{\"limits\": {\"conections\": 1}}", "did you mean \"connections\"?"},
            {"{\"tls\": {\"certificate\": \"c\"}}", "has no \"key\""},
            {"{\"oauth\": {\"issuer\": \"https://a.example\"}}", "\"jwks_url\" or \"jwks_file\""},
            {"{\"oauth\": {\"issuer\": \"https://a\", \"jwks_url\": \"https://a/k\","
             "\"algorithms\": [\"none\"]}}",
             "/serve/oauth/algorithms/0"},
            {"{\"oauth\": {\"issuer\": \"https://a\", \"jwks_url\": \"https://a/k\","
             "\"algorithms\": [\"HS256\"]}}",
             "/serve/oauth/algorithms/0"},
            {"{\"profiles\": {\"a b\": {}}}", "/serve/profiles/a b must match the pattern"},
            {"{\"profiles\": {\"a\": {\"tag\": []}}}", "did you mean \"tags\"?"},
            {"{\"profiles\": {\"a\": {\"tools\": [\"not a name\"]}}}",
             "must be the name of a tool"},
            {"{\"profiles\": {\"a\": {\"permissions\": [\"any\"]}}}", "/permissions/0"},
            {"{\"profiles\": {\"a\": {\"tools\": [\"b\", \"c@one\"]}}}",
             "\"c@one\" has no version or range"},
            {"{\"pinned\": [\"c@\\u0020\"]}", "no version or range"},
            {"{\"tasks\": {\"tools\": {\"x\": \"often\"}}}", "/serve/tasks/tools/x"},
            {"{\"tasks\": {\"tools\": {\"x y\": \"never\"}}}",
             "/serve/tasks/tools/x y must match the pattern"},
            {"{\"origins\": [\"https://a.example/path\"]}", "must be an origin"},
            {"{\"origins\": [\"https://a\", \"https://*\"]}",
             "line 1, column 37: \"https://*\" is no origin that a browser sends; write scheme, "
             "host and port alone, such as \"https://app.example.org\""},
            {"{\"origins\": [\"https://u@a\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://a:99999\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://a:\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://a?x\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://a#x\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://[::1\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://[::1]x\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://a..b\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://300.0.0.1\"]}", "is no origin that a browser sends"},
            {"{\"origins\": [\"https://b\\u00fccher.example\"]}",
             "is no origin that a browser sends"},
            {"{\"hosts\": [\"*\"]}", "\"*\" is no host"},
            {"{\"hosts\": [\"u@a\"]}", "is no host"},
            {"{\"hosts\": [\"a:99999\"]}", "is no host"},
            {"{\"hosts\": [\"a?x\"]}", "is no host"},
            {"{\"hosts\": [\"[::1\"]}", "is no host"},
            {"{\"hosts\": [\"a..b\"]}", "is no host"},
            {"{\"hosts\": [\"300.0.0.1\"]}", "is no host"},
            {"{\"socket\": \"~nobody/x\"}", "other users"},
            {"{\"listen\": \"300.0.0.1:80\"}",
             "line 1, column 22: \"300.0.0.1:80\" is no address to listen at; write ADDRESS:PORT"},
            {"{\"listen\": [\"localhost:0\", \"tools.example:80\"]}",
             "\"tools.example:80\" is no address to listen at"},
            {"{\"public_url\": \"https://tools.example/a?x=1\"}", "query"},
            {"{\"public_url\": \"https://tools.example/\"}", "without a slash at its end"},
            {"{\"hosts\": [\"tools.example:x\"]}", "is no host"},
            {"{\"trusted_proxies\": [\"10.0.0.0/33\"]}", "neither an address nor a network"},
            {"{\"oauth\": {\"issuer\": \"https://a\", \"jwks_url\": \"https://a/k\"}}",
             "does not say for whom tokens are; set its \"audience\""},
            {"{\"socket\": \"/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/"
             "0123456789/0123456789/0123456789/mcp.sock\"}",
             "too long for the path of a socket"},
            {"{\"listen\": [\"127.0.0.1:9\", \"127.0.0.1:9\"]}",
             "line 1, column 38: \"127.0.0.1:9\" has the port of \"127.0.0.1:9\", and only one can "
             "have it; remove one of them, or give it another port"},
            {"{\"listen\": [\"127.0.0.1:9\", \"localhost:9\"]}", "the port of \"127.0.0.1:9\""},
            {"{\"listen\": [\"0.0.0.0:9\", \"127.0.0.1:9\"]}", "the port of \"0.0.0.0:9\""},
            {"{\"listen\": [\"[::1]:9\", \"[::]:9\"]}", "the port of \"[::1]:9\""},
            {"{\"listen\": [\"[::1]:9\", \"[0:0::1]:9\"]}", "the port of \"[::1]:9\""},
            {"{\"listen\": " SIXTEEN(", \"[::1]:0\"") "}", "a list of 1 to 16"},
            {"{\"socket\": \"s\", \"listen\": " SIXTEEN("") "}",
             "\"[::1]:0\" is one too many, with \"socket\": a server listens at 16 addresses and "
             "sockets at most"},
            {"{\"listen\": \"[::ffff:127.0.0.1]:0\"}",
             "is an IPv4 address in the form of IPv6; write the IPv4 address"},
            {"{\"listen\": \"[::ffff:7f00:1]:0\"}", "is an IPv4 address in the form of IPv6"},
            {"{\"listen\": \"[ff02::1]:0\"}", "is an address of many machines"},
            {"{\"listen\": \"[fe80::1]:0\"}", "is an address of one link only"},
            {"{\"public_url\": \"https://tools.example/a\\\"b\"}",
             "/serve/public_url must be an address that begins with https:// or http://, with no "
             "characters but those of a URL"},
            {"{\"public_url\": \"https://tools.example/<a>\"}", "those of a URL"},
            {"{\"public_url\": \"https://tools.example/\\u00fc\"}", "those of a URL"},
            {"{\"public_url\": \"https://tools.example/a\\u0001\"}", "those of a URL"},
            {"{\"public_url\": \"https://tools.example/%2\"}", "those of a URL"},
            {OAUTH("https://a", "\"jwks_url\": \"http://login.example/k\""),
             "\"http://login.example/k\" is not https, and whoever is on the way could put other "
             "keys there; write the https address"},
            {OAUTH("https://a", "\"jwks_url\": \"http://127.0.0.1.evil.example/k\""),
             "is not https"},
            {OAUTH("https://a", "\"jwks_url\": \"https://\""), "/serve/oauth/jwks_url must be"},
            {OAUTH("https://a", "\"jwks_url\": \"https://a/\\\"\""), "those of a URL"},
            {OAUTH("http://login.example", "\"jwks_file\": \"k\""),
             "\"http://login.example\" is not https"},
            {OAUTH("https://a b", "\"jwks_file\": \"k\""), "/serve/oauth/issuer must be"},
            {OAUTH("https://a", "\"jwks_url\": null"), "\"jwks_url\" or \"jwks_file\""},
            {OAUTH("https://a", "\"jwks_url\": null, \"jwks_file\": null"),
             "\"jwks_url\" or \"jwks_file\""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        char text[512];
        (void)snprintf(text, sizeof text, "{\"serve\": %s}", wrong[i].serve);
        host_configure(text);
        assert_error(open_as("host", &host), TOOLRACK_E_INVALID, wrong[i].said);
        assert_null(host);
    }
}

/* Which of the tools a profile has, as letters. */
static const char *in_profile(const char *profile) {
    static const char *const names[] = {"file_read", "file_write", "wipe"};
    static const char letters[] = "rwx";
    static char found[sizeof letters];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        struct toolrack_tool *tool = toolrack_get(host, names[i]);
        assert_non_null(tool);
        if (toolrack_profile_has(host, profile, tool)) {
            found[count++] = letters[i];
        }
        toolrack_tool_unref(tool);
    }
    found[count] = '\0';
    return found;
}

static void a_profile_has_what_fits_each_of_its_lists(void **state) {
    (void)state;
    host_configure("{\"serve\": {\"profiles\": {"
                   "\"all\": {}, \"names\": {\"tools\": [\"file_*\", \"nothing\"]},"
                   "\"old\": {\"tools\": [\"file_read@^1\", \"wipe@2.x\"]},"
                   "\"tags\": {\"tags\": [\"read\", \"other\"]},"
                   "\"files\": {\"categories\": [\"files\"]},"
                   "\"careful\": {\"permissions\": [\"safe\", \"confirm\"]},"
                   "\"both\": {\"tags\": [\"disk\"], \"permissions\": [\"confirm\"]},"
                   "\"none\": {\"tools\": []}}}}");
    host = open_host("host");
    assert_ok(toolrack_register(host, &toolrack_plugin, NULL, &err));
    assert_string_equal(in_profile(NULL), "rwx");
    assert_string_equal(in_profile("all"), "rwx");
    assert_string_equal(in_profile("names"), "rw");
    assert_string_equal(in_profile("old"), "r");
    assert_string_equal(in_profile("tags"), "r");
    assert_string_equal(in_profile("files"), "rw");
    assert_string_equal(in_profile("careful"), "rw");
    assert_string_equal(in_profile("both"), "w");
    assert_string_equal(in_profile("none"), "");
    assert_string_equal(in_profile("unknown"), "");
    assert_true(toolrack_has_profile(host, "none"));
    assert_false(toolrack_has_profile(host, "unknown"));
}

/* ------------------------------------------------------------------- tasks */

static struct toolrack_task task_of(const char *owner) {
    struct toolrack_task task = TOOLRACK_TASK_INIT;
    task.owner = owner;
    task.tool = "file_read";
    task.version = "1.2.0";
    task.method = "tools/call";
    return task;
}

static void create(struct toolrack *in, const char *owner, char ret_id[TOOLRACK_TASK_ID_ROOM]) {
    struct toolrack_task task = task_of(owner);
    assert_ok(toolrack_task_create(in, &task, ret_id, &err));
    assert_int_equal(strspn(ret_id, "0123456789abcdef"), TOOLRACK_TASK_ID_ROOM - 1);
}

static yyjson_doc *get(struct toolrack *in, const char *owner, const char *id) {
    struct toolrack_text *text = NULL;
    assert_ok(toolrack_task_get(in, owner, id, &text, &err));
    return host_read_json(text);
}

static void assert_status(struct toolrack *in, const char *id, const char *expected) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = get(in, NULL, id);
    assert_at(doc, "/status", expected);
}

static int set(const char *id, const char *status, const char *result, const char *failure) {
    return toolrack_task_set(host, id, status, NULL, result, failure, NULL, &err);
}

static void a_task_is_there_before_it_is_answered(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char other[TOOLRACK_TASK_ID_ROOM];
    host = open_host("host");
    create(host, "token:a", id);
    create(host, "token:a", other);
    assert_string_not_equal(id, other);
    struct toolrack *second = open_host("second");
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = get(second, "token:a", id);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "\"%s\"", id);
    assert_at(doc, "/taskId", expected);
    assert_at(doc, "/status", "\"working\"");
    assert_at(doc, "/statusMessage", "null");
    assert_at(doc, "/ttlMs", "3600000");
    assert_at(doc, "/pollIntervalMs", "1000");
    assert_at(doc, "/tool", "\"file_read\"");
    assert_at(doc, "/version", "\"1.2.0\"");
    assert_at(doc, "/method", "\"tools/call\"");
    assert_at(doc, "/owner", "\"token:a\"");
    const char *created = yyjson_get_str(yyjson_doc_ptr_get(doc, "/createdAt"));
    struct tm parts;
    const char *end = strptime(created, "%Y-%m-%dT%H:%M:%S", &parts);
    assert_non_null(end);
    assert_int_equal(strlen(end), strlen(".123Z"));
    toolrack_close(second);
}

static void a_task_tells_what_it_asks_for_and_what_it_gave(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    host = open_host("host");
    create(host, "a", id);
    assert_ok(toolrack_task_set(host, id, "input_required", "a question", NULL, NULL,
                                "{\"ask-1\":{\"method\":\"elicitation/create\"}}", &err));
    CLEANUP(yyjson_doc_freep) yyjson_doc *asks = get(host, "a", id);
    assert_at(asks, "/status", "\"input_required\"");
    assert_at(asks, "/statusMessage", "\"a question\"");
    assert_at(asks, "/inputRequests/ask-1/method", "\"elicitation/create\"");
    assert_ok(toolrack_task_set(host, id, "working", NULL, NULL, NULL, NULL, &err));
    CLEANUP(yyjson_doc_freep) yyjson_doc *works = get(host, "a", id);
    assert_null(yyjson_doc_ptr_get(works, "/inputRequests"));
    assert_ok(set(id, "completed", "{\"content\":[],\"n\":12345678901234567890123}", NULL));
    toolrack_close(host);
    host = open_host("host"); /* also by a host that did not run it */
    CLEANUP(yyjson_doc_freep) yyjson_doc *done = get(host, "a", id);
    assert_at(done, "/status", "\"completed\"");
    assert_at(done, "/result/content", "[]");
    assert_null(yyjson_doc_ptr_get(done, "/error"));
}

static void a_final_status_is_final(void **state) {
    (void)state;
    static const char *const ends[] = {"completed", "failed", "cancelled"};
    host = open_host("host");
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        char id[TOOLRACK_TASK_ID_ROOM];
        char expected[32];
        create(host, "a", id);
        assert_ok(set(id, ends[i], i == 0 ? "1" : NULL, i == 1 ? "{\"code\":1}" : NULL));
        assert_error(set(id, "completed", "2", NULL), TOOLRACK_E_EXISTS, ends[i]);
        assert_error(set(id, "working", NULL, NULL), TOOLRACK_E_EXISTS, ends[i]);
        assert_error(toolrack_task_cancel(host, NULL, id, &err), TOOLRACK_E_EXISTS, ends[i]);
        (void)snprintf(expected, sizeof expected, "\"%s\"", ends[i]);
        assert_status(host, id, expected);
    }
    assert_string_equal(events, "");
}

static void what_does_not_fit_the_status_is_refused(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    host = open_host("host");
    create(host, "a", id);
    assert_error(set(id, "done", NULL, NULL), TOOLRACK_E_INVALID, "\"done\"");
    assert_error(set(id, "completed", NULL, NULL), TOOLRACK_E_INVALID, "needs its result");
    assert_error(set(id, "failed", NULL, NULL), TOOLRACK_E_INVALID, "needs its error");
    assert_error(set(id, "working", "1", NULL), TOOLRACK_E_INVALID, "takes no result");
    assert_error(set(id, "input_required", NULL, NULL), TOOLRACK_E_INVALID,
                 "needs its inputRequests");
    assert_error(set(id, "completed", "{", NULL), TOOLRACK_E_INVALID, "not JSON");
    assert_error(set("0123456789abcdef0123456789abcdef", "working", NULL, NULL),
                 TOOLRACK_E_NOT_FOUND, "there is no task");
    struct toolrack_task task = TOOLRACK_TASK_INIT;
    assert_error(toolrack_task_create(host, &task, id, &err), TOOLRACK_E_INVALID, "needs an owner");
    assert_status(host, id, "\"working\"");
}

static void an_owner_sees_its_own_tasks_only(void **state) {
    (void)state;
    char mine[TOOLRACK_TASK_ID_ROOM];
    char other[TOOLRACK_TASK_ID_ROOM];
    struct toolrack_text *text = NULL;
    char unknown[ERROR_MESSAGE_MAX];
    host = open_host("host");
    create(host, "a", mine);
    create(host, "b", other);
    assert_error(toolrack_task_get(host, "a", "0123456789abcdef0123456789abcdef", &text, &err),
                 TOOLRACK_E_NOT_FOUND, "there is no task");
    (void)snprintf(unknown, sizeof unknown, "%.*s", (int)strcspn(err.message, "'"), err.message);
    assert_error(toolrack_task_get(host, "a", other, &text, &err), TOOLRACK_E_NOT_FOUND, unknown);
    assert_error(toolrack_task_cancel(host, "a", other, &err), TOOLRACK_E_NOT_FOUND, unknown);
    assert_status(host, other, "\"working\"");
    assert_ok(toolrack_tasks(host, "a", &text, &err));
    assert_non_null(strstr(toolrack_text_data(text, NULL), mine));
    assert_null(strstr(toolrack_text_data(text, NULL), other));
    toolrack_text_unref(text);
    assert_ok(toolrack_tasks(host, NULL, &text, &err));
    const char *first = strstr(toolrack_text_data(text, NULL), mine);
    const char *second = strstr(toolrack_text_data(text, NULL), other);
    assert_true(first != NULL && second != NULL && first < second);
    toolrack_text_unref(text);
}

static void a_cancelled_task_reaches_the_host_that_runs_it(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char expected[128];
    host = open_host("runs");
    struct toolrack *other = open_host("other");
    create(host, "a", id);
    assert_ok(toolrack_task_cancel(other, "a", id, &err));
    (void)snprintf(expected, sizeof expected, "runs %s;", id); /* before it returned, and once */
    assert_string_equal(events, expected);
    assert_status(host, id, "\"cancelled\"");
    assert_error(set(id, "completed", "1", NULL), TOOLRACK_E_EXISTS, "cancelled");

    events[0] = '\0';
    create(host, "a", id);
    assert_ok(toolrack_task_cancel(host, "a", id, &err)); /* its own host */
    (void)snprintf(expected, sizeof expected, "runs %s;", id);
    assert_string_equal(events, expected);
    create(other, "a", id); /* what is decided later is no reason to tell it again */
    assert_ok(toolrack_task_cancel(host, "a", id, &err));
    assert_int_equal(strncmp(strchr(events, ';') + 1, "other ", strlen("other ")), 0);
    assert_int_equal(strcspn(strchr(events, ';') + 1, ";"), strlen("other ") + strlen(id));
    toolrack_close(other);
}

/* A process with a host that has a task; it ends as told. The id comes through a pipe. */
static pid_t run_elsewhere(char ret_id[TOOLRACK_TASK_ID_ROOM], bool closes, int *ret_go) {
    int ids[2];
    int go[2];
    assert_int_equal(pipe(ids), 0);
    assert_int_equal(pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct toolrack *own = NULL;
        struct toolrack_task task = task_of("a");
        char id[TOOLRACK_TASK_ID_ROOM];
        char byte;
        (void)close(go[1]);
        if (open_as("elsewhere", &own) < 0 || toolrack_task_create(own, &task, id, NULL) < 0 ||
            write(ids[1], id, sizeof id) != (ssize_t)sizeof id) {
            _exit(1);
        }
        (void)!read(go[0], &byte, 1);
        if (closes) {
            toolrack_close(own);
        }
        _exit(0);
    }
    (void)close(ids[1]);
    (void)close(go[0]);
    assert_int_equal(read(ids[0], ret_id, TOOLRACK_TASK_ID_ROOM), TOOLRACK_TASK_ID_ROOM);
    (void)close(ids[0]);
    *ret_go = go[1];
    return pid;
}

static void assert_found_failed(struct toolrack *in, const char *id) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = get(in, "a", id);
    assert_at(doc, "/status", "\"failed\"");
    assert_at(doc, "/statusMessage", "\"the host that ran it ended before the call did\"");
    assert_at(doc, "/error/code", "-32603");
    assert_at(doc, "/error/message", "\"the host that ran it ended before the call did\"");
}

static void a_task_of_a_host_that_ended_has_failed(void **state) {
    (void)state;
    for (int closes = 0; closes < 2; closes++) {
        char id[TOOLRACK_TASK_ID_ROOM];
        int go;
        int status;
        pid_t pid = run_elsewhere(id, closes != 0, &go);
        host = open_host("host");
        assert_status(host, id, "\"working\""); /* its host lives */
        if (closes != 0) {
            (void)close(go);
        } else {
            assert_int_equal(kill(pid, SIGKILL), 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (closes == 0) {
            (void)close(go);
            assert_true(WIFSIGNALED(status));
        } else {
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        }
        struct toolrack_text *text = NULL;
        assert_ok(toolrack_tasks(host, "a", &text, &err));
        assert_non_null(strstr(toolrack_text_data(text, NULL), "\"failed\""));
        assert_null(strstr(toolrack_text_data(text, NULL), "\"error\""));
        toolrack_text_unref(text);
        assert_found_failed(host, id);
        assert_error(set(id, "completed", "1", NULL), TOOLRACK_E_EXISTS, "failed"); /* is stored */
        toolrack_close(host);
        host = open_host("host");
        assert_found_failed(host, id);
        toolrack_close(host);
        host = NULL;
    }
}

static void a_task_is_removed_when_its_time_is_over(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char kept[TOOLRACK_TASK_ID_ROOM];
    char next[TOOLRACK_TASK_ID_ROOM];
    struct toolrack_text *text = NULL;
    struct toolrack_task task = task_of("a");
    host = open_host("host");
    task.ttl_ms = 5000;
    task.poll_ms = 70;
    assert_ok(toolrack_task_create(host, &task, id, &err));
    task.ttl_ms = TOOLRACK_TASK_FOR_EVER;
    assert_ok(toolrack_task_create(host, &task, kept, &err));
    {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = get(host, "a", id);
        assert_at(doc, "/ttlMs", "5000");
        assert_at(doc, "/pollIntervalMs", "70");
    }
    atomic_store(&later_s, 6);
    assert_error(toolrack_task_get(host, "a", id, &text, &err), TOOLRACK_E_NOT_FOUND, "no task");
    assert_error(set(id, "completed", "1", NULL), TOOLRACK_E_NOT_FOUND, "no task");
    assert_error(toolrack_task_cancel(host, "a", id, &err), TOOLRACK_E_NOT_FOUND, "no task");
    create(host, "a", next); /* this removes it */
    atomic_store(&later_s, 0);
    assert_error(toolrack_task_get(host, "a", id, &text, &err), TOOLRACK_E_NOT_FOUND, "no task");
    {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = get(host, "a", kept);
        assert_at(doc, "/ttlMs", "null");
    }
}

static void an_owner_has_a_limit(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    struct toolrack_task task = task_of("a");
    host_configure("{\"serve\": {\"tasks\": {\"max\": 2, \"ttl_ms\": 4000}}}");
    host = open_host("host");
    create(host, "a", id);
    create(host, "a", id);
    assert_error(toolrack_task_create(host, &task, id, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "\"tasks\", \"max\"");
    create(host, "b", id);
    atomic_store(&later_s, 5);
    create(host, "a", id);
}

/* ----------------------------------------------------------- large results */

/* A JSON string of so many bytes. */
static char *make_text(size_t size) {
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[0] = text[size - 1] = '"';
    text[size] = '\0';
    return text;
}

static size_t count_files(void) {
    char path[96];
    size_t count = 0;
    (void)snprintf(path, sizeof path, "%s/tasks", state_dir);
    DIR *stream = opendir(path);
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return count;
}

static void a_large_result_is_kept_beside_the_database(void **state) {
    (void)state;
    static const size_t sizes[] = {65536, 65537, TOOLRACK_RESULT_MAX};
    char id[TOOLRACK_TASK_ID_ROOM];
    struct toolrack_task task = task_of("a");
    host = open_host("host");
    task.ttl_ms = 5000;
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        CLEANUP(freep) char *text = make_text(sizes[i]);
        assert_ok(toolrack_task_create(host, &task, id, &err));
        assert_ok(set(id, "completed", text, NULL));
        assert_int_equal(count_files(), i);
        struct toolrack *other = open_host("other");
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = get(other, "a", id);
        yyjson_val *result = yyjson_doc_ptr_get(doc, "/result");
        assert_int_equal(yyjson_get_len(result), sizes[i] - 2);
        assert_memory_equal(yyjson_get_str(result), text + 1, sizes[i] - 2);
        toolrack_close(other);
    }
    atomic_store(&later_s, 6);
    create(host, "a", id);
    assert_int_equal(count_files(), 0);
}

static void a_result_that_is_lost_makes_the_task_failed(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char path[160];
    CLEANUP(freep) char *text = make_text(100000);
    host = open_host("host");
    create(host, "a", id);
    assert_ok(set(id, "completed", text, NULL));
    (void)snprintf(path, sizeof path, "%s/tasks/%s", state_dir, id);
    assert_int_equal(truncate(path, 99999), 0);
    CLEANUP(yyjson_doc_freep) yyjson_doc *cut = get(host, "a", id);
    assert_at(cut, "/status", "\"failed\"");
    assert_non_null(strstr(yyjson_get_str(yyjson_doc_ptr_get(cut, "/error/message")), "lost"));
    assert_null(yyjson_doc_ptr_get(cut, "/result"));
    assert_int_equal(unlink(path), 0);
    CLEANUP(yyjson_doc_freep) yyjson_doc *gone = get(host, "a", id);
    assert_at(gone, "/status", "\"failed\"");
}

/* No file may grow beyond this. */
static void limit_files(rlim_t most) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = most;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_is_an_error_of_that_task_alone(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char small[TOOLRACK_TASK_ID_ROOM];
    CLEANUP(freep) char *text = make_text(2000000);
    (void)signal(SIGXFSZ, SIG_IGN);
    host = open_host("host");
    create(host, "a", id);
    create(host, "a", small);
    limit_files(1000000); /* room for the database, not for the result */
    assert_error(set(id, "completed", text, NULL), TOOLRACK_E_IO, "cannot be kept");
    limit_files(RLIM_INFINITY);
    assert_int_equal(count_files(), 0);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = get(host, "a", id);
    assert_at(doc, "/status", "\"failed\"");
    assert_non_null(
            strstr(yyjson_get_str(yyjson_doc_ptr_get(doc, "/error/message")), "cannot be kept"));
    assert_ok(set(small, "completed", "1", NULL));
    assert_status(host, small, "\"completed\"");
}

static void an_end_that_cannot_be_stored_at_all_is_stored_later(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char next[TOOLRACK_TASK_ID_ROOM];
    (void)signal(SIGXFSZ, SIG_IGN);
    host = open_host("host");
    struct toolrack *other = open_host("other");
    create(host, "a", id);
    limit_files(1);
    assert_int_equal(toolrack_task_set(host, id, "completed", NULL, "1", NULL, NULL, NULL),
                     TOOLRACK_E_IO); /* why is not asked, and is kept */
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = get(host, "a", id);
    assert_at(doc, "/status", "\"failed\"");
    const char *why = yyjson_get_str(yyjson_doc_ptr_get(doc, "/error/message"));
    assert_non_null(strstr(why, "a file may not grow so far"));
    limit_files(RLIM_INFINITY);
    create(host, "a", next);
    assert_status(other, id, "\"failed\"");
    toolrack_close(other);
}

static void large_results_of_an_owner_have_a_limit(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char last[TOOLRACK_TASK_ID_ROOM];
    struct toolrack_task task = task_of("a");
    CLEANUP(freep) char *text = make_text(100000);
    host_configure("{\"serve\": {\"tasks\": {\"bytes\": 250000}}}");
    host = open_host("host");
    for (size_t i = 0; i < 2; i++) {
        create(host, "a", id);
        assert_ok(set(id, "completed", text, NULL));
    }
    create(host, "a", last);
    assert_error(set(last, "completed", text, NULL), TOOLRACK_E_LIMIT_EXCEEDED,
                 "\"tasks\", \"bytes\"");
    assert_status(host, last, "\"failed\"");
    assert_int_equal(count_files(), 2);
    create(host, "a", last); /* what is short is kept */
    assert_ok(set(last, "completed", "1", NULL));
    create(host, "b", last);
    assert_ok(set(last, "completed", text, NULL));

    /* What is removed leaves room. */
    assert_error(toolrack_task_remove(host, "b", id, &err), TOOLRACK_E_NOT_FOUND, "there is no");
    assert_ok(toolrack_task_remove(host, "a", id, &err));
    assert_int_equal(count_files(), 2);
    assert_error(toolrack_task_remove(host, "a", id, &err), TOOLRACK_E_NOT_FOUND, "there is no");
    create(host, "a", id);
    assert_error(toolrack_task_remove(host, "a", id, &err), TOOLRACK_E_INVALID, "has not ended");
    assert_ok(set(id, "completed", text, NULL));
    assert_int_equal(toolrack_task_create(host, &task, last, &err), 0);
    assert_ok(toolrack_task_cancel(host, "a", last, &err));
    assert_error(toolrack_task_remove(host, "a", last, &err), TOOLRACK_E_INVALID, "was cancelled");
}

/* An owner whose results fill the room has no new task; others do, and none takes it all. */
static void large_results_of_all_have_a_limit(void **state) {
    (void)state;
    static const char *const owners[] = {"a", "b", "c"};
    char id[TOOLRACK_TASK_ID_ROOM];
    struct toolrack_task task = task_of("a");
    CLEANUP(freep) char *text = make_text(100000);
    host_configure("{\"serve\": {\"tasks\": {\"all_bytes\": 410000}}}");
    host = open_host("host");
    create(host, "a", id);
    assert_ok(set(id, "completed", text, NULL));
    create(host, "a", id);
    assert_ok(set(id, "completed", text, NULL));
    create(host, "a", id);
    assert_error(set(id, "completed", text, NULL), TOOLRACK_E_LIMIT_EXCEEDED, "\"all_bytes\"");
    for (size_t i = 1; i < ARRAY_LENGTH(owners); i++) {
        create(host, owners[i], id);
        assert_int_equal(set(id, "completed", text, NULL), i == 1 ? 0 : TOOLRACK_E_LIMIT_EXCEEDED);
    }
    assert_error(toolrack_task_create(host, &task, id, &err), TOOLRACK_E_LIMIT_EXCEEDED,
                 "or its task is removed");
}

static void what_a_killed_process_has_left_is_removed(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    char path[160];
    CLEANUP(freep) char *text = make_text(100000);
    host = open_host("host");
    create(host, "a", id);
    assert_ok(set(id, "completed", text, NULL));
    toolrack_close(host);
    static const char *const left[] = {"0123456789abcdef0123456789abcdef",
                                       ".0123456789abcdef0123456789abcdef"};
    for (size_t i = 0; i < ARRAY_LENGTH(left); i++) {
        (void)snprintf(path, sizeof path, "%s/tasks/%s", state_dir, left[i]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
    assert_int_equal(count_files(), 3);
    host = open_host("host");
    char next[TOOLRACK_TASK_ID_ROOM];
    create(host, "a", next);
    assert_int_equal(count_files(), 1);
    assert_status(host, id, "\"completed\"");
}

/* ------------------------------------------------------- no state folder */

static void without_a_state_folder_tasks_last_as_long_as_the_host(void **state) {
    (void)state;
    char id[TOOLRACK_TASK_ID_ROOM];
    CLEANUP(freep) char *text = make_text(100000);
    state_dir[0] = '\0';
    host = open_host("host");
    create(host, "a", id);
    assert_status(host, id, "\"working\"");
    assert_ok(set(id, "completed", text, NULL));
    assert_status(host, id, "\"completed\"");
    create(host, "a", id);
    assert_ok(toolrack_task_cancel(host, "a", id, &err));
    assert_non_null(strstr(events, id));
}

int main(void) {
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, host_tear_down)
    const struct CMUnitTest tests[] = {
            TEST(all_defaults_are_filled_in),
            TEST(what_is_given_stays_and_the_rest_is_filled_in),
            TEST(wrong_members_are_refused),
            TEST(what_looks_like_that_is_taken),
            TEST(what_a_server_cannot_open_names_its_place),
            TEST(what_a_server_finds_wrong_names_its_place),
            TEST(a_profile_has_what_fits_each_of_its_lists),
            TEST(a_task_is_there_before_it_is_answered),
            TEST(a_task_tells_what_it_asks_for_and_what_it_gave),
            TEST(a_final_status_is_final),
            TEST(what_does_not_fit_the_status_is_refused),
            TEST(an_owner_sees_its_own_tasks_only),
            TEST(a_cancelled_task_reaches_the_host_that_runs_it),
            TEST(a_task_of_a_host_that_ended_has_failed),
            TEST(a_task_is_removed_when_its_time_is_over),
            TEST(an_owner_has_a_limit),
            TEST(a_large_result_is_kept_beside_the_database),
            TEST(a_result_that_is_lost_makes_the_task_failed),
            TEST(a_full_disk_is_an_error_of_that_task_alone),
            TEST(an_end_that_cannot_be_stored_at_all_is_stored_later),
            TEST(large_results_of_an_owner_have_a_limit),
            TEST(large_results_of_all_have_a_limit),
            TEST(what_a_killed_process_has_left_is_removed),
            TEST(without_a_state_folder_tasks_last_as_long_as_the_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
