/* Who may use the HTTP transport: tokens of the store, tokens of an authorization server whose keys
 * this test has, and TLS. The protocol behind it says who it was told of. */
#include <arpa/inet.h>
#include <fnmatch.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <jansson.h>
#include <rhonabwy.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "http-client.h"
#include "patience.h"
#include "remove-tree.h"
#include "serve/http/fetch.h"
#include "serve/http/parts.h"
#include "toolrack/serving.h"

#define ISSUER   "https://login.example.org"
#define AUDIENCE "https://tools.example.org/mcp"

/* Seconds that the monotonic clock is ahead. */
static atomic_int ahead_s;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret) {
    int code = __real_clock_gettime(clock, ret);
    ret->tv_sec += clock == CLOCK_MONOTONIC ? atomic_load(&ahead_s) : 0;
    return code;
}

/* ---------------------------------------------------------------- the protocol */

static atomic_uint gone;
static _Atomic(struct exchange *) held;

static void answer(struct exchange *exchange, int status, const char *text, const char *missing) {
    const struct exchange_answer last = {.status = status,
                                         .text = text,
                                         .length = text != NULL ? strlen(text) : 0,
                                         .missing_scope = missing};
    exchange->calls->finish(exchange, &last);
}

void mcp_post(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
              char *text, size_t length, struct exchange *exchange) {
    (void)mcp;
    (void)headers;
    (void)length;
    char who[512];
    if (strncmp(text, "hold", 4) == 0) {
        exchange->calls->send(exchange, NULL, "{}", 2);
        atomic_store(&held, exchange);
    } else if (strncmp(text, "more", 4) == 0) {
        answer(exchange, 403, "{}", "toolrack:confirm toolrack:dangerous");
    } else {
        (void)snprintf(who, sizeof who, "<%s|%s|%s|%x|%d>",
                       principal->id != NULL ? principal->id : "nobody",
                       principal->profile != NULL ? principal->profile : "all",
                       principal->allow != NULL ? principal->allow[0] : "any",
                       principal->permissions, principal->approves);
        answer(exchange, 200, who, NULL);
    }
}

void mcp_get(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
             struct exchange *exchange) {
    (void)mcp;
    (void)principal;
    (void)headers;
    answer(exchange, 405, NULL, NULL);
}

void mcp_delete(struct mcp *mcp, const struct principal *principal,
                const struct mcp_headers *headers, struct exchange *exchange) {
    mcp_get(mcp, principal, headers, exchange);
}

void mcp_gone(struct exchange *exchange) {
    answer(exchange, 200, NULL, NULL);
    (void)atomic_fetch_add(&gone, 1);
}

void mcp_cut(struct mcp *mcp) {
    (void)mcp;
}

void mcp_drain(struct mcp *mcp) {
    (void)mcp;
}

/* ---------------------------------------------------------------- the server */

static char folder[] = "/tmp/toolrack-test-http-auth-XXXXXX";
static struct toolrack *host;
static struct server *server;
static unsigned port;
static atomic_uint notes;

static void note(void *user, const char *line) {
    (void)user;
    (void)line;
    (void)atomic_fetch_add(&notes, 1);
}

