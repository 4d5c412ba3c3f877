/* The plugins of a host, and the files that are none it can use. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "registry/document.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)
CLEANUP_DEFINE(struct toolrack_refusals, toolrack_refusals_free)

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

/* A plugin of the tools. */
struct entry {
    struct plugin *plugin; /* borrowed from the tools */
    size_t first;          /* of its tools, in registry order */
    size_t tools;
    size_t held; /* of these, those that are not as they were approved */
};

struct entries {
    struct entry *items;
    size_t count;
};

static void entries_finish(struct entries *entries) {
    free(entries->items);
}

/* ----------------------------------------------------------------- entries */

static int compare_plugins(const void *left, const void *right) {
    const struct entry *a = left;
    const struct entry *b = right;
    uintptr_t x = (uintptr_t)a->plugin;
    uintptr_t y = (uintptr_t)b->plugin;
    return x != y ? (x > y) - (x < y) : (a->first > b->first) - (a->first < b->first);
}

static int compare_order(const void *left, const void *right) {
    size_t a = ((const struct entry *)left)->first;
    size_t b = ((const struct entry *)right)->first;
    return (a > b) - (a < b);
}

/* Make an entry for each plugin, in the order of their first tools. */
static int make_entries(const struct toolrack_tools *tools, struct entries *ret,
                        struct toolrack_error *err) {
    size_t count = toolrack_tools_count(tools);
    struct entry *items = calloc(count + 1, sizeof *items);
    if (items == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct entry){.plugin = toolrack_tools_get(tools, i)->reg->plugin,
                                  .first = i,
                                  .tools = 1,
                                  .held = tool_is_held(toolrack_tools_get(tools, i))};
    }
    qsort(items, count, sizeof *items, compare_plugins);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && items[kept - 1].plugin == items[i].plugin) {
            items[kept - 1].tools++;
            items[kept - 1].held += items[i].held;
        } else {
            items[kept++] = items[i];
        }
    }
    qsort(items, kept, sizeof *items, compare_order);
    *ret = (struct entries){.items = items, .count = kept};
    return 0;
}

/* ------------------------------------------------------------------ plugin */

/* Add a row with what every row has. */
static yyjson_mut_val *add_row(const struct listing *listing, const char *id, const char *version,
                               const char *trust, const char *file, const char *state,
                               const char *reason, uint64_t tools) {
    yyjson_mut_doc *doc = listing->doc;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->list);
    document_add_text(doc, row, "id", id);
    document_add_text(doc, row, "version", version);
    document_add_text(doc, row, "trust", trust);
    document_add_text(doc, row, "file", file);
    document_add_text(doc, row, "state", state);
    document_add_text(doc, row, "reason", reason);
    (void)yyjson_mut_obj_add_uint(doc, row, "tools", tools);
    return row;
}

/* If all tools are held, that is the plugin's state, unless it has a worse one; of some it is said.
 */
static void add_plugin(const struct listing *listing, const struct entry *entry) {
    struct plugin *plugin = entry->plugin;
    enum toolrack_tool_state state = plugin_state(plugin);
    char reason[ERROR_MESSAGE_MAX] = "";
    const struct tr_plugin *about = plugin->desc->plugin;
    plugin_reason(plugin, reason, sizeof reason);
    if (entry->held > 0 && (state == TOOLRACK_STATE_LISTED || state == TOOLRACK_STATE_LOADED)) {
        state = entry->held == entry->tools ? TOOLRACK_STATE_CHANGED : state;
        const char *are = entry->held == 1 ? "is" : "are";
        if (entry->tools == 1) {
            (void)snprintf(reason, sizeof reason, "its tool is not what was approved");
        } else if (entry->held == entry->tools) {
            (void)snprintf(reason, sizeof reason, "none of its %zu tools is what was approved",
                           entry->tools);
        } else {
            (void)snprintf(reason, sizeof reason,
                           "%zu of its %zu tools %s not what was approved; see which: %s",
                           entry->held, entry->tools, are, COMMAND("list"));
        }
    }
    yyjson_mut_val *row =
            add_row(listing, about->id, about->version, trust_name(plugin->trust), plugin->path,
                    tool_state_name(state), reason[0] != '\0' ? reason : NULL, entry->tools);
    bool is_apart = plugin->isolated || strcmp(plugin->origin, ORIGIN_REMOTE) == 0;
    document_add_text(listing->doc, row, "isolation", is_apart ? "process" : "none");
    (void)yyjson_mut_obj_add_uint(listing->doc, row, "generation", plugin->generation);
    (void)yyjson_mut_obj_add_bool(listing->doc, row, "kept", atomic_load(&plugin->kept));
}

/* ----------------------------------------------------------------- refusal */

static bool same(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Whether a row tells of the file already: that of its plugin, or of an earlier refusal. A refused
 * definition is a plugin of its own name. */
static bool is_told(const struct entries *entries, const struct toolrack_refusals *refusals,
                    size_t index) {
    const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, index);
    for (size_t i = 0; i < entries->count; i++) {
        const struct plugin *plugin = entries->items[i].plugin;
        if (same(plugin->path, refusal->file) &&
            (refusal->plugin == NULL || same(plugin->desc->plugin->id, refusal->plugin))) {
            return true;
        }
    }
    for (size_t i = 0; i < index; i++) {
        const struct toolrack_refusal *other = toolrack_refusals_get(refusals, i);
        if (same(other->file, refusal->file) &&
            (refusal->plugin == NULL || same(other->plugin, refusal->plugin))) {
            return true;
        }
    }
    return false;
}

static void add_refusals(const struct listing *listing, const struct entries *entries,
                         const struct toolrack_refusals *refusals) {
    for (size_t i = 0; i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *refusal = toolrack_refusals_get(refusals, i);
        if (refusal->file != NULL && !is_told(entries, refusals, i)) {
            yyjson_mut_val *row = add_row(listing, refusal->plugin, NULL, NULL, refusal->file,
                                          "refused", refusal->reason, 0);
            document_add_text(listing->doc, row, "isolation", NULL);
            (void)yyjson_mut_obj_add_null(listing->doc, row, "generation");
            (void)yyjson_mut_obj_add_bool(listing->doc, row, "kept", false);
        }
    }
}

int toolrack_plugins_info(struct toolrack *host, struct toolrack_text **ret,
                          struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_filter all = TOOLRACK_FILTER_INIT;
    all.all = true;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    CLEANUP(toolrack_refusals_freep) struct toolrack_refusals *refusals = NULL;
    CLEANUP(entries_finish) struct entries entries = {0};
    int code = toolrack_list(host, &all, &tools, err);
    code = code < 0 ? code : make_entries(tools, &entries, err);
    code = code < 0 ? code : toolrack_refused(host, &refusals, err);
    if (code < 0) {
        return code;
    }
    struct listing listing;
    listing.doc = document_begin_list(&listing.list);
    for (size_t i = 0; i < entries.count; i++) {
        add_plugin(&listing, &entries.items[i]);
    }
    add_refusals(&listing, &entries, refusals);
    return document_end(listing.doc, ret, err);
}
