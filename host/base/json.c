#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/ascii.h"

yyjson_val *json_at(yyjson_val *root, const char *path) {
    if (path == NULL) {
        return NULL;
    }
    /* A path without these is the name of a member of the root, with nothing to unescape. */
    bool is_name = true;
    size_t length = 0;
    for (; path[length] != '\0'; length++) {
        if (length == JSON_PATH_LENGTH_MAX) {
            return NULL;
        }
        is_name = is_name && path[length] != '/' && path[length] != '~';
    }
    if (length == 0) {
        return root;
    }
    if (is_name) {
        return yyjson_obj_getn(root, path, length);
    }
    if (path[0] == '/') {
        return yyjson_ptr_getn(root, path, length);
    }
    char pointer[JSON_PATH_LENGTH_MAX + 2];
    pointer[0] = '/';
    memcpy(pointer + 1, path, length);
    return yyjson_ptr_getn(root, pointer, length + 1);
}

const char *json_setting(yyjson_val *root, const char *path, const yyjson_alc *alc) {
    yyjson_val *value = json_at(root, path);
    if (value == NULL || yyjson_is_null(value)) {
        return NULL;
    }
    return yyjson_is_str(value)
                   ? yyjson_get_str(value)
                   : yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, alc, NULL, NULL);
}

bool json_has_text(yyjson_val *value, const char *text) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (value, at, count, item) {
        if (yyjson_equals_str(item, text)) {
            return true;
        }
    }
    return yyjson_equals_str(value, text);
}

bool json_mut_has_text(yyjson_mut_val *value, const char *text) {
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(value, at, count, item) {
        if (yyjson_mut_equals_str(item, text)) {
            return true;
        }
    }
    return yyjson_mut_equals_str(value, text);
}

/* The values of a parsed text are one array in the order of the text, and each array or object
 * knows where it ends. */
bool json_is_deeper(const yyjson_val *root, unsigned max) {
    const yyjson_val *ends[JSON_DEEPER_MAX];
    unsigned depth = 0;
    const yyjson_val *end = unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)root);
    if ((size_t)(end - root) <= max) {
        return false; /* not even as many values */
    }
    for (const yyjson_val *value = root; value < end; value++) {
        while (depth > 0 && value >= ends[depth - 1]) {
            depth--;
        }
        if (!unsafe_yyjson_is_ctn((void *)(uintptr_t)value)) {
            continue;
        }
        if (depth == max || depth == JSON_DEEPER_MAX) {
            return true;
        }
        ends[depth++] = unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)value);
    }
    return false;
}

void json_point_at(yyjson_val *root, const yyjson_val *part, char ret[static JSON_POINTER_MAX]) {
    yyjson_val *at = root;
    ret[0] = '\0';
    while (at != NULL) {
        bool is_object = yyjson_is_obj(at);
        size_t count = is_object || yyjson_is_arr(at) ? unsafe_yyjson_get_len(at) : 0;
        yyjson_val *child = count > 0 ? unsafe_yyjson_get_first(at) : NULL;
        size_t i = 0;
        for (; i < count; i++) { /* to the member or item of which `part` is one */
            yyjson_val *after =
                    is_object ? unsafe_yyjson_get_next(child + 1) : unsafe_yyjson_get_next(child);
            if (part < after) {
                break;
            }
            child = after;
        }
        if (i == count) {
            return;
        }
        if (is_object) {
            json_pointer_add(ret, unsafe_yyjson_get_str(child));
        } else {
            json_pointer_add_index(ret, i);
        }
        at = child == part ? NULL : is_object ? child + 1 : child;
    }
}

/* ------------------------------------------------------------------ halves */

#define HIGH_HALF "89abAB"
#define LOW_HALF  "cdefCDEF"

/* Whether the escape of one half of a UTF-16 pair stands here; `half`: its second digits. */
static bool is_half(const char *at, const char *end, const char *half) {
    return end - at >= 6 && at[0] == '\\' && at[1] == 'u' && ascii_lower(at[2]) == 'd' &&
           memchr(half, at[3], strlen(half)) != NULL && ascii_hex_value(at[4]) >= 0 &&
           ascii_hex_value(at[5]) >= 0;
}

void json_replace_lone_halves(char *text, size_t length) {
    char *end = text + length;
    char *at = text;
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        bool is_high = is_half(at, end, HIGH_HALF);
        if (is_high && is_half(at + 6, end, LOW_HALF)) {
            at += 12;
        } else if (is_high || is_half(at, end, LOW_HALF)) {
            memcpy(at + 2, "fffd", 4);
            at += 6;
        } else {
            at += end - at > 1 ? 2 : 1;
        }
    }
}
