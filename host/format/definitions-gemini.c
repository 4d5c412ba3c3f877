/* Gemini: parametersJsonSchema, not the older `parameters` with its OpenAPI subset. The array is
 * the `tools` of a request: one object with all declarations, or empty when there is no tool, since
 * Gemini refuses an empty list of declarations. */
#include <string.h>

#include "format/provider.h"

static void add_declaration(const struct definition *definition, struct buf *out) {
    buf_add_text(out, "{\"name\":");
    buf_add_json_string(out, definition->name, strlen(definition->name));
    /* Required here; the name says more than an empty string. */
    provider_add_text(out, "description",
                      definition->description != NULL ? definition->description : definition->name);
    buf_add_text(out, ",\"parametersJsonSchema\":");
    buf_add_text(out, definition->schema);
    if (definition->result_schema != NULL) {
        buf_add_text(out, ",\"responseJsonSchema\":");
        buf_add_text(out, definition->result_schema);
    }
    buf_add_char(out, '}');
}

const struct provider provider_gemini = {
        .whose = "Gemini",
        .limits = &provider_limits[TOOLRACK_FORMAT_GEMINI],
        .rules = RULE_DIALECT | RULE_FLAT_ROOT | RULE_ITEMS | RULE_OBJECTS_ONLY | RULE_ONE_TYPE |
                 RULE_LONE_REF | RULE_KNOWN_REQUIRED | RULE_NO_CONST | RULE_RESULT,
        .before = "[{\"functionDeclarations\":[",
        .after = "]}]",
        .add = add_declaration};
