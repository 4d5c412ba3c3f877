/* Plugin files that are links to elsewhere or have several names, and the libraries that plugins
 * bring. They are read once for all grants of a policy. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "config/elsewhere.h"
#include "files/folder.h"
#include "life/guard-parts.h"
#include "plugin/run-path.h"

/* False: no memory. */
static bool add(struct guard *guard, const char *what, const char *path, enum guard_kind kind) {
    struct guard_plugins *list = &guard->plugins;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].kind == kind && strcmp(list->items[i].path, path) == 0) {
            return true;
        }
    }
    if (list->count == list->room) {
        size_t room = list->room == 0 ? 16 : 2 * list->room;
        struct guarded *items = arena_alloc(guard->arena, room * sizeof *items);
        if (items == NULL) {
            return false;
        }
        if (list->count > 0) {
            memcpy(items, list->items, list->count * sizeof *items);
        }
        list->items = items;
        list->room = room;
    }
    const char *copy = arena_copy(guard->arena, path, strlen(path));
    if (copy != NULL) {
        list->items[list->count++] = (struct guarded){what, copy, kind};
    }
    return copy != NULL;
}

struct bringing {
    struct guard *guard;
    bool failed;
};

static bool take(void *user, bool is_folder, const char *path) {
    struct bringing *bringing = user;
    bringing->failed = !add(bringing->guard,
                            is_folder ? "the folder of a plugin's libraries" : "a plugin's library",
                            path, is_folder ? GUARD_SEARCHED : GUARD_PROGRAM);
    return !bringing->failed;
}

bool guard_read_plugin(struct guard *guard, const char *path) {
    struct bringing bringing = {.guard = guard};
    struct stat st;
    if (lstat(path, &st) == 0 && (S_ISLNK(st.st_mode) || st.st_nlink > 1) &&
        !add(guard, "the plugin file", path, GUARD_PROGRAM)) {
        return false;
    }
    return run_path_list(path, false, take, &bringing) == 0 && !bringing.failed;
}

static bool read_folder(struct guard *guard, const char *path) {
    CLEANUP(arena_finish) struct arena arena;
    CLEANUP(folder_finish) struct folder folder;
    arena_init(&arena, NULL, 0);
    bool is_read = folder_init(&folder, path) != 0 ||
                   folder_list(&folder, path, FOLDER_FILES_MAX, &arena) != ENOMEM;
    for (size_t i = 0; is_read && i < folder.count; i++) {
        is_read = guard_read_plugin(guard, folder_path(&folder, i));
    }
    return is_read;
}

bool guard_read_plugins(struct guard *guard) {
    CLEANUP(arena_finish) struct arena scratch;
    struct elsewhere_list others;
    arena_init(&scratch, NULL, 0);
    if (guard->plugins.is_read) {
        return true;
    }
    bool is_read = elsewhere_read(guard->places, &scratch, &others, NULL) == 0;
    for (size_t i = 0; is_read && i < guard->places->folder_count; i++) {
        is_read = read_folder(guard, guard->places->folders[i].path);
    }
    for (size_t i = 0; is_read && i < others.count; i++) {
        const struct elsewhere *other = &others.places[i];
        is_read = other->kind != ELSEWHERE_PLUGINS || read_folder(guard, other->path);
    }
    guard->plugins.is_read = is_read;
    return is_read;
}
