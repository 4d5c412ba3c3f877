/* parts.h - the server, its listeners and connections, as the files of this folder see them.
 *
 *     listener ... libmicrohttpd, a daemon for each address; its threads call handle.c
 *     conn ....... a connection, its request and the exchange with the protocol: conn.c
 *     watch ...... one thread for what a client must do in time, and for clients that leave while
 *                  a request runs, which libmicrohttpd does not notice
 *
 * Guarantees:
 *
 *  (1) A connection has at most one exchange that is not finished: libmicrohttpd reads no further
 *      request before the answer is sent.
 *  (2) `suspended` is true exactly while libmicrohttpd waits for conn_wake(): both change under the
 *      lock, so that an answer that comes at once is not waited for.
 *  (3) A connection whose client has left is never waiting: it is woken and then closed, and its
 *      exchange learns of that by mcp_gone(), once.
 *  (4) The struct is released when libmicrohttpd has closed the connection and the exchange is
 *      finished, whichever is later.
 *
 * A lock of a connection is taken after that of the server, and before those of libmicrohttpd. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/listen.h"
#include "base/lock.h"
#include "base/traceparent.h"
#include "serve/counts.h"
#include "serve/exchange.h"
#include "serve/front.h"
#include "serve/http/address.h"
#include "serve/http/heads.h"
#include "serve/http/keys.h"
#include "serve/http/microhttpd.h"
#include "serve/http/rate.h"
#include "serve/http/session.h"
#include "serve/http/settings.h"
#include "serve/mcp/mcp.h"
#include "serve/principal.h"

struct access;
struct listener;
struct manager;
struct server;

/* ---------------------------------------------------------------- who sends a request */

/** The principal of a request, with what it is made of. */
struct identity {
    struct principal principal;
    char *id; /* owned: of the principal */
    struct toolrack_token_grant *grant;
    struct session *session;      /* by which it came; NULL: by none */
    const char *error;            /* of OAuth, for a refusal: static, or NULL */
    uint32_t requests_per_minute; /* 0: no limit */
};

/* ---------------------------------------------------------------- a connection */

enum phase {
    PHASE_IDLE,    /* between requests */
    PHASE_COMING,  /* the request line has come, the rest of the request not */
    PHASE_RUNNING, /* the protocol has the request */
    PHASE_SENDING  /* the whole answer is there */
};

/* How many headers are of LINES_ALL. */
#define LISTS 3u

/* What counts of a header that comes on several lines. */
enum lines {
    LINES_ONE,  /* it may not */
    LINES_LAST, /* the last, which the nearest proxy added, unless that says nothing */
    LINES_ALL   /* they are one list (RFC 9110, 5.3) */
};

/** X(member, header, what counts of several lines): those of most requests first, since each header
 * of a request is looked for in this order. */
#define CONN_HEADERS(X)                                  \
    X(host, "Host", LINES_ONE)                           \
    X(content_type, "Content-Type", LINES_ONE)           \
    X(content_length, "Content-Length", LINES_ONE)       \
    X(version, "MCP-Protocol-Version", LINES_ONE)        \
    X(method, "Mcp-Method", LINES_ONE)                   \
    X(name, "Mcp-Name", LINES_ONE)                       \
    X(authorization, "Authorization", LINES_ONE)         \
    X(session, "Mcp-Session-Id", LINES_ONE)              \
    X(origin, "Origin", LINES_ONE)                       \
    X(cookie, "Cookie", LINES_LAST)                      \
    X(csrf, "X-CSRF-Token", LINES_ONE)                   \
    X(fetch_site, "Sec-Fetch-Site", LINES_LAST)          \
    X(content_encoding, "Content-Encoding", LINES_ONE)   \
    X(transfer_encoding, "Transfer-Encoding", LINES_ONE) \
    X(forwarded, "Forwarded", LINES_LAST)                \
    X(forwarded_for, "X-Forwarded-For", LINES_LAST)      \
    X(forwarded_host, "X-Forwarded-Host", LINES_LAST)    \
    X(forwarded_proto, "X-Forwarded-Proto", LINES_LAST)  \
    X(last_event_id, "Last-Event-ID", LINES_ONE)         \
    X(if_none_match, "If-None-Match", LINES_ALL)         \
    X(prefer, "Prefer", LINES_ALL)                       \
    X(request_id, "X-Request-Id", LINES_LAST)            \
    X(traceparent, "traceparent", LINES_LAST)            \
    X(expect, "Expect", LINES_LAST)                      \
    X(wanted_headers, "Access-Control-Request-Headers", LINES_ALL)

