/* catalogue.c - see catalogue.h. */
#include "serve/mcp/catalogue.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/lock.h"
#include "serve/mcp/listing.h"
#include "serve/mcp/rpc.h"
#include "serve/mcp/search-tools.h"
#include "serve/mcp/server.h"
#include "serve/mcp/shape.h"
#include "toolrack/serving.h"

struct catalogues {
    struct lock lock;
    struct catalogue *list; /* the one used last first; each with a reference */
    unsigned count;
};

struct catalogues *catalogues_create(void) {
    struct catalogues *catalogues = calloc(1, sizeof *catalogues);
    if (catalogues != NULL) {
        lock_init(&catalogues->lock);
    }
    return catalogues;
}

static void destroy(struct catalogue *catalogue) {
    if (catalogue != NULL) {
        toolrack_text_unref(catalogue->text);
        listing_free(catalogue->shaped);
        free(catalogue->subset);
        free(catalogue->by_name);
        if (catalogue->listing != catalogue->entries) {
            free(catalogue->listing);
        }
        free(catalogue->entries);
        buf_finish(&catalogue->memory);
        buf_finish(&catalogue->tools);
        free(catalogue);
    }
}
CLEANUP_DEFINE(struct catalogue, destroy)

/* Caller holds the lock, or nobody else knows it. */
static void unref(struct catalogue *catalogue) {
    if (catalogue != NULL && --catalogue->refs == 0) {
        destroy(catalogue);
    }
}

void catalogues_destroy(struct catalogues *catalogues) {
    if (catalogues != NULL) {
        while (catalogues->list != NULL) {
            struct catalogue *next = catalogues->list->next;
            unref(catalogues->list);
            catalogues->list = next;
        }
        lock_finish(&catalogues->lock);
        free(catalogues);
    }
}

/* ------------------------------------------------------------------ subsets */

struct subset catalogue_subset(const struct mcp *mcp) {
    return (struct subset){.host = mcp->host, .profile = mcp->profile};
}

static const char *profile_of(const struct mcp *mcp, const struct principal *principal) {
    const struct subset subset = catalogue_subset(mcp);
    return subset_profile(&subset, principal);
}

bool catalogue_is_part(const struct mcp *mcp, const struct principal *principal) {
    const struct subset subset = catalogue_subset(mcp);
    return subset_is_part(&subset, principal);
}

bool catalogue_is_search(const struct mcp *mcp, const struct principal *principal) {
    return settings_search(&mcp->settings, profile_of(mcp, principal));
}

bool catalogue_has(const struct mcp *mcp, const struct principal *principal,
                   const struct toolrack_tool *tool) {
    const struct subset subset = catalogue_subset(mcp);
    return subset_has(&subset, principal, tool);
}

/* A name for the subset that a principal is shown: equal ones are shown the same. */
static void write_subset(struct buf *out, const struct mcp *mcp,
                         const struct principal *principal) {
    const char *profile = profile_of(mcp, principal);
    if (profile != NULL) {
        buf_add_char(out, '/');
        buf_add_text(out, profile);
    }
    for (size_t i = 0; principal->allow != NULL && principal->allow[i] != NULL; i++) {
        buf_add_char(out, '\n');
        buf_add_text(out, principal->allow[i]);
    }
    if (principal->allow != NULL && principal->allow[0] == NULL) {
        buf_add_char(out, '\n');
    }
    unsigned all = (1u << TOOLRACK_PERMISSION_DANGEROUS << 1) - 1;
    if (catalogue_is_search(mcp, principal) && (principal->permissions & all) != all) {
        buf_printf(out, " %u", principal->permissions & all); /* what the summary counts */
    }
    buf_add(out, "", 0);
}

/* -------------------------------------------------------------------- making */

/* What is being made. The strings of its entries are places in `memory` until all are there. */
struct making {
    struct mcp *mcp;
    const struct principal *principal;
    struct catalogue *catalogue;
};

static const char *place(struct buf *memory, const char *text, size_t length) {
    size_t at = memory->length;
    buf_add(memory, text, length);
    buf_add_char(memory, '\0');
    return (const char *)(uintptr_t)at;
}

