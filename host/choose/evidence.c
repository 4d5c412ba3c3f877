#include "choose/evidence.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "choose/evidence-parts.h"
#include "choose/lexicon.h"
#include "choose/unit.h"

/* How far from a value words still speak of it, in words. */
#define REACH 8u

/* ----------------------------------------------------------------- features */

/* Blocks of features: each is a table whose dimensions stand behind its name. */
enum {
    TYPES = PARAMETER_TYPES,
    HINTS = HINT_COUNT,
    KINDS = VALUE_KINDS,
    DISTANCES = 7,
    F_KIND_HINT_TYPE = 0, /* [KINDS][HINTS][3] */
    F_KIND_TYPE = F_KIND_HINT_TYPE + KINDS * HINTS * 3,
    F_CUE_HINT = F_KIND_TYPE + KINDS * TYPES,
    F_CUE_TYPE = F_CUE_HINT + CUE_COUNT * HINTS,
    F_CUE_ROLE = F_CUE_TYPE + CUE_COUNT * TYPES,
    F_AFTER_TYPE = F_CUE_ROLE + CUE_COUNT * ROLE_COUNT,
    F_NAME_BEFORE = F_AFTER_TYPE + CUE_COUNT * TYPES, /* [DISTANCES][3][TYPES] */
    F_NAME_AFTER = F_NAME_BEFORE + DISTANCES * 3 * TYPES,
    F_TEXT_BEFORE = F_NAME_AFTER + DISTANCES * 3 * TYPES,
    F_TEXT_AFTER = F_TEXT_BEFORE + DISTANCES * 3 * TYPES,
    F_NAME_INSIDE = F_TEXT_AFTER + DISTANCES * 3 * TYPES, /* [4][TYPES] */
    F_TEXT_INSIDE = F_NAME_INSIDE + 4 * TYPES,
    F_TOOL_INSIDE = F_TEXT_INSIDE + 4 * TYPES,
    F_RIVAL = F_TOOL_INSIDE + 4 * TYPES,               /* [4][TYPES] */
    F_EXAMPLE = F_RIVAL + 4 * TYPES,                   /* [4][TYPES] */
    F_LENGTH_HINT = F_EXAMPLE + 4 * TYPES,             /* [8][HINTS] */
    F_CASE_HINT = F_LENGTH_HINT + 8 * HINTS,           /* [4][HINTS] */
    F_EDGE = F_CASE_HINT + 4 * HINTS,                  /* [KINDS][4] */
    F_TURN = F_EDGE + KINDS * 4,                       /* [4] */
    F_UNIT = F_TURN + 4,                               /* [5][KINDS] */
    F_ORDER = F_UNIT + 5 * KINDS,                      /* [4][TYPES] */
    F_LIMIT = F_ORDER + 4 * TYPES,                     /* [4] */
    F_FORM = F_LIMIT + 4,                              /* [12][TYPES] */
    F_OUTER = F_FORM + 12 * TYPES,                     /* [4]: what is around the span */
    F_NEED_TYPE = F_OUTER + 4,                         /* [TYPES][4][2] left out */
    F_NEED_HINT = F_NEED_TYPE + TYPES * 4 * 2,         /* [HINTS][4] */
    F_NEED_NAMED = F_NEED_HINT + HINTS * 4,            /* [4][4] */
    F_NEED_COUNT = F_NEED_NAMED + 16,                  /* [6][4] */
    F_CHOICE = F_NEED_COUNT + 24,                      /* [LEVELS][4][2] */
    F_CHOICE_SIZE = F_CHOICE + CHOICE_LEVELS * 8,      /* [LEVELS][5] */
    F_CHOICE_BEST = F_CHOICE_SIZE + CHOICE_LEVELS * 5, /* [LEVELS][2] */
    F_CHOICE_STANDARD = F_CHOICE_BEST + CHOICE_LEVELS * 2,
    F_TRUTH = F_CHOICE_STANDARD + CHOICE_LEVELS * 2,     /* [2][4][2][3][2] */
    F_TRUTH_TEXT = F_TRUTH + 2 * 4 * 2 * 3 * 2,          /* [2][4][3] */
    F_LAST_CHUNK = F_TRUTH_TEXT + 2 * 4 * 3,             /* [TYPES] */
    F_CUE_KIND = F_LAST_CHUNK + TYPES,                   /* [CUE_COUNT][KINDS] */
    F_CUE_HINT_NAMED = F_CUE_KIND + CUE_COUNT * KINDS,   /* [CUE_COUNT][HINTS][2] */
    F_REGION = F_CUE_HINT_NAMED + CUE_COUNT * HINTS * 2, /* [3][2][2] */
    F_FRACTION = F_REGION + 12,                          /* [2][2][3] */
    F_HINT_AFTER = F_FRACTION + 12,                      /* [CUE_COUNT][KINDS] */
    F_NAME_RIVAL = F_HINT_AFTER + CUE_COUNT * KINDS,     /* [HINTS][4] */
    F_COUNT = F_NAME_RIVAL + HINTS * 4
};
_Static_assert(F_COUNT == EVIDENCE_FEATURE_COUNT, "the weights must be fitted anew");

struct anchors {
    uint8_t name_before;  /* distance of a word of the name, DISTANCES - 1: none */
    uint8_t name_quality; /* 0 by concept, 1 literally, 2 all of its words */
    uint8_t name_after;
    uint8_t name_after_quality;
    uint8_t text_before;
    uint8_t text_quality;
    uint8_t text_after;
    uint8_t text_after_quality;
};

static void add(struct candidate *candidate, size_t feature) {
    if (candidate->feature_count < EVIDENCE_FEATURES_MAX) {
        candidate->features[candidate->feature_count++] = (uint16_t)feature;
    }
}

/* ------------------------------------------------------------------ matching */

static bool is_comparable(const struct token *token) {
    return token->kind != TOKEN_SIGN && token->kind != TOKEN_NUMBER &&
           !(token->cue != CUE_NONE && token->cue != CUE_VERB && token->cue != CUE_FROM &&
             token->cue != CUE_TO && token->cue != CUE_IN && token->cue != CUE_BY &&
             token->cue != CUE_NAMED && token->concepts[0] == 0);
}

static bool match_tokens(const struct values *values, const struct token *tokens, size_t count,
                         uint8_t *ret) {
    bool any = false;
    memset(ret, 0, values->token_count);
    for (size_t k = 0; k < count; k++) {
        bool small = tokens[k].cue == CUE_DETERMINER || tokens[k].cue == CUE_OF ||
                     tokens[k].cue == CUE_PRONOUN || tokens[k].cue == CUE_POLITE;
        struct mention_walk walk;
        size_t t;
        if (small || tokens[k].kind == TOKEN_SIGN) {
            continue;
        }
        mention_begin_alike(values->mentions, &tokens[k], &walk);
        while (mention_next(&walk, &t)) {
            int alike = is_comparable(&values->tokens[t]) && ret[t] < 2
                                ? token_alike(&values->tokens[t], &tokens[k])
                                : 0;
            ret[t] = alike > ret[t] ? (uint8_t)alike : ret[t];
            any = any || alike > 0;
        }
    }
    if (!any) {
        return false;
    }
    /* The last character of a Chinese word has no pair of its own. */
    for (size_t t = values->token_count; t-- > 1;) {
        if (values->tokens[t].kind == TOKEN_HAN && ret[t] == 0 && ret[t - 1] == 2 &&
            values->tokens[t - 1].kind == TOKEN_HAN && values->tokens[t - 1].pair != 0) {
            ret[t] = 2;
        } else if (ret[t - 1] == 1 && values->tokens[t - 1].concept_length > 1) {
            for (size_t i = 1;
                 i < values->tokens[t - 1].concept_length && t - 1 + i < values->token_count; i++) {
                ret[t - 1 + i] = ret[t - 1 + i] == 0 ? 1 : ret[t - 1 + i];
            }
        }
    }
    return true;
}

