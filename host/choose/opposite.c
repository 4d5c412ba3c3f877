#include "choose/opposite.h"

#include <string.h>

#include "choose/lexicon.h"

/* How far behind "turn" its "off" may stand, in words. */
#define PARTICLE_REACH 6u

/* What a deed is: the text before the tab. */
static size_t name_length(const char *deed) {
    return strcspn(deed, "\t");
}

bool deed_is_same(const char *a, const char *b) {
    size_t length = name_length(a);
    return length == name_length(b) && memcmp(a, b, length) == 0;
}

bool deed_is_opposite(const char *wanted, const char *done) {
    size_t length = name_length(done);
    const char *list = wanted + name_length(wanted);
    while (*list == '\t' || *list == ' ') {
        list++;
        size_t size = strcspn(list, " \t");
        if (size == length && memcmp(list, done, size) == 0) {
            return true;
        }
        list += size;
        if (*list == '\t') {
            break;
        }
    }
    return false;
}

/* "turn" with an "off" further on in the same part: where that stands. */
static size_t match_apart(const struct words *words, size_t at, const struct lexicon_row **ret,
                          size_t *ret_rows) {
    const struct word *first = &words->items[at];
    for (size_t i = at + 2; i < words->count && i <= at + PARTICLE_REACH; i++) {
        const struct word *second = &words->items[i];
        char key[2 * WORDS_WORD_MAX + 2];
        if (second->part != first->part || second->quoted || second->kind != WORD_LETTERS) {
            return 0;
        }
        memcpy(key, first->stem, first->stem_length);
        key[first->stem_length] = ' ';
        memcpy(key + first->stem_length + 1, second->stem, second->stem_length);
        size_t length = (size_t)first->stem_length + 1 + second->stem_length;
        *ret_rows = lexicon_find(&lexicon_opposites, key, length, ret);
        if (*ret_rows > 0) {
            return i;
        }
    }
    return 0;
}

void deeds_add(struct deeds *deeds, const struct lexicon_row *row, size_t rows) {
    for (size_t i = 0; i < rows && deeds->count < DEEDS_MAX; i++) {
        deeds->items[deeds->count++] = lexicon_value(&lexicon_opposites, &row[i]);
    }
}

/* What a deed is besides: the text behind the last tab; "": nothing. */
static const char *flags_of(const char *deed) {
    const char *excluded = strchr(deed, '\t');
    const char *flags = excluded != NULL ? strchr(excluded + 1, '\t') : NULL;
    return flags != NULL ? flags + 1 : "";
}

/* Whether a word that may be a thing is one: it stands behind another thing. */
static bool is_thing(const struct words *words, size_t at, const struct lexicon_row *row) {
    const struct word *word = &words->items[at];
    return at > 0 && word[-1].part == word->part && !word[-1].stop &&
           strstr(flags_of(lexicon_value(&lexicon_opposites, row)), "thing") != NULL;
}

struct deeds_reading deeds_read(const struct words *words, size_t at) {
    struct deeds_reading reading = {.last = at};
    reading.length = words_match(words, at, &lexicon_opposites, &reading.row, &reading.rows);
    reading.rows = reading.length > 0 ? reading.rows : 0;
    if (reading.length > 1) {
        reading.last = at + reading.length - 1;
        return reading;
    }
    const struct lexicon_row *row;
    size_t rows;
    size_t last = words->items[at].kind == WORD_LETTERS ? match_apart(words, at, &row, &rows) : 0;
    if (last > 0) {
        reading = (struct deeds_reading){.row = row, .rows = rows, .last = last};
    } else if (reading.rows > 0 && is_thing(words, at, reading.row)) {
        reading.rows = 0;
    }
    reading.length = 1;
    return reading;
}

size_t deeds_at(const struct words *words, size_t at, struct deeds *deeds) {
    struct deeds_reading reading = deeds_read(words, at);
    deeds_add(deeds, reading.row, reading.rows);
    return reading.rows > 0 ? reading.length : 0;
}

bool deed_is_harmless(const char *deed) {
    return strstr(flags_of(deed), "harmless") != NULL;
}
