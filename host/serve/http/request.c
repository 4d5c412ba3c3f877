/* The headers of a request: what it asks for, and whether it is refused for them. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/http/parts.h"
#include "toolrack/serving.h"

void conn_refuse(struct conn *conn, unsigned status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)vsnprintf(conn->refusal.message, sizeof conn->refusal.message, format, args);
    va_end(args);
    conn->refusal.status = status;
    conn->refusal.allow = NULL;
    conn->refusal.retry_after_s = 0; /* see answer_needs() */
    conn->refusal.close = false;
}

/* ---------------------------------------------------------------- headers */

/* Of an id that a client chooses for its request. */
#define ID_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

static const struct header {
    const char *name;
    size_t length;
    size_t offset;
    enum lines lines;
} headers[] = {
#define HEADER(member, header, lines) \
    {header, sizeof(header) - 1, offsetof(struct heads, member), lines},
        CONN_HEADERS(HEADER)
#undef HEADER
};

static bool is_header(const char *name, size_t length, const char *header, size_t header_length) {
    return length == header_length && (name[0] | 0x20) == (header[0] | 0x20) &&
           strncasecmp(name, header, length) == 0;
}

/* NULL: it says nothing to the server. */
static const struct header *find_header(const char *name, size_t length) {
    for (size_t i = 0; i < ARRAY_LENGTH(headers); i++) {
        if (is_header(name, length, headers[i].name, headers[i].length)) {
            return &headers[i];
        }
    }
    return NULL;
}

/* The value of a header without the white space around it, which is no part of it (RFC 9110, 5.5)
 * and which the library leaves at its end. The value is in the connection's own memory. */
static const char *strip(const char *value, size_t *length) {
    const char *end = value + *length;
    value = heads_skip_spaces(value);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t')) {
        end--;
    }
    if (*end != '\0') {
        *(char *)(uintptr_t)end = '\0';
    }
    *length = (size_t)(end - value);
    return value;
}

/* Add a line to a list that has one, or more: `*list` is its text. */
static void add_line(struct conn *conn, const char **list, const char *value) {
    struct buf *whole = NULL;
    for (unsigned i = 0; i < conn->list_count; i++) {
        whole = conn->lists[i].data == *list ? &conn->lists[i] : whole;
    }
    if (whole == NULL) {
        assert(conn->list_count < LISTS);
        whole = &conn->lists[conn->list_count++];
        buf_add_text(whole, *list);
    }
    buf_add_text(whole, ", ");
    buf_add_text(whole, value);
    conn->heads.lacks_memory |= whole->failed;
    *list = whole->failed ? "" : whole->data;
}

static enum MHD_Result take_header(void *user, enum MHD_ValueKind kind, const char *name,
                                   size_t name_length, const char *value, size_t length) {
    struct conn *conn = user;
    struct heads *heads = &conn->heads;
    bool is_accept = is_header(name, name_length, "Accept", strlen("Accept"));
    const struct header *header = is_accept ? NULL : find_header(name, name_length);
    bool is_name = is_accept || header != NULL ||
                   (name_length > 0 && heads_token_length(name) == name_length);
    (void)kind;
    value = value != NULL ? value : "";
    framing_take_header(conn, name, name_length, is_name, value, length);
    size_t stripped = length;
    value = strip(value, &stripped);
    heads->passed_on |= conn->listener->path != NULL && heads_is_of_proxy(name, name_length);
    heads->bytes += name_length + stripped + strlen(": \r\n");
    if (is_accept) {
        heads->accepts |= heads_accepts(value);
        heads->has_accept = true;
    } else if (header != NULL) {
        const char **member = (const char **)((char *)heads + header->offset);
        if (*member != NULL && header->lines == LINES_ONE) {
            heads->twice = header->name;
        }
        heads->has_traces |= member == &heads->traceparent && *member != NULL;
        heads->is_padded |= member == &heads->transfer_encoding && stripped != length;
        if (*member == NULL || header->lines == LINES_ONE) {
            *member = value;
        } else if (heads_is_empty_list(value)) {
            /* nothing, in a list */
        } else if (header->lines == LINES_ALL && !heads_is_empty_list(*member)) {
            add_line(conn, member, value);
        } else {
            *member = value;
        }
    }
    return MHD_YES;
}

