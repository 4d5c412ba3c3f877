/* error.h - setting a struct toolrack_error.
 *
 * The message is set once, where the cause is known, and passed up as it is.
 * Every function here takes a NULL error and returns the code it was given, so
 * that a failing function can end in `return error_set(err, ...)`. */
#pragma once

#include <stdarg.h>

#include "toolrack/error.h"

/** Set code and message; tool, field and signal are emptied. Returns `code`. [any-thread] */
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
