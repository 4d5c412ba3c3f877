/* The HTTP transport before a front whose requests are told apart by method and path: who may send
 * what, what is refused in the front's words, and who administers the host at a socket. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
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

#include "base/cleanup.h"
#include "http-client.h"
#include "patience.h"
#include "serve/http/access.h"
#include "serve/http/parts.h"
#include "toolrack/serving.h"

/* ---------------------------------------------------------------- no MCP */

void mcp_post(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
              char *text, size_t length, struct exchange *exchange) {
    (void)mcp;
    (void)principal;
    (void)headers;
    (void)text;
    (void)length;
    exchange->calls->finish(exchange, &(struct exchange_answer){.status = 500});
}

void mcp_get(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
             struct exchange *exchange) {
    mcp_post(mcp, principal, headers, NULL, 0, exchange);
}

void mcp_delete(struct mcp *mcp, const struct principal *principal,
                const struct mcp_headers *headers, struct exchange *exchange) {
    mcp_post(mcp, principal, headers, NULL, 0, exchange);
}

void mcp_gone(struct exchange *exchange) {
    (void)exchange;
}

void mcp_cut(struct mcp *mcp) {
    (void)mcp;
}

void mcp_drain(struct mcp *mcp) {
    (void)mcp;
}

/* ---------------------------------------------------------------- the front */

static bool find(struct front *front, const char *method, const char *target,
                 struct front_route *ret) {
    static const struct {
        const char *path;
        enum front_class class;
    } rows[] = {{"/front/public", FRONT_PUBLIC},
                {"/front/caller", FRONT_CALLER},
                {"/front/admin", FRONT_ADMIN},
                {"/front/login", FRONT_ADMIN}};
    (void)front;
    *ret = (struct front_route){.gives = FRONT_GIVES_JSON, .changes = strcmp(method, "PUT") == 0};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        if (strcmp(target, rows[i].path) == 0) {
            ret->route = rows[i].path;
            ret->class = rows[i].class;
            ret->logs_in = strcmp(target, "/front/login") == 0;
        }
    }
    if (ret->route == NULL) {
        ret->status = 404;
        ret->message = "nothing";
    }
    return strncmp(target, "/front", 6) == 0;
}

static void receive(struct front *front, const struct principal *principal,
                    const struct front_request *request, struct exchange *exchange) {
    char text[512];
    (void)front;
    int length = snprintf(text, sizeof text,
                          "{\"id\":\"%s\",\"admin\":%s,\"target\":\"%s\",\"bytes\":%zu}",
                          principal->id != NULL ? principal->id : "nobody",
                          principal->admin ? "true" : "false", request->target, request->length);
    struct exchange_session session = {0};
    bool logs_in = strcmp(request->target, "/front/login") == 0 &&
                   exchange->calls->begin_session(exchange, &session) == 0;
    const struct exchange_answer answer = {
            .status = 200,
            .text = logs_in ? session.csrf : text,
            .length = logs_in ? strlen(session.csrf) : (size_t)length,
            .type = "application/test",
            .fields = logs_in ? session.cookie : "ETag: \"1\"\r\nCache-Control: no-cache\r\n"};
    exchange->calls->finish(exchange, &answer);
}

static void gone(struct front *front, struct exchange *exchange) {
    (void)front;
    (void)exchange;
}

static void drain(struct front *front) {
    (void)front;
}

static void refuse(struct buf *out, unsigned status, const char *message) {
    buf_printf(out, "%u in words of the front: %s", status, message);
}

static const struct front_calls calls = {.find = find,
                                         .receive = receive,
                                         .gone = gone,
                                         .drain = drain,
                                         .refuse = refuse,
                                         .refusal_type = "text/front"};

/* ---------------------------------------------------------------- the server */

static struct toolrack *host;
static struct server *server;
static unsigned port;
static char folder[] = "/tmp/toolrack-test-front-XXXXXX";
static char path[64];

/* The lines for the operator. */
static struct lock note_lock = LOCK_INIT;
static char notes[8192];

static void take_note(void *user, const char *line) {
    (void)user;
    LOCK_SCOPE(&note_lock);
    size_t length = strlen(notes);
    (void)snprintf(notes + length, sizeof notes - length, "%s\n", line);
}