struct heads {
#define CONN_HEADER(member, header, lines) const char *member;
    CONN_HEADERS(CONN_HEADER)
#undef CONN_HEADER
    bool lacks_memory;   /* for a list on several lines */
    const char *twice;   /* the name of a header that came more than once and may not */
    bool has_traces;     /* of more than one trace, of which none counts */
    size_t bytes;        /* of all headers */
    uint64_t body_bytes; /* as Content-Length states it; 0 without one */
    unsigned accepts;    /* of HEADS_ACCEPTS_..., of all Accept headers */
    bool has_accept;
    bool passed_on; /* at a socket in the file system: a proxy has added one */
    bool is_padded; /* white space follows the Transfer-Encoding: to libmicrohttpd it is unknown */
};

/* Where the lines of a head are in the memory of libmicrohttpd, see framing.c. */
struct framing {
    const char *target;  /* of the request line */
    const char *version; /* where that must be */
    const char *begin;   /* of the head */
    const char *next;    /* where the next line must be */
    const char *problem; /* NULL: none was found */
    bool last;           /* where the request ends may be disputed: nothing may follow it */
};

/* What a request asks for. */
enum route {
    ROUTE_POST,
    ROUTE_GET,
    ROUTE_DELETE,
    ROUTE_OPTIONS,
    ROUTE_METADATA, /* how to get a token */
    ROUTE_FRONT     /* of the front: see conn->front_route */
};

/* An answer of the transport itself: why it refuses. */
struct refusal {
    unsigned status; /* 0: none */
    char message[256];
    const char *allow;      /* for 405 */
    uint32_t retry_after_s; /* for 429 and 503; 0: soon */
    bool close;             /* what follows on the connection cannot be trusted */
    bool moved;             /* the same is at the address that login_write_literal() gives */
};

/* Longest id of a request that a client chooses. */
#define REQUEST_ID_MAX  64u
/* Of a path in the access log; what is longer is cut. */
#define ACCESS_PATH_MAX 200u

/* Room for "connection:" and 128 bits in hexadecimal. */
#define OWNER_ROOM 48u

/* As which a connection counts. */
enum conn_kind {
    CONN_REMOTE, /* at an address */
    CONN_LOCAL,  /* at a socket in the file system */
    CONN_CROWDED /* accepted only to say that there are too many; it takes no place of another */
};
#define CONN_KINDS 3

struct conn {
    struct exchange exchange;       /* of the request */
    struct mcp_headers mcp_headers; /* of the request */
    struct server *server;
    struct listener *listener;
    struct shard *shard;
    struct conn *next; /* of the server's, under its lock */
    struct conn **link;
    uint64_t id; /* unlike that of any other connection */
    int fd;
    struct sockaddr_storage peer;
    /* At the other end of a socket in the file system; of a connection inside this machine if
     * `has_user`. */
    uint32_t user;
    bool has_user;
    char owner[OWNER_ROOM]; /* who has the other end, once that was asked; see authorise_owner() */
    uint64_t party;         /* who sends the request, see rate_key() */
    /* The same while the request waits for its answer, else 0; for threads of other connections. */
    atomic_uint_fast64_t waiting_party;
    unsigned char key[16];     /* of the peer's address, see address_key() */
    bool admin_looked;         /* whether its user is no administrator, and why, is known: */
    const char *admin_refused; /* static, or NULL: it is one */
    /* Guarded by the lock of the server; see place.c. */
    bool counted;        /* among the connections of its user or address */
    bool given_up;       /* its place is another's, and it is being closed */
    enum conn_kind kind; /* as which it counts; does not change */
    /* A whole request has come by it, or one that says who sends it. */
    atomic_bool proven;

