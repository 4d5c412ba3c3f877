#include "schema/secret.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Most steps of one walk: references between parts of a schema may be endless. */
#define STEPS_MAX 20000u
/* Most parts of a schema followed in a chain, at one value and in total. */
#define DEPTH_MAX 128u

struct walk {
    yyjson_val *root;
    yyjson_mut_doc *doc;
    unsigned steps;
    unsigned depth;
    bool given_up;     /* a limit was reached, or no memory */
    struct buf *found; /* what was masked; NULL: not asked for */
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
        json_obj_foreach (schema, at, count, key, part) {
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

bool schema_read_secret(const char *text, yyjson_doc **ret) {
    *ret = NULL;
    /* Most schemas have neither word; an escape could hide either. */
    if (text == NULL || (strstr(text, "writeOnly") == NULL && strstr(text, "password") == NULL &&
                         strstr(text, "\\u") == NULL)) {
        return true;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_NOFLAG);
    if (doc == NULL) {
        return false;
    }
    if (schema_has_secrets(yyjson_doc_get_root(doc))) {
        *ret = STEAL(doc);
    }
    return true;
}

/* ---------------------------------------------------------------- what is masked */

static void note_text(struct walk *walk, const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        size_t end = at;
        while (end < length && text[end] != '\n' && text[end] != '\r' && text[end] != '\0') {
            end++;
        }
        if (end - at >= SECRET_LENGTH_MIN) {
            buf_add(walk->found, text + at, end - at);
            buf_add(walk->found, "", 1);
        }
        at = end + 1;
    }
    walk->given_up =
            walk->given_up || walk->found->failed || walk->found->length > SECRETS_SIZE_MAX;
}

static void note_value(struct walk *walk, yyjson_mut_val *value, unsigned depth) {
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *part;
    if (walk->given_up || depth == DEPTH_MAX) {
        walk->given_up = true;
        return;
    }
    yyjson_mut_arr_foreach(value, at, count, part) {
        note_value(walk, part, depth + 1);
    }
    yyjson_mut_obj_foreach(value, at, count, name, part) {
        note_value(walk, part, depth + 1);
    }
    if (yyjson_mut_is_str(value)) {
        note_text(walk, yyjson_mut_get_str(value), yyjson_mut_get_len(value));
    } else if (yyjson_mut_is_num(value) || yyjson_mut_is_raw(value)) {
        size_t length = 0;
        CLEANUP(freep) char *text = yyjson_mut_val_write(value, 0, &length);
        note_text(walk, text, length);
    }
}

static void hide(struct walk *walk, yyjson_mut_val *value) {
    if (walk->found != NULL) {
        note_value(walk, value, 0);
    }
    (void)yyjson_mut_set_str(value, SECRET_MASK);
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
    json_obj_foreach (yyjson_obj_get(schema, "patternProperties"), at, count, key, pattern) {
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
                hide(walk, value);
            } else {
                mask(walk, part, value);
            }
        }
    }
    json_obj_foreach (yyjson_obj_get(schema, "dependentSchemas"), at, count, key, part) {
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
        hide(walk, value);
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

/* -------------------------------------------------------------------- text */

void schema_collect_secrets(yyjson_val *schema, yyjson_val *value, struct buf *ret) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, value);
    struct walk walk = {.root = schema, .doc = doc, .found = ret};
    if (copy != NULL) {
        mask(&walk, schema, copy);
    }
    if (copy == NULL || walk.given_up) {
        buf_finish(ret);
        *ret = BUF_INIT;
        buf_add(ret, "", 1);
    }
}

/* Bytes of the longest secret that begins here, or that the end of the text cuts off. */
static size_t find_secret(const struct buf *secrets, const char *text, size_t left) {
    size_t longest = 0;
    const char *end = secrets->data + secrets->length;
    for (const char *secret = secrets->data; secret < end;) {
        size_t length = strlen(secret);
        size_t common = length < left ? length : left;
        if (common >= SECRET_LENGTH_MIN && common > longest && memcmp(secret, text, common) == 0) {
            longest = common;
        }
        secret += length + 1;
    }
    return longest;
}

/* In place: a mask is shorter than what it hides. */
void secrets_mask(const struct buf *secrets, char *text) {
    size_t length = strlen(text);
    if (secrets->length == 0 && !secrets->failed) {
        return;
    }
    if (secrets->failed || secrets->data[0] == '\0') {
        size_t cut = length < strlen(SECRET_MASK) ? length : strlen(SECRET_MASK);
        memcpy(text, SECRET_MASK, cut);
        text[cut] = '\0';
        return;
    }
    size_t to = 0;
    for (size_t at = 0; at < length;) {
        size_t found = find_secret(secrets, text + at, length - at);
        if (found == 0) {
            text[to++] = text[at++];
            continue;
        }
        memcpy(text + to, SECRET_MASK, strlen(SECRET_MASK));
        to += strlen(SECRET_MASK);
        at += found;
    }
    text[to] = '\0';
}
