#include "worker/group.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Numbers of /proc/PID/stat, counted from the state, which is behind the name: that may have any
 * characters. */
enum { STAT_GROUP = 2, STAT_CPU_FIRST = 11, STAT_CPU_LAST = 14, STAT_RESIDENT = 21 };

static void closedirp(DIR **local) {
    if (*local != NULL) {
        (void)closedir(*local);
    }
}

/* @return whether there is such a file */
static bool read_text(int folder, const char *name, char *ret, size_t room) {
    CLEANUP(closep) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, ret, room - 1) : -1;
    ret[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* Proportional memory in bytes; 0: it is not known. */
static uint64_t read_share(int folder, const char *process) {
    char name[64];
    char text[1024];
    (void)snprintf(name, sizeof name, "%.20s/smaps_rollup", process);
    const char *at = read_text(folder, name, text, sizeof text) ? strstr(text, "\nPss:") : NULL;
    return at != NULL ? strtoull(at + strlen("\nPss:"), NULL, 10) * 1024 : 0;
}

static void add_process(int folder, const char *process, pid_t group, bool shares,
                        struct group_usage *usage) {
    char name[64];
    char text[1024];
    (void)snprintf(name, sizeof name, "%.20s/stat", process);
    char *at = read_text(folder, name, text, sizeof text) ? strrchr(text, ')') : NULL;
    unsigned long long ticks = 0;
    unsigned long long resident = 0;
    if (at == NULL || at[1] == '\0') {
        return; /* it has ended meanwhile */
    }
    at += 2; /* at the state, a letter */
    for (unsigned i = 0; *at != '\0' && i <= STAT_RESIDENT; i++) {
        unsigned long long number = i == 0 ? 0 : strtoull(at, NULL, 10);
        if (i == STAT_GROUP && number != (unsigned long long)group) {
            return;
        }
        ticks += i >= STAT_CPU_FIRST && i <= STAT_CPU_LAST ? number : 0;
        resident = i == STAT_RESIDENT ? number : 0;
        at += strcspn(at, " ");
        at += strspn(at, " ");
    }
    uint64_t share = shares ? read_share(folder, process) : 0;
    usage->processes++;
    usage->cpu_s += (double)ticks / (double)sysconf(_SC_CLK_TCK);
    usage->memory += share != 0 ? share : resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

bool group_measure(pid_t group, bool shares, struct group_usage *ret) {
    CLEANUP(closedirp) DIR *all = opendir("/proc");
    *ret = (struct group_usage){0};
    if (all == NULL) {
        return false;
    }
    for (const struct dirent *one; (one = readdir(all)) != NULL;) {
        if (isdigit((unsigned char)one->d_name[0]) != 0) {
            add_process(dirfd(all), one->d_name, group, shares, ret);
        }
    }
    return true;
}
