/* http.h - a request to a provider, and its response as it arrives.
 *
 * Only http and https, no redirects: a redirect must not send the key to another host. Used by one
 * thread, which a descriptor can stop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* How long connecting to a provider may take, and how long it may send nothing: a model that thinks
 * sends nothing for minutes. */
#define HTTP_CONNECT_MS_MAX 20000u
#define HTTP_SILENCE_S_MAX  300u
/* Most bytes of a response, if its request does not state fewer; of its header, with the lines that
 * may follow the body; and most bytes kept of an error response. */
#define HTTP_RESPONSE_MAX   (64u * 1024 * 1024)
#define HTTP_HEADER_MAX     (256u * 1024)
#define HTTP_ERROR_MAX      65536u
/* Most bytes that are neither header nor body, beside as many as those have: what encrypts and
 * frames the body, which may be one character at a time. Extensions of chunks, which libcurl skips
 * without a limit, are the rest. */
#define HTTP_FRAMING_MAX    (1024u * 1024)

struct http;

struct http_request {
    const char *url;
    const char *const *headers; /**< whole lines; NULL-terminated */
    const char *body;
    size_t length;
    size_t response_max; /**< most bytes of a response; 0: HTTP_RESPONSE_MAX */
    const char *accept;  /**< the header line with the types that are understood; NULL: streams */
};

/** Receives the body of a response with status 200. */
struct http_sink {
    /** @return 0, or a code that ends the transfer and becomes its result. */
    int (*take)(void *user, const char *bytes, size_t length, struct toolrack_error *err);
    void *user;
};

struct http_response {
    long status;
    struct buf text;      /**< the body of any other status, its first HTTP_ERROR_MAX bytes */
    bool is_final;        /**< the provider stated that a retry cannot succeed (X-Should-Retry) */
    bool is_worth_retry;  /**< the provider stated there that one may */
    bool has_retry_after; /**< the provider stated when to retry ... */
    uint32_t retry_after_ms; /**< ... after this many milliseconds */
};

/** @param stop  a descriptor, borrowed: once it is readable, a running request ends with Cancelled
 * @return NULL: no memory */
struct http *http_create(int stop);
void http_destroy(struct http *http);

/** A descriptor that becomes readable after a time, for `stop`; -1, with errno: there is none. */
int http_timer(uint32_t ms);

/** Post a body and wait for the end of the response.
 * @param ret  set on success, whatever the status; release with http_response_finish()
 * @return 0; TOOLRACK_E_CANCELLED; TOOLRACK_E_TIMEOUT; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO if
 *         the connection fails or breaks off; the sink's code; TOOLRACK_E_NO_MEMORY. */
int http_post(struct http *http, const struct http_request *request, const struct http_sink *sink,
              struct http_response *ret, struct toolrack_error *err);
void http_response_finish(struct http_response *response);

/** Whether any byte of a request was sent: not if no connection came about. */
bool http_has_sent(const struct http *http);

/** Whether the connection of the last request ended after it was sent and before any byte of the
 * response came. */
bool http_was_reset(const struct http *http);

/** Wait, until `stop` is readable at most.
 * @return 0; TOOLRACK_E_CANCELLED */
int http_wait(const struct http *http, uint32_t ms, struct toolrack_error *err);
