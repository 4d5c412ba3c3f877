/* Fault: leaves signal handlers behind, one for crashes among them, and an alarm that goes off. */
#include <signal.h>
#include <sys/time.h>

#include "zoo.h"

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    signals = signals + (number > 0);
}

static tr_status zoo_signal_handlers(struct tr_call *call) {
    struct sigaction action = {.sa_handler = count_signal};
    struct itimerval often = {.it_interval = {.tv_usec = 20000}, .it_value = {.tv_usec = 20000}};
    if (sigaction(SIGSEGV, &action, NULL) < 0 || sigaction(SIGALRM, &action, NULL) < 0 ||
        setitimer(ITIMER_REAL, &often, NULL) < 0) {
        return tr_fail(call, TR_FAILED, NULL, "cannot leave anything behind");
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_signal_handlers)
ZOO_PLUGIN(zoo_signal_handlers)
