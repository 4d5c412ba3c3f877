#include "text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_finish(struct text *text) {
    free(text->data);
    *text = (struct text){0};
}

bool text_reserve(struct text *text, size_t more) {
    if (text->failed || more > TEXT_SIZE_MAX - text->length) {
        text->too_long = text->too_long || !text->failed;
        text->failed = true;
        return false;
    }
    size_t need = text->length + more + 1;
    if (text->room >= need) {
        return true;
    }
    size_t room = need < TEXT_SIZE_MAX / 2 ? need * 2 : TEXT_SIZE_MAX + 1;
    char *data = realloc(text->data, room);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->room = room;
    return true;
}

void text_add(struct text *text, const char *data, size_t length) {
    if (text_reserve(text, length)) {
        if (length > 0) {
            memcpy(text->data + text->length, data, length);
        }
        text->length += length;
        text->data[text->length] = '\0';
    }
}

void text_add_string(struct text *text, const char *string) {
    text_add(text, string, strlen(string));
}

void text_add_format(struct text *text, const char *format, ...) {
    char line[512]; /* of numbers and fixed words only */
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_add(text, line, length < (int)sizeof line ? (size_t)length : sizeof line - 1);
}

/* How many bytes at `data` are one character; if none is whole, how many make the longest beginning
 * of one, at least 1, and `*ret_valid` is false. */
static size_t next_character(const unsigned char *data, size_t left, bool *ret_valid) {
    unsigned char first = data[0];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    /* The second byte is bounded more closely after some first ones: no surrogates, no overlong
     * forms, nothing beyond U+10FFFF. */
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    *ret_valid = false;
    if (length == 0 || first > 0xf4) {
        return 1;
    }
    for (size_t i = 1; i < length; i++) {
        if (i == left || data[i] < low || data[i] > high) {
            return i;
        }
        low = 0x80;
        high = 0xbf;
    }
    *ret_valid = true;
    return length;
}

/* How many bytes are ASCII: most texts are little else. */
static size_t ascii_length(const char *data, size_t length) {
    size_t at = 0;
    for (uint64_t bytes; at + sizeof bytes <= length; at += sizeof bytes) {
        memcpy(&bytes, data + at, sizeof bytes);
        if ((bytes & UINT64_C(0x8080808080808080)) != 0) {
            break;
        }
    }
    while (at < length && (unsigned char)data[at] < 0x80) {
        at++;
    }
    return at;
}

void text_add_utf8(struct text *text, const char *data, size_t length) {
    size_t begin = 0; /* of what is valid and not added yet */
    size_t at = 0;
    while ((at += ascii_length(data + at, length - at)) < length) {
        bool valid;
        size_t size = next_character((const unsigned char *)data + at, length - at, &valid);
        if (!valid) {
            text_add(text, data + begin, at - begin);
            text_add_string(text, "\xef\xbf\xbd");
            begin = at + size;
        }
        at += size;
    }
    text_add(text, data + begin, length - begin);
}

bool text_is_utf8(const struct text *text, size_t *ret_at) {
    size_t at = 0;
    while ((at += ascii_length(text->data + at, text->length - at)) < text->length) {
        bool valid;
        size_t size =
                next_character((const unsigned char *)text->data + at, text->length - at, &valid);
        if (!valid) {
            *ret_at = at;
            return false;
        }
        at += size;
    }
    return true;
}

void text_make_utf8(struct text *text) {
    size_t at;
    if (!text_is_utf8(text, &at)) {
        struct text made = {0};
        text_add_utf8(&made, text->data, text->length);
        text_finish(text);
        *text = made;
    }
}

void text_add_json(struct text *text, const char *data, size_t length) {
    text_add(text, "\"", 1);
    size_t begin = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)data[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        text_add(text, data + begin, i - begin);
        begin = i + 1;
        static const char named[] = "\"\\\b\f\n\r\t";
        const char *place = c != '\0' ? strchr(named, c) : NULL;
        if (place != NULL) {
            const char escape[] = {'\\', "\"\\bfnrt"[place - named]};
            text_add(text, escape, sizeof escape);
        } else {
            text_add_format(text, "\\u%04x", c);
        }
    }
    text_add(text, data + begin, length - begin);
    text_add(text, "\"", 1);
}

