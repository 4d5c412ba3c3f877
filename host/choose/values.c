#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/object.h"
#include "choose/values-parts.h"

/* ------------------------------------------------------------------- dates */

/* Days since 1970-01-01 and back, by the algorithms of Howard Hinnant's "chrono-compatible
 * low-level date algorithms". */
int64_t value_days(const struct value_time *time) {
    int64_t year = time->year - (time->month <= 2);
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t month = time->month + (time->month > 2 ? -3 : 9);
    int64_t of_year = (153 * month + 2) / 5 + time->day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void set_days(struct value_time *time, int64_t days) {
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    time->day = (int8_t)(of_year - (153 * month + 2) / 5 + 1);
    time->month = (int8_t)(month < 10 ? month + 3 : month - 9);
    time->year = (int32_t)(year + era * 400 + (time->month <= 2));
}

void value_add_days(struct value_time *time, int64_t days) {
    set_days(time, value_days(time) + days);
}

static void set_now(struct values *values, const struct arguments_context *context) {
    if (context == NULL) {
        return;
    }
    values->context = *context;
    locale_read(context->locale, &values->locale);
    /* Beyond the years 1 to 9999 nothing is known. */
    if (!context->has_now || context->now_ms < -INT64_C(62135596800000) ||
        context->now_ms > INT64_C(253402300799999)) {
        return;
    }
    int64_t ms = context->now_ms + (int64_t)context->offset_minutes * 60000;
    int64_t seconds = (ms >= 0 ? ms : ms - 999) / 1000;
    int64_t days = (seconds >= 0 ? seconds : seconds - 86399) / 86400;
    int64_t rest = seconds - days * 86400;
    set_days(&values->now, days);
    values->now.hour = (int8_t)(rest / 3600);
    values->now.minute = (int8_t)(rest / 60 % 60);
    values->now.second = (int8_t)(rest % 60);
    values->now.has_year = values->now.has_day = values->now.has_clock = true;
}

/* --------------------------------------------------------------------- list */

struct value *value_add(struct values *values, enum value_kind kind, size_t first, size_t last) {
    if (values->count == VALUES_FOUND_MAX || first >= last || last > values->token_count) {
        return NULL;
    }
    struct value *value = &values->list[values->count++];
    *value = (struct value){.kind = (uint8_t)kind,
                            .first = (uint16_t)first,
                            .last = (uint16_t)last,
                            .start = values->tokens[first].start,
                            .end = values->tokens[last - 1].end};
    return value;
}

const struct value *value_covering(const struct values *values, size_t at, uint32_t kinds) {
    for (size_t i = 0; i < values->count; i++) {
        const struct value *value = &values->list[i];
        if ((VALUE_BIT(value->kind) & kinds) != 0 && value->first <= at && at < value->last) {
            return value;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ reading */

static bool allocate(struct values *values, size_t length) {
    values->lower = malloc(length + 1);
    values->tokens = calloc(VALUES_TOKENS_MAX + 1, sizeof *values->tokens);
    values->list = malloc(VALUES_FOUND_MAX * sizeof *values->list);
    values->items = malloc(VALUES_ITEMS_MAX * sizeof *values->items);
    return values->lower != NULL && values->tokens != NULL && values->list != NULL &&
           values->items != NULL;
}

static bool is_chinese(const struct values *values) {
    size_t han = 0;
    size_t words = 0;
    for (size_t i = 0; i < values->token_count; i++) {
        han += values->tokens[i].kind == TOKEN_HAN;
        words += values->tokens[i].kind == TOKEN_WORD;
    }
    return han > words;
}

/* Fewest words of which it can be said that all are in capitals. */
#define CAPITAL_WORDS_MIN 3u

/* Whether a word stands alone: those of addresses and paths are in lower case everywhere. */
static bool is_alone(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    bool joined = at + 1 < values->token_count && !token[1].space && token[1].kind == TOKEN_SIGN &&
                  token[1].sign < 0x80 && strchr("@./:", (int)token[1].sign) != NULL;
    return token->kind == TOKEN_WORD && token->space && !joined;
}

/* Whether all words of a run of tokens begin with capitals, small ones such as "the" and "to" too:
 * TURN ON THE LIGHTS, Turn On The Lights. */
static bool is_all_capitals(const struct values *values, size_t first, size_t last) {
    size_t words = 0;
    bool small = false;
    for (size_t i = first; i < last; i++) {
        const struct token *token = &values->tokens[i];
        if (is_alone(values, i) && token->end - token->start > 1) {
            if (!token->capital && ascii_is_letter(values->text[token->start])) {
                return false;
            }
            small = small || (words > 0 && token->cue != CUE_NONE);
            words++;
        }
    }
    return small && words >= CAPITAL_WORDS_MIN;
}

/* Capitals say nothing of a word where all words have them. */
static void ignore_capitals(struct values *values) {
    size_t last;
    for (size_t first = 0; first < values->token_count; first = last) {
        last = first + 1;
        while (last < values->token_count &&
               values->tokens[last].turn == values->tokens[first].turn &&
               values->tokens[last].user == values->tokens[first].user) {
            last++;
        }
        if (is_all_capitals(values, first, last)) {
            for (size_t i = first; i < last; i++) {
                values->tokens[i].capital = values->tokens[i].capitals = false;
            }
        }
    }
}

CLEANUP_DEFINE(struct values, values_destroy)

void value_tokens_in(const struct values *values, size_t start, size_t end, size_t *ret_first,
                     size_t *ret_last) {
    size_t first = 0;
    while (first < values->token_count && values->tokens[first].end <= start) {
        first++;
    }
    *ret_first = first;
    while (first < values->token_count && values->tokens[first].start < end) {
        first++;
    }
    *ret_last = first;
}

void value_tokens_said(const struct values *values, size_t start, size_t end, size_t *ret_first,
                       size_t *ret_last) {
    size_t first = 0;
    for (size_t beyond = values->token_count; first < beyond;) {
        size_t middle = first + (beyond - first) / 2;
        if (value_origin(values, values->tokens[middle].end) > start) {
            beyond = middle;
        } else {
            first = middle + 1;
        }
    }
    *ret_first = first;
    while (first < values->token_count && value_origin(values, values->tokens[first].start) < end) {
        first++;
    }
    *ret_last = first;
}

int values_read(const char *text, size_t length, const struct arguments_context *context,
                struct values **ret, struct toolrack_error *err) {
    CLEANUP(values_destroyp) struct values *values = calloc(1, sizeof *values);
    if (values == NULL) {
        return error_oom(err);
    }
    values->magic = VALUES_MAGIC;
    length = length < VALUES_TEXT_MAX ? length : VALUES_TEXT_MAX;
    if (!allocate(values, length)) {
        return error_oom(err);
    }
    values->said = text;
    if (!value_read_width(values, length)) {
        return error_oom(err);
    }
    ascii_copy_lower(values->lower, values->text, values->length);
    values->token_count = token_read(values->text, values->lower, values->length, values->tokens,
                                     VALUES_TOKENS_MAX);
    ignore_capitals(values);
    values->mentions = mentions_create(values->lower, values->tokens, values->token_count);
    if (values->mentions == NULL) {
        return error_oom(err);
    }
    values->chinese = is_chinese(values);
    set_now(values, context);

    value_find_context(values);
    value_find_texts(values);
    value_find_pieces(values);
    value_find_times(values);
    value_find_numbers(values);
    value_find_picks(values);
    value_find_expressions(values);
    value_find_terms(values);
    value_find_names(values);
    if (!value_find_secrets(values)) {
        return error_oom(err);
    }
    value_drop_replaced(values);
    value_find_lists(values);
    value_find_classes(values);
    values->solid_count = values->count;
    value_find_parts(values);
    *ret = STEAL(values);
    return 0;
}

bool values_hold(const struct values *values, uint32_t start, uint32_t end) {
    static const uint32_t loose = VALUE_BIT(VALUE_NAME) | VALUE_BIT(VALUE_CHUNK) |
                                  VALUE_BIT(VALUE_PART) | VALUE_BIT(VALUE_LIST) |
                                  VALUE_BIT(VALUE_ORDINAL);
    for (size_t i = 0; i < values->solid_count; i++) {
        const struct value *value = &values->list[i];
        if ((VALUE_BIT(value->kind) & loose) == 0 && value->start <= start && end <= value->end &&
            !value_is_class(value)) {
            return true;
        }
    }
    return false;
}

void values_destroy(struct values *values) {
    if (values == NULL) {
        return;
    }
    OBJECT_WIPE(values, VALUES_MAGIC);
    mentions_destroy(values->mentions);
    free(values->plain);
    free(values->origins);
    free(values->lower);
    free(values->tokens);
    free(values->list);
    free(values->items);
    free(values);
}
