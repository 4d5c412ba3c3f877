/* Asks for the whole home, and tries to get at the host with it: reads and writes what it should
 * not, puts something in the place of a folder, connects, and runs programs. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <toolrack/ext/paths.h>
#include <toolrack/plugin.h>
#include <unistd.h>

/* Longest text that comes back. */
#define TEXT_MAX 4000

extern char **environ;

static int try_read(const char *path, const char *to, char *out) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    (void)to;
    if (fd < 0) {
        return -1;
    }
    ssize_t got = read(fd, out, TEXT_MAX);
    out[got > 0 ? got : 0] = '\0';
    (void)close(fd);
    return got < 0 ? -1 : 0;
}

static int try_write(const char *path, const char *text, char *out) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    (void)out;
    if (fd < 0) {
        return -1;
    }
    ssize_t got = write(fd, text, strlen(text));
    (void)close(fd);
    return got < 0 ? -1 : 0;
}

static int try_list(const char *path, const char *to, char *out) {
    DIR *folder = opendir(path);
    int count = 0;
    (void)to;
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    (void)snprintf(out, TEXT_MAX, "%d entries", count - 2);
    return folder == NULL ? -1 : closedir(folder);
}

static int try_stat(const char *path, const char *to, char *out) {
    struct stat st;
    (void)to;
    (void)out;
    return stat(path, &st);
}

static int try_make(const char *path, const char *to, char *out) {
    (void)to;
    (void)out;
    return mkdir(path, 0700);
}

static int try_rename(const char *path, const char *to, char *out) {
    (void)out;
    return rename(path, to);
}

static int try_remove(const char *path, const char *to, char *out) {
    (void)to;
    (void)out;
    return remove(path);
}

static int try_local(const char *path, const char *to, char *out) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)to;
    (void)out;
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    return fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&at, sizeof at);
}

static int try_socket(const char *path, const char *to, char *out) {
    int kind = strcmp(path, "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM;
    int fd = socket(AF_INET, kind | SOCK_CLOEXEC, 0);
    (void)to;
    (void)out;
    return fd < 0 ? -1 : close(fd);
}

static int try_connect(const char *port, const char *to, char *out) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                             .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)to;
    (void)out;
    return fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&at, sizeof at);
}

/* Run a program with one argument; what it prints comes back. In front of that, the errno of a
 * program that could not be run. */
static int try_run(const char *path, const char *argument, char *out) {
    int fds[2];
    int status = 0;
    char *const arguments[] = {(char *)(uintptr_t)path, (char *)(uintptr_t)argument, NULL};
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return -1;
    }
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        (void)execve(path, arguments, environ);
        dprintf(STDOUT_FILENO, "%s", strerrorname_np(errno));
        _exit(99);
    }
    (void)close(fds[1]);
    size_t length = 0;
    for (ssize_t got = 1; child > 0 && got > 0 && length < TEXT_MAX; length += (size_t)got) {
        got = read(fds[0], out + length, TEXT_MAX - length);
        got = got < 0 ? 0 : got;
    }
    out[length] = '\0';
    (void)close(fds[0]);
    return child < 0 || waitpid(child, &status, 0) != child ? -1 : 0;
}

/* Send a descriptor, or only a byte, over a socket that the worker has. */
static int try_send(const char *number, const char *what, char *out) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    struct iovec byte = {(char[]){"x"}, 1};
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1};
    int fd = STDIN_FILENO;
    (void)out;
    if (strcmp(what, "descriptor") == 0) {
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
    }
    return sendmsg(atoi(number), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* Run a program that is a file in memory only. */
static int try_run_memory(const char *path, const char *argument, char *out) {
    char bytes[4096];
    char name[40];
    int from = open(path, O_RDONLY | O_CLOEXEC);
    int fd = from < 0 ? -1 : (int)syscall(SYS_memfd_create, "program", 0);
    for (ssize_t got; fd >= 0 && (got = read(from, bytes, sizeof bytes)) > 0;) {
        if (write(fd, bytes, (size_t)got) != got) {
            return -1;
        }
    }
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    return fd < 0 ? -1 : try_run(name, argument, out);
}

static const struct tr_paths_host *paths;

static tr_status open_greedy(struct tr_host *host) {
    paths = tr_host_get_extension(host, TR_EXT_PATHS);
    return TR_OK;
}

/* What the host says was granted. */
static int try_told(const char *path, const char *to, char *out) {
    struct tr_path granted;
    size_t used = 0;
    (void)path;
    (void)to;
    for (uint64_t i = 0; used < TEXT_MAX && tr_path_get(paths, i, &granted); i++) {
        int more = snprintf(out + used, TEXT_MAX - used, "%s%s%s%s", i > 0 ? "\n" : "",
                            (granted.flags & TR_PATH_WRITES) != 0 ? "write " : "read ",
                            (granted.flags & TR_PATH_OWN) != 0 ? "own " : "", granted.path);
        used += more > 0 ? (size_t)more : 0;
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const char *path, const char *to, char *out);
} attempts[] = {
        {"read", try_read},       {"write", try_write}, {"list", try_list},
        {"stat", try_stat},       {"make", try_make},   {"rename", try_rename},
        {"remove", try_remove},   {"local", try_local}, {"socket", try_socket},
        {"connect", try_connect}, {"run", try_run},     {"run_memory", try_run_memory},
        {"send", try_send},       {"told", try_told},
};

static tr_status greedy_try(struct tr_call *call) {
    char out[TEXT_MAX + 1] = "";
    const char *name = tr_get_string(call, "attempt", "");
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        if (strcmp(attempts[i].name, name) == 0) {
            int got = attempts[i].run(tr_get_string(call, "path", ""),
                                      tr_get_string(call, "to", ""), out);
            return tr_reply_text(call, got < 0          ? strerrorname_np(errno)
                                       : out[0] != '\0' ? out
                                                        : "done");
        }
    }
    return tr_fail(call, TR_INVALID_ARGUMENTS, "attempt", "there is no such attempt");
}
TR_JSON_TOOL(greedy_try, "Try to get at the host", TR_SCHEMA({"type" : "object"}))

TR_PLUGIN(("greedy", .open = open_greedy,
           TR_CAPABILITIES(TR_WRITES("${home}"), TR_READS("${home}"), TR_WRITES("${data}"),
                           TR_READS("${setting:path}"), TR_WRITES("${setting:path}"),
                           TR_CONNECTS("*"), TR_CONNECTS("udp"), TR_SPAWNS(INMATE))),
          "1.0.0", greedy_try)
