/* Arithmetic: signs, and words in both languages, as one expression with signs. */
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "choose/expression-parts.h"

/* ------------------------------------------------------------------- words */

/* Between two operands. */
static const struct expression_word operators[] = {{"divided by", 2, "/"},
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
                                                   {"除", 1, "/"},
                                                   {"over", 1, "/"},
                                                   {"×", 1, "*"},
                                                   {"÷", 1, "/"},
                                                   {"−", 1, "-"}};

/* Before an operand. */
static const struct expression_word functions[] = {{"the square root of", 4, "sqrt"},
                                                   {"square root of", 3, "sqrt"},
                                                   {"the cube root of", 4, "cbrt"},
                                                   {"cube root of", 3, "cbrt"},
                                                   {"the absolute value of", 4, "abs"},
                                                   {"absolute value of", 3, "abs"},
                                                   {"the sqrt of", 3, "sqrt"},
                                                   {"sqrt of", 2, "sqrt"},
                                                   {"cbrt of", 2, "cbrt"},
                                                   {"the sine of", 3, "sin"},
                                                   {"sine of", 2, "sin"},
                                                   {"sin of", 2, "sin"},
                                                   {"the cosine of", 3, "cos"},
                                                   {"cosine of", 2, "cos"},
                                                   {"cos of", 2, "cos"},
                                                   {"the tangent of", 3, "tan"},
                                                   {"tangent of", 2, "tan"},
                                                   {"tan of", 2, "tan"},
                                                   {"abs of", 2, "abs"},
                                                   {"ln of", 2, "ln"},
                                                   {"exp of", 2, "exp"},
                                                   {"根号", 2, "sqrt"}};

/* Functions of which it is not said which is meant: of the base 10, 2 or e. */
static const struct expression_word unclear_functions[] = {
        {"log of", 2, ""}, {"logarithm of", 2, ""}, {"log base", 2, ""}, {"的对数", 3, ""}};

/* Behind an operand: a function of it, or an operator with its second operand. */
static const struct expression_word endings[] = {
        {"的算术平方根", 6, "sqrt"}, {"的平方根", 4, "sqrt"}, {"的立方根", 4, "cbrt"},
        {"的绝对值", 4, "abs"},      {"的平方", 3, "^ 2"},    {"的立方", 3, "^ 3"},
        {"squared", 1, "^ 2"},       {"cubed", 1, "^ 3"},     {"doubled", 1, "* 2"},
        {"tripled", 1, "* 3"},       {"halved", 1, "/ 2"}};

const struct expression_word *expression_word_at(const struct values *values, size_t at,
                                                 const struct expression_word *words,
                                                 size_t count) {
    for (size_t i = 0; at < values->token_count && i < count; i++) {
        const struct token *token = &values->tokens[at];
        if (values->lower[token->start] != words[i].text[0]) {
            continue;
        }
        size_t length = strlen(words[i].text);
        size_t last = at + words[i].tokens;
        if (last <= values->token_count && values->tokens[last - 1].end - token->start == length &&
            memcmp(values->lower + token->start, words[i].text, length) == 0) {
            return &words[i];
        }
    }
    return NULL;
}

bool expression_is_word(const struct values *values, size_t at, const char *word) {
    return at < values->token_count &&
           values->tokens[at].end - values->tokens[at].start == strlen(word) &&
           memcmp(values->lower + values->tokens[at].start, word, strlen(word)) == 0;
}

const struct expression_word *expression_ending_at(const struct values *values, size_t at) {
    return EXPRESSION_WORD_AT(values, at, endings);
}

static bool is_sign_operator(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    return at < values->token_count && token->kind == TOKEN_SIGN && token->sign < 0x80 &&
           token->sign != 0 && strchr("+-*/^%", (int)token->sign) != NULL;
}

/* "3 x 4": between two numbers x is a sign. */
static bool is_cross(const struct values *values, size_t at) {
    return at > 0 && at + 1 < values->token_count && expression_is_word(values, at, "x") &&
           values->tokens[at - 1].kind == TOKEN_NUMBER &&
           values->tokens[at + 1].kind == TOKEN_NUMBER;
}

const char *expression_operator_at(const struct values *values, size_t at, size_t *ret_length) {
    static const char *const signs[] = {"+", "-", "*", "/", "^", "%"};
    const struct expression_word *word = EXPRESSION_WORD_AT(values, at, operators);
    *ret_length = word != NULL ? word->tokens : 1;
    if (is_cross(values, at)) {
        return "*";
    }
    for (size_t i = 0; word == NULL && is_sign_operator(values, at) && i < 6; i++) {
        if (values->tokens[at].sign == (uint32_t)signs[i][0]) {
            return signs[i];
        }
    }
    return word != NULL ? word->sign : NULL;
}

