/* A fault in each tool, whose name begins with the rule of `toolrack test` that finds it. Each is
 * sound by all other rules. What multiplies is bounded: a worker has few threads and descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <toolrack/plugin.h>
#include <unistd.h>

/* How long what ignores its end runs at most. */
#define LONG_MS 4000
#define NAP_MS  2

static int32_t examples(int32_t n) {
    return n + 1;
}
TR_TOOL(examples,
        ("Gives another result than its example", TR_EXAMPLES(TR_EXAMPLE("{\"n\": 1}", "1"))),
        TR_I32, (TR_I32, n, "a number", TR_MINIMUM(0), TR_MAXIMUM(1000)))

static int32_t fuzz_valid(int32_t n, const char *other) {
    (void)other;
    if (n > 2 && n < 900) {
        abort();
    }
    return 1;
}
TR_TOOL(fuzz_valid, "Crashes at common numbers", TR_I32,
        (TR_I32, n, "a number", TR_MINIMUM(0), TR_MAXIMUM(1000)),
        (TR_OPTIONAL(TR_STRING), other, "a text that does not matter"))

static int32_t fuzz_boundary(int32_t n) {
    if (n == INT32_MAX) {
        abort();
    }
    return 1;
}
TR_TOOL(fuzz_boundary, "Crashes at the largest number", TR_I32, (TR_I32, n, "a number"))

static tr_status fuzz_invalid(struct tr_call *call) {
    if (tr_kind_of(call, "no_such_member") != TR_JSON_ABSENT) {
        abort();
    }
    return tr_reply_json(call, "1");
}
TR_JSON_TOOL(fuzz_invalid, "Crashes where there is a member that its schema does not name",
             TR_SCHEMA({"type" : "object", "properties" : {"n" : {"type" : "integer"}}}))

static tr_status result(struct tr_call *call) {
    return tr_reply_json(call, "\"one\"");
}
TR_JSON_TOOL(result,
             ("Gives what its result schema does not allow",
              .result_schema = "{\"type\": \"integer\"}"),
             TR_SCHEMA({"type" : "object"}))

static int32_t repeatable(void) {
    static int32_t calls;
    return ++calls;
}
TR_TOOL(repeatable, ("Gives the result of its example once", TR_EXAMPLES(TR_EXAMPLE("{}", "1"))),
        TR_I32)

static int32_t idempotent(void) {
    static int32_t calls;
    return ++calls;
}
TR_TOOL(idempotent, ("Claims to be idempotent and counts", .flags = TR_IDEMPOTENT), TR_I32)

/* Of two results each is as likely. */
static int32_t idempotent_by_chance(void) {
    unsigned char byte = 0;
    (void)getrandom(&byte, sizeof byte, 0);
    return byte & 1;
}
TR_TOOL(idempotent_by_chance, ("Claims to be idempotent and throws a coin", .flags = TR_IDEMPOTENT),
        TR_I32)

static int32_t read_only(void) {
    static int32_t calls;
    return ++calls;
}
TR_TOOL(read_only, ("Claims to be read-only and counts", .flags = TR_READ_ONLY), TR_I32)

static bool isolation(void) {
    return getenv("XDG_CACHE_HOME") != NULL;
}
TR_TOOL(isolation, "Tells whether it is in a worker, which has few environment variables", TR_BOOL)

static void *volatile last;

static int32_t leak_memory(int32_t n) {
    last = malloc(64);
    return n;
}
TR_TOOL(leak_memory, "Leaves memory behind", TR_I32, (TR_I32, n, "a number"))

/* Only the largest number fails. */
static int32_t leak_memory_at_failure(struct tr_call *call, int32_t n) {
    if (n == INT32_MAX) {
        last = malloc(64);
        (void)tr_fail(call, TR_FAILED, NULL, "the number is too large");
    }
    return n;
}
TR_TOOL(leak_memory_at_failure, "Leaves memory behind where it fails", TR_I32, TR_CALL,
        (TR_I32, n, "a number"))

