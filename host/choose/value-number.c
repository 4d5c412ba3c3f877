/* Numbers: of digits, English words and Chinese numerals; with sign, magnitude, unit, currency. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "choose/values-parts.h"

/* Longest number of digits; a longer one is an identifier, if anything. */
#define DIGITS_MAX 64u

/* Largest whole number of words: all below are exact. */
#define WORDED_MAX 1e15

/* ------------------------------------------------------------------- digits */

/* Most bytes of a number with an exponent, or of one to the base 16. */
#define WRITTEN_MAX 40u

/* How far from one coordinate the direction of the other stands, in tokens. */
#define DIRECTION_REACH 5u

static size_t word_length(const struct token *token) {
    return token->end - token->start;
}

static bool is_word(const struct values *values, size_t at, const char *word) {
    return at < values->token_count && word_length(&values->tokens[at]) == strlen(word) &&
           memcmp(values->lower + values->tokens[at].start, word, strlen(word)) == 0;
}

/* The exact value of digits with at most one point, as JSON reads them. */
static bool read_digits(const char *text, size_t length, double *ret, bool *ret_whole) {
    char digits[DIGITS_MAX + 2];
    size_t count = 0;
    size_t points = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ',' || text[i] == '\'') {
            continue;
        }
        points += text[i] == '.';
        /* JSON has no leading zeros. */
        if (count == 1 && digits[0] == '0' && text[i] != '.') {
            count = 0;
        }
        if (count == DIGITS_MAX || points > 1) {
            return false;
        }
        digits[count++] = text[i];
    }
    digits[count] = '\0';
    yyjson_val value;
    if (count == 0 || yyjson_read_number(digits, &value, YYJSON_READ_NOFLAG, NULL, NULL) == NULL) {
        return false;
    }
    *ret = yyjson_get_num(&value);
    *ret_whole = points == 0;
    return true;
}

static const struct lexeme *number_word(const struct values *values, size_t at,
                                        size_t *ret_length) {
    return token_lexeme(values->lower, values->tokens, values->token_count, at, LEXEME_NUMBERS,
                        ret_length);
}

static const struct lexeme *currency_at(const struct values *values, size_t at,
                                        size_t *ret_length) {
    *ret_length = 0;
    if (at >= values->token_count) {
        return NULL;
    }
    return token_lexeme(values->lower, values->tokens, values->token_count, at, LEXEME_CURRENCIES,
                        ret_length);
}

/* The magnitude behind digits: "k" without a space, or a word such as million. 1: none. */
static double magnitude(const struct values *values, size_t at, size_t *ret_length) {
    *ret_length = 0;
    if (at >= values->token_count) {
        return 1;
    }
    size_t unit_length;
    const struct lexeme *unit = value_unit_at(values, at, &unit_length);
    if (unit != NULL && unit_length > 1 && values->tokens[at].kind == TOKEN_HAN) {
        return 1; /* 千瓦, 千克 */
    }
    static const struct {
        const char *word;
        double factor;
    } letters[] = {{"k", 1e3}, {"mn", 1e6}, {"bn", 1e9}, {"b", 1e9}, {"m", 1e6}};
    bool money = at > 1 && values->tokens[at - 2].kind == TOKEN_SIGN &&
                 currency_at(values, at - 2, &unit_length) != NULL;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        /* "298K" is a temperature, "$50K" is not */
        bool capital = i == 0 && values->tokens[at].capital &&
                       (at < 2 || values->tokens[at - 2].kind != TOKEN_SIGN ||
                        values->tokens[at - 1].space);
        bool meters = letters[i].word[0] == 'm' && letters[i].word[1] == '\0' && !money;
        if (!values->tokens[at].space && !capital && !meters &&
            is_word(values, at, letters[i].word)) {
            *ret_length = 1;
            return letters[i].factor;
        }
    }
    static const struct {
        uint32_t point;
        double factor;
    } signs[] = {{0x4e07, 1e4}, {0x842c, 1e4}, {0x4ebf, 1e8},
                 {0x5104, 1e8}, {0x5343, 1e3}, {0x767e, 1e2}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (value_is_sign(values, at, signs[i].point)) {
            size_t more;
            double next = magnitude(values, at + 1, &more); /* 百万, 千万 */
            *ret_length = 1 + (signs[i].factor < 1e4 ? more : 0);
            return signs[i].factor * (signs[i].factor < 1e4 ? next : 1);
        }
    }
    const struct lexeme *word = number_word(values, at, ret_length);
    if (word != NULL && strcmp(word->first, "times") == 0 &&
        values->tokens[at].kind == TOKEN_WORD) {
        return word->number;
    }
    *ret_length = 0;
    return 1;
}

/* A number of digits by its magnitude: 1.001 thousand are 1001, which the product misses by its
 * last bits. */
static double scale(double number, double factor) {
    double product = number * factor;
    double nearest = floor(product + 0.5);
    return fabs(product - nearest) <= product * 1e-15 ? nearest : product;
}

