/* OpenAI's strict mode, in which a model's arguments always match the schema.
 *
 * A schema meets it when its meaning need not change: every property is required, the mode knows
 * every keyword, and objects list their properties; the objects are then closed. Optional
 * properties would have to become required ones that may be null, and the tool would get nulls that
 * its schema does not allow. Such a tool is exported without strict mode. */
#include "format/schema-strict.h"

#include <string.h>

#include "base/cleanup.h"
#include "format/schema-keyword.h"

#define STRICT_DEPTH_MAX      10u
#define STRICT_PROPERTIES_MAX 5000u
#define STRICT_ENUM_MAX       1000u   /* values of all enums together */
#define STRICT_TEXT_MAX       120000u /* bytes of names, enums and constants */

struct strict {
    struct rewrite *rewrite;
    size_t properties;
    size_t choices;
    size_t text;
    bool why_not; /* not strict, and the reason is in the report */
};

static void not_strict(struct strict *strict, const struct place *place, const char *why,
                       const char *what) {
    if (!strict->why_not) {
        format_report_add(strict->rewrite->report, "not-strict", place, "%s%s", why, what);
    }
    strict->why_not = true;
}

/* Check that exactly the listed properties are required. */
static void check_object(struct strict *strict, const struct place *place, yyjson_mut_val *schema) {
    yyjson_mut_val *properties = yyjson_mut_obj_get(schema, "properties");
    yyjson_mut_val *required = yyjson_mut_obj_get(schema, "required");
    yyjson_mut_val *more = yyjson_mut_obj_get(schema, "additionalProperties");
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    if (more != NULL && !yyjson_mut_is_false(more)) {
        not_strict(strict, place, "an object allows properties that it does not list", "");
    }
    if (properties == NULL ||
        (yyjson_mut_obj_size(properties) == 0 && place->up != NULL && more == NULL)) {
        not_strict(strict, place, "an object does not list its properties", "");
    }
    yyjson_mut_obj_foreach(properties, at, count, key, value) {
        strict->properties++;
        strict->text += yyjson_mut_get_len(key);
        if (count > REWRITE_REQUIRED_MAX ||
            !rewrite_lists(required, yyjson_mut_get_str(key), yyjson_mut_get_len(key))) {
            not_strict(strict, place, "a property is not required: ", yyjson_mut_get_str(key));
            return;
        }
    }
    if (yyjson_mut_arr_size(required) != yyjson_mut_obj_size(properties)) {
        not_strict(strict, place, "a required name is not a property", "");
    }
}

static void check_choices(struct strict *strict, yyjson_mut_val *list) {
    size_t at;
    size_t count;
    yyjson_mut_val *value;
    yyjson_mut_arr_foreach(list, at, count, value) {
        strict->choices++;
        strict->text += yyjson_mut_get_len(value) * yyjson_mut_is_str(value);
    }
}

static void check_format(struct strict *strict, const struct place *place, yyjson_mut_val *format) {
    static const char *const known[] = {"date-time", "time", "date", "duration", "email",
                                        "hostname",  "ipv4", "ipv6", "uuid"};
    for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
        if (yyjson_mut_equals_str(format, known[i])) {
            return;
        }
    }
    not_strict(strict, place, "strict mode does not accept the format ",
               yyjson_mut_get_str(format));
}

static void check_schema(struct strict *strict, const struct place *up, const char *key,
                         size_t index, yyjson_mut_val *schema);

static void check_below(struct strict *strict, const struct place *place, const char *key,
                        yyjson_mut_val *value) {
    struct place here = {.up = place, .key = key, .depth = place->depth};
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *child;
    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_foreach(value, at, count, child) {
            check_schema(strict, &here, NULL, at, child);
        }
    } else {
        yyjson_mut_obj_foreach(value, at, count, name, child) {
            check_schema(strict, &here, yyjson_mut_get_str(name), 0, child);
        }
    }
}

static void check_members(struct strict *strict, const struct place *place,
                          yyjson_mut_val *schema) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        const char *name = yyjson_mut_get_str(key);
        enum format_keyword keyword = format_keyword_find(name, yyjson_mut_get_len(key));
        if ((format_keywords[keyword].traits & TRAIT_STRICT) == 0) {
            not_strict(strict, place, "strict mode does not accept ", name);
            return;
        }
        switch (keyword) {
        case KEYWORD_PROPERTIES:
        case KEYWORD_DEFS:
        case KEYWORD_ANY_OF: check_below(strict, place, name, value); break;
        case KEYWORD_ITEMS: check_schema(strict, place, name, 0, value); break;
        case KEYWORD_ENUM: check_choices(strict, value); break;
        case KEYWORD_FORMAT: check_format(strict, place, value); break;
        default: break;
        }
    }
}

