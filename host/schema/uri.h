/* uri.h - URI references: taken apart and resolved (RFC 3986, section 5). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/** A piece of a text; `data` is NULL when the component is undefined, which is not the same as
 * empty. */
struct uri_part {
    const char *data;
    size_t length;
};

/** Borrowed from the text they were split from. */
struct uri {
    struct uri_part scheme, authority, path, query, fragment;
};

/** Split any text; which characters may stand where is not checked. */
struct uri uri_split(const char *text, size_t length);

/** `reference` seen from `base`, without fragment, as a text in the arena; NULL when out of memory.
 * A base that is "" leaves the reference as it is. */
char *uri_resolve(struct arena *arena, const char *base, const struct uri *reference);

/** Undo percent-encoding into the arena; NULL when out of memory. A wrong escape stays as it is. */
char *uri_decode(struct arena *arena, struct uri_part part, size_t *ret_length);
