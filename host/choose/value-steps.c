/* Arithmetic that is told: what is done with several numbers ("the sum of 3, 4 and 5"), and step by
 * step ("add 40 and 2 and multiply by 3"). A step that is not understood makes all of it unclear: a
 * part of what was asked is no answer. */
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "choose/expression-parts.h"

/* Operands that one word has at most, and steps of one expression. */
#define OPERANDS_MAX 16u
#define STEPS_MAX    8u

/* How many tokens behind a verb its number may be. */
#define VERB_REACH 3u

/* ------------------------------------------------------------------- words */

/* What is done with the numbers behind it. The mean is the sum divided by their number. */
static const struct expression_word verbs[] = {
        {"add", 1, "+"},      {"sum", 1, "+"},    {"multiply", 1, "*"},  {"divide", 1, "/"},
        {"subtract", 1, "-"}, {"deduct", 1, "-"}, {"take away", 2, "-"}, {"求和", 2, "+"}};

static const struct expression_word groups[] = {
        {"the sum of", 3, "+"},         {"sum of", 2, "+"},
        {"the total of", 3, "+"},       {"the product of", 3, "*"},
        {"product of", 2, "*"},         {"the difference between", 3, "-"},
        {"difference between", 2, "-"}, {"the difference of", 3, "-"},
        {"the quotient of", 3, "/"},    {"the average of", 3, "mean"},
        {"average of", 2, "mean"},      {"the mean of", 3, "mean"},
        {"mean of", 2, "mean"}};

/* The same behind Chinese numbers. */
static const struct expression_word group_endings[] = {
        {"的总和", 3, "+"},    {"的和", 2, "+"},        {"之和", 2, "+"},
        {"总和", 2, "+"},      {"相加", 2, "+"},        {"的乘积", 3, "*"},
        {"的积", 2, "*"},      {"之积", 2, "*"},        {"相乘", 2, "*"},
        {"的差", 2, "-"},      {"之差", 2, "-"},        {"相减", 2, "-"},
        {"相除", 2, "/"},      {"的平均值", 4, "mean"}, {"的平均数", 4, "mean"},
        {"平均值", 3, "mean"}, {"平均数", 3, "mean"},   {"加起来", 3, "+"},
        {"加在一起", 4, "+"},  {"乘起来", 3, "*"}};

/* What is done with the one operand behind it, and with the one before it. */
static const struct expression_word shares[] = {
        {"half of", 2, "/ 2"},      {"one half of", 3, "/ 2"},   {"a third of", 3, "/ 3"},
        {"one third of", 3, "/ 3"}, {"a quarter of", 3, "/ 4"},  {"one quarter of", 3, "/ 4"},
        {"twice", 1, "* 2"},        {"the square of", 3, "^ 2"}, {"square of", 2, "^ 2"},
        {"the cube of", 3, "^ 3"},  {"cube of", 2, "^ 3"}};

static const struct expression_word share_endings[] = {{"的一半", 3, "/ 2"},
                                                       {"的二分之一", 5, "/ 2"}};

/* A step with what there is; in English an object follows. */
static const struct expression_word unary[] = {
        {"square", 1, "^ 2"}, {"cube", 1, "^ 3"},    {"double", 1, "* 2"}, {"triple", 1, "* 3"},
        {"halve", 1, "/ 2"},  {"平方", 2, "^ 2"},    {"立方", 2, "^ 3"},   {"开平方", 3, "sqrt"},
        {"开方", 2, "sqrt"},  {"开根号", 3, "sqrt"}, {"翻倍", 2, "* 2"},   {"减半", 2, "/ 2"}};

static const struct expression_word roots[] = {{"the square root", 3, "sqrt"},
                                               {"the cube root", 3, "cbrt"}};

