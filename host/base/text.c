#include "base/text.h"

#include <stdint.h>

#include "base/utf8.h"

#define CHARACTER_BYTES_MAX 4
static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
static const char ellipsis[] = "\xe2\x80\xa6";    /* U+2026 */

/* Bytes of the well-formed character at text, or 0. */
static size_t character(const char *text, size_t left) {
    for (size_t n = 1; n <= CHARACTER_BYTES_MAX && n <= left; n++) {
        if (utf8_valid(text, n)) {
            return n;
        }
    }
    return 0;
}

/* The code point of a well-formed character of n bytes. */
static uint32_t code_point(const char *text, size_t n) {
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t point = (unsigned char)text[0] & lead_bits[n];
    for (size_t i = 1; i < n; i++) {
        point = (point << 6) | ((unsigned char)text[i] & 0x3fu);
    }
    return point;
}

/* Direction overrides and isolates can make a line read differently from its contents. */
static bool turns_direction(uint32_t point) {
    return (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

static bool is_control(uint32_t point) {
    return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

static void add_character(struct buf *buf, const char *text, size_t n) {
    uint32_t point = code_point(text, n);
    if ((is_control(point) && point != '\n' && point != '\t') || turns_direction(point)) {
        buf_printf(buf, "\\u%04x", point);
    } else {
        buf_add(buf, text, n);
    }
}

/* Add a text character by character; invalid bytes are replaced. */
static void add_each(struct buf *buf, const char *text, size_t length,
                     void (*add)(struct buf *buf, const char *text, size_t n)) {
    for (size_t at = 0; at < length;) {
        size_t n = character(text + at, length - at);
        if (n == 0) {
            buf_add_text(buf, replacement);
            at++;
        } else {
            add(buf, text + at, n);
            at += n;
        }
    }
}

void text_add_escaped(struct buf *buf, const char *text, size_t length) {
    add_each(buf, text, length, add_character);
}

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void text_add_line(struct buf *buf, const char *text, size_t length) {
    bool begun = false;
    for (size_t at = 0; at < length;) {
        size_t word = at;
        while (word < length && is_space(text[word])) {
            word++;
        }
        size_t end = word;
        while (end < length && !is_space(text[end])) {
            end++;
        }
        if (end > word) {
            if (begun) {
                buf_add_char(buf, ' ');
            }
            text_add_escaped(buf, text + word, end - word);
            begun = true;
        }
        at = end;
    }
}

void text_add_cut(struct buf *buf, const char *text, size_t length, size_t width) {
    if (utf8_count(text, length) <= width) {
        buf_add(buf, text, length);
        return;
    }
    if (width == 0) {
        return;
    }
    size_t at = 0;
    for (size_t i = 1; i < width; i++) {
        at += character(text + at, length - at);
    }
    buf_add(buf, text, at);
    buf_add_text(buf, ellipsis);
}

static void add_as_it_is(struct buf *buf, const char *text, size_t n) {
    buf_add(buf, text, n);
}

void text_add_valid(struct buf *buf, const char *text, size_t length) {
    if (utf8_valid(text, length)) {
        buf_add(buf, text, length);
    } else {
        add_each(buf, text, length, add_as_it_is);
    }
}

void text_add_duration(struct buf *buf, uint64_t ns) {
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ns >= units[i].ns) {
            buf_printf(buf, "%.1f %s", (double)ns / (double)units[i].ns, units[i].unit);
            return;
        }
    }
    buf_printf(buf, "%llu ns", (unsigned long long)ns);
}