static uint8_t distance_bucket(size_t distance) {
    return (uint8_t)(distance <= 3 ? distance : distance <= 5 ? 4 : distance <= REACH ? 5 : 6);
}

static bool ends_sentence(const struct token *token) {
    return token->kind == TOKEN_SIGN &&
           (token->sign == '.' || token->sign == '!' || token->sign == '?' || token->sign == ';');
}

/* Words that stand between a name and its value. */
static bool is_between(const struct token *token) {
    return token->kind == TOKEN_SIGN || token->cue == CUE_IS || token->cue == CUE_OF ||
           token->cue == CUE_NAMED || token->cue == CUE_DETERMINER || token->cue == CUE_AS ||
           token->cue == CUE_TO;
}

/* Go through the words before a span (step -1) or behind it (step 1). */
static void look(const struct evidence *evidence, size_t parameter, size_t first, size_t last,
                 int step, uint8_t *name, uint8_t *name_quality, uint8_t *text,
                 uint8_t *text_quality) {
    const struct values *values = evidence->values;
    const uint8_t *names = evidence->names + parameter * values->token_count;
    const uint8_t *texts = evidence->texts + parameter * values->token_count;
    size_t distance = 0;
    size_t hits = 0;
    *name = *text = DISTANCES - 1;
    *name_quality = *text_quality = 0;
    for (size_t n = 1; n <= 3 * REACH && distance <= REACH; n++) {
        if (step < 0 ? n > first : last + n - 1 >= values->token_count) {
            break;
        }
        size_t at = step < 0 ? first - n : last + n - 1;
        const struct token *token = &values->tokens[at];
        const struct token *own = &values->tokens[first];
        if (ends_sentence(token) || token->turn != own->turn || token->user != own->user) {
            break;
        }
        if (names[at] > 0) {
            hits++;
            if (*name == DISTANCES - 1) {
                *name = distance_bucket(distance);
                *name_quality = (uint8_t)(names[at] - 1);
            }
        }
        if (texts[at] > 0 && *text == DISTANCES - 1) {
            *text = distance_bucket(distance);
            *text_quality = (uint8_t)(texts[at] - 1);
        }
        if (token->kind == TOKEN_SIGN && token->sign == ',') {
            distance += step < 0 ? 2 : REACH + 1;
        } else if (!is_between(token)) {
            distance++;
        } else if (step > 0 && token->cue == CUE_TO) {
            distance += 2;
        }
    }
    if (hits > 1 && hits + 1 >= evidence->parameters->list[parameter].name_count) {
        *name_quality = 2;
    }
}

static struct anchors anchors_of(const struct evidence *evidence, size_t parameter, size_t first,
                                 size_t last) {
    struct anchors anchors = {.name_before = DISTANCES - 1,
                              .name_after = DISTANCES - 1,
                              .text_before = DISTANCES - 1,
                              .text_after = DISTANCES - 1};
    if (!evidence->spoken[parameter]) {
        return anchors;
    }
    look(evidence, parameter, first, last, -1, &anchors.name_before, &anchors.name_quality,
         &anchors.text_before, &anchors.text_quality);
    look(evidence, parameter, first, last, 1, &anchors.name_after, &anchors.name_after_quality,
         &anchors.text_after, &anchors.text_after_quality);
    return anchors;
}

/* One number for rivalry: near words of the name count most. */
static uint8_t strength_of(const struct anchors *anchors) {
    unsigned before = (DISTANCES - 1u - anchors->name_before) * 4u +
                      anchors->name_quality * 3u * (anchors->name_before < DISTANCES - 1);
    unsigned after = anchors->name_after < 2 ? (2u - anchors->name_after) * 6u : 0;
    unsigned text = (DISTANCES - 1u - anchors->text_before) * 2u;
    unsigned best = before > after ? before : after;
    return (uint8_t)(best > text ? best : text);
}

static bool is_time_unit(const struct lexeme *unit) {
    static const char *const units[] = {"millisecond", "second", "minute", "hour", "day", "week"};
    for (size_t i = 0; unit != NULL && i < sizeof units / sizeof *units; i++) {
        if (unit->kind == LEXEME_UNITS && strcmp(unit->first, units[i]) == 0) {
            return true;
        }
    }
    return false;
}

enum cue evidence_cue_before(const struct values *values, size_t first) {
    size_t at = first;
    while (at > 0 && values->tokens[at - 1].turn == values->tokens[first].turn) {
        const struct token *token = &values->tokens[at - 1];
        bool quote = token->kind == TOKEN_SIGN && (token->sign == '"' || token->sign == '\'' ||
                                                   token->sign == '(' || token->sign == '[');
        if (token->kind == TOKEN_SIGN && (token->sign == ':' || token->sign == '=')) {
            return CUE_IS;
        }
        if (!quote && token->cue != CUE_DETERMINER) {
            return token->kind == TOKEN_SIGN ? CUE_NONE : (enum cue)token->cue;
        }
        at--;
    }
    return CUE_NONE;
}

