/* Who may use the NATS server, and what a host that is joined by it may say of itself: nkeys and
 * TLS at real nats-servers on loopback, announcements that are forged, and trust that only the
 * configuration gives. */
#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
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

#include "../support/patience.h"
#include "../support/remove-tree.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "remote/nats/access.h"
#include "remote/nats/key.h"
#include "remote/nats/libnats.h"
#include "remote/nats/nkey.h"
#include "toolrack/hosts.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

#define BEAT_MS 50

static struct toolrack_error err;
static char folder[64];

/* ------------------------------------------------------------------ server */

static pid_t server;
static char url[192];

static const char *path_of(const char *name) {
    static char paths[16][128];
    static unsigned at;
    char *path = paths[at++ % 16];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode) {
    FILE *file = fopen(path_of(name), "w");
    assert_true(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    assert_int_equal(chmod(path_of(name), mode), 0);
}

/* With a configuration. The server says on which free port it listens, and when it is ready. */
static void start_server(const char *scheme, const char *configuration) {
    int fds[2];
    char line[512];
    int port = 0;
    write_file("server.conf", configuration, 0600);
    assert_int_equal(pipe(fds), 0);
    server = fork();
    if (server == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(fds[1], STDERR_FILENO);
        (void)execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", "-1", "-c",
                     path_of("server.conf"), (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    FILE *out = fdopen(fds[0], "r");
    while (out != NULL && fgets(line, sizeof line, out) != NULL &&
           strstr(line, "Server is ready") == NULL) {
        const char *at = strstr(line, "client connections on 127.0.0.1:");
        port = at != NULL ? atoi(strrchr(at, ':') + 1) : port;
    }
    assert_true(server > 0 && port > 0);
    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%d", scheme, port);
    /* `out` stays open: the server goes on writing. */
}

static int stop_server(void **state) {
    (void)state;
    if (server > 0) {
        (void)kill(server, SIGKILL);
        (void)waitpid(server, NULL, 0);
        server = 0;
    }
    return 0;
}

/* ------------------------------------------------------------------- hosts */

static tr_status run_say(struct tr_call *call) {
    return tr_reply_text(call, "hello");
}

static const struct tr_tool say = {.size = sizeof say,
                                   .name = "say",
                                   .description = "Says hello",
                                   .permission = TR_SAFE,
                                   .schema = TR_SCHEMA({"type" : "object"}),
                                   .run = run_say};
static const struct tr_tool *const table[] = {&say};
static const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                        .size = sizeof plugin,
                                        .abi_major = TR_ABI_MAJOR,
                                        .abi_minor = TR_ABI_MINOR,
                                        .flags = TR_THREAD_SAFE,
                                        .id = "test.tools",
                                        .version = "1.0.0",
                                        .tool_count = 1,
                                        .tool_size = sizeof(struct tr_tool),
                                        .tools = table};

static struct toolrack *open_host(const char *configuration, const char *state_dir) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    if (configuration != NULL) {
        write_file("toolrack.json", configuration, 0600);
    }
    options.config_file = configuration != NULL ? path_of("toolrack.json") : "";
    options.state_dir = state_dir;
    options.no_scan = 1;
    if (toolrack_open(&options, &host, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return host;
}

static int join(struct toolrack *host, const char *name, const char *trusted,
                const struct toolrack_join_options *given) {
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    const char *const keys[] = {trusted, NULL};
    if (given != NULL) {
        options = *given;
    }
    options.url = url;
    options.name = name;
    options.beat_ms = BEAT_MS;
    options.trusted = keys;
    return toolrack_join(host, &options, &err);
}

/* Whether a host can join by some options, and leave. */
static int try_to_join(const struct toolrack_join_options *options) {
    struct toolrack *host = open_host(NULL, "");
    int code = join(host, "one", NULL, options);
    toolrack_close(host);
    return code;
}

/* ------------------------------------------------------------------ access */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* A seed as `nk -gen user` writes it; the test's own way. */
static void make_seed(char ret[59]) {
    unsigned char bytes[37] = {(18 << 3) | (160 >> 5), (160 & 31) << 3};
    unsigned crc = 0;
    randombytes_buf(bytes + 2, 32);
    for (size_t i = 0; i < 34 * 8; i++) {
        unsigned bit = (bytes[i / 8] >> (7 - i % 8)) & 1u;
        bool carries = ((crc >> 15) & 1u) != bit;
        crc = ((crc << 1) ^ (carries ? 0x1021u : 0u)) & 0xffffu;
    }
    bytes[34] = (unsigned char)crc;
    bytes[35] = (unsigned char)(crc >> 8);
    for (size_t i = 0; i < 58; i++) {
        unsigned two = (unsigned)bytes[i * 5 / 8] << 8 | bytes[i * 5 / 8 + 1];
        ret[i] = letters[(two >> (11 - i * 5 % 8)) & 31u];
    }
    ret[58] = '\0';
}

static void test_nkey(void **state) {
    (void)state;
    char seed[59];
    char public[NKEY_ROOM];
    char text[512];
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    make_seed(seed);
    write_file("user.nk", seed, 0600);
    assert_int_equal(nkey_read(path_of("user.nk"), public, &err), 0);
    (void)snprintf(text, sizeof text, "authorization { users = [ { nkey: %s } ] }\n", public);
    start_server("nats", text);

    assert_int_equal(try_to_join(NULL), TOOLRACK_E_IO);
    options.nkey = path_of("user.nk");
    if (try_to_join(&options) < 0) {
        fail_msg("%s", err.message);
    }
    make_seed(seed); /* another user's */
    write_file("other.nk", seed, 0600);
    options.nkey = path_of("other.nk");
    assert_int_equal(try_to_join(&options), TOOLRACK_E_IO);

    /* By the configuration. */
    (void)snprintf(text, sizeof text, "{\"nats\": {\"nkey\": \"%s\"}}", path_of("user.nk"));
    struct toolrack *host = open_host(text, "");
    assert_int_equal(join(host, "one", NULL, NULL), 0);
    toolrack_close(host);
}

static void test_secrets(void **state) {
    (void)state;
    char seed[59];
    char public[NKEY_ROOM];
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    make_seed(seed);
    write_file("user.nk", seed, 0644); /* others may read it */
    assert_int_equal(nkey_read(path_of("user.nk"), public, &err), TOOLRACK_E_REFUSED);
    assert_non_null(strstr(err.message, "chmod 600"));
    options.nkey = path_of("user.nk");
    (void)snprintf(url, sizeof url, "nats://127.0.0.1:1");
    assert_int_equal(try_to_join(&options), TOOLRACK_E_REFUSED);
    options = (struct toolrack_join_options)TOOLRACK_JOIN_OPTIONS_INIT;
    options.credentials = path_of("user.nk");
    assert_int_equal(try_to_join(&options), TOOLRACK_E_REFUSED);
    options.credentials = path_of("nowhere");
    assert_int_equal(try_to_join(&options), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "nowhere"));

    static const char *const wrong[] = {"", "SU", "hello", "\xff"};
    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        write_file("wrong.nk", wrong[i], 0600);
        assert_int_equal(nkey_read(path_of("wrong.nk"), public, &err), TOOLRACK_E_INVALID);
    }
    seed[20] = seed[20] == 'A' ? 'B' : 'A'; /* the checksum is not that of this */
    write_file("wrong.nk", seed, 0600);
    assert_int_equal(nkey_read(path_of("wrong.nk"), public, &err), TOOLRACK_E_INVALID);
}

/* A certificate that says to be for 127.0.0.1, by itself. */
static void make_certificate(const char *name) {
    char command[1024];
    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
                   "-days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 "
                   "-keyout %s/%s-key.pem -out %s/%s.pem 2>/dev/null",
                   folder, name, folder, name);
    assert_int_equal(system(command), 0);
}

