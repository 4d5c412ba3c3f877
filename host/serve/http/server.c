#include "serve/http/access.h"
#include "serve/http/parts.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread.h"
#include "serve/http/tls.h"
#include "toolrack/serving.h"

/* Descriptors that the host and its workers may need beside the connections. */
#define FILES_MORE 1024u
/* How often a drain looks at `hurry`. */
#define HURRY_MS   50
/* How long clients may take to read that their calls were cut off. */
#define CUT_MS     2000u

bool server_enter(struct server *server) {
    (void)atomic_fetch_add(&server->inside, 1);
    if (atomic_load(&server->closed)) {
        (void)atomic_fetch_sub(&server->inside, 1);
        return false;
    }
    return true;
}

void server_leave(struct server *server) {
    (void)atomic_fetch_sub(&server->inside, 1);
}

void server_note(const struct server *server, const char *format, ...) {
    char line[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (server->note != NULL) {
        server->note(server->user, line);
    }
}

/* ---------------------------------------------------------------- listening */

static struct listener *add_listener(struct server *server, size_t max,
                                     struct toolrack_error *err) {
    if (server->listener_count == max) {
        (void)error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "%s", LISTEN_TOO_MANY);
        return NULL;
    }
    struct listener *listener = &server->listeners[server->listener_count];
    *listener = (struct listener){.server = server, .fd = -1};
    return listener;
}

static int listen_at(struct server *server, const char *const *texts, size_t index,
                     struct toolrack_error *err) {
    const char *text = texts[index];
    struct sockaddr_storage wanted;
    socklen_t size;
    struct listen_problem problem;
    int code = address_read(text, &wanted, &size, err);
    if (code < 0 || is_activated(server, &wanted, NULL)) {
        return code;
    }
    struct listener *listener = add_listener(server, LISTEN_MAX, err);
    if (listener == NULL) {
        return TOOLRACK_E_LIMIT_EXCEEDED;
    }
    if (!listen_fits(texts, index, &problem)) {
        return error_set(err, TOOLRACK_E_INVALID, "'%s' %s; %s", text, problem.what, problem.fix);
    }
    listener->loopback = address_is_loopback(&wanted);
    listener->open = http_settings_is_open(&server->settings, listener->loopback);
    listener->tls = server->tls != NULL;
    code = authorise_check(server, listener, text, err);
    code = code < 0 ? code : address_listen(&wanted, size, &listener->fd, &listener->address, err);
    if (code < 0) {
        return code;
    }
    char address[ADDRESS_TEXT_ROOM];
    address_text(&listener->address, address);
    (void)snprintf(listener->where, sizeof listener->where, "%s://%s",
                   listener->tls ? "https" : "http", address);
    server->listener_count++;
    return 0;
}

/* Let the group connect. Where that is not allowed, who owns the socket still can. */
static void open_to_group(const char *path, gid_t group) {
    if (lchown(path, (uid_t)-1, group) == 0) {
        (void)chmod(path, 0660);
    }
}

static int listen_path(struct server *server, const char *path, size_t max,
                       struct toolrack_error *err) {
    if (is_activated(server, NULL, path)) {
        return 0;
    }
    struct listener *listener = add_listener(server, max, err);
    if (listener == NULL) {
        return TOOLRACK_E_LIMIT_EXCEEDED;
    }
    int code = address_listen_path(path, &listener->fd, &listener->file, err);
    if (code < 0) {
        return code;
    }
    if (server->settings.has_admin_group) {
        open_to_group(path, server->settings.admin_group);
    }
    listener->path = path;
    listener->loopback = listener->open = true;
    (void)snprintf(listener->where, sizeof listener->where, "unix:%s", path);
    server->listener_count++;
    return 0;
}

