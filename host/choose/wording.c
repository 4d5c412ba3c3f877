#include "choose/wording.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "choose/actions.h"
#include "choose/intent.h"
#include "choose/turns.h"
#include "choose/values-parts.h"
#include "choose/words.h"

/* What an arithmetic expression stands for, an amount of one currency beside another, a time of one
 * place where that of another is asked for, and a quotation in which something is done. */
static const char expression_words[] = " calculate arithmetic expression";
static const char exchange_words[] = " convert currency amount";
static const char zones_words[] = " convert time zone";
static const char quoted_words[] = " match pattern text";

/* "里" and "中" behind a quotation. */
#define HAN_INSIDE 0x91ccu
#define HAN_MIDDLE 0x4e2du

/* Bytes of a text in which signs are looked for. */
#define LOOKED_MAX 65536u

/* A part of a text that is read from its begin. */
struct reader {
    const char *text;
    size_t length;
    size_t at;
};

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->length && reader->text[reader->at] == ' ') {
        reader->at++;
    }
}

static bool takes(struct reader *reader, const char *sign) {
    if (reader->at >= reader->length || reader->text[reader->at] != sign[0]) {
        return false;
    }
    size_t length = strlen(sign);
    bool is_there = reader->length - reader->at >= length &&
                    memcmp(reader->text + reader->at, sign, length) == 0;
    reader->at += is_there ? length : 0;
    return is_there;
}

/* A digit, or a point or comma between digits. */
static bool is_of_number(const struct reader *reader, size_t begin) {
    const char *next = reader->text + reader->at;
    return reader->at < reader->length &&
           (ascii_is_digit(next[0]) ||
            ((next[0] == '.' || next[0] == ',') && reader->at > begin &&
             reader->at + 1 < reader->length && ascii_is_digit(next[1])));
}

/* "17", "2.5", "1,000", with brackets around it. */
static bool take_number(struct reader *reader) {
    size_t begin;
    while (takes(reader, "(")) {
        skip_blanks(reader);
    }
    (void)takes(reader, "-");
    begin = reader->at;
    while (is_of_number(reader, begin)) {
        reader->at++;
    }
    if (reader->at == begin) {
        return false;
    }
    while (takes(reader, ")")) {
    }
    return true;
}

static bool takes_any(struct reader *reader, const char *const *signs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (takes(reader, signs[i])) {
            return true;
        }
    }
    return false;
}

/* English words in small or capital letters, and nothing that goes on behind them. */
static bool takes_words(struct reader *reader, const char *words) {
    if (reader->at >= reader->length || ascii_lower(reader->text[reader->at]) != words[0]) {
        return false;
    }
    size_t length = strlen(words);
    size_t end = reader->at + length;
    bool is_there =
            end <= reader->length && (end == reader->length || !ascii_is_letter(reader->text[end]));
    for (size_t i = 0; is_there && i < length; i++) {
        is_there = ascii_lower(reader->text[reader->at + i]) == words[i];
    }
    reader->at += is_there ? length : 0;
    return is_there;
}

static bool takes_any_words(struct reader *reader, const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (takes_words(reader, words[i])) {
            skip_blanks(reader);
            return true;
        }
    }
    return false;
}

/* "plus", "乘以", and "percent of". */
static bool take_operator_word(struct reader *reader) {
    static const char *const han[] = {"乘以", "乘", "除以", "加上", "加", "减去", "减"};
    static const char *const words[] = {"plus",       "minus",           "times", "multiplied by",
                                        "divided by", "to the power of", "modulo"};
    static const char *const parts[] = {"%", "percent", "per cent"};
    if (takes_any(reader, han, sizeof han / sizeof han[0])) {
        skip_blanks(reader);
        return true;
    }
    if (takes_any_words(reader, words, sizeof words / sizeof words[0])) {
        return true;
    }
    struct reader ahead = *reader;
    bool is_part = takes_any(&ahead, parts, sizeof parts / sizeof parts[0]);
    skip_blanks(&ahead);
    if (is_part && takes_words(&ahead, "of")) {
        skip_blanks(&ahead);
        *reader = ahead;
        return true;
    }
    return false;
}

