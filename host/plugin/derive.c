/* The JSON Schema of a typed tool, made from its types.
 *
 * The text is the same for the same types, compact, and its properties are in the order of the
 * parameters: the binding of arguments relies on that. Everything was checked before, so only
 * memory can run out, which sets `failed` of the buffer. */
#include <string.h>

#include "plugin/reader.h"

/* Append a JSON text without the white space between its tokens. */
static void add_compact(struct buf *to, const char *json) {
    bool quoted = false;
    for (; *json != '\0'; json++) {
        if (!quoted && (*json == ' ' || *json == '\t' || *json == '\n' || *json == '\r')) {
            continue;
        }
        buf_add_char(to, *json);
        if (*json == '"') {
            quoted = !quoted;
        } else if (quoted && *json == '\\') {
            buf_add_char(to, *++json); /* the text was parsed: a character follows */
        }
    }
}

static void add_string(struct buf *to, const char *text) {
    buf_add_json_string(to, text, strlen(text));
}

/* Append a key, after a comma unless it is the `first`. */
static void add_key(struct buf *to, bool *first, const char *key) {
    if (!*first) {
        buf_add_char(to, ',');
    }
    *first = false;
    buf_add_char(to, '"');
    buf_add_text(to, key);
    buf_add(to, "\":", 2);
}

static void add_json_key(struct buf *to, bool *first, const char *key, const char *json) {
    if (json != NULL) {
        add_key(to, first, key);
        add_compact(to, json);
    }
}

static void add_string_key(struct buf *to, bool *first, const char *key, const char *value) {
    if (value != NULL) {
        add_key(to, first, key);
        add_string(to, value);
    }
}

static void add_uint_key(struct buf *to, bool *first, const char *key, uint64_t value) {
    if (value != 0) {
        add_key(to, first, key);
        buf_add_json_uint(to, value);
    }
}

static const char *type_name(uint32_t kind) {
    switch (kind) {
    case TR_KIND_NONE: return "null";
    case TR_KIND_BOOL: return "boolean";
    case TR_KIND_F32:
    case TR_KIND_F64: return "number";
    case TR_KIND_STRING:
    case TR_KIND_BYTES:
    case TR_KIND_ENUM: return "string";
    case TR_KIND_JSON: return NULL; /* any */
    case TR_KIND_ARRAY: return "array";
    case TR_KIND_STRUCT: return "object";
    default: return "integer";
    }
}

/* ------------------------------------------------------------- choices */

/* Whether a list of JSON values contains null. The values were checked against their type. */
static bool lists_null(const char *choices_json) {
    unsigned depth = 0;
    bool quoted = false;
    for (const char *c = choices_json; *c != '\0'; c++) {
        if (quoted) {
            quoted = *c != '"';
            c += *c == '\\';
        } else if (*c == '"') {
            quoted = true;
        } else if (*c == '[' || *c == '{') {
            depth++;
        } else if (*c == ']' || *c == '}') {
            depth--;
        } else if (*c == 'n' && depth == 1 && strncmp(c, "null", 4) == 0) {
            return true;
        }
    }
    return false;
}

static void add_enum(struct buf *to, bool *first, const struct tr_type *type,
                     const char *choices_json) {
    if (choices_json == NULL && type->kind != TR_KIND_ENUM) {
        return;
    }
    add_key(to, first, "enum");
    bool with_null = type_takes_null(type);
    if (choices_json != NULL) {
        add_compact(to, choices_json);
        if (with_null && !to->failed && !lists_null(choices_json)) {
            to->length--; /* remove the bracket */
            buf_add_text(to, ",null]");
        }
        return;
    }
    for (uint32_t i = 0; i < type->choice_count; i++) {
        buf_add_char(to, i == 0 ? '[' : ',');
        add_string(to, type->choices[i].name);
    }
    buf_add_text(to, with_null ? ",null]" : "]");
}

/* -------------------------------------------------------------- bounds */

/* The range of the C type where no narrower bound is stated. The range of int64_t and the maximum
 * of uint64_t are left out: few JSON parsers keep such numbers exact, and models need not see them.
 */
static void add_implied(struct buf *to, bool *first, uint32_t kind, bool low) {
    long double min;
    long double max;
    if (!kind_range(kind, &min, &max) || kind == TR_KIND_I64 || (kind == TR_KIND_U64 && !low)) {
        return;
    }
    add_key(to, first, low ? "minimum" : "maximum");
    buf_add_json_int(to, (int64_t)(low ? min : max));
}

