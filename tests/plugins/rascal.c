/* Fault: is hostile to who tests it. It lies where the process that it is tested in reports, leaves
 * that process, and reaches out of it. */
#include <sys/mman.h>
#include <sys/socket.h>
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

TR_PLUGIN("rascal", "1.0.0", lie, stay, reach, grab)
