#include "choose/lexicon.h"

#include <string.h>

/* As strcmp() of a key with a text that has no zero at its end. */
static int compare(const char *key, const char *text, size_t length) {
    int order = strncmp(key, text, length);
    return order != 0 ? order : key[length] != '\0';
}

size_t lexicon_find(const struct lexicon *lexicon, const char *key, size_t length,
                    const struct lexicon_row **ret_first) {
    size_t low = 0;
    size_t high = lexicon->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(lexicon_key(lexicon, &lexicon->rows[middle]), key, length) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t count = 0;
    while (low + count < lexicon->count &&
           compare(lexicon_key(lexicon, &lexicon->rows[low + count]), key, length) == 0) {
        count++;
    }
    *ret_first = &lexicon->rows[low];
    return count;
}

uint32_t lexicon_simplified(uint32_t point) {
    size_t low = 0;
    size_t high = lexicon_traditional_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lexicon_traditional[middle].traditional < point) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < lexicon_traditional_count && lexicon_traditional[low].traditional == point;
    return found ? lexicon_traditional[low].simplified : point;
}
