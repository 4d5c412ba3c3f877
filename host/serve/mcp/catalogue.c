/* catalogue.c - see catalogue.h. */
#include "serve/mcp/catalogue.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "serve/mcp/rpc.h"
#include "serve/mcp/server.h"

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
        free(catalogue->subset);
        free(catalogue->entries);
        free(catalogue->by_name);
        buf_finish(&catalogue->memory);
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

/* A name for the subset that a principal is shown: equal ones are shown the same. */
static void write_subset(struct buf *out, const struct mcp *mcp,
                         const struct mcp_principal *principal) {
    const char *profile = principal->profile != NULL ? principal->profile : mcp->profile;
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
    buf_add(out, "", 0);
}

/* The definitions of a subset. */
static int export_subset(struct mcp *mcp, const struct mcp_principal *principal,
                         struct toolrack_text **ret) {
    struct toolrack_export_options options = TOOLRACK_EXPORT_OPTIONS_INIT;
    options.allow = principal->allow;
    return toolrack_export(mcp->host, TOOLRACK_FORMAT_MCP, &options, ret, NULL, NULL);
}

static const struct catalogue *sorting; /* guarded by the lock of the catalogues */

static int compare(const void *a, const void *b) {
    return strcmp(sorting->entries[*(const size_t *)a].name,
                  sorting->entries[*(const size_t *)b].name);
}

/* Take the definitions apart. */
static bool fill(struct catalogue *catalogue, yyjson_val *definitions) {
    size_t room = yyjson_arr_size(definitions);
    catalogue->entries = calloc(room + 1, sizeof *catalogue->entries);
    catalogue->by_name = calloc(room + 1, sizeof *catalogue->by_name);
    size_t *places = catalogue->by_name; /* until they are sorted: where the texts begin */
    if (catalogue->entries == NULL || places == NULL) {
        return false;
    }
    struct buf *memory = &catalogue->memory;
    size_t at;
    size_t count;
    yyjson_val *definition;
    yyjson_arr_foreach (definitions, at, count, definition) {
        const char *name = rpc_string(definition, "name");
        if (name != NULL) {
            places[catalogue->count] = memory->length;
            buf_add(memory, name, strlen(name) + 1);
            rpc_add_value(memory, definition);
            catalogue->entries[catalogue->count++].length = memory->length;
        }
    }
    if (memory->failed) {
        return false;
    }
    for (size_t i = 0; i < catalogue->count; i++) {
        struct entry *entry = &catalogue->entries[i];
        size_t end = entry->length;
        entry->name = memory->data + places[i];
        entry->definition = entry->name + strlen(entry->name) + 1;
        entry->length = (size_t)(memory->data + end - entry->definition);
        places[i] = i;
    }
    sorting = catalogue;
    qsort(catalogue->by_name, catalogue->count, sizeof *catalogue->by_name, compare);
    return true;
}

/* Caller holds the lock of the catalogues. Borrows the texts. */
static struct catalogue *make(struct mcp *mcp, const struct mcp_principal *principal,
                              struct toolrack_text *all, const char *subset) {
    CLEANUP(destroyp) struct catalogue *made = calloc(1, sizeof *made);
    if (made == NULL || (made->subset = strdup(subset)) == NULL) {
        return NULL;
    }
    struct toolrack_text *own = NULL;
    if (subset[0] != '\0' && export_subset(mcp, principal, &own) < 0) {
        return NULL;
    }
    size_t length = 0;
    const char *json = toolrack_text_data(own != NULL ? own : all, &length);
    yyjson_doc *doc = yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW);
    bool is_filled = fill(made, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    toolrack_text_unref(own);
    made->is_for_everyone = subset[0] == '\0';
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

struct catalogue *catalogue_get(struct mcp *mcp, const struct mcp_principal *principal) {
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

const struct entry *catalogue_find(const struct catalogue *catalogue, const char *name) {
    size_t low = 0;
    size_t high = catalogue->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct entry *entry = &catalogue->entries[catalogue->by_name[middle]];
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
