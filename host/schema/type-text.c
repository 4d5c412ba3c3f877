#include "schema/type-text.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "schema/dialect.h"

/* Most brackets within brackets, and longest name of one type. */
#define DEPTH_MAX     8u
#define TYPE_NAME_MAX 64u

/* What is left of a text. */
struct reading {
    yyjson_mut_doc *doc;
    const char *at;
    bool is_any; /* within brackets where "object" means any value */
    enum type_loss loss;
};

static yyjson_mut_val *read_union(struct reading *reading, unsigned depth);

static void skip_blanks(struct reading *reading) {
    reading->at += strspn(reading->at, " ");
}

/* Whether the next character is this one; then it is read. */
static bool take(struct reading *reading, char c) {
    skip_blanks(reading);
    bool is_next = *reading->at == c;
    reading->at += is_next;
    return is_next;
}

/* ----------------------------------------------------------------- one type */

/* How many bits a name says at its end; 0: none. */
static unsigned bits_of(const char *name) {
    static const struct {
        const char *digits;
        unsigned bits;
    } sizes[] = {{"8", 8}, {"16", 16}, {"32", 32}, {"64", 64}};
    const char *digits = name + strcspn(name, "0123456789[<( ");
    size_t length = strcspn(digits, "[<( ");
    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        if (strlen(sizes[i].digits) == length && strncmp(sizes[i].digits, digits, length) == 0) {
            return sizes[i].bits;
        }
    }
    return 0;
}

/* The bounds of integers of so many bits. */
static void add_bounds(struct reading *reading, yyjson_mut_val *schema, const char *name) {
    bool is_unsigned = dialect_is_unsigned(name);
    unsigned bits = bits_of(name);
    if (is_unsigned) {
        (void)yyjson_mut_obj_add_uint(reading->doc, schema, "minimum", 0);
    } else if (bits != 0) {
        (void)yyjson_mut_obj_add_int(reading->doc, schema, "minimum", INT64_MIN >> (64 - bits));
    }
    if (bits != 0) {
        (void)yyjson_mut_obj_add_uint(reading->doc, schema, "maximum",
                                      UINT64_MAX >> (64 - bits + !is_unsigned));
    }
}

/* A schema of the type that a name means; NULL: of none. */
static yyjson_mut_val *schema_of(struct reading *reading, const char *name) {
    const char *meant = dialect_type(name);
    yyjson_mut_val *schema = meant != NULL ? yyjson_mut_obj(reading->doc) : NULL;
    if (schema != NULL && meant[0] != '\0') {
        (void)yyjson_mut_obj_add_str(reading->doc, schema, "type", meant);
    }
    if (schema != NULL && strcmp(meant, "integer") == 0) {
        add_bounds(reading, schema, name);
    }
    return schema;
}

/* -------------------------------------------------------------- alternatives */

static bool has_type(yyjson_mut_val *schema, const char *type) {
    return json_mut_has_text(yyjson_mut_obj_get(schema, "type"), type);
}

static bool has_number(yyjson_mut_val *schema) {
    return has_type(schema, "integer") || has_type(schema, "number");
}

static void add_type(struct reading *reading, yyjson_mut_val *schema, yyjson_mut_val *type) {
    yyjson_mut_val *types = yyjson_mut_obj_get(schema, "type");
    if (json_mut_has_text(types, yyjson_mut_get_str(type))) {
        return;
    }
    yyjson_mut_val *copy = yyjson_mut_val_mut_copy(reading->doc, type);
    if (yyjson_mut_is_arr(types)) {
        (void)yyjson_mut_arr_append(types, copy);
        return;
    }
    yyjson_mut_val *list = yyjson_mut_arr(reading->doc);
    (void)yyjson_mut_arr_append(list, yyjson_mut_val_mut_copy(reading->doc, types));
    (void)yyjson_mut_arr_append(list, copy);
    (void)yyjson_mut_obj_replace(schema, yyjson_mut_str(reading->doc, "type"), list);
}

/* A keyword speaks of values of one type. Where both alternatives have that, they must say the same
 * of it, else nothing is said. */
