#include "serve/http/parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Of the memory of a connection, what stays for its next request. */
#define KEEP_MAX 65536u

struct conn *conn_create(struct shard *shard, struct MHD_Connection *connection, int fd) {
    struct conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL) {
        return NULL;
    }
    lock_init(&conn->lock);
    conn->exchange.calls = &conn_calls;
    conn->server = shard->listener->server;
    conn->listener = shard->listener;
    conn->shard = shard;
    conn->connection = connection;
    conn->fd = fd;
    conn->refs = 1;
    conn->since_ms = server_now_ms();
    return conn;
}

static void give_back(struct conn *conn) {
    if (conn->lent.text != NULL) {
        conn->lent.release(conn->lent.lent);
        conn->lent.text = NULL;
    }
}

static void drop_lists(struct conn *conn) {
    while (conn->list_count > 0) {
        buf_finish(&conn->lists[--conn->list_count]);
    }
}

static void finish(struct conn *conn) {
    give_back(conn);
    identity_finish(&conn->identity);
    buf_finish(&conn->body);
    buf_finish(&conn->out);
    buf_finish(&conn->target);
    drop_lists(conn);
    free(conn->missing_scope);
    free(conn->fields);
    lock_finish(&conn->lock);
    free(conn);
}

void conn_unref(struct conn *conn) {
    lock_take(&conn->lock);
    bool last = --conn->refs == 0;
    lock_release(&conn->lock);
    if (last) {
        finish(conn);
    }
}

void conn_wake(struct conn *conn) {
    LOCK_ASSERT_HELD(&conn->lock);
    if (conn->suspended) {
        watch_forget(conn);
        conn->suspended = false;
        mhd.resume_connection(conn->connection);
        shard_wake(conn->shard);
    }
}

void conn_suspend(struct conn *conn) {
    LOCK_ASSERT_HELD(&conn->lock);
    conn->suspended = true;
    conn->deadline_ms = 0;
    mhd.suspend_connection(conn->connection);
    watch_by(conn->server, server_now_ms() + WATCH_SOON_MS);
}

void conn_expect(struct conn *conn, uint64_t from_ms, uint32_t seconds, uint64_t bytes) {
    LOCK_ASSERT_HELD(&conn->lock);
    conn->deadline_ms = seconds == 0 ? 0 : from_ms + (seconds + bytes / SERVER_BYTES_PER_S) * 1000u;
    watch_by(conn->server, server_now_ms() + WATCH_SOON_MS);
}

void conn_begin_sending(struct conn *conn, size_t length) {
    LOCK_ASSERT_HELD(&conn->lock);
    conn->phase = PHASE_SENDING;
    conn->access.bytes = length;
    conn_expect(conn, server_now_ms(), conn->server->settings.limits.write_s, length);
}

static void keep_little(struct buf *buf) {
    if (buf->room > KEEP_MAX || buf->failed) {
        buf_finish(buf);
    } else {
        buf_clear(buf);
    }
}

void conn_drop_body(struct conn *conn) {
    (void)atomic_fetch_sub(&conn->server->body_bytes, conn->body.length);
    keep_little(&conn->body);
}

void conn_reset(struct conn *conn) {
    LOCK_ASSERT_HELD(&conn->lock);
    identity_finish(&conn->identity);
    conn_drop_body(conn);
    conn->body_bytes = 0;
    conn->begun = conn->queued = false;
    conn->access.status = 0;
    conn->access.bytes = 0;
    conn->profile = NULL;
    conn->front = NULL;
    conn->is_head = false;
    conn->heads = (struct heads){0};
    drop_lists(conn);
    forwarded_clear(&conn->forwarded);
    conn->refusal.status = 0;
    conn->phase = PHASE_IDLE;
    if (conn->given && !conn->finished) {
        return; /* the exchange still uses the rest, and there is no next request */
    }
    conn->given = conn->finished = conn->stream = conn->direct = false;
    conn->exchange.own = NULL;
    keep_little(&conn->out);
    conn->sent = 0;
    conn->session[0] = '\0';
    free(conn->missing_scope);
    conn->missing_scope = NULL;
    give_back(conn);
    free(conn->fields);
    conn->fields = NULL;
    conn->type[0] = '\0';
    conn->is_begun = false;
    explicit_bzero(&conn->begun_session, sizeof conn->begun_session);
    conn->looked = false;
    conn->since_ms = server_now_ms();
    conn_expect(conn, conn->since_ms, conn->server->settings.limits.idle_s, 0);
}

/* ---------------------------------------------------------------- streams */

static bool is_too_slow(const struct conn *conn, size_t more) {
    size_t waiting = conn->out.length - conn->sent;
    return waiting > 0 && waiting + more > conn->server->settings.limits.stream_bytes;
}

