#include "base/utf8.h"

#include <string.h>

static bool is_tail(unsigned char c) {
    return (c & 0xc0) == 0x80;
}

/* Length of the well-formed sequence at s, or 0. The second byte's range depends on the first: this
 * excludes overlong forms, surrogates and all above U+10FFFF. */
static size_t sequence(const unsigned char *s, size_t left) {
    unsigned char c = s[0];
    if (c < 0x80) {
        return 1;
    }
    if (c < 0xc2 || c > 0xf4) {
        return 0;
    }
    size_t need = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (left < need) {
        return 0;
    }
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < need; i++) {
        if (!is_tail(s[i])) {
            return 0;
        }
    }
    return need;
}

size_t utf8_run(const char *text, size_t length) {
    const unsigned char *s = (const unsigned char *)text;
    size_t at = 0;
    while (at < length && s[at] >= 0x80) {
        size_t n = sequence(s + at, length - at);
        if (n == 0) {
            break;
        }
        at += n;
    }
    return at;
}

#define HIGH_BITS UINT64_C(0x8080808080808080)

bool utf8_valid(const char *text, size_t length) {
    const unsigned char *s = (const unsigned char *)text;
    size_t i = 0;
    while (i < length) {
        /* Most text is ASCII: 32 bytes at a time, then eight. */
        uint64_t words[4];
        for (; length - i >= sizeof words; i += sizeof words) {
            memcpy(words, s + i, sizeof words);
            if (((words[0] | words[1] | words[2] | words[3]) & HIGH_BITS) != 0) {
                break;
            }
        }
        for (; length - i >= sizeof words[0]; i += sizeof words[0]) {
            memcpy(words, s + i, sizeof words[0]);
            if ((words[0] & HIGH_BITS) != 0) {
                break;
            }
        }
        if (i == length) {
            break;
        }
        size_t n = s[i] < 0x80 ? 1 : utf8_run(text + i, length - i);
        if (n == 0) {
            return false;
        }
        i += n;
    }
    return true;
}

size_t utf8_cut(const char *text, size_t length) {
    const unsigned char *s = (const unsigned char *)text;
    /* Walk back over at most three tail bytes to the start of the last character. */
    size_t start = length;
    while (start > 0 && length - start < 3 && is_tail(s[start - 1])) {
        start--;
    }
    if (start == 0) {
        return length;
    }
    start--;
    return sequence(s + start, length - start) == 0 && s[start] >= 0x80 ? start : length;
}

void utf8_copy(char *to, size_t room, const char *from) {
    size_t length = strlen(from);
    if (length >= room) {
        length = utf8_cut(from, room - 1);
    }
    memcpy(to, from, length);
    to[length] = '\0';
}

void utf8_make_line(char *text) {
    size_t left = strlen(text);
    while (left > 0) {
        unsigned char c = (unsigned char)*text;
        size_t n = sequence((const unsigned char *)text, left);
        if (n == 0) {
            *text = '?';
            n = 1;
        } else if (c < 0x20 || c == 0x7f) {
            *text = ' ';
        }
        text += n;
        left -= n;
    }
}

size_t utf8_count(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        count += !is_tail((unsigned char)text[i]);
    }
    return count;
}

size_t utf8_decode(const char *text, size_t length, uint32_t *ret_point) {
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    size_t n = length > 0 ? sequence((const unsigned char *)text, length) : 0;
    uint32_t point = n > 0 ? (unsigned char)text[0] & lead_bits[n] : 0;
    for (size_t i = 1; i < n; i++) {
        point = (point << 6) | ((unsigned char)text[i] & 0x3fu);
    }
    *ret_point = point;
    return n;
}

/* Whether the bytes are a surrogate, from `low` on: 0xa0 for a first half, 0xb0 for a second. */
static bool is_half(const unsigned char *s, size_t left, unsigned char low) {
    return left >= 3 && s[0] == 0xed && (s[1] & 0xf0) == low && is_tail(s[2]);
}

size_t utf8_join_halves(char *text, size_t length) {
    unsigned char *s = (unsigned char *)text;
    size_t to = 0;
    for (size_t at = 0; at < length;) {
        bool is_first = is_half(s + at, length - at, 0xa0);
        if (is_first && is_half(s + at + 3, length - at - 3, 0xb0)) {
            uint32_t point = 0x10000u + (((s[at + 1] & 0xfu) << 6 | (s[at + 2] & 0x3fu)) << 10) +
                             ((s[at + 4] & 0xfu) << 6 | (s[at + 5] & 0x3fu));
            s[to++] = (unsigned char)(0xf0 | point >> 18);
            s[to++] = (unsigned char)(0x80 | (point >> 12 & 0x3f));
            s[to++] = (unsigned char)(0x80 | (point >> 6 & 0x3f));
            s[to++] = (unsigned char)(0x80 | (point & 0x3f));
            at += 6;
        } else if (is_first || is_half(s + at, length - at, 0xb0)) {
            memcpy(s + to, "\xef\xbf\xbd", 3);
            to += 3;
            at += 3;
        } else {
            s[to++] = s[at++];
        }
    }
    return to;
}

size_t utf8_half_at_end(const char *text, size_t length) {
    return length >= 3 && is_half((const unsigned char *)text + length - 3, 3, 0xa0) ? 3 : 0;
}
