#include "schema/secret.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

/* Most steps of one walk: references between parts of a schema may be endless. */
#define STEPS_MAX 20000u
/* Most parts of a schema followed in a chain, at one value and in total. */
#define DEPTH_MAX 128u

struct walk {
    yyjson_val *root;
    yyjson_mut_doc *doc;
    unsigned steps;
    unsigned depth;
    bool given_up; /* a limit was reached, or no memory */
};

static bool is_secret(yyjson_val *schema) {
    return yyjson_is_true(yyjson_obj_get(schema, "writeOnly")) ||
           yyjson_equals_str(yyjson_obj_get(schema, "format"), "password");
}

bool schema_has_secrets(yyjson_val *schema) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    if (yyjson_is_obj(schema)) {
        if (is_secret(schema)) {
            return true;
        }
        yyjson_obj_foreach (schema, at, count, key, part) {
            (void)key;
            if (schema_has_secrets(part)) {
                return true;
            }
        }
    }
    yyjson_arr_foreach (schema, at, count, part) {
        if (schema_has_secrets(part)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- mask */

static void mask(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value);

static void mask_items(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value) {
    static const char *const keys[] = {"items", "additionalItems", "contains", "unevaluatedItems"};
    yyjson_val *each = yyjson_obj_get(schema, "items");
    yyjson_val *first = yyjson_is_arr(each) ? each : yyjson_obj_get(schema, "prefixItems");
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(value, at, count, item) {
        mask(walk, yyjson_arr_get(first, at), item);
        for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
            mask(walk, yyjson_obj_get(schema, keys[i]), item);
        }
    }
}

/* additionalProperties does not apply to a name that has a schema; a pattern is assumed to match
 * any name. */
static void mask_member(struct walk *walk, yyjson_val *schema, const char *name, size_t length,
                        yyjson_mut_val *member) {
    yyjson_val *own = yyjson_obj_getn(yyjson_obj_get(schema, "properties"), name, length);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *pattern;
    mask(walk, own, member);
    yyjson_obj_foreach (yyjson_obj_get(schema, "patternProperties"), at, count, key, pattern) {
        (void)key;
        mask(walk, pattern, member);
    }
    if (own == NULL) {
        mask(walk, yyjson_obj_get(schema, "additionalProperties"), member);
        mask(walk, yyjson_obj_get(schema, "unevaluatedProperties"), member);
    }
}

static void mask_by(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value) {
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    static const char *const parts[] = {"if", "then", "else", "not"};
    static const char *const references[] = {"$ref", "$dynamicRef", "$recursiveRef"};
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
        yyjson_arr_foreach (yyjson_obj_get(schema, lists[i]), at, count, part) {
            mask(walk, part, value);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        mask(walk, yyjson_obj_get(schema, parts[i]), value);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(references); i++) {
        const char *text = yyjson_get_str(yyjson_obj_get(schema, references[i]));
        if (text != NULL) {
            part = strcmp(text, "#") == 0        ? walk->root
                   : strncmp(text, "#/", 2) == 0 ? yyjson_ptr_get(walk->root, text + 1)
                                                 : NULL;
            if (part == NULL) { /* an anchor or another document: assume a secret */
                (void)yyjson_mut_set_str(value, SECRET_MASK);
            } else {
                mask(walk, part, value);
            }
        }
    }
    yyjson_obj_foreach (yyjson_obj_get(schema, "dependentSchemas"), at, count, key, part) {
        (void)key;
        mask(walk, part, value);
    }
    mask_items(walk, schema, value);
    yyjson_mut_val *name;
    yyjson_mut_val *member;
    yyjson_mut_obj_foreach(value, at, count, name, member) {
        mask_member(walk, schema, yyjson_mut_get_str(name), yyjson_mut_get_len(name), member);
    }
}

static void mask(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value) {
    if (!yyjson_is_obj(schema) || walk->given_up) {
        return;
    }
    if (++walk->steps > STEPS_MAX || walk->depth == DEPTH_MAX) {
        walk->given_up = true;
        return;
    }
    walk->depth++;
    if (is_secret(schema)) {
        (void)yyjson_mut_set_str(value, SECRET_MASK);
    } else {
        mask_by(walk, schema, value);
    }
    walk->depth--;
}

yyjson_mut_val *schema_mask(yyjson_val *schema, yyjson_mut_doc *doc, yyjson_mut_val *value) {
    struct walk walk = {.root = schema, .doc = doc};
    mask(&walk, schema, value);
    return walk.given_up ? yyjson_mut_str(doc, SECRET_MASK) : value;
}
