#include "schema/value.h"

#include <string.h>

static bool has_text(yyjson_val *value) {
    return unsafe_yyjson_is_str(value) || unsafe_yyjson_is_raw(value);
}

/* Containers store the distance to the next value, not addresses, so the cells can be copied
 * unchanged; only strings need new copies. */
yyjson_val *value_copy(struct arena *arena, yyjson_val *value) {
    size_t count = value_cells(value);
    yyjson_val *copy = arena_alloc(arena, count * sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, value, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        if (has_text(&copy[i])) {
            size_t length = unsafe_yyjson_get_len(&copy[i]);
            copy[i].uni.str = arena_copy(arena, copy[i].uni.str, length);
            if (copy[i].uni.str == NULL) {
                return NULL;
            }
        }
    }
    return copy;
}

bool value_contains(yyjson_val *root, yyjson_val *value) {
    return value >= root && value < unsafe_yyjson_get_next(root);
}

void value_locate(yyjson_val *root, yyjson_val *value, struct text *text) {
    while (root != value) {
        bool is_object = unsafe_yyjson_is_obj(root);
        size_t index = 0;
        yyjson_val *at = unsafe_yyjson_get_first(root);
        yyjson_val *key = at;
        for (;; index++) {
            key = at;
            at += is_object;
            if (value_contains(key, value) || value_contains(at, value)) {
                break;
            }
            at = unsafe_yyjson_get_next(at);
        }
        if (is_object) {
            text_add_key(text, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
        } else {
            text_add_index(text, index);
        }
        if (key == value) { /* the value may also be a property's name */
            return;
        }
        root = at;
    }
}