static void test_tls(void **state) {
    (void)state;
    char text[1024];
    struct toolrack_join_options options = TOOLRACK_JOIN_OPTIONS_INIT;
    make_certificate("server");
    make_certificate("client");
    make_certificate("stranger");
    (void)snprintf(text, sizeof text,
                   "tls { cert_file: \"%s/server.pem\", key_file: \"%s/server-key.pem\", "
                   "ca_file: \"%s/client.pem\", verify: true }\n",
                   folder, folder, folder);
    start_server("tls", text);
    char ca[128];
    char certificate[128];
    char key[128];
    (void)snprintf(ca, sizeof ca, "%s/server.pem", folder);
    (void)snprintf(certificate, sizeof certificate, "%s/client.pem", folder);
    (void)snprintf(key, sizeof key, "%s/client-key.pem", folder);
    options.ca = ca;
    options.certificate = certificate;
    options.key = key;
    if (try_to_join(&options) < 0) {
        fail_msg("%s", err.message);
    }
    /* A server that nobody vouches for, and a host that nobody does. */
    (void)snprintf(ca, sizeof ca, "%s/stranger.pem", folder);
    assert_int_equal(try_to_join(&options), TOOLRACK_E_IO);
    (void)snprintf(ca, sizeof ca, "%s/server.pem", folder);
    options.certificate = NULL;
    options.key = NULL;
    assert_int_equal(try_to_join(&options), TOOLRACK_E_IO);
}

