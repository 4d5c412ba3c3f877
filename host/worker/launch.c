#include "worker/launch.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "worker/sandbox-kernel.h"
#include "worker/sandbox.h"

/* What programs of all kinds read beside libraries: settings of the system and what it says of
 * itself. Landlock itself keeps other processes' memory and environment in /proc from it. */
static const char *const system_paths[] = {
        "/usr", "/lib",  "/lib64", "/bin", "/sbin",
        "/etc", "/proc", "/sys",   "/opt", "/run/systemd/resolve",
        NULL};

bool launch_reads(const char *path) {
    for (const char *const *at = system_paths; *at != NULL; at++) {
        size_t length = strlen(*at);
        if (strncmp(path, *at, length) == 0 && (path[length] == '/' || path[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* What the arguments say. */
struct launch {
    const char *folder;
    const char *read[LAUNCH_PATHS_MAX];
    const char *write[LAUNCH_PATHS_MAX];
    struct sandbox_policy policy;
    rlim_t file_mb; /* of each process; 0: not limited, as the following */
    rlim_t memory_mb;
    char **program;
};

_Noreturn static void fail(const char *what, const char *name, const char *why) {
    (void)fprintf(stderr, "toolrack: cannot %s%s%s: %s\n", what, name[0] != '\0' ? " " : "", name,
                  why);
    _exit(LAUNCH_EXIT_FAILED);
}

static void read_arguments(struct launch *launch, char **arguments) {
    struct sandbox_policy *policy = &launch->policy;
    char **at = arguments + 2;
    for (; *at != NULL && strcmp(*at, "--") != 0; at++) {
        if (strcmp(*at, "--network") == 0) {
            policy->network = policy->udp = true;
        } else if (at[1] == NULL) {
            break;
        } else if (strcmp(*at, "--folder") == 0) {
            launch->folder = *++at;
        } else if (strcmp(*at, "--read") == 0 && policy->read_path_count < LAUNCH_PATHS_MAX) {
            launch->read[policy->read_path_count++] = *++at;
        } else if (strcmp(*at, "--write") == 0 && policy->write_path_count < LAUNCH_PATHS_MAX) {
            launch->write[policy->write_path_count++] = *++at;
        } else if (strcmp(*at, "--file") == 0) {
            launch->file_mb = strtoul(*++at, NULL, 10);
        } else if (strcmp(*at, "--memory") == 0) {
            launch->memory_mb = strtoul(*++at, NULL, 10);
        } else {
            fail("launch a program", "", "its arguments are not as worker/launch.h has them");
        }
    }
    if (*at == NULL || at[1] == NULL) {
        fail("launch a program", "", "no program is named");
    }
    launch->program = at + 1;
    policy->read_paths = launch->read;
    policy->write_paths = launch->write;
    policy->spawn = true;
}

#ifdef __aarch64__
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#endif
/* Calls of the x32 interface have this bit, and would pass as other numbers. */
#define FOREIGN_CALLS 0x40000000u

#define LOAD(at)               BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(at))
#define LOAD_CALL              LOAD(offsetof(struct seccomp_data, nr))
#define LOAD_ARGUMENT(index)   LOAD(offsetof(struct seccomp_data, args) + 8u * (index))
#define KEEP(bits)             BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (unsigned)(bits))
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, skipped)
#define IF(value, skipped)     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), skipped, 0)
#define RETURN(action)         BPF_STMT(BPF_RET | BPF_K, (unsigned)(action))
#define REFUSE(error)          RETURN(SECCOMP_RET_ERRNO | (unsigned)(error))

#define TYPE_BITS     0xfu /* the others of a socket's type are flags */
#define FILTER_LENGTH 192u

/* What no foreign program does, or only seems to do. A program for which there is a way without the
 * call takes it after ENOSYS. */
static const struct refusal {
    int call;
    int error;
} refused[] = {
        /* it makes sockets too */
        {SYS_io_uring_setup, ENOSYS},
        /* what would leave the process group does nothing, and says that it did: the group is what
         * is measured, and what ends */
        {SYS_setsid, 0},
        {SYS_setpgid, 0},
        /* servers; Landlock knows those of TCP that choose their port, not those that do not */
        {SYS_bind, EACCES},
        {SYS_listen, EACCES},
        /* memory and queues that are the user's, not the program's: they reach his other processes,
         * and stay when it has ended */
        {SYS_shmget, ENOSYS},
        {SYS_shmat, ENOSYS},
        {SYS_shmctl, ENOSYS},
        {SYS_semget, ENOSYS},
        {SYS_semop, ENOSYS},
        {SYS_semtimedop, ENOSYS},
        {SYS_semctl, ENOSYS},
        {SYS_msgget, ENOSYS},
        {SYS_msgsnd, ENOSYS},
        {SYS_msgrcv, ENOSYS},
        {SYS_msgctl, ENOSYS},
        {SYS_mq_open, ENOSYS},
        {SYS_mq_unlink, ENOSYS},
        /* the user's keys */
        {SYS_add_key, ENOSYS},
        {SYS_request_key, ENOSYS},
        {SYS_keyctl, ENOSYS},
};

/* Landlock has no right for modes, owners, times and attributes: of all files that are the user's.
 * Who may write nothing needs none of these. */
static const int changes_of_files[] = {
#ifndef __aarch64__ /* which has only the newer ones */
        SYS_chmod,
        SYS_chown,
        SYS_lchown,
        SYS_utime,
        SYS_utimes,
        SYS_futimesat,
#endif
        SYS_fchmod,
        SYS_fchmodat,
        SYS_fchown,
        SYS_fchownat,
        SYS_utimensat,
        SYS_setxattr,
        SYS_lsetxattr,
        SYS_fsetxattr,
        SYS_removexattr,
        SYS_lremovexattr,
        SYS_fremovexattr,
        452, /* fchmodat2 */
        463, /* setxattrat */
        466, /* removexattrat */
        469, /* file_setattr */
};

/* Memory that belongs to a file without a name stays when nothing that is measured has it. */
static const int files_of_memory[] = {SYS_memfd_create, 447 /* memfd_secret */};

struct filter {
    struct sock_filter all[FILTER_LENGTH];
    unsigned short length;
};

static void add_lines(struct filter *filter, const struct sock_filter *lines, size_t count) {
    for (size_t i = 0; i < count && filter->length < FILTER_LENGTH; i++) {
        filter->all[filter->length++] = lines[i];
    }
}
#define ADD(filter, ...)                                         \
    add_lines(filter, (const struct sock_filter[]){__VA_ARGS__}, \
              ARRAY_LENGTH(((const struct sock_filter[]){__VA_ARGS__})))

static void add_refusals(struct filter *filter, const int *calls, size_t count, int error) {
    for (size_t i = 0; i < count; i++) {
        ADD(filter, UNLESS(calls[i], 1), REFUSE(error));
    }
}

/* Without a network no sockets but pairs; with it those of TCP and UDP. An end of a pair of
 * datagrams could send to any local socket that has a name. */
static void add_sockets(struct filter *filter, bool network) {
    ADD(filter, UNLESS(SYS_socketpair, 6), LOAD_ARGUMENT(1), KEEP(TYPE_BITS), IF(SOCK_STREAM, 2),
        IF(SOCK_SEQPACKET, 1), REFUSE(EACCES), RETURN(SECCOMP_RET_ALLOW));
    ADD(filter, UNLESS(SYS_socket, network ? 12 : 1));
    if (network) {
        ADD(filter, LOAD_ARGUMENT(0), IF(AF_INET, 1), UNLESS(AF_INET6, 8), LOAD_ARGUMENT(1),
            KEEP(TYPE_BITS), IF(SOCK_STREAM, 1), UNLESS(SOCK_DGRAM, 4), LOAD_ARGUMENT(2), IF(0, 3),
            IF(IPPROTO_TCP, 2), IF(IPPROTO_UDP, 1));
    }
    ADD(filter, REFUSE(EACCES));
    if (network) {
        ADD(filter, RETURN(SECCOMP_RET_ALLOW));
    }
}

/* Landlock has no rules for what is refused here. Calls of another architecture are refused, as
 * their numbers mean something else. False with errno. */
static bool filter_calls(const struct launch *launch) {
    struct filter filter = {.length = 0};
    ADD(&filter, LOAD(offsetof(struct seccomp_data, arch)), IF(OWN_ARCHITECTURE, 1),
        RETURN(SECCOMP_RET_KILL_PROCESS), LOAD_CALL,
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN_CALLS, 0, 1), REFUSE(ENOSYS));
    for (size_t i = 0; i < ARRAY_LENGTH(refused); i++) {
        add_refusals(&filter, &refused[i].call, 1, refused[i].error);
    }
    if (launch->policy.write_path_count == 0) {
        add_refusals(&filter, changes_of_files, ARRAY_LENGTH(changes_of_files), EPERM);
    }
    if (launch->memory_mb != 0) {
        add_refusals(&filter, files_of_memory, ARRAY_LENGTH(files_of_memory), ENOSYS);
        ADD(&filter, UNLESS(SYS_mmap, 5), LOAD_ARGUMENT(3), KEEP(MAP_TYPE | MAP_ANONYMOUS),
            UNLESS(MAP_SHARED | MAP_ANONYMOUS, 1), REFUSE(EPERM), RETURN(SECCOMP_RET_ALLOW));
    }
    add_sockets(&filter, launch->policy.network);
    ADD(&filter, RETURN(SECCOMP_RET_ALLOW));
    const struct sock_fprog program = {.len = filter.length, .filter = filter.all};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void confine(const struct launch *launch) {
    struct toolrack_error why;
    const char *paths[ARRAY_LENGTH(system_paths) + 1];
    size_t count = 0;
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    for (; system_paths[count] != NULL; count++) {
        paths[count] = system_paths[count];
    }
    /* The program itself, wherever it is: its name was written for it to be run. */
    paths[count++] = strchr(launch->program[0], '/') != NULL ? launch->program[0] : NULL;
    paths[count] = NULL;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        fail("confine", launch->program[0], strerror(errno));
    }
    int version = sandbox_landlock_version();
    if (version == 0) {
        (void)fputs("toolrack: the kernel has no Landlock: the files that this program may use are "
                    "not limited\n",
                    stderr);
    } else if (sandbox_landlock_apply(version, &launch->policy, paths, &why) < 0) {
        fail("confine", launch->program[0], why.message);
    }
    if (!sandbox_drop_capabilities(true)) {
        fail("confine", launch->program[0], strerror(errno));
    }
    if (!filter_calls(launch)) {
        if (errno != EINVAL) {
            fail("confine", launch->program[0], strerror(errno));
        }
        (void)fputs("toolrack: the kernel has no seccomp: the sockets and the memory that this "
                    "program may make are not limited\n",
                    stderr);
    }
}

static void limit(int resource, rlim_t most) {
    const struct rlimit both = {most, most};
    if (most != 0) {
        (void)setrlimit((__rlimit_resource_t)resource, &both);
    }
}

/* What the group uses is measured by who started it; between two looks this stops one process. It
 * counts what may be written, as stacks of threads that are hardly used: so it is much more. */
static void set_limits(const struct launch *launch) {
    const rlim_t mb = 1024 * 1024;
    limit(RLIMIT_FSIZE, launch->file_mb * mb);
    limit(RLIMIT_DATA, launch->memory_mb != 0 ? (2 * launch->memory_mb + 1024) * mb : 0);
}

void launch_main(char **arguments) {
    struct launch launch = {0};
    read_arguments(&launch, arguments);
    if (launch.folder != NULL && chdir(launch.folder) < 0) {
        fail("enter the folder", launch.folder, strerror(errno));
    }
    set_limits(&launch);
    confine(&launch);
    (void)execvp(launch.program[0], launch.program);
    fail("start", launch.program[0], strerror(errno));
}
