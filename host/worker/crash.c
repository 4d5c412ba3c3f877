/* The child's side: what runs between a fatal signal and the end of the process.
 *
 *  (1) The handler takes no lock and allocates nothing: the thread that crashed may hold any lock,
 *      and the heap may be corrupt. Modules are found with _dl_find_object(), which is
 *      async-signal-safe, never with dladdr() or dl_iterate_phdr(), which wait for the loader's
 *      lock. libgcc's unwinder uses _dl_find_object() too.
 *  (2) The record never announces data that is not there: each count is increased after its entry
 *      is written, the magic is written after all mandatory fields.
 *  (3) Only the first thread writes: `owner`. Others wait until it ends the process, CRASH_WAIT_MS
 *      at most.
 *  (4) A thread that enters the handler ends the process by the signal that came first, also when
 *      the handler is entered again because it crashed itself on a broken stack.
 *
 * The unwinder is linked in statically (-static-libgcc): backtrace() would load it in the
 * handler, and a shared one makes each start of a worker slower by a tenth. */
#include "worker/crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/sanitizer.h"
#include "worker/channel.h"

_Static_assert(sizeof(struct crash_record) <= CHANNEL_CRASH_SIZE, "the record has its place");

/* Stack of the handler, without the kernel's signal frame, which AVX-512 and AMX make large. With
 * the frame of AVX-512 the handler used 7 KiB, 8 under AddressSanitizer; unused pages cost
 * nothing. */
#define CRASH_STACK_SIZE   (64u * 1024)
/* Guard above the handler's stack. The thread's stack is usually above it, and an overflow with a
 * large frame can skip that stack's guard page: without this guard it would continue in the
 * handler's stack, which the handler then overwrites. */
#define CRASH_GUARD_SIZE   (256u * 1024)
/* More frames than the handler itself can have, including those of a sanitizer. */
#define HANDLER_FRAMES_MAX 64u
/* How long a thread that crashed second waits for the first to end the process. */
#define CRASH_WAIT_MS      2000u

/* The signals of a crash, and the two of a limit: the plugin caused these too. */
static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL,  SIGFPE, SIGABRT,
                                    SIGTRAP, SIGSYS, SIGXCPU, SIGXFSZ};

/* A record that is being written. */
struct writing {
    struct crash_record *record;
    const struct link_map *maps[CRASH_MODULES_MAX]; /* the modules that the record names */
};

static struct {
    struct writing writing; /* of the crash */
    pid_t process;          /* a fork of this process is not the worker */
    atomic_int owner;       /* thread that writes the record; 0: none */
    int signal;             /* the owner's */
    int statm;              /* /proc/self/statm, or -1 */
    size_t page_size;
    char program[CRASH_PATH_MAX]; /* path of the program, which the loader does not store */
} crash;

static _Thread_local struct {
    void *stack; /* of the handler, with its guard page; NULL: none */
    size_t stack_size;
    stack_t before;   /* the previous one, such as a sanitizer's */
    uintptr_t lowest; /* lowest byte of the thread's own stack; 0: not known */
} own;

/* ---------------------------------------------------- the machine's registers */