/* "in 'abc'": a text in quotes behind "in". */
static bool has_text_inside(const struct values *values) {
    for (size_t v = 0; v < values->solid_count; v++) {
        const struct value *value = &values->list[v];
        if (value->kind == VALUE_QUOTED && !value_is_class(value) &&
            evidence_cue_before(values, value->first) == CUE_IN) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ creating */

static bool is_number(const struct value *value) {
    return value->kind == VALUE_NUMBER || value->kind == VALUE_QUANTITY ||
           value->kind == VALUE_PERCENT || value->kind == VALUE_MONEY;
}

static void count_orders(struct evidence *evidence) {
    uint16_t orders[VALUE_KINDS] = {0};
    for (size_t i = 0; i < evidence->value_count; i++) {
        const struct value *value = &evidence->values->list[i];
        size_t family = is_number(value) ? (size_t)VALUE_NUMBER : value->kind;
        evidence->orders[i] = orders[family];
        orders[family] = (uint16_t)(orders[family] + !value->joined);
    }
    evidence->number_count = orders[VALUE_NUMBER];
}

static void compare_rivals(struct evidence *evidence) {
    for (size_t v = 0; v < evidence->value_count; v++) {
        const struct value *value = &evidence->values->list[v];
        for (size_t p = 0; p < evidence->parameters->count; p++) {
            struct anchors anchors = anchors_of(evidence, p, value->first, value->last);
            uint8_t strength = strength_of(&anchors);
            evidence->strengths[p * evidence->value_count + v] = strength;
            if (strength >= evidence->best[v]) {
                evidence->second[v] = evidence->best[v];
                evidence->best[v] = strength;
            } else if (strength > evidence->second[v]) {
                evidence->second[v] = strength;
            }
        }
    }
}

/* Mark the times that a parameter wants. */
static void mark_times(struct evidence *evidence) {
    const struct values *values = evidence->values;
    for (size_t p = 0; p < evidence->parameters->count; p++) {
        const struct parameter *parameter = &evidence->parameters->list[p];
        for (size_t v = 0; parameter->type == PARAMETER_STRING && v < values->solid_count; v++) {
            const struct value *value = &values->list[v];
            bool wanted = evidence_is_time_wanted(parameter, value);
            for (size_t t = value->first; wanted && t < value->last; t++) {
                evidence->timed[t] = (uint16_t)(p + 1);
            }
        }
    }
}

static bool find_choices(struct evidence *evidence, size_t p, size_t all, struct arena *arena) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    if (parameter->type != PARAMETER_CHOICE && parameter->type != PARAMETER_CHOICES) {
        return true;
    }
    struct choice_match *matches =
            arena_alloc(arena, (parameter->choice_count + 1) * sizeof *matches);
    evidence->choices[p] = matches;
    if (matches != NULL) {
        (void)choice_find_all(evidence->values, parameter, all, matches);
    }
    return matches != NULL;
}

/* Mark the words of the text that are words of a name. */
static void mark_names(const struct values *values, const struct token *tokens, size_t count,
                       uint8_t *ret) {
    for (size_t t = 0; t < values->token_count; t++) {
        const struct token *token = &values->tokens[t];
        for (size_t k = 0; k < count && token->kind != TOKEN_SIGN; k++) {
            bool small = tokens[k].cue != CUE_NONE && tokens[k].cue != CUE_VERB;
            int alike = small ? 0 : token_alike(token, &tokens[k]);
            size_t length = alike == 1 ? token->concept_length : 1u;
            if (alike > (token->kind == TOKEN_HAN ? 0 : 1) && t + length <= values->token_count) {
                memset(ret + t, 1, length);
            }
        }
    }
}

/* Whether a translation has a word of a name. */
static bool has_word_of(const char *words, const struct token *tokens, size_t count) {
    for (size_t length = 0; *words != '\0'; words += length) {
        words += strspn(words, "| ");
        length = strcspn(words, "| ");
        uint32_t hash = token_hash(words, length);
        for (size_t k = 0; k < count; k++) {
            if (length > 2 && (tokens[k].word == hash || tokens[k].stem == hash)) {
                return true;
            }
        }
    }
    return false;
}

/* The same of Chinese words, of at least so many characters, whose translations are words of the
 * name. */
static void mark_translated(const struct values *values, const struct token *tokens, size_t count,
                            size_t least, uint8_t *ret) {
    for (size_t t = 0; t < values->token_count; t++) {
        for (size_t n = least; n <= 4 && t + n <= values->token_count; n++) {
            const struct lexicon_row *row;
            size_t start = values->tokens[t].start;
            size_t end = values->tokens[t + n - 1].end;
            bool han = values->tokens[t].kind == TOKEN_HAN &&
                       values->tokens[t + n - 1].kind == TOKEN_HAN;
            size_t rows = han && end - start < LEXICON_KEY_MAX
                                  ? lexicon_find(&lexicon_glossary, values->lower + start,
                                                 end - start, &row)
                                  : 0;
            for (size_t i = 0; i < rows; i++) {
                if (has_word_of(lexicon_value(&lexicon_glossary, &row[i]), tokens, count)) {
                    memset(ret + t, 1, n);
                }
            }
        }
    }
}

bool evidence_is_name(const struct evidence *evidence, size_t parameter, size_t token) {
    return evidence->own_names[parameter * evidence->values->token_count + token] != 0;
}

bool evidence_is_label(const struct evidence *evidence, size_t parameter, size_t token) {
    return evidence->labels[parameter * evidence->values->token_count + token] != 0;
}

int evidence_create(const struct values *values, const struct parameters *parameters, bool fast,
                    struct arena *arena, struct evidence **ret, struct toolrack_error *err) {
    struct evidence *evidence = arena_zalloc(arena, sizeof *evidence);
    size_t tokens = values->token_count + 1;
    size_t count = fast ? values->solid_count : values->count;
    if (evidence == NULL) {
        return error_oom(err);
    }
    evidence->values = values;
    evidence->parameters = parameters;
    evidence->value_count = count;
    evidence->fast = fast;
    evidence->names = arena_zalloc(arena, parameters->count * tokens + 1);
    evidence->texts = arena_zalloc(arena, parameters->count * tokens + 1);
    evidence->spoken = arena_zalloc(arena, parameters->count + 1);
    evidence->tool = arena_zalloc(arena, tokens);
    evidence->timed = arena_zalloc(arena, tokens * sizeof *evidence->timed);
    evidence->own_names = arena_zalloc(arena, parameters->count * tokens + 1);
    evidence->labels = arena_zalloc(arena, parameters->count * tokens + 1);
    evidence->strengths = arena_zalloc(arena, parameters->count * count + 1);
    evidence->best = arena_zalloc(arena, count + 1);
    evidence->second = arena_zalloc(arena, count + 1);
    evidence->orders = arena_zalloc(arena, (count + 1) * sizeof *evidence->orders);
    evidence->choices = arena_zalloc(arena, (parameters->count + 1) * sizeof *evidence->choices);
    if (evidence->names == NULL || evidence->texts == NULL || evidence->spoken == NULL ||
        evidence->tool == NULL || evidence->own_names == NULL || evidence->labels == NULL ||
        evidence->timed == NULL || evidence->strengths == NULL || evidence->best == NULL ||
        evidence->second == NULL || evidence->orders == NULL || evidence->choices == NULL) {
        return error_oom(err);
    }
    size_t choices = 0;
    for (size_t p = 0; p < parameters->count; p++) {
        choices += parameters->list[p].choice_count;
    }
    for (size_t p = 0; p < parameters->count; p++) {
        const struct parameter *parameter = &parameters->list[p];
        evidence->span_count +=
                parameter->type == PARAMETER_NUMBER && is_time_unit(parameter->unit);
        evidence->has_truth = evidence->has_truth || parameter->type == PARAMETER_BOOLEAN;
        evidence->has_count = evidence->has_count || parameter->counts;
        evidence->has_regex = evidence->has_regex || parameter->regex == REGEX_PATTERN;
        if (!find_choices(evidence, p, choices, arena)) {
            return error_oom(err);
        }
        bool named = match_tokens(values, parameter->tokens, parameter->name_count,
                                  evidence->names + p * values->token_count);
        evidence->spoken[p] = match_tokens(values, parameter->tokens + parameter->name_count,
                                           parameter->token_count - parameter->name_count,
                                           evidence->texts + p * values->token_count) ||
                              named;
        uint8_t *own = evidence->own_names + p * values->token_count;
        if (!fast) {
            mark_names(values, parameter->tokens, parameter->name_count, own);
            mark_names(values, parameters->tool_tokens, parameters->tool_name_count, own);
            mark_translated(values, parameter->tokens, parameter->name_count, 2, own);
            mark_translated(values, parameters->tool_tokens, parameters->tool_name_count, 2, own);
            uint8_t *labels = evidence->labels + p * values->token_count;
            mark_names(values, parameter->tokens, parameter->name_count, labels);
            mark_translated(values, parameter->tokens, parameter->name_count, 1, labels);
        }
    }
    (void)match_tokens(values, parameters->tool_tokens, parameters->tool_count, evidence->tool);
    evidence->inside = has_text_inside(values);
    for (size_t v = 0; v < count; v++) {
        evidence->pieces |= values->list[v].piece;
    }
    if (!fast) {
        mark_times(evidence);
    }
    count_orders(evidence);
    compare_rivals(evidence);
    *ret = evidence;
    return 0;
}

/* --------------------------------------------------------------- what fits */

size_t evidence_share(const uint8_t *matches, size_t first, size_t last) {
    size_t hits = 0;
    for (size_t i = first; i < last; i++) {
        hits += matches[i] > 0;
    }
    return hits == 0 ? 0 : hits == last - first ? 3 : hits * 2 >= last - first ? 2 : 1;
}

static enum cue cue_after(const struct values *values, size_t last) {
    return last < values->token_count ? (enum cue)values->tokens[last].cue : CUE_NONE;
}

/* Whether a span is one of the examples of the description: 1 like one, 2 equal. */
static size_t example_of(const struct values *values, const struct parameter *parameter,
                         const struct value *value) {
    size_t length = value->end - value->start;
    size_t found = 0;
    for (size_t i = 0; i < parameter->example_count; i++) {
        const struct parameter_text *example = &parameter->examples[i];
        bool same = example->length == length;
        for (size_t k = 0; same && k < length; k++) {
            same = ascii_lower(example->text[k]) == values->lower[value->start + k];
        }
        if (same) {
            return 2;
        }
        bool digits =
                ascii_is_digit(example->text[0]) == ascii_is_digit(values->text[value->start]);
        bool capital =
                ascii_is_upper(example->text[0]) == ascii_is_upper(values->text[value->start]);
        found = digits && capital && ascii_is_upper(example->text[0]) ? 1 : found;
    }
    return found;
}

static double number_at(yyjson_val *schema, const char *key, double otherwise) {
    yyjson_val *value = yyjson_obj_get(schema, key);
    return yyjson_is_num(value) ? yyjson_get_num(value) : otherwise;
}

static size_t unit_agreement(const struct parameter *parameter, const struct value *value) {
    if (parameter->unit == NULL) {
        return value->lexeme != NULL && value->kind == VALUE_QUANTITY ? 1 : 0;
    }
    if (value->lexeme == NULL) {
        return 2;
    }
    return strcmp(parameter->unit->first, value->lexeme->first) == 0 ? 3 : 4;
}

/* ---------------------------------------------------------------- candidates */

static void add_span_features(const struct evidence *evidence, size_t p,
                              struct candidate *candidate, size_t type) {
    const struct values *values = evidence->values;
    const struct parameter *parameter = &evidence->parameters->list[p];
    size_t first = candidate->first;
    size_t last = candidate->last;
    struct anchors anchors = anchors_of(evidence, p, first, last);
    add(candidate,
        F_NAME_BEFORE + (anchors.name_before * 3u + anchors.name_quality) * TYPES + type);
    add(candidate,
        F_NAME_AFTER + (anchors.name_after * 3u + anchors.name_after_quality) * TYPES + type);
    add(candidate,
        F_TEXT_BEFORE + (anchors.text_before * 3u + anchors.text_quality) * TYPES + type);
    add(candidate,
        F_TEXT_AFTER + (anchors.text_after * 3u + anchors.text_after_quality) * TYPES + type);
    enum cue before = evidence_cue_before(values, first);
    add(candidate, F_CUE_HINT + (size_t)before * HINTS + parameter->hint);
    add(candidate, F_CUE_TYPE + (size_t)before * TYPES + type);
    add(candidate, F_CUE_ROLE + (size_t)before * ROLE_COUNT + parameter->role);
    add(candidate, F_AFTER_TYPE + (size_t)cue_after(values, last) * TYPES + type);
    const struct token *token = &values->tokens[first];
    add(candidate, F_TURN + (token->user ? (token->turn > 1 ? 2u : token->turn) : 3u));
}

/* Whether a place is written with its region ("Berkeley, CA"): 1 the value has it, 2 the text goes
 * on with it. */
static size_t region_of(const struct evidence *evidence, const struct value *value) {
    const struct values *values = evidence->values;
    for (size_t i = value->first; i < value->last; i++) {
        if (value_is_sign(values, i, ',')) {
            return 1;
        }
    }
    for (size_t v = 0; v < values->solid_count; v++) {
        const struct value *longer = &values->list[v];
        if (longer->kind == VALUE_NAME && longer->first <= value->first &&
            longer->last > value->last && value_is_sign(values, value->last, ',')) {
            return 2;
        }
    }
    return 0;
}

/* An example such as 'New York, NY'. */
static bool has_comma_example(const struct parameter *parameter) {
    for (size_t i = 0; i < parameter->example_count; i++) {
        if (memchr(parameter->examples[i].text, ',', parameter->examples[i].length) != NULL) {
            return true;
        }
    }
    return false;
}

/* A number for a number: the first of the text is mostly the first of the tool, and fits it. */
static void add_number_features(const struct evidence *evidence, size_t p, size_t v,
                                struct candidate *candidate) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    const struct value *value = &evidence->values->list[v];
    size_t type = parameter->type;
    size_t order = 0;
    size_t count = 0;
    for (size_t i = 0; i < evidence->parameters->count; i++) {
        bool number = evidence->parameters->list[i].type == PARAMETER_NUMBER;
        order += number && i < p;
        count += number;
    }
    size_t mine = evidence->orders[v];
    add(candidate, F_ORDER +
                           (mine == order  ? (count == evidence->number_count ? 0u : 1u)
                            : mine < order ? 2u
                                           : 3u) *
                                   TYPES +
                           type);
    double low = number_at(parameter->schema, "minimum", -INFINITY);
    double high = number_at(parameter->schema, "maximum", INFINITY);
    add(candidate, F_LIMIT + (size_t)(parameter->whole && !value->whole) +
                           2u * (value->number < low || value->number > high));
}

