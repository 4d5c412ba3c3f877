#include "worker/launch.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#define LOAD(member) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, member))
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(value), 0, skipped)
#define RETURN(action)         BPF_STMT(BPF_RET | BPF_K, (unsigned)(action))

/* Landlock has no rules for datagrams and local sockets. Calls of another architecture are refused,
 * as their numbers mean something else. What would leave the process group does nothing, and says
 * that it did: the group is what is measured, and what ends. False with errno. */
static bool filter_calls(bool network) {
    struct sock_filter all[] = {
            LOAD(arch),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCHITECTURE, 1, 0),
            RETURN(SECCOMP_RET_KILL_PROCESS),
            LOAD(nr),
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN_CALLS, 0, 1),
            RETURN(SECCOMP_RET_ERRNO | ENOSYS),
            UNLESS(SYS_io_uring_setup, 1),
            RETURN(SECCOMP_RET_ERRNO | ENOSYS),
            UNLESS(SYS_setsid, 1),
            RETURN(SECCOMP_RET_ERRNO),
            UNLESS(SYS_setpgid, 1),
            RETURN(SECCOMP_RET_ERRNO),
            UNLESS(SYS_socket, 6), /* any other call is allowed: to the last line */
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args)),
            UNLESS(network ? AF_INET : -1, 1),
            RETURN(SECCOMP_RET_ALLOW),
            UNLESS(network ? AF_INET6 : -1, 1),
            RETURN(SECCOMP_RET_ALLOW),
            RETURN(SECCOMP_RET_ERRNO | EACCES),
            RETURN(SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = ARRAY_LENGTH(all), .filter = all};
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
    if (!filter_calls(launch->policy.network)) {
        if (errno != EINVAL) {
            fail("confine", launch->program[0], strerror(errno));
        }
        (void)fputs("toolrack: the kernel has no seccomp: the sockets that this program may make "
                    "are not limited\n",
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
