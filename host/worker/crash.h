/* crash.h - the last words of a worker.
 *
 * When a plugin crashes its process, the handler of the fatal signals writes a record
 * into memory that the host shares (channel_crash_area()), on a stack of its own, so
 * that it works after a stack overflow too, and lets the signal kill the process. It
 * calls nothing that could wait: what is there is read after the end. The host turns
 * addresses into names by itself, from the files (plugin/symbols.h), as any of the
 * record may be wrong. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Most frames of a backtrace, and longest path of a module kept. */
#define CRASH_FRAMES_MAX  48u
#define CRASH_MODULES_MAX 12u
#define CRASH_PATH_MAX    160u

/** One frame: an address in a module (its index), as an offset from the module's load address. */
struct crash_frame {
    uint64_t offset; /* the absolute address where module is UINT32_MAX */
    uint32_t module;
    uint32_t reserved;
};

/** The record. Fits CHANNEL_CRASH_SIZE. */
struct crash_record {
    uint32_t magic; /* CRASH_MAGIC, written last */
    int32_t signal;
    int32_t code;     /* si_code */
    uint32_t overflow; /* 1: the address is at the end of the thread's stack */
    uint64_t address; /* si_addr */
    uint64_t memory_bytes; /* address space in use, when it could be read; else 0 */
    uint32_t frame_count;
    uint32_t module_count;
    struct crash_frame frames[CRASH_FRAMES_MAX];
    char modules[CRASH_MODULES_MAX][CRASH_PATH_MAX];
};
#define CRASH_MAGIC 0x64616544u

/** Worker: install the handlers; `area` of CHANNEL_CRASH_SIZE bytes is where the record goes.
 * Called once, before the sandbox and the plugin. False: err_no says why. [worker] */
bool crash_install(void *area);
/** Worker: give this thread a stack for the handler; each thread that runs tools calls it once.
 * [worker] */
bool crash_thread_begin(void);
void crash_thread_end(void);

/** Host: whether `area` holds a record; a copy of it, made sound: counts in range, texts ended. */
bool crash_read(const void *area, struct crash_record *ret);

/** "SIGSEGV" for a signal's number; "signal 64" for one without a name. Static or in `room`. */
const char *crash_signal_name(int signal, char room[24]);

/** Host: the backtrace as lines "#0 tool_name+0x1c in plugin.so", appended to `out`; frames of the
 * handler itself are left out. Reads the files of the modules; what cannot be read stays a number. */
void crash_describe(const struct crash_record *record, struct buf *out);
