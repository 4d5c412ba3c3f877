/* clients-install.c - the file of a client is exchanged as a whole: who reads it finds the old
 * content or the new one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "cli/clients.h"

/* Links that lead to a file that is not there. */
#define LINKS_MAX     40u
/* Most bytes of a file: that of Claude Code holds conversations. */
#define FILE_MAX      (64u * 1024 * 1024)
#define READ_ROOM     65536u
/* Files that were there before, kept beside the file. */
#define KEPT_MAX      100u
#define KEPT_MODE_MAX 0777u

static int fail(struct toolrack_error *err, const char *what, const char *path, int number) {
    return error_set(err, TOOLRACK_E_IO, "cannot %s %s: %s", what, path, strerror(number));
}

static int read_file(const char *path, struct buf *ret, struct stat *ret_status,
                     struct toolrack_error *err) {
    /* A pipe is not waited for. */
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, ret_status) < 0) {
        return fail(err, "read", path, errno);
    }
    if (!S_ISREG(ret_status->st_mode) || ret_status->st_size > FILE_MAX) {
        return error_set(err, TOOLRACK_E_IO, "%s is %s", path,
                         S_ISDIR(ret_status->st_mode)
                                 ? "a folder; move it away, and the file is made in its place"
                         : S_ISREG(ret_status->st_mode)
                                 ? "larger than 64 MiB; add the entry of --print-config by hand"
                                 : "not a regular file; move it away, and the file is made in its "
                                   "place");
    }
    ssize_t n = 1;
    while (n != 0 && ret->length <= FILE_MAX) {
        if (!buf_reserve(ret, READ_ROOM)) {
            return error_oom(err);
        }
        n = read(fd, ret->data + ret->length, READ_ROOM);
        if (n < 0 && errno != EINTR) {
            return fail(err, "read", path, errno);
        }
        ret->length += n > 0 ? (size_t)n : 0;
    }
    ret->data[ret->length] = '\0';
    return 0;
}

/* Write a new file. @return 0, or a negative errno value; then there is no file, -EEXIST apart. */
static int write_new(const char *path, const struct buf *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0) {
        return -errno;
    }
    int code = write_all(fd, text->data, text->length);
    if (code == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0)) {
        code = -errno;
    }
    if (close(fd) < 0 && code == 0) {
        code = -errno;
    }
    if (code < 0) {
        (void)unlink(path);
    }
    return code;
}

/* Write a text into a file of its own, FILE.before-toolrack or with a number. */
static int keep(const char *path, const struct buf *text, mode_t mode, struct buf *ret,
                struct toolrack_error *err) {
    int code = -EEXIST;
    for (unsigned i = 1; i <= KEPT_MAX && code == -EEXIST; i++) {
        buf_clear(ret);
        buf_printf(ret, i == 1 ? "%s.before-toolrack" : "%s.before-toolrack.%u", path, i);
        if (ret->failed) {
            return error_oom(err);
        }
        code = write_new(ret->data, text, mode);
    }
    return code < 0 ? fail(err, "keep the old file as", ret->data, -code) : 0;
}

/* Whether the file is the one that was read: the client itself may write it. */
static bool is_same(const char *path, const struct stat *read) {
    struct stat now;
    return stat(path, &now) == 0 && now.st_dev == read->st_dev && now.st_ino == read->st_ino &&
           now.st_size == read->st_size && now.st_mtim.tv_sec == read->st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == read->st_mtim.tv_nsec;
}

/* Exchange the file. `read` is that of the old one, NULL: there was none. */
static int exchange(const char *path, const struct buf *text, const struct stat *read,
                    struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf other = BUF_INIT;
    buf_printf(&other, "%s.toolrack-%d", path, (int)getpid());
    if (other.failed) {
        return error_oom(err);
    }
    mode_t mode = read != NULL ? read->st_mode & KEPT_MODE_MAX : S_IRUSR | S_IWUSR;
    int code = write_new(other.data, text, mode);
    if (code < 0) {
        return fail(err, "write", other.data, -code);
    }
    bool is_ours = read != NULL ? is_same(path, read) : access(path, F_OK) < 0;
    if (!is_ours) {
        (void)unlink(other.data);
        return error_set(err, TOOLRACK_E_IO, "%s was changed at this moment; try again", path);
    }
    if (rename(other.data, path) < 0) {
        code = fail(err, "write", path, errno);
        (void)unlink(other.data);
    }
    return code;
}

static int make_folder_of(const char *path, struct toolrack_error *err) {
    CLEANUP(freep) char *folder = strdup(path);
    if (folder == NULL) {
        return error_oom(err);
    }
    char *slash = strrchr(folder, '/');
    int code = 0;
    if (slash != NULL && slash != folder) {
        *slash = '\0';
        code = make_folders(folder);
    }
    return code < 0 ? fail(err, "create the folder", folder, -code) : 0;
}

/* The path of a file that is to be made: links that lead to none stay, and get one. */
static char *follow_links(const char *path, struct toolrack_error *err) {
    CLEANUP(freep) char *at = strdup(path);
    for (unsigned i = 0; at != NULL && i < LINKS_MAX; i++) {
        char target[PATH_MAX];
        ssize_t length = readlink(at, target, sizeof target - 1);
        if (length < 0) {
            return STEAL(at);
        }
        target[length] = '\0';
        const char *slash = strrchr(at, '/');
        int folder_length = target[0] == '/' || slash == NULL ? 0 : (int)(slash + 1 - at);
        char *next = NULL;
        if (asprintf(&next, "%.*s%s", folder_length, at, target) < 0) {
            next = NULL;
        }
        free(at);
        at = next;
    }
    (void)(at == NULL ? error_oom(err) : fail(err, "read", path, ELOOP));
    return NULL;
}

int clients_install(const struct client *client, const struct client_command *command,
                    const char *path, struct buf *ret_kept, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf old = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct stat status;
    buf_clear(ret_kept);
    CLEANUP(freep) char *real = realpath(path, NULL); /* a link stays a link */
    if (real == NULL && errno != ENOENT) {
        return fail(err, "read", path, errno);
    }
    CLEANUP(freep) char *missing = real != NULL ? NULL : follow_links(path, err);
    if (real == NULL && missing == NULL) {
        return err->code;
    }
    int code = real != NULL ? read_file(real, &old, &status, err) : make_folder_of(missing, err);
    if (code == 0) {
        struct toolrack_error why = {0};
        code = clients_edit(client, command, old.length > 0 ? old.data : "", old.length, &text,
                            &why);
        if (code < 0) {
            (void)error_set(err, code, "%s: %s", path, why.message);
        }
    }
    if (code == 0 && real != NULL) {
        code = keep(real, &old, status.st_mode & KEPT_MODE_MAX, ret_kept, err);
    }
    if (code == 0) {
        code = exchange(real != NULL ? real : missing, &text, real != NULL ? &status : NULL, err);
    }
    return code;
}
