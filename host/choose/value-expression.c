/* Arithmetic: signs, and words in both languages, as one expression with signs. */
#include <string.h>

#include "base/ascii.h"
#include "base/text.h"
#include "choose/values-parts.h"

/* ------------------------------------------------------------------- words */

/* Words of arithmetic and the tokens they have; the longest of a beginning is first. */
struct word {
    const char *text;
    uint8_t tokens;
    const char *sign;
};

/* Between two operands. */
static const struct word operators[] = {{"divided by", 2, "/"},
                                        {"multiplied by", 2, "*"},
                                        {"to the power of", 4, "^"},
                                        {"raised to the power of", 5, "^"},
                                        {"percent of", 2, "/ 100 *"},
                                        {"per cent of", 3, "/ 100 *"},
                                        {"% of", 2, "/ 100 *"},
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

/* Before an operand. */
static const struct word functions[] = {{"the square root of", 4, "sqrt"},
                                        {"square root of", 3, "sqrt"},
                                        {"the cube root of", 4, "cbrt"},
                                        {"cube root of", 3, "cbrt"},
                                        {"the absolute value of", 4, "abs"},
                                        {"absolute value of", 3, "abs"},
                                        {"根号", 2, "sqrt"}};

/* Behind an operand: a function of it, or an operator with its second operand. */
static const struct word endings[] = {{"的算术平方根", 6, "sqrt"}, {"的平方根", 4, "sqrt"},
                                      {"的立方根", 4, "cbrt"},     {"的绝对值", 4, "abs"},
                                      {"的平方", 3, "^ 2"},        {"的立方", 3, "^ 3"},
                                      {"squared", 1, "^ 2"},       {"cubed", 1, "^ 3"}};

/* What is done with the numbers behind it: "add 40 and 2", "the sum of 3, 4 and 5". */
static const struct word verbs[] = {{"add", 1, "+"},
                                    {"the sum of", 3, "+"},
                                    {"sum of", 2, "+"},
                                    {"sum", 1, "+"},
                                    {"multiply", 1, "*"},
                                    {"the product of", 3, "*"},
                                    {"product of", 2, "*"},
                                    {"divide", 1, "/"},
                                    {"subtract", 1, "-"},
                                    {"the difference between", 3, "-"},
                                    {"difference between", 2, "-"}};

static const struct word *word_at(const struct values *values, size_t at, const struct word *words,
                                  size_t count) {
    const struct token *token = &values->tokens[at];
    for (size_t i = 0; at < values->token_count && i < count; i++) {
        size_t length = strlen(words[i].text);
        size_t last = at + words[i].tokens;
        if (last <= values->token_count && values->tokens[last - 1].end - token->start == length &&
            memcmp(values->lower + token->start, words[i].text, length) == 0) {
            return &words[i];
        }
    }
    return NULL;
}
#define WORD_AT(values, at, words) word_at(values, at, words, sizeof(words) / sizeof *(words))

static bool is_word(const struct values *values, size_t at, const char *word) {
    const struct token *token = &values->tokens[at];
    return at < values->token_count && token->end - token->start == strlen(word) &&
           memcmp(values->lower + token->start, word, strlen(word)) == 0;
}

static bool is_name(const struct values *values, size_t at) {
    static const char *const names[] = {
            "sqrt", "sin",  "cos",   "tan",  "log", "ln", "exp", "abs",   "pi",   "pow",   "min",
            "max",  "log2", "log10", "cbrt", "e",   "x",  "y",   "floor", "ceil", "round", "mod"};
    const struct token *token = &values->tokens[at];
    size_t length = token->end - token->start;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (is_word(values, at, names[i])) {
            return true;
        }
    }
    /* "3x" is a number and a word; "x2" is one word */
    return length == 2 && values->lower[token->start] == 'x' &&
           ascii_is_digit(values->lower[token->start + 1]);
}

/* ------------------------------------------------------------------- parts */

