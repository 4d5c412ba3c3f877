#include "choose/lexeme.h"

#include <string.h>

/* Compare as the table is sorted: by bytes, a text before the longer ones that begin with it. */
static int compare(const struct lexeme *lexeme, const char *text, size_t length) {
    size_t shared = lexeme->length < length ? lexeme->length : length;
    int order = memcmp(lexeme->text, text, shared);
    return order != 0 ? order : (int)lexeme->length - (int)length;
}

/* The place of the first lexeme that is not before a text, which is not empty. */
static size_t place_of(const char *text, size_t length) {
    unsigned char first = (unsigned char)text[0];
    size_t low = lexeme_starts[first];
    size_t high = lexeme_starts[first + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&lexemes[middle], text, length) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct lexeme *lexeme_find(const char *text, size_t length, size_t *ret_count) {
    *ret_count = 0;
    if (length == 0 || length > lexeme_longest) {
        return NULL;
    }
    size_t low = place_of(text, length);
    while (low + *ret_count < lexeme_count &&
           compare(&lexemes[low + *ret_count], text, length) == 0) {
        (*ret_count)++;
    }
    return *ret_count > 0 ? &lexemes[low] : NULL;
}

bool lexeme_begins(const char *text, size_t length) {
    if (length == 0 || length > lexeme_longest) {
        return false;
    }
    size_t at = place_of(text, length);
    return at < lexeme_count && lexemes[at].length >= length &&
           memcmp(lexemes[at].text, text, length) == 0;
}

const struct lexeme *lexeme_of(enum lexeme_kind kind, const char *text, size_t length) {
    size_t count;
    const struct lexeme *found = lexeme_find(text, length, &count);
    for (size_t i = 0; i < count; i++) {
        if (found[i].kind == kind) {
            return &found[i];
        }
    }
    return NULL;
}
