/* toolrack/error.h - what can go wrong, as values.
 *
 * Every function of the embedding API that can fail returns 0 or one of the
 * negative codes below, and fills the error that its caller passes. The code
 * is for programs, the message for people: one line that says what, where and
 * what to do. This header is also the vocabulary of the host's inside. */
#pragma once

#include <stdbool.h>

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

/** X(constant, value, type name as it stands in JSON and text, whether another try may succeed,
 * HTTP status, exit code of the command). Everything that shows an error shows it by this table. */
#define TOOLRACK_CODES(X)                                                     \
    X(NOT_FOUND, -1, "NotFound", false, 404, 3)                               \
    X(DISABLED, -2, "Disabled", false, 403, 5)                                \
    X(INVALID_ARGUMENTS, -3, "InvalidArguments", true, 422, 4)                \
    X(PERMISSION_DENIED, -4, "PermissionDenied", false, 403, 5)               \
    X(CONFIRMATION_REQUIRED, -5, "ConfirmationRequired", true, 409, 5)        \
    X(EXECUTION_FAILED, -6, "ExecutionFailed", true, 502, 7)                  \
    X(TIMEOUT, -7, "Timeout", true, 504, 6)                                   \
    X(CANCELLED, -8, "Cancelled", false, 499, 1)                              \
    X(LIMIT_EXCEEDED, -9, "LimitExceeded", true, 429, 1)                      \
    /* Not about one call, but about the host, its files and its settings. */ \
    X(EXISTS, -10, "AlreadyExists", false, 409, 1)                            \
    X(REFUSED, -11, "Refused", false, 422, 1)                                 \
    X(INVALID, -12, "Invalid", false, 400, 1)                                 \
    X(IO, -13, "InputOutput", true, 500, 1)                                   \
    X(NO_MEMORY, -14, "OutOfMemory", true, 503, 1)

enum toolrack_code {
    TOOLRACK_OK = 0,
#define TOOLRACK_CODE(constant, value, name, recoverable, status, exit) \
    TOOLRACK_E_##constant = value,
    TOOLRACK_CODES(TOOLRACK_CODE)
#undef TOOLRACK_CODE
};

/* Longest texts an error carries, with their final zero; what is longer is cut at a character. */
#define TOOLRACK_ERROR_TOOL_MAX    65
#define TOOLRACK_ERROR_FIELD_MAX   256
#define TOOLRACK_ERROR_MESSAGE_MAX 768
#define TOOLRACK_ERROR_TRACE_MAX   2048

/** One failure. A plain value: copy it, keep it, nothing in it is to be freed. */
struct toolrack_error {
    int code;                                 /**< enum toolrack_code; 0 when nothing failed */
    int signal;                               /**< the signal that ended the tool's process, or 0 */
    char tool[TOOLRACK_ERROR_TOOL_MAX];       /**< the tool concerned, "<unnamed>" where its
                                               * name is empty; "": it is about no tool */
    char field[TOOLRACK_ERROR_FIELD_MAX];     /**< JSON Pointer of the argument at fault, or "" */
    char message[TOOLRACK_ERROR_MESSAGE_MAX]; /**< one line of UTF-8 without a final stop */
    char trace[TOOLRACK_ERROR_TRACE_MAX];     /**< of a tool's process that died: where it was, a
                                               * line for each function, the innermost first; "" */
};

/** The type name of a code, such as "NotFound"; "Ok" for 0 and "Unknown" for a number that is no
 * code. Static text. [any-thread] */
TOOLRACK_API const char *toolrack_code_name(int code);

/** Whether the same caller may succeed with another try: with other arguments, after somebody
 * agreed, or later. [any-thread] */
TOOLRACK_API bool toolrack_code_is_recoverable(int code);

/** The HTTP status that tells it: 200 for 0, 500 for a number that is no code. [any-thread] */
TOOLRACK_API int toolrack_code_http_status(int code);

/** The exit code of the command that tells it: 0 for 0, 1 for a number that is no code.
 * [any-thread] */
TOOLRACK_API int toolrack_code_exit_status(int code);

#ifdef __cplusplus
}
#endif
