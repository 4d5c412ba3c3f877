/* OpenAI's strict mode, in which a model's arguments always match the schema.
 *
 * A schema meets it when its meaning need not change: every property is required, the mode knows
 * every keyword, and objects list their properties; the objects are then closed. Optional
 * properties would have to become required ones that may be null: so they do, if the tool's schema
 * allows null there and has no other default; else the tool would get nulls that it does not
 * expect, and is exported without strict mode.
 *
 * The mode refuses a whole request for a `$ref` with anything beside it: the definition is then
 * copied to the place, if what is beside it only describes. It wants a type beside the values of
 * an enum: the one that all have is added. It has no pattern that looks ahead or behind. */
#include "format/schema-strict.h"

#include <string.h>

/* References that are replaced by their definitions: each may contain others. */
#define COPIES_MAX         256u
/* Schemas, behind references and in alternatives, that are looked at for one that allows null. */
#define NULLABLE_TRIED_MAX 64u

#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "format/schema-keyword.h"

struct strict {
    struct rewrite *rewrite;
    const struct strict_limits *limits;
    size_t properties;
    size_t choices;
    size_t copies;
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

/* Whether a schema says plainly that it allows null, also by way of references and alternatives. */
static bool looks_nullable(struct rewrite *rewrite, yyjson_mut_val *schema, unsigned *left) {
    const char *reference = yyjson_mut_get_str(yyjson_mut_obj_get(schema, "$ref"));
    yyjson_mut_val *choices = yyjson_mut_obj_get(schema, "enum");
    yyjson_mut_val *constant = yyjson_mut_obj_get(schema, "const");
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    yyjson_mut_val *several = yyjson_mut_obj_get(schema, "anyOf");
    bool allows = several == NULL;
    size_t at;
    size_t count;
    yyjson_mut_val *one;
    if (*left == 0) {
        return false;
    }
    --*left;
    if (reference != NULL) {
        return looks_nullable(rewrite, rewrite_resolve(rewrite, reference), left);
    }
    yyjson_mut_arr_foreach(several, at, count, one) {
        allows = allows || looks_nullable(rewrite, one, left);
    }
    bool is_choice = choices == NULL;
    yyjson_mut_arr_foreach(choices, at, count, one) {
        is_choice = is_choice || yyjson_mut_is_null(one);
    }
    return allows && is_choice && (constant == NULL || yyjson_mut_is_null(constant)) &&
           (type != NULL ? json_mut_has_text(type, "null")
                         : several != NULL || choices != NULL || constant != NULL);
}

static bool allows_null(struct rewrite *rewrite, yyjson_mut_val *schema) {
    unsigned left = NULLABLE_TRIED_MAX;
    return looks_nullable(rewrite, schema, &left);
}

/* Whether a property that is not required may become so: the model then writes null. */
static bool may_be_required(struct rewrite *rewrite, yyjson_mut_val *schema) {
    yyjson_mut_val *known = yyjson_mut_obj_get(schema, "default");
    return allows_null(rewrite, schema) && (known == NULL || yyjson_mut_is_null(known));
}

/* Check that each of the listed properties is required, or may be. */
static void check_object(struct strict *strict, const struct place *place, yyjson_mut_val *schema) {
    yyjson_mut_val *properties = yyjson_mut_obj_get(schema, "properties");
    yyjson_mut_val *required = yyjson_mut_obj_get(schema, "required");
    yyjson_mut_val *more = yyjson_mut_obj_get(schema, "additionalProperties");
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    size_t listed = 0; /* of `required` */
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
        bool is_required =
                count <= REWRITE_REQUIRED_MAX &&
                rewrite_lists(required, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        if (count > REWRITE_REQUIRED_MAX ||
            (!is_required && !may_be_required(strict->rewrite, value))) {
            not_strict(strict, place, "a property is not required: ", yyjson_mut_get_str(key));
            return;
        }
        listed += is_required;
    }
    if (yyjson_mut_arr_size(required) != listed) {
        not_strict(strict, place, "a required name is not a property", "");
    }
}

static void check_choices(struct strict *strict, const struct place *place, yyjson_mut_val *list) {
    const struct strict_limits *limits = strict->limits;
    size_t characters = 0;
    size_t at;
    size_t count;
    yyjson_mut_val *value;
    yyjson_mut_arr_foreach(list, at, count, value) {
        if (yyjson_mut_is_str(value)) {
            strict->text += yyjson_mut_get_len(value);
            characters += utf8_count(yyjson_mut_get_str(value), yyjson_mut_get_len(value));
        }
    }
    strict->choices += count;
    if (count > limits->long_enum && characters > limits->long_enum_text) {
        not_strict(strict, place, "the values of an enum are longer than strict mode allows", "");
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

/* Whether a pattern looks ahead or behind: "(?=", "(?!", "(?<=" or "(?<!". */
static bool looks_around(const char *pattern) {
    bool in_class = false;
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '\\' && pattern[1] != '\0') {
            pattern++;
        } else if (in_class || *pattern == '[') {
            in_class = *pattern != ']';
        } else if (strncmp(pattern, "(?", 2) == 0) {
            char what = pattern[2] == '<' ? pattern[3] : pattern[2];
            if (what == '=' || what == '!') {
                return true;
            }
        }
    }
    return false;
}

static void check_pattern(struct strict *strict, const struct place *place,
                          yyjson_mut_val *pattern) {
    const char *text = yyjson_mut_get_str(pattern);
    if (text != NULL && looks_around(text)) {
        not_strict(strict, place,
                   "strict mode does not accept a pattern that looks ahead or behind", "");
    }
}

static const char *type_of(yyjson_mut_val *value) {
    return yyjson_mut_is_str(value)    ? "string"
           : yyjson_mut_is_int(value)  ? "integer"
           : yyjson_mut_is_num(value)  ? "number"
           : yyjson_mut_is_bool(value) ? "boolean"
           : yyjson_mut_is_null(value) ? "null"
                                       : NULL;
}

/* The type that all values of a schema's const or enum have; NULL: they have several, or one that
 * strict mode does not know as a choice. */
static const char *type_of_choices(yyjson_mut_val *schema) {
    yyjson_mut_val *constant = yyjson_mut_obj_get(schema, "const");
    const char *common = NULL;
    size_t at;
    size_t count;
    yyjson_mut_val *value;
    if (constant != NULL) {
        return type_of(constant);
    }
    yyjson_mut_arr_foreach(yyjson_mut_obj_get(schema, "enum"), at, count, value) {
        const char *type = type_of(value);
        if (type == NULL || (common != NULL && strcmp(type, common) != 0)) {
            return NULL;
        }
        common = type;
    }
    return common;
}

/* Whether a schema has an enum or const, and no type. */
static bool lacks_type(yyjson_mut_val *schema) {
    return yyjson_mut_obj_get(schema, "type") == NULL &&
           (yyjson_mut_obj_get(schema, "enum") != NULL ||
            yyjson_mut_obj_get(schema, "const") != NULL);
}

static void check_schema(struct strict *strict, const struct place *up, const char *key,
                         size_t index, yyjson_mut_val *schema);

static bool is_lone_reference(yyjson_mut_val *schema) {
    return yyjson_mut_obj_size(schema) == 1;
}

/* Check that a reference has nothing beside it, or that what it refers to can be in its place. */
static void check_reference(struct strict *strict, struct place *place, yyjson_mut_val *schema) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    if (is_lone_reference(schema) && place->index != PLACE_SAME) {
        return;
    }
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        if (!yyjson_mut_equals_str(key, "$ref") && !yyjson_mut_equals_str(key, "title") &&
            !yyjson_mut_equals_str(key, "description")) {
            not_strict(strict, place,
                       "strict mode does not accept beside $ref: ", yyjson_mut_get_str(key));
            return;
        }
    }
    const char *reference = yyjson_mut_get_str(yyjson_mut_obj_get(schema, "$ref"));
    yyjson_mut_val *target = rewrite_resolve(strict->rewrite, reference);
    if (!yyjson_mut_is_obj(target) || rewrite_is_inside(place, target)) {
        not_strict(strict, place, "strict mode does not accept a description or title beside $ref ",
                   reference);
    } else if (++strict->copies > COPIES_MAX) {
        not_strict(strict, place, "too many references have a description or title beside them",
                   "");
    } else {
        place->target = target;
        check_schema(strict, place, NULL, PLACE_SAME, target);
    }
}

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
        bool is_null_default = keyword == KEYWORD_DEFAULT && yyjson_mut_is_null(value) &&
                               place->up != NULL && allows_null(strict->rewrite, schema);
        if ((format_keywords[keyword].traits & TRAIT_STRICT) == 0 && !is_null_default) {
            not_strict(strict, place, "strict mode does not accept ", name);
            return;
        }
        switch (keyword) {
        case KEYWORD_PROPERTIES:
        case KEYWORD_DEFS:
        case KEYWORD_ANY_OF: check_below(strict, place, name, value); break;
        case KEYWORD_ITEMS: check_schema(strict, place, name, 0, value); break;
        case KEYWORD_ENUM: check_choices(strict, place, value); break;
        case KEYWORD_FORMAT: check_format(strict, place, value); break;
        case KEYWORD_PATTERN: check_pattern(strict, place, value); break;
        default: break;
        }
    }
}

