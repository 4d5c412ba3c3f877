/* web.h - what all requests to an MCP server of the web, and to those that give it tokens, have in
 * common.
 *
 * TLS is verified. A redirect is followed to the same origin only: it must not take the credentials
 * along. A server leads to public addresses only, so that who owns its name cannot point it, or
 * its metadata, at services inside; unless the configuration names such an address itself, or
 * allows it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "net/libcurl.h"

#define WEB_CONNECT_MS_MAX 20000u
#define WEB_HEADER_MAX     (256u * 1024)
/* Of a response of web_fetch(). */
#define WEB_BODY_MAX       (256u * 1024)
#define WEB_FETCH_MS_MAX   20000u
#define WEB_REDIRECTS_MAX  3u

/* Which servers a mount may reach. All borrowed. */
struct web_rules {
    const char *name;    /* of the server, for messages */
    const char *ca;      /* a file with the certificates to trust; NULL: the system's */
    bool allows_private; /* addresses of this machine and network */
};

/** Whether the host of a URL is "localhost" or an address of this machine or network. [any-thread]
 */
bool web_is_private(const char *url);
/** Whether a token may be sent there: https, or this machine. [any-thread] */
bool web_is_secret(const char *url);
/** Append scheme, host and port. @return whether it is a URL of http or https. [any-thread] */
bool web_origin(const char *url, struct buf *out);
bool web_is_same_origin(const char *a, const char *b);
/** Append the path, without a last '/'. */
bool web_path(const char *url, struct buf *out);

/** Set what all requests have. @param reason  CURL_ERROR_SIZE bytes, for libcurl's words
 * @return whether libcurl took it */
bool web_set_up(CURL *easy, const char *url, const struct web_rules *rules, char *reason);
/** Say why a request failed in libcurl's words.
 * @param url  as it may be shown @return TOOLRACK_E_IO or TOOLRACK_E_NO_MEMORY */
int web_explain(CURL *easy, CURLcode failure, const char *url, const struct web_rules *rules,
                const char *reason, struct toolrack_error *err);

struct web_request {
    const char *url;
    const char *form;          /* posted; NULL: a GET */
    const char *authorization; /* a whole header line, or NULL */
};

struct web_response {
    long status;
    struct buf body;
};

/** Ask and wait, WEB_FETCH_MS_MAX at most.
 * @param is_over  asked meanwhile whether to stop; NULL: never
 * @return 0 whatever the status; TOOLRACK_E_CANCELLED; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int web_fetch(const struct web_request *request, const struct web_rules *rules,
              bool (*is_over)(void *user), void *user, struct web_response *ret,
              struct toolrack_error *err);

static inline void web_response_finish(struct web_response *response) {
    buf_finish(&response->body);
}