/* Between two steps. */
static const struct expression_word joints[] = {
        {"and", 1, ""},        {"then", 1, ""}, {"finally", 1, ""}, {"next", 1, ""},
        {"after that", 2, ""}, {",", 1, ""},    {"，", 1, ""},      {";", 1, ""},
        {"；", 1, ""},         {"再", 1, ""},   {"然后", 2, ""},    {"接着", 2, ""},
        {"之后", 2, ""},       {"以后", 2, ""}, {"后", 1, ""},      {"最后", 2, ""},
        {"并且", 2, ""},       {"并", 1, ""},   {"把", 1, ""},      {"将", 1, ""},
        {"用", 1, ""},         {"take", 1, ""}, {"find", 1, ""},    {"calculate", 1, ""}};

/* What there is so far. */
static const struct expression_word objects[] = {{"the result", 2, ""},
                                                 {"that result", 2, ""},
                                                 {"the sum", 2, ""},
                                                 {"the total", 2, ""},
                                                 {"the product", 2, ""},
                                                 {"the answer", 2, ""},
                                                 {"the difference", 2, ""},
                                                 {"it all", 2, ""},
                                                 {"it", 1, ""},
                                                 {"that", 1, ""},
                                                 {"this", 1, ""},
                                                 {"所得的结果", 5, ""},
                                                 {"所得结果", 4, ""},
                                                 {"得到的结果", 5, ""},
                                                 {"的结果", 3, ""},
                                                 {"结果", 2, ""},
                                                 {"得数", 2, ""},
                                                 {"它", 1, ""},
                                                 {"的和", 2, ""},
                                                 {"的差", 2, ""},
                                                 {"的积", 2, ""},
                                                 {"的商", 2, ""}};

static size_t skip_joints(const struct values *values, size_t at) {
    const struct expression_word *word = EXPRESSION_WORD_AT(values, at, joints);
    /* A new sentence goes on only if it says so. */
    if (value_is_sign(values, at, '.') && (expression_is_word(values, at + 1, "then") ||
                                           EXPRESSION_WORD_AT(values, at + 1, joints) != NULL)) {
        return skip_joints(values, at + 1);
    }
    while (word != NULL) {
        at += word->tokens;
        word = EXPRESSION_WORD_AT(values, at, joints);
    }
    return at;
}

static size_t skip_object(const struct values *values, size_t at) {
    const struct expression_word *word = EXPRESSION_WORD_AT(values, at, objects);
    return word != NULL ? at + word->tokens : at;
}

/* ------------------------------------------------------------------- several */

/* What stands between two operands, of a verb or of a group; its number of tokens. */
static size_t between(const struct values *values, size_t at, bool verb, bool *ret_from) {
    size_t comma = value_is_sign(values, at, ',');
    *ret_from = verb && expression_is_word(values, at, "from");
    bool joint = at + comma < values->token_count && values->tokens[at + comma].cue == CUE_AND;
    joint = joint ||
            (verb && comma == 0 &&
             (*ret_from || expression_is_word(values, at, "to") ||
              expression_is_word(values, at, "by") || expression_is_word(values, at, "with")));
    return comma + joint;
}

static void append(struct buf *out, const char *sign, const struct buf *operand) {
    CLEANUP(buf_finish) struct buf left = BUF_INIT;
    buf_add(&left, out->data, out->length);
    bool first = out->length == 0;
    buf_clear(out);
    if (first) {
        buf_add(out, operand->data, operand->length);
    } else {
        expression_join(&left, sign, operand, out);
    }
}

/* Read two or more operands with one operator for all. What is subtracted "from" another is
 * summed up to there, so that the first pass of a difference adds.
 * @return the token behind them; 0: there are not two. */