/* Whether a line with this end was noted, of a request with this beginning. */
static bool is_noted(const char *begin, const char *rest) {
    char text[sizeof notes];
    lock_take(&note_lock);
    memcpy(text, notes, sizeof text);
    lock_release(&note_lock);
    char *left = text;
    for (char *line; (line = strsep(&left, "\n")) != NULL;) {
        if (strncmp(line, begin, strlen(begin)) == 0 && strstr(line, rest) != NULL) {
            return true;
        }
    }
    return false;
}

static int start_with(const char *settings, struct toolrack_error *err) {
    static struct front front = {.calls = &calls};
    notes[0] = '\0';
    const struct server_start start = {.host = host,
                                       .fronts = {&front},
                                       .settings = settings,
                                       .note = take_note,
                                       .listen = (const char *[]){"127.0.0.1:0", NULL},
                                       .sockets = (const char *[]){path, NULL}};
    int code = server_start(&start, &server, err);
    if (code == 0) {
        port = ntohs(((struct sockaddr_in *)&server->listeners[0].address)->sin_port);
    }
    return code;
}

static int start(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    assert_int_equal(start_with("{}", &err), 0);
    return 0;
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

/* Whether an answer at a connection has a status and a text; what it has beside is shown. */
static bool answers(int fd, const char *method, const char *target, const char *more,
                    const char *body, unsigned status, const char *text) {
    struct client_left left = {0};
    (void)client_request(fd, method, target, more, body);
    struct client_response response = client_read(fd, &left);
    bool is = response.status == status && response.body != NULL &&
              strstr(response.body, text) != NULL;
    if (!is) {
        (void)fprintf(stderr, "%s %s (%s) gave %u %s\n", method, target, more, response.status,
                      response.body != NULL ? response.body : "");
    }
    client_response_finish(&response);
    client_left_finish(&left);
    return is;
}

static void expect(const char *method, const char *target, const char *more, const char *body,
                   unsigned status, const char *text) {
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(answers(fd, method, target, more, body, status, text));
}

/* The same of bytes. */
static void expect_of(const char *bytes, unsigned status, const char *text) {
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_send_text(fd, bytes));
    struct client_response response = client_read(fd, &left);
    assert_int_equal(response.status, status);
    assert_non_null(strstr(response.body, text));
    client_response_finish(&response);
    client_left_finish(&left);
}

/* ---------------------------------------------------------------- the access log */

/* Whether the first line has a time in UTC between two seconds, these included. */
static bool is_noted_between(int64_t from_s, int64_t until_s) {
    char text[32] = "";
    struct tm parts = {0};
    unsigned ms;
    LOCK_SCOPE(&note_lock);
    const char *at = strstr(notes, " time=");
    const char *left =
            at != NULL ? strptime(at + strlen(" time="), "%Y-%m-%dT%H:%M:%S", &parts) : NULL;
    if (left == NULL || sscanf(left, ".%3u%31s", &ms, text) != 2 || strcmp(text, "Z") != 0) {
        return false;
    }
    int64_t time_s = timegm(&parts);
    return time_s >= from_s && time_s <= until_s;
}

static void each_request_gets_a_line(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    int64_t begin_s = clock_wall_s();
    assert_int_equal(start_with("{\"access_log\":\"all\"}", &err), 0);
    expect("GET", "/front/caller", "X-Request-Id: of-mine\r\n", NULL, 200, "nobody");
    AWAIT(is_noted("request GET /front/caller status=200 bytes=", "front=other who=uid:"));
    assert_true(is_noted("request GET /front/caller", " from=127.0.0.1:"));
    assert_true(is_noted_between(begin_s, clock_wall_s()));
    assert_true(is_noted("request GET /front/caller", " id=of-mine"));
    expect("GET", "/mcp?secret=1", "", NULL, 405, "");
    AWAIT(is_noted("request GET /mcp status=405 ", "front=mcp "));
    expect("GET", "/front/admin", "Authorization: Bearer trk_00112233\r\n", NULL, 401, "");
    AWAIT(is_noted("request GET /front/admin status=401 ", ""));
    expect("GET", "/front/a%20b%22\x80\"<?api_key=1#x", "", NULL, 404, "");
    AWAIT(is_noted("request GET /front/a%20b%22%80%22%3C status=404 ", ""));
    expect("BREW", "/front/caller", "", NULL, 200, "");
    AWAIT(is_noted("request - /front/caller status=200 ", ""));
    LOCK_SCOPE(&note_lock);
    assert_null(strstr(notes, "secret"));
    assert_null(strstr(notes, "key"));
    assert_null(strstr(notes, "trk_"));
}

