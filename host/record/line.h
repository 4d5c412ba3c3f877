/* line.h - one call on its way: from its end into a ring, and from there to a row of the log. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "call/call.h"
#include "record/subject.h"
#include "store/calls.h"

/* Longest caller, channel, conversation and trace in the log; cut at a character. */
#define LINE_STRING_MAX    256u
/* Longest arguments, or result, that hold secrets and are logged: above that all of it is masked.
 */
#define LINE_SECRETIVE_MAX (64u * 1024)

/* The strings of a line. */
enum line_string {
    LINE_CALLER,
    LINE_CHANNEL,
    LINE_CONVERSATION,
    LINE_TRACE,
    LINE_ARGUMENTS,
    LINE_RESULT,
    LINE_FIELD, /* this and the next two of the error */
    LINE_MESSAGE,
    LINE_BACKTRACE,
    LINE_STRINGS
};

/* A call in a ring; the strings follow, each with a zero at its end. */
struct line {
    struct subject *subject;
    struct figures figures;
    uint32_t lengths[LINE_STRINGS];
    uint32_t size; /* of the strings together, with an end each */
};

/* What a line is made of; borrowed from the call. */
struct line_strings {
    const char *strings[LINE_STRINGS];
    uint32_t lengths[LINE_STRINGS];
    unsigned count; /* the rest are of an error, which there is not */
    size_t size;
};

/** Find out which strings of a call the log wants, and how much room they take. [any-thread] */
void line_collect(const struct subject *subject, const struct call_ending *ending,
                  struct line_strings *ret);

/** The figures of a call. [any-thread] */
void line_measure(const struct call_ending *ending, struct figures *ret);

/** Fill in a line, which has room for the strings behind it. [any-thread] */
void line_fill(struct line *line, struct subject *subject, const struct call_ending *ending,
               const struct line_strings *strings);

/** Make a row of the log of a line. Its strings are copied to the arena, as UTF-8 and without
 * secrets; all are NULL when there is no memory.
 * @param wall_ns        the monotonic clock's zero, in the time since 1970
 * @param ret_no_memory  set to true when there was no memory for a part of it. [any-thread] */
struct store_call line_read(const struct line *line, int64_t wall_ns, struct arena *arena,
                            bool *ret_no_memory);
