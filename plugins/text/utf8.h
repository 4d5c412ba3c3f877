/* utf8.h - characters of a well-formed UTF-8 text, which is what the host passes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Read the character at `text`, which is not the end, and step over it. */
uint32_t utf8_next(const char **text);

/** Whether a byte begins a character. */
static inline bool utf8_begins(char byte) {
    return ((unsigned char)byte & 0xc0) != 0x80;
}

/** Whether a character separates words: Unicode's White_Space property. */
bool utf8_is_space(uint32_t character);
