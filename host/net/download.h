/* download.h - a file from a web server, into a descriptor.
 *
 * Only http and https. Redirects are followed, a few of them, and none from https to http. What
 * comes is not believed: who downloads checks a signature or a hash. */
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

/** Whether a text is a URL that can be downloaded. [any-thread] */
bool download_is_url(const char *text);

/** Write what a URL has to a descriptor, from its position on.
 * @param size_max  most bytes
 * @return 0; TOOLRACK_E_NOT_FOUND: the server has no such file; TOOLRACK_E_LIMIT_EXCEEDED: it is
 *         longer, or there are too many redirects; TOOLRACK_E_TIMEOUT; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. Some bytes may be written then. [any-thread] */
int download(const char *url, int fd, uint64_t size_max, struct toolrack_error *err);