#if defined(__x86_64__)
static uintptr_t pc_of(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static uintptr_t sp_of(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

/* ud2 and ud1: __builtin_trap(), and what cannot be reached. */
static bool is_trap(const unsigned char *code) {
    return code[0] == 0x0f && (code[1] == 0x0b || code[1] == 0xb9);
}

/* At the first instruction of a function its caller's address is on top of the stack. */
static uintptr_t caller_of(const ucontext_t *context) {
    uintptr_t caller;
    memcpy(&caller, (const void *)sp_of(context), sizeof caller);
    return caller;
}

static void go_to_caller(ucontext_t *context, uintptr_t pc) {
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
    context->uc_mcontext.gregs[REG_RSP] += (greg_t)sizeof pc;
}
#elif defined(__aarch64__)
static uintptr_t pc_of(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.pc;
}

static uintptr_t sp_of(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.sp;
}

/* A trap is SIGTRAP here. */
static bool is_trap(const unsigned char *code) {
    (void)code;
    return false;
}

/* At the first instruction of a function its caller's address is in the link register. */
static uintptr_t caller_of(const ucontext_t *context) {
    return (uintptr_t)context->uc_mcontext.regs[30];
}

static void go_to_caller(ucontext_t *context, uintptr_t pc) {
    context->uc_mcontext.pc = pc;
}
#else
#error "the registers of this machine are not known: say here where its signal frame has them"
#endif

/* ------------------------------------------------------------------ modules */

/* (2) Earlier writes are visible whenever the value is. */
static void publish(uint32_t *to, uint32_t value) {
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

/* A long path is cut at its beginning, as its end says more. */
static void copy_path(char *to, const char *path) {
    size_t length = strnlen(path, PATH_MAX);
    size_t skipped = length < CRASH_PATH_MAX ? 0 : length - (CRASH_PATH_MAX - 1);
    memcpy(to, path + skipped, length - skipped);
    to[length - skipped] = '\0';
}

static uint32_t module_of(struct writing *writing, const struct link_map *map) {
    struct crash_record *record = writing->record;
    uint32_t count = record->module_count;
    for (uint32_t i = 0; i < count; i++) {
        if (writing->maps[i] == map) {
            return i;
        }
    }
    if (count == CRASH_MODULES_MAX) {
        return CRASH_NO_MODULE;
    }
    writing->maps[count] = map;
    copy_path(record->modules[count], map->l_name[0] != '\0' ? map->l_name : crash.program);
    publish(&record->module_count, count + 1);
    return count;
}

static bool in_a_module(uintptr_t address) {
    struct dl_find_object found;
    return _dl_find_object((void *)address, &found) == 0;
}

/* ---------------------------------------------------------------- backtrace */

static void add_frame(struct writing *writing, uintptr_t address) {
    struct crash_record *record = writing->record;
    uint32_t count = record->frame_count;
    uint32_t place =
            count < CRASH_FRAMES_INNER
                    ? count
                    : CRASH_FRAMES_INNER + (count - CRASH_FRAMES_INNER) % CRASH_FRAMES_OUTER;
    struct crash_frame frame = {.offset = address, .module = CRASH_NO_MODULE};
    struct dl_find_object found;
    if (_dl_find_object((void *)address, &found) == 0) {
        frame.module = module_of(writing, found.dlfo_link_map);
        frame.offset -= frame.module != CRASH_NO_MODULE ? found.dlfo_link_map->l_addr : 0;
    }
    record->frames[place] = frame;
    publish(&record->frame_count, count + 1);
}

struct walk {
    struct writing *writing;
    uintptr_t start; /* address at which the signal came; earlier frames are the handler's */
    bool started;
    uint32_t steps; /* before it */
};

static _Unwind_Reason_Code take_frame(struct _Unwind_Context *context, void *user) {
    struct walk *walk = user;
    int is_exact = 0; /* 1: the frame was interrupted by a signal, so pc is not behind a call */
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_exact);
    if (!walk->started) {
        walk->started = is_exact && pc == walk->start; /* that frame is already in the record */
        return walk->steps++ < HANDLER_FRAMES_MAX ? _URC_NO_REASON : _URC_NORMAL_STOP;
    }
    if (pc == 0 || walk->writing->record->frame_count == CRASH_WALK_MAX) {
        return _URC_NORMAL_STOP;
    }
    add_frame(walk->writing, is_exact ? pc : pc - 1);
    return _URC_NO_REASON;
}

/* The unwinder starts at its own caller and passes the signal frame with the registers that the
 * kernel saved there. After a call to an invalid address it would stop at once, so it gets the
 * address of that call instead. */
static void walk_stack(struct writing *writing, ucontext_t *context) {
    uintptr_t pc = pc_of(context);
    if (!in_a_module(pc)) {
        uintptr_t caller = caller_of(context);
        if (!in_a_module(caller)) {
            return;
        }
        add_frame(writing, caller - 1);
        go_to_caller(context, caller - 1);
    }
    struct walk walk = {.writing = writing, .start = pc_of(context)};
    (void)_Unwind_Backtrace(take_frame, &walk);
}

/* ------------------------------------------------------------------- record */

static void begin_record(struct writing *writing) {
    struct crash_record *record = writing->record;
    publish(&record->magic, 0);
    record->frame_count = 0;
    record->module_count = 0;
}

/* The stack pointer is beyond the end of the stack, or will be after this instruction's push, and
 * the faulting address is between the two. */
static bool is_overflow(int signal, uintptr_t address, uintptr_t sp) {
    uintptr_t end = own.lowest + crash.page_size;
    return (signal == SIGSEGV || signal == SIGBUS) && own.lowest != 0 && sp < end &&
           address < end && address + crash.page_size >= sp;
}

static uint64_t address_of(int signal, const siginfo_t *info) {
    switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
        /* If a process sent the signal, this field has another meaning. */
        return info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0;
    case SIGSYS: return info->si_code > 0 ? (uint64_t)info->si_syscall : 0;
    default: return 0;
    }
}

/* The first number of statm is the address space in pages. The plugin may have closed the
 * descriptor and opened another file under its number: pread() does not wait for a pipe or a
 * socket. */
static uint64_t memory_in_use(void) {
    char text[64];
    ssize_t length = crash.statm < 0 ? 0 : pread(crash.statm, text, sizeof text, 0);
    uint64_t pages = 0;
    for (ssize_t i = 0; i < length && ascii_is_digit(text[i]); i++) {
        pages = pages * 10 + (uint64_t)(text[i] - '0');
    }
    return pages * crash.page_size;
}

/* ------------------------------------------------------------------ handler */

/* (4) The default action of the signal kills the process as it would have without a handler. */
SANITIZER_SKIPS_ADDRESS static _Noreturn void die(int signal) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;
    (void)sigaction(signal, &action, NULL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, signal);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(signal);
    _exit(128 + signal); /* the sandbox refused it: use a shell's exit status for the signal */
}