static const char *in_folder(const char *name) {
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(in_folder(name), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(0, fclose(file));
}

static void start_at(const char *settings, const char *address) {
    struct toolrack_error err = {0};
    const struct server_start start = {.host = host,
                                       .settings = settings,
                                       .listen = (const char *[]){address, NULL},
                                       .note = note};
    if (server_start(&start, &server, &err) < 0) {
        fail_msg("%s", err.message);
    }
    port = ntohs(((struct sockaddr_in *)&server->listeners[0].address)->sin_port);
}

static int stop(void **state) {
    (void)state;
    if (server != NULL) {
        server_silence(server);
        server_stop(server);
        server = NULL;
    }
    return 0;
}

/* Send a request with a token (NULL: none). Release the response. */
static struct client_response ask(const char *token, const char *path, const char *body) {
    struct client_left left = {0};
    char *more = NULL;
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(asprintf(&more, token != NULL ? "Authorization: Bearer %s\r\n" : "%s",
                         token != NULL ? token : "") >= 0);
    (void)client_request(fd, body != NULL ? "POST" : "GET", path, more, body);
    struct client_response response = client_read(fd, &left);
    free(more);
    client_left_finish(&left);
    return response;
}

static void expect(unsigned status, const char *text, const char *token, const char *path) {
    struct client_response response = ask(token, path, "who");
    if (response.status != status || (text != NULL && strstr(response.body, text) == NULL)) {
        fail_msg("%s gave %u %s instead of %u %s", path, response.status,
                 response.body != NULL ? response.body : "", status, text != NULL ? text : "");
    }
    client_response_finish(&response);
}

/* ---------------------------------------------------------------- tokens */

static struct toolrack_text *add_token(const char *name, const char *profile,
                                       const char *const *tools, uint32_t rate) {
    struct toolrack_text *secret = NULL;
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    token.name = name;
    token.profile = profile;
    token.tools = tools;
    token.rate_per_minute = rate;
    token.approves = tools != NULL;
    assert_int_equal(0, toolrack_token_add(host, &token, &secret, NULL, NULL));
    return secret;
}

static void tokens(void **state) {
    (void)state;
    start_at("{}", "127.0.0.1:0");
    struct toolrack_text *plain = add_token("plain", NULL, NULL, 0);
    struct toolrack_text *reader =
            add_token("reader", "readers", (const char *[]){"file_*", NULL}, 0);
    const char *secret = toolrack_text_data(plain, NULL);
    expect(200, "<nobody|all|any|ffffffff|0>", NULL, "/mcp");
    expect(200, "<token:", secret, "/mcp");
    expect(200, "|all|any|ffffffff|0>", secret, "/mcp");
    expect(200, "|readers|any|", secret, "/mcp/readers");
    expect(404, NULL, secret, "/mcp/nothing");
    secret = toolrack_text_data(reader, NULL);
    expect(200, "|readers|file_*|ffffffff|1>", secret, "/mcp");
    expect(200, "|readers|file_*|", secret, "/mcp/readers");
    expect(403, "another profile", secret, "/mcp/writers");
    expect(401, "unknown, revoked or expired", "trk_nothing", "/mcp");
    expect(401, NULL, "trk_", "/mcp");
    expect(401, "no token", "a b", "/mcp");
    struct client_response response = ask("trk_nothing", "/mcp", "who");
    const char *challenge = client_header(&response, "WWW-Authenticate");
    assert_non_null(challenge);
    assert_non_null(strstr(challenge, "Bearer "));
    assert_non_null(strstr(challenge, "error=\"invalid_token\""));
    assert_null(strstr(challenge, "resource_metadata"));
    client_response_finish(&response);
    toolrack_text_unref(plain);
    toolrack_text_unref(reader);
}

static void rates(void **state) {
    (void)state;
    start_at("{\"limits\":{\"requests_per_minute\":3}}", "127.0.0.1:0");
    struct toolrack_text *slow = add_token("slow", NULL, NULL, 2);
    const char *secret = toolrack_text_data(slow, NULL);
    for (unsigned i = 0; i < 2; i++) {
        expect(200, NULL, secret, "/mcp");
    }
    struct client_response response = ask(secret, "/mcp", "who");
    assert_int_equal(429, response.status);
    const char *after = client_header(&response, "Retry-After");
    assert_true(after != NULL && strtol(after, NULL, 10) >= 1 && strtol(after, NULL, 10) <= 31);
    client_response_finish(&response);
    /* Others have their own. */
    for (unsigned i = 0; i < 3; i++) {
        expect(200, "nobody", NULL, "/mcp");
    }
    expect(429, NULL, NULL, "/mcp");
    (void)atomic_fetch_add(&ahead_s, 31);
    expect(200, NULL, secret, "/mcp");
    expect(429, NULL, secret, "/mcp");
    toolrack_text_unref(slow);
}

/* The requests of a client without a token are those of its user, whatever its connections. */
static void rates_of_users(void **state) {
    (void)state;
    start_at("{\"limits\":{\"requests_per_minute\":2}}", "127.0.0.1:0");
    expect(200, "nobody", NULL, "/mcp");
    expect(200, "nobody", NULL, "/mcp");
    expect(429, NULL, NULL, "/mcp");
    if (geteuid() != 0) {
        return; /* this process can be no other user */
    }
    struct client_left left = {0};
    (void)setfsuid(65534);
    CLEANUP(closep) int fd = client_connect(port);
    (void)setfsuid(0);
    assert_true(client_request(fd, "POST", "/mcp", "", "who"));
    struct client_response response = client_read(fd, &left);
    assert_int_equal(200, response.status);
    client_response_finish(&response);
    client_left_finish(&left);
}

/* Send a request that waits for its answer, or see that it is refused. */
static void hold_as(struct toolrack_text *token, unsigned status, int *ret_fd) {
    char more[256];
    struct client_left left = {0};
    (void)snprintf(more, sizeof more, "Authorization: Bearer %s\r\n",
                   toolrack_text_data(token, NULL));
    *ret_fd = client_connect(port);
    assert_true(client_request(*ret_fd, "POST", "/mcp", more, "hold"));
    struct client_response response = status == 200
                                              ? client_read_until(*ret_fd, &left, "data: {}\n\n")
                                              : client_read(*ret_fd, &left);
    assert_int_equal(status, response.status);
    const char *after = client_header(&response, "Retry-After");
    assert_int_equal(status != 200, after != NULL);
    assert_int_equal(status == 429, strstr(response.body, "your requests wait") != NULL);
    client_response_finish(&response);
    client_left_finish(&left);
}

/* Each may have as many as it leaves free, so there is one for who comes first or last. */
static void streams_are_shared(void **state) {
    (void)state;
    static const struct {
        size_t token;
        unsigned status;
    } rows[] = {{0, 200}, {0, 200}, {0, 429}, {1, 200}, {1, 429},
                {0, 429}, {2, 200}, {3, 503}, {0, 503}};
    start_at("{\"limits\":{\"streams\":4}}", "127.0.0.1:0");
    static const char *const names[] = {"a", "b", "c", "d"};
    struct toolrack_text *list[ARRAY_LENGTH(names)];
    int fds[ARRAY_LENGTH(rows)];
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        list[i] = add_token(names[i], NULL, NULL, 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        hold_as(list[rows[i].token], rows[i].status, &fds[i]);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        (void)close(fds[i]);
    }
    /* What has ended is free again. */
    AWAIT(atomic_load(&server->running) == 0);
    hold_as(list[0], 200, &fds[0]);
    (void)close(fds[0]);
    AWAIT(atomic_load(&server->running) == 0);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        toolrack_text_unref(list[i]);
    }
}

static void a_revoked_token_ends_its_streams(void **state) {
    (void)state;
    start_at("{}", "127.0.0.1:0");
    struct toolrack_text *brief = add_token("brief", NULL, NULL, 0);
    char more[256];
    atomic_store(&gone, 0);
    atomic_store(&held, NULL); /* that of the test before */
    CLEANUP(closep) int fd = client_connect(port);
    (void)snprintf(more, sizeof more, "Authorization: Bearer %s\r\n",
                   toolrack_text_data(brief, NULL));
    assert_true(client_request(fd, "POST", "/mcp", more, "hold"));
    AWAIT(atomic_load(&held) != NULL);
    assert_int_equal(0, toolrack_token_revoke(host, "brief", NULL, NULL));
    AWAIT(atomic_load(&gone) == 1);
    assert_true(client_is_closed(fd));
    expect(401, NULL, toolrack_text_data(brief, NULL), "/mcp");
    toolrack_text_unref(brief);
}

