#include "base/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json-pointer.h"
#include "base/number.h"

#define BUF_FIRST_ROOM 256u

void buf_clear(struct buf *buf) {
    buf_truncate(buf, 0);
}

void buf_truncate(struct buf *buf, size_t length) {
    buf->length = length;
    buf->failed = false;
    if (buf->data != NULL) {
        buf->data[length] = '\0';
    }
}

bool buf_grow(struct buf *buf, size_t more) {
    if (buf->failed) {
        return false;
    }
    size_t room = buf->room < BUF_FIRST_ROOM ? BUF_FIRST_ROOM : buf->room;
    while (room - buf->length <= more) {
        if (room > SIZE_MAX / 2) {
            buf->failed = true;
            return false;
        }
        room *= 2;
    }
    char *grown = realloc(buf->data, room);
    if (grown == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = grown;
    buf->room = room;
    return true;
}

void buf_vprintf(struct buf *buf, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length >= 0 && buf_reserve(buf, (size_t)length)) {
        (void)vsnprintf(buf->data + buf->length, (size_t)length + 1, format, args);
        buf->length += (size_t)length;
    }
}

void buf_printf(struct buf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    buf_vprintf(buf, format, args);
    va_end(args);
}

/* ----------------------------------------------------------- JSON numbers */

void buf_add_json_double(struct buf *buf, double value) {
    if (!isfinite(value)) {
        buf_add_text(buf, "null");
        return;
    }
    char scratch[NUMBER_SCRATCH_SIZE];
    size_t length;
    const char *text = number_text(value, scratch, &length);
    if (text == NULL) {
        buf->failed = true;
        return;
    }
    buf_add(buf, text, length);
}

void buf_add_pointer(struct buf *buf, const char *key, size_t length) {
    size_t done = 0;
    buf_add_char(buf, '/');
    for (size_t i = 0; i < length; i++) {
        const char *escape = json_pointer_escape(key[i]);
        if (escape != NULL) {
            buf_add(buf, key + done, i - done);
            buf_add_text(buf, escape);
            done = i + 1;
        }
    }
    buf_add(buf, key + done, length - done);
}

/* Most digits of 64 bits. */
#define DIGITS_MAX 20u

void buf_add_json_uint(struct buf *buf, uint64_t value) {
    char digits[2 * DIGITS_MAX] = ""; /* so many are copied that their number need not be known */
    size_t at = DIGITS_MAX;
    if (!buf_reserve(buf, DIGITS_MAX)) {
        return;
    }
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    memcpy(buf->data + buf->length, digits + at, DIGITS_MAX);
    buf->length += DIGITS_MAX - at;
    buf->data[buf->length] = '\0';
}

void buf_add_json_int(struct buf *buf, int64_t value) {
    if (value < 0) {
        buf_add_char(buf, '-');
        buf_add_json_uint(buf, 0 - (uint64_t)value);
    } else {
        buf_add_json_uint(buf, (uint64_t)value);
    }
}

char *buf_steal(struct buf *buf) {
    if (buf->data == NULL) {
        buf_add(buf, "", 0); /* an empty buffer becomes an empty string */
    }
    char *data = buf->failed ? NULL : buf->data;
    if (buf->failed) {
        free(buf->data);
    }
    *buf = BUF_INIT;
    return data;
}
