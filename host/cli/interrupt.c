#include "cli/interrupt.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/peer.h"
#include "cli/typing.h"

/* Posted at the end of the work and by Ctrl-C; a signal handler may do no more than that. */
static sem_t wake;
static volatile sig_atomic_t came;
static struct sigaction before;

static void interrupt(int number) {
    (void)number;
    typing_show(); /* the next one ends the process */
    came = 1;
    (void)sem_post(&wake);
}

int interrupt_begin(struct cli *cli) {
    if (cli->peer != NULL) {
        return 0;
    }
    if (sem_init(&wake, 0, 0) != 0) {
        return cli_error(cli, TOOLRACK_E_IO, "cannot make a semaphore: %s", strerror(errno));
    }
    came = 0;
    (void)sigaction(SIGINT, NULL, &before);
    if (before.sa_handler != SIG_IGN) {
        struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
        (void)sigaction(SIGINT, &action, NULL);
    }
    return 0;
}

void interrupt_end(struct cli *cli, int code) {
    if (cli->peer == NULL) {
        (void)sigaction(SIGINT, &before, NULL);
    }
    /* A command that is gone is ended by no signal; nor is one whose daemon ends. */
    bool pressed = interrupt_came(cli) && (cli->peer == NULL || !cli->peer->gone);
    if (pressed && code == TOOLRACK_E_CANCELLED) {
        cli->signal = SIGINT;
    }
}

bool interrupt_came(const struct cli *cli) {
    return cli->peer != NULL ? atomic_load(&cli->peer->stopped) : came != 0;
}

void interrupt_wake(const struct cli *cli) {
    if (cli->peer != NULL) {
        peer_wake(cli->peer);
    } else {
        (void)sem_post(&wake);
    }
}

void interrupt_wait(const struct cli *cli, uint32_t ms_max) {
    if (cli->peer != NULL) {
        peer_wait(cli->peer);
        return;
    }
    if (ms_max == 0) {
        (void)sem_wait(&wake);
        return;
    }
    /* The semaphore's clock is the wall clock. */
    struct timespec until =
            clock_timespec((uint64_t)clock_wall_ns() + (uint64_t)ms_max * CLOCK_NS_PER_MS);
    (void)sem_timedwait(&wake, &until);
}
