/* catalogue.h - which tools a principal is shown, in the form of tools/list.
 *
 * A catalogue is made once for each state of the registry and each subset (profile and allow list)
 * that is asked for, and shared by all who ask: it does not change. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "serve/mcp/entry.h"
#include "serve/mcp/mcp.h"
#include "serve/subset.h"

struct mcp;
struct dialect;
struct listing;

/* Most subsets whose catalogues are kept. */
#define CATALOGUE_SUBSETS_MAX 64u

struct catalogue {
    unsigned refs; /* guarded by the lock of the catalogues */
    struct catalogue *next;
    char *subset;               /* the profile and the allow list, as one string */
    struct toolrack_text *text; /* the definitions that it was made of: of one state */
    struct entry *entries;      /* what can be called, in the order of the registry */
    size_t count;
    const struct entry **by_name; /* the entries, sorted by their names */
    struct entry *listing;        /* what is listed: `entries`; with `search`, or without a part that
                                   * is stated, others */
    size_t listed;
    struct listing *shaped; /* the same for earlier revisions; guarded like `refs` */
    struct buf memory;      /* of the strings of entries */
    struct buf tools;       /* of the definitions of the tools for searching */
    bool search;            /* the listing holds the tools for searching */
    bool is_for_everyone;   /* no subset */
};

/** The tools that a principal is shown now: a reference. NULL: out of memory. */
struct catalogue *catalogue_get(struct mcp *mcp, const struct principal *principal);
void catalogue_release(struct mcp *mcp, struct catalogue *catalogue);

/** What is listed, in the form of a revision: `listed` entries. NULL: out of memory. */
const struct entry *catalogue_listing(struct mcp *mcp, struct catalogue *catalogue,
                                      const struct dialect *dialect);

/** The entry of this name, or NULL. */
const struct entry *catalogue_find(const struct catalogue *catalogue, const char *name);

/** What principals are shown, for who asks about tools by name. */
struct subset catalogue_subset(const struct mcp *mcp);
/** Whether a principal is shown a part of the tools only. */
bool catalogue_is_part(const struct mcp *mcp, const struct principal *principal);
/** Whether its lists hold the tools for searching. */
bool catalogue_is_search(const struct mcp *mcp, const struct principal *principal);
/** Whether a tool is in the part that a principal is shown. */
bool catalogue_has(const struct mcp *mcp, const struct principal *principal,
                   const struct toolrack_tool *tool);

struct catalogues;
struct catalogues *catalogues_create(void);
void catalogues_destroy(struct catalogues *catalogues);
