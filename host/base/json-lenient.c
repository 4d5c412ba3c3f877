#include "base/json-lenient.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"

#define ESCAPE_LENGTH 6u /* of "\ud83d" */

/* The number of an escape "\uXXXX" at the start of a text; -1: there is none. */
static int escaped_unit(const char *text, size_t length) {
    int unit = 0;
    if (length < ESCAPE_LENGTH || text[0] != '\\' || text[1] != 'u') {
        return -1;
    }
    for (size_t i = 2; i < ESCAPE_LENGTH; i++) {
        int digit = ascii_hex_value(text[i]);
        if (digit < 0) {
            return -1;
        }
        unit = unit * 16 + digit;
    }
    return unit;
}

bool json_add_without_halves(struct buf *out, const char *text, size_t length, bool keep) {
    size_t before = out->length;
    size_t copied = 0;
    for (size_t at = 0; at < length;) {
        const char *escape = memchr(text + at, '\\', length - at);
        if (escape == NULL) {
            break;
        }
        at = (size_t)(escape - text);
        int unit = escaped_unit(escape, length - at);
        if (unit < 0xd800 || unit > 0xdfff) {
            at += unit >= 0 ? ESCAPE_LENGTH : 2;
            continue;
        }
        int next = length - at > ESCAPE_LENGTH
                           ? escaped_unit(escape + ESCAPE_LENGTH, length - at - ESCAPE_LENGTH)
                           : -1;
        if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) {
            at += 2 * ESCAPE_LENGTH;
            continue;
        }
        const char half[] = {(char)0xed, (char)(0x80 | ((unit >> 6) & 0x3f)),
                             (char)(0x80 | (unit & 0x3f))};
        buf_add(out, text + copied, at - copied);
        buf_add(out, keep ? half : "\\ufffd", keep ? sizeof half : ESCAPE_LENGTH);
        at += ESCAPE_LENGTH;
        copied = at;
    }
    if (copied > 0) {
        buf_add(out, text + copied, length - copied);
    }
    return out->length > before;
}

yyjson_doc *json_read_lenient(const char *text, size_t length, yyjson_read_flag flags,
                              const yyjson_alc *alc, yyjson_read_err *ret_why) {
    static const char mark[] = "\xef\xbb\xbf";
    size_t skipped = length >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    text += skipped;
    length -= skipped;
    /* yyjson writes to its input only with a flag that is not set here. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length, flags, alc, ret_why);
    CLEANUP(buf_finish) struct buf mended = BUF_INIT;
    if (doc == NULL && ret_why->code == YYJSON_READ_ERROR_INVALID_STRING &&
        json_add_without_halves(&mended, text, length, false)) {
        doc = yyjson_read_opts(mended.data, mended.length, flags, alc, ret_why);
    }
    if (mended.failed) {
        ret_why->code = YYJSON_READ_ERROR_MEMORY_ALLOCATION;
        ret_why->msg = "out of memory";
    }
    ret_why->pos += skipped;
    return doc;
}
