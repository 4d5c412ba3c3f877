/* Crashes of every kind, each in a process of its own: what it dies of, and what its record says.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sanitizer.h"
#include "base/thread.h"
#include "crasher.h"
#include "patience.h"
#include "worker/channel.h"
#include "worker/crash.h"

#include <cmocka.h>

/* Where the child finds the memory of the record. */
#define AREA_FD         3
/* The child that hangs dies of this. */
#define CHILD_SECONDS   60
#define STACK_SIZE      (1024u * 1024)
#define STRANGER_EXITED 7
/* The last so many tests are not for sanitizers: those have a heap and a record of the stack of
 * their own, and keep signals back until the next call of a library. To leave them out is no
 * skip(): that one counts as a failure with the mesons and cmockas of today. */
#define UNSANITIZED     4

/* -------------------------------------------------------------- the crashes */

static volatile int *volatile nowhere;
static volatile int sink;
static volatile int depth_max = INT32_MAX;
static void (*volatile no_function)(void);

CRASHER static void deref_null(void) {
    *nowhere = 1;
    sink = 1; /* something is left to do, so that the calls do not become jumps */
}

CRASHER static void call_deref_null(void) {
    deref_null();
    sink = 2;
}

CRASHER static void call_nothing(void) {
    no_function();
    sink = 3;
}

CRASHER static void write_constant(void) {
    static const int constant[4096] = {1};
    *(volatile int *)(uintptr_t)&constant[2048] = 2;
    sink = 4;
}

CRASHER static void give_up(void) {
    abort();
}

CRASHER static void divide(void) {
    volatile int zero = 0;
    sink = 7 / zero;
}

CRASHER static void run_nonsense(void) {
#if defined(__x86_64__)
    __asm__ volatile("ud2");
#elif defined(__aarch64__)
    __asm__ volatile(".inst 0");
#endif
    sink = 5;
}

CRASHER static void stop_for_debugger(void) {
#if defined(__x86_64__)
    __asm__ volatile("int3");
#elif defined(__aarch64__)
    __asm__ volatile("brk #0");
#endif
    sink = 6;
}

CRASHER static int recurse(int depth) {
    volatile char frame[200];
    frame[0] = (char)depth;
    int deeper = depth < depth_max ? recurse(depth + 1) : 0;
    return deeper + frame[0];
}

CRASHER static int pong(int depth);

CRASHER static int ping(int depth) {
    volatile char frame[16000]; /* larger than a page: the guard is not hit at its edge */
    frame[0] = (char)depth;
    int deeper = depth < depth_max ? pong(depth + 1) : 0;
    return deeper + frame[0];
}

CRASHER static int pong(int depth) {
    volatile char frame[100];
    frame[0] = (char)depth;
    int deeper = depth < depth_max ? ping(depth + 1) : 0;
    return deeper + frame[0];
}

static void begin_thread(void) {
    if (!crash_thread_begin()) {
        perror("crash_thread_begin");
        _exit(EXIT_FAILURE);
    }
}

CRASHER static void overflow_first(void) {
    sink = recurse(0);
}

CRASHER static void overflow_in_turn(void) {
    sink = ping(0);
}

static void *run_in_thread(void *user) {
    void (*const *crash)(void) = user;
    begin_thread();
    (*crash)();
    crash_thread_end();
    return NULL;
}

static void in_thread(void (*crash)(void)) {
    pthread_attr_t attributes;
    pthread_t thread;
    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
    (void)pthread_create(&thread, &attributes, run_in_thread, &crash);
    (void)pthread_join(thread, NULL);
}

static void overflow_second(void) {
    in_thread(overflow_first);
}

static void overflow_after_thread(void) {
    depth_max = 10;
    in_thread(overflow_first); /* ends well, and gives its stack back */
    depth_max = INT32_MAX;
    in_thread(overflow_in_turn);
}

