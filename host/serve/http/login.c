/* Sessions of pages, as requests show them: who sends it, and what its client is told.
 *
 * A request claims a session by the header X-CSRF-Token, which a page of another origin cannot send
 * here: it is not one of those that a form has, and no answer to OPTIONS allows it. A cookie by
 * itself says nothing: not to whoever makes a browser send it, nor to another server of this host,
 * which browsers send it to as well. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/http/parts.h"
#include "toolrack/serving.h"

/* Attempts to log in from one address. */
#define LOGINS_PER_MINUTE 30u
/* Room for "__Host-toolrack-65535". */
#define COOKIE_NAME_ROOM  32u

static uint64_t now_s(void) {
    return clock_now_ns() / CLOCK_NS_PER_S;
}

bool login_is_secure(const struct conn *conn) {
    const char *public_url = conn->server->settings.public_url;
    return conn->listener->tls || conn->forwarded.https ||
           (public_url != NULL && strncasecmp(public_url, "https:", 6) == 0);
}

void login_write_literal(const struct conn *conn, char ret[static LITERAL_ROOM]) {
    struct sockaddr_storage own = {0};
    socklen_t size = sizeof own;
    unsigned port = (unsigned)conn->host.port;
    /* What forwards a port of this machine has the client's port at 127.0.0.1. */
    bool is_six = getsockname(conn->fd, (struct sockaddr *)&own, &size) == 0 &&
                  own.ss_family == AF_INET6 && address_is_loopback(&own) &&
                  !IN6_IS_ADDR_V4MAPPED(&((const struct sockaddr_in6 *)&own)->sin6_addr);
    (void)snprintf(ret, LITERAL_ROOM, port != 0 ? "http://%s:%u/" : "http://%s/",
                   is_six ? "[::1]" : "127.0.0.1", port);
}

/* Cookies know no ports: so servers of one host have names of their own. A cookie with this prefix
 * can be set by TLS and for all paths only. */
static void write_name(const struct conn *conn, char ret[static COOKIE_NAME_ROOM]) {
    (void)snprintf(ret, COOKIE_NAME_ROOM, "%stoolrack-%u", login_is_secure(conn) ? "__Host-" : "",
                   (unsigned)conn->host.port);
}

bool login_has_cookie(const struct conn *conn) {
    char name[COOKIE_NAME_ROOM];
    write_name(conn, name);
    const char *found = conn->heads.cookie != NULL ? strstr(conn->heads.cookie, name) : NULL;
    return found != NULL && found[strlen(name)] == '=';
}

/* ---------------------------------------------------------------- who sends it */

/* Whether a request comes from a page of this server. What a browser says of that cannot be changed
 * by a page; a program that is none says nothing, and is believed its secrets. */
static bool is_of_own_page(const struct conn *conn) {
    const char *site = conn->heads.fetch_site;
    const char *origin = conn->heads.origin;
    struct authority from;
    bool https;
    if (site != NULL && strcmp(site, "same-origin") != 0) {
        return false;
    }
    return origin == NULL ||
           (heads_origin(origin, &from, &https) && strcmp(from.host, conn->host.host) == 0 &&
            from.port == conn->host.port);
}

void login_by_session(struct conn *conn) {
    struct identity *identity = &conn->identity;
    char name[COOKIE_NAME_ROOM];
    if (!is_of_own_page(conn)) {
        conn_refuse(conn, MHD_HTTP_FORBIDDEN,
                    "a session is for the pages of this server, and the request comes from another "
                    "one; use a token");
        return;
    }
    write_name(conn, name);
    identity->session = sessions_find(conn->server->sessions, conn->heads.cookie, name,
                                      conn->heads.csrf, now_s());
    if (identity->session == NULL) {
        conn_refuse(conn, MHD_HTTP_UNAUTHORIZED,
                    "the session has ended, or its cookie %s and X-CSRF-Token are not of one; log "
                    "in again",
                    name);
        return;
    }
    authorise_take_grant(conn, toolrack_token_grant_ref(session_grant(identity->session)));
}

void login_count(struct conn *conn) {
    unsigned char key[16];
    char text[64] = "login:";
    /* At a loopback address all users of this machine have the same one. */
    const char *owner = conn->listener->loopback ? authorise_owner(conn) : NULL;
    if (conn->forwarded.address[0] != '\0') {
        (void)snprintf(text, sizeof text, "login:%.50s", conn->forwarded.address);
    } else if (conn->listener->path != NULL) {
        (void)snprintf(text, sizeof text, "login:uid:%u", (unsigned)conn->user);
    } else if (owner != NULL && strncmp(owner, "uid:", 4) == 0) {
        (void)snprintf(text, sizeof text, "login:%s", owner);
    } else {
        address_key(&conn->peer, key);
        for (size_t i = 0; i < sizeof key; i++) {
            (void)snprintf(text + 6 + 2 * i, 3, "%02x", key[i]);
        }
    }
    struct rate *rate = conn->server->rate;
    uint32_t wait_s = rate_take(rate, rate_key(rate, text), LOGINS_PER_MINUTE);
    if (wait_s != 0) {
        conn_refuse(conn, MHD_HTTP_TOO_MANY_REQUESTS,
                    "more than %u attempts to log in within a minute; try again in %u s",
                    LOGINS_PER_MINUTE, (unsigned)wait_s);
        conn->refusal.retry_after_s = wait_s;
    }
}

/* ---------------------------------------------------------------- what its client is told */

/* The header that sets the cookie for so long; 0: that removes it. */
static const char *write_cookie(struct conn *conn, const char *secret, unsigned seconds) {
    char name[COOKIE_NAME_ROOM];
    char *to = conn->begun_session.cookie;
    write_name(conn, name);
    (void)snprintf(to, sizeof conn->begun_session.cookie,
                   "Set-Cookie: %s=%s; Path=/; Max-Age=%u; HttpOnly; SameSite=Strict%s\r\n", name,
                   secret, seconds, login_is_secure(conn) ? "; Secure" : "");
    return to;
}

int login_begin(struct conn *conn, struct exchange_session *ret) {
    char cookie[SESSION_SECRET_ROOM];
    const struct identity *identity = &conn->identity;
    if (identity->grant == NULL || identity->session != NULL) {
        return -EPERM; /* a session begins no other one, which would last beyond its end */
    }
    if (!sessions_begin(conn->server->sessions, identity->grant, now_s(), cookie,
                        conn->begun_session.csrf)) {
        return -ENOMEM;
    }
    ret->csrf = conn->begun_session.csrf;
    ret->left_s = SESSION_S;
    ret->cookie = write_cookie(conn, cookie, SESSION_S);
    explicit_bzero(cookie, sizeof cookie);
    return 0;
}

bool login_get(struct conn *conn, struct exchange_session *ret) {
    const struct session *session = conn->identity.session;
    uint64_t now = now_s();
    if (session == NULL) {
        return false;
    }
    uint64_t end_s = session_end_s(session);
    *ret = (struct exchange_session){.left_s = end_s > now ? end_s - now : 0};
    return true;
}

bool login_end(struct conn *conn, struct exchange_session *ret) {
    if (conn->identity.session == NULL) {
        return false;
    }
    session_end(conn->identity.session);
    *ret = (struct exchange_session){.cookie = write_cookie(conn, "", 0)};
    return true;
}
