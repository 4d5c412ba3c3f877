#include "worker/granted.h"

#include <string.h>

static bool is_listed(const struct image_path *paths, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(paths[i].path, path) == 0) {
            return true;
        }
    }
    return false;
}

const struct image_path *granted_paths(const struct sandbox_policy *policy, struct arena *arena) {
    static const struct image_path none;
    size_t room = policy->write_path_count + policy->read_path_count + 1;
    if (room == 1) {
        return &none;
    }
    struct image_path *paths = arena_zalloc(arena, room * sizeof *paths);
    size_t count = 0;
    if (paths == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < room - 1; i++) {
        bool writes = i < policy->write_path_count;
        const char *path =
                writes ? policy->write_paths[i] : policy->read_paths[i - policy->write_path_count];
        if (!is_listed(paths, count, path)) {
            bool is_own = policy->own_path != NULL && strcmp(policy->own_path, path) == 0;
            paths[count++] = (struct image_path){path, writes, is_own};
        }
    }
    return paths;
}