/* The client is given up: libmicrohttpd closes a socket that was shut down. */
static void give_up(struct conn *conn) {
    conn->gone = true;
    buf_clear(&conn->out);
    conn->sent = 0;
    if (conn->connection != NULL) {
        (void)shutdown(conn->fd, SHUT_RDWR);
    }
    conn_wake(conn);
}

void conn_flush(struct conn *conn) {
    LOCK_ASSERT_HELD(&conn->lock);
    ssize_t sent = 0;
    while (sent >= 0 && conn->sent < conn->out.length) {
        sent = send(conn->fd, conn->out.data + conn->sent, conn->out.length - conn->sent,
                    MSG_DONTWAIT | MSG_NOSIGNAL);
        conn->sent += sent > 0 ? (size_t)sent : 0;
    }
    if (sent < 0 && errno == EAGAIN) {
        watch_forget(conn); /* the next look waits for room */
        watch_by(conn->server, server_now_ms() + WATCH_SOON_MS);
        return;
    }
    buf_clear(&conn->out);
    conn->sent = 0;
    conn->deadline_ms = 0;
    if (sent < 0 || conn->finished) {
        give_up(conn);
    }
}

/* Whether the client has closed its side, and libmicrohttpd, which would take that for the end of
 * the connection, has not begun to answer. TLS is libmicrohttpd's alone. */
static bool must_be_direct(const struct conn *conn) {
    struct pollfd look = {.fd = conn->fd, .events = POLLRDHUP};
    return conn->suspended && !conn->queued && !conn->direct && !conn->gone &&
           !conn->listener->tls && poll(&look, 1, 0) > 0 && (look.revents & POLLRDHUP) != 0;
}

static void add_to_head(void *user, const char *name, const char *value) {
    buf_printf(user, "%s: %s\r\n", name, value);
}

/* Put the head of a response before what waits. */
static void begin_directly(struct conn *conn, const char *more) {
    struct buf body = conn->out;
    conn->out = BUF_INIT;
    conn->direct = conn->half_closed = true;
    answer_count(conn, conn->stream ? MHD_HTTP_OK : conn->status);
    conn->access.bytes = conn->stream ? 0 : body.length;
    buf_printf(&conn->out, "HTTP/1.1 %u %s\r\nConnection: close\r\n%s",
               conn->stream ? 200u : conn->status,
               conn->stream || conn->status < 300 ? "OK" : "Refused", more);
    answer_common(conn, add_to_head, &conn->out);
    if (conn->session[0] != '\0') {
        buf_printf(&conn->out, "Mcp-Session-Id: %s\r\n", conn->session);
    }
    if (!conn->stream) {
        if (body.length > 0) {
            add_to_head(&conn->out, "Content-Type", answer_type(conn));
        }
        answer_needs(conn, conn->status, add_to_head, &conn->out);
        buf_printf(&conn->out, "Content-Length: %zu\r\n", body.length);
    }
    buf_add_text(&conn->out, "\r\n");
    buf_add(&conn->out, body.data, conn->is_head ? 0 : body.length);
    conn->out.failed |= body.failed;
    buf_finish(&body);
}

static void begin_stream_directly(struct conn *conn) {
    conn->stream = true;
    begin_directly(conn, "Content-Type: text/event-stream\r\nX-Accel-Buffering: no\r\n");
}

void conn_begin_directly(struct conn *conn) {
    LOCK_ASSERT_HELD(&conn->lock);
    begin_stream_directly(conn);
    conn_add_comment(conn);
}

/* Something was added to the stream. */
static void push(struct conn *conn) {
    conn->stream = true;
    if (conn->out.failed) {
        give_up(conn);
        return;
    }
    if (must_be_direct(conn)) {
        begin_stream_directly(conn);
    }
    conn->since_ms = server_now_ms();
    if ((!conn->suspended || conn->direct) && conn->deadline_ms == 0) {
        conn_expect(conn, conn->since_ms, conn->server->settings.limits.write_s, 0);
    }
    if (conn->direct) {
        conn_flush(conn);
    } else {
        conn_wake(conn);
    }
}

bool conn_takes_comments(struct conn *conn) {
    LOCK_ASSERT_HELD(&conn->lock);
    return conn->given && !conn->finished && !conn->gone && (conn->stream || conn->may_stream);
}

