#include "choose/undone.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "choose/clauses.h"
#include "choose/profile.h"
#include "choose/turns.h"
#include "choose/values-parts.h"

/* Another tool has a wish if it fits that so much better. */
#define OTHER_FACTOR 1.5

/* ------------------------------------------------------------------- where the wishes stand */

static size_t start_of(const struct selecting *selecting, size_t word) {
    const struct words *words = &selecting->words;
    size_t length = selecting->asked.length;
    size_t start = word < words->count ? words->items[word].start : length;
    return start < length ? start : length;
}

/* The bytes of a closing quotation mark at a place; 0: there is none. */
static size_t closing_at(const char *text, size_t at) {
    static const char *const closing[] = {"\"", "'", "”", "’", "」", "』"};
    for (size_t i = 0; i < ARRAY_LENGTH(closing); i++) {
        if (strncmp(text + at, closing[i], strlen(closing[i])) == 0) {
            return strlen(closing[i]);
        }
    }
    return 0;
}

void undone_place(const struct selecting *selecting, const struct order *wish, size_t *ret_start,
                  size_t *ret_end) {
    const struct word *items = selecting->words.items;
    size_t length = selecting->asked.length;
    size_t last = wish->end - 1;
    while (last > wish->begin && items[last].end > length) {
        last--; /* a word that the signs stand for (wording.h) */
    }
    *ret_start = items[wish->begin].start < length ? items[wish->begin].start : length;
    *ret_end = items[last].end < length ? items[last].end : length;
    *ret_end += items[last].quoted ? closing_at(selecting->asked.options.text, *ret_end) : 0;
}

/* ------------------------------------------------------------------- what the tool is for */

/* How much of each wish a tool was found by. */
struct shares {
    double of[ORDERS_MAX];
    size_t own; /* the wish that has most; of several the first */
};

static struct shares shares_of(const struct selecting *selecting, const struct shortlisted *found) {
    struct shares shares = {{0}, 0};
    const struct orders *orders = &selecting->orders;
    for (size_t i = 0; i < found->hit.reason_count; i++) {
        const struct match_reason *reason = &found->hit.reasons[i];
        bool words = reason->relation != MATCH_HISTORY && reason->relation != MATCH_VECTOR;
        for (size_t w = 0; words && w < orders->count; w++) {
            bool in = start_of(selecting, orders->items[w].first) <= reason->start &&
                      reason->start < start_of(selecting, orders->items[w].end);
            shares.of[w] += in ? reason->share * found->hit.score : 0;
        }
    }
    for (size_t w = 1; w < orders->count; w++) {
        shares.own = shares.of[w] > shares.of[shares.own] ? w : shares.own;
    }
    return shares;
}

/* Whether a wish is one for another tool: it was found by this wish before all, and fits better. */
static bool is_for_other(const struct selecting *selecting, const struct shortlisted *found,
                         const struct shares *own, size_t wish) {
    for (size_t i = 0; i < selecting->shortlist.count; i++) {
        const struct shortlisted *other = &selecting->shortlist.items[i];
        struct shares shares = shares_of(selecting, other);
        if (other != found && shares.own == wish &&
            shares.of[wish] > OTHER_FACTOR * own->of[wish]) {
            return true;
        }
    }
    return false;
}

/* Whether the verb of a wish names a parameter of the tool: "and invite Bob", "and label it". */
static bool names_parameter(const struct selecting *selecting, const struct profile *profile,
                            const struct order *wish) {
    const struct parameters *parameters = profile_parameters(profile);
    const struct values *values = selecting->asked.values;
    const struct word *verb = &selecting->words.items[wish->begin];
    size_t first;
    size_t last;
    value_tokens_in(values, verb->start, verb->end, &first, &last);
    for (size_t p = 0; first < last && p < parameters->count; p++) {
        const struct parameter *parameter = &parameters->list[p];
        for (size_t i = 0; i < parameter->name_count; i++) {
            if (token_alike(&values->tokens[first], &parameter->tokens[i]) > 0) {
                return true;
            }
        }
    }
    return false;
}

static void mark_done(struct selecting *selecting, const struct shortlisted *found) {
    const struct profile *profile = selecting->profiles[found - selecting->shortlist.items];
    const struct orders *orders = &selecting->orders;
    const struct shares shares = shares_of(selecting, found);
    memset(selecting->done, 0, sizeof selecting->done);
    for (size_t w = 0; w < orders->count; w++) {
        bool follows =
                w > shares.own && selecting->done[w - 1] &&
                (orders->items[w].refers || names_parameter(selecting, profile, &orders->items[w]));
        selecting->done[w] =
                w == shares.own || follows || !is_for_other(selecting, found, &shares, w);
    }
    for (size_t w = shares.own; w > 0 && orders->items[w].refers; w--) {
        selecting->done[w - 1] = true;
    }
}

