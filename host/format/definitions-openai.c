/* OpenAI: Chat Completions puts a function into a separate object, Responses does not.
 *
 * Without `strict` a function of Chat Completions is not strict, and its schema is not touched; one
 * of Responses is made strict as far as possible, so that optional properties become required
 * (https://platform.openai.com/docs/guides/function-calling#strict-mode). So `false` is written for
 * Responses only: of the many servers that speak the other format some do not know the member, and
 * some refuse a request that has both values. */
#include <string.h>

#include "format/provider.h"

#define OPENAI_RULES \
    (RULE_DIALECT | RULE_FLAT_ROOT | RULE_PROPERTIES | RULE_ITEMS | RULE_OBJECTS_ONLY | RULE_STRICT)

/* @param lax  what a function that is not strict says about it */
static void add_function(const struct definition *definition, const char *lax, struct buf *out) {
    buf_add_text(out, "\"name\":");
    buf_add_json_string(out, definition->name, strlen(definition->name));
    provider_add_text(out, "description", definition->description);
    buf_add_text(out, ",\"parameters\":");
    buf_add_text(out, definition->schema);
    buf_add_text(out, definition->strict ? ",\"strict\":true}" : lax);
}

static void add_chat(const struct definition *definition, struct buf *out) {
    buf_add_text(out, "{\"type\":\"function\",\"function\":{");
    add_function(definition, "}", out);
    buf_add_char(out, '}');
}

static void add_responses(const struct definition *definition, struct buf *out) {
    buf_add_text(out, "{\"type\":\"function\",");
    add_function(definition, ",\"strict\":false}", out);
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