/* "1/2" without spaces: a fraction if both are small. 0: it is none. */
static double fraction_at(const struct values *values, size_t at) {
    double top;
    double bottom;
    bool whole;
    const struct token *tokens = values->tokens;
    if (at + 2 >= values->token_count || tokens[at].kind != TOKEN_NUMBER ||
        !value_is_sign(values, at + 1, '/') || tokens[at + 1].space || tokens[at + 2].space ||
        tokens[at + 2].kind != TOKEN_NUMBER || value_is_sign(values, at + 3, '/')) {
        return 0;
    }
    if (!read_digits(values->text + tokens[at].start, word_length(&tokens[at]), &top, &whole) ||
        !read_digits(values->text + tokens[at + 2].start, word_length(&tokens[at + 2]), &bottom,
                     &whole)) {
        return 0;
    }
    return top >= 1 && top < bottom && bottom <= 8 ? top / bottom : 0;
}

/* Where a comma separates decimals: "3,5" is three tokens, "1.234,56" too. Points before three
 * digits separate thousands. 、 is between numbers. 0: it is no number that is written so. */
static size_t read_comma_number(const struct values *values, size_t at, double *ret,
                                bool *ret_whole) {
    const struct token *tokens = values->tokens;
    bool joined = value_is_sign(values, at + 1, ',') && at + 2 < values->token_count &&
                  !tokens[at + 1].space && !tokens[at + 2].space &&
                  tokens[at + 2].kind == TOKEN_NUMBER &&
                  values->text[tokens[at + 1].start] == ',' &&
                  !(value_is_sign(values, at + 3, ',') && !tokens[at + 3].space);
    const char *text = values->text + tokens[at].start;
    size_t length = tokens[joined ? at + 2 : at].end - tokens[at].start;
    char digits[DIGITS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        size_t run = 0; /* of digits behind a point */
        while (text[i] == '.' && i + 1 + run < length && ascii_is_digit(text[i + 1 + run])) {
            run++;
        }
        if (count == DIGITS_MAX) {
            return 0;
        }
        if (run != 3) {
            digits[count++] = text[i] == ',' ? '.' : text[i];
        }
    }
    return !read_digits(digits, count, ret, ret_whole) ? 0 : joined ? 3 : 1;
}

/* "12,50 EUR", "1.234,56", "2,5 km": a comma before decimals, whatever the locale says. */
static bool has_decimal_comma(const struct values *values, size_t at) {
    const struct token *tokens = values->tokens;
    size_t length;
    double number;
    bool whole;
    if (read_comma_number(values, at, &number, &whole) != 3) {
        return false;
    }
    const char *text = values->text + tokens[at].start;
    size_t size = word_length(&tokens[at]);
    bool points = size > 4 && text[size - 4] == '.';
    bool money = currency_at(values, at + 3, &length) != NULL ||
                 (at > 0 && tokens[at - 1].kind == TOKEN_SIGN &&
                  currency_at(values, at - 1, &length) != NULL);
    bool listed = at > 1 && value_is_sign(values, at - 1, ',') && !tokens[at].space;
    return !listed && (points || money || value_unit_at(values, at + 3, &length) != NULL);
}

static size_t read_digit_number(const struct values *values, size_t at, double *ret,
                                bool *ret_whole) {
    double fraction = fraction_at(values, at);
    if (fraction > 0) {
        *ret = fraction;
        *ret_whole = false;
        return 3;
    }
    const struct token *token = &values->tokens[at];
    bool comma = values->locale.decimal_comma || has_decimal_comma(values, at);
    size_t digits =
            comma ? read_comma_number(values, at, ret, ret_whole)
                  : read_digits(values->text + token->start, word_length(token), ret, ret_whole);
    if (digits == 0) {
        return 0;
    }
    fraction = at + digits < values->token_count ? fraction_at(values, at + digits) : 0;
    if (fraction > 0 && *ret_whole) {
        *ret += fraction;
        *ret_whole = false;
        return digits + 3;
    }
    size_t length;
    double factor = magnitude(values, at + digits, &length);
    if (length > 0) {
        *ret = scale(*ret, factor);
        *ret_whole = floor(*ret) == *ret;
    }
    return digits + length;
}

/* ----------------------------------------------------------------- integers */

/* The digits of a number without what is between them; 0: words belong to it, too. */
static size_t copy_digits(const struct values *values, const struct value *value,
                          char digits[DIGITS_MAX]) {
    size_t count = 0;
    for (size_t t = value->item_first; t < (size_t)value->item_first + value->item_count; t++) {
        const struct token *token = &values->tokens[t];
        bool number = token->kind == TOKEN_NUMBER;
        if (!number && count > 0 && token->kind != TOKEN_SIGN) {
            return 0; /* a magnitude: 5 million */
        }
        for (size_t i = token->start; number && i < token->end; i++) {
            if (ascii_is_digit(values->text[i]) && count < DIGITS_MAX) {
                digits[count++] = values->text[i];
            }
        }
    }
    return count;
}

