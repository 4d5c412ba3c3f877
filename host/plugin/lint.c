/* The stated schema of a JSON tool: is it a schema, and will every provider accept it?
 *
 * The caller checks whether it is a valid JSON Schema (see descriptor_schema_check). This file
 * checks what a tool's schema needs besides, and what strict providers are known to refuse, so that
 * the author learns it early. */
#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/hidden.h"
#include "base/json.h"
#include "base/param-header.h"
#include "plugin/reader.h"

/* Schemas below this depth are not checked. */
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

static bool has_type(yyjson_val *value, yyjson_val *type) {
    double number = yyjson_get_num(value);
    return (yyjson_is_str(value) && json_has_text(type, "string")) ||
           (yyjson_is_bool(value) && json_has_text(type, "boolean")) ||
           (yyjson_is_null(value) && json_has_text(type, "null")) ||
           (yyjson_is_arr(value) && json_has_text(type, "array")) ||
           (yyjson_is_obj(value) && json_has_text(type, "object")) ||
           ((yyjson_is_num(value) || yyjson_is_raw(value)) && json_has_text(type, "number")) ||
           ((yyjson_is_int(value) || yyjson_is_raw(value) ||
             (yyjson_is_real(value) && number == trunc(number))) &&
            json_has_text(type, "integer"));
}

/* A type that none of the values has: no argument is ever valid. */
static void lint_choices(struct reader *reader, yyjson_val *schema) {
    yyjson_val *type = yyjson_obj_get(schema, "type");
    yyjson_val *list = yyjson_obj_get(schema, "enum");
    yyjson_val *constant = yyjson_obj_get(schema, "const");
    size_t index;
    size_t count;
    yyjson_val *value;
    bool fits = constant == NULL && yyjson_arr_size(list) == 0;
    yyjson_arr_foreach (list, index, count, value) {
        fits = fits || has_type(value, type);
    }
    if (type != NULL && !fits && !has_type(constant, type)) {
        reader_report(reader, FINDING_SCHEMA_CHOICE, "no value of %s has the type beside it",
                      constant != NULL ? "a const" : "an enum");
    }
}

/* Of a part of a schema others may describe the properties, so there only what no arguments can
 * satisfy counts. */
static void lint_required(struct reader *reader, yyjson_val *schema, bool is_root) {
    static const char *const others[] = {
            "patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "then", "else",
            "dependentSchemas"};
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    bool is_closed = yyjson_is_obj(properties) &&
                     yyjson_is_false(yyjson_obj_get(schema, "additionalProperties"));
    size_t index;
    size_t count;
    yyjson_val *name;
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        /* Behind additionalProperties: false only the first says more. */
        if (yyjson_obj_get(schema, others[i]) != NULL && (i == 0 || !is_closed)) {
            return;
        }
    }
    yyjson_arr_foreach (yyjson_obj_get(schema, "required"), index, count, name) {
        const char *text = yyjson_get_str(name);
        if (text != NULL && (is_root || is_closed) &&
            yyjson_obj_getn(properties, text, yyjson_get_len(name)) == NULL) {
            reader_report(reader, FINDING_SCHEMA_REQUIRED,
                          "\"%.*s\" is required and not among the properties%s", FINDING_SHOWN_MAX,
                          text, is_closed ? ", and no others are allowed" : "");
        }
    }
}

static void lint_level(struct reader *reader, yyjson_val *schema, uint32_t depth);

/* The schemas in a schema, but for its properties. What `not` has may be anything. */
static void lint_parts(struct reader *reader, yyjson_val *schema, uint32_t depth) {
    static const char *const single[] = {"items",
                                         "additionalProperties",
                                         "unevaluatedItems",
                                         "unevaluatedProperties",
                                         "contains",
                                         "if",
                                         "then",
                                         "else"};
    static const char *const several[] = {
            "prefixItems",       "allOf",       "anyOf", "oneOf",
            "patternProperties", "definitions", "$defs", "dependentSchemas"};
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    for (size_t i = 0; i < ARRAY_LENGTH(single); i++) {
        lint_level(reader, yyjson_obj_get(schema, single[i]), depth);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(several); i++) {
        yyjson_val *parts = yyjson_obj_get(schema, several[i]);
        yyjson_arr_foreach (parts, index, count, part) {
            lint_level(reader, part, depth);
        }
        json_obj_foreach (parts, index, count, key, part) {
            lint_level(reader, part, depth);
        }
    }
}

