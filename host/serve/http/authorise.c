/* Who sends a request: by a token of toolrack, by one of an authorization server, by the user at a
 * socket in the file system, or nobody that is known. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "serve/http/address.h"
#include "serve/http/parts.h"
#include "toolrack/serving.h"

/* Tools of any permission: whether one may run is up to the host. */
#define ALL_PERMISSIONS UINT32_MAX
#define USER_PREFIX     "uid:"
#define METADATA_PATH   "/.well-known/oauth-protected-resource"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

/* ---------------------------------------------------------------- at the start */

static bool has_tokens(struct toolrack *host) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_tokens(host, &text, NULL) < 0) {
        return false;
    }
    size_t length;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    bool has = yyjson_arr_size(yyjson_doc_get_root(doc)) > 0;
    yyjson_doc_free(doc);
    return has;
}

int authorise_check(const struct server *server, const struct listener *listener, const char *text,
                    struct toolrack_error *err) {
    if (listener->open || server->settings.oauth.issuer != NULL || has_tokens(server->host)) {
        return 0;
    }
    return error_set(
            err, TOOLRACK_E_REFUSED,
            "others than the users of this machine may reach %s, and nothing says who "
            "they are; add a token: %s; or name a file that has one in TOOLRACK_TOKEN_FILE",
            text, COMMAND("token add", "NAME"));
}

/* ---------------------------------------------------------------- the ways */

static bool set_id(struct conn *conn, const char *kind, const char *id, const char *more) {
    struct identity *identity = &conn->identity;
    if (asprintf(&identity->id, "%s:%s%s%s", kind, id, more != NULL ? " " : "",
                 more != NULL ? more : "") < 0) {
        identity->id = NULL;
        conn_refuse(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "the server is out of memory");
        return false;
    }
    identity->principal.id = identity->id;
    return true;
}

static void refuse_token(struct conn *conn, const char *why) {
    conn_refuse(conn, MHD_HTTP_UNAUTHORIZED, "the token %s; get another one", why);
    conn->identity.error = "invalid_token";
}

void authorise_take_grant(struct conn *conn, struct toolrack_token_grant *grant) {
    struct identity *identity = &conn->identity;
    struct principal *principal = &identity->principal;
    identity->grant = grant;
    if (set_id(conn, "token", toolrack_token_grant_id(grant), NULL)) {
        uint32_t rate = toolrack_token_grant_rate_per_minute(grant);
        principal->profile = toolrack_token_grant_profile(grant);
        principal->allow = toolrack_token_grant_tools(grant);
        principal->grant = grant;
        principal->approves = toolrack_token_grant_approves(grant);
        identity->requests_per_minute = rate != 0 ? rate : identity->requests_per_minute;
    }
}

static void by_token(struct conn *conn, const char *token, size_t length) {
    struct toolrack_token_grant *grant = NULL;
    char secret[256];
    int code = TOOLRACK_E_NOT_FOUND;
    if (length < sizeof secret) {
        memcpy(secret, token, length);
        secret[length] = '\0';
        code = toolrack_token_find(conn->server->host, secret, &grant, NULL);
        explicit_bzero(secret, sizeof secret);
    }
    if (code == TOOLRACK_E_NOT_FOUND) {
        refuse_token(conn, "is unknown, revoked or expired");
        return;
    }
    if (code < 0) {
        conn_refuse(conn, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "the tokens cannot be read; send the request again later");
        conn->refusal.retry_after_s = 1;
        return;
    }
    authorise_take_grant(conn, grant);
}

static bool is_accepted(const struct oauth *oauth, const char *algorithm) {
    for (size_t i = 0; i < oauth->algorithm_count; i++) {
        if (strcmp(oauth->algorithms[i], algorithm) == 0) {
            return true;
        }
    }
    return false;
}

/* What the token says is true: whether it is enough. */
static void take_claims(struct conn *conn, const struct jwt *jwt) {
    const struct oauth *oauth = &conn->server->settings.oauth;
    if (!set_id(conn, "oauth", oauth->issuer, jwt_subject(jwt))) {
        return;
    }
    uint32_t permissions = 0;
    for (unsigned i = 0; i < ARRAY_LENGTH(oauth->scopes); i++) {
        permissions |= jwt_has_scope(jwt, oauth->scopes[i]) ? 1u << i : 0;
    }
    conn->identity.principal.permissions = permissions;
}

static void prove(struct conn *conn, const char *token, size_t length, const struct jwt *jwt) {
    switch (keys_prove(conn->server->keys, token, length, jwt, &conn->keys_number)) {
    case KEYS_PROVEN: take_claims(conn, jwt); break;
    case KEYS_WRONG: refuse_token(conn, "is not signed by a key of the issuer"); break;
    case KEYS_LATER: conn->awaits_keys = true; break;
    case KEYS_MISSING:
        conn_refuse(conn, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "the issuer's keys could not be fetched; send the request again later");
        conn->refusal.retry_after_s = KEYS_AGAIN_S;
        break;
    }
}

