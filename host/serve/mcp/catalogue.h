/* catalogue.h - which tools a principal is shown, in the form of tools/list.
 *
 * A catalogue is made once for each state of the registry and each subset (profile and allow list)
 * that is asked for, and shared by all who ask: it does not change. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "serve/mcp/mcp.h"

struct mcp;

/* Most subsets whose catalogues are kept. */
#define CATALOGUE_SUBSETS_MAX 64u

/** One tool of a list. */
struct entry {
    const char *name;       /* zero-terminated */
    const char *definition; /* JSON */
    size_t length;
};

struct catalogue {
    unsigned refs; /* guarded by the lock of the catalogues */
    struct catalogue *next;
    char *subset;               /* the profile and the allow list, as one string */
    struct toolrack_text *text; /* the definitions that it was made of: of one state */
    struct entry *entries;
    size_t count;
    size_t *by_name;      /* the entries, sorted by their names */
    struct buf memory;    /* of the names and definitions */
    bool is_for_everyone; /* no subset */
};

/** The tools that a principal is shown now: a reference. NULL: out of memory. */
struct catalogue *catalogue_get(struct mcp *mcp, const struct mcp_principal *principal);
void catalogue_release(struct mcp *mcp, struct catalogue *catalogue);

/** The entry of this name, or NULL. */
const struct entry *catalogue_find(const struct catalogue *catalogue, const char *name);

struct catalogues;
struct catalogues *catalogues_create(void);
void catalogues_destroy(struct catalogues *catalogues);