static void add_value_features(const struct evidence *evidence, size_t p, size_t v,
                               struct candidate *candidate) {
    const struct values *values = evidence->values;
    const struct parameter *parameter = &evidence->parameters->list[p];
    const struct value *value = &values->list[v];
    size_t type = parameter->type;
    size_t kind = value->kind;
    size_t rough = type == PARAMETER_NUMBER ? 1 : type == PARAMETER_ARRAY ? 2 : 0;
    add(candidate, F_KIND_HINT_TYPE + (kind * HINTS + parameter->hint) * 3 + rough);
    add(candidate, F_KIND_TYPE + kind * TYPES + type);
    add(candidate, F_FORM + (size_t)candidate->form * TYPES + type);
    add(candidate, F_CUE_KIND + (size_t)evidence_cue_before(values, value->first) * KINDS + kind);
    const uint8_t *names = evidence->names + p * values->token_count;
    const uint8_t *texts = evidence->texts + p * values->token_count;
    add(candidate, F_NAME_INSIDE + evidence_share(names, value->first, value->last) * TYPES + type);
    add(candidate, F_TEXT_INSIDE + evidence_share(texts, value->first, value->last) * TYPES + type);
    add(candidate,
        F_TOOL_INSIDE + evidence_share(evidence->tool, value->first, value->last) * TYPES + type);

    uint8_t strength = evidence->strengths[p * evidence->value_count + v];
    uint8_t other = strength == evidence->best[v] ? evidence->second[v] : evidence->best[v];
    size_t rival = strength == 0 && other == 0 ? 0
                   : strength > other          ? 1
                   : strength == other         ? 2
                                               : 3;
    add(candidate, F_RIVAL + rival * TYPES + type);

    size_t words = (size_t)(value->last - value->first);
    add(candidate, F_LENGTH_HINT + (words > 7 ? 7 : words) * HINTS + parameter->hint);
    const struct token *token = &values->tokens[value->first];
    size_t letters = token->capitals ? 3 : token->capital ? 2 : token->kind == TOKEN_HAN ? 1 : 0;
    add(candidate, F_CASE_HINT + letters * HINTS + parameter->hint);
    add(candidate, F_EXAMPLE + example_of(values, parameter, value) * TYPES + type);
    size_t edge = value->kind == VALUE_PART ? (value->first == value->chunk_first) +
                                                      2u * (value->last == value->chunk_last)
                                            : (size_t)value->worded + 2u * value->wrapped;
    add(candidate, F_EDGE + kind * 4 + edge);
    bool ends = value->last == values->token_count || ends_sentence(&values->tokens[value->last]);
    if (ends) {
        add(candidate, F_LAST_CHUNK + type);
    }
    bool named = kind == VALUE_NAME || kind == VALUE_QUOTED || token->capital;
    add(candidate,
        F_CUE_HINT_NAMED +
                ((size_t)evidence_cue_before(values, value->first) * HINTS + parameter->hint) * 2 +
                named);
    add(candidate, F_HINT_AFTER + (size_t)cue_after(values, value->last) * KINDS + kind);
    add(candidate, F_NAME_RIVAL + parameter->hint * 4u + rival);
    if (parameter->hint == HINT_PLACE && parameter->type == PARAMETER_STRING) {
        size_t region = region_of(evidence, value);
        bool wanted = strstr(parameter->lower, "city, ") != NULL || has_comma_example(parameter);
        add(candidate, F_REGION + (region * 2 + wanted) * 2 + (candidate->form == FORM_REGION));
    }
    if (kind == VALUE_PERCENT && type == PARAMETER_NUMBER) {
        bool percent = strstr(parameter->lower, "percent") != NULL ||
                       strstr(parameter->lower, "%") != NULL ||
                       strstr(parameter->lower, "百分") != NULL;
        bool decimal = strstr(parameter->lower, "decimal") != NULL ||
                       strstr(parameter->lower, "0.") != NULL ||
                       number_at(parameter->schema, "maximum", 100) <= 1;
        size_t rate = strstr(parameter->lower, "rate") != NULL ? 2 : 0;
        add(candidate, F_FRACTION + ((candidate->form == FORM_FRACTION) * 2u + percent) * 3 +
                               (decimal ? 1u : rate));
    }
    if (is_number(value)) {
        add(candidate, F_UNIT + unit_agreement(parameter, value) * KINDS + kind);
    }
    if (type == PARAMETER_NUMBER && is_number(value)) {
        add_number_features(evidence, p, v, candidate);
    }
}

