#include "process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Longest name of a process, with its final zero. */
#define NAME_MAX_SHOWN 64

size_t process_count_entries(const char *folder) {
    DIR *dir = opendir(folder);
    size_t count = 0;
    if (dir == NULL) {
        return 0;
    }
    while (readdir(dir) != NULL) {
        count++;
    }
    (void)closedir(dir);
    return count;
}

/* Parent and name of a process; false when it is gone. */
static bool look_at(const char *process, pid_t *ret_parent, char name[NAME_MAX_SHOWN]) {
    char path[300];
    char stat[512];
    (void)snprintf(path, sizeof path, "/proc/%s/stat", process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, stat, sizeof stat - 1);
    (void)close(fd);
    stat[length > 0 ? length : 0] = '\0';
    const char *begin = strchr(stat, '(');
    const char *end = strrchr(stat, ')');
    if (begin == NULL || end == NULL || sscanf(end + 1, " %*c %d", ret_parent) != 1) {
        return false;
    }
    (void)snprintf(name, NAME_MAX_SHOWN, "%.*s", (int)(end - begin - 1), begin + 1);
    return true;
}

size_t process_children(void (*each)(void *user, pid_t pid, const char *name), void *user) {
    DIR *all = opendir("/proc");
    size_t count = 0;
    if (all == NULL) {
        return 0;
    }
    for (struct dirent *at = readdir(all); at != NULL; at = readdir(all)) {
        pid_t pid = (pid_t)strtol(at->d_name, NULL, 10); /* 0 for what is no process */
        pid_t parent = 0;
        char name[NAME_MAX_SHOWN];
        if (pid > 0 && look_at(at->d_name, &parent, name) && parent == getpid()) {
            count++;
            if (each != NULL) {
                each(user, pid, name);
            }
        }
    }
    (void)closedir(all);
    return count;
}

int process_listen(uint16_t *ret_port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    if (bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 16) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) < 0) {
        (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(at.sin_port);
    return fd;
}
