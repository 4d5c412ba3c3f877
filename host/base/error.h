/* error.h - struct toolrack_error, and how it is set.
 *
 * The message is set once, where the cause is known, and passed up unchanged. Every function here
 * accepts a NULL error and returns the given code, so that a failing function can end in `return
 * error_set(err, ...)`. An embedding program sees only the functions of toolrack/error.h; inside
 * the host an error is a plain value, mostly on the stack, and need not be initialized. */
#pragma once

#include <stdarg.h>

#include "toolrack/error.h"

/* Longest strings of an error, with their final zero; longer ones are cut at the end of a
 * character. */
#define ERROR_TOOL_MAX     65
#define ERROR_FIELD_MAX    256
#define ERROR_MESSAGE_MAX  1536
#define ERROR_TRACE_MAX    2048
/* Of all mistakes of one call together. */
#define ERROR_MISTAKES_MAX 1536

/** One failure: see the functions of toolrack/error.h for the members. It can be copied and needs
 * no free. Bytes after the end of a string are undefined. The command links its own copy of base/
 * and may run with a newer library: an error of one must never be passed to the other.
 */
struct toolrack_error {
    int code;
    int signal;
    bool from_tool; /* the tool failed the call, by tr_fail() */
    int tool_code;  /* the code that the tool gave, if a tool cannot cause it; else 0 */
    enum toolrack_cause cause;
    size_t brief_length; /* what of the message is for whoever calls; 0: all */
    bool begun;          /* the call had reached its tool */
    bool lasting; /* the same call fails until a person does something, whatever the code says */
    char tool[ERROR_TOOL_MAX];
    char field[ERROR_FIELD_MAX];
    char message[ERROR_MESSAGE_MAX];
    char trace[ERROR_TRACE_MAX];
    /* Of several mistakes in the arguments, the first included: the field and the message of each,
     * each with its zero. The message has them all, too. */
    unsigned mistake_count; /* 0: the error is about one thing */
    unsigned mistakes_length;
    char mistakes[ERROR_MISTAKES_MAX];
};

/** Set code and message; all other members are emptied. Returns `code`. [any-thread] */
int error_set(struct toolrack_error *err, int code, const char *format, ...) TOOLRACK_PRINTF(3, 4);

/** The same for one argument: `field` is its JSON Pointer (borrowed, copied). [any-thread] */
int error_set_field(struct toolrack_error *err, int code, const char *field, const char *format,
                    ...) TOOLRACK_PRINTF(4, 5);

/** The same from a va_list; `field` may be NULL. [any-thread] */
int error_setv(struct toolrack_error *err, int code, const char *field, const char *format,
               va_list args) TOOLRACK_PRINTF(4, 0);

/** Out of memory: sets a fixed message and cannot fail. [any-thread] */
int error_oom(struct toolrack_error *err);

/** Set the tool that an error is about: "" is a tool without a name, shown as "<unnamed>"; `err`
 * may be NULL. [any-thread] */
void error_set_tool(struct toolrack_error *err, const char *tool);

/** Set whether the call that an error is about had reached its tool; `err` may be NULL.
 * [any-thread] */
void error_set_begun(struct toolrack_error *err, bool begun);

/** Add one more mistake in the arguments to an error about one. `field` is its JSON Pointer; `err`
 * may be NULL.
 * @return false: there is no room for it. [any-thread] */
bool error_add_mistake(struct toolrack_error *err, const char *field, const char *message);

/** The same without changing the message, which has it already. */
bool error_keep_mistake(struct toolrack_error *err, const char *field, const char *message);

/** The index-th mistake: its field and, in *ret_message, its message, both borrowed from the error;
 * NULL from their number on. [any-thread] */
const char *error_mistake(const struct toolrack_error *err, size_t index, const char **ret_message);

/** Put a text and ": " before the message, as one line; what has no room is cut off the end. `err`
 * may be NULL. [any-thread] */
void error_prefix(struct toolrack_error *err, const char *text);

/** Append to the message, "; " and `text`, as one line; cut if it is too long. `err` may be NULL.
 * [any-thread] */
void error_append(struct toolrack_error *err, const char *text);

/** Set the trace: where the tool was, one line per function, innermost first; cut at a line end if
 * it is too long. `err` may be NULL. [any-thread] */
void error_set_trace(struct toolrack_error *err, const char *trace);
