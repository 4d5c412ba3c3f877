/* http.h - GET over http and https, by libcurl, to addresses that are allowed.
 *
 * A name is looked up once for a connection, by libcurl, and what is checked is the address of the
 * socket that it is about to connect: so a name whose address changes between a check and the
 * connection (DNS rebinding) gains nothing. Proxies of the environment are not used, since what
 * they connect to cannot be seen; nor are cookies, .netrc, and names and passwords in a URL.
 * Redirects are the caller's to follow, one by one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "address.h"

#define HTTP_URL_SIZE     4096
#define HTTP_MESSAGE_SIZE 640
#define HTTP_TYPE_SIZE    256

struct tr_call;

struct http_policy {
    struct networks allowed; /**< beside the public internet */
    char user_agent[256];
    uint64_t bytes_max; /**< of a body, unpacked */
    long timeout_ms;    /**< of one request */
};

enum http_fault {
    HTTP_OK,
    HTTP_BAD_URL, /**< the URL cannot be asked for: its form, scheme or port */
    HTTP_REFUSED, /**< the address is not allowed */
    HTTP_FAILED,  /**< no answer */
    HTTP_TOO_LARGE,
    HTTP_CANCELLED,
};

struct http_reply {
    enum http_fault fault;
    long status;
    char type[HTTP_TYPE_SIZE];    /**< Content-Type, or "" */
    char redirect[HTTP_URL_SIZE]; /**< where a redirect leads, absolute, or "" */
    char *body;                   /**< with a zero at its end; owned, may be NULL if empty */
    size_t length;
    char message[HTTP_MESSAGE_SIZE]; /**< why it failed, for who called */
};

/** What one call keeps between its requests: the connection. NULL: no memory. */
struct http *http_create(struct tr_call *call, const struct http_policy *policy);
void http_destroy(struct http *http);

/** Whether a URL can be asked for; false with a fault and a message. */
bool http_check(const char *url, struct http_reply *ret);

/** Ask for a URL; `accept` is the header of that name, or NULL. False with a fault and a message.
 * http_reply_finish() is to be called in any case. */
bool http_get(struct http *http, const char *url, const char *accept, struct http_reply *ret);
void http_reply_finish(struct http_reply *reply);

/** The URL of another path on the same server, such as "/robots.txt". False: no URL. */
bool http_url_at(const char *url, const char *path, char ret[HTTP_URL_SIZE]);

/** Its path and query, as they are sent. False: no URL. */
bool http_url_target(const char *url, char ret[HTTP_URL_SIZE]);