/* As the host's own threads are started: with all signals blocked. */
static void crash_with_blocked(void) {
    static void (*crash)(void) = call_deref_null;
    pthread_t thread;
    (void)thread_start(&thread, run_in_thread, &crash);
    (void)pthread_join(thread, NULL);
}

static void *deref_of_stranger(void *user) {
    (void)user;
    call_deref_null();
    return NULL;
}

/* A thread of the plugin's own, which has no stack for the handler. */
static void crash_of_stranger(void) {
    pthread_t thread;
    (void)pthread_create(&thread, NULL, deref_of_stranger, NULL);
    (void)pthread_join(thread, NULL);
}

static pthread_barrier_t both_there;

static void *deref_together(void *user) {
    (void)user;
    begin_thread();
    (void)pthread_barrier_wait(&both_there);
    call_deref_null();
    return NULL;
}

static void crash_together(void) {
    pthread_t threads[4];
    (void)pthread_barrier_init(&both_there, NULL, ARRAY_LENGTH(threads));
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        (void)pthread_create(&threads[i], NULL, deref_together, NULL);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

CRASHER static void free_corrupted(void) {
    volatile char *block = malloc(100);
    for (int i = -16; i < 32; i++) {
        block[i] = -1;
    }
    free((void *)(uintptr_t)block);
    sink = 7;
}

CRASHER static void smash_stack(void) {
    /* The frames around this one lead nowhere: the unwinder itself may crash over them. */
    uintptr_t volatile *volatile frame = __builtin_frame_address(0);
    for (int i = 0; i < 64; i++) {
        frame[i] = UINT64_C(0x4141414141414141);
    }
    deref_null();
    sink = 12;
}

CRASHER static void touch_shortened(void) {
    int fd = memfd_create("shortened", MFD_CLOEXEC);
    (void)!ftruncate(fd, 4096);
    volatile char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    (void)!ftruncate(fd, 0);
    sink = map[0];
    sink = 8;
}

CRASHER static void use_cpu(void) {
    const struct rlimit limit = {.rlim_cur = 1, .rlim_max = 5};
    (void)setrlimit(RLIMIT_CPU, &limit);
    for (;;) {
        sink++;
    }
}

CRASHER static void write_too_much(void) {
    const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};
    int fd = memfd_create("too large", MFD_CLOEXEC);
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    (void)!pwrite(fd, "x", 1, 1000);
    sink = 9;
}

CRASHER static void call_forbidden(void) {
    struct sock_filter rules[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = ARRAY_LENGTH(rules), .filter = rules};
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    (void)syscall(SYS_getppid);
    sink = 10;
}

CRASHER static void be_killed(void) {
    (void)kill(getpid(), SIGSEGV);
    sink = 11;
}

static void replace_handler(void) {
    (void)signal(SIGSEGV, SIG_DFL);
    call_deref_null();
}

/* A process that the plugin forked writes no record for the one that goes on. */
static void crash_in_fork(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        call_deref_null();
    }
    if (patience_child(child, &status) == child && WIFSIGNALED(status) &&
        WTERMSIG(status) == SIGSEGV) {
        _exit(STRANGER_EXITED);
    }
}

static void close_descriptors(void) {
    (void)closefrom(0);
    call_deref_null();
}

CRASHER static void load(const char *name) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.so", TEST_CRASHERS, name);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        (void)fprintf(stderr, "%s\n", dlerror());
        return;
    }
    int (*run)(int);
    *(void **)&run = dlsym(handle, "crasher_run");
    sink = run(1);
}

static void load_named(void) {
    load("crasher");
}

static void load_stripped(void) {
    load("crasher-stripped");
}

static void load_stripped_sysv(void) {
    load("crasher-stripped-sysv");
}

static void load_constructor(void) {
    load("crasher-constructor");
}

static void nothing_at_all(void) {
}

