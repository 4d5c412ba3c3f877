/* A host without a socket holds a lock on one byte of a file of the state folder, at a random
 * place, so that processes that decide something can count such hosts. A killed process holds no
 * lock. A lock needs no right to write, which may be why there is no socket. Whoever can open the
 * file can hold a lock, and nothing says whose a lock is: so the file is for its owner alone,
 * unless he lets others read what is in the state folder, and so run hosts with it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/hosts-parts.h"

/* Most hosts that are counted. */
#define COUNTED_MAX 64u

#define MARKS_FILE "unreachable"

/* The file with the locks, which is made if there is none. -1: it cannot be had. */
static int open_marks(const struct hosts *hosts) {
    CLEANUP(freep) char *path = NULL;
    struct stat st;
    if (asprintf(&path, "%s/" MARKS_FILE, hosts->options.state_dir) < 0) {
        path = NULL;
        return -1;
    }
    CLEANUP(closep)
    int fd = open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        (st.st_uid != geteuid() && st.st_uid != 0)) {
        return -1;
    }
    int found = fd;
    fd = -1;
    return found;
}

void hosts_set_unreachable(struct hosts *hosts, bool is_unreachable) {
    uint64_t place;
    if (!is_unreachable || hosts->mark >= 0) {
        if (!is_unreachable) {
            closep(&hosts->mark);
            hosts->mark = -1;
        }
        return;
    }
    CLEANUP(closep) int marks = open_marks(hosts);
    if (marks < 0 || getrandom(&place, sizeof place, 0) != (ssize_t)sizeof place) {
        return;
    }
    struct flock byte = {.l_type = F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)(place >> 2), /* in front of the last there is */
                         .l_len = 1};
    if (fcntl(marks, F_OFD_SETLK, &byte) == 0) {
        hosts->mark = marks;
        marks = -1;
    }
}

/* Count the locks in [from, to), or behind `from` where `to` is 0, up to a number. */
static size_t count_locks(int marks, off_t from, off_t to, size_t most) {
    size_t count = 0;
    while (count < most && (to == 0 || from < to)) {
        struct flock found = {.l_type = F_WRLCK,
                              .l_whence = SEEK_SET,
                              .l_start = from,
                              .l_len = to == 0 ? 0 : to - from};
        if (fcntl(marks, F_OFD_GETLK, &found) < 0 || found.l_type == F_UNLCK) {
            break;
        }
        count++;
        if (found.l_start > from) { /* which of several is found is not said */
            count += count_locks(marks, from, found.l_start, most - count);
        }
        if (found.l_len == 0) {
            break;
        }
        from = found.l_start + found.l_len;
    }
    return count;
}

size_t hosts_count_unreachable(struct hosts *hosts) {
    if (hosts->folder == NULL) {
        return 0;
    }
    /* The own lock is of the own descriptor, and not found by it. */
    CLEANUP(closep) int marks = hosts->mark >= 0 ? dup(hosts->mark) : open_marks(hosts);
    return marks >= 0 ? count_locks(marks, 0, 0, COUNTED_MAX) : 0;
}
