/* What is said for a candidate and against it where the public data has too little to fit a weight:
 * in hundredths, as the weights. */
#include <string.h>

#include "base/cleanup.h"
#include "choose/evidence-parts.h"
#include "choose/evidence.h"

/* "a=2", "port: 80": the name of the parameter and a sign before the value. */
static bool is_named_so(const struct values *values, const struct parameter *parameter,
                        size_t first) {
    return first >= 2 && parameter->name_count == 1 &&
           (value_is_sign(values, first - 1, '=') || value_is_sign(values, first - 1, ':')) &&
           values->tokens[first - 2].word == parameter->tokens[0].word;
}

/* Whether a day or a time is what another parameter wants. */
static bool is_time_of_another(const struct evidence *evidence, size_t p,
                               const struct value *value) {
    bool time =
            value->kind == VALUE_DATE || value->kind == VALUE_TIME || value->kind == VALUE_MOMENT;
    for (size_t q = 0; time && q < evidence->parameters->count; q++) {
        if (q != p && evidence_is_time_wanted(&evidence->parameters->list[q], value)) {
            return true;
        }
    }
    return false;
}

/* Whether words have a time that another parameter wants: "mom tomorrow" is no title. */
static bool has_time_of_another(const struct evidence *evidence, size_t p,
                                const struct value *value) {
    bool words = value->kind == VALUE_CHUNK || value->kind == VALUE_PART;
    for (size_t t = value->first; words && t < value->last; t++) {
        if (evidence->timed[t] != 0 && evidence->timed[t] != p + 1) {
            return true;
        }
    }
    return false;
}

/* Whether a time stands beside a place: "3 pm London time", 伦敦下午三点, "3pm in London". */
static bool is_beside_time(const struct values *values, const struct value *place) {
    const uint32_t times = VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT);
    size_t before = place->first;
    before -= before > 0 && values->tokens[before - 1].cue == CUE_IN;
    size_t after = place->last;
    after += value_is_sign(values, after, 0x65f6) && value_is_sign(values, after + 1, 0x95f4)
                     ? 2 /* 伦敦时间下午三点 */
                     : 0;
    return (before > 0 && value_covering(values, before - 1, times) != NULL) ||
           (after < values->token_count && value_covering(values, after, times) != NULL);
}

static bool has_start(const struct evidence *evidence) {
    for (size_t p = 0; p < evidence->parameters->count; p++) {
        const struct parameter *parameter = &evidence->parameters->list[p];
        if (parameter->type == PARAMETER_STRING && parameter->role == ROLE_START) {
            return true;
        }
    }
    return false;
}

/* 重命名 a 为 b: behind 为, with another value of its kind before, stands what it becomes. */
static bool is_behind_wei(const struct values *values, const struct value *value) {
    const uint32_t wei = 0x4e3a;
    if (value->first == 0 || !value_is_sign(values, value->first - 1, wei)) {
        return false;
    }
    for (size_t v = 0; v < values->solid_count; v++) {
        const struct value *other = &values->list[v];
        if (other->kind == value->kind && other->last + 1 == value->first) {
            return true;
        }
    }
    return false;
}

/* From what and to what: by the words before, and of time zones by the time beside one of them. */
static int32_t role_prior(const struct evidence *evidence, const struct parameter *parameter,
                          const struct value *value) {
    const struct values *values = evidence->values;
    enum cue cue = evidence_cue_before(values, value->first);
    bool start = cue == CUE_FROM || (value->kind == VALUE_MONEY && cue != CUE_TO);
    bool end = cue == CUE_TO || is_behind_wei(values, value);
    if (!start && !end && parameter->hint == HINT_ZONE) {
        start = is_beside_time(values, value);
        for (size_t v = 0; !start && !end && v < values->solid_count; v++) {
            const struct value *other = &values->list[v];
            end = (other->kind == VALUE_PLACE || other->kind == VALUE_COUNTRY) &&
                  other->first != value->first && is_beside_time(values, other);
        }
    }
    int32_t size = PRIOR_ROLE;
    if (!start && !end && (cue == CUE_WITH || cue == CUE_BY) && has_start(evidence)) {
        end = true; /* replace it by that */
        size = PRIOR_ROLE / 2;
    }
    return !start && !end ? 0 : (parameter->role == ROLE_START) == start ? size : -size;
}

