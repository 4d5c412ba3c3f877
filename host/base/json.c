#include "base/json.h"

#include <stdbool.h>
#include <string.h>

/* The length of a path, and whether it is the name of a member of the root with nothing to
 * unescape. More than JSON_PATH_LENGTH_MAX is too long. */
static size_t measure(const char *path, bool *ret_is_name) {
    size_t length = 0;
    *ret_is_name = true;
    while (length <= JSON_PATH_LENGTH_MAX && path[length] != '\0') {
        if (path[length] == '/' || path[length] == '~') {
            *ret_is_name = false;
        }
        length++;
    }
    return length;
}

yyjson_val *json_at(yyjson_val *root, const char *path) {
    if (path == NULL) {
        return NULL;
    }
    bool is_name;
    size_t length = measure(path, &is_name);
    if (length == 0) {
        return root;
    }
    if (length > JSON_PATH_LENGTH_MAX) {
        return NULL;
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