enum value_integer value_read_integer(const struct values *values, const struct value *value,
                                      bool *ret_negative, uint64_t *ret) {
    char digits[DIGITS_MAX];
    if (fabs(value->number) < VALUE_NUMBER_EXACT) {
        return INTEGER_NONE;
    }
    size_t count = value->whole ? copy_digits(values, value, digits) : 0;
    uint64_t size = 0;
    bool large = count == 0;
    for (size_t i = 0; i < count && !large; i++) {
        uint64_t digit = (uint64_t)(digits[i] - '0');
        large = size > (UINT64_MAX - digit) / 10;
        size = large ? size : size * 10 + digit;
    }
    *ret_negative = value->number < 0;
    *ret = size;
    large = large || (*ret_negative && size > UINT64_C(1) << 63);
    return large ? INTEGER_LARGE : INTEGER_EXACT;
}

size_t value_count_digits(const struct values *values, const struct value *value) {
    char digits[DIGITS_MAX];
    size_t count = copy_digits(values, value, digits);
    size_t first = 0;
    while (first < count && digits[first] == '0') {
        first++;
    }
    while (count > first && digits[count - 1] == '0') {
        count--;
    }
    return count - first;
}

/* ------------------------------------------------------------ English words */

static bool lookup(const char *word, size_t length, const char *how, double *ret) {
    const struct lexeme *lexeme = lexeme_of(LEXEME_NUMBERS, word, length);
    if (lexeme == NULL || strcmp(lexeme->first, how) != 0) {
        return false;
    }
    *ret = lexeme->number;
    return true;
}

/* "twenty-five" is one word. */
static bool hyphenated(const struct values *values, size_t at, double *ret) {
    const char *word = values->lower + values->tokens[at].start;
    size_t length = word_length(&values->tokens[at]);
    const char *hyphen = memchr(word, '-', length);
    double tens;
    double ones;
    if (hyphen == NULL || !lookup(word, (size_t)(hyphen - word), "digit", &tens) ||
        !lookup(hyphen + 1, length - (size_t)(hyphen - word) - 1, "digit", &ones) || tens < 20 ||
        ones >= 10) {
        return false;
    }
    *ret = tens + ones;
    return true;
}

/* "two hundred and five thousand", "one and a half". */
static size_t read_words(const struct values *values, size_t at, double *ret, bool *ret_whole) {
    double total = 0;
    double current = 0;
    size_t end = at;
    bool any = false;
    *ret_whole = true;
    for (size_t i = at; i < values->token_count && total + current < WORDED_MAX;) {
        size_t length = 1;
        double number;
        if (any && is_word(values, i, "and") && i + 1 < values->token_count) {
            i++;
        }
        if (values->tokens[i].kind != TOKEN_WORD) {
            break;
        }
        const struct lexeme *lexeme = number_word(values, i, &length);
        if (lexeme == NULL && hyphenated(values, i, &number)) {
            if (any && current != 0 && current < 100) {
                break;
            }
            current += number;
            length = 1;
        } else if (lexeme == NULL) {
            break;
        } else if (strcmp(lexeme->first, "digit") == 0) {
            number = lexeme->number;
            bool counts = memcmp(lexeme->text, "a ", 2) == 0; /* "and a dozen" is another number */
            bool joins = current == 0 || (current >= 100 && number < 100) ||
                         (current >= 20 && current < 100 && number < 10);
            if (any && (!joins || counts || end != i - is_word(values, i - 1, "and") ||
                        (total == 0 && current == 0))) {
                break;
            }
            current += number;
        } else if (strcmp(lexeme->first, "times") == 0) {
            number = lexeme->number;
            if (!any) {
                break;
            }
            if (number >= 1000) {
                total += (current == 0 ? 1 : current) * number;
                current = 0;
            } else {
                current = (current == 0 ? 1 : current) * number;
            }
        } else if (strcmp(lexeme->first, "part") == 0) {
            current += lexeme->number;
            *ret_whole = false;
            any = true;
            end = i + length;
            break;
        } else {
            break;
        }
        any = true;
        i += length;
        end = i;
    }
    *ret = total + current;
    return any ? end - at : 0;
}

/* --------------------------------------------------------- Chinese numerals */

/* 0 to 9: a digit; 10 and more: a unit; -1: no numeral. */
static int64_t numeral(uint32_t point) {
    static const struct {
        uint32_t point;
        int64_t number;
    } numerals[] = {{0x96f6, 0},     {0x3007, 0},     {0x4e00, 1},         {0x4e8c, 2},
                    {0x4e24, 2},     {0x5169, 2},     {0x4e09, 3},         {0x56db, 4},
                    {0x4e94, 5},     {0x516d, 6},     {0x4e03, 7},         {0x516b, 8},
                    {0x4e5d, 9},     {0x5341, 10},    {0x767e, 100},       {0x5343, 1000},
                    {0x4e07, 10000}, {0x842c, 10000}, {0x4ebf, 100000000}, {0x5104, 100000000}};
    for (size_t i = 0; i < sizeof numerals / sizeof *numerals; i++) {
        if (numerals[i].point == point) {
            return numerals[i].number;
        }
    }
    return -1;
}

