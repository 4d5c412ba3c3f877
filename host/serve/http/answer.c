/* What goes back, as libmicrohttpd takes it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "serve/http/parts.h"

/* What libmicrohttpd allocates for a stream beside the memory of its connection. */
#define BLOCK_SIZE 1024u

static inline void responsep(struct MHD_Response **response) {
    if (*response != NULL) {
        mhd.destroy_response(*response);
    }
}

static void add(struct MHD_Response *response, const char *name, const char *value) {
    (void)mhd.add_response_header(response, name, value);
}

static void add_to_response(void *user, const char *name, const char *value) {
    add(user, name, value);
}

/* Give the headers of a text of lines. */
static void add_fields(const char *fields,
                       void (*add_header)(void *user, const char *name, const char *value),
                       void *user) {
    while (*fields != '\0') {
        char line[256];
        size_t length = strcspn(fields, "\r");
        (void)snprintf(line, sizeof line, "%.*s", (int)length, fields);
        char *value = strchr(line, ':');
        if (value != NULL) {
            *value = '\0';
            add_header(user, line, value + 2);
        }
        fields += length + strspn(fields + length, "\r\n");
    }
}

void answer_common(const struct conn *conn,
                   void (*add_header)(void *user, const char *name, const char *value),
                   void *user) {
    const char *fields = conn->fields;
    if (fields == NULL || strstr(fields, "Cache-Control:") == NULL) {
        add_header(user, "Cache-Control", "no-store");
    }
    if (fields != NULL) {
        add_fields(fields, add_header, user);
    }
    if (conn->front != NULL) {
        add_header(user, "X-Request-Id", conn->request_id);
        if (conn->trace[0] != '\0') {
            add_header(user, "traceresponse", conn->trace);
        }
        add_header(user, "X-Content-Type-Options", "nosniff");
    }
}

size_t answer_length(const struct conn *conn) {
    return conn->lent.text != NULL ? conn->lent.length : conn->out.length;
}

const char *answer_type(const struct conn *conn) {
    return conn->type[0] != '\0' ? conn->type : "application/json";
}

/* Browsers are told of origins that the configuration names, of no others, and that they may use
 * MCP, nothing else. */
static void add_common(struct conn *conn, struct MHD_Response *response) {
    const struct server *server = conn->server;
    const char *origin = conn->heads.origin;
    answer_common(conn, add_to_response, response);
    if (conn->front == NULL && origin != NULL &&
        http_settings_names_origin(&server->settings, origin)) {
        add(response, "Access-Control-Allow-Origin", origin);
        add(response, "Access-Control-Expose-Headers",
            "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After");
        add(response, "Vary", "Origin");
    }
    bool distrusted = conn->framing.last || (conn->refusal.status != 0 && conn->refusal.close);
    if (distrusted || atomic_load(&server->draining)) {
        add(response, "Connection", "close");
    }
}

enum counts_front answer_front(const struct conn *conn) {
    return conn->front != NULL ? conn->front->calls->counted_as
           : conn->is_mcp      ? COUNTS_MCP
                               : COUNTS_OTHER;
}

void answer_count(struct conn *conn, unsigned status) {
    conn->access.status = status;
    counts_add_answer(conn->server->counts, answer_front(conn), status);
}

static enum MHD_Result queue(struct conn *conn, unsigned status, struct MHD_Response *response) {
    conn->queued = true;
    answer_count(conn, status);
    return mhd.queue_response(conn->connection, status, response);
}

/* A response whose text the connection keeps until it is sent. */
static struct MHD_Response *from_text(struct conn *conn, const char *text, size_t length) {
    union {
        const char *borrowed;
        void *as_the_library_has_it;
    } of = {.borrowed = length > 0 ? text : ""};
    struct MHD_Response *response = mhd.create_response_from_buffer(
            length, of.as_the_library_has_it, MHD_RESPMEM_PERSISTENT);
    if (response != NULL) {
        add_common(conn, response);
    }
    return response;
}

