/* The values of a text as the arguments of a tool.
 *
 * Each parameter has its candidates with scores (evidence.h), the first of which is to leave it
 * out. The parameter whose best candidate is furthest above that gets it first; then no other
 * parameter takes the same words. */
#include "choose/arguments.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/object.h"
#include "choose/fill-parts.h"
#include "choose/render.h"

/* The same of a time for an optional parameter that wants one: more than words can say against it.
 */
#define TIME_BONUS 3000

/* How much worse two values may be together in the order of the text, and rounds of exchanges. */
#define EXCHANGE_LOSS   40
#define EXCHANGE_ROUNDS 4u

/* What `used` has of a word: one parameter has taken it; two parameters may take a range of days;
 * of a moment one may take the day, and another the clock. */
#define USED          FILL_USED
#define USED_BY_RANGE 2u
#define USED_AS_DAY   4u
#define USED_AS_CLOCK 8u
/* ------------------------------------------------------------------- scores */

static void keep(struct choice_state *state, const struct candidate *candidate, int32_t margin) {
    size_t at = state->count;
    while (at > 0 && state->kept[at - 1].margin < margin) {
        at--;
    }
    if (at == KEPT_MAX) {
        return;
    }
    size_t moved = (state->count == KEPT_MAX ? KEPT_MAX - 1 : state->count) - at;
    memmove(&state->kept[at + 1], &state->kept[at], moved * sizeof *state->kept);
    state->kept[at] = (struct kept){.form = candidate->form,
                                    .index = candidate->index,
                                    .first = candidate->first,
                                    .last = candidate->last,
                                    .margin = margin};
    state->count += state->count < KEPT_MAX;
}

/* 里, 中, 上: where, behind the word for it. */
static bool is_where(const struct token *token) {
    return token->kind == TOKEN_HAN &&
           (token->sign == 0x91cc || token->sign == 0x4e2d || token->sign == 0x4e0a);
}

/* Whether words are only names of the parameter or of its tool: "create a note" names no note, nor
 * is 一个 a text. */
static bool is_only_name(const struct fill *fill, size_t p, const struct candidate *candidate) {
    const uint32_t words = VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART) | VALUE_BIT(VALUE_NAME) |
                           VALUE_BIT(VALUE_QUANTITY);
    const uint8_t type = fill->parameters.list[p].type;
    bool only = type != PARAMETER_NUMBER &&
                (candidate->form == FORM_PLAIN || candidate->form == FORM_SINGLE) &&
                (VALUE_BIT(fill->values->list[candidate->index].kind) & words) != 0;
    for (size_t t = candidate->first; only && t < candidate->last; t++) {
        const struct token *token = &fill->values->tokens[t];
        bool where = t > candidate->first && t + 1 == candidate->last && is_where(token);
        only = where || evidence_is_name(fill->evidence, p, t) ||
               (token->cue == CUE_DETERMINER && !token->capital);
    }
    return only;
}

/* An optional parameter is about a time that the text has, and no required one is: it is hardly
 * said for nothing. Of a moment the day leaves the clock to another. */
static bool is_time_for(const struct fill *fill, size_t p, const struct candidate *candidate) {
    const struct value *value = &fill->values->list[candidate->index];
    if (candidate->form != FORM_PLAIN || fill->parameters.list[p].must) {
        return false;
    }
    for (size_t q = 0; q < fill->parameters.count; q++) {
        const struct parameter *other = &fill->parameters.list[q];
        bool half = value->kind == VALUE_MOMENT && other->hint == HINT_DATE &&
                    fill->parameters.list[p].hint == HINT_TIME;
        if (other->must && !half && other->type == PARAMETER_STRING &&
            evidence_is_time_wanted(other, value)) {
            return false;
        }
    }
    return fill->parameters.list[p].type == PARAMETER_STRING &&
           evidence_is_time_wanted(&fill->parameters.list[p], value);
}

