#include "choose/index-text.h"

#include <string.h>

#include "choose/index-parts.h"
#include "choose/stem.h"

/* Parts of a name that are read as one, at most. */
#define PARTS_JOINED_MAX 3u

size_t index_joined(const struct words *words, size_t at, size_t count, char *ret, size_t room) {
    size_t length = 0;
    bool letters = true;
    for (size_t i = at; i < at + count; i++) {
        const struct word *word = &words->items[i];
        if (length + word->text_length > room) {
            return 0;
        }
        memcpy(ret + length, word->text, word->text_length);
        length += word->text_length;
        letters = letters && word->kind == WORD_LETTERS;
    }
    return letters ? stem_english(ret, length, ret) : length;
}

static bool is_han(const struct word *word) {
    return word->kind == WORD_HAN;
}

static enum index_kind kind_of(bool stop) {
    return stop ? INDEX_STOP : INDEX_WORD;
}

/* Two characters that stand together; one that has none beside it. */
static bool take_characters(const struct words *words, size_t at, index_take take, void *user) {
    const struct word *word = &words->items[at];
    bool after = at > 0 && word->joined && is_han(word - 1);
    bool before = at + 1 < words->count && word[1].joined && is_han(word + 1);
    if (!after) {
        return before || take(user, word->text, word->text_length, kind_of(word->stop));
    }
    char pair[INDEX_TERM_MAX];
    size_t length = index_joined(words, at - 1, 2, pair, sizeof pair);
    return length == 0 || take(user, pair, length, kind_of(word->stop && word[-1].stop));
}

bool index_terms_at(const struct words *words, size_t at, index_take take, void *user) {
    const struct word *word = &words->items[at];
    if (is_han(word)) {
        return take_characters(words, at, take, user);
    }
    bool going = take(user, word->stem, word->stem_length, kind_of(word->stop));
    for (size_t count = 2; going && count <= PARTS_JOINED_MAX && count <= at + 1; count++) {
        char joined[INDEX_TERM_MAX];
        const struct word *first = &words->items[at + 1 - count];
        if (!first[1].joined || is_han(first)) {
            break;
        }
        size_t length = index_joined(words, at + 1 - count, count, joined, sizeof joined);
        going = length == 0 || take(user, joined, length, INDEX_JOINED);
    }
    return going;
}