static int32_t leak_descriptors_at_failure(struct tr_call *call, int32_t n) {
    if (n == INT32_MAX) {
        (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
        (void)tr_fail(call, TR_FAILED, NULL, "the number is too large");
    }
    return n;
}
TR_TOOL(leak_descriptors_at_failure, "Leaves a descriptor behind where it fails", TR_I32, TR_CALL,
        (TR_I32, n, "a number"))

static int32_t leak_descriptors(void) {
    (void)open("/dev/null", O_RDONLY | O_CLOEXEC);
    return 1;
}
TR_TOOL(leak_descriptors, "Leaves a descriptor behind", TR_I32)

static void *wait_long(void *unused) {
    (void)unused;
    (void)pause();
    return NULL;
}

static int32_t leak_threads(void) {
    static pthread_t thread;
    if (thread == 0 && pthread_create(&thread, NULL, wait_long, NULL) == 0) {
        (void)pthread_detach(thread);
    }
    return 1;
}
TR_TOOL(leak_threads, "Leaves a thread behind", TR_I32)

static int32_t leak_processes(void) {
    static bool done;
    if (!done && fork() == 0) {
        (void)alarm(LONG_MS / 1000);
        (void)pause();
        _exit(0);
    }
    done = true;
    return 1;
}
TR_TOOL(leak_processes, "Leaves a process behind", TR_I32)

static int32_t leak_files(void) {
    char path[4096];
    const char *folder = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/left", folder != NULL ? folder : "/tmp");
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd);
    }
    return 1;
}
TR_TOOL(leak_files, "Leaves a file behind", TR_I32)

static void ignore(int number) {
    (void)number;
}

static int32_t signal_handlers(void) {
    const struct sigaction action = {.sa_handler = ignore};
    (void)sigaction(SIGUSR1, &action, NULL);
    return 1;
}
TR_TOOL(signal_handlers, "Leaves a signal handler behind", TR_I32)

static int32_t signal_mask(void) {
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR2);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    return 1;
}
TR_TOOL(signal_mask, "Leaves a signal blocked", TR_I32)

static int32_t working_folder(void) {
    return chdir("/") == 0 || errno == EACCES;
}
TR_TOOL(working_folder, "Leaves the process in another folder", TR_I32)

static int32_t umask_(void) {
    (void)umask(0);
    return 1;
}
TR_TOOL(umask_, "Leaves another umask", TR_I32)

static int32_t locale(void) {
    (void)setlocale(LC_ALL, "C.UTF-8");
    return 1;
}
TR_TOOL(locale, "Leaves another locale", TR_I32)

static int32_t environment(void) {
    return setenv("FAULTS", "1", 1) == 0;
}
TR_TOOL(environment, "Leaves an environment variable", TR_I32)

/* Works for a while, unless `stops` says that it is enough. */
static void work(struct tr_call *call, bool (*stops)(struct tr_call *call)) {
    const struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};
    for (int i = 0; i < LONG_MS / NAP_MS && (stops == NULL || !stops(call)); i++) {
        (void)nanosleep(&nap, NULL);
    }
}

static tr_status deadline(struct tr_call *call) {
    work(call, NULL);
    return tr_reply_json(call, "1");
}
TR_JSON_TOOL(deadline, "Does not end at its deadline", TR_SCHEMA({"type" : "object"}))

static bool has_no_time(struct tr_call *call) {
    return tr_time_left_ms(call) == 0;
}

static tr_status cancel(struct tr_call *call) {
    work(call, has_no_time);
    return tr_reply_json(call, "1");
}
TR_JSON_TOOL(cancel, "Ends at its deadline, and not when it is cancelled",
             TR_SCHEMA({"type" : "object"}))

static int32_t out_of_memory(int32_t n) {
    volatile int32_t *memory = malloc(64);
    *memory = n;
    int32_t copy = *memory;
    free((void *)(uintptr_t)memory);
    return copy;
}
TR_TOOL(out_of_memory, "Trusts that there is memory", TR_I32, (TR_I32, n, "a number"))

TR_PLUGIN("faults", "1.0.0", examples, fuzz_valid, fuzz_boundary, fuzz_invalid, result, repeatable,
          idempotent, idempotent_by_chance, leak_memory_at_failure, leak_descriptors_at_failure,
          read_only, isolation, leak_memory, leak_descriptors, leak_threads, leak_processes,
          leak_files, signal_handlers, signal_mask, working_folder, umask_, locale, environment,
          deadline, cancel, out_of_memory)