static void only_errors_get_lines_where_that_is_wanted(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    assert_int_equal(start_with("{\"access_log\":\"errors\"}", &err), 0);
    expect("GET", "/front/caller", "", NULL, 200, "nobody");
    expect("GET", "/nowhere", "", NULL, 404, "");
    AWAIT(is_noted("request GET /nowhere status=404 ", "front=other"));
    assert_false(is_noted("request GET /front/caller", ""));
    (void)stop(NULL);
    assert_int_equal(start_with("{}", &err), 0);
    expect("GET", "/nowhere", "", NULL, 404, "");
    (void)stop(NULL); /* which would write what waits */
    assert_string_equal(notes, "");
}

static void wait_for_gate(void *user, const char *line) {
    (void)line;
    lock_take(user);
    lock_release(user);
}

static void a_log_that_nobody_reads_costs_lines_and_no_time(void **state) {
    (void)state;
    struct lock gate = LOCK_INIT;
    struct serve_counts counts = {0};
    struct listener listener = {.path = "/socket"};
    struct access *access;
    struct conn *conn = calloc(1, sizeof *conn);
    const struct access_options options = {.note = wait_for_gate, .user = &gate, .counts = &counts};
    assert_non_null(conn);
    conn->listener = &listener;
    lock_take(&gate);
    assert_int_equal(access_create(&options, &access, NULL), 0);
    for (unsigned i = 0; i < 2 * ACCESS_RING_SIZE / 64; i++) {
        access_begin(access, conn, "/api/tools");
        access_end(access, conn);
    }
    lock_release(&gate);
    access_destroy(access);
    uint64_t lost = atomic_load(&counts.lost);
    assert_in_range(lost, 1, 2 * ACCESS_RING_SIZE / 64 - 1000);
    free(conn);
}

/* ---------------------------------------------------------------- sessions */

static struct toolrack_text *add_secret(const char *name) {
    struct toolrack_token token = TOOLRACK_TOKEN_INIT;
    struct toolrack_text *secret = NULL;
    token.name = name;
    token.admin = true;
    assert_int_equal(toolrack_token_add(host, &token, &secret, NULL, NULL), 0);
    return secret;
}

static struct toolrack_token_grant *add_token(const char *name) {
    struct toolrack_token_grant *grant = NULL;
    struct toolrack_text *secret = add_secret(name);
    assert_int_equal(toolrack_token_find(host, toolrack_text_data(secret, NULL), &grant, NULL), 0);
    toolrack_text_unref(secret);
    return grant;
}

struct secrets {
    char cookie[128];
    char csrf[SESSION_SECRET_ROOM];
};

static void begin_at(struct sessions *sessions, struct toolrack_token_grant *grant, uint64_t now_s,
                     struct secrets *ret) {
    char secret[SESSION_SECRET_ROOM];
    assert_true(sessions_begin(sessions, grant, now_s, secret, ret->csrf));
    (void)snprintf(ret->cookie, sizeof ret->cookie, "a=b; name=%s", secret);
}

static bool holds_at(struct sessions *sessions, const struct secrets *secrets, uint64_t now_s) {
    struct session *session =
            sessions_find(sessions, secrets->cookie, "name", secrets->csrf, now_s);
    session_unref(session);
    return session != NULL;
}

static void a_session_ends_after_its_time(void **state) {
    (void)state;
    struct secrets first;
    struct secrets later;
    struct sessions *sessions = sessions_create();
    struct toolrack_token_grant *grant = add_token("timed");
    begin_at(sessions, grant, 1000, &first);
    begin_at(sessions, grant, 2000, &later);
    assert_true(holds_at(sessions, &first, 1000 + SESSION_S - 1));
    assert_false(holds_at(sessions, &first, 1000 + SESSION_S));
    assert_true(holds_at(sessions, &later, 1000 + SESSION_S));
    assert_int_equal(toolrack_token_revoke(host, "timed", NULL, NULL), 0);
    assert_false(holds_at(sessions, &later, 2000));
    toolrack_token_grant_unref(grant);
    sessions_destroy(sessions);
}

