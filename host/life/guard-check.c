/* One grant against one place that stays the host's: it is elsewhere, or it is taken out of the
 * grant, or the grant is refused, and what could be allowed in its place is named. */
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "life/guard-parts.h"
#include "life/guard-way.h"
#include "life/guard.h"

bool guard_goes_on(const struct grant *grant) {
    return !grant->failed && grant->refusal == NULL;
}

/* ---------------------------------------------------------------- refusals */

void guard_refuse(struct grant *grant, const char *format, ...) {
    char text[ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    grant->refusal = arena_copy(grant->guard->arena, text, strlen(text));
    grant->failed = grant->refusal == NULL;
}

/* Most folders that a refusal names in place of the one that contains them, and that are looked at
 * for it. */
#define NARROWER_MAX   3u
#define CANDIDATES_MAX 16u

/* Whether a folder could be granted as it is, with nothing of the host's in it. */
static bool is_free(const struct grant *grant, const char *path) {
    struct guard guard = *grant->guard;
    const char *refusal;
    guard.hidden = guard.frozen = guard.kept = (struct guard_list){0};
    guard.is_advice = true;
    guard.is_full = false;
    return guard_grant(&guard, path, grant->writes, &refusal, NULL) == 0 && refusal == NULL &&
           guard.hidden.count + guard.frozen.count == 0;
}

/* Folders in a granted one, for a person who wants less. */
static void add_narrower(struct grant *grant, struct buf *out) {
    DIR *folder = opendir(grant->path);
    struct dirent *entry;
    unsigned count = 0;
    unsigned looks = 0;
    const char *slash = strcmp(grant->path, "/") == 0 ? "" : grant->path;
    while (folder != NULL && count < NARROWER_MAX && looks < CANDIDATES_MAX &&
           (entry = readdir(folder)) != NULL) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.' || entry->d_type != DT_DIR ||
            snprintf(path, sizeof path, "%s/%s", slash, entry->d_name) >= (int)sizeof path) {
            continue;
        }
        looks++;
        if (is_free(grant, path)) {
            buf_printf(out, "%s\"%s:%s\"", count == 0 ? "" : ", ", grant->writes ? "write" : "read",
                       path);
            count++;
        }
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
    if (!grant->guard->is_advice) {
        /* Read here, they are not read for each candidate. */
        grant->failed = grant->writes && !guard_read_plugins(grant->guard);
        add_narrower(grant, &narrower);
    }
    guard_refuse(grant, "%s contains %s %s, %s; allow what the plugin needs in it, such as %s",
                 grant->path, place->what, path, why,
                 narrower.failed || narrower.length == 0 ? "less" : narrower.data);
}

bool guard_can_mount(const struct guard *guard) {
    const char *const any[] = {"/"};
    const struct sandbox_policy policy = {.kept_paths = any, .kept_path_count = 1};
    return !guard->no_mounts && (sandbox_available(&policy) & SANDBOX_MOUNT_NAMESPACE) != 0;
}

/* ------------------------------------------------------------------ helpers */

static bool is_run(const struct guarded *place) {
    return place->kind == GUARD_PROGRAM || place->kind == GUARD_SEARCHED;
}

static void cut_name(char *path) {
    char *slash = strrchr(path, '/');
    slash[slash == path] = '\0';
}

static void folder_of(const char *path, char ret[PATH_MAX]) {
    (void)snprintf(ret, PATH_MAX, "%s", path);
    cut_name(ret);
}

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

bool guard_may_write(const char *path) {
    return access(path, W_OK) == 0 || errno == EROFS;
}

/* Whether this user could change what a path in a granted folder leads to: there, in its folder, or
 * in one of the folders above up to the granted one. */
static bool is_changeable(const struct grant *grant, const char *path) {
    char at[PATH_MAX];
    (void)snprintf(at, sizeof at, "%s", path);
    while (guard_below(at, grant->path) != NULL) {
        if (guard_may_write(at)) {
            return true;
        }
        if (strcmp(at, "/") == 0) {
            break;
        }
        cut_name(at);
    }
    return false;
}

bool guard_is_protected(const struct guard *guard, const char *path) {
    const struct guard_list *const lists[] = {&guard->hidden, &guard->frozen};
    for (size_t i = 0; i < ARRAY_LENGTH(lists); i++) {
        for (size_t j = 0; j < lists[i]->count; j++) {
            if (guard_below(path, lists[i]->paths[j]) != NULL) {
                return true;
            }
        }
    }
    return false;
}

/* ------------------------------------------------------------------ places */

/* Take a folder out of a grant that contains it. */
static void take_out(struct grant *grant, const struct guarded *place, const char *path) {
    struct guard *guard = grant->guard;
    if (guard_is_protected(guard, path)) {
        return;
    }
    if (!guard_can_mount(guard)) {
        refuse_parent(grant, place, path,
                      is_run(place) ? "and this system has no mount namespace that could protect it"
                                    : "and this system has no mount namespace that could hide it");
        return;
    }
    bool is_added = guard_add(guard, is_run(place) ? &guard->frozen : &guard->hidden, path) &&
                    (!grant->writes || guard_keep_between(guard, grant->path, path));
    grant->failed = !is_added;
}

/* Take out the folder of a file: what replaces the file has no mount upon it any more. */
static void take_out_folder_of(struct grant *grant, const struct guarded *place, const char *path) {
    char folder[PATH_MAX];
    folder_of(path, folder);
    if (strcmp(grant->path, folder) == 0) {
        refuse_parent(grant, place, path, "which would have to be in a folder of its own");
    } else if (guard_below(folder, grant->path) != NULL) {
        take_out(grant, place, folder);
    }
}