struct wanted {
    const char *name;
    const char *value;
    unsigned count;
};

static enum MHD_Result take_parameter(void *user, enum MHD_ValueKind kind, const char *name,
                                      size_t name_length, const char *value, size_t length) {
    struct wanted *wanted = user;
    (void)kind;
    (void)name_length;
    if (strncasecmp(name, "Mcp-Param-", 10) == 0 && strcasecmp(name + 10, wanted->name) == 0) {
        wanted->value = value != NULL ? strip(value, &length) : "";
        wanted->count++;
    }
    return MHD_YES;
}

static const char *parameter(const struct mcp_headers *mcp_headers, const char *name, bool *more) {
    const struct conn *conn =
            (const struct conn *)((const char *)mcp_headers - offsetof(struct conn, mcp_headers));
    struct wanted wanted = {.name = name};
    (void)mhd.get_connection_values_n(conn->connection, MHD_HEADER_KIND, take_parameter, &wanted);
    if (wanted.count > 1) {
        *more = true;
    }
    return wanted.value;
}

static void take_headers(struct conn *conn, const char *method, const char *version) {
    struct heads *heads = &conn->heads;
    *heads = (struct heads){0};
    framing_take_line(conn, method, version);
    (void)mhd.get_connection_values_n(conn->connection, MHD_HEADER_KIND, take_header, conn);
    framing_end(conn);
    if (heads->has_traces) {
        heads->traceparent = NULL;
    }
    if (heads->content_length != NULL) {
        heads->body_bytes = strtoull(heads->content_length, NULL, 10);
    }
    conn->mcp_headers = (struct mcp_headers){.version = heads->version,
                                             .session = heads->session,
                                             .method = heads->method,
                                             .name = heads->name,
                                             .last_event_id = heads->last_event_id,
                                             .traceparent = heads->traceparent,
                                             .parameter = parameter};
}

/* ---------------------------------------------------------------- checks, in order */

static void refuse_and_close(struct conn *conn, unsigned status, const char *message) {
    conn_refuse(conn, status, "%s", message);
    conn->refusal.close = true;
}

static void check_load(struct conn *conn) {
    struct server *server = conn->server;
    bool is_of_end = conn->front != NULL && conn->front_route.at_end;
    if (atomic_load(&server->draining) && !is_of_end) {
        refuse_and_close(conn, MHD_HTTP_SERVICE_UNAVAILABLE,
                         "the server ends; send the request again later");
        conn->refusal.retry_after_s = server->settings.limits.drain_s + 1;
    } else if (conn->kind == CONN_CROWDED) {
        refuse_and_close(conn, MHD_HTTP_SERVICE_UNAVAILABLE,
                         "too many connections; close some, or raise \"connections\" or "
                         "\"connections_per_address\" in the server's \"limits\"");
        conn->refusal.retry_after_s = 1;
    }
}

