#include "plan/known.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json-write.h"
#include "base/json.h"
#include "plan/reference.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

static const struct {
    const char *name;
    unsigned types;
    const char *words;
} types[] = {
        {"string", KNOWN_STRING, "a string"},
        {"integer", KNOWN_INTEGER, "an integer"},
        {"number", KNOWN_INTEGER | KNOWN_NUMBER, "a number"},
        {"boolean", KNOWN_BOOLEAN, "true or false"},
        {"array", KNOWN_ARRAY, "an array"},
        {"object", KNOWN_OBJECT, "an object"},
        {"null", KNOWN_NULL, "null"},
};

/* --------------------------------------------------------------------------------------- parts */

/* Keywords by which a schema says of a part what its own keywords do not: then nothing is
 * certain. */
static bool is_open(yyjson_val *schema) {
    static const char *const keywords[] = {"$ref",  "$dynamicRef", "allOf",        "anyOf",
                                           "oneOf", "if",          "$recursiveRef"};
    for (size_t i = 0; i < ARRAY_LENGTH(keywords); i++) {
        if (yyjson_obj_get(schema, keywords[i]) != NULL) {
            return true;
        }
    }
    return !yyjson_is_obj(schema);
}

/* One part of a pointer, unescaped; false: it is too long. */
static bool read_part(const char *part, size_t length, char ret[JSON_POINTER_MAX]) {
    if (length >= JSON_POINTER_MAX) {
        return false;
    }
    ret[json_pointer_unescape(part, length, ret)] = '\0';
    return true;
}

static bool read_index(const char *part, size_t *ret) {
    char *end;
    if (part[0] < '0' || part[0] > '9' || (part[0] == '0' && part[1] != '\0')) {
        return false;
    }
    *ret = (size_t)strtoull(part, &end, 10);
    return *end == '\0';
}

static enum known part_of_array(yyjson_val *schema, const char *part, yyjson_val **ret) {
    size_t index;
    if (!read_index(part, &index)) {
        return KNOWN_ABSENT;
    }
    yyjson_val *before = yyjson_obj_get(schema, "prefixItems");
    yyjson_val *items = yyjson_obj_get(schema, "items");
    *ret = index < yyjson_arr_size(before) ? yyjson_arr_get(before, index) : items;
    if (yyjson_is_false(*ret)) {
        return KNOWN_ABSENT;
    }
    return yyjson_is_obj(*ret) ? KNOWN_SCHEMA : KNOWN_OPEN;
}

static enum known part_of_object(yyjson_val *schema, const char *part, yyjson_val **ret) {
    yyjson_val *others = yyjson_obj_get(schema, "additionalProperties");
    *ret = yyjson_obj_get(yyjson_obj_get(schema, "properties"), part);
    if (*ret == NULL && yyjson_is_false(others) &&
        yyjson_obj_get(schema, "patternProperties") == NULL) {
        return KNOWN_ABSENT;
    }
    return yyjson_is_obj(*ret) ? KNOWN_SCHEMA : KNOWN_OPEN;
}

enum known known_part(yyjson_val *schema, const char *path, size_t length, yyjson_val **ret) {
    char part[JSON_POINTER_MAX];
    enum known known = schema != NULL ? KNOWN_SCHEMA : KNOWN_OPEN;
    *ret = schema;
    while (known == KNOWN_SCHEMA && length > 0) {
        if (is_open(*ret)) {
            return KNOWN_OPEN;
        }
        const char *end = memchr(path + 1, '/', length - 1);
        size_t part_length = end != NULL ? (size_t)(end - path) - 1 : length - 1;
        if (!read_part(path + 1, part_length, part)) {
            return KNOWN_OPEN;
        }
        path += 1 + part_length;
        length -= 1 + part_length;
        unsigned allowed = known_types(*ret);
        if ((allowed & (KNOWN_ARRAY | KNOWN_OBJECT)) == 0) {
            return KNOWN_ABSENT;
        }
        known = allowed == KNOWN_ARRAY    ? part_of_array(*ret, part, ret)
                : allowed == KNOWN_OBJECT ? part_of_object(*ret, part, ret)
                                          : KNOWN_OPEN;
    }
    return known;
}

