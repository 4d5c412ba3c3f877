/* The elements of arrays of objects, from a text that lists groups: "apples at 3 dollars, pears at
 * 4". The text is cut at commas and "and"; as many pieces in a row as give all that an element
 * needs are one element. */
#include <string.h>

#include "choose/fill-parts.h"

/* Pieces that are read, and members of one element. */
#define PIECES_MAX  64u
#define MEMBERS_MAX 16u

struct range {
    size_t first; /* tokens [first, last) */
    size_t last;
};

struct element {
    struct kept kept[MEMBERS_MAX];
    bool filled[MEMBERS_MAX];
    size_t worded;  /* members that words of the text give */
    int64_t margin; /* of these members */
};

struct groups {
    struct fill *fill;
    size_t members[MEMBERS_MAX]; /* parameters, in the order of the schema */
    size_t member_count;
    struct range pieces[PIECES_MAX];
    size_t piece_count;
    struct element elements[FILL_ELEMENTS_MAX];
    size_t element_count;
};

/* ------------------------------------------------------------------- pieces */

static bool is_separator(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    uint32_t sign = token->kind == TOKEN_SIGN ? token->sign : 0;
    return sign == ',' || sign == ';' || sign == ':' || sign == '.' || token->cue == CUE_AND;
}

static void cut(struct groups *groups) {
    const uint32_t closed = VALUE_BIT(VALUE_QUOTED) | VALUE_BIT(VALUE_JSON) | VALUE_BIT(VALUE_URL) |
                            VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_PATH) | VALUE_BIT(VALUE_TIME) |
                            VALUE_BIT(VALUE_DATE) | VALUE_BIT(VALUE_MOMENT);
    const struct values *values = groups->fill->values;
    size_t first = 0;
    for (size_t i = 0; i <= values->token_count && groups->piece_count < PIECES_MAX; i++) {
        bool end = i == values->token_count;
        const struct value *whole = end ? NULL : value_covering(values, i, closed);
        bool inside = whole != NULL && !value_is_class(whole);
        if (!end && (!is_separator(values, i) || inside)) {
            continue;
        }
        if (i > first) {
            groups->pieces[groups->piece_count++] = (struct range){first, i};
        }
        first = i + 1;
    }
}

/* ----------------------------------------------------------------- elements */

static bool is_in(const struct kept *kept, const struct range *range) {
    return range->first <= kept->first && kept->last <= range->last;
}

/* All words of a candidate: of a number its unit too. */
static struct range words_of(const struct fill *fill, const struct kept *kept) {
    struct range range = {kept->first, kept->last};
    if (fill_is_value(kept)) {
        const struct value *value = &fill->values->list[kept->index];
        range = (struct range){value->first, value->last};
    }
    return range;
}

static void mark(const struct fill *fill, const struct kept *kept, uint8_t *used, uint8_t how) {
    struct range words = words_of(fill, kept);
    memset(used + words.first, how, words.last - words.first);
}

/* The best candidate of a member inside a range whose words are free; NULL: none. */
static const struct kept *best_of(const struct groups *groups, size_t p, const struct range *range,
                                  const uint8_t *used) {
    const struct choice_state *state = &groups->fill->states[p];
    for (size_t i = 0; i < state->count; i++) {
        const struct kept *kept = &state->kept[i];
        bool free = kept->last == kept->first || is_in(kept, range);
        for (size_t t = kept->first; free && t < kept->last; t++) {
            free = !used[t];
        }
        if (free) {
            return kept;
        }
    }
    return NULL;
}

/* Fill an element from a range; false: the range lacks what each element needs. */
static bool read_element(const struct groups *groups, const struct range *range, uint8_t *used,
                         struct element *ret) {
    const struct fill *fill = groups->fill;
    bool good = true;
    *ret = (struct element){0};
    /* Numbers first: fewer words can be one. */
    for (size_t turn = 0; turn < 2 * groups->member_count; turn++) {
        size_t m = turn % groups->member_count;
        size_t p = groups->members[m];
        const struct parameter *parameter = &fill->parameters.list[p];
        if ((parameter->type == PARAMETER_NUMBER) != (turn < groups->member_count)) {
            continue;
        }
        const struct kept *kept = best_of(groups, p, range, used);
        if (kept == NULL) {
            good = good && !parameter->required;
            continue;
        }
        ret->kept[m] = *kept;
        ret->filled[m] = true;
        ret->worded += kept->last > kept->first;
        ret->margin += kept->last > kept->first ? kept->margin : 0;
        mark(fill, kept, used, 1);
    }
    for (size_t m = 0; m < groups->member_count; m++) {
        if (ret->filled[m]) {
            mark(fill, &ret->kept[m], used, 0);
        }
    }
    size_t wanted = groups->member_count > 1 ? 2 : 1;
    return good && ret->worded >= wanted;
}

/* What the values of one member have in common: a date is no name. */
static unsigned family_of(const struct fill *fill, const struct kept *kept) {
    if (!fill_is_value(kept)) {
        return VALUE_KINDS;
    }
    switch (fill->values->list[kept->index].kind) {
    case VALUE_NUMBER:
    case VALUE_QUANTITY:
    case VALUE_PERCENT:
    case VALUE_MONEY:
    case VALUE_ORDINAL: return VALUE_NUMBER;
    case VALUE_DATE:
    case VALUE_TIME:
    case VALUE_MOMENT:
    case VALUE_DURATION:
    case VALUE_URL:
    case VALUE_EMAIL:
    case VALUE_PATH:
    case VALUE_IP:
    case VALUE_PHONE: return fill->values->list[kept->index].kind;
    default: return VALUE_CHUNK;
    }
}