/* "find 'b' in 'abc'": the text that something is looked for in is behind "in". */
static int32_t inside_prior(const struct evidence *evidence, const struct parameter *parameter,
                            const struct value *value) {
    bool text = parameter->name_count == 1 && parameter->hint == HINT_TEXT &&
                parameter->role == ROLE_NONE;
    if (!evidence->inside || evidence->parameters->count < 2) {
        return 0;
    }
    bool in = value->kind == VALUE_QUOTED &&
              evidence_cue_before(evidence->values, value->first) == CUE_IN;
    return text == in ? PRIOR_INSIDE : -PRIOR_INSIDE;
}

/* Words that are the name of a truth are no value of another parameter. */
static bool is_name_of_truth(const struct evidence *evidence, size_t p, const struct value *value) {
    bool words =
            value->kind == VALUE_CHUNK || value->kind == VALUE_PART || value->kind == VALUE_NAME;
    words = words && evidence->has_truth;
    for (size_t q = 0; words && q < evidence->parameters->count; q++) {
        const uint8_t *names = evidence->names + q * evidence->values->token_count;
        if (q != p && evidence->parameters->list[q].type == PARAMETER_BOOLEAN &&
            evidence_share(names, value->first, value->last) >= 2) {
            return true;
        }
    }
    return false;
}

/* What is replaced stands before what replaces it, and is not behind "by". */
static int32_t class_prior(const struct evidence *evidence, const struct parameter *parameter,
                           const struct value *value) {
    enum cue cue = evidence_cue_before(evidence->values, value->first);
    bool replaces = cue == CUE_WITH || cue == CUE_BY || cue == CUE_TO || cue == CUE_FOR;
    bool good = evidence_has_class(evidence) && !evidence->values->classes_unclear;
    return good && replaces == (parameter->regex == REGEX_REPLACEMENT) ? PRIOR_CLASS
                                                                       : -2 * PRIOR_CLASS;
}

/* "all digits from 'abc'": the quoted text is searched, the class is the pattern. */
static bool is_searched(const struct evidence *evidence, const struct parameter *parameter,
                        const struct value *value) {
    enum cue cue = evidence_cue_before(evidence->values, value->first);
    return parameter->regex == REGEX_PATTERN && (cue == CUE_FROM || cue == CUE_IN) &&
           evidence_has_class(evidence);
}

/* Whether words that name a class of characters would be another text of a tool with a pattern. */
static bool is_name_of_class(const struct evidence *evidence, const struct parameter *parameter,
                             const struct value *value) {
    const struct values *values = evidence->values;
    bool words =
            value->kind == VALUE_CHUNK || value->kind == VALUE_PART || value->kind == VALUE_NAME;
    for (size_t i = 1; words && evidence->has_regex && i <= values->class_count; i++) {
        const struct value *named = &values->list[values->solid_count - i];
        if (parameter->regex == REGEX_NONE && value->first < named->last &&
            named->first < value->last) {
            return evidence_has_class(evidence);
        }
    }
    return false;
}

/* Whether a number is one of things: "5", 5条; "5 kg" and "5 dollars" are not. */
static bool is_of_things(const struct value *value) {
    return value->kind == VALUE_NUMBER || value->kind == VALUE_ORDINAL ||
           (value->kind == VALUE_QUANTITY && !value_is_time(value->lexeme));
}

/* "the first 5", 最后5行: how many for a parameter of that end, and for none of the other. */
static int32_t side_prior(const struct evidence *evidence, const struct parameter *parameter,
                          const struct value *value) {
    const struct value_pick *pick =
            parameter->side != PICK_LIMIT && is_of_things(value)
                    ? value_pick_at(evidence->values, value->first, value->last)
                    : NULL;
    if (pick == NULL || pick->side == PICK_LIMIT) {
        return 0;
    }
    return pick->side == parameter->side ? PRIOR_SIDE : -PRIOR_SIDE;
}

/* "at most 5", "the first 5": how many, and no text. */
static int32_t count_prior(const struct evidence *evidence, const struct parameter *parameter,
                           const struct value *value) {
    bool words =
            value->kind == VALUE_CHUNK || value->kind == VALUE_PART || value->kind == VALUE_NAME;
    bool number = parameter->type == PARAMETER_NUMBER && is_of_things(value);
    if (!evidence->has_count || !(number ? parameter->counts : words) ||
        value_pick_at(evidence->values, value->first, value->last) == NULL) {
        return 0;
    }
    return number ? PRIOR_COUNT : -PRIOR_COUNT;
}

static bool is_words(const struct value *value) {
    return value->kind == VALUE_CHUNK || value->kind == VALUE_PART || value->kind == VALUE_NAME;
}