/* Signs that a date, a range, a path and a size have too mean a calculation only with blanks around
 * them. */
static bool take_operator(struct reader *reader) {
    static const char *const always[] = {"**", "*", "+", "^", "\xc3\x97", "\xc3\xb7"};
    static const char *const apart[] = {"-", "/", "%", "x"};
    size_t before = reader->at;
    skip_blanks(reader);
    bool is_apart = reader->at > before;
    if (takes_any(reader, always, sizeof always / sizeof always[0])) {
        skip_blanks(reader);
        return true;
    }
    if (take_operator_word(reader)) {
        return true;
    }
    if (is_apart && takes_any(reader, apart, sizeof apart / sizeof apart[0])) {
        size_t after = reader->at;
        skip_blanks(reader);
        return reader->at > after;
    }
    return false;
}

/* Behind a number: "的平方根", "的10次方". */
static bool take_power(struct reader *reader) {
    static const char *const powers[] = {"的平方", "的立方", "的次方"};
    struct reader ahead = *reader;
    skip_blanks(&ahead);
    bool is_there = takes_any(&ahead, powers, sizeof powers / sizeof powers[0]) ||
                    (takes(&ahead, "的") && take_number(&ahead) && takes(&ahead, "次方"));
    *reader = is_there ? ahead : *reader;
    return is_there;
}

/* Before a number: "square root of", "sqrt(", "add 40 and". */
static bool take_function(struct reader *reader) {
    static const char *const functions[] = {"sqrt", "cbrt", "sin", "cos", "tan",
                                            "log",  "ln",   "exp", "abs"};
    static const char *const roots[] = {"square root of", "cube root of", "factorial of"};
    static const char *const verbs[] = {"add",        "sum of", "multiply",
                                        "product of", "divide", "subtract"};
    static const char *const links[] = {"and", "by", "to", "with", "from"};
    struct reader ahead = *reader;
    if (takes_any_words(&ahead, roots, sizeof roots / sizeof roots[0]) ||
        (takes_any_words(&ahead, functions, sizeof functions / sizeof functions[0]) &&
         ahead.at < ahead.length && ahead.text[ahead.at] == '(')) {
        *reader = ahead;
        return take_number(reader);
    }
    if (takes_any_words(&ahead, verbs, sizeof verbs / sizeof verbs[0]) && take_number(&ahead)) {
        skip_blanks(&ahead);
        *reader = ahead;
        return takes_any_words(reader, links, sizeof links / sizeof links[0]) &&
               take_number(reader);
    }
    return false;
}

/* A calculation that begins here: two numbers and more with operators between them, or what is to
 * be done with one. */
static bool take_expression(struct reader *reader) {
    bool is_one = take_function(reader);
    if (!is_one && (!ascii_is_digit(reader->text[reader->at]) || !take_number(reader))) {
        return false;
    }
    is_one = take_power(reader) || is_one;
    for (struct reader ahead = *reader; take_operator(&ahead) && take_number(&ahead);) {
        is_one = true;
        *reader = ahead;
    }
    return is_one;
}

