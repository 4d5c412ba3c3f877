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
    err->mistake_count = 0;
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

/* Room for "; and 4294967295 more", after the last mistake. */
#define MORE_ROOM 24u

bool error_keep_mistake(struct toolrack_error *err, const char *field, const char *message) {
    size_t field_size = strlen(field) + 1;
    size_t message_size = strlen(message) + 1;
    err->mistakes_length = err->mistake_count > 0 ? err->mistakes_length : 0;
    char *at = err->mistakes + err->mistakes_length;
    if (field_size + message_size > sizeof err->mistakes - err->mistakes_length) {
        return false;
    }
    memcpy(at, field, field_size);
    memcpy(at + field_size, message, message_size);
    utf8_make_line(at + field_size);
    err->mistakes_length += (unsigned)(field_size + message_size);
    err->mistake_count++;
    return true;
}

bool error_add_mistake(struct toolrack_error *err, const char *field, const char *message) {
    static const char also[] = "; also ";
    if (err == NULL) {
        return true;
    }
    size_t length = strlen(err->message);
    size_t left = sizeof err->message - length;
    if (strlen(also) + strlen(field) + 2 + strlen(message) + MORE_ROOM >= left) {
        return false;
    }
    if (err->mistake_count == 0) {
        (void)error_keep_mistake(err, err->field, err->message);
    }
    if (!error_keep_mistake(err, field, message)) {
        return false;
    }
    (void)snprintf(err->message + length, left, "%s%s%s%s", also, field,
                   field[0] != '\0' ? ": " : "", message);
    utf8_make_line(err->message + length);
    return true;
}

const char *error_mistake(const struct toolrack_error *err, size_t index,
                          const char **ret_message) {
    const char *at = err->mistakes;
    if (index >= err->mistake_count) {
        return NULL;
    }
    for (size_t skipped = 0; skipped < 2 * index; skipped++) {
        at += strlen(at) + 1;
    }
    *ret_message = at + strlen(at) + 1;
    return at;
}

void error_prefix(struct toolrack_error *err, const char *text) {
    if (err == NULL) {
        return;
    }
    char message[ERROR_MESSAGE_MAX];
    utf8_copy(message, sizeof message, err->message);
    int length = snprintf(err->message, sizeof err->message, "%s: %s", text, message);
    size_t begins = strlen(text) + strlen(": ");
    if (err->brief_length > 0) {
        err->brief_length += begins;
    }
    if (length >= (int)sizeof err->message) {
        mark_cut(err);
    }
    utf8_make_line(err->message);
    if (err->brief_length > strlen(err->message)) {
        err->brief_length = 0; /* all of it */
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
