/* Anthropic: the schema must be valid 2020-12, its root an object without alternatives; the names
 * of the root's properties are restricted. Names of tools may have 128 characters today, in older
 * clients 64. */
#include <string.h>

#include "format/provider.h"

static void add_tool(const struct definition *definition, struct buf *out) {
    buf_add_text(out, "{\"name\":");
    buf_add_json_string(out, definition->name, strlen(definition->name));
    provider_add_text(out, "description", definition->description);
    buf_add_text(out, ",\"input_schema\":");
    buf_add_text(out, definition->schema);
    buf_add_char(out, '}');
}

const struct provider provider_anthropic = {.whose = "Anthropic",
                                            .limits = &provider_limits[TOOLRACK_FORMAT_ANTHROPIC],
                                            .rules = RULE_DIALECT | RULE_FLAT_ROOT,
                                            .before = "[",
                                            .after = "]",
                                            .add = add_tool};
