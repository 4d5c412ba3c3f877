/* text.h - text that grows, for results. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Longest file that is read, and longest text that is made: a result has it twice, and a host takes
 * results of 64 MiB. */
#define TEXT_SIZE_MAX ((size_t)16 << 20)

struct text {
    char *data; /**< owned; zero-terminated if `length` is not 0 */
    size_t length;
    size_t room;
    bool failed;   /**< something was left out: no memory, or more than TEXT_SIZE_MAX */
    bool too_long; /**< ... which of the two */
};

void text_finish(struct text *text);
/** Room for `more` bytes and a final zero; false if there is none. */
bool text_reserve(struct text *text, size_t more);
void text_add(struct text *text, const char *data, size_t length);
void text_add_string(struct text *text, const char *string);
void text_add_format(struct text *text, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/** Add bytes as UTF-8: what is none becomes U+FFFD, one for each longest part that could begin a
 * character, as the WHATWG Encoding Standard decodes. */
void text_add_utf8(struct text *text, const char *data, size_t length);
/** Whether a text is UTF-8; if not, `ret_at` is its first byte that is none. */
bool text_is_utf8(const struct text *text, size_t *ret_at);
/** Make a text that was read what text_add_utf8() would add; no copy, where it is UTF-8 already. */
void text_make_utf8(struct text *text);
/** Add as a JSON string with its quotes; valid UTF-8. */
void text_add_json(struct text *text, const char *data, size_t length);
/** Add the name of a file, or a path, as it is; or in quotes with escapes, where it has what could
 * be taken for another line or name: control characters, ends of lines, bytes that are no UTF-8
 * (\xff), or quotes at its beginning. */
void text_add_name(struct text *text, const char *name);
void text_add_base64(struct text *text, const void *data, size_t size);
/** Replace each CR LF by LF. */
void text_normalize_lines(struct text *text);

/** Bytes of white space as ECMAScript's trim() has it at the beginning of valid UTF-8; 0: none. */
size_t text_space(const char *at, const char *end);
/** How many UTF-16 units valid UTF-8 has: what a length is in ECMAScript. */
size_t text_utf16_length(const char *data, size_t length);