static size_t read_list(const struct values *values, size_t at, const char *sign, size_t depth,
                        bool verb, bool *ret_from, struct buf *out) {
    CLEANUP(buf_finish) struct buf list = BUF_INIT;
    bool mean = strcmp(sign, "mean") == 0;
    const char *joint = mean ? "+" : sign;
    size_t count = 0;
    size_t last = 0;
    bool from = false;
    *ret_from = false;
    at += expression_is_word(values, at, "the");
    at += expression_is_word(values, at, "numbers");
    while (count < OPERANDS_MAX) {
        CLEANUP(buf_finish) struct buf operand = BUF_INIT;
        size_t end = expression_read_operand(values, at, depth + 1, &operand);
        if (end == 0) {
            break;
        }
        count++;
        last = end;
        if (from) {
            CLEANUP(buf_finish) struct buf less = BUF_INIT;
            buf_add(&less, list.data, list.length);
            buf_clear(&list);
            expression_join(&operand, "-", &less, &list);
            *ret_from = true;
            break;
        }
        append(&list, joint, &operand);
        size_t length = between(values, last, verb, &from);
        if (length == 0) {
            break;
        }
        at = last + length;
    }
    if (count < 2) {
        return 0;
    }
    if (mean) {
        CLEANUP(buf_finish) struct buf divisor = BUF_INIT;
        expression_add_number((double)count, &divisor);
        expression_join(&list, "/", &divisor, out);
    } else {
        buf_add(out, list.data, list.length);
    }
    return last;
}

/* A share or a power of one operand: "half of 90", 90的一半. */
static size_t read_share(const struct values *values, size_t at, const char *sign, size_t depth,
                         struct buf *out) {
    CLEANUP(buf_finish) struct buf operand = BUF_INIT;
    size_t end = expression_read_operand(values, at, depth + 1, &operand);
    if (end > 0) {
        expression_add_operand(&operand, *sign == '^' ? 4 : 2, out);
        buf_printf(out, " %s", sign);
    }
    return end;
}

/* 3、4和5的和; 90的一半. */
static size_t read_han_group(const struct values *values, size_t at, struct buf *out) {
    CLEANUP(buf_finish) struct buf list = BUF_INIT;
    double numbers[OPERANDS_MAX];
    size_t count = 0;
    size_t end = at;
    size_t joint = 0;
    bool from;
    while (count < OPERANDS_MAX && (count == 0 || joint > 0)) {
        bool whole;
        size_t length = value_read_number(values, end + joint, &numbers[count], &whole);
        if (length == 0) {
            break;
        }
        end += joint + length;
        count++;
        joint = between(values, end, false, &from);
    }
    const struct expression_word *word = count == 1 ? EXPRESSION_WORD_AT(values, end, share_endings)
                                         : count > 1
                                                 ? EXPRESSION_WORD_AT(values, end, group_endings)
                                                 : NULL;
    if (word == NULL) {
        return 0;
    }
    bool mean = strcmp(word->sign, "mean") == 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_printf(&list, " %s ", mean ? "+" : word->sign);
        }
        expression_add_number(numbers[i], &list);
    }
    if (mean) {
        buf_printf(out, "(%s) / %zu", list.data, count);
    } else {
        buf_printf(out, count == 1 ? "%s %s" : "%s", list.data, word->sign);
    }
    return end + word->tokens;
}

size_t expression_read_group(const struct values *values, size_t at, size_t depth,
                             struct buf *out) {
    bool from;
    if (depth > EXPRESSION_DEPTH_MAX) {
        return 0;
    }
    const struct expression_word *word = EXPRESSION_WORD_AT(values, at, groups);
    if (word != NULL) {
        return read_list(values, at + word->tokens, word->sign, depth, false, &from, out);
    }
    word = EXPRESSION_WORD_AT(values, at, shares);
    return word != NULL ? read_share(values, at + word->tokens, word->sign, depth, out)
           : values->tokens[at].kind == TOKEN_NUMBER || values->tokens[at].kind == TOKEN_HAN
                   ? read_han_group(values, at, out)
                   : 0;
}

bool expression_begins(const struct values *values, size_t at) {
    return EXPRESSION_WORD_AT(values, at, verbs) != NULL;
}