static int64_t numeral_at(const struct values *values, size_t at) {
    return at < values->token_count && values->tokens[at].kind == TOKEN_HAN
                   ? numeral(values->tokens[at].sign)
                   : -1;
}

/* 打 behind a numeral is a dozen, unless it begins a verb: 一打开. */
static bool is_dozen(const struct values *values, size_t at) {
    static const uint32_t verbs[] = {0x5f00, 0x7535, 0x5370, 0x626b, 0x5305,
                                     0x542c, 0x7b97, 0x7834, 0x6740};
    bool dozen = value_is_sign(values, at, 0x6253);
    for (size_t i = 0; dozen && i < sizeof verbs / sizeof *verbs; i++) {
        dozen = !value_is_sign(values, at + 1, verbs[i]);
    }
    return dozen;
}

/* Digits only, as of a year: 二零二四. */
static size_t read_spelled(const struct values *values, size_t at, double *ret) {
    double number = 0;
    size_t i = at;
    for (; i - at < 12 && numeral_at(values, i) >= 0 && numeral_at(values, i) < 10; i++) {
        number = number * 10 + (double)numeral_at(values, i);
    }
    *ret = number;
    return numeral_at(values, i) >= 10 || i - at < 2 ? 0 : i - at;
}

static size_t read_numerals(const struct values *values, size_t at, double *ret, bool *ret_whole) {
    *ret_whole = true;
    if (value_is_sign(values, at, 0x534a)) { /* half */
        *ret = 0.5;
        *ret_whole = false;
        return 1;
    }
    size_t spelled = read_spelled(values, at, ret);
    if (spelled > 0) {
        return spelled;
    }
    double total = 0;   /* of 万 and 亿 */
    double section = 0; /* below */
    double digit = -1;
    double last_unit = 1;
    size_t i = at;
    for (; i - at < 24; i++) {
        int64_t number = numeral_at(values, i);
        if (number < 0) {
            break;
        }
        if (number < 10) {
            digit = (double)number;
            last_unit = number == 0 ? 1 : last_unit;
        } else if (number < 10000) {
            section += (digit < 0 ? 1 : digit) * (double)number;
            digit = -1;
            last_unit = (double)number;
        } else {
            total = (total + section + (digit < 0 ? 0 : digit)) * (double)number;
            section = 0;
            digit = -1;
            last_unit = (double)number;
        }
    }
    if (i == at) {
        return 0;
    }
    if (digit >= 0) {
        /* A digit behind a unit without one of its own is of the next smaller unit: 三千五. */
        section += last_unit >= 100 ? digit * last_unit / 10 : digit;
    }
    *ret = total + section;
    if (value_is_sign(values, i, 0x4e2a) && value_is_sign(values, i + 1, 0x534a)) { /* 两个半 */
        *ret += 0.5;
        *ret_whole = false;
        return i + 2 - at;
    }
    if (is_dozen(values, i)) {
        *ret *= 12;
        return i + 1 - at;
    }
    if (value_is_sign(values, i, 0x70b9) && numeral_at(values, i + 1) >= 0 && /* point */
        numeral_at(values, i + 1) < 10 && numeral_at(values, i + 2) < 10 &&
        !value_is_sign(values, i + 2, 0x5206) && !value_is_sign(values, i + 2, 0x523b)) {
        double scale = 10;
        for (i++; numeral_at(values, i) >= 0 && numeral_at(values, i) < 10 && scale < 1e9; i++) {
            *ret += (double)numeral_at(values, i) / scale;
            scale *= 10;
        }
        *ret_whole = false;
    }
    return i - at;
}

/* "the other one", "this one": not the number. */
static bool stands_for_thing(const struct values *values, size_t at) {
    static const char *const before[] = {"other", "another", "this", "that", "which", "each"};
    for (size_t i = 0; at > 0 && is_word(values, at, "one") && i < ARRAY_LENGTH(before); i++) {
        if (is_word(values, at - 1, before[i])) {
            return true;
        }
    }
    return false;
}

size_t value_read_number(const struct values *values, size_t at, double *ret, bool *ret_whole) {
    if (at >= values->token_count) {
        return 0;
    }
    switch (values->tokens[at].kind) {
    case TOKEN_NUMBER: return read_digit_number(values, at, ret, ret_whole);
    case TOKEN_WORD:
        return stands_for_thing(values, at) ? 0 : read_words(values, at, ret, ret_whole);
    case TOKEN_HAN: return read_numerals(values, at, ret, ret_whole);
    default: return 0;
    }
}

/* ------------------------------------------------------------------ finding */

const struct lexeme *value_unit_at(const struct values *values, size_t at, size_t *ret_length) {
    *ret_length = 0;
    if (at >= values->token_count) {
        return NULL;
    }
    return token_lexeme(values->lower, values->tokens, values->token_count, at, LEXEME_UNITS,
                        ret_length);
}

/* Whether the text has a currency beside the tokens from `at`. */
static bool has_currency_but(const struct values *values, size_t at, size_t length) {
    size_t unit;
    for (size_t i = 0; i < values->token_count; i++) {
        size_t other;
        bool beside = i < at || i >= at + length;
        if (beside && currency_at(values, i, &other) != NULL &&
            (value_unit_at(values, i, &unit) == NULL || unit < other)) {
            return true;
        }
    }
    return false;
}

