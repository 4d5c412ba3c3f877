#include "author/sources.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "toolrack/toolrack.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)

#define WALK_DESCRIPTORS 16
#define WATCH_FOR                                                                        \
    (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR | \
     IN_EXCL_UNLINK)

/* nftw() passes nothing on. One walk at a time: the command has one thread. */
static struct {
    int watch;
    uint64_t hash;
    char *newest;
    struct timespec newest_time;
} walk;

static const char *name_of(const char *path, const struct FTW *at) {
    return path + at->base;
}

/* Where builds write. */
static bool is_built_folder(const char *name) {
    return strncmp(name, "build", strlen("build")) == 0 || strcmp(name, "target") == 0 ||
           strcmp(name, "node_modules") == 0;
}

static bool is_built_file(const char *name) {
    static const char lock[] = "Cargo.lock"; /* which the first build writes */
    static const char *const ends[] = {".o",  ".so",   ".a",    ".d", ".lo",
                                       ".la", ".gcda", ".gcno", "~"};
    size_t length = strlen(name);
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        size_t end = strlen(ends[i]);
        if (length > end && strcmp(name + length - end, ends[i]) == 0) {
            return true;
        }
    }
    return name[0] == '.' || strcmp(name, lock) == 0;
}

static void add(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        walk.hash = (walk.hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
}

static int look_at(const char *path, const struct stat *status, int kind, struct FTW *at) {
    const char *name = name_of(path, at);
    if (kind == FTW_D) {
        if (at->level > 0 && (name[0] == '.' || is_built_folder(name))) {
            return FTW_SKIP_SUBTREE;
        }
        if (walk.watch >= 0) {
            (void)inotify_add_watch(walk.watch, path, WATCH_FOR);
        }
    } else if (kind == FTW_F && !is_built_file(name)) {
        add(path, strlen(path));
        add(&status->st_mtim, sizeof status->st_mtim);
        add(&status->st_size, sizeof status->st_size);
    }
    return FTW_CONTINUE;
}

uint64_t sources_look(const char *folder, int watch) {
    walk.watch = watch;
    walk.hash = UINT64_C(0xcbf29ce484222325);
    (void)nftw(folder, look_at, WALK_DESCRIPTORS, FTW_PHYS | FTW_ACTIONRETVAL);
    return walk.hash;
}

static bool is_plugin(const char *path) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    return toolrack_check(path, &findings, NULL) == 0 &&
           !toolrack_findings_is_configuration(findings) &&
           toolrack_findings_plugin(findings) != NULL;
}

static bool is_newer(const struct timespec *one, const struct timespec *other) {
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
                                        : one->tv_nsec > other->tv_nsec;
}

/* Builders such as cargo have a file twice: the one that is nearer counts. */
static int find_newest(const char *path, const struct stat *status, int kind, struct FTW *at) {
    const char *name = name_of(path, at);
    size_t length = strlen(name);
    if (kind == FTW_D) {
        return at->level > 0 && name[0] == '.' ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
    }
    if (kind != FTW_F || length <= 3 || strcmp(name + length - 3, ".so") != 0) {
        return FTW_CONTINUE;
    }
    bool is_same_time = walk.newest != NULL && !is_newer(&status->st_mtim, &walk.newest_time) &&
                        !is_newer(&walk.newest_time, &status->st_mtim);
    bool is_better = walk.newest == NULL || is_newer(&status->st_mtim, &walk.newest_time) ||
                     (is_same_time && strlen(path) < strlen(walk.newest));
    if (is_better && is_plugin(path)) {
        free(walk.newest);
        walk.newest = strdup(path);
        walk.newest_time = status->st_mtim;
    }
    return FTW_CONTINUE;
}

char *sources_plugin(const char *folder) {
    walk.newest = NULL;
    (void)nftw(folder, find_newest, WALK_DESCRIPTORS, FTW_PHYS | FTW_ACTIONRETVAL);
    return STEAL(walk.newest);
}
