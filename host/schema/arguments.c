#include "schema/arguments.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-twice.h"
#include "base/utf8.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Integers beyond 64 bits and reals beyond a double keep their digits. */
#define READ_FLAGS YYJSON_READ_BIGNUM_AS_RAW

/* ------------------------------------------------- what types a schema allows */

enum type_set {
    TYPE_NULL = 1 << 0,
    TYPE_BOOLEAN = 1 << 1,
    TYPE_NUMBER = 1 << 2,
    TYPE_STRING = 1 << 3,
    TYPE_ARRAY = 1 << 4,
    TYPE_OBJECT = 1 << 5
};

static unsigned type_of_name(const char *name) {
    static const struct {
        const char *name;
        unsigned type;
    } types[] = {{"null", TYPE_NULL},      {"boolean", TYPE_BOOLEAN}, {"number", TYPE_NUMBER},
                 {"integer", TYPE_NUMBER}, {"string", TYPE_STRING},   {"array", TYPE_ARRAY},
                 {"object", TYPE_OBJECT}};
    for (size_t i = 0; name != NULL && i < ARRAY_LENGTH(types); i++) {
        if (strcmp(types[i].name, name) == 0) {
            return types[i].type;
        }
    }
    return 0;
}

static unsigned type_of_value(yyjson_val *value) {
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL: return TYPE_NULL;
    case YYJSON_TYPE_BOOL: return TYPE_BOOLEAN;
    case YYJSON_TYPE_RAW:
    case YYJSON_TYPE_NUM: return TYPE_NUMBER;
    case YYJSON_TYPE_STR: return TYPE_STRING;
    case YYJSON_TYPE_ARR: return TYPE_ARRAY;
    case YYJSON_TYPE_OBJ: return TYPE_OBJECT;
    default: return 0;
    }
}

/* A schema and its document, the target of local references. */
struct schema {
    yyjson_val *root;
    yyjson_val *at; /* NULL: not known */
};

static struct schema schema_at(struct schema schema, yyjson_val *at) {
    return (struct schema){schema.root, at};
}

/* Follow "$ref": "#/..." for a limited number of steps, which also ends cycles. */
static struct schema schema_resolve(struct schema schema) {
    for (unsigned step = 0; step < ARGUMENTS_DEPTH_MAX; step++) {
        const char *ref = yyjson_get_str(yyjson_obj_get(schema.at, "$ref"));
        if (ref == NULL || ref[0] != '#') {
            break;
        }
        schema.at = yyjson_ptr_get(schema.root, ref + 1);
    }
    return schema;
}

static unsigned stated_types(yyjson_val *type) {
    unsigned types = type_of_name(yyjson_get_str(type));
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach (type, i, max, item) {
        types |= type_of_name(yyjson_get_str(item));
    }
    return types;
}

static unsigned types_of_choices(yyjson_val *at) {
    unsigned types = type_of_value(yyjson_obj_get(at, "const"));
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach (yyjson_obj_get(at, "enum"), i, max, item) {
        types |= type_of_value(item);
    }
    return types;
}

/* The set of allowed types; 0 if the schema does not state them. */
static unsigned schema_types(struct schema schema, unsigned depth) {
    schema = schema_resolve(schema);
    unsigned types = stated_types(yyjson_obj_get(schema.at, "type"));
    if (types == 0) {
        types = types_of_choices(schema.at);
    }
    static const char *const forms[] = {"anyOf", "oneOf", "allOf"};
    for (size_t f = 0; types == 0 && depth > 0 && f < ARRAY_LENGTH(forms); f++) {
        size_t i, max;
        yyjson_val *item;
        yyjson_arr_foreach (yyjson_obj_get(schema.at, forms[f]), i, max, item) {
            types |= schema_types(schema_at(schema, item), depth - 1);
        }
    }
    return types;
}

static struct schema schema_property(struct schema schema, const char *name, size_t length) {
    schema = schema_resolve(schema);
    return schema_at(schema,
                     yyjson_obj_getn(yyjson_obj_get(schema.at, "properties"), name, length));
}

static struct schema schema_items(struct schema schema) {
    schema = schema_resolve(schema);
    return schema_at(schema, yyjson_obj_get(schema.at, "items"));
}

/* ------------------------------------------------------------- one value */

/* The object under construction. */
struct build {
    yyjson_mut_doc *doc;
    struct toolrack_error *err;
};

/* One "path=text", borrowed from the caller. */
struct arg {
    const char *path;
    size_t path_length;
    const char *text;
    size_t length;
    struct schema schema; /* of the property */
};