    struct lock lock; /* of all below that other threads use than that which serves its shard */
    struct MHD_Connection *connection; /* NULL: closed, or the client is gone */
    unsigned refs;
    enum phase phase;
    uint64_t deadline_ms; /* of the client, by the monotonic clock; 0: it need not do anything */
    uint64_t since_ms;    /* when its state began, or something was sent last */
    uint64_t begin_ms;    /* when the request line came */
    bool suspended;
    bool watched;     /* its socket is in the epoll set of the watch */
    bool looked;      /* between requests: whether the client has closed its side */
    bool half_closed; /* the client sends nothing more */
    bool direct;      /* we write to the socket, libmicrohttpd waits until the end of the answer */
    bool gone;        /* the client has left, or must */
    bool given;       /* the protocol has the exchange, or had it ... */
    bool finished;    /* ... and has finished it */
    bool stream;      /* the answer is an event stream */
    bool may_stream;  /* the transport may make it one, to show that the server lives */
    struct buf out;   /* what is to be sent; of a stream, from `sent` on */
    size_t sent;
    unsigned status;
    char session[128];
    char *missing_scope; /* owned, or NULL */
    char *fields;        /* more headers of the answer, likewise */
    char type[64];       /* of the answer's text; "": JSON */
    bool is_begun;       /* nobody is told to send the request again, see exchange.h */
    struct {
        char csrf[SESSION_SECRET_ROOM];
        char cookie[256];
    } begun_session; /* what the front is lent of it */
    struct {
        const char *text; /* of the answer, in place of `out`; NULL: none */
        size_t length;
        void (*release)(void *lent);
        void *lent;
    } lent;

    /* Of the thread that serves its shard. */
    bool begun;     /* the headers were read */
    bool queued;    /* the answer has begun */
    bool unchunked; /* HTTP/1.0: a stream ends with its connection */
    enum route route;
    const char *profile;     /* of the URL, or NULL */
    struct buf target;       /* as it came, of a path that is not MCP's */
    struct buf lists[LISTS]; /* each that came on several lines, as one */
    unsigned list_count;
    struct front *front; /* that has the path, also of a request that is refused; NULL: MCP */
    bool is_mcp;         /* the path is that of MCP, or one below it */
    bool is_head;        /* the answer has no body */
    struct front_route front_route;
    char request_id[REQUEST_ID_MAX + 1]; /* of a request of the front */
    char trace[TRACEPARENT_ROOM];        /* likewise; "": it is in no trace */
    struct {                             /* for the access log */
        uint64_t begin_ns;
        const char *method; /* static */
        unsigned status;    /* of the answer; 0: none */
        size_t bytes;       /* of an answer at once */
        char path[ACCESS_PATH_MAX + 1];
    } access;
    struct framing framing;
    struct heads heads;
    struct forwarded forwarded;
    struct authority host;                  /* that the client asked for ... */
    char host_text[AUTHORITY_HOST_MAX + 8]; /* ... as it wrote it, with its port ... */
    size_t host_length;                     /* ... if the server is that host; else 0 */
    struct identity identity;
    bool awaits_keys;     /* who sends it is not known before keys were fetched ... */
    uint64_t keys_number; /* ... by a later attempt than this */
    struct refusal refusal;
    struct buf body;
    uint64_t body_bytes; /* that were received, also those that are not kept */
};

/* ---------------------------------------------------------------- the server */

/* Longest URL. */
#define SERVER_URL_MAX     2048u
/* Of a request that is refused, what the client still sends is read up to here, so that it sees the
 * answer; beyond, its connection is closed after the answer. */
#define SERVER_SWALLOW_MAX (256u * 1024)
/* A client may send and read at this rate; slower, it runs out of time. */
#define SERVER_BYTES_PER_S (16u * 1024)

/* Connections that are accepted only to say that there are too many. */
#define SERVER_CONNECTIONS_MORE 64u
/* Connections of sockets in the file system that have a place whatever comes by addresses: so an
 * administrator is served while the network has taken all others. */
#define SERVER_LOCAL_KEPT       64u
/* Fronts beside MCP. */
#define SERVER_FRONTS_MAX       2u
/* Parts of the connections of one address, each served by one thread at a time. */
#define SERVER_SHARDS_MAX       8u

/* A part of the connections of a listener, as one daemon of libmicrohttpd, which runs when a thread
 * of the host serves it. */
struct shard {
    struct listener *listener;
    struct MHD_Daemon *daemon;
    struct toolrack_source *source;
    int epoll;          /* of the daemon: can be read when there is something to do */
    int wake;           /* an eventfd: can be read when a connection goes on, or the server stops */
    atomic_bool is_due; /* a connection goes on, which libmicrohttpd does not look for by itself */
    atomic_bool is_idle; /* a thread waits, or is about to, and looks at `is_due` once more */
    atomic_uint turns;   /* how often it was served */
    unsigned vain_turns; /* of the thread that serves it, as is the next */
    bool has_failed;     /* that was said */
};

