#include "base/traceparent.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/ascii.h"

#define VERSION_AT  0u
#define TRACE_AT    3u
#define SPAN_AT     36u
#define FLAGS_AT    53u
#define LENGTH      55u
#define FLAGS_KNOWN 3u

/* Whether there are so many lower-case hexadecimal digits; `zero`: all may be 0. */
static bool is_hex(const char *text, size_t length, bool zero) {
    bool is_zero = true;
    for (size_t i = 0; i < length; i++) {
        if (ascii_hex_value(text[i]) < 0 || ascii_is_upper(text[i])) {
            return false;
        }
        is_zero = is_zero && text[i] == '0';
    }
    return zero || !is_zero;
}

bool traceparent_read(const char *text, struct traceparent *ret) {
    size_t length = text != NULL ? strnlen(text, LENGTH + 1) : 0;
    if (length < LENGTH || text[TRACE_AT - 1] != '-' || text[SPAN_AT - 1] != '-' ||
        text[FLAGS_AT - 1] != '-' || !is_hex(text + VERSION_AT, 2, true) ||
        !is_hex(text + TRACE_AT, sizeof ret->trace - 1, false) ||
        !is_hex(text + SPAN_AT, sizeof ret->span - 1, false) || !is_hex(text + FLAGS_AT, 2, true)) {
        return false;
    }
    bool is_first = strncmp(text, "00", 2) == 0;
    if (strncmp(text, "ff", 2) == 0 || (length > LENGTH && (is_first || text[LENGTH] != '-'))) {
        return false;
    }
    *ret = (struct traceparent){.flags = (unsigned)ascii_hex_value(text[FLAGS_AT + 1]) &
                                         FLAGS_KNOWN};
    memcpy(ret->trace, text + TRACE_AT, sizeof ret->trace - 1);
    memcpy(ret->span, text + SPAN_AT, sizeof ret->span - 1);
    return true;
}

void traceparent_write(const struct traceparent *traceparent, char ret[static TRACEPARENT_ROOM]) {
    (void)snprintf(ret, TRACEPARENT_ROOM, "00-%s-%s-%02x", traceparent->trace, traceparent->span,
                   traceparent->flags & FLAGS_KNOWN);
}

bool traceparent_begin(struct traceparent *traceparent) {
    uint64_t bits = 0;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits || bits == 0) {
        return false;
    }
    (void)snprintf(traceparent->span, sizeof traceparent->span, "%016llx",
                   (unsigned long long)bits);
    return true;
}