/* The target of a path in the object. */
struct place {
    yyjson_mut_val *object;
    const char *name;
    size_t length;
};

/* Refuse with the JSON Pointer of the property that the path names. */
static int invalid(struct build *build, const struct arg *arg, const char *what) {
    CLEANUP(buf_finish) struct buf field = BUF_INIT;
    const char *end = arg->path + arg->path_length;
    for (const char *name = arg->path; name <= end;) {
        const char *dot = memchr(name, '.', (size_t)(end - name));
        const char *behind = dot != NULL ? dot : end;
        buf_add_pointer(&field, name, (size_t)(behind - name));
        name = behind + 1;
    }
    return error_set_field(build->err, TOOLRACK_E_INVALID_ARGUMENTS,
                           field.data != NULL ? field.data : "", "%s", what);
}

/* Whether a value is taken as the JSON that it parses to: always, unless a string is allowed. If a
 * string is allowed, "..." is a string that includes its quotes, and a number or literal is taken
 * as JSON only if its type is allowed too. */
static bool takes_json(unsigned types, yyjson_val *value) {
    unsigned type = type_of_value(value);
    if (types == 0) {
        return true;
    }
    return (types & TYPE_STRING) == 0 || (type != TYPE_STRING && (types & type) != 0);
}

static yyjson_mut_val *make_value(struct build *build, const struct arg *arg, unsigned types) {
    if (types != TYPE_STRING) {
        yyjson_doc *doc = yyjson_read(arg->text, arg->length, READ_FLAGS);
        yyjson_val *value = yyjson_doc_get_root(doc);
        yyjson_mut_val *made = NULL;
        bool take = value != NULL && takes_json(types, value);
        if (take) {
            made = yyjson_val_mut_copy(build->doc, value);
        }
        yyjson_doc_free(doc);
        if (take) {
            return made;
        }
    }
    return yyjson_mut_strncpy(build->doc, arg->text, arg->length);
}

/* An array property: the value adds one item, or its items if it is a JSON array itself. */
static int append(struct build *build, const struct arg *arg, yyjson_mut_val *array) {
    yyjson_mut_val *value = NULL;
    if (arg->length > 0 && arg->text[0] == '[') {
        value = make_value(build, arg, TYPE_ARRAY);
    }
    if (!yyjson_mut_is_arr(value)) {
        value = make_value(build, arg,
                           schema_types(schema_items(arg->schema), ARGUMENTS_DEPTH_MAX));
        return value != NULL && yyjson_mut_arr_append(array, value) ? 0 : error_oom(build->err);
    }
    yyjson_mut_val *item;
    while ((item = yyjson_mut_arr_remove_first(value)) != NULL) {
        (void)yyjson_mut_arr_append(array, item);
    }
    return 0;
}

static int put(struct build *build, const struct place *place, yyjson_mut_val *value) {
    yyjson_mut_val *name = yyjson_mut_strncpy(build->doc, place->name, place->length);
    /* yyjson_mut_obj_put() replaces an existing value. */
    return value != NULL && name != NULL && yyjson_mut_obj_put(place->object, name, value)
                   ? 0
                   : error_oom(build->err);
}