static void begin_sending(struct conn *conn, size_t length) {
    LOCK_SCOPE(&conn->lock);
    conn_begin_sending(conn, length);
}

/* When a request may come again that was refused, unless the refusal says it. */
#define RETRY_AFTER_S 1u

void answer_needs(const struct conn *conn, unsigned status,
                  void (*add_header)(void *user, const char *name, const char *value), void *user) {
    const struct refusal *refusal = &conn->refusal;
    bool is_refused = refusal->status != 0; /* else the protocol answers */
    if (is_refused && refusal->moved) {
        char literal[LITERAL_ROOM];
        login_write_literal(conn, literal);
        add_header(user, "Location", literal);
    }
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        /* The protocol answers so to a GET for what it has not. */
        add_header(user, "Allow", is_refused ? refusal->allow : "POST, DELETE");
    }
    bool is_busy = status == MHD_HTTP_TOO_MANY_REQUESTS || status == MHD_HTTP_SERVICE_UNAVAILABLE;
    if (is_busy && (is_refused || !conn->is_begun)) {
        char text[16];
        uint32_t after_s =
                is_refused && refusal->retry_after_s > 0 ? refusal->retry_after_s : RETRY_AFTER_S;
        (void)snprintf(text, sizeof text, "%u", (unsigned)after_s);
        add_header(user, "Retry-After", text);
    }
}

/* Why the transport refuses, in the form of what the client speaks. */
static void write_refusal(struct conn *conn) {
    const struct refusal *refusal = &conn->refusal;
    if (conn->front != NULL) {
        const struct front_calls *calls = conn->front->calls;
        (void)snprintf(conn->type, sizeof conn->type, "%s", calls->refusal_type);
        calls->refuse(&conn->out, refusal->status, refusal->message);
        return;
    }
    if (!conn->is_mcp) { /* a browser that looks for a page, as like as not */
        (void)snprintf(conn->type, sizeof conn->type, "text/plain; charset=utf-8");
        buf_printf(&conn->out, "%s\n", refusal->message);
        return;
    }
    buf_add_text(&conn->out, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":");
    buf_add_json_string(&conn->out, refusal->message, strlen(refusal->message));
    buf_add_text(&conn->out, "}}");
}

enum MHD_Result answer_refusal(struct conn *conn) {
    const struct refusal *refusal = &conn->refusal;
    buf_clear(&conn->out);
    write_refusal(conn);
    CLEANUP(responsep)
    struct MHD_Response *response =
            conn->out.failed ? NULL : from_text(conn, conn->out.data, conn->out.length);
    if (response == NULL) {
        return MHD_NO;
    }
    add(response, "Content-Type", answer_type(conn));
    answer_needs(conn, refusal->status, add_to_response, response);
    authorise_challenge(conn, response);
    begin_sending(conn, conn->out.length);
    return queue(conn, refusal->status, response);
}

enum MHD_Result answer_whole(struct conn *conn) {
    if (conn->out.failed) {
        return MHD_NO;
    }
    size_t length = answer_length(conn);
    CLEANUP(responsep)
    struct MHD_Response *response =
            from_text(conn, conn->lent.text != NULL ? conn->lent.text : conn->out.data, length);
    if (response == NULL) {
        return MHD_NO;
    }
    if (length > 0) {
        add(response, "Content-Type", answer_type(conn));
    }
    if (conn->session[0] != '\0') {
        add(response, "Mcp-Session-Id", conn->session);
    }
    answer_needs(conn, conn->status, add_to_response, response);
    authorise_challenge(conn, response);
    return queue(conn, conn->status, response);
}

/* End a stream before it is complete. libmicrohttpd (0.9.75, 1.0.1) closes a connection that waits
 * for its reader when that fails, but does not release it before something happens to it, and
 * nothing may: its socket left the epoll set when it was suspended. A connection that it cannot
 * send to it closes and releases. */
static ssize_t cut_off(const struct conn *conn, char *to) {
    (void)shutdown(conn->fd, SHUT_RDWR);
    *to = '\n';
    return 1;
}