static void what_is_wrong_is_told_before_a_server_is_asked(void **state) {
    (void)state;
    write_file("open", "-----BEGIN NATS USER JWT-----\n", 0644);
    write_file("text", "hello", 0600);
    write_file("pem", "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n", 0600);
    const struct {
        struct access_options options;
        int code;
        const char *words;
    } cases[] = {
            {{.url = "nats://a,tls://u:p@b:1,c"}, 0, NULL},
            {{.url = "NATS://a", .certificate = path_of("pem"), .key = path_of("pem")}, 0, NULL},
            {{.url = "nats://a,http://u:hidden@b"}, TOOLRACK_E_INVALID, "begins with \"http://\""},
            {{.url = ","}, TOOLRACK_E_INVALID, "names 0 servers"},
            {{.url = "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a"}, TOOLRACK_E_INVALID, "names 17 servers"},
            {{.credentials = "/nowhere"}, TOOLRACK_E_IO, "cannot read /nowhere"},
            {{.credentials = path_of("open")}, TOOLRACK_E_REFUSED, "chmod 600"},
            {{.credentials = path_of("text")}, TOOLRACK_E_INVALID, "nsc generate creds"},
            {{.nkey = path_of("text")}, TOOLRACK_E_INVALID, "no seed"},
            {{.ca = "/nowhere"}, TOOLRACK_E_IO, "which \"ca\" of \"nats\" names: No such file"},
            {{.ca = path_of("text")}, TOOLRACK_E_INVALID, "which \"ca\" of \"nats\" names, has no"},
            {{.certificate = path_of("pem")},
             TOOLRACK_E_INVALID,
             "\"certificate\" without \"key\""},
            {{.key = path_of("pem")}, TOOLRACK_E_INVALID, "\"key\" without \"certificate\""},
            {{.certificate = path_of("pem"), .key = path_of("text")},
             TOOLRACK_E_INVALID,
             "which \"key\" of \"nats\" names"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        err.message[0] = '\0';
        int code = access_check(&cases[i].options, &err);
        if (code != cases[i].code ||
            (cases[i].words != NULL && strstr(err.message, cases[i].words) == NULL)) {
            fail_msg("case %zu: %d, %s", i, code, err.message);
        }
        assert_null(strstr(err.message, "hidden"));
    }
}

/* libnats takes tls:// for nats:// unless it is told. */
static void an_open_server_is_not_taken_for_one_with_tls(void **state) {
    (void)state;
    start_server("tls", "");
    assert_int_equal(try_to_join(NULL), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "it has no TLS"));
    char both[192];
    (void)snprintf(both, sizeof both, "nats%.64s,%.64s", strchr(url, ':'), url);
    (void)strcpy(url, both);
    assert_int_equal(try_to_join(NULL), TOOLRACK_E_IO);
}

