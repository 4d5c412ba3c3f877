/* The list of system calls that a plugin may make, as libseccomp compiles it while toolrack is
 * built.
 *
 * A call is listed because plain computing needs it, because Landlock controls its files, or
 * because a grant requires it; all others are refused with EPERM. If only some uses of a call are
 * harmless, its arguments decide. If the kernel uses 32 bits of an argument, only these are
 * compared, as a plugin may set the others to anything.
 *
 * Kept out on purpose, though programs use them:
 *
 *  - calls that change mode, owner, times and attributes of files, as Landlock does not control
 *    them;
 *  - local sockets, as daemons listen on them. Of pairs only those of stream sockets are allowed,
 *    which libraries use to wake a thread: their ends are connected, and the kernel neither
 *    connects such a socket again, nor sends from it to an address, nor lets it listen. An end of a
 *    datagram pair could send to any daemon, and a later kernel's pair may be anything;
 *  - bind(): a pair's end could take the name on which a daemon is to listen. A filter sees only
 *    the length of an address, and getifaddrs(), the one use of it that no server makes, has the
 *    same as an abstract name;
 *  - sendmsg() without network: it sends descriptors. The kernel counts those on their way for the
 *    user, not for the process, and refuses them to others when there are many;
 *  - MSG_OOB: hardly used, and on local sockets a source of faults in the kernel;
 *  - F_SETOWN and F_SETSIG: the kernel would send signals that the filter refuses;
 *  - MSG_FASTOPEN and MPTCP: connections that Landlock's rules for TCP do not control;
 *  - options of sockets that choose or share a port (IP_LOCAL_PORT_RANGE, SO_REUSEADDR,
 *    SO_REUSEPORT), join a group, let close() wait (SO_LINGER), or load something into the kernel:
 *    only those that a client needs are listed;
 *  - prctl(PR_SET_PDEATHSIG), CLONE_PARENT, setsid() and setpgid(): a worker and all processes that
 *    it started must end when the host kills them or ends;
 *  - memfd_create() and F_SETPIPE_SZ: memory that no limit counts, and files that Landlock lets be
 *    executed, as they belong to no path. A larger pipe is 16 times as
 *    large as others, and a file in memory has no limit but the machine's;
 *  - anonymous shared memory: it is such a file too, whose pages stay while any of them is mapped,
 *    and the limit of the address space counts what is mapped;
 *  - splice(), tee() and vmsplice(): a pipe would hold pages that are not mapped any more;
 *  - a thread with descriptors of its own: each would have as many as the limit allows;
 *  - record locks of a plugin that is granted no files: they are memory of the kernel that no limit
 *    counts, and who has no file but libraries has nobody to lock out;
 *  - System V IPC and POSIX message queues: they reach other processes of the user.
 *
 * Calls that take their arguments in memory, where a filter cannot read them, return ENOSYS if the
 * C library then falls back to an older call. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "worker/filter-make.h"
#include "worker/sandbox-kernel.h"

/* Newer than some headers. */
#define PRCTL_SET_VMA    0x53564d41u /* names for memory */
#define MAPPED_DROPPABLE 0x08u       /* MAP_DROPPABLE */

/* Calls from this number on are newer than the newest call that was considered
 * (set_mempolicy_home_node, 5.17); from there on, numbers are the same on all architectures. They
 * return ENOSYS, as programs that have a fallback do not use it after EPERM. */
#define CALL_UNKNOWN_FIRST 450u
/* First number of x32, a different ABI with the same architecture value. */
#define CALL_X32_FIRST     0x40000000u

/* ------------------------------------------------------- calls, by their name */

