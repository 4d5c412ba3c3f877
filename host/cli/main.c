/* main.c - the process around the command: its descriptors and signals. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"

/* Keep 0, 1 and 2 taken: a file opened later must not become standard output. The stand-in is open
 * the wrong way round, so that using it still fails. */
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

/* A closed pipe is to be an error of write(). A handler, unlike SIG_IGN, is not handed down to the
 * programs that a tool may start. */
static void catch_closed_pipe(void) {
    struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    (void)sigaction(SIGPIPE, &action, NULL);
}

/* End as of a signal, which tells a shell to stop its loop as well. */
static void end_of(int number) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    (void)sigaction(number, &action, NULL);
    (void)raise(number);
}

int main(int argc, char **argv) {
    if (!open_standard()) {
        return CLI_FAILED;
    }
    catch_closed_pipe();
    int number = 0;
    int code = cli_main(argc, argv, &number);
    if (number != 0) {
        end_of(number);
    }
    return code;
}