struct listener {
    struct server *server;
    struct shard shards[SERVER_SHARDS_MAX];
    unsigned shard_count;
    int fd;
    const char *path;                          /* of a socket in the file system, or NULL */
    bool is_activated;                         /* the service manager listens, and keeps it */
    char own_path[sizeof(struct sockaddr_un)]; /* of such a one: its path */
    struct socket_file file;
    struct sockaddr_storage address;
    bool loopback; /* only this machine reaches it */
    bool tls;
    bool open;       /* no authorisation is needed */
    char where[300]; /* as clients write it: http://127.0.0.1:8137 */
};

struct server {
    struct toolrack *host;
    struct mcp *mcp;
    /* Of all other paths; each is asked until one has the path. */
    struct front *fronts[SERVER_FRONTS_MAX];
    struct sessions *sessions;
    struct serve_counts *counts; /* borrowed, or NULL */
    const char *profile;
    bool lenient; /* libmicrohttpd takes heads that it should refuse, see framing.c */
    struct http_settings settings;
    struct listener listeners[LISTEN_MAX + 1]; /* and the local one */
    size_t listener_count;
    void (*note)(void *user, const char *line);
    void *user;

    struct lock lock;       /* of the connections */
    pthread_cond_t changed; /* a request has ended while the server drains */
    struct conn *conns;
    uint64_t next_id;
    _Atomic unsigned conn_count;
    unsigned kind_counts[CONN_KINDS];
    unsigned refused_count; /* connections, since that was noted ... */
    unsigned given_up_count;
    uint64_t refusal_note_ms;    /* ... at this time; 0: never */
    _Atomic unsigned running;    /* exchanges that are not finished */
    _Atomic uint64_t body_bytes; /* of requests that are being received */
    _Atomic unsigned inside;     /* threads in the protocol */
    atomic_bool draining;        /* no new requests */
    atomic_bool closed;          /* nothing goes to the protocol any more ... */
    atomic_bool ending;          /* ... and nothing waits */
    atomic_bool stopping;        /* no shard is served any more */

    pthread_t watch;
    bool watching;
    int watch_epoll;
    int watch_wake; /* an eventfd */
    bool watch_end;
    atomic_uint watch_turns; /* how often it has looked */
    /* When it looks next, by server_now_ms(), if nothing changes; UINT64_MAX: never, or it looks.
     */
    _Atomic uint64_t watch_until_ms;
    struct tls *tls;
    struct keys *keys; /* NULL: no OAuth */
    struct rate *rate;
    struct access *access; /* NULL: there is no access log */
};

/* For what clients may take, which is counted in seconds. */
static inline uint64_t server_now_ms(void) {
    return clock_coarse_ns() / CLOCK_NS_PER_MS;
}

/* What server_start() gets; borrowed, as long as the server is there. */
struct server_start {
    struct toolrack *host;
    struct mcp *mcp;
    struct front *fronts[SERVER_FRONTS_MAX]; /* or NULL */
    const char *settings;                    /* JSON, as toolrack_serving() gives it */
    const char *const *listen;               /* addresses; NULL-terminated, or NULL */
    const char *const *sockets;              /* likewise */
    const char *local;             /* a socket besides those and these of the settings, or NULL */
    const char *profile;           /* or NULL */
    const struct manager *manager; /* or NULL */
    struct serve_counts *counts;   /* or NULL */
    void (*note)(void *user, const char *line);
    void *user;
};

/** Listen, and answer.
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_EXISTS; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY */
int server_start(const struct server_start *start, struct server **ret, struct toolrack_error *err);
/** Read again what is in files: certificates. */
void server_reload(struct server *server);
/** Take no new connections and requests, and wait until those that run are answered. False: they
 * are not, after the time that the settings allow, or `hurry` has become readable (-1: nothing
 * hurries). */
bool server_drain(struct server *server, int hurry);
/** Cancel what still runs, and let each client read that: its answer says so. */
void server_cut(struct server *server);
/** Nothing goes to the protocol any more: mcp_destroy() may follow, which finishes what runs. */
void server_silence(struct server *server);
/** End. Every exchange is finished. */
void server_stop(struct server *server);

/** Enter the protocol; false: the server ends. */
bool server_enter(struct server *server);
void server_leave(struct server *server);

/** One line for the operator. */
void server_note(const struct server *server, const char *format, ...) TOOLRACK_PRINTF(2, 3);

/* ---------------------------------------------------------------- conn.c */

/** The functions of each exchange. */
extern const struct exchange_calls conn_calls;

