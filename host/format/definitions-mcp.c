/* MCP: the tools of a tools/list. Any JSON Schema with an object at the root is allowed; clients
 * refuse a whole list because of one result schema that is not about an object, and a tool because
 * of one header of its arguments. */
#include <string.h>

#include "format/provider.h"

static const char *boolean(bool value) {
    return value ? "true" : "false";
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
    buf_printf(out,
               ",\"annotations\":{\"readOnlyHint\":%s,\"destructiveHint\":%s,"
               "\"idempotentHint\":%s,\"openWorldHint\":%s}}",
               boolean(tool->read_only), boolean(tool->destructive), boolean(tool->idempotent),
               boolean(tool->open_world));
}

const struct provider provider_mcp = {.whose = "MCP",
                                      .limits = &provider_limits[TOOLRACK_FORMAT_MCP],
                                      .rules = RULE_RESULT | RULE_OBJECT_RESULT | RULE_HEADERS,
                                      .before = "[",
                                      .after = "]",
                                      .add = add_tool};