/* Log in at a server with settings; whether its cookie begins with a name and ends with attributes,
 * and lets a request by it in. */
static bool logs_in_with(const char *settings, const char *more, const char *name,
                         const char *attributes) {
    char head[512];
    struct client_left left = {0};
    struct toolrack_error err = {0};
    struct toolrack_text *secret = add_secret("login");
    assert_int_equal(start_with(settings, &err), 0);
    (void)snprintf(head, sizeof head, "Host: 127.0.0.1\r\n%sAuthorization: Bearer %s\r\n", more,
                   toolrack_text_data(secret, NULL));
    int fd = client_connect(port);
    (void)client_request(fd, "PUT", "/front/login", head, "{}");
    struct client_response response = client_read(fd, &left);
    const char *cookie = client_header(&response, "Set-Cookie");
    bool is = response.status == 200 && cookie != NULL &&
              strncmp(cookie, name, strlen(name)) == 0 && strstr(cookie, attributes) != NULL;
    (void)snprintf(head, sizeof head, "Host: 127.0.0.1\r\n%sCookie: %.*s\r\nX-CSRF-Token: %s\r\n",
                   more, cookie != NULL ? (int)strcspn(cookie, ";") : 0,
                   cookie != NULL ? cookie : "", response.body != NULL ? response.body : "");
    is = is && answers(fd, "GET", "/front/admin", head, NULL, 200, "\"admin\":true");
    client_response_finish(&response);
    client_left_finish(&left);
    (void)close(fd);
    toolrack_text_unref(secret);
    assert_int_equal(toolrack_token_revoke(host, "login", NULL, NULL), 0);
    (void)stop(NULL);
    return is;
}

static void behind_tls_a_cookie_is_for_tls(void **state) {
    (void)state;
    assert_true(logs_in_with("{}", "", "toolrack-", "; HttpOnly; SameSite=Strict"));
    assert_false(logs_in_with("{}", "", "toolrack-", "Secure"));
    assert_true(logs_in_with("{\"public_url\":\"https://tools.example\"}", "", "__Host-toolrack-",
                             "; Path=/; Max-Age=43200; HttpOnly; "
                             "SameSite=Strict; Secure"));
    assert_true(logs_in_with("{\"trusted_proxies\":[\"127.0.0.1\"]}",
                             "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-Proto: https\r\n",
                             "__Host-toolrack-", "; Secure"));
}

static void become_another_user(void);

static bool is_tried(unsigned status) {
    CLEANUP(closep) int fd = client_connect(port);
    return answers(fd, "PUT", "/front/login",
                   "Host: 127.0.0.1\r\nAuthorization: Bearer trk_wrong\r\n", "{}", status, "");
}