static void required_elsewhere(void **state) {
    (void)state;
    struct toolrack_text *token = add_token("elsewhere", NULL, NULL, 0);
    start_at("{}", "0.0.0.0:0");
    expect(401, "needs a token", NULL, "/mcp");
    expect(200, "<token:", toolrack_text_data(token, NULL), "/mcp");
    assert_int_equal(0, stop(NULL));
    /* A proxy lets others in, and its word is taken. */
    start_at("{\"trusted_proxies\":[\"127.0.0.0/8\"],\"public_url\":\"https://tools.example.org\"}",
             "127.0.0.1:0");
    expect(401, "needs a token", NULL, "/mcp");
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    static const struct {
        const char *headers;
        unsigned status;
    } rows[] = {{"Host: localhost\r\nX-Forwarded-Host: evil.example.com\r\n", 403},
                {"Host: evil.example.com\r\nX-Forwarded-Host: tools.example.org\r\n", 401},
                {"Forwarded: for=192.0.2.1;host=tools.example.org;proto=https\r\n", 401},
                {"Forwarded: for=\"[2001:db8::1]:99\";host=\"evil.example.com\"\r\n", 403},
                {"Forwarded: for=;\r\n", 400},
                {"X-Forwarded-For: 192.0.2.1, 10.0.0.1\r\nX-Forwarded-Proto: https\r\n", 401},
                {"X-Forwarded-For: not an address\r\n", 400},
                /* An empty element is none, on the same line or on another. */
                {"Host: localhost\r\nForwarded: host=evil.example.com, ,\r\n", 403},
                {"Host: localhost\r\nForwarded: host=evil.example.com\r\nForwarded:\r\n", 403},
                {"Host: localhost\r\nX-Forwarded-Host: evil.example.com\r\n"
                 "X-Forwarded-Host: ,\r\n",
                 403},
                {"Host: localhost\r\nForwarded:\r\nX-Forwarded-Host: evil.example.com\r\n", 403},
                {"Host: localhost\r\nForwarded: ,\r\nX-Forwarded-For: a, 192.0.2.1, ,\r\n", 401},
                /* One of both forms is the client's, unless both say the same. */
                {"Host: localhost\r\nForwarded: for=127.0.0.1;host=localhost;proto=https\r\n"
                 "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Host: evil.example\r\n",
                 400},
                {"Forwarded: for=192.0.2.1\r\nX-Forwarded-For: 203.0.113.9\r\n", 400},
                {"Host: localhost\r\nForwarded: proto=https\r\nX-Forwarded-Host: evil.example\r\n",
                 400},
                {"Host: localhost\r\nForwarded: for=192.0.2.1;host=localhost\r\n"
                 "X-Forwarded-For: 192.0.2.1\r\n",
                 400},
                {"Host: localhost\r\nForwarded: host=\"localhost:1\"\r\nX-Forwarded-Host: "
                 "localhost\r\n",
                 400},
                {"Forwarded: for=_hidden\r\nX-Forwarded-For: 192.0.2.1\r\n", 400},
                {"Forwarded: for=192.0.2.1\r\nX-Forwarded-For: not an address\r\n", 400},
                {"Forwarded: for=\"[2001:DB8:0::1]:9\";host=TOOLS.example.org;proto=https\r\n"
                 "X-Forwarded-For: 10.0.0.1, 2001:db8::1\r\nX-Forwarded-Host: "
                 "tools.example.org\r\nX-Forwarded-Proto: https\r\n",
                 401},
                {"Host: localhost\r\nForwarded: for=192.0.2.1;proto=https\r\nX-Forwarded-For: "
                 "192.0.2.1\r\n",
                 401},
                {"Host: localhost\r\nForwarded: for=192.0.2.1\r\nX-Forwarded-For: ,\r\n", 401}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        assert_true(client_request(fd, "POST", "/mcp", rows[i].headers, "who"));
        struct client_response response = client_read(fd, &left);
        bool is_both = strstr(rows[i].headers, "203.0.113.9") != NULL;
        if (response.status != rows[i].status ||
            (is_both &&
             strstr(response.body, "and X-Forwarded the client '203.0.113.9'") == NULL)) {
            fail_msg("%s gave %u %s", rows[i].headers, response.status, response.body);
        }
        client_response_finish(&response);
    }
    client_left_finish(&left);
    toolrack_text_unref(token);
}

/* The last element that is not empty counts; what cannot be read says nothing less. */
static void what_a_proxy_says(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expected; /* "address host", and " https"; NULL: it cannot be read */
    } forwarded[] = {
            {"for=192.0.2.1;host=a;proto=https", "192.0.2.1 a https"},
            {"for=192.0.2.1,for=192.0.2.2", "192.0.2.2 "},
            {"for=192.0.2.1;host=a,", "192.0.2.1 a"},
            {"for=192.0.2.1;host=a , \t, ,,", "192.0.2.1 a"},
            {",, for=192.0.2.1", "192.0.2.1 "},
            {"", " "},
            {" , ,", " "},
            {"for=nonsense, for=192.0.2.1", "192.0.2.1 "},
            {"For=\"192.0.2.1:80\" ; HOST=\"A:8\";;", "192.0.2.1 A:8"},
            {"for=\"[2001:DB8::1]:99\"", "2001:db8::1 "},
            {"for=[2001:db8::1]", "2001:db8::1 "},
            {"for=\"[2001:db8::1]:_port\"", "2001:db8::1 "},
            {"for=_hidden;host=a", " a"},
            {"for=\"_hidden.1:_p-2\"", " "},
            {"for=Unknown;host=a", " a"},
            {"for=\"unknown:80\"", " "},
            {"by=\"a,\\\"b;\";host=a", " a"},
            {"host=a;by=\"x, y\"", " a"},
            {"host=a;other=\"\"", " a"},
            {"proto=HTTP", " "},
            {"for=192.0.2.1, ;", NULL},
            {";", NULL},
            {"for=", NULL},
            {"for=\"\"", NULL},
            {"for", NULL},
            {"for=192.0.2.1 host=a", NULL},
            {"for=localhost", NULL},
            {"for=192.0.2.256", NULL},
            {"for=\"[2001:db8::1\"", NULL},
            {"for=\"[unknown]\"", NULL},
            {"for=_", NULL},
            {"for=\"_hid den\"", NULL},
            {"for=\"unknown:\"", NULL},
            {"for=\"192.0.2.1:123456\"", NULL},
            {"for=\"192.0.2.\\1\"", NULL},
            {"for=192.0.2.1;for=192.0.2.2", NULL},
            {"host=a;host=b", NULL},
            {"proto=https;proto=https", NULL},
            {"proto=ftp", NULL},
            {"host=a/b", NULL},
            {"for=\", for=192.0.2.1", NULL},
            {"for=192.0.2.1, by=\"", NULL},
            {"by=\"\\", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(forwarded); i++) {
        struct forwarded said;
        char got[600] = "";
        if (heads_forwarded(forwarded[i].text, &said)) {
            (void)snprintf(got, sizeof got, "%s %s%s", said.address, said.host,
                           said.https ? " https" : "");
        }
        const char *expected = forwarded[i].expected != NULL ? forwarded[i].expected : "";
        if (strcmp(got, expected) != 0) {
            fail_msg("%s: '%s', not '%s'", forwarded[i].text, got, expected);
        }
    }
}