static void score_parameter(struct fill *fill, size_t p, struct candidate *scratch) {
    const struct parameter *parameter = &fill->parameters.list[p];
    size_t count = evidence_candidates(fill->evidence, p, scratch);
    int32_t bonus = parameter->must ? REQUIRED_BONUS : 0;
    for (size_t i = 1; i < count; i++) {
        int32_t margin = scratch[i].score - scratch[0].score + bonus +
                         (is_time_for(fill, p, &scratch[i]) ? TIME_BONUS : 0);
        if (margin > 0 && !is_only_name(fill, p, &scratch[i])) {
            keep(&fill->states[p], &scratch[i], margin);
        }
    }
}

/* Whether a candidate is a value of the text as it is, of one of some kinds. */
static bool is_plain_of(const struct fill *fill, const struct kept *kept, uint32_t kinds) {
    return kept->form == FORM_PLAIN && kept->last > kept->first &&
           (VALUE_BIT(fill->values->list[kept->index].kind) & kinds) != 0;
}

/* --------------------------------------------------------------- assignment */

/* Whether words only stand for an earlier result: "that file". */
static bool is_reference(const struct values *values, const struct kept *kept) {
    for (size_t i = 0; values->context.results != NULL && i < values->reference_count; i++) {
        const struct value_reference *reference = &values->references[i];
        if (reference->first <= kept->first && kept->last <= reference->last) {
            return kept->last > kept->first;
        }
    }
    return false;
}

/* Whether a value is a range of days: its first and its last day are of two parameters. */
static bool is_range(const struct fill *fill, const struct kept *kept) {
    const struct value *value = fill_is_value(kept) ? &fill->values->list[kept->index] : NULL;
    return value != NULL && value->kind == VALUE_DURATION && value->time.has_day;
}

/* What a parameter leaves on the words of a value that it takes. */
static uint8_t use_of(const struct fill *fill, size_t p, const struct kept *kept) {
    const struct parameter *parameter = &fill->parameters.list[p];
    const struct value *value = fill_is_value(kept) ? &fill->values->list[kept->index] : NULL;
    bool moment = value != NULL && value->kind == VALUE_MOMENT &&
                  parameter->type == PARAMETER_STRING && kept->form == FORM_PLAIN;
    if (is_range(fill, kept) && evidence_is_time_wanted(parameter, value)) {
        return USED_BY_RANGE;
    }
    return moment && parameter->hint == HINT_DATE   ? USED_AS_DAY
           : moment && parameter->hint == HINT_TIME ? USED_AS_CLOCK
                                                    : USED;
}

/* Whether an optional parameter would take the same choice from the same words as another one:
 * "into French" is the language of one. */
