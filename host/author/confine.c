#include "author/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* As the kernel has them: headers of the build machine may be older than the kernel. */
#define SYSCALL_CREATE        444
#define SYSCALL_ADD_RULE      445
#define SYSCALL_RESTRICT      446
#define SYSCALL_IO_URING      425
#define SYSCALL_FCHMODAT2     452
#define SYSCALL_SETXATTRAT    463
#define SYSCALL_REMOVEXATTRAT 466
#define SYSCALL_FILE_SETATTR  469
#define VERSION_WANTED        1u

struct ruleset {
    uint64_t files;
    uint64_t net;
    uint64_t scopes;
};

struct rule_beneath {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

/* Writing: of what is there (1), removing and making (4 to 12), moving between folders (13) and
 * truncating (14). */
#define FILES_WRITE    (UINT64_C(1) << 1)
#define FILES_MAKE     UINT64_C(0x1ff0)
#define FILES_REFER    (UINT64_C(1) << 13)
#define FILES_TRUNCATE (UINT64_C(1) << 14)
#define NET_TCP        UINT64_C(3)
#define SCOPE_ALL      UINT64_C(3)
#define RULE_BENEATH   1

static bool allow(int rules, const char *path, uint64_t rights) {
    CLEANUP(closep) int fd = open(path, O_PATH | O_CLOEXEC);
    const struct rule_beneath rule = {.allowed = rights, .folder = fd};
    return fd >= 0 && syscall(SYSCALL_ADD_RULE, rules, RULE_BENEATH, &rule, 0) == 0;
}

/* What Landlock does not see:
 *
 *  - sockets of other kinds than TCP, such as that of a container engine;
 *  - mode, owner, times and attributes of files: those of its author would change, though nothing
 *    is written to them. `files/stage.c` does without where that is refused;
 *  - what stays in the kernel when the process has ended: shared memory, queues, keys;
 *  - limits, priorities and processors of other processes;
 *  - devices that are open for reading only: a terminal takes settings, and input from root;
 *  - the machine's own state, if root tests.
 *
 * Workers refuse the same. memfd_create() is left: a step that compares with a worker starts one,
 * which needs it. A plugin that makes system calls of another ABI gets none. */
#if defined(__x86_64__)
#define NATIVE    AUDIT_ARCH_X86_64
#define OTHER_ABI 0x40000000u /* x32 */
#elif defined(__aarch64__)
#define NATIVE    AUDIT_ARCH_AARCH64
#define OTHER_ABI UINT32_MAX
#endif
#define LOAD(member)     BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
/* The 32 bits that the kernel uses of an argument; both processors are little-endian. */
#define LOAD_ARGUMENT(n) LOAD(args[n])
#define LOAD_ARGUMENT_HIGH(n) \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]) + sizeof(uint32_t))
#define IF(value, then, otherwise) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise)
#define REFUSE                     BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW                      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE_CALL(number)        IF(number, 0, 1), REFUSE

/* Calls that may be made about the process itself only, by its number 0: with the place of what is
 * to change, if that makes the difference. */
#define OWN_CALL(number) IF(number, 0, 4), LOAD_ARGUMENT(0), IF(0, 0, 1), ALLOW, REFUSE
#define OWN_CHANGE(number, n)                                                       \
    IF(number, 0, 8), LOAD_ARGUMENT(0), IF(0, 4, 0), LOAD_ARGUMENT(n), IF(0, 0, 3), \
            LOAD_ARGUMENT_HIGH(n), IF(0, 0, 1), ALLOW, REFUSE

static bool refuse_calls(void) {
#ifdef NATIVE
    static struct sock_filter code[] = {
            LOAD(arch), IF(NATIVE, 1, 0), REFUSE, LOAD(nr),
            BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_ABI, 0, 1), REFUSE, REFUSE_CALL(SYS_socket),
            REFUSE_CALL(SYSCALL_IO_URING),
    /* files */
#ifdef SYS_chmod
            REFUSE_CALL(SYS_chmod), REFUSE_CALL(SYS_chown), REFUSE_CALL(SYS_lchown),
            REFUSE_CALL(SYS_utime), REFUSE_CALL(SYS_utimes), REFUSE_CALL(SYS_futimesat),
#endif
            REFUSE_CALL(SYS_fchmod), REFUSE_CALL(SYS_fchmodat), REFUSE_CALL(SYSCALL_FCHMODAT2),
            REFUSE_CALL(SYS_fchown), REFUSE_CALL(SYS_fchownat), REFUSE_CALL(SYS_utimensat),
            REFUSE_CALL(SYS_setxattr), REFUSE_CALL(SYS_lsetxattr), REFUSE_CALL(SYS_fsetxattr),
            REFUSE_CALL(SYSCALL_SETXATTRAT), REFUSE_CALL(SYS_removexattr),
            REFUSE_CALL(SYS_lremovexattr), REFUSE_CALL(SYS_fremovexattr),
            REFUSE_CALL(SYSCALL_REMOVEXATTRAT), REFUSE_CALL(SYSCALL_FILE_SETATTR),
            REFUSE_CALL(SYS_quotactl),
            /* what stays */
            REFUSE_CALL(SYS_shmget), REFUSE_CALL(SYS_msgget), REFUSE_CALL(SYS_semget),
            REFUSE_CALL(SYS_mq_open), REFUSE_CALL(SYS_mq_unlink), REFUSE_CALL(SYS_add_key),
            REFUSE_CALL(SYS_request_key), REFUSE_CALL(SYS_keyctl), REFUSE_CALL(SYS_bpf),
            /* other processes */
            REFUSE_CALL(SYS_setpriority), REFUSE_CALL(SYS_ioprio_set),
            OWN_CALL(SYS_sched_setaffinity), OWN_CALL(SYS_sched_setparam),
            OWN_CALL(SYS_sched_setscheduler), OWN_CALL(SYS_sched_setattr),
            OWN_CHANGE(SYS_prlimit64, 2),
            /* the machine */
            REFUSE_CALL(SYS_reboot), REFUSE_CALL(SYS_kexec_load), REFUSE_CALL(SYS_init_module),
            REFUSE_CALL(SYS_finit_module), REFUSE_CALL(SYS_delete_module),
            REFUSE_CALL(SYS_settimeofday), REFUSE_CALL(SYS_clock_settime),
            REFUSE_CALL(SYS_adjtimex), REFUSE_CALL(SYS_clock_adjtime), REFUSE_CALL(SYS_sethostname),
            REFUSE_CALL(SYS_setdomainname), REFUSE_CALL(SYS_swapon), REFUSE_CALL(SYS_swapoff),
            REFUSE_CALL(SYS_acct), REFUSE_CALL(SYS_syslog), REFUSE_CALL(SYS_vhangup),
            /* devices: what a worker may ask of them, or of any file */
            IF(SYS_ioctl, 1, 0), ALLOW, LOAD_ARGUMENT(1), IF(FIOCLEX, 6, 0), IF(FIONCLEX, 5, 0),
            IF(FIONBIO, 4, 0), IF(FIONREAD, 3, 0), IF(TCGETS, 2, 0), IF(TIOCGWINSZ, 1, 0), REFUSE,
            ALLOW};
    const struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
#else
    return true;
#endif
}

bool confine(const char *folder) {
    static bool done; /* once in a process */
    if (done) {
        return true;
    }
    long version = syscall(SYSCALL_CREATE, NULL, 0, VERSION_WANTED);
    if (version < 1) {
        return false;
    }
    struct ruleset set = {.files = FILES_WRITE | FILES_MAKE};
    size_t size = sizeof set.files;
    set.files |= version >= 2 ? FILES_REFER : 0;
    set.files |= version >= 3 ? FILES_TRUNCATE : 0;
    if (version >= 4) {
        set.net = NET_TCP;
        size += sizeof set.net;
    }
    if (version >= 6) {
        set.scopes = SCOPE_ALL;
        size += sizeof set.scopes;
    }
    CLEANUP(closep) int rules = (int)syscall(SYSCALL_CREATE, &set, size, 0);
    done = rules >= 0 && allow(rules, folder, set.files) &&
           allow(rules, "/dev/null", FILES_WRITE | (set.files & FILES_TRUNCATE)) &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYSCALL_RESTRICT, rules, 0) == 0 && refuse_calls();
    return done;
}
