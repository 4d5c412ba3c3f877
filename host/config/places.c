#include "config/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/own-folder.h"
#include "base/xdg.h"
#include "plugin/origin.h"

/* Most folders in TOOLRACK_PLUGIN_PATH. */
#define PLUGIN_PATH_MAX 256u

/* The same path in the arena; NULL too when the environment names no such folder. */
static const char *folder_of(struct arena *arena, const char *variable, const char *below_home,
                             const char *tail) {
    CLEANUP(freep) char *path = xdg_path(variable, below_home, tail);
    return path != NULL ? arena_copy(arena, path, strlen(path)) : NULL;
}

static const char *copy(struct arena *arena, const char *text) {
    return arena_copy(arena, text, strlen(text));
}

int places_find(const struct toolrack_options *options, struct arena *arena, struct places *ret,
                struct toolrack_error *err) {
    *ret = (struct places){0};
    if (options->config_file == NULL) {
        ret->config_file = folder_of(arena, "XDG_CONFIG_HOME", ".config", "toolrack/toolrack.json");
        ret->config_optional = true;
    } else if (options->config_file[0] != '\0') {
        ret->config_file = copy(arena, options->config_file);
    }
    if (options->state_dir == NULL) {
        ret->state_dir = folder_of(arena, "XDG_STATE_HOME", ".local/state", "toolrack");
    } else if (options->state_dir[0] != '\0') {
        ret->state_dir = copy(arena, options->state_dir);
    }
    ret->user_config = folder_of(arena, "XDG_CONFIG_HOME", ".config", "toolrack");
    ret->user_state = folder_of(arena, "XDG_STATE_HOME", ".local/state", "toolrack");
    ret->data_dir = folder_of(arena, "XDG_DATA_HOME", ".local/share", "toolrack");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime != NULL && runtime[0] == '/') {
        ret->runtime_dir = arena_printf(arena, "%s/toolrack", runtime);
    }
    ret->kept_dir = ret->state_dir;
    if (ret->state_dir != NULL) {
        ret->cache_path = arena_printf(arena, "%s/scan.cache", ret->state_dir);
        ret->packages = arena_printf(arena, "%s/" PLACES_PACKAGES, ret->state_dir);
        if (ret->cache_path == NULL || ret->packages == NULL) {
            return error_oom(err);
        }
    }
    return 0;
}

static void add_folder(struct places *places, const char *path, enum trust trust, bool optional) {
    if (path != NULL && path[0] != '\0') {
        places->folders[places->folder_count++] =
                (struct scan_folder){.path = path, .trust = trust, .optional = optional};
    }
}

