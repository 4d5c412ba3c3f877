/* A host notices that its socket is gone - its name, or the folder - and listens again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/hosts-parts.h"

/* What may take the name or the folder away. */
#define WATCHED (IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

static bool is_same(const char *path, const struct hosts_inode *inode) {
    struct stat st;
    return lstat(path, &st) == 0 && st.st_dev == inode->device && st.st_ino == inode->number;
}

static bool note_inode(const char *path, struct hosts_inode *ret) {
    struct stat st;
    if (lstat(path, &st) < 0) {
        return false;
    }
    *ret = (struct hosts_inode){.device = st.st_dev, .number = st.st_ino};
    return true;
}

/* NULL: out of memory. */
static char *socket_path(const struct hosts *hosts) {
    char *path = NULL;
    return asprintf(&path, "%s/%s", hosts->folder, hosts->name) < 0 ? NULL : path;
}

bool hosts_watch(struct hosts *hosts) {
    if (hosts->watch < 0) {
        hosts->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    }
    int before = hosts->watched;
    hosts->watched =
            hosts->watch >= 0 ? inotify_add_watch(hosts->watch, hosts->folder, WATCHED) : -1;
    if (before >= 0 && before != hosts->watched) { /* of a folder that was moved */
        (void)inotify_rm_watch(hosts->watch, before);
    }
    return hosts->watched >= 0;
}

/* Note which socket and which state folder are the host's own. */
static bool note_inodes(struct hosts *hosts) {
    CLEANUP(freep) char *path = socket_path(hosts);
    return path != NULL && note_inode(hosts->options.state_dir, &hosts->state_inode) &&
           note_inode(path, &hosts->socket_inode);
}

bool hosts_is_findable(struct hosts *hosts) {
    return note_inodes(hosts) && (hosts->watch < 0 || hosts->watched >= 0);
}

/* The folder is watched before the socket is made, so that its next loss is seen. */
static bool make_again(struct hosts *hosts) {
    struct toolrack_error err;
    bool was_lost = hosts->is_lost;
    int code = hosts_make_folder(hosts, &err);
    if (code == 0) {
        (void)hosts_watch(hosts);
        code = hosts_make_socket(hosts, &err);
    }
    hosts->is_lost = code < 0 || !hosts_is_findable(hosts);
    hosts_set_unreachable(hosts, hosts->is_lost);
    if (hosts->is_lost && !was_lost) {
        log_line(hosts->options.log, LOG_ERROR, "store",
                 "the host's socket in %s was removed, and what other processes decide does not "
                 "take effect until it is made again: %s",
                 hosts->folder, code < 0 ? err.message : "it was removed at once");
    } else if (!hosts->is_lost) {
        log_line(hosts->options.log, LOG_WARNING, "store",
                 "the host's socket in %s was removed, and is made again", hosts->folder);
    }
    return !hosts->is_lost;
}

bool hosts_find_again(struct hosts *hosts) {
    char events[4096]; /* they only say that something was removed */
    CLEANUP(freep) char *path = socket_path(hosts);
    while (read(hosts->watch, events, sizeof events) > 0) {
    }
    if (path == NULL || (!hosts->is_lost && is_same(path, &hosts->socket_inode))) {
        return false;
    }
    if (is_same(hosts->options.state_dir, &hosts->state_inode)) {
        return make_again(hosts);
    }
    log_line(
            hosts->options.log, LOG_ERROR, "store",
            "the state folder %s was removed or replaced: what other processes decide takes effect "
            "in this host when it is started again",
            hosts->options.state_dir);
    closep(&hosts->watch);
    hosts->watch = -1;
    hosts->is_lost = false;
    return false;
}
