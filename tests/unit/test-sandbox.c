/* The sandbox, from inside: for each attempt the program starts itself again, puts a policy into
 * force, attempts one thing and ends with the errno that it got. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/sanitizer.h"
#include "patience.h"
#include "remove-tree.h"
#include "worker/sandbox-kernel.h"
#include "worker/sandbox.h"

#include <cmocka.h>

extern char **environ;

/* A test that would wait for something that never comes ends here. */
#define BLOCKED_AFTER_S 120

/* How an attempt ends that has no errno to tell. */
enum { ENDED_SKIPPED = 201, ENDED_WRONG, ENDED_UNPREPARED, ENDED_NOT_APPLIED };

/* A user who is not root; whether it has a name is no matter. */
#define NOBODY 65534u

/* What the kernel starts for a program; /lib64 is a link on some systems, where grants have none.
 */
#if defined(__x86_64__)
#define LOADER "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
#else
#define LOADER "/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1"
#endif

/* The inherited socket of a worker. */
#define WORKER_SOCKET 3

/* ------------------------------------------------------------------- scene */

/* A temporary folder: a secret beside a folder that may be read and one that may be written; and
 * two sockets that listen. Both processes know it. */
struct scene {
    char root[256];
    char secret[300];
    char readable[300];
    char writable[300];
    char swapped[300]; /* a link, where there was a folder when it was granted */
    uint16_t port;     /* granted by GRANT_PORT */
    uint16_t other_port;
    int listeners[2];
};

/* Where things are, in a scene whose root and ports are known. */
static void scene_name(struct scene *scene) {
    (void)snprintf(scene->secret, sizeof scene->secret, "%s/secret", scene->root);
    (void)snprintf(scene->readable, sizeof scene->readable, "%s/readable", scene->root);
    (void)snprintf(scene->writable, sizeof scene->writable, "%s/writable", scene->root);
    (void)snprintf(scene->swapped, sizeof scene->swapped, "%s/writable/swapped", scene->root);
}

#define PATH_ROOM 400

static const char *below(const char *folder, const char *name, char room[PATH_ROOM]) {
    (void)snprintf(room, PATH_ROOM, "%s/%s", folder, name);
    return room;
}

/* The local sockets beside the folders: a server and one of datagrams, by path and by name. */
#define LOCAL_COUNT 4u

static int local_type(unsigned which) {
    return which % 2 == 0 ? SOCK_STREAM : SOCK_DGRAM;
}

static socklen_t local_address(const struct scene *scene, unsigned which, struct sockaddr_un *ret) {
    bool is_name = which >= 2;
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(ret->sun_path + is_name, sizeof ret->sun_path - is_name, "%.80s/%u",
                   scene->writable, which);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + is_name +
                       strlen(ret->sun_path + is_name));
}

/* ---------------------------------------------------------------- attempts */

#define GRANT_READ      1u
#define GRANT_WRITE     2u
#define GRANT_NETWORK   4u
#define GRANT_PORT      8u
#define GRANT_SPAWN     16u
#define GRANT_SWAPPED   32u
#define ASK_NAMESPACE   64u
#define GRANT_PROC      128u
#define LIMIT_LOW       256u
#define AS_NOBODY       512u /* where it would be root */
#define GRANT_UDP       1024u
#define HIDE            2048u  /* in the writable folder: see scene_hidden() */
#define NO_NAMESPACE    4096u  /* where none can be had */
#define GRANT_PROGRAM   8192u  /* exec of one program */
#define OWN_PORT        16384u /* the other port is the host's */
/* What was a program when it was granted. */
#define REPLACED_FOLDER 32768u
#define REPLACED_FILE   65536u
#define ASK_HOST        131072u /* threads are counted, by nobody */
#define NO_PATHS        262144u /* not even such that grant nothing */
#define GRANT_ALL       (GRANT_READ | GRANT_WRITE | GRANT_NETWORK | GRANT_UDP | GRANT_SPAWN)

#define LOW_MEMORY    (UINT64_C(256) * 1024 * 1024)
#define LOW_FILE_SIZE 65536u
#define LOW_FILES     16u
#define LOW_PROCESSES 3u

/* What an attempt may need of the time before the sandbox. */
struct before {
    int status_fd; /* of /proc/self/status */
    int landlock;  /* version */
    uint32_t available;
    uint32_t layers; /* that are in force */
    unsigned grants;
    char network[64]; /* which network namespace it was */
};

struct attempt {
    const char *name;
    unsigned grants;
    int (*run)(const struct scene *scene, const struct before *before);
};
#define ATTEMPT(name)                                                  \
    static int name(__attribute__((unused)) const struct scene *scene, \
                    __attribute__((unused)) const struct before *before)

/* The errno of a call, or 0. */
#define TRY(call) ((call) < 0 ? errno : 0)
/* End the attempt when something went wrong that it is not about. */
#define MUST(condition)                                                                          \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            (void)fprintf(stderr, "# line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
            return ENDED_WRONG;                                                                  \
        }                                                                                        \
    } while (0)

static int try_open(const char *path, int flags) {
    CLEANUP(closep) int fd = open(path, flags | O_CLOEXEC, 0644);
    return TRY(fd);
}

ATTEMPT(read_outside) {
    return try_open(scene->secret, O_RDONLY);
}

ATTEMPT(read_inside) {
    char path[PATH_ROOM];
    char text[16];
    CLEANUP(closep) int fd = open(below(scene->readable, "file", path), O_RDONLY | O_CLOEXEC);
    MUST(fd >= 0 && read(fd, text, sizeof text) == 5 && memcmp(text, "hello", 5) == 0);
    DIR *folder = opendir(scene->readable);
    MUST(folder != NULL && readdir(folder) != NULL && closedir(folder) == 0);
    return 0;
}

ATTEMPT(read_above) {
    char path[PATH_ROOM];
    return try_open(below(scene->readable, "../secret", path), O_RDONLY);
}

ATTEMPT(read_by_link) {
    char path[PATH_ROOM];
    return try_open(below(scene->readable, "link", path), O_RDONLY);
}

ATTEMPT(write_readable) {
    char path[PATH_ROOM];
    return try_open(below(scene->readable, "file", path), O_WRONLY);
}

ATTEMPT(create_in_readable) {
    char path[PATH_ROOM];
    return try_open(below(scene->readable, "new", path), O_WRONLY | O_CREAT);
}

ATTEMPT(remove_readable) {
    char path[PATH_ROOM];
    return TRY(unlink(below(scene->readable, "file", path)));
}

ATTEMPT(truncate_readable) {
    char path[PATH_ROOM];
    return TRY(truncate(below(scene->readable, "file", path), 0));
}

ATTEMPT(empty_readable) {
    char path[PATH_ROOM];
    return try_open(below(scene->readable, "file", path), O_RDONLY | O_TRUNC);
}

/* A filter cannot read its flags. */
ATTEMPT(empty_readable_beneath) {
    struct open_how how = {.flags = O_RDONLY | O_TRUNC | O_CLOEXEC, .resolve = RESOLVE_BENEATH};
    CLEANUP(closep) int folder = open(scene->readable, O_PATH | O_CLOEXEC);
    return TRY((int)syscall(SYS_openat2, folder, "file", &how, sizeof how));
}

ATTEMPT(move_out) {
    char from[PATH_ROOM];
    char to[PATH_ROOM];
    int refused =
            TRY(rename(below(scene->writable, "kept", from), below(scene->root, "moved", to)));
    /* Landlock's first version knows no moves from one folder to another. */
    return refused == EXDEV ? EACCES : refused;
}

ATTEMPT(write_inside) {
    char file[PATH_ROOM];
    char folder[PATH_ROOM];
    char moved[PATH_ROOM];
    (void)below(scene->writable, "made", file);
    (void)below(scene->writable, "folder", folder);
    (void)below(scene->writable, "folder/moved", moved);
    CLEANUP(closep) int fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    MUST(fd >= 0 && write(fd, "text", 4) == 4 && fsync(fd) == 0 && ftruncate(fd, 2) == 0);
    MUST(mkdir(folder, 0700) == 0);
    if (before->landlock != 1) {
        MUST(rename(file, moved) == 0 && rename(moved, file) == 0);
    }
    MUST(unlink(file) == 0 && rmdir(folder) == 0);
    return 0;
}

ATTEMPT(make_fifo) {
    char path[PATH_ROOM];
    return TRY(mkfifo(below(scene->writable, "fifo", path), 0600));
}

ATTEMPT(change_mode) {
    return TRY(chmod(scene->secret, 0777));
}

ATTEMPT(change_times) {
    return TRY(utimensat(AT_FDCWD, scene->secret, NULL, 0));
}

ATTEMPT(change_owner) {
    return TRY(chown(scene->secret, getuid(), getgid()));
}

ATTEMPT(change_attribute) {
    return TRY(setxattr(scene->secret, "user.toolrack", "x", 1, 0));
}

/* Not of a file that the plugin made, either: a filter cannot tell which file it is. The mode is
 * given where the file is made, and the time of a change by changing it. */
ATTEMPT(change_own) {
    char path[PATH_ROOM];
    struct stat st;
    (void)below(scene->writable, "own", path);
    CLEANUP(closep) int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    MUST(fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0600);
    MUST(TRY(chmod(path, 0700)) == EPERM && TRY(fchmodat(AT_FDCWD, path, 0700, 0)) == EPERM);
    MUST(TRY(futimens(fd, NULL)) == EPERM && TRY(utimensat(AT_FDCWD, path, NULL, 0)) == EPERM);
    MUST(TRY(fsetxattr(fd, "user.toolrack", "x", 1, 0)) == EPERM && unlink(path) == 0);
    return TRY(fchmod(fd, 0700));
}

ATTEMPT(read_own_environment) {
    return try_open("/proc/self/environ", O_RDONLY);
}

ATTEMPT(read_host_environment) {
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/environ", getppid());
    return try_open(path, O_RDONLY);
}

ATTEMPT(use_devices) {
    char bytes[8];
    CLEANUP(closep) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CLEANUP(closep) int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    MUST(null >= 0 && write(null, "x", 1) == 1);
    MUST(random >= 0 && read(random, bytes, sizeof bytes) == sizeof bytes);
    return 0;
}

/* ------------------------------------------------------------------ hidden */

