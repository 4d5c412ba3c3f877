#include "schema/secret.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-lenient.h"
#include "base/json.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Most steps of one walk: references between parts of a schema may be endless. */
#define STEPS_MAX 20000u
/* Most parts of a schema followed in a chain, at one value and in total. */
#define DEPTH_MAX 128u
/* Most parts of a schema that apply to one value. */
#define PARTS_MAX 512u

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
        if (end - at >= SECRET_WORD_MIN) {
            buf_add(walk->found, text + at, end - at);
            buf_add(walk->found, "", 1);
        }
        at = end + 1;
    }
    walk->given_up =
            walk->given_up || walk->found->failed || walk->found->length > SECRETS_SIZE_MAX;
}

/* The JSON that a text is; NULL: none. */
static yyjson_mut_val *read_json(struct walk *walk, yyjson_mut_val *text) {
    yyjson_read_err why;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = json_read_lenient(yyjson_mut_get_str(text), yyjson_mut_get_len(text),
                                         YYJSON_READ_NUMBER_AS_RAW, NULL, &why);
    yyjson_mut_val *copy =
            read != NULL ? yyjson_val_mut_copy(walk->doc, yyjson_doc_get_root(read)) : NULL;
    walk->given_up = walk->given_up || (read != NULL && copy == NULL);
    return copy;
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
        yyjson_mut_val *inner = read_json(walk, value);
        if (inner != NULL) {
            note_value(walk, inner, depth + 1);
        }
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

static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
static const char *const references[] = {"$ref", "$dynamicRef", "$recursiveRef"};

static void mask(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value);
static void mask_arguments(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value);

static void mask_items(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value) {
    static const char *const keys[] = {"items", "additionalItems", "contains", "unevaluatedItems"};
    yyjson_val *each = yyjson_obj_get(schema, "items");
    yyjson_arr_iter first = yyjson_arr_iter_with(
            yyjson_is_arr(each) ? each : yyjson_obj_get(schema, "prefixItems"));
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(value, at, count, item) {
        mask(walk, yyjson_arr_iter_next(&first), item);
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

/* The part of a schema that a reference leads to; NULL: an anchor or another document. */
static yyjson_val *follow(const struct walk *walk, const char *reference) {
    return strcmp(reference, "#") == 0        ? walk->root
           : strncmp(reference, "#/", 2) == 0 ? yyjson_ptr_get(walk->root, reference + 1)
                                              : NULL;
}

static void mask_by(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value) {
    static const char *const parts[] = {"if", "then", "else", "not"};
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
            part = follow(walk, text);
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

/* Where an object or array is wanted, a text may be the JSON of it, secrets included. */
static bool wants_container(yyjson_val *schema) {
    yyjson_val *type = yyjson_obj_get(schema, "type");
    return (json_has_text(type, "object") || json_has_text(type, "array")) &&
           !json_has_text(type, "string");
}

/* Hide a text that is to be JSON. What is noted of it are the secrets in it, if it is. */
static void hide_json(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value) {
    yyjson_mut_val *meant = walk->found != NULL ? read_json(walk, value) : NULL;
    if (meant != NULL) {
        mask_arguments(walk, schema, meant);
        (void)yyjson_mut_set_str(value, SECRET_MASK);
    } else {
        hide(walk, value);
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
    } else if (yyjson_mut_is_str(value) && wants_container(schema)) {
        hide_json(walk, schema, value);
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

/* ------------------------------------------------ members that a schema does not know */

/* Each text and number, which may be what a member of another name was meant for. */
static void mask_texts(struct walk *walk, yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *part;
    if (walk->depth == DEPTH_MAX) {
        walk->given_up = true;
        return;
    }
    walk->depth++;
    yyjson_mut_arr_foreach(value, at, count, part) {
        mask_texts(walk, part);
    }
    yyjson_mut_obj_foreach(value, at, count, name, part) {
        mask_texts(walk, part);
    }
    walk->depth--;
    if (yyjson_mut_is_str(value) || yyjson_mut_is_num(value) || yyjson_mut_is_raw(value)) {
        hide(walk, value);
    }
}

static size_t count_of(const struct buf *parts) {
    return parts->length / sizeof(yyjson_val *);
}

static yyjson_val *part_of(const struct buf *parts, size_t index) {
    return ((yyjson_val **)(void *)parts->data)[index];
}

static void add_part(struct walk *walk, struct buf *parts, yyjson_val *schema) {
    if (!yyjson_is_obj(schema)) {
        return;
    }
    for (size_t i = 0; i < count_of(parts); i++) {
        if (part_of(parts, i) == schema) {
            return;
        }
    }
    buf_add(parts, &schema, sizeof schema);
    walk->given_up = walk->given_up || ++walk->steps > STEPS_MAX || parts->failed ||
                     count_of(parts) > PARTS_MAX;
}

/* Add what also applies to the value that the parts are about. What must not match it tells of no
 * member that it may have. */
static void add_applied(struct walk *walk, struct buf *parts) {
    static const char *const keys[] = {"if", "then", "else"};
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    for (size_t i = 0; i < count_of(parts) && !walk->given_up; i++) {
        yyjson_val *schema = part_of(parts, i);
        for (size_t j = 0; j < ARRAY_LENGTH(lists); j++) {
            yyjson_arr_foreach (yyjson_obj_get(schema, lists[j]), at, count, part) {
                add_part(walk, parts, part);
            }
        }
        for (size_t j = 0; j < ARRAY_LENGTH(keys); j++) {
            add_part(walk, parts, yyjson_obj_get(schema, keys[j]));
        }
        for (size_t j = 0; j < ARRAY_LENGTH(references); j++) {
            const char *text = yyjson_get_str(yyjson_obj_get(schema, references[j]));
            add_part(walk, parts, text != NULL ? follow(walk, text) : NULL);
        }
        json_obj_foreach (yyjson_obj_get(schema, "dependentSchemas"), at, count, key, part) {
            (void)key;
            add_part(walk, parts, part);
        }
    }
}

/* Add what the parts say of a member. False: none knows it. That of a pattern is not known: which
 * names it is about is for the validator. */
static bool add_of_member(struct walk *walk, const struct buf *parts, const char *name,
                          size_t length, struct buf *ret) {
    static const char *const others[] = {"additionalProperties", "unevaluatedProperties"};
    bool is_known = false;
    for (size_t i = 0; i < count_of(parts); i++) {
        yyjson_val *schema = part_of(parts, i);
        yyjson_val *own = yyjson_obj_getn(yyjson_obj_get(schema, "properties"), name, length);
        is_known = is_known || (own != NULL && !yyjson_is_false(own));
        add_part(walk, ret, own);
        for (size_t j = 0; own == NULL && j < ARRAY_LENGTH(others); j++) {
            yyjson_val *other = yyjson_obj_get(schema, others[j]);
            is_known = is_known || yyjson_obj_size(other) > 0; /* true and {} take anything */
            add_part(walk, ret, other);
        }
    }
    return is_known;
}

static void add_of_item(struct walk *walk, const struct buf *parts, size_t index, struct buf *ret) {
    static const char *const keys[] = {"items", "additionalItems", "contains", "unevaluatedItems"};
    for (size_t i = 0; i < count_of(parts) && !walk->given_up; i++) {
        yyjson_val *schema = part_of(parts, i);
        add_part(walk, ret, yyjson_arr_get(yyjson_obj_get(schema, "items"), index));
        add_part(walk, ret, yyjson_arr_get(yyjson_obj_get(schema, "prefixItems"), index));
        for (size_t j = 0; j < ARRAY_LENGTH(keys); j++) {
            add_part(walk, ret, yyjson_obj_get(schema, keys[j]));
        }
    }
}

/* `parts`: of the schema, about this value. */
static void mask_unknown(struct walk *walk, struct buf *parts, yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *part;
    if (!yyjson_mut_is_ctn(value) || walk->given_up) {
        return;
    }
    if (walk->depth == DEPTH_MAX) {
        walk->given_up = true;
        return;
    }
    walk->depth++;
    add_applied(walk, parts);
    yyjson_mut_arr_foreach(value, at, count, part) {
        CLEANUP(buf_finish) struct buf below = BUF_INIT;
        add_of_item(walk, parts, at, &below);
        mask_unknown(walk, &below, part);
    }
    yyjson_mut_obj_foreach(value, at, count, name, part) {
        CLEANUP(buf_finish) struct buf below = BUF_INIT;
        if (add_of_member(walk, parts, yyjson_mut_get_str(name), yyjson_mut_get_len(name),
                          &below)) {
            mask_unknown(walk, &below, part);
        } else {
            mask_texts(walk, part);
        }
    }
    walk->depth--;
}

/* Arguments are an object: a text instead is one that is written as JSON. */
static void mask_arguments(struct walk *walk, yyjson_val *schema, yyjson_mut_val *value) {
    CLEANUP(buf_finish) struct buf parts = BUF_INIT;
    if (walk->depth == DEPTH_MAX) {
        walk->given_up = true;
        return;
    }
    walk->depth++;
    if (yyjson_mut_is_str(value)) {
        hide_json(walk, schema, value);
    } else {
        mask(walk, schema, value);
        add_part(walk, &parts, schema);
        mask_unknown(walk, &parts, value);
    }
    walk->depth--;
}

yyjson_mut_val *schema_mask_arguments(yyjson_val *schema, yyjson_mut_doc *doc,
                                      yyjson_mut_val *value) {
    struct walk walk = {.root = schema, .doc = doc};
    mask_arguments(&walk, schema, value);
    return walk.given_up ? yyjson_mut_str(doc, SECRET_MASK) : value;
}

/* ------------------------------------------------------- values in a schema itself */

/* Leave out a member of a schema, or of its values in an array, that has a secret of it. */
static bool leave_out(struct walk *walk, yyjson_val *schema, yyjson_mut_val *copy, const char *key,
                      bool is_list) {
    yyjson_mut_val *given = yyjson_mut_obj_get(copy, key);
    yyjson_mut_val *masked = yyjson_mut_val_mut_copy(walk->doc, given);
    size_t at;
    size_t count;
    yyjson_mut_val *element;
    if (given == NULL) {
        return false;
    }
    if (is_list) {
        yyjson_mut_arr_foreach(masked, at, count, element) {
            mask(walk, schema, element);
        }
    } else {
        mask(walk, schema, masked);
    }
    return (masked == NULL || walk->given_up || !yyjson_mut_equals(given, masked)) &&
           yyjson_mut_obj_remove_key(copy, key) != NULL;
}

/* @return whether anything was left out */
static bool leave_out_all(struct walk *walk, yyjson_val *schema, yyjson_mut_val *copy,
                          unsigned depth) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    bool has_changed = false;
    if (depth == DEPTH_MAX) {
        walk->given_up = true;
        return false;
    }
    json_obj_foreach (schema, at, count, key, part) {
        yyjson_mut_val *same = yyjson_mut_obj_getn(copy, yyjson_get_str(key), yyjson_get_len(key));
        has_changed = leave_out_all(walk, part, same, depth + 1) || has_changed;
    }
    yyjson_arr_foreach (schema, at, count, part) {
        has_changed =
                leave_out_all(walk, part, yyjson_mut_arr_get(copy, at), depth + 1) || has_changed;
    }
    if (yyjson_is_obj(schema)) {
        has_changed = leave_out(walk, schema, copy, "default", false) || has_changed;
        has_changed = leave_out(walk, schema, copy, "examples", true) || has_changed;
    }
    return has_changed;
}

bool schema_without_secrets(const char *text, struct buf *ret) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *marked = NULL;
    if (!schema_read_secret(text, &marked) || marked == NULL) {
        return marked == NULL;
    }
    /* Numbers stay as they are written. */
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_NUMBER_AS_RAW);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    if (copy == NULL) {
        return false;
    }
    struct walk walk = {.root = yyjson_doc_get_root(doc), .doc = copy};
    bool has_changed = leave_out_all(&walk, walk.root, yyjson_mut_doc_get_root(copy), 0);
    size_t length = 0;
    CLEANUP(freep)
    char *written = has_changed ? yyjson_mut_write(copy, YYJSON_WRITE_NOFLAG, &length) : NULL;
    if (written != NULL) {
        buf_add(ret, written, length);
    }
    return !has_changed || (written != NULL && !ret->failed);
}

/* -------------------------------------------------------------------- text */

static void give_up(struct buf *secrets) {
    buf_finish(secrets);
    *secrets = BUF_INIT;
    buf_add(secrets, "", 1);
}

/* Note the secrets of the defaults in a schema. */
static void note_defaults(struct walk *walk, yyjson_val *schema) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    if (walk->depth == DEPTH_MAX) {
        walk->given_up = true;
        return;
    }
    walk->depth++;
    json_obj_foreach (schema, at, count, key, part) {
        if (yyjson_equals_str(key, "default")) {
            yyjson_mut_val *value = yyjson_val_mut_copy(walk->doc, part);
            walk->given_up = walk->given_up || value == NULL;
            mask(walk, schema, value);
        }
        note_defaults(walk, part);
    }
    yyjson_arr_foreach (schema, at, count, part) {
        note_defaults(walk, part);
    }
    walk->depth--;
}

static void collect(yyjson_val *schema, yyjson_val *value, bool is_arguments, struct buf *ret) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    CLEANUP(buf_finish) struct buf found = BUF_INIT;
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, value);
    struct walk walk = {.root = schema, .doc = doc, .found = &found};
    walk.given_up = copy == NULL;
    if (is_arguments) {
        mask_arguments(&walk, schema, copy);
        note_defaults(&walk, schema);
    } else {
        mask(&walk, schema, copy);
    }
    if (walk.given_up) {
        give_up(ret);
    } else {
        secrets_add(ret, found.data, found.length);
    }
}