static void what_a_proxy_says_without_a_standard(void **state) {
    (void)state;
    static const struct {
        const char *from, *host, *proto;
        const char *expected; /* as above */
    } rows[] = {
            {"192.0.2.1, 192.0.2.2", "a, b", "http, https", "192.0.2.2 b https"},
            {"192.0.2.1, ,", "a,", "https,\t", "192.0.2.1 a https"},
            {"", ",", " ", " "},
            {"2001:db8::1", "[::1]:8", NULL, "2001:db8::1 [::1]:8"},
            {"[2001:db8::1]:9", NULL, NULL, "2001:db8::1 "},
            {"192.0.2.1:9", NULL, NULL, "192.0.2.1 "},
            {"unknown", NULL, NULL, " "},
            /* Quotes are no part of these: a client opens none around what the proxy adds. */
            {"\", 192.0.2.1", "\", a", "\", https", "192.0.2.1 a https"},
            {"192.0.2.1, nonsense", NULL, NULL, NULL},
            {"localhost", NULL, NULL, NULL},
            {NULL, "a, b c", NULL, NULL},
            {NULL, "\"a\"", NULL, NULL},
            {NULL, NULL, "https, ftp", NULL},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct forwarded said;
        char got[600] = "";
        if (heads_x_forwarded(rows[i].from, rows[i].host, rows[i].proto, &said)) {
            (void)snprintf(got, sizeof got, "%s %s%s", said.address, said.host,
                           said.https ? " https" : "");
        }
        const char *expected = rows[i].expected != NULL ? rows[i].expected : "";
        if (strcmp(got, expected) != 0) {
            fail_msg("row %zu: '%s', not '%s'", i, got, expected);
        }
    }
}

/* The longest host with the longest port has its room, and a longer one is refused. */
static void a_long_host_has_room(void **state) {
    (void)state;
    struct {
        struct forwarded said;
        char after[32];
    } room;
    char text[AUTHORITY_HOST_MAX + 8];
    memset(text, 'a', AUTHORITY_HOST_MAX + 1);
    strcpy(text + AUTHORITY_HOST_MAX + 1, ":65535");
    static const char nothing[sizeof room.after] = {0};
    memset(&room, 0, sizeof room);
    assert_false(heads_x_forwarded(NULL, text, NULL, &room.said));
    assert_true(heads_x_forwarded(NULL, text + 1, NULL, &room.said));
    assert_string_equal(room.said.host, text + 1);
    assert_false(room.said.https);
    assert_memory_equal(room.after, nothing, sizeof nothing);
}

/* ---------------------------------------------------------------- OAuth */

struct signer {
    const char *kid;
    jwk_t *private;
    jwk_t *public;
};
static struct signer rsa = {.kid = "rsa"};
static struct signer ec = {.kid = "ec"};
static struct signer ed = {.kid = "ed"};
static struct signer next_key = {.kid = "next"};

static void make_key(struct signer *signer, int type, unsigned bits) {
    assert_int_equal(RHN_OK, r_jwk_init(&signer->private));
    assert_int_equal(RHN_OK, r_jwk_init(&signer->public));
    assert_int_equal(RHN_OK, r_jwk_generate_key_pair(signer->private, signer->public, type, bits,
                                                     signer->kid));
}

/* The set of public keys, as text to be freed. */
static char *set_of(const struct signer *const *signers) {
    json_t *keys = json_array();
    for (; *signers != NULL; signers++) {
        (void)json_array_append_new(keys, r_jwk_export_to_json_t((*signers)->public));
    }
    json_t *set = json_pack("{s:o}", "keys", keys);
    char *text = json_dumps(set, JSON_COMPACT);
    json_decref(set);
    return text;
}

/* A token with these claims; `kid` is in its header, NULL: none. To be freed. */
static char *sign(jwk_t *key, jwa_alg algorithm, const char *kid, const char *claims) {
    jwt_t *jwt = NULL;
    assert_int_equal(RHN_OK, r_jwt_init(&jwt));
    assert_int_equal(RHN_OK, r_jwt_set_sign_alg(jwt, algorithm));
    if (kid != NULL) {
        assert_int_equal(RHN_OK, r_jwt_set_header_str_value(jwt, "kid", kid));
    }
    assert_int_equal(RHN_OK, r_jwt_set_full_claims_json_str(jwt, claims));
    char *text = r_jwt_serialize_signed(jwt, key, 0);
    assert_non_null(text);
    r_jwt_free(jwt);
    return text;
}

static char *claims_of(const char *issuer, const char *audience, long expires, const char *more) {
    char *text = NULL;
    assert_true(asprintf(&text, "{\"iss\":\"%s\",\"aud\":%s,\"sub\":\"alice\",\"exp\":%ld%s}",
                         issuer, audience, (long)time(NULL) + expires, more) > 0);
    return text;
}

static char *good_token(const struct signer *signer, jwa_alg algorithm) {
    char *claims = claims_of(ISSUER, "\"" AUDIENCE "\"", 60,
                             ",\"scope\":\"openid toolrack:safe toolrack:confirm\"");
    char *token = sign(signer->private, algorithm, signer->kid, claims);
    free(claims);
    return token;
}

static void start_oauth(const char *member, const char *value) {
    char *settings = NULL;
    assert_true(
            asprintf(&settings,
                     "{\"public_url\":\"https://tools.example.org\",\"oauth\":{\"issuer\":\"%s\","
                     "\"%s\":\"%s\",\"algorithms\":[\"RS256\",\"PS256\",\"ES256\",\"EdDSA\"],"
                     "\"clock_skew_s\":30}}",
                     ISSUER, member, value) > 0);
    start_at(settings, "127.0.0.1:0");
    free(settings);
}

static void start_with_file(void) {
    char *set = set_of((const struct signer *[]){&rsa, &ec, &ed, NULL});
    write_text("keys.json", set);
    free(set);
    start_oauth("jwks_file", in_folder("keys.json"));
}

static void tokens_of_an_issuer(void **state) {
    (void)state;
    start_with_file();
    const struct {
        const struct signer *signer;
        jwa_alg algorithm;
    } rows[] = {{&rsa, R_JWA_ALG_RS256},
                {&rsa, R_JWA_ALG_PS256},
                {&ec, R_JWA_ALG_ES256},
                {&ed, R_JWA_ALG_EDDSA}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char *token = good_token(rows[i].signer, rows[i].algorithm);
        expect(200, "<oauth:" ISSUER " alice|all|any|3|0>", token, "/mcp");
        expect(200, "|readers|", token, "/mcp/readers");
        /* One token has one text. */
        static const char *const ends[] = {"=", "==", "%3D", "*"};
        for (size_t j = 0; j < ARRAY_LENGTH(ends); j++) {
            char *longer = NULL;
            assert_true(asprintf(&longer, "%s%s", token, ends[j]) > 0);
            expect(401, NULL, longer, "/mcp");
            free(longer);
        }
        /* Each of its parts counts. */
        for (unsigned part = 0; part < 3; part++) {
            char *at = token;
            for (unsigned dots = 0; dots < part; dots++) {
                at = strchr(at, '.') + 1;
            }
            at[4] = at[4] == 'A' ? 'B' : 'A';
            expect(401, NULL, token, "/mcp");
            free(token);
            token = good_token(rows[i].signer, rows[i].algorithm);
        }
        free(token);
    }
}

