/* toolrack/error.h - what can go wrong, as values.
 *
 * Every function of the embedding API that can fail returns 0 or one of the
 * negative codes below, and fills the error that its caller passes. The code
 * is for programs, the message for people: one line that says what, where and
 * what to do. This header is also the vocabulary of the host's inside. */
#pragma once

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

/** X(constant, value, type name as it stands in JSON and text) */
#define TOOLRACK_CODES(X)                                                     \
    X(NOT_FOUND, -1, "NotFound")                                              \
    X(DISABLED, -2, "Disabled")                                               \
    X(INVALID_ARGUMENTS, -3, "InvalidArguments")                              \
    X(PERMISSION_DENIED, -4, "PermissionDenied")                              \
    X(CONFIRMATION_REQUIRED, -5, "ConfirmationRequired")                      \
    X(EXECUTION_FAILED, -6, "ExecutionFailed")                                \
    X(TIMEOUT, -7, "Timeout")                                                 \
    X(CANCELLED, -8, "Cancelled")                                             \
    X(LIMIT_EXCEEDED, -9, "LimitExceeded")                                    \
    /* Not about one call, but about the host, its files and its settings. */ \
    X(EXISTS, -10, "AlreadyExists")                                           \
    X(REFUSED, -11, "Refused")                                                \
    X(INVALID, -12, "Invalid")                                                \
    X(IO, -13, "InputOutput")                                                 \
    X(NO_MEMORY, -14, "OutOfMemory")

enum toolrack_code {
    TOOLRACK_OK = 0,
#define TOOLRACK_CODE(constant, value, name) TOOLRACK_E_##constant = value,
    TOOLRACK_CODES(TOOLRACK_CODE)
#undef TOOLRACK_CODE
};

/* Longest texts an error carries, with their final zero; what is longer is cut at a character. */
#define TOOLRACK_ERROR_TOOL_MAX    65
#define TOOLRACK_ERROR_FIELD_MAX   256
#define TOOLRACK_ERROR_MESSAGE_MAX 768

/** One failure. A plain value: copy it, keep it, nothing in it is to be freed. */
struct toolrack_error {
    int code;                                 /**< enum toolrack_code; 0 when nothing failed */
    int signal;                               /**< the signal that ended the tool's process, or 0 */
    char tool[TOOLRACK_ERROR_TOOL_MAX];       /**< the tool concerned, or "" */
    char field[TOOLRACK_ERROR_FIELD_MAX];     /**< JSON Pointer of the argument at fault, or "" */
    char message[TOOLRACK_ERROR_MESSAGE_MAX]; /**< one line of UTF-8 without a final stop */
};

/** The type name of a code, such as "NotFound"; "Ok" for 0 and "Unknown" for a number that is no
 * code. Static text. [any-thread] */
TOOLRACK_API const char *toolrack_code_name(int code);

#ifdef __cplusplus
}
#endif
