/* crash.h - the last words of a worker.
 *
 * When a plugin crashes its process, the handler of the fatal signals writes a record
 * into memory that the host shares (channel_crash_area()), on a stack of its own, so
 * that it works after a stack overflow too, and lets the signal kill the process, so
 * that the exit status names it. It calls nothing that could wait: what is there is
 * read after the end. The host turns addresses into names by itself, from the files
 * (plugin/symbols.h), as any of the record may be wrong.
 *
 * crash.c is the child's side, part of the worker program only; crash-text.c the host's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Most frames of a backtrace that are kept: those next to the crash, and, where the stack has more,
 * those at its outer end, which say how it came to that. */
#define CRASH_FRAMES_MAX   48u
#define CRASH_FRAMES_OUTER 16u
#define CRASH_FRAMES_INNER (CRASH_FRAMES_MAX - CRASH_FRAMES_OUTER)
/* Most frames that are walked through, which takes about 20 ms. */
#define CRASH_WALK_MAX     65536u

/* Most modules named, and longest path of one; of a longer path the end is kept. */
#define CRASH_MODULES_MAX 12u
#define CRASH_PATH_MAX    256u

/** One frame: an address in a module (its index), as an offset from the module's load address. It
 * is that of the instruction that crashed, and of the last byte of the call in the frames around
 * it. */
struct crash_frame {
    uint64_t offset; /* the absolute address where module is CRASH_NO_MODULE */
    uint32_t module;
    uint32_t reserved;
};
#define CRASH_NO_MODULE UINT32_MAX

/** The record. Fits CHANNEL_CRASH_SIZE. The handler writes the number of anything after the thing
 * itself, so that as much is there as it came to when it crashed over a broken stack. */
struct crash_record {
    uint32_t magic; /* CRASH_MAGIC, written when all up to the first frame is there */
    int32_t signal;
    int32_t code;          /* si_code */
    uint32_t overflow;     /* 1: the address is at the end of the thread's stack */
    uint64_t address;      /* si_addr where the signal has one; of SIGSYS the number of the call */
    uint64_t memory_bytes; /* address space in use, when it could be read; else 0 */
    uint32_t frame_count;  /* walked through; of more than CRASH_FRAMES_MAX some are left out */
    uint32_t module_count;
    /* CRASH_FRAMES_INNER from the crash on, then the outermost: in the order of the stack in what
     * crash_read() gives, begun anew whenever it is full in what the handler writes. */
    struct crash_frame frames[CRASH_FRAMES_MAX];
    char modules[CRASH_MODULES_MAX][CRASH_PATH_MAX];
};
#define CRASH_MAGIC 0x64616544u

/** Worker: install the handlers; `area` of CHANNEL_CRASH_SIZE bytes is where the record goes, kept
 * for the life of the process. Called once, before the sandbox and the plugin: it opens
 * /proc/self/statm and keeps the descriptor. A plugin may put handlers of its own in their place,
 * or crash a process that it forked: then there is no record. False: errno says why. [worker] */
bool crash_install(void *area);

/** Worker: give this thread a stack for the handler, and let the fatal signals through to it. Each
 * thread that runs tools calls it once, the first one as well. A thread without (the plugin's own)
 * leaves a record of all but a stack overflow. False: errno says why. [worker] */
bool crash_thread_begin(void);
/** The same thread, before it ends: releases that stack. Nothing where there is none. [worker] */
void crash_thread_end(void);

/** Host: whether `area` holds a record; a copy of it, made sound: counts in range, texts ended.
 * [any-thread] */
bool crash_read(const void *area, struct crash_record *ret);

/** "SIGSEGV" for a signal's number; "signal 64" for one without a name. Static or in `room`.
 * [any-thread] */
#define CRASH_SIGNAL_ROOM 24
const char *crash_signal_name(int signal, char room[CRASH_SIGNAL_ROOM]);

/** Host: what happened, in a few words: "SIGSEGV: the stack overflowed", appended to `out`.
 * [any-thread] */
void crash_explain(const struct crash_record *record, struct buf *out);

/** Host: the backtrace, appended to `out`: lines such as "#0  tool_name+0x1c (plugin.so)", at most
 * CRASH_FRAMES_MAX of frames; what repeats itself, as in a recursion, is shown once. Reads the
 * files of the modules as they are now; where one cannot be read the offset stays a number.
 * `record` is crash_read()'s. [any-thread] */
void crash_describe(const struct crash_record *record, struct buf *out);
