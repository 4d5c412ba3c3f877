#include "life/guard-way.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The kernel's limit. */
#define LINKS_MAX 40u
/* Most names on a way that are remembered; a longer way is not walked. */
#define STEPS_MAX 256u

const char *guard_below(const char *path, const char *folder) {
    size_t length = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
    if (strncmp(path, folder, length) != 0 || (path[length] != '\0' && path[length] != '/')) {
        return NULL;
    }
    return path[length] == '\0' ? "" : path + length + 1;
}

/* --------------------------------------------------------------------- way */

struct walk {
    struct arena *arena;
    struct guard_way *way;
    char at[PATH_MAX]; /* without links; "" is the root */
    char rest[PATH_MAX];
    unsigned links;
};

static bool add_step(struct walk *walk, const char *path, bool is_link) {
    const char *copy = arena_copy(walk->arena, path, strlen(path));
    if (copy == NULL || walk->way->step_count == STEPS_MAX) {
        return false;
    }
    walk->way->steps[walk->way->step_count++] = (struct way_step){copy, is_link};
    return true;
}

/* Put the target of a link before the rest. */
static bool follow(struct walk *walk, const char *link, const char *rest) {
    char target[PATH_MAX];
    char joined[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0 || ++walk->links > LINKS_MAX) {
        return false;
    }
    target[length] = '\0';
    if (snprintf(joined, sizeof joined, "%s/%s", target, rest) >= (int)sizeof joined) {
        return false;
    }
    if (target[0] == '/') {
        walk->at[0] = '\0';
    }
    memcpy(walk->rest, joined, strlen(joined) + 1);
    return true;
}

static bool set_missing(struct walk *walk, const char *path) {
    walk->way->exists = false;
    if (walk->way->missing == NULL) {
        walk->way->missing = arena_copy(walk->arena, path, strlen(path));
    }
    return walk->way->missing != NULL;
}

/* The folder above. The kernel looks for it only in a folder that exists. */
static bool take_parent(struct walk *walk, const char *rest) {
    struct stat st;
    if (walk->way->exists && walk->at[0] != '\0' &&
        (lstat(walk->at, &st) < 0 || !S_ISDIR(st.st_mode)) && !set_missing(walk, walk->at)) {
        return false;
    }
    walk->way->is_open = walk->way->is_open || !walk->way->exists;
    char *slash = strrchr(walk->at, '/');
    *(slash != NULL ? slash : walk->at) = '\0';
    memmove(walk->rest, rest, strlen(rest) + 1);
    return true;
}

static bool take_name(struct walk *walk, const char *name, size_t length, const char *rest) {
    char next[PATH_MAX];
    struct stat st;
    if (length == 1 && name[0] == '.') {
        memmove(walk->rest, rest, strlen(rest) + 1);
        return true;
    }
    if (length == 2 && memcmp(name, "..", 2) == 0) {
        return take_parent(walk, rest);
    }
    if (snprintf(next, sizeof next, "%s/%.*s", walk->at, (int)length, name) >= (int)sizeof next) {
        return false;
    }
    bool exists = walk->way->exists && lstat(next, &st) == 0;
    if (!exists && !set_missing(walk, next)) {
        return false;
    }
    if (exists && !add_step(walk, next, S_ISLNK(st.st_mode))) {
        return false;
    }
    if (exists && S_ISLNK(st.st_mode)) {
        return follow(walk, next, rest);
    }
    memmove(walk->rest, rest, strlen(rest) + 1);
    memcpy(walk->at, next, strlen(next) + 1);
    return true;
}

bool guard_walk(struct arena *arena, const char *path, struct guard_way *ret) {
    struct walk walk = {.arena = arena, .way = ret};
    *ret = (struct guard_way){.steps = arena_alloc(arena, STEPS_MAX * sizeof *ret->steps),
                              .exists = true};
    if (ret->steps == NULL ||
        snprintf(walk.rest, sizeof walk.rest, "%s", path) >= (int)sizeof walk.rest) {
        return false;
    }
    for (;;) {
        const char *name = walk.rest + strspn(walk.rest, "/");
        size_t length = strcspn(name, "/");
        if (length == 0) {
            break;
        }
        if (!take_name(&walk, name, length, name + length)) {
            return false;
        }
    }
    const char *end = walk.at[0] == '\0' ? "/" : walk.at;
    ret->end = arena_copy(arena, end, strlen(end));
    return ret->end != NULL;
}

