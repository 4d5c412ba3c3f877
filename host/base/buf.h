/* buf.h - a byte buffer that grows.
 *
 * Appending reports no error: after a failure the buffer stays failed and ignores later appends,
 * and the caller checks `failed` once, at the end. The contents end with a zero byte that `length`
 * does not count. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct buf {
    char *data; /**< owned; NULL while nothing was appended */
    size_t length;
    size_t room;
    bool failed; /**< an append failed: out of memory */
};
#define BUF_INIT ((struct buf){0})

/** Release the memory; the buffer can be used again. [any-thread]
 *
 * A call ends five of them that have nothing. */
static inline void buf_finish(struct buf *buf) {
    if (buf->data != NULL) {
        free(buf->data);
    }
    *buf = BUF_INIT;
}

/** Remove the contents, keep the memory. */
void buf_clear(struct buf *buf);

/** Remove all after the first `length` bytes: this undoes the appends since the buffer had that
 * length, including a failed one. */
void buf_truncate(struct buf *buf, size_t length);

/** For buf_reserve(), if there is too little room. */
bool buf_grow(struct buf *buf, size_t more);

/** Make room for `more` bytes after `length`, or mark the buffer as failed. */
static inline bool buf_reserve(struct buf *buf, size_t more) {
    /* One byte is reserved for the final zero. */
    return (!buf->failed && buf->room - buf->length > more) || buf_grow(buf, more);
}

static inline void buf_add(struct buf *buf, const void *bytes, size_t length) {
    if (buf_reserve(buf, length)) {
        if (length > 0) {
            memcpy(buf->data + buf->length, bytes, length);
        }
        buf->length += length;
        buf->data[buf->length] = '\0';
    }
}

static inline void buf_add_char(struct buf *buf, char c) {
    buf_add(buf, &c, 1);
}

static inline void buf_add_text(struct buf *buf, const char *text) {
    buf_add(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...) TOOLRACK_PRINTF(2, 3);
void buf_vprintf(struct buf *buf, const char *format, va_list args) TOOLRACK_PRINTF(2, 0);

/** Append one JSON value: a string with quotes and escapes (the caller passes well-formed UTF-8;
 * for other text see json-string.h), or a number in the shortest form that reads back the same; NaN
 * and infinities become `null`. */
void buf_add_json_string(struct buf *buf, const char *text, size_t length);
void buf_add_json_double(struct buf *buf, double value);
void buf_add_json_int(struct buf *buf, int64_t value);
void buf_add_json_uint(struct buf *buf, uint64_t value);

/** Append one step of a JSON Pointer, "/" and the key of a member with "~" and "/" escaped. For an
 * array of JSON_POINTER_MAX bytes see json_pointer_add(). */
void buf_add_pointer(struct buf *buf, const char *key, size_t length);

/** Hand the bytes over, zero-terminated; NULL if the buffer failed. Release with free(). */
char *buf_steal(struct buf *buf);
