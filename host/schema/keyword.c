#include "schema/keyword.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/number.h"
#include "schema/schema.h"

const struct keyword_row keyword_rows[KEYWORD_COUNT] = {
#define KEYWORD_ROW(constant, name, drafts, vocabularies, shape) \
    {name, drafts, vocabularies, shape},
        KEYWORDS(KEYWORD_ROW)
#undef KEYWORD_ROW
};

enum keyword keyword_find(const struct dialect *dialect, yyjson_val *name) {
    return keyword_find_name(dialect, yyjson_get_str(name), yyjson_get_len(name));
}

enum keyword keyword_find_name(const struct dialect *dialect, const char *text, size_t length) {
    for (unsigned i = 0; i < KEYWORD_COUNT; i++) {
        const struct keyword_row *row = &keyword_rows[i];
        bool known = (row->drafts & dialect->draft) != 0 &&
                     (row->vocabularies & dialect->vocabularies) != 0;
        if (known && strlen(row->name) == length && memcmp(row->name, text, length) == 0) {
            return (enum keyword)i;
        }
    }
    return KEYWORD_COUNT;
}

const char *keyword_kind(yyjson_val *value) {
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL: return "null";
    case YYJSON_TYPE_BOOL: return "a boolean";
    case YYJSON_TYPE_NUM: return yyjson_is_real(value) ? "a number" : "an integer";
    case YYJSON_TYPE_RAW: return number_of(value).is_integer ? "an integer" : "a number";
    case YYJSON_TYPE_STR: return "a string";
    case YYJSON_TYPE_ARR: return "an array";
    case YYJSON_TYPE_OBJ: return "an object";
    default: return "nothing";
    }
}

static bool must_be(struct text *reason, const char *what, yyjson_val *value) {
    text_printf(reason, "must be %s, not ", what);
    if (yyjson_is_real(value)) {
        text_add_value(reason, value); /* the value 1.5 is more helpful than "a number" */
    } else {
        text_printf(reason, "%s", keyword_kind(value));
    }
    return false;
}

static bool check_schema(yyjson_val *value, struct text *reason) {
    return yyjson_is_obj(value) || yyjson_is_bool(value) ||
           must_be(reason, "a schema (an object or a boolean)", value);
}

/* Names must be unique. There are few, so each is compared with all before it. */
static bool check_names(yyjson_val *value, yyjson_val **ret_at, struct text *reason) {
    if (!yyjson_is_arr(value)) {
        return must_be(reason, "an array of names", value);
    }
    if (yyjson_arr_size(value) > SCHEMA_REQUIRED_MAX) {
        text_printf(reason, "has more than %d names, which is the most that is checked",
                    SCHEMA_REQUIRED_MAX);
        return false;
    }
    size_t i = 0;
    size_t count = 0;
    yyjson_val *name = NULL;
    yyjson_arr_foreach (value, i, count, name) {
        *ret_at = name;
        if (!yyjson_is_str(name)) {
            return must_be(reason, "a string", name);
        }
        for (yyjson_val *other = unsafe_yyjson_get_first(value); other < name; other++) {
            if (yyjson_equals_strn(other, yyjson_get_str(name), yyjson_get_len(name))) {
                text_printf(reason, "repeats the name ");
                text_add_value(reason, name);
                return false;
            }
        }
    }
    return true;
}

static bool check_type_name(yyjson_val *value, struct text *reason) {
    static const char *const names[] = {"null",    "boolean", "object", "array",
                                        "integer", "number",  "string"};
    /* Names of the types in other languages. */
    static const char *const meant[][2] = {
            {"dict", "object"},  {"map", "object"},    {"list", "array"},  {"tuple", "array"},
            {"float", "number"}, {"double", "number"}, {"int", "integer"}, {"bool", "boolean"},
            {"str", "string"},   {"text", "string"},   {"none", "null"},   {"None", "null"},
    };
    if (!yyjson_is_str(value)) {
        return must_be(reason, "the name of a type", value);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (yyjson_equals_str(value, names[i])) {
            return true;
        }
    }
    text_printf(reason, "must be null, boolean, object, array, integer, number or string, not ");
    text_add_value(reason, value);
    for (size_t i = 0; i < ARRAY_LENGTH(meant); i++) {
        if (yyjson_equals_str(value, meant[i][0])) {
            text_printf(reason, "; did you mean \"%s\"?", meant[i][1]);
        }
    }
    return false;
}

static bool check_types(yyjson_val *value, yyjson_val **ret_at, struct text *reason) {
    if (!yyjson_is_arr(value)) {
        return check_type_name(value, reason);
    }
    if (yyjson_arr_size(value) == 0) {
        text_printf(reason, "must name at least one type");
        return false;
    }
    size_t i = 0;
    size_t count = 0;
    yyjson_val *name = NULL;
    yyjson_arr_foreach (value, i, count, name) {
        *ret_at = name;
        if (!check_type_name(name, reason)) {
            return false;
        }
    }
    return true;
}