static bool is_name(const struct values *values, size_t at) {
    static const char *const names[] = {
            "sqrt", "sin",  "cos",   "tan",  "log", "ln", "exp", "abs",   "pi",   "pow",   "min",
            "max",  "log2", "log10", "cbrt", "e",   "x",  "y",   "floor", "ceil", "round", "mod"};
    const struct token *token = &values->tokens[at];
    size_t length = token->end - token->start;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (expression_is_word(values, at, names[i])) {
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
    PART_GROUP,    /* several operands and what is done with them */
    PART_OPEN,
    PART_CLOSE,
    PART_COMMA
};

struct part {
    enum part_kind kind;
    size_t length; /* tokens */
    const char *sign;
    const struct expression_word *ending; /* of a number; NULL: none */
    double number;                        /* of words */
    bool worded;
};

/* 的百分之: "80的百分之十五" and "5的3倍" multiply; 10次方 is behind 的 too. */
static bool read_han_operator(const struct values *values, size_t at, struct part *ret) {
    double number;
    bool whole;
    if (!value_is_sign(values, at, 0x7684)) {
        return false;
    }
    size_t length = value_read_number(values, at + 1, &number, &whole);
    bool power = length > 0 && value_is_sign(values, at + 1 + length, 0x6b21) &&
                 value_is_sign(values, at + 2 + length, 0x65b9);
    bool share = length > 0 && (value_is_sign(values, at + 1 + length, '%') ||
                                value_is_sign(values, at + 1 + length, 0x500d));
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
    static const struct expression_word percent = {"%", 1, "/ 100"};
    static const struct expression_word power = {"次方", 2, ""};
    static const struct expression_word fold = {"倍", 1, ""};
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
    const struct token *token = &values->tokens[at + skip];
    const char *text = values->text + token->start;
    bool grouped = memchr(text, '\'', token->end - token->start) != NULL || /* 1'000 */
                   memchr(text, ',', token->end - token->start) != NULL;    /* 1,000 */
    *ret = (struct part){.kind = PART_NUMBER,
                         .length = skip + length,
                         .number = number,
                         .worded = length > 1 || token->kind != TOKEN_NUMBER || grouped};
    ret->ending = skip > 0 ? &percent : EXPRESSION_WORD_AT(values, end, endings);
    bool share = value_is_sign(values, end, '%') &&
                 EXPRESSION_WORD_AT(values, end, operators) == NULL && at > 0 &&
                 value_is_sign(values, at - 1, 0x7684);
    if (share) {
        ret->ending = &percent;
    } else if (value_is_sign(values, end, 0x6b21) && value_is_sign(values, end + 1, 0x65b9)) {
        ret->ending = &power;
    } else if (at > 0 && value_is_sign(values, at - 1, 0x7684) &&
               value_is_sign(values, end, 0x500d)) {
        ret->ending = &fold;
    }
    ret->length += skip == 0 && ret->ending != NULL ? ret->ending->tokens : 0;
    return true;
}

/* The part of an expression at a token. */
static struct part part_at(const struct values *values, size_t at, size_t depth) {
    struct part part = {.length = 1};
    const struct token *token = &values->tokens[at];
    if (at >= values->token_count) {
        return part;
    }
    CLEANUP(buf_finish) struct buf group = BUF_INIT;
    size_t group_end = expression_read_group(values, at, depth, &group);
    if (group_end > 0) {
        part = (struct part){.kind = PART_GROUP, .length = group_end - at};
    } else if (value_is_sign(values, at, '(')) {
        part.kind = PART_OPEN;
    } else if (value_is_sign(values, at, ')')) {
        part.kind = PART_CLOSE;
    } else if (value_is_sign(values, at, ',')) {
        part.kind = PART_COMMA;
    } else if (EXPRESSION_WORD_AT(values, at, functions) != NULL) {
        const struct expression_word *word = EXPRESSION_WORD_AT(values, at, functions);
        part = (struct part){.kind = PART_FUNCTION, .length = word->tokens, .sign = word->sign};
    } else if (EXPRESSION_WORD_AT(values, at, operators) != NULL) {
        const struct expression_word *word = EXPRESSION_WORD_AT(values, at, operators);
        part = (struct part){.kind = PART_OPERATOR, .length = word->tokens, .sign = word->sign};
    } else if (is_cross(values, at)) {
        part = (struct part){.kind = PART_OPERATOR, .length = 1, .sign = "*"};
    } else if (token->kind == TOKEN_SIGN && token->sign < 0x80 && token->sign != 0 &&
               strchr("+-*/^%", (int)token->sign) != NULL) {
        part.kind = PART_OPERATOR;
    } else if (!read_han_operator(values, at, &part) && !read_number(values, at, &part) &&
               token->kind == TOKEN_WORD && is_name(values, at)) {
        part.kind = PART_NAME;
    }
    return part;
}

/* ------------------------------------------------------------------ brackets */

void expression_add_number(double number, struct buf *out) {
    bool whole = number > -9e15 && number < 9e15 && (double)(int64_t)number == number;
    if (whole) {
        buf_add_json_int(out, (int64_t)number);
    } else {
        buf_add_json_double(out, number);
    }
}

static int binding_of(char sign) {
    return sign == '+' || sign == '-' ? 1 : sign == '^' ? 3 : 2;
}

int expression_loosest(const char *text, size_t length) {
    int loosest = 4;
    size_t depth = 0;
    for (size_t i = 0; i < length; i++) {
        depth += text[i] == '(';
        depth -= text[i] == ')' && depth > 0;
        if (depth == 0 && strchr("+-*/^%", text[i]) != NULL && binding_of(text[i]) < loosest) {
            loosest = binding_of(text[i]);
        }
    }
    return loosest;
}

void expression_add_operand(const struct buf *text, int least, struct buf *out) {
    bool brackets = expression_loosest(text->data, text->length) < least;
    buf_add_text(out, brackets ? "(" : "");
    buf_add(out, text->data, text->length);
    buf_add_text(out, brackets ? ")" : "");
}

/* What binds less than this needs brackets on the right of an operator: a - (b - c). */
static int least_right(const char *sign) {
    char last = sign[strlen(sign) - 1];
    return binding_of(last) + (last == '-' || last == '/' || last == '%' || last == '^');
}

/* And on the left: (a ^ b) ^ c. */
static int least_left(const char *sign) {
    return binding_of(*sign) + (*sign == '^');
}

void expression_join(const struct buf *left, const char *sign, const struct buf *right,
                     struct buf *out) {
    expression_add_operand(left, least_left(sign), out);
    buf_printf(out, " %s ", sign);
    expression_add_operand(right, least_right(sign), out);
}

/* ------------------------------------------------------------------ operands */

static void write_number(const struct values *values, size_t at, const struct part *part,
                         struct buf *out) {
    const struct token *token = &values->tokens[at];
    const char *ending = part->ending != NULL ? part->ending->sign : "";
    bool function = ascii_is_letter(*ending);
    buf_add_text(out, function ? ending : "");
    buf_add_text(out, function ? "(" : "");
    if (part->worded) {
        expression_add_number(part->number, out);
    } else {
        text_add_valid(out, values->text + token->start, token->end - token->start);
    }
    buf_add_text(out, function ? ")" : "");
    buf_add_text(out, function || *ending == '\0' ? "" : " ");
    buf_add_text(out, function ? "" : ending);
}

/* A number, a root of one, a group, or one of them in brackets. "5 km" is no number. */
static size_t read_term(const struct values *values, size_t at, size_t depth, struct buf *out) {
    CLEANUP(buf_finish) struct buf inner = BUF_INIT;
    struct part part = part_at(values, at, depth);
    size_t end = at + part.length;
    size_t length;
    if (depth > EXPRESSION_DEPTH_MAX) {
        return 0;
    }
    switch (part.kind) {
    case PART_NUMBER:
        if (part.ending == NULL && value_unit_at(values, end, &length) != NULL &&
            expression_operator_at(values, end, &length) == NULL) {
            return 0;
        }
        write_number(values, at, &part, out);
        return end;
    case PART_GROUP: return expression_read_group(values, at, depth, out);
    case PART_FUNCTION:
        end = read_term(values, end, depth + 1, &inner);
        buf_printf(out, "%s(%s)", part.sign, end > 0 ? inner.data : "");
        return end;
    case PART_OPEN:
        end = expression_read_operand(values, end, depth + 1, &inner);
        buf_printf(out, "(%s)", end > 0 ? inner.data : "");
        return end > 0 && value_is_sign(values, end, ')') ? end + 1 : 0;
    default: return 0;
    }
}

/* Signs bind the numbers beside them, and so does a share: "2*3", "20% of 50". */
size_t expression_read_operand(const struct values *values, size_t at, size_t depth,
                               struct buf *out) {
    bool minus = value_is_sign(values, at, '-') && !values->tokens[at + 1].space;
    buf_add_text(out, minus ? "-" : "");
    size_t end = read_term(values, at + minus, depth, out);
    for (size_t length; end > 0 && end < values->token_count; end += length) {
        CLEANUP(buf_finish) struct buf term = BUF_INIT;
        const char *sign = expression_operator_at(values, end, &length);
        bool share = sign != NULL && sign[1] != '\0';
        if (sign == NULL || (!share && values->tokens[end].kind != TOKEN_SIGN)) {
            break;
        }
        size_t next = read_term(values, end + length, depth + 1, &term);
        if (next == 0) {
            break;
        }
        buf_printf(out, " %s ", sign);
        expression_add_operand(&term, 3, out);
        length = next - end;
    }
    return end;
}

/* ------------------------------------------------------------------- finding */

struct scan {
    size_t operands;
    size_t operators;
    size_t functions;
    size_t opened;
    size_t end; /* behind the last operand or closing bracket */
};

/* Whether an ending does something to its number: "squared", "doubled", but not "%". */
static bool is_step(const struct expression_word *ending) {
    return ending->sign[0] == '^' || ending->sign[0] == '*' || strcmp(ending->sign, "/ 2") == 0;
}

/* The tokens of the part at a place; 0: the expression ends before it. */
static size_t step(const struct values *values, size_t at, struct scan *scan) {
    struct part part = part_at(values, at, 0);
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
    case PART_GROUP:
    case PART_NUMBER:
    case PART_NAME:
        scan->operands++;
        scan->operators += part.ending != NULL && scan->operands < 2 && is_step(part.ending);
        scan->functions += part.kind == PART_GROUP ||
                           (part.ending != NULL && ascii_is_letter(part.ending->sign[0]));
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
                 part_at(values, at, 0).ending != NULL;
    return !sign && scan->operands > 0 && scan->opened == 0 &&
           ((scan->end > at + 2 && ((scan->operators > 0 && scan->operands > 1) || call)) ||
            scan->functions > 0 || power);
}

/* Read parts as long as they can be of one expression; `ret` has what they are.
 * @return the token behind them. */
static size_t scan_parts(const struct values *values, size_t at, struct scan *ret) {
    const uint32_t taken = VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_PATH) |
                           VALUE_BIT(VALUE_CODE) | VALUE_BIT(VALUE_PHONE) |
                           VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_JSON) | VALUE_BIT(VALUE_EMAIL);
    size_t length = 1;
    *ret = (struct scan){0};
    while (at < values->token_count && length > 0 && value_covering(values, at, taken) == NULL) {
        length = step(values, at, ret);
        at += length;
    }
    return at;
}