/* Whether a class of characters has what a pattern, or a replacement, needs: "digits" replace
 * nothing.
 */
static bool is_wanted_class(const struct parameter *parameter, const struct value *value) {
    return parameter->regex == REGEX_PATTERN ||
           (parameter->regex == REGEX_REPLACEMENT && *value->lexeme->second != '\0');
}

/* Whether a path is that of a file, and never that of a folder. */
static bool is_for_file(const struct parameter *parameter) {
    static const char *const folders[] = {"folder", "director", "dir", "root", "目录", "文件夹"};
    for (size_t i = 0; i < ARRAY_LENGTH(folders); i++) {
        if (strstr(parameter->lower, folders[i]) != NULL) {
            return false;
        }
    }
    return strstr(parameter->lower, "file") != NULL || strstr(parameter->lower, "文件") != NULL;
}

/* Words that stand for the working folder are a path, and nothing else. */
static bool is_wanted_source(const struct parameter *parameter, const struct value *value) {
    if (value_is_class(value) && !is_wanted_class(parameter, value)) {
        return false;
    }
    switch ((enum arguments_source)value->source) {
    case ARGUMENTS_FROM_TEXT: return true;
    case ARGUMENTS_FROM_FOLDER: return parameter->hint == HINT_PATH && !is_for_file(parameter);
    case ARGUMENTS_FROM_ZONE: return parameter->hint == HINT_ZONE;
    default:
        return parameter->hint == (value->kind == VALUE_CURRENCY ? HINT_CURRENCY : HINT_LANGUAGE);
    }
}

static bool is_textual(const struct value *value) {
    return value->kind != VALUE_LIST && value->kind != VALUE_JSON;
}

/* A value in another unit than that of its parameter, which may take it converted. */
bool evidence_is_convertible(const struct parameter *parameter, const struct value *value) {
    double number;
    return unit_convert(value, parameter->unit, &number) &&
           (!parameter->whole || floor(number) == number);
}

/* The forms in which a parameter may take a value; up to two. */
static size_t forms_of(const struct parameter *parameter, const struct value *value,
                       uint8_t forms[2]) {
    size_t count = 0;
    if (!is_wanted_source(parameter, value)) {
        return 0;
    }
    switch (parameter->type) {
    case PARAMETER_NUMBER:
        if (is_number(value) || value->kind == VALUE_ORDINAL ||
            (value->piece & (PIECE_NUMBER | PIECE_PORT)) != 0) {
            forms[count++] = FORM_PLAIN;
            if (value->kind == VALUE_PERCENT && !parameter->whole) {
                forms[count++] = FORM_FRACTION;
            } else if (value->kind == VALUE_QUANTITY && evidence_is_convertible(parameter, value)) {
                forms[count++] = FORM_CONVERTED;
            }
        } else if (value->kind == VALUE_DATE && parameter->hint == HINT_YEAR &&
                   value->time.has_year) {
            forms[count++] = FORM_PLAIN;
        }
        break;
    case PARAMETER_ARRAY:
        if (parameter->numbers ? value->kind == VALUE_LIST && value->whole
                               : value->kind == VALUE_LIST && !value->whole) {
            forms[count++] = FORM_PLAIN;
        } else if (parameter->numbers ? is_number(value) : is_textual(value) && !is_number(value)) {
            forms[count++] = FORM_SINGLE;
        } else if (value->kind == VALUE_JSON) {
            forms[count++] = FORM_PLAIN;
        }
        break;
    case PARAMETER_JSON:
        if (value->kind == VALUE_JSON) {
            forms[count++] = FORM_PLAIN;
        }
        break;
    case PARAMETER_STRING:
        if (is_textual(value)) {
            forms[count++] = FORM_PLAIN;
            /* The number of an amount of money is no currency. */
            if (value->kind == VALUE_QUANTITY ||
                (value->kind == VALUE_MONEY && parameter->hint != HINT_CURRENCY)) {
                forms[count++] = FORM_NUMBER;
            } else if (value->kind == VALUE_PLACE && value->lexeme->third[0] != '-' &&
                       value->lexeme->third[0] != '\0' && parameter->hint == HINT_PLACE &&
                       strstr(parameter->lower, "state") != NULL) {
                forms[count++] = FORM_REGION;
            }
        } else if (value->kind == VALUE_LIST || value->kind == VALUE_JSON) {
            forms[count++] = FORM_PLAIN;
        }
        break;
    default: break;
    }
    return count;
}

