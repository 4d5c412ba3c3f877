/* scope.c - see scope.h. */
#include "serve/mcp/scope.h"

#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/change.h"
#include "serve/mcp/server.h"

/* The id of the plugin of a tool that a catalogue shows, in the arena; NULL: the tool has gone, or
 * is of no plugin. */
static const char *plugin_of(struct mcp *mcp, const struct entry *entry, struct arena *arena) {
    struct toolrack_tool *tool = toolrack_get(mcp->host, entry->selector);
    const char *id = tool != NULL ? toolrack_tool_plugin(tool) : NULL;
    const char *copy = id != NULL ? arena_copy(arena, id, strlen(id)) : NULL;
    toolrack_tool_unref(tool);
    return copy;
}

/* Tools of one plugin mostly follow each other. */
static bool has(const char *const *ids, size_t count, const char *id) {
    while (count > 0 && strcmp(ids[count - 1], id) != 0) {
        count--;
    }
    return count > 0;
}

bool scope_plugins(struct mcp *mcp, const struct principal *principal, struct arena *arena,
                   const char *const **ret) {
    *ret = NULL;
    if (!catalogue_is_part(mcp, principal)) {
        return true;
    }
    struct catalogue *catalogue = catalogue_get(mcp, principal);
    const char **ids =
            catalogue != NULL ? arena_alloc(arena, (catalogue->count + 1) * sizeof *ids) : NULL;
    size_t count = 0;
    for (size_t i = 0; ids != NULL && i < catalogue->count; i++) {
        const char *id = plugin_of(mcp, &catalogue->entries[i], arena);
        if (id != NULL && !has(ids, count, id)) {
            ids[count++] = id;
        }
    }
    if (catalogue != NULL) {
        catalogue_release(mcp, catalogue);
    }
    if (ids != NULL) {
        ids[count] = NULL;
    }
    *ret = ids;
    return ids != NULL;
}

bool scope_has(struct mcp *mcp, const struct principal *principal, const char *plugin) {
    struct arena arena;
    const char *const *ids = NULL;
    char room[1024];
    arena_init(&arena, room, sizeof room);
    bool known = scope_plugins(mcp, principal, &arena, &ids);
    bool shown = known && ids == NULL;
    for (size_t i = 0; known && ids != NULL && ids[i] != NULL; i++) {
        shown = shown || (plugin != NULL && strcmp(ids[i], plugin) == 0);
    }
    arena_finish(&arena);
    return shown;
}

unsigned scope_changes(struct mcp *mcp, const struct principal *principal, unsigned changes) {
    bool hangs_on_tools = (changes & CHANGE_TOOLS) != 0 && catalogue_is_part(mcp, principal);
    return changes | (hangs_on_tools ? CHANGE_PROMPTS | CHANGE_RESOURCES : 0u);
}