static void by_oauth(struct conn *conn, const char *token, size_t length) {
    const struct oauth *oauth = &conn->server->settings.oauth;
    CLEANUP(freep) char *for_profile = NULL;
    struct jwt jwt;
    if (conn->profile != NULL &&
        asprintf(&for_profile, "%s/%s", oauth->audience, conn->profile) < 0) {
        for_profile = NULL;
    }
    const struct jwt_rules rules = {.issuer = oauth->issuer,
                                    .audience = oauth->audience,
                                    .audience_2 = for_profile,
                                    .now_s = clock_wall_s(),
                                    .skew_s = oauth->clock_skew_s};
    const char *wrong = jwt_read(token, length, &jwt);
    if (wrong == NULL && !is_accepted(oauth, jwt.algorithm)) {
        wrong = "is signed by an algorithm that is not accepted";
    }
    wrong = wrong != NULL ? wrong : jwt_check(&jwt, &rules);
    if (wrong != NULL) {
        refuse_token(conn, wrong);
    } else {
        prove(conn, token, length, &jwt);
    }
    jwt_finish(&jwt);
}

static void by_header(struct conn *conn, const char *text) {
    size_t length;
    const char *token = heads_bearer(text, &length);
    if (token == NULL) {
        conn_refuse(conn, MHD_HTTP_UNAUTHORIZED,
                    "the Authorization header has no token; send Authorization: Bearer TOKEN");
        conn->identity.error = "invalid_request";
    } else if (strncmp(token, TOOLRACK_TOKEN_PREFIX, strlen(TOOLRACK_TOKEN_PREFIX)) == 0) {
        by_token(conn, token, length);
    } else if (conn->server->keys != NULL) {
        by_oauth(conn, token, length);
    } else {
        refuse_token(conn, "is unknown, revoked or expired");
    }
}

/* ---------------------------------------------------------------- all of them */

/* The profile of the URL and that of the principal. */
static void check_profile(struct conn *conn) {
    struct principal *principal = &conn->identity.principal;
    if (principal->profile == NULL) {
        principal->profile = conn->profile;
    } else if (conn->profile != NULL && strcmp(conn->profile, principal->profile) != 0) {
        conn_refuse(conn, MHD_HTTP_FORBIDDEN, "the token is for another profile; use /mcp");
    }
}

/* Of a request that says nothing of who sends it. */
static void find_party(struct conn *conn) {
    struct principal *principal = &conn->identity.principal;
    const char *owner = principal->id == NULL ? authorise_owner(conn) : NULL;
    if (owner != NULL && strncmp(owner, USER_PREFIX, strlen(USER_PREFIX)) == 0) {
        principal->party = owner;
    }
    const char *party = principal->id != NULL      ? principal->id
                        : principal->party != NULL ? principal->party
                                                   : "";
    conn->party = rate_key(conn->server->rate, party);
}

static void check_rate(struct conn *conn) {
    uint32_t per_minute = conn->identity.requests_per_minute;
    uint32_t wait_s = per_minute != 0 ? rate_take(conn->server->rate, conn->party, per_minute) : 0;
    if (wait_s != 0) {
        conn_refuse(conn, MHD_HTTP_TOO_MANY_REQUESTS,
                    "more than %u requests in a minute; send the next one in %u s",
                    (unsigned)per_minute, (unsigned)wait_s);
        conn->refusal.retry_after_s = wait_s;
    }
}

void authorise(struct conn *conn) {
    identity_finish(&conn->identity);
    conn->awaits_keys = false;
    conn->identity.principal.permissions = ALL_PERMISSIONS;
    conn->identity.requests_per_minute = conn->server->settings.limits.requests_per_minute;
    bool is_front = conn->route == ROUTE_FRONT;
    if (is_front && conn->front_route.logs_in) {
        login_count(conn);
    }
    if (conn->refusal.status != 0) {
        return;
    }
    if (conn->heads.authorization != NULL) {
        by_header(conn, conn->heads.authorization);
    } else if (is_front && conn->heads.csrf != NULL) {
        login_by_session(conn);
    } else if (conn->listener->path != NULL) {
        char user[16];
        (void)snprintf(user, sizeof user, "%u", (unsigned)conn->user);
        (void)set_id(conn, "uid", user, NULL);
    } else if (!conn->listener->open) {
        conn_refuse(conn, MHD_HTTP_UNAUTHORIZED,
                    "this server needs a token; send Authorization: Bearer TOKEN");
    }
    if (conn->refusal.status == 0 && !conn->awaits_keys) {
        check_profile(conn);
    }
    if (conn->refusal.status == 0 && !conn->awaits_keys) {
        find_party(conn);
        check_rate(conn);
    }
    if (conn->refusal.status == 0 && !conn->awaits_keys && is_front) {
        authorise_admin(conn);
    }
}

/* A principal that nobody else has. */
static bool own_connection(struct conn *conn) {
    unsigned char bits[16];
    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits) {
        return false;
    }
    size_t at = (size_t)snprintf(conn->owner, sizeof conn->owner, "connection:");
    for (size_t i = 0; i < sizeof bits; i++) {
        at += (size_t)snprintf(conn->owner + at, sizeof conn->owner - at, "%02x", bits[i]);
    }
    return true;
}

