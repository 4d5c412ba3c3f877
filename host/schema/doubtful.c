#include "schema/doubtful.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/name.h"
#include "schema/keyword.h"

/* Most bytes of a name or pattern that are shown. */
#define SHOWN_MAX 60

static bool is_among(const char *const *words, size_t count, const char *word) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* --------------------------------------------------------------------- values */

static bool is_list_of(yyjson_mut_val *value, bool (*is_one)(yyjson_mut_val *element)) {
    size_t at;
    size_t count;
    yyjson_mut_val *element;
    yyjson_mut_arr_foreach(value, at, count, element) {
        if (!is_one(element)) {
            return false;
        }
    }
    return yyjson_mut_arr_size(value) > 0;
}

static bool is_text(yyjson_mut_val *value) {
    return yyjson_mut_is_str(value);
}

static bool is_object(yyjson_mut_val *value) {
    return yyjson_mut_is_obj(value);
}

static bool is_map(yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *part;
    yyjson_mut_obj_foreach(value, at, count, key, part) {
        if (!yyjson_mut_is_obj(part)) {
            return false;
        }
    }
    return yyjson_mut_obj_size(value) > 0;
}

/* Whether a value is such as a keyword has: else the name is near by chance. */
static bool may_hold(enum shape shape, yyjson_mut_val *value) {
    switch (shape) {
    case SHAPE_BOOLEAN: return yyjson_mut_is_bool(value);
    case SHAPE_NUMBER:
    case SHAPE_POSITIVE:
    case SHAPE_COUNT: return yyjson_mut_is_num(value) || yyjson_mut_is_raw(value);
    case SHAPE_ARRAY: return yyjson_mut_is_arr(value);
    case SHAPE_NAMES: return is_list_of(value, is_text);
    case SHAPE_TYPES: return yyjson_mut_is_str(value) || is_list_of(value, is_text);
    case SHAPE_SCHEMA: return yyjson_mut_is_obj(value) || yyjson_mut_is_bool(value);
    case SHAPE_SCHEMAS: return is_list_of(value, is_object);
    case SHAPE_ITEMS: return yyjson_mut_is_obj(value);
    case SHAPE_NAMES_MAP:
    case SHAPE_SCHEMA_MAP:
    case SHAPE_DEPENDENCIES: return is_map(value);
    case SHAPE_URI:
    case SHAPE_STRING: return yyjson_mut_is_str(value);
    default: return false;
    }
}

/* ------------------------------------------------------------------- the root */

