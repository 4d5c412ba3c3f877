/* heads.h - what the headers of a request say, as pure functions of their text.
 *
 * Everything here is read from bytes that anybody may have sent. Nothing allocates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/authority.h"

/** Read an origin, "http://host:port" or "https://...": nothing may follow. A port that is the
 * scheme's own is 0. */
bool heads_origin(const char *text, struct authority *ret, bool *ret_https);

/** The token of an Authorization header with the scheme Bearer.
 * @return its first character, with its length; NULL: it is another scheme, or not one token of the
 *         characters that RFC 6750 allows. */
const char *heads_bearer(const char *text, size_t *ret_length);

/** The first character that is neither a space nor a tab; strspn() costs more than the rest of
 * reading a header. */
const char *heads_skip_spaces(const char *at);
/** How many characters at the beginning may stand in a token, as methods and names of headers are.
 */
size_t heads_token_length(const char *text);

/** Whether a list has no element: no text at all, or empty ones. */
bool heads_is_empty_list(const char *text);

/* What an Accept header takes; several headers are or-ed. */
#define HEADS_ACCEPTS_JSON   1u
#define HEADS_ACCEPTS_EVENTS 2u
#define HEADS_ACCEPTS_TEXT   4u
/** A range with the quality 0 takes nothing. */
unsigned heads_accepts(const char *text);

/** Whether a Content-Type is application/json, in UTF-8 if it states a charset. */
bool heads_is_json(const char *text);

/** Whether a header is one that proxies add to what they pass on, whatever it says: Via, Forwarded,
 * and those without a standard, by the forms of their names. */
bool heads_is_of_proxy(const char *name, size_t length);

/** What a proxy says of the request that it passes on. Empty where it says nothing. */
struct forwarded {
    char address[AUTHORITY_HOST_MAX + 1]; /**< of its client, without port or brackets */
    char host[AUTHORITY_TEXT_MAX + 1];    /**< with its port, as in Host */
    bool https;
};

/** It says nothing. Only that is set: each request does this, and few are of a proxy. */
static inline void forwarded_clear(struct forwarded *forwarded) {
    forwarded->address[0] = forwarded->host[0] = '\0';
    forwarded->https = false;
}

/** Read the last element of a Forwarded header (RFC 7239) that is not empty: that of the proxy
 * itself. Earlier ones are whatever its client has sent. A list without elements says nothing.
 * False: it cannot be read, or says the same thing twice. */
bool heads_forwarded(const char *text, struct forwarded *ret);
/** The same from X-Forwarded-For, -Host and -Proto, which have no quotes; each may be NULL. */
bool heads_x_forwarded(const char *from, const char *host, const char *proto,
                       struct forwarded *ret);