/* "pounds" are money only where the text has another currency. */
bool value_is_money(const struct values *values, size_t at, size_t length) {
    size_t unit;
    if (value_unit_at(values, at, &unit) == NULL || unit < length) {
        return true;
    }
    return has_currency_but(values, at, length);
}

/* Whether "and a half" stands behind a unit of time, or 半 behind any; its tokens. */
static size_t half_length(const struct values *values, size_t at, const struct lexeme *unit) {
    size_t more;
    if (value_is_time(unit) && is_word(values, at, "and") && is_word(values, at + 1, "a") &&
        is_word(values, at + 2, "half")) {
        return 3;
    }
    bool half =
            unit != NULL && strcmp(unit->first, "count") != 0 && value_is_sign(values, at, 0x534a);
    return half && value_unit_at(values, at + 1, &more) == NULL ? 1 : 0;
}

bool value_is_time(const struct lexeme *unit) {
    static const char *const units[] = {"second", "minute", "hour", "day", "week", "month", "year"};
    for (size_t i = 0; unit != NULL && i < sizeof units / sizeof *units; i++) {
        if (unit->kind == LEXEME_UNITS && strcmp(unit->first, units[i]) == 0) {
            return true;
        }
    }
    return false;
}

size_t value_read_span(const struct values *values, size_t at, double *ret,
                       const struct lexeme **ret_unit) {
    bool whole;
    size_t length = value_read_number(values, at, ret, &whole);
    if (length == 0 && (is_word(values, at, "an") || is_word(values, at, "a"))) {
        *ret = 1;
        length = 1;
    }
    size_t unit_length;
    *ret_unit = length > 0 ? value_unit_at(values, at + length, &unit_length) : NULL;
    if (!value_is_time(*ret_unit)) {
        return 0;
    }
    size_t end = at + length + unit_length;
    size_t half = half_length(values, end, *ret_unit);
    *ret += half > 0 ? 0.5 : 0;
    return end + half - at;
}

/* A minus before a number, and not between two. */
static bool is_negative(const struct values *values, size_t at) {
    if (at == 0) {
        return false;
    }
    if (value_is_sign(values, at - 1, 0x8d1f)) { /* 负 */
        return true;
    }
    if (is_word(values, at - 1, "minus") || is_word(values, at - 1, "negative")) {
        return at < 2 || values->tokens[at - 2].kind != TOKEN_NUMBER;
    }
    bool minus = value_is_sign(values, at - 1, '-') || value_is_sign(values, at - 1, 0x2212);
    bool behind = at >= 2 && !values->tokens[at - 1].space &&
                  (values->tokens[at - 2].kind == TOKEN_NUMBER ||
                   values->tokens[at - 2].kind == TOKEN_WORD);
    return minus && !values->tokens[at].space && !behind;
}

/* "1 500", and no list of more. */
static bool is_group_of_three(const struct values *values, size_t at) {
    const struct token *tokens = values->tokens;
    if (at + 1 >= values->token_count || tokens[at].kind != TOKEN_NUMBER ||
        tokens[at + 1].kind != TOKEN_NUMBER || !tokens[at + 1].space ||
        word_length(&tokens[at]) > 3 || word_length(&tokens[at + 1]) != 3) {
        return false;
    }
    bool listed = (at > 0 && tokens[at - 1].kind == TOKEN_NUMBER) ||
                  (at + 2 < values->token_count && tokens[at + 2].kind == TOKEN_NUMBER);
    double number;
    bool whole;
    return !listed && values->text[tokens[at].start] != '0' &&
           read_digits(values->text + tokens[at + 1].start, 3, &number, &whole) && whole;
}

/* A minus before a number, and not between two; 零下 is one of two characters. */
static size_t minus_length(const struct values *values, size_t at) {
    return at > 1 && value_is_sign(values, at - 1, 0x4e0b) && value_is_sign(values, at - 2, 0x96f6)
                   ? 2
                   : is_negative(values, at);
}

/* Whether a number may be a part of one: "1,5" without a unit, "1 500". */
static bool is_torn(const struct values *values, size_t first, size_t last) {
    const struct token *tokens = values->tokens;
    bool before = first > 1 && value_is_sign(values, first - 1, ',') && !tokens[first].space &&
                  !tokens[first - 1].space && tokens[first - 2].kind == TOKEN_NUMBER;
    bool after = value_is_sign(values, last, ',') && last + 1 < values->token_count &&
                 !tokens[last].space && !tokens[last + 1].space &&
                 tokens[last + 1].kind == TOKEN_NUMBER;
    return before || after || is_group_of_three(values, first) ||
           (first > 0 && is_group_of_three(values, first - 1));
}

/* "1st", "2nd": the ending. */
static bool has_order_ending(const struct values *values, size_t at) {
    return at < values->token_count && !values->tokens[at].space &&
           (is_word(values, at, "st") || is_word(values, at, "nd") || is_word(values, at, "rd") ||
            is_word(values, at, "th"));
}