static const struct {
    const char *name;
    void (*run)(void);
} crashes[] = {
        {"null", call_deref_null},
        {"call-nothing", call_nothing},
        {"constant", write_constant},
        {"abort", give_up},
        {"divide", divide},
        {"nonsense", run_nonsense},
        {"trap", stop_for_debugger},
        {"overflow", overflow_first},
        {"overflow-in-turn", overflow_in_turn},
        {"overflow-second", overflow_second},
        {"overflow-later", overflow_after_thread},
        {"blocked", crash_with_blocked},
        {"stranger", crash_of_stranger},
        {"together", crash_together},
        {"heap", free_corrupted},
        {"smashed", smash_stack},
        {"shortened", touch_shortened},
        {"cpu", use_cpu},
        {"file-size", write_too_much},
        {"forbidden", call_forbidden},
        {"killed", be_killed},
        {"replaced", replace_handler},
        {"fork", crash_in_fork},
        {"closed", close_descriptors},
        {"named", load_named},
        {"stripped", load_stripped},
        {"stripped-sysv", load_stripped_sysv},
        {"constructor", load_constructor},
        {"nothing", nothing_at_all},
};

CRASHER static int child_main(const char *name) {
    const struct rlimit stack = {.rlim_cur = STACK_SIZE, .rlim_max = STACK_SIZE};
    const struct rlimit core = {.rlim_cur = 0, .rlim_max = 0};
    (void)setrlimit(RLIMIT_STACK, &stack);
    (void)setrlimit(RLIMIT_CORE, &core);
    (void)alarm(CHILD_SECONDS);
    void *area = mmap(NULL, CHANNEL_CRASH_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, AREA_FD, 0);
    if (area == MAP_FAILED || !crash_install(area)) {
        perror(name);
        return EXIT_FAILURE;
    }
    begin_thread();
    for (size_t i = 0; i < ARRAY_LENGTH(crashes); i++) {
        if (strcmp(crashes[i].name, name) == 0) {
            crashes[i].run();
            crash_thread_end();
            return EXIT_SUCCESS;
        }
    }
    return EXIT_FAILURE;
}

/* -------------------------------------------------------------- the outcome */

struct outcome {
    int signal; /* 0: it exited */
    int status;
    bool recorded;
    struct crash_record record;
    struct buf text;
    struct buf cause;
};

static void outcome_finish(struct outcome *outcome) {
    buf_finish(&outcome->text);
    buf_finish(&outcome->cause);
}
#define OUTCOME CLEANUP(outcome_finish) struct outcome