/* At this machine one user does not keep another one from logging in. */
static void who_guesses_keeps_no_other_user_out(void **state) {
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    for (int i = 0; i < 30; i++) {
        assert_true(is_tried(401));
    }
    assert_true(is_tried(429));
    int result = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        become_another_user();
        _exit(is_tried(401) ? 0 : 1);
    }
    assert_int_equal(patience_child(child, &result), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

/* A request that runs while the server ends, or the table is full, has its session still. */
static void a_session_outlasts_its_place(void **state) {
    (void)state;
    struct secrets first;
    struct secrets other;
    struct sessions *sessions = sessions_create();
    struct toolrack_token_grant *grants[SESSIONS_MAX / SESSIONS_OF_TOKEN + 1];
    char name[32];
    for (size_t i = 0; i < ARRAY_LENGTH(grants); i++) {
        (void)snprintf(name, sizeof name, "full-%zu", i);
        grants[i] = add_token(name);
    }
    begin_at(sessions, grants[0], 1, &first);
    struct session *session = sessions_find(sessions, first.cookie, "name", first.csrf, 1);
    assert_non_null(session);
    for (size_t i = 1; i < SESSIONS_MAX; i++) {
        begin_at(sessions, grants[i / SESSIONS_OF_TOKEN], 1, &other);
    }
    assert_true(session_holds(session));
    begin_at(sessions, grants[ARRAY_LENGTH(grants) - 1], 1,
             &other); /* one more than there may be */
    assert_false(session_holds(session));
    assert_false(holds_at(sessions, &first, 1));
    assert_true(holds_at(sessions, &other, 1));
    sessions_destroy(sessions);
    assert_string_equal(toolrack_token_grant_name(session_grant(session)), "full-0");
    session_unref(session);
    for (size_t i = 0; i < ARRAY_LENGTH(grants); i++) {
        toolrack_token_grant_unref(grants[i]);
    }
}

static void requests_reach_the_front_by_their_class(void **state) {
    (void)state;
    expect("GET", "/front/public", "Authorization: Bearer wrong\r\n", NULL, 200, "\"nobody\"");
    expect("GET", "/front/caller", "", NULL, 200, "\"admin\":false");
    expect("GET", "/front/caller", "Authorization: Bearer wrong\r\n", NULL, 401, "of the front");
    expect("GET", "/front/admin", "", NULL, 401, "this wants a token");
    expect("PUT", "/front/caller", "", "{}", 200, "\"bytes\":2");
    expect_of("PUT /front/caller HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
              "Content-Length: 2\r\n\r\n{}",
              415, "of the front");
    expect("GET", "/front/none", "", NULL, 404, "404 in words of the front: nothing");
    expect("GET", "/elsewhere", "", NULL, 404, "there is nothing here; the endpoint is /mcp");
}

static void an_answer_has_what_the_front_gives(void **state) {
    (void)state;
    struct client_left left = {0};
    CLEANUP(closep) int fd = client_connect(port);
    assert_true(client_request(fd, "GET", "/front/caller", "X-Request-Id: me\r\n", NULL));
    struct client_response response = client_read(fd, &left);
    assert_string_equal(client_header(&response, "Content-Type"), "application/test");
    assert_string_equal(client_header(&response, "ETag"), "\"1\"");
    assert_string_equal(client_header(&response, "Cache-Control"), "no-cache");
    assert_string_equal(client_header(&response, "X-Request-Id"), "me");
    client_response_finish(&response);
    /* Nothing of it stays for the next request of the connection. */
    assert_true(client_request(fd, "GET", "/front/none", "", NULL));
    response = client_read(fd, &left);
    assert_string_equal(client_header(&response, "Content-Type"), "text/front");
    assert_null(client_header(&response, "ETag"));
    assert_string_equal(client_header(&response, "Cache-Control"), "no-store");
    client_response_finish(&response);
    client_left_finish(&left);
}

/* ------------------------------------------------------ who is at the socket */

/* Whether a process that has done `become` gets this answer from /front/admin. */
static bool child_gets(void (*become)(void), const char *more, unsigned status, const char *text) {
    int result = -1;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        become();
        int fd = client_connect_path(path);
        _exit(fd >= 0 && answers(fd, "GET", "/front/admin", more, NULL, status, text) ? 0 : 1);
    }
    assert_int_equal(patience_child(child, &result), child);
    return WIFEXITED(result) && WEXITSTATUS(result) == 0;
}

static void stay(void) {
}

/* What every worker is: without new privileges, and with a filter of system calls. */
static void become_confined(void) {
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {.len = 1, .filter = allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
        _exit(2);
    }
}

/* A process that a plugin has left behind: its parent has ended. */
static void become_orphan_of_a_plugin(void) {
    become_confined();
    pid_t child = fork();
    if (child != 0) {
        int result = 1;
        (void)waitpid(child, &result, 0);
        _exit(WIFEXITED(result) ? WEXITSTATUS(result) : 1);
    }
}

static void become_another_user(void) {
    if (setgroups(0, NULL) < 0 || setgid(1) < 0 || setuid(1) < 0) {
        _exit(2);
    }
}

static void become_another_of_the_group(void) {
    const gid_t groups[] = {2};
    if (setgroups(1, groups) < 0 || setgid(1) < 0 || setuid(1) < 0) {
        _exit(2);
    }
}

static void what_a_plugin_starts_is_no_administrator(void **state) {
    (void)state;
    assert_true(child_gets(stay, "", 403, "was started by a plugin")); /* by this process */
    assert_true(child_gets(become_confined, "", 403, "confined as plugins are"));
    assert_true(child_gets(become_orphan_of_a_plugin, "", 403, "confined as plugins are"));
}