ATTEMPT(see_hidden) {
    char path[PATH_ROOM];
    MUST(try_open(below(scene->writable, "above/hidden/secret", path), O_RDONLY) == ENOENT);
    MUST(try_open(below(scene->writable, "above/hidden/new", path), O_WRONLY | O_CREAT) == EROFS);
    MUST(try_open(below(scene->writable, "above/hidden/shown/file", path), O_RDONLY) == 0);
    MUST(try_open(below(scene->writable, "above/hidden/shown/file", path), O_WRONLY) == EROFS);
    MUST(try_open(below(scene->writable, "above/seen", path), O_RDWR) == 0);
    return 0;
}

/* In a namespace of users. */
ATTEMPT(see_hidden_as_nobody) {
    char path[PATH_ROOM];
    MUST(try_open(below(scene->writable, "above/hidden/secret", path), O_RDONLY) == ENOENT);
    MUST(try_open(below(scene->writable, "above/hidden/new", path), O_WRONLY | O_CREAT) == EROFS);
    MUST(try_open(below(scene->writable, "above/hidden/shown/file", path), O_RDONLY) == 0);
    return 0;
}

ATTEMPT(replace_hidden) {
    char path[PATH_ROOM];
    char to[PATH_ROOM];
    (void)below(scene->writable, "other", to);
    MUST(TRY(rename(below(scene->writable, "above", path), to)) == EBUSY);
    MUST(TRY(rename(to, path)) == ENOENT);
    (void)below(scene->writable, "above/other", to);
    MUST(TRY(rename(below(scene->writable, "above/hidden", path), to)) == EBUSY);
    return TRY(rmdir(path));
}

ATTEMPT(change_frozen) {
    char path[PATH_ROOM];
    char to[PATH_ROOM];
    (void)below(scene->writable, "program2", to);
    MUST(try_open(below(scene->writable, "program", path), O_RDONLY) == 0);
    MUST(try_open(path, O_WRONLY) == EROFS);
    MUST(TRY(rename(path, to)) == EBUSY);
    return TRY(unlink(path));
}

ATTEMPT(hide_in_vain) {
    return 0; /* not reached */
}

ATTEMPT(grant_swapped) {
    return 0; /* not reached: the policy cannot be put into force */
}

ATTEMPT(execute_folder) {
    return 0; /* not reached: the policy cannot be put into force */
}

ATTEMPT(execute_document) {
    return 0; /* not reached: the policy cannot be put into force */
}

/* ----------------------------------------------------------------- network */

static int try_socket(int family, int type, int protocol) {
    CLEANUP(closep) int fd = socket(family, type | SOCK_CLOEXEC, protocol);
    return TRY(fd);
}

static struct sockaddr_in local_port(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static int try_connect(uint16_t port) {
    struct sockaddr_in address = local_port(port);
    CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    return TRY(connect(fd, (const struct sockaddr *)&address, sizeof address));
}

ATTEMPT(socket_internet) {
    return try_socket(AF_INET, SOCK_STREAM, 0);
}

ATTEMPT(sockets_granted) {
    MUST(try_socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) == 0);
    MUST(try_socket(AF_INET, SOCK_DGRAM, 0) == EPERM);
    MUST(try_socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP) == EPERM);
    int v6 = try_socket(AF_INET6, SOCK_STREAM, 0);
    MUST(v6 == 0 || v6 == EAFNOSUPPORT);
    MUST(try_socket(AF_NETLINK, SOCK_RAW, 0) == 0);
    return 0;
}

ATTEMPT(sockets_granted_udp) {
    MUST(try_socket(AF_INET, SOCK_DGRAM, 0) == 0);
    MUST(try_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP) == 0);
    int v6 = try_socket(AF_INET6, SOCK_DGRAM, 0);
    MUST(v6 == 0 || v6 == EAFNOSUPPORT);
    MUST(try_socket(AF_INET, SOCK_STREAM, 0) == EPERM);
    return 0;
}

ATTEMPT(socket_local) {
    MUST(try_socket(AF_UNIX, SOCK_DGRAM, 0) == EACCES);
    MUST(try_socket(AF_UNIX, SOCK_SEQPACKET, 0) == EACCES);
    return try_socket(AF_UNIX, SOCK_STREAM, 0);
}

ATTEMPT(socket_packet) {
    return try_socket(AF_PACKET, SOCK_RAW, 0);
}

ATTEMPT(socket_multipath) {
    return try_socket(AF_INET, SOCK_STREAM, 262 /* IPPROTO_MPTCP */);
}

ATTEMPT(connect_granted) {
    return try_connect(scene->port);
}

ATTEMPT(connect_other) {
    return try_connect(scene->other_port);
}

ATTEMPT(connect_fast) {
    struct sockaddr_in address = local_port(scene->other_port);
    CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    return TRY(sendto(fd, "x", 1, MSG_FASTOPEN, (const struct sockaddr *)&address, sizeof address));
}

ATTEMPT(serve) {
    CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    return TRY(listen(fd, 1));
}

/* A port that is bound is taken from whoever would serve there. */
static int try_bind(int family, int type) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    bool is_v4 = family == AF_INET;
    CLEANUP(closep) int fd = socket(family, type | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    return TRY(bind(fd, is_v4 ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
                    is_v4 ? sizeof v4 : sizeof v6));
}

ATTEMPT(bind_port) {
    struct sockaddr_nl local = {.nl_family = AF_NETLINK};
    CLEANUP(closep) int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    MUST(fd >= 0 && TRY(bind(fd, (const struct sockaddr *)&local, sizeof local)) == EPERM);
    int v6 = try_bind(AF_INET6, SOCK_STREAM);
    MUST(v6 == EPERM || v6 == EAFNOSUPPORT);
    return try_bind(AF_INET, SOCK_STREAM);
}

ATTEMPT(bind_datagrams) {
    int v6 = try_bind(AF_INET6, SOCK_DGRAM);
    MUST(v6 == EPERM || v6 == EAFNOSUPPORT);
    return try_bind(AF_INET, SOCK_DGRAM);
}

struct option {
    const char *name;
    int level;
    int number;
};
#define OPTION(level, name) \
    { #name, (level), (name) }

/* Newer than some headers. */
#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif

/* What libraries of clients set. */
ATTEMPT(set_options) {
    static const struct option options[] = {
            OPTION(SOL_SOCKET, SO_KEEPALIVE),    OPTION(SOL_SOCKET, SO_RCVBUF),
            OPTION(SOL_SOCKET, SO_SNDBUF),       OPTION(IPPROTO_TCP, TCP_NODELAY),
            OPTION(IPPROTO_TCP, TCP_KEEPIDLE),   OPTION(IPPROTO_TCP, TCP_KEEPINTVL),
            OPTION(IPPROTO_TCP, TCP_KEEPCNT),    OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT),
            OPTION(IPPROTO_TCP, TCP_QUICKACK),   OPTION(IPPROTO_IP, IP_TOS),
            OPTION(IPPROTO_IP, IP_MTU_DISCOVER), OPTION(IPPROTO_IP, IP_RECVERR),
    };
    const struct timeval second = {.tv_sec = 1};
    const int one = 1;
    CLEANUP(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    for (size_t i = 0; i < ARRAY_LENGTH(options); i++) {
        if (setsockopt(fd, options[i].level, options[i].number, &one, sizeof one) < 0) {
            (void)fprintf(stderr, "# %s: %s\n", options[i].name, strerror(errno));
            return ENDED_WRONG;
        }
    }
    return TRY(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second));
}

/* What chooses or shares a port, receives what others are sent, or lets close() wait; of a level of
 * which the half that the kernel ignores is filled, too. */
ATTEMPT(set_options_of_a_server) {
    static const struct option options[] = {
            OPTION(SOL_SOCKET, SO_REUSEADDR),
            OPTION(SOL_SOCKET, SO_REUSEPORT),
            OPTION(SOL_SOCKET, SO_LINGER),
            OPTION(SOL_SOCKET, SO_ATTACH_FILTER),
            OPTION(SOL_SOCKET, SO_BINDTODEVICE),
            OPTION(IPPROTO_IP, IP_LOCAL_PORT_RANGE),
            OPTION(IPPROTO_IP, IP_ADD_MEMBERSHIP),
            OPTION(IPPROTO_IP, IP_TRANSPARENT),
            OPTION(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT),
            OPTION(IPPROTO_TCP, TCP_ULP),
            OPTION(IPPROTO_TCP, TCP_FASTOPEN_CONNECT),
            OPTION(IPPROTO_UDP, UDP_ENCAP),
    };
    static const uint32_t port = 51820;
    const uint32_t range = port << 16 | port;
    CLEANUP(closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0);
    for (size_t i = 0; i < ARRAY_LENGTH(options); i++) {
        if (setsockopt(fd, options[i].level, options[i].number, &range, sizeof range) == 0 ||
            errno != EPERM) {
            (void)fprintf(stderr, "# %s: %s\n", options[i].name, strerror(errno));
            return ENDED_WRONG;
        }
    }
    return TRY(syscall(SYS_setsockopt, fd, 0x7fffffff00000000l | IPPROTO_IP,
                       0x7fffffff00000000l | IP_LOCAL_PORT_RANGE, &range, sizeof range));
}

/* Send a descriptor; receive one, or -1. */
static bool send_fd(int socket_fd, int fd) {
    char byte = 'x';
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    return sendmsg(socket_fd, &message, MSG_NOSIGNAL) == 1;
}

static int receive_fd(int socket_fd) {
    char byte;
    int fd = -1;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message) != NULL) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    }
    return fd;
}

/* What comes over the socket may be used, wherever it is from; and answered. Without network a
 * descriptor is no answer. */
ATTEMPT(receive_descriptor) {
    char text[16];
    bool may_send = (before->grants & GRANT_NETWORK) != 0;
    CLEANUP(closep) int fd = receive_fd(WORKER_SOCKET);
    MUST(fd >= 0 && pread(fd, text, sizeof text, 0) == 6 && memcmp(text, "secret", 6) == 0);
    MUST(send_fd(WORKER_SOCKET, fd) == may_send && (may_send || errno == EPERM));
    MUST(send(WORKER_SOCKET, "y", 1, MSG_NOSIGNAL) == 1);
    return 0;
}

/* ------------------------------------------------------------------- pairs */

