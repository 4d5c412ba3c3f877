/* download.h - a file from a web server, into a descriptor.
 *
 * Only http and https. Redirects are followed, a few of them, and none from https to http, nor from
 * a public address to one of this machine or network: a server out there could so ask services that
 * it cannot reach itself. What comes is not believed: who downloads checks a signature or a hash.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DOWNLOAD_REDIRECTS_MAX  5
#define DOWNLOAD_HEADER_MAX     (256u * 1024) /* bytes, of all responses together */
/* Longest time to connect and without enough bytes, and in all. */
#define DOWNLOAD_CONNECT_MS_MAX 20000u
#define DOWNLOAD_SLOW_S_MAX     60u
#define DOWNLOAD_SLOW_BYTES_MIN 100u /* a second */
#define DOWNLOAD_S_MAX          1800u

/** How long a download may take. */
struct download_limits {
    uint32_t connect_ms;
    uint32_t slow_s; /* with less than DOWNLOAD_SLOW_BYTES_MIN a second */
    uint32_t all_s;
};
#define DOWNLOAD_LIMITS \
    ((struct download_limits){DOWNLOAD_CONNECT_MS_MAX, DOWNLOAD_SLOW_S_MAX, DOWNLOAD_S_MAX})

/** Whether a text is a URL that can be downloaded. [any-thread] */
bool download_is_url(const char *text);

/** Whether a server at an address must not send its clients on to another one: `from` is public,
 * and `to` is one of this machine, of a private network, or of none.
 * @param from, to  IPv4 or IPv6 addresses as numbers. [any-thread] */
bool download_leads_inside(const char *from, const char *to);

/** The protocols to which a URL may be redirected, as libcurl has them. [any-thread] */
const char *download_onward(const char *url);

/** Write what a URL has to a descriptor, from its position on.
 * @param size_max  most bytes
 * @param limits    such as DOWNLOAD_LIMITS
 * @return 0; TOOLRACK_E_NOT_FOUND: the server has no such file; TOOLRACK_E_LIMIT_EXCEEDED: it is
 *         longer, or there are too many redirects; TOOLRACK_E_REFUSED: it leads to where it must
 *         not; TOOLRACK_E_TIMEOUT; TOOLRACK_E_IO: also when it ends too early;
 *         TOOLRACK_E_NO_MEMORY. Some bytes may be written then. [any-thread] */
int download(const char *url, int fd, uint64_t size_max, const struct download_limits *limits,
             struct toolrack_error *err);
