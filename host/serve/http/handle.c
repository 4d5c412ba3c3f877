/* The callbacks of libmicrohttpd: a connection begins and ends, a request line, a request, its end.
 *
 * libmicrohttpd calls handle_request() when the headers are there, with each piece of the body, at
 * the end of the body, and again when a connection that waited goes on. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <yyjson.h>

#include "base/cleanup.h"
#include "base/linked.h"
#include "serve/http/access.h"
#include "serve/http/parts.h"

/* ---------------------------------------------------------------- connections */

static struct conn *conn_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
            mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

/* Who is at the other end. At a loopback address the kernel is asked at once: a client may have
 * left when its request is read. */
static void look_at_peer(struct conn *conn) {
    socklen_t size = sizeof conn->peer;
    if (conn->listener->path != NULL) {
        if (!address_peer(conn->fd, &conn->user)) {
            conn->user = UINT32_MAX;
        }
        return;
    }
    if (getpeername(conn->fd, (struct sockaddr *)&conn->peer, &size) < 0) {
        conn->peer.ss_family = AF_UNSPEC;
    }
    conn->has_user = address_is_loopback(&conn->peer) && address_owner(conn->fd, &conn->user);
}

static void begin_connection(struct shard *shard, struct MHD_Connection *connection,
                             void **context) {
    struct server *server = shard->listener->server;
    const union MHD_ConnectionInfo *info =
            mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct conn *conn = info == NULL ? NULL : conn_create(shard, connection, info->connect_fd);
    *context = conn;
    if (conn == NULL) {
        return;
    }
    look_at_peer(conn);
    char refusal[PLACE_LINE_ROOM];
    lock_take(&server->lock);
    (void)atomic_fetch_add(&server->conn_count, 1);
    place_take(conn, refusal);
    conn->id = ++server->next_id;
    LINKED_ADD(&server->conns, conn);
    lock_release(&server->lock);
    if (refusal[0] != '\0') {
        server_note(server, "%s", refusal);
    }
    lock_take(&conn->lock); /* last: the watch looks at those that are listed */
    conn_expect(conn, server_now_ms(), server->settings.limits.read_s, 0);
    lock_release(&conn->lock);
}

static void end_connection(struct conn *conn) {
    struct server *server = conn->server;
    lock_take(&server->lock);
    LINKED_REMOVE(conn);
    (void)atomic_fetch_sub(&server->conn_count, 1);
    place_leave(conn);
    lock_release(&server->lock);
    lock_take(&conn->lock);
    conn->connection = NULL;
    lock_release(&conn->lock);
    conn_unref(conn);
}

void handle_connection(void *user, struct MHD_Connection *connection, void **context,
                       enum MHD_ConnectionNotificationCode what) {
    struct shard *shard = user;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        begin_connection(shard, connection, context);
        return;
    }
    if (*context != NULL) {
        end_connection(*context);
        *context = NULL;
    }
    /* When there were too many, libmicrohttpd listens again in the turn after this. */
    atomic_store(&shard->is_due, true);
}

/* ---------------------------------------------------------------- a request */

/* The target before libmicrohttpd takes it apart: what it gives is decoded already, so that an
 * encoded slash would be one more part of the path. MCP has no use for it. */
static void keep_target(struct conn *conn, const char *url) {
    buf_clear(&conn->target);
    conn->is_mcp = strncmp(url, "/mcp", 4) == 0;
    if (!conn->is_mcp) {
        buf_add(&conn->target, url, strnlen(url, SERVER_URL_MAX + 1));
    }
}

void *handle_line(void *user, const char *url, struct MHD_Connection *connection) {
    (void)user;
    struct conn *conn = conn_of(connection);
    if (conn != NULL) {
        framing_take_target(conn, url);
        access_begin(conn->server->access, conn, url);
        keep_target(conn, url);
        LOCK_SCOPE(&conn->lock);
        conn->phase = PHASE_COMING;
        conn->begin_ms = server_now_ms();
        conn_expect(conn, conn->begin_ms, conn->server->settings.limits.read_s, 0);
    }
    return conn;
}

/* Room for the whole body at once, so that it is not copied while it grows. Memory that is not
 * written costs nothing. */
static void reserve_body(struct conn *conn) {
    if (conn->heads.content_length != NULL) {
        (void)buf_reserve(&conn->body, (size_t)conn->heads.body_bytes + YYJSON_PADDING_SIZE);
    }
}