/* How much a label beside a value says that it is of the parameter with this name. */
static int32_t label_prior(const struct evidence *evidence, size_t p, size_t label,
                           const struct value *value, const uint8_t *labels) {
    const uint32_t marked = VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_CODE);
    const size_t count = evidence->values->token_count;
    int32_t prior = value->piece == PIECE_SLUG               ? 2 * PRIOR_MARKED
                    : (VALUE_BIT(value->kind) & marked) != 0 ? PRIOR_MARKED
                    : labels == evidence->labels             ? PRIOR_BEHIND
                                                             : PRIOR_BESIDE;
    size_t named = 0;
    for (size_t q = 0; q < evidence->parameters->count; q++) {
        bool text = evidence->parameters->list[q].type == PARAMETER_STRING;
        named += text && labels[q * count + label] > (labels == evidence->names);
    }
    bool own = labels[p * count + label] > (labels == evidence->names);
    return named == 0 ? 0 : own ? (named == 1 ? prior : 0) : -prior;
}

/* "the branch feature/login", "table users": a value directly behind the name of one parameter is
 * its own, and the name is no part of it. */
static int32_t beside_prior(const struct evidence *evidence, size_t p, const struct value *value) {
    const struct values *values = evidence->values;
    const uint8_t *own = evidence->names + p * values->token_count;
    bool words = value->kind == VALUE_CHUNK || value->kind == VALUE_PART;
    if (words && value->last - value->first > 1 && own[value->first] == 2 &&
        own[value->last - 1u] != 2 && values->tokens[value->first].kind == TOKEN_WORD) {
        return -PRIOR_BESIDE;
    }
    const uint32_t kinds = VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_CODE) | VALUE_BIT(VALUE_NAME);
    size_t before = value->first - 1u;
    bool good = value->first > 0 && values->tokens[before].cue == CUE_NONE &&
                ((VALUE_BIT(value->kind) & kinds) != 0 || value->piece == PIECE_SLUG);
    return good ? label_prior(evidence, p, before, value, evidence->names) : 0;
}

/* "dev 分支", "orders 表的结构": in Chinese the name is behind the value. */
static int32_t behind_prior(const struct evidence *evidence, size_t p, const struct value *value) {
    const struct values *values = evidence->values;
    const uint8_t *own = evidence->labels + p * values->token_count;
    size_t last = value->last - 1u;
    bool foreign = values->tokens[value->first].kind != TOKEN_HAN;
    if (is_words(value) && own[last] != 0 && values->tokens[last].kind == TOKEN_HAN) {
        return foreign ? -PRIOR_MARKED : 0;
    }
    bool behind = foreign && value->last < values->token_count &&
                  values->tokens[value->last].kind == TOKEN_HAN &&
                  values->tokens[value->last].cue == CUE_NONE;
    return behind ? label_prior(evidence, p, value->last, value, evidence->labels) : 0;
}

/* Whether a parameter is of who made something. */
static bool is_maker(const struct parameter *parameter) {
    static const char *const makers[] = {"artist", "author",   "singer", "composer", "director",
                                         "writer", "musician", "poet",   "painter",  "band"};
    for (size_t i = 0; i < parameter->name_count * ARRAY_LENGTH(makers); i++) {
        const struct token *token = &parameter->tokens[i / ARRAY_LENGTH(makers)];
        const char *maker = makers[i % ARRAY_LENGTH(makers)];
        if (token->end - token->start == strlen(maker) &&
            memcmp(parameter->lower + token->start, maker, strlen(maker)) == 0) {
            return parameter->type == PARAMETER_STRING;
        }
    }
    return false;
}

static bool has_maker(const struct evidence *evidence) {
    for (size_t p = 0; p < evidence->parameters->count; p++) {
        if (is_maker(&evidence->parameters->list[p])) {
            return true;
        }
    }
    return false;
}

/* 周杰伦的七里香: who made it stands before 的, and what it is behind it. */
static int32_t owner_prior(const struct evidence *evidence, size_t p, const struct value *value) {
    const struct values *values = evidence->values;
    const struct parameter *parameter = &evidence->parameters->list[p];
    const uint8_t *own = evidence->own_names + p * values->token_count;
    size_t behind = value->last + 1u;
    bool owner = is_words(value) && value_is_sign(values, value->last, 0x7684) &&
                 behind < values->token_count && values->tokens[behind].kind != TOKEN_SIGN &&
                 own[behind] == 0 && own[value->first] == 0;
    bool thing = parameter->hint == HINT_NONE || parameter->hint == HINT_TITLE ||
                 parameter->hint == HINT_TEXT;
    if (!owner || !has_maker(evidence)) {
        return 0;
    }
    return is_maker(parameter) ? PRIOR_OWNER : thing ? -PRIOR_OWNER : 0;
}