static bool check_schemas(yyjson_val *value, yyjson_val **ret_at, struct text *reason) {
    if (!yyjson_is_arr(value)) {
        return must_be(reason, "an array of schemas", value);
    }
    if (yyjson_arr_size(value) == 0) {
        text_printf(reason, "must hold at least one schema");
        return false;
    }
    size_t i = 0;
    size_t count = 0;
    yyjson_val *item = NULL;
    yyjson_arr_foreach (value, i, count, item) {
        *ret_at = item;
        if (!check_schema(item, reason)) {
            return false;
        }
    }
    return true;
}

/* A map whose values all have the required shape. */
static bool check_map(enum shape shape, yyjson_val *value, yyjson_val **ret_at,
                      struct text *reason) {
    if (!yyjson_is_obj(value)) {
        return must_be(reason, "an object", value);
    }
    size_t i = 0;
    size_t count = 0;
    yyjson_val *key = NULL;
    yyjson_val *item = NULL;
    json_obj_foreach (value, i, count, key, item) {
        enum shape inner = shape;
        if (shape == SHAPE_DEPENDENCIES) {
            inner = yyjson_is_arr(item) ? SHAPE_NAMES : SHAPE_SCHEMA;
        }
        *ret_at = item;
        if (!keyword_check(inner, item, ret_at, reason)) {
            return false;
        }
    }
    return true;
}

bool keyword_check(enum shape shape, yyjson_val *value, yyjson_val **ret_at, struct text *reason) {
    *ret_at = value;
    switch (shape) {
    case SHAPE_ANY: return true;
    case SHAPE_BOOLEAN: return yyjson_is_bool(value) || must_be(reason, "a boolean", value);
    case SHAPE_STRING:
    case SHAPE_URI: return yyjson_is_str(value) || must_be(reason, "a string", value);
    case SHAPE_ANCHOR: {
        const char *text = yyjson_get_str(value);
        size_t length = yyjson_get_len(value);
        bool valid = text != NULL && length > 0 && ascii_is_word_start(text[0]);
        for (size_t i = 1; valid && i < length; i++) {
            valid = ascii_is_word(text[i]) || text[i] == '-' || text[i] == '.';
        }
        if (text == NULL) {
            return must_be(reason, "a string", value);
        }
        if (!valid) {
            text_printf(reason, "must be a word of letters, digits, _, - and . that begins with a "
                                "letter or _");
        }
        return valid;
    }
    case SHAPE_NUMBER: return number_is(value) || must_be(reason, "a number", value);
    case SHAPE_POSITIVE:
        if (!number_is(value)) {
            return must_be(reason, "a number", value);
        }
        if (number_compare(number_of(value), (struct number){.is_integer = true}) <= 0) {
            text_printf(reason, "must be greater than 0");
            return false;
        }
        return true;
    case SHAPE_COUNT:
        if (!number_is(value) || !number_is_whole(value)) {
            return must_be(reason, "a whole number", value);
        }
        if (number_compare(number_of(value), (struct number){.is_integer = true}) < 0) {
            text_printf(reason, "must not be negative");
            return false;
        }
        return true;
    case SHAPE_ARRAY: return yyjson_is_arr(value) || must_be(reason, "an array", value);
    case SHAPE_NAMES: return check_names(value, ret_at, reason);
    case SHAPE_NAMES_MAP: return check_map(SHAPE_NAMES, value, ret_at, reason);
    case SHAPE_TYPES: return check_types(value, ret_at, reason);
    case SHAPE_BOOLEAN_MAP: return check_map(SHAPE_BOOLEAN, value, ret_at, reason);
    case SHAPE_SCHEMA: return check_schema(value, reason);
    case SHAPE_SCHEMAS: return check_schemas(value, ret_at, reason);
    case SHAPE_SCHEMA_MAP: return check_map(SHAPE_SCHEMA, value, ret_at, reason);
    case SHAPE_DEPENDENCIES: return check_map(SHAPE_DEPENDENCIES, value, ret_at, reason);
    case SHAPE_ITEMS:
        if (yyjson_is_arr(value) && yyjson_arr_size(value) == 0) {
            return true; /* draft 7's specification allows it, though its metaschema does not */
        }
        return yyjson_is_arr(value) ? check_schemas(value, ret_at, reason)
                                    : check_schema(value, reason);
    }
    return true;
}

uint32_t keyword_vocabulary(const char *uri, size_t length) {
    static const char *const names[] = {"core",       "applicator",      "unevaluated",
                                        "validation", "meta-data",       "format-annotation",
                                        "content",    "format-assertion"};
    static const char *const prefixes[] = {"https://json-schema.org/draft/2020-12/vocab/",
                                           "https://json-schema.org/draft/2019-09/vocab/"};
    for (size_t p = 0; p < ARRAY_LENGTH(prefixes); p++) {
        size_t prefix = strlen(prefixes[p]);
        for (size_t i = 0; length > prefix && i < ARRAY_LENGTH(names); i++) {
            if (memcmp(uri, prefixes[p], prefix) == 0 && strlen(names[i]) == length - prefix &&
                memcmp(uri + prefix, names[i], length - prefix) == 0) {
                return 1u << i;
            }
        }
    }
    return 0;
}
