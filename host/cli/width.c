#include "cli/width.h"

#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

static locale_t utf8_locale; /* 0: the C library has none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_locale(void) {
    utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* The character at `text`, and its bytes. */
static wchar_t decode(const char *text, size_t length, size_t *ret_bytes) {
    unsigned char lead = (unsigned char)text[0];
    size_t bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t point = bytes == 1 ? lead : lead & (0xffu >> (bytes + 1));
    bytes = bytes < length ? bytes : length;
    for (size_t i = 1; i < bytes; i++) {
        point = (point << 6) | ((unsigned char)text[i] & 0x3fu);
    }
    *ret_bytes = bytes;
    return (wchar_t)point;
}

/* Columns of one character; a character that the C library does not know takes one. */
static size_t columns_of(wchar_t character) {
    if (character < 0x80) {
        return 1;
    }
    int columns = wcwidth(character);
    return columns < 0 ? 1 : (size_t)columns;
}

/* Let wcwidth() use the UTF-8 locale, on this thread. */
static locale_t begin(void) {
    (void)pthread_once(&once, find_locale);
    return uselocale(utf8_locale);
}

static void end(locale_t before) {
    (void)uselocale(before);
}

size_t width_of(const char *text, size_t length) {
    locale_t before = begin();
    size_t columns = 0;
    size_t bytes = 0;
    for (size_t at = 0; at < length; at += bytes) {
        columns += columns_of(decode(text + at, length - at, &bytes));
    }
    end(before);
    return columns;
}

size_t width_of_word(const char *text, size_t length) {
    size_t longest = 0;
    for (size_t at = 0; at < length;) {
        const char *space = memchr(text + at, ' ', length - at);
        size_t end = space != NULL ? (size_t)(space - text) : length;
        size_t columns = width_of(text + at, end - at);
        longest = columns > longest ? columns : longest;
        at = end + 1;
    }
    return longest;
}

size_t width_fit(const char *text, size_t length, size_t columns, size_t *ret_next) {
    locale_t before = begin();
    size_t used = 0;
    size_t at = 0;
    size_t space = 0; /* the last place to break at, never the start */
    size_t bytes = 0;
    while (at < length) {
        size_t wide = columns_of(decode(text + at, length - at, &bytes));
        if (text[at] == ' ' && at > 0) {
            space = at;
        }
        if (at > 0 && used + wide > columns) {
            break;
        }
        used += wide;
        at += bytes;
    }
    end(before);
    size_t cut = at == length ? length : space > 0 ? space : at;
    *ret_next = cut;
    while (*ret_next < length && text[*ret_next] == ' ') {
        (*ret_next)++;
    }
    while (cut > 1 && cut < length && text[cut - 1] == ' ') {
        cut--;
    }
    return cut;
}

size_t width_cut(const char *text, size_t length, size_t columns) {
    locale_t before = begin();
    size_t used = 0;
    size_t at = 0;
    while (at < length) {
        size_t bytes = 0;
        used += columns_of(decode(text + at, length - at, &bytes));
        if (at > 0 && used > columns) {
            break;
        }
        at += bytes;
    }
    end(before);
    return at;
}

void width_wrap(struct buf *out, const char *first, const char *prefix, const char *line,
                size_t length, size_t columns, bool exact) {
    size_t at = 0;
    do {
        const char *before = at == 0 ? first : prefix;
        size_t taken = width_of(before, strlen(before));
        size_t piece = length - at;
        size_t next = piece;
        if (piece > 0 && columns > taken && exact) {
            piece = next = width_cut(line + at, length - at, columns - taken);
        } else if (piece > 0 && columns > taken) {
            piece = width_fit(line + at, length - at, columns - taken, &next);
        }
        buf_add_text(out, before);
        buf_add(out, line + at, piece);
        buf_add_char(out, '\n');
        at += next;
    } while (at < length);
}
