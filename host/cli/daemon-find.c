#include "cli/daemon-find.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/own-folder.h"

/* A text that cannot be read is read again, so often and after so long. */
#define READ_TRIES    3
#define READ_AGAIN_MS 5
/* Most bytes of it. */
#define TEXT_SIZE_MAX 65536u

struct flock daemon_lock(short type) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

static void read_text(int fd, struct daemon_found *ret) {
    CLEANUP(freep) char *text = malloc(TEXT_SIZE_MAX);
    ssize_t got = text != NULL ? pread(fd, text, TEXT_SIZE_MAX, 0) : -1;
    ret->doc = got > 0 ? yyjson_read(text, (size_t)got, 0) : NULL;
    yyjson_val *root = yyjson_doc_get_root(ret->doc);
    ret->pid = (pid_t)yyjson_get_sint(yyjson_obj_get(root, "pid"));
    ret->since_s = yyjson_get_sint(yyjson_obj_get(root, "since_s"));
    ret->version = yyjson_get_str(yyjson_obj_get(root, "version"));
    ret->socket = yyjson_get_str(yyjson_obj_get(root, "socket"));
    ret->listens = yyjson_obj_get(root, "listens");
    ret->commands = yyjson_get_str(yyjson_obj_get(root, "commands"));
    ret->options = yyjson_obj_get(root, "options");
}

int daemon_find(const char *folder, struct daemon_found *ret) {
    *ret = (struct daemon_found){0};
    CLEANUP(closep)
    int fd = folder != NULL ? own_file_open(folder, DAEMON_LOCK_FILE, O_RDONLY) : -ENOENT;
    struct flock found = daemon_lock(F_RDLCK);
    if (fd < 0) {
        int failed = fd;
        fd = -1;
        return failed == -ENOENT || failed == -ENOTDIR ? 0 : failed;
    }
    if (fcntl(fd, F_OFD_GETLK, &found) < 0) {
        return -errno;
    }
    if (found.l_type == F_UNLCK) {
        return 0;
    }
    read_text(fd, ret);
    for (int i = 1; i < READ_TRIES && ret->doc == NULL; i++) {
        (void)poll(NULL, 0, READ_AGAIN_MS); /* it may be being written */
        read_text(fd, ret);
    }
    return 1;
}

void daemon_found_finish(struct daemon_found *found) {
    yyjson_doc_free(found->doc);
    *found = (struct daemon_found){0};
}
