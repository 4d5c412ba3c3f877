/* main.c - the process of the command: its descriptors and signals. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/run.h"

/* Keep 0, 1 and 2 open: a file opened later must not become standard output. The replacement is
 * opened in the wrong mode, so that using it still fails. */
static bool open_standard(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", mode) != fd) {
            return false;
        }
    }
    return true;
}

static void ignore(int number) {
    (void)number;
}

/* Above the sizes that calls commonly have, as each such piece costs system calls. */
#define MAPPED_FROM (256 * 1024)

int main(int argc, char **argv) {
    if (!open_standard()) {
        return CLI_FAILED;
    }
    /* Writing to a closed pipe, or beyond the limit of file sizes, must be an error of write(). A
     * handler, unlike SIG_IGN, is not inherited by the programs that a tool may start. */
    struct sigaction nothing = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    (void)sigaction(SIGPIPE, &nothing, NULL);
    (void)sigaction(SIGXFSZ, &nothing, NULL);
    /* Few threads run at once, and each heap keeps what its threads released: a server with a heap
     * for each needs a sixth more. */
    (void)mallopt(M_ARENA_MAX, 2);
    /* What is larger goes back to the system when it is released. Without a fixed size the first
     * large answer raises it to 32 MiB, and a server keeps the memory of its busiest moment. */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
    int number = 0;
    int code = cli_main(argc, argv, &number);
    if (number != 0) {
        /* End by the signal, which makes a shell end its loop as well. */
        struct sigaction action = {.sa_handler = SIG_DFL};
        (void)sigaction(number, &action, NULL);
        (void)raise(number);
    }
    return code;
}
