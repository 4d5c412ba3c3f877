/* unknown.c - see unknown.h. */
#include "serve/mcp/unknown.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/request.h"

static void toolrack_freep(char **text) {
    toolrack_free(*text);
}

/* Whether there is a tool of this name that is only disabled, and the principal would be shown it.
 */
static bool is_disabled(struct request *request, const char *name) {
    struct mcp *mcp = request->mcp;
    struct toolrack_tool *tool = toolrack_get(mcp->host, name);
    bool is = tool != NULL && !toolrack_tool_enabled(tool) &&
              catalogue_has(mcp, &request->principal, tool);
    toolrack_tool_unref(tool);
    return is;
}

/* The nearest name among those that a principal with a part of the tools may call: another would
 * tell of what it is not shown. */
static char *find_near_shown(struct request *request, const char *name) {
    struct catalogue *catalogue = catalogue_get(request->mcp, &request->principal);
    if (catalogue == NULL) {
        return NULL;
    }
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct entry *entry = catalogue->by_name[i];
        if ((request->principal.permissions & (1u << entry->permission)) != 0) {
            (void)nearest_try_tool(&nearest, entry->name);
        }
    }
    char *near = nearest.name != NULL ? strdup(nearest.name) : NULL;
    catalogue_release(request->mcp, catalogue);
    return near;
}

/* To be released by free(), NULL: none. */
static char *find_near(struct request *request, const char *name) {
    if (catalogue_is_part(request->mcp, &request->principal)) {
        return find_near_shown(request, name);
    }
    CLEANUP(toolrack_freep) char *near = toolrack_suggest_call(request->mcp->host, name);
    return near != NULL ? strdup(near) : NULL;
}

void unknown_tool_explain(struct request *request, const char *name, const char *where,
                          struct buf *out) {
    if (is_disabled(request, name)) {
        buf_printf(out, "the tool %s is disabled; %s has those that can be called", name, where);
        return;
    }
    CLEANUP(freep) char *near = find_near(request, name);
    if (near != NULL && strcmp(near, name) != 0) {
        buf_printf(out, "unknown tool: %s; did you mean %s?", name, near);
    } else {
        buf_printf(out, "unknown tool: %s; %s has those that can be called", name, where);
    }
}