/* Whether a word or a number could begin here. */
static bool begins(const char *text, size_t at) {
    return at == 0 || !(ascii_is_alnum(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '_');
}

/* What is looked at: the turns that count. */
struct sight {
    const char *text;
    size_t length;
    const struct values *values;
    struct turns turns;
    uint32_t least;
};

static bool sees(const struct sight *sight, size_t at) {
    return turns_weight(&sight->turns, at) >= sight->least;
}

/* The first calculation of a text. What was read as a number, or is not looked at, is not read
 * again. */
static bool find_expression(const struct sight *sight, size_t *ret_start, size_t *ret_end) {
    size_t length = sight->length < LOOKED_MAX ? sight->length : LOOKED_MAX;
    size_t read = 0;
    for (size_t at = 0; at < length; at++) {
        struct reader reader = {sight->text, length, at};
        if (at < read || !begins(sight->text, at)) {
            continue;
        }
        bool is_one = take_expression(&reader);
        if (is_one && sees(sight, at)) {
            *ret_start = at;
            *ret_end = reader.at;
            return true;
        }
        read = is_one || ascii_is_digit(sight->text[at]) ? reader.at : at;
    }
    return false;
}

/* Arithmetic in words over several numbers: "the average of 12 and 30", "add 3, 4 and 5". */
static bool find_told(const struct sight *sight, size_t *ret_start, size_t *ret_end) {
    const struct values *values = sight->values;
    for (size_t i = 0; i < values->solid_count; i++) {
        const struct value *value = &values->list[i];
        size_t numbers = 0;
        bool worded = false;
        for (size_t t = value->first; value->kind == VALUE_EXPRESSION && t < value->last; t++) {
            double number;
            bool whole;
            const bool han = values->tokens[t].kind == TOKEN_HAN;
            const size_t length = han ? value_read_number(values, t, &number, &whole) : 0;
            numbers += values->tokens[t].kind == TOKEN_NUMBER || length > 0;
            worded = worded || values->tokens[t].kind == TOKEN_WORD || han;
            t += length > 0 ? length - 1 : 0;
        }
        if (numbers > 1 && worded && !value->torn && sees(sight, value->start)) {
            *ret_start = value->start;
            *ret_end = value->end;
            return true;
        }
    }
    return false;
}

/* Without the signs that end a sentence: what is added belongs to it. */
static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && strchr(" \t\r\n.?!=", text[length - 1]) != NULL) {
        length--;
    }
    return length;
}

/* Two values of these kinds that differ, from the first to the last of such. */
static bool find_two(const struct sight *sight, uint32_t kinds, size_t *ret_start,
                     size_t *ret_end) {
    const struct value *first = NULL;
    bool is_other = false;
    for (size_t i = 0; i < sight->values->solid_count; i++) {
        const struct value *value = &sight->values->list[i];
        if ((VALUE_BIT(value->kind) & kinds) == 0 || value->lexeme == NULL ||
            !sees(sight, value->start)) {
            continue;
        }
        first = first == NULL ? value : first;
        if (strcmp(first->lexeme->first, value->lexeme->first) != 0) {
            *ret_start = first->start < value->start ? first->start : value->start;
            *ret_end = first->end > value->end ? first->end : value->end;
            is_other = true;
        }
    }
    return is_other;
}

static bool find_exchange(const struct sight *sight, size_t *ret_start, size_t *ret_end) {
    return find_two(sight, VALUE_BIT(VALUE_MONEY) | VALUE_BIT(VALUE_CURRENCY), ret_start, ret_end);
}

static bool has_any(const struct sight *sight, const char *const *words, size_t count) {
    const char *begin = sight->values->lower;
    const char *end = begin + sight->values->length;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(words[i]);
        const char *at = memmem(begin, (size_t)(end - begin), words[i], length);
        while (at != NULL && !sees(sight, (size_t)(at - begin))) {
            at += length;
            at = memmem(at, (size_t)(end - at), words[i], length);
        }
        if (at != NULL) {
            return true;
        }
    }
    return false;
}

/* A journey has a time and two places too: what is asked for must be a time. */
static bool find_zones(const struct sight *sight, size_t *ret_start, size_t *ret_end) {
    static const char *const asking[] = {"what time", "time zone", "convert", "local time",
                                         "几点",      "时区",      "换算",    "什么时间"};
    bool has_clock = false;
    for (size_t i = 0; i < sight->values->solid_count; i++) {
        const struct value *value = &sight->values->list[i];
        bool is_clock =
                value->kind == VALUE_TIME || (value->kind == VALUE_MOMENT && value->time.has_clock);
        has_clock = has_clock || (is_clock && sees(sight, value->start));
    }
    return has_clock && has_any(sight, asking, sizeof asking / sizeof asking[0]) &&
           find_two(sight, VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_ZONE), ret_start, ret_end);
}

