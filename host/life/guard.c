#include "life/guard.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "life/guard-way.h"

enum guard_kind {
    GUARD_FOLDER, /* with all that is in it */
    GUARD_FILE,   /* and what replaces it: its folder is hidden, but others in it may be granted */
    GUARD_PROGRAM /* may be read, and not written */
};

/* What stays the host's. */
struct guarded {
    const char *what;
    const char *path;
    enum guard_kind kind;
};

/* One grant that is checked. */
struct grant {
    struct guard *guard;
    const char *path;
    bool writes;
    const char *refusal;
    bool failed; /* out of memory */
};

/* ------------------------------------------------------------------- lists */

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* False: out of memory, or more than a sandbox takes. */
static bool add(struct arena *arena, struct guard_list *list, const char *path) {
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->paths[i], path) == 0) {
            return true;
        }
    }
    if (list->paths == NULL) {
        list->paths = arena_alloc(arena, SANDBOX_PATHS_MAX * sizeof *list->paths);
    }
    const char *copy = arena_copy(arena, path, strlen(path));
    if (list->paths == NULL || copy == NULL || list->count == SANDBOX_PATHS_MAX) {
        return false;
    }
    list->paths[list->count++] = copy;
    qsort(list->paths, list->count, sizeof *list->paths, compare);
    return true;
}

/* Names and folders strictly between a granted folder and a path in it. */
static bool add_folders_between(struct arena *arena, struct guard_list *list, const char *granted,
                                const char *path) {
    const char *below = guard_below(path, granted);
    for (const char *slash = strchr(below, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        char part[PATH_MAX];
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (!add(arena, list, part)) {
            return false;
        }
    }
    return true;
}

static void drop_what_is_hidden(const struct guard_list *hidden, struct guard_list *list) {
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        bool is_inside = false;
        for (size_t j = 0; j < hidden->count && !is_inside; j++) {
            const char *below = guard_below(list->paths[i], hidden->paths[j]);
            is_inside = below != NULL && (list != hidden || below[0] != '\0');
        }
        if (!is_inside) {
            list->paths[count++] = list->paths[i];
        }
    }
    list->count = count;
}

void guard_finish(const struct guard *guard, struct sandbox_policy *policy) {
    struct guard_list hidden = guard->hidden;
    struct guard_list frozen = guard->frozen;
    struct guard_list kept = guard->kept;
    drop_what_is_hidden(&hidden, &hidden);
    drop_what_is_hidden(&hidden, &frozen);
    drop_what_is_hidden(&hidden, &kept);
    policy->hidden_paths = hidden.paths;
    policy->hidden_path_count = hidden.count;
    policy->frozen_paths = frozen.paths;
    policy->frozen_path_count = frozen.count;
    policy->kept_paths = kept.paths;
    policy->kept_path_count = kept.count;
}

/* ---------------------------------------------------------------- refusals */

static void refuse(struct grant *grant, const char *format, ...) TOOLRACK_PRINTF(2, 3);

static void refuse(struct grant *grant, const char *format, ...) {
    char text[ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    grant->refusal = arena_copy(grant->guard->arena, text, strlen(text));
    grant->failed = grant->refusal == NULL;
}

/* Most folders that a refusal names in place of the one that contains them. */
#define NARROWER_MAX 3u

/* Folders in a granted one that have nothing of the host's in them, for a person who wants less. */
static void add_narrower(const struct grant *grant, const char *protected_path, struct buf *out) {
    DIR *folder = opendir(grant->path);
    struct dirent *entry;
    unsigned count = 0;
    const char *slash = strcmp(grant->path, "/") == 0 ? "" : grant->path;
    while (folder != NULL && count < NARROWER_MAX && (entry = readdir(folder)) != NULL) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.' || entry->d_type != DT_DIR ||
            snprintf(path, sizeof path, "%s/%s", slash, entry->d_name) >= (int)sizeof path ||
            guard_below(protected_path, path) != NULL) {
            continue;
        }
        buf_printf(out, "%s\"%s:%s\"", count == 0 ? "" : ", ", grant->writes ? "write" : "read",
                   path);
        count++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    if (count == 0) {
        buf_printf(out, "\"%s:%s/FOLDER\"", grant->writes ? "write" : "read", slash);
    }
}

