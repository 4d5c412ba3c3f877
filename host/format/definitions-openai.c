/* OpenAI: Chat Completions puts a function into a separate object, Responses does not. `strict` is
 * always written: its default is false in one and true in the other. */
#include <string.h>

#include "format/provider.h"

#define OPENAI_RULES \
    (RULE_DIALECT | RULE_FLAT_ROOT | RULE_PROPERTIES | RULE_ITEMS | RULE_OBJECTS_ONLY | RULE_STRICT)

static void add_function(const struct definition *definition, struct buf *out) {
    buf_add_text(out, "\"name\":");
    buf_add_json_string(out, definition->name, strlen(definition->name));
    provider_add_text(out, "description", definition->description);
    buf_add_text(out, ",\"parameters\":");
    buf_add_text(out, definition->schema);
    buf_add_text(out, definition->strict ? ",\"strict\":true}" : ",\"strict\":false}");
}

static void add_chat(const struct definition *definition, struct buf *out) {
    buf_add_text(out, "{\"type\":\"function\",\"function\":{");
    add_function(definition, out);
    buf_add_char(out, '}');
}

static void add_responses(const struct definition *definition, struct buf *out) {
    buf_add_text(out, "{\"type\":\"function\",");
    add_function(definition, out);
}

const struct provider provider_openai = {.whose = "OpenAI Chat Completions",
                                         .limits = &provider_limits[TOOLRACK_FORMAT_OPENAI],
                                         .rules = OPENAI_RULES,
                                         .before = "[",
                                         .after = "]",
                                         .add = add_chat};

const struct provider provider_openai_responses = {
        .whose = "OpenAI Responses",
        .limits = &provider_limits[TOOLRACK_FORMAT_OPENAI_RESPONSES],
        .rules = OPENAI_RULES,
        .before = "[",
        .after = "]",
        .add = add_responses};