static const char *const always[] = {
        /* memory */
        "brk",
        "membarrier",
        "mlock",
        "mlock2",
        "mprotect",
        "mremap",
        "msync",
        "munlock",
        "munmap",
        /* open descriptors * */
        "close",
        "close_range",
        "dup",
        "dup2",
        "dup3",
        "epoll_create",
        "epoll_create1",
        "epoll_ctl",
        "epoll_pwait",
        "epoll_pwait2",
        "epoll_wait",
        "eventfd",
        "eventfd2",
        "lseek",
        "pipe",
        "pipe2",
        "poll",
        "ppoll",
        "pread64",
        "preadv",
        "preadv2",
        "pselect6",
        "pwrite64",
        "pwritev",
        "pwritev2",
        "read",
        "readv",
        "select",
        "sendfile",
        "write",
        "writev",
        /* files: Landlock decides which; some calls only read what is visible without opening a
         * file
         */
        "access",
        "chdir",
        "copy_file_range",
        "creat",
        "faccessat",
        "faccessat2",
        "fadvise64",
        "fchdir",
        "fdatasync",
        "flock",
        "fstat",
        "fstatfs",
        "fsync",
        "ftruncate",
        "getcwd",
        "getdents",
        "getdents64",
        "link",
        "linkat",
        "lstat",
        "mkdir",
        "mkdirat",
        "newfstatat",
        "readahead",
        "readlink",
        "readlinkat",
        "rename",
        "renameat",
        "renameat2",
        "rmdir",
        "stat",
        "statfs",
        "statx",
        "symlink",
        "symlinkat",
        "sync_file_range",
        "umask",
        "unlink",
        "unlinkat",
        /* threads */
        "exit",
        "exit_group",
        "futex",
        "futex_waitv",
        "get_robust_list",
        "pause",
        "restart_syscall",
        "rseq",
        "rt_sigaction",
        "rt_sigpending",
        "rt_sigprocmask",
        "rt_sigreturn",
        "rt_sigsuspend",
        "rt_sigtimedwait",
        "sched_get_priority_max",
        "sched_get_priority_min",
        "sched_getaffinity",
        "sched_getparam",
        "sched_getscheduler",
        "sched_yield",
        "set_robust_list",
        "set_tid_address",
        "sigaltstack",
        "signalfd",
        "signalfd4",
        /* time */
        "alarm",
        "clock_getres",
        "clock_gettime",
        "clock_nanosleep",
        "getitimer",
        "gettimeofday",
        "nanosleep",
        "setitimer",
        "time",
        "timer_create",
        "timer_delete",
        "timer_getoverrun",
        "timer_gettime",
        "timer_settime",
        "timerfd_create",
        "timerfd_gettime",
        "timerfd_settime",
        "times",
        /* identity and location of the process */
        "capget",
        "getcpu",
        "getegid",
        "geteuid",
        "getgid",
        "getgroups",
        "getpgid",
        "getpgrp",
        "getpid",
        "getppid",
        "getpriority",
        "getrandom",
        "getresgid",
        "getresuid",
        "getrusage",
        "getsid",
        "gettid",
        "getuid",
        "sysinfo",
        "uname",
        /* the inherited socket */
        "getpeername",
        "getsockname",
        "getsockopt",
        "recvfrom",
        "recvmmsg",
        "recvmsg",
        "shutdown",
};

static const char *const with_network[] = {"connect"};

/* Children must be ended, so signals are limited by Landlock's scope only. */
static const char *const with_spawn[] = {
        "execve", "execveat", "kill",  "rt_sigqueueinfo", "rt_tgsigqueueinfo",
        "tgkill", "tkill",    "wait4", "waitid"};

/* Each new process is counted. */
static const char *const with_spawn_counted[] = {"fork", "vfork"};

/* Landlock before version 3 does not control truncating: truncate() could empty any file, and
 * openat2(), whose flags a filter cannot read, any that may be read. */
static const char *const with_landlock[] = {"openat2", "truncate"};

/* Return ENOSYS: libraries then use calls whose arguments a filter can read. */
static const char *const as_if_older[] = {"clone3"};
static const char *const as_if_older_without_landlock[] = {"openat2"};

/* -------------------------------------------------- calls, by their arguments */

#define ARGUMENTS_MAX 3

/* An allowed use of a call: all comparisons must match. */
struct use {
    const char *name;
    struct scmp_arg_cmp arguments[ARGUMENTS_MAX];
    unsigned argument_count;
};

/* Comparisons for .arguments: some bits; an int; a pointer. */
#define BITS(argument, mask, bits) \
    { (argument), SCMP_CMP_MASKED_EQ, (mask), (bits) }
#define INT(argument, value) BITS(argument, UINT32_MAX, (uint32_t)(value))
#define NOTHING(argument) \
    { (argument), SCMP_CMP_EQ, 0, 0 }

#define USE1(name, first) \
    { (name), {first}, 1 }
#define USE2(name, first, second) \
    { (name), {first, second}, 2 }
#define USE3(name, first, second, third) \
    { (name), {first, second, third}, 3 }

