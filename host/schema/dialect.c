#include "schema/dialect.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json.h"
#include "schema/keyword.h"
#include "schema/schema.h"

static const char *const types[] = {"string", "integer", "number", "boolean",
                                    "object", "array",   "null"};

static const struct {
    const char *said;
    const char *meant;
} dialects[] = {
        {"str", "string"},
        {"char", "string"},
        {"text", "string"},
        {"varchar", "string"},
        {"date", "string"},
        {"datetime", "string"},
        {"time", "string"},
        {"uuid", "string"},
        {"bytes", "string"},
        {"enum", "string"},
        {"int", "integer"},
        {"int32", "integer"},
        {"int64", "integer"},
        {"long", "integer"},
        {"short", "integer"},
        {"byte", "integer"},
        {"bigint", "integer"},
        {"uint", "integer"},
        {"float", "number"},
        {"double", "number"},
        {"decimal", "number"},
        {"real", "number"},
        {"float32", "number"},
        {"float64", "number"},
        {"num", "number"},
        {"bool", "boolean"},
        {"dict", "object"},
        {"map", "object"},
        {"hashmap", "object"},
        {"hash", "object"},
        {"record", "object"},
        {"struct", "object"},
        {"json", "object"},
        {"obj", "object"},
        {"dictionary", "object"},
        {"list", "array"},
        {"tuple", "array"},
        {"set", "array"},
        {"arraylist", "array"},
        {"vector", "array"},
        {"sequence", "array"},
        {"none", "null"},
        {"nil", "null"},
        {"void", "null"},
        {"undefined", "null"},
        {"any", ""},
        {"mixed", ""},
        {"unknown", ""},
};

/* "List[str]" is a list and "string[]" an array: what is inside brackets is ignored. A name with
 * "|" means several types, which no single name says. */
const char *dialect_type(const char *said) {
    size_t length = strcspn(said, "[<( ");
    if (strchr(said, '|') != NULL) {
        return NULL;
    }
    if (strcmp(said + length, "[]") == 0) {
        return "array";
    }
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        if (strlen(types[i]) == length && strncasecmp(types[i], said, length) == 0) {
            return types[i];
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(dialects); i++) {
        if (strlen(dialects[i].said) == length &&
            strncasecmp(dialects[i].said, said, length) == 0) {
            return dialects[i].meant;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ a schema */

struct correction {
    yyjson_mut_doc *doc;
    dialect_report *report;
    void *user;
    char pointer[JSON_POINTER_MAX]; /* of the current place */
};

/* What a type is to be written as; NULL: as it is. */
static const char *correct_name(struct correction *c, yyjson_mut_val *type) {
    const char *said = yyjson_mut_get_str(type);
    const char *meant = said != NULL ? dialect_type(said) : NULL;
    if (meant == NULL || strcmp(meant, said) == 0) {
        return NULL;
    }
    c->report(c->user, c->pointer, said, meant);
    return meant;
}

/* A list of types. One that means any value makes the whole list mean that. */
static void correct_list(struct correction *c, yyjson_mut_val *schema, yyjson_mut_val *list) {
    size_t end = strlen(c->pointer);
    yyjson_mut_val *corrected = yyjson_mut_arr(c->doc);
    bool changed = false;
    bool any = false;
    size_t at;
    size_t count;
    yyjson_mut_val *type;
    yyjson_mut_arr_foreach(list, at, count, type) {
        json_pointer_add_index(c->pointer, at);
        const char *meant = correct_name(c, type);
        c->pointer[end] = '\0';
        changed = changed || meant != NULL;
        any = any || (meant != NULL && meant[0] == '\0');
        if (meant == NULL) {
            (void)yyjson_mut_arr_append(corrected, yyjson_mut_val_mut_copy(c->doc, type));
        } else if (meant[0] != '\0' && !json_mut_has_text(list, meant) &&
                   !json_mut_has_text(corrected, meant)) {
            (void)yyjson_mut_arr_add_str(c->doc, corrected, meant);
        }
    }
    if (any) {
        (void)yyjson_mut_obj_remove_key(schema, "type");
    } else if (changed && corrected != NULL) {
        (void)yyjson_mut_obj_replace(schema, yyjson_mut_str(c->doc, "type"), corrected);
    }
}

static void correct_type(struct correction *c, yyjson_mut_val *schema) {
    yyjson_mut_val *type = yyjson_mut_obj_get(schema, "type");
    size_t end = strlen(c->pointer);
    json_pointer_add(c->pointer, "type");
    if (yyjson_mut_is_arr(type)) {
        correct_list(c, schema, type);
    } else {
        const char *meant = correct_name(c, type);
        if (meant != NULL && meant[0] != '\0') {
            (void)yyjson_mut_set_str(type, meant);
        } else if (meant != NULL) {
            (void)yyjson_mut_obj_remove_key(schema, "type");
        }
    }
    c->pointer[end] = '\0';
}

static void correct_schema(struct correction *c, yyjson_mut_val *schema, unsigned depth);

/* The schemas that are members or items of a value. */
static void correct_parts(struct correction *c, yyjson_mut_val *value, unsigned depth) {
    size_t end = strlen(c->pointer);
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *part;
    yyjson_mut_arr_foreach(value, at, count, part) {
        json_pointer_add_index(c->pointer, at);
        correct_schema(c, part, depth);
        c->pointer[end] = '\0';
    }
    yyjson_mut_obj_foreach(value, at, count, key, part) {
        json_pointer_add(c->pointer, yyjson_mut_get_str(key));
        correct_schema(c, part, depth);
        c->pointer[end] = '\0';
    }
}

static void correct_schema(struct correction *c, yyjson_mut_val *schema, unsigned depth) {
    if (!yyjson_mut_is_obj(schema) || depth > SCHEMA_DEPTH_MAX) {
        return;
    }
    correct_type(c, schema);
    size_t end = strlen(c->pointer);
    for (unsigned i = 0; i < KEYWORD_COUNT; i++) {
        const struct keyword_row *row = &keyword_rows[i];
        yyjson_mut_val *value =
                i != KEYWORD_OLD_ITEMS ? yyjson_mut_obj_get(schema, row->name) : NULL;
        bool is_one = row->shape == SHAPE_SCHEMA && yyjson_mut_is_obj(value);
        bool is_more = row->shape == SHAPE_SCHEMAS || row->shape == SHAPE_SCHEMA_MAP ||
                       row->shape == SHAPE_DEPENDENCIES ||
                       (i == KEYWORD_ITEMS && yyjson_mut_is_arr(value));
        if (value == NULL || (!is_one && !is_more)) {
            continue;
        }
        json_pointer_add(c->pointer, row->name);
        if (is_one) {
            correct_schema(c, value, depth + 1);
        } else {
            correct_parts(c, value, depth + 1);
        }
        c->pointer[end] = '\0';
    }
}

void dialect_correct(yyjson_mut_doc *doc, yyjson_mut_val *schema, dialect_report *report,
                     void *user) {
    struct correction correction = {.doc = doc, .report = report, .user = user};
    correct_schema(&correction, schema, 0);
}