static void refuse_parent(struct grant *grant, const struct guarded *place, const char *path,
                          const char *why) {
    CLEANUP(buf_finish) struct buf narrower = BUF_INIT;
    add_narrower(grant, path, &narrower);
    refuse(grant, "%s contains %s %s, %s; allow what the plugin needs in it, such as %s",
           grant->path, place->what, path, why, narrower.failed ? "less" : narrower.data);
}

static bool can_mount(const struct guard *guard) {
    const char *const any[] = {"/"};
    const struct sandbox_policy policy = {.kept_paths = any, .kept_path_count = 1};
    return !guard->no_mounts && (sandbox_available(&policy) & SANDBOX_MOUNT_NAMESPACE) != 0;
}

/* ------------------------------------------------------------------ places */

static bool make_folders(const char *path) {
    char part[PATH_MAX];
    if (snprintf(part, sizeof part, "%s", path) >= (int)sizeof part) {
        return false;
    }
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0700) < 0 && errno != EEXIST) {
            return false;
        }
        *slash = '/';
    }
    return mkdir(part, 0700) == 0 || errno == EEXIST;
}

/* Take one path of what is guarded out of a grant that contains it. */
static void take_out(struct grant *grant, const struct guarded *place, const char *path) {
    struct guard *guard = grant->guard;
    if (!can_mount(guard)) {
        refuse_parent(grant, place, path,
                      "and this system has no mount namespace that could hide it");
        return;
    }
    struct guard_list *list = place->kind == GUARD_PROGRAM ? &guard->frozen : &guard->hidden;
    bool is_added =
            add(guard->arena, list, path) &&
            (!grant->writes || add_folders_between(guard->arena, &guard->kept, grant->path, path));
    grant->failed = !is_added;
}

/* `path` is the end of the way to the place, or another path of the same. */
static void check_path(struct grant *grant, const struct guarded *place, const char *path) {
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", path);
    if (place->kind == GUARD_FILE) { /* what replaces the file has no mount upon it any more */
        char *slash = strrchr(folder, '/');
        slash[slash == folder] = '\0';
    }
    if (guard_below(grant->path, path) != NULL) {
        refuse(grant, "%s is in %s %s, which is never granted; allow a path outside of it",
               grant->path, place->what, path);
    } else if (place->kind == GUARD_FILE && strcmp(grant->path, folder) == 0) {
        refuse_parent(grant, place, path, "which would have to be in a folder of its own");
    } else if (guard_below(folder, grant->path) != NULL) {
        take_out(grant, place, folder);
    }
}

/* A link, or a folder, on the way in a folder that may be written could be replaced. */
static void check_way(struct grant *grant, const struct guarded *place,
                      const struct guard_way *way) {
    for (size_t i = 0; i < way->step_count && grant->refusal == NULL; i++) {
        const struct way_step *step = &way->steps[i];
        const char *below = guard_below(step->path, grant->path);
        if (below == NULL || below[0] == '\0') {
            continue;
        }
        if (step->is_link) {
            refuse_parent(grant, place, step->path,
                          "by way of a symbolic link, which the plugin could replace");
        } else if (strcmp(step->path, way->end) != 0 && can_mount(grant->guard)) {
            grant->failed = !add(grant->guard->arena, &grant->guard->kept, step->path);
        }
    }
}