yyjson_val *known_items(yyjson_val *schema) {
    yyjson_val *items = yyjson_obj_get(schema, "items");
    bool is_known = schema != NULL && !is_open(schema) && yyjson_is_obj(items) &&
                    yyjson_obj_get(schema, "prefixItems") == NULL;
    return is_known ? items : NULL;
}

/* ---------------------------------------------------------------------------------- from values */

/* The schema of a template: true, or an object whose "type" is an array. */
static yyjson_mut_val *describe(yyjson_mut_doc *doc, yyjson_val *template, bool is_literal) {
    yyjson_val *literal = is_literal ? NULL : reference_literal(template);
    const char *type = NULL;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (literal != NULL) {
        return describe(doc, literal, true);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(types) && type == NULL; i++) {
        type = types[i].types == known_type_of(template) ? types[i].name : NULL;
    }
    if (type == NULL || (!is_literal && reference_is(template)) ||
        yyjson_obj_size(template) > KNOWN_MEMBERS_MAX) {
        return yyjson_mut_true(doc);
    }
    yyjson_mut_val *schema = yyjson_mut_obj(doc);
    (void)yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, schema, "type"), type);
    if (yyjson_is_obj(template)) {
        yyjson_mut_val *properties = yyjson_mut_obj_add_obj(doc, schema, "properties");
        json_obj_foreach (template, at, count, key, value) {
            (void)yyjson_mut_obj_add(properties, yyjson_val_mut_copy(doc, key),
                                     describe(doc, value, is_literal));
        }
        (void)yyjson_mut_obj_add_bool(doc, schema, "additionalProperties", false);
    } else if (yyjson_is_arr(template)) {
        yyjson_mut_val *before = yyjson_mut_obj_add_arr(doc, schema, "prefixItems");
        yyjson_arr_foreach (template, at, count, value) {
            (void)yyjson_mut_arr_append(before, describe(doc, value, is_literal));
        }
        (void)yyjson_mut_obj_add_bool(doc, schema, "items", false);
    }
    return schema;
}

/* The schema of what one or the other of two described values may be; changes both. */
static yyjson_mut_val *describe_either(yyjson_mut_doc *doc, yyjson_mut_val *one,
                                       yyjson_mut_val *other) {
    if (!yyjson_mut_is_obj(one) || !yyjson_mut_is_obj(other)) {
        return yyjson_mut_true(doc);
    }
    yyjson_mut_val *allowed = yyjson_mut_obj_get(one, "type");
    yyjson_mut_val *properties = yyjson_mut_obj_get(one, "properties");
    yyjson_mut_val *others = yyjson_mut_obj_get(other, "properties");
    yyjson_mut_val *value;
    yyjson_mut_arr_iter types_left = yyjson_mut_arr_iter_with(yyjson_mut_obj_get(other, "type"));
    while ((value = yyjson_mut_arr_iter_next(&types_left)) != NULL) {
        if (!json_mut_has_text(allowed, yyjson_mut_get_str(value))) {
            (void)yyjson_mut_arr_append(allowed, yyjson_mut_val_mut_copy(doc, value));
        }
    }
    (void)yyjson_mut_obj_remove_key(one, "prefixItems"); /* each is of one array */
    (void)yyjson_mut_obj_remove_key(one, "items");
    if (properties == NULL || others == NULL) {
        return one;
    }
    yyjson_mut_obj_iter left = yyjson_mut_obj_iter_with(others);
    yyjson_mut_val *key;
    while ((key = yyjson_mut_obj_iter_next(&left)) != NULL) {
        yyjson_mut_val *same =
                yyjson_mut_obj_getn(properties, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        yyjson_mut_val *described = yyjson_mut_val_mut_copy(doc, yyjson_mut_obj_iter_get_val(key));
        described = same != NULL ? describe_either(doc, same, described) : described;
        (void)yyjson_mut_obj_put(properties, yyjson_mut_val_mut_copy(doc, key), described);
    }
    return yyjson_mut_obj_size(properties) > KNOWN_MEMBERS_MAX ? yyjson_mut_true(doc) : one;
}

static yyjson_doc *end_description(yyjson_mut_doc *doc, yyjson_mut_val *root, bool *ret_failed) {
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *made = json_doc_is_whole(doc) ? yyjson_mut_doc_imut_copy(doc, NULL) : NULL;
    *ret_failed = *ret_failed || made == NULL;
    return made;
}

yyjson_doc *known_describe(yyjson_val *template, bool *ret_failed) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    return end_description(doc, describe(doc, template, false), ret_failed);
}

