/* A day for two parameters that are the ends of a range: "list events tomorrow" is the whole day,
 * "since Monday" has no end. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "choose/fill-parts.h"
#include "choose/render.h"

/* Days after which a day of the week comes again. */
#define WEEK 7

enum side { SIDE_BOTH, SIDE_START, SIDE_END };

/* Whether the text has a word at a token, or Chinese characters from it on. */
static bool is_text(const struct values *values, size_t at, const char *word) {
    size_t length = strlen(word);
    size_t start = at < values->token_count ? values->tokens[at].start : values->length;
    bool same =
            values->length - start >= length && memcmp(values->lower + start, word, length) == 0;
    return same && (values->tokens[at].kind == TOKEN_HAN ||
                    values->tokens[at].end - values->tokens[at].start == length);
}

static bool is_one_of(const struct values *values, size_t at, const char *const *words) {
    for (size_t i = 0; words[i] != NULL; i++) {
        if (is_text(values, at, words[i])) {
            return true;
        }
    }
    return false;
}

/* Of which end a day is by the words before and behind it. */
static enum side side_of(const struct values *values, const struct value *day) {
    static const char *const starts[] = {"since", "from", "after", "starting", "从", "自", NULL};
    static const char *const ends[] = {"until",   "till", "before", "by", "to",
                                       "through", "到",   "至",     NULL};
    static const char *const starts_behind[] = {"之后", "以后",    "以来", "起",
                                                "后",   "onwards", NULL};
    static const char *const ends_behind[] = {"之前", "以前", "为止", "前", NULL};
    size_t before = day->first - 1u;
    if ((day->first > 0 && is_one_of(values, before, starts)) ||
        is_one_of(values, day->last, starts_behind)) {
        return SIDE_START;
    }
    if ((day->first > 0 && is_one_of(values, before, ends)) ||
        is_one_of(values, day->last, ends_behind)) {
        return SIDE_END;
    }
    return SIDE_BOTH;
}

/* "Since Monday" is the last Monday: a day of the week to come has not been yet. */
static bool is_since(const struct values *values, const struct value *day) {
    static const char *const words[] = {"since", NULL};
    static const char *const behind[] = {"以来", NULL};
    bool since = (day->first > 0 && is_one_of(values, day->first - 1u, words)) ||
                 is_one_of(values, day->last, behind);
    int64_t days = value_days(&day->time) - value_days(&values->now);
    return since && values->now.has_year && days > 0 && days <= WEEK;
}

/* The day that a parameter has, without a clock; NULL: none. */
static const struct value *day_of(const struct fill *fill, size_t p) {
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = &state->kept[state->at];
    if (!state->filled || state->source != ARGUMENTS_FROM_TEXT || kept->form != FORM_PLAIN ||
        !fill_is_value(kept)) {
        return NULL;
    }
    const struct value *value = &fill->values->list[kept->index];
    bool day = value->kind == VALUE_DATE && value->time.has_day && !value->time.has_clock;
    return day ? value : NULL;
}

/* Whether a parameter is an end of a range of days that may be left out. */
static bool is_end(const struct parameter *parameter, enum role role) {
    return parameter->role == role && !parameter->must && parameter->type == PARAMETER_STRING &&
           (parameter->hint == HINT_DATE || parameter->hint == HINT_MOMENT);
}

/* The other end: of the same object. */
static size_t other_end(const struct fill *fill, size_t p, enum role role) {
    const char *pointer = fill->parameters.list[p].pointer;
    size_t length = (size_t)(strrchr(pointer, '/') - pointer);
    for (size_t q = 0; q < fill->parameters.count; q++) {
        const char *other = fill->parameters.list[q].pointer;
        if (is_end(&fill->parameters.list[q], role) &&
            (size_t)(strrchr(other, '/') - other) == length &&
            strncmp(other, pointer, length) == 0) {
            return q;
        }
    }
    return fill->parameters.count;
}

static void set_day(struct fill *fill, size_t p, const struct kept *kept, const struct value *day) {
    struct choice_state *state = &fill->states[p];
    struct kept copy = *kept;
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    bool good = render_day(fill->values, &fill->parameters.list[p], day, &json) && !json.failed;
    const char *text = good ? arena_copy(&fill->arena, json.data, json.length) : NULL;
    if (text != NULL && fill_is_valid(&fill->parameters.list[p], text, NULL)) {
        fill_take(state, ARGUMENTS_FROM_TEXT, text, NULL, NULL);
        copy.form = FORM_PLAIN;
        state->kept[0] = copy;
    }
}

static void leave_out(struct choice_state *state) {
    state->filled = false;
    state->json = NULL;
}

static void fill_range(struct fill *fill, size_t start, size_t end) {
    const struct value *first = day_of(fill, start);
    const struct value *last = day_of(fill, end);
    struct choice_state *states = fill->states;
    const struct kept *kept = first != NULL ? &states[start].kept[states[start].at]
                                            : &states[end].kept[states[end].at];
    if (first != NULL && last != NULL) {
        struct value later = *last;
        int64_t days = value_days(&first->time) - value_days(&last->time);
        value_add_days(&later.time, days > 0 && days < WEEK ? WEEK : 0);
        set_day(fill, start, kept, first);
        set_day(fill, end, &states[end].kept[states[end].at], &later);
        return;
    }
    const struct value *day = first != NULL ? first : last;
    bool other = first != NULL ? states[end].filled : states[start].filled;
    if (day == NULL || other) {
        return;
    }
    enum side side = side_of(fill->values, day);
    const struct kept had = *kept;
    struct value past = *day;
    if (is_since(fill->values, day)) {
        value_add_days(&past.time, -WEEK);
    }
    if (side != SIDE_END) {
        set_day(fill, start, &had, &past);
    }
    if (side != SIDE_START) {
        set_day(fill, end, &had, day);
    }
    if (side == SIDE_START && last != NULL) {
        leave_out(&states[end]);
    } else if (side == SIDE_END && first != NULL) {
        leave_out(&states[start]);
    }
}

void fill_ranges(struct fill *fill) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        if (is_end(&fill->parameters.list[p], ROLE_START)) {
            size_t end = other_end(fill, p, ROLE_END);
            if (end < fill->parameters.count) {
                fill_range(fill, p, end);
            }
        }
    }
}