static void who_comes_through_a_proxy_is_no_administrator(void **state) {
    (void)state;
    static const char *const of_proxies[] = {"X-Forwarded-For: 10.0.0.1",
                                             "Forwarded: for=10.0.0.1",
                                             "X-Forwarded-Host: a",
                                             "X-Forwarded-Proto: https",
                                             "X-Forwarded-Port: 443",
                                             "x-forwarded-server: a",
                                             "Via: 1.1 proxy",
                                             "via:",
                                             "X-Real-IP: 10.0.0.1",
                                             "X-Original-URI: /",
                                             "X-Client-IP: 10.0.0.1",
                                             "X-Cluster-Client-IP: 10.0.0.1",
                                             "True-Client-IP: 10.0.0.1",
                                             "CF-Connecting-IP: 10.0.0.1",
                                             "X-Envoy-Internal: true",
                                             "CDN-Loop: a",
                                             "X-ProxyUser-Ip: 10.0.0.1",
                                             "Fly-Client-IP: 10.0.0.1",
                                             "X-Azure-ClientIP: 10.0.0.1",
                                             "X-Amzn-Trace-Id: Root=1"};
    for (size_t i = 0; i < ARRAY_LENGTH(of_proxies); i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "%s\r\n", of_proxies[i]);
        if (!child_gets(stay, line, 403, "through a proxy")) {
            fail_msg("%s is no header of a proxy", of_proxies[i]);
        }
    }
    /* What begins or ends as theirs is none yet. */
    assert_true(child_gets(stay, "Viaduct: 1\r\nX-Real: 1\r\nClient-IPs: 1\r\nX-Request-Id: 1\r\n",
                           403, "was started by a plugin"));
}

static void another_user_is_no_administrator(void **state) {
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    /* As if somebody had opened the socket to all. */
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(path, 0666), 0);
    assert_true(child_gets(become_another_user, "", 403, "does not administer this host"));
}

static void the_group_of_the_configuration_administers(void **state) {
    (void)state;
    struct group *group = getgrgid(2);
    struct stat status;
    char settings[128];
    struct toolrack_error err = {0};
    if (geteuid() != 0 || group == NULL) {
        skip();
    }
    (void)stop(NULL);
    (void)snprintf(settings, sizeof settings, "{\"admin_group\":\"%s\"}", group->gr_name);
    assert_int_equal(start_with(settings, &err), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_gid, 2);
    assert_int_equal(status.st_mode & 0777, 0660);
    /* It is of the group; that it descends from the server is what is left to refuse. */
    assert_true(child_gets(become_another_of_the_group, "", 403, "was started by a plugin"));
    assert_int_equal(chmod(path, 0666), 0);
    assert_true(child_gets(become_another_user, "", 403, "does not administer this host"));
}

static void a_group_that_is_not_there_is_refused(void **state) {
    (void)state;
    struct toolrack_error err = {0};
    (void)stop(NULL);
    assert_int_equal(start_with("{\"admin_group\":\"no-such-group\"}", &err), TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, "there is no group 'no-such-group'"));
}

static int begin(void **state) {
    (void)state;
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/socket", folder);
    options.config_file = "";
    options.state_dir = "";
    options.no_scan = 1;
    return toolrack_open(&options, &host, NULL);
}

static int end(void **state) {
    (void)state;
    toolrack_close(host);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(requests_reach_the_front_by_their_class, start, stop),
            cmocka_unit_test_setup_teardown(an_answer_has_what_the_front_gives, start, stop),
            cmocka_unit_test_setup_teardown(what_a_plugin_starts_is_no_administrator, start, stop),
            cmocka_unit_test_setup_teardown(who_comes_through_a_proxy_is_no_administrator, start,
                                            stop),
            cmocka_unit_test_setup_teardown(another_user_is_no_administrator, start, stop),
            cmocka_unit_test_setup_teardown(the_group_of_the_configuration_administers, start,
                                            stop),
            cmocka_unit_test_setup_teardown(a_group_that_is_not_there_is_refused, start, stop),
            cmocka_unit_test_teardown(each_request_gets_a_line, stop),
            cmocka_unit_test_teardown(only_errors_get_lines_where_that_is_wanted, stop),
            cmocka_unit_test(a_log_that_nobody_reads_costs_lines_and_no_time),
            cmocka_unit_test(behind_tls_a_cookie_is_for_tls),
            cmocka_unit_test_setup_teardown(who_guesses_keeps_no_other_user_out, start, stop),
            cmocka_unit_test(a_session_ends_after_its_time),
            cmocka_unit_test(a_session_outlasts_its_place),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
