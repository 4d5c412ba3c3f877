/* A mount namespace of the worker: what is hidden in granted folders, and what cannot be replaced.
 *
 * Landlock only adds rights, so it cannot take a folder out of a granted one. Here an empty
 * read-only file system is mounted over it. Whoever may write to a folder may also rename what is
 * in it, and put something else in its place, for the host to find at its next start; so each
 * folder on the way to what is hidden becomes a mount point, which the kernel neither renames nor
 * removes within the namespace.
 *
 * A path that leads through a symbolic link by now is refused: a plugin could have made the link
 * since the host looked. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "worker/sandbox-kernel.h"
#include "worker/sandbox.h"

/* From <sys/mount.h>, which cannot be included beside <linux/mount.h> in all versions of libc. */
extern int mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const void *data);

static const char *path_below(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 && path[length] == '/' ? path + length + 1 : NULL;
}

/* The granted folder that contains a path; NULL: none does. */
static const char *find_granted(const char *const *folders, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(folders[i], "/") == 0 || path_below(path, folders[i]) != NULL) {
            return folders[i];
        }
    }
    return NULL;
}

/* Narrower paths would not contain it. */
static int failed(const struct sandbox_policy *policy, const char *what, const char *path,
                  struct toolrack_error *err) {
    int number = errno;
    const char *id = policy->plugin_id != NULL ? policy->plugin_id : "PLUGIN";
    const char *kind = "write";
    const char *folder = find_granted(policy->write_paths, policy->write_path_count, path);
    if (folder == NULL) {
        kind = "read";
        folder = find_granted(policy->read_paths, policy->read_path_count, path);
    }
    int code = error_set(err, TOOLRACK_E_IO, "cannot %s %s: %s; the plugin is not run", what, path,
                         strerror(number));
    if (folder != NULL) {
        char text[ERROR_MESSAGE_MAX];
        char item[PROTECTED_PATH_MAX + 16];
        char narrower[PROTECTED_PATH_MAX + 32];
        (void)snprintf(item, sizeof item, "%s:%s", kind, folder);
        (void)snprintf(narrower, sizeof narrower, "%s:%s/PATH", kind,
                       strcmp(folder, "/") == 0 ? "" : folder);
        (void)snprintf(text, sizeof text,
                       "it is in %s, which is allowed: %s; and allow narrower paths: %s", folder,
                       COMMAND("disallow", id, item), COMMAND("allow", id, narrower));
        error_append(err, text);
    }
    return code;
}

static int open_path(const char *path) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* A mount of what is at `fd`, with all that is mounted below it; attached nowhere. */
static int copy_mount(int fd) {
    return (int)syscall(SYS_open_tree, fd, "",
                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
}

static bool attach(int tree, int at) {
    return syscall(SYS_move_mount, tree, "", at, "",
                   MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
}

static bool make_read_only(int tree) {
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
    return syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                   sizeof attributes) == 0;
}

/* Mount what is at a path over itself. */
static bool keep_in_place(const char *path) {
    CLEANUP(closep) int fd = open_path(path);
    CLEANUP(closep) int tree = fd < 0 ? -1 : copy_mount(fd);
    return tree >= 0 && attach(tree, fd);
}

/* ------------------------------------------------------------------ hiding */

static int make_empty(void) {
    CLEANUP(closep) int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "size", "64k", 0) < 0 ||
        syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0) {
        return -1;
    }
    return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC,
                        MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/* Make the place for a tree at a relative path in an empty file system, and attach it. */
static bool show_again(int empty, const char *path, int tree) {
    char part[PROTECTED_PATH_MAX];
    struct stat st;
    if (strlen(path) >= sizeof part || fstat(tree, &st) < 0) {
        return false;
    }
    for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (mkdirat(empty, part, 0755) < 0 && errno != EEXIST) {
            return false;
        }
    }
    if (S_ISDIR(st.st_mode) ? mkdirat(empty, path, 0755) < 0 && errno != EEXIST
                            : mknodat(empty, path, S_IFREG | 0644, 0) < 0 && errno != EEXIST) {
        return false;
    }
    CLEANUP(closep) int at = openat(empty, path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    return at >= 0 && attach(tree, at);
}

#define SHOWN_MAX 32u

/* What is granted below a hidden folder, or loaded from there, stays visible: read-only, unless
 * just that may be written, as Landlock's rule for the folder above holds for it too. */
struct shown {
    const char *path; /* below the hidden folder */
    int tree;
};

static void shown_finish(struct shown (*list)[SHOWN_MAX]) {
    for (size_t i = 0; i < SHOWN_MAX; i++) {
        if ((*list)[i].path != NULL) {
            closep(&(*list)[i].tree);
        }
    }
}