const char *authorise_owner(struct conn *conn) {
    uint32_t user = conn->user;
    if (conn->owner[0] == '\0' && (conn->has_user || address_owner(conn->fd, &user))) {
        (void)snprintf(conn->owner, sizeof conn->owner, USER_PREFIX "%u", (unsigned)user);
    }
    return conn->owner[0] != '\0' || own_connection(conn) ? conn->owner : NULL;
}

void identity_finish(struct identity *identity) {
    free(identity->id);
    toolrack_token_grant_unref(identity->grant);
    session_unref(identity->session);
    *identity = (struct identity){0};
}

/* ---------------------------------------------------------------- what clients are told */

/* The address of the server as its clients write it, without /mcp. */
static void add_base(const struct conn *conn, struct buf *out) {
    const struct http_settings *settings = &conn->server->settings;
    if (settings->public_url != NULL) {
        buf_add_text(out, settings->public_url);
        return;
    }
    /* The host that was checked, which is not the Host header's if the target names another. */
    const struct authority *host = &conn->host;
    bool is_six = host->kind == HOST_IPV6;
    buf_printf(out, "%s://%s%s%s", conn->listener->tls || conn->forwarded.https ? "https" : "http",
               is_six ? "[" : "", host->host[0] != '\0' ? host->host : "localhost",
               is_six ? "]" : "");
    if (host->port != 0) {
        buf_printf(out, ":%u", (unsigned)host->port);
    }
}

/* The well-known path goes between the host and the path (RFC 9728). */
static void add_metadata_url(const struct conn *conn, struct buf *out) {
    CLEANUP(buf_finish) struct buf base = BUF_INIT;
    add_base(conn, &base);
    if (base.failed) {
        return;
    }
    size_t host = strcspn(base.data, ":") + strlen("://");
    host += strcspn(base.data + host, "/");
    buf_printf(out, "%.*s" METADATA_PATH "%s/mcp", (int)host, base.data, base.data + host);
    if (conn->profile != NULL) {
        buf_printf(out, "/%s", conn->profile);
    }
}

void authorise_challenge(struct conn *conn, struct MHD_Response *response) {
    const struct http_settings *settings = &conn->server->settings;
    bool is_scope = conn->missing_scope != NULL;
    if (!is_scope && conn->refusal.status != MHD_HTTP_UNAUTHORIZED) {
        return;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "Bearer realm=\"toolrack\"");
    const char *error = is_scope ? "insufficient_scope" : conn->identity.error;
    if (error != NULL) {
        buf_printf(&text, ", error=\"%s\"", error);
    }
    if (error != NULL && !is_scope) {
        buf_printf(&text, ", error_description=\"%s\"", conn->refusal.message);
    }
    if (settings->oauth.issuer != NULL) {
        buf_printf(&text, ", scope=\"%s\", resource_metadata=\"",
                   is_scope ? conn->missing_scope : settings->oauth.scopes[0]);
        add_metadata_url(conn, &text);
        buf_add_char(&text, '"');
    }
    if (!text.failed) {
        (void)mhd.add_response_header(response, "WWW-Authenticate", text.data);
    }
}

const char *authorise_metadata_endpoint(const struct conn *conn, const char *url) {
    const struct http_settings *settings = &conn->server->settings;
    size_t length = strlen(METADATA_PATH);
    if (settings->oauth.issuer == NULL || strncmp(url, METADATA_PATH, length) != 0) {
        return NULL;
    }
    const char *endpoint = url + length;
    const char *host = settings->public_url != NULL ? strstr(settings->public_url, "://") : NULL;
    const char *base = host != NULL ? strchr(host + strlen("://"), '/') : NULL;
    if (base != NULL && strncmp(endpoint, base, strlen(base)) == 0) { /* a proxy may leave it out */
        endpoint += strlen(base);
    }
    return endpoint[0] != '\0' ? endpoint : "/mcp";
}

void authorise_metadata(const struct conn *conn, struct buf *out) {
    const struct oauth *oauth = &conn->server->settings.oauth;
    CLEANUP(buf_finish) struct buf resource = BUF_INIT;
    add_base(conn, &resource);
    buf_add_text(&resource, "/mcp");
    if (conn->profile != NULL) {
        buf_printf(&resource, "/%s", conn->profile);
    }
    buf_add_text(out, "{\"resource\":");
    buf_add_json_string(out, resource.failed ? "" : resource.data, resource.length);
    buf_add_text(out, ",\"resource_name\":\"toolrack\",\"authorization_servers\":[");
    buf_add_json_string(out, oauth->issuer, strlen(oauth->issuer));
    buf_add_text(out, "],\"scopes_supported\":[");
    for (unsigned i = 0; i < ARRAY_LENGTH(oauth->scopes); i++) {
        buf_add_text(out, i > 0 ? "," : "");
        buf_add_json_string(out, oauth->scopes[i], strlen(oauth->scopes[i]));
    }
    buf_add_text(out, "],\"bearer_methods_supported\":[\"header\"]}");
}