/* A single Chinese numeral is a number only before a measure word: 一般 has none. */
static bool is_counted(const struct values *values, size_t at, size_t length) {
    size_t unit;
    if (values->tokens[at].kind != TOKEN_HAN || length > 1 || values->tokens[at].sign == 0x5341) {
        return true;
    }
    return value_unit_at(values, at + length, &unit) != NULL ||
           currency_at(values, at + length, &unit) != NULL;
}

/* The currency before an amount: a sign, of one token or of two (US$), or a code in capitals or
 * beside another currency: EUR 20. */
static const struct lexeme *currency_before(const struct values *values, size_t first,
                                            size_t *ret_length) {
    for (size_t n = first < 2 ? first : 2; n > 0; n--) {
        const struct token *token = &values->tokens[first - n];
        const struct lexeme *found = currency_at(values, first - n, ret_length);
        bool sign = values->tokens[first - 1].kind == TOKEN_SIGN;
        bool code = found != NULL && n == 1 && token->kind == TOKEN_WORD && found->length == 3 &&
                    (token->capitals ||
                     (has_currency_but(values, first - 1, 1) && token->cue == CUE_NONE));
        if (found != NULL && *ret_length == n && (sign || code)) {
            return found;
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- signs of other kinds */

/* Whether a token goes on with the one before: no space between them. */
static bool goes_on(const struct values *values, size_t at, uint8_t kind) {
    return at < values->token_count && values->tokens[at].kind == kind && !values->tokens[at].space;
}

/* "1e3", "1.5e-3" and "0x1F": how many tokens. */
static size_t read_written(const struct values *values, size_t at, double *ret, bool *ret_whole) {
    char text[WRITTEN_MAX];
    if (values->tokens[at].kind != TOKEN_NUMBER || !goes_on(values, at + 1, TOKEN_WORD)) {
        return 0;
    }
    const struct token *word = &values->tokens[at + 1];
    const char *lower = values->lower + word->start;
    bool hex = is_word(values, at, "0") && lower[0] == 'x' && word_length(word) > 1;
    bool apart = is_word(values, at + 1, "e") && goes_on(values, at + 2, TOKEN_SIGN) &&
                 (value_is_sign(values, at + 2, '-') || value_is_sign(values, at + 2, '+')) &&
                 goes_on(values, at + 3, TOKEN_NUMBER);
    size_t last = apart ? at + 4 : at + 2;
    size_t length = values->tokens[last - 1].end - values->tokens[at].start;
    if (length >= sizeof text || !(hex || apart || (lower[0] == 'e' && word_length(word) > 1))) {
        return 0;
    }
    memcpy(text, values->lower + values->tokens[at].start, length);
    text[length] = '\0';
    const char *digits = hex ? "0123456789abcdefx" : "0123456789.e+-";
    if (strspn(text, digits) != length) {
        return 0;
    }
    char *end = NULL;
    yyjson_val number = {0}; /* of JSON: the locale of the process has no part in it */
    *ret = hex ? (double)strtoull(text, &end, 16) : 0;
    if (!hex && yyjson_read_number(text, &number, 0, NULL, NULL) != text + length) {
        return 0;
    }
    *ret = hex ? *ret : yyjson_get_num(&number);
    *ret_whole = isfinite(*ret) && floor(*ret) == *ret;
    bool whole = !hex || end == text + length;
    return whole && isfinite(*ret) ? last - at : 0;
}

/* Which way a coordinate goes by the word at a token: N, S, E or W; 0: it says none. */
static char direction_at(const struct values *values, size_t at) {
    static const char *const words[] = {"north", "south", "east", "west"};
    static const char letters[] = "nsew";
    for (size_t i = 0; at < values->token_count && i < ARRAY_LENGTH(words); i++) {
        const char letter[] = {letters[i], '\0'};
        if (is_word(values, at, words[i]) ||
            (is_word(values, at, letter) && values->tokens[at].capital)) {
            return letters[i];
        }
    }
    return '\0';
}

/* Whether the other of two coordinates has a direction near by: without that, W may be watts. */
static bool has_other_direction(const struct values *values, size_t at, bool north) {
    size_t from = at < DIRECTION_REACH ? 0 : at - DIRECTION_REACH;
    for (size_t i = from; i <= at + DIRECTION_REACH && i < values->token_count; i++) {
        char other = direction_at(values, i);
        if (other != '\0' && (other == 'n' || other == 's') != north && i > 0 &&
            values->tokens[i - 1].kind != TOKEN_WORD) {
            return true;
        }
    }
    return false;
}

/* The tokens behind a number that say which way a coordinate goes: "33.9°S", "151.2 East"; 0: none.
 */
static size_t direction_length(const struct values *values, size_t at, bool *ret_negative,
                               uint8_t *ret_way) {
    const uint32_t degree = 0xb0;
    size_t sign = value_is_sign(values, at, degree) ? 1 : 0;
    char way = direction_at(values, at + sign);
    bool north = way == 'n' || way == 's';
    if (way == '\0' || !(sign > 0 || has_other_direction(values, at, north))) {
        return 0;
    }
    *ret_negative = way == 's' || way == 'w';
    *ret_way = north ? WAY_LATITUDE : WAY_LONGITUDE;
    return sign + 1;
}

/* 北纬, 南纬, 东经, 西经 before a number. */
static size_t han_direction_length(const struct values *values, size_t at, bool *ret_negative,
                                   uint8_t *ret_way) {
    static const struct {
        uint32_t way;
        uint32_t of;
        bool negative;
    } ways[] = {{0x5317, 0x7eac, false},
                {0x5357, 0x7eac, true},
                {0x4e1c, 0x7ecf, false},
                {0x897f, 0x7ecf, true}};
    for (size_t i = 0; at > 1 && i < ARRAY_LENGTH(ways); i++) {
        if (value_is_sign(values, at - 2, ways[i].way) &&
            value_is_sign(values, at - 1, ways[i].of)) {
            *ret_negative = ways[i].negative;
            *ret_way = ways[i].of == 0x7eac ? WAY_LATITUDE : WAY_LONGITUDE;
            return 2;
        }
    }
    return 0;
}

/* A coordinate with its direction; false: the number is none. */
static bool add_coordinate(struct values *values, size_t at, size_t length, double number) {
    bool negative = false;
    uint8_t way = WAY_NONE;
    size_t before = han_direction_length(values, at, &negative, &way);
    size_t behind = before > 0 ? 0 : direction_length(values, at + length, &negative, &way);
    struct value *value = before + behind == 0 ? NULL
                                               : value_add(values, VALUE_NUMBER, at - before,
                                                           at + length + behind);
    if (value != NULL) {
        value->number = negative ? -number : number;
        value->way = way;
        value->whole = floor(number) == number;
        value->item_first = (uint16_t)at;
        value->item_count = (uint16_t)length;
    }
    return value != NULL;
}

static void add_number(struct values *values, size_t at, size_t length, double number, bool whole) {
    size_t minus = minus_length(values, at);
    bool negative = minus > 0;
    size_t first = at - minus;
    size_t last = at + length;
    size_t unit_length;
    size_t hyphen = value_is_sign(values, last, '-') && !values->tokens[last].space ? 1 : 0;
    const struct lexeme *unit = value_unit_at(values, last + hyphen, &unit_length);
    const struct lexeme *money = currency_at(values, last, &unit_length);
    size_t money_length = unit_length;
    money = money != NULL && value_is_money(values, last, money_length) ? money : NULL;
    unit = value_unit_at(values, last + hyphen, &unit_length);
    size_t before_length = 0;
    const struct lexeme *before = currency_before(values, first, &before_length);
    bool apart = values->tokens[first].space;

    enum value_kind kind = VALUE_NUMBER;
    size_t whole_first = first;
    size_t whole_last = last;
    const struct lexeme *lexeme = NULL;
    if (before != NULL && (!apart || money == NULL)) {
        kind = VALUE_MONEY;
        lexeme = before;
        whole_first = first - before_length;
    } else if (money != NULL) {
        kind = VALUE_MONEY;
        lexeme = money;
        whole_last = last + money_length;
    } else if (unit != NULL && strcmp(unit->first, "percent") == 0) {
        kind = VALUE_PERCENT;
        lexeme = unit;
        whole_last = last + hyphen + unit_length;
    } else if (unit != NULL) {
        kind = VALUE_QUANTITY;
        lexeme = unit;
        whole_last = last + hyphen + unit_length;
        size_t half = half_length(values, whole_last, unit);
        number += half > 0 ? 0.5 : 0;
        whole = whole && half == 0;
        whole_last += half;
    }
    struct value *value = value_add(values, kind, whole_first, whole_last);
    if (value != NULL) {
        value->number = negative ? -number : number;
        value->whole = whole;
        value->worded = values->tokens[at].kind != TOKEN_NUMBER;
        value->lexeme = lexeme;
        value->torn = is_torn(values, first, last);
        /* The span of the number alone: what a string parameter takes. */
        value->item_first = (uint16_t)first;
        value->item_count = (uint16_t)(last - first);
    }
}

/* 百分之二十. */
static size_t percent_length(const struct values *values, size_t at) {
    return value_is_sign(values, at, 0x767e) && value_is_sign(values, at + 1, 0x5206) &&
                           value_is_sign(values, at + 2, 0x4e4b)
                   ? 3
                   : 0;
}

static void add_ordinal(struct values *values, size_t first, size_t last, double number) {
    struct value *value = value_add(values, VALUE_ORDINAL, first, last);
    if (value != NULL) {
        value->number = number;
        value->whole = true;
        value->item_first = (uint16_t)first;
        value->item_count = (uint16_t)(last - first);
    }
}

#define TAKEN                                                                                      \
    (VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT) |                     \
     VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_IP) | \
     VALUE_BIT(VALUE_PHONE) | VALUE_BIT(VALUE_CODE) | VALUE_BIT(VALUE_JSON))

/* "an hour", where it says how long: for an hour, an hour and a half. */
static bool is_one(const struct values *values, size_t at) {
    size_t length;
    size_t unit_length;
    if (!is_word(values, at, "an") && !is_word(values, at, "a")) {
        return false;
    }
    const struct lexeme *unit = value_unit_at(values, at + 1, &unit_length);
    const struct token *before = at > 0 ? &values->tokens[at - 1] : NULL;
    bool span = before != NULL && before->cue == CUE_FOR;
    length = 1 + unit_length;
    return value_is_time(unit) && (span || half_length(values, at + length, unit) > 0);
}

/* "1 hour 30 minutes" is one span of time too: 90 minutes. Which of them a parameter takes is
 * decided where the parameters are known. */
static void join_spans(struct values *values) {
    size_t count = values->count;
    for (size_t i = 0; i + 1 < count; i++) {
        struct value joined = values->list[i];
        for (size_t k = i + 1; k < count; k++) {
            const struct value *next = &values->list[k];
            bool joint =
                    is_word(values, joined.last, "and") || value_is_sign(values, joined.last, ',');
            if (joined.kind != VALUE_QUANTITY || next->kind != VALUE_QUANTITY ||
                next->first != joined.last + (joint ? 1u : 0u) || !value_is_time(joined.lexeme) ||
                !value_is_time(next->lexeme) || joined.lexeme->number <= next->lexeme->number) {
                break;
            }
            joined.number =
                    joined.number * joined.lexeme->number / next->lexeme->number + next->number;
            joined.whole = joined.whole && next->whole;
            joined.lexeme = next->lexeme;
            joined.last = next->last;
        }
        struct value *value = joined.last > values->list[i].last
                                      ? value_add(values, VALUE_QUANTITY, joined.first, joined.last)
                                      : NULL;
        if (value != NULL) {
            value->number = joined.number;
            value->whole = joined.whole;
            value->worded = joined.worded;
            value->lexeme = joined.lexeme;
            value->joined = true;
            value->item_first = joined.first;
            value->item_count = (uint16_t)(joined.last - joined.first);
            while (i + 1 < count && values->list[i + 1].last <= joined.last) {
                i++;
            }
        }
    }
}

/* "800x600" is an identifier, and two numbers. */
static void add_sizes(struct values *values, size_t first, size_t last) {
    double number[2];
    bool whole[2];
    if (last - first != 2 || values->tokens[first].kind != TOKEN_NUMBER) {
        return;
    }
    const struct token *token = &values->tokens[first + 1];
    if (values->lower[token->start] != 'x' ||
        !read_digits(values->text + values->tokens[first].start,
                     word_length(&values->tokens[first]), &number[0], &whole[0]) ||
        strspn(values->lower + token->start + 1, "0123456789") < word_length(token) - 1 ||
        !read_digits(values->text + token->start + 1, word_length(token) - 1, &number[1],
                     &whole[1])) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        struct value *value = value_add(values, VALUE_NUMBER, first + i, first + i + 1);
        if (value != NULL) {
            value->number = number[i];
            value->whole = whole[i];
            value->start += (uint32_t)i;
            value->item_first = (uint16_t)(first + i);
            value->item_count = 1;
        }
    }
}

