/* uri.h - URI references: split and resolved (RFC 3986, section 5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/** A part of a string; `data` is NULL if the component is undefined, which differs from empty. */
struct uri_part {
    const char *data;
    size_t length;
};

/** Parts of a URI, borrowed from the string that was split. */
struct uri {
    struct uri_part scheme, authority, path, query, fragment;
};

/** Split any string; the characters of its components are not checked. */
struct uri uri_split(const char *text, size_t length);

/** `reference` resolved against `base`, without fragment, as a string in the arena; NULL when out
 * of memory. With the base "" the reference stays unchanged. */
char *uri_resolve(struct arena *arena, const char *base, const struct uri *reference);

/** Decode percent-encoding into the arena; NULL when out of memory. An invalid escape stays
 * unchanged. */
char *uri_decode(struct arena *arena, struct uri_part part, size_t *ret_length);
