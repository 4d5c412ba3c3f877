#include "base/json-exact.h"

#include "base/ascii.h"

/* A double holds that many digits of every number, and integers are read exactly up to about
 * 10^30 (NUMBER_INTEGER_MAX). */
#define DOUBLE_DIGITS  15u
#define INTEGER_DIGITS 30u
#define EXPONENT_MAX   1000
/* Digits in a row, with the point, from which on a number may have too many. */
#define LONG_RUN       16u

static bool is_digit_or_point(char c) {
    return ascii_is_digit(c) || c == '.';
}

/* Whether LONG_RUN digits stand in a row, in a string or not. Each such row has one of the bytes
 * that are looked at. */
static bool has_long_run(const char *text, size_t length) {
    for (size_t at = LONG_RUN - 1; at < length; at += LONG_RUN) {
        size_t first = at;
        size_t end = at;
        while (end < length && end - at < LONG_RUN && is_digit_or_point(text[end])) {
            end++;
        }
        while (end > at && first > 0 && at - first < LONG_RUN &&
               is_digit_or_point(text[first - 1])) {
            first--;
        }
        if (end - first >= LONG_RUN) {
            return true;
        }
    }
    return false;
}

/* A number as its digits, without zeros at either end, and a power of ten. */
struct digits {
    char kept[INTEGER_DIGITS];
    size_t count;
    size_t zeros; /* read after the last that is kept */
    int exponent;
};

/* False: it has too many digits. */
static bool add_digit(struct digits *digits, char digit) {
    if (digit == '0') {
        digits->zeros += digits->count > 0;
        return true;
    }
    for (; digits->zeros > 0 && digits->count < INTEGER_DIGITS; digits->zeros--) {
        digits->kept[digits->count++] = '0';
    }
    if (digits->count == INTEGER_DIGITS) {
        return false;
    }
    digits->kept[digits->count++] = digit;
    return true;
}

/* Read a real; false for an integer, what is no number of JSON, and one with too many digits. */
static bool read_real(const char *at, const char *end, struct digits *ret) {
    const char *whole = at;
    int exponent = 0;
    bool is_real = false;
    while (at < end && ascii_is_digit(*at)) {
        if (!add_digit(ret, *at++)) {
            return false;
        }
    }
    if (at == whole || (*whole == '0' && at > whole + 1)) {
        return false;
    }
    if (at < end && *at == '.') {
        const char *fraction = ++at;
        is_real = true;
        while (at < end && ascii_is_digit(*at)) {
            if (!add_digit(ret, *at++)) {
                return false;
            }
        }
        if (at == fraction || at - fraction > EXPONENT_MAX) {
            return false;
        }
        ret->exponent = -(int)(at - fraction);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        bool negative = at < end && *at == '-';
        at += at < end && (*at == '-' || *at == '+');
        const char *power = at;
        is_real = true;
        while (at < end && ascii_is_digit(*at) && exponent <= EXPONENT_MAX) {
            exponent = exponent * 10 + (*at++ - '0');
        }
        if (at == power) {
            return false;
        }
        ret->exponent += negative ? -exponent : exponent;
    }
    return is_real && at == end;
}

/* Write a real as an integer, if it is whole and a double would round it. */
static bool add_integer(struct buf *out, const char *text, size_t length) {
    struct digits digits = {.count = 0};
    bool negative = text[0] == '-';
    if (!read_real(text + negative, text + length, &digits)) {
        return false;
    }
    long zeros = (long)digits.zeros + digits.exponent;
    if (digits.count <= DOUBLE_DIGITS || zeros < 0 ||
        digits.count + (size_t)zeros > INTEGER_DIGITS) {
        return false;
    }
    buf_add(out, "-", negative);
    buf_add(out, digits.kept, digits.count);
    for (; zeros > 0; zeros--) {
        buf_add_char(out, '0');
    }
    return true;
}

/* The end of the string that begins at `at`. */
static size_t skip_string(const char *text, size_t length, size_t at) {
    for (at++; at < length && text[at] != '"'; at++) {
        at += text[at] == '\\';
    }
    return at + 1;
}

static bool is_of_number(char c) {
    return is_digit_or_point(c) || c == '-' || c == '+' || c == 'e' || c == 'E';
}

bool json_add_exact(struct buf *out, const char *text, size_t length) {
    if (!has_long_run(text, length)) {
        return false;
    }
    size_t start = out->length;
    size_t copied = 0;
    bool found = false;
    for (size_t at = 0; at < length;) {
        if (text[at] == '"') {
            at = skip_string(text, length, at);
            continue;
        }
        size_t end = at;
        while (end < length && is_of_number(text[end])) {
            end++;
        }
        if (end - at > DOUBLE_DIGITS) {
            size_t before = out->length;
            buf_add(out, text + copied, at - copied);
            if (add_integer(out, text + at, end - at)) {
                copied = end;
                found = true;
            } else {
                buf_truncate(out, before);
            }
        }
        at = end > at ? end : at + 1;
    }
    if (!found) {
        buf_truncate(out, start);
        return false;
    }
    buf_add(out, text + copied, length - copied);
    return true;
}