/* Whether a bracket that opens at a token never closes. */
static bool is_open(const struct values *values, size_t at) {
    bool open = value_is_sign(values, at, '(');
    for (size_t i = at + 1; open && i < values->token_count; i++) {
        open = !value_is_sign(values, i, ')');
    }
    return open;
}

/* Whether an expression is a part of what is written: (3 + 4 without its end, "1,5 + 2,5". */
static bool is_cut(const struct values *values, const struct value *value) {
    const struct token *tokens = values->tokens;
    size_t first = value->first;
    size_t last = value->last;
    bool number = first > 0 && tokens[first].kind == TOKEN_NUMBER &&
                  (tokens[first - 1].kind == TOKEN_NUMBER ||
                   (value_is_sign(values, first - 1, ',') && !tokens[first].space));
    bool more = value_is_sign(values, last, ',') && last + 1 < values->token_count &&
                !tokens[last + 1].space && tokens[last + 1].kind == TOKEN_NUMBER;
    return number || more || (first > 0 && is_open(values, first - 1));
}

/* Whether signs of arithmetic or calls are in no expression: "sqrt(16". */
static bool has_left_over(const struct values *values) {
    const uint32_t taken = VALUE_BIT(VALUE_EXPRESSION) | VALUE_BIT(VALUE_DATE) |
                           VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_CODE) |
                           VALUE_BIT(VALUE_PHONE) | VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_JSON);
    for (size_t at = 0; at + 1 < values->token_count; at++) {
        if (EXPRESSION_WORD_AT(values, at, unclear_functions) != NULL &&
            value_covering(values, at, VALUE_BIT(VALUE_QUOTED)) == NULL) {
            return true;
        }
        const struct token *token = &values->tokens[at];
        bool call = token->kind == TOKEN_WORD && is_name(values, at) &&
                    value_is_sign(values, at + 1, '(');
        bool sign = at > 0 && is_sign_operator(values, at) && strchr("+*^", (int)token->sign) &&
                    values->tokens[at - 1].kind == TOKEN_NUMBER &&
                    values->tokens[at + 1].kind == TOKEN_NUMBER;
        if (token->user && (call || sign) && value_covering(values, at, taken) == NULL) {
            return true;
        }
    }
    return false;
}

