#include "choose/changed.h"

#include <string.h>

#include "base/cleanup.h"

/* Tokens [first, last). */
struct reach {
    size_t first;
    size_t last;
};

static struct reach reach_of(const struct values *values, size_t start, size_t end) {
    struct reach reach;
    value_tokens_said(values, start, end, &reach.first, &reach.last);
    return reach;
}

static bool is_taken(const struct changed_text *text, struct reach reach) {
    for (size_t t = reach.first; t < reach.last; t++) {
        if (!text->takes(text->user, t)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------- words */

/* Whether a part of the text begins with words, and something was said before it. */
static bool begins_later_part(const struct words *words, size_t at) {
    const struct word *word = &words->items[at];
    return at > 0 && (word[-1].part != word->part || word[-1].clause != word->clause);
}

/* Whether words are a part of the text by themselves: "no" of "20 euros, no, 30 euros". */
static bool is_whole_part(const struct words *words, size_t at, size_t count) {
    const struct word *items = words->items;
    size_t next = at + count;
    return next >= words->count || items[next].part != items[at].part ||
           items[next].clause != items[at].clause || items[next].kind == WORD_NUMBER;
}

/* Whether a day, a time or a span of time begins at a token: "before Monday" is a value. */
static bool is_time(const struct values *values, size_t at) {
    const uint32_t times = VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT) |
                           VALUE_BIT(VALUE_DURATION);
    while (at < values->token_count && values->tokens[at].cue == CUE_DETERMINER) {
        at++;
    }
    return at < values->token_count && value_covering(values, at, times) != NULL;
}

static bool changes(const struct changed_text *text, size_t at, size_t count, const char *how) {
    const struct words *words = text->words;
    const struct word *items = words->items;
    struct reach reach = reach_of(text->values, items[at].start, items[at + count - 1].end);
    if (strcmp(how, "correct") == 0) {
        const bool one = count == 1 && items[at].text_length < 4; /* "no", 不 */
        return !text->dialogue && begins_later_part(words, at) &&
               (!one || is_whole_part(words, at, count));
    }
    if (text->explains(text->user, at, count)) {
        return false;
    }
    if (strcmp(how, "behind") == 0) {
        return reach.first > 0 && text->takes(text->user, reach.first - 1);
    }
    return strcmp(how, "order") != 0 || !is_time(text->values, reach.last);
}

static bool find_word(const struct changed_text *text, struct reach *ret) {
    const struct words *words = text->words;
    for (size_t at = 0; at < words->count;) {
        const struct word *word = &words->items[at];
        const struct lexicon_row *row;
        size_t rows;
        size_t count = words_match(words, at, &lexicon_changers, &row, &rows);
        struct reach reach = {0, 0};
        if (count > 0 && !word->quoted && !word->literal) {
            reach = reach_of(text->values, word->start, words->items[at + count - 1].end);
        }
        if (reach.first < reach.last && text->values->tokens[reach.first].user &&
            text->values->tokens[reach.first].open && !is_taken(text, reach) &&
            changes(text, at, count, lexicon_value(&lexicon_changers, row))) {
            *ret = reach;
            return true;
        }
        at += count > 0 ? count : 1;
    }
    return false;
}

/* ------------------------------------------------------------------------------------- signs */

/* Signs that make one thing of two numbers: 20+5, 20/4, 6-9, 20~30. */
static bool is_joining_sign(const struct token *token) {
    static const uint32_t signs[] = {'+',  '-',  '/',    '*',    '~',    '^',
                                     0xd7, 0xf7, 0x2013, 0x2014, 0x2212, 0xff5e};
    for (size_t i = 0; token->kind == TOKEN_SIGN && i < ARRAY_LENGTH(signs); i++) {
        if (token->sign == signs[i]) {
            return true;
        }
    }
    return false;
}

/* Whether of two numbers with a sign between them only one is part of an argument. */
static bool find_sign(const struct changed_text *text, struct reach *ret) {
    const struct token *tokens = text->values->tokens;
    for (size_t t = 0; t + 2 < text->values->token_count; t++) {
        if (tokens[t].kind == TOKEN_NUMBER && is_joining_sign(&tokens[t + 1]) &&
            tokens[t + 2].kind == TOKEN_NUMBER &&
            text->takes(text->user, t) != text->takes(text->user, t + 2)) {
            *ret = (struct reach){t, t + 3};
            return true;
        }
    }
    return false;
}

bool changed_find(const struct changed_text *text, size_t *ret_first, size_t *ret_last) {
    struct reach reach;
    if (!find_word(text, &reach) && !find_sign(text, &reach)) {
        return false;
    }
    *ret_first = reach.first;
    *ret_last = reach.last;
    return true;
}
