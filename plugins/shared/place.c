#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <toolrack/ext/paths.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

#define FOLDERS_MAX 16

static struct {
    int fd;
    char *path; /* owned; without a slash at its end, so "" for the root of all */
} folders[FOLDERS_MAX];
static size_t folder_count;

static void add(struct tr_host *host, const char *path) {
    size_t length = strlen(path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        tr_host_log(host, TR_LOG_WARNING, "%s cannot be used: %s", path, strerror(errno));
        return;
    }
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    folders[folder_count].fd = fd;
    folders[folder_count++].path = strndup(path, length);
}

bool place_open(struct tr_host *host) {
    const struct tr_paths_host *paths = tr_host_get_extension(host, TR_EXT_PATHS);
    struct tr_path path;
    for (uint64_t i = 0; folder_count < FOLDERS_MAX && tr_path_get(paths, i, &path); i++) {
        add(host, path.path);
        if (folder_count > 0 && folders[folder_count - 1].path == NULL) {
            place_close();
            (void)tr_host_fail(host, "no memory is left");
            return false;
        }
    }
    return true;
}

void place_close(void) {
    while (folder_count > 0) {
        folder_count--;
        (void)close(folders[folder_count].fd);
        free(folders[folder_count].path);
    }
}

bool place_is_whole(struct tr_call *call, const char *name) {
    const char *json = tr_get_json(call, name, NULL);
    bool is_whole = json == NULL || json[0] != '"' || tr_get_string(call, name, NULL) != NULL;
    if (!is_whole) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, name, "must not contain U+0000");
    }
    return is_whole;
}

bool place_is_granted(struct tr_call *call) {
    if (folder_count == 0) {
        (void)tr_fail(call, TR_FAILED, NULL,
                      "no folder is granted: name one as \"workspace\" in \"paths\" of the "
                      "configuration, and allow the plugin to read and write there");
    }
    return folder_count > 0;
}

/* The next name of a path; its length, 0 at the end. */
static size_t next_name(const char **path) {
    for (;;) {
        *path += strspn(*path, "/");
        size_t length = strcspn(*path, "/");
        if (length != 1 || (*path)[0] != '.') {
            return length;
        }
        *path += 1;
    }
}

static int fail(int folder, int base, char message[PLACE_MESSAGE_SIZE], const char *path,
                const char *what) {
    (void)snprintf(message, PLACE_MESSAGE_SIZE, "%.300s: %s", path, what);
    if (folder != base && folder >= 0) {
        (void)close(folder);
    }
    return -1;
}

/* In the words of who gave the path: a link fails as a folder that is none, or as a loop. */
static const char *explain(int folder, const char *name) {
    int cause = errno;
    struct stat status;
    if ((cause == ENOTDIR || cause == ELOOP) &&
        fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)) {
        return "a symbolic link is on the way, and links are not followed";
    }
    if (cause == EACCES || cause == EROFS) {
        return "permission denied: the plugin is not allowed to do that there (toolrack show tells "
               "what is)";
    }
    return strerror(cause);
}

int place_below(int base, const char *path, int flags, mode_t mode,
                char message[PLACE_MESSAGE_SIZE]) {
    int folder = base;
    const char *at = path;
    size_t length = next_name(&at);
    if (length == 0) { /* the folder itself, by a descriptor of its own */
        int same = openat(base, ".", FOLDER_FLAGS);
        return same >= 0 ? same : fail(base, base, message, path, strerror(errno));
    }
    for (;;) {
        char name[NAME_MAX + 1];
        if (length > NAME_MAX) {
            return fail(folder, base, message, path, "a name is longer than 255 bytes");
        }
        memcpy(name, at, length);
        name[length] = '\0';
        if (strcmp(name, "..") == 0) {
            return fail(folder, base, message, path, "leads upwards by \"..\"; name the place");
        }
        at += length;
        length = next_name(&at);
        bool is_last = length == 0;
        bool is_folder = !is_last || (flags & O_DIRECTORY) != 0;
        if (is_folder && (flags & O_CREAT) != 0 && mkdirat(folder, name, 0755) < 0 &&
            errno != EEXIST) {
            return fail(folder, base, message, path, explain(folder, name));
        }
        int next = is_folder
                           ? openat(folder, name, FOLDER_FLAGS)
                           : openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
        if (next < 0) {
            return fail(folder, base, message, path, explain(folder, name));
        }
        if (folder != base) {
            (void)close(folder);
        }
        if (is_last) {
            return next;
        }
        folder = next;
    }
}

int place_find(const char *path, const char **ret_rest) {
    *ret_rest = path;
    for (size_t i = 0; i < folder_count; i++) {
        size_t length = strlen(folders[i].path);
        if (path[0] != '/') {
            return folders[i].fd;
        }
        if (strncmp(path, folders[i].path, length) == 0 &&
            (path[length] == '/' || path[length] == '\0')) {
            *ret_rest = path + length;
            return folders[i].fd;
        }
    }
    return -1;
}

int place_at(const char *path, int flags, mode_t mode, char message[PLACE_MESSAGE_SIZE]) {
    const char *rest;
    int folder = place_find(path, &rest);
    if (folder < 0) {
        (void)snprintf(message, PLACE_MESSAGE_SIZE,
                       folder_count == 0 ? "no folder is granted"
                                         : "%.200s is not in the folder %.200s%s",
                       path, folder_count == 0 ? "" : folders[0].path,
                       folder_count > 1 ? ", nor in another one that is granted" : "");
        return -1;
    }
    return place_below(folder, rest, flags, mode, message);
}

void place_remove(int folder, const char *path) {
    char message[PLACE_MESSAGE_SIZE];
    char parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);
    if (length >= sizeof parent) {
        return;
    }
    memcpy(parent, path, length);
    parent[length] = '\0';
    int inside = place_below(folder, parent, O_RDONLY | O_DIRECTORY, 0, message);
    if (inside >= 0) {
        (void)unlinkat(inside, slash == NULL ? path : slash + 1, 0);
        (void)close(inside);
    }
}
