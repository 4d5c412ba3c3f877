/* Any bytes as words: each stands in the text, behind the one before; its text and its stem are
 * short; clauses and parts are numbered without gaps; and what a lexicon knows is within the text.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "choose/actions.h"
#include "choose/lexicon.h"
#include "choose/turns.h"
#include "choose/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_word(const struct words *words, size_t at, size_t size) {
    const struct word *word = &words->items[at];
    require(word->start < word->end && word->end <= size);
    require(word->text_length > 0 && word->text_length <= WORDS_WORD_MAX);
    require(word->stem_length > 0 && word->stem_length <= WORDS_WORD_MAX);
    require(word->clause < words->clauses && word->part < words->parts);
    if (at > 0) {
        require(word->start >= word[-1].end);
        require(word->clause - word[-1].clause <= 1 && word->clause >= word[-1].clause);
        require(word->part - word[-1].part <= 1 && word->part >= word[-1].part);
    }
}

static void check_matches(const struct words *words, size_t at) {
    static const struct lexicon *const lexicons[] = {
#define LEXICON_ADDRESS(name) &lexicon_##name,
            LEXICONS(LEXICON_ADDRESS)
#undef LEXICON_ADDRESS
    };
    for (size_t i = 0; i < sizeof lexicons / sizeof lexicons[0]; i++) {
        const struct lexicon_row *row;
        size_t rows;
        size_t length = words_match(words, at, lexicons[i], &row, &rows);
        require(length <= words->count - at && (length == 0 || rows > 0));
    }
    (void)actions_at(words, at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct words words;
    struct turns turns;
    require(words_read((const char *)data, size, &words, NULL) == 0);
    require(words.count <= WORDS_MAX && words.clauses <= words.parts);
    turns_read((const char *)data, size, &turns);
    for (size_t i = 0; i < words.count; i++) {
        check_word(&words, i, size);
        check_matches(&words, i);
        require(turns_weight(&turns, words.items[i].start) <= TURNS_ONE);
    }
    words_finish(&words);
    return 0;
}