static size_t need_of(const struct parameter *parameter) {
    return parameter->must ? 0 : parameter->required ? 1 : parameter->has_default ? 2 : 3;
}

static void add_none(const struct evidence *evidence, size_t p, struct candidate *candidate) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    const uint8_t *names = evidence->names + p * evidence->values->token_count;
    size_t need = need_of(parameter);
    uint8_t best = 0;
    size_t hits = 0;
    for (size_t i = 0; i < evidence->values->token_count; i++) {
        best = names[i] > best && evidence->values->tokens[i].user ? names[i] : best;
        hits += names[i] > 1 && evidence->values->tokens[i].user;
    }
    *candidate = (struct candidate){.form = FORM_NONE};
    add(candidate, F_NEED_TYPE + (parameter->type * 4u + need) * 2 + (parameter->depth > 1));
    add(candidate, F_NEED_HINT + parameter->hint * 4u + need);
    add(candidate, F_NEED_NAMED + (hits > 1 && best == 2 ? 3u : best) * 4u + need);
    size_t count = evidence->parameters->count;
    add(candidate, F_NEED_COUNT + (count > 5 ? 5 : count) * 4u + need);
}

/* The end that a choice is: head, last; PICK_LIMIT: neither. */
static enum value_side side_of(const struct parameter_text *choice) {
    static const struct {
        const char *text;
        enum value_side side;
    } sides[] = {{"head", PICK_HEAD},  {"first", PICK_HEAD}, {"top", PICK_HEAD},
                 {"start", PICK_HEAD}, {"tail", PICK_TAIL},  {"last", PICK_TAIL},
                 {"end", PICK_TAIL},   {"bottom", PICK_TAIL}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        bool same = choice->length == strlen(sides[i].text);
        for (size_t k = 0; same && k < choice->length; k++) {
            same = ascii_lower(choice->text[k]) == sides[i].text[k];
        }
        if (same) {
            return sides[i].side;
        }
    }
    return PICK_LIMIT;
}

/* "the first two lines" is the choice head, where tail is another.
 * @return the choice; SIZE_MAX: none. */
static size_t match_side(const struct values *values, const struct parameter *parameter,
                         struct choice_match *matches) {
    size_t at[2] = {SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < parameter->choice_count; i++) {
        enum value_side side = side_of(&parameter->choices[i]);
        if (side != PICK_LIMIT) {
            at[side] = i;
        }
    }
    for (size_t i = 0; at[0] != SIZE_MAX && at[1] != SIZE_MAX && i < values->pick_count; i++) {
        const struct value_pick *pick = &values->picks[i];
        if (pick->side != PICK_LIMIT) {
            struct choice_match *match = &matches[at[pick->side]];
            match->level = CHOICE_LITERAL;
            match->first = pick->first;
            match->last = (uint16_t)(pick->first + 1);
            return at[pick->side];
        }
    }
    return SIZE_MAX;
}

/* The words of a choice, as far as they count. */
static size_t size_of(const struct choice_match *match) {
    return match->size > 4 ? 4u : match->size;
}

static bool is_standard(const struct parameter *parameter, size_t i) {
    return yyjson_is_str(parameter->standard) &&
           yyjson_get_len(parameter->standard) == parameter->choices[i].length &&
           memcmp(yyjson_get_str(parameter->standard), parameter->choices[i].text,
                  parameter->choices[i].length) == 0;
}

/* What all choices of a parameter together say. */
struct choices {
    uint8_t best; /* the best level */
    bool rivals;  /* of several */
    size_t side;
    const struct choice_match *denied; /* of two choices the other one is meant: "don't leave it
                                          on"; NULL: it is not */
};

static void compare_choices(const struct evidence *evidence, size_t p, struct choices *ret) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    struct choice_match *matches = evidence->choices[p];
    size_t rivals = 0;
    *ret = (struct choices){.side = match_side(evidence->values, parameter, matches)};
    for (size_t i = 0; i < parameter->choice_count; i++) {
        rivals = matches[i].level > ret->best ? 0 : rivals;
        ret->best = matches[i].level > ret->best ? matches[i].level : ret->best;
        rivals += matches[i].level == ret->best;
    }
    ret->rivals = rivals > 1;
    bool two = parameter->choice_count == 2 && ret->best >= CHOICE_CONCEPT && rivals == 1;
    const struct choice_match *said = &matches[two && matches[1].level == ret->best];
    bool denied = two && choice_is_denied(evidence->values, said->first, said->last);
    ret->denied = denied ? said : NULL;
}

static void add_choice(const struct evidence *evidence, size_t p, size_t i,
                       const struct choices *choices, struct candidate *candidate) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    const struct choice_match *match = &evidence->choices[p][i];
    size_t level = match->level;
    *candidate = (struct candidate){
            .form = FORM_CHOICE, .index = (uint16_t)i, .first = match->first, .last = match->last};
    add(candidate, F_CHOICE + (level * 4 + need_of(parameter)) * 2 + choices->rivals);
    add(candidate, F_CHOICE_SIZE + level * 5 + size_of(match));
    add(candidate, F_CHOICE_BEST + level * 2 + (level == choices->best));
    add(candidate, F_CHOICE_STANDARD + level * 2 + is_standard(parameter, i));
    if (level > 0) {
        add_span_features(evidence, p, candidate, PARAMETER_CHOICE);
    }
    candidate->score += i == choices->side ? 2 * PRIOR_COUNT : 0;
    if (choices->denied != NULL) {
        candidate->first = choices->denied->first;
        candidate->last = choices->denied->last;
        candidate->score = level == choices->best ? -2 * PRIOR_DENIED : 2 * PRIOR_DENIED;
    }
}

/* Those that the text mentions, the best first; of the others only the first of each sort: they are
 * as likely as those behind it. */
static void add_choices(const struct evidence *evidence, size_t p, struct candidate *ret,
                        size_t *count) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    bool seen[5][2] = {{false}};
    struct choices choices;
    compare_choices(evidence, p, &choices);
    for (size_t level = CHOICE_LEVELS; level-- > 0;) {
        for (size_t i = 0; i < parameter->choice_count && *count < EVIDENCE_CANDIDATES_MAX; i++) {
            const struct choice_match *match = &evidence->choices[p][i];
            bool *same = &seen[size_of(match)][is_standard(parameter, i)];
            if (match->level != level || (level == 0 && parameter->choice_count > 2 && *same)) {
                continue;
            }
            *same = *same || level == 0;
            add_choice(evidence, p, i, &choices, &ret[(*count)++]);
        }
    }
}

/* All choices that are mentioned as well as the best. */
static void add_choice_list(const struct evidence *evidence, size_t p, struct candidate *ret,
                            size_t *count) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    uint8_t best = CHOICE_HALF;
    struct choice_match first = {0};
    for (size_t i = 0; i < parameter->choice_count; i++) {
        const struct choice_match *match = &evidence->choices[p][i];
        if (match->level > best) {
            best = match->level;
            first = *match;
        }
    }
    if (best == CHOICE_HALF) {
        return;
    }
    struct candidate *candidate = &ret[(*count)++];
    *candidate = (struct candidate){.form = FORM_CHOICES,
                                    .index = best > CHOICE_SPREAD ? CHOICE_CONCEPT : best,
                                    .first = first.first,
                                    .last = first.last};
    add(candidate, F_CHOICE + (best * 4u + need_of(parameter)) * 2);
    add(candidate, F_FORM + FORM_CHOICES * TYPES + PARAMETER_CHOICES);
    add_span_features(evidence, p, candidate, PARAMETER_CHOICES);
}

