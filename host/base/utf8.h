/* utf8.h - checking text, and where it may be cut. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether `length` bytes are well-formed UTF-8 (no surrogates, no overlong forms, no more than
 * U+10FFFF). A zero byte is a valid character. [any-thread] */
bool utf8_valid(const char *text, size_t length);

/** How many bytes at the start of a text are well-formed characters other than ASCII. 0: the first
 * character is ASCII or not well-formed. [any-thread] */
size_t utf8_run(const char *text, size_t length);

/** The largest n <= `length` such that text[0..n) does not end inside a character. `text` holds at
 * least `length` bytes. [any-thread] */
size_t utf8_cut(const char *text, size_t length);

/** Copy as many whole characters as fit into `room` bytes with a final zero. [any-thread] */
void utf8_copy(char *to, size_t room, const char *from);

/** Make one line of a zero-terminated text, in place: control characters become spaces,
 * bytes that are not UTF-8 question marks. [any-thread] */
void utf8_make_line(char *text);

/** Number of characters in `length` bytes of well-formed UTF-8. [any-thread] */
size_t utf8_count(const char *text, size_t length);

/** The first character of a text: its number of bytes, or 0 if the text does not begin with
 * well-formed UTF-8. [any-thread] */
size_t utf8_decode(const char *text, size_t length, uint32_t *ret_point);

/** Join halves of surrogate pairs, each of which is three bytes here, as no UTF-8 has them: two
 * that belong together become their character, one that is alone U+FFFD. In place. The rest of the
 * text is well-formed UTF-8.
 * @return the new length. [any-thread] */
size_t utf8_join_halves(char *text, size_t length);

/** Number of bytes at the end of a text that are the first half of a surrogate pair, as above: 3,
 * or 0. [any-thread] */
size_t utf8_half_at_end(const char *text, size_t length);
