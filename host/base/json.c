#include "base/json.h"

#include <string.h>

/* Whether a path is the name of a member of the root, with nothing to unescape. */
static inline bool is_name(const char *path, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (path[i] == '/' || path[i] == '~') {
            return false;
        }
    }
    return true;
}

yyjson_val *json_at(yyjson_val *root, const char *path) {
    if (path == NULL) {
        return NULL;
    }
    size_t length = strnlen(path, JSON_PATH_LENGTH_MAX + 1);
    if (length == 0) {
        return root;
    }
    if (length > JSON_PATH_LENGTH_MAX) {
        return NULL;
    }
    if (is_name(path, length)) {
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
