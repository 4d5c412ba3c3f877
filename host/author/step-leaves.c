/* What calls leave behind in the process that they run in. It ends next: closing the host, which
 * would unload the plugin, is the subject of another rule. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "author/bench.h"
#include "author/image.h"
#include "author/place.h"
#include "author/steps.h"
#include "base/cleanup.h"
#include "base/sanitizer.h"
#include "toolrack/plugin.h"

extern char **environ;

/* Rounds of calls between two counts, and rounds before the first one. */
#define ROUNDS         8u
#define WARM_ROUNDS    2u
/* How long what ends by itself, such as a thread, is waited for. */
#define SETTLE_MS      500u
#define NAP_MS         5u
/* Intervals in each of which memory has to grow, calls in each, and bytes of each call. */
/* The least that malloc() takes is 32 bytes. */
#define INTERVALS      4u
#define INTERVAL_CALLS 64u
#define LEAK_BYTES_MIN 24u
/* How often what has grown has to grow once more. */
#define GROWTHS        3u
/* More than a host without a state folder keeps of its latest decisions about calls. */
#define DECISIONS      6000u

static bool is_asked(const struct session *session, size_t tool, size_t sample) {
    return session->samples[sample].tool == tool &&
           bench_is_sound(session, &session->samples[sample]);
}

/* Make each sound call of a tool once. @return how many */
static unsigned call_each(struct bench *bench, size_t tool) {
    unsigned count = 0;
    for (size_t i = 0; i < bench->session->sample_count; i++) {
        if (is_asked(bench->session, tool, i)) {
            struct answer answer;
            bench_call(bench, tool, bench->session->samples[i].arguments, TOOLRACK_NO_DEADLINE,
                       &answer);
            answer_finish(&answer);
            count++;
        }
    }
    return count;
}

static void each_tool(struct child *child, struct session *session,
                      void (*look)(struct bench *bench, size_t tool)) {
    struct bench bench;
    if (bench_open(&bench, child, session, true)) {
        for (size_t i = child_first(child); i < session->tool_count; i++) {
            if (session->tools[i].skipped == NULL) {
                look(&bench, i);
            }
        }
    }
}

/* -------------------------------------------------------------------- counts */

static uint64_t count_entries(const char *path) {
    DIR *folder = opendir(path);
    uint64_t count = 0;
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count;
}

static uint64_t count_descriptors(void) {
    return count_entries("/proc/self/fd");
}

static uint64_t count_threads(void) {
    return count_entries("/proc/self/task");
}

static uint64_t count_processes(void) {
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? 1 : 0;
}

struct counted {
    enum rule rule;
    const char *what;
    uint64_t (*count)(void);
};

/* The count when it is at most `wanted`, or does not become that. */
static uint64_t settle(const struct counted *counted, uint64_t wanted) {
    const struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};
    uint64_t count = counted->count();
    for (unsigned waited = 0; count > wanted && waited < SETTLE_MS; waited += NAP_MS) {
        (void)nanosleep(&nap, NULL);
        count = counted->count();
    }
    return count;
}

static void call_equally(struct bench *bench, const struct sample *sample, unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        struct answer answer;
        bench_call(bench, sample->tool, sample->arguments, TOOLRACK_NO_DEADLINE, &answer);
        answer_finish(&answer);
    }
}

/* The arguments that make it grow, where each call with them does; else the first. */
static const char *find_growing(struct bench *bench, const struct counted *counted, size_t tool) {
    const char *first = NULL;
    for (size_t i = 0; i < bench->session->sample_count; i++) {
        const struct sample *sample = &bench->session->samples[i];
        if (!is_asked(bench->session, tool, i)) {
            continue;
        }
        first = first == NULL ? sample->arguments : first;
        uint64_t before = counted->count();
        call_equally(bench, sample, ROUNDS);
        if (counted->count() >= before + ROUNDS) {
            return sample->arguments;
        }
    }
    return first;
}

static void find_growth(struct bench *bench, const struct counted *counted, size_t tool,
                        uint64_t growth, unsigned calls) {
    char came[256];
    const char *sent = find_growing(bench, counted, tool);
    (void)snprintf(came, sizeof came, "%llu %s more after %u calls", (unsigned long long)growth,
                   counted->what, calls);
    child_find(bench->child, counted->rule, false, bench->session->tools[tool].name, sent, came);
}

/* @param is_strict  nothing may be left even of the first calls; else, as caches are no leaks, only
 *                   what each round adds */