/* ----------------------------------------------------------- announcements */

static char *key_in(const char *state_dir) {
    CLEANUP(key_destroyp) struct key *key = NULL;
    (void)mkdir(state_dir, 0700);
    assert_int_equal(key_open(state_dir, &key, &err), 0);
    return strdup(key_public(key));
}

static bool has_host(struct toolrack *host, const char *name, const char *member,
                     const char *value) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_hosts(host, 0, &text, &err), 0);
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    bool has = false;
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        has = has || (yyjson_equals_str(yyjson_obj_get(row, "name"), name) &&
                      (member == NULL || yyjson_equals_str(yyjson_obj_get(row, member), value)));
    }
    yyjson_doc_free(doc);
    return has;
}

static const char *permission_of(struct toolrack *host, const char *name, const char **ret_trust) {
    static const char *const words[] = {"safe", "confirm", "dangerous"};
    struct toolrack_tool *tool = toolrack_get(host, name);
    const char *permission = tool != NULL ? words[toolrack_tool_permission(tool)] : "";
    *ret_trust = tool != NULL ? toolrack_tool_trust(tool) : "";
    toolrack_tool_unref(tool);
    return permission;
}

/* What an announcement says gives neither trust nor a permission; the configuration does. */
static void test_terms(void **state) {
    (void)state;
    char back_dir[96];
    char text[512];
    (void)snprintf(back_dir, sizeof back_dir, "%s/back", folder);
    CLEANUP(freep) char *key = key_in(back_dir);
    start_server("nats", "");
    const struct {
        const char *host; /* its member of "hosts" */
        bool trusted;
        const char *permission;
        const char *trust;
    } cases[] = {
            {"{}", false, "confirm", "community"},
            {"{}", true, "safe", "community"},
            {"{\"trust\": \"official\"}", true, "safe", "official"},
            {"{\"trust\": \"official\"}", false, "confirm", "official"},
            {"{\"permission\": \"dangerous\"}", true, "dangerous", "community"},
            {"{\"permission\": \"safe\"}", false, "safe", "community"},
    };
    struct toolrack *back = open_host(NULL, back_dir);
    assert_int_equal(toolrack_register(back, &plugin, NULL, &err), 0);
    assert_int_equal(join(back, "back", NULL, NULL), 0);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const char *trust;
        (void)snprintf(text, sizeof text, "{\"nats\": {\"hosts\": {\"%s\": %s}}}", key,
                       cases[i].host);
        struct toolrack *front = open_host(text, "");
        assert_int_equal(join(front, "front", cases[i].trusted ? key : NULL, NULL), 0);
        AWAIT(permission_of(front, "say", &trust)[0] != '\0');
        assert_string_equal(permission_of(front, "say", &trust), cases[i].permission);
        assert_string_equal(trust, cases[i].trust);
        toolrack_close(front);
    }
    toolrack_close(back);
}

static void publish(const char *subject, const char *text) {
    natsConnection *connection = NULL;
    natsOptions *options = NULL;
    const char *servers[] = {url};
    assert_int_equal(nats.Options_Create(&options), NATS_OK);
    assert_int_equal(nats.Options_SetServers(options, servers, 1), NATS_OK);
    assert_int_equal(nats.Connection_Connect(&connection, options), NATS_OK);
    assert_int_equal(nats.Connection_Publish(connection, subject, text, (int)strlen(text)),
                     NATS_OK);
    assert_int_equal(nats.Connection_FlushTimeout(connection, 5000), NATS_OK);
    nats.Connection_Close(connection);
    nats.Connection_Destroy(connection);
    nats.Options_Destroy(options);
}

