/* The two clocks of a range: "next Tuesday from 3pm to 4pm", 上午十点到十一点. What one of them
 * says of the day, and of the half of the day, holds for both. */
#include <string.h>

#include "base/ascii.h"
#include "choose/values-parts.h"

/* Hours of half a day. */
#define HALF 12

static bool is_text(const struct values *values, size_t at, const char *word) {
    const struct token *token = &values->tokens[at];
    return at < values->token_count && token->end - token->start == strlen(word) &&
           memcmp(values->lower + token->start, word, strlen(word)) == 0;
}

/* Whether "between" stands before the first clock, so that "and" is before the second. */
static bool is_between(const struct values *values, size_t first) {
    return first > 0 && is_text(values, first - 1, "between");
}

/* The end of what joins two clocks: to, until, 到, "-"; `at`: nothing does. */
static size_t joint_end(const struct values *values, size_t at, bool between) {
    static const char *const words[] = {"to", "until", "till", "through", "到",
                                        "至", "-",     "–",    "~"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (is_text(values, at, words[i])) {
            return at + 1;
        }
    }
    return between && is_text(values, at, "and") ? at + 1 : at;
}

static struct value *clock_at(struct values *values, size_t at) {
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->list[i];
        if (value->first == at && (value->kind == VALUE_TIME || value->kind == VALUE_MOMENT)) {
            return value;
        }
    }
    return NULL;
}

/* The day that ends at a token: "Tuesday" in "Tuesday from 2 to 3pm". NULL: none. */
static struct value *day_before(struct values *values, size_t at) {
    for (size_t i = 0; i < values->count; i++) {
        struct value *value = &values->list[i];
        if (value->last == at && value->kind == VALUE_DATE && value->time.has_day) {
            return value;
        }
    }
    return NULL;
}

static void set_day(struct value *value, const struct value *from, bool next) {
    struct value_time time = from->time;
    time.hour = value->time.hour;
    time.minute = value->time.minute;
    time.second = value->time.second;
    time.has_clock = true;
    value->kind = VALUE_MOMENT;
    value->time = time;
    if (next) {
        value_add_days(&value->time, 1);
    }
}

/* "from 2 to 3pm": the first is a number alone. */
static void add_bare(struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    size_t size = token->end - token->start;
    int hour = 0;
    bool opened = at > 0 && (is_text(values, at - 1, "from") || is_between(values, at));
    for (size_t i = token->start; i < token->end; i++) {
        hour = ascii_is_digit(values->text[i]) && hour < 100 ? hour * 10 + (values->text[i] - '0')
                                                             : 100;
    }
    size_t joint = joint_end(values, at + 1, is_between(values, at));
    const struct value *last = joint > at + 1 ? clock_at(values, joint) : NULL;
    if (!opened || size > 2 || hour > HALF || hour < 1 || last == NULL) {
        return;
    }
    struct value *day = day_before(values, at - 1);
    struct value_time time = {.has_clock = true};
    time.hour = (int8_t)(hour + (hour + HALF < last->time.hour ? HALF : 0));
    if (day != NULL) {
        day->kind = VALUE_MOMENT;
        day->time.hour = time.hour;
        day->time.has_clock = true;
        day->last = (uint16_t)(at + 1);
        day->end = (uint32_t)token->end;
        return;
    }
    struct value *value = value_add(values, VALUE_TIME, at, at + 1);
    if (value != NULL) {
        value->time = time;
    }
}

/* 下午两点到三点: the half of the day is that of the first. */
static void follow(const struct value *first, struct value *last) {
    int clock = first->time.hour * 60 + first->time.minute;
    int later = last->time.hour * 60 + last->time.minute;
    if (later < clock && last->time.hour <= HALF && later + HALF * 60 > clock &&
        later + HALF * 60 < 2 * HALF * 60) {
        last->time.hour = (int8_t)(last->time.hour + HALF);
    }
}

/* Whether the clock of a moment is before its day: "4pm on Friday". */
static bool is_clock_first(const struct values *values, const struct value *value) {
    return values->tokens[value->first].kind == TOKEN_NUMBER;
}

void value_join_hours(struct values *values) {
    for (size_t t = 1; t + 2 < values->token_count; t++) {
        if (values->tokens[t].kind == TOKEN_NUMBER && clock_at(values, t) == NULL) {
            add_bare(values, t);
        }
    }
    size_t count = values->count;
    for (size_t i = 0; i < count; i++) {
        struct value *first = &values->list[i];
        if (first->kind != VALUE_TIME && first->kind != VALUE_MOMENT) {
            continue;
        }
        size_t joint = joint_end(values, first->last, is_between(values, first->first));
        struct value *last = joint > first->last ? clock_at(values, joint) : NULL;
        if (last == NULL || !first->time.has_clock || !last->time.has_clock) {
            continue;
        }
        if (last->kind == VALUE_TIME) {
            follow(first, last);
        }
        bool night = last->time.hour < first->time.hour;
        if (first->kind == VALUE_MOMENT && last->kind == VALUE_TIME && first->time.has_day) {
            set_day(last, first, night);
        } else if (first->kind == VALUE_TIME && last->kind == VALUE_MOMENT && last->time.has_day &&
                   is_clock_first(values, last)) {
            set_day(first, last, false);
        }
    }
}