/** @return a connection with one reference, libmicrohttpd's; NULL: no memory */
struct conn *conn_create(struct shard *shard, struct MHD_Connection *connection, int fd);
void conn_unref(struct conn *conn);

/** Let libmicrohttpd go on with the connection if it waits. Under the lock. */
void conn_wake(struct conn *conn);
/** Wait for conn_wake(). Under the lock, in a callback of libmicrohttpd. */
void conn_suspend(struct conn *conn);

/** The client must do something within this time and that which so many bytes may take, from
 * `from_ms` on; 0 seconds: whenever it likes. Under the lock. */
void conn_expect(struct conn *conn, uint64_t from_ms, uint32_t seconds, uint64_t bytes);

/** The answer, of so many bytes, is sent from now on. Under the lock. */
void conn_begin_sending(struct conn *conn, size_t length);

/** Of a client that has closed its side before the answer begins: begin a stream without
 * libmicrohttpd, which would take that for the end of the connection. Under the lock. */
void conn_begin_directly(struct conn *conn);
/** Write what waits. Under the lock, of a connection with `direct`. */
void conn_flush(struct conn *conn);

/** Whether the answer of a request that waits is an event stream, or may become one. Under the
 * lock.
 */
bool conn_takes_comments(struct conn *conn);
/** Send what a client that is gone refuses, and any other passes over before the answer. Under the
 * lock. */
void conn_probe(struct conn *conn);
/** Where conn_takes_comments(): begin a stream if there is none, and add a comment, by which a
 * client that is gone shows. Under the lock. */
void conn_add_comment(struct conn *conn);

/** Forget the body, which nobody needs any more. In a callback of libmicrohttpd. */
void conn_drop_body(struct conn *conn);

/** Empty it for the next request. Under the lock, in a callback of libmicrohttpd. */
void conn_reset(struct conn *conn);

/* ---------------------------------------------------------------- authorise.c */

/** Whether a server may listen at an address that others than this machine's users may reach: only
 * if they can be told apart. `text` is the address as it was stated.
 * @return 0; TOOLRACK_E_REFUSED, with what to do */
int authorise_check(const struct server *server, const struct listener *listener, const char *text,
                    struct toolrack_error *err);

/** Find out who sends the request of a connection, into its `identity`; or set its `refusal`. In a
 * callback of libmicrohttpd. */
void authorise(struct conn *conn);
/** Take a token as who sends the request; the reference is taken. */
void authorise_take_grant(struct conn *conn, struct toolrack_token_grant *grant);
/** Whether a request of the front is one of an administrator, see admin.c; set its `refusal` if it
 * must be and is not. In a callback of libmicrohttpd. */
void authorise_admin(struct conn *conn);
/** Who sends a request that has neither a token nor a session: the user at the other end of the
 * connection, "uid:1000", or where that cannot be told the connection itself, "connection:ID".
 * NULL: there are no random bits. In mcp_post(). */
const char *authorise_owner(struct conn *conn);
/** Add the WWW-Authenticate header that an answer needs, if it does: of a refusal for who sends the
 * request, and of an answer that states missing scopes. */
void authorise_challenge(struct conn *conn, struct MHD_Response *response);
void identity_finish(struct identity *identity);

/** The path of the endpoint whose metadata of OAuth (RFC 9728) a URL names; NULL: it is no such
 * URL. And the metadata. */
const char *authorise_metadata_endpoint(const struct conn *conn, const char *url);
void authorise_metadata(const struct conn *conn, struct buf *out);

/* ---------------------------------------------------------------- login.c */

/** Find out who sends a request that has the header of a session, into the identity of the
 * connection; or set its `refusal`. In a callback of libmicrohttpd. */
void login_by_session(struct conn *conn);
/** Count an attempt to log in; sets the `refusal` of one too many. */
void login_count(struct conn *conn);
/** Whether a request has the cookie of a session, without which its X-CSRF-Token says nothing. */
/* Whether browsers reach the server by TLS. */
bool login_is_secure(const struct conn *conn);
/* Room for "http://127.0.0.1:65535/". */
#define LITERAL_ROOM 32u
/* The address of the page that a client reached by the name `localhost`. */
void login_write_literal(const struct conn *conn, char ret[static LITERAL_ROOM]);
bool login_has_cookie(const struct conn *conn);
/* For the functions of an exchange, see there. */
int login_begin(struct conn *conn, struct exchange_session *ret);
bool login_get(struct conn *conn, struct exchange_session *ret);
bool login_end(struct conn *conn, struct exchange_session *ret);