static void add_truths(const struct evidence *evidence, size_t p, struct candidate *ret,
                       size_t *count) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    struct truth_match match = truth_find(evidence->values, parameter);
    size_t standard =
            !yyjson_is_bool(parameter->standard) ? 2 : yyjson_get_bool(parameter->standard);
    for (size_t truth = 0; truth < 2; truth++) {
        struct candidate *candidate = &ret[(*count)++];
        *candidate = (struct candidate){.form = (uint8_t)(truth ? FORM_TRUE : FORM_FALSE),
                                        .first = match.first,
                                        .last = match.last};
        add(candidate,
            F_TRUTH + (((truth * 4 + match.share) * 2 + match.negated) * 3 + standard) * 2 +
                    parameter->required);
        add(candidate, F_TRUTH_TEXT + (truth * 4 + match.described) * 3 +
                               (match.share > 1 ? 2u : match.share));
        if (match.stated) {
            candidate->score = (truth != 0) == match.truth ? PRIOR_STATED : -PRIOR_STATED;
        } else if (match.share > 1 && match.negated) {
            candidate->score = truth != 0 ? -PRIOR_DENIED : PRIOR_DENIED;
        } else if (match.share > 2 && standard == 0 && truth != 0) {
            candidate->score = PRIOR_SAID;
        }
    }
}

static int32_t score_of(const struct candidate *candidate) {
    int32_t score = 0;
    for (size_t i = 0; i < candidate->feature_count; i++) {
        score += evidence_weights[candidate->features[i]];
    }
    return score;
}

/* The kinds that a hint wants if the text has one of them: nothing else is an e-mail address then.
 */
uint32_t evidence_wanted_kinds(const struct parameter *parameter) {
    switch (parameter->hint) {
    case HINT_ZONE:
        return VALUE_BIT(VALUE_ZONE) | VALUE_BIT(VALUE_PLACE) | VALUE_BIT(VALUE_COUNTRY);
    case HINT_COLOR: return VALUE_BIT(VALUE_COLOR) | VALUE_BIT(VALUE_NAME);
    case HINT_FLOOR: return VALUE_BIT(VALUE_FLOOR);
    case HINT_CURRENCY: return VALUE_BIT(VALUE_CURRENCY) | VALUE_BIT(VALUE_MONEY);
    case HINT_EMAIL: return VALUE_BIT(VALUE_EMAIL);
    case HINT_URL: return VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_IP);
    case HINT_PATH: return VALUE_BIT(VALUE_PATH);
    case HINT_EXPRESSION: return VALUE_BIT(VALUE_EXPRESSION);
    default: return 0;
    }
}

/* Whether a range of days gives a parameter its first or its last day. */
static bool is_day_of_range(const struct parameter *parameter, const struct value *value) {
    return value->kind == VALUE_DURATION && value->time.has_day && parameter->role != ROLE_NONE;
}

/* A value that is a day or a time, as the hint wants. */
bool evidence_is_time_wanted(const struct parameter *parameter, const struct value *value) {
    switch (parameter->hint) {
    case HINT_DATE:
        return value->kind == VALUE_DATE || value->kind == VALUE_MOMENT ||
               is_day_of_range(parameter, value);
    case HINT_TIME: return value->kind == VALUE_TIME || value->kind == VALUE_MOMENT;
    case HINT_MOMENT:
        return value->kind == VALUE_DATE || value->kind == VALUE_TIME ||
               value->kind == VALUE_MOMENT || is_day_of_range(parameter, value);
    default: return false;
    }
}

/* Whether the text names a class of characters, and not all texts that the tool needs are quoted:
 * "find '\\d' in 'all digits'". */
bool evidence_has_class(const struct evidence *evidence) {
    size_t quoted = 0;
    size_t needed = 0;
    for (size_t v = 0; v < evidence->values->solid_count; v++) {
        const struct value *value = &evidence->values->list[v];
        quoted += value->kind == VALUE_QUOTED && !value_is_class(value);
    }
    for (size_t p = 0; p < evidence->parameters->count; p++) {
        const struct parameter *parameter = &evidence->parameters->list[p];
        needed += parameter->required && parameter->type == PARAMETER_STRING;
    }
    return evidence->values->class_count > 0 && (quoted < needed || quoted == 0);
}

static uint32_t kinds_taken(const struct evidence *evidence, const struct parameter *parameter) {
    if (parameter->regex == REGEX_PATTERN && evidence_has_class(evidence)) {
        return VALUE_BIT(VALUE_QUOTED); /* of which classes are */
    }
    bool addresses = parameter->type == PARAMETER_ARRAY &&
                     (parameter->hint == HINT_EMAIL || parameter->hint == HINT_URL);
    uint32_t wanted =
            parameter->type == PARAMETER_STRING || addresses ? evidence_wanted_kinds(parameter) : 0;
    if (parameter->hint == HINT_FLOOR) {
        return wanted | VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_ORDINAL) |
               VALUE_BIT(VALUE_NUMBER);
    }
    /* A part of a calculation is not what was asked. */
    if (wanted != 0 && parameter->hint == HINT_EXPRESSION && evidence->values->unclear) {
        return VALUE_BIT(VALUE_QUOTED);
    }
    for (size_t v = 0; wanted != 0 && v < evidence->value_count; v++) {
        const struct value *value = &evidence->values->list[v];
        if ((VALUE_BIT(value->kind) & wanted) != 0 && evidence->values->tokens[value->first].user) {
            return wanted | VALUE_BIT(VALUE_QUOTED) | (addresses ? VALUE_BIT(VALUE_LIST) : 0);
        }
    }
    /* A clock is no word of the text where the form of clocks is given. */
    if (parameter->type == PARAMETER_STRING && parameter->hint == HINT_TIME &&
        parameter->pattern != NULL &&
        memchr(parameter->pattern, 'h', parameter->pattern_length) != NULL) {
        return VALUE_BIT(VALUE_TIME) | VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_QUOTED);
    }
    /* Words are no day where the text has one. */
    for (size_t v = 0; parameter->type == PARAMETER_STRING && v < evidence->value_count; v++) {
        const struct value *value = &evidence->values->list[v];
        if (is_day_of_range(parameter, value) && evidence_is_time_wanted(parameter, value)) {
            return VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_MOMENT) | VALUE_BIT(VALUE_DURATION) |
                   VALUE_BIT(VALUE_QUOTED);
        }
    }
    /* A zone has a name, such as PST: it is no word of the text else. */
    bool zone = parameter->hint == HINT_ZONE && parameter->type == PARAMETER_STRING;
    return zone ? VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_NAME) | VALUE_BIT(VALUE_CODE)
                : UINT32_MAX;
}

/* The words that a candidate takes: of "100 dollars" an amount takes the number, and a currency the
 * rest. */