/* "find all digits in 'a1b22'", "“我爱猫”里": something is looked for in a quotation. */
static bool find_quoted(const struct sight *sight, size_t *ret_start, size_t *ret_end) {
    const struct values *values = sight->values;
    static const char *const doing[] = {"find",    "search", "replace", "substitute",
                                        "extract", "match",  "查找",    "找出",
                                        "替换",    "换成",   "提取"};
    bool is_done = has_any(sight, doing, sizeof doing / sizeof doing[0]);
    for (size_t i = 0; is_done && i < values->solid_count; i++) {
        const struct value *value = &values->list[i];
        if (value->kind != VALUE_QUOTED || !sees(sight, value->start)) {
            continue;
        }
        size_t before = value->first;
        size_t behind = value->last;
        before -= before > 0 && values->tokens[before - 1].kind == TOKEN_SIGN;
        behind += behind < values->token_count && values->tokens[behind].kind == TOKEN_SIGN;
        *ret_start = value->start;
        *ret_end = value->end;
        if ((before > 0 && values->tokens[before - 1].cue == CUE_IN) ||
            value_is_sign(values, behind, HAN_INSIDE) ||
            value_is_sign(values, behind, HAN_MIDDLE)) {
            return true;
        }
    }
    return false;
}

/* The words that a text stands for without having them; NULL: none. */
static const char *find_words(const struct sight *sight, size_t *ret_start, size_t *ret_end) {
    return find_expression(sight, ret_start, ret_end) || find_told(sight, ret_start, ret_end)
                   ? expression_words
           : find_exchange(sight, ret_start, ret_end) ? exchange_words
           : find_zones(sight, ret_start, ret_end)    ? zones_words
           : find_quoted(sight, ret_start, ret_end)   ? quoted_words
                                                      : NULL;
}

/* Whether a word says something that is no value. */
static bool is_content(const struct values *values, const struct word *word) {
    bool says = !word->stop && word->kind != WORD_NUMBER && !word->quoted;
    for (size_t i = 0; says && i < values->solid_count; i++) {
        const struct value *value = &values->list[i];
        says = value->kind == VALUE_CHUNK || value->end <= word->start || word->end <= value->start;
    }
    return says;
}

/* Whether the wish that is open says what is to be done, with words that are no values. */
static int stands_alone(const struct sight *sight, bool *ret, struct toolrack_error *err) {
    CLEANUP(words_finish) struct words words = {0};
    struct label intent;
    bool has_content = false;
    bool is_again = false;
    size_t kept = 0;
    int code = words_read(sight->text, sight->length, &words, err);
    for (size_t i = 0; i < words.count; i++) {
        words.items[kept] = words.items[i];
        if (turns_weight(&sight->turns, words.items[i].start) == TURNS_ONE) {
            has_content = has_content || is_content(sight->values, &words.items[i]);
            kept++;
        }
    }
    words.count = kept;
    for (size_t i = 0; i < words.count; i++) {
        is_again = is_again || (actions_at(&words, i) & 1u << ACTION_AGAIN) != 0;
    }
    *ret = has_content && !is_again && intent_find(&words, &intent, 1) > 0;
    return code;
}

int wording_make(const char *text, size_t length, const struct values *values, struct wording *ret,
                 struct toolrack_error *err) {
    *ret = (struct wording){.text = text, .length = length, .said = length};
    struct sight sight = {.text = text, .length = length, .values = values};
    bool is_alone = true;
    turns_read(text, length, &sight.turns);
    int code = sight.turns.count > 0 ? stands_alone(&sight, &is_alone, err) : 0;
    if (code < 0) {
        return code;
    }
    sight.least = ret->least = is_alone ? TURNS_ONE : 1;
    const char *words = find_words(&sight, &ret->start, &ret->end);
    if (words == NULL) {
        return 0;
    }
    size_t said = trimmed(text, length);
    size_t added = strlen(words);
    char *memory = malloc(said + added + 1);
    if (memory == NULL) {
        return error_oom(err);
    }
    memcpy(memory, text, said);
    memcpy(memory + said, words, added + 1);
    ret->memory = memory;
    ret->text = memory;
    ret->said = said;
    ret->length = said + added;
    return 0;
}

void wording_finish(struct wording *wording) {
    free(wording->memory);
    *wording = (struct wording){0};
}

void wording_place(const struct wording *wording, size_t *start, size_t *end) {
    if (*end > wording->said) {
        *start = wording->start;
        *end = wording->end;
    }
}