static bool may_be(yyjson_mut_val *type, const char *name) {
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(type, at, count, item) {
        if (yyjson_mut_equals_str(item, name)) {
            return true;
        }
    }
    return yyjson_mut_equals_str(type, name);
}

static void check_schema(struct strict *strict, const struct place *up, const char *key,
                         size_t index, yyjson_mut_val *schema) {
    struct place place = {
            .up = up, .key = key, .index = index, .depth = up != NULL ? up->depth + 1 : 0};
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    if (strict->why_not) {
        return;
    }
    if (place.depth > STRICT_DEPTH_MAX) {
        not_strict(strict, &place, "it is nested deeper than strict mode allows", "");
    } else if (type == NULL && yyjson_mut_obj_get(schema, "anyOf") == NULL &&
               yyjson_mut_obj_get(schema, "$ref") == NULL &&
               yyjson_mut_obj_get(schema, "enum") == NULL &&
               yyjson_mut_obj_get(schema, "const") == NULL) {
        not_strict(strict, &place, "any value is allowed", "");
    } else {
        if (may_be(type, "object") || yyjson_mut_obj_get(schema, "properties") != NULL) {
            check_object(strict, &place, schema);
        }
        if (may_be(type, "array") &&
            yyjson_mut_obj_size(yyjson_mut_obj_get(schema, "items")) == 0) {
            not_strict(strict, &place, "any item is allowed in an array", "");
        }
        check_members(strict, &place, schema);
    }
}

/* --------------------------------------------------------------- closing */

/* Close one object. @return whether it was open. */
static bool close_object(struct rewrite *rewrite, yyjson_mut_val *schema) {
    if (!may_be(yyjson_mut_obj_get(schema, "type"), "object") &&
        yyjson_mut_obj_get(schema, "properties") == NULL) {
        return false;
    }
    if (yyjson_mut_obj_get(schema, "required") == NULL) {
        rewrite_put(rewrite, schema, "required", yyjson_mut_arr(rewrite->doc));
    }
    if (yyjson_mut_obj_get(schema, "additionalProperties") != NULL) {
        return false;
    }
    rewrite_put(rewrite, schema, "additionalProperties", yyjson_mut_false(rewrite->doc));
    return true;
}

/* The same for a schema and all below, for a list of schemas, or for a map of them. */
static bool close_objects(struct rewrite *rewrite, yyjson_mut_val *value, bool is_schema) {
    bool closed = false;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *child;
    yyjson_mut_arr_foreach(value, at, count, child) {
        closed = close_objects(rewrite, child, true) || closed;
    }
    yyjson_mut_obj_foreach(value, at, count, key, child) {
        enum format_keyword keyword =
                format_keyword_find(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        bool is_map = keyword == KEYWORD_PROPERTIES || keyword == KEYWORD_DEFS;
        if (!is_schema || is_map || keyword == KEYWORD_ITEMS || keyword == KEYWORD_ANY_OF) {
            closed = close_objects(rewrite, child, !is_schema || !is_map) || closed;
        }
    }
    if (is_schema && yyjson_mut_is_obj(value)) {
        closed = close_object(rewrite, value) || closed;
    }
    return closed;
}

bool rewrite_close_strict(struct rewrite *rewrite, yyjson_mut_val *schema) {
    struct strict strict = {.rewrite = rewrite};
    struct place root = {.up = NULL};
    check_schema(&strict, NULL, NULL, 0, schema);
    if (strict.properties > STRICT_PROPERTIES_MAX || strict.choices > STRICT_ENUM_MAX ||
        strict.text > STRICT_TEXT_MAX) {
        not_strict(&strict, &root, "it is larger than strict mode allows", "");
    }
    if (strict.why_not) {
        return false;
    }
    if (close_objects(rewrite, schema, true)) {
        format_report_add(rewrite->report, "rewritten", &root,
                          "additionalProperties is false, as strict mode requires");
    }
    return true;
}