static void add_plugin_path(struct places *places, struct arena *arena) {
    const char *at = getenv("TOOLRACK_PLUGIN_PATH");
    for (size_t count = 0; at != NULL && count < PLUGIN_PATH_MAX; count++) {
        size_t length = strcspn(at, ":");
        if (length > 0) {
            add_folder(places, arena_copy(arena, at, length), TRUST_COMMUNITY, false);
        }
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
}

/* What is installed belongs to the state folder, as what was decided about it does. Whoever could
 * write there could also choose the trust of a plugin. */
static bool add_packages(struct arena *arena, struct places *places) {
    static const struct {
        const char *name;
        enum trust trust;
    } folders[] = {{PLACES_PACKAGES_OFFICIAL, TRUST_OFFICIAL},
                   {PLACES_PACKAGES_COMMUNITY, TRUST_COMMUNITY}};
    int failed = places->packages != NULL ? own_folder_check(places->packages, false) : 0;
    places->packages_failed = failed == -EPERM || failed == -ELOOP ? failed : 0;
    for (size_t i = 0;
         places->packages != NULL && places->packages_failed == 0 && i < ARRAY_LENGTH(folders);
         i++) {
        const char *path = arena_printf(arena, "%s/%s", places->packages, folders[i].name);
        if (path == NULL) {
            return false;
        }
        add_folder(places, path, folders[i].trust, true);
        places->folders[places->folder_count - 1].installs = true;
    }
    return true;
}

/* The folder of the bundled plugins; the variable TOOLRACK_BUILTIN_DIR names that of a build
 * tree. */
static const char *builtin_dir(void) {
    const char *dir = getenv("TOOLRACK_BUILTIN_DIR");
    return dir != NULL && dir[0] == '/' ? dir : TOOLRACK_BUILTIN_DIR;
}

static size_t count_dirs(const char *const *dirs) {
    size_t count = 0;
    while (dirs != NULL && dirs[count] != NULL) {
        count++;
    }
    return count;
}

/* Wherever toolrack is installed or built, these plugins came with it. */
static void add_builtin(struct arena *arena, struct places *places) {
    size_t before = places->folder_count;
    add_folder(places, copy(arena, builtin_dir()), TRUST_BUILTIN, true);
    if (places->folder_count > before) {
        places->folders[before].origin = ORIGIN_BUILTIN;
    }
}

/* A relative path would be that of another folder for a process in another one. */
static const char *absolute(struct arena *arena, const char *path) {
    CLEANUP(freep) char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    while (here != NULL && path[0] == '.' && (path[1] == '/' || path[1] == '\0')) {
        path += 1;
        path += strspn(path, "/");
    }
    return here == NULL ? path
           : path[0] == '\0'
                   ? arena_copy(arena, here, strlen(here))
                   : arena_printf(arena, "%s/%s", strcmp(here, "/") == 0 ? "" : here, path);
}

static int set_origins(struct arena *arena, struct places *places, struct toolrack_error *err) {
    for (size_t i = 0; i < places->folder_count; i++) {
        struct scan_folder *folder = &places->folders[i];
        folder->path = absolute(arena, folder->path);
        CLEANUP(freep) char *real = folder->path != NULL ? realpath(folder->path, NULL) : NULL;
        folder->real = real != NULL ? copy(arena, real) : folder->path;
        if (folder->real == NULL) {
            return error_oom(err);
        }
        if (folder->origin == NULL) {
            folder->origin = origin_of_folder(arena, folder->trust, folder->real);
        }
        if (folder->origin == NULL) {
            return error_oom(err);
        }
    }
    return 0;
}

/* Use only the bundled plugins, nothing that was added after the installation. */
static int add_builtin_alone(struct arena *arena, struct places *places,
                             struct toolrack_error *err) {
    places->folders = arena_zalloc(arena, sizeof *places->folders);
    if (places->folders == NULL) {
        return error_oom(err);
    }
    add_builtin(arena, places);
    return set_origins(arena, places, err);
}

int places_add_folders(const struct toolrack_options *options, const struct config *config,
                       struct arena *arena, struct places *places, struct toolrack_error *err) {
    if (options->safe_mode) {
        return add_builtin_alone(arena, places, err);
    }
    size_t given = count_dirs(options->plugin_dirs);
    size_t most = given + config_settings(config)->folder_count + PLUGIN_PATH_MAX + 4;
    places->folders = arena_zalloc(arena, most * sizeof *places->folders);
    if (places->folders == NULL) {
        return error_oom(err);
    }
    if (options->plugin_dirs != NULL) {
        for (size_t i = 0; i < given; i++) {
            add_folder(places, copy(arena, options->plugin_dirs[i]), TRUST_COMMUNITY, false);
        }
        return set_origins(arena, places, err);
    }
    for (size_t i = 0; i < config_settings(config)->folder_count; i++) {
        places->folders[places->folder_count++] = config_settings(config)->folders[i];
    }
    add_plugin_path(places, arena);
    add_folder(places, folder_of(arena, "XDG_DATA_HOME", ".local/share", "toolrack/plugins"),
               TRUST_COMMUNITY, true);
    if (!add_packages(arena, places)) {
        return error_oom(err);
    }
    add_builtin(arena, places);
    return set_origins(arena, places, err);
}