static bool take_shown(const char *hidden, const char *const *paths, size_t count, bool read_only,
                       struct shown list[SHOWN_MAX], size_t *at) {
    for (size_t i = 0; i < count && paths[i] != NULL; i++) {
        const char *below = path_below(paths[i], hidden);
        CLEANUP(closep) int fd = below == NULL ? -1 : open_path(paths[i]);
        if (fd < 0) {
            continue; /* it is elsewhere; or it does not exist, and so grants nothing */
        }
        if (*at == SHOWN_MAX) {
            errno = E2BIG;
            return false;
        }
        list[*at] = (struct shown){below, copy_mount(fd)};
        int tree = list[(*at)++].tree;
        if (tree < 0 || (read_only && !make_read_only(tree))) {
            return false;
        }
    }
    return true;
}

/* Mount what is at a path over itself, read-only but for what is granted below it to be written. */
static bool freeze(const struct sandbox_policy *policy, const char *path) {
    CLEANUP(shown_finish) struct shown shown[SHOWN_MAX] = {{0}};
    size_t count = 0;
    CLEANUP(closep) int fd = open_path(path);
    CLEANUP(closep) int tree = fd < 0 ? -1 : copy_mount(fd);
    bool is_done =
            tree >= 0 &&
            take_shown(path, policy->write_paths, policy->write_path_count, false, shown, &count) &&
            make_read_only(tree) && attach(tree, fd);
    for (size_t i = 0; is_done && i < count; i++) {
        char whole[PROTECTED_PATH_MAX];
        int length = snprintf(whole, sizeof whole, "%s/%s", path, shown[i].path);
        CLEANUP(closep) int at = length < (int)sizeof whole ? open_path(whole) : -1;
        is_done = at >= 0 && attach(shown[i].tree, at);
    }
    return is_done;
}

static bool hide(const struct sandbox_policy *policy, const char *const *library_paths,
                 const char *path) {
    CLEANUP(shown_finish) struct shown shown[SHOWN_MAX] = {{0}};
    size_t count = 0;
    CLEANUP(closep) int fd = open_path(path);
    if (fd < 0 && errno == ENOENT) {
        return true; /* gone since it was listed, as another host's folder may be */
    }
    if (fd < 0 || !take_shown(path, library_paths, SIZE_MAX, true, shown, &count) ||
        !take_shown(path, sandbox_device_paths(), SIZE_MAX, false, shown, &count) ||
        !take_shown(path, policy->read_paths, policy->read_path_count, true, shown, &count) ||
        !take_shown(path, policy->write_paths, policy->write_path_count, false, shown, &count)) {
        return false;
    }
    CLEANUP(closep) int empty = make_empty();
    if (empty < 0 || !attach(empty, fd)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!show_again(empty, shown[i].path, shown[i].tree)) {
            return false;
        }
    }
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY};
    return syscall(SYS_mount_setattr, empty, "", AT_EMPTY_PATH, &attributes, sizeof attributes) ==
           0;
}

/* ------------------------------------------------------------------- apply */

int sandbox_mounts_apply(const struct sandbox_policy *policy, const char *const *library_paths,
                         struct toolrack_error *err) {
    const char *first = policy->hidden_path_count > 0   ? policy->hidden_paths[0]
                        : policy->frozen_path_count > 0 ? policy->frozen_paths[0]
                                                        : policy->kept_paths[0];
    if (unshare(CLONE_NEWNS) < 0 && !sandbox_enter_users(CLONE_NEWNS)) {
        return failed(policy, "make the mount namespace that protects", first, err);
    }
    if (mount("none", "/", NULL, 1u << 14 /* MS_REC */ | 1u << 18 /* MS_PRIVATE */, NULL) < 0) {
        return failed(policy, "keep to itself the mount namespace that protects", first, err);
    }
    for (size_t i = 0; i < policy->kept_path_count; i++) {
        if (!keep_in_place(policy->kept_paths[i])) {
            return failed(policy, "keep from being replaced", policy->kept_paths[i], err);
        }
    }
    for (size_t i = 0; i < policy->frozen_path_count; i++) {
        if (!freeze(policy, policy->frozen_paths[i])) {
            return failed(policy, "make read-only", policy->frozen_paths[i], err);
        }
    }
    for (size_t i = 0; i < policy->hidden_path_count; i++) {
        if (!hide(policy, library_paths, policy->hidden_paths[i])) {
            return failed(policy, "hide", policy->hidden_paths[i], err);
        }
    }
    return 0;
}
