/* ascii.h - kinds of ASCII characters, whatever the locale; every other byte is of no kind. */
#pragma once

#include <stdbool.h>

static inline bool ascii_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

static inline char ascii_lower(char c) {
    return ascii_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static inline bool ascii_is_letter(char c) {
    return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';
}

static inline bool ascii_is_alnum(char c) {
    return ascii_is_letter(c) || ascii_is_digit(c);
}

/** A character of a word as programming languages have it, and one that may begin it. */
static inline bool ascii_is_word(char c) {
    return ascii_is_alnum(c) || c == '_';
}

static inline bool ascii_is_word_start(char c) {
    return ascii_is_letter(c) || c == '_';
}

/** What a hexadecimal digit of either case is worth; -1: the character is not one. */
static inline int ascii_hex_value(char c) {
    return ascii_is_digit(c)                                ? c - '0'
           : ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f' ? ascii_lower(c) - 'a' + 10
                                                            : -1;
}
