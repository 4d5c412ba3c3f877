/* words.h - a text as words, in English and Chinese.
 *
 * A word is a run of letters, a number, or one Chinese character (a run of them is matched with a
 * lexicon by words_match()). Names are split: readFile, read_file and HTTPServer2 are two, two and
 * three words. Letters are compared without case, accents and width (Ａ, é); traditional Chinese
 * characters are read as the simplified ones. Each word knows where it stands in the text, which
 * may be anything: bytes that are not UTF-8 are between words.
 *
 * Reading takes time in proportion to the text, and stops at WORDS_MAX. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "choose/lexicon.h"

/** Most words that are read of a text, most bytes of one word (the rest is left out), and most
 * clauses that are told apart. */
#define WORDS_MAX         4096u
#define WORDS_WORD_MAX    48u
#define WORDS_CLAUSES_MAX 32u
#define WORDS_PARTS_MAX   64u

enum word_kind {
    WORD_LETTERS,
    WORD_NUMBER, /**< digits: "3", "2024"; a point or a comma ends it */
    WORD_HAN,    /**< one Chinese, Japanese or Korean character */
};

struct word {
    uint32_t start; /**< where it stands in the text, in bytes */
    uint32_t end;
    const char *text;    /**< folded and in lower case, not zero-terminated */
    const char *stem;    /**< without its ending: "delete", "deleting" are "delet"; else the text */
    uint32_t hash;       /**< of the stem, lexicon_hash() */
    uint8_t text_length; /**< in bytes */
    uint8_t stem_length; /**< in bytes */
    uint8_t clause;      /**< the number of its clause, from 0: up to a full stop, or "then" */
    uint8_t part;        /**< the same for smaller parts: up to a comma, or "and" */
    enum word_kind kind;
    bool stop;    /**< says nothing by itself: "the", "please", 的, 请 */
    bool joined;  /**< with the word before: parts of a name, "real-time", characters */
    bool quoted;  /**< inside quotation marks: rather a value than a wish; or as below */
    bool literal; /**< part of a path, a URL or an address, or behind "that says": a value */
};

struct words {
    struct word *items;
    size_t count;
    size_t clauses; /**< 0 if there is no word */
    size_t parts;   /**< at least as many */
    char *memory;   /**< what text and stem point into, or into static data */
    bool cut;       /**< the text has more words than WORDS_MAX */
};

/** Read a text of `length` bytes (borrowed until the end of the call).
 * @return 0; TOOLRACK_E_NO_MEMORY. Release with words_finish(). [any-thread] */
int words_read(const char *text, size_t length, struct words *ret, struct toolrack_error *err);

/** An empty struct is ignored. */
void words_finish(struct words *words);

/** The longest key of a lexicon that begins with word `at`: its number of words, or 0. Words that
 * are joined or not are the same; a key does not go on into the next clause.
 * @param ret_first  the first row with that key
 * @param ret_rows   how many rows have it. [any-thread] */
size_t words_match(const struct words *words, size_t at, const struct lexicon *lexicon,
                   const struct lexicon_row **ret_first, size_t *ret_rows);

/** Whether a word is one of a list, as it stands there. [any-thread] */
bool word_is_one_of(const struct word *word, const char *const *list, size_t count);
#define WORD_IS_ONE_OF(word, list) word_is_one_of(word, list, ARRAY_LENGTH(list))

/** Write the words from `at` as a key of a lexicon: stems, with spaces except between Chinese
 * characters. @return its length; 0 if it is longer than `room`. [any-thread] */
size_t words_key(const struct words *words, size_t at, size_t count, char *ret, size_t room);