void value_find_numbers(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        double number = 0;
        bool whole = false;
        size_t written = read_written(values, at, &number, &whole);
        if (written > 0) {
            add_number(values, at, written, number, whole);
            at += written - 1;
            continue;
        }
        const struct value *taken = value_covering(values, at, TAKEN);
        if (taken != NULL && !taken->time.bare) {
            size_t last = taken->last;
            if (taken->kind == VALUE_CODE) {
                add_sizes(values, taken->first, last);
            }
            at = last - 1;
            continue;
        }
        size_t skip = percent_length(values, at);
        size_t length = value_read_number(values, at + skip, &number, &whole);
        if (skip > 0 && length > 0) {
            struct value *value = value_add(values, VALUE_PERCENT, at, at + 3 + length);
            if (value != NULL) {
                value->number = number;
                value->whole = whole;
                value->worded = true;
                value->item_first = (uint16_t)at;
                value->item_count = (uint16_t)(3 + length);
            }
            at += 2 + length;
        } else if (length > 0 && has_order_ending(values, at + length)) {
            add_ordinal(values, at, at + length + 1, number);
            at += length;
        } else if (length > 0 && value_is_sign(values, at > 0 ? at - 1 : at, 0x7b2c)) { /* 第 */
            add_ordinal(values, at - 1, at + length, number);
            at += length - 1;
        } else if (length > 0 && add_coordinate(values, at, length, number)) {
            at += length - 1;
        } else if (length > 0 && is_counted(values, at, length)) {
            add_number(values, at, length, number, whole);
            at += length - 1;
        } else if (length == 0 && is_one(values, at)) {
            add_number(values, at, 1, 1, true);
        } else if (length == 0 && values->tokens[at].kind == TOKEN_WORD) {
            const struct lexeme *word = number_word(values, at, &length);
            if (word != NULL && strcmp(word->first, "order") == 0) {
                add_ordinal(values, at, at + length, word->number);
            }
        }
    }
    join_spans(values);
}