void conn_probe(struct conn *conn) {
    static const char text[] = "HTTP/1.1 102 Processing\r\n\r\n";
    LOCK_ASSERT_HELD(&conn->lock);
    if (conn->unchunked || /* which knows no such answer */
        send(conn->fd, text, sizeof text - 1, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof text - 1) {
        give_up(conn);
    }
}

void conn_add_comment(struct conn *conn) {
    LOCK_ASSERT_HELD(&conn->lock);
    if (conn_takes_comments(conn)) {
        buf_add_text(&conn->out, ":\n\n");
        push(conn);
    }
}

static void add_event(struct conn *conn, const char *event_id, const char *text, size_t length) {
    if (event_id != NULL) {
        buf_add_text(&conn->out, "id: ");
        buf_add_text(&conn->out, event_id);
        buf_add_char(&conn->out, '\n');
    }
    if (event_id == NULL && length == 0) {
        return; /* the stream begins */
    }
    if (buf_reserve(&conn->out, length + 8)) {
        buf_add_text(&conn->out, length > 0 ? "data: " : "data:");
        buf_add(&conn->out, text, length);
        buf_add_text(&conn->out, "\n\n");
    }
}

static void exchange_send(struct exchange *exchange, const char *event_id, const char *text,
                          size_t length) {
    struct conn *conn = (struct conn *)exchange;
    LOCK_SCOPE(&conn->lock);
    if (conn->gone) {
        return;
    }
    if (is_too_slow(conn, length)) {
        give_up(conn);
        return;
    }
    add_event(conn, event_id, text, length);
    push(conn);
}

static void exchange_pause(struct exchange *exchange, uint32_t retry_ms) {
    struct conn *conn = (struct conn *)exchange;
    LOCK_SCOPE(&conn->lock);
    if (!conn->gone) {
        buf_printf(&conn->out, "retry: %u\n\n", (unsigned)retry_ms);
        push(conn);
    }
}

static void take_answer(struct conn *conn, const struct exchange_answer *answer) {
    conn->status = (unsigned)answer->status;
    if (answer->session != NULL) {
        (void)snprintf(conn->session, sizeof conn->session, "%s", answer->session);
    }
    if (answer->fields != NULL) {
        conn->fields = strdup(answer->fields);
    }
    conn->type[0] = '\0';
    if (answer->type != NULL) {
        (void)snprintf(conn->type, sizeof conn->type, "%s", answer->type);
    }
    conn->is_begun = answer->is_begun;
    if (answer->missing_scope != NULL) {
        conn->missing_scope = strdup(answer->missing_scope);
    }
    if (answer->text == NULL) {
        /* libmicrohttpd releases a connection that ends a stream only after it has sent something
         * to it, see cut_off(). */
        if (conn->stream && conn->unchunked) {
            buf_add_char(&conn->out, '\n');
        }
        return;
    }
    if (conn->stream) {
        add_event(conn, NULL, answer->text, answer->length);
    } else if (answer->release != NULL && conn->connection != NULL && !must_be_direct(conn)) {
        conn->lent.text = answer->text;
        conn->lent.length = answer->length;
        conn->lent.release = answer->release;
        conn->lent.lent = answer->lent;
    } else {
        buf_add(&conn->out, answer->text, answer->length);
    }
}

static void exchange_finish(struct exchange *exchange, const struct exchange_answer *answer) {
    struct conn *conn = (struct conn *)exchange;
    struct server *server = conn->server;
    lock_take(&conn->lock);
    if (!conn->gone) {
        take_answer(conn, answer);
    }
    if (answer->release != NULL && conn->lent.text == NULL) {
        answer->release(answer->lent);
    }
    conn->finished = true;
    atomic_store_explicit(&conn->waiting_party, 0, memory_order_relaxed);
    if (conn->stream && !conn->gone) {
        push(conn);
    } else if (conn->lent.text == NULL && must_be_direct(conn)) {
        begin_directly(conn, "");
        conn_flush(conn);
    } else {
        conn_wake(conn);
    }
    bool last = --conn->refs == 0;
    lock_release(&conn->lock);
    if (last) {
        finish(conn);
    }
    (void)atomic_fetch_sub(&server->running, 1);
}

static const char *exchange_who(struct exchange *exchange) {
    return authorise_owner((struct conn *)exchange);
}

static int exchange_begin_session(struct exchange *exchange, struct exchange_session *ret) {
    return login_begin((struct conn *)exchange, ret);
}

static bool exchange_get_session(struct exchange *exchange, struct exchange_session *ret) {
    return login_get((struct conn *)exchange, ret);
}

static bool exchange_end_session(struct exchange *exchange, struct exchange_session *ret) {
    return login_end((struct conn *)exchange, ret);
}

const struct exchange_calls conn_calls = {.send = exchange_send,
                                          .finish = exchange_finish,
                                          .pause = exchange_pause,
                                          .who = exchange_who,
                                          .begin_session = exchange_begin_session,
                                          .get_session = exchange_get_session,
                                          .end_session = exchange_end_session};