static int try_pair(int type, int protocol) {
    int fds[2];
    if (socketpair(AF_UNIX, type, protocol, fds) < 0) {
        return errno;
    }
    (void)close(fds[0]);
    (void)close(fds[1]);
    return 0;
}

/* What libraries do with a pair, to wake a thread. */
ATTEMPT(pair_local) {
    static const int flags[] = {0, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK};
    char byte = 0;
    int fds[2];
    for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
        MUST(try_pair(SOCK_STREAM | flags[i], 0) == 0);
    }
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    MUST(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0 && recv(fds[0], &byte, 1, 0) < 0);
    MUST(errno == EAGAIN && write(fds[1], "x", 1) == 1 && send(fds[1], "y", 1, MSG_NOSIGNAL) == 1);
    MUST(read(fds[0], &byte, 1) == 1 && byte == 'x' && recv(fds[0], &byte, 1, 0) == 1);
    MUST(byte == 'y' && shutdown(fds[1], SHUT_WR) == 0 && read(fds[0], &byte, 1) == 0);
    return 0;
}

/* Nor what differs in bits that the kernel ignores. */
ATTEMPT(pair_other) {
    static const unsigned long high = 0x7fffffff00000000ul;
    int fds[2];
    MUST(try_pair(SOCK_SEQPACKET | SOCK_CLOEXEC, 0) == EPERM);
    MUST(try_pair(SOCK_RAW, 0) == EPERM); /* is one of datagrams */
    MUST(try_pair(SOCK_STREAM, 1) == EPERM);
    MUST(TRY(socketpair(AF_INET, SOCK_STREAM, 0, fds)) == EPERM);
    MUST(TRY(socketpair(AF_TIPC, SOCK_STREAM, 0, fds)) == EPERM);
    MUST(TRY(syscall(SYS_socketpair, high | AF_UNIX, high | SOCK_DGRAM, 0, fds)) == EPERM);
    return try_pair(SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

/* Whether an end gets anywhere: to the address, or to be one. */
static bool reaches(int fd, const struct sockaddr_un *address, socklen_t size) {
    const struct sockaddr *at = (const struct sockaddr *)address;
    char byte = 'x';
    struct iovec bytes = {&byte, 1};
    struct sockaddr_un copy = *address;
    struct msghdr message = {
            .msg_name = &copy, .msg_namelen = size, .msg_iov = &bytes, .msg_iovlen = 1};
    struct mmsghdr several = {.msg_hdr = message};
    return connect(fd, at, size) == 0 || bind(fd, at, size) == 0 || listen(fd, 1) == 0 ||
           accept(fd, NULL, NULL) >= 0 || sendto(fd, "x", 1, MSG_NOSIGNAL, at, size) >= 0 ||
           sendmsg(fd, &message, MSG_NOSIGNAL) >= 0 || sendmmsg(fd, &several, 1, MSG_NOSIGNAL) >= 0;
}

/* By every call that takes an address, whatever was done to the pair before. */
ATTEMPT(pair_reach) {
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    struct sockaddr_un at[LOCAL_COUNT + 1];
    socklen_t sizes[LOCAL_COUNT + 1];
    for (unsigned i = 0; i < LOCAL_COUNT; i++) {
        sizes[i] = local_address(scene, i, &at[i]);
    }
    /* as long as an address of the kernel's (netlink), which were allowed once */
    at[LOCAL_COUNT] = (struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "\0squatter"};
    sizes[LOCAL_COUNT] = sizeof(struct sockaddr_nl);
    for (unsigned i = 0; i <= LOCAL_COUNT; i++) {
        int fds[2];
        MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        MUST(!reaches(fds[0], &at[i], sizes[i]));
        MUST(connect(fds[0], &none, sizeof none) < 0 && !reaches(fds[0], &at[i], sizes[i]));
        MUST(shutdown(fds[0], SHUT_RDWR) == 0 && !reaches(fds[0], &at[i], sizes[i]));
        MUST(!reaches(fds[1], &at[i], sizes[i])); /* whose other end was shut down */
        MUST(close(fds[0]) == 0 && !reaches(fds[1], &at[i], sizes[i]));
        MUST(close(fds[1]) == 0);
    }
    return 0;
}

/* Out of band, over the pair and over the worker's socket. */
ATTEMPT(pair_urgent) {
    char byte = 'x';
    int fds[2];
    struct iovec bytes = {&byte, 1};
    struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};
    struct mmsghdr several = {.msg_hdr = message};
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    MUST(TRY(sendmsg(fds[0], &message, MSG_OOB)) == EPERM);
    MUST(TRY(sendmmsg(fds[0], &several, 1, MSG_OOB)) == EPERM);
    return TRY(send(fds[0], "x", 1, MSG_OOB));
}

ATTEMPT(pair_descriptor) {
    int fds[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    MUST(!send_fd(fds[0], fds[1]) && errno == EPERM);
    /* nor from the number from which the worker sent one */
    MUST(dup2(fds[0], LOW_FILES) < 0 && errno == EBADF && !send_fd(LOW_FILES, fds[1]));
    /* nor where the worker has its socket */
    MUST(dup2(fds[0], WORKER_SOCKET) == WORKER_SOCKET && !send_fd(WORKER_SOCKET, fds[1]));
    return errno;
}

/* With network: the kernel counts descriptors on their way, at most as many as may be open before
 * the last message. */
ATTEMPT(pair_descriptors) {
    int fds[2];
    unsigned sent = 0;
    MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
    while (sent <= LOW_FILES + 1 && send_fd(fds[0], fds[1])) {
        sent++;
    }
    MUST(sent <= LOW_FILES + 1);
    return errno;
}

/* Fill pairs until there is no other; a socket holds what its limit says, and one message. */
ATTEMPT(pair_memory) {
    static const char much[1 << 16];
    const int large = 1 << 30;
    size_t held = 0;
    size_t room = 0;
    int fds[2];
    while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0) {
        for (unsigned i = 0; i < 2; i++) {
            int limit = 0;
            socklen_t size = sizeof limit;
            (void)setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &large, sizeof large);
            (void)setsockopt(fds[i], SOL_SOCKET, SO_SNDBUFFORCE, &large, sizeof large);
            MUST(getsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &limit, &size) == 0 && limit < large);
            room += (size_t)limit + sizeof much;
            for (ssize_t n; (n = send(fds[i], much, sizeof much, MSG_NOSIGNAL)) > 0;) {
                held += (size_t)n;
            }
            MUST(errno == EAGAIN);
        }
    }
    MUST(errno == EMFILE && held > 0 && held <= room);
    return 0;
}

/* As libraries look up the host of a URL. */
ATTEMPT(look_up_name) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    int refused = getaddrinfo("localhost", "80", &hints, &found);
    if (refused != 0) {
        (void)fprintf(stderr, "# getaddrinfo: %s\n", gai_strerror(refused));
        return ENDED_WRONG;
    }
    freeaddrinfo(found);
    return 0;
}

ATTEMPT(isolate_network) {
    char network[64] = "";
    if ((before->layers & SANDBOX_NETWORK_NAMESPACE) == 0) {
        return ENDED_SKIPPED;
    }
    MUST(readlink("/proc/self/ns/net", network, sizeof network - 1) > 0);
    MUST(strcmp(network, before->network) != 0);
    return 0;
}

/* --------------------------------------------------------------- processes */

ATTEMPT(fork_process) {
    pid_t child = fork();
    if (child == 0) {
        _exit(0);
    }
    return TRY(child);
}

ATTEMPT(spawn_process) {
    pid_t child;
    char *const arguments[] = {(char[]){"true"}, NULL};
    return posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ);
}

ATTEMPT(execute) {
    char *const arguments[] = {(char[]){"true"}, NULL};
    return TRY(execv("/bin/true", arguments));
}

ATTEMPT(run_shell) {
    static const char script[] = "set -e; a=$(echo one two | wc -w); test $a -eq 2; exit 7";
    int status = system(script);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    return 0;
}

