/* What the text says for a parameter that may be left out, and is not understood: "on Christmas",
 * "until Ramadan", "in the attic" where the rooms are a list without it, "priority: extreme". A
 * call without it would do something else than what is asked. */
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "choose/fill-result.h"
#include "choose/lexeme.h"

/* Bytes of a phrase that are shown. */
#define UNREAD_SHOWN_MAX 60u

/* Longest name of a room, in bytes. */
#define ROOM_MAX 64u

/* Tokens of the text. */
struct phrase {
    size_t first;
    size_t last; /* first: there is none */
};

static bool is_text(const struct values *values, size_t at, const char *text) {
    size_t length = strlen(text);
    size_t start = at < values->token_count ? values->tokens[at].start : values->length;
    bool same =
            values->length - start >= length && memcmp(values->lower + start, text, length) == 0;
    return same && (values->tokens[at].kind == TOKEN_HAN || start + length == values->length ||
                    !ascii_is_alnum(values->lower[start + length]));
}

static bool is_open(const struct values *values, size_t at) {
    return values->tokens[at].user && values->tokens[at].open;
}

/* Whether some parameter has a word of the text. */
static bool is_taken(const struct fill *fill, size_t at) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct choice_state *state = &fill->states[p];
        const struct kept *kept = &state->kept[state->at];
        if (state->filled && kept->first <= at && at < kept->last) {
            return true;
        }
    }
    return value_covering(fill->values, at, VALUE_BIT(VALUE_QUOTED)) != NULL;
}

/* ------------------------------------------------------------------------- days */

/* How many tokens are a holiday, whose day the calendar does not have; 0: none begins here. */
static size_t holiday_at(const struct values *values, size_t at) {
    size_t length = 0;
    const struct lexeme *lexeme = token_lexeme(values->lower, values->tokens, values->token_count,
                                               at, LEXEME_THINGS, &length);
    return lexeme != NULL && strcmp(lexeme->first, "holiday") == 0 ? length : 0;
}

/* Whether a day follows a word: on, until, before. */
static bool opens_day(const struct values *values, size_t at) {
    static const char *const words[] = {"on",    "at",    "by",   "until", "till",  "before",
                                        "after", "since", "over", "from",  "during"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (is_text(values, at, words[i])) {
            return true;
        }
    }
    return false;
}

/* A word that only a time follows, before a name. */
static bool opens_time(const struct values *values, size_t at) {
    return is_text(values, at, "until") || is_text(values, at, "till") ||
           is_text(values, at, "since");
}

static struct phrase find_day(const struct fill *fill) {
    const uint32_t times = VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT) |
                           VALUE_BIT(VALUE_DURATION) | VALUE_BIT(VALUE_QUANTITY);
    const struct values *values = fill->values;
    for (size_t t = 0; t < values->token_count; t++) {
        const struct token *token = &values->tokens[t];
        if (!is_open(values, t) || is_taken(fill, t)) {
            continue;
        }
        const struct value *time = value_covering(values, t, times);
        if (time != NULL && time->time.doubt != DOUBT_NONE) {
            return (struct phrase){.first = time->first, .last = time->last};
        }
        size_t size = holiday_at(values, t);
        bool behind = t > 0 && opens_day(values, t - 1);
        if (size > 0 && (behind || token->kind == TOKEN_HAN)) {
            return (struct phrase){.first = t, .last = t + size};
        }
        if (t > 0 && opens_time(values, t - 1) && token->kind == TOKEN_WORD && token->capital &&
            token->cue == CUE_NONE && time == NULL) {
            return (struct phrase){.first = t, .last = t + 1};
        }
    }
    return (struct phrase){0};
}

/* Whether some parameter has a day: what is left is then of something else. */
static bool has_day(const struct fill *fill) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const uint8_t hint = fill->parameters.list[p].hint;
        if (fill->states[p].filled && (hint == HINT_DATE || hint == HINT_MOMENT)) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------------- choices */

