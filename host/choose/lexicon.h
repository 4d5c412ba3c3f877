/* lexicon.h - the tables that are made of the files in lexicon/ when the host is built.
 *
 * A line of lexicon/NAME.txt is `keys TAB value`, or `keys` alone. Keys are separated by commas;
 * each is some words as words.h reads them, so that "Deleting files" and "delete file" are one key.
 * A value is kept as it is written, further tabs included. lexicon/compile.py makes lexicon_NAME of
 * the file: one row for each key, sorted by the key's bytes; rows with the same key stand together,
 * in the order of the file. Some files have a form of their own, which compile.py states. A file
 * that is new needs its name in LEXICONS and in lexicon/meson.build.
 *
 * All is constant data. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Every table. X(name) */
#define LEXICONS(X)  \
    X(actions)       \
    X(carriers)      \
    X(changers)      \
    X(common)        \
    X(connectives)   \
    X(forms)         \
    X(glossary)      \
    X(glossary_back) \
    X(intents)       \
    X(kinds)         \
    X(moods)         \
    X(openers)       \
    X(opposites)     \
    X(particles)     \
    X(questions)     \
    X(refusals)      \
    X(replies) X(reports) X(scenes) X(stop_words) X(synonyms)

struct lexicon_row {
    uint32_t key;   /**< of lexicon.text: a zero-terminated string */
    uint32_t value; /**< the same; "" if the line has none */
};

/** Of a hash table over the keys. */
struct lexicon_slot {
    uint16_t tag; /**< the upper half of the key's hash */
    uint16_t row; /**< the first row of the key, from 1; 0: the slot is empty */
};

struct lexicon {
    const char *text;
    const struct lexicon_row *rows;
    size_t count;
    size_t words_max;                 /**< most words of a key */
    const struct lexicon_slot *slots; /**< open addressing, at most half full; NULL: there are none,
                                         and keys are sought among the rows */
    uint32_t mask;                    /**< the number of slots, a power of two, less 1 */
    /** A bit for each hash of the first word of a key, by the hash's lower bits: most words of a
     * text begin no key of most tables, and are sought no further: 16 % of the instructions of a
     * selection among 4,000 tools. NULL: as with slots. */
    const unsigned char *firsts;
    uint32_t first_mask; /**< the number of bits, a power of two, less 1 */
};

#define LEXICON_DECLARE(name) extern const struct lexicon lexicon_##name;
LEXICONS(LEXICON_DECLARE)
#undef LEXICON_DECLARE

/** A traditional character and the simplified one that is read in its place; sorted. */
struct lexicon_character {
    uint32_t traditional;
    uint32_t simplified;
};
extern const struct lexicon_character lexicon_traditional[];
extern const size_t lexicon_traditional_count;

/** The simplified character for a traditional one, or the character itself. [any-thread] */
uint32_t lexicon_simplified(uint32_t point);

/** Most bytes of a key; compile.py refuses longer ones. */
#define LEXICON_KEY_MAX 96u

/** The rows with a key: how many, and the first; 0: there is none. [any-thread] */
size_t lexicon_find(const struct lexicon *lexicon, const char *key, size_t length,
                    const struct lexicon_row **ret_first);
/** The same, where the hash of the key is known. */
size_t lexicon_find_hashed(const struct lexicon *lexicon, const char *key, size_t length,
                           uint32_t hash, const struct lexicon_row **ret_first);

/** The hash of a key whose beginning, of which the hash is known, goes on with a text; compile.py
 * has the same. */
#define LEXICON_HASH_EMPTY 2166136261u
static inline uint32_t lexicon_hash(uint32_t before, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        before = (before ^ (unsigned char)text[i]) * 16777619u;
    }
    return before;
}

/** Whether a key may begin with a word, by the hash of its stem; false is certain. */
static inline bool lexicon_may_begin(const struct lexicon *lexicon, uint32_t hash) {
    uint32_t bit = hash & lexicon->first_mask;
    return lexicon->firsts == NULL || (lexicon->firsts[bit / 8] >> (bit % 8) & 1) != 0;
}

static inline const char *lexicon_key(const struct lexicon *lexicon,
                                      const struct lexicon_row *row) {
    return lexicon->text + row->key;
}

static inline const char *lexicon_value(const struct lexicon *lexicon,
                                        const struct lexicon_row *row) {
    return lexicon->text + row->value;
}
