/* How well the values of a text fit the parameters of a tool: what evaluate.c counts. */
#include <string.h>

#include "choose/fill-parts.h"

/* How far above leaving it out a value is that surely is the one of a required parameter. */
#define SURE_MARGIN (REQUIRED_BONUS + 100)

/* 一 and a measure word are what "a" is: no more is said than that there is a thing. */
static bool is_article(const struct values *values, const struct value *value) {
    return value->kind == VALUE_QUANTITY && strcmp(value->lexeme->first, "count") == 0 &&
           value_is_sign(values, value->first, 0x4e00) && value->number > 0 && value->number < 2;
}

/* Whether a value says something by itself: not every run of words does. */
static bool is_telling(const struct values *values, const struct value *value) {
    return !is_article(values, value) && value->kind != VALUE_CHUNK && value->kind != VALUE_NAME &&
           value->kind != VALUE_PART && value->kind != VALUE_LIST && !value_is_class(value);
}

/* Whether a value or a choice takes a word of the text. */
static bool is_taken(const struct fill *fill, size_t token) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct choice_state *state = &fill->states[p];
        const struct kept *kept = state->filled ? &state->kept[state->at] : NULL;
        if (kept != NULL && kept->first <= token && token < kept->last) {
            return true;
        }
    }
    return false;
}

/* Values may overlap, so that words are counted. */
static void count_taken(const struct fill *fill, struct arguments_fit *ret) {
    for (size_t i = 0; i < fill->values->token_count; i++) {
        if (fill->telling[i]) {
            bool taken = is_taken(fill, i);
            ret->taken += taken;
            ret->left += !taken && (i == 0 || !fill->telling[i - 1] || is_taken(fill, i - 1));
        }
    }
}

/* The kinds of values that are just what a hint is about: no other parameter wants them as much. */
static uint32_t kinds_of(enum hint hint) {
    switch (hint) {
    case HINT_DATE: return VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_MOMENT);
    case HINT_TIME: return VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT);
    case HINT_MOMENT: return VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_DATE);
    case HINT_DURATION: return VALUE_BIT(VALUE_DURATION);
    case HINT_ZONE:
        return VALUE_BIT(VALUE_ZONE) | VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_COUNTRY);
    case HINT_CURRENCY: return VALUE_BIT(VALUE_CURRENCY) | VALUE_BIT(VALUE_MONEY);
    case HINT_LANGUAGE: return VALUE_BIT(VALUE_LANGUAGE);
    case HINT_PLACE: return VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_COUNTRY);
    case HINT_COUNTRY: return VALUE_BIT(VALUE_COUNTRY);
    case HINT_URL: return VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_IP);
    case HINT_EMAIL: return VALUE_BIT(VALUE_EMAIL);
    case HINT_PATH: return VALUE_BIT(VALUE_PATH);
    case HINT_PHONE: return VALUE_BIT(VALUE_PHONE);
    case HINT_EXPRESSION: return VALUE_BIT(VALUE_EXPRESSION);
    case HINT_COLOR: return VALUE_BIT(VALUE_COLOR);
    default: return 0;
    }
}

/* Whether a parameter gets a value of just its kind. */
static bool is_of_kind(const struct fill *fill, size_t p) {
    const struct kept *kept = &fill->states[p].kept[fill->states[p].at];
    return !evidence_is_choice(kept->form) && (VALUE_BIT(fill->values->list[kept->index].kind) &
                                               kinds_of(fill->parameters.list[p].hint)) != 0;
}

/* Whether a parameter has a value of the wish that is open. */
static bool is_of_open(const struct fill *fill, size_t p) {
    const struct choice_state *state = &fill->states[p];
    const struct kept *kept = state->filled ? &state->kept[state->at] : NULL;
    return kept != NULL && kept->last > kept->first && fill->values->tokens[kept->first].open;
}

/* Whether the wish that is open has values, and the tool takes none of them. */
static bool is_past(const struct fill *fill) {
    bool has = false;
    for (size_t i = 0; i < fill->values->solid_count; i++) {
        const struct value *value = &fill->values->list[i];
        has = has || (is_telling(fill->values, value) && fill->values->tokens[value->first].open);
    }
    for (size_t p = 0; has && p < fill->parameters.count; p++) {
        has = !is_of_open(fill, p);
    }
    return has;
}

/* A place in the text that no parameter takes, marked as taken. */
static bool take_place(const struct fill *fill) {
    bool found = false;
    for (size_t i = 0; i < fill->values->solid_count; i++) {
        const struct value *value = &fill->values->list[i];
        if ((value->kind == VALUE_PLACE || value->kind == VALUE_COUNTRY) &&
            !is_taken(fill, value->first)) {
            memset(fill->telling + value->first, 0, (size_t)(value->last - value->first));
            found = true;
        }
    }
    return found;
}

/* Of a place its coordinates can be looked up, so that it says them as well as it can: the required
 * ones. */
static unsigned count_coordinates(const struct fill *fill, struct arguments_fit *ret) {
    unsigned count = 0;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        count += parameter->coordinate != WAY_NONE && parameter->must && !fill->states[p].filled;
    }
    ret->found += count;
    ret->named += count;
    ret->of_kind += count > 0;
    return count;
}

void fill_count_fit(const struct fill *fill, struct arguments_fit *ret) {
    double sum = 0;
    bool lacks = false;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        const struct choice_state *state = &fill->states[p];
        bool said = state->filled && state->kept[state->at].last > state->kept[state->at].first;
        lacks = lacks || (parameter->coordinate != WAY_NONE && !said);
        ret->required += parameter->must;
        ret->found += parameter->must && said;
        ret->sure += parameter->must && said && state->kept[state->at].margin > SURE_MARGIN;
        ret->named += said && state->kept[state->at].margin > 200;
        ret->of_kind += said && is_of_kind(fill, p);
        sum += parameter->must && state->filled ? 1 : 0;
        ret->open = ret->open || (said && is_of_open(fill, p) && is_of_kind(fill, p));
    }
    for (size_t i = 0; i < fill->values->solid_count; i++) {
        const struct value *value = &fill->values->list[i];
        if (is_telling(fill->values, value) && fill->values->tokens[value->first].open) {
            memset(fill->telling + value->first, 1, (size_t)(value->last - value->first));
        }
    }
    if (lacks && take_place(fill)) {
        sum += count_coordinates(fill, ret);
    }
    count_taken(fill, ret);
    ret->past = is_past(fill);
    ret->fit = ret->required > 0 ? sum / ret->required : 1;
}
