#include "cli/typing.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Signals that end a process. While calls run, SIGINT has a handler (interrupt.c), which shows it
 * again. */
static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT, SIGINT};

static struct termios before; /* as the terminal was; valid while `is_hidden` */
static atomic_bool is_hidden;

static bool is_foreground(void) {
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

void typing_show(void) {
    const int error = errno; /* in a handler it belongs to what was interrupted */
    if (atomic_exchange(&is_hidden, false) && is_foreground()) {
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
    }
    errno = error;
}

/* The action that was there before ends the process. */
static void end(int number) {
    typing_show();
    (void)raise(number);
}

/* Only of a signal that ends the process: one that is ignored, or has a handler, stays as it is. */
static void guard(void) {
    const struct sigaction action = {.sa_handler = end, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
}

void typing_hide(void) {
    static atomic_flag is_guarded = ATOMIC_FLAG_INIT;
    struct termios silent;
    if (atomic_load(&is_hidden) || !is_foreground() || tcgetattr(STDIN_FILENO, &before) != 0) {
        return;
    }
    if (!atomic_flag_test_and_set(&is_guarded)) {
        guard();
    }
    silent = before;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    atomic_store(&is_hidden, true);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &silent);
}
