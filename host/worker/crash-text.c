/* The host's side: reads the crash area of a dead worker. The plugin can write there too, so any
 * part may be wrong; the worst effect is a wrong text. No path in it decides what is opened. */
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "files/stage.h"
#include "plugin/symbols.h"
#include "worker/channel.h"
#include "worker/crash.h"

/* Longest repeated sequence of frames: functions that call each other in a circle. */
#define FOLD_PERIOD_MAX    4u
/* Longest names shown; mangled ones can have thousands of characters. */
#define FUNCTION_SHOWN_MAX 160u
#define FILE_SHOWN_MAX     96u
/* A member of a null pointer is in the first page. */
#define NULL_PAGE_SIZE     4096u
/* si_code where the CPU gives no address (defined in asm/siginfo.h, not always in signal.h)
 */
#define CODE_GENERAL_FAULT 0x80

/* ----------------------------------------------------------------- reading */

static uint32_t frames_kept(const struct crash_record *record) {
    return record->frame_count < CRASH_FRAMES_MAX ? record->frame_count : CRASH_FRAMES_MAX;
}

static bool read_record(const void *area, uint32_t magic, struct crash_record *ret) {
    struct crash_record record;
    memcpy(&record, area, sizeof record);
    if (record.magic != magic) {
        return false;
    }
    if (record.frame_count > CRASH_WALK_MAX) {
        record.frame_count = CRASH_WALK_MAX;
    }
    if (record.module_count > CRASH_MODULES_MAX) {
        record.module_count = CRASH_MODULES_MAX;
    }
    record.overflow = record.overflow != 0;
    /* The outermost frames are a ring: put its oldest frame first. */
    if (record.frame_count > CRASH_FRAMES_MAX) {
        struct crash_frame outer[CRASH_FRAMES_OUTER];
        struct crash_frame *ring = record.frames + CRASH_FRAMES_INNER;
        memcpy(outer, ring, sizeof outer);
        uint32_t oldest = record.frame_count - CRASH_FRAMES_INNER;
        for (uint32_t i = 0; i < CRASH_FRAMES_OUTER; i++) {
            ring[i] = outer[(oldest + i) % CRASH_FRAMES_OUTER];
        }
    }
    for (uint32_t i = 0; i < CRASH_FRAMES_MAX; i++) {
        if (record.frames[i].module >= record.module_count) {
            record.frames[i].module = CRASH_NO_MODULE;
        }
    }
    for (uint32_t i = 0; i < CRASH_MODULES_MAX; i++) {
        record.modules[i][CRASH_PATH_MAX - 1] = '\0';
    }
    *ret = record;
    return true;
}

bool crash_read(const void *area, struct crash_record *ret) {
    return read_record(area, CRASH_MAGIC, ret);
}

/* Until the word is not 0, CRASH_TRACE_WAIT_MS at most. */
static void await_magic(const uint32_t *magic) {
    const struct timespec pause = {.tv_nsec = CRASH_TRACE_WAIT_MS * CLOCK_NS_PER_MS};
    uint64_t until_ns = clock_now_ns() + CRASH_TRACE_WAIT_MS * CLOCK_NS_PER_MS;
    while (__atomic_load_n(magic, __ATOMIC_ACQUIRE) == 0 && clock_now_ns() < until_ns) {
        (void)syscall(SYS_futex, magic, FUTEX_WAIT, 0, &pause, NULL, 0);
    }
}

uint64_t crash_ask_trace(struct channel *channel, int pidfd, const char *const *known,
                         struct buf *out) {
    struct crash_record *area = channel_crash_area(channel);
    struct crash_record record;
    uint32_t old = CRASH_TRACE_MAGIC; /* of an earlier call; the record of a crash stays */
    (void)__atomic_compare_exchange_n(&area->magic, &old, 0, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED);
    if (pidfd_send_signal(pidfd, CRASH_TRACE_SIGNAL, NULL, 0) < 0) {
        return UINT64_MAX;
    }
    await_magic(&area->magic);
    if (!read_record(area, CRASH_TRACE_MAGIC, &record)) {
        return UINT64_MAX;
    }
    crash_describe(&record, known, out);
    return record.cpu_ns;
}

/* --------------------------------------------------------------- the signal */

const char *crash_signal_name(int signal, char room[CRASH_SIGNAL_ROOM]) {
    const char *name = sigabbrev_np(signal);
    (void)(name != NULL ? snprintf(room, CRASH_SIGNAL_ROOM, "SIG%s", name)
                        : snprintf(room, CRASH_SIGNAL_ROOM, "signal %d", signal));
    return room;
}

