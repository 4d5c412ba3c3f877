/* Classes of characters by name ("all digits", 汉字) and single signs that stand for themselves
 * ("replace . by ,"), for parameters that are regular expressions. No other parameter takes them.
 */
#include <string.h>

#include "choose/values-parts.h"

bool value_is_class(const struct value *value) {
    return value->lexeme != NULL && value->lexeme->kind == LEXEME_CLASSES;
}

/* Signs that stand between two words or spaces as a word does. */
static const struct lexeme signs[] = {
#define SIGN(sign, pattern)                                                                  \
    {                                                                                        \
        .text = sign, .length = 1, .kind = LEXEME_CLASSES, .first = pattern, .second = sign, \
        .third = ""                                                                          \
    }
        SIGN(".", "\\."), SIGN(",", ","),   SIGN(";", ";"),    SIGN(":", ":"),   SIGN("-", "-"),
        SIGN("_", "_"),   SIGN("/", "/"),   SIGN("|", "\\|"),  SIGN("&", "&"),   SIGN("#", "#"),
        SIGN("+", "\\+"), SIGN("*", "\\*"), SIGN("=", "="),    SIGN("!", "!"),   SIGN("?", "\\?"),
        SIGN("@", "@"),   SIGN("%", "%"),   SIGN("$", "\\$"),  SIGN("^", "\\^"), SIGN("~", "~"),
        SIGN("(", "\\("), SIGN(")", "\\)"), SIGN("\\", "\\\\")
#undef SIGN
};

/* Chinese words before and behind a sign that is meant. */
static bool is_beside(uint32_t point) {
    static const uint32_t points[] = {0x628a, 0x5c06, 0x6210, 0x4e3a, 0x4ee5, 0x7528, 0x627e,
                                      0x7684, 0x66ff, 0x6362, 0x6539, 0x5220, 0x6240};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        if (point == points[i]) {
            return true;
        }
    }
    return false;
}

/* A sign alone: spaces, or Chinese words of replacing, on both sides. */
static const struct lexeme *sign_at(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    if (token->kind != TOKEN_SIGN || token->end - token->start != 1 || at == 0) {
        return NULL;
    }
    const struct token *before = &values->tokens[at - 1];
    const struct token *after = at + 1 < values->token_count ? &values->tokens[at + 1] : NULL;
    bool left = before->kind == TOKEN_HAN ? is_beside(before->sign)
                                          : token->space && before->kind != TOKEN_SIGN;
    bool right =
            after == NULL || (after->kind == TOKEN_HAN ? is_beside(after->sign) : after->space);
    for (size_t i = 0; left && right && i < sizeof signs / sizeof *signs; i++) {
        if (values->lower[token->start] == signs[i].text[0]) {
            return &signs[i];
        }
    }
    return NULL;
}

static bool is_word(const struct values *values, size_t at, const char *word) {
    return at < values->token_count &&
           values->tokens[at].end - values->tokens[at].start == strlen(word) &&
           memcmp(values->lower + values->tokens[at].start, word, strlen(word)) == 0;
}

/* Words that say which of a class are meant: "words that begin with a", 大于3的数字. */
static bool is_narrowed(const struct values *values, size_t first, size_t last) {
    static const char *const behind[] = {"starting", "beginning", "ending",  "containing", "that",
                                         "which",    "longer",    "shorter", "greater",    "less",
                                         "larger",   "smaller",   "above",   "below",      "over"};
    static const uint32_t before[] = {0x5934, 0x5c3e, 0x542b, 0x4e8e, 0x8fc7, 0x4f4d};
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        if (is_word(values, last, behind[i])) {
            return true;
        }
    }
    for (size_t n = 2; n < 6 && value_is_sign(values, first - 1, 0x7684) && n <= first; n++) {
        for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
            if (value_is_sign(values, first - n, before[i])) {
                return true;
            }
        }
    }
    return false;
}

void value_find_classes(struct values *values) {
    const uint32_t closed = VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_JSON) | VALUE_BIT(VALUE_URL) |
                            VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_EMAIL) |
                            VALUE_BIT(VALUE_EXPRESSION);
    for (size_t at = 0; at < values->token_count; at++) {
        size_t length = 1;
        const struct lexeme *lexeme = sign_at(values, at);
        if (lexeme == NULL && values->tokens[at].kind != TOKEN_SIGN) {
            lexeme = token_lexeme(values->lower, values->tokens, values->token_count, at,
                                  LEXEME_CLASSES, &length);
        }
        if (lexeme == NULL || !values->tokens[at].user ||
            value_covering(values, at, closed) != NULL) {
            continue;
        }
        bool known = strcmp(lexeme->first, "?") != 0;
        values->classes_unclear =
                values->classes_unclear || !known || is_narrowed(values, at, at + length);
        struct value *value = value_add(values, VALUE_QUOTED, at, at + length);
        if (value != NULL) {
            value->lexeme = lexeme;
            values->class_count++;
        }
        at += length - 1;
    }
}