static void check_schema(struct strict *strict, const struct place *up, const char *key,
                         size_t index, yyjson_mut_val *schema) {
    struct place place = {.up = up,
                          .key = key,
                          .index = index,
                          .depth = up != NULL ? up->depth + (index != PLACE_SAME) : 0};
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    if (strict->why_not) {
        return;
    }
    if (place.depth > strict->limits->depth) {
        not_strict(strict, &place, "it is nested deeper than strict mode allows", "");
    } else if (type == NULL && yyjson_mut_obj_get(schema, "anyOf") == NULL &&
               yyjson_mut_obj_get(schema, "$ref") == NULL &&
               yyjson_mut_obj_get(schema, "enum") == NULL &&
               yyjson_mut_obj_get(schema, "const") == NULL) {
        not_strict(strict, &place, "any value is allowed", "");
    } else if (yyjson_mut_obj_get(schema, "$ref") != NULL) {
        check_reference(strict, &place, schema);
    } else if (lacks_type(schema) &&
               (yyjson_mut_obj_get(schema, "anyOf") != NULL || type_of_choices(schema) == NULL)) {
        not_strict(strict, &place, "strict mode requires one type for the values of an enum", "");
    } else {
        if (json_mut_has_text(type, "object") || yyjson_mut_obj_get(schema, "properties") != NULL) {
            check_object(strict, &place, schema);
        }
        if (json_mut_has_text(type, "array") &&
            yyjson_mut_obj_size(yyjson_mut_obj_get(schema, "items")) == 0) {
            not_strict(strict, &place, "any item is allowed in an array", "");
        }
        check_members(strict, &place, schema);
    }
}

