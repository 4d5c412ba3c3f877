#include "format/schema-keyword.h"

#include <pthread.h>
#include <string.h>

const struct keyword_row format_keywords[KEYWORD_COUNT] = {
        [KEYWORD_OTHER] = {.name = "", .holds = HOLDS_ANY},
#define FORMAT_KEYWORD(constant, text, what, are) \
    [KEYWORD_##constant] = {                      \
            .name = (text), .length = sizeof(text) - 1, .holds = HOLDS_##what, .traits = (are)},
        FORMAT_KEYWORDS(FORMAT_KEYWORD)
#undef FORMAT_KEYWORD
};

/* Open addressing, at most a quarter full: every member of every schema is looked up. */
#define SLOTS 256u
_Static_assert(KEYWORD_COUNT <= SLOTS / 4, "the table of keywords is too full");

static uint8_t slots[SLOTS];

/* The factors were found by a search: only six keywords collide with another. */
static uint32_t slot_of(const char *name, size_t length) {
    return ((uint32_t)length * 20 + (uint8_t)name[0] * 59u + (uint8_t)name[length / 2] * 14u +
            (uint8_t)name[length - 1] * 69u) %
           SLOTS;
}

static void fill_slots(void) {
    for (unsigned i = KEYWORD_OTHER + 1; i < KEYWORD_COUNT; i++) {
        uint32_t at = slot_of(format_keywords[i].name, format_keywords[i].length);
        while (slots[at] != KEYWORD_OTHER) {
            at = (at + 1) % SLOTS;
        }
        slots[at] = (uint8_t)i;
    }
}

enum format_keyword format_keyword_find(const char *name, size_t length) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, fill_slots);
    if (length == 0) {
        return KEYWORD_OTHER;
    }
    for (uint32_t at = slot_of(name, length); slots[at] != KEYWORD_OTHER; at = (at + 1) % SLOTS) {
        const struct keyword_row *row = &format_keywords[slots[at]];
        if (row->length == length && memcmp(row->name, name, length) == 0) {
            return (enum format_keyword)slots[at];
        }
    }
    return KEYWORD_OTHER;
}