/* Whoever is root and runs a program has all capabilities again, unless that is prevented. */
ATTEMPT(run_with_capabilities) {
    int status = system("grep -q '^CapEff:.0000000000000000$' /proc/self/status &&"
                        " grep -q '^CapPrm:.0000000000000000$' /proc/self/status");
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

/* One program, the loader that the kernel starts for it, and nothing else. */
ATTEMPT(execute_granted) {
    int status;
    pid_t child;
    char *const arguments[] = {(char[]){"true"}, NULL};
    MUST(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
    MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    MUST(TRY(execv("/bin/sh", arguments)) == EACCES);
    MUST(TRY((int)syscall(SYS_memfd_create, "x", 0)) == EPERM);
    return TRY(execv("/bin/cat", arguments));
}

ATTEMPT(execute_written) {
    char path[PATH_ROOM];
    char *const arguments[] = {(char[]){"script"}, NULL};
    int fd = open(below(scene->writable, "script", path), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    MUST(fd >= 0 && write(fd, "#!/bin/sh\n", 10) == 10 && close(fd) == 0);
    return TRY(execv(path, arguments));
}

ATTEMPT(leave_group) {
    MUST(TRY(setpgid(0, 0)) == EPERM);
    return TRY(setsid());
}

/* As many as are allowed and some more: at one the kernel must say no. */
ATTEMPT(fork_bomb) {
    int gate[2];
    int refused = 0;
    MUST(pipe2(gate, O_CLOEXEC) == 0);
    for (unsigned i = 0; i < 100000 && refused == 0; i++) {
        pid_t child = fork();
        if (child == 0) { /* until the first one ends */
            char byte;
            (void)close(gate[1]);
            _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
        }
        refused = TRY(child);
    }
    (void)close(gate[1]);
    while (wait(NULL) > 0) {
    }
    return refused;
}

static int try_clone(unsigned long flags) {
    long child = syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
    if (child == 0) {
        _exit(0);
    }
    return TRY(child);
}

ATTEMPT(clone_users) {
    return try_clone(CLONE_NEWUSER | SIGCHLD);
}

ATTEMPT(clone_sibling) {
    return try_clone(CLONE_PARENT | SIGCHLD);
}

/* A thread with descriptors of its own. */
ATTEMPT(clone_descriptors) {
    return try_clone(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD);
}

ATTEMPT(clone_newer) {
    return TRY(syscall(SYS_clone3, NULL, 0));
}

ATTEMPT(unshare_users) {
    return TRY(unshare(CLONE_NEWUSER));
}

ATTEMPT(trace_host) {
    return TRY(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

ATTEMPT(be_traced) {
    return TRY(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

ATTEMPT(signal_host) {
    return TRY(kill(getppid(), 0));
}

ATTEMPT(signal_host_thread) {
    MUST(TRY(syscall(SYS_tkill, getppid(), 0)) == EPERM);
    return TRY(syscall(SYS_tgkill, getppid(), getppid(), 0));
}

ATTEMPT(signal_everybody) {
    MUST(TRY(kill(0, 0)) == EPERM);
    return TRY(kill(-1, 0));
}

ATTEMPT(signal_by_descriptor) {
    MUST(TRY(fcntl(WORKER_SOCKET, F_SETSIG, SIGKILL)) == EPERM);
    return TRY(fcntl(WORKER_SOCKET, F_SETOWN, getppid()));
}

static volatile sig_atomic_t signals_seen;

static void see_signal(int number) {
    (void)number;
    signals_seen++;
}

static void *wait_for_signals(void *gate) {
    uint64_t since = 0;
    while (signals_seen < 3 && patience_yield(&since)) {
    }
    return gate;
}

ATTEMPT(signal_oneself) {
    pthread_t thread;
    MUST(signal(SIGUSR1, see_signal) != SIG_ERR);
    MUST(raise(SIGUSR1) == 0 && kill(getpid(), SIGUSR1) == 0);
    MUST(pthread_create(&thread, NULL, wait_for_signals, NULL) == 0);
    MUST(pthread_kill(thread, SIGUSR1) == 0 && pthread_join(thread, NULL) == 0);
    MUST(signals_seen == 3);
    return 0;
}

ATTEMPT(abort_oneself) {
    MUST(chdir(scene->writable) == 0);
    abort();
}

/* ------------------------------------------------------------------ system */

#define CALL(name) \
    { #name, SYS_##name }

/* What is refused whatever is granted. The arguments are nonsense, so that nothing happens should
 * one of them not be. */
ATTEMPT(call_forbidden) {
    static const struct {
        const char *name;
        long number;
    } calls[] = {
            CALL(acct),
            CALL(add_key),
            CALL(adjtimex),
            CALL(bpf),
            CALL(capset),
            CALL(chroot),
            CALL(clock_adjtime),
            CALL(clock_settime),
            CALL(delete_module),
            CALL(fanotify_init),
            CALL(fchmod),
            CALL(fchown),
            CALL(finit_module),
            CALL(fsconfig),
            CALL(fsmount),
            CALL(fsopen),
            CALL(init_module),
            CALL(inotify_init1),
            CALL(io_uring_enter),
            CALL(io_uring_register),
            CALL(io_uring_setup),
            CALL(kcmp),
            CALL(kexec_load),
            CALL(keyctl),
            CALL(landlock_create_ruleset),
            CALL(listen),
            CALL(mknodat),
            CALL(mount),
            CALL(mount_setattr),
            CALL(move_mount),
            CALL(mq_open),
            CALL(msgget),
            CALL(name_to_handle_at),
            CALL(open_by_handle_at),
            CALL(open_tree),
            CALL(perf_event_open),
            CALL(personality),
            CALL(pidfd_getfd),
            CALL(pidfd_open),
            CALL(pidfd_send_signal),
            CALL(pivot_root),
            CALL(process_madvise),
            CALL(process_vm_readv),
            CALL(process_vm_writev),
            CALL(ptrace),
            CALL(quotactl),
            CALL(reboot),
            CALL(request_key),
            CALL(seccomp),
            CALL(semget),
            CALL(sethostname),
            CALL(setns),
            CALL(setpriority),
            CALL(setresuid),
            CALL(setrlimit),
            CALL(setuid),
            CALL(shmget),
            CALL(swapoff),
            CALL(swapon),
            CALL(syslog),
            CALL(umount2),
            CALL(unshare),
            CALL(userfaultfd),
            CALL(vhangup),
    };
    int ended = EPERM;
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
        if (syscall(calls[i].number, -1L, -1L, -1L, -1L, -1L, -1L) >= 0 || errno != EPERM) {
            (void)fprintf(stderr, "# %s: %s\n", calls[i].name, strerror(errno));
            ended = ENDED_WRONG;
        }
    }
    return ended;
}

/* Arguments of which a plugin fills the half that the kernel ignores. */
ATTEMPT(call_disguised) {
    static const unsigned long high = 0x7fffffff00000000ul;
    MUST(TRY(syscall(SYS_ioctl, 0, high | 0x5412 /* TIOCSTI */, "x")) == EPERM);
    MUST(TRY(syscall(SYS_prctl, high | PR_SET_PDEATHSIG, 0, 0, 0, 0)) == EPERM);
    MUST(TRY(syscall(SYS_kill, high | (unsigned)getppid(), 0)) == EPERM);
    MUST(TRY(syscall(SYS_clone, high | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)) == EPERM);
    return TRY(syscall(SYS_fcntl, WORKER_SOCKET, high | F_SETOWN, getppid()));
}

ATTEMPT(call_unknown) {
    MUST(TRY(syscall(SYS_clone3, NULL, 0)) == ENOSYS);
    return TRY(syscall(500, 0, 0, 0));
}

#if defined(__x86_64__)
ATTEMPT(call_x32) {
    (void)syscall(0x40000000 | SYS_getpid);
    return 0;
}

ATTEMPT(call_i386) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
    return 0;
}
#endif

/* ------------------------------------------------------- rights and limits */

/* Whether the lines of /proc/self/status say what they must; it is read now. */
static bool status_says(int fd, const char *const *lines) {
    char text[8192];
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    for (size_t i = 0; lines[i] != NULL; i++) {
        if (strstr(text, lines[i]) == NULL) {
            (void)fprintf(stderr, "# not in /proc/self/status: %s\n", lines[i] + 1);
            return false;
        }
    }
    return true;
}

ATTEMPT(have_no_rights) {
    static const char *const lines[] = {"\nCapInh:\t0000000000000000\n",
                                        "\nCapPrm:\t0000000000000000\n",
                                        "\nCapEff:\t0000000000000000\n",
                                        "\nCapAmb:\t0000000000000000\n",
                                        "\nNoNewPrivs:\t1\n",
                                        "\nSeccomp:\t2\n",
                                        NULL};
    MUST(status_says(before->status_fd, lines));
    MUST(prctl(PR_GET_DUMPABLE) == 0);
    int death_signal = 0;
    MUST(prctl(PR_GET_PDEATHSIG, &death_signal) == 0 && death_signal == SIGKILL);
    return 0;
}

/* With exec there is the bounding set, which only root may empty and only root gains from. */
ATTEMPT(have_nothing_to_gain) {
    static const char *const lines[] = {"\nCapBnd:\t0000000000000000\n", NULL};
    MUST(geteuid() != 0 || status_says(before->status_fd, lines));
    return have_no_rights(scene, before);
}

ATTEMPT(have_what_is_available) {
    MUST((before->layers | SANDBOX_THREADS) == (before->available | SANDBOX_THREADS));
    return 0;
}

ATTEMPT(take_memory) {
    void *memory =
            mmap(NULL, LOW_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? errno : 0;
}

/* Pages of shared memory stay while one of them is mapped, so the limit does not count them. */
#define PAGE 4096u
#ifndef MAP_DROPPABLE
#define MAP_DROPPABLE 0x08
#endif

static int try_map(unsigned long flags, int fd) {
    void *memory = (void *)syscall(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
    return memory == MAP_FAILED ? errno : munmap(memory, PAGE);
}

ATTEMPT(share_memory) {
    static const unsigned long high = 0x7fffffff00000000ul;
    MUST(try_map(MAP_PRIVATE | MAP_ANONYMOUS, -1) == 0);
    MUST(try_map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1) == 0);
    int droppable = try_map(MAP_DROPPABLE | MAP_ANONYMOUS, -1);
    MUST(droppable == 0 || droppable == EINVAL || droppable == EOPNOTSUPP);
    MUST(try_map(MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1) == EPERM);
    MUST(try_map(high | MAP_SHARED | MAP_ANONYMOUS, -1) == EPERM);
    MUST(try_map(MAP_SHARED_VALIDATE | MAP_ANONYMOUS, -1) == EPERM);
    return try_map(MAP_SHARED | MAP_ANONYMOUS, -1);
}

/* The pages of a device of zeros would be anonymous too. */
ATTEMPT(share_zeros) {
    CLEANUP(closep) int written = open("/dev/zero", O_RDWR | O_CLOEXEC);
    MUST(written < 0);
    int refused = errno;
    CLEANUP(closep) int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    MUST(fd >= 0 && try_map(MAP_SHARED, fd) == EACCES);
    return refused;
}

ATTEMPT(share_file) {
    char path[PATH_ROOM];
    CLEANUP(closep)
    int fd = open(below(scene->writable, "mapped", path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    MUST(fd >= 0 && fallocate(fd, 0, 0, PAGE) == 0);
    MUST(fallocate(fd, FALLOC_FL_KEEP_SIZE, PAGE, PAGE) == 0);
    MUST(try_map(MAP_SHARED, fd) == 0);
    return TRY(fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, PAGE));
}

static int try_locks(const char *path, int flags) {
    CLEANUP(closep) int fd = open(path, flags | O_CLOEXEC);
    MUST(fd >= 0);
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1};
    MUST(fcntl(fd, F_GETLK, &lock) == 0);
    lock.l_type = F_RDLCK;
    int single = TRY(fcntl(fd, F_SETLK, &lock));
    MUST(TRY(fcntl(fd, F_SETLKW, &lock)) == single &&
         TRY(fcntl(fd, F_OFD_SETLK, &lock)) == single &&
         TRY(fcntl(fd, F_OFD_SETLKW, &lock)) == single);
    return single;
}

ATTEMPT(lock_library) {
    return try_locks("/etc/ld.so.cache", O_RDONLY);
}

ATTEMPT(lock_granted) {
    char path[PATH_ROOM];
    return try_locks(below(scene->readable, "file", path), O_RDONLY);
}

ATTEMPT(make_timers) {
    for (unsigned i = 0; i <= SANDBOX_SIGNALS_MAX; i++) {
        struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
        timer_t timer;
        if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) {
            return errno;
        }
    }
    return 0;
}

ATTEMPT(write_much) {
    char path[PATH_ROOM];
    static const char bytes[LOW_FILE_SIZE];
    CLEANUP(closep)
    int fd = open(below(scene->writable, "large", path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    MUST(fd >= 0 && write(fd, bytes, sizeof bytes) == sizeof bytes);
    return TRY(write(fd, "x", 1));
}

ATTEMPT(open_much) {
    for (unsigned i = 0; i < LOW_FILES; i++) {
        if (dup(WORKER_SOCKET) < 0) {
            return errno;
        }
    }
    return 0;
}

ATTEMPT(be_counted) {
    struct rlimit limit;
    MUST((before->layers & SANDBOX_THREADS) != 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
    MUST(limit.rlim_cur == SANDBOX_FILES_DEFAULT && limit.rlim_max == SANDBOX_FILES_DEFAULT);
    return 0;
}

ATTEMPT(raise_limit) {
    struct rlimit limit;
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max == LOW_FILES);
    limit.rlim_max++;
    return TRY(setrlimit(RLIMIT_NOFILE, &limit));
}

/* -------------------------------------------------------------------- work */

static int compare_numbers(const void *a, const void *b) {
    int left = *(const int *)a;
    int right = *(const int *)b;
    return (left > right) - (left < right);
}

static void *sort_numbers(void *room) {
    int *numbers = room;
    for (int i = 0; i < 100000; i++) {
        numbers[i] = i * 7919 % 100003;
    }
    qsort(numbers, 100000, sizeof *numbers, compare_numbers);
    return numbers[0] <= numbers[1] && numbers[99998] <= numbers[99999] ? room : NULL;
}

ATTEMPT(work_in_threads) {
    pthread_t threads[4];
    void *rooms[4];
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        rooms[i] = malloc(100000 * sizeof(int));
        MUST(rooms[i] != NULL);
        MUST(pthread_create(&threads[i], NULL, sort_numbers, rooms[i]) == 0);
        MUST(pthread_setname_np(threads[i], "sorter") == 0 || errno != EPERM);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        void *sorted;
        MUST(pthread_join(threads[i], &sorted) == 0 && sorted == rooms[i]);
        free(rooms[i]);
    }
    return 0;
}

ATTEMPT(work_with_libc) {
    regex_t expression;
    MUST(regcomp(&expression, "^[[:alpha:]]+([0-9]{2,})$", REG_EXTENDED) == 0);
    MUST(regexec(&expression, "abc123", 0, NULL, 0) == 0);
    regfree(&expression);
    CLEANUP(closep) int event = eventfd(1, EFD_CLOEXEC);
    eventfd_t value;
    MUST(event >= 0 && eventfd_read(event, &value) == 0 && value == 1);
    struct timespec pause = {.tv_nsec = 1000};
    MUST(nanosleep(&pause, NULL) == 0 && sysconf(_SC_NPROCESSORS_ONLN) > 0);
    FILE *file = tmpfile(); /* in no folder that is granted */
    MUST(file == NULL && errno == EACCES);
    return 0;
}

/* Modules of the C library, which it loads when they are asked for. */
ATTEMPT(work_with_charsets) {
    char in[] = "\xe4";
    char out[8];
    char *from = in;
    char *to = out;
    size_t in_left = 1;
    size_t out_left = sizeof out;
    iconv_t convert = iconv_open("UTF-8", "ISO-8859-15");
    MUST(convert != (iconv_t)-1); /* NOLINT */
    MUST(iconv(convert, &from, &in_left, &to, &out_left) == 0 && memcmp(out, "\xc3\xa4", 2) == 0);
    MUST(iconv_close(convert) == 0);
    return 0;
}

ATTEMPT(work_with_time) {
    struct tm local;
    time_t moment = 1700000000;
    if (access("/usr/share/zoneinfo/Asia/Tokyo", F_OK) < 0) {
        return ENDED_SKIPPED;
    }
    MUST(setenv("TZ", "Asia/Tokyo", 1) == 0);
    tzset();
    MUST(localtime_r(&moment, &local) != NULL && local.tm_gmtoff == 9 * 3600);
    return 0;
}

ATTEMPT(load_library) {
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    MUST(library != NULL);
    double (*cosine)(double) = NULL;
    *(void **)&cosine = dlsym(library, "cos");
    MUST(cosine != NULL && cosine(0) > 0.99);
    return 0;
}

/* ICU has its data in a library; all names in it carry its version. */
ATTEMPT(load_icu) {
    for (int version = 50; version < 120; version++) {
        char name[32];
        (void)snprintf(name, sizeof name, "libicuuc.so.%d", version);
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            continue;
        }
        int32_t (*char_name)(int32_t, int, char *, int32_t, int *) = NULL;
        char text[64] = "";
        int failure = 0;
        (void)snprintf(name, sizeof name, "u_charName_%d", version);
        *(void **)&char_name = dlsym(library, name);
        MUST(char_name != NULL && char_name('A', 0, text, sizeof text, &failure) > 0);
        MUST(strcmp(text, "LATIN CAPITAL LETTER A") == 0);
        return 0;
    }
    return ENDED_SKIPPED;
}

/* A library of the tests that works in its own language and says whether all went well. */
static int work_in(const char *library) {
    char path[PATH_ROOM];
    int (*work)(void) = NULL;
    if (access(below(TEST_WORK, library, path), F_OK) < 0) {
        return ENDED_SKIPPED;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        (void)fprintf(stderr, "# %s\n", dlerror());
        return ENDED_WRONG;
    }
    *(void **)&work = dlsym(handle, "sandbox_work");
    MUST(work != NULL);
    int line = work();
    if (line != 0) {
        (void)fprintf(stderr, "# %s: line %d\n", library, line);
    }
    return line == 0 ? 0 : ENDED_WRONG;
}

ATTEMPT(work_in_cxx) {
    return work_in("sandbox-work-cxx.so");
}

ATTEMPT(work_in_rust) {
    return work_in("sandbox-work-rust.so");
}

/* It locks, maps, syncs, renames and truncates. */
ATTEMPT(work_with_sqlite) {
    char path[PATH_ROOM];
    sqlite3 *db = NULL;
    MUST(sqlite3_open(below(scene->writable, "data.db", path), &db) == SQLITE_OK);
    MUST(sqlite3_exec(db,
                      "CREATE TABLE numbers(n); INSERT INTO numbers VALUES (1), (2);"
                      "PRAGMA journal_mode = WAL; INSERT INTO numbers VALUES (3); VACUUM;",
                      NULL, NULL, NULL) == SQLITE_OK);
    MUST(sqlite3_close(db) == SQLITE_OK);
    return 0;
}

/* ------------------------------------------------------------------- child */

#define W GRANT_WRITE
#define N GRANT_NETWORK
#define S GRANT_SPAWN
#define THIS(name, grants) \
    { #name, (grants), name }

static const struct attempt attempts[] = {
        THIS(read_outside, GRANT_READ | W),
        THIS(read_inside, GRANT_READ),
        THIS(read_above, GRANT_READ),
        THIS(read_by_link, GRANT_READ),
        THIS(write_readable, GRANT_READ | W),
        THIS(create_in_readable, GRANT_READ | W),
        THIS(remove_readable, GRANT_READ | W),
        THIS(truncate_readable, GRANT_READ | W),
        THIS(empty_readable, GRANT_READ | W),
        THIS(empty_readable_beneath, GRANT_READ | W),
        THIS(move_out, W),
        THIS(write_inside, W),
        THIS(make_fifo, W),
        THIS(change_mode, GRANT_ALL),
        THIS(change_times, GRANT_ALL),
        THIS(change_owner, GRANT_ALL),
        THIS(change_attribute, GRANT_ALL),
        THIS(change_own, W),
        THIS(read_own_environment, GRANT_ALL),
        THIS(read_host_environment, GRANT_ALL),
        THIS(use_devices, 0),
        THIS(grant_swapped, GRANT_SWAPPED),
        THIS(execute_folder, S | GRANT_PROGRAM | REPLACED_FOLDER),
        THIS(execute_document, S | GRANT_PROGRAM | REPLACED_FILE),
        THIS(see_hidden, W | HIDE),
        THIS(replace_hidden, W | HIDE),
        THIS(change_frozen, W | HIDE),
        THIS(hide_in_vain, W | HIDE | NO_NAMESPACE),
        {"see_hidden_as_nobody", W | HIDE | AS_NOBODY, see_hidden_as_nobody},
        {"change_own_beside_hidden", W | HIDE, change_own},
        {"change_mode_beside_hidden", W | HIDE, change_mode},

        THIS(socket_internet, S),
        THIS(sockets_granted, N),
        THIS(sockets_granted_udp, GRANT_UDP),
        THIS(socket_local, GRANT_ALL),
        THIS(socket_packet, GRANT_ALL),
        THIS(socket_multipath, GRANT_ALL),
        THIS(connect_granted, N | GRANT_PORT),
        THIS(connect_other, N | GRANT_PORT),
        THIS(connect_fast, N | GRANT_PORT),
        THIS(serve, GRANT_ALL),
        THIS(bind_port, N),
        THIS(bind_datagrams, GRANT_UDP),
        THIS(set_options, N),
        THIS(set_options_of_a_server, GRANT_ALL),
        THIS(pair_local, GRANT_ALL),
        THIS(pair_other, GRANT_ALL),
        THIS(pair_reach, GRANT_ALL),
        THIS(pair_urgent, N),
        THIS(pair_descriptor, LIMIT_LOW | ASK_HOST),
        THIS(pair_descriptors, N | LIMIT_LOW),
        THIS(pair_memory, N | LIMIT_LOW),
        THIS(look_up_name, N),
        THIS(receive_descriptor, 0),
        THIS(isolate_network, ASK_NAMESPACE),

        THIS(fork_process, N),
        THIS(spawn_process, N),
        THIS(execute, N),
        THIS(run_shell, S),
        THIS(run_with_capabilities, S | GRANT_PROC),
        THIS(execute_written, W | S),
        THIS(execute_granted, S | GRANT_PROGRAM),
        THIS(leave_group, GRANT_ALL),
        THIS(fork_bomb, S | LIMIT_LOW | AS_NOBODY),
        THIS(clone_users, GRANT_ALL),
        THIS(clone_sibling, GRANT_ALL),
        THIS(clone_descriptors, 0),
        THIS(clone_newer, GRANT_ALL),
        THIS(unshare_users, GRANT_ALL),
        THIS(trace_host, GRANT_ALL),
        THIS(be_traced, GRANT_ALL),
        THIS(signal_host, N),
        THIS(signal_host_thread, N),
        THIS(signal_everybody, N),
        THIS(signal_by_descriptor, GRANT_ALL),
        THIS(signal_oneself, 0),
        THIS(abort_oneself, W),

        THIS(call_forbidden, GRANT_ALL),
        THIS(call_disguised, 0),
        THIS(call_unknown, 0),
#if defined(__x86_64__)
        THIS(call_x32, 0),
        THIS(call_i386, 0),
#endif

        THIS(have_no_rights, 0),
        THIS(have_nothing_to_gain, S),
        THIS(have_what_is_available, 0),
        THIS(take_memory, LIMIT_LOW),
        THIS(share_memory, GRANT_ALL),
        THIS(share_zeros, 0),
        THIS(share_file, W),
        THIS(lock_library, N | GRANT_UDP | S | NO_PATHS),
        THIS(lock_granted, GRANT_READ),
        THIS(make_timers, 0),
        THIS(write_much, W | LIMIT_LOW),
        THIS(open_much, LIMIT_LOW),
        THIS(raise_limit, LIMIT_LOW),
        THIS(be_counted, ASK_HOST),

        THIS(work_in_threads, 0),
        THIS(work_with_libc, 0),
        THIS(work_with_charsets, 0),
        THIS(work_with_time, 0),
        THIS(load_library, 0),
        THIS(load_icu, 0),
        THIS(work_in_cxx, 0),
        THIS(work_in_rust, 0),
        THIS(work_with_sqlite, W),
        /* The same with other grants: the filter is another one. */
        {"signal_oneself_spawning", S, signal_oneself},
        {"signal_host_spawning", S, signal_host},
        {"connect_anywhere", N, connect_other},
        {"connect_own", N | OWN_PORT, connect_other},
        {"connect_not_own", N | OWN_PORT, connect_granted},
        {"socket_local_alone", 0, socket_local},
        {"socket_local_networked", N, socket_local},
        {"socket_local_udp", GRANT_UDP, socket_local},
        {"socket_local_spawning", S, socket_local},
        {"pair_local_alone", 0, pair_local},
        {"pair_local_networked", N, pair_local},
        {"pair_local_udp", GRANT_UDP, pair_local},
        {"pair_local_spawning", S, pair_local},
        {"pair_other_alone", 0, pair_other},
        {"pair_reach_alone", 0, pair_reach},
        {"pair_reach_networked", N, pair_reach},
        {"pair_descriptor_spawning", S | LIMIT_LOW | ASK_HOST, pair_descriptor},
        {"pair_memory_alone", LIMIT_LOW, pair_memory},
        {"receive_descriptor_networked", N, receive_descriptor},
        {"share_memory_alone", 0, share_memory},
        {"have_what_is_available_all", GRANT_ALL, have_what_is_available},
        {"have_what_is_available_port", N | GRANT_PORT, have_what_is_available},
};

static struct sandbox_limits limits_of(unsigned grants) {
    struct sandbox_limits limits = {0};
    if ((grants & LIMIT_LOW) != 0) {
        limits = (struct sandbox_limits){.memory_bytes = LOW_MEMORY,
                                         .file_size_bytes = LOW_FILE_SIZE,
                                         .files = LOW_FILES,
                                         .processes = LOW_PROCESSES};
    }
    if (SANITIZER_ADDRESS) {
        limits.memory_bytes = UINT64_MAX; /* its shadow alone is terabytes */
    }
    return limits;
}

/* As in many containers: unshare() fails. */
static bool refuse_namespaces(void) {
    struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = ARRAY_LENGTH(code), .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool prepare(unsigned grants, struct before *before) {
    if ((grants & AS_NOBODY) != 0 && geteuid() == 0 &&
        (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)) {
        return false;
    }
    if ((grants & NO_NAMESPACE) != 0 && !refuse_namespaces()) {
        return false;
    }
    (void)prctl(PR_SET_DUMPABLE, 1); /* as a program is that was started by its user */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    before->grants = grants;
    before->landlock = sandbox_landlock_version();
    before->status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    (void)!readlink("/proc/self/ns/net", before->network, sizeof before->network - 1);
    return true;
}

static int apply_policy(const struct scene *scene, unsigned grants, struct before *before) {
    const char *read_paths[6];
    size_t reads = 0;
    if ((grants & NO_PATHS) == 0) {
        read_paths[reads++] = "/nonexistent/toolrack";
        read_paths[reads++] = "/dev/null/no-folder";
    }
    if ((grants & GRANT_READ) != 0) {
        read_paths[reads++] = scene->readable;
    }
    if ((grants & GRANT_SWAPPED) != 0) {
        read_paths[reads++] = scene->swapped;
    }
    if ((grants & GRANT_PROC) != 0) {
        read_paths[reads++] = "/proc";
    }
    const char *const write_paths[] = {scene->writable};
    char hidden[5][PATH_ROOM];
    const char *const hidden_paths[] = {below(scene->writable, "above/hidden", hidden[0]),
                                        below(scene->writable, "above/gone", hidden[4])};
    const char *const kept_paths[] = {below(scene->writable, "above", hidden[1])};
    const char *const frozen_paths[] = {below(scene->writable, "program", hidden[2])};
    const char *const programs[] = {(grants & REPLACED_FOLDER) != 0 ? "/usr"
                                    : (grants & REPLACED_FILE) != 0 ? "/etc/passwd"
                                                                    : "/usr/bin/true",
                                    LOADER};
    if ((grants & HIDE) != 0) {
        read_paths[reads++] = below(scene->writable, "above/hidden/shown", hidden[3]);
    }
    const char *library_paths[24] = {TEST_WORK};
    for (size_t i = 0; sandbox_library_paths()[i] != NULL; i++) {
        library_paths[i + 1] = sandbox_library_paths()[i];
    }
    struct sandbox_policy policy = {.read_paths = read_paths,
                                    .read_path_count = reads,
                                    .write_paths = write_paths,
                                    .write_path_count = (grants & GRANT_WRITE) != 0,
                                    .network = (grants & GRANT_NETWORK) != 0,
                                    .udp = (grants & GRANT_UDP) != 0,
                                    .ports = &scene->port,
                                    .port_count = (grants & GRANT_PORT) != 0,
                                    .own_ports = &scene->other_port,
                                    .own_port_count = (grants & OWN_PORT) != 0,
                                    .spawn = (grants & GRANT_SPAWN) != 0,
                                    .programs = programs,
                                    .program_count = (grants & GRANT_PROGRAM) != 0 ? 2 : 0,
                                    .hidden_paths = hidden_paths,
                                    .hidden_path_count =
                                            (grants & HIDE) != 0 ? ARRAY_LENGTH(hidden_paths) : 0,
                                    .kept_paths = kept_paths,
                                    .kept_path_count = (grants & HIDE) != 0,
                                    .frozen_paths = frozen_paths,
                                    .frozen_path_count = (grants & HIDE) != 0,
                                    .network_namespace = (grants & ASK_NAMESPACE) != 0,
                                    .limits = limits_of(grants)};
    struct toolrack_error err;
    size_t filter_size;
    const void *filter = sandbox_filter(&policy, &filter_size);
    before->available = sandbox_available(&policy);
    if ((grants & (HIDE | NO_NAMESPACE)) == HIDE &&
        (before->available & SANDBOX_MOUNT_NAMESPACE) == 0) {
        return ENDED_SKIPPED;
    }
    if (sandbox_apply(&policy, library_paths, filter, filter_size,
                      (grants & ASK_HOST) != 0 ? WORKER_SOCKET : -1, &before->layers, &err) < 0) {
        (void)fprintf(stderr, "# %s\n", err.message);
        return ENDED_NOT_APPLIED;
    }
    return 0;
}

/* child NAME ROOT PORT OTHER_PORT; ends without the functions that others may have left for the
 * end of a program, as LeakSanitizer's would start a process. */
static void child_main(char **argv) {
    struct scene scene = {0};
    struct before before = {0};
    (void)snprintf(scene.root, sizeof scene.root, "%s", argv[3]);
    scene.port = (uint16_t)strtoul(argv[4], NULL, 10);
    scene.other_port = (uint16_t)strtoul(argv[5], NULL, 10);
    scene_name(&scene);
    (void)alarm(BLOCKED_AFTER_S);
    for (size_t i = 0; i < ARRAY_LENGTH(attempts); i++) {
        if (strcmp(attempts[i].name, argv[2]) == 0) {
            int ended = prepare(attempts[i].grants, &before)
                                ? apply_policy(&scene, attempts[i].grants, &before)
                                : ENDED_UNPREPARED;
            _exit(ended != 0 ? ended : attempts[i].run(&scene, &before));
        }
    }
    (void)fprintf(stderr, "# no such attempt: %s\n", argv[2]);
    _exit(ENDED_UNPREPARED);
}

/* ------------------------------------------------------------------ parent */

static int put_text(const char *path, const char *text) {
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
}

static int listen_anywhere(uint16_t *ret_port) {
    struct sockaddr_in address = local_port(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        listen(fd, 16) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
        return -1;
    }
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static int scene_setup(void **state) {
    char path[PATH_ROOM];
    char made[] = "/tmp/toolrack-sandbox-XXXXXX";
    struct scene *scene = calloc(1, sizeof *scene);
    if (scene == NULL || mkdtemp(made) == NULL) {
        return -1;
    }
    CLEANUP(freep) char *root = realpath(made, NULL);
    if (root == NULL) {
        return -1;
    }
    (void)snprintf(scene->root, sizeof scene->root, "%s", root);
    scene_name(scene);
    scene->listeners[0] = listen_anywhere(&scene->port);
    scene->listeners[1] = listen_anywhere(&scene->other_port);
    *state = scene;
    (void)alarm(BLOCKED_AFTER_S);
    return mkdir(scene->readable, 0755) == 0 && mkdir(scene->writable, 0755) == 0 &&
                           put_text(scene->secret, "secret") == 0 &&
                           put_text(below(scene->readable, "file", path), "hello") == 0 &&
                           put_text(below(scene->writable, "kept", path), "kept") == 0 &&
                           symlink("../secret", below(scene->readable, "link", path)) == 0 &&
                           symlink("..", scene->swapped) == 0 && scene->listeners[0] >= 0 &&
                           scene->listeners[1] >= 0
                   ? 0
                   : -1;
}

/* What the host has in the writable folder. */
static int hidden_setup(void **state) {
    char path[PATH_ROOM];
    if (scene_setup(state) < 0) {
        return -1;
    }
    const struct scene *scene = *state;
    return chmod(scene->root, 0755) == 0 && chmod(scene->writable, 0755) == 0 &&
                           mkdir(below(scene->writable, "above", path), 0755) == 0 &&
                           put_text(below(scene->writable, "above/seen", path), "seen") == 0 &&
                           mkdir(below(scene->writable, "above/hidden", path), 0755) == 0 &&
                           put_text(below(scene->writable, "above/hidden/secret", path), "x") ==
                                   0 &&
                           mkdir(below(scene->writable, "above/hidden/shown", path), 0755) == 0 &&
                           put_text(below(scene->writable, "above/hidden/shown/file", path),
                                    "shown") == 0 &&
                           put_text(below(scene->writable, "program", path), "program") == 0
                   ? 0
                   : -1;
}

static int scene_teardown(void **state) {
    struct scene *scene = *state;
    (void)alarm(0);
    (void)remove_tree(scene->root);
    (void)close(scene->listeners[0]);
    (void)close(scene->listeners[1]);
    free(scene);
    return 0;
}

/* Start an attempt with the other end of `socket_fd` as its inherited socket; the wait status. */
static pid_t start_attempt(const struct scene *scene, const char *name, int socket_fd) {
    char port[8];
    char other_port[8];
    char root[sizeof scene->root];
    char attempt[64];
    pid_t child;
    posix_spawn_file_actions_t actions;
    (void)snprintf(port, sizeof port, "%u", scene->port);
    (void)snprintf(other_port, sizeof other_port, "%u", scene->other_port);
    (void)snprintf(root, sizeof root, "%s", scene->root);
    (void)snprintf(attempt, sizeof attempt, "%s", name);
    char *arguments[] = {
            (char[]){"test-sandbox"}, (char[]){"child"}, attempt, root, port, other_port, NULL};
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, socket_fd, WORKER_SOCKET), 0);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ), 0);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
    return child;
}

static int run_attempt(const struct scene *scene, const char *name) {
    int status;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    CLEANUP(closep) int host __attribute__((unused)) = pair[0];
    CLEANUP(closep) int worker = pair[1];
    pid_t child = start_attempt(scene, name, worker);
    assert_int_equal(patience_child(child, &status), child);
    return status;
}

static const char *ended_name(int ended) {
    switch (ended) {
    case ENDED_SKIPPED: return "could not be tried here";
    case ENDED_WRONG: return "went wrong elsewhere";
    case ENDED_UNPREPARED: return "could not be prepared";
    case ENDED_NOT_APPLIED: return "had no policy in force";
    default: return strerror(ended);
    }
}

/* An attempt ends with this errno. */
static void expect(const struct scene *scene, const char *name, int number) {
    int status = run_attempt(scene, name);
    if (!WIFEXITED(status)) {
        fail_msg("%s ended by signal %d", name, WTERMSIG(status));
    }
    if (WEXITSTATUS(status) == ENDED_SKIPPED && number != ENDED_SKIPPED) {
        print_message("# %s: cannot be tried on this system\n", name);
        skip();
    }
    if (WEXITSTATUS(status) != number) {
        fail_msg("%s: %s, not %s", name, ended_name(WEXITSTATUS(status)), ended_name(number));
    }
}

/* Skip what the kernel does not have, and say so. */
static void need(uint32_t layer) {
    static const uint16_t port = 1;
    const struct sandbox_policy policy = {.network = true, .ports = &port, .port_count = 1};
    if ((sandbox_available(&policy) & layer) == 0) {
        CLEANUP(buf_finish) struct buf words = BUF_INIT;
        sandbox_describe(layer, &words);
        print_message("# this kernel lacks %s\n", words.data);
        skip();
    }
}

static void test_files(void **state) {
    need(SANDBOX_LANDLOCK_FILES);
    expect(*state, "read_outside", EACCES);
    expect(*state, "read_inside", 0);
    expect(*state, "read_above", EACCES);
    expect(*state, "read_by_link", EACCES);
    expect(*state, "write_readable", EACCES);
    expect(*state, "create_in_readable", EACCES);
    expect(*state, "remove_readable", EACCES);
    expect(*state, "move_out", EACCES);
    expect(*state, "write_inside", 0);
    expect(*state, "read_own_environment", EACCES);
    expect(*state, "read_host_environment", EACCES);
    expect(*state, "use_devices", 0);
    expect(*state, "grant_swapped", ENDED_NOT_APPLIED);
    expect(*state, "execute_folder", ENDED_NOT_APPLIED);
    expect(*state, "execute_document", ENDED_NOT_APPLIED);
    expect(*state, "execute_written", EACCES);
}

static void test_hidden_files(void **state) {
    need(SANDBOX_LANDLOCK_FILES);
    expect(*state, "see_hidden", 0);
    expect(*state, "replace_hidden", EBUSY);
    expect(*state, "change_frozen", EBUSY);
    expect(*state, "change_own_beside_hidden", EPERM);
    expect(*state, "change_mode_beside_hidden", EPERM);
}

static void test_hidden_files_of_a_user(void **state) {
    need(SANDBOX_LANDLOCK_FILES);
    expect(*state, "see_hidden_as_nobody", 0);
}

/* A plugin is not run with what could not be taken out. */
static void test_nothing_can_be_hidden(void **state) {
    expect(*state, "hide_in_vain", ENDED_NOT_APPLIED);
}

/* Of what Landlock does not know, or not in all its versions. */
static void test_files_by_seccomp(void **state) {
    expect(*state, "truncate_readable", sandbox_landlock_version() >= 3 ? EACCES : EPERM);
    expect(*state, "empty_readable", EPERM);
    expect(*state, "empty_readable_beneath", sandbox_landlock_version() >= 3 ? EACCES : ENOSYS);
    expect(*state, "make_fifo", EPERM);
    expect(*state, "change_mode", EPERM);
    expect(*state, "change_times", EPERM);
    expect(*state, "change_owner", EPERM);
    expect(*state, "change_attribute", EPERM);
    expect(*state, "change_own", EPERM);
}

static void test_sockets(void **state) {
    expect(*state, "socket_internet", EACCES);
    expect(*state, "sockets_granted", 0);
    expect(*state, "sockets_granted_udp", 0);
    expect(*state, "socket_local", EACCES);
    expect(*state, "socket_local_alone", EACCES);
    expect(*state, "socket_local_networked", EACCES);
    expect(*state, "socket_local_udp", EACCES);
    expect(*state, "socket_local_spawning", EACCES);
    expect(*state, "socket_packet", EPERM);
    expect(*state, "socket_multipath", EPERM);
    expect(*state, "connect_anywhere", 0);
    expect(*state, "connect_fast", EPERM);
    expect(*state, "serve", EPERM);
    expect(*state, "bind_port", EPERM);
    expect(*state, "bind_datagrams", EPERM);
    expect(*state, "look_up_name", 0);
}

static void test_pairs(void **state) {
    expect(*state, "pair_local", 0);
    expect(*state, "pair_local_alone", 0);
    expect(*state, "pair_local_networked", 0);
    expect(*state, "pair_local_udp", 0);
    expect(*state, "pair_local_spawning", 0);
    expect(*state, "pair_other", EPERM);
    expect(*state, "pair_other_alone", EPERM);
    expect(*state, "pair_urgent", EPERM);
}

static void test_pairs_reach_nobody(void **state) {
    const struct scene *scene = *state;
    int fds[LOCAL_COUNT];
    char byte;
    for (unsigned i = 0; i < LOCAL_COUNT; i++) {
        struct sockaddr_un at;
        socklen_t size = local_address(scene, i, &at);
        fds[i] = socket(AF_UNIX, local_type(i) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_true(fds[i] >= 0 && bind(fds[i], (const struct sockaddr *)&at, size) == 0);
        assert_true(local_type(i) == SOCK_DGRAM || listen(fds[i], 1) == 0);
    }
    expect(scene, "pair_reach", 0);
    expect(scene, "pair_reach_alone", 0);
    expect(scene, "pair_reach_networked", 0);
    for (unsigned i = 0; i < LOCAL_COUNT; i++) {
        bool is_server = local_type(i) == SOCK_STREAM;
        assert_true((is_server ? accept(fds[i], NULL, NULL) : recv(fds[i], &byte, 1, 0)) < 0);
        assert_int_equal(errno, EAGAIN);
        assert_int_equal(close(fds[i]), 0);
    }
}

/* Descriptors on their way are the user's, not the process's. */
static void test_pairs_are_bounded(void **state) {
    expect(*state, "pair_descriptor", EPERM);
    expect(*state, "pair_descriptor_spawning", EPERM);
    expect(*state, "pair_descriptors", ETOOMANYREFS);
    expect(*state, "pair_memory", 0);
    expect(*state, "pair_memory_alone", 0);
}

static void test_socket_options(void **state) {
    expect(*state, "set_options", 0);
    expect(*state, "set_options_of_a_server", EPERM);
}

static void test_ports(void **state) {
    need(SANDBOX_LANDLOCK_TCP);
    expect(*state, "connect_granted", 0);
    expect(*state, "connect_other", EACCES);
    expect(*state, "connect_own", EACCES);
    expect(*state, "connect_not_own", 0);
}

static void test_own_ports(void **state) {
    const struct scene *scene = *state;
    uint16_t ports[SANDBOX_PORTS_MAX];
    bool found = false;
    size_t count = sandbox_own_ports(ports);
    for (size_t i = 0; i < count; i++) {
        found = found || ports[i] == scene->other_port;
    }
    assert_true(found);
}

static void test_network_namespace(void **state) {
    expect(*state, "isolate_network", 0);
}

static void test_inherited_socket(void **state) {
    const struct scene *scene = *state;
    static const char *const names[] = {"receive_descriptor", "receive_descriptor_networked"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        int pair[2];
        int status;
        char text[8];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        CLEANUP(closep) int host = pair[0];
        CLEANUP(closep) int worker = pair[1];
        CLEANUP(closep) int secret = open(scene->secret, O_RDONLY | O_CLOEXEC);
        pid_t child = start_attempt(scene, names[i], worker);
        assert_true(send_fd(host, secret));
        if (i == 1) {
            CLEANUP(closep) int back = receive_fd(host);
            assert_int_equal(pread(back, text, sizeof text, 0), 6);
        }
        assert_int_equal(recv(host, text, sizeof text, 0), 1);
        assert_int_equal(patience_child(child, &status), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

/* A worker sends one descriptor, and the kernel compares those that all processes of the user are
 * sending with what the sender may have open. */
static void test_descriptors_of_others(void **state) {
    const struct scene *scene = *state;
    int pair[2];
    int busy[2];
    int status;
    need(SANDBOX_THREADS);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, busy), 0);
    for (unsigned i = 0; i < 2 * SANDBOX_FILES_DEFAULT; i++) {
        assert_true(send_fd(busy[0], pair[0]));
    }
    CLEANUP(closep) int host = pair[0];
    CLEANUP(closep) int worker = pair[1];
    pid_t child = start_attempt(scene, "be_counted", worker);
    CLEANUP(closep) int listener = receive_fd(host);
    assert_int_equal(patience_child(child, &status), child);
    assert_int_equal(close(busy[0]), 0);
    assert_int_equal(close(busy[1]), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(listener >= 0);
}

static void test_processes(void **state) {
    expect(*state, "fork_process", EPERM);
    expect(*state, "spawn_process", EPERM);
    expect(*state, "execute", EPERM);
    expect(*state, "run_shell", 0);
    expect(*state, "run_with_capabilities", 0);
    expect(*state, "leave_group", EPERM);
    expect(*state, "clone_users", EPERM);
    expect(*state, "clone_sibling", EPERM);
    expect(*state, "clone_newer", ENOSYS);
    expect(*state, "unshare_users", EPERM);
    expect(*state, "trace_host", EPERM);
    expect(*state, "be_traced", EPERM);
}

static void test_programs(void **state) {
    need(SANDBOX_LANDLOCK_FILES);
    if (access(LOADER, F_OK) < 0 || access("/usr/bin/true", F_OK) < 0) {
        print_message("# the loader or the program is elsewhere here\n");
        skip();
    }
    expect(*state, "execute_granted", EACCES);
}

static void test_process_limit(void **state) {
    expect(*state, "fork_bomb", EAGAIN);
}

static void test_signals(void **state) {
    expect(*state, "signal_host", EPERM);
    expect(*state, "signal_host_thread", EPERM);
    expect(*state, "signal_everybody", EPERM);
    expect(*state, "signal_by_descriptor", EPERM);
    expect(*state, "signal_oneself", 0);
    expect(*state, "signal_oneself_spawning", 0);
}

static void test_signals_when_spawning(void **state) {
    need(SANDBOX_LANDLOCK_SCOPE);
    expect(*state, "signal_host_spawning", EPERM);
}

static void test_abort(void **state) {
    int status = run_attempt(*state, "abort_oneself");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_false(WCOREDUMP(status));
}

static void test_forbidden_calls(void **state) {
    expect(*state, "call_forbidden", EPERM);
    expect(*state, "call_disguised", EPERM);
    expect(*state, "call_unknown", ENOSYS);
}

static void test_other_architectures(void **state) {
#if defined(__x86_64__)
    int status = run_attempt(*state, "call_x32");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSYS);
    status = run_attempt(*state, "call_i386");
    assert_true(WIFSIGNALED(status));
    if (WTERMSIG(status) == SIGSEGV) {
        print_message("# this kernel runs no 32-bit programs\n");
        skip();
    }
    assert_int_equal(WTERMSIG(status), SIGSYS);
#else
    (void)state;
    print_message("# this architecture has no other beside it that is tried\n");
    skip();
#endif
}

static void test_rights(void **state) {
    expect(*state, "have_no_rights", 0);
    expect(*state, "have_nothing_to_gain", 0);
    expect(*state, "have_what_is_available", 0);
    expect(*state, "have_what_is_available_all", 0);
    expect(*state, "have_what_is_available_port", 0);
}

static void test_limits(void **state) {
    expect(*state, "write_much", EFBIG);
    expect(*state, "open_much", EMFILE);
    expect(*state, "raise_limit", EPERM);
}

/* What no limit of the address space counts. */
static void test_memory_beside_the_limit(void **state) {
    expect(*state, "share_memory", EPERM);
    expect(*state, "share_memory_alone", EPERM);
    expect(*state, "share_file", EPERM);
    expect(*state, "lock_library", EPERM);
    expect(*state, "lock_granted", 0);
    expect(*state, "make_timers", EAGAIN);
    expect(*state, "clone_descriptors", EPERM);
}

static void test_memory_of_zeros(void **state) {
    need(SANDBOX_LANDLOCK_FILES);
    expect(*state, "share_zeros", EACCES);
}

static void test_memory_limit(void **state) {
    if (SANITIZER_ADDRESS) {
        print_message("# the sanitizer needs more address space than a limit leaves\n");
        skip();
    }
    expect(*state, "take_memory", ENOMEM);
}

static void test_work(void **state) {
    expect(*state, "work_in_threads", 0);
    expect(*state, "work_with_libc", 0);
    expect(*state, "work_with_charsets", 0);
    expect(*state, "work_with_sqlite", 0);
    expect(*state, "load_library", 0);
}

static void test_work_with_time(void **state) {
    expect(*state, "work_with_time", 0);
}

static void test_work_with_icu(void **state) {
    expect(*state, "load_icu", 0);
}

static void test_work_in_cxx(void **state) {
    expect(*state, "work_in_cxx", 0);
}

static void test_work_in_rust(void **state) {
    expect(*state, "work_in_rust", 0);
}

/* --------------------------------------------------------------- host side */

static void assert_described(uint32_t layers, const char *words) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    sandbox_describe(layers, &out);
    assert_string_equal(out.data, words);
}

static void test_describe(void **state) {
    (void)state;
    assert_described(0, "none");
    assert_described(SANDBOX_LANDLOCK_SCOPE, "landlock (scope)");
    assert_described(SANDBOX_LANDLOCK_FILES | SANDBOX_SECCOMP, "landlock (files), seccomp");
    assert_described(UINT32_MAX, "no-new-privs, capabilities, landlock (files, tcp, scope), "
                                 "seccomp, limits, network namespace, threads, mount "
                                 "namespace");
}

static void test_wanted(void **state) {
    (void)state;
    static const uint16_t port = 443;
    const uint32_t always = SANDBOX_NO_NEW_PRIVS | SANDBOX_CAPABILITIES | SANDBOX_LANDLOCK_FILES |
                            SANDBOX_SECCOMP | SANDBOX_LIMITS | SANDBOX_THREADS;
    struct sandbox_policy policy = {0};
    assert_int_equal(sandbox_wanted(&policy), always);
    policy.network_namespace = true;
    assert_int_equal(sandbox_wanted(&policy), always | SANDBOX_NETWORK_NAMESPACE);
    policy.network = true;
    assert_int_equal(sandbox_wanted(&policy), always);
    policy.ports = &port;
    policy.port_count = 1;
    assert_int_equal(sandbox_wanted(&policy), always | SANDBOX_LANDLOCK_TCP);
    policy.spawn = true;
    assert_int_equal(sandbox_wanted(&policy),
                     always | SANDBOX_LANDLOCK_TCP | SANDBOX_LANDLOCK_SCOPE);
}

/* Versions of Landlock that this kernel does not have decide the same way. */
static void test_landlock_versions(void **state) {
    (void)state;
    static const uint16_t port = 443;
    struct sandbox_policy policy = {0};
    assert_int_equal(sandbox_landlock_layers(0, &policy), 0);
    assert_int_equal(sandbox_landlock_layers(3, &policy), SANDBOX_LANDLOCK_FILES);
    assert_int_equal(sandbox_landlock_layers(4, &policy),
                     SANDBOX_LANDLOCK_FILES | SANDBOX_LANDLOCK_TCP);
    assert_int_equal(sandbox_landlock_layers(6, &policy),
                     SANDBOX_LANDLOCK_FILES | SANDBOX_LANDLOCK_TCP | SANDBOX_LANDLOCK_SCOPE);
    policy.network = true; /* to every port, and to serve on none */
    assert_int_equal(sandbox_landlock_layers(4, &policy),
                     SANDBOX_LANDLOCK_FILES | SANDBOX_LANDLOCK_TCP);
    policy.ports = &port;
    policy.port_count = 1;
    assert_int_equal(sandbox_landlock_layers(4, &policy),
                     SANDBOX_LANDLOCK_FILES | SANDBOX_LANDLOCK_TCP);
}

int main(int argc, char **argv) {
    if (argc == 6 && strcmp(argv[1], "child") == 0) {
        child_main(argv);
    }
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_setup, scene_teardown)
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_describe),
            cmocka_unit_test(test_wanted),
            cmocka_unit_test(test_landlock_versions),
            TEST(test_files),
            cmocka_unit_test_setup_teardown(test_hidden_files, hidden_setup, scene_teardown),
            cmocka_unit_test_setup_teardown(test_hidden_files_of_a_user, hidden_setup,
                                            scene_teardown),
            cmocka_unit_test_setup_teardown(test_nothing_can_be_hidden, hidden_setup,
                                            scene_teardown),
            TEST(test_files_by_seccomp),
            TEST(test_sockets),
            TEST(test_pairs),
            TEST(test_pairs_reach_nobody),
            TEST(test_pairs_are_bounded),
            TEST(test_socket_options),
            TEST(test_ports),
            TEST(test_own_ports),
            TEST(test_network_namespace),
            TEST(test_inherited_socket),
            TEST(test_descriptors_of_others),
            TEST(test_processes),
            TEST(test_programs),
            TEST(test_process_limit),
            TEST(test_signals),
            TEST(test_signals_when_spawning),
            TEST(test_abort),
            TEST(test_forbidden_calls),
            TEST(test_other_architectures),
            TEST(test_rights),
            TEST(test_limits),
            TEST(test_memory_limit),
            TEST(test_memory_beside_the_limit),
            TEST(test_memory_of_zeros),
            TEST(test_work),
            TEST(test_work_with_time),
            TEST(test_work_with_icu),
            TEST(test_work_in_cxx),
            TEST(test_work_in_rust),
    };
    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