static int start(const char *name, int area) {
    char *arguments[] = {(char *)(uintptr_t) "test-crash", (char *)(uintptr_t)name, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, area, AREA_FD), 0);
    assert_int_equal(posix_spawn(&child, "/proc/self/exe", &actions, NULL, arguments, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return child;
}

/* As if the host knew each file that the record names. */
static void describe(const struct crash_record *record, struct buf *out) {
    const char *known[CRASH_MODULES_MAX + 1] = {NULL};
    for (uint32_t i = 0; i < record->module_count; i++) {
        known[i] = record->modules[i];
    }
    crash_describe(record, known, out);
}

static struct outcome outcome_of(const char *name) {
    struct outcome outcome = {.status = -1};
    CLEANUP(closep) int area = memfd_create("record", MFD_CLOEXEC);
    assert_true(area >= 0 && ftruncate(area, CHANNEL_CRASH_SIZE) == 0);
    int status;
    pid_t child = start(name, area);
    assert_int_equal(patience_child(child, &status), child);
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    void *map = mmap(NULL, CHANNEL_CRASH_SIZE, PROT_READ, MAP_SHARED, area, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    outcome.recorded = crash_read(map, &outcome.record);
    (void)munmap(map, CHANNEL_CRASH_SIZE);
    if (outcome.recorded) {
        describe(&outcome.record, &outcome.text);
        crash_explain(&outcome.record, &outcome.cause);
    }
    return outcome;
}

/* It died of the signal, its record says so, and the first frame is the function (NULL: any). */
static struct outcome expect(const char *name, int signal, const char *function) {
    struct outcome outcome = outcome_of(name);
    if (outcome.signal != signal || !outcome.recorded || outcome.record.signal != signal) {
        fail_msg("%s: ended by signal %d, exit status %d, recorded: %d", name, outcome.signal,
                 outcome.status, outcome.recorded ? outcome.record.signal : 0);
    }
    char first[128];
    (void)snprintf(first, sizeof first, "#0  %s+0x", function != NULL ? function : "");
    if (function != NULL && strncmp(outcome.text.data, first, strlen(first)) != 0) {
        fail_msg("%s: the backtrace does not begin in %s:\n%s", name, function, outcome.text.data);
    }
    return outcome;
}

/* The texts stand in the backtrace in this order. */
static void expect_in_order(const struct outcome *outcome, ...) {
    const char *at = outcome->text.data;
    va_list list;
    va_start(list, outcome);
    for (const char *text; (text = va_arg(list, const char *)) != NULL;) {
        const char *found = strstr(at, text);
        if (found == NULL) {
            va_end(list);
            fail_msg("'%s' is missing, or not in its place:\n%s", text, outcome->text.data);
        }
        at = found + strlen(text);
    }
    va_end(list);
}

static void expect_cause(const struct outcome *outcome, const char *text) {
    assert_string_equal(outcome->cause.data, text);
}

static unsigned count_lines(const char *text) {
    unsigned count = 0;
    for (; *text != '\0'; text++) {
        count += *text == '\n';
    }
    return count;
}

/* ----------------------------------------------------------------- the tests */

static void a_null_pointer(void **state) {
    (void)state;
    OUTCOME outcome = expect("null", SIGSEGV, "deref_null");
    expect_in_order(&outcome, "#0  deref_null+0x", " (test-crash)\n#1  call_deref_null+0x",
                    " (test-crash)\n#2  child_main+0x", " main+0x", NULL);
    assert_null(strstr(outcome.text.data, "on_fatal"));
    assert_null(strstr(outcome.text.data, "walk_stack"));
    expect_cause(&outcome, "SIGSEGV: a null pointer was followed (address 0x0)");
    assert_int_equal(outcome.record.overflow, 0);
    assert_true(outcome.record.memory_bytes > 1024 * 1024);
}

static void a_call_of_nothing_shows_its_caller(void **state) {
    (void)state;
    OUTCOME outcome = expect("call-nothing", SIGSEGV, NULL);
    expect_in_order(&outcome, "#0  0x0\n#1  call_nothing+0x", "#2  child_main+0x", " main+0x",
                    NULL);
}

static void a_write_to_a_constant(void **state) {
    (void)state;
    OUTCOME outcome = expect("constant", SIGSEGV, "write_constant");
    assert_int_equal(outcome.record.code, SEGV_ACCERR);
    expect_in_order(&outcome, "write_constant+0x", "child_main+0x", NULL);
}

static void an_abort(void **state) {
    (void)state;
    OUTCOME outcome = expect("abort", SIGABRT, NULL);
    expect_in_order(&outcome, "give_up+0x", "... ", " of lib", "abort\n", "child_main+0x", NULL);
    assert_int_equal(outcome.record.address, 0);
}

static void a_division_by_zero(void **state) {
    (void)state;
#if defined(__x86_64__)
    OUTCOME outcome = expect("divide", SIGFPE, "divide");
    expect_cause(&outcome, "SIGFPE: an integer was divided by zero, or the quotient is too large");
#else
    skip(); /* this CPU divides by zero without complaint */
#endif
}

static void instructions_that_are_none(void **state) {
    (void)state;
    OUTCOME nonsense = expect("nonsense", SIGILL, "run_nonsense");
    assert_true(nonsense.record.address != 0);
    OUTCOME trap = expect("trap", SIGTRAP, "stop_for_debugger");
    expect_in_order(&trap, "stop_for_debugger+0x", "child_main+0x", NULL);
}

static void a_stack_overflow(void **state) {
    (void)state;
    OUTCOME outcome = expect("overflow", SIGSEGV, NULL);
    assert_int_equal(outcome.record.overflow, 1);
    assert_true(outcome.record.frame_count > 1000);
    expect_cause(&outcome, "SIGSEGV: the stack overflowed");
    expect_in_order(&outcome, "recurse+0x", " more of the same\n    ... ", " left out\n",
                    "recurse+0x", "overflow_first+0x", "child_main+0x", "main+0x", NULL);
    assert_true(count_lines(outcome.text.data) < 20);
}

static void an_overflow_of_two_functions_in_turn(void **state) {
    (void)state;
    OUTCOME outcome = expect("overflow-in-turn", SIGSEGV, NULL);
    assert_int_equal(outcome.record.overflow, 1);
    expect_in_order(&outcome, "p", "    ... 30 more of the same\n", "ping+0x",
                    "overflow_in_turn+0x", "main+0x", NULL);
}

static void an_overflow_of_another_thread(void **state) {
    (void)state;
    OUTCOME second = expect("overflow-second", SIGSEGV, NULL);
    assert_int_equal(second.record.overflow, 1);
    expect_in_order(&second, "recurse+0x", "overflow_first+0x", "run_in_thread+0x", NULL);
    OUTCOME later = expect("overflow-later", SIGSEGV, NULL);
    assert_int_equal(later.record.overflow, 1);
    expect_in_order(&later, "ping+0x", "overflow_in_turn+0x", "run_in_thread+0x", NULL);
}

static void threads_of_all_kinds(void **state) {
    (void)state;
    OUTCOME blocked = expect("blocked", SIGSEGV, "deref_null");
    expect_in_order(&blocked, "call_deref_null+0x", "run_in_thread+0x", NULL);
    OUTCOME stranger = expect("stranger", SIGSEGV, "deref_null");
    expect_in_order(&stranger, "call_deref_null+0x", "deref_of_stranger+0x", NULL);
}

/* Whoever is first: it is one record, whole, of one thread. */
static void of_many_crashes_at_once_one_is_recorded(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        OUTCOME outcome = expect("together", SIGSEGV, "deref_null");
        expect_in_order(&outcome, "#1  call_deref_null+0x", "#2  deref_together+0x", NULL);
        assert_null(strstr(outcome.text.data, "\n#9"));
    }
}

static void a_corrupted_heap(void **state) {
    (void)state;
    OUTCOME outcome = expect("heap", SIGABRT, NULL);
    expect_in_order(&outcome, "free_corrupted+0x", "child_main+0x", NULL);
}

/* The frames may lead the unwinder anywhere: what is certain is there all the same. */
static void a_smashed_stack_shows_what_is_certain(void **state) {
    (void)state;
    OUTCOME outcome = expect("smashed", SIGSEGV, "deref_null");
    expect_in_order(&outcome, "deref_null+0x", "#1  smash_stack+0x", NULL);
}

static void a_shortened_file(void **state) {
    (void)state;
    OUTCOME outcome = expect("shortened", SIGBUS, "touch_shortened");
    assert_int_equal(outcome.record.code, BUS_ADRERR);
}

static void a_limit_of_cpu_time(void **state) {
    (void)state;
    OUTCOME cpu = expect("cpu", SIGXCPU, "use_cpu");
    expect_cause(&cpu, "SIGXCPU: the limit of CPU time was reached");
}

static void a_limit_of_a_file(void **state) {
    (void)state;
    OUTCOME size = expect("file-size", SIGXFSZ, NULL);
    expect_in_order(&size, "write_too_much+0x", "child_main+0x", NULL);
}

static void a_forbidden_system_call(void **state) {
    (void)state;
    OUTCOME outcome = expect("forbidden", SIGSYS, NULL);
    char cause[64];
    (void)snprintf(cause, sizeof cause, "SIGSYS: system call %d is forbidden", SYS_getppid);
    expect_cause(&outcome, cause);
    expect_in_order(&outcome, "call_forbidden+0x", NULL);
}

static void a_signal_from_outside(void **state) {
    (void)state;
    OUTCOME outcome = expect("killed", SIGSEGV, NULL);
    expect_cause(&outcome, "SIGSEGV: a program sent it; no instruction caused it");
    expect_in_order(&outcome, "be_killed+0x", NULL);
}

static void no_record_without_a_crash_of_ours(void **state) {
    (void)state;
    OUTCOME replaced = outcome_of("replaced");
    assert_int_equal(replaced.signal, SIGSEGV);
    assert_false(replaced.recorded);
    OUTCOME forked = outcome_of("fork");
    assert_int_equal(forked.status, STRANGER_EXITED);
    assert_false(forked.recorded);
    OUTCOME nothing = outcome_of("nothing");
    assert_int_equal(nothing.status, EXIT_SUCCESS);
    assert_false(nothing.recorded);
}

static void all_descriptors_closed(void **state) {
    (void)state;
    OUTCOME outcome = expect("closed", SIGSEGV, "deref_null");
    assert_int_equal(outcome.record.memory_bytes, 0);
}

static void static_functions_of_a_shared_object(void **state) {
    (void)state;
    OUTCOME outcome = expect("named", SIGSEGV, "static_null_deref");
    expect_in_order(&outcome, "static_null_deref+0x", " (crasher.so)\n#1  static_between+0x",
                    " (crasher.so)\n#2  crasher_run+0x", " (crasher.so)\n#3  load+0x",
                    " (test-crash)\n", "main+0x", NULL);
}

/* A frame without a name is the number that addr2line takes. */
static void a_stripped_shared_object(void **state) {
    (void)state;
    OUTCOME gnu = expect("stripped", SIGSEGV, NULL);
    expect_in_order(&gnu, "#0  0x", " (crasher-stripped.so)\n#1  0x",
                    " (crasher-stripped.so)\n#2  crasher_run+0x", "#3  load+0x", NULL);
    OUTCOME sysv = expect("stripped-sysv", SIGSEGV, NULL);
    expect_in_order(&sysv, "#0  0x", "#1  0x", "#2  crasher_run+0x", NULL);
}

/* While it is loaded: the loader's locks are held by the thread that crashes. */
static void a_crash_while_loading(void **state) {
    (void)state;
    OUTCOME outcome = expect("constructor", SIGSEGV, "static_null_deref");
    expect_in_order(&outcome, "#1  static_between+0x", "#2  static_constructor+0x",
                    " (crasher-constructor.so)\n", "load+0x", "main+0x", NULL);
}

/* --------------------------------------------------- records of anybody's making */

static struct crash_record record_of(uint32_t frames, const char *path) {
    struct crash_record record = {.magic = CRASH_MAGIC,
                                  .signal = SIGSEGV,
                                  .code = SEGV_MAPERR,
                                  .frame_count = frames,
                                  .module_count = 1};
    (void)snprintf(record.modules[0], sizeof record.modules[0], "%s", path);
    return record;
}

/* As the handler does it: frame n has the offset n. */
static void fill(struct crash_record *record) {
    for (uint32_t i = 0; i < record->frame_count; i++) {
        uint32_t outer = i - CRASH_FRAMES_INNER;
        uint32_t place =
                i < CRASH_FRAMES_INNER ? i : CRASH_FRAMES_INNER + outer % CRASH_FRAMES_OUTER;
        record->frames[place] = (struct crash_frame){.offset = i};
    }
}

static void frames_are_in_order(void **state) {
    (void)state;
    for (uint32_t count = 0; count < 3 * CRASH_FRAMES_MAX; count++) {
        struct crash_record record = record_of(count, "/nowhere/gone.so");
        struct crash_record copy;
        fill(&record);
        assert_true(crash_read(&record, &copy));
        for (uint32_t i = 0; i < CRASH_FRAMES_MAX && i < count; i++) {
            uint32_t left_out = count > CRASH_FRAMES_MAX ? count - CRASH_FRAMES_MAX : 0;
            assert_int_equal(copy.frames[i].offset, i < CRASH_FRAMES_INNER ? i : i + left_out);
        }
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        describe(&copy, &text);
        uint32_t lines = count <= CRASH_FRAMES_MAX ? count : CRASH_FRAMES_MAX + 1;
        assert_int_equal(text.length == 0 ? 0 : count_lines(text.data), lines);
    }
}

static void what_repeats_is_shown_once(void **state) {
    (void)state;
    static const uint64_t offsets[] = {1, 2, 3, 2, 3, 2, 3, 2, 9, 9, 9, 9, 4, 4};
    struct crash_record record = record_of(ARRAY_LENGTH(offsets), "/nowhere/gone.so");
    struct crash_record copy;
    for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
        record.frames[i].offset = offsets[i];
    }
    assert_true(crash_read(&record, &copy));
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    describe(&copy, &text);
    assert_string_equal(text.data, "#0  0x1 (gone.so)\n"
                                   "#1  0x2 (gone.so)\n"
                                   "#2  0x3 (gone.so)\n"
                                   "    ... 5 more of the same\n"
                                   "#8  0x9 (gone.so)\n"
                                   "    ... 3 more of the same\n"
                                   "#12 0x4 (gone.so)\n"
                                   "#13 0x4 (gone.so)\n");
}

