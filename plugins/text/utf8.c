#include "utf8.h"

uint32_t utf8_next(const char **text) {
    const char *at = *text;
    uint32_t first = (unsigned char)*at++;
    uint32_t character = first;
    if (first >= 0xf0) {
        character = first & 0x07;
    } else if (first >= 0xe0) {
        character = first & 0x0f;
    } else if (first >= 0xc0) {
        character = first & 0x1f;
    }
    for (; !utf8_begins(*at); at++) {
        character = character << 6 | ((unsigned char)*at & 0x3f);
    }
    *text = at;
    return character;
}

bool utf8_is_space(uint32_t character) {
    switch (character) {
    case 0x20:
    case 0x85:
    case 0xa0:
    case 0x1680:
    case 0x2028:
    case 0x2029:
    case 0x202f:
    case 0x205f:
    case 0x3000: return true;
    default:
        return (character >= 0x09 && character <= 0x0d) ||
               (character >= 0x2000 && character <= 0x200a);
    }
}