static void join_keyword(struct reading *reading, yyjson_mut_val *schema, yyjson_mut_val *other,
                         const char *keyword, bool both, enum type_loss loss) {
    yyjson_mut_val *ours = yyjson_mut_obj_get(schema, keyword);
    yyjson_mut_val *theirs = yyjson_mut_obj_get(other, keyword);
    bool is_same = ours != NULL && theirs != NULL && yyjson_mut_equals(ours, theirs);
    if (both && !is_same && (ours != NULL || theirs != NULL)) {
        (void)yyjson_mut_obj_remove_key(schema, keyword);
        reading->loss = loss;
    } else if (ours == NULL && theirs != NULL) {
        (void)yyjson_mut_obj_add_val(reading->doc, schema, keyword,
                                     yyjson_mut_val_mut_copy(reading->doc, theirs));
    }
}

/* What both allow. NULL: one is not known. */
static yyjson_mut_val *join(struct reading *reading, yyjson_mut_val *schema,
                            yyjson_mut_val *other) {
    yyjson_mut_val *types = yyjson_mut_obj_get(other, "type");
    if (schema == NULL || other == NULL) {
        return NULL;
    }
    if (types == NULL || yyjson_mut_obj_get(schema, "type") == NULL) { /* any value */
        return types == NULL ? other : schema;
    }
    bool numbers = has_number(schema) && has_number(other);
    join_keyword(reading, schema, other, "items",
                 has_type(schema, "array") && has_type(other, "array"), TYPE_LOSS_BRACKETS);
    join_keyword(reading, schema, other, "additionalProperties",
                 has_type(schema, "object") && has_type(other, "object"), TYPE_LOSS_BRACKETS);
    join_keyword(reading, schema, other, "minimum", numbers, TYPE_LOSS_SIZES);
    join_keyword(reading, schema, other, "maximum", numbers, TYPE_LOSS_SIZES);
    if (!yyjson_mut_is_arr(types)) {
        add_type(reading, schema, types);
        return schema;
    }
    size_t at;
    size_t count;
    yyjson_mut_val *type;
    yyjson_mut_arr_foreach(types, at, count, type) {
        add_type(reading, schema, type);
    }
    return schema;
}

static yyjson_mut_val *null_schema(struct reading *reading) {
    yyjson_mut_val *schema = yyjson_mut_obj(reading->doc);
    (void)yyjson_mut_obj_add_str(reading->doc, schema, "type", "null");
    return schema;
}

/* ----------------------------------------------------------------- brackets */

/* Skip to behind the bracket that is open. */
static void skip_brackets(struct reading *reading) {
    for (unsigned open = 1; *reading->at != '\0' && open > 0; reading->at++) {
        open += strchr("[<(", *reading->at) != NULL;
        open -= strchr("]>)", *reading->at) != NULL;
    }
}

/* What stands in brackets: types, separated by commas; up to two, and how many there are. Those
 * that are not known are NULL. */
static size_t read_inner(struct reading *reading, unsigned depth, bool is_union,
                         yyjson_mut_val *ret[2]) {
    size_t count = 0;
    const char *begin = reading->at;
    do {
        yyjson_mut_val *inner = depth < DEPTH_MAX ? read_union(reading, depth + 1) : NULL;
        if (inner == NULL) {
            break;
        }
        if (count < 2) {
            ret[count] = inner;
        }
        if (is_union && count > 0) {
            ret[0] = join(reading, ret[0], inner);
        }
        count++;
    } while (take(reading, ','));
    skip_blanks(reading);
    if (count > 0 && *reading->at != '\0' && strchr("]>)", *reading->at) != NULL) {
        reading->at++;
        return count;
    }
    reading->at = begin;
    skip_brackets(reading);
    return 0;
}

/* Any value need not be said. */
static void add_schema(struct reading *reading, yyjson_mut_val *schema, const char *keyword,
                       yyjson_mut_val *inner) {
    if (yyjson_mut_obj_size(inner) > 0) {
        (void)yyjson_mut_obj_add_val(reading->doc, schema, keyword, inner);
    }
}

/* Whether "object" in the brackets behind a name means any value, as in Java, C# and Python: List,
 * Map, dict. In an Array and a Record, of TypeScript, it is no string or number. */
static bool holds_any(const char *name) {
    return strcasecmp(name, "array") != 0 && strcasecmp(name, "record") != 0;
}

