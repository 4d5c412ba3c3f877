/* Asks for a grant of each kind, and tries what it was granted and what it was not. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <toolrack/plugin.h>
#include <unistd.h>

/* Most processes that are started at once, and how long each lives where nothing ends it. */
#define PROCESSES_MAX 8
#define PROCESS_S_MAX 60

#define ANY_ARGUMENTS TR_SCHEMA({"type" : "object"})

static tr_status reply_errno(struct tr_call *call, int number) {
    return tr_reply_text(call, number == 0 ? "done" : strerrorname_np(number));
}

/* Read a byte of the file at "path", or write one where "write" is true. */
static tr_status granted_open(struct tr_call *call) {
    bool writes = tr_get_bool(call, "write", false);
    const char *path = tr_get_string(call, "path", "");
    int fd = open(path, (writes ? O_WRONLY | O_CREAT : O_RDONLY) | O_CLOEXEC, 0600);
    if (fd < 0) {
        return reply_errno(call, errno);
    }
    char byte = 'g';
    ssize_t got = writes ? write(fd, &byte, 1) : read(fd, &byte, 1);
    int number = got < 0 ? errno : 0;
    (void)close(fd);
    return reply_errno(call, number);
}
TR_JSON_TOOL(granted_open, "Read or write a byte of a file", ANY_ARGUMENTS)

/* Make the file at "path" so many mebibytes long. */
static tr_status granted_fill(struct tr_call *call) {
    static const char zeros[1 << 16];
    int64_t left = tr_get_i64(call, "mib", 1) << 20;
    int fd = open(tr_get_string(call, "path", ""), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int number = fd < 0 ? errno : 0;
    while (number == 0 && left > 0) {
        ssize_t done = write(fd, zeros, sizeof zeros);
        number = done < 0 ? errno : 0;
        left -= done;
    }
    (void)close(fd);
    return reply_errno(call, number);
}
TR_JSON_TOOL(granted_fill, "Fill a file", ANY_ARGUMENTS)

static tr_status granted_env(struct tr_call *call) {
    const char *value = getenv(tr_get_string(call, "name", ""));
    return tr_reply_text(call, value != NULL ? value : "(none)");
}
TR_JSON_TOOL(granted_env, "Give the value of a variable", ANY_ARGUMENTS)

/* One that does all to outlive its parent. */
static _Noreturn void stay(void) {
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)setsid();
    closefrom(0);
    (void)sleep(PROCESS_S_MAX);
    _exit(0);
}

/* Start processes, and each of them another. */
static tr_status granted_start(struct tr_call *call) {
    int64_t count = tr_get_i64(call, "count", 1);
    for (int64_t i = 0; i < count && i < PROCESSES_MAX; i++) {
        pid_t child = fork();
        if (child < 0) {
            return reply_errno(call, errno);
        }
        if (child == 0) {
            (void)fork();
            stay();
        }
    }
    return reply_errno(call, 0);
}
TR_JSON_TOOL(granted_start, "Start processes that stay", ANY_ARGUMENTS)

static tr_status granted_talk(struct tr_call *call) {
    const char *content = NULL;
    tr_log(call, TR_LOG_WARNING, "said %s", "so");
    tr_progress(call, 1, 2, "half of it");
    if (tr_ask(call, "Go on?", "{\"type\": \"object\"}", &content) != TR_OK) {
        return tr_fail(call, TR_FAILED, NULL, "nobody agreed");
    }
    return tr_reply_json(call, content);
}
TR_JSON_TOOL(granted_talk, "Say something, and ask", ANY_ARGUMENTS)

static tr_status granted_pid(struct tr_call *call) {
    char text[20];
    (void)snprintf(text, sizeof text, "%d", (int)getpid());
    return tr_reply_text(call, text);
}
TR_JSON_TOOL(granted_pid, "Give the number of its process", ANY_ARGUMENTS)

__attribute__((noinline)) static void follow_null(void) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static tr_status granted_crash(struct tr_call *call) {
    (void)fputs("about to follow a null pointer\n", stderr);
    follow_null();
    return reply_errno(call, 0);
}
TR_JSON_TOOL(granted_crash, "Crash", ANY_ARGUMENTS)

static volatile bool is_enough;

static tr_status granted_burn(struct tr_call *call) {
    while (!is_enough) {
    }
    return reply_errno(call, 0);
}
TR_JSON_TOOL(granted_burn, "Use CPU time", ANY_ARGUMENTS)

/* Refuse while the file exists that the setting "closed" names: of two workers one opens, and the
 * other does not. */
static tr_status open_it(struct tr_host *host) {
    const char *path = tr_host_config(host, "/closed", "");
    return access(path, F_OK) == 0 ? tr_host_fail(host, "closed while a file is there") : TR_OK;
}

TR_PLUGIN(("granted", .open = open_it,
           TR_CAPABILITIES(TR_READS("${workspace}/in"), TR_WRITES("${workspace}/out"),
                           TR_SPAWNS("*"), TR_READS_ENV("GRANTED_VARIABLE"))),
          "1.0.0", granted_open, granted_fill, granted_env, granted_start, granted_talk,
          granted_pid, granted_crash, granted_burn)
