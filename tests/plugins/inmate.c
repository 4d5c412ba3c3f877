/* A program that a plugin may start: says what it is let do, one line for each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#define DESCRIPTORS 64

static const char *name_of(int got) {
    return got < 0 ? strerrorname_np(errno) : "done";
}

int main(int argc, char **argv, char **environment) {
    char *const none[] = {NULL};
    int open_count = 0;
    int variables = 0;
    struct rlimit memory = {0};
    if (argc < 2) {
        return 1;
    }
    for (int fd = 3; fd < DESCRIPTORS; fd++) {
        open_count += fcntl(fd, F_GETFD) >= 0;
    }
    while (environment[variables] != NULL) {
        variables++;
    }
    (void)getrlimit(RLIMIT_AS, &memory);
    (void)printf("privileges %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    (void)printf("filter %d\n", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
    (void)printf("descriptors %d\n", open_count);
    (void)printf("variables %d\n", variables);
    (void)printf("limited %d\n", memory.rlim_max != RLIM_INFINITY);
    (void)printf("read %s\n", name_of(open(argv[1], O_RDONLY | O_CLOEXEC)));
    (void)printf("local %s\n", name_of(socket(AF_UNIX, SOCK_STREAM, 0)));
    (void)printf("session %s\n", name_of(setsid()));
    (void)printf("host %s\n", name_of(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)));
    (void)fflush(stdout);
    (void)printf("exec %s\n", name_of(execve("/bin/sh", none, none)));
    return 0;
}
