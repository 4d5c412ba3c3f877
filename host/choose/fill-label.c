/* Texts that stand behind the name of their parameter: "with subject Hi and body call me tomorrow".
 *
 * Such a text goes to the next name, or to the end of the sentence, whatever words it has; so the
 * other parameters are not to take any of them. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "choose/fill-parts.h"

/* Most names in one sentence, and tokens of a text behind one. */
#define NAMED_MAX        8u
#define NAMED_TOKENS_MAX 60u

/* A name of a parameter in the text. */
struct named {
    size_t parameter;
    size_t before; /* tokens: what joins it to what stands before begins here */
    size_t end;    /* and its value here */
    bool with;     /* it is joined with "with" or the like */
};

/* Whether words may be a text of the parameter. */
static bool takes_words(const struct parameter *parameter) {
    bool texts = parameter->type == PARAMETER_ARRAY && !parameter->numbers;
    return (parameter->type == PARAMETER_STRING || texts) && parameter->regex == REGEX_NONE &&
           parameter->array == 0 && parameter->piece == 0 &&
           (parameter->hint == HINT_NONE || parameter->hint == HINT_TEXT ||
            parameter->hint == HINT_TITLE);
}

/* The parameter whose whole name stands at a token, and that alone; parameters.count: none. */
static size_t parameter_at(const struct fill *fill, size_t at, size_t *ret_end) {
    const struct values *values = fill->values;
    size_t found = fill->parameters.count;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct parameter *parameter = &fill->parameters.list[p];
        bool same = parameter->name_count > 0 && at + parameter->name_count < values->token_count;
        for (size_t i = 0; same && i < parameter->name_count; i++) {
            same = values->tokens[at + i].kind == TOKEN_WORD &&
                   token_alike(&values->tokens[at + i], &parameter->tokens[i]) == 2;
        }
        if (same && found < fill->parameters.count) {
            return fill->parameters.count;
        }
        if (same) {
            found = p;
            *ret_end = at + parameter->name_count;
        }
    }
    return found;
}

/* Whether a name of a parameter begins at a token behind "with", "and" or a comma. */
static bool read_name(const struct fill *fill, size_t at, struct named *ret) {
    const struct token *tokens = fill->values->tokens;
    size_t before = at;
    *ret = (struct named){0};
    ret->parameter = parameter_at(fill, at, &ret->end);
    if (ret->parameter == fill->parameters.count || tokens[at].cue == CUE_VERB) {
        return false;
    }
    while (before > 0 && tokens[before - 1].cue == CUE_DETERMINER) {
        before--;
    }
    ret->before = before;
    while (ret->before > 0 &&
           (tokens[ret->before - 1].cue == CUE_WITH || tokens[ret->before - 1].cue == CUE_AND ||
            value_is_sign(fill->values, ret->before - 1, ','))) {
        ret->with = ret->with || tokens[ret->before - 1].cue == CUE_WITH;
        ret->before--;
    }
    bool is = tokens[ret->end].cue == CUE_IS || value_is_sign(fill->values, ret->end, ':');
    ret->end += is;
    return ret->before < before && ret->end < fill->values->token_count;
}

static bool ends_sentence(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    bool stop = token->kind == TOKEN_SIGN && (token->sign == '.' || token->sign == '!' ||
                                              token->sign == '?' || token->sign == ';');
    return stop && (at + 1 == values->token_count || values->tokens[at + 1].space);
}

/* What is marked off by itself inside of words: it needs no name to be found. NULL: nothing is. */
static const struct value *find_marked(const struct values *values, size_t first, size_t last) {
    const uint32_t kinds = VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_JSON) |
                           VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_PATH);
    for (size_t v = 0; v < values->solid_count; v++) {
        const struct value *value = &values->list[v];
        if ((VALUE_BIT(value->kind) & kinds) != 0 && value->first < last && first < value->last) {
            return value;
        }
    }
    return NULL;
}