static void look_at_count(struct bench *bench, const struct counted *counted, size_t tool,
                          bool is_strict, uint64_t before) {
    unsigned calls = 0;
    for (unsigned i = 0; i < WARM_ROUNDS; i++) {
        calls += call_each(bench, tool);
    }
    uint64_t warm = calls > 0 ? settle(counted, before) : before;
    if (is_strict && warm > before) {
        find_growth(bench, counted, tool, warm - before, calls);
        return;
    }
    calls = 0;
    for (unsigned i = 0; i < ROUNDS && !is_strict; i++) {
        calls += call_each(bench, tool);
    }
    uint64_t now = calls > 0 ? counted->count() : warm;
    now = now >= warm + ROUNDS ? settle(counted, warm + ROUNDS - 1) : now;
    if (now >= warm + ROUNDS) {
        find_growth(bench, counted, tool, now - warm, calls);
    }
    child_count(bench->child, counted->rule, calls);
}

static void look_at_descriptors(struct bench *bench, size_t tool) {
    static const struct counted counted = {RULE_DESCRIPTORS, "open descriptors", count_descriptors};
    look_at_count(bench, &counted, tool, false, count_descriptors());
}

void step_descriptors(struct child *child, struct session *session) {
    each_tool(child, session, look_at_descriptors);
}

/* Threads that outlive a call are allowed where the plugin says so. */
static void look_at_threads(struct bench *bench, size_t tool) {
    static const struct counted counted = {RULE_THREADS, "threads", count_threads};
    uint32_t flags = 0;
    bool may_start = image_flags(&flags) && (flags & TR_STARTS_THREADS) != 0;
    look_at_count(bench, &counted, tool, !may_start, count_threads());
    child_count(bench->child, RULE_THREADS, 1);
}

/* The first load of a plugin starts threads of the host. After a reload the plugin has forgotten
 * what it has started, and the host has not. */
void step_threads(struct child *child, struct session *session) {
    struct bench bench;
    if (!bench_open(&bench, child, session, true)) {
        return;
    }
    for (size_t i = 0; i < session->tool_count && call_each(&bench, i) == 0; i++) {
    }
    if (session->outcomes[RULE_RELOAD].finding_count == 0) {
        bench_reload(&bench);
    }
    for (size_t i = child_first(child); i < session->tool_count; i++) {
        if (session->tools[i].skipped == NULL) {
            look_at_threads(&bench, i);
        }
    }
}

static void look_at_processes(struct bench *bench, size_t tool) {
    static const struct counted counted = {RULE_PROCESSES, "or more processes", count_processes};
    uint64_t before = count_processes();
    if (before == 0) {
        look_at_count(bench, &counted, tool, true, before);
    }
    child_count(bench->child, RULE_PROCESSES, 1);
}

/* A process whose parent has ended becomes a child of this one. */
void step_processes(struct child *child, struct session *session) {
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    each_tool(child, session, look_at_processes);
}

/* -------------------------------------------------------------------- memory */

/* How long memory that is in use for a while only is waited for: records of calls that failed are
 * written once a second. */
#define RECORDS_MS     1200u
#define RECORDS_NAP_MS 20u

