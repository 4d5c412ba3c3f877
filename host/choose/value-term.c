/* Words of the lexicons that are values: places, currencies, languages, colors, rooms. */
#include <string.h>

#include "choose/values-parts.h"

/* ------------------------------------------------------------------- terms */

static bool has_kind(const struct values *values, uint32_t kinds) {
    for (size_t i = 0; i < values->count; i++) {
        if ((VALUE_BIT(values->list[i].kind) & kinds) != 0) {
            return true;
        }
    }
    return false;
}

/* Whether a text that has an amount goes on with what it is to become: "to yen", "into won". */
static bool is_money_wanted(const struct values *values, size_t at) {
    const struct token *before = at > 0 ? &values->tokens[at - 1] : NULL;
    bool aim = before != NULL && (before->cue == CUE_TO || before->cue == CUE_IN ||
                                  before->cue == CUE_FROM || before->cue == CUE_FOR);
    return aim && has_kind(values, VALUE_BIT(VALUE_MONEY));
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
        if (lexeme == NULL || value_covering(values, at, TAKEN) != NULL ||
            !is_name(values, at, lexeme) ||
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