static void add_entry(struct making *making, const struct toolrack_tool *tool, const char *selector,
                      yyjson_val *definition) {
    struct catalogue *catalogue = making->catalogue;
    struct buf *memory = &catalogue->memory;
    struct entry *entry = &catalogue->entries[catalogue->count++];
    const char *name = toolrack_tool_name(tool);
    const char *category = toolrack_tool_category(tool);
    entry->name = place(memory, name, strlen(name));
    entry->selector = place(memory, selector, strlen(selector));
    entry->category = place(memory, category != NULL ? category : "",
                            category != NULL ? strlen(category) : 0);
    entry->permission = toolrack_tool_permission(tool);
    entry->is_basic = toolrack_profile_has(making->mcp->host, TOOLRACK_PROFILE_BASIC, tool);
    size_t start = memory->length;
    json_add_value(memory, definition);
    entry->length = memory->length - start;
    entry->definition = (const char *)(uintptr_t)start;
    buf_add_char(memory, '\0');
}

/* The definition of one version, in place of that of its name's default. */
static void add_version(struct making *making, const struct toolrack_tool *tool,
                        const char *selector) {
    struct toolrack_export_options options = TOOLRACK_EXPORT_OPTIONS_INIT;
    const char *const allow[] = {selector, NULL};
    struct toolrack_text *text = NULL;
    size_t length = 0;
    options.allow = allow;
    if (toolrack_export(making->mcp->host, TOOLRACK_FORMAT_MCP, &options, &text, NULL, NULL) < 0) {
        making->catalogue->memory.failed = true;
        return;
    }
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW);
    yyjson_val *definition = yyjson_arr_get_first(yyjson_doc_get_root(doc));
    if (definition != NULL) {
        add_entry(making, tool, selector, definition);
    }
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
}

/* Add a tool if its principal is shown it. */
static void add_tool(struct making *making, const char *name, yyjson_val *definition) {
    const struct subset subset = catalogue_subset(making->mcp);
    const char *selector;
    struct toolrack_tool *tool = subset_find(&subset, making->principal, name, &selector);
    if (tool != NULL && selector == name) {
        add_entry(making, tool, name, definition);
    } else if (tool != NULL) {
        add_version(making, tool, selector);
    }
    toolrack_tool_unref(tool);
}

static int compare(const void *a, const void *b) {
    const struct entry *const *one = a;
    const struct entry *const *other = b;
    return strcmp((*one)->name, (*other)->name);
}

static void resolve(const struct buf *memory, const char **text) {
    *text = memory->data + (uintptr_t)*text;
}

/* Take the definitions apart. */
static bool fill(struct making *making, yyjson_val *definitions) {
    struct catalogue *catalogue = making->catalogue;
    size_t room = yyjson_arr_size(definitions);
    catalogue->entries = calloc(room + 1, sizeof *catalogue->entries);
    catalogue->by_name = calloc(room + 1, sizeof *catalogue->by_name);
    if (catalogue->entries == NULL || catalogue->by_name == NULL) {
        return false;
    }
    size_t at;
    size_t count;
    yyjson_val *definition;
    yyjson_arr_foreach (definitions, at, count, definition) {
        const char *name = rpc_string(definition, "name");
        if (name != NULL) {
            add_tool(making, name, definition);
        }
    }
    if (catalogue->memory.failed) {
        return false;
    }
    for (size_t i = 0; i < catalogue->count; i++) {
        struct entry *entry = &catalogue->entries[i];
        resolve(&catalogue->memory, &entry->name);
        resolve(&catalogue->memory, &entry->selector);
        resolve(&catalogue->memory, &entry->category);
        resolve(&catalogue->memory, &entry->definition);
        catalogue->by_name[i] = entry;
    }
    qsort(catalogue->by_name, catalogue->count, sizeof(struct entry *), compare);
    return true;
}

/* Whether the configuration keeps a tool listed beside those for searching. */
static bool is_pinned(const struct mcp *mcp, const char *name) {
    size_t at;
    size_t count;
    yyjson_val *pattern;
    yyjson_arr_foreach (mcp->settings.pinned, at, count, pattern) {
        const char *const list[] = {yyjson_get_str(pattern), NULL};
        struct toolrack_tool *tool = toolrack_get(mcp->host, name);
        bool is_same = tool != NULL && toolrack_tools_have(list, name, toolrack_tool_version(tool));
        toolrack_tool_unref(tool);
        if (is_same) {
            return true;
        }
    }
    return false;
}

/* The tools for searching, and those that stay listed. A tool of the registry that has the name of
 * one of the former is called through call_tool. */
static bool list_search(struct making *making) {
    struct catalogue *catalogue = making->catalogue;
    catalogue->search = true;
    catalogue->listing = calloc(catalogue->count + SEARCH_TOOLS, sizeof *catalogue->listing);
    if (catalogue->listing == NULL ||
        !search_tools_define(catalogue->entries, catalogue->count, making->principal->permissions,
                             &catalogue->tools, catalogue->listing)) {
        return false;
    }
    catalogue->listed = SEARCH_TOOLS;
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct entry *entry = &catalogue->entries[i];
        if (search_tools_find(entry->name) == SEARCH_NONE && is_pinned(making->mcp, entry->name)) {
            catalogue->listing[catalogue->listed++] = *entry;
        }
    }
    return true;
}

