/* ascii.h - classes of ASCII characters, independent of the locale; other bytes are in no class. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/** A character of an identifier in programming languages, and one that may begin an identifier. */
static inline bool ascii_is_word(char c) {
    return ascii_is_alnum(c) || c == '_';
}

static inline bool ascii_is_word_start(char c) {
    return ascii_is_letter(c) || c == '_';
}

/** The value of a hexadecimal digit of either case; -1: no such digit. */
static inline int ascii_hex_value(char c) {
    return ascii_is_digit(c)                                ? c - '0'
           : ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f' ? ascii_lower(c) - 'a' + 10
                                                            : -1;
}

/** Copy a text in lower case, with a zero behind it. */
static inline void ascii_copy_lower(char *to, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        to[i] = ascii_lower(text[i]);
    }
    to[length] = '\0';
}