static size_t memory_used(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static size_t settle_memory(size_t wanted) {
    const struct timespec nap = {.tv_nsec = RECORDS_NAP_MS * 1000000L};
    size_t used = memory_used();
    for (unsigned waited = 0; used > wanted && waited < RECORDS_MS; waited += RECORDS_NAP_MS) {
        (void)nanosleep(&nap, NULL);
        used = memory_used();
    }
    return used;
}

/* What a host keeps for a while, or grows for itself, and what threads of a library have in use at
 * the moment of a count is bounded, and is no leak: only what equal calls add again and again, also
 * after a wait. */
static bool grows_again(struct bench *bench, const struct sample *sample) {
    size_t least = memory_used();
    bool grows = true;
    for (unsigned i = 0; i < GROWTHS && grows; i++) {
        call_equally(bench, sample, INTERVALS * INTERVAL_CALLS);
        least += (size_t)INTERVALS * INTERVAL_CALLS * LEAK_BYTES_MIN;
        grows = memory_used() > least;
    }
    return grows && settle_memory(least) > least;
}

/* One kind of arguments at a time: what it loses is multiplied. @return whether it loses some */
static bool look_at_sample(struct bench *bench, size_t index) {
    const struct sample *sample = &bench->session->samples[index];
    size_t used[INTERVALS + 1] = {0};
    bool grows = true;
    for (unsigned i = 0; i <= INTERVALS && grows; i++) {
        /* The first interval warms up: caches are filled in it. */
        call_equally(bench, sample, INTERVAL_CALLS);
        used[i] = memory_used();
        grows = i == 0 || used[i] >= used[i - 1] + (size_t)INTERVAL_CALLS * LEAK_BYTES_MIN;
    }
    child_count(bench->child, RULE_MEMORY, (uint64_t)INTERVAL_CALLS * 2);
    if (grows) {
        size_t least = used[0] + (size_t)INTERVALS * INTERVAL_CALLS * LEAK_BYTES_MIN;
        used[INTERVALS] = settle_memory(least);
        grows = used[INTERVALS] > least && grows_again(bench, sample);
    }
    if (grows) {
        char came[256];
        (void)snprintf(came, sizeof came, "%zu bytes more in use after %u equal calls",
                       used[INTERVALS] - used[0], INTERVALS * INTERVAL_CALLS);
        child_find(bench->child, RULE_MEMORY, false, bench->session->tools[sample->tool].name,
                   sample->arguments, came);
    }
    return grows;
}

/* Slow calls would take minutes. */
#define SAMPLE_NS_MAX 5000000u

/* Each call of a tool that needs consent is a decision, which the host keeps up to a bound: reach
 * it, by calls that end before the plugin. */
static void fill_decisions(struct bench *bench, size_t tool) {
    for (unsigned i = 0; i < DECISIONS; i++) {
        struct answer answer;
        bench_call(bench, tool, "[]", TOOLRACK_NO_DEADLINE, &answer);
        answer_finish(&answer);
    }
}

static void look_at_memory(struct bench *bench, size_t tool) {
    if (bench->tools[tool] != NULL &&
        toolrack_tool_permission(bench->tools[tool]) != TOOLRACK_PERMISSION_SAFE) {
        fill_decisions(bench, tool);
    }
    for (size_t i = 0; i < bench->session->sample_count; i++) {
        if (is_asked(bench->session, tool, i) && bench->session->samples[i].ns <= SAMPLE_NS_MAX &&
            look_at_sample(bench, i)) {
            break;
        }
    }
}

void step_memory(struct child *child, struct session *session) {
    if (SANITIZER_ADDRESS || SANITIZER_THREAD) {
        child_skip(child, RULE_MEMORY, NULL, "this build has a sanitizer's allocator");
        return;
    }
    each_tool(child, session, look_at_memory);
}

/* -------------------------------------------------------------------- states */

typedef void describe_function(const struct session *session, struct buf *out);

static void describe_handlers(const struct session *session, struct buf *out) {
    (void)session;
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0) {
            buf_printf(out, "the handler of signal %d (%s) is %p\n", number, strsignal(number),
                       action.sa_handler == SIG_IGN ? (void *)1
                                                    : (void *)(uintptr_t)action.sa_handler);
        }
    }
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        struct itimerval timer;
        if (getitimer((__itimer_which_t)which, &timer) == 0) {
            bool runs = timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
            buf_printf(out, "interval timer %d %s\n", which, runs ? "runs" : "is off");
        }
    }
}

static void describe_mask(const struct session *session, struct buf *out) {
    sigset_t mask;
    (void)session;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number < NSIG; number++) {
        buf_printf(out, "signal %d (%s) is %sblocked\n", number, strsignal(number),
                   sigismember(&mask, number) == 1 ? "" : "not ");
    }
}

static void describe_folder(const struct session *session, struct buf *out) {
    char path[PLACE_ROOM];
    (void)session;
    buf_printf(out, "the working folder is %s\n",
               getcwd(path, sizeof path) != NULL ? path : "gone");
}

static void describe_umask(const struct session *session, struct buf *out) {
    (void)session;
    mode_t mask = umask(077);
    (void)umask(mask);
    buf_printf(out, "the umask is %03o\n", (unsigned)mask);
}

static void describe_locale(const struct session *session, struct buf *out) {
    (void)session;
    buf_printf(out, "the locale is %s\n", setlocale(LC_ALL, NULL));
    buf_printf(out, "the locale of the thread is %s\n",
               uselocale((locale_t)0) == LC_GLOBAL_LOCALE ? "the global one" : "another one");
}