/* With a Landlock that has no right to truncate, O_TRUNC without write access would empty a
 * read-only file. */
#define OPEN(name, flags)                                                             \
    USE1(name, BITS(flags, O_TRUNC, 0)), USE1(name, BITS(flags, O_WRONLY, O_WRONLY)), \
            USE1(name, BITS(flags, O_RDWR, O_RDWR))

#define SOCKET_TYPE_MASK 0xfu /* the rest is SOCK_CLOEXEC and SOCK_NONBLOCK */

/* Flags of sending that none may have. */
#define SEND_NEVER ((uint32_t)(MSG_FASTOPEN | MSG_OOB))

#define CLONE_NAMESPACES                                                                          \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET)
/* Flags that neither a new thread nor a new process may have. */
#define CLONE_NEVER ((uint32_t)(CLONE_NAMESPACES | CLONE_PARENT | CLONE_PTRACE))

static const struct use always_uses[] = {
        OPEN("open", 1), OPEN("openat", 2), USE1("sched_setaffinity", INT(0, 0)),
        USE2("prlimit64", INT(0, 0), NOTHING(2)),
        /* The worker lowers this limit last, and it can never be raised. */
        USE2("prlimit64", INT(0, 0), INT(1, RLIMIT_NOFILE)),

        USE1("fcntl", INT(1, F_DUPFD)), USE1("fcntl", INT(1, F_DUPFD_CLOEXEC)),
        USE1("fcntl", INT(1, F_GETFD)), USE1("fcntl", INT(1, F_SETFD)),
        USE1("fcntl", INT(1, F_GETFL)), USE1("fcntl", INT(1, F_SETFL)),
        USE1("fcntl", INT(1, F_GETLK)), USE1("fcntl", INT(1, F_OFD_GETLK)),
        USE1("fcntl", INT(1, F_GETPIPE_SZ)), USE1("fcntl", INT(1, F_GET_SEALS)),
        USE1("fcntl", INT(1, F_ADD_SEALS)),

        /* Not anonymous memory that is shared. MAP_DROPPABLE is private too; the C library has the
         * state of getrandom() in it. */
        USE1("mmap", BITS(3, MAP_ANONYMOUS, 0)), USE1("mmap", BITS(3, MAP_TYPE, MAP_PRIVATE)),
        USE1("mmap", BITS(3, MAP_TYPE, MAPPED_DROPPABLE)),

        /* Not MADV_REMOVE, nor the same by fallocate(): it would remove pages of memory shared with
         * the host. */
        USE1("fallocate", BITS(1, ~(uint32_t)FALLOC_FL_KEEP_SIZE, 0)),
        USE1("madvise", INT(2, MADV_NORMAL)), USE1("madvise", INT(2, MADV_RANDOM)),
        USE1("madvise", INT(2, MADV_SEQUENTIAL)), USE1("madvise", INT(2, MADV_WILLNEED)),
        USE1("madvise", INT(2, MADV_DONTNEED)), USE1("madvise", INT(2, MADV_FREE)),
        USE1("madvise", INT(2, MADV_HUGEPAGE)), USE1("madvise", INT(2, MADV_NOHUGEPAGE)),
        USE1("madvise", INT(2, MADV_DONTDUMP)), USE1("madvise", INT(2, MADV_DODUMP)),
        USE1("madvise", INT(2, MADV_DONTFORK)), USE1("madvise", INT(2, MADV_DOFORK)),

        USE1("ioctl", INT(1, FIOCLEX)), USE1("ioctl", INT(1, FIONCLEX)),
        USE1("ioctl", INT(1, FIONBIO)), USE1("ioctl", INT(1, FIONREAD)),
        USE1("ioctl", INT(1, TCGETS)), USE1("ioctl", INT(1, TIOCGWINSZ)),

        USE1("prctl", INT(0, PR_SET_NAME)), USE1("prctl", INT(0, PR_GET_NAME)),
        USE1("prctl", INT(0, PR_GET_DUMPABLE)), USE1("prctl", INT(0, PR_GET_NO_NEW_PRIVS)),
        USE1("prctl", INT(0, PR_GET_PDEATHSIG)), USE1("prctl", INT(0, PR_GET_SECCOMP)),
        USE1("prctl", INT(0, PR_CAPBSET_READ)), USE1("prctl", INT(0, PRCTL_SET_VMA)),

        USE3("socketpair", INT(0, AF_UNIX), BITS(1, SOCKET_TYPE_MASK, SOCK_STREAM), INT(2, 0)),
        USE1("sendto", BITS(3, SEND_NEVER, 0)),

#if defined(__x86_64__)
        /* The loader of an exec'd program sets up its thread-local storage with it. */
        USE1("arch_prctl", INT(0, 0x1002)), /* ARCH_SET_FS */
        USE1("arch_prctl", INT(0, 0x1003)), /* ARCH_GET_FS */
#endif
};

