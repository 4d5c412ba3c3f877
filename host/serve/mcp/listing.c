/* listing.c - see listing.h. */
#include "serve/mcp/listing.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "serve/mcp/shape.h"

struct listing {
    struct listing *next;
    const struct dialect *dialect;
    struct entry *entries; /* their names are those of the whole list */
    struct buf memory;     /* of the definitions */
};

void listing_free(struct listing *first) {
    while (first != NULL) {
        struct listing *next = first->next;
        buf_finish(&first->memory);
        free(first->entries);
        free(first);
        first = next;
    }
}
CLEANUP_DEFINE(struct listing, listing_free)

/* Shape one entry; its definition is a place in the memory until all are there. */
static void add(struct listing *listing, struct entry *entry) {
    struct buf *memory = &listing->memory;
    yyjson_doc *doc = yyjson_read(entry->definition, entry->length, YYJSON_READ_NUMBER_AS_RAW);
    size_t start = memory->length;
    memory->failed = memory->failed || doc == NULL;
    shape_add_tool(memory, listing->dialect, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    entry->length = memory->length - start;
    entry->definition = (const char *)(uintptr_t)start;
}

static struct listing *make(const struct dialect *dialect, const struct entry *entries,
                            size_t count) {
    CLEANUP(listing_freep) struct listing *made = calloc(1, sizeof *made);
    if (made == NULL || (made->entries = calloc(count + 1, sizeof *entries)) == NULL) {
        return NULL;
    }
    made->dialect = dialect;
    for (size_t i = 0; i < count; i++) {
        made->entries[i] = entries[i];
        add(made, &made->entries[i]);
    }
    if (made->memory.failed) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        made->entries[i].definition = made->memory.data + (uintptr_t)made->entries[i].definition;
    }
    return STEAL(made);
}

const struct entry *listing_get(struct listing **first, const struct dialect *dialect,
                                const struct entry *entries, size_t count) {
    struct listing *listing = *first;
    while (listing != NULL && listing->dialect != dialect) {
        listing = listing->next;
    }
    if (listing == NULL) {
        listing = make(dialect, entries, count);
        if (listing == NULL) {
            return NULL;
        }
        listing->next = *first;
        *first = listing;
    }
    return listing->entries;
}
