#include "base/param-header.h"

#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/cleanup.h"

/* Deepest nesting of values that is looked at. A message may not be nested deeper. */
#define WALK_DEPTH_MAX 128u

/* Keywords whose members have names, not keywords; and those whose values are no schemas. */
static const char *const maps[] = {"properties", "patternProperties", "$defs", "definitions",
                                   "dependentSchemas"};
static const char *const data[] = {"default", "const", "enum", "examples"};

struct walk {
    param_header_tell *tell;
    void *user;
    size_t taken_out;
    const char *names[PARAM_HEADERS_MAX]; /* of those that stay */
    unsigned count;
};

bool param_header_may_be_in(const char *schema) {
    /* The key may be written with escapes. */
    return strstr(schema, PARAM_HEADER_KEYWORD) != NULL || strstr(schema, "\\u") != NULL;
}

static bool is_in(const char *name, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A token of RFC 9110: 1*tchar. */
static bool is_token(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '\0' ||
            (!ascii_is_word(name[i]) && strchr("!#$%&'*+-.^`|~", name[i]) == NULL)) {
            return false;
        }
    }
    return length > 0;
}

/* Why an annotation is not allowed, "it ..."; NULL: it is.
 * @param level  of the property; 0: it is none that is reached by `properties` alone */
static const char *wrong_with(const struct walk *walk, yyjson_mut_val *schema,
                              yyjson_mut_val *annotation, unsigned level) {
    const char *name = yyjson_mut_get_str(annotation);
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    if (name == NULL || !is_token(name, yyjson_mut_get_len(annotation))) {
        return "it is no name of a header";
    }
    if (level == 0) {
        return "it is not at a property that is reached by properties alone";
    }
    if (level > PARAM_HEADER_DEPTH_MAX) {
        return "it is at a property that is nested too deeply";
    }
    if (!yyjson_mut_equals_str(type, "string") && !yyjson_mut_equals_str(type, "integer") &&
        !yyjson_mut_equals_str(type, "boolean")) {
        return "it is at a property whose type is not string, integer or boolean";
    }
    for (unsigned i = 0; i < walk->count; i++) {
        if (strcasecmp(walk->names[i], name) == 0) {
            return "it is the name of another header, whatever the case of its letters";
        }
    }
    return walk->count == PARAM_HEADERS_MAX ? "it is one of too many" : NULL;
}

static void clean_annotation(struct walk *walk, yyjson_mut_val *schema, unsigned level) {
    yyjson_mut_val *annotation = yyjson_mut_obj_get(schema, PARAM_HEADER_KEYWORD);
    if (annotation == NULL) {
        return;
    }
    const char *name = yyjson_mut_get_str(annotation);
    const char *why = wrong_with(walk, schema, annotation, level);
    if (why == NULL) {
        walk->names[walk->count++] = name;
        return;
    }
    (void)yyjson_mut_obj_remove_key(schema, PARAM_HEADER_KEYWORD);
    walk->taken_out++;
    if (walk->tell != NULL) {
        walk->tell(walk->user, name != NULL ? name : "", why);
    }
}

static void clean_schema(struct walk *walk, yyjson_mut_val *schema, unsigned level, bool is_reached,
                         unsigned depth);

/* The members of a map of schemas, or the items of a list. */
static void clean_parts(struct walk *walk, yyjson_mut_val *parts, unsigned level, bool is_reached,
                        unsigned depth) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *part;
    if (yyjson_mut_is_arr(parts)) {
        yyjson_mut_arr_foreach(parts, at, count, part) {
            clean_schema(walk, part, 0, false, depth + 1);
        }
        return;
    }
    yyjson_mut_obj_foreach(parts, at, count, key, part) {
        clean_schema(walk, part, level, is_reached, depth + 1);
    }
}

/* @param level       see wrong_with()
 * @param is_reached  the root, or a property that is reached by `properties` alone */
static void clean_schema(struct walk *walk, yyjson_mut_val *schema, unsigned level, bool is_reached,
                         unsigned depth) {
    if (depth > WALK_DEPTH_MAX || !yyjson_mut_is_ctn(schema)) {
        return;
    }
    if (yyjson_mut_is_arr(schema)) {
        clean_parts(walk, schema, 0, false, depth);
        return;
    }
    clean_annotation(walk, schema, level);
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(schema, at, count, key, value) {
        const char *name = yyjson_mut_get_str(key);
        bool goes_on = is_reached && strcmp(name, "properties") == 0;
        if (is_in(name, maps, ARRAY_LENGTH(maps)) && yyjson_mut_is_obj(value)) {
            clean_parts(walk, value, goes_on ? level + 1 : 0, goes_on, depth + 1);
        } else if (!is_in(name, data, ARRAY_LENGTH(data))) {
            clean_schema(walk, value, 0, false, depth + 1);
        }
    }
}

size_t param_header_clean(yyjson_mut_val *schema, param_header_tell *tell, void *user) {
    struct walk walk = {.tell = tell, .user = user};
    clean_schema(&walk, schema, 0, true, 1);
    return walk.taken_out;
}