static enum MHD_Result begin(struct conn *conn, const char *url, const char *method,
                             const char *version) {
    conn->begun = true;
    conn->unchunked = strcmp(version, MHD_HTTP_VERSION_1_0) == 0;
    access_take_method(conn->server->access, conn, method);
    conn_take_request(conn, url, method, version);
    const struct heads *heads = &conn->heads;
    if (conn->refusal.status == 0) {
        if (conn->identity.principal.id != NULL) {
            atomic_store(&conn->proven, true);
        }
        reserve_body(conn);
        return MHD_YES;
    }
    bool is_long = heads->transfer_encoding != NULL || heads->expect != NULL ||
                   heads->body_bytes > SERVER_SWALLOW_MAX;
    return is_long || conn->refusal.close ? answer_refusal(conn) : MHD_YES;
}

static enum MHD_Result take_body(struct conn *conn, const char *data, size_t size) {
    struct server *server = conn->server;
    const struct limits *limits = &server->settings.limits;
    conn->body_bytes += size;
    if (conn->body_bytes >= SERVER_BYTES_PER_S) { /* less gives the client no more time */
        LOCK_SCOPE(&conn->lock);
        conn_expect(conn, conn->begin_ms, limits->read_s, conn->body_bytes);
    }
    if (conn->refusal.status != 0) {
        return conn->body_bytes <= (uint64_t)limits->body_bytes + SERVER_SWALLOW_MAX ? MHD_YES
                                                                                     : MHD_NO;
    }
    if (conn->body_bytes > limits->body_bytes) {
        conn_refuse(conn, MHD_HTTP_CONTENT_TOO_LARGE,
                    "the body has more than the %u bytes that are taken",
                    (unsigned)limits->body_bytes);
    } else if (atomic_fetch_add(&server->body_bytes, size) + size > limits->bodies_bytes) {
        (void)atomic_fetch_sub(&server->body_bytes, size);
        conn_refuse(conn, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "the server receives too many large requests; send this one again later");
        conn->refusal.retry_after_s = 1;
    } else {
        size_t before = conn->body.length;
        buf_add(&conn->body, data, size);
        if (conn->body.length == before) {
            (void)atomic_fetch_sub(&server->body_bytes, size);
            conn_refuse(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is out of memory");
        }
    }
    if (conn->refusal.status != 0) {
        conn_drop_body(conn);
    }
    return MHD_YES;
}

/* Whether the party of a request may have one more that waits for its answer: as many as it leaves
 * free. `running`: of all, less than
 * there may be. While more than that is free there is nothing to count. */
static bool has_share(struct conn *conn, unsigned running) {
    struct server *server = conn->server;
    unsigned max = server->settings.limits.streams;
    unsigned own = 0;
    if (running < max - running) {
        return true;
    }
    LOCK_SCOPE(&server->lock);
    for (const struct conn *other = server->conns; other != NULL; other = other->next) {
        own += atomic_load_explicit(&other->waiting_party, memory_order_relaxed) == conn->party;
    }
    return own < max - running;
}

static void give_front(struct conn *conn) {
    struct front *front = conn->front;
    const struct heads *heads = &conn->heads;
    const struct front_request request = {
            .route = conn->front_route.route,
            .target = conn->target.data,
            .id = conn->request_id,
            .trace = conn->trace[0] != '\0' ? conn->trace : conn->request_id,
            .last_event_id = heads->last_event_id,
            .if_none_match = heads->if_none_match,
            .prefer = heads->prefer,
            .prefers_events = heads->has_accept && (heads->accepts & HEADS_ACCEPTS_EVENTS) != 0 &&
                              (heads->accepts & HEADS_ACCEPTS_JSON) == 0,
            .body = conn->body.data,
            .length = conn->body.length};
    front->calls->receive(front, &conn->identity.principal, &request, &conn->exchange);
}

/* Hand the request to the protocol. */
static void give(struct conn *conn) {
    struct server *server = conn->server;
    if (conn->route == ROUTE_POST && conn->body.length == 0) {
        conn_refuse(conn, MHD_HTTP_BAD_REQUEST,
                    "the request has no body; send one JSON-RPC message");
        return;
    }
    unsigned running = atomic_fetch_add(&server->running, 1);
    if (running < server->settings.limits.streams && !has_share(conn, running)) {
        (void)atomic_fetch_sub(&server->running, 1);
        conn_refuse(conn, MHD_HTTP_TOO_MANY_REQUESTS,
                    "too many of your requests wait for their answers, of the %u that all clients "
                    "may have; end streams that you do not need, or send this one again later",
                    (unsigned)server->settings.limits.streams);
        return;
    }
    bool has_room = running < server->settings.limits.streams &&
                    buf_reserve(&conn->body, YYJSON_PADDING_SIZE);
    if (!has_room || !server_enter(server)) {
        (void)atomic_fetch_sub(&server->running, 1);
        conn_refuse(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "the server %s; send this one again later",
                    has_room ? "ends" : "answers too many requests at once");
        return;
    }
    atomic_store(&conn->proven, true);
    lock_take(&conn->lock);
    conn->given = true;
    conn->may_stream = conn->route != ROUTE_FRONT && !conn->mcp_headers.no_events;
    atomic_store_explicit(&conn->waiting_party, conn->party, memory_order_relaxed);
    conn->shard->vain_turns = 0;
    conn->refs++;
    conn->phase = PHASE_RUNNING;
    conn->deadline_ms = 0;
    conn->since_ms = conn->begin_ms;
    lock_release(&conn->lock);
    const struct principal *principal = &conn->identity.principal;
    if (conn->route == ROUTE_FRONT) {
        give_front(conn);
    } else if (conn->route == ROUTE_GET) {
        mcp_get(server->mcp, principal, &conn->mcp_headers, &conn->exchange);
    } else if (conn->route == ROUTE_DELETE) {
        mcp_delete(server->mcp, principal, &conn->mcp_headers, &conn->exchange);
    } else {
        mcp_post(server->mcp, principal, &conn->mcp_headers, conn->body.data, conn->body.length,
                 &conn->exchange);
    }
    server_leave(server);
    conn_drop_body(conn);
}

/* Who sends a request depends on keys that are being fetched: wait for them, or look again. False:
 * it waits. */
static bool may_know(struct conn *conn) {
    struct server *server = conn->server;
    while (conn->refusal.status == 0 && conn->awaits_keys) {
        lock_take(&conn->lock);
        bool waits = keys_number(server->keys) == conn->keys_number &&
                     !atomic_load(&server->closed) && !conn->gone;
        if (waits) {
            conn->since_ms = server_now_ms();
            conn_suspend(conn);
        }
        lock_release(&conn->lock);
        if (waits) {
            return false;
        }
        if (conn->gone || atomic_load(&server->closed)) {
            conn_refuse(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "the server ends");
        } else {
            authorise(conn);
        }
    }
    return true;
}

/* Answer, or wait for an answer. */
static enum MHD_Result conclude(struct conn *conn) {
    lock_take(&conn->lock);
    enum {
        GONE,
        STREAM,
        WHOLE,
        WAIT
    } next = conn->gone || atomic_load(&conn->server->ending) ? GONE
             : conn->stream                                   ? STREAM
             : conn->finished                                 ? WHOLE
                                                              : WAIT;
    if (next == WAIT) {
        conn_suspend(conn);
    }
    if (next == WHOLE) {
        conn_begin_sending(conn, answer_length(conn));
    }
    lock_release(&conn->lock);
    switch (next) {
    case GONE: return MHD_NO;
    case STREAM: return answer_stream(conn);
    case WHOLE: return answer_whole(conn);
    case WAIT: break;
    }
    return MHD_YES;
}

enum MHD_Result handle_request(void *user, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **context) {
    (void)user;
    (void)connection;
    struct conn *conn = *context;
    if (conn == NULL) {
        return MHD_NO;
    }
    if (!conn->begun) {
        return begin(conn, url, method, version);
    }
    if (*size > 0) {
        size_t length = *size;
        *size = 0;
        return take_body(conn, data, length);
    }
    if (conn->refusal.status == 0 && conn->route == ROUTE_OPTIONS) {
        return answer_options(conn);
    }
    if (conn->refusal.status == 0 && conn->route == ROUTE_METADATA) {
        return answer_metadata(conn);
    }
    if (conn->refusal.status == 0 && conn->awaits_keys && !may_know(conn)) {
        return MHD_YES;
    }
    bool is_new = conn->refusal.status == 0 && !conn->given;
    if (is_new) {
        give(conn);
    }
    if (conn->refusal.status != 0) {
        return answer_refusal(conn);
    }
    /* libmicrohttpd asks for the answer in the next turn, before which short calls end. To take a
     * connection out of its epoll set and to put it back is as much work as such a call. */
    return is_new ? MHD_YES : conclude(conn);
}

void handle_end(void *user, struct MHD_Connection *connection, void **context,
                enum MHD_RequestTerminationCode why) {
    (void)user;
    (void)connection;
    (void)why;
    struct conn *conn = *context;
    if (conn == NULL) {
        return;
    }
    struct server *server = conn->server;
    lock_take(&conn->lock);
    if (!conn->queued && !conn->direct) {
        counts_add_unanswered(server->counts, answer_front(conn));
    }
    conn->gone = conn->given && !conn->finished;
    if (conn->gone) {
        lock_release(&conn->lock);
        if (server_enter(server)) {
            if (conn->route == ROUTE_FRONT) {
                conn->front->calls->gone(conn->front, &conn->exchange);
            } else {
                mcp_gone(&conn->exchange);
            }
            server_leave(server);
        }
        lock_take(&conn->lock);
    }
    access_end(server->access, conn);
    conn_reset(conn);
    lock_release(&conn->lock);
    *context = NULL;
    if (atomic_load(&server->draining)) {
        LOCK_SCOPE(&server->lock);
        (void)pthread_cond_broadcast(&server->changed);
    }
}