/* --------------------------------------------------------------- closing */

/* What closing has changed. */
struct closing {
    struct rewrite *rewrite;
    bool closed;
    bool required;
    bool typed;
    bool copied;
};

/* Require all properties. */
static void require_all(struct closing *closing, yyjson_mut_val *schema) {
    yyjson_mut_val *properties = yyjson_mut_obj_get(schema, "properties");
    yyjson_mut_val *required = yyjson_mut_obj_get(schema, "required");
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(properties, at, count, key, value) {
        if (!rewrite_lists(required, yyjson_mut_get_str(key), yyjson_mut_get_len(key))) {
            yyjson_mut_val *name = yyjson_mut_strncpy(
                    closing->rewrite->doc, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
            rewrite_check(closing->rewrite, yyjson_mut_arr_append(required, name));
            closing->required = true;
        }
    }
}

static void close_object(struct closing *closing, yyjson_mut_val *schema) {
    struct rewrite *rewrite = closing->rewrite;
    if (!json_mut_has_text(yyjson_mut_obj_get(schema, "type"), "object") &&
        yyjson_mut_obj_get(schema, "properties") == NULL) {
        return;
    }
    if (yyjson_mut_obj_get(schema, "required") == NULL) {
        rewrite_put(rewrite, schema, "required", yyjson_mut_arr(rewrite->doc));
    }
    require_all(closing, schema);
    if (yyjson_mut_obj_get(schema, "additionalProperties") == NULL) {
        rewrite_put(rewrite, schema, "additionalProperties", yyjson_mut_false(rewrite->doc));
        closing->closed = true;
    }
}

/* Put what a reference refers to in its place, if a title or description is beside it: that takes
 * precedence. */
static void copy_referenced(struct closing *closing, yyjson_mut_val *schema) {
    struct rewrite *rewrite = closing->rewrite;
    const char *reference = yyjson_mut_get_str(yyjson_mut_obj_get(schema, "$ref"));
    while (reference != NULL && !is_lone_reference(schema)) {
        yyjson_mut_val *copy = rewrite_copy(rewrite, rewrite_resolve(rewrite, reference));
        if (copy == NULL) {
            return;
        }
        (void)yyjson_mut_obj_remove_key(schema, "$ref");
        yyjson_mut_obj_iter iter = yyjson_mut_obj_iter_with(copy);
        yyjson_mut_val *key;
        while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
            yyjson_mut_val *value = yyjson_mut_obj_iter_remove(&iter);
            if (yyjson_mut_obj_getn(schema, yyjson_mut_get_str(key), yyjson_mut_get_len(key)) ==
                NULL) {
                rewrite_check(rewrite, yyjson_mut_obj_add(schema, key, value));
            }
        }
        closing->copied = true;
        reference = yyjson_mut_get_str(yyjson_mut_obj_get(schema, "$ref"));
    }
}