/* What a plugin may have written there instead. */
static void a_forged_record_does_no_harm(void **state) {
    (void)state;
    struct crash_record record;
    struct crash_record copy;
    memset(&record, 0xff, sizeof record);
    assert_false(crash_read(&record, &copy));
    record.magic = CRASH_MAGIC;
    assert_true(crash_read(&record, &copy));
    assert_int_equal(copy.module_count, CRASH_MODULES_MAX);
    assert_int_equal(copy.frame_count, CRASH_WALK_MAX);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    describe(&copy, &text);
    crash_explain(&copy, &text);
    assert_true(count_lines(text.data) <= CRASH_FRAMES_MAX + 3);

    /* Nothing is opened that does something when it is opened, or never comes back. */
    char fifo[] = "/tmp/toolrack-crash-XXXXXX";
    assert_non_null(mkdtemp(fifo));
    char path[64];
    (void)snprintf(path, sizeof path, "%s/\x1b[2J\n\xff", fifo);
    assert_int_equal(mkfifo(path, 0600), 0);
    record = record_of(1, path);
    assert_true(crash_read(&record, &copy));
    buf_clear(&text);
    (void)alarm(CHILD_SECONDS);
    describe(&copy, &text);
    (void)alarm(0);
    (void)unlink(path);
    (void)rmdir(fifo);
    assert_string_equal(text.data, "#0  0x0 ( [2J ?)\n");
}