static void wrong_tokens_of_an_issuer(void **state) {
    (void)state;
    start_with_file();
    static const struct {
        unsigned status;
        const char *why;
        const char *issuer;
        const char *audience;
        long expires;
        const char *more;
    } rows[] = {
            {200, "|1|", ISSUER, "[\"other\",\"" AUDIENCE "\"]", 60,
             ",\"scp\":[\"toolrack:safe\"]"},
            {200, "|0|", ISSUER, "\"" AUDIENCE "\"", -20, ",\"scope\":\"toolrack:safety\""},
            {200, "|4|", ISSUER, "\"" AUDIENCE "\"", 60, ",\"scope\":\"toolrack:dangerous\""},
            {401, "expired", ISSUER, "\"" AUDIENCE "\"", -40, ""},
            {401, "audience", ISSUER, "\"https://tools.example.org\"", 60, ""},
            {401, "audience", ISSUER, "[]", 60, ""},
            {401, "audience", ISSUER, "null", 60, ""},
            {401, "issuer", ISSUER "/", "\"" AUDIENCE "\"", 60, ""},
            {401, "issuer", "https://evil.example.org", "\"" AUDIENCE "\"", 60, ""},
            {401, "not valid yet", ISSUER, "\"" AUDIENCE "\"", 60, ",\"nbf\":99999999999"},
            {401, "not valid yet", ISSUER, "\"" AUDIENCE "\"", 60, ",\"nbf\":\"now\""},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        char *claims = claims_of(rows[i].issuer, rows[i].audience, rows[i].expires, rows[i].more);
        char *token = sign(rsa.private, R_JWA_ALG_RS256, "rsa", claims);
        expect(rows[i].status, rows[i].why, token, "/mcp");
        free(token);
        free(claims);
    }
    char *claims = claims_of(ISSUER, "\"" AUDIENCE "\"", 60, "");
    /* Another key under a known name; a known key under another name; no name; another algorithm.
     */
    char *token = sign(next_key.private, R_JWA_ALG_ES256, "ec", claims);
    expect(401, "not signed", token, "/mcp");
    free(token);
    token = sign(ec.private, R_JWA_ALG_ES256, "unknown", claims);
    expect(401, "not signed", token, "/mcp");
    free(token);
    token = sign(ec.private, R_JWA_ALG_ES256, NULL, claims);
    expect(200, "alice", token, "/mcp");
    free(token);
    token = sign(rsa.private, R_JWA_ALG_RS512, "rsa", claims);
    expect(401, "algorithm", token, "/mcp");
    free(token);
    /* The public key as a shared secret, and no signature. */
    jwk_t *secret = NULL;
    char *public = r_jwk_export_to_json_str(rsa.public, 0);
    assert_int_equal(RHN_OK, r_jwk_init(&secret));
    assert_int_equal(RHN_OK, r_jwk_import_from_symmetric_key(secret, (const unsigned char *)public,
                                                             strlen(public)));
    token = sign(secret, R_JWA_ALG_HS256, "rsa", claims);
    expect(401, "algorithm", token, "/mcp");
    free(token);
    r_free(public);
    r_jwk_free(secret);
    expect(401, "algorithm", "eyJhbGciOiJub25lIn0.e30.", "/mcp");
    expect(401, "no JSON Web Token", "a.b", "/mcp");
    expect(401, "no JSON Web Token", "e30.e30.e30.e30", "/mcp");
    free(claims);
    claims = strdup("{\"iss\":\"" ISSUER "\",\"aud\":\"" AUDIENCE "\",\"sub\":\"alice\"}");
    token = sign(rsa.private, R_JWA_ALG_RS256, "rsa", claims);
    expect(401, "when it expires", token, "/mcp");
    free(token);
    free(claims);
}

static void what_clients_are_told(void **state) {
    (void)state;
    start_with_file();
    struct client_response response = ask(NULL, "/mcp/readers", "who");
    assert_int_equal(401, response.status);
    assert_string_equal(
            "Bearer realm=\"toolrack\", scope=\"toolrack:safe\", resource_metadata="
            "\"https://tools.example.org/.well-known/oauth-protected-resource/mcp/readers\"",
            client_header(&response, "WWW-Authenticate"));
    client_response_finish(&response);
    char *token = good_token(&ed, R_JWA_ALG_EDDSA);
    response = ask(token, "/mcp", "more");
    assert_int_equal(403, response.status);
    assert_string_equal("Bearer realm=\"toolrack\", error=\"insufficient_scope\", "
                        "scope=\"toolrack:confirm toolrack:dangerous\", resource_metadata="
                        "\"https://tools.example.org/.well-known/oauth-protected-resource/mcp\"",
                        client_header(&response, "WWW-Authenticate"));
    client_response_finish(&response);
    free(token);
    static const struct {
        const char *path;
        const char *resource;
    } rows[] = {{"/.well-known/oauth-protected-resource", "\"https://tools.example.org/mcp\""},
                {"/.well-known/oauth-protected-resource/mcp", "\"https://tools.example.org/mcp\""},
                {"/.well-known/oauth-protected-resource/mcp/readers",
                 "\"https://tools.example.org/mcp/readers\""}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        response = ask(NULL, rows[i].path, NULL);
        assert_int_equal(200, response.status);
        assert_non_null(strstr(response.body, rows[i].resource));
        assert_non_null(strstr(response.body, "\"authorization_servers\":[\"" ISSUER "\"]"));
        assert_non_null(strstr(response.body, "\"toolrack:dangerous\""));
        client_response_finish(&response);
    }
    static const char *const elsewhere[] = {"/.well-known/oauth-protected-resource/mcp/nobody",
                                            "/.well-known/oauth-protected-resource/other",
                                            "/.well-known/oauth-protected-resources"};
    for (size_t i = 0; i < ARRAY_LENGTH(elsewhere); i++) {
        response = ask(NULL, elsewhere[i], NULL);
        assert_int_equal(404, response.status);
        client_response_finish(&response);
    }
    /* No token in a query. */
    token = good_token(&ed, R_JWA_ALG_EDDSA);
    char *path = NULL;
    assert_true(asprintf(&path, "/mcp?access_token=%s", token) > 0);
    expect(401, "needs a token", NULL, path);
    free(path);
    free(token);
}