static bool is_choice_of_another(const struct fill *fill, size_t p, const struct kept *kept) {
    const struct parameter *own = &fill->parameters.list[p];
    bool optional = kept->form == FORM_CHOICE && kept->last > kept->first && !own->must;
    for (size_t q = 0; optional && q < fill->parameters.count; q++) {
        const struct parameter *other = &fill->parameters.list[q];
        const struct kept *has = &fill->states[q].kept[fill->states[q].at];
        if (q == p || !fill->states[q].filled || has->form != FORM_CHOICE ||
            has->first != kept->first || has->last != kept->last) {
            continue;
        }
        const struct parameter_text *a = &own->choices[kept->index];
        const struct parameter_text *b = &other->choices[has->index];
        if (a->length == b->length && memcmp(a->text, b->text, a->length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_free(const struct fill *fill, size_t p, const struct kept *kept) {
    if (is_choice_of_another(fill, p, kept)) {
        return false;
    }
    if (!evidence_is_choice(kept->form) && is_reference(fill->values, kept)) {
        return false;
    }
    uint8_t use = use_of(fill, p, kept);
    uint8_t beside = use == USED_BY_RANGE   ? USED_BY_RANGE
                     : use == USED_AS_DAY   ? USED_AS_CLOCK
                     : use == USED_AS_CLOCK ? USED_AS_DAY
                                            : 0;
    for (size_t i = kept->first; !evidence_is_choice(kept->form) && i < kept->last; i++) {
        if ((fill->used[i] & ~(unsigned)beside) != 0) {
            return false;
        }
    }
    return true;
}

const char *fill_render(struct fill *fill, size_t p, const struct kept *kept) {
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    struct candidate candidate = {
            .form = kept->form, .index = kept->index, .first = kept->first, .last = kept->last};
    if (!render_candidate(fill->values, &fill->parameters.list[p], &candidate, &json) ||
        json.failed) {
        return NULL;
    }
    return arena_copy(&fill->arena, json.data, json.length);
}

/* The parameter whose next free candidate has the largest margin; parameters.count: none. */
static size_t next_parameter(struct fill *fill) {
    size_t best = fill->parameters.count;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        struct choice_state *state = &fill->states[p];
        while (!state->done && state->at < state->count &&
               !is_free(fill, p, &state->kept[state->at])) {
            state->at++;
        }
        state->done = state->done || state->at == state->count;
        if (!state->done && (best == fill->parameters.count ||
                             state->kept[state->at].margin >
                                     fill->states[best].kept[fill->states[best].at].margin)) {
            best = p;
        }
    }
    return best;
}

static void assign(struct fill *fill) {
    for (;;) {
        size_t p = next_parameter(fill);
        if (p == fill->parameters.count) {
            return;
        }
        struct choice_state *state = &fill->states[p];
        const struct kept *kept = &state->kept[state->at];
        state->json = fill_render(fill, p, kept);
        if (state->json == NULL) {
            state->at++;
            continue;
        }
        state->done = true;
        state->filled = true;
        bool words = kept->form != FORM_TRUE && kept->form != FORM_FALSE;
        for (size_t i = kept->first; words && i < kept->last; i++) {
            fill->used[i] |= use_of(fill, p, kept);
        }
    }
}

static void mark_used(struct fill *fill, const struct kept *kept, uint8_t used) {
    memset(fill->used + kept->first, used, (size_t)(kept->last - kept->first));
}

/* Whether a text is a part of one in quotation marks: "Monday" of "review by Monday". */
static bool is_quoted_part(const struct fill *fill, size_t p, const struct kept *kept) {
    const struct parameter *parameter = &fill->parameters.list[p];
    const struct value *quoted =
            parameter->type == PARAMETER_STRING && fill_is_value(kept)
                    ? value_covering(fill->values, kept->first, VALUE_BIT(VALUE_QUOTED))
                    : NULL;
    return quoted != NULL && (parameter->hint == HINT_TEXT || parameter->hint == HINT_TITLE) &&
           (quoted->first < kept->first || kept->last < quoted->last);
}

/* What is in quotes was meant as a text: where no parameter has taken it, it goes before words that
 * only stand between others, and before a part of it. */
static void prefer_quoted(struct fill *fill, size_t p) {
    const uint32_t words = VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART);
    struct choice_state *state = &fill->states[p];
    if (!state->filled || (!is_plain_of(fill, &state->kept[state->at], words) &&
                           !is_quoted_part(fill, p, &state->kept[state->at]))) {
        return;
    }
    mark_used(fill, &state->kept[state->at], 0);
    for (size_t i = 0; i < state->count; i++) {
        const struct kept *kept = &state->kept[i];
        bool good = is_plain_of(fill, kept, VALUE_BIT(VALUE_QUOTED)) && is_free(fill, p, kept);
        const char *json = good ? fill_render(fill, p, kept) : NULL;
        if (json != NULL) {
            state->at = i;
            state->json = json;
            break;
        }
    }
    mark_used(fill, &state->kept[state->at], USED);
}

/* The list of the text that a value is in, in the order of the candidates of a parameter; NULL: it
 * is in none. */
static const struct kept *list_of(const struct fill *fill, const struct choice_state *state,
                                  const struct kept *kept) {
    const struct values *values = fill->values;
    for (size_t i = 0; i < state->count; i++) {
        const struct kept *list = &state->kept[i];
        const struct value *value = fill_is_value(list) ? &values->list[list->index] : NULL;
        bool has = false;
        for (size_t k = 0; value != NULL && value->kind == VALUE_LIST && k < value->item_count;
             k++) {
            has = has || values->items[value->item_first + k] == kept->index;
        }
        if (has) {
            return list;
        }
    }
    return NULL;
}

/* Whether the text has a name of a parameter. */
static bool is_named(const struct fill *fill, size_t p) {
    for (size_t t = 0; t < fill->values->token_count; t++) {
        if (evidence_is_label(fill->evidence, p, t)) {
            return true;
        }
    }
    return false;
}

/* Addresses that stand together are for the required parameter: of "email Ann and Ben" no copy goes
 * to Ann, where the text does not say so. */
static void keep_together(struct fill *fill, size_t p) {
    const struct parameter *parameter = &fill->parameters.list[p];
    struct choice_state *state = &fill->states[p];
    const struct kept *kept = &state->kept[state->at];
    const struct kept *list = parameter->type == PARAMETER_ARRAY && parameter->must &&
                                              parameter->hint == HINT_EMAIL && state->filled &&
                                              kept->form == FORM_SINGLE
                                      ? list_of(fill, state, kept)
                                      : NULL;
    const char *json = list != NULL ? fill_render(fill, p, list) : NULL;
    for (size_t q = 0; json != NULL && q < fill->parameters.count; q++) {
        struct choice_state *other = &fill->states[q];
        const struct kept *has = &other->kept[other->at];
        bool inside = q != p && other->filled && fill_is_value(has) && list->first <= has->first &&
                      has->last <= list->last;
        if (inside && (fill->parameters.list[q].must || is_named(fill, q))) {
            return;
        }
        if (inside) {
            other->filled = false;
            other->json = NULL;
        }
    }
    if (json != NULL) {
        state->at = (size_t)(list - state->kept);
        state->json = json;
        mark_used(fill, list, USED);
    }
}

/* The kept candidate of a parameter that takes the same value; NULL: it is none of the best. */
static const struct kept *same_value(const struct choice_state *state, const struct kept *wanted) {
    for (size_t i = 0; i < state->count; i++) {
        const struct kept *kept = &state->kept[i];
        if (!evidence_is_choice(kept->form) && kept->index == wanted->index &&
            kept->form == wanted->form) {
            return kept;
        }
    }
    return NULL;
}

/* Exchange the values of two parameters if that is better together, or as good and in the order of
 * the text. */
static bool exchange(struct fill *fill, size_t p, size_t q) {
    struct choice_state *a = &fill->states[p];
    struct choice_state *b = &fill->states[q];
    const struct kept *has_a = &a->kept[a->at];
    const struct kept *has_b = &b->kept[b->at];
    if (evidence_is_choice(has_a->form) || evidence_is_choice(has_b->form) ||
        fill->parameters.list[p].type != fill->parameters.list[q].type) {
        return false;
    }
    const struct kept *gets_a = same_value(a, has_b);
    const struct kept *gets_b = same_value(b, has_a);
    if (gets_a == NULL || gets_b == NULL) {
        return false;
    }
    int32_t gain = gets_a->margin + gets_b->margin - has_a->margin - has_b->margin;
    bool ordered = has_b->first < has_a->first;
    if (gain <= 0 && !(ordered && gain > -EXCHANGE_LOSS)) {
        return false;
    }
    if (!ordered && gain < EXCHANGE_LOSS) {
        return false;
    }
    const char *json_a = fill_render(fill, p, gets_a);
    const char *json_b = fill_render(fill, q, gets_b);
    if (json_a == NULL || json_b == NULL) {
        return false;
    }
    a->at = (size_t)(gets_a - a->kept);
    b->at = (size_t)(gets_b - b->kept);
    a->json = json_a;
    b->json = json_b;
    return true;
}

/* Each round goes over all pairs once; a few are enough, and bound the work. */
static void improve(struct fill *fill) {
    bool changed = true;
    for (size_t round = 0; changed && round < EXCHANGE_ROUNDS; round++) {
        changed = false;
        for (size_t p = 0; p < fill->parameters.count; p++) {
            for (size_t q = p + 1; q < fill->parameters.count; q++) {
                if (fill->states[p].filled && fill->states[q].filled && exchange(fill, p, q)) {
                    changed = true;
                }
            }
        }
    }
}

/* Whether words are the name of another parameter, directly before what it takes: "with the subject
 * Lunch" has no text "subject". */
static bool is_label(const struct fill *fill, size_t p, const struct kept *kept) {
    for (size_t q = 0; q < fill->parameters.count; q++) {
        const struct choice_state *state = &fill->states[q];
        const struct kept *other = &state->kept[state->at];
        bool before = q != p && state->filled && fill_is_value(other);
        size_t first = before ? fill->values->list[other->index].first : 0;
        first -= before && first > kept->last && fill->values->tokens[first - 1].kind == TOKEN_SIGN;
        before = before && first == kept->last;
        for (size_t t = kept->first; before && t < kept->last; t++) {
            before = evidence_is_label(fill->evidence, q, t);
        }
        if (before) {
            return true;
        }
    }
    return false;
}

static void drop_labels(struct fill *fill) {
    const uint32_t words = VALUE_BIT(VALUE_CHUNK) | VALUE_BIT(VALUE_PART);
    for (size_t p = 0; p < fill->parameters.count; p++) {
        struct choice_state *state = &fill->states[p];
        const struct kept *kept = &state->kept[state->at];
        if (state->filled && is_plain_of(fill, kept, words) && is_label(fill, p, kept)) {
            state->filled = false;
            state->json = NULL;
        }
    }
}

/* ------------------------------------------------------------------- filling */

static int prepare(struct fill *fill, bool fast, struct toolrack_error *err) {
    int code = 0;
    if (fill->tool->read != NULL) {
        fill->parameters = *fill->tool->read;
    } else {
        code = parameters_read(fill->tool, &fill->arena, &fill->parameters, err);
    }
    if (code == 0) {
        code = evidence_create(fill->values, &fill->parameters, fast, &fill->arena, &fill->evidence,
                               err);
    }
    if (code != 0) {
        return code;
    }
    fill->states = arena_zalloc(&fill->arena, (fill->parameters.count + 1) * sizeof *fill->states);
    fill->used = arena_zalloc(&fill->arena, fill->values->token_count + 1);
    fill->telling = arena_zalloc(&fill->arena, fill->values->token_count + 1);
    struct candidate *scratch =
            arena_alloc(&fill->arena, EVIDENCE_CANDIDATES_MAX * sizeof *scratch);
    if (fill->states == NULL || fill->used == NULL || fill->telling == NULL || scratch == NULL) {
        return error_oom(err);
    }
    for (size_t p = 0; p < fill->parameters.count; p++) {
        score_parameter(fill, p, scratch);
    }
    if (!fast) {
        fill_labels(fill);
    }
    assign(fill);
    for (size_t p = 0; p < fill->parameters.count; p++) {
        prefer_quoted(fill, p);
        keep_together(fill, p);
    }
    improve(fill);
    if (!fast) {
        drop_labels(fill);
    }
    fill_from_context(fill);
    if (fast) {
        return 0;
    }
    fill_ranges(fill);
    bool good = fill_clauses(fill) && fill_groups(fill);
    fill_settle_guesses(fill);
    if (good && fill->more_count == 0) {
        fill_doubt(fill);
    }
    return good ? 0 : error_oom(err);
}

int arguments_fill(const struct values *values, const struct arguments_tool *tool,
                   struct arguments **ret, struct toolrack_error *err) {
    OBJECT_CHECK(values, VALUES_MAGIC);
    struct fill fill = {.values = values, .tool = tool};
    arena_init(&fill.arena, NULL, 0);
    int code = prepare(&fill, false, err);
    if (code == 0) {
        code = fill_write_result(&fill, ret, err);
    }
    arena_finish(&fill.arena);
    return code;
}

int arguments_fit(const struct values *values, const struct arguments_tool *tool,
                  struct arguments_fit *ret, struct toolrack_error *err) {
    OBJECT_CHECK(values, VALUES_MAGIC);
    struct fill fill = {.values = values, .tool = tool};
    *ret = (struct arguments_fit){0};
    arena_init(&fill.arena, NULL, 0);
    int code = prepare(&fill, true, err);
    if (code == 0) {
        fill_count_fit(&fill, ret);
    }
    arena_finish(&fill.arena);
    return code;
}
