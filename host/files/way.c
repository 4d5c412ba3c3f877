#include "files/way.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* IN_ATTRIB also reports changes of permissions, without which a folder cannot be watched. */
#define WAY_EVENTS    (WAY_EXCHANGE_EVENTS | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB)
#define FOLDER_EVENTS (WAY_EVENTS | IN_MODIFY | IN_CLOSE_WRITE)

/* Watch more events on a path. Events of files that were removed but are still open are excluded.
 * -1 with errno. */
static int add_watch(const struct ways *ways, const char *path, uint32_t events) {
    return inotify_add_watch(ways->fd, path[0] == '\0' ? "/" : path,
                             events | IN_MASK_ADD | IN_EXCL_UNLINK | IN_ONLYDIR);
}

/* `name` NULL: the folder itself. */
static bool add_step(struct ways *ways, int watch, struct way_owner owner, const char *name,
                     size_t length) {
    if (owner.file != NULL && ways->step_count >= WAY_FILE_STEPS_MAX) {
        return false;
    }
    if (ways->step_count == ways->step_room) {
        size_t room = ways->step_room == 0 ? 64 : ways->step_room * 2;
        struct step *grown = realloc(ways->steps, room * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        ways->steps = grown;
        ways->step_room = room;
    }
    struct step step = {.watch = watch, .round = ways->round, .owner = owner};
    step.file = owner.file == NULL ? NULL : strdup(owner.file);
    step.name = name == NULL ? NULL : strndup(name, length);
    if ((owner.file != NULL && step.file == NULL) || (name != NULL && step.name == NULL)) {
        free(step.file);
        free(step.name);
        return false;
    }
    step.owner.file = step.file;
    ways->steps[ways->step_count++] = step;
    return true;
}

/* Forget one step; the last step takes its place. */
static void forget_step(struct ways *ways, size_t at) {
    struct step step = ways->steps[at];
    ways->steps[at] = ways->steps[--ways->step_count];
    free(step.file);
    free(step.name);
    bool used = step.watch == WAY_NO_WATCH;
    for (size_t i = 0; i < ways->step_count && !used; i++) {
        used = ways->steps[i].watch == step.watch;
    }
    if (!used) {
        (void)inotify_rm_watch(ways->fd, step.watch); /* the kernel may have removed it */
    }
}

/* Forget the steps of an owner, except those of the present round. */
static void forget_older(struct ways *ways, struct way_owner owner) {
    for (size_t i = ways->step_count; i-- > 0;) {
        const struct step *step = &ways->steps[i];
        if (step->round != ways->round && step->owner.folder == owner.folder &&
            (owner.file == NULL ? step->file == NULL
                                : step->file != NULL && strcmp(step->file, owner.file) == 0)) {
            forget_step(ways, i);
        }
    }
}

/* Walk one name, the first `length` bytes of the rest. 0 or an errno value. */
static int walk_name(struct ways *ways, struct way *way, struct way_owner owner, size_t length) {
    char next[PATH_MAX];
    int next_length =
            snprintf(next, sizeof next, "%s/%.*s", way->walk.at, (int)length, way->walk.rest);
    if (next_length < 0 || next_length >= (int)sizeof next) {
        return ENAMETOOLONG;
    }
    /* A folder that may be searched but not read cannot be watched: changes of its names are not
     * seen. */
    int watch = add_watch(ways, way->walk.at, WAY_EVENTS);
    if (watch >= 0 && !add_step(ways, watch, owner, way->walk.rest, length)) {
        return ENOMEM;
    }
    if (lstat(next, &way->st) < 0) {
        return errno;
    }
    memmove(way->walk.rest, way->walk.rest + length, strlen(way->walk.rest + length) + 1);
    if (S_ISLNK(way->st.st_mode)) {
        return link_follow(&way->walk, next);
    }
    if (owner.file != NULL && !S_ISDIR(way->st.st_mode)) {
        (void)add_watch(ways, way->walk.at, FOLDER_EVENTS);
    }
    memcpy(way->walk.at, next, (size_t)next_length + 1);
    return 0;
}

/* Walk to the end. 0 or an errno value. */
static int walk(struct ways *ways, struct way *way, struct way_owner owner) {
    size_t length;
    while ((length = link_next_name(&way->walk)) > 0) {
        int why = walk_name(ways, way, owner, length);
        if (why != 0) {
            return why;
        }
    }
    if (owner.file != NULL) {
        return 0;
    }
    way->watch = add_watch(ways, way->walk.at, FOLDER_EVENTS);
    if (way->watch < 0) {
        return errno;
    }
    return add_step(ways, way->watch, owner, NULL, 0) ? 0 : ENOMEM;
}

int ways_find(struct ways *ways, struct way_owner owner, const char *at, const char *rest,
              struct way *ret) {
    ret->walk.links = 0;
    ret->st = (struct stat){0};
    ret->watch = WAY_NO_WATCH;
    (void)snprintf(ret->walk.at, sizeof ret->walk.at, "%s", at);
    int length = snprintf(ret->walk.rest, sizeof ret->walk.rest, "%s", rest);
    ways->round++;
    int why = length >= (int)sizeof ret->walk.rest ? ENAMETOOLONG : walk(ways, ret, owner);
    forget_older(ways, owner);
    return why;
}

void ways_forget(struct ways *ways, struct way_owner owner) {
    ways->round++;
    forget_older(ways, owner);
}

void ways_forget_files(struct ways *ways, uint32_t folder, uint32_t round) {
    for (size_t i = ways->step_count; i-- > 0;) {
        const struct step *step = &ways->steps[i];
        if (step->file != NULL && step->owner.folder == folder && step->round <= round) {
            forget_step(ways, i);
        }
    }
}

void ways_forget_watch(struct ways *ways, int watch) {
    for (size_t i = 0; i < ways->step_count; i++) {
        if (ways->steps[i].watch == watch) {
            ways->steps[i].watch = WAY_NO_WATCH;
        }
    }
}

void ways_finish(struct ways *ways) {
    for (size_t i = 0; i < ways->step_count; i++) {
        free(ways->steps[i].file);
        free(ways->steps[i].name);
    }
    free(ways->steps);
}