/* "add 40 and 2", "subtract 3 from 10". */
static size_t read_verb(const struct values *values, size_t at, struct buf *out) {
    const struct expression_word *word = EXPRESSION_WORD_AT(values, at, verbs);
    bool from = false;
    if (word == NULL) {
        return 0;
    }
    if (*word->sign == '-') {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        size_t end = read_list(values, at + word->tokens, "+", 0, true, &from, &text);
        if (from) {
            buf_add(out, text.data, text.length);
            return end;
        }
    }
    return read_list(values, at + word->tokens, word->sign, 0, true, &from, out);
}

/* --------------------------------------------------------------------- steps */

/* Write what there is with a function or an operator and a number of its own. */
static void apply(struct buf *out, const char *sign) {
    CLEANUP(buf_finish) struct buf base = BUF_INIT;
    buf_add(&base, out->data, out->length);
    buf_clear(out);
    if (ascii_is_letter(*sign)) {
        buf_printf(out, "%s(%s)", sign, base.data);
    } else {
        expression_add_operand(&base, *sign == '^' ? 4 : 2, out);
        buf_printf(out, " %s", sign);
    }
}

/* "square it", "then the square root of it", ", squared", 再开方. */
static size_t read_unary_step(const struct values *values, size_t at, struct buf *out) {
    const struct expression_word *word = expression_ending_at(values, at);
    size_t end = at;
    if (word == NULL) {
        word = EXPRESSION_WORD_AT(values, at, roots);
        end = word != NULL ? at + word->tokens : at;
        size_t object = skip_object(values, end + 1);
        bool of = word != NULL && expression_is_word(values, end, "of");
        if (of && object == end + 1) {
            return 0; /* of something else */
        }
        end = of ? object : end;
    } else {
        end = at + word->tokens;
    }
    if (word == NULL) {
        word = EXPRESSION_WORD_AT(values, at, unary);
        end = word != NULL ? skip_object(values, at + word->tokens) : at;
        bool object = word != NULL && end > at + word->tokens;
        word = word != NULL && (object || values->tokens[at].kind == TOKEN_HAN) ? word : NULL;
    }
    if (word == NULL) {
        return 0;
    }
    apply(out, word->sign);
    return end;
}

static size_t preposition(const struct values *values, size_t at, bool *ret_turned) {
    *ret_turned = expression_is_word(values, at, "from") || expression_is_word(values, at, "into");
    return *ret_turned || expression_is_word(values, at, "by") ||
           expression_is_word(values, at, "to") || expression_is_word(values, at, "with");
}

/* "multiply by 3", "add 5 to it", "subtract it from 100". */
static size_t read_verb_step(const struct values *values, size_t at, struct buf *out) {
    CLEANUP(buf_finish) struct buf base = BUF_INIT;
    CLEANUP(buf_finish) struct buf operand = BUF_INIT;
    const struct expression_word *word = EXPRESSION_WORD_AT(values, at, verbs);
    if (word == NULL) {
        return 0;
    }
    size_t begin = at + word->tokens;
    size_t i = skip_object(values, begin);
    bool object = i > begin;
    bool turned;
    bool prefix = preposition(values, i, &turned) > 0;
    size_t end = expression_read_operand(values, i + prefix, 1, &operand);
    turned = turned && object;
    if (end == 0) {
        return 0;
    }
    bool from;
    bool back;
    size_t joint = between(values, end, true, &from);
    CLEANUP(buf_finish) struct buf more = BUF_INIT;
    if (!object && !prefix && preposition(values, end, &back) > 0 &&
        skip_object(values, end + 1) > end + 1) {
        turned = expression_is_word(values, end, "by"); /* divide 100 by it */
        end = skip_object(values, end + 1);
    } else if (joint > 0 && expression_read_operand(values, end + joint, 1, &more) > 0) {
        return 0; /* numbers of its own: "and multiply 3 by 4" */
    }
    buf_add(&base, out->data, out->length);
    buf_clear(out);
    expression_join(turned ? &operand : &base, word->sign, turned ? &base : &operand, out);
    return end;
}

