/* authority.h - hosts with their ports, as in Host, in URLs and in the configuration.
 *
 * The text may be anybody's. Nothing allocates. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest host that is compared; a longer one is none of ours. */
#define AUTHORITY_HOST_MAX 255u
/* The same as text, with brackets and a port. */
#define AUTHORITY_TEXT_MAX (AUTHORITY_HOST_MAX + sizeof "[]:65535" - 1)

enum host_kind { HOST_NAME, HOST_IPV4, HOST_IPV6 };

/** A host with its port, as in Host, in an Origin and in a URL. */
struct authority {
    enum host_kind kind;
    char host[AUTHORITY_HOST_MAX +
              1];  /**< in lower case; an IPv6 address in its shortest form, without brackets */
    uint32_t port; /**< 0: none is stated */
};

/** Read "host", "host:port", "[address]" or "[address]:port". False: it is something else, and the
 * host is empty. A dot at the end of a name is left out. */
bool authority_read(const char *text, size_t length, struct authority *ret);

/** Whether the host is this machine's loopback: localhost, 127.0.0.0/8 or ::1. */
bool authority_is_loopback(const struct authority *authority);

/** Whether a host is one that clients name: no part of a name is empty, and one that ends in
 * figures is an address (https://url.spec.whatwg.org, "ends in a number"). */
bool authority_is_named(const struct authority *authority);

/* Longest scheme that is compared. */
#define ORIGIN_SCHEME_MAX 31u

/** What a browser says of a page in Origin: scheme://host, scheme://host:port. */
struct origin {
    char scheme[ORIGIN_SCHEME_MAX + 1]; /**< in lower case */
    struct authority host;              /**< its port is 0 if it is the scheme's own, 80 or 443 */
};

/** Read an origin. False: a browser sends no such one. */
bool origin_read(const char *text, struct origin *ret);
bool origin_is_same(const struct origin *a, const struct origin *b);

/** Read the host of a URL to which paths are appended: without a slash at its end, query and
 * fragment. False: it is something else. */
bool authority_read_base(const char *url, struct authority *ret);

/** Whether nobody on the way can change what comes from a URL: it is https, or of this machine. */
bool authority_is_safe(const char *url);