/* `path` is the end of the way to the place, or another path of the same. */
static void check_path(struct grant *grant, const struct guarded *place, const char *path) {
    if (guard_below(grant->path, path) != NULL) {
        guard_refuse(grant, "%s is in %s %s, which is never granted; allow a path outside of it",
                     grant->path, place->what, path);
    } else if (place->kind == GUARD_FILE || place->kind == GUARD_PROGRAM) {
        take_out_folder_of(grant, place, path);
    } else if (guard_below(path, grant->path) != NULL) {
        take_out(grant, place, path);
    }
}

/* A link, or a folder, on the way in a folder that may be written could be replaced. */
static void check_way(struct grant *grant, const struct guarded *place,
                      const struct guard_way *way) {
    for (size_t i = 0; i < way->step_count && guard_goes_on(grant); i++) {
        const struct way_step *step = &way->steps[i];
        const char *below = guard_below(step->path, grant->path);
        char folder[PATH_MAX];
        folder_of(step->path, folder);
        if (below == NULL || below[0] == '\0' || guard_is_protected(grant->guard, folder)) {
            continue;
        }
        if (step->is_link && is_run(place)) {
            take_out_folder_of(grant, place, step->path);
        } else if (step->is_link) {
            refuse_parent(grant, place, step->path,
                          "by way of a symbolic link, which the plugin could replace");
        } else if (strcmp(step->path, way->end) != 0 && guard_can_mount(grant->guard)) {
            grant->failed = !guard_add(grant->guard, &grant->guard->kept, step->path);
        }
    }
}

/* What does not exist yet, in a granted folder. False: nothing is left to check. */
static bool check_missing(struct grant *grant, const struct guarded *place, struct guard_way *way) {
    char folder[PATH_MAX];
    struct stat st;
    switch (place->kind) {
    case GUARD_FOLDER: /* where this user cannot make it, the plugin cannot either */
        way->exists = make_folders(way->end);
        return way->exists;
    case GUARD_PROGRAM: folder_of(way->end, folder); break;
    case GUARD_SEARCHED: (void)snprintf(folder, sizeof folder, "%s", way->end); break;
    default: return false;
    }
    if (is_changeable(grant, way->end) && stat(folder, &st) < 0) {
        refuse_parent(grant, place, way->end,
                      "which does not exist yet, so that the plugin could make it");
    }
    return guard_goes_on(grant);
}

/* With ".." behind what does not exist, the place has no path yet: whoever makes the missing name
 * decides where it will be. False: the grant is refused. */
static bool check_open(struct grant *grant, const struct guarded *place,
                       const struct guard_way *way) {
    const char *below = guard_below(way->missing, grant->path);
    if (grant->writes && below != NULL && below[0] != '\0' && is_changeable(grant, way->missing)) {
        guard_refuse(grant,
                     "%s %s leads through %s, which does not exist yet, and back by \"..\": the "
                     "plugin could make it a link to anywhere; write that path without \"..\"",
                     place->what, place->path, way->missing);
    }
    return guard_goes_on(grant);
}

void guard_check_place(struct grant *grant, const struct guarded *place) {
    CLEANUP(arena_finish) struct arena scratch;
    struct guard_way way;
    char absolute[PATH_MAX];
    arena_init(&scratch, NULL, 0);
    CLEANUP(freep) char *here = place->path[0] == '/' ? NULL : getcwd(NULL, 0);
    if (snprintf(absolute, sizeof absolute, "%s%s%s", here != NULL ? here : "",
                 here != NULL ? "/" : "", place->path) >= (int)sizeof absolute ||
        !guard_walk(&scratch, absolute, &way)) {
        guard_refuse(grant, "the way to %s %s is too long or does not end", place->what,
                     place->path);
        return;
    }
    if (way.is_open) { /* what there is of the way, and nothing at its end */
        if (check_open(grant, place, &way) && grant->writes) {
            check_way(grant, place, &way);
        }
        return;
    }
    const char *below = guard_below(way.end, grant->path);
    if (!way.exists && below != NULL && below[0] != '\0' && !check_missing(grant, place, &way)) {
        return;
    }
    if (grant->writes) {
        check_way(grant, place, &way);
    }
    char folder[PATH_MAX];
    folder_of(way.end, folder);
    if (is_run(place) && !guard_may_write(way.end) && !guard_may_write(folder) &&
        !is_changeable(grant, way.end)) {
        return; /* a file of the system, and this user's plugins are no others */
    }
    const char *const none[] = {NULL};
    const char *const *alias = way.exists ? guard_aliases(&scratch, grant->mounts, way.end) : none;
    grant->failed = grant->failed || alias == NULL;
    if (guard_goes_on(grant)) {
        check_path(grant, place, way.end);
    }
    for (; guard_goes_on(grant) && *alias != NULL; alias++) {
        check_path(grant, place, *alias);
    }
}

void guard_check_names(struct grant *grant, const struct guarded *place) {
    struct stat file;
    struct stat granted;
    if (stat(place->path, &file) == 0 && file.st_nlink > 1 && S_ISREG(file.st_mode) &&
        stat(grant->path, &granted) == 0 && granted.st_dev == file.st_dev &&
        (!is_run(place) || (grant->writes && guard_may_write(place->path)))) {
        guard_refuse(
                grant,
                "%s %s has %u names (hard links), and one of them may be in %s; remove its other "
                "names, or put a copy in its place (cp FILE NEW, mv NEW FILE)",
                place->what, place->path, (unsigned)file.st_nlink, grant->path);
    }
}