/* Without a stated URL clients are told of the host that was checked, which the target may name. */
static void a_host_that_was_not_checked_is_told_to_nobody(void **state) {
    (void)state;
    char *set = set_of((const struct signer *[]){&ed, NULL});
    write_text("keys.json", set);
    free(set);
    char *settings = NULL;
    assert_true(asprintf(&settings,
                         "{\"oauth\":{\"issuer\":\"%s\",\"audience\":\"https://t.example/mcp\","
                         "\"jwks_file\":\"%s\"}}",
                         ISSUER, in_folder("keys.json")) > 0);
    start_at(settings, "127.0.0.1:0");
    free(settings);
    static const char *const requests[] = {
            "GET http://localhost:80/.well-known/oauth-protected-resource HTTP/1.1\r\n"
            "Host: evil.example\r\n\r\n",
            "POST http://localhost:80/mcp HTTP/1.1\r\nHost: x\", error=\"y\r\n"
            "Content-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nContent-Length: 3\r\n\r\nwho"};
    for (size_t i = 0; i < ARRAY_LENGTH(requests); i++) {
        struct client_left left = {0};
        CLEANUP(closep) int fd = client_connect(port);
        assert_true(client_send_text(fd, requests[i]));
        struct client_response response = client_read(fd, &left);
        const char *told = i == 0 ? response.body : client_header(&response, "WWW-Authenticate");
        assert_non_null(told);
        assert_non_null(strstr(told, "\"http://localhost:80/"));
        client_response_finish(&response);
        client_left_finish(&left);
    }
}

/* At a socket in the file system no host is checked, and what is none is not repeated either. */
static void what_is_no_host_is_told_to_nobody(void **state) {
    (void)state;
    char *set = set_of((const struct signer *[]){&ed, NULL});
    char *settings = NULL;
    char path[128];
    write_text("keys.json", set);
    free(set);
    assert_true(asprintf(&settings,
                         "{\"oauth\":{\"issuer\":\"%s\",\"audience\":\"https://t.example/mcp\","
                         "\"jwks_file\":\"%s/keys.json\"}}",
                         ISSUER, folder) > 0);
    (void)snprintf(path, sizeof path, "%s/mcp.sock", folder);
    const struct server_start start = {.host = host,
                                       .settings = settings,
                                       .sockets = (const char *[]){path, NULL},
                                       .note = note};
    assert_int_equal(server_start(&start, &server, NULL), 0);
    free(settings);
    static const char *const hosts[] = {"x\", error=\"y", "x/y", "x:99999", "[x\"]", "x\"]:8"};
    for (size_t i = 0; i < ARRAY_LENGTH(hosts); i++) {
        char request[512];
        struct client_left left = {0};
        CLEANUP(closep) int fd = client_connect_path(path);
        (void)snprintf(
                request, sizeof request,
                "POST /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer none\r\n"
                "Content-Type: application/json\r\n"
                "Accept: application/json, text/event-stream\r\nContent-Length: 3\r\n\r\nwho",
                hosts[i]);
        assert_true(client_send_text(fd, request));
        struct client_response response = client_read(fd, &left);
        const char *told = client_header(&response, "WWW-Authenticate");
        if (told == NULL || strstr(told, "=\"http://localhost/") == NULL) {
            fail_msg("%s: %u %s", hosts[i], response.status, told != NULL ? told : "");
        }
        client_response_finish(&response);
        client_left_finish(&left);
    }
}

/* ---------------------------------------------------------------- keys of the web */

static struct {
    pthread_t thread;
    int fd;
    unsigned port;
    pthread_mutex_t lock;
    char *set;
    atomic_uint asked;
    atomic_bool silent;            /* connections are taken and not answered */
    _Atomic(const char *) endless; /* what answers go on with; NULL: they end */
} issuer = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *run_issuer(void *user) {
    (void)user;
    for (;;) {
        CLEANUP(closep) int fd = accept4(issuer.fd, NULL, NULL, SOCK_CLOEXEC);
        char bytes[4096];
        if (fd < 0) {
            return NULL;
        }
        (void)patience_read(fd, bytes, sizeof bytes);
        (void)atomic_fetch_add(&issuer.asked, 1);
        uint64_t since = 0;
        while (atomic_load(&issuer.silent) && patience_yield(&since)) {
        }
        (void)pthread_mutex_lock(&issuer.lock);
        char *text = NULL;
        const char *endless = atomic_load(&issuer.endless);
        int length = endless != NULL
                             ? asprintf(&text, "HTTP/1.1 200 OK\r\n%s", endless)
                             : asprintf(&text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
                                        strlen(issuer.set), issuer.set);
        (void)pthread_mutex_unlock(&issuer.lock);
        bool goes_on = client_send(fd, text, length > 0 ? (size_t)length : 0);
        while (goes_on && endless != NULL) {
            goes_on = client_send(fd, endless, strlen(endless));
        }
        free(text);
    }
}

static void set_keys(const struct signer *const *signers) {
    (void)pthread_mutex_lock(&issuer.lock);
    free(issuer.set);
    issuer.set = set_of(signers);
    (void)pthread_mutex_unlock(&issuer.lock);
}

static void begin_issuer(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    issuer.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(0, bind(issuer.fd, (struct sockaddr *)&address, size));
    assert_int_equal(0, listen(issuer.fd, 8));
    assert_int_equal(0, getsockname(issuer.fd, (struct sockaddr *)&address, &size));
    issuer.port = ntohs(address.sin_port);
    assert_int_equal(0, pthread_create(&issuer.thread, NULL, run_issuer, NULL));
}

static void end_issuer(void) {
    (void)shutdown(issuer.fd, SHUT_RDWR);
    (void)pthread_join(issuer.thread, NULL);
    (void)close(issuer.fd);
    free(issuer.set);
    issuer.set = NULL;
}

static void keys_rotate(void **state) {
    (void)state;
    char url[64];
    set_keys((const struct signer *[]){&ed, NULL});
    begin_issuer();
    atomic_store(&issuer.silent, true);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/keys", issuer.port);
    start_oauth("jwks_url", url);
    AWAIT(atomic_load(&issuer.asked) == 1);
    /* A request that comes before the keys waits for them, and does not hold up others. */
    char *token = good_token(&ed, R_JWA_ALG_EDDSA);
    char *more = NULL;
    assert_true(asprintf(&more, "Authorization: Bearer %s\r\n", token) > 0);
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_request(fd, "POST", "/mcp", more, "who"));
    expect(401, "needs a token", NULL, "/mcp");
    atomic_store(&issuer.silent, false);
    struct client_response response = client_read(fd, &left);
    assert_int_equal(200, response.status);
    client_response_finish(&response);
    client_left_finish(&left);
    free(more);
    /* Anybody can name unknown keys: they are not asked for each time. */
    char *newer = good_token(&next_key, R_JWA_ALG_ES256);
    set_keys((const struct signer *[]){&next_key, NULL});
    for (unsigned i = 0; i < 5; i++) {
        expect(401, "not signed", newer, "/mcp");
    }
    assert_int_equal(1, atomic_load(&issuer.asked));
    (void)atomic_fetch_add(&ahead_s, KEYS_AGAIN_S + 1);
    expect(200, "alice", newer, "/mcp");
    assert_int_equal(2, atomic_load(&issuer.asked));
    expect(401, "not signed", token, "/mcp");
    free(token);
    free(newer);
    assert_int_equal(0, stop(NULL));
    end_issuer();
}

