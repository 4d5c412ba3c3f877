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

/* Numbers by how many digits they have. */
static const struct lexeme sized[] = {
#define SIZED(count)                                                       \
    {                                                                      \
        .text = count, .length = sizeof count - 1, .kind = LEXEME_CLASSES, \
        .first = "\\b\\d{" count "}\\b", .second = "", .third = ""         \
    }
        SIZED("1"), SIZED("2"), SIZED("3"), SIZED("4"),  SIZED("5"),  SIZED("6"),
        SIZED("7"), SIZED("8"), SIZED("9"), SIZED("10"), SIZED("11"), SIZED("12"),
#undef SIZED
};

/* Of more digits than that, which ones are meant is not known. */
static const struct lexeme oversized = {
        .text = "", .kind = LEXEME_CLASSES, .first = "?", .second = "", .third = ""};

/* How many digits a word says: "four-digit". 0: it says nothing of that. */
static double digits_of(const struct values *values, const struct token *token) {
    static const char ending[] = "-digit";
    const size_t size = sizeof ending - 1;
    const size_t length = token->end - token->start;
    const char *text = values->lower + token->start;
    if (length <= size || memcmp(text + length - size, ending, size) != 0) {
        return 0;
    }
    const struct lexeme *number = lexeme_of(LEXEME_NUMBERS, text, length - size);
    return number != NULL ? number->number : 0;
}

/* The tokens that name a number: "numbers", 数字, 的数. */
static size_t noun_length(const struct values *values, size_t at) {
    static const char *const nouns[] = {"number", "numbers", "integer", "integers",
                                        "code",   "codes",   "pin",     "pins"};
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++) {
        if (is_word(values, at, nouns[i])) {
            return 1;
        }
    }
    const size_t of = value_is_sign(values, at, 0x7684);
    const size_t whole = value_is_sign(values, at + of, 0x6574);
    if (!value_is_sign(values, at + of + whole, 0x6570)) {
        return 0;
    }
    return of + whole + 1 + value_is_sign(values, at + of + whole + 1, 0x5b57);
}

/* "4-digit numbers", "six digit codes", 四位数字. NULL: none begins at the token. */
static const struct lexeme *sized_at(const struct values *values, size_t at, size_t *ret_length) {
    double count = digits_of(values, &values->tokens[at]);
    size_t end = at + 1;
    if (count == 0) {
        bool whole;
        const size_t length = value_read_number(values, at, &count, &whole);
        end = at + length + value_is_sign(values, at + length, '-');
        const bool said = is_word(values, end, "digit") || value_is_sign(values, end, 0x4f4d);
        if (length == 0 || !whole || !said) {
            return NULL;
        }
        end++;
    }
    const size_t noun = noun_length(values, end);
    if (noun == 0 || count < 1) {
        return NULL;
    }
    *ret_length = end + noun - at;
    return count <= (double)(sizeof sized / sizeof *sized) ? &sized[(size_t)count - 1] : &oversized;
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
            lexeme = sized_at(values, at, &length);
        }
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