static const struct use lock_uses[] = {
        USE1("fcntl", INT(1, F_SETLK)),
        USE1("fcntl", INT(1, F_SETLKW)),
        USE1("fcntl", INT(1, F_OFD_SETLK)),
        USE1("fcntl", INT(1, F_OFD_SETLKW)),
};

/* TCP or UDP, with the number of the protocol or 0. */
#define INTERNET(family, type, protocol)                                        \
    USE3("socket", INT(0, family), BITS(1, SOCKET_TYPE_MASK, type), INT(2, 0)), \
            USE3("socket", INT(0, family), BITS(1, SOCKET_TYPE_MASK, type), INT(2, protocol))

static const struct use tcp_uses[] = {
        INTERNET(AF_INET, SOCK_STREAM, IPPROTO_TCP),
        INTERNET(AF_INET6, SOCK_STREAM, IPPROTO_TCP),
};

static const struct use udp_uses[] = {
        INTERNET(AF_INET, SOCK_DGRAM, IPPROTO_UDP),
        INTERNET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP),
};

/* An option is one of a client if it neither chooses nor shares a port. */
#define OPTION(level, name) USE2("setsockopt", INT(1, level), INT(2, name))

static const struct use network_uses[] = {
        /* getaddrinfo() of some C libraries reads the machine's addresses there; glibc's wants to
         * bind() the socket, and does without it. */
        USE2("socket", INT(0, AF_NETLINK), INT(2, NETLINK_ROUTE)),
        USE1("sendmsg", BITS(2, SEND_NEVER, 0)),
        USE1("sendmmsg", BITS(3, SEND_NEVER, 0)),

        OPTION(SOL_SOCKET, SO_KEEPALIVE),
        OPTION(SOL_SOCKET, SO_RCVTIMEO),
        OPTION(SOL_SOCKET, SO_SNDTIMEO),
        OPTION(SOL_SOCKET, SO_RCVBUF),
        OPTION(SOL_SOCKET, SO_SNDBUF),
        OPTION(SOL_SOCKET, SO_RCVLOWAT),
        OPTION(SOL_SOCKET, SO_OOBINLINE),
        OPTION(SOL_SOCKET, SO_BROADCAST),
        OPTION(SOL_SOCKET, SO_PRIORITY),
        OPTION(SOL_SOCKET, SO_TIMESTAMP),
        OPTION(SOL_SOCKET, SO_TIMESTAMPNS),

        OPTION(IPPROTO_IP, IP_TOS),
        OPTION(IPPROTO_IP, IP_TTL),
        OPTION(IPPROTO_IP, IP_MTU_DISCOVER),
        OPTION(IPPROTO_IP, IP_RECVERR),
        OPTION(IPPROTO_IP, IP_PKTINFO),
        OPTION(IPPROTO_IP, IP_RECVTOS),
        OPTION(IPPROTO_IP, IP_RECVTTL),
        OPTION(IPPROTO_IP, IP_MULTICAST_IF),
        OPTION(IPPROTO_IP, IP_MULTICAST_TTL),
        OPTION(IPPROTO_IP, IP_MULTICAST_LOOP),

        OPTION(IPPROTO_IPV6, IPV6_V6ONLY),
        OPTION(IPPROTO_IPV6, IPV6_TCLASS),
        OPTION(IPPROTO_IPV6, IPV6_UNICAST_HOPS),
        OPTION(IPPROTO_IPV6, IPV6_MTU_DISCOVER),
        OPTION(IPPROTO_IPV6, IPV6_RECVERR),
        OPTION(IPPROTO_IPV6, IPV6_RECVPKTINFO),
        OPTION(IPPROTO_IPV6, IPV6_RECVTCLASS),
        OPTION(IPPROTO_IPV6, IPV6_RECVHOPLIMIT),
        OPTION(IPPROTO_IPV6, IPV6_MULTICAST_IF),
        OPTION(IPPROTO_IPV6, IPV6_MULTICAST_HOPS),
        OPTION(IPPROTO_IPV6, IPV6_MULTICAST_LOOP),

        OPTION(IPPROTO_TCP, TCP_NODELAY),
        OPTION(IPPROTO_TCP, TCP_CORK),
        OPTION(IPPROTO_TCP, TCP_MAXSEG),
        OPTION(IPPROTO_TCP, TCP_QUICKACK),
        OPTION(IPPROTO_TCP, TCP_KEEPIDLE),
        OPTION(IPPROTO_TCP, TCP_KEEPINTVL),
        OPTION(IPPROTO_TCP, TCP_KEEPCNT),
        OPTION(IPPROTO_TCP, TCP_SYNCNT),
        OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT),
        OPTION(IPPROTO_TCP, TCP_NOTSENT_LOWAT),
        OPTION(IPPROTO_TCP, TCP_WINDOW_CLAMP),

        OPTION(IPPROTO_UDP, UDP_SEGMENT),
        OPTION(IPPROTO_UDP, UDP_GRO),
};