/* ------------------------------------------------------------------ mounts */

/* One line of mountinfo. */
struct mount_row {
    const char *device; /* "major:minor" */
    const char *root;
    const char *point;
    const char *type;
};

struct guard_mounts {
    struct mount_row *rows; /* as the kernel lists them */
    size_t count;
};

/* The kernel writes blanks, tabs, line ends and backslashes as octal numbers. */
static void decode(char *text) {
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '\\' && strspn(at + 1, "01234567") >= 3) {
            *to++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
            at += 3;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

/* The fields before the mount point have fixed places; the type is behind a lone "-", behind fields
 * of any number. False: the line is none, or a path in it is longer than one may be. */
static bool read_row(char *line, struct mount_row *ret) {
    char *fields[5];
    char *rest = line;
    for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
        fields[i] = strsep(&rest, " ");
        if (rest == NULL) {
            return false;
        }
    }
    char *dash = strstr(rest, " - ");
    char *type = dash != NULL ? dash + 3 : rest + strlen(rest);
    type[strcspn(type, " \n")] = '\0';
    *ret = (struct mount_row){
            .device = fields[2], .root = fields[3], .point = fields[4], .type = type};
    decode(fields[3]);
    decode(fields[4]);
    return strlen(ret->root) < PATH_MAX && strlen(ret->point) < PATH_MAX;
}

/* False: no memory. */
static bool add_row(struct arena *arena, const char *line, size_t length,
                    struct guard_mounts *mounts, size_t *room) {
    if (mounts->count == *room) {
        size_t more = *room == 0 ? 32 : 2 * *room;
        struct mount_row *rows = arena_alloc(arena, more * sizeof *rows);
        if (rows == NULL) {
            return false;
        }
        if (mounts->count > 0) {
            memcpy(rows, mounts->rows, mounts->count * sizeof *rows);
        }
        mounts->rows = rows;
        *room = more;
    }
    char *copy = arena_copy(arena, line, length);
    if (copy != NULL && read_row(copy, &mounts->rows[mounts->count])) {
        mounts->count++;
    }
    return copy != NULL;
}

const struct guard_mounts *guard_mounts_read(struct arena *arena) {
    struct guard_mounts *mounts = arena_zalloc(arena, sizeof *mounts);
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t line_room = 0;
    size_t room = 0;
    ssize_t length;
    bool failed = mounts == NULL;
    while (!failed && file != NULL && (length = getline(&line, &line_room, file)) > 0) {
        failed = !add_row(arena, line, (size_t)length, mounts, &room);
    }
    free(line);
    if (file != NULL) {
        (void)fclose(file);
    }
    return failed ? NULL : mounts;
}

/* ----------------------------------------------------------------- aliases */

static bool is_same_file(const char *a, const char *b) {
    struct stat one;
    struct stat two;
    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

/* `path` in its file system: the row whose mount point is nearest above it; the last one where
 * several are mounted upon each other. NULL: none, or the path there is too long. */
static const struct mount_row *find_mount(const struct guard_mounts *mounts, const char *path,
                                          char inside[PATH_MAX]) {
    size_t longest = 0;
    const struct mount_row *found = NULL;
    const char *rest = NULL;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount_row *row = &mounts->rows[i];
        const char *below = guard_below(path, row->point);
        if (below != NULL && strlen(row->point) >= longest) {
            longest = strlen(row->point);
            found = row;
            rest = below;
        }
    }
    return found != NULL && snprintf(inside, PATH_MAX, "%s%s%s",
                                     strcmp(found->root, "/") == 0 ? "" : found->root,
                                     rest[0] != '\0' ? "/" : "", rest) < PATH_MAX
                   ? found
                   : NULL;
}

