/* toolrack/error.h - errors, as values.
 *
 * Every function of the embedding API that can fail returns 0 or one of the
 * negative codes below, and fills the error that its caller passes. The code
 * is for programs, the message for people: one line that says what, where and
 * what to do. The host's own code uses the same codes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#if defined(__GNUC__)
#define TOOLRACK_API                 __attribute__((visibility("default")))
#define TOOLRACK_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define TOOLRACK_API
#define TOOLRACK_PRINTF(text, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** X(constant, value, type name as it stands in JSON and text, whether another try may succeed).
 * Everything that shows an error shows it by this table. New codes may come. */
#define TOOLRACK_CODES(X)                                                     \
    X(NOT_FOUND, -1, "NotFound", false)                                       \
    X(DISABLED, -2, "Disabled", false)                                        \
    X(INVALID_ARGUMENTS, -3, "InvalidArguments", true)                        \
    X(PERMISSION_DENIED, -4, "PermissionDenied", false)                       \
    X(CONFIRMATION_REQUIRED, -5, "ConfirmationRequired", true)                \
    X(EXECUTION_FAILED, -6, "ExecutionFailed", true)                          \
    X(TIMEOUT, -7, "Timeout", true)                                           \
    X(CANCELLED, -8, "Cancelled", false)                                      \
    X(LIMIT_EXCEEDED, -9, "LimitExceeded", true)                              \
    /* Not about one call, but about the host, its files and its settings. */ \
    X(EXISTS, -10, "AlreadyExists", false)                                    \
    X(REFUSED, -11, "Refused", false)                                         \
    X(INVALID, -12, "Invalid", false)                                         \
    X(IO, -13, "InputOutput", true)                                           \
    X(NO_MEMORY, -14, "OutOfMemory", true)                                    \
    /* Again about one call: it goes on in another one, with the answers. */  \
    X(INPUT_REQUIRED, -15, "InputRequired", true)                             \
    /* And about one call: no host that has the tool can be reached. */       \
    X(UNAVAILABLE, -16, "Unavailable", true)

enum toolrack_code {
    TOOLRACK_OK = 0,
#define TOOLRACK_CODE(constant, value, name, recoverable) TOOLRACK_E_##constant = value,
    TOOLRACK_CODES(TOOLRACK_CODE)
#undef TOOLRACK_CODE
};

/** The type name of a code, such as "NotFound"; "Ok" for 0 and "Unknown" for any other number.
 * Static string. [any-thread] */
TOOLRACK_API const char *toolrack_code_name(int code);

/** Whether the same caller may succeed with another try: with other arguments, after somebody
 * agreed, or later. [any-thread] */
TOOLRACK_API bool toolrack_code_is_recoverable(int code);

/** One failure. Functions set it only when they fail; each failure replaces the one before it. One
 * thread at a time. */
struct toolrack_error;

/** An empty error, to be released by toolrack_error_free(); NULL when out of
 * memory. NULL may be passed on: every function takes it as `err`, and the functions below report
 * "out of memory" for it. [any-thread] */
TOOLRACK_API struct toolrack_error *toolrack_error_create(void);
TOOLRACK_API void toolrack_error_free(struct toolrack_error *err);
/** Copy an error, for one that is valid only during a callback. Nothing happens when one
 * of them is NULL. [any-thread] */
TOOLRACK_API void toolrack_error_copy(struct toolrack_error *to, const struct toolrack_error *from);

/* What an error says. Strings are borrowed from the error until it is set again or released, and
 * never NULL. [any-thread] */

/** enum toolrack_code; 0 when nothing failed; TOOLRACK_E_NO_MEMORY for NULL. */
TOOLRACK_API int toolrack_error_code(const struct toolrack_error *err);
/** One line of UTF-8 without a final stop; "out of memory" for NULL. */
TOOLRACK_API const char *toolrack_error_message(const struct toolrack_error *err);
/** The name of the tool concerned, "<unnamed>" where its name is empty; "" when the error is about
 * no tool. */
TOOLRACK_API const char *toolrack_error_tool(const struct toolrack_error *err);
/** JSON Pointer of the argument at fault, or "". */
TOOLRACK_API const char *toolrack_error_field(const struct toolrack_error *err);
/** What is wrong with the arguments, when it is more than one thing: the JSON Pointer of the
 * index-th argument at fault ("" for all of them together), with what is wrong with it in
 * *ret_message. The first is that of toolrack_error_field(); those that are deeper in the arguments
 * come later. toolrack_error_message() says all of them on its line. Borrowed as all strings.
 * @param ret_message  NULL is not allowed
 * @return NULL from their number on, and for an error about one thing. [any-thread] */
TOOLRACK_API const char *toolrack_error_mistake(const struct toolrack_error *err, size_t index,
                                                const char **ret_message);
/** Where the tool was when it failed: the stack of its process when it died, or of its thread at
 * the deadline, a line for each function, the innermost first; for tr_fail() "file.c:12"; or "". */
TOOLRACK_API const char *toolrack_error_trace(const struct toolrack_error *err);
/** The signal that ended the tool's process, or 0. */
TOOLRACK_API int toolrack_error_signal(const struct toolrack_error *err);
/** What is behind a TOOLRACK_E_EXECUTION_FAILED that is not the tool's own. */
enum toolrack_cause {
    TOOLRACK_CAUSE_OTHER,
    TOOLRACK_CAUSE_DEATH,     /**< the process that the tool ran in has died: it may have done its
                                   work, or a part of it */
    TOOLRACK_CAUSE_QUARANTINE /**< the plugin is in quarantine: the tool did not run */
};
TOOLRACK_API enum toolrack_cause toolrack_error_cause(const struct toolrack_error *err);
/** How many bytes of the message are for whoever calls a tool. What follows is for who administers
 * the host: addresses, functions and processes of a crash. Mostly all of it. */
TOOLRACK_API size_t toolrack_error_brief_length(const struct toolrack_error *err);
/** Whether the tool itself, or the process that it runs in, says so; otherwise the host does. */
TOOLRACK_API bool toolrack_error_is_from_tool(const struct toolrack_error *err);
/** Whether the call had reached its tool when it failed: the tool may have done its work, or a part
 * of it, and another call may do it twice. */
TOOLRACK_API bool toolrack_error_has_begun(const struct toolrack_error *err);
/** Whether the same caller may succeed with another try, as toolrack_code_is_recoverable() says of
 * the code; false where a person must do something first: release a plugin from quarantine, or
 * correct one that cannot be loaded. */
TOOLRACK_API bool toolrack_error_is_recoverable(const struct toolrack_error *err);
/** The code that the tool gave when it claims what only the host decides (PERMISSION_DENIED,
 * TIMEOUT, CANCELLED); the error's own code is then EXECUTION_FAILED. Otherwise 0. */
TOOLRACK_API int toolrack_error_tool_code(const struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
