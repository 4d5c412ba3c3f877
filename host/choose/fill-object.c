/* The arguments as one JSON object, and each value at its place in it. */
#include <stdlib.h>
#include <string.h>

#include "base/json-pointer.h"
#include "choose/fill-result.h"

/* The member of an object for a segment of a pointer. */
static yyjson_mut_val *enter(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                             size_t length, bool array) {
    yyjson_mut_val *child = yyjson_mut_obj_getn(object, name, length);
    if (child == NULL) {
        yyjson_mut_val *key = yyjson_mut_strncpy(doc, name, length);
        child = array ? yyjson_mut_arr(doc) : yyjson_mut_obj(doc);
        if (!yyjson_mut_obj_add(object, key, child)) {
            return NULL;
        }
    }
    return child;
}

/* The object of an array that a segment such as "1" names; elements are added in order. */
static yyjson_mut_val *enter_element(yyjson_mut_doc *doc, yyjson_mut_val *array, const char **at) {
    size_t index = (size_t)strtoul(*at, NULL, 10);
    *at = strchr(*at, '/') + 1;
    while (array != NULL && yyjson_mut_arr_size(array) <= index) {
        if (!yyjson_mut_arr_append(array, yyjson_mut_obj(doc))) {
            return NULL;
        }
    }
    return yyjson_mut_arr_get(array, index);
}

static yyjson_val *property(yyjson_val *schema, const char *name, size_t length) {
    return yyjson_obj_getn(yyjson_obj_get(schema, "properties"), name, length);
}

bool fill_set_member(struct fill *fill, yyjson_mut_doc *doc, const char *pointer,
                     const char *json) {
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
    yyjson_val *schema = fill->tool->parameters;
    const char *at = pointer + 1;
    char name[ARGUMENTS_POINTER_MAX];
    for (const char *slash = strchr(at, '/'); slash != NULL && object != NULL;
         slash = strchr(at, '/')) {
        size_t length = json_pointer_unescape(at, (size_t)(slash - at), name);
        schema = property(schema, name, length);
        yyjson_val *items = yyjson_obj_get(schema, "items");
        bool array = yyjson_obj_get(items, "properties") != NULL &&
                     yyjson_obj_get(schema, "properties") == NULL;
        object = enter(doc, object, name, length, array);
        at = slash + 1;
        object = array ? enter_element(doc, object, &at) : object;
        schema = array ? items : schema;
    }
    yyjson_doc *read = yyjson_read(json, strlen(json), YYJSON_READ_NOFLAG);
    size_t length = json_pointer_unescape(at, strlen(at), name);
    bool good = object != NULL && read != NULL &&
                yyjson_mut_obj_add(object, yyjson_mut_strncpy(doc, name, length),
                                   yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)));
    yyjson_doc_free(read);
    return good;
}
