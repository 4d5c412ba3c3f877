/* listing.h - the tools of a list as earlier revisions have them. */
#pragma once

#include "serve/mcp/dialect.h"
#include "serve/mcp/entry.h"

/* One for each form that was asked for; NULL: none yet. */
struct listing;

/** The entries of a list in the form of a revision: made when it is asked for first, and kept.
 * @return NULL: out of memory */
const struct entry *listing_get(struct listing **first, const struct dialect *dialect,
                                const struct entry *entries, size_t count);
void listing_free(struct listing *first);