/* "then times 3", 再乘以2, 结果除以4. */
static size_t read_operator_step(const struct values *values, size_t at, bool sign_too,
                                 struct buf *out) {
    CLEANUP(buf_finish) struct buf base = BUF_INIT;
    CLEANUP(buf_finish) struct buf operand = BUF_INIT;
    size_t length;
    const char *sign = expression_operator_at(values, at, &length);
    if (sign == NULL || sign[1] != '\0' || (!sign_too && values->tokens[at].kind == TOKEN_SIGN)) {
        return 0;
    }
    size_t end = expression_read_operand(values, at + length, 1, &operand);
    if (end > 0) {
        buf_add(&base, out->data, out->length);
        buf_clear(out);
        expression_join(&base, sign, &operand, out);
    }
    return end;
}

/* ", and then", "the result", ，结果再. */
static size_t skip_to_step(const struct values *values, size_t at) {
    return skip_object(values, skip_joints(values, skip_object(values, skip_joints(values, at))));
}

static size_t read_step(const struct values *values, size_t at, struct buf *out) {
    size_t joined = skip_joints(values, at);
    size_t i = skip_to_step(values, at);
    if (i == at) {
        return 0;
    }
    size_t end = read_operator_step(values, i, i > joined, out);
    end = end > 0 ? end : read_verb_step(values, i, out);
    return end > 0 ? end : read_unary_step(values, i, out);
}

/* Steps that no operator is known for. */
static const struct expression_word unknown[] = {
        {"logarithm", 1, ""}, {"log", 1, ""},     {"factorial", 1, ""}, {"sine", 1, ""},
        {"cosine", 1, ""},    {"tangent", 1, ""}, {"remainder", 1, ""}, {"modulo", 1, ""},
        {"power", 1, ""},     {"root", 1, ""},    {"round", 1, ""},     {"对数", 2, ""},
        {"阶乘", 2, ""},      {"余数", 2, ""},    {"正弦", 2, ""},      {"余弦", 2, ""},
        {"次方", 2, ""},      {"开", 1, ""},      {"取", 1, ""}};

static bool is_unknown(const struct values *values, size_t at) {
    for (size_t i = at; i < values->token_count && i < at + VERB_REACH; i++) {
        if (EXPRESSION_WORD_AT(values, i, unknown) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether a number, or what there is, stands close behind a word. */
static bool has_number(const struct values *values, size_t at) {
    for (size_t i = at; i < values->token_count && i < at + VERB_REACH; i++) {
        double number;
        bool whole;
        if (value_read_number(values, i, &number, &whole) > 0 || skip_object(values, i) > i) {
            return true;
        }
    }
    return false;
}

/* Whether the text goes on with arithmetic behind what was understood. */
static bool goes_on(const struct values *values, size_t at) {
    size_t length;
    size_t i = skip_to_step(values, at);
    if (i >= values->token_count) {
        return false;
    }
    const char *sign = expression_operator_at(values, i, &length);
    if (values->tokens[i].kind == TOKEN_SIGN) {
        /* "-" is a dash as well. */
        size_t next = i + length;
        return sign != NULL && i == at && *sign != '-' && next < values->token_count &&
               values->tokens[next].kind != TOKEN_SIGN;
    }
    if (sign != NULL && !expression_is_word(values, i, "over")) {
        return i == at || has_number(values, i + length);
    }
    const struct expression_word *verb = EXPRESSION_WORD_AT(values, i, verbs);
    return i > at && (verb != NULL ? has_number(values, i + verb->tokens) : is_unknown(values, i));
}

size_t expression_read(const struct values *values, size_t at, struct buf *out, bool *ret_unclear) {
    size_t end = read_verb(values, at, out);
    if (end == 0) {
        buf_clear(out);
        end = expression_read_flat(values, at, out);
    }
    *ret_unclear = false;
    if (end == 0) {
        return 0;
    }
    size_t next = end;
    for (size_t i = 0; i < STEPS_MAX && next > 0; i++) {
        end = next;
        next = read_step(values, end, out);
    }
    *ret_unclear = goes_on(values, end);
    return end;
}