SANITIZER_SKIPS_ADDRESS static void on_fatal(int signal, siginfo_t *info, void *context) {
    if (getpid() != crash.process) {
        die(signal);
    }
    int self = gettid();
    int owner = 0;
    if (atomic_compare_exchange_strong(&crash.owner, &owner, self)) {
        struct crash_record *record = crash.writing.record;
        crash.signal = signal;
        begin_record(&crash.writing); /* the trace of a late call may have been there */
        record->signal = signal;
        record->code = info->si_code;
        record->address = address_of(signal, info);
        record->overflow = info->si_code > 0 &&
                           is_overflow(signal, (uintptr_t)record->address, sp_of(context));
        record->trap = signal == SIGILL && info->si_code > 0 && in_a_module(pc_of(context)) &&
                       is_trap((const unsigned char *)pc_of(context));
        add_frame(&crash.writing, pc_of(context));
        publish(&record->magic, CRASH_MAGIC);
        record->memory_bytes = memory_in_use();
        walk_stack(&crash.writing, context);
    } else if (owner != self) {
        /* (3) The end of the process ends the sleep. */
        struct timespec left = {.tv_sec = CRASH_WAIT_MS / 1000,
                                .tv_nsec = (long)(CRASH_WAIT_MS % 1000) * 1000000};
        while (nanosleep(&left, &left) < 0 && errno == EINTR) {
        }
    }
    die(crash.signal);
}

/* ---------------------------------------------------------- a call that is late */

#define LANE_TAKEN (-1)

/* The host asks where the thread of a call stands (CRASH_TRACE_SIGNAL to the process, whichever
 * thread that reaches). Each lane whose call is cancelled writes its stack into the area of its own
 * channel. The thread may hold any lock, as in (1); the call is over, so what an interrupted system
 * call returns is nobody's concern. */
static struct {
    atomic_int thread; /* 0: no such lane; LANE_TAKEN: its channel is not set yet */
    struct channel *channel;
} lanes[CRASH_LANES_MAX];

/* Read by this thread's own handler too, which is why a whole word is written at once. */
static _Thread_local uint64_t lane_cpu_ns;

uint64_t *crash_lane_cpu(void) {
    return &lane_cpu_ns;
}