void schema_collect_secrets(yyjson_val *schema, yyjson_val *value, struct buf *ret) {
    collect(schema, value, false, ret);
}

void schema_collect_arguments(yyjson_val *schema, yyjson_val *arguments, struct buf *ret) {
    collect(schema, arguments, true, ret);
}

static bool hide_all(const struct buf *secrets) {
    return secrets->failed || (secrets->length > 0 && secrets->data[0] == '\0');
}

static bool is_known(const struct buf *secrets, const char *text) {
    for (size_t at = 0; at < secrets->length; at += strlen(secrets->data + at) + 1) {
        if (strcmp(secrets->data + at, text) == 0) {
            return true;
        }
    }
    return false;
}

void secrets_add(struct buf *secrets, const char *more, size_t length) {
    for (size_t at = 0; at < length && !hide_all(secrets); at += strlen(more + at) + 1) {
        const size_t size = strlen(more + at) + 1;
        if (size == 1) {
            give_up(secrets);
        } else if (!is_known(secrets, more + at)) {
            buf_add(secrets, more + at, size);
        }
        if (secrets->length > SECRETS_SIZE_MAX) {
            give_up(secrets);
        }
    }
}

/* One character of a text: a byte, or what a JSON escape stands for, as UTF-8. */
struct unit {
    char bytes[4];
    size_t length; /* of `bytes`; 0: the end of the text cuts it off */
    size_t size;   /* in the text */
};

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The code of \uXXXX; 0: there is none, or the text ends before. */
static uint32_t read_code(const char *text, size_t left) {
    uint32_t code = 0;
    if (left < 6 || text[0] != '\\' || text[1] != 'u') {
        return 0;
    }
    for (unsigned i = 2; i < 6; i++) {
        int digit = hex_digit(text[i]);
        if (digit < 0) {
            return 0;
        }
        code = code << 4 | (uint32_t)digit;
    }
    return code;
}