static void keys_that_cannot_be_fetched(void **state) {
    (void)state;
    char *token = good_token(&ed, R_JWA_ALG_EDDSA);
    atomic_store(&notes, 0);
    start_oauth("jwks_url", "http://127.0.0.1:1/keys");
    AWAIT(atomic_load(&notes) == 1);
    struct client_response response = ask(token, "/mcp", "who");
    assert_int_equal(503, response.status);
    assert_non_null(client_header(&response, "Retry-After"));
    client_response_finish(&response);
    assert_int_equal(0, stop(NULL));
    start_oauth("jwks_url", "http://login.example.org/keys");
    AWAIT(atomic_load(&notes) == 2); /* not https: not even tried */
    free(token);
}

/* Whoever answers in the issuer's place keeps the host reading no longer than it takes. */
static void an_endless_answer_is_refused(void **state) {
    (void)state;
    static char extension[65536] = "Transfer-Encoding: chunked\r\n\r\n1;";
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_error err = {0};
    char url[64];
    memset(extension + strlen(extension), 'x', sizeof extension - 1 - strlen(extension));
    begin_issuer();
    atomic_store(&issuer.endless, extension);
    assert_int_equal(0, fetch_load(NULL));
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/keys", issuer.port);
    int code = fetch(url, 1000, 20, &text, &err);
    if (code != TOOLRACK_E_LIMIT_EXCEEDED) {
        fail_msg("%d, %s", code, err.message);
    }
    atomic_store(&issuer.endless, NULL);
    end_issuer();
}

/* ---------------------------------------------------------------- TLS */

static void write_datum(const char *name, const gnutls_datum_t *datum) {
    char *text = strndup((const char *)datum->data, datum->size);
    write_text(name, text);
    free(text);
}

static void make_certificate(unsigned char serial) {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    gnutls_datum_t text;
    assert_int_equal(0, gnutls_x509_privkey_init(&key));
    assert_int_equal(
            0, gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                            GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
    assert_int_equal(0, gnutls_x509_crt_init(&certificate));
    (void)gnutls_x509_crt_set_version(certificate, 3);
    (void)gnutls_x509_crt_set_serial(certificate, &serial, 1);
    (void)gnutls_x509_crt_set_activation_time(certificate, time(NULL) - 60);
    (void)gnutls_x509_crt_set_expiration_time(certificate, time(NULL) + 3600);
    (void)gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, "localhost",
                                        9);
    (void)gnutls_x509_crt_set_key(certificate, key);
    assert_int_equal(0, gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0));
    assert_int_equal(0, gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &text));
    write_datum("cert.pem", &text);
    gnutls_free(text.data);
    assert_int_equal(0, gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text));
    write_datum("key.pem", &text);
    gnutls_free(text.data);
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_privkey_deinit(key);
}

struct tls_client {
    int fd;
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
};

/* Connect, send a request, and read the beginning of the response. @return whether it is 200 */
static bool tls_begin(struct tls_client *client, const char *body) {
    char request[256];
    char bytes[1024] = "";
    client->fd = client_connect(port);
    assert_int_equal(0, gnutls_certificate_allocate_credentials(&client->credentials));
    assert_int_equal(0, gnutls_init(&client->session, GNUTLS_CLIENT));
    (void)gnutls_set_default_priority(client->session);
    (void)gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials);
    gnutls_transport_set_int(client->session, client->fd);
    int code;
    do {
        code = gnutls_handshake(client->session);
    } while (code < 0 && gnutls_error_is_fatal(code) == 0);
    assert_int_equal(0, code);
    int length = snprintf(request, sizeof request,
                          "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
                          "Content-Type: application/json\r\n"
                          "Accept: application/json, text/event-stream\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          strlen(body), body);
    assert_true(gnutls_record_send(client->session, request, (size_t)length) > 0);
    ssize_t got;
    do {
        got = gnutls_record_recv(client->session, bytes, sizeof bytes - 1);
    } while (got == GNUTLS_E_AGAIN || got == GNUTLS_E_INTERRUPTED);
    return got > 0 && strncmp(bytes, "HTTP/1.1 200", 12) == 0;
}

/* Leave without a word of TLS. */
static void tls_leave(struct tls_client *client) {
    (void)close(client->fd);
    gnutls_deinit(client->session);
    gnutls_certificate_free_credentials(client->credentials);
}

/* The serial number of the certificate that a client is shown; 0: it is not answered. */
static unsigned ask_tls(void) {
    struct tls_client client;
    gnutls_x509_crt_t certificate;
    unsigned char serial[20] = {0};
    size_t size = sizeof serial;
    unsigned count = 0;
    bool is_answered = tls_begin(&client, "who");
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(client.session, &count);
    assert_true(count == 1);
    assert_int_equal(0, gnutls_x509_crt_init(&certificate));
    assert_int_equal(0, gnutls_x509_crt_import(certificate, chain, GNUTLS_X509_FMT_DER));
    (void)gnutls_x509_crt_get_serial(certificate, serial, &size);
    gnutls_x509_crt_deinit(certificate);
    tls_leave(&client);
    return is_answered ? serial[size - 1] : 0;
}

static void start_tls(void) {
    char settings[512];
    char certificate[128];
    (void)snprintf(certificate, sizeof certificate, "%s", in_folder("cert.pem"));
    (void)snprintf(settings, sizeof settings, "{\"tls\":{\"certificate\":\"%s\",\"key\":\"%s\"}}",
                   certificate, in_folder("key.pem"));
    make_certificate(1);
    start_at(settings, "127.0.0.1:0");
}

