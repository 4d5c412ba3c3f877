#include "remote/nats/subject.h"

/* Whether a byte stands for itself. */
static bool is_plain(unsigned char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
}

void subject_add_token(struct buf *buf, const char *name, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)name[i];
        if (is_plain(byte)) {
            buf_add_char(buf, name[i]);
        } else {
            buf_printf(buf, "=%02X", byte);
        }
    }
    if (length == 0) {
        buf_add_char(buf, '=');
    }
}

/* The value of an upper-case hexadecimal digit; -1: it is none. */
static int digit_value(char digit) {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

bool subject_read_token(const char *token, size_t length, char *ret_name, size_t *ret_length) {
    size_t written = 0;
    if (length == 0) {
        return false;
    }
    for (size_t i = 0; i < length && !(length == 1 && token[0] == '='); i++) {
        unsigned char byte = (unsigned char)token[i];
        if (byte == '=') {
            int high = i + 2 < length ? digit_value(token[i + 1]) : -1;
            int low = i + 2 < length ? digit_value(token[i + 2]) : -1;
            if (high < 0 || low < 0) {
                return false;
            }
            byte = (unsigned char)(high * 16 + low);
            if (byte == '\0' || is_plain(byte)) { /* a name has one token */
                return false;
            }
            i += 2;
        } else if (!is_plain(byte)) {
            return false;
        }
        if (written == SUBJECT_NAME_MAX) {
            return false;
        }
        ret_name[written++] = (char)byte;
    }
    ret_name[written] = '\0';
    *ret_length = written;
    return true;
}
