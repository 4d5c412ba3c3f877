/* Fault: is hostile to who tests it. It lies where the process that it is tested in reports, leaves
 * that process, and reaches out of it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <toolrack/plugin.h>
#include <unistd.h>

/* More than the descriptors of a host. */
#define DESCRIPTORS 64
#define STAYS_S     600u

static int32_t lie(int32_t n) {
    static const char lines[] =
            "\n{\"kind\": \"checks\", \"number\": 99999999999, \"count\": 1}\n"
            "{\"kind\": \"skip\", \"number\": 99999999999, \"why\": \"it lies\"}\n"
            "{\"kind\": \"skip\", \"number\": 0, \"tool\": \"lie\"}\n"
            "{\"kind\": \"tool\", \"name\": \"\\u001b[31m\", \"skipped\": \"\\u001b[2J\"}\n"
            "{\"kind\": \"finding\", \"number\": 99999999999, \"came\": \"it lies\"}\n"
            "{\"kind\": \"sample\", \"number\": 99999999999, \"arguments\": \"{}\"}\n";
    for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS; fd++) {
        (void)!write(fd, lines, sizeof lines - 1);
    }
    return n;
}
TR_TOOL(lie, "Writes to whatever is open", TR_I32, (TR_I32, n, "a number"))

/* Its arguments are those of the process that it leaves, in which the test looks for its name. */
static int32_t stay(int32_t n) {
    if (fork() == 0) {
        (void)setsid();
        for (int fd = 0; fd < DESCRIPTORS; fd++) {
            (void)close(fd);
        }
        (void)sleep(STAYS_S);
        _exit(0);
    }
    return n;
}
TR_TOOL(stay, "Leaves a process in a session of its own", TR_I32, (TR_I32, n, "a number"))

/* What a worker refuses, the test has to refuse as well: the results are the same then. */
static int32_t reach(int32_t n) {
    const int fds[] = {socket(AF_INET, SOCK_DGRAM, 0), socket(AF_UNIX, SOCK_STREAM, 0)};
    int32_t got = n;
    for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            got ^= 1 << i;
            (void)close(fds[i]);
        }
    }
    return got;
}
TR_TOOL(reach, "Makes sockets", TR_I32, (TR_I32, n, "a number"))

/* The program is its author's file. What is set is what is there, in case that it is not refused.
 */
static int32_t change(int32_t n) {
    static const char program[] = "/proc/self/exe";
    struct stat st;
    int fd = open(program, O_RDONLY | O_CLOEXEC);
    int32_t got = n;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        const struct timespec times[] = {st.st_atim, st.st_mtim};
        got ^= fchmod(fd, st.st_mode & 07777) == 0 ? 1 : 0;
        got ^= fchown(fd, st.st_uid, st.st_gid) == 0 ? 2 : 0;
        got ^= futimens(fd, times) == 0 ? 4 : 0;
        got ^= fremovexattr(fd, "user.none") == 0 || errno != EPERM ? 8 : 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return got ^ (chmod(program, 0755) == 0 ? 16 : 0);
}
TR_TOOL(change, "Changes the mode, owner, times and attributes of a file", TR_I32,
        (TR_I32, n, "a number"))

/* Limits of another process, what stays in the kernel, what types into a terminal. */
static int32_t meddle(int32_t n) {
    struct rlimit limit;
    const char typed = '\n';
    int32_t got = n;
    if (prlimit(getppid(), RLIMIT_CORE, NULL, &limit) == 0) {
        got ^= prlimit(getppid(), RLIMIT_CORE, &limit, NULL) == 0 ? 1 : 0;
    }
    int set = semget(IPC_PRIVATE, 1, 0600);
    if (set >= 0) {
        got ^= 2;
        (void)semctl(set, 0, IPC_RMID);
    }
    got ^= ioctl(STDERR_FILENO, TIOCSTI, &typed) == 0 || errno != EPERM ? 4 : 0;
    return got;
}
TR_TOOL(meddle, "Reaches other processes, the kernel and a terminal", TR_I32,
        (TR_I32, n, "a number"))

/* More memory than either process may have; none of it is touched. */
static int32_t grab(int32_t n) {
    void *memory = mmap(NULL, (size_t)8 << 30, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return n;
    }
    (void)munmap(memory, (size_t)8 << 30);
    return n ^ 1;
}
TR_TOOL(grab, "Takes memory without end", TR_I32, (TR_I32, n, "a number"))

TR_PLUGIN("rascal", "1.0.0", lie, stay, reach, change, meddle, grab)