/* As in unit/http; those that stay are the oldest of each thread. */
static void streams_over_tls_end_beside_others(void **state) {
    (void)state;
    struct tls_client clients[24];
    start_tls();
    for (size_t i = 0; i < ARRAY_LENGTH(clients); i++) {
        assert_true(tls_begin(&clients[i], "hold"));
    }
    for (size_t i = ARRAY_LENGTH(clients) / 2; i < ARRAY_LENGTH(clients); i++) {
        tls_leave(&clients[i]);
    }
    AWAIT(atomic_load(&server->conn_count) == ARRAY_LENGTH(clients) / 2);
    for (size_t i = 0; i < ARRAY_LENGTH(clients) / 2; i++) {
        tls_leave(&clients[i]);
    }
    AWAIT(atomic_load(&server->conn_count) == 0);
}

/* What a file has is not what the member that names it is for. */
static void a_damaged_file_is_named(void **state) {
    (void)state;
    static const struct {
        const char *damaged;     /* NULL: the key of another certificate */
        const char *certificate; /* NULL: no TLS, but keys of an issuer */
        const char *member;
        const char *said;
    } rows[] = {
            {"cert.pem", "cert.pem", "/serve/tls/certificate",
             "/cert.pem has no certificate in PEM form (*); write the certificate and its chain "
             "there, or name another file"},
            {"key.pem", "cert.pem", "/serve/tls/key",
             "/key.pem has no private key in PEM form (*); write the key of"},
            {NULL, "old.pem", "/serve/tls/key",
             "/key.pem has not the key of the certificate (*); name the key"},
            {"set.json", NULL, "/serve/oauth/jwks_file",
             "/set.json has no JSON Web Key Set, an object with the member \"keys\"; write the "
             "keys of the issuer there, or name another file"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        struct toolrack_error err = {0};
        char settings[512];
        make_certificate(1);
        if (rows[i].damaged != NULL) {
            write_text(rows[i].damaged, "nothing");
        } else {
            char from[128];
            (void)snprintf(from, sizeof from, "%s", in_folder("cert.pem"));
            assert_int_equal(0, rename(from, in_folder("old.pem")));
            make_certificate(2);
        }
        if (rows[i].certificate != NULL) {
            (void)snprintf(settings, sizeof settings,
                           "{\"tls\":{\"certificate\":\"%s/%s\",\"key\":\"%s/key.pem\"}}", folder,
                           rows[i].certificate, folder);
        } else {
            (void)snprintf(settings, sizeof settings,
                           "{\"oauth\":{\"issuer\":\"https://a\",\"audience\":\"b\","
                           "\"jwks_file\":\"%s/set.json\"}}",
                           folder);
        }
        const struct server_start start = {.host = host,
                                           .settings = settings,
                                           .listen = (const char *[]){"127.0.0.1:0", NULL},
                                           .note = note};
        assert_int_equal(server_start(&start, &server, &err), TOOLRACK_E_INVALID);
        char expected[512];
        (void)snprintf(expected, sizeof expected, "*%s%s*", folder, rows[i].said);
        if (fnmatch(expected, err.message, FNM_NOESCAPE) != 0) {
            fail_msg("%s, not %s", err.message, expected);
        }
        assert_string_equal(err.field, rows[i].member);
    }
}

static void certificates_change(void **state) {
    (void)state;
    start_tls();
    assert_int_equal(0, strncmp(server->listeners[0].where, "https://", 8));
    assert_int_equal(1, ask_tls());
    make_certificate(2);
    assert_int_equal(1, ask_tls());
    server_reload(server);
    assert_int_equal(2, ask_tls());
    /* A key without its certificate changes nothing. */
    atomic_store(&notes, 0);
    make_certificate(3);
    write_text("cert.pem", "nothing");
    server_reload(server);
    assert_int_equal(1, atomic_load(&notes));
    assert_int_equal(2, ask_tls());
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    (void)client_request(fd, "POST", "/mcp", "", "who");
    struct client_response response = client_read(fd, &left);
    assert_int_not_equal(200, response.status);
    client_response_finish(&response);
    client_left_finish(&left);
}

/* ---------------------------------------------------------------- */

static int set_up(void **state) {
    (void)state;
    char config[128];
    char kept[128];
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    write_text("toolrack.json",
               "{\"serve\":{\"profiles\":{\"readers\":{\"permissions\":[\"safe\"]},"
               "\"writers\":{\"permissions\":[\"confirm\"]}}}}");
    (void)snprintf(config, sizeof config, "%s", in_folder("toolrack.json"));
    (void)snprintf(kept, sizeof kept, "%s", in_folder("state"));
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config;
    options.state_dir = kept;
    options.no_scan = 1;
    (void)r_global_init();
    make_key(&rsa, R_KEY_TYPE_RSA, 2048);
    make_key(&ec, R_KEY_TYPE_EC, 256);
    make_key(&ed, R_KEY_TYPE_EDDSA, 256);
    make_key(&next_key, R_KEY_TYPE_EC, 256);
    return toolrack_open(&options, &host, NULL);
}

static int tear_down(void **state) {
    (void)state;
    struct signer *signers[] = {&rsa, &ec, &ed, &next_key};
    for (size_t i = 0; i < ARRAY_LENGTH(signers); i++) {
        r_jwk_free(signers[i]->private);
        r_jwk_free(signers[i]->public);
    }
    toolrack_close(host);
    return remove_tree(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_teardown(tokens, stop),
            cmocka_unit_test_teardown(rates, stop),
            cmocka_unit_test_teardown(rates_of_users, stop),
            cmocka_unit_test_teardown(streams_are_shared, stop),
            cmocka_unit_test_teardown(a_revoked_token_ends_its_streams, stop),
            cmocka_unit_test_teardown(required_elsewhere, stop),
            cmocka_unit_test(what_a_proxy_says),
            cmocka_unit_test(what_a_proxy_says_without_a_standard),
            cmocka_unit_test(a_long_host_has_room),
            cmocka_unit_test_teardown(tokens_of_an_issuer, stop),
            cmocka_unit_test_teardown(wrong_tokens_of_an_issuer, stop),
            cmocka_unit_test_teardown(what_clients_are_told, stop),
            cmocka_unit_test_teardown(a_host_that_was_not_checked_is_told_to_nobody, stop),
            cmocka_unit_test_teardown(what_is_no_host_is_told_to_nobody, stop),
            cmocka_unit_test_teardown(keys_rotate, stop),
            cmocka_unit_test_teardown(keys_that_cannot_be_fetched, stop),
            cmocka_unit_test(an_endless_answer_is_refused),
            cmocka_unit_test_teardown(a_damaged_file_is_named, stop),
            cmocka_unit_test_teardown(certificates_change, stop),
            cmocka_unit_test_teardown(streams_over_tls_end_beside_others, stop),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