/* What two programs may read in two ways is not read at all. */
static void check_form(struct conn *conn, const char *url) {
    const struct heads *heads = &conn->heads;
    uint32_t bytes_max = conn->server->settings.limits.header_bytes;
    /* 0.9.75 takes LF for CRLF between chunks too, and does not tell. */
    conn->framing.last = conn->server->lenient && heads->transfer_encoding != NULL;
    if (conn->framing.problem != NULL) {
        refuse_and_close(conn, MHD_HTTP_BAD_REQUEST, conn->framing.problem);
    } else if (heads->lacks_memory) {
        refuse_and_close(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is out of memory");
    } else if (heads->twice != NULL) {
        conn_refuse(conn, MHD_HTTP_BAD_REQUEST,
                    "the header %s is there more than once; send it once", heads->twice);
        conn->refusal.close = true;
    } else if (heads->transfer_encoding != NULL && heads->content_length != NULL) {
        refuse_and_close(conn, MHD_HTTP_BAD_REQUEST,
                         "the request has Content-Length and Transfer-Encoding; send one of them");
    } else if (heads->transfer_encoding != NULL &&
               (heads->is_padded || strcasecmp(heads->transfer_encoding, "chunked") != 0)) {
        refuse_and_close(conn, MHD_HTTP_NOT_IMPLEMENTED,
                         "the only Transfer-Encoding that is understood is chunked");
    } else if (heads->transfer_encoding != NULL && conn->unchunked) {
        refuse_and_close(conn, MHD_HTTP_BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding");
    } else if (heads->bytes > bytes_max) {
        conn_refuse(conn, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
                    "the headers have %zu bytes; at most %u are taken (\"header_bytes\" in the "
                    "server's \"limits\")",
                    heads->bytes, (unsigned)bytes_max);
    } else if (strlen(url) > SERVER_URL_MAX || conn->target.length > SERVER_URL_MAX) {
        conn_refuse(conn, MHD_HTTP_URI_TOO_LONG, "the URL is longer than %u bytes", SERVER_URL_MAX);
    }
}

static bool is_said(const char *list) {
    return list != NULL && !heads_is_empty_list(list);
}

/* Whether both name the same client and host. */
static bool is_same(const struct forwarded *a, const struct forwarded *b) {
    struct authority host;
    struct authority other;
    (void)authority_read(a->host, strlen(a->host), &host);
    (void)authority_read(b->host, strlen(b->host), &other);
    return strcmp(a->address, b->address) == 0 && strcmp(host.host, other.host) == 0 &&
           host.port == other.port;
}

/* What a proxy says, whose word is taken. A proxy that writes one of both forms may
 * pass on the other as its client has sent it: so both say the same, or none is believed. */
static void read_forwarded(struct conn *conn) {
    const struct heads *heads = &conn->heads;
    struct forwarded standard = {0};
    struct forwarded other = {0};
    bool is_standard = is_said(heads->forwarded);
    bool is_other = is_said(heads->forwarded_for) || is_said(heads->forwarded_host) ||
                    is_said(heads->forwarded_proto);
    bool is_read = !is_standard || heads_forwarded(heads->forwarded, &standard);
    if (!is_read || (is_other && !heads_x_forwarded(heads->forwarded_for, heads->forwarded_host,
                                                    heads->forwarded_proto, &other))) {
        conn_refuse(conn, MHD_HTTP_BAD_REQUEST,
                    "the proxy's %s cannot be read; correct the proxy's configuration",
                    is_read ? "X-Forwarded headers" : "Forwarded");
    } else if (is_standard && is_other && !is_same(&standard, &other)) {
        conn_refuse(conn, MHD_HTTP_BAD_REQUEST,
                    "Forwarded names the client '%s' and the host '%.100s', and X-Forwarded the "
                    "client '%s' and the host '%.100s'; let the proxy remove the one that it does "
                    "not write (nginx: proxy_set_header Forwarded \"\";)",
                    standard.address, standard.host, other.address, other.host);
    } else {
        conn->forwarded = is_standard ? standard : other;
    }
}

static void take_forwarded(struct conn *conn) {
    forwarded_clear(&conn->forwarded);
    if (conn->listener->path == NULL &&
        http_settings_trusts(&conn->server->settings, &conn->peer)) {
        read_forwarded(conn);
    }
}

/* What a request is for. A target with a scheme, as clients send that speak to a proxy, names the
 * host itself: the Host header is not read then (RFC 9112, 3.2.2). */
struct target {
    const char *path;
    const char *host; /* not zero-terminated; NULL: none */
    size_t host_length;
};

static struct target find_target(const struct conn *conn, const char *url) {
    size_t scheme = strncasecmp(url, "http://", 7) == 0    ? 7
                    : strncasecmp(url, "https://", 8) == 0 ? 8
                                                           : 0;
    const char *host = scheme > 0 ? url + scheme : conn->heads.host;
    size_t length = host == NULL ? 0 : scheme > 0 ? strcspn(host, "/") : strlen(host);
    return (struct target){
            .path = scheme > 0 ? host + length : url, .host = host, .host_length = length};
}

static void check_host(struct conn *conn, const struct target *target) {
    bool is_forwarded = conn->forwarded.host[0] != '\0';
    const char *text = is_forwarded ? conn->forwarded.host : target->host;
    size_t length = is_forwarded ? strlen(text) : target->host_length;
    /* Most requests of a connection are for the host of the first. */
    if (length > 0 && length == conn->host_length && memcmp(text, conn->host_text, length) == 0) {
        return;
    }
    conn->host_length = 0;
    conn->host = (struct authority){0};
    if (text == NULL || !authority_read(text, length, &conn->host)) {
        if (conn->listener->path == NULL) { /* a page cannot reach a socket in the file system */
            conn_refuse(conn, MHD_HTTP_BAD_REQUEST,
                        "the request has no Host header with a host and port");
        }
    } else if (conn->listener->path == NULL &&
               !http_settings_has_host(&conn->server->settings, &conn->host,
                                       conn->listener->loopback)) {
        conn_refuse(conn, MHD_HTTP_FORBIDDEN,
                    "the request is for the host '%.*s', which is not this server's; add it "
                    "to \"hosts\" in the server's configuration if it is",
                    length < 100 ? (int)length : 100, text);
    } else if (length <= sizeof conn->host_text) {
        memcpy(conn->host_text, text, length);
        conn->host_length = length;
    }
}

static void check_origin(struct conn *conn) {
    const char *origin = conn->heads.origin;
    if (origin == NULL || http_settings_has_origin(&conn->server->settings, origin, &conn->host)) {
        return;
    }
    if (conn->front != NULL) { /* no origin is told that it may: see add_common() in answer.c */
        conn_refuse(conn, MHD_HTTP_FORBIDDEN,
                    "pages of '%.100s' may not use this; it is for programs, and for pages of the "
                    "server itself (by another name of it: see \"public_url\" and \"hosts\" in the "
                    "server's configuration)",
                    origin);
        return;
    }
    conn_refuse(conn, MHD_HTTP_FORBIDDEN,
                "pages of '%.100s' may not use this server; add it to \"origins\" in the server's "
                "configuration if they may",
                origin);
}

/* A page and its session are not for the name `localhost`. It is two addresses, and where the
 * server listens at one, another user of this machine may listen at the same port of the other; a
 * browser that asks there first sends the cookie, and that page is of the same origin. Only the
 * server's certificate, and an administrator who knows better, can say that the name is safe. */
static void check_literal(struct conn *conn) {
    const struct front_route *route = &conn->front_route;
    const struct authority *host = &conn->host;
    char literal[LITERAL_ROOM];
    if ((!route->is_page && !route->logs_in) || conn->listener->path != NULL ||
        login_is_secure(conn) || host->kind != HOST_NAME || !authority_is_loopback(host) ||
        http_settings_names_host(&conn->server->settings, host)) {
        return;
    }
    login_write_literal(conn, literal);
    if (route->is_page) {
        conn_refuse(conn, MHD_HTTP_TEMPORARY_REDIRECT, "the page is at %s", literal);
        conn->refusal.moved = true;
    } else {
        conn_refuse(conn, MHD_HTTP_FORBIDDEN,
                    "no session begins at the name localhost, which may lead a browser to a server "
                    "of another user; use %s, or add \"localhost\" to \"hosts\" in the server's "
                    "configuration",
                    literal);
    }
}

static bool is_method(const char *method, const char *name) {
    return strcmp(method, name) == 0;
}

/* Its span in the trace that its sender names. What is no traceparent is ignored, as if it were not
 * there. */
static void take_trace(struct conn *conn) {
    struct traceparent trace;
    conn->trace[0] = '\0';
    if (traceparent_read(conn->heads.traceparent, &trace) && traceparent_begin(&trace)) {
        traceparent_write(&trace, conn->trace);
        memcpy(conn->request_id, trace.span, sizeof trace.span);
    }
}

/* The id by which a request is known in answers and records: the client's own if it can stand in a
 * line of any log; else that of its span, if it is in a trace. */
static void take_request_id(struct conn *conn) {
    const char *given = conn->heads.request_id;
    size_t length = given != NULL ? strspn(given, ID_CHARACTERS) : 0;
    take_trace(conn);
    if (length > 0 && length <= REQUEST_ID_MAX && given[length] == '\0') {
        memcpy(conn->request_id, given, length + 1);
        return;
    }
    uint64_t bits = 0;
    if (conn->trace[0] != '\0') {
        return;
    }
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
        bits = clock_now_ns();
    }
    (void)snprintf(conn->request_id, sizeof conn->request_id, "%016llx", (unsigned long long)bits);
}

/* Whether the front has the path. A refusal of its is told after what is wrong with the request
 * itself. */
static bool find_front(struct conn *conn, const char *method) {
    struct front *const *fronts = conn->server->fronts;
    struct front_route *route = &conn->front_route;
    bool is_read = conn->target.length > 0 && !conn->target.failed;
    for (size_t i = 0; is_read && i < SERVER_FRONTS_MAX && fronts[i] != NULL; i++) {
        if (fronts[i]->calls->find(fronts[i], method, conn->target.data, route)) {
            conn->front = fronts[i];
            break;
        }
    }
    if (conn->front == NULL) {
        return false;
    }
    conn->is_head = is_method(method, "HEAD");
    conn->profile = NULL;
    conn->route = route->route != NULL ? ROUTE_FRONT : ROUTE_OPTIONS;
    take_request_id(conn);
    return true;
}

static void check_front(struct conn *conn) {
    const struct front_route *route = &conn->front_route;
    if (route->route == NULL && route->status != MHD_HTTP_NO_CONTENT) {
        conn_refuse(conn, route->status, "%s", route->message);
        conn->refusal.allow = route->allow;
    }
}

static void check_route(struct conn *conn, const char *url, const char *method) {
    const struct server *server = conn->server;
    const char *of = is_method(method, "GET") ? authorise_metadata_endpoint(conn, url) : NULL;
    const char *path = of != NULL ? of : url;
    const char *rest = strncmp(path, "/mcp", 4) == 0 ? path + 4 : NULL;
    conn->profile = NULL;
    if (rest != NULL && rest[0] == '/' && rest[1] != '\0') {
        conn->profile = rest + 1;
    } else if (rest == NULL || (rest[0] != '\0' && rest[0] != '/')) {
        conn_refuse(conn, MHD_HTTP_NOT_FOUND, "there is nothing here; the endpoint is /mcp%s",
                    server->fronts[0] != NULL ? ", and /api/openapi.json describes the others"
                                              : "");
        return;
    }
    if (conn->profile != NULL &&
        (server->profile != NULL ? strcmp(conn->profile, server->profile) != 0
                                 : !toolrack_has_profile(server->host, conn->profile))) {
        conn_refuse(conn, MHD_HTTP_NOT_FOUND,
                    "the server has no profile of that name; the endpoint is /mcp");
        return;
    }
    if (of != NULL) {
        conn->route = ROUTE_METADATA;
    } else if (is_method(method, "POST")) {
        conn->route = ROUTE_POST;
    } else if (is_method(method, "GET")) {
        conn->route = ROUTE_GET;
    } else if (is_method(method, "DELETE")) {
        conn->route = ROUTE_DELETE;
    } else if (is_method(method, "OPTIONS") && conn->heads.origin != NULL &&
               http_settings_names_origin(&server->settings, conn->heads.origin)) {
        conn->route = ROUTE_OPTIONS;
    } else {
        conn_refuse(conn, MHD_HTTP_METHOD_NOT_ALLOWED,
                    "the method %.20s is not taken; send messages by POST", method);
        conn->refusal.allow = "GET, POST, DELETE";
    }
}

static void check_front_accept(struct conn *conn) {
    static const struct {
        unsigned gives;
        unsigned accepts;
        const char *type;
    } types[] = {{FRONT_GIVES_JSON, HEADS_ACCEPTS_JSON, "application/json"},
                 {FRONT_GIVES_EVENTS, HEADS_ACCEPTS_EVENTS, "text/event-stream"},
                 {FRONT_GIVES_TEXT, HEADS_ACCEPTS_TEXT, "text/plain"}};
    char wanted[64] = "";
    bool fits = conn->front_route.gives == 0 || !conn->heads.has_accept;
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        if ((conn->front_route.gives & types[i].gives) != 0) {
            size_t length = strlen(wanted);
            fits = fits || (conn->heads.accepts & types[i].accepts) != 0;
            (void)snprintf(wanted + length, sizeof wanted - length, "%s%s",
                           length > 0 ? " or " : "", types[i].type);
        }
    }
    if (!fits) {
        conn_refuse(conn, MHD_HTTP_NOT_ACCEPTABLE, "the client must accept %s", wanted);
    }
}