/* The types in the brackets behind a name, in its schema. */
static yyjson_mut_val *read_brackets(struct reading *reading, const char *name, unsigned depth) {
    yyjson_mut_val *inner[2] = {NULL, NULL};
    bool is_optional = strcasecmp(name, "optional") == 0;
    bool is_union = strcasecmp(name, "union") == 0;
    bool is_any = reading->is_any;
    reading->is_any = holds_any(name);
    size_t count = read_inner(reading, depth, is_union, inner);
    reading->is_any = is_any;
    if (is_optional || is_union) {
        bool is_read = is_union ? count > 0 : count == 1;
        return !is_read      ? NULL
               : is_optional ? join(reading, inner[0], null_schema(reading))
                             : inner[0];
    }
    yyjson_mut_val *schema = schema_of(reading, name);
    bool is_tuple = strcasecmp(name, "tuple") == 0;
    if (has_type(schema, "array") && count == 1 && !is_tuple) {
        add_schema(reading, schema, "items", inner[0]);
    } else if (has_type(schema, "object") && count == 2 && has_type(inner[0], "string") &&
               !yyjson_mut_is_arr(yyjson_mut_obj_get(inner[0], "type"))) {
        add_schema(reading, schema, "additionalProperties", inner[1]);
    } else {
        reading->loss = TYPE_LOSS_BRACKETS;
    }
    return schema;
}

/* ------------------------------------------------------------------- reading */

/* "int", "List[int]", "int[]", "int?". */
static yyjson_mut_val *read_one(struct reading *reading, unsigned depth) {
    char name[TYPE_NAME_MAX + 1];
    skip_blanks(reading);
    size_t length = strcspn(reading->at, "[]<>()|,? ");
    if (length == 0 || length > TYPE_NAME_MAX) {
        return NULL;
    }
    (void)memcpy(name, reading->at, length);
    name[length] = '\0';
    reading->at += length;
    skip_blanks(reading);
    bool has_brackets = *reading->at != '\0' && strchr("[<(", *reading->at) != NULL &&
                        strncmp(reading->at, "[]", 2) != 0;
    reading->at += has_brackets;
    bool is_any = reading->is_any && strcasecmp(name, "object") == 0;
    yyjson_mut_val *schema = has_brackets ? read_brackets(reading, name, depth)
                             : is_any     ? yyjson_mut_obj(reading->doc)
                                          : schema_of(reading, name);
    for (; schema != NULL && strncmp(reading->at, "[]", 2) == 0; depth++) {
        if (depth >= DEPTH_MAX) {
            return NULL;
        }
        yyjson_mut_val *array = yyjson_mut_obj(reading->doc);
        (void)yyjson_mut_obj_add_str(reading->doc, array, "type", "array");
        (void)yyjson_mut_obj_add_val(reading->doc, array, "items", schema);
        schema = array;
        reading->at += 2;
    }
    return schema != NULL && take(reading, '?') ? join(reading, schema, null_schema(reading))
                                                : schema;
}

static yyjson_mut_val *read_union(struct reading *reading, unsigned depth) {
    yyjson_mut_val *schema = read_one(reading, depth);
    while (schema != NULL && take(reading, '|')) {
        schema = join(reading, schema, read_one(reading, depth));
    }
    return schema;
}

yyjson_mut_val *type_text_read(yyjson_mut_doc *doc, const char *text, enum type_loss *ret_loss) {
    struct reading reading = {.doc = doc, .at = text, .loss = TYPE_LOSS_NONE};
    yyjson_mut_val *schema = read_union(&reading, 0);
    skip_blanks(&reading);
    if (schema == NULL || *reading.at != '\0') {
        reading.loss = TYPE_LOSS_REST;
        schema = schema_of(&reading, text); /* "array of strings": by its first word */
    }
    *ret_loss = reading.loss;
    return schema;
}

yyjson_mut_val *type_text_join(yyjson_mut_doc *doc, yyjson_mut_val *schema, yyjson_mut_val *other,
                               enum type_loss *loss) {
    struct reading reading = {.doc = doc, .at = "", .loss = *loss};
    yyjson_mut_val *joined = join(&reading, schema, other);
    *loss = reading.loss;
    return joined;
}
