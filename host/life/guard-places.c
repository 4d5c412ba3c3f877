/* The folders and files that stay the host's, and those of the kernel. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/elsewhere.h"
#include "life/guard-parts.h"
#include "life/guard-way.h"

/* ------------------------------------------------------------------ kernel */

/* Devices that give nothing of the machine and take nothing from it: null, zero, full, random,
 * urandom, by their numbers. */
static bool is_harmless(dev_t device) {
    static const unsigned numbers[] = {3, 5, 7, 8, 9};
    bool found = false;
    for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
        found = found || device == makedev(1, numbers[i]);
    }
    return found;
}

#define ZERO_DEVICE makedev(1, 5)

/* In /proc are the memory, the environment and the open files of the host and of others, in /proc
 * and /sys the settings of the machine; in /dev, the disks. Landlock has no rules for them that a
 * plugin could not use: they are no files. */
void guard_check_kernel(struct grant *grant) {
    struct stat st;
    bool is_there = stat(grant->path, &st) == 0;
    bool is_device = is_there && S_ISCHR(st.st_mode);
    if (is_device && grant->writes && st.st_rdev == ZERO_DEVICE) {
        guard_refuse(grant,
                     "%s that may be written is memory that no limit counts: a shared mapping of "
                     "it; every plugin may read it",
                     grant->path);
        return;
    }
    if (is_device && is_harmless(st.st_rdev)) {
        return;
    }
    if (is_there && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))) {
        guard_refuse(grant, "%s is a device, and only null, zero, full and random are granted",
                     grant->path);
        return;
    }
    CLEANUP(arena_finish) struct arena scratch;
    arena_init(&scratch, NULL, 0);
    const char *const *point = guard_kernel_mounts(&scratch, grant->mounts);
    grant->failed = point == NULL;
    for (; guard_goes_on(grant) && *point != NULL; point++) {
        bool is_file = stat(*point, &st) == 0 && !S_ISDIR(st.st_mode); /* mounted alone */
        guard_check_place(grant, &(struct guarded){"the kernel's", *point,
                                                   is_file ? GUARD_FILE : GUARD_KERNEL});
    }
}

/* ------------------------------------------------------------------ the host's */

bool guard_is_library_path(const char *path) {
    for (const char *const *at = sandbox_library_paths(); *at != NULL; at++) {
        if (guard_below(path, *at) != NULL) {
            return true;
        }
    }
    return false;
}

/* The configuration by default is in a folder of its own. */
static void check_config(struct grant *grant) {
    const struct places *places = grant->guard->places;
    char folder[PATH_MAX];
    struct guarded place = {"the configuration", places->config_file,
                            places->config_optional ? GUARD_FOLDER : GUARD_FILE};
    if (place.path == NULL) {
        return;
    }
    guard_check_names(grant, &place);
    if (place.kind == GUARD_FOLDER) {
        (void)snprintf(folder, sizeof folder, "%s", place.path);
        *strrchr(folder, '/') = '\0';
        place.path = folder;
    }
    if (guard_goes_on(grant)) {
        guard_check_place(grant, &place);
    }
}

static void check_state(struct grant *grant, const char *what, const char *state_dir) {
    char stored[PATH_MAX];
    if (state_dir == NULL) {
        return;
    }
    guard_check_place(grant, &(struct guarded){what, state_dir, GUARD_FOLDER});
    if (guard_goes_on(grant) &&
        snprintf(stored, sizeof stored, "%s/toolrack.db", state_dir) < (int)sizeof stored) {
        guard_check_names(grant, &(struct guarded){"the database", stored, GUARD_FILE});
    }
}

static void check_plugins(struct grant *grant) {
    const struct places *places = grant->guard->places;
    for (size_t i = 0; i < places->folder_count && guard_goes_on(grant); i++) {
        const struct guarded place = {"the plugin folder", places->folders[i].path, GUARD_FOLDER};
        if (grant->writes || !guard_is_library_path(place.path)) { /* those any worker may read */
            guard_check_place(grant, &place);
        }
    }
}

/* Anywhere could be a place of another host that is not known. What came with toolrack reads on,
 * and what any worker may read is read. */
static void check_unknown(struct grant *grant, const char *unknown) {
    if (grant->writes || !(grant->guard->is_builtin || guard_is_library_path(grant->path))) {
        guard_refuse(grant,
                     "%s may have a place of another host of this user, and not all of these are "
                     "known: %s",
                     grant->path, unknown);
    }
}

/* They may be changed by nobody, and their decisions are not read; the rest of a folder in which
 * somebody once had a configuration may be. */
static void check_elsewhere(struct grant *grant) {
    CLEANUP(arena_finish) struct arena scratch;
    struct elsewhere_list others;
    arena_init(&scratch, NULL, 0);
    if (elsewhere_read(grant->guard->places, &scratch, &others, NULL) < 0) {
        grant->failed = true;
        return;
    }
    for (size_t i = 0; i < others.count && guard_goes_on(grant); i++) {
        const struct elsewhere *other = &others.places[i];
        const struct guarded config = {"the configuration of another host", other->path,
                                       GUARD_PROGRAM};
        if (access(other->path, F_OK) < 0) {
            continue; /* it is gone, or not this user's any more */
        }
        if (other->kind == ELSEWHERE_STATE) {
            check_state(grant, "the state folder of another host", other->path);
        } else if (grant->writes && other->kind == ELSEWHERE_CONFIG) {
            guard_check_place(grant, &config);
            guard_check_names(grant, &config);
        } else if (grant->writes) {
            guard_check_place(grant, &(struct guarded){"the plugin folder of another host",
                                                       other->path, GUARD_SEARCHED});
        }
    }
    if (others.unknown != NULL && guard_goes_on(grant)) {
        check_unknown(grant, others.unknown);
    }
}

void guard_check_folders(struct grant *grant) {
    const struct places *places = grant->guard->places;
    const char *own = grant->guard->own_folder;
    bool is_own = own != NULL && strcmp(own, grant->path) == 0;
    const struct guarded list[] = {
            /* Other hosts of the user have these, also if this one was given its own. */
            {"the user's configuration", places->user_config, GUARD_FOLDER},
            {"the folder of sockets", places->runtime_dir, GUARD_FOLDER},
            {"the folder of the system's socket", PLACES_SYSTEM_RUNTIME, GUARD_FOLDER},
            {"the folder of the plugins and their data", is_own ? NULL : places->data_dir,
             GUARD_FOLDER},
    };
    check_config(grant);
    if (guard_goes_on(grant)) {
        check_state(grant, "the state folder", places->state_dir);
    }
    if (guard_goes_on(grant)) {
        check_state(grant, "the user's state folder", places->user_state);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(list) && guard_goes_on(grant); i++) {
        if (list[i].path != NULL) {
            guard_check_place(grant, &list[i]);
        }
    }
    if (guard_goes_on(grant)) {
        check_plugins(grant);
    }
    if (guard_goes_on(grant) && !is_own) {
        check_elsewhere(grant);
    }
}