static void check_accept(struct conn *conn) {
    if (conn->front != NULL) {
        check_front_accept(conn);
        return;
    }
    /* A client of POST must accept both. Some that take JSON alone are about: most requests need no
     * stream. */
    unsigned wanted = conn->route == ROUTE_GET ? HEADS_ACCEPTS_EVENTS : HEADS_ACCEPTS_JSON;
    conn->mcp_headers.no_events =
            conn->heads.has_accept && (conn->heads.accepts & HEADS_ACCEPTS_EVENTS) == 0;
    if (conn->route != ROUTE_DELETE && conn->heads.has_accept &&
        (conn->heads.accepts & wanted) != wanted) {
        conn_refuse(conn, MHD_HTTP_NOT_ACCEPTABLE, "the client must accept %s",
                    conn->route == ROUTE_GET ? "text/event-stream"
                                             : "application/json and text/event-stream");
    }
}

static void check_session(struct conn *conn, const char *method) {
    bool is_of_session = conn->route == ROUTE_GET || conn->route == ROUTE_DELETE;
    if (is_of_session && conn->heads.session == NULL) {
        conn_refuse(conn, MHD_HTTP_METHOD_NOT_ALLOWED,
                    "%s is for sessions, and the header Mcp-Session-Id is missing; send messages "
                    "by POST",
                    method);
        conn->refusal.allow = "POST";
    }
}