static void check_place(struct grant *grant, const struct guarded *place) {
    struct guard *guard = grant->guard;
    struct guard_way way;
    char absolute[PATH_MAX];
    CLEANUP(freep) char *here = place->path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (snprintf(absolute, sizeof absolute, "%s%s%s", here != NULL ? here : "",
                 here != NULL ? "/" : "", place->path) >= (int)sizeof absolute ||
        !guard_walk(guard->arena, absolute, &way)) {
        refuse(grant, "the way to %s %s is too long or does not end", place->what, place->path);
        return;
    }
    const char *below = guard_below(way.end, grant->path);
    if (!way.exists && below != NULL && below[0] != '\0') {
        /* Otherwise the plugin could make it. Where this user cannot, the plugin cannot either. */
        if (place->kind != GUARD_FOLDER || !make_folders(way.end)) {
            return;
        }
        way.exists = true;
    }
    if (grant->writes) {
        check_way(grant, place, &way);
    }
    const char *const none[] = {NULL};
    const char *const *alias = way.exists ? guard_aliases(guard->arena, way.end) : none;
    grant->failed = grant->failed || alias == NULL;
    if (!grant->failed && grant->refusal == NULL) {
        check_path(grant, place, way.end);
    }
    for (; !grant->failed && grant->refusal == NULL && *alias != NULL; alias++) {
        check_path(grant, place, *alias);
    }
}

/* A second name of the file may be anywhere on its disk. */
static void check_names(struct grant *grant, const struct guarded *place) {
    struct stat file;
    struct stat granted;
    if (stat(place->path, &file) == 0 && file.st_nlink > 1 && S_ISREG(file.st_mode) &&
        stat(grant->path, &granted) == 0 && granted.st_dev == file.st_dev) {
        refuse(grant,
               "%s %s has %u names (hard links), and one of them may be in %s; leave it one name",
               place->what, place->path, (unsigned)file.st_nlink, grant->path);
    }
}

static bool is_writable(const char *path) {
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[slash == folder] = '\0';
    }
    return access(path, W_OK) == 0 || access(folder, W_OK) == 0;
}

static bool is_library_path(const char *path) {
    for (const char *const *at = sandbox_library_paths(); *at != NULL; at++) {
        if (guard_below(path, *at) != NULL) {
            return true;
        }
    }
    return false;
}

static void check_folders(struct grant *grant) {
    const struct places *places = grant->guard->places;
    const char *own = grant->guard->own_folder;
    bool is_own = own != NULL && strcmp(own, grant->path) == 0;
    char stored[PATH_MAX];
    (void)snprintf(stored, sizeof stored, "%s/toolrack.db",
                   places->state_dir != NULL ? places->state_dir : "");
    const struct guarded list[] = {
            {"the configuration", places->config_file,
             places->config_optional ? GUARD_FOLDER : GUARD_FILE},
            {"the state folder", places->state_dir, GUARD_FOLDER},
            /* Other hosts of the user have those, also if this one was given its own. */
            {"the user's configuration", places->user_config, GUARD_FOLDER},
            {"the user's state folder", places->user_state, GUARD_FOLDER},
            {"the folder of sockets", places->runtime_dir, GUARD_FOLDER},
            {"the folder of the plugins and their data", is_own ? NULL : places->data_dir,
             GUARD_FOLDER},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(list) && !grant->failed && grant->refusal == NULL; i++) {
        struct guarded place = list[i];
        char folder[PATH_MAX];
        if (place.path == NULL) {
            continue;
        }
        if (i == 0) {
            check_names(grant, &place);
        }
        if (i == 0 &&
            place.kind == GUARD_FOLDER) { /* its place by default is a folder of its own */
            (void)snprintf(folder, sizeof folder, "%s", place.path);
            *strrchr(folder, '/') = '\0';
            place.path = folder;
        }
        if (grant->refusal == NULL) {
            check_place(grant, &place);
        }
    }
    if (places->state_dir != NULL && grant->refusal == NULL) {
        check_names(grant, &(struct guarded){"the database", stored, GUARD_FILE});
    }
    for (size_t i = 0; i < places->folder_count && !grant->failed && grant->refusal == NULL; i++) {
        const struct guarded place = {"the plugin folder", places->folders[i].path, GUARD_FOLDER};
        if (grant->writes || !is_library_path(place.path)) { /* those any worker may read */
            check_place(grant, &place);
        }
    }
}

