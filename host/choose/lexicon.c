#include "choose/lexicon.h"

#include <string.h>

/* As strcmp() of a key with a text that has no zero at its end. */
static int compare(const char *key, const char *text, size_t length) {
    int order = strncmp(key, text, length);
    return order != 0 ? order : key[length] != '\0';
}

static size_t find_sorted(const struct lexicon *lexicon, const char *key, size_t length,
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

size_t lexicon_find_hashed(const struct lexicon *lexicon, const char *key, size_t length,
                           uint32_t hash, const struct lexicon_row **ret_first) {
    if (lexicon->slots == NULL) {
        return find_sorted(lexicon, key, length, ret_first);
    }
    for (uint32_t at = hash & lexicon->mask;; at = (at + 1) & lexicon->mask) {
        const struct lexicon_slot *slot = &lexicon->slots[at];
        if (slot->row == 0) {
            return 0;
        }
        const struct lexicon_row *row = &lexicon->rows[slot->row - 1];
        if (slot->tag == hash >> 16 && compare(lexicon_key(lexicon, row), key, length) == 0) {
            size_t count = 1;
            while (row + count < lexicon->rows + lexicon->count && row[count].key == row->key) {
                count++; /* compile.py has each text once */
            }
            *ret_first = row;
            return count;
        }
    }
}

size_t lexicon_find(const struct lexicon *lexicon, const char *key, size_t length,
                    const struct lexicon_row **ret_first) {
    return lexicon_find_hashed(lexicon, key, length, lexicon_hash(LEXICON_HASH_EMPTY, key, length),
                               ret_first);
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
