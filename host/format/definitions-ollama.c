/* Ollama: the format of Chat Completions without `strict`. Its server reads schemas into a struct
 * of a few members and silently drops the rest, so the rest is removed and reported here. It
 * documents no rule for names; OpenAI's rules are used, which its models and its other routes
 * expect. */
#include <string.h>

#include "format/provider.h"

static void add_function(const struct definition *definition, struct buf *out) {
    buf_add_text(out, "{\"type\":\"function\",\"function\":{\"name\":");
    buf_add_json_string(out, definition->name, strlen(definition->name));
    provider_add_text(out, "description", definition->description);
    buf_add_text(out, ",\"parameters\":");
    buf_add_text(out, definition->schema);
    buf_add_text(out, "}}");
}

const struct provider provider_ollama = {.whose = "Ollama",
                                         .limits = &provider_limits[TOOLRACK_FORMAT_OLLAMA],
                                         .rules = RULE_DIALECT | RULE_FLAT_ROOT | RULE_PROPERTIES |
                                                  RULE_OBJECTS_ONLY | RULE_NO_CONST |
                                                  RULE_FEW_WORDS,
                                         .before = "[",
                                         .after = "]",
                                         .add = add_function};
