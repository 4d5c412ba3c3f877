/* MCP: the tools of a tools/list. Any JSON Schema with an object at the root is allowed; clients
 * refuse a whole list because of one result schema that is not about an object, and a tool because
 * of one header of its arguments. */
#include <string.h>

#include "format/provider.h"

static void add_hint(struct buf *out, const char *name, bool value) {
    buf_printf(out, "%s\"%s\":%s", out->data[out->length - 1] == '{' ? "" : ",", name,
               value ? "true" : "false");
}

/* Without any hint nothing is known of the tool: MCP's own defaults then are the cautious ones. A
 * dangerous tool is never said to destroy nothing. */
static void add_hints(const struct format_tool *tool, struct buf *out) {
    buf_add_text(out, ",\"annotations\":{");
    if (!out->failed && (tool->is_told_all || tool->read_only || tool->destructive ||
                         tool->idempotent || tool->open_world)) {
        add_hint(out, "readOnlyHint", tool->read_only);
        if (tool->destructive || !tool->dangerous) {
            add_hint(out, "destructiveHint", tool->destructive);
        }
        add_hint(out, "idempotentHint", tool->idempotent);
        add_hint(out, "openWorldHint", tool->open_world);
    }
    buf_add_char(out, '}');
}

static void add_tool(const struct definition *definition, struct buf *out) {
    const struct format_tool *tool = definition->tool;
    buf_add_text(out, "{\"name\":");
    buf_add_json_string(out, definition->name, strlen(definition->name));
    provider_add_text(out, "title", definition->title);
    provider_add_text(out, "description", definition->description);
    if (tool->icons != NULL) {
        buf_add_text(out, ",\"icons\":");
        buf_add_text(out, tool->icons);
    }
    buf_add_text(out, ",\"inputSchema\":");
    buf_add_text(out, definition->schema);
    if (definition->result_schema != NULL) {
        buf_add_text(out, ",\"outputSchema\":");
        buf_add_text(out, definition->result_schema);
    }
    add_hints(tool, out);
    buf_add_char(out, '}');
}

const struct provider provider_mcp = {.whose = "MCP",
                                      .limits = &provider_limits[TOOLRACK_FORMAT_MCP],
                                      .rules = RULE_RESULT | RULE_OBJECT_RESULT | RULE_HEADERS,
                                      .before = "[",
                                      .after = "]",
                                      .add = add_tool};
