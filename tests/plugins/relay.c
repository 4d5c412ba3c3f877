/* Leaves a process behind that starts others, each of which uses CPU time for a moment. */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <toolrack/plugin.h>
#include <unistd.h>

/* Less than the time between two looks of the host. */
#define MOMENT_NS 30000000

static void burn(void) {
    struct timespec used;
    do {
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    } while (used.tv_sec == 0 && used.tv_nsec < MOMENT_NS);
}

static void relay(bool waits) {
    if (!waits) {
        (void)signal(SIGCHLD, SIG_IGN); /* what ends leaves nothing behind */
    }
    for (;;) {
        pid_t child = fork();
        if (child == 0) {
            burn();
            _exit(0);
        }
        (void)waitpid(child, NULL, 0);
    }
}

static tr_status relay_start(struct tr_call *call) {
    bool waits = strcmp(tr_get_string(call, "how", ""), "waits") == 0;
    pid_t child = fork();
    if (child == 0) {
        relay(waits);
    }
    return tr_reply_text(call, child < 0 ? "failed" : "started");
}
TR_JSON_TOOL(relay_start, "Use CPU time in processes that follow each other",
             TR_SCHEMA({"type" : "object", "properties" : {"how" : {"type" : "string"}}}))
TR_PLUGIN(("relay", TR_CAPABILITIES(TR_SPAWNS("*"))), "1.0.0", relay_start)