/* Give libmicrohttpd the next bytes of a stream. */
static ssize_t read_stream(void *user, uint64_t position, char *to, size_t room) {
    struct conn *conn = user;
    (void)position;
    LOCK_SCOPE(&conn->lock);
    if (conn->gone || conn->out.failed || atomic_load(&conn->server->ending)) {
        return cut_off(conn, to);
    }
    size_t waiting = conn->out.length - conn->sent;
    if (waiting == 0 && conn->finished) {
        return MHD_CONTENT_READER_END_OF_STREAM;
    }
    if (waiting == 0) {
        conn_suspend(conn);
        return 0;
    }
    size_t taken = waiting < room ? waiting : room;
    memcpy(to, conn->out.data + conn->sent, taken);
    conn->sent += taken;
    conn_expect(conn, server_now_ms(), conn->server->settings.limits.write_s, 0);
    if (conn->sent == conn->out.length) {
        conn->sent = 0;
        if (conn->out.room > SERVER_SWALLOW_MAX) {
            buf_finish(&conn->out);
        } else {
            buf_clear(&conn->out);
        }
    }
    return (ssize_t)taken;
}

enum MHD_Result answer_stream(struct conn *conn) {
    CLEANUP(responsep)
    struct MHD_Response *response = mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_SIZE,
                                                                      read_stream, conn, NULL);
    if (response == NULL) {
        return MHD_NO;
    }
    add_common(conn, response);
    add(response, "Content-Type", "text/event-stream");
    add(response, "X-Accel-Buffering", "no");
    if (conn->session[0] != '\0') {
        add(response, "Mcp-Session-Id", conn->session);
    }
    return queue(conn, MHD_HTTP_OK, response);
}

enum MHD_Result answer_metadata(struct conn *conn) {
    buf_clear(&conn->out);
    authorise_metadata(conn, &conn->out);
    conn->status = MHD_HTTP_OK;
    begin_sending(conn, conn->out.length);
    return answer_whole(conn);
}

/* Bytes of the names of headers with arguments that a page may have for one request. */
#define PARAMETERS_MAX 768u

/* Add the headers of a list that stand for arguments, which x-mcp-header in the schema of a tool
 * names: nobody knows them beforehand. */
static void add_parameters(struct buf *out, const char *list) {
    static const char start[] = "Mcp-Param-";
    size_t before = out->length;
    for (const char *at = list; *at != '\0'; at += strcspn(at, ",")) {
        at += strspn(at, ", \t");
        size_t length = heads_token_length(at);
        bool is_whole = at[length + strspn(at + length, " \t")] == ',' ||
                        at[length + strspn(at + length, " \t")] == '\0';
        if (is_whole && length >= sizeof start && strncasecmp(at, start, sizeof start - 1) == 0 &&
            out->length - before + length + 2 <= PARAMETERS_MAX) {
            buf_add_text(out, ", ");
            buf_add(out, at, length);
        }
    }
}

enum MHD_Result answer_options(struct conn *conn) {
    CLEANUP(responsep) struct MHD_Response *response = from_text(conn, "", 0);
    if (response == NULL) {
        return MHD_NO;
    }
    if (conn->front != NULL) {
        add(response, "Allow", conn->front_route.allow);
        begin_sending(conn, 0);
        return queue(conn, MHD_HTTP_NO_CONTENT, response);
    }
    CLEANUP(buf_finish) struct buf headers = BUF_INIT;
    buf_add_text(&headers, "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, "
                           "MCP-Protocol-Version, Mcp-Method, Mcp-Name");
    if (conn->heads.wanted_headers != NULL) {
        add_parameters(&headers, conn->heads.wanted_headers);
    }
    if (headers.failed) {
        return MHD_NO;
    }
    add(response, "Access-Control-Allow-Methods", "GET, POST, DELETE");
    add(response, "Access-Control-Allow-Headers", headers.data);
    add(response, "Access-Control-Max-Age", "600");
    begin_sending(conn, 0);
    return queue(conn, MHD_HTTP_NO_CONTENT, response);
}