/* For who states no part of the tools: all can be called, and the basic ones are listed. */
static bool list_basic(struct catalogue *catalogue) {
    catalogue->listing = calloc(catalogue->count + 1, sizeof *catalogue->listing);
    catalogue->listed = 0;
    for (size_t i = 0; catalogue->listing != NULL && i < catalogue->count; i++) {
        if (catalogue->entries[i].is_basic) {
            catalogue->listing[catalogue->listed++] = catalogue->entries[i];
        }
    }
    return catalogue->listing != NULL;
}

/* Caller holds the lock of the catalogues. Borrows the texts. */
static struct catalogue *make(struct mcp *mcp, const struct principal *principal,
                              struct toolrack_text *all, const char *subset) {
    CLEANUP(destroyp) struct catalogue *made = calloc(1, sizeof *made);
    struct making making = {.mcp = mcp, .principal = principal, .catalogue = made};
    if (made == NULL || (made->subset = strdup(subset)) == NULL) {
        return NULL;
    }
    size_t length = 0;
    const char *json = toolrack_text_data(all, &length);
    yyjson_doc *doc = yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW);
    bool is_filled = fill(&making, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    made->listing = made->entries;
    made->listed = made->count;
    made->is_for_everyone = subset[0] == '\0';
    if (is_filled && catalogue_is_search(mcp, principal)) {
        is_filled = list_search(&making);
    } else if (is_filled && made->is_for_everyone) {
        is_filled = list_basic(made);
    }
    return is_filled ? STEAL(made) : NULL;
}

/* Take the catalogue of a subset out of the list; NULL: there is none. */
static struct catalogue *take(struct catalogues *catalogues, const char *subset) {
    struct catalogue **at = &catalogues->list;
    while (*at != NULL && strcmp((*at)->subset, subset) != 0) {
        at = &(*at)->next;
    }
    struct catalogue *taken = *at;
    if (taken != NULL) {
        *at = taken->next;
        catalogues->count--;
    }
    return taken;
}

static void put(struct catalogues *catalogues, struct catalogue *catalogue) {
    catalogue->next = catalogues->list;
    catalogues->list = catalogue;
    if (++catalogues->count > CATALOGUE_SUBSETS_MAX) {
        struct catalogue **last = &catalogue->next;
        while ((*last)->next != NULL) {
            last = &(*last)->next;
        }
        unref(STEAL(*last));
        catalogues->count--;
    }
}

struct catalogue *catalogue_get(struct mcp *mcp, const struct principal *principal) {
    struct catalogues *catalogues = mcp->catalogues;
    CLEANUP(buf_finish) struct buf subset = BUF_INIT;
    write_subset(&subset, mcp, principal);
    struct toolrack_text *all = NULL;
    if (subset.failed || toolrack_definitions(mcp->host, &all, NULL) < 0) {
        return NULL;
    }
    LOCK_SCOPE(&catalogues->lock);
    struct catalogue *catalogue = take(catalogues, subset.data);
    if (catalogue != NULL && catalogue->text != all) { /* of an earlier state of the registry */
        unref(catalogue);
        catalogue = NULL;
    }
    if (catalogue == NULL) {
        catalogue = make(mcp, principal, all, subset.data);
        if (catalogue == NULL) {
            toolrack_text_unref(all);
            return NULL;
        }
        catalogue->refs = 1;
        catalogue->text = all;
    } else {
        toolrack_text_unref(all);
    }
    catalogue->refs++;
    put(catalogues, catalogue);
    return catalogue;
}

void catalogue_release(struct mcp *mcp, struct catalogue *catalogue) {
    LOCK_SCOPE(&mcp->catalogues->lock);
    unref(catalogue);
}

const struct entry *catalogue_listing(struct mcp *mcp, struct catalogue *catalogue,
                                      const struct dialect *dialect) {
    if (shape_is_whole(dialect)) {
        return catalogue->listing;
    }
    LOCK_SCOPE(&mcp->catalogues->lock);
    return listing_get(&catalogue->shaped, dialect, catalogue->listing, catalogue->listed);
}

const struct entry *catalogue_find(const struct catalogue *catalogue, const char *name) {
    size_t low = 0;
    size_t high = catalogue->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct entry *entry = catalogue->by_name[middle];
        int order = strcmp(name, entry->name);
        if (order == 0) {
            return entry;
        }
        if (order < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return NULL;
}