/* 在记忆中搜索张三: words between 在 and 中 or 里, with a verb behind them, say where. */
static int32_t where_prior(const struct evidence *evidence, const struct parameter *parameter,
                           const struct value *value) {
    static const uint32_t sides[] = {0x4e2d, 0x91cc, 0x5185, 0x4e0a, 0x4e0b};
    const struct values *values = evidence->values;
    size_t end = value->first;
    size_t verb = 0;
    bool thing = parameter->hint == HINT_NONE || parameter->hint == HINT_TITLE ||
                 parameter->hint == HINT_TEXT;
    if (!thing || !is_words(value) || value->first == 0 ||
        !value_is_sign(values, value->first - 1u, 0x5728)) {
        return 0;
    }
    for (size_t t = value->first + 1u; verb == 0 && t < values->token_count; t++) {
        bool side = false;
        for (size_t i = 0; i < ARRAY_LENGTH(sides); i++) {
            side = side || value_is_sign(values, t, sides[i]);
        }
        end = side ? t + 1 : end;
        verb = values->tokens[t].cue == CUE_VERB || values->tokens[t].kind == TOKEN_SIGN ? t : 0;
    }
    return verb > 0 && end == verb && verb + 1 < values->token_count ? -PRIOR_WHERE : 0;
}

/* What stands around a value. */
static int32_t place_prior(const struct evidence *evidence, size_t p, const struct value *value) {
    if (evidence->fast) {
        return 0;
    }
    return beside_prior(evidence, p, value) + behind_prior(evidence, p, value) +
           owner_prior(evidence, p, value) +
           where_prior(evidence, &evidence->parameters->list[p], value);
}

int32_t evidence_prior(const struct evidence *evidence, size_t p,
                       const struct candidate *candidate) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    if (candidate->form == FORM_NONE || candidate->last <= candidate->first) {
        return 0;
    }
    if (parameter->type != PARAMETER_BOOLEAN && !choice_is_negative(parameter) &&
        choice_is_excluded(evidence->values, candidate->first, candidate->last)) {
        return -PRIOR_STATED;
    }
    if (is_named_so(evidence->values, parameter, candidate->first)) {
        return PRIOR_NAMED;
    }
    if (evidence_is_choice(candidate->form)) {
        return 0;
    }
    const struct value *value = &evidence->values->list[candidate->index];
    if (value->piece != PIECE_NONE && value->piece == parameter->piece) {
        int32_t beside = evidence->fast ? 0 : beside_prior(evidence, p, value);
        return PRIOR_PIECE + (beside < 0 ? beside : 0);
    }
    if (parameter->type == PARAMETER_STRING && value_is_class(value)) {
        return class_prior(evidence, parameter, value);
    }
    if (parameter->type == PARAMETER_NUMBER && value->kind == VALUE_QUANTITY &&
        evidence_is_convertible(parameter, value)) {
        return candidate->form == FORM_CONVERTED ? PRIOR_UNIT : -PRIOR_UNIT;
    }
    if (parameter->type == PARAMETER_NUMBER && value->way != WAY_NONE) {
        return value->way == parameter->coordinate ? PRIOR_PIECE : -PRIOR_PIECE;
    }
    if (parameter->type != PARAMETER_STRING) {
        return parameter->type != PARAMETER_NUMBER ? 0
                                                   : count_prior(evidence, parameter, value) +
                                                             side_prior(evidence, parameter, value);
    }
    int32_t prior = (VALUE_BIT(value->kind) & evidence_wanted_kinds(parameter)) == 0 ? 0
                    : parameter->hint == HINT_ZONE ? 2 * PRIOR_KIND
                                                   : PRIOR_KIND;
    prior += evidence_is_time_wanted(parameter, value) ? PRIOR_KIND
             : is_time_of_another(evidence, p, value)  ? -PRIOR_KIND
             : has_time_of_another(evidence, p, value) ? -2 * PRIOR_KIND
                                                       : 0;
    prior += parameter->role != ROLE_NONE ? role_prior(evidence, parameter, value) : 0;
    prior += inside_prior(evidence, parameter, value);
    prior += count_prior(evidence, parameter, value);
    prior += place_prior(evidence, p, value);
    prior -= is_name_of_class(evidence, parameter, value) ? PRIOR_CLASS : 0;
    prior -= is_searched(evidence, parameter, value) ? PRIOR_CLASS : 0;
    return prior - (is_name_of_truth(evidence, p, value) ? PRIOR_OTHER : 0);
}