static struct unit read_unit(const char *text, size_t left) {
    static const char letters[] = "bfnrt";
    static const char meant[] = "\b\f\n\r\t";
    struct unit unit = {.bytes = {text[0]}, .length = 1, .size = 1};
    if (text[0] != '\\') {
        return unit;
    }
    if (left == 1 || (text[1] == 'u' && left < 6)) {
        return (struct unit){.size = left};
    }
    unit.size = 2;
    if (text[1] != 'u') {
        const char *letter = strchr(letters, text[1]);
        unit.bytes[0] = text[1] != '\0' && letter != NULL ? meant[letter - letters] : text[1];
        return unit;
    }
    uint32_t code = read_code(text, left);
    uint32_t second = read_code(text + 6, left - 6);
    unit.size = 6;
    if (code >= 0xd800 && code < 0xdc00 && second >= 0xdc00 && second < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
        unit.size = 12;
    }
    unit.length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = unit.length - 1; i > 0; i--) {
        unit.bytes[i] = (char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    unit.bytes[0] = (char)(first[unit.length - 1] | code);
    return unit;
}

/* Bytes of a text that begins with a secret, as one with JSON escapes; 0: it does not. Where the
 * text is JSON no secret goes on behind the string that it is in. */
static size_t match_escaped(const char *secret, size_t length, bool is_json, const char *text,
                            size_t left) {
    size_t found = 0;
    size_t at = 0;
    while (found < length && at < left) {
        if (is_json && text[at] == '"') {
            return 0;
        }
        const struct unit unit = read_unit(text + at, left - at);
        if (unit.length > length - found || memcmp(unit.bytes, secret + found, unit.length) != 0) {
            return 0;
        }
        found += unit.length;
        at += unit.size;
    }
    return found >= SECRET_LENGTH_MIN || (found == length && found >= SECRET_WORD_MIN) ? at : 0;
}

/* Whether a byte is a part of a word: a letter of any script, or a digit. */
static bool is_in_word(char byte) {
    const unsigned char c = (unsigned char)byte;
    return c >= 0x80 || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* Whether `size` bytes of a text stand by themselves; `at` of it are before them. A letter there
 * may be of the escape of a line's end. */
static bool stands_alone(const char *text, size_t at, size_t size, size_t left) {
    bool is_after_escape = at >= 2 && text[-2] == '\\' && strchr("bfnrt", text[-1]) != NULL;
    return (at == 0 || is_after_escape || !is_in_word(text[-1])) &&
           (size == left || !is_in_word(text[size]));
}

/* Bytes of the longest secret that begins here, or that the end of the text cuts off; `before`: how
 * many bytes of the text are before. */
static size_t find_secret(const struct buf *secrets, bool is_json, const char *text, size_t before,
                          size_t left) {
    size_t longest = 0;
    const char *end = secrets->data + secrets->length;
    for (const char *secret = secrets->data; secret < end;) {
        size_t length = strlen(secret);
        size_t common = length < left ? length : left;
        if (!is_json && common >= SECRET_LENGTH_MIN && memcmp(secret, text, common) == 0) {
            longest = common > longest ? common : longest;
        } else if (text[0] == '\\' || text[0] == secret[0]) {
            common = match_escaped(secret, length, is_json, text, left);
            common = length >= SECRET_LENGTH_MIN || stands_alone(text, before, common, left)
                             ? common
                             : 0;
            longest = common > longest ? common : longest;
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
    if (hide_all(secrets)) {
        size_t cut = length < strlen(SECRET_MASK) ? length : strlen(SECRET_MASK);
        memcpy(text, SECRET_MASK, cut);
        text[cut] = '\0';
        return;
    }
    size_t to = 0;
    for (size_t at = 0; at < length;) {
        size_t found = find_secret(secrets, false, text + at, at, length - at);
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

static void mask_mistakes(const struct buf *secrets, struct toolrack_error *err) {
    char *to = err->mistakes;
    const char *from = err->mistakes;
    for (unsigned i = 0; i < 2 * err->mistake_count; i++) {
        const size_t size = strlen(from) + 1;
        memmove(to, from, size);
        if (i % 2 == 1) { /* after its field */
            secrets_mask(secrets, to);
        }
        to += strlen(to) + 1;
        from += size;
    }
    err->mistakes_length = (unsigned)(to - err->mistakes);
}

void secrets_mask_error(const struct buf *secrets, struct toolrack_error *err) {
    if (err->brief_length > 0 && err->brief_length < strlen(err->message)) {
        /* What is for the caller ends where it did, before what gets shorter. */
        char brief[ERROR_MESSAGE_MAX];
        memcpy(brief, err->message, err->brief_length);
        brief[err->brief_length] = '\0';
        secrets_mask(secrets, brief);
        err->brief_length = strlen(brief);
    }
    secrets_mask(secrets, err->message);
    secrets_mask(secrets, err->trace);
    if (err->mistake_count > 0) {
        mask_mistakes(secrets, err);
    }
}

/* ------------------------------------------------------------------------- JSON */

/* Bytes of a string without its quotes, masked. */
static size_t mask_string(const struct buf *secrets, const char *text, size_t left,
                          struct buf *ret) {
    size_t at = 0;
    while (at < left && text[at] != '"') {
        size_t found = find_secret(secrets, true, text + at, at, left - at);
        size_t size = found > 0 ? found : read_unit(text + at, left - at).size;
        if (found > 0) {
            buf_add_text(ret, SECRET_MASK);
        } else {
            buf_add(ret, text + at, size);
        }
        at += size;
    }
    return at;
}

/* Bytes of a number or a word, which is masked as a whole. */
static size_t mask_word(const struct buf *secrets, const char *text, size_t left, struct buf *ret) {
    size_t length = 0;
    bool is_secret = false;
    while (length < left && strchr(",:[]{}\" \t\r\n", text[length]) == NULL) {
        is_secret =
                is_secret || find_secret(secrets, true, text + length, length, left - length) > 0;
        length++;
    }
    if (is_secret) {
        buf_add_text(ret, "\"" SECRET_MASK "\"");
    } else {
        buf_add(ret, text, length);
    }
    return length;
}

void secrets_mask_json(const struct buf *secrets, const char *json, size_t length,
                       struct buf *ret) {
    if (hide_all(secrets)) {
        buf_add_text(ret, "\"" SECRET_MASK "\"");
        return;
    }
    if (secrets->length == 0) {
        buf_add(ret, json, length);
        return;
    }
    bool in_string = false;
    for (size_t at = 0; at < length;) {
        const size_t left = length - at;
        const size_t size = in_string ? mask_string(secrets, json + at, left, ret)
                                      : mask_word(secrets, json + at, left, ret);
        at += size;
        if (at < length) { /* the quote or the separator behind it */
            in_string = json[at] == '"' ? !in_string : in_string;
            buf_add_char(ret, json[at++]);
        }
    }
}
