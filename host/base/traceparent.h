/* traceparent.h - where an operation stands in a trace over several programs, as W3C Trace Context
 * writes it: "00-TRACE-SPAN-FLAGS". Who began the operation has named its trace and the span in
 * which it did so; the operation is a span of its own in that trace.
 *
 * Pure functions of bytes that anybody may have sent. */
#pragma once

#include <stdbool.h>

/* Room for the text, and for its parts. */
#define TRACEPARENT_ROOM       56u
#define TRACEPARENT_TRACE_ROOM 33u
#define TRACEPARENT_SPAN_ROOM  17u

struct traceparent {
    char trace[TRACEPARENT_TRACE_ROOM]; /* lower-case hexadecimal digits, as is the next */
    char span[TRACEPARENT_SPAN_ROOM];
    unsigned flags; /* those that are defined: 1 sampled, 2 the trace's id is random */
};

/** Read a text. A version to come is read as far as it must be like this one.
 * @param text  NULL: there is none
 * @return false: it is none, and is to be ignored. [any-thread] */
bool traceparent_read(const char *text, struct traceparent *ret);

/** Write one of version 00. [any-thread] */
void traceparent_write(const struct traceparent *traceparent, char ret[static TRACEPARENT_ROOM]);

/** Begin a span in the trace. False: there are no random bits. [any-thread] */
bool traceparent_begin(struct traceparent *traceparent);
