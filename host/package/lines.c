#include "package/lines.h"

#include <sodium.h>
#include <string.h>

#define VARIANT sodium_base64_VARIANT_ORIGINAL

/* Most bytes that a line of base64 stands for: a secret key has 158. */
#define BYTES_MAX 256u

struct lines lines_of(const char *text, size_t length) {
    const char *end = text + length;
    while (end > text && (end[-1] == '\n' || end[-1] == '\r')) {
        end--;
    }
    return (struct lines){.at = text, .end = end};
}

struct line lines_next(struct lines *lines) {
    if (lines->at == NULL || lines->at == lines->end) {
        return (struct line){.text = NULL};
    }
    size_t rest = (size_t)(lines->end - lines->at);
    const char *feed = memchr(lines->at, '\n', rest);
    struct line line = {.text = lines->at,
                        .length = feed != NULL ? (size_t)(feed - lines->at) : rest};
    lines->at += line.length + (feed != NULL);
    if (line.length > 0 && line.text[line.length - 1] == '\r') {
        line.length--;
    }
    return line;
}

bool line_begins(struct line line, const char *with) {
    size_t length = strlen(with);
    return line.text != NULL && line.length >= length && memcmp(line.text, with, length) == 0;
}

bool line_decode(struct line line, void *ret, size_t size) {
    unsigned char bytes[BYTES_MAX];
    size_t length = 0;
    bool is_one = line.text != NULL && size <= sizeof bytes &&
                  sodium_base642bin(bytes, sizeof bytes, line.text, line.length, NULL, &length,
                                    NULL, VARIANT) == 0 &&
                  length == size;
    if (is_one) {
        memcpy(ret, bytes, size);
    }
    sodium_memzero(bytes, sizeof bytes);
    return is_one;
}

void line_encode(const void *bytes, size_t size, struct buf *out) {
    char text[sodium_base64_ENCODED_LEN(BYTES_MAX, VARIANT)];
    (void)sodium_bin2base64(text, sizeof text, bytes, size, VARIANT);
    buf_add_text(out, text);
    buf_add_char(out, '\n');
    sodium_memzero(text, sizeof text);
}