yyjson_doc *known_describe_items(yyjson_val *template, bool *ret_failed) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_val *literal = reference_literal(template);
    yyjson_mut_val *either = NULL;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (literal != NULL ? literal : template, at, count, item) {
        yyjson_mut_val *described = describe(doc, item, literal != NULL);
        either = either != NULL ? describe_either(doc, either, described) : described;
    }
    return end_description(doc, either != NULL ? either : yyjson_mut_true(doc), ret_failed);
}

yyjson_doc *known_describe_array(yyjson_val *items, bool *ret_failed) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *schema = yyjson_mut_obj(doc);
    (void)yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, schema, "type"), "array");
    (void)yyjson_mut_obj_add_val(doc, schema, "items",
                                 items != NULL ? yyjson_val_mut_copy(doc, items)
                                               : yyjson_mut_true(doc));
    return end_description(doc, schema, ret_failed);
}

/* --------------------------------------------------------------------------------------- types */

static unsigned type_by_name(yyjson_val *name) {
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        if (yyjson_equals_str(name, types[i].name)) {
            return types[i].types;
        }
    }
    return KNOWN_ANY;
}

static unsigned types_of_all(yyjson_val *values) {
    unsigned found = 0;
    size_t at;
    size_t count;
    yyjson_val *value;
    yyjson_arr_foreach (values, at, count, value) {
        found |= known_type_of(value);
    }
    return found;
}

unsigned known_types(yyjson_val *schema) {
    yyjson_val *type = yyjson_obj_get(schema, "type");
    yyjson_val *choices = yyjson_obj_get(schema, "enum");
    yyjson_val *constant = yyjson_obj_get(schema, "const");
    unsigned allowed = KNOWN_ANY;
    size_t at;
    size_t count;
    yyjson_val *one;
    if (yyjson_is_str(type)) {
        allowed = type_by_name(type);
    } else if (yyjson_is_arr(type)) {
        allowed = 0;
        yyjson_arr_foreach (type, at, count, one) {
            allowed |= type_by_name(one);
        }
    }
    allowed &= choices != NULL ? types_of_all(choices) : KNOWN_ANY;
    allowed &= constant != NULL ? known_type_of(constant) : KNOWN_ANY;
    return allowed;
}

unsigned known_type_of(yyjson_val *value) {
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL: return KNOWN_NULL;
    case YYJSON_TYPE_BOOL: return KNOWN_BOOLEAN;
    case YYJSON_TYPE_STR: return KNOWN_STRING;
    case YYJSON_TYPE_ARR: return KNOWN_ARRAY;
    case YYJSON_TYPE_OBJ: return KNOWN_OBJECT;
    case YYJSON_TYPE_NUM:
        return yyjson_is_real(value) ? KNOWN_INTEGER | KNOWN_NUMBER : KNOWN_INTEGER;
    default: return KNOWN_ANY;
    }
}

bool known_types_meet(unsigned given, unsigned wanted) {
    return (given & wanted) != 0;
}

const char *known_words(unsigned allowed, char ret[KNOWN_WORDS_ROOM]) {
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        bool is_whole = (allowed & types[i].types) == types[i].types;
        bool is_integer_of_number =
                types[i].types == KNOWN_INTEGER && (allowed & KNOWN_NUMBER) != 0;
        if (is_whole && !is_integer_of_number) {
            used += (size_t)snprintf(ret + used, KNOWN_WORDS_ROOM - used, "%s%s",
                                     used > 0 ? " or " : "", types[i].words);
        }
    }
    return ret;
}
