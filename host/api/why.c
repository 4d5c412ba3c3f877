#include <string.h>
#include <yyjson.h>

#include "api/defaults.h"
#include "api/host.h"
#include "base/error.h"
#include "registry/document.h"
#include "registry/succession.h"

/* ------------------------------------------------------------------- names */

static struct plugin *plugin_of_tool(struct toolrack *host, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = registry_get(host->registry, name);
    return tool != NULL ? plugin_ref(tool->reg->plugin) : NULL;
}

int toolrack_describe_isolation(struct toolrack *host, const char *name, struct toolrack_text **ret,
                                struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(plugin_unrefp) struct plugin *plugin = plugin_of_tool(host, name);
    if (plugin == NULL) {
        return registry_not_found(host->registry, name, err);
    }
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    life_describe_isolation(plugin, doc, root);
    return document_end(doc, ret, err);
}

/* -------------------------------------------------------------------- tool */

static void add_change(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *field,
                       const char *approved, const char *now) {
    if (approved != NULL) {
        yyjson_mut_val *change = yyjson_mut_obj_add_obj(doc, object, field);
        document_add_text(doc, change, "approved", approved);
        document_add_text(doc, change, "now", now);
    }
}

#define TEXT_KEY(name, key, words) key,

/* Add what differs in a tool since it was approved. */
static void add_changes(struct toolrack *host, const struct toolrack_tool *tool,
                        yyjson_mut_doc *doc, yyjson_mut_val *root) {
    static const char *const keys[] = {PIN_TEXTS(TEXT_KEY)};
    struct permit_approved approved;
    struct toolrack_error unheard;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    if (permit_find_change(host->permit, tool->reg, &arena, &approved, &unheard) == 0) {
        yyjson_mut_val *changed = yyjson_mut_obj_add_obj(doc, root, "changed");
        for (size_t i = 0; i < PIN_TEXT_COUNT; i++) {
            add_change(doc, changed, keys[i], approved.texts[i], approved.now_texts[i]);
        }
        add_change(doc, changed, "permission", approved.permission, approved.now_permission);
        add_change(doc, changed, "flags", approved.flags, approved.now_flags);
        add_change(doc, changed, "capabilities", approved.capabilities, approved.now_capabilities);
    }
}

/* Add how the tool is incompatible with its previous version. */
static void add_succession(const struct registration *reg, yyjson_mut_doc *doc,
                           yyjson_mut_val *root) {
    const struct succession *succession = reg->succession;
    if (succession == NULL) {
        return;
    }
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "compatibility");
    document_add_text(doc, object, "older", succession->older);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "differences");
    for (size_t i = 0; i < succession->differences.count; i++) {
        const struct compatibility_difference *difference = &succession->differences.items[i];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        document_add_text(doc, row, "rule", difference->rule);
        document_add_text(doc, row, "field", difference->field);
        document_add_text(doc, row, "text", difference->text);
    }
}

static const char *permission_name(enum toolrack_permission permission) {
    switch (permission) {
    case TOOLRACK_PERMISSION_SAFE: return "safe";
    case TOOLRACK_PERMISSION_CONFIRM: return "confirm";
    case TOOLRACK_PERMISSION_DANGEROUS: return "dangerous";
    }
    return "unknown";
}

static void add_tool(struct toolrack *host, const struct toolrack_tool *tool, yyjson_mut_doc *doc,
                     yyjson_mut_val *root) {
    document_add_text(doc, root, "tool", toolrack_tool_name(tool));
    document_add_text(doc, root, "tool_version", toolrack_tool_version(tool));
    document_add_text(doc, root, "permission", permission_name(toolrack_tool_permission(tool)));
    document_add_text(doc, root, "deprecated", toolrack_tool_deprecated(tool));
    defaults_describe(host, tool, doc, root);
    add_succession(tool->reg, doc, root);
    add_changes(host, tool, doc, root);
}

/* -------------------------------------------------------------------- why */

/* The state of the plugin, or of the tool that was asked about. */
static enum toolrack_tool_state state_of(struct plugin *plugin, const struct toolrack_tool *tool,
                                         char reason[ERROR_MESSAGE_MAX]) {
    enum toolrack_tool_state state = plugin_state(plugin);
    plugin_reason(plugin, reason, ERROR_MESSAGE_MAX);
    enum toolrack_tool_state own = tool != NULL ? toolrack_tool_state(tool) : state;
    if (own == TOOLRACK_STATE_CHANGED || own == TOOLRACK_STATE_NEEDS) {
        toolrack_tool_reason(tool, reason, ERROR_MESSAGE_MAX);
        return own;
    }
    return state;
}

/* What is only known as refused. */
static int why_refused(struct toolrack *host, const char *name, struct toolrack_text **ret,
                       struct toolrack_error *err) {
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    int code = life_describe_refused(host->life, name, doc, root, err);
    if (code < 0) {
        yyjson_mut_doc_free(doc);
        return code == TOOLRACK_E_NOT_FOUND ? life_not_found(host->life, name, err) : code;
    }
    return document_end(doc, ret, err);
}

int toolrack_why(struct toolrack *host, const char *name, struct toolrack_text **ret,
                 struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(plugin_unrefp) struct plugin *plugin = life_find_described(host->life, name);
    if (plugin == NULL) {
        return why_refused(host, name, ret, err);
    }
    const struct tr_plugin *about = plugin->desc->plugin;
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = registry_get(host->registry, name);
    char reason[ERROR_MESSAGE_MAX] = "";
    enum toolrack_tool_state state = state_of(plugin, tool, reason);
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    document_add_text(doc, root, "plugin", about->id);
    document_add_text(doc, root, "version", about->version);
    document_add_text(doc, root, "file", plugin->path);
    document_add_text(doc, root, "state", tool_state_name(state));
    document_add_text(doc, root, "reason", reason[0] != '\0' ? reason : NULL);
    (void)yyjson_mut_obj_add_bool(doc, root, "kept", atomic_load(&plugin->kept));
    if (tool != NULL) {
        add_tool(host, tool, doc, root);
    }
    int code = life_describe(host->life, plugin, doc, root, err);
    if (code < 0) {
        yyjson_mut_doc_free(doc);
        return code;
    }
    return document_end(doc, ret, err);
}