/* Whether the schema says something of properties, or that another schema does. */
static bool has_parts(yyjson_mut_val *schema) {
    static const char *const parts[] = {
            "properties", "patternProperties", "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf",
            "if"};
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        if (yyjson_mut_obj_get(schema, parts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool looks_like_schema(yyjson_mut_val *value) {
    static const char *const signs[] = {"$ref", "enum", "anyOf", "oneOf", "properties"};
    yyjson_mut_val *type = yyjson_mut_obj_get(value, "type");
    bool looks = yyjson_mut_is_str(type) || yyjson_mut_is_arr(type);
    for (size_t i = 0; !looks && i < ARRAY_LENGTH(signs); i++) {
        looks = yyjson_mut_obj_get(value, signs[i]) != NULL;
    }
    return looks;
}

/* Whether a member holds the schema of a whole definition, as the formats of providers have it. */
static bool is_wrapper(const char *key, yyjson_mut_val *value) {
    static const char *const keys[] = {"inputSchema", "input_schema", "parameters",  "schema",
                                       "jsonSchema",  "json_schema",  "args_schema", "function"};
    bool has_schema = yyjson_mut_obj_get(value, "properties") != NULL ||
                      json_mut_has_text(yyjson_mut_obj_get(value, "type"), "object") ||
                      yyjson_mut_obj_get(value, "parameters") != NULL ||
                      yyjson_mut_is_obj(yyjson_mut_arr_get_first(value));
    return has_schema && is_among(keys, ARRAY_LENGTH(keys), key);
}

/* Whether a member is a keyword, with such a value as it has. */
static bool is_keyword(const char *key, yyjson_mut_val *value) {
    for (unsigned i = 0; i < KEYWORD_COUNT; i++) {
        if (strcmp(keyword_rows[i].name, key) == 0 && may_hold(keyword_rows[i].shape, value)) {
            return true;
        }
    }
    return false;
}

/* Whether a member of that name holds a value, or is of no schema. */
static bool holds_value(const char *key) {
    static const char *const keys[] = {"default", "const",        "example",
                                       "xml",     "externalDocs", "discriminator"};
    return strncmp(key, "x-", 2) == 0 || is_among(keys, ARRAY_LENGTH(keys), key);
}

bool doubtful_root(yyjson_mut_val *schema, struct doubt *ret) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    if (has_parts(schema)) {
        return false;
    }
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        ret->key = yyjson_mut_get_str(key);
        if (is_wrapper(ret->key, value)) {
            (void)snprintf(ret->cause, sizeof ret->cause,
                           "the schema has no properties: what is in its member \"%s\" is not read",
                           ret->key);
            (void)snprintf(ret->fix, sizeof ret->fix,
                           yyjson_mut_is_arr(value) ? "write the elements of %s as members of "
                                                      "\"properties\""
                                                    : "write the schema in %s in place of this one",
                           ret->key);
            return true;
        }
    }
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        ret->key = yyjson_mut_get_str(key);
        if (!holds_value(ret->key) && !is_keyword(ret->key, value) && looks_like_schema(value)) {
            (void)snprintf(ret->cause, sizeof ret->cause,
                           "the schema has no properties, and a member that looks like one is not "
                           "read: %.*s",
                           SHOWN_MAX, ret->key);
            (void)snprintf(ret->fix, sizeof ret->fix, "put it into \"properties\"");
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- keywords */

/* Members of other dialects, which are near keywords. */
static bool is_of_others(const char *name) {
    static const char *const names[] = {"example", "id",      "nullable", "strict",
                                        "extends", "comment", "typeof"};
    return strncmp(name, "x-", 2) == 0 || is_among(names, ARRAY_LENGTH(names), name);
}

/* The keyword that a name of none was meant to be; NULL: none is near. */
static const char *find_near(const char *name, yyjson_mut_val *value) {
    struct nearest nearest = nearest_to(name);
    for (unsigned i = 0; i < KEYWORD_COUNT; i++) {
        const struct keyword_row *row = &keyword_rows[i];
        if (strcmp(row->name, name) == 0) {
            return NULL;
        }
        if ((row->vocabularies & (VOCABULARY_APPLICATOR | VOCABULARY_VALIDATION |
                                  VOCABULARY_UNEVALUATED | VOCABULARY_CORE)) != 0 &&
            may_hold(row->shape, value)) {
            (void)nearest_try(&nearest, row->name);
        }
    }
    return is_of_others(name) ? NULL : nearest.name;
}

/* ------------------------------------------------------------------- patterns */

/* Whether a pattern is a literal of JavaScript, "/.../flags"; a path as "/etc/" is none. */
static bool is_literal(const char *pattern, size_t *ret_length, const char **ret_flags) {
    const char *last = strrchr(pattern, '/');
    if (pattern[0] != '/' || last < pattern + 2 || last[1 + strspn(last + 1, "dgimsuvy")] != '\0') {
        return false;
    }
    *ret_length = (size_t)(last - pattern) - 1;
    *ret_flags = last + 1;
    size_t plain = strcspn(pattern + 1, "[(\\+*?");
    return pattern[1] == '^' || last[-1] == '$' || (last[1] != '\0' && plain < *ret_length);
}

bool doubtful_member(yyjson_mut_val *key, yyjson_mut_val *value, struct doubt *ret) {
    const char *pattern = yyjson_mut_get_str(value);
    const char *flags;
    size_t length;
    ret->key = yyjson_mut_get_str(key);
    if (strcmp(ret->key, "pattern") == 0 && pattern != NULL &&
        is_literal(pattern, &length, &flags)) {
        (void)snprintf(ret->cause, sizeof ret->cause,
                       "the pattern \"%.*s\" has the slashes of a literal of JavaScript, which it "
                       "takes for characters",
                       SHOWN_MAX, pattern);
        (void)snprintf(ret->fix, sizeof ret->fix, "write \"%.*s\"%s",
                       (int)(length < SHOWN_MAX ? length : SHOWN_MAX), pattern + 1,
                       strchr(flags, 'i') != NULL ? ", and both cases of its letters, such as [Aa]"
                                                  : "");
        return true;
    }
    const char *near = find_near(ret->key, value);
    if (near == NULL) {
        return false;
    }
    (void)snprintf(ret->cause, sizeof ret->cause,
                   "\"%.*s\" is no keyword of JSON Schema, and is not checked", SHOWN_MAX,
                   ret->key);
    (void)snprintf(ret->fix, sizeof ret->fix, "did you mean \"%s\"?", near);
    return true;
}