static bool has_path(const struct server *server, const char *path) {
    for (size_t i = 0; i < server->listener_count; i++) {
        if (server->listeners[i].path != NULL && strcmp(server->listeners[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

/* The configuration fills its default in, which is as if it said nothing; it is not wanted beside
 * the addresses of a service manager. */
static bool says_where(const struct server *server) {
    const char **listen = server->settings.listen;
    bool is_default =
            listen[0] != NULL && strcmp(listen[0], SETTINGS_LISTEN) == 0 && listen[1] == NULL;
    bool has_address = false;
    for (size_t i = 0; i < server->listener_count; i++) {
        has_address = has_address || server->listeners[i].path == NULL;
    }
    return listen[0] != NULL && !(is_default && has_address);
}

static int listen_all(struct server *server, const struct server_start *start,
                      struct toolrack_error *err) {
    static const char *const otherwise[] = {SETTINGS_LISTEN, NULL};
    static const char *const none[] = {NULL};
    const char *const *sockets = start->sockets != NULL ? start->sockets : none;
    int code = listen_activated(server, start->manager, err);
    /* Who names sockets and no address wants no address. */
    const char *const *listen = start->listen != NULL && start->listen[0] != NULL ? start->listen
                                : sockets[0] != NULL                              ? none
                                : says_where(server)         ? server->settings.listen
                                : server->listener_count > 0 ? none
                                                             : otherwise;
    if (code == 0 && start->sockets == NULL && start->listen == NULL &&
        server->settings.socket != NULL) {
        code = listen_path(server, server->settings.socket, LISTEN_MAX, err);
    }
    for (size_t i = 0; code == 0 && listen[i] != NULL; i++) {
        code = listen_at(server, listen, i, err);
    }
    for (size_t i = 0; code == 0 && sockets[i] != NULL; i++) {
        code = listen_path(server, sockets[i], LISTEN_MAX, err);
    }
    if (code == 0 && start->local != NULL && !has_path(server, start->local)) {
        code = listen_path(server, start->local, LISTEN_MAX + 1, err);
    }
    for (size_t i = 0; code == 0 && i < server->listener_count; i++) {
        code = shards_start(&server->listeners[i], err);
    }
    return code;
}

/* Each connection is a descriptor. Where the process may not have as many, there are fewer
 * connections: without a descriptor none is accepted, and who comes then waits for nothing. */
static void fit_to_files(struct server *server) {
    const rlim_t beside = SERVER_CONNECTIONS_MORE + SERVER_LOCAL_KEPT;
    struct limits *limits = &server->settings.limits;
    struct rlimit limit;
    rlim_t wanted = (rlim_t)limits->connections + beside + FILES_MORE;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return;
    }
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    if (limit.rlim_cur >= wanted) {
        return;
    }
    rlim_t room =
            limit.rlim_cur > 2 * FILES_MORE ? limit.rlim_cur - FILES_MORE : limit.rlim_cur / 2;
    room = room > 2 * beside ? room - beside : room / 2;
    if (room >= limits->connections) {
        return; /* the host has fewer files beside them */
    }
    server_note(server,
                "at most %u connections, not the %u of \"connections\" in \"limits\": this process "
                "may have %u open files; allow it %u (ulimit -n, LimitNOFILE= of systemd)",
                (unsigned)room, (unsigned)limits->connections, (unsigned)limit.rlim_cur,
                (unsigned)wanted);
    uint64_t of_one = (uint64_t)limits->connections_per_address * room / limits->connections;
    limits->connections_per_address = of_one > 0 ? (uint32_t)of_one : 1;
    limits->connections = (uint32_t)room;
}

/* Say where the configuration states what an error is about. */
static int place(const struct server *server, int code, struct toolrack_error *err) {
    if (code < 0 && err != NULL && err->field[0] != '\0') {
        struct toolrack_error found = *err;
        (void)toolrack_serving_refuse(server->host, found.field, found.message, err);
    }
    return code;
}

/* Requests that wait for keys go on. */
static void wake_waiting(struct server *server) {
    LOCK_SCOPE(&server->lock);
    for (struct conn *conn = server->conns; conn != NULL; conn = conn->next) {
        lock_take(&conn->lock);
        if (!conn->given) { /* nothing else is waited for before that */
            conn_wake(conn);
        }
        lock_release(&conn->lock);
    }
}

/* See keys_source. */
static void keys_fetched(void *user, const struct toolrack_error *problem) {
    struct server *server = user;
    if (problem != NULL) {
        struct toolrack_error err = *problem;
        (void)place(server, problem->code, &err);
        server_note(server, "tokens of the authorization server cannot be checked: %s",
                    err.message);
    }
    wake_waiting(server);
}

static int start_keys(struct server *server, struct toolrack_error *err) {
    const struct oauth *oauth = &server->settings.oauth;
    const struct keys_source source = {.file = oauth->jwks_file,
                                       .url = oauth->jwks_url,
                                       .fetched = keys_fetched,
                                       .user = server};
    return oauth->issuer == NULL ? 0 : keys_create(&source, &server->keys, err);
}

int server_start(const struct server_start *start, struct server **ret,
                 struct toolrack_error *err) {
    int code = microhttpd_load(err);
    struct server *server = code < 0 ? NULL : calloc(1, sizeof *server);
    if (server == NULL) {
        return code < 0 ? code : error_oom(err);
    }
    server->host = start->host;
    server->mcp = start->mcp;
    memcpy(server->fronts, start->fronts, sizeof server->fronts);
    server->counts = start->counts;
    server->profile = start->profile;
    server->note = start->note;
    server->user = start->user;
    server->lenient = mhd.get_version()[0] == '0';
    server->watch_epoll = server->watch_wake = -1;
    lock_init(&server->lock);
    clock_cond_init(&server->changed);
    code = place(server, http_settings_read(start->settings, &server->settings, err), err);
    if (code == 0) {
        fit_to_files(server);
        code = place(server, tls_create(&server->settings, &server->tls, err), err);
    }
    if (code == 0 && server->settings.access != SETTINGS_ACCESS_OFF && server->note != NULL) {
        code = access_create(&(struct access_options){.errors_only = server->settings.access ==
                                                                     SETTINGS_ACCESS_ERRORS,
                                                      .note = server->note,
                                                      .user = server->user,
                                                      .counts = server->counts},
                             &server->access, err);
    }
    server->rate = rate_create();
    server->sessions = sessions_create();
    bool is_made = server->rate != NULL && server->sessions != NULL;
    code = code < 0   ? code
           : !is_made ? error_oom(err)
                      : place(server, start_keys(server, err), err);
    code = code < 0 ? code : watch_start(server, err);
    code = code < 0 ? code : listen_all(server, start, err);
    if (code < 0) {
        server_silence(server);
        server_stop(server);
        return code;
    }
    *ret = server;
    return 0;
}

void server_reload(struct server *server) {
    struct toolrack_error err;
    if (toolrack_serving_check(server->host, TOOLRACK_SERVING_FILES, &err) < 0) {
        server_note(server, "the certificate and the keys stay as they were: %s", err.message);
        return;
    }
    if (server->tls != NULL && place(server, tls_reload(server->tls, &err), &err) < 0) {
        server_note(server, "the certificate stays as it was: %s", err.message);
    }
    if (server->keys != NULL && place(server, keys_reload(server->keys, &err), &err) < 0) {
        server_note(server, "the keys stay as they were: %s", err.message);
    }
}

/* ---------------------------------------------------------------- the end */

/* Who connects from now on is refused by an answer: MHD_quiesce_daemon() of libmicrohttpd 0.9.75
 * may abort the process when one of its threads wakes at that moment. */
static void leave_paths(struct server *server) {
    for (size_t i = 0; i < server->listener_count; i++) {
        struct listener *listener = &server->listeners[i];
        if (listener->path != NULL) {
            address_leave_path(listener->path, &listener->file);
        }
    }
}

/* Whether a connection has a request. */
static bool is_busy(struct server *server) {
    for (struct conn *conn = server->conns; conn != NULL; conn = conn->next) {
        LOCK_SCOPE(&conn->lock);
        if (conn->phase != PHASE_IDLE) {
            return true;
        }
    }
    return false;
}

static bool is_hurried(int hurry) {
    struct pollfd poller = {.fd = hurry, .events = POLLIN};
    return hurry >= 0 && poll(&poller, 1, 0) > 0;
}

/* Wait until no request is left. False: some are, at `end_ns` or when `hurry` has become readable.
 */
static bool wait_for_answers(struct server *server, uint64_t end_ns, int hurry) {
    LOCK_SCOPE(&server->lock);
    while (is_busy(server) || atomic_load(&server->running) > 0) {
        uint64_t now_ns = clock_now_ns();
        if (now_ns >= end_ns || is_hurried(hurry)) {
            return false;
        }
        struct timespec until = clock_timespec(now_ns + (uint64_t)HURRY_MS * CLOCK_NS_PER_MS);
        (void)lock_wait_until(&server->lock, &server->changed, &until);
    }
    return true;
}

bool server_drain(struct server *server, int hurry) {
    atomic_store(&server->draining, true);
    leave_paths(server);
    mcp_drain(server->mcp);
    for (size_t i = 0; i < SERVER_FRONTS_MAX && server->fronts[i] != NULL; i++) {
        server->fronts[i]->calls->drain(server->fronts[i]);
    }
    uint64_t drain_ns = (uint64_t)server->settings.limits.drain_s * CLOCK_NS_PER_S;
    return wait_for_answers(server, clock_now_ns() + drain_ns, hurry);
}

/* No thread of the transport is in the protocol any more, and none comes. */
static void close_protocol(struct server *server) {
    atomic_store(&server->closed, true);
    while (atomic_load(&server->inside) > 0) {
        (void)usleep(100);
    }
}

void server_cut(struct server *server) {
    close_protocol(server);
    wake_waiting(server);
    mcp_cut(server->mcp);
    for (size_t i = 0; i < SERVER_FRONTS_MAX && server->fronts[i] != NULL; i++) {
        server->fronts[i]->calls->cut(server->fronts[i]);
    }
    (void)wait_for_answers(server, clock_now_ns() + CUT_MS * CLOCK_NS_PER_MS, -1);
}

void server_silence(struct server *server) {
    atomic_store(&server->draining, true);
    leave_paths(server);
    atomic_store(&server->ending, true);
    close_protocol(server);
}

void server_stop(struct server *server) {
    watch_stop(server);
    atomic_store(&server->stopping, true);
    for (size_t i = 0; i < server->listener_count; i++) {
        shards_stop(&server->listeners[i]);
    }
    keys_destroy(server->keys);
    server->keys = NULL;
    lock_take(&server->lock);
    for (struct conn *conn = server->conns; conn != NULL; conn = conn->next) {
        LOCK_SCOPE(&conn->lock);
        conn->gone = true;
        conn_wake(conn);
    }
    lock_release(&server->lock);
    for (size_t i = 0; i < server->listener_count; i++) {
        shards_close(&server->listeners[i]);
        (void)close(server->listeners[i].fd);
    }
    if (server->watch_epoll >= 0) {
        (void)close(server->watch_epoll);
    }
    if (server->watch_wake >= 0) {
        (void)close(server->watch_wake);
    }
    tls_destroy(server->tls);
    rate_destroy(server->rate);
    access_destroy(server->access);
    sessions_destroy(server->sessions);
    http_settings_finish(&server->settings);
    (void)pthread_cond_destroy(&server->changed);
    lock_finish(&server->lock);
    free(server);
}