/* ---------------------------------------------------------------- shard.c */

/** Serve the connections of a listener from now on.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY */
int shards_start(struct listener *listener, struct toolrack_error *err);
/** A connection of a shard may go on. [any-thread] */
void shard_wake(struct shard *shard);
/** No thread serves its connections on return: after `server->stopping` was set. */
void shards_stop(struct listener *listener);
/** End its connections, none of which waits any more. */
void shards_close(struct listener *listener);

/* ---------------------------------------------------------------- other files */

/** activated.c: serve at the sockets that the service manager handed over; NULL has none.
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_REFUSED; TOOLRACK_E_IO */
int listen_activated(struct server *server, const struct manager *manager,
                     struct toolrack_error *err);
/** Whether the manager listens at a path, or where that is NULL at an address. */
bool is_activated(const struct server *server, const struct sockaddr_storage *address,
                  const char *path);

/* place.c: give a connection that is not listed yet its place, with a line that is to be noted, or
 * ""; and take it back. Under the lock of the server. */
#define PLACE_LINE_ROOM 512u
void place_take(struct conn *conn, char ret_line[static PLACE_LINE_ROOM]);
void place_leave(struct conn *conn);

/* handle.c: the callbacks of libmicrohttpd. */
enum MHD_Result handle_request(void *user, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **context);
void *handle_line(void *user, const char *url, struct MHD_Connection *connection);
void handle_end(void *user, struct MHD_Connection *connection, void **context,
                enum MHD_RequestTerminationCode why);
void handle_connection(void *user, struct MHD_Connection *connection, void **context,
                       enum MHD_ConnectionNotificationCode what);

/* request.c: read the headers of a request; sets `refusal` where it is refused. */
void conn_take_request(struct conn *conn, const char *url, const char *method, const char *version);
void conn_refuse(struct conn *conn, unsigned status, const char *format, ...) TOOLRACK_PRINTF(3, 4);

/* framing.c: whether the head of a request has one reading; sets `framing.problem` where it has
 * more. The parts come in order, as libmicrohttpd has them: the whole target before it is taken
 * apart, then the request line, each header, and the end. */
#define FRAMING_LINES "a header is not on one line that ends with CR and LF"
void framing_take_target(struct conn *conn, const char *target);
void framing_take_line(struct conn *conn, const char *method, const char *version);
/** `is_name`: the name of the header is a token. */
void framing_take_header(struct conn *conn, const char *name, size_t name_length, bool is_name,
                         const char *value, size_t length);
void framing_end(struct conn *conn);

/** Give each header that an answer of this status must have: which methods there are, when the
 * request may come again. (answer.c) */
void answer_needs(const struct conn *conn, unsigned status,
                  void (*add_header)(void *user, const char *name, const char *value), void *user);

/** Give each header that any answer has: what may be kept of it, and those that the front gives.
 * (answer.c) */
void answer_common(const struct conn *conn,
                   void (*add_header)(void *user, const char *name, const char *value), void *user);
/** Count the answer of a request. (answer.c) */
void answer_count(struct conn *conn, unsigned status);
/** What a request is for, as it is counted. (answer.c) */
enum counts_front answer_front(const struct conn *conn);
/** How many bytes an answer at once has. (answer.c) */
size_t answer_length(const struct conn *conn);
/** The Content-Type of an answer with a text. (answer.c) */
const char *answer_type(const struct conn *conn);

/* answer.c: queue what the connection has to answer. */
enum MHD_Result answer_refusal(struct conn *conn);
enum MHD_Result answer_whole(struct conn *conn);
enum MHD_Result answer_stream(struct conn *conn);
enum MHD_Result answer_options(struct conn *conn);
enum MHD_Result answer_metadata(struct conn *conn);

/* watch.c */
int watch_start(struct server *server, struct toolrack_error *err);
/** Let it look at all connections, soon. [any-thread] */
void watch_poke(struct server *server);
/** In how many milliseconds it looks at a connection that has changed. */
#define WATCH_SOON_MS 200u
/** Let it look at all connections at this time, by server_now_ms(), or before. [any-thread] */
void watch_by(struct server *server, uint64_t when_ms);
void watch_stop(struct server *server);
/** The socket of a connection is watched no more. Under its lock. */
void watch_forget(struct conn *conn);
/** Shut its socket down, so that libmicrohttpd closes it. `is_gone`: whatever it waits for. Under
 * its lock, while it is listed. */
void conn_shut_down(struct conn *conn, bool is_gone);