static void set_span(const struct parameter *parameter, const struct value *value,
                     struct candidate *candidate) {
    candidate->first = value->first;
    candidate->last = value->last;
    if (is_number(value) &&
        (parameter->type == PARAMETER_NUMBER || candidate->form == FORM_NUMBER)) {
        candidate->first = value->item_first;
        candidate->last = (uint16_t)(value->item_first + value->item_count);
    } else if (value->kind == VALUE_MONEY && parameter->hint == HINT_CURRENCY) {
        bool before = value->first < value->item_first;
        candidate->first =
                before ? value->first : (uint16_t)(value->item_first + value->item_count);
        candidate->last = before ? value->item_first : value->last;
    }
}

/* Of "1 hour 30 minutes" a tool with hours and minutes takes the parts, one with minutes the whole.
 */
static bool is_right_span(const struct evidence *evidence, size_t p, const struct value *value) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    if (value->kind != VALUE_QUANTITY || parameter->type != PARAMETER_NUMBER) {
        return !value->joined;
    }
    if (value->joined || evidence->span_count != 1 || !is_time_unit(parameter->unit)) {
        return !value->joined || evidence->span_count == 1;
    }
    for (size_t v = 0; v < evidence->values->solid_count; v++) {
        const struct value *other = &evidence->values->list[v];
        if (other->joined && other->first <= value->first && value->last <= other->last) {
            return false;
        }
    }
    return true;
}

/* Of "1,5" and "1 500" a tool with two numbers takes both, one with a single number none; "3 x 4"
 * is arithmetic where that is wanted. */
static bool is_doubtful(const struct evidence *evidence, const struct parameter *parameter,
                        const struct value *value) {
    size_t numbers = 0;
    if (value->torn && value->kind == VALUE_EXPRESSION) {
        return parameter->hint != HINT_EXPRESSION;
    }
    for (size_t q = 0; q < evidence->parameters->count; q++) {
        numbers += evidence->parameters->list[q].type == PARAMETER_NUMBER;
    }
    return value->torn && parameter->type == PARAMETER_NUMBER && numbers < 2;
}

/* "calculate the average": words without a number, a sign or the name of a quantity are no
 * arithmetic. */
static bool is_no_arithmetic(const struct evidence *evidence, const struct parameter *parameter,
                             const struct value *value) {
    const uint32_t words = VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART) | VALUE_BIT(VALUE_NAME) |
                           VALUE_BIT(VALUE_PLACE);
    const struct values *values = evidence->values;
    bool none = parameter->hint == HINT_EXPRESSION && (VALUE_BIT(value->kind) & words) != 0 &&
                strstr(parameter->lower, "function") == NULL; /* what something does, too */
    for (size_t t = value->first; none && t < value->last; t++) {
        const struct token *token = &values->tokens[t];
        bool letter = token->end - token->start == 1 && token->cue == CUE_NONE;
        double number;
        bool whole;
        none = token->kind != TOKEN_SIGN && token->kind != TOKEN_NUMBER && !letter &&
               !(token->end - token->start == 2 &&
                 memcmp(values->lower + token->start, "pi", 2) == 0) &&
               value_read_number(values, t, &number, &whole) == 0;
    }
    return none;
}

/* "the branch feature/login": what is written like a repository is the name of a branch where the
 * tool has no other use for it, or the text says so. */
static bool is_branch(const struct evidence *evidence, size_t p, const struct value *value) {
    const uint32_t uses = PIECE_SLUG | PIECE_OWNER | PIECE_REPOSITORY;
    const uint8_t *names = evidence->names + p * evidence->values->token_count;
    bool used = false;
    if (evidence->parameters->list[p].piece != PIECE_REVISION || value->piece != PIECE_SLUG) {
        return false;
    }
    for (size_t q = 0; q < evidence->parameters->count; q++) {
        used = used || (evidence->parameters->list[q].piece & uses) != 0;
    }
    return !used || (value->first > 0 && names[value->first - 1u] == 2);
}

/* "the host is http://example.com": what the text calls the host is it, with all that is written.
 * @return the URL; NULL: it does not say so, or the port is apart. */
static const struct value *url_called_so(const struct evidence *evidence, size_t p,
                                         const struct value *value) {
    const struct value *url =
            evidence->parameters->list[p].piece == PIECE_HOST &&
                            (evidence->pieces & PIECE_PORT) == 0
                    ? value_covering(evidence->values, value->first, VALUE_BIT(VALUE_URL))
                    : NULL;
    struct anchors anchors =
            url != NULL ? anchors_of(evidence, p, url->first, url->last) : (struct anchors){0};
    bool named = anchors.name_before <= 2 || anchors.name_after <= 1;
    return url != NULL && named ? url : NULL;
}

/* Where the text has the piece that a parameter is named after, it takes nothing else; and a piece
 * is for no other parameter. Quotes say what they are for themselves. */
static bool is_right_piece(const struct evidence *evidence, size_t p, const struct value *value) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    bool has = (evidence->pieces & parameter->piece) != 0;
    bool own = value->kind == VALUE_PART || has;
    const struct value *url = url_called_so(evidence, p, value);
    if (is_branch(evidence, p, value)) {
        return true;
    }
    if (url != NULL) {
        return value->kind == VALUE_URL;
    }
    return value->piece == PIECE_NONE || value->piece == PIECE_EMAIL
                   ? !has || value->piece == parameter->piece ||
                             (value->kind == VALUE_QUOTED && value->last - value->first == 1)
                   : own && value->piece == parameter->piece;
}

static void add_values(const struct evidence *evidence, size_t p, struct candidate *ret,
                       size_t *count) {
    const struct parameter *parameter = &evidence->parameters->list[p];
    uint32_t kinds = kinds_taken(evidence, parameter);
    for (size_t v = 0; v < evidence->value_count; v++) {
        const struct value *value = &evidence->values->list[v];
        uint8_t forms[2];
        bool named = value->piece != PIECE_NONE && value->piece == parameter->piece;
        bool taken = ((VALUE_BIT(value->kind) & kinds) != 0 || named) &&
                     is_right_piece(evidence, p, value) && is_right_span(evidence, p, value) &&
                     !is_doubtful(evidence, parameter, value) &&
                     !is_no_arithmetic(evidence, parameter, value);
        size_t form_count = taken ? forms_of(parameter, value, forms) : 0;
        for (size_t i = 0; i < form_count && *count < EVIDENCE_CANDIDATES_MAX; i++) {
            struct candidate *candidate = &ret[(*count)++];
            *candidate = (struct candidate){.form = forms[i], .index = (uint16_t)v};
            set_span(parameter, value, candidate);
            add_span_features(evidence, p, candidate, parameter->type);
            add_value_features(evidence, p, v, candidate);
        }
    }
}

size_t evidence_candidates(const struct evidence *evidence, size_t parameter,
                           struct candidate *ret) {
    size_t count = 1;
    add_none(evidence, parameter, &ret[0]);
    switch (evidence->parameters->list[parameter].type) {
    case PARAMETER_BOOLEAN: add_truths(evidence, parameter, ret, &count); break;
    case PARAMETER_CHOICE: add_choices(evidence, parameter, ret, &count); break;
    case PARAMETER_CHOICES: add_choice_list(evidence, parameter, ret, &count); break;
    default: add_values(evidence, parameter, ret, &count); break;
    }
    for (size_t i = 0; i < count; i++) {
        ret[i].score += score_of(&ret[i]) + evidence_prior(evidence, parameter, &ret[i]);
    }
    return count;
}
