/* fetch.h - a file of the web, by libcurl, which is loaded when the first is fetched. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/** Load libcurl. Call this before there are other threads.
 * @return 0; TOOLRACK_E_IO */
int fetch_load(struct toolrack_error *err);

/* Most bytes of a response beside its body: what encrypts and frames it, and its header, which
 * libcurl keeps. */
#define FETCH_MORE_MAX (1024u * 1024)

/** Get what is at an address; https, or http on this machine. No redirects.
 * @return 0; TOOLRACK_E_INVALID: another kind of address; TOOLRACK_E_LIMIT_EXCEEDED: more than
 *         `bytes_max`, or more than FETCH_MORE_MAX beside them; TOOLRACK_E_IO */
int fetch(const char *url, size_t bytes_max, uint32_t seconds, struct buf *ret,
          struct toolrack_error *err);
