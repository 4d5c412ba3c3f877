/* error.h - struct toolrack_error, and how it is set.
 *
 * The message is set once, where the cause is known, and passed up as it is.
 * Every function here takes a NULL error and returns the code it was given, so
 * that a failing function can end in `return error_set(err, ...)`. An embedding
 * program sees the functions of toolrack/error.h only; inside of the host an
 * error is a plain value, mostly on the stack, and need not be initialized. */
#pragma once

#include <stdarg.h>

#include "toolrack/error.h"

/* Longest strings an error carries, with their final zero; what is longer is cut at a character. */
#define ERROR_TOOL_MAX    65
#define ERROR_FIELD_MAX   256
#define ERROR_MESSAGE_MAX 768
#define ERROR_TRACE_MAX   2048

/** One failure: see the functions of toolrack/error.h for what the members say. Copy it, keep it,
 * nothing in it is to be freed. Bytes behind the end of a string have no value. The command links a
 * base/ of its own and may run with a newer library: an error of one is never given to the other.
 */
struct toolrack_error {
    int code;
    int signal;
    char tool[ERROR_TOOL_MAX];
    char field[ERROR_FIELD_MAX];
    char message[ERROR_MESSAGE_MAX];
    char trace[ERROR_TRACE_MAX];
};

/** Set code and message; tool, field, trace and signal are emptied. Returns `code`. [any-thread] */
int error_set(struct toolrack_error *err, int code, const char *format, ...) TOOLRACK_PRINTF(3, 4);

/** The same for one argument: `field` is its JSON Pointer (borrowed, copied). [any-thread] */
int error_set_field(struct toolrack_error *err, int code, const char *field, const char *format,
                    ...) TOOLRACK_PRINTF(4, 5);

/** The same from a va_list; `field` may be NULL. [any-thread] */
int error_setv(struct toolrack_error *err, int code, const char *field, const char *format,
               va_list args) TOOLRACK_PRINTF(4, 0);

/** Out of memory: a fixed message, sets nothing that could fail. [any-thread] */
int error_oom(struct toolrack_error *err);

/** Name the tool an error is about: "" is a tool without a name, and told as "<unnamed>"; `err` may
 * be NULL. [any-thread] */
void error_set_tool(struct toolrack_error *err, const char *tool);

/** Where the tool's process was when it died, a line for each function; cut at a line where it is
 * too long. `err` may be NULL. [any-thread] */
void error_set_trace(struct toolrack_error *err, const char *trace);