static void write_trace(struct channel *channel, ucontext_t *context) {
    struct writing writing = {.record = channel_crash_area(channel)};
    if (atomic_load(&crash.owner) != 0) {
        return; /* the process has crashed: that record counts */
    }
    begin_record(&writing);
    writing.record->cpu_ns = clock_cpu_ns() - lane_cpu_ns;
    add_frame(&writing, pc_of(context));
    walk_stack(&writing, context);
    publish(&writing.record->magic, CRASH_TRACE_MAGIC);
    (void)syscall(SYS_futex, &writing.record->magic, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void on_asked(int signal, siginfo_t *info, void *context) {
    int error_number = errno;
    int self = gettid();
    bool is_of_host = info->si_pid != crash.process;
    for (unsigned i = 0; i < CRASH_LANES_MAX && getpid() == crash.process; i++) {
        int thread = atomic_load(&lanes[i].thread);
        if (thread <= 0 || !channel_is_cancelled(lanes[i].channel)) {
            continue;
        }
        if (thread == self) {
            write_trace(lanes[i].channel, context);
        } else if (is_of_host) {
            (void)tgkill(crash.process, thread, signal);
        }
    }
    errno = error_number;
}

bool crash_lane_begin(struct channel *channel) {
    lane_cpu_ns = clock_cpu_ns();
    for (unsigned i = 0; i < CRASH_LANES_MAX; i++) {
        int none = 0;
        if (atomic_compare_exchange_strong(&lanes[i].thread, &none, LANE_TAKEN)) {
            lanes[i].channel = channel;
            atomic_store(&lanes[i].thread, gettid());
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------- installation */

static _Unwind_Reason_Code take_none(struct _Unwind_Context *context, void *user) {
    (void)context;
    (void)user;
    return _URC_NORMAL_STOP;
}

bool crash_install(void *area) {
    crash.writing.record = area;
    begin_record(&crash.writing);
    crash.process = getpid();
    crash.page_size = (size_t)sysconf(_SC_PAGESIZE);
    crash.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    copy_path(crash.program, path);
    /* Cause the first-use initialization of the unwinder and the loader now. */
    (void)_Unwind_Backtrace(take_none, NULL);
    (void)in_a_module((uintptr_t)&crash_install);

    struct sigaction action = {.sa_sigaction = on_fatal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    /* No other signal interrupts the handler, but its own crash must: (4). */
    (void)sigfillset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LENGTH(fatal_signals); i++) {
        int signal = fatal_signals[i];
        if (signal != SIGXCPU && signal != SIGXFSZ) {
            (void)sigdelset(&action.sa_mask, signal);
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(fatal_signals); i++) {
        if (sigaction(fatal_signals[i], &action, NULL) < 0) {
            return false;
        }
    }
    struct sigaction asked = {.sa_sigaction = on_asked,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    return sigaction(CRASH_TRACE_SIGNAL, &asked, NULL) == 0;
}

/* The first thread's stack grows until its limit, counted from its upper end. The name of the
 * program is at its upper end, before a word of zeros; reading /proc/self/maps would take 30 times
 * as long. */
static uintptr_t lowest_of_first(void) {
    const char *name = (const char *)getauxval(AT_EXECFN);
    struct rlimit limit;
    if (name == NULL || getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) {
        return 0;
    }
    uintptr_t end = (uintptr_t)name + strlen(name) + 1 + sizeof(uint64_t);
    end = (end + crash.page_size - 1) & ~(uintptr_t)(crash.page_size - 1);
    return end > limit.rlim_cur ? end - limit.rlim_cur : 0;
}

static uintptr_t lowest_of_thread(void) {
    if (gettid() == getpid()) {
        return lowest_of_first();
    }
    pthread_attr_t attributes;
    void *lowest = NULL;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
        return 0;
    }
    if (pthread_attr_getstack(&attributes, &lowest, &size) != 0) {
        lowest = NULL;
    }
    (void)pthread_attr_destroy(&attributes);
    return (uintptr_t)lowest;
}

bool crash_thread_begin(void) {
    if (own.stack != NULL) {
        return true;
    }
    long frame = sysconf(_SC_MINSIGSTKSZ); /* the kernel's signal frame on this CPU */
    /* Two frames, as the handler may crash itself. */
    size_t stack_size = CRASH_STACK_SIZE + (frame > 0 ? 2 * (size_t)frame : 0);
    stack_size = (stack_size + crash.page_size - 1) & ~(crash.page_size - 1);
    /* Guarded on both sides: a page below, CRASH_GUARD_SIZE above. */
    size_t size = crash.page_size + stack_size + CRASH_GUARD_SIZE;
    char *stack = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return false;
    }
    const stack_t handler = {.ss_sp = stack + crash.page_size, .ss_size = stack_size};
    if (mprotect(handler.ss_sp, stack_size, PROT_READ | PROT_WRITE) < 0 ||
        sigaltstack(&handler, &own.before) < 0) {
        int error_number = errno;
        (void)munmap(stack, size);
        errno = error_number;
        return false;
    }
    own.stack = stack;
    own.stack_size = size;
    own.lowest = lowest_of_thread();
    /* A fault whose signal is blocked kills the process without calling the handler. */
    sigset_t fatal;
    (void)sigemptyset(&fatal);
    for (size_t i = 0; i < ARRAY_LENGTH(fatal_signals); i++) {
        (void)sigaddset(&fatal, fatal_signals[i]);
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &fatal, NULL);
    return true;
}

void crash_thread_end(void) {
    if (own.stack != NULL) {
        (void)sigaltstack(&own.before, NULL);
        (void)munmap(own.stack, own.stack_size);
        own.stack = NULL;
        own.lowest = 0;
    }
}
