#include "life/guard-list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "life/guard-way.h"

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool guard_add(struct guard *guard, struct guard_list *list, const char *path) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->paths[i], path) == 0) {
            return true;
        }
    }
    if (list->paths == NULL) {
        list->paths = arena_alloc(guard->arena, SANDBOX_PATHS_MAX * sizeof *list->paths);
    }
    const char *copy = arena_copy(guard->arena, path, strlen(path));
    if (list->paths == NULL || copy == NULL) {
        return false;
    }
    if (list->count == SANDBOX_PATHS_MAX) {
        guard->is_full = true;
        return true;
    }
    list->paths[list->count++] = copy;
    qsort(list->paths, list->count, sizeof *list->paths, compare);
    return true;
}

bool guard_keep_between(struct guard *guard, const char *granted, const char *path) {
    const char *below = guard_below(path, granted);
    for (const char *slash = strchr(below, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        char part[PATH_MAX];
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (!guard_add(guard, &guard->kept, part)) {
            return false;
        }
    }
    return true;
}