/* The descriptor that the worker sends, after which nothing can be sent. */
static const struct use no_network_uses[] = {
        USE1("sendmsg", INT(0, SANDBOX_FILTER_SENDER)),
        USE2("shutdown", INT(0, SANDBOX_FILTER_SENDER), INT(1, SHUT_WR)),
};

/* Signals to this process only, for abort(), raise() and pthread_kill(); the worker puts its
 * process id in.
 */
static const struct use alone_uses[] = {
        USE1("kill", INT(0, SANDBOX_FILTER_SELF)),
        USE1("tgkill", INT(0, SANDBOX_FILTER_SELF)),
        USE1("tkill", INT(0, SANDBOX_FILTER_SELF)),
        USE1("rt_sigqueueinfo", INT(0, SANDBOX_FILTER_SELF)),
        USE1("rt_tgsigqueueinfo", INT(0, SANDBOX_FILTER_SELF)),
};

/* Each new thread, and with spawn each new process, is counted. */
static const struct use thread_uses[] = {
        USE1("clone",
             BITS(0, CLONE_NEVER | CLONE_THREAD | CLONE_FILES, CLONE_THREAD | CLONE_FILES)),
};
static const struct use spawn_uses[] = {
        USE1("clone", BITS(0, CLONE_NEVER, 0)),
};

/* -------------------------------------------------------------------- making */

/* What libseccomp refused first. */
struct making {
    scmp_filter_ctx filter;
    int failed;
    const char **what;
};

static void note(struct making *making, int failed, const char *what) {
    if (making->failed == 0 && failed != 0) {
        making->failed = failed;
        *making->what = what;
    }
}

/* Not every architecture has every call: a missing call needs no rule. */
static void add_rule(struct making *making, const char *name, uint32_t action, unsigned count,
                     const struct scmp_arg_cmp *arguments) {
    int number = seccomp_syscall_resolve_name(name);
    if (number >= 0) {
        note(making, seccomp_rule_add_array(making->filter, action, number, count, arguments),
             name);
    }
}

static void add_names(struct making *making, const char *const *names, size_t count,
                      uint32_t action) {
    for (size_t i = 0; i < count; i++) {
        add_rule(making, names[i], action, 0, NULL);
    }
}

static void add_uses(struct making *making, const struct use *uses, size_t count, uint32_t action) {
    for (size_t i = 0; i < count; i++) {
        add_rule(making, uses[i].name, action, uses[i].argument_count, uses[i].arguments);
    }
}

#define ADD_NAMES(making, names, action) add_names((making), (names), ARRAY_LENGTH(names), (action))
#define ADD_USES(making, uses, action)   add_uses((making), (uses), ARRAY_LENGTH(uses), (action))

#define COUNTED SCMP_ACT_TRACE(SANDBOX_FILTER_COUNTED)

