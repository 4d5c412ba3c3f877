#include "store/runners.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/own-folder.h"
#include "store/database.h"

#define RUNNERS_FILE "runners"

struct runner {
    const char *state_dir;
    struct lock lock;            /* guards what follows */
    char name[RUNNER_NAME_ROOM]; /* "" while it has not begun */
    int fd;                      /* holds the lock; or -1 */
};

struct runner *runner_create(const char *state_dir) {
    struct runner *runner = calloc(1, sizeof *runner);
    if (runner != NULL) {
        runner->state_dir = state_dir;
        runner->fd = -1;
        lock_init(&runner->lock);
    }
    return runner;
}

void runner_end(struct runner *runner) {
    if (runner != NULL) {
        LOCK_SCOPE(&runner->lock);
        closep(&runner->fd);
        runner->fd = -1;
        runner->name[0] = '\0';
    }
}

void runner_destroy(struct runner *runner) {
    if (runner != NULL) {
        runner_end(runner);
        lock_finish(&runner->lock);
        free(runner);
    }
}

/* In front of the last place there is. */
static off_t place_of(uint64_t number) {
    return (off_t)(number >> 2);
}

/* 0 or a negative errno. Caller holds the lock. */
static int take_lock(struct runner *runner, uint64_t number) {
    CLEANUP(closep) int fd = own_file_open(runner->state_dir, RUNNERS_FILE, O_RDONLY | O_CREAT);
    if (fd < 0) {
        int failed = fd;
        fd = -1;
        return failed;
    }
    struct flock byte = {
            .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = place_of(number), .l_len = 1};
    if (fcntl(fd, F_OFD_SETLK, &byte) < 0) {
        return -errno;
    }
    runner->fd = fd;
    fd = -1;
    return 0;
}

int runner_begin(struct runner *runner, char *ret, struct toolrack_error *err) {
    LOCK_SCOPE(&runner->lock);
    if (runner->name[0] == '\0') {
        uint64_t number;
        int failed = getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number ? 0 : -errno;
        if (failed == 0 && runner->state_dir != NULL) {
            int code = database_make_folders(runner->state_dir, err);
            if (code < 0) {
                return code;
            }
            failed = take_lock(runner, number);
        }
        if (failed < 0) {
            return error_set(
                    err, TOOLRACK_E_IO, "other hosts would not see whether this one runs: %s%s%s",
                    runner->state_dir != NULL ? runner->state_dir : "",
                    runner->state_dir != NULL ? "/" RUNNERS_FILE ": " : "", strerror(-failed));
        }
        (void)snprintf(runner->name, sizeof runner->name, "%016llx", (unsigned long long)number);
    }
    memcpy(ret, runner->name, sizeof runner->name);
    return 0;
}

bool runner_lives(struct runner *runner, const char *name) {
    char *end = NULL;
    errno = 0;
    uint64_t number = strtoull(name, &end, 16);
    {
        LOCK_SCOPE(&runner->lock);
        if (runner->name[0] != '\0' && strcmp(runner->name, name) == 0) {
            return true; /* the own lock is not found by its own descriptor */
        }
    }
    if (runner->state_dir == NULL || errno != 0 || end == name || *end != '\0') {
        return false;
    }
    CLEANUP(closep) int fd = own_file_open(runner->state_dir, RUNNERS_FILE, O_RDONLY);
    if (fd < 0) {
        bool is_missing = fd == -ENOENT; /* as after the folder was copied */
        fd = -1;
        return !is_missing;
    }
    struct flock byte = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = place_of(number), .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &byte) < 0 || byte.l_type != F_UNLCK;
}