/* Whoever changes the programs that run plugins is in none of their sandboxes. */
static void check_programs(struct grant *grant) {
    char program[PATH_MAX];
    Dl_info library = {0};
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    (void)dladdr(__extension__(const void *) & guard_grant, &library);
    const struct guarded list[] = {
            {"the program of this process", program, GUARD_PROGRAM},
            {"the library of the host", library.dli_fname, GUARD_PROGRAM},
            {"the program of the workers", grant->guard->worker_program, GUARD_PROGRAM},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(list) && !grant->failed && grant->refusal == NULL; i++) {
        if (list[i].path != NULL && list[i].path[0] == '/' && is_writable(list[i].path)) {
            check_place(grant, &list[i]);
        }
    }
}

/* A refused grant adds nothing. */
struct saved {
    struct guard_list list;
    const char *paths[SANDBOX_PATHS_MAX];
};

static void save(const struct guard_list *list, struct saved *ret) {
    ret->list = *list;
    if (list->count > 0) {
        memcpy(ret->paths, list->paths, list->count * sizeof *list->paths);
    }
}

static void restore(struct guard_list *list, const struct saved *saved) {
    list->count = saved->list.count;
    if (list->count > 0) {
        memcpy(list->paths, saved->paths, list->count * sizeof *list->paths);
    }
}

int guard_grant(struct guard *guard, const char *path, bool writes, const char **ret_refusal,
                struct toolrack_error *err) {
    struct grant grant = {.guard = guard, .path = path, .writes = writes};
    struct saved hidden;
    struct saved frozen;
    struct saved kept;
    *ret_refusal = NULL;
    if (guard->places == NULL) {
        return 0;
    }
    save(&guard->hidden, &hidden);
    save(&guard->frozen, &frozen);
    save(&guard->kept, &kept);
    check_folders(&grant);
    if (writes && !grant.failed && grant.refusal == NULL) {
        check_programs(&grant);
    }
    if (grant.failed) {
        return error_oom(err);
    }
    if (grant.refusal != NULL) {
        restore(&guard->hidden, &hidden);
        restore(&guard->frozen, &frozen);
        restore(&guard->kept, &kept);
    }
    *ret_refusal = grant.refusal;
    return 0;
}

/* ------------------------------------------------------------------- stage */

static bool copy_list(struct arena *arena, const char *const *paths, size_t count,
                      struct guard_list *ret) {
    bool is_copied = true;
    for (size_t i = 0; i < count; i++) {
        is_copied = is_copied && add(arena, ret, paths[i]);
    }
    return is_copied;
}

int guard_hide_also(struct arena *arena, const char *folder, struct sandbox_policy *policy,
                    struct toolrack_error *err) {
    const char *const *const lists[] = {policy->read_paths, policy->write_paths};
    const size_t counts[] = {policy->read_path_count, policy->write_path_count};
    struct guard guard = {.arena = arena};
    bool is_copied =
            copy_list(arena, policy->hidden_paths, policy->hidden_path_count, &guard.hidden) &&
            copy_list(arena, policy->frozen_paths, policy->frozen_path_count, &guard.frozen) &&
            copy_list(arena, policy->kept_paths, policy->kept_path_count, &guard.kept);
    bool is_granted = false;
    for (size_t i = 0; is_copied && i < ARRAY_LENGTH(lists); i++) {
        for (size_t j = 0; is_copied && j < counts[i]; j++) {
            const char *below = guard_below(folder, lists[i][j]);
            if (below != NULL) {
                is_granted = true;
                is_copied =
                        add(arena, &guard.hidden, folder) &&
                        (i == 0 || add_folders_between(arena, &guard.kept, lists[i][j], folder));
            }
        }
    }
    if (!is_copied) {
        return error_oom(err);
    }
    if (is_granted && !can_mount(&guard)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "what is granted contains %s, where the copies of plugins are, and this "
                         "system has no mount namespace that could hide it; use a state folder, or "
                         "allow narrower paths",
                         folder);
    }
    if (is_granted) {
        guard_finish(&guard, policy);
    }
    return 0;
}