enum part_kind {
    PART_NONE,
    PART_NUMBER,
    PART_NAME, /* of a variable or function */
    PART_OPERATOR,
    PART_FUNCTION, /* whose operand follows */
    PART_OPEN,
    PART_CLOSE,
    PART_COMMA
};

struct part {
    enum part_kind kind;
    size_t length; /* tokens */
    const char *sign;
    const struct word *ending; /* of a number; NULL: none */
    double number;             /* of words */
    bool worded;
};

/* 的百分之: "80的百分之十五" multiplies; 10次方 is behind 的 too. */
static bool read_han_operator(const struct values *values, size_t at, struct part *ret) {
    double number;
    bool whole;
    if (!value_is_sign(values, at, 0x7684)) {
        return false;
    }
    size_t length = value_read_number(values, at + 1, &number, &whole);
    bool power = length > 0 && value_is_sign(values, at + 1 + length, 0x6b21) &&
                 value_is_sign(values, at + 2 + length, 0x65b9);
    bool share = length > 0 && value_is_sign(values, at + 1 + length, '%');
    bool worded = value_is_sign(values, at + 1, 0x767e) && value_is_sign(values, at + 2, 0x5206) &&
                  value_is_sign(values, at + 3, 0x4e4b);
    if (!power && !share && !worded) {
        return false;
    }
    *ret = (struct part){.kind = PART_OPERATOR, .length = 1, .sign = power ? "^" : "*"};
    return true;
}

/* A number with what belongs to it: 15%, 百分之十五, 10次方, 12 squared. */
static bool read_number(const struct values *values, size_t at, struct part *ret) {
    static const struct word percent = {"%", 1, "/ 100"};
    static const struct word power = {"次方", 2, ""};
    size_t skip = value_is_sign(values, at, 0x767e) && value_is_sign(values, at + 1, 0x5206) &&
                                  value_is_sign(values, at + 2, 0x4e4b)
                          ? 3
                          : 0;
    bool whole;
    double number = 0;
    size_t length = at + skip < values->token_count
                            ? value_read_number(values, at + skip, &number, &whole)
                            : 0;
    if (length == 0) {
        return false;
    }
    /* 1/2 stays a division. */
    bool fraction = value_is_sign(values, at + 1, '/') || value_is_sign(values, at + 2, '/');
    length = values->tokens[at].kind == TOKEN_NUMBER && fraction ? 1 : length;
    size_t end = at + skip + length;
    *ret = (struct part){.kind = PART_NUMBER,
                         .length = skip + length,
                         .number = number,
                         .worded = length > 1 || values->tokens[at + skip].kind != TOKEN_NUMBER};
    ret->ending = skip > 0 ? &percent : WORD_AT(values, end, endings);
    bool share = value_is_sign(values, end, '%') && WORD_AT(values, end, operators) == NULL &&
                 at > 0 && value_is_sign(values, at - 1, 0x7684);
    if (share) {
        ret->ending = &percent;
    } else if (value_is_sign(values, end, 0x6b21) && value_is_sign(values, end + 1, 0x65b9)) {
        ret->ending = &power;
    }
    ret->length += skip == 0 && ret->ending != NULL ? ret->ending->tokens : 0;
    return true;
}

/* The part of an expression at a token. */
static struct part part_at(const struct values *values, size_t at) {
    struct part part = {.length = 1};
    const struct token *token = &values->tokens[at];
    if (at >= values->token_count) {
        return part;
    }
    if (value_is_sign(values, at, '(')) {
        part.kind = PART_OPEN;
    } else if (value_is_sign(values, at, ')')) {
        part.kind = PART_CLOSE;
    } else if (value_is_sign(values, at, ',')) {
        part.kind = PART_COMMA;
    } else if (WORD_AT(values, at, functions) != NULL) {
        const struct word *word = WORD_AT(values, at, functions);
        part = (struct part){.kind = PART_FUNCTION, .length = word->tokens, .sign = word->sign};
    } else if (WORD_AT(values, at, operators) != NULL) {
        const struct word *word = WORD_AT(values, at, operators);
        part = (struct part){.kind = PART_OPERATOR, .length = word->tokens, .sign = word->sign};
    } else if (token->kind == TOKEN_SIGN && token->sign < 0x80 && token->sign != 0 &&
               strchr("+-*/^%", (int)token->sign) != NULL) {
        part.kind = PART_OPERATOR;
    } else if (!read_han_operator(values, at, &part) && !read_number(values, at, &part) &&
               token->kind == TOKEN_WORD && is_name(values, at)) {
        part.kind = PART_NAME;
    }
    return part;
}