/* Whether the choices of a parameter are rooms. */
static bool has_rooms(const struct parameter *parameter) {
    for (size_t i = 0; i < parameter->choice_count; i++) {
        const struct parameter_text *choice = &parameter->choices[i];
        char lower[ROOM_MAX];
        for (size_t k = 0; k < choice->length && k < sizeof lower; k++) {
            lower[k] = choice->text[k] == '_' ? ' ' : ascii_lower(choice->text[k]);
        }
        const struct lexeme *lexeme = choice->length < sizeof lower
                                              ? lexeme_of(LEXEME_THINGS, lower, choice->length)
                                              : NULL;
        if (lexeme != NULL && strcmp(lexeme->first, "room") == 0) {
            return true;
        }
    }
    return false;
}

/* "in the attic". */
static struct phrase find_room(const struct fill *fill, const struct parameter *parameter) {
    const struct values *values = fill->values;
    for (size_t v = 0; v < values->solid_count; v++) {
        const struct value *value = &values->list[v];
        size_t before = value->first;
        while (before > 0 && values->tokens[before - 1].cue == CUE_DETERMINER) {
            before--;
        }
        if (value->kind == VALUE_ROOM && before > 0 && values->tokens[before - 1].cue == CUE_IN &&
            is_open(values, value->first) && has_rooms(parameter)) {
            return (struct phrase){.first = value->first, .last = value->last};
        }
    }
    return (struct phrase){0};
}

/* "priority: extreme", "set the priority to extreme": behind the name, and what joins it. */
static struct phrase find_named(const struct fill *fill, size_t p) {
    const struct values *values = fill->values;
    const struct parameter *parameter = &fill->parameters.list[p];
    for (size_t t = 0; t + 2 < values->token_count; t++) {
        bool own = parameter->name_count == 1 &&
                   values->tokens[t].word == parameter->tokens[0].word &&
                   values->tokens[t].kind == TOKEN_WORD && is_open(values, t);
        bool joined = value_is_sign(values, t + 1, ':') || value_is_sign(values, t + 1, '=') ||
                      is_text(values, t + 1, "to");
        const struct token *said = &values->tokens[t + 2];
        if (own && joined && said->kind == TOKEN_WORD && said->cue == CUE_NONE &&
            !is_taken(fill, t + 2)) {
            return (struct phrase){.first = t + 2, .last = t + 3};
        }
    }
    return (struct phrase){0};
}

/* -------------------------------------------------------------------- together */

static bool add_unread(struct fill *fill, struct result *result, const struct parameter *parameter,
                       const struct phrase *phrase) {
    const struct values *values = fill->values;
    const char *text = values->text + values->tokens[phrase->first].start;
    size_t length = values->tokens[phrase->last - 1].end - values->tokens[phrase->first].start;
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    bool day = parameter->type == PARAMETER_STRING;
    buf_add_text(&reason, values->chinese ? "“" : "\"");
    text_add_cut(&reason, text, length, UNREAD_SHOWN_MAX);
    buf_add_text(&reason, values->chinese && day ? "”不能确定是哪一天"
                          : values->chinese      ? "”不在可选值之中"
                          : day                  ? "\" does not say which day it is"
                                                 : "\" is none of its values");
    buf_add_json_string(&json, text, length);
    return !reason.failed && !json.failed &&
           fill_add_invalid(fill, result, parameter->pointer, json.data, reason.data);
}

bool fill_find_unread(struct fill *fill, struct result *result) {
    bool dated = has_day(fill);
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        struct phrase phrase = {0};
        if (fill->states[p].filled || parameter->must || parameter->array > 0) {
            continue;
        }
        if (!dated && parameter->type == PARAMETER_STRING &&
            (parameter->hint == HINT_DATE || parameter->hint == HINT_MOMENT)) {
            phrase = find_day(fill);
            dated = true; /* one is enough to ask */
        } else if (parameter->type == PARAMETER_CHOICE) {
            phrase = find_room(fill, parameter);
            phrase = phrase.last > phrase.first ? phrase : find_named(fill, p);
        }
        if (phrase.last > phrase.first && !add_unread(fill, result, parameter, &phrase)) {
            return false;
        }
    }
    return true;
}
