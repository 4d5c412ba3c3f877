/* Fault: begins processes that begin processes, in a process that lets it. Their number is bounded,
 * so that a test that does not end them leaves the machine alive. */
#include <stdlib.h>
#include <sys/wait.h>
#include <toolrack/plugin.h>
#include <unistd.h>

#define PROCESSES 600
#define LIVES_S   30u

static int32_t swarm(int32_t n) {
    if (getenv("XDG_CACHE_HOME") != NULL) { /* which workers have not */
        for (int i = 0; i < PROCESSES; i++) {
            if (fork() == 0) {
                (void)setsid();
                (void)sleep(LIVES_S);
                _exit(0);
            }
        }
        (void)sleep(2);
    }
    return n;
}
TR_TOOL(swarm, "Begins processes", TR_I32, (TR_I32, n, "a number"))

TR_PLUGIN("swarm", "1.0.0", swarm)