/* The first row that matches is used; code 0 matches every code of the kernel. */
static const struct {
    int signal;
    int code;
    bool has_address;
    const char *text;
} causes[] = {
        {SIGSEGV, CODE_GENERAL_FAULT, false, "a pointer that cannot be an address was followed"},
        {SIGSEGV, SEGV_ACCERR, true, "this access is not allowed to the memory at "},
        {SIGSEGV, 0, true, "there is no memory at "},
        {SIGBUS, BUS_ADRALN, true, "wrongly aligned for this machine: "},
        {SIGBUS, 0, true, "a mapped file was shortened, or cannot be read: no memory at "},
        {SIGILL, 0, true, "this CPU does not know the instruction at "},
        {SIGFPE, FPE_INTDIV, false, "an integer was divided by zero, or the quotient is too large"},
        {SIGFPE, 0, false, "an arithmetic error"},
        {SIGTRAP, 0, true, "a trap: a check in the code, or __builtin_trap(), stopped it at "},
        {SIGXCPU, 0, false, "the limit of CPU time was reached"},
        {SIGXFSZ, 0, false, "the limit of a file's size was reached"},
};

size_t crash_explain(const struct crash_record *record, struct buf *out) {
    char room[CRASH_SIGNAL_ROOM];
    size_t brief_length = 0;
    buf_add_text(out, crash_signal_name(record->signal, room));
    if (record->signal == SIGABRT) {
        buf_add_text(out, ": abort() was called, as by a failed assertion or for a broken heap");
    } else if (record->overflow) {
        buf_add_text(out, ": the stack overflowed");
    } else if (record->trap != 0) {
        buf_add_text(out, ": a trap: the code came to where its compiler let it stop "
                          "(__builtin_trap(), a failed check, or no return statement)");
        brief_length = out->length;
        buf_printf(out, " at 0x%llx", (unsigned long long)record->address);
    } else if (record->code <= 0) {
        buf_add_text(out, ": a program sent it; no instruction caused it");
    } else if (record->signal == SIGSYS) {
        buf_printf(out, ": system call %llu is forbidden", (unsigned long long)record->address);
    } else if (record->signal == SIGSEGV && record->code != CODE_GENERAL_FAULT &&
               record->address < NULL_PAGE_SIZE) {
        buf_add_text(out, ": a null pointer was followed");
        brief_length = out->length;
        buf_printf(out, " (address 0x%llx)", (unsigned long long)record->address);
    } else {
        for (size_t i = 0; i < ARRAY_LENGTH(causes); i++) {
            if (causes[i].signal == record->signal &&
                (causes[i].code == 0 || causes[i].code == record->code)) {
                buf_printf(out, ": %s", causes[i].text);
                if (causes[i].has_address) {
                    buf_printf(out, "0x%llx", (unsigned long long)record->address);
                }
                break;
            }
        }
    }
    return brief_length != 0 ? brief_length : out->length;
}

/* -------------------------------------------------------------- the backtrace */

/* One frame with its name. */
struct place {
    const struct crash_frame *frame;
    const char *function; /* NULL: not known */
    uint64_t offset;      /* in the function */
};

struct trace {
    const struct crash_record *record;
    struct symbols *symbols[CRASH_MODULES_MAX]; /* NULL: could not be read */
    struct place places[CRASH_FRAMES_MAX];
    struct buf *out;
};

static void trace_finish(struct trace *trace) {
    for (uint32_t i = 0; i < CRASH_MODULES_MAX; i++) {
        symbols_close(trace->symbols[i]);
    }
}

/* In the same function; names are not compared, as two static functions may share one. */
static bool is_same(const struct place *a, const struct place *b) {
    uint64_t start_a = a->frame->offset - (a->function != NULL ? a->offset : 0);
    uint64_t start_b = b->frame->offset - (b->function != NULL ? b->offset : 0);
    return a->frame->module == b->frame->module && start_a == start_b;
}

/* How many frames from `from` on repeat the first `*ret_period` frames; 0: none. */
static uint32_t repeating(const struct trace *trace, uint32_t from, uint32_t end,
                          uint32_t *ret_period) {
    for (uint32_t period = 1; period <= FOLD_PERIOD_MAX; period++) {
        uint32_t count = 0;
        while (from + period + count < end &&
               is_same(&trace->places[from + count], &trace->places[from + period + count])) {
            count++;
        }
        if (count >= 2 * period) {
            *ret_period = period;
            return count;
        }
    }
    return 0;
}

/* Untrusted text, made one line and cut. */
static void add_shown(struct buf *out, const char *text, size_t length_max) {
    char shown[FUNCTION_SHOWN_MAX + 1];
    size_t length = strnlen(text, length_max + 1);
    bool is_cut = length > length_max;
    length = is_cut ? utf8_cut(text, length_max) : length;
    memcpy(shown, text, length);
    shown[length] = '\0';
    utf8_make_line(shown);
    buf_printf(out, "%s%s", shown, is_cut ? "..." : "");
}

static void add_place(struct trace *trace, uint32_t index) {
    const struct place *place = &trace->places[index];
    uint32_t left_out = trace->record->frame_count - frames_kept(trace->record);
    buf_printf(trace->out, "#%-2u ", index < CRASH_FRAMES_INNER ? index : index + left_out);
    if (place->function != NULL) {
        add_shown(trace->out, place->function, FUNCTION_SHOWN_MAX);
        buf_printf(trace->out, "+0x%llx", (unsigned long long)place->offset);
    } else {
        buf_printf(trace->out, "0x%llx", (unsigned long long)place->frame->offset);
    }
    if (place->frame->module != CRASH_NO_MODULE) {
        const char *path = trace->record->modules[place->frame->module];
        const char *slash = strrchr(path, '/');
        buf_add_text(trace->out, " (");
        add_shown(trace->out, stage_original_name(slash != NULL ? slash + 1 : path),
                  FILE_SHOWN_MAX);
        buf_add_text(trace->out, ")");
    }
    buf_add_char(trace->out, '\n');
}