static void announce_as(const char *instance, const char *name, const char *key, const char *rest) {
    char subject[128];
    char text[512];
    (void)snprintf(subject, sizeof subject, "toolrack.1.default.announce.%s", instance);
    (void)snprintf(text, sizeof text,
                   "{\"v\":1,\"instance\":\"%s\",\"name\":\"%s\",\"key\":\"%s\","
                   "\"version\":\"0\",\"digest\":\"00\",\"running\":0,\"tools\":0%s}",
                   instance, name, key, rest);
    publish(subject, text);
}

static void find_instance(struct toolrack *host, const char *name, char ret[17]) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    assert_int_equal(toolrack_hosts(host, 0, &text, &err), 0);
    yyjson_doc *doc =
            yyjson_read(toolrack_text_data(text, NULL), strlen(toolrack_text_data(text, NULL)), 0);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        if (yyjson_equals_str(yyjson_obj_get(row, "name"), name)) {
            (void)snprintf(ret, 17, "%s", yyjson_get_str(yyjson_obj_get(row, "instance")));
        }
    }
    yyjson_doc_free(doc);
}

/* Nobody announces a host with a trusted key but that host. */
static void test_forged(void **state) {
    (void)state;
    char back_dir[96];
    char instance[17] = "";
    (void)snprintf(back_dir, sizeof back_dir, "%s/back", folder);
    CLEANUP(freep) char *key = key_in(back_dir);
    start_server("nats", "");
    struct toolrack *front = open_host(NULL, "");
    struct toolrack *back = open_host(NULL, back_dir);
    assert_int_equal(toolrack_register(back, &plugin, NULL, &err), 0);
    assert_int_equal(join(front, "front", key, NULL), 0);
    announce_as("0123456789abcdef", "forged", key, ""); /* before the true one comes */
    assert_int_equal(join(back, "back", NULL, NULL), 0);
    AWAIT(has_host(front, "back", "key", key));
    find_instance(front, "back", instance);
    /* What is of no host: messages of one connection come in their order. */
    announce_as(instance, "renamed", key, "");
    announce_as(instance, "renamed", "", "");
    announce_as(instance, "renamed", key, ",\"leaving\":true");
    announce_as(instance, "renamed", "", ",\"leaving\":true");
    announce_as("fedcba9876543210", "stranger", "", "");
    AWAIT(has_host(front, "stranger", NULL, NULL));
    assert_false(has_host(front, "forged", NULL, NULL));
    assert_false(has_host(front, "renamed", NULL, NULL));
    assert_true(has_host(front, "back", "key", key));
    toolrack_close(back);
    AWAIT(!has_host(front, "back", NULL, NULL)); /* it may say that itself */
    toolrack_close(front);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_teardown(test_nkey, stop_server),
            cmocka_unit_test_teardown(test_secrets, stop_server),
            cmocka_unit_test_teardown(test_tls, stop_server),
            cmocka_unit_test(what_is_wrong_is_told_before_a_server_is_asked),
            cmocka_unit_test_teardown(an_open_server_is_not_taken_for_one_with_tls, stop_server),
            cmocka_unit_test_teardown(test_terms, stop_server),
            cmocka_unit_test_teardown(test_forged, stop_server),
    };
    (void)snprintf(folder, sizeof folder, "/tmp/toolrack-access-XXXXXX");
    if (mkdtemp(folder) == NULL || libnats_load(&err) < 0 || sodium_init() < 0) {
        return 1;
    }
    int failures = cmocka_run_group_tests_name("nats-access", tests, NULL, NULL);
    return remove_tree(folder) == 0 ? failures : 1;
}
