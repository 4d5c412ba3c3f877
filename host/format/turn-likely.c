/* turn-likely.c - which format a message is of that has no calls where its own format has them.
 *
 * Each row is what one format's messages have and no other's; calls that are elsewhere would be
 * lost without a word. */
#include "base/cleanup.h"
#include "base/json.h"
#include "format/turn-parts.h"

static bool has_list(yyjson_val *object, const char *key) {
    return yyjson_is_arr(yyjson_obj_get(object, key));
}

static bool has_object(yyjson_val *object, const char *key) {
    return yyjson_is_obj(yyjson_obj_get(object, key));
}

static bool has_type(yyjson_val *object, const char *type) {
    return turn_is(yyjson_obj_get(object, "type"), type);
}

/* A message with `tool_calls`, as OpenAI and Ollama write it: those of Ollama have objects for
 * arguments. */
static bool has_tool_calls(yyjson_val *message, bool with_objects) {
    yyjson_val *first = yyjson_arr_get_first(yyjson_obj_get(message, "tool_calls"));
    return first != NULL &&
           has_object(yyjson_obj_get(first, "function"), "arguments") == with_objects;
}

static bool is_openai(yyjson_val *root) {
    return has_list(root, "choices") || has_tool_calls(root, false) ||
           (has_type(root, "function") && has_object(root, "function")) ||
           yyjson_obj_get(yyjson_obj_get(root, "function_call"), "arguments") != NULL;
}

static bool is_responses(yyjson_val *root) {
    return has_list(root, "output") || has_type(root, "function_call") ||
           has_type(root, "custom_tool_call");
}

static bool is_anthropic(yyjson_val *root) {
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (yyjson_obj_get(root, "content"), at, count, block) {
        if (has_type(block, "tool_use")) {
            return true;
        }
    }
    return has_type(root, "tool_use");
}

static bool is_gemini(yyjson_val *root) {
    return has_list(root, "candidates") || has_list(root, "parts") ||
           has_object(root, "functionCall") ||
           yyjson_obj_get(yyjson_obj_get(root, "function_call"), "args") != NULL;
}

static bool is_ollama(yyjson_val *root) {
    return has_object(root, "message") || has_tool_calls(root, true);
}

static bool is_mcp(yyjson_val *root) {
    return turn_is(yyjson_obj_get(root, "method"), "tools/call");
}

static bool (*const rows[TOOLRACK_FORMAT_COUNT])(yyjson_val *root) = {
        [TOOLRACK_FORMAT_OPENAI] = is_openai,
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = is_responses,
        [TOOLRACK_FORMAT_ANTHROPIC] = is_anthropic,
        [TOOLRACK_FORMAT_GEMINI] = is_gemini,
        [TOOLRACK_FORMAT_OLLAMA] = is_ollama,
        [TOOLRACK_FORMAT_MCP] = is_mcp,
};

/* What one object is of: of its own format, if that may be. OpenAI and Ollama share a list. */
static enum toolrack_format format_of(yyjson_val *object, enum toolrack_format own) {
    bool shares = own == TOOLRACK_FORMAT_OPENAI || own == TOOLRACK_FORMAT_OLLAMA;
    if (rows[own](object) || (shares && has_list(object, "tool_calls"))) {
        return own;
    }
    for (unsigned i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
        if (rows[i](object)) {
            return (enum toolrack_format)i;
        }
    }
    return own;
}

enum toolrack_format turn_likely_format(yyjson_val *root, enum toolrack_format own) {
    size_t at;
    size_t count;
    yyjson_val *element;
    if (yyjson_is_obj(root)) {
        return format_of(root, own);
    }
    yyjson_arr_foreach (root, at, count, element) {
        enum toolrack_format format = format_of(element, own);
        if (format != own) {
            return format;
        }
    }
    return own;
}