/* Whether a character, which `size` bytes are, may not be in a line as it is. */
static bool is_odd(const char *at, size_t size) {
    unsigned char first = (unsigned char)at[0];
    return first < 0x20 || first == 0x7f ||
           (size == 2 && first == 0xc2 && (unsigned char)at[1] < 0xa0) || /* U+0080 to U+009F */
           (size == 3 &&
            (memcmp(at, "\xe2\x80\xa8", 3) == 0 || memcmp(at, "\xe2\x80\xa9", 3) == 0));
}

static bool is_plain(const char *name, size_t length) {
    bool valid = length == 0 || name[0] != '"';
    for (size_t at = 0, size; valid && at < length; at += size) {
        size = next_character((const unsigned char *)name + at, length - at, &valid);
        valid = valid && !is_odd(name + at, size);
    }
    return valid;
}

static void add_escaped(struct text *text, const char *at, size_t size) {
    static const char named[] = "\"\\\b\f\n\r\t";
    const char *place = size == 1 && *at != '\0' ? strchr(named, *at) : NULL;
    const unsigned char *bytes = (const unsigned char *)at;
    if (place != NULL) {
        text_add_format(text, "\\%c", "\"\\bfnrt"[place - named]);
    } else if (!is_odd(at, size)) {
        text_add(text, at, size);
    } else {
        text_add_format(text, "\\u%04x",
                        size == 1   ? bytes[0]
                        : size == 2 ? (bytes[0] & 0x1fU) << 6 | (bytes[1] & 0x3fU)
                                    : 0x2000U | (bytes[1] & 0x3fU) << 6 | (bytes[2] & 0x3fU));
    }
}

void text_add_name(struct text *text, const char *name) {
    size_t length = strlen(name);
    if (is_plain(name, length)) {
        text_add(text, name, length);
        return;
    }
    text_add(text, "\"", 1);
    for (size_t at = 0, size; at < length; at += size) {
        bool valid;
        size = next_character((const unsigned char *)name + at, length - at, &valid);
        if (valid) {
            add_escaped(text, name + at, size);
        }
        for (size_t i = 0; !valid && i < size; i++) {
            text_add_format(text, "\\x%02x", (unsigned char)name[at + i]);
        }
    }
    text_add(text, "\"", 1);
}

void text_add_base64(struct text *text, const void *data, size_t size) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = data;
    if (!text_reserve(text, (size + 2) / 3 * 4)) {
        return;
    }
    char *to = text->data + text->length;
    for (size_t i = 0; i < size; i += 3) {
        uint32_t bits = (uint32_t)from[i] << 16 | (i + 1 < size ? (uint32_t)from[i + 1] << 8 : 0) |
                        (i + 2 < size ? from[i + 2] : 0);
        *to++ = digits[bits >> 18];
        *to++ = digits[bits >> 12 & 63];
        *to++ = i + 1 < size ? digits[bits >> 6 & 63] : '=';
        *to++ = i + 2 < size ? digits[bits & 63] : '=';
    }
    *to = '\0';
    text->length = (size_t)(to - text->data);
}

void text_normalize_lines(struct text *text) {
    size_t to = 0;
    for (size_t from = 0; from < text->length; from++) {
        bool is_pair =
                text->data[from] == '\r' && from + 1 < text->length && text->data[from + 1] == '\n';
        if (!is_pair) {
            text->data[to++] = text->data[from];
        }
    }
    text->length = to;
    if (text->data != NULL) {
        text->data[to] = '\0';
    }
}

size_t text_space(const char *at, const char *end) {
    static const char *const wide[] = {
            "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82",
            "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87",
            "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8", "\xe2\x80\xa9",
            "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf"};
    if (at == end) {
        return 0;
    }
    if (*at == ' ' || (*at >= '\t' && *at <= '\r')) {
        return 1;
    }
    for (size_t i = 0; (unsigned char)*at >= 0x80 && i < sizeof wide / sizeof *wide; i++) {
        size_t length = strlen(wide[i]);
        if ((size_t)(end - at) >= length && memcmp(at, wide[i], length) == 0) {
            return length;
        }
    }
    return 0;
}

size_t text_utf16_length(const char *data, size_t length) {
    size_t units = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)data[i];
        units += (c & 0xc0) != 0x80;
        units += c >= 0xf0;
    }
    return units;
}