static void add_bounds(struct buf *to, bool *first, uint32_t kind, const struct tr_param *param) {
    add_json_key(to, first, "minimum", param->minimum_json);
    add_json_key(to, first, "exclusiveMinimum", param->exclusive_minimum_json);
    if (param->minimum_json == NULL && param->exclusive_minimum_json == NULL) {
        add_implied(to, first, kind, true);
    }
    add_json_key(to, first, "maximum", param->maximum_json);
    add_json_key(to, first, "exclusiveMaximum", param->exclusive_maximum_json);
    if (param->maximum_json == NULL && param->exclusive_maximum_json == NULL) {
        add_implied(to, first, kind, false);
    }
    add_json_key(to, first, "multipleOf", param->multiple_of_json);
}

/* ------------------------------------------------------- schemas of types */

static void add_members(struct buf *to, bool *first, const struct tr_param *params, uint32_t count);

static void add_schema(struct buf *to, const struct tr_type *type, const struct tr_param *options) {
    bool first = true;
    buf_add_char(to, '{');
    const char *name = type_name(type->kind);
    if (name != NULL) {
        add_key(to, &first, "type");
        buf_add_text(to, type_takes_null(type) ? "[" : "");
        add_string(to, name);
        buf_add_text(to, type_takes_null(type) ? ",\"null\"]" : "");
    }
    if (options->description != NULL && options->description[0] != '\0') {
        add_string_key(to, &first, "description", options->description);
    }
    add_enum(to, &first, type, options->choices_json);
    add_json_key(to, &first, "default", options->default_json);
    switch (type->kind) {
    case TR_KIND_STRING:
        add_uint_key(to, &first, "minLength", options->min_length);
        add_uint_key(to, &first, "maxLength", options->max_length);
        add_string_key(to, &first, "pattern", options->pattern);
        add_string_key(to, &first, "format", options->format);
        break;
    case TR_KIND_BYTES:
        /* The length bounds apply to the bytes, not to this text: they are checked when it is
         * decoded. */
        add_key(to, &first, "contentEncoding");
        buf_add_text(to, "\"base64\"");
        break;
    case TR_KIND_ARRAY:
        add_key(to, &first, "items");
        add_schema(to, type->item, &(struct tr_param){0});
        add_uint_key(to, &first, "minItems", options->min_items);
        add_uint_key(to, &first, "maxItems", options->max_items);
        if ((options->flags & TR_PARAM_UNIQUE_ITEMS) != 0) {
            add_key(to, &first, "uniqueItems");
            buf_add_text(to, "true");
        }
        break;
    case TR_KIND_STRUCT: add_members(to, &first, type->fields, type->field_count); break;
    default:
        if (kind_is_number(type->kind)) {
            add_bounds(to, &first, type->kind, options);
        }
    }
    buf_add_char(to, '}');
}

static void add_required(struct buf *to, bool *first, const struct tr_param *params,
                         uint32_t count) {
    bool none = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct tr_param *param = &params[i];
        if (param->type->kind == TR_KIND_CALL || param->default_json != NULL ||
            (param->type->flags & TR_TYPE_OPTIONAL) != 0) {
            continue;
        }
        if (none) {
            add_key(to, first, "required");
        }
        buf_add_char(to, none ? '[' : ',');
        add_string(to, param->name);
        none = false;
    }
    if (!none) {
        buf_add_char(to, ']');
    }
}

/* Append the keywords of an object with only these members. */
static void add_members(struct buf *to, bool *first, const struct tr_param *params,
                        uint32_t count) {
    add_key(to, first, "properties");
    buf_add_char(to, '{');
    bool first_member = true;
    for (uint32_t i = 0; i < count; i++) {
        if (params[i].type->kind != TR_KIND_CALL) {
            add_key(to, &first_member, params[i].name);
            add_schema(to, params[i].type, &params[i]);
        }
    }
    buf_add_char(to, '}');
    add_required(to, first, params, count);
    add_key(to, first, "additionalProperties");
    buf_add_text(to, "false");
}

void derive_arguments(struct buf *to, const struct tr_param *params, uint32_t count) {
    bool first = false;
    buf_add_text(to, "{\"type\":\"object\"");
    add_members(to, &first, params, count);
    buf_add_char(to, '}');
}

void derive_result(struct buf *to, const struct tr_type *type, const char *description) {
    bool described = description != NULL && description[0] != '\0';
    if (type == NULL || type->kind == TR_KIND_NONE || (type->kind == TR_KIND_JSON && !described)) {
        return;
    }
    add_schema(to, type, &(struct tr_param){.description = description});
}