/* --------------------------------------------------------------------- verbs */

/* Numbers that one expression of a verb has at most. */
#define NUMBERS_MAX 16u

struct verb {
    const char *sign;
    bool back; /* "subtract 3 from 10" */
    double numbers[NUMBERS_MAX];
    size_t count;
    size_t last; /* behind the last number */
};

/* What stands between two numbers of a verb. */
static size_t between(const struct values *values, size_t at, bool *ret_back) {
    size_t comma = value_is_sign(values, at, ',');
    *ret_back = is_word(values, at, "from");
    bool word = is_word(values, at + comma, "and") ||
                (comma == 0 && (*ret_back || is_word(values, at, "to") ||
                                is_word(values, at, "by") || is_word(values, at, "with")));
    return comma + word;
}

static bool read_verb(const struct values *values, size_t at, struct verb *ret) {
    const struct word *word = WORD_AT(values, at, verbs);
    *ret = (struct verb){0};
    if (word == NULL) {
        return false;
    }
    ret->sign = word->sign;
    size_t i = at + word->tokens;
    i += is_word(values, i, "the");
    i += is_word(values, i, "numbers");
    while (ret->count < NUMBERS_MAX) {
        bool whole;
        size_t length = value_read_number(values, i, &ret->numbers[ret->count], &whole);
        size_t unit;
        if (length == 0 || value_unit_at(values, i + length, &unit) != NULL) {
            break;
        }
        ret->count++;
        ret->last = i + length;
        bool back;
        size_t joint = between(values, ret->last, &back);
        ret->back = ret->back || back;
        if (joint == 0) {
            break;
        }
        i = ret->last + joint;
    }
    return ret->count > 1;
}

static void write_number(double number, struct buf *out) {
    bool whole = number > -9e15 && number < 9e15 && (double)(int64_t)number == number;
    if (whole) {
        buf_add_json_int(out, (int64_t)number);
    } else {
        buf_add_json_double(out, number);
    }
}

static void write_verb(const struct verb *verb, struct buf *out) {
    for (size_t i = 0; i < verb->count; i++) {
        if (i > 0) {
            buf_printf(out, " %s ", verb->sign);
        }
        write_number(verb->numbers[verb->back ? verb->count - 1 - i : i], out);
    }
}

/* ------------------------------------------------------------------- finding */

struct scan {
    size_t operands;
    size_t operators;
    size_t functions;
    size_t opened;
    size_t end; /* behind the last operand or closing bracket */
};

/* The tokens of the part at a place; 0: the expression ends before it. */
static size_t step(const struct values *values, size_t at, struct scan *scan) {
    struct part part = part_at(values, at);
    switch (part.kind) {
    case PART_OPEN: scan->opened++; break;
    case PART_CLOSE:
        if (scan->opened == 0) {
            return 0;
        }
        scan->opened--;
        scan->end = at + 1;
        break;
    case PART_COMMA: return scan->opened > 0 ? 1 : 0;
    case PART_OPERATOR: scan->operators++; break;
    case PART_FUNCTION: scan->functions++; break;
    case PART_NUMBER:
    case PART_NAME:
        scan->operands++;
        scan->operators += part.ending != NULL && scan->operands < 2 && part.ending->sign[0] == '^';
        scan->functions += part.ending != NULL && ascii_is_letter(part.ending->sign[0]);
        scan->end = at + part.length;
        break;
    default: return 0;
    }
    return part.length;
}

