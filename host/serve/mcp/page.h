/* page.h - lists of what plugins offer, in pages.
 *
 * A cursor says what stands before the page, so that it stays good when the list changes. */
#pragma once

#include <yyjson.h>

#include "toolrack/offer.h"

struct request;

/* Most items of a page, and most bytes unless one item alone is longer. Large, since there are
 * clients that read only the first page. */
#define PAGE_ITEMS_MAX 250u
#define PAGE_BYTES_MAX (1024u * 1024)

/** A list: what plugins are asked for, its member in the result, and what identifies an item. */
struct page_kind {
    enum toolrack_offer what;
    const char *member;
    const char *key;
};

/** Answer a request for a list, later. `kind` is static. */
void page_list(struct request *request, yyjson_val *params, const struct page_kind *kind);
