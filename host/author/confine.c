#include "author/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* As the kernel has them: headers of the build machine may be older than the kernel. */
#define SYSCALL_CREATE   444
#define SYSCALL_ADD_RULE 445
#define SYSCALL_RESTRICT 446
#define SYSCALL_IO_URING 425
#define VERSION_WANTED   1u

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

/* What Landlock does not see: sockets of other kinds than TCP, such as that of a container engine,
 * and memory that stays when the process has ended. Workers refuse the same. memfd_create() is
 * left: a step that compares with a worker starts one, which needs it. A plugin that makes system
 * calls of another ABI gets none. */
#if defined(__x86_64__)
#define NATIVE    AUDIT_ARCH_X86_64
#define OTHER_ABI 0x40000000u /* x32 */
#elif defined(__aarch64__)
#define NATIVE    AUDIT_ARCH_AARCH64
#define OTHER_ABI UINT32_MAX
#endif
#define LOAD(member)        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define REFUSE              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define REFUSE_CALL(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), REFUSE

static bool refuse_calls(void) {
#ifdef NATIVE
    struct sock_filter code[] = {LOAD(arch),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
                                 REFUSE,
                                 LOAD(nr),
                                 BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_ABI, 0, 1),
                                 REFUSE,
                                 REFUSE_CALL(SYS_socket),
                                 REFUSE_CALL(SYS_shmget),
                                 REFUSE_CALL(SYSCALL_IO_URING),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
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
