/* own-mounts.h - disks as a test needs them, seen by this process alone and gone with it.
 *
 * For a child of the test: it enters a namespace of mounts, as root, or as the root of a namespace
 * of users where that is allowed. False where it is not: then such a test is skipped. */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* Exit status of a child that cannot do its part here, as meson and automake have it. */
#define CHILD_SKIPS 77

static inline bool write_text_to(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) {
        (void)close(fd);
    }
    return done;
}

/* Become the root of a namespace of users, who may mount. */
static inline bool become_root(void) {
    char users[32];
    char groups[32];
    (void)snprintf(users, sizeof users, "0 %u 1", geteuid());
    (void)snprintf(groups, sizeof groups, "0 %u 1", getegid());
    return unshare(CLONE_NEWUSER) == 0 && write_text_to("/proc/self/setgroups", "deny") &&
           write_text_to("/proc/self/uid_map", users) &&
           write_text_to("/proc/self/gid_map", groups);
}

static inline bool enter_own_mounts(void) {
    return (geteuid() == 0 || become_root()) && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/** A disk on a folder; `options` such as "size=256k,mode=0700". */
static inline bool mount_small_disk(const char *dir, const char *options) {
    return enter_own_mounts() && mount("none", dir, "tmpfs", 0, options) == 0;
}

/** A folder that nobody may write to, root neither. */
static inline bool mount_read_only(const char *dir) {
    return enter_own_mounts() && mount(dir, dir, NULL, MS_BIND, NULL) == 0 &&
           mount("none", dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0;
}