/* Where a text ends of which words at the end are for another parameter: "to bob@example.com". As
 * much as `first`: it is none. */
static size_t end_of(const struct values *values, size_t first, size_t last) {
    const struct value *marked = find_marked(values, first, last);
    if (marked != NULL) {
        const uint8_t cue =
                marked->first > first ? values->tokens[marked->first - 1].cue : CUE_NONE;
        bool joined = cue == CUE_TO || cue == CUE_FROM || cue == CUE_FOR || cue == CUE_IN ||
                      cue == CUE_ON;
        last = joined ? marked->first - 1u : first;
    }
    while (last > first && value_is_sign(values, last - 1, ',')) {
        last--;
    }
    return last;
}

static bool is_between(const struct values *values, size_t at) {
    return values->tokens[at].cue == CUE_AND || value_is_sign(values, at, ',');
}

/* Words as a text, or for an array as the texts that "and" and commas divide. */
static void add_json(const struct values *values, bool array, size_t first, size_t last,
                     struct buf *out) {
    const struct token *tokens = values->tokens;
    size_t count = 0;
    buf_add_text(out, array ? "[" : "");
    for (size_t at = first; at < last;) {
        size_t end = array ? at : last;
        while (end < last && !is_between(values, end)) {
            end++;
        }
        if (end > at) {
            buf_add_text(out, count++ > 0 ? "," : "");
            buf_add_json_string(out, values->text + tokens[at].start,
                                tokens[end - 1].end - tokens[at].start);
        }
        at = end + 1;
    }
    buf_add_text(out, array ? "]" : "");
}

/* Take what stands behind a name, up to `last`. */
static void take_named(struct fill *fill, const struct named *named, size_t last) {
    const struct parameter *parameter = &fill->parameters.list[named->parameter];
    const struct values *values = fill->values;
    const struct token *first = &values->tokens[named->end];
    struct choice_state *state = &fill->states[named->parameter];
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    last = end_of(values, named->end, last);
    bool words =
            last > named->end && last - named->end <= NAMED_TOKENS_MAX &&
            first->kind != TOKEN_SIGN &&
            (first->cue == CUE_NONE || first->cue == CUE_VERB || first->cue == CUE_DETERMINER ||
             first->cue == CUE_PRONOUN || first->cue == CUE_POLITE);
    if (!words || !takes_words(parameter)) {
        return;
    }
    add_json(values, parameter->type == PARAMETER_ARRAY, named->end, last, &json);
    const char *copy = json.failed ? NULL : arena_copy(&fill->arena, json.data, json.length);
    if (copy != NULL && fill_is_valid(parameter, copy, NULL)) {
        fill_take(state, ARGUMENTS_FROM_TEXT, copy, NULL, NULL);
        state->kept[0].first = (uint16_t)named->end;
        state->kept[0].last = (uint16_t)last;
        memset(fill->used + named->end, FILL_USED, last - named->end);
    }
}

/* The names in the sentence that begins at a token. @return where it ends */
static size_t read_sentence(struct fill *fill, size_t at) {
    const struct values *values = fill->values;
    struct named found[NAMED_MAX];
    size_t count = 0;
    for (; at < values->token_count && !ends_sentence(values, at); at++) {
        const struct token *token = &values->tokens[at];
        if (!token->user || !token->open || token->turn != 0) {
            continue;
        }
        if (count < NAMED_MAX && read_name(fill, at, &found[count])) {
            at = found[count++].end - 1;
        }
    }
    size_t first = 0;
    while (first < count && !found[first].with) {
        first++;
    }
    /* One name alone says little: "with" may join any words. */
    for (size_t i = first; i < count && count - first > 1; i++) {
        take_named(fill, &found[i], i + 1 < count ? found[i + 1].before : at);
    }
    return at + 1;
}

void fill_labels(struct fill *fill) {
    for (size_t at = 0; at < fill->values->token_count;) {
        at = read_sentence(fill, at);
    }
}
