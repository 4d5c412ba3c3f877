/* line.h - one call of the log: written into a ring at its end, and read from there into a row. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "call/call.h"
#include "record/subject.h"
#include "store/calls.h"

/* Longest caller, channel, conversation, trace and run in the log; cut at a character. */
#define LINE_STRING_MAX    256u
/* Longest arguments, or result, with secrets that are logged; longer ones are masked as a whole. */
#define LINE_SECRETIVE_MAX (64u * 1024)

/* The strings of a line. */
enum line_string {
    LINE_CALLER,
    LINE_CHANNEL,
    LINE_CONVERSATION,
    LINE_TRACE,
    LINE_RUN,
    LINE_ARGUMENTS,
    LINE_RESULT,
    LINE_CHANGED, /* in the arguments, see toolrack_result_changed() */
    LINE_SECRETS, /* of the call's options: not written, but masked in arguments and result */
    /* This and the next two: of the error. Of several mistakes the field and the message of each,
     * with a zero behind each but the last. */
    LINE_FIELD,
    LINE_MESSAGE,
    LINE_BACKTRACE,
    LINE_STRINGS
};

/* A call in a ring; the strings follow, each with a zero at its end. */
struct line {
    struct subject *subject;
    struct figures figures;
    uint32_t lengths[LINE_STRINGS];
    uint32_t size; /* of all strings, each with its final zero */
};

/* The strings of a line; borrowed from the call. */
struct line_strings {
    const char *strings[LINE_STRINGS];
    uint32_t lengths[LINE_STRINGS];
    unsigned count; /* without an error, its strings are not counted */
    size_t size;
};

/** Find the strings of a call that are logged, and their lengths. [any-thread] */
void line_collect(const struct subject *subject, const struct call_ending *ending,
                  struct line_strings *ret);

/** The figures of a call. [any-thread] */
void line_measure(const struct call_ending *ending, struct figures *ret);

/** Fill in a line; the strings are written after it, where there must be room. [any-thread] */
void line_fill(struct line *line, struct subject *subject, const struct call_ending *ending,
               const struct line_strings *strings);

/** Turn a line into a row of the log. Its strings are copied to the arena, as UTF-8 and without
 * secrets; all are NULL when out of memory.
 * @param wall_ns        the wall-clock time at zero of the monotonic clock
 * @param ret_no_memory  set to true when memory ran out for a part of the row. [any-thread] */
struct store_call line_read(const struct line *line, int64_t wall_ns, struct arena *arena,
                            bool *ret_no_memory);
