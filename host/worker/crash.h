/* crash.h - the crash report of a worker.
 *
 * When a plugin crashes its process, the handler of the fatal signals writes a record into memory
 * that the host shares (channel_crash_area()). It runs on its own stack, so that it works after a
 * stack overflow too, and then lets the signal kill the process, so that the exit status names the
 * signal. It calls no function that could wait; the host reads the record after the process has
 * ended. The host finds the names of addresses itself, from the files (plugin/symbols.h), as any
 * part of the record may be wrong.
 *
 * crash.c is the child's side, part of the worker program only; crash-text.c the host's. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Most frames of a backtrace that are kept: those next to the crash and, if the stack has more,
 * those at its outer end, which show where the calls began. */
#define CRASH_FRAMES_MAX   48u
#define CRASH_FRAMES_OUTER 16u
#define CRASH_FRAMES_INNER (CRASH_FRAMES_MAX - CRASH_FRAMES_OUTER)
/* Most frames that are walked through, which takes about 20 ms. */
#define CRASH_WALK_MAX     65536u

/* Most modules named, and the longest path of a module; a longer path is cut at its beginning. */
#define CRASH_MODULES_MAX 12u
#define CRASH_PATH_MAX    256u

/** One frame: an address in a module (its index), as an offset from the module's load address. The
 * address is that of the instruction that crashed; in the outer frames, that of the last byte of
 * the call instruction. */
struct crash_frame {
    uint64_t offset; /* the absolute address where module is CRASH_NO_MODULE */
    uint32_t module;
    uint32_t reserved;
};
#define CRASH_NO_MODULE UINT32_MAX

/** The record. Fits CHANNEL_CRASH_SIZE. The handler writes each entry before it increases the
 * count, so the record is valid up to the last complete entry if the handler itself crashes on a
 * broken stack. */
struct crash_record {
    uint32_t magic; /* CRASH_MAGIC, written after all fields that precede the frames */
    int32_t signal;
    int32_t code;      /* si_code */
    uint32_t overflow; /* 1: the address is at the end of the thread's stack */
    uint64_t address;  /* si_addr if the signal has one; for SIGSYS the number of the system call */
    uint64_t memory_bytes; /* address space in use, when it could be read; else 0 */
    uint32_t frame_count;  /* frames walked through; above CRASH_FRAMES_MAX some are left out */
    uint32_t module_count;
    uint32_t trap; /* 1: the instruction is one that compilers use as a trap */
    uint32_t reserved;
    uint64_t cpu_ns; /* of a late call: the CPU time that it has used */
    /* CRASH_FRAMES_INNER frames from the crash on, then the outermost. crash_read() returns the
     * latter in the order of the stack; the handler writes them as a ring, from the start again
     * whenever it is full. */
    struct crash_frame frames[CRASH_FRAMES_MAX];
    char modules[CRASH_MODULES_MAX][CRASH_PATH_MAX];
};
#define CRASH_MAGIC 0x64616544u

/** Worker: install the handlers; `area` of CHANNEL_CRASH_SIZE bytes is where the record goes, kept
 * for the life of the process. Called once, before the sandbox and the plugin: it opens
 * /proc/self/statm and keeps the descriptor. There is no record if the plugin installs other
 * handlers or crashes a process that it forked. False: errno says why. [worker] */
bool crash_install(void *area);

/** Worker: give this thread a stack for the handler, and unblock the fatal signals. Each thread
 * that runs tools calls this once, the first thread too. A thread without such a stack (one of the
 * plugin's own) leaves a record of every crash but a stack overflow. False: errno says why.
 * [worker] */
bool crash_thread_begin(void);
/** Called by the same thread before it ends: releases that stack. Does nothing if there is none.
 * [worker] */
void crash_thread_end(void);

/* The host asks for the stack of a late call by this signal, which is ignored where there is no
 * handler; the answer is a record with this magic number in the area of the call's channel. */
#define CRASH_TRACE_SIGNAL SIGURG
#define CRASH_TRACE_MAGIC  0x65746164u

/* Most threads that run tools. */
#define CRASH_LANES_MAX 4u

struct channel;

/** Worker: this thread runs the calls of `channel` from now on, for the life of the process. False:
 * there are CRASH_LANES_MAX already. Called by one thread at a time. [worker] */
bool crash_lane_begin(struct channel *channel);

/** Worker: for such a thread, where it keeps the last reading of its own CPU clock; that of
 * crash_lane_begin() at first. The answer for a late call counts from there. [worker] */
uint64_t *crash_lane_cpu(void);

/** Host: ask where the thread of the call on `channel` stands, which was cancelled, and append its
 * backtrace to `out`; nothing if the worker does not answer within CRASH_TRACE_WAIT_MS.
 * @return the CPU time that the call has used, as the worker says; UINT64_MAX: no answer.
 * [any-thread] */
#define CRASH_TRACE_WAIT_MS 50u
uint64_t crash_ask_trace(struct channel *channel, int pidfd, const char *const *known,
                         struct buf *out);

/** Host: whether `area` holds a record. `ret` receives a copy with counts in range and strings
 * terminated. [any-thread] */
bool crash_read(const void *area, struct crash_record *ret);

/** "SIGSEGV" for a signal's number; "signal 64" for one without a name. Static or in `room`.
 * [any-thread] */
#define CRASH_SIGNAL_ROOM 24
const char *crash_signal_name(int signal, char room[CRASH_SIGNAL_ROOM]);

/** Host: a short description of the crash: "SIGSEGV: the stack overflowed", appended to `out`.
 * Returns the length of `out` up to where it says more than a caller of a tool needs. [any-thread]
 */
size_t crash_explain(const struct crash_record *record, struct buf *out);

/** Host: the backtrace, appended to `out`: lines such as "#0  tool_name+0x1c (plugin.so)", for at
 * most CRASH_FRAMES_MAX frames; repeated frames, as in a recursion, are shown once. The first line
 * is that of the plugin; frames of the system's libraries and of the worker are one line. Reads
 * files as they are now, and none only because the record names it: those of `known`
 * (NULL-terminated: the worker program, the plugin's image), which it is recognized by its name,
 * and libraries in the folders of the system. In other files the offset stays a number. `record` is
 * crash_read()'s. [any-thread] */
void crash_describe(const struct crash_record *record, const char *const *known, struct buf *out);
