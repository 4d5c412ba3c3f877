/* The stated schema of a JSON tool: is it one, and will every provider take it?
 *
 * Whether it is a valid JSON Schema is the caller's question (see
 * descriptor_schema_check). Here stands what a tool's schema needs besides, and
 * what strict providers are known to refuse: an author should hear of it before
 * a model does. */
#include <string.h>

#include "base/ascii.h"
#include "plugin/reader.h"

/* Schemas below this depth are not looked at. */
#define LINT_DEPTH_MAX 16u

/* ^[A-Za-z_][A-Za-z0-9_]{0,63}$, narrower than the rule of tool names: no dash. */
static bool is_portable_name(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (!ascii_is_word(c) || (i == 0 && ascii_is_digit(c))) {
            return false;
        }
    }
    return length > 0 && length <= 64;
}

static bool has_type(yyjson_val *schema, const char *name) {
    yyjson_val *type = yyjson_obj_get(schema, "type");
    if (!yyjson_is_arr(type)) {
        return yyjson_equals_str(type, name);
    }
    size_t index;
    size_t count;
    yyjson_val *one;
    yyjson_arr_foreach (type, index, count, one) {
        if (yyjson_equals_str(one, name)) {
            return true;
        }
    }
    return false;
}

static void lint_level(struct reader *reader, yyjson_val *schema, uint32_t depth);

static void lint_property(struct reader *reader, yyjson_val *key, yyjson_val *schema,
                          uint32_t depth) {
    const char *name = yyjson_get_str(key);
    if (!is_portable_name(name, yyjson_get_len(key))) {
        reader_report(reader, FINDING_SCHEMA_PROPERTY, "\"%.*s\" is the name of a property",
                      FINDING_SHOWN_MAX, name);
    }
    yyjson_val *description = yyjson_obj_get(schema, "description");
    if (depth == 0 && yyjson_is_obj(schema) && yyjson_get_len(description) == 0 &&
        yyjson_obj_get(schema, "$ref") == NULL) {
        reader_report(reader, FINDING_PARAM_DESCRIPTION, "parameter %.*s has no description",
                      FINDING_SHOWN_MAX, name);
    }
    lint_level(reader, schema, depth + 1);
}

static void lint_level(struct reader *reader, yyjson_val *schema, uint32_t depth) {
    if (!yyjson_is_obj(schema) || depth > LINT_DEPTH_MAX) {
        return;
    }
    yyjson_val *items = yyjson_obj_get(schema, "items");
    if (items == NULL && has_type(schema, "array") &&
        yyjson_obj_get(schema, "prefixItems") == NULL) {
        reader_report(reader, FINDING_SCHEMA_ITEMS, "the schema has an array without items");
    }
    lint_level(reader, items, depth + 1);
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *property;
    yyjson_obj_foreach (properties, index, count, key, property) {
        lint_property(reader, key, property, depth);
    }
}

static void lint_root(struct reader *reader, yyjson_val *root) {
    static const char *const combined[] = {"oneOf", "anyOf", "allOf"};
    for (size_t i = 0; i < sizeof combined / sizeof combined[0]; i++) {
        if (yyjson_obj_get(root, combined[i]) != NULL) {
            reader_report(reader, FINDING_SCHEMA_ROOT, "the schema has %s at its root",
                          combined[i]);
        }
    }
}

static bool check_root(struct reader *reader, yyjson_val *root, bool is_result) {
    if (!yyjson_is_obj(root)) {
        reader_report(reader, is_result ? FINDING_SCHEMA_RESULT_INVALID : FINDING_SCHEMA_INVALID,
                      "the schema of the %s is not a JSON object",
                      is_result ? "result" : "arguments");
        return false;
    }
    if (!is_result && !yyjson_equals_str(yyjson_obj_get(root, "type"), "object")) {
        reader_report(reader, FINDING_SCHEMA_INVALID,
                      "the schema of the arguments does not have \"type\": \"object\" at its root");
        return false;
    }
    return true;
}

bool lint_schema(struct reader *reader, const char *schema, bool is_result) {
    char reason[READER_REASON_MAX];
    yyjson_doc *doc = reader_json(reader, schema, reason, sizeof reason);
    if (doc == NULL) {
        reader_report(reader, is_result ? FINDING_SCHEMA_RESULT_INVALID : FINDING_SCHEMA_INVALID,
                      "the schema of the %s cannot be read: %s", is_result ? "result" : "arguments",
                      reason);
    } else if (!check_root(reader, yyjson_doc_get_root(doc), is_result)) {
        doc = NULL;
    } else if (!is_result) {
        lint_root(reader, yyjson_doc_get_root(doc));
        lint_level(reader, yyjson_doc_get_root(doc), 0);
    }
    bool sound = doc != NULL;
    reader_scratch_reset(reader);
    return sound && reader->failure == 0;
}
