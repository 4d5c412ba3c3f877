#include "base/base64.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char alphabet[64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The value of each character; BAD: any other character, including '='. */
#define BAD 0x40u
static const uint8_t worth[256] = {
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* 00 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* 10 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, 62,  BAD, BAD, BAD, 63,  /* 20 */
        52,  53,  54,  55,  56,  57,  58,  59,  60,  61,  BAD, BAD, BAD, BAD, BAD, BAD, /* 30 */
        BAD, 0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  /* 40 */
        15,  16,  17,  18,  19,  20,  21,  22,  23,  24,  25,  BAD, BAD, BAD, BAD, BAD, /* 50 */
        BAD, 26,  27,  28,  29,  30,  31,  32,  33,  34,  35,  36,  37,  38,  39,  40,  /* 60 */
        41,  42,  43,  44,  45,  46,  47,  48,  49,  50,  51,  BAD, BAD, BAD, BAD, BAD, /* 70 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* 80 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* 90 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* a0 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* b0 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* c0 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* d0 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* e0 */
        BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, /* f0 */
};

/* Four characters from one to three bytes. */
static void encode_group(char *to, const uint8_t *from, size_t size) {
    uint32_t bits = (uint32_t)from[0] << 16;
    bits |= size > 1 ? (uint32_t)from[1] << 8 : 0;
    bits |= size > 2 ? (uint32_t)from[2] : 0;
    to[0] = alphabet[bits >> 18];
    to[1] = alphabet[bits >> 12 & 63];
    to[2] = alphabet[bits >> 6 & 63];
    to[3] = alphabet[bits & 63];
}

void base64_encode(struct buf *buf, const void *data, size_t size) {
    size_t length = base64_encoded_size(size);
    if (!buf_reserve(buf, length)) {
        return;
    }
    const uint8_t *from = data;
    char *to = buf->data + buf->length;
    for (; size >= 3; size -= 3, from += 3, to += 4) {
        encode_group(to, from, 3);
    }
    if (size > 0) {
        encode_group(to, from, size);
        memset(to + size + 1, '=', 3 - size);
    }
    buf->length += length;
    buf->data[buf->length] = '\0';
}

/* Why this text cannot be decoded. */
static const char *reason(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '-' || c == '_') {
            return "it uses the URL-safe alphabet; write + for - and / for _";
        }
        if (c == '=' && i + 2 < length) {
            return "it has padding (=) before its end";
        }
        if (c != '=' && worth[c] == BAD) {
            return "it has a character other than A-Z, a-z, 0-9, + and /";
        }
    }
    if (length % 4 != 0) {
        return "its length is no multiple of 4; is the padding (=) missing?";
    }
    return "its last character has bits that belong to no byte, or its padding (=) is wrong";
}

const char *base64_decode(const char *text, size_t length, void *ret_data, size_t *ret_size) {
    if (length % 4 != 0) {
        return reason(text, length);
    }
    size_t pads = 0;
    while (pads < 2 && pads < length && text[length - 1 - pads] == '=') {
        pads++;
    }
    /* A padded last group is decoded separately; all others are four characters for three bytes. */
    const uint8_t *from = (const uint8_t *)text;
    const uint8_t *end = from + length - (pads > 0 ? 4 : 0);
    uint8_t *to = ret_data;
    uint32_t bad = 0;
    for (; from < end; from += 4, to += 3) {
        uint32_t a = worth[from[0]];
        uint32_t b = worth[from[1]];
        uint32_t c = worth[from[2]];
        uint32_t d = worth[from[3]];
        bad |= a | b | c | d;
        to[0] = (uint8_t)(a << 2 | b >> 4);
        to[1] = (uint8_t)(b << 4 | c >> 2);
        to[2] = (uint8_t)(c << 6 | d);
    }
    if (pads > 0) {
        uint32_t a = worth[from[0]];
        uint32_t b = worth[from[1]];
        uint32_t c = pads == 1 ? worth[from[2]] : 0;
        uint32_t left_over = pads == 1 ? c & 3 : b & 15;
        bad |= a | b | c | (left_over != 0 ? BAD : 0);
        *to++ = (uint8_t)(a << 2 | b >> 4);
        if (pads == 1) {
            *to++ = (uint8_t)(b << 4 | c >> 2);
        }
    }
    if ((bad & BAD) != 0) {
        return reason(text, length);
    }
    *ret_size = (size_t)(to - (uint8_t *)ret_data);
    return NULL;
}