static void lint_level(struct reader *reader, yyjson_val *schema, uint32_t depth) {
    if (!yyjson_is_obj(schema) || depth > LINT_DEPTH_MAX) {
        return;
    }
    yyjson_val *items = yyjson_obj_get(schema, "items");
    if (items == NULL && json_has_text(yyjson_obj_get(schema, "type"), "array") &&
        yyjson_obj_get(schema, "prefixItems") == NULL) {
        reader_report(reader, FINDING_SCHEMA_ITEMS, "the schema has an array without items");
    }
    lint_choices(reader, schema);
    lint_required(reader, schema, depth == 0);
    if (yyjson_is_bool(yyjson_obj_get(schema, "nullable"))) {
        reader_report(reader, FINDING_SCHEMA_NULLABLE,
                      "the schema has nullable, which says nothing");
    }
    lint_parts(reader, schema, depth + 1);
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *property;
    json_obj_foreach (properties, index, count, key, property) {
        const char *name = yyjson_get_str(key);
        if (!is_portable_name(name, yyjson_get_len(key))) {
            reader_report(reader, FINDING_SCHEMA_PROPERTY, "\"%.*s\" is the name of a property",
                          FINDING_SHOWN_MAX, name);
        }
        yyjson_val *description = yyjson_obj_get(property, "description");
        if (depth == 0 && yyjson_is_obj(property) && yyjson_get_len(description) == 0 &&
            yyjson_obj_get(property, "$ref") == NULL) {
            reader_report(reader, FINDING_PARAM_DESCRIPTION, "parameter %.*s has no description",
                          FINDING_SHOWN_MAX, name);
        }
        lint_level(reader, property, depth + 1);
    }
}

/* A string that has a hidden character, in a value or in a key below it; NULL if there is none. */
static const char *hidden_in(yyjson_val *value, uint32_t *ret_point) {
    const char *found = NULL;
    size_t index;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    if (yyjson_is_str(value)) {
        const char *text = yyjson_get_str(value);
        size_t length = yyjson_get_len(value);
        return hidden_find(text, length, NULL, ret_point) < length ? text : NULL;
    }
    yyjson_arr_foreach (value, index, count, part) {
        found = found != NULL ? found : hidden_in(part, ret_point);
    }
    json_obj_foreach (value, index, count, key, part) {
        found = found != NULL ? found : hidden_in(key, ret_point);
        found = found != NULL ? found : hidden_in(part, ret_point);
    }
    return found;
}

void lint_hidden(struct reader *reader, const char *schema, bool is_result) {
    char reason[READER_REASON_MAX];
    uint32_t point = 0;
    if (strstr(schema, "\\u") == NULL) {
        return; /* characters that are not escaped are found when the text is read */
    }
    yyjson_val *root = yyjson_doc_get_root(reader_json(reader, schema, reason, sizeof reason));
    if (hidden_in(root, &point) != NULL) {
        reader_report(reader, FINDING_TEXT_HIDDEN,
                      "a string in the schema of the %s has the hidden character U+%04X",
                      is_result ? "result" : "arguments", point);
    }
    reader_scratch_reset(reader);
}

static void report_header(void *user, const char *name, const char *why) {
    reader_report(user, FINDING_SCHEMA_HEADER, "x-mcp-header \"%.*s\": %s", FINDING_SHOWN_MAX, name,
                  why);
}

static void lint_headers(struct reader *reader, const char *schema, yyjson_val *root) {
    if (!param_header_may_be_in(schema)) {
        return;
    }
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, root);
    if (copy == NULL) {
        reader->failure = TOOLRACK_E_NO_MEMORY;
    }
    (void)param_header_clean(copy, report_header, reader);
    yyjson_mut_doc_free(doc);
}

bool lint_schema(struct reader *reader, const char *schema, bool is_result) {
    static const char *const combined[] = {"oneOf", "anyOf", "allOf"};
    enum finding_rule rule = is_result ? FINDING_SCHEMA_RESULT_INVALID : FINDING_SCHEMA_INVALID;
    const char *of = is_result ? "result" : "arguments";
    char reason[READER_REASON_MAX];
    yyjson_val *root = yyjson_doc_get_root(reader_json(reader, schema, reason, sizeof reason));
    bool sound = false;
    if (root == NULL) {
        reader_report(reader, rule, "the schema of the %s cannot be read: %s", of, reason);
    } else if (!yyjson_is_obj(root)) {
        reader_report(reader, rule, "the schema of the %s is not a JSON object", of);
    } else if (!is_result && !yyjson_equals_str(yyjson_obj_get(root, "type"), "object")) {
        reader_report(reader, rule,
                      "the schema of the %s does not have \"type\": \"object\" at its root", of);
    } else {
        sound = true;
    }
    for (size_t i = 0; sound && !is_result && i < ARRAY_LENGTH(combined); i++) {
        if (yyjson_obj_get(root, combined[i]) != NULL) {
            reader_report(reader, FINDING_SCHEMA_ROOT, "the schema has %s at its root",
                          combined[i]);
        }
    }
    if (sound && !is_result) {
        lint_level(reader, root, 0);
        lint_headers(reader, schema, root);
    }
    reader_scratch_reset(reader);
    return sound && reader->failure == 0;
}
