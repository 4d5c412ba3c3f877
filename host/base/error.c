#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *toolrack_code_name(int code) {
    switch (code) {
    case TOOLRACK_OK: return "Ok";
#define TOOLRACK_CODE(constant, value, name, recoverable) \
    case TOOLRACK_E_##constant: return name;
        TOOLRACK_CODES(TOOLRACK_CODE)
#undef TOOLRACK_CODE
    default: return "Unknown";
    }
}

bool toolrack_code_is_recoverable(int code) {
    switch (code) {
#define TOOLRACK_CODE(constant, value, name, recoverable) \
    case TOOLRACK_E_##constant: return recoverable;
        TOOLRACK_CODES(TOOLRACK_CODE)
#undef TOOLRACK_CODE
    default: return false;
    }
}

/* A message that was cut ends in an ellipsis: a path at its end must not be taken for the folder
 * that is left of it. */
static void mark_cut(struct toolrack_error *err) {
    static const char ellipsis[] = "\xe2\x80\xa6";
    size_t end = utf8_cut(err->message, sizeof err->message - sizeof ellipsis);
    memcpy(err->message + end, ellipsis, sizeof ellipsis);
}

int error_setv(struct toolrack_error *err, int code, const char *field, const char *format,
               va_list args) {
    if (err == NULL) {
        return code;
    }
    err->code = code;
    err->signal = 0;
    err->from_tool = false;
    err->tool_code = 0;
    err->cause = TOOLRACK_CAUSE_OTHER;
    err->brief_length = 0;
    err->begun = false;
    err->lasting = false;
    err->tool[0] = '\0';
    err->trace[0] = '\0';
    utf8_copy(err->field, sizeof err->field, field != NULL ? field : "");
    int length = vsnprintf(err->message, sizeof err->message, format, args);
    if (length >= (int)sizeof err->message) {
        mark_cut(err);
    }
    /* A message is one line, even if a plugin or a file put line breaks into it. */
    utf8_make_line(err->message);
    return code;
}

int error_set(struct toolrack_error *err, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)error_setv(err, code, NULL, format, args);
    va_end(args);
    return code;
}

int error_set_field(struct toolrack_error *err, int code, const char *field, const char *format,
                    ...) {
    va_list args;
    va_start(args, format);
    (void)error_setv(err, code, field, format, args);
    va_end(args);
    return code;
}

int error_oom(struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_NO_MEMORY, "out of memory");
}

void error_set_tool(struct toolrack_error *err, const char *tool) {
    if (err != NULL) {
        utf8_copy(err->tool, sizeof err->tool,
                  tool[strspn(tool, " \t\r\n")] != '\0' ? tool : "<unnamed>");
        utf8_make_line(err->tool); /* it may be any string that a caller passed as a name */
    }
}

void error_set_begun(struct toolrack_error *err, bool begun) {
    if (err != NULL) {
        err->begun = begun;
    }
}

void error_append(struct toolrack_error *err, const char *text) {
    if (err == NULL) {
        return;
    }
    size_t length = strlen(err->message);
    (void)snprintf(err->message + length, sizeof err->message - length, "; %s", text);
    if (length + strlen(text) + 2 >= sizeof err->message) {
        mark_cut(err);
    }
    utf8_make_line(err->message);
}

void error_set_trace(struct toolrack_error *err, const char *trace) {
    if (err == NULL) {
        return;
    }
    utf8_copy(err->trace, sizeof err->trace, trace);
    if (strlen(trace) >= sizeof err->trace) {
        char *end = strrchr(err->trace, '\n');
        if (end != NULL) {
            *end = '\0';
        }
    }
}