/* The same record names functions of a file that the host knows, and none of a file that only the
 * record knows. Of a known file its name decides, not its folder. */
static void only_known_files_are_read(void **state) {
    (void)state;
    OUTCOME outcome = expect("constructor", SIGSEGV, "static_null_deref");
    const char *const nothing[] = {NULL};
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    crash_describe(&outcome.record, nothing, &text);
    assert_null(strstr(text.data, "static_null_deref"));
    assert_non_null(strstr(text.data, " (crasher-constructor.so)\n"));

    char path[CRASH_PATH_MAX];
    struct crash_record record = outcome.record;
    (void)snprintf(path, sizeof path, "%s", record.modules[0]);
    const char *const known[] = {path, NULL};
    (void)snprintf(record.modules[0], sizeof record.modules[0], "/nowhere/crasher-constructor.so");
    buf_clear(&text);
    crash_describe(&record, known, &text);
    assert_non_null(strstr(text.data, "static_null_deref"));
    (void)snprintf(record.modules[0], sizeof record.modules[0], "/usr/lib/../..%.200s", path);
    buf_clear(&text);
    crash_describe(&record, nothing, &text);
    assert_null(strstr(text.data, "static_null_deref"));
}

static void signals_have_names(void **state) {
    (void)state;
    char room[CRASH_SIGNAL_ROOM];
    assert_string_equal(crash_signal_name(SIGSEGV, room), "SIGSEGV");
    assert_string_equal(crash_signal_name(SIGXCPU, room), "SIGXCPU");
    assert_string_equal(crash_signal_name(64, room), "signal 64");
    assert_string_equal(crash_signal_name(-2147483647 - 1, room), "signal -2147483648");
}