static void describe_environment(const struct session *session, struct buf *out) {
    (void)session;
    for (char **variable = environ; variable != NULL && *variable != NULL; variable++) {
        buf_printf(out, "the environment has %.200s\n", *variable);
    }
}

static struct buf *listing; /* of describe_files() */

static int list_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status;
    (void)kind;
    /* The host, which keeps nothing, has the copy of the plugin there. */
    if (at->level > 0 && strstr(path, "/tmp/toolrack-stage-") == NULL) {
        buf_printf(listing, "there is %s\n", path);
    }
    return 0;
}

/* Whether the plugin may write in the working folder: files there are what its calls are for. */
static bool may_write(const struct session *session) {
    bool may = false;
    for (size_t i = 0; i < session->options->grant_count; i++) {
        const char *grant = session->options->grants[i];
        may = may || strcmp(grant, "*") == 0 || strncmp(grant, "write", strlen("write")) == 0;
    }
    return may;
}

static void describe_files(const struct session *session, struct buf *out) {
    static const char *const folders[] = {"work", "tmp", "home"};
    char path[PLACE_ROOM];
    listing = out;
    for (size_t i = may_write(session) ? 1 : 0; i < ARRAY_LENGTH(folders); i++) {
        (void)nftw(place_path(session, folders[i], path), list_one, 8, FTW_PHYS);
    }
}

/* The first line of `after` that `before` has not, or the other way round. */
static bool differing_line(const struct buf *before, const struct buf *after, struct buf *out) {
    for (const char *at = after->data; at != NULL && *at != '\0';) {
        const char *end = strchr(at, '\n');
        size_t length = (size_t)(end - at) + 1;
        if (before->data == NULL || memmem(before->data, before->length, at, length) == NULL) {
            buf_add(out, at, length - 1);
            return true;
        }
        at = end + 1;
    }
    return false;
}

static void find_change(struct bench *bench, enum rule rule, const struct sample *sample,
                        const struct buf *before, const struct buf *after) {
    CLEANUP(buf_finish) struct buf came = BUF_INIT;
    if (differing_line(before, after, &came)) {
        buf_add_text(&came, " after the call");
    } else {
        buf_add_text(&came, "after the call it is no longer so: ");
        (void)differing_line(after, before, &came);
    }
    child_find(bench->child, rule, false, bench->session->tools[sample->tool].name,
               sample->arguments, came.failed ? "" : came.data);
}

static void look_at_state(struct bench *bench, enum rule rule, describe_function *describe,
                          size_t tool, struct buf *before) {
    struct session *session = bench->session;
    for (size_t i = 0; i < session->sample_count; i++) {
        if (!is_asked(session, tool, i)) {
            continue;
        }
        struct buf after = BUF_INIT;
        struct answer answer;
        bench_call(bench, tool, session->samples[i].arguments, TOOLRACK_NO_DEADLINE, &answer);
        answer_finish(&answer);
        describe(session, &after);
        child_count(bench->child, rule, 1);
        bool same = before->length == after.length &&
                    (after.length == 0 || memcmp(before->data, after.data, after.length) == 0);
        if (!same && !before->failed && !after.failed) {
            find_change(bench, rule, &session->samples[i], before, &after);
        }
        buf_finish(before);
        *before = after;
    }
}

static void states(struct child *child, struct session *session, enum rule rule,
                   describe_function *describe) {
    CLEANUP(buf_finish) struct buf before = BUF_INIT;
    struct bench bench;
    if (bench_open(&bench, child, session, true)) {
        describe(session, &before);
        for (size_t i = child_first(child); i < session->tool_count; i++) {
            if (session->tools[i].skipped == NULL) {
                look_at_state(&bench, rule, describe, i, &before);
            }
        }
    }
}

void step_handlers(struct child *child, struct session *session) {
    states(child, session, RULE_HANDLERS, describe_handlers);
}

void step_mask(struct child *child, struct session *session) {
    states(child, session, RULE_MASK, describe_mask);
}

void step_folder(struct child *child, struct session *session) {
    states(child, session, RULE_FOLDER, describe_folder);
}

void step_umask(struct child *child, struct session *session) {
    states(child, session, RULE_UMASK, describe_umask);
}

void step_locale(struct child *child, struct session *session) {
    states(child, session, RULE_LOCALE, describe_locale);
}

void step_environment(struct child *child, struct session *session) {
    states(child, session, RULE_ENVIRONMENT, describe_environment);
}

void step_files(struct child *child, struct session *session) {
    states(child, session, RULE_FILES, describe_files);
}
