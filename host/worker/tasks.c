#include "worker/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* Fields of /proc/PID/stat, numbered as in proc(5). The name, field 2, may contain anything: it
 * ends at the last parenthesis. */
enum { FIELD_STATE = 3, FIELD_SESSION = 6, FIELD_USER = 14, FIELD_SYSTEM = 15, FIELD_THREADS = 20 };

struct stat_line {
    pid_t session;
    struct tasks tasks;
};

/* The numbers of a line; zombies have no thread. */
static bool read_line(const char *text, struct stat_line *ret) {
    const char *at = strrchr(text, ')');
    char state = '\0';
    uint64_t ticks = 0;
    *ret = (struct stat_line){0};
    for (int field = FIELD_STATE; at != NULL && field <= FIELD_THREADS; field++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
        uint64_t number = at != NULL ? strtoull(at, NULL, 10) : 0;
        switch (field) {
        case FIELD_STATE: state = at != NULL ? *at : '\0'; break;
        case FIELD_SESSION: ret->session = (pid_t)number; break;
        case FIELD_USER:
        case FIELD_SYSTEM: ticks += number; break;
        case FIELD_THREADS: ret->tasks.threads = (uint32_t)number; break;
        default: break;
        }
    }
    long per_s = sysconf(_SC_CLK_TCK);
    ret->tasks.cpu_ns = ticks * (CLOCK_NS_PER_S / (uint64_t)(per_s > 0 ? per_s : 100));
    ret->tasks.threads = state == 'Z' || state == 'X' ? 0 : ret->tasks.threads;
    return at != NULL;
}

static bool read_process(int proc, const char *name, struct stat_line *ret) {
    char path[64];
    char text[512]; /* enough for the first 20 fields */
    (void)snprintf(path, sizeof path, "%.20s/stat", name);
    CLEANUP(closep) int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    return read_line(text, ret);
}

bool tasks_count(pid_t leader, bool all, struct tasks *ret) {
    CLEANUP(closep) int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[24];
    struct stat_line line;
    *ret = (struct tasks){0};
    (void)snprintf(name, sizeof name, "%d", (int)leader);
    if (proc < 0 || !read_process(proc, name, &line)) {
        return false;
    }
    *ret = line.tasks;
    DIR *dir = all ? fdopendir(proc) : NULL;
    if (dir == NULL) {
        return !all;
    }
    proc = -1; /* dir owns it */
    for (const struct dirent *one = readdir(dir); one != NULL; one = readdir(dir)) {
        if (ascii_is_digit(one->d_name[0]) && strcmp(one->d_name, name) != 0 &&
            read_process(dirfd(dir), one->d_name, &line) && line.session == leader) {
            ret->threads += line.tasks.threads;
            ret->cpu_ns += line.tasks.cpu_ns;
        }
    }
    (void)closedir(dir);
    return true;
}