static void add_all(struct making *making, unsigned grants) {
    static const struct scmp_arg_cmp local = INT(0, AF_UNIX);
    bool has_network = (grants & (FILTER_TCP | FILTER_UDP)) != 0;
    bool may_spawn = (grants & FILTER_SPAWN) != 0;
    ADD_NAMES(making, always, SCMP_ACT_ALLOW);
    if ((grants & FILTER_TRUNCATE) != 0) {
        ADD_NAMES(making, with_landlock, SCMP_ACT_ALLOW);
    } else {
        ADD_NAMES(making, as_if_older_without_landlock, SCMP_ACT_ERRNO(ENOSYS));
    }
    ADD_NAMES(making, as_if_older, SCMP_ACT_ERRNO(ENOSYS));
    ADD_USES(making, always_uses, SCMP_ACT_ALLOW);
    if ((grants & FILTER_FILES) != 0) {
        ADD_USES(making, lock_uses, SCMP_ACT_ALLOW);
    }
    /* Sockets are refused with the errno that other sandboxes and firewalls give: all sockets, or
     * with network the local ones. */
    add_rule(making, "socket", SCMP_ACT_ERRNO(EACCES), has_network ? 1 : 0, &local);
    if (has_network) {
        ADD_NAMES(making, with_network, SCMP_ACT_ALLOW);
        ADD_USES(making, network_uses, SCMP_ACT_ALLOW);
    } else {
        ADD_USES(making, no_network_uses, SCMP_ACT_ALLOW);
    }
    if ((grants & FILTER_TCP) != 0) {
        ADD_USES(making, tcp_uses, SCMP_ACT_ALLOW);
    }
    if ((grants & FILTER_UDP) != 0) {
        ADD_USES(making, udp_uses, SCMP_ACT_ALLOW);
    }
    if (may_spawn) {
        ADD_NAMES(making, with_spawn, SCMP_ACT_ALLOW);
        ADD_NAMES(making, with_spawn_counted, COUNTED);
        ADD_USES(making, spawn_uses, COUNTED);
    } else {
        ADD_USES(making, thread_uses, COUNTED);
        ADD_USES(making, alone_uses, SCMP_ACT_ALLOW);
    }
}

/* libseccomp 2.5 can export a filter only to a file. */
static bool export_filter(struct making *making, struct sock_filter *ret, size_t room,
                          size_t *ret_count) {
    CLEANUP(closep) int fd = memfd_create("filter", MFD_CLOEXEC);
    note(making, fd < 0 ? -errno : seccomp_export_bpf(making->filter, fd), "a file in memory");
    if (making->failed != 0) {
        return false;
    }
    ssize_t size = pread(fd, ret, room * sizeof *ret, 0);
    if (size < 0 || (size_t)size == room * sizeof *ret || (size_t)size % sizeof *ret != 0) {
        note(making, size < 0 ? -errno : -E2BIG, "its size");
        return false;
    }
    *ret_count = (size_t)size / sizeof *ret;
    return true;
}

CLEANUP_DEFINE(void, seccomp_release)

/* The first that can kill a process. Otherwise libseccomp would ask the kernel on which toolrack is
 * built what it can do. */
#define API_LEVEL 3

int filter_make(unsigned grants, enum filter_form form, struct sock_filter *ret, size_t room,
                size_t *ret_count, const char **ret_what) {
    CLEANUP(seccomp_releasep) scmp_filter_ctx filter = NULL;
    struct making making = {.what = ret_what};
    /* Placed before libseccomp's code, whose jumps all go forwards: the check for calls newer than
     * the list. The architecture is checked here too, as the kernel also evaluates all calls of the
     * other architecture when the filter is put into force. */
    const struct sock_filter unknown[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CALL_UNKNOWN_FIRST, 0, 2),
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CALL_X32_FIRST, 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };
    assert(room > ARRAY_LENGTH(unknown));
    memcpy(ret, unknown, sizeof unknown);
    note(&making, seccomp_api_set(API_LEVEL), "its level");
    making.filter = filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    note(&making, filter == NULL ? -ENOMEM : 0, "a filter");
    if (making.failed == 0) {
        note(&making, seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
             "SCMP_FLTATR_ACT_BADARCH");
        note(&making, seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, (uint32_t)form),
             "SCMP_FLTATR_CTL_OPTIMIZE");
        add_all(&making, grants);
    }
    if (making.failed == 0 && export_filter(&making, ret + ARRAY_LENGTH(unknown),
                                            room - ARRAY_LENGTH(unknown), ret_count)) {
        *ret_count += ARRAY_LENGTH(unknown);
    }
    return making.failed;
}
