/* http.h - a request to a provider, and its response as it comes.
 *
 * Only http and https, no redirects: a key must not follow one to another host.
 * One thread, which may be told to stop through a descriptor. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* How long it may take to reach a provider, and how long one may be silent: a model that thinks
 * sends nothing for minutes. */
#define HTTP_CONNECT_MS_MAX 20000u
#define HTTP_SILENCE_S_MAX  300u
/* Most bytes of a response, and those that are kept of one that is an error. */
#define HTTP_RESPONSE_MAX   (64u * 1024 * 1024)
#define HTTP_ERROR_MAX      65536u

struct http;

struct http_request {
    const char *url;
    const char *const *headers; /**< whole lines; NULL-terminated */
    const char *body;
    size_t length;
};

/** What takes the body of a response with the status 200. */
struct http_sink {
    /** @return 0, or a code: then the transfer ends with it. */
    int (*take)(void *user, const char *bytes, size_t length, struct toolrack_error *err);
    void *user;
};

struct http_response {
    long status;
    struct buf text;         /**< the body of any other status, its first HTTP_ERROR_MAX bytes */
    bool has_retry_after;    /**< the provider said when to come again ... */
    uint32_t retry_after_ms; /**< ... in so many milliseconds */
};

/** @param stop  a descriptor, borrowed: once it is readable, what goes on ends with Cancelled
 * @return NULL without memory */
struct http *http_create(int stop);
void http_destroy(struct http *http);

/** Post a body and wait for the end of the response.
 * @param ret  set on success, whatever the status; release with http_response_finish()
 * @return 0; TOOLRACK_E_CANCELLED; TOOLRACK_E_TIMEOUT; TOOLRACK_E_LIMIT_EXCEEDED;
 *         TOOLRACK_E_IO for a connection that cannot be made or broke off; what the sink returned;
 *         TOOLRACK_E_NO_MEMORY. */
int http_post(struct http *http, const struct http_request *request, const struct http_sink *sink,
              struct http_response *ret, struct toolrack_error *err);
void http_response_finish(struct http_response *response);

/** Wait, unless told to stop.
 * @return 0; TOOLRACK_E_CANCELLED */
int http_wait(const struct http *http, uint32_t ms, struct toolrack_error *err);
