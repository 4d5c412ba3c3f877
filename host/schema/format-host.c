/* Host names (RFC 1123). */
#include <string.h>

#include "base/ascii.h"
#include "schema/format.h"

#define LABEL_LENGTH_MAX 63u
#define HOST_LENGTH_MAX  253u

static bool is_label(const char *text, size_t length) {
    if (length == 0 || length > LABEL_LENGTH_MAX || !ascii_is_alnum(text[0]) ||
        !ascii_is_alnum(text[length - 1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!ascii_is_alnum(text[i]) && text[i] != '-') {
            return false;
        }
    }
    return true;
}

bool format_is_hostname(const char *text, size_t length) {
    if (length == 0 || length > HOST_LENGTH_MAX) {
        return false;
    }
    for (size_t start = 0; start <= length;) {
        const char *dot = start == length ? NULL : memchr(text + start, '.', length - start);
        size_t end = dot == NULL ? length : (size_t)(dot - text);
        if (!is_label(text + start, end - start)) {
            return false;
        }
        start = end + 1;
    }
    return true;
}