static bool is_any_left(const struct selecting *selecting) {
    for (size_t w = 0; w < selecting->orders.count; w++) {
        if (!selecting->done[w]) {
            return true;
        }
    }
    return false;
}

/* The text with blanks for the wishes that the tool is not for: places in it stay the same. */
static int read_own(struct selecting *selecting, struct toolrack_error *err) {
    char *text = malloc(selecting->asked.length + 1);
    if (text == NULL) {
        return error_oom(err);
    }
    memcpy(text, selecting->asked.options.text, selecting->asked.length + 1);
    for (size_t w = 0; w < selecting->orders.count; w++) {
        const struct order *wish = &selecting->orders.items[w];
        size_t start = w > 0 ? start_of(selecting, wish->first) : 0;
        size_t end = start_of(selecting, wish->end);
        if (!selecting->done[w]) {
            memset(text + start, ' ', end - start);
        }
    }
    selecting->own_text = text;
    return values_read(text, selecting->asked.length, &selecting->asked.said, &selecting->own, err);
}

/* What the tools that match say they do. */
static void read_verbs(const struct selecting *selecting, struct orders_verbs *ret) {
    ret->count = 0;
    for (size_t i = 0; i < selecting->shortlist.count; i++) {
        const struct orders_verb *verbs;
        size_t count = fit_tool_verbs(profile_fit(selecting->profiles[i]), &verbs);
        for (size_t k = 0; k < count && ret->count < ORDERS_VERBS_MAX; k++) {
            ret->items[ret->count++] = verbs[k];
        }
    }
}

int undone_find(struct selecting *selecting, const struct shortlisted *found,
                struct toolrack_error *err) {
    struct turns turns;
    const struct asked *asked = &selecting->asked;
    turns_read(asked->options.text, asked->length, &turns);
    if (turns.count > 0) {
        return 0; /* of a conversation the wish that is open counts */
    }
    struct clauses pieces;
    clauses_read(asked->wording.text, asked->wording.length, &selecting->words, asked->values,
                 &pieces);
    /* Words that signs stand for are behind the text, and no wish: "calculate 3 + 4," */
    while (pieces.count > 1 &&
           selecting->words.items[pieces.items[pieces.count - 1].first].start >= asked->length) {
        pieces.count--;
    }
    struct orders_verbs verbs = {.count = 0};
    if (pieces.count > 1) {
        read_verbs(selecting, &verbs);
    }
    orders_read(asked->wording.text, &selecting->words, &pieces, &verbs, &selecting->orders);
    mark_done(selecting, found);
    return is_any_left(selecting) ? read_own(selecting, err) : 0;
}

void undone_forget(struct selecting *selecting) {
    values_destroy(selecting->own);
    free(selecting->own_text);
    selecting->own = NULL;
    selecting->own_text = NULL;
}

/* ---------------------------------------------------------------------------- what is left */

/* Whether the tool was found by the very verb of a wish. */
static bool has_verb(const struct selecting *selecting, const struct shortlisted *found,
                     const struct order *wish) {
    const struct word *verb = &selecting->words.items[wish->begin];
    for (size_t i = 0; i < found->hit.reason_count; i++) {
        const struct match_reason *reason = &found->hit.reasons[i];
        if (reason->relation == MATCH_SAME && reason->start == verb->start) {
            return true;
        }
    }
    return false;
}

/* Whether a wish that gave arguments may want something else than the tool does: it goes on in the
 * same sentence, with a verb by which the tool was not found, and refers to nothing before or is
 * one for another tool. */
static bool is_open(const struct selecting *selecting, const struct shortlisted *found, size_t w) {
    const struct order *wish = &selecting->orders.items[w];
    const struct word *first = &selecting->words.items[wish->first];
    const struct profile *profile = selecting->profiles[found - selecting->shortlist.items];
    if (w == 0 || first[-1].clause != first->clause || has_verb(selecting, found, wish) ||
        names_parameter(selecting, profile, wish)) {
        return false;
    }
    const struct shares shares = shares_of(selecting, found);
    return w != shares.own && (!wish->refers || is_for_other(selecting, found, &shares, w));
}

const struct order *undone_asked(const struct selecting *selecting,
                                 const struct shortlisted *found) {
    bool own = false; /* a wish that the tool is for stands before */
    for (size_t w = 0; w < selecting->orders.count; w++) {
        bool other =
                selecting->done[w] ? is_open(selecting, found, w) : selecting->own == NULL || !own;
        if (other) {
            return &selecting->orders.items[w];
        }
        own = own || selecting->done[w];
    }
    return NULL;
}

void undone_add(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct selecting *selecting,
                bool is_chosen) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "undone");
    for (size_t w = 0; is_chosen && w < selecting->orders.count; w++) {
        size_t start;
        size_t end;
        if (!selecting->done[w]) {
            undone_place(selecting, &selecting->orders.items[w], &start, &end);
            (void)yyjson_mut_arr_add_strncpy(doc, list, selecting->asked.options.text + start,
                                             end - start);
        }
    }
}