/* Whether an element is like the first. */
static bool is_alike(const struct groups *groups, const struct element *element) {
    const struct element *first = &groups->elements[0];
    for (size_t m = 0; m < groups->member_count; m++) {
        if (first->filled[m] && element->filled[m] &&
            family_of(groups->fill, &first->kept[m]) !=
                    family_of(groups->fill, &element->kept[m])) {
            return false;
        }
    }
    return true;
}

/* Whether the elements fit at least half as well as the one that there was. */
static bool is_better(const struct groups *groups) {
    int64_t margin = 0;
    int64_t worded = 0;
    int64_t one_margin = 0;
    int64_t one_worded = 0;
    for (size_t e = 0; e < groups->element_count; e++) {
        margin += groups->elements[e].margin;
        worded += (int64_t)groups->elements[e].worded;
    }
    for (size_t m = 0; m < groups->member_count; m++) {
        const struct choice_state *state = &groups->fill->states[groups->members[m]];
        const struct kept *kept = state->filled ? &state->kept[state->at] : NULL;
        bool said = kept != NULL && kept->last > kept->first;
        one_margin += said ? kept->margin : 0;
        one_worded += said;
    }
    return groups->element_count > 1 && margin * 2 * one_worded >= one_margin * worded;
}

static void find_elements(struct groups *groups, uint8_t *used) {
    size_t begin = 0;
    for (size_t i = 0; i < groups->piece_count && groups->element_count < FILL_ELEMENTS_MAX; i++) {
        struct element *element = &groups->elements[groups->element_count];
        struct range piece = groups->pieces[i];
        struct range joined = {groups->pieces[begin].first, piece.last};
        /* "two items:" is the title of what follows. */
        bool title = value_is_sign(groups->fill->values, piece.last, ':');
        if ((!title && read_element(groups, &piece, used, element)) ||
            (begin < i && read_element(groups, &joined, used, element))) {
            groups->element_count += is_alike(groups, element);
            begin = i + 1;
        }
    }
}

/* ------------------------------------------------------------------- arrays */

static bool is_member(const struct fill *fill, size_t p, size_t of) {
    const struct parameter *a = &fill->parameters.list[p];
    const struct parameter *b = &fill->parameters.list[of];
    return a->array == b->array && strncmp(a->pointer, b->pointer, a->array) == 0;
}

/* The members of the array that a parameter is in; false: too many. */
static bool list_members(struct groups *groups, size_t of) {
    const struct fill *fill = groups->fill;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        if (is_member(fill, p, of) && groups->member_count == MEMBERS_MAX) {
            return false;
        }
        if (is_member(fill, p, of)) {
            groups->members[groups->member_count++] = p;
        }
    }
    return true;
}

/* The words that other parameters have taken. */
static void mark_others(const struct groups *groups, size_t of, uint8_t *used) {
    const struct fill *fill = groups->fill;
    for (size_t p = 0; p < fill->parameters.count; p++) {
        const struct choice_state *state = &fill->states[p];
        const struct kept *kept = state->filled ? &state->kept[state->at] : NULL;
        if (kept != NULL && !is_member(fill, p, of)) {
            memset(used + kept->first, 1, (size_t)(kept->last - kept->first));
        }
    }
}

/* "/items/0/name" of element 2: "/items/2/name". */
static const char *pointer_of(struct fill *fill, size_t p, size_t element) {
    const struct parameter *parameter = &fill->parameters.list[p];
    return arena_printf(&fill->arena, "%.*s/%zu%s", (int)parameter->array, parameter->pointer,
                        element, parameter->pointer + parameter->array + 2);
}

static bool take_member(struct groups *groups, size_t element, size_t m) {
    struct fill *fill = groups->fill;
    size_t p = groups->members[m];
    const struct kept *kept = &groups->elements[element].kept[m];
    bool filled = groups->elements[element].filled[m];
    const char *json = filled ? fill_render(fill, p, kept) : NULL;
    if (element == 0) {
        struct choice_state *state = &fill->states[p];
        state->filled = json != NULL;
        state->kept[0] = json != NULL ? *kept : state->kept[0];
        state->at = 0;
        state->json = json;
        return true;
    }
    if (json == NULL) {
        return true;
    }
    struct fill_more *more = &fill->more[fill->more_count++];
    *more = (struct fill_more){.parameter = p,
                               .element = element,
                               .kept = *kept,
                               .pointer = pointer_of(fill, p, element),
                               .json = json};
    return more->pointer != NULL;
}

static bool read_array(struct groups *groups, size_t of) {
    struct fill *fill = groups->fill;
    uint8_t *used = arena_zalloc(&fill->arena, fill->values->token_count + 1);
    if (used == NULL || !list_members(groups, of)) {
        return used != NULL;
    }
    mark_others(groups, of, used);
    cut(groups);
    find_elements(groups, used);
    if (!is_better(groups)) {
        return true;
    }
    fill->more = arena_alloc(&fill->arena,
                             (fill->more_count + groups->element_count * groups->member_count) *
                                     sizeof *fill->more);
    bool good = fill->more != NULL;
    for (size_t e = 0; e < groups->element_count; e++) {
        for (size_t m = 0; good && m < groups->member_count; m++) {
            good = take_member(groups, e, m);
        }
    }
    return good;
}

/* Of several arrays of objects the first that the text fills may have more elements than one. */
bool fill_groups(struct fill *fill) {
    for (size_t p = 0; p < fill->parameters.count; p++) {
        if (fill->parameters.list[p].array > 0 && fill->states[p].filled && fill->more == NULL) {
            struct groups *groups = arena_zalloc(&fill->arena, sizeof *groups);
            if (groups == NULL) {
                return false;
            }
            groups->fill = fill;
            return read_array(groups, p);
        }
    }
    return true;
}