static void check_body(struct conn *conn) {
    const struct heads *heads = &conn->heads;
    uint32_t bytes_max = conn->server->settings.limits.body_bytes;
    if (conn->route != ROUTE_POST && !(conn->route == ROUTE_FRONT && conn->front_route.changes)) {
        return;
    }
    if (heads->content_type == NULL || !heads_is_json(heads->content_type)) {
        conn_refuse(conn, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                    "the Content-Type must be application/json");
    } else if (heads->content_encoding != NULL &&
               strcasecmp(heads->content_encoding, "identity") != 0) {
        conn_refuse(conn, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                    "the body is encoded as %.20s; send it without Content-Encoding",
                    heads->content_encoding);
    } else if (heads->content_length == NULL && heads->transfer_encoding == NULL) {
        refuse_and_close(conn, MHD_HTTP_LENGTH_REQUIRED, "the request has no Content-Length");
    } else if (heads->body_bytes > bytes_max) {
        conn_refuse(conn, MHD_HTTP_CONTENT_TOO_LARGE,
                    "the body has more than the %u bytes that are taken", (unsigned)bytes_max);
    }
}

void conn_take_request(struct conn *conn, const char *url, const char *method,
                       const char *version) {
    take_headers(conn, method, version);
    conn->refusal.status = 0;
    bool is_front = find_front(conn, method);
    check_load(conn);
    if (conn->refusal.status == 0) {
        check_form(conn, url);
    }
    if (conn->refusal.status == 0) {
        take_forwarded(conn);
    }
    struct target target = find_target(conn, url);
    if (conn->refusal.status == 0) {
        check_host(conn, &target);
    }
    if (conn->refusal.status == 0) {
        check_origin(conn);
    }
    if (conn->refusal.status == 0 && is_front) {
        check_front(conn);
        if (conn->refusal.status == 0) {
            check_literal(conn);
        }
    } else if (conn->refusal.status == 0) {
        check_route(conn, target.path, method);
    }
    bool is_message = conn->route != ROUTE_OPTIONS && conn->route != ROUTE_METADATA;
    bool is_public = conn->route == ROUTE_FRONT && conn->front_route.class == FRONT_PUBLIC;
    if (conn->refusal.status == 0 && is_message && !is_public) {
        authorise(conn);
    }
    if (conn->refusal.status == 0 && is_message) {
        check_accept(conn);
    }
    if (conn->refusal.status == 0) {
        check_session(conn, method);
    }
    if (conn->refusal.status == 0) {
        check_body(conn);
    }
}