/* Add the type of the values of an enum or const. */
static void add_type(struct closing *closing, yyjson_mut_val *schema) {
    if (!lacks_type(schema)) {
        return;
    }
    rewrite_put(closing->rewrite, schema, "type",
                yyjson_mut_str(closing->rewrite->doc, type_of_choices(schema)));
    closing->typed = true;
}

/* The same for a schema and all below, for a list of schemas, or for a map of them. Strict mode
 * knows no defaults: those that are null go. */
static void close_objects(struct closing *closing, yyjson_mut_val *value, bool is_schema) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *child;
    if (is_schema) {
        (void)yyjson_mut_obj_remove_key(value, "default");
        copy_referenced(closing, value);
        add_type(closing, value);
    }
    yyjson_mut_arr_foreach(value, at, count, child) {
        close_objects(closing, child, true);
    }
    yyjson_mut_obj_foreach(value, at, count, key, child) {
        enum format_keyword keyword =
                format_keyword_find(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        bool is_map = keyword == KEYWORD_PROPERTIES || keyword == KEYWORD_DEFS;
        if (!is_schema || is_map || keyword == KEYWORD_ITEMS || keyword == KEYWORD_ANY_OF) {
            close_objects(closing, child, !is_schema || !is_map);
        }
    }
    if (is_schema && yyjson_mut_is_obj(value)) {
        close_object(closing, value);
    }
}

bool rewrite_close_strict(struct rewrite *rewrite, yyjson_mut_val *schema) {
    const struct strict_limits *limits = &rewrite->provider->limits->strict;
    struct strict strict = {.rewrite = rewrite, .limits = limits};
    struct place root = {.up = NULL};
    check_schema(&strict, NULL, NULL, 0, schema);
    if (strict.properties > limits->properties || strict.choices > limits->enum_values ||
        strict.text > limits->text) {
        not_strict(&strict, &root, "it is larger than strict mode allows", "");
    }
    if (strict.why_not) {
        return false;
    }
    struct closing closing = {.rewrite = rewrite};
    close_objects(&closing, schema, true);
    if (closing.closed) {
        format_report_add(rewrite->report, "rewritten", &root,
                          "additionalProperties is false, as strict mode requires");
    }
    if (closing.copied) {
        format_report_add(rewrite->report, "rewritten", &root,
                          "references with a title or description beside them are replaced by what "
                          "they refer to, as strict mode requires");
    }
    if (closing.typed) {
        format_report_add(rewrite->report, "rewritten", &root,
                          "the values of an enum have their type beside them, as strict mode "
                          "requires");
    }
    if (closing.required) {
        format_report_add(rewrite->report, "rewritten", &root,
                          "optional properties that may be null are required, as strict mode "
                          "requires");
    }
    return true;
}
