/* Words of the lexicons that are values: places, currencies, languages, colors, rooms. */
#include <string.h>

#include "choose/expression-parts.h"

/* ------------------------------------------------------------------- terms */

static bool has_kind(const struct values *values, uint32_t kinds) {
    for (size_t i = 0; i < values->count; i++) {
        if ((VALUE_BIT(values->list[i].kind) & kinds) != 0) {
            return true;
        }
    }
    return false;
}

static bool is_aim(const struct values *values, size_t at) {
    uint8_t cue = at < values->token_count ? values->tokens[at].cue : CUE_NONE;
    return cue == CUE_TO || cue == CUE_IN || cue == CUE_FROM || cue == CUE_FOR;
}

/* Whether another currency stands on the other side of a word: its code in "usd and eur", also its
 * name in "from dollars to yen". */
static bool has_other_across(const struct values *values, size_t at, bool before) {
    size_t across = before ? at - 2 : at + 2;
    size_t length;
    if (before ? at < 2 : across >= values->token_count) {
        return false;
    }
    uint8_t joint = values->tokens[before ? at - 1 : at + 1].cue;
    const struct lexeme *other = token_lexeme(values->lower, values->tokens, values->token_count,
                                              across, LEXEME_CURRENCIES, &length);
    bool name =
            before && joint == CUE_TO && across > 0 && values->tokens[across - 1].cue == CUE_FROM;
    return other != NULL && length == 1 && (name || other->length == 3) &&
           (joint == CUE_TO || joint == CUE_AND || joint == CUE_IN);
}

/* Whether a word ends a later turn of a conversation: the answer to a question, or another value.
 */
static bool is_answer(const struct values *values, size_t at) {
    const struct token *own = &values->tokens[at];
    const struct token *next = own + 1;
    const struct token *end = values->tokens + values->token_count;
    next += next < end && next->turn == own->turn && next->kind == TOKEN_SIGN;
    return own->user && values->tokens[0].turn > own->turn &&
           (next >= end || next->turn != own->turn);
}

/* Whether a text that has an amount says what it is to become: "to yen", "into won", "how many
 * yen".
 */
static bool is_money_wanted(const struct values *values, size_t at) {
    bool aim = at > 0 && (is_aim(values, at - 1) || expression_is_word(values, at - 1, "many") ||
                          expression_is_word(values, at - 1, "much"));
    bool bare = at > 1 && values->tokens[at - 2].kind == TOKEN_NUMBER; /* 5 to yen */
    bool money = has_kind(values, VALUE_BIT(VALUE_MONEY));
    return (aim && (bare || money)) || (money && is_answer(values, at)) ||
           has_other_across(values, at, true) || has_other_across(values, at, false);
}

/* English names of few letters that are words too need a capital: "nice", "la"; a currency needs an
 * amount in the text. */
static bool is_name(const struct values *values, size_t at, const struct lexeme *lexeme) {
    const struct token *token = &values->tokens[at];
    size_t letters = lexeme->kind == LEXEME_PLACES ? 5 : lexeme->kind == LEXEME_CURRENCIES ? 3 : 0;
    return token->kind != TOKEN_WORD || token->capital || token->end - token->start > letters ||
           (lexeme->kind == LEXEME_CURRENCIES && is_money_wanted(values, at));
}

static enum value_kind kind_of(const struct lexeme *lexeme, enum value_kind as) {
    if (lexeme->kind == LEXEME_PLACES) {
        return lexeme->third[0] == '*' ? VALUE_COUNTRY : VALUE_PLACE;
    }
    if (lexeme->kind == LEXEME_THINGS) {
        return lexeme->first[0] == 'c'   ? VALUE_COLOR
               : lexeme->first[0] == 's' ? VALUE_STATE
               : lexeme->first[0] == 'f' ? VALUE_FLOOR
                                         : VALUE_ROOM;
    }
    return as;
}

/* Whether a word of a state is the preposition of what follows: on the list, off my desk. */
static bool is_preposition(const struct values *values, size_t at, const struct lexeme *lexeme) {
    bool state = lexeme->kind == LEXEME_THINGS && lexeme->first[0] == 's';
    uint8_t next = at + 1 < values->token_count ? values->tokens[at + 1].cue : CUE_NONE;
    return state && values->tokens[at].kind == TOKEN_WORD &&
           (next == CUE_DETERMINER || next == CUE_PRONOUN);
}

#define TAKEN                                                                \
    (VALUE_BIT(VALUE_MONEY) | VALUE_BIT(VALUE_ZONE) | VALUE_BIT(VALUE_URL) | \
     VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_EMAIL))

static void add_terms(struct values *values, enum lexeme_kind kind, enum value_kind as) {
    for (size_t at = 0; at < values->token_count; at++) {
        size_t length = 0;
        const struct lexeme *lexeme =
                values->tokens[at].kind == TOKEN_SIGN
                        ? NULL
                        : token_lexeme(values->lower, values->tokens, values->token_count, at, kind,
                                       &length);
        bool holiday = lexeme != NULL && kind == LEXEME_THINGS && lexeme->first[0] == 'h';
        if (lexeme == NULL || holiday || value_covering(values, at, TAKEN) != NULL ||
            !is_name(values, at, lexeme) || is_preposition(values, at, lexeme) ||
            (kind == LEXEME_CURRENCIES && !value_is_money(values, at, length))) {
            continue;
        }
        /* One sign is no word: 元, $. */
        bool alone = values->tokens[at].kind == TOKEN_HAN && length == 1;
        struct value *value =
                alone ? NULL : value_add(values, kind_of(lexeme, as), at, at + length);
        if (value != NULL) {
            value->lexeme = lexeme;
        }
        at += length - 1;
    }
}

void value_find_terms(struct values *values) {
    add_terms(values, LEXEME_PLACES, VALUE_PLACE);
    add_terms(values, LEXEME_THINGS, VALUE_COLOR);
    add_terms(values, LEXEME_CURRENCIES, VALUE_CURRENCY);
    add_terms(values, LEXEME_LANGUAGES, VALUE_LANGUAGE);
}
