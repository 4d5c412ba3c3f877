#include "base/json.h"

#include <string.h>

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
    if (path[0] == '/') {
        return yyjson_ptr_getn(root, path, length);
    }
    if (strpbrk(path, "/~") == NULL) {
        return yyjson_obj_getn(root, path, length);
    }
    char pointer[JSON_PATH_LENGTH_MAX + 2] = "/";
    memcpy(pointer + 1, path, length);
    return yyjson_ptr_getn(root, pointer, length + 1);
}