/* Where a mount shows what is at `inside` of its file system, or a part of it. */
static bool seen_at(const struct mount_row *row, const char *path, const char *inside,
                    char ret[PATH_MAX]) {
    const char *below = guard_below(inside[0] == '\0' ? "/" : inside, row->root);
    if (below != NULL) {
        int length = snprintf(ret, PATH_MAX, "%s%s%s",
                              strcmp(row->point, "/") == 0 && below[0] != '\0' ? "" : row->point,
                              below[0] != '\0' ? "/" : "", below);
        return length < PATH_MAX && strcmp(ret, path) != 0 && is_same_file(ret, path);
    }
    struct stat st;
    return guard_below(row->root, inside) != NULL && guard_below(row->point, path) == NULL &&
           snprintf(ret, PATH_MAX, "%s", row->point) < PATH_MAX && stat(ret, &st) == 0;
}

#define ALIASES_MAX 32u

const char *const *guard_aliases(struct arena *arena, const struct guard_mounts *mounts,
                                 const char *path) {
    const char **list = arena_zalloc(arena, (ALIASES_MAX + 1) * sizeof *list);
    char inside[PATH_MAX];
    size_t count = 0;
    const struct mount_row *home = list != NULL ? find_mount(mounts, path, inside) : NULL;
    bool failed = list == NULL;
    for (size_t i = 0; home != NULL && !failed && count < ALIASES_MAX && i < mounts->count; i++) {
        const struct mount_row *row = &mounts->rows[i];
        char seen[PATH_MAX];
        if (strcmp(row->device, home->device) == 0 && seen_at(row, path, inside, seen)) {
            list[count] = arena_copy(arena, seen, strlen(seen));
            failed = list[count++] == NULL;
        }
    }
    return failed ? NULL : list;
}

/* ------------------------------------------------------------------ kernel */

static bool is_of_kernel(const char *type) {
    static const char *const types[] = {
            "proc",     "sysfs",   "devtmpfs",   "devpts",    "cgroup",      "cgroup2",
            "debugfs",  "tracefs", "securityfs", "bpf",       "pstore",      "efivarfs",
            "configfs", "mqueue",  "fusectl",    "selinuxfs", "binfmt_misc", "rpc_pipefs",
            "nfsd",     "resctrl", "hugetlbfs",  "smackfs"};
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        if (strcmp(type, types[i]) == 0) {
            return true;
        }
    }
    return false;
}

struct points {
    struct arena *arena;
    const char **paths;
    size_t count;
    size_t room;
};

/* False: no memory. */
static bool add_point(struct points *points, const char *path) {
    for (size_t i = 0; i < points->count; i++) {
        if (guard_below(path, points->paths[i]) != NULL) {
            return true;
        }
    }
    if (points->count + 1 >= points->room) {
        size_t room = points->room == 0 ? 16 : points->room * 2;
        const char **paths = arena_zalloc(points->arena, room * sizeof *paths);
        if (paths == NULL) {
            return false;
        }
        if (points->count > 0) {
            memcpy(paths, points->paths, points->count * sizeof *paths);
        }
        points->paths = paths;
        points->room = room;
    }
    const char *copy = arena_copy(points->arena, path, strlen(path));
    points->paths[points->count++] = copy;
    return copy != NULL;
}

const char *const *guard_kernel_mounts(struct arena *arena, const struct guard_mounts *mounts) {
    static const char *const usual[] = {"/proc", "/sys", "/dev"};
    struct points points = {.arena = arena};
    bool failed = false;
    for (size_t i = 0; i < ARRAY_LENGTH(usual); i++) {
        failed = failed || !add_point(&points, usual[i]);
    }
    for (size_t i = 0; !failed && i < mounts->count; i++) {
        const struct mount_row *row = &mounts->rows[i];
        failed = is_of_kernel(row->type) && !add_point(&points, row->point);
    }
    return failed ? NULL : points.paths;
}