/* The runtime of a sanitizer would take the signals, and look for leaks in what crashes. */
static void leave_signals_alone(const char *variable) {
    static const char *const options =
            "handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0:"
            "handle_sigtrap=0:use_sigaltstack=0:detect_leaks=0";
    const char *before = getenv(variable);
    char *all = NULL;
    if (asprintf(&all, "%s:%s", before != NULL ? before : "", options) > 0) {
        (void)setenv(variable, all, 1);
        free(all);
    }
}

int main(int argc, char **argv) {
    if (argc == 2) {
        int status = child_main(argv[1]);
        sink = status; /* main() has a frame of its own */
        return status;
    }
    if (SANITIZER_ADDRESS) {
        leave_signals_alone("ASAN_OPTIONS");
    }
    if (SANITIZER_THREAD) {
        leave_signals_alone("TSAN_OPTIONS");
    }
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(a_null_pointer),
            cmocka_unit_test(a_call_of_nothing_shows_its_caller),
            cmocka_unit_test(a_write_to_a_constant),
            cmocka_unit_test(an_abort),
            cmocka_unit_test(a_division_by_zero),
            cmocka_unit_test(instructions_that_are_none),
            cmocka_unit_test(a_stack_overflow),
            cmocka_unit_test(an_overflow_of_two_functions_in_turn),
            cmocka_unit_test(an_overflow_of_another_thread),
            cmocka_unit_test(threads_of_all_kinds),
            cmocka_unit_test(of_many_crashes_at_once_one_is_recorded),
            cmocka_unit_test(a_shortened_file),
            cmocka_unit_test(a_forbidden_system_call),
            cmocka_unit_test(a_signal_from_outside),
            cmocka_unit_test(no_record_without_a_crash_of_ours),
            cmocka_unit_test(all_descriptors_closed),
            cmocka_unit_test(static_functions_of_a_shared_object),
            cmocka_unit_test(a_stripped_shared_object),
            cmocka_unit_test(a_crash_while_loading),
            cmocka_unit_test(frames_are_in_order),
            cmocka_unit_test(what_repeats_is_shown_once),
            cmocka_unit_test(a_forged_record_does_no_harm),
            cmocka_unit_test(only_known_files_are_read),
            cmocka_unit_test(signals_have_names),
            /* UNSANITIZED of them: */
            cmocka_unit_test(a_corrupted_heap),
            cmocka_unit_test(a_smashed_stack_shows_what_is_certain),
            cmocka_unit_test(a_limit_of_cpu_time),
            cmocka_unit_test(a_limit_of_a_file),
    };
    size_t count = ARRAY_LENGTH(tests);
    for (size_t i = 0; (SANITIZER_ADDRESS || SANITIZER_THREAD) && i < UNSANITIZED; i++) {
        (void)fprintf(stderr, "# left out under a sanitizer: %s\n", tests[--count].name);
    }
    return _cmocka_run_group_tests("crash", tests, count, NULL, NULL);
}
