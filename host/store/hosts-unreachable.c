/* A host without a socket holds a lock on one byte of the state folder, at a random place, so that
 * processes that decide something can count such hosts. A killed process holds no lock. A lock
 * needs no right to write, which may be why there is no socket. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store/hosts-parts.h"

/* Most hosts that are counted. */
#define COUNTED_MAX 64u

static int open_state(const struct hosts *hosts) {
    return open(hosts->options.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
    CLEANUP(closep) int dir = open_state(hosts);
    if (dir < 0 || getrandom(&place, sizeof place, 0) != (ssize_t)sizeof place) {
        return;
    }
    struct flock byte = {.l_type = F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)(place >> 2), /* in front of the last there is */
                         .l_len = 1};
    if (fcntl(dir, F_OFD_SETLK, &byte) == 0) {
        hosts->mark = dir;
        dir = -1;
    }
}

/* Count the locks in [from, to), or behind `from` where `to` is 0, up to a number. */
static size_t count_locks(int dir, off_t from, off_t to, size_t most) {
    size_t count = 0;
    while (count < most && (to == 0 || from < to)) {
        struct flock found = {.l_type = F_WRLCK,
                              .l_whence = SEEK_SET,
                              .l_start = from,
                              .l_len = to == 0 ? 0 : to - from};
        if (fcntl(dir, F_OFD_GETLK, &found) < 0 || found.l_type == F_UNLCK) {
            break;
        }
        count++;
        if (found.l_start > from) { /* which of several is found is not said */
            count += count_locks(dir, from, found.l_start, most - count);
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
    CLEANUP(closep) int dir = hosts->mark >= 0 ? dup(hosts->mark) : open_state(hosts);
    return dir >= 0 ? count_locks(dir, 0, 0, COUNTED_MAX) : 0;
}