/* Whether the value is of a type that the property allows besides an array, such as null. */
static bool is_other(const struct arg *arg, unsigned types) {
    unsigned others = types & ~(unsigned)TYPE_ARRAY;
    if (others == 0 || (arg->length > 0 && arg->text[0] == '[')) {
        return false;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(arg->text, arg->length, READ_FLAGS);
    return (others & TYPE_STRING) != 0 || (others & type_of_value(yyjson_doc_get_root(doc))) != 0;
}

/* `again`: an earlier value set the same property. */
static int set_value(struct build *build, const struct arg *arg, const struct place *place,
                     bool again) {
    unsigned types = schema_types(arg->schema, ARGUMENTS_DEPTH_MAX);
    yyjson_mut_val *before = yyjson_mut_obj_getn(place->object, place->name, place->length);
    if (again && ((types & TYPE_ARRAY) == 0 || !yyjson_mut_is_arr(before))) {
        return invalid(build, arg, "is given twice, and is not an array");
    }
    if (again) {
        return append(build, arg, before);
    }
    if ((types & TYPE_ARRAY) == 0 || is_other(arg, types)) {
        return put(build, place, make_value(build, arg, types));
    }
    yyjson_mut_val *array = yyjson_mut_arr(build->doc);
    int code = array != NULL ? append(build, arg, array) : error_oom(build->err);
    return code < 0 ? code : put(build, place, array);
}

/* Go from the root along a.b.c to the object that contains c, creating missing objects. A name with
 * a dot in it is one property if the schema has a property of that name. */
static int walk(struct build *build, struct arg *arg, struct place *ret) {
    struct place place = {yyjson_mut_doc_get_root(build->doc), arg->path, arg->path_length};
    for (unsigned depth = 0;; depth++) {
        struct schema known = schema_property(arg->schema, place.name, place.length);
        const char *dot = memchr(place.name, '.', place.length);
        size_t head = dot != NULL ? (size_t)(dot - place.name) : 0;
        if (known.at != NULL || head == 0 || head + 1 == place.length) {
            arg->schema = known;
            *ret = place;
            return 0;
        }
        if (depth == ARGUMENTS_DEPTH_MAX) {
            return invalid(build, arg, "the name has too many dots");
        }
        arg->schema = schema_property(arg->schema, place.name, head);
        yyjson_mut_val *inner = yyjson_mut_obj_getn(place.object, place.name, head);
        if (!yyjson_mut_is_obj(inner)) {
            inner = yyjson_mut_obj(build->doc);
            struct place outer = {place.object, place.name, head};
            int code = put(build, &outer, inner);
            if (code < 0) {
                return code;
            }
        }
        place = (struct place){inner, dot + 1, place.length - head - 1};
    }
}

static bool same_path(const char *a, const char *b, size_t length) {
    return strncmp(a, b, length) == 0 && a[length] == '=';
}

static int set_arg(struct build *build, const char *const *values, size_t index,
                   struct schema schema) {
    const char *text = values[index];
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return error_set(build->err, TOOLRACK_E_INVALID, "an argument is name=value, not \"%s\"",
                         text);
    }
    struct arg arg = {.path = text,
                      .path_length = (size_t)(equals - text),
                      .text = equals + 1,
                      .length = strlen(equals + 1),
                      .schema = schema};
    if (!utf8_valid(text, strlen(text))) {
        return invalid(build, &arg, "is not UTF-8");
    }
    bool again = false;
    for (size_t i = 0; i < index && !again; i++) {
        again = same_path(values[i], arg.path, arg.path_length);
    }
    struct place place = {0};
    int code = walk(build, &arg, &place);
    return code < 0 ? code : set_value(build, &arg, &place, again);
}

/* --------------------------------------------------------------- the whole */

static int begin(const char *json, struct build *build) {
    build->doc = yyjson_mut_doc_new(NULL);
    if (build->doc == NULL) {
        return error_oom(build->err);
    }
    if (json == NULL || json[0] == '\0') {
        yyjson_mut_doc_set_root(build->doc, yyjson_mut_obj(build->doc));
        return 0;
    }
    yyjson_read_err read;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)json, strlen(json), READ_FLAGS, NULL, &read);
    if (doc == NULL) {
        return error_set(build->err, TOOLRACK_E_INVALID_ARGUMENTS,
                         "the arguments are not JSON: %s at byte %zu", read.msg, read.pos);
    }
    if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        return error_set(build->err, TOOLRACK_E_INVALID_ARGUMENTS,
                         "the arguments must be a JSON object, such as {\"name\": \"value\"}");
    }
    char pointer[JSON_POINTER_MAX];
    if (json_find_twice(yyjson_doc_get_root(doc), pointer) == JSON_TWICE_FOUND) {
        return error_set_field(build->err, TOOLRACK_E_INVALID_ARGUMENTS, pointer,
                               "is given twice; give it once");
    }
    yyjson_mut_doc_set_root(build->doc, yyjson_val_mut_copy(build->doc, yyjson_doc_get_root(doc)));
    return yyjson_mut_doc_get_root(build->doc) != NULL ? 0 : error_oom(build->err);
}

int arguments_build(const char *schema, const char *json, const char *const *values, size_t count,
                    struct buf *out, struct toolrack_error *err) {
    struct build build = {.err = err};
    int code = begin(json, &build);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *owned = build.doc;
    size_t schema_length = schema != NULL ? strlen(schema) : 0;
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema_doc = yyjson_read(schema, schema_length, 0);
    yyjson_val *root = yyjson_doc_get_root(schema_doc);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = set_arg(&build, values, i, (struct schema){root, root});
    }
    if (code < 0) {
        return code;
    }
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_mut_write(owned, 0, &length);
    buf_add(out, text != NULL ? text : "", length);
    return text == NULL || out->failed ? error_oom(err) : 0;
}
