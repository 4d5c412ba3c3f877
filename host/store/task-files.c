#include "store/task-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/own-folder.h"

#define FOLDER "tasks"

/* Room for "." ID and a zero. */
#define NAME_ROOM (TASK_FILES_ID_SIZE + 1)

static bool is_id(const char *name) {
    return strspn(name, "0123456789abcdef") == TASK_FILES_ID_SIZE - 1 &&
           name[TASK_FILES_ID_SIZE - 1] == '\0';
}

/* A descriptor of the folder, which is made if there is none; or a negative errno. */
static int open_folder(const char *state_dir, bool make) {
    CLEANUP(freep) char *path = NULL;
    if (asprintf(&path, "%s/" FOLDER, state_dir) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    return own_folder_open(path, make);
}

static int not_kept(const char *state_dir, int error, struct toolrack_error *err) {
    return error == ENOMEM
                   ? error_oom(err)
                   : error_set(err, TOOLRACK_E_IO, "the result cannot be kept in %s/" FOLDER ": %s",
                               state_dir, own_folder_words(-error));
}

/* 0 or a negative errno. */
static int write_file(int dir, const char *hidden, const char *id, const char *text, size_t size) {
    (void)unlinkat(dir, hidden, 0); /* of a process that was killed */
    CLEANUP(closep)
    int fd = openat(dir, hidden, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -errno;
    }
    int failed = write_all(fd, text, size);
    if (failed == 0 && (fsync(fd) < 0 || renameat(dir, hidden, dir, id) < 0 || fsync(dir) < 0)) {
        failed = -errno;
    }
    if (failed < 0) {
        (void)unlinkat(dir, hidden, 0);
    }
    return failed;
}

int task_file_write(const char *state_dir, const char *id, const char *text, size_t size,
                    struct toolrack_error *err) {
    char hidden[NAME_ROOM];
    int dir = is_id(id) ? open_folder(state_dir, true) : -EINVAL;
    if (dir < 0) {
        return not_kept(state_dir, -dir, err);
    }
    (void)snprintf(hidden, sizeof hidden, ".%s", id);
    int failed = write_file(dir, hidden, id, text, size);
    (void)close(dir);
    return failed == 0 ? 0 : not_kept(state_dir, -failed, err);
}

/* 0 or a negative errno. */
static int read_all(int fd, char *text, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, text + done, size - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -errno : -EIO;
        }
        done += (size_t)got;
    }
    return 0;
}

int task_file_read(const char *state_dir, const char *id, size_t size, char **ret,
                   struct toolrack_error *err) {
    struct stat st;
    int dir = is_id(id) ? open_folder(state_dir, false) : -EINVAL;
    CLEANUP(closep)
    int fd = dir >= 0 ? openat(dir, id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    int failed = dir < 0 ? -dir : fd < 0 || fstat(fd, &st) < 0 ? errno : 0;
    if (dir >= 0) {
        (void)close(dir);
    }
    if (failed == 0 && (!S_ISREG(st.st_mode) || st.st_size != (off_t)size)) {
        return error_set(err, TOOLRACK_E_IO, "its file %s/" FOLDER "/%s is not as it was written",
                         state_dir, id);
    }
    CLEANUP(freep) char *text = failed == 0 ? malloc(size + 1) : NULL;
    if (failed == 0 && text == NULL) {
        return error_oom(err);
    }
    if (failed == 0) {
        failed = -read_all(fd, text, size);
    }
    if (failed != 0) {
        return error_set(err, TOOLRACK_E_IO, "its file %s/" FOLDER "/%s cannot be read: %s",
                         state_dir, id, own_folder_words(-failed));
    }
    text[size] = '\0';
    *ret = text;
    text = NULL;
    return 0;
}

void task_file_remove(const char *state_dir, const char *id) {
    int dir = is_id(id) ? open_folder(state_dir, false) : -1;
    if (dir >= 0) {
        (void)unlinkat(dir, id, 0);
        (void)close(dir);
    }
}

void task_files_sweep(const char *state_dir, bool (*exists)(void *user, const char *id),
                      void *user) {
    int dir = open_folder(state_dir, false);
    DIR *stream = dir >= 0 ? fdopendir(dir) : NULL;
    if (stream == NULL) {
        if (dir >= 0) {
            (void)close(dir);
        }
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(stream)) != NULL) {
        const char *id = entry->d_name[0] == '.' ? entry->d_name + 1 : entry->d_name;
        if (is_id(id) && !exists(user, id)) {
            (void)unlinkat(dir, entry->d_name, 0);
        }
    }
    (void)closedir(stream);
}