/* A conversation up to the end of the turn that a token is of: an expression is of one turn. */
static struct values up_to_turn(const struct values *values, size_t at) {
    struct values turn = *values;
    size_t end = at + 1;
    while (end < values->token_count && values->tokens[end].turn == values->tokens[at].turn &&
           values->tokens[end].user == values->tokens[at].user) {
        end++;
    }
    turn.token_count = end;
    return turn;
}

static void find_in_turn(struct values *values, const struct values *turn, size_t first) {
    for (size_t at = first; at < turn->token_count; at++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        struct scan scan;
        bool unclear = false;
        size_t scanned = scan_parts(turn, at, &scan);
        if (scanned == at && !expression_begins(turn, at)) {
            continue;
        }
        size_t end = expression_read(turn, at, &text, &unclear);
        struct value *value =
                end > 0 && !unclear ? value_add(values, VALUE_EXPRESSION, at, end) : NULL;
        for (size_t i = at; value != NULL && i < end; i++) {
            value->torn = value->torn || is_cross(values, i);
        }
        unclear = unclear || (value != NULL && is_cut(turn, value));
        values->unclear = values->unclear || unclear;
        /* What was read and is no expression is none from a later token either. */
        end = end > 0 ? end : scanned;
        at = end > at + 1 ? end - 1 : at;
    }
}

