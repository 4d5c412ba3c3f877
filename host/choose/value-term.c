/* Words of the lexicons that are values: places, currencies, languages; and arithmetic. */
#include <string.h>

#include "base/ascii.h"
#include "choose/values-parts.h"

/* ------------------------------------------------------------------- terms */

/* "to yen", "in yen?", where the text speaks of money and ends with it. */
static bool is_aim(const struct values *values, size_t at) {
    const struct token *before = at > 0 ? &values->tokens[at - 1] : NULL;
    size_t last = values->token_count - 1;
    if (last > at && values->tokens[last].kind == TOKEN_SIGN) {
        last--;
    }
    if (at != last || before == NULL || before->end - before->start != 2 ||
        (memcmp(values->lower + before->start, "to", 2) != 0 &&
         memcmp(values->lower + before->start, "in", 2) != 0)) {
        return false;
    }
    for (size_t i = 0; i < values->count; i++) {
        if (values->list[i].kind == VALUE_MONEY) {
            return true;
        }
    }
    return false;
}

/* English names of few letters that are words too need a capital: "nice", "la", "try". */
static bool is_name(const struct values *values, size_t at, enum lexeme_kind kind) {
    const struct token *token = &values->tokens[at];
    size_t letters = kind == LEXEME_PLACES ? 5 : kind == LEXEME_CURRENCIES ? 3 : 0;
    return token->kind != TOKEN_WORD || token->capital || token->end - token->start > letters ||
           (kind == LEXEME_CURRENCIES && is_aim(values, at));
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
            !is_name(values, at, kind)) {
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

/* -------------------------------------------------------------- arithmetic */

static const struct {
    const char *word;
    size_t tokens;
    const char *sign;
} operators[] = {{"divided by", 2, "/"},
                 {"multiplied by", 2, "*"},
                 {"to the power of", 4, "^"},
                 {"plus", 1, "+"},
                 {"minus", 1, "-"},
                 {"times", 1, "*"},
                 {"乘以", 2, "*"},
                 {"除以", 2, "/"},
                 {"加上", 2, "+"},
                 {"减去", 2, "-"},
                 {"加", 1, "+"},
                 {"减", 1, "-"},
                 {"乘", 1, "*"},
                 {"over", 1, "/"},
                 {"×", 1, "*"},
                 {"÷", 1, "/"},
                 {"−", 1, "-"}};

const char *value_operator(const struct values *values, size_t at, size_t *ret_length) {
    const struct token *token = &values->tokens[at];
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        size_t length = strlen(operators[i].word);
        size_t last = at + operators[i].tokens;
        if (last <= values->token_count && values->tokens[last - 1].end - token->start == length &&
            memcmp(values->lower + token->start, operators[i].word, length) == 0) {
            *ret_length = operators[i].tokens;
            return operators[i].sign;
        }
    }
    *ret_length = 1;
    if (token->kind == TOKEN_SIGN && token->sign < 0x80 && token->sign != 0 &&
        strchr("+-*/^%", (int)token->sign) != NULL) {
        return "";
    }
    return NULL;
}

static bool is_function(const struct values *values, size_t at) {
    static const char *const names[] = {
            "sqrt", "sin",  "cos",   "tan",  "log", "ln", "exp", "abs",   "pi",   "pow",   "min",
            "max",  "log2", "log10", "cbrt", "e",   "x",  "y",   "floor", "ceil", "round", "mod"};
    const struct token *token = &values->tokens[at];
    size_t length = token->end - token->start;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == length &&
            memcmp(values->lower + token->start, names[i], length) == 0) {
            return true;
        }
    }
    /* "3x" is a number and a word; "x2" is one word */
    return length == 2 && values->lower[token->start] == 'x' &&
           ascii_is_digit(values->lower[token->start + 1]);
}

struct scan {
    size_t operands;
    size_t operators;
    size_t opened;
    size_t end; /* behind the last operand or closing bracket */
};

/* The tokens of an operand, operator or bracket at a place; 0: none. */
static size_t step(const struct values *values, size_t at, struct scan *scan) {
    size_t length;
    double number;
    bool whole;
    if (value_is_sign(values, at, '(')) {
        scan->opened++;
        return 1;
    }
    if (value_is_sign(values, at, ')')) {
        if (scan->opened == 0) {
            return 0;
        }
        scan->opened--;
        scan->end = at + 1;
        return 1;
    }
    if (value_is_sign(values, at, ',') && scan->opened > 0) {
        return 1;
    }
    if (value_operator(values, at, &length) != NULL) {
        scan->operators++;
        return length;
    }
    if (values->tokens[at].kind == TOKEN_NUMBER) {
        length = 1;
    } else if (values->tokens[at].kind == TOKEN_HAN) {
        length = value_read_number(values, at, &number, &whole);
    } else {
        length = values->tokens[at].kind == TOKEN_WORD && is_function(values, at) ? 1 : 0;
    }
    if (length > 0) {
        scan->operands++;
        scan->end = at + length;
    }
    return length;
}

void value_find_expressions(struct values *values) {
    const uint32_t taken = VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_PATH) |
                           VALUE_BIT(VALUE_CODE) | VALUE_BIT(VALUE_PHONE) |
                           VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_JSON) | VALUE_BIT(VALUE_EMAIL);
    for (size_t at = 0; at < values->token_count; at++) {
        struct scan scan = {0};
        size_t i = at;
        size_t length = 1;
        while (i < values->token_count && length > 0 && value_covering(values, i, taken) == NULL) {
            length = step(values, i, &scan);
            i += length;
        }
        bool call = values->tokens[at].kind == TOKEN_WORD && scan.operands > 1;
        bool sign = values->tokens[at].kind == TOKEN_SIGN && !value_is_sign(values, at, '(') &&
                    !value_is_sign(values, at, '-');
        if (!sign && scan.operands > 0 && scan.opened == 0 && scan.end > at + 2 &&
            ((scan.operators > 0 && scan.operands > 1) || call)) {
            (void)value_add(values, VALUE_EXPRESSION, at, scan.end);
            at = scan.end - 1;
        } else if (i > at + 1) {
            at = i - 1; /* what was read is no expression from a later token either */
        }
    }
}
