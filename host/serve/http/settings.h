/* settings.h - what the configuration says of serving over HTTP. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <yyjson.h>

#include "base/error.h"
#include "serve/http/address.h"
#include "serve/http/heads.h"

/* Where a server listens that was told nothing. */
#define SETTINGS_LISTEN "127.0.0.1:8137"

/** X(member, default): limits, as in "limits" of the configuration; 0 is none where it makes sense.
 * A time is in seconds. */
#define SETTINGS_LIMITS(X)                                                                   \
    X(body_bytes, 64u * 1024 * 1024 + 64u * 1024) /* of one request */                       \
    X(bodies_bytes, 512u * 1024 * 1024)           /* of all that are received */             \
    X(header_bytes, 8u * 1024)                                                               \
    X(connections, 4096u)                                                                    \
    X(connections_per_address, 2048u)                                                        \
    X(streams, 2048u)                                                                        \
    X(stream_bytes, 8u * 1024 * 1024) /* that wait for a slow reader */                      \
    X(idle_s, 60u)                    /* of a connection between requests */                 \
    X(read_s, 30u)                    /* a request may take, and a second for each 16 KiB */ \
    X(write_s, 30u)                   /* a client may read nothing, and likewise */          \
    X(keep_alive_s, 15u)              /* of silence, then a stream gets a comment */         \
    X(drain_s, 10u)                   /* calls may take at the end of the server */          \
    X(requests_per_minute, 0u)

struct limits {
#define SETTINGS_MEMBER(name, value) uint32_t name;
    SETTINGS_LIMITS(SETTINGS_MEMBER)
#undef SETTINGS_MEMBER
};

/** The authorization server whose tokens are accepted. */
struct oauth {
    const char *issuer; /* NULL: none */
    const char *audience;
    const char *jwks_url; /* or NULL */
    const char *jwks_file;
    const char **algorithms;
    size_t algorithm_count;
    const char *scopes[3]; /* by enum toolrack_permission */
    uint32_t clock_skew_s;
    char *audience_made; /* owned: the audience, where the configuration states none */
};

/** Which requests get a line in the access log. */
enum settings_access { SETTINGS_ACCESS_OFF, SETTINGS_ACCESS_ERRORS, SETTINGS_ACCESS_ALL };

/** Strings are borrowed from the JSON. */
struct http_settings {
    yyjson_doc *json;
    const char **listen; /**< NULL-terminated */
    struct authority *hosts;
    size_t host_count;
    struct origin *origins;
    size_t origin_count;
    const char *public_url; /**< without a slash at its end, or NULL */
    struct authority public_host;
    struct network *proxies;
    size_t proxy_count;
    struct limits limits;
    const char *socket; /* a path, or NULL */
    enum settings_access access;
    bool has_admin_group; /* whose members administer the host at a socket */
    gid_t admin_group;
    struct oauth oauth;
    const char *certificate; /**< paths, or NULL: no TLS */
    const char *key;
};

/** Read the JSON of toolrack_serving().
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_NO_MEMORY. Release with http_settings_finish() either
 * way.
 */
int http_settings_read(const char *text, struct http_settings *ret, struct toolrack_error *err);
void http_settings_finish(struct http_settings *settings);

/** Whether an address is that of a proxy whose word is taken. */
bool http_settings_trusts(const struct http_settings *settings,
                          const struct sockaddr_storage *address);

/** Whether the configuration names the host, in `hosts` or `public_url`. */
bool http_settings_names_host(const struct http_settings *settings, const struct authority *host);

/** Whether a request for this host is meant for the server: a page of another site that lets its
 * own name point here (DNS rebinding) is not. `loopback`: the server listens there, and any other
 * address would be wrong. */
bool http_settings_has_host(const struct http_settings *settings, const struct authority *host,
                            bool loopback);
/** Whether a page of this origin may send requests: one that the configuration names, one of this
 * machine, or one of the host that it sends them to. */
bool http_settings_has_origin(const struct http_settings *settings, const char *origin,
                              const struct authority *host);
/** Whether the configuration names the origin itself: browsers are told that it may. */
bool http_settings_names_origin(const struct http_settings *settings, const char *origin);

/** Whether who reaches an address needs no authorisation. `loopback`: only this machine does. */
bool http_settings_is_open(const struct http_settings *settings, bool loopback);