/* What a program answered is nothing to be calculated. */
void value_find_expressions(struct values *values) {
    for (size_t at = 0; at < values->token_count;) {
        const struct values turn = up_to_turn(values, at);
        if (values->tokens[at].user) {
            find_in_turn(values, &turn, at);
        }
        at = turn.token_count;
    }
    values->unclear = values->unclear || has_left_over(values);
}

/* ------------------------------------------------------------------- writing */

/* A group between operators has brackets where they are needed. */
static void write_group(const struct values *values, size_t at, const struct part *part,
                        const char *before, bool sole, struct buf *out) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    size_t length;
    (void)expression_read_group(values, at, 0, &text);
    const char *after = expression_operator_at(values, at + part->length, &length);
    int left = before != NULL ? least_right(before) : 0;
    int right = after != NULL ? least_left(after) : 0;
    expression_add_operand(&text, sole ? 0 : left > right ? left : right, out);
}

static void write_flat(const struct values *values, size_t first, size_t last, struct buf *out) {
    bool function = false; /* its operand is next */
    bool called = false;   /* its bracket is */
    const char *before = NULL;
    for (size_t at = first; at < last;) {
        struct part part = part_at(values, at, 0);
        const struct token *token = &values->tokens[at];
        bool spaced = at > first && token->space && !function && !called;
        called = false;
        size_t length;
        buf_add_text(out, spaced ? " " : "");
        if (part.sign != NULL && part.kind == PART_OPERATOR) {
            bool space = at > first && !spaced;
            buf_add_text(out, space ? " " : "");
            buf_add_text(out, part.sign);
            size_t next = at + part.length;
            buf_add_text(out, next >= last || !values->tokens[next].space ? " " : "");
        } else if (part.kind == PART_FUNCTION) {
            buf_add_text(out, part.sign);
            called = value_is_sign(values, at + part.length, '(');
            function = !called;
            buf_add_text(out, function ? "(" : "");
            at += part.length;
            continue;
        } else if (part.kind == PART_NUMBER) {
            write_number(values, at, &part, out);
        } else if (part.kind == PART_GROUP) {
            bool sole = function || (at == first && at + part.length == last);
            write_group(values, at, &part, before, sole, out);
        } else {
            text_add_valid(out, values->text + token->start, token->end - token->start);
        }
        before = part.sign != NULL            ? part.sign
                 : part.kind == PART_OPERATOR ? expression_operator_at(values, at, &length)
                                              : NULL;
        if (function && part.kind != PART_OPEN && part.kind != PART_OPERATOR) {
            buf_add_char(out, ')');
            function = false;
        }
        at += part.length;
    }
    buf_add_text(out, function ? ")" : "");
}

size_t expression_read_flat(const struct values *values, size_t at, struct buf *out) {
    struct scan scan;
    (void)scan_parts(values, at, &scan);
    if (!is_expression(values, at, &scan)) {
        return 0;
    }
    write_flat(values, at, scan.end, out);
    return scan.end;
}

void value_write_expression(const struct values *values, const struct value *value,
                            struct buf *out) {
    bool unclear;
    const struct values turn = up_to_turn(values, value->first);
    (void)expression_read(&turn, value->first, out, &unclear);
}