static bool is_expression(const struct values *values, size_t at, const struct scan *scan) {
    const struct token *token = &values->tokens[at];
    bool call = token->kind == TOKEN_WORD && is_name(values, at) && scan->operands > 1;
    bool sign = token->kind == TOKEN_SIGN && !value_is_sign(values, at, '(') &&
                !value_is_sign(values, at, '-');
    bool power = scan->operators > 0 && scan->operands == 1 && scan->end > at + 1 &&
                 part_at(values, at).ending != NULL;
    return !sign && scan->operands > 0 && scan->opened == 0 &&
           ((scan->end > at + 2 && ((scan->operators > 0 && scan->operands > 1) || call)) ||
            scan->functions > 0 || power);
}

void value_find_expressions(struct values *values) {
    const uint32_t taken = VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_PATH) |
                           VALUE_BIT(VALUE_CODE) | VALUE_BIT(VALUE_PHONE) |
                           VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_JSON) | VALUE_BIT(VALUE_EMAIL);
    for (size_t at = 0; at < values->token_count; at++) {
        struct scan scan = {0};
        struct verb verb;
        size_t i = at;
        size_t length = 1;
        if (read_verb(values, at, &verb)) {
            (void)value_add(values, VALUE_EXPRESSION, at, verb.last);
            at = verb.last - 1;
            continue;
        }
        while (i < values->token_count && length > 0 && value_covering(values, i, taken) == NULL) {
            length = step(values, i, &scan);
            i += length;
        }
        if (is_expression(values, at, &scan)) {
            (void)value_add(values, VALUE_EXPRESSION, at, scan.end);
            at = scan.end - 1;
        } else if (i > at + 1) {
            at = i - 1; /* what was read is no expression from a later token either */
        }
    }
}

/* ------------------------------------------------------------------- writing */

static void write_operand(const struct values *values, size_t at, const struct part *part,
                          struct buf *out) {
    const struct token *token = &values->tokens[at];
    const char *ending = part->ending != NULL ? part->ending->sign : "";
    bool function = ascii_is_letter(*ending);
    buf_add_text(out, function ? ending : "");
    buf_add_text(out, function ? "(" : "");
    if (part->worded) {
        write_number(part->number, out);
    } else {
        text_add_valid(out, values->text + token->start, token->end - token->start);
    }
    buf_add_text(out, function ? ")" : "");
    buf_add_text(out, function || *ending == '\0' ? "" : " ");
    buf_add_text(out, function ? "" : ending);
}

void value_write_expression(const struct values *values, const struct value *value,
                            struct buf *out) {
    struct verb verb;
    if (read_verb(values, value->first, &verb)) {
        write_verb(&verb, out);
        return;
    }
    bool function = false; /* its operand is next */
    for (size_t at = value->first; at < value->last;) {
        struct part part = part_at(values, at);
        const struct token *token = &values->tokens[at];
        bool spaced = at > value->first && token->space && !function;
        buf_add_text(out, spaced ? " " : "");
        if (part.sign != NULL && part.kind == PART_OPERATOR) {
            bool space = at > value->first && !spaced;
            buf_add_text(out, space ? " " : "");
            buf_add_text(out, part.sign);
            size_t next = at + part.length;
            buf_add_text(out,
                         space || next >= value->last || !values->tokens[next].space ? " " : "");
        } else if (part.kind == PART_FUNCTION) {
            buf_add_text(out, part.sign);
            buf_add_char(out, '(');
            function = true;
            at += part.length;
            continue;
        } else if (part.kind == PART_NUMBER) {
            write_operand(values, at, &part, out);
        } else {
            text_add_valid(out, values->text + token->start, token->end - token->start);
        }
        if (function && part.kind != PART_OPEN) {
            buf_add_char(out, ')');
            function = false;
        }
        at += part.length;
    }
    buf_add_text(out, function ? ")" : "");
}
