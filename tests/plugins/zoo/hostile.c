/* Fault: tries what a plugin without grants must not do. Gives the name of the errno that stopped
 * it, or "nothing stopped it". */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "zoo.h"

/* What an attempt aims at. */
struct aim {
    const char *path;
    uint16_t port;
    int signal;
    pid_t pid; /* the host's where none is given */
};

/* Open, and read or write a byte: an attempt has succeeded when both did. */
static int open_and(const char *path, int flags) {
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0) {
        return -1;
    }
    char byte = 'z';
    ssize_t got = (flags & O_ACCMODE) == O_RDONLY ? read(fd, &byte, 1) : write(fd, &byte, 1);
    (void)close(fd);
    return got < 0 ? -1 : 0;
}

static int try_read(const struct aim *aim) {
    return open_and(aim->path, O_RDONLY);
}

static int try_write(const struct aim *aim) {
    return open_and(aim->path, O_WRONLY);
}

static int try_create(const struct aim *aim) {
    return open_and(aim->path, O_WRONLY | O_CREAT | O_EXCL);
}

static int try_remove(const struct aim *aim) {
    return unlink(aim->path);
}

static int try_list(const struct aim *aim) {
    return open(aim->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int try_connect(const struct aim *aim) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(aim->port),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&to, sizeof to);
}

static int try_listen(const struct aim *aim) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)aim;
    return fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 ? -1 : listen(fd, 1);
}

static int try_exec(const struct aim *aim) {
    (void)aim;
    return execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
}

static int try_fork(const struct aim *aim) {
    pid_t child = fork();
    (void)aim;
    if (child == 0) {
        _exit(0);
    }
    return child < 0 ? -1 : 0;
}

static int try_kill(const struct aim *aim) {
    return kill(aim->pid, aim->signal);
}

static int try_ptrace(const struct aim *aim) {
    return ptrace(PTRACE_SEIZE, aim->pid, NULL, NULL) < 0 ? -1 : 0;
}

static int open_of_process(pid_t pid, const char *name, int flags) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, flags | O_CLOEXEC);
}

static int try_memory(const struct aim *aim) {
    return open_of_process(aim->pid, "mem", O_RDWR);
}

static int try_environment(const struct aim *aim) {
    (void)aim;
    return open_of_process(1, "environ", O_RDONLY);
}

static int try_descriptors(const struct aim *aim) {
    return open_of_process(aim->pid, "fd", O_RDONLY | O_DIRECTORY);
}

static int try_read_memory(const struct aim *aim) {
    char byte;
    struct iovec mine = {.iov_base = &byte, .iov_len = 1};
    struct iovec its = {.iov_base = &mine, .iov_len = 1}; /* as good an address as any */
    return process_vm_readv(aim->pid, &mine, 1, &its, 1, 0) < 0 ? -1 : 0;
}

static int try_io_uring(const struct aim *aim) {
    char params[256] = {0}; /* struct io_uring_params is 120 bytes */
    (void)aim;
    return (int)syscall(SYS_io_uring_setup, 8, params);
}

/* The folder does not exist: this fails everywhere, and where it is allowed by ENOENT. */
static int try_mount(const struct aim *aim) {
    (void)aim;
    return mount("zoo", "/nonexistent/zoo", "tmpfs", 0, NULL);
}

static int try_namespace(const struct aim *aim) {
    (void)aim;
    return unshare(CLONE_NEWUSER);
}

static int try_root(const struct aim *aim) {
    return chroot(aim->path);
}

static const struct {
    const char *name;
    int (*run)(const struct aim *aim);
} attempts[] = {
        {"read", try_read},
        {"write", try_write},
        {"create", try_create},
        {"remove", try_remove},
        {"list", try_list},
        {"connect", try_connect},
        {"listen", try_listen},
        {"exec", try_exec},
        {"fork", try_fork},
        {"kill", try_kill},
        {"ptrace", try_ptrace},
        {"memory", try_memory},
        {"environment", try_environment},
        {"descriptors", try_descriptors},
        {"read_memory", try_read_memory},
        {"io_uring", try_io_uring},
        {"mount", try_mount},
        {"namespace", try_namespace},
        {"root", try_root},
};

static tr_status zoo_hostile(struct tr_call *call) {
    const char *name = tr_get_string(call, "attempt", "");
    struct aim aim = {.path = tr_get_string(call, "path", "/nonexistent/zoo"),
                      .port = (uint16_t)tr_get_u64(call, "port", 1),
                      .signal = (int)tr_get_i64(call, "signal", SIGKILL),
                      .pid = (pid_t)tr_get_i64(call, "pid", getppid())};
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        if (strcmp(attempts[i].name, name) == 0) {
            return tr_reply_text(call, attempts[i].run(&aim) < 0 ? strerrorname_np(errno)
                                                                 : "nothing stopped it");
        }
    }
    return tr_fail(call, TR_INVALID_ARGUMENTS, "attempt", "there is no such attempt");
}
TR_JSON_TOOL(zoo_hostile, "Tries what it must not do", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "attempt" : {"type" : "string"},
                     "path" : {"type" : "string"},
                     "port" : {"type" : "integer", "minimum" : 1, "maximum" : 65535},
                     "signal" : {"type" : "integer"},
                     "pid" : {"type" : "integer", "minimum" : 1}
                 },
                 "required" : ["attempt"]
             }))
ZOO_PLUGIN(zoo_hostile)