/* Frames of the system and of the worker say little about the plugin. */
static bool is_system(const struct trace *trace, uint32_t index) {
    static const char *const names[] = {
            "libc.so",    "libc-",      "ld-linux", "ld-musl",  "libm.so",        "libm-",
            "libdl.",     "libpthread", "librt.",   "libgcc_s", "libstdc++",      "libc++",
            "linux-vdso", "libasan",    "libubsan", "libtsan",  "toolrack-worker"};
    uint32_t module = trace->places[index].frame->module;
    const char *path = module != CRASH_NO_MODULE ? trace->record->modules[module] : "";
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (strncmp(slash != NULL ? slash + 1 : path, names[i], strlen(names[i])) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t system_end(const struct trace *trace, uint32_t from, uint32_t end) {
    while (from < end && is_system(trace, from)) {
        from++;
    }
    return from;
}

/* One line for these frames, with the function that the code below them called. */
static void add_folded(struct trace *trace, uint32_t from, uint32_t end) {
    const struct place *called = &trace->places[end - 1];
    const char *path = trace->record->modules[called->frame->module];
    const char *slash = strrchr(path, '/');
    buf_printf(trace->out, "    ... %u frame%s of ", end - from, text_plural(end - from));
    add_shown(trace->out, slash != NULL ? slash + 1 : path, FILE_SHOWN_MAX);
    if (called->function != NULL) {
        buf_add_text(trace->out, ", in ");
        add_shown(trace->out, called->function, FUNCTION_SHOWN_MAX);
    }
    buf_add_char(trace->out, '\n');
}

/* The plugin's innermost frame, and after it what it called. Returns where the others begin; 0 if
 * all frames are the system's. */
static uint32_t add_first(struct trace *trace, uint32_t end) {
    uint32_t first = system_end(trace, 0, end);
    if (first == 0 || first == end) {
        return 0;
    }
    add_place(trace, first);
    add_folded(trace, 0, first);
    return first + 1;
}

static void add_places(struct trace *trace, uint32_t from, uint32_t end, bool folds) {
    while (from < end) {
        uint32_t system = folds ? system_end(trace, from, end) : from;
        if (system > from) {
            add_folded(trace, from, system);
            from = system;
            continue;
        }
        uint32_t period = 1;
        uint32_t repeated = repeating(trace, from, end, &period);
        for (uint32_t i = 0; i < period; i++) {
            add_place(trace, from + i);
        }
        if (repeated > 0) {
            buf_printf(trace->out, "    ... %u more of the same\n", repeated);
        }
        from += period + repeated;
    }
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The file to read for a module, or NULL. Folders of the system contain what root has put there;
 * these are the folders that every worker may read. */
static const char *file_of(const char *claimed, const char *const *known) {
    for (; *known != NULL; known++) {
        if (strcmp(name_of(claimed), name_of(*known)) == 0) {
            return *known;
        }
    }
    static const char *const system[] = {"/usr/lib/", "/usr/lib64/", "/lib/", "/lib64/",
                                         "/usr/local/lib/"};
    for (size_t i = 0; i < ARRAY_LENGTH(system); i++) {
        if (strncmp(claimed, system[i], strlen(system[i])) == 0 && strstr(claimed, "/..") == NULL) {
            return claimed;
        }
    }
    return NULL;
}

void crash_describe(const struct crash_record *record, const char *const *known, struct buf *out) {
    CLEANUP(trace_finish) struct trace trace = {.record = record, .out = out};
    uint32_t kept = frames_kept(record);
    uint32_t inner = kept < CRASH_FRAMES_INNER ? kept : CRASH_FRAMES_INNER;
    for (uint32_t i = 0; i < record->module_count; i++) {
        const char *file = file_of(record->modules[i], known);
        if (file != NULL) {
            (void)symbols_open(file, &trace.symbols[i], NULL);
        }
    }
    for (uint32_t i = 0; i < kept; i++) {
        struct place *place = &trace.places[i];
        place->frame = &record->frames[i];
        uint32_t module = place->frame->module;
        if (module != CRASH_NO_MODULE && trace.symbols[module] != NULL) {
            place->function =
                    symbols_find(trace.symbols[module], place->frame->offset, &place->offset);
        }
    }
    bool folds = system_end(&trace, 0, kept) < kept;
    uint32_t first = add_first(&trace, inner);
    if (record->frame_count <= kept) {
        add_places(&trace, first, kept, folds);
        return;
    }
    add_places(&trace, first, inner, folds);
    buf_printf(out, "    ... %u left out\n", record->frame_count - kept);
    add_places(&trace, inner, kept, folds);
    if (record->frame_count == CRASH_WALK_MAX) {
        buf_add_text(out, "    ... and further frames\n");
    }
}
