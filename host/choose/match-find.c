/* Ranking has two passes. The first adds, for every tool that has a term of the text, what the term
 * counts: from the postings, term by term. The second looks at the best of these only, and at each
 * as a whole: which parts of the text it explains, and which part of its name the text explains.
 *
 * All weights are integers, and a score is rounded before it is compared, so that the order depends
 * on no compiler. */
#include "choose/match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/object.h"
#include "base/utf8.h"
#include "choose/actions.h"
#include "choose/arguments.h"
#include "choose/index-parts.h"
#include "choose/query.h"
#include "choose/rareness.h"

/* Tools that the second pass looks at: the best for the whole text, and for each segment. */
#define BEST_OF_ALL     64u
#define BEST_OF_SEGMENT 24u
#define BOOSTED_MAX     64u
#define CALLED_MAX      16u
#define CANDIDATES_MAX \
    (BEST_OF_ALL + QUERY_SEGMENTS_MAX * BEST_OF_SEGMENT + BOOSTED_MAX + CALLED_MAX)

/* Actions of which one is as good as another for a text that names none. */
#define READING_ACTIONS \
    (1u << ACTION_READ | 1u << ACTION_SEARCH | 1u << ACTION_CONVERT | 1u << ACTION_COMPUTE)

/* The part of the text below which a segment is too small to count fully. */
#define SEGMENT_FULL 0.1

/* What a word of a value that a tool has not counts of the text. */
#define HELD_PART 0.25

/* Scores are rounded to a multiple of 1 / SCORE_PARTS. */
#define SCORE_PARTS 1048576.0

const struct match_weights match_weights = {
        .stop = 10,
        .number = 128,
        .quoted = 200,
        .literal = 32,
        .joined = 120,
        .crossing = 128,
        .synonym = 220,
        .translation = 230,
        .translation_too = 40,
        .clauses = true,
        .turns = true,
        .name = 0.3,
        .other_action = 0.75,
        .unasked_action = 0.95,
        .called_before = 0.9,
        .called_again = 2,
        .group = 0.15,
        .whole = 0.6,
        .clause = 0.7,
        .clause_sure = 0.5,
        .base = 0.5,
        .history = 2,
};

/* A term of the text, as it is found among those of a tool. */
struct sought {
    const struct index_term *term;
    uint32_t alternative;
    uint32_t weight;
};

struct candidate {
    uint64_t id;
    uint32_t slot;
    double segments[QUERY_SEGMENTS_MAX]; /* how much of what is possible it is worth for each */
    double all;                          /* and for the whole text */
    double coverage;
    double coverage_all;
    double name_coverage;
    double boost;
    double fit; /* without its group and earlier texts */
    double score;
    unsigned segment; /* that it fits best */
};

/* What the text says of one tool. */
struct view {
    uint32_t values[QUERY_ALTERNATIVES_MAX]; /* of each alternative; 0: the tool has it not */
    const struct index_entry *entries[QUERY_ALTERNATIVES_MAX]; /* the first term of each */
    double named;                                              /* what the words of its name say */
    double explained; /* and those of them which the text has */
};

struct matching {
    struct index *index;
    const struct match_query *wanted;
    const struct match_weights *weights;
    struct query *query;
    uint32_t *sums;    /* by slot: what the tool is worth for the whole text */
    uint32_t *parts;   /* for the segment */
    uint32_t *values;  /* for the unit, and 1 more; 0: it has no term of it */
    uint32_t *touched; /* the slots that have a value */
    size_t touched_count;
    struct sought *sought; /* sorted by term */
    size_t sought_count;
    struct candidate *candidates;
    size_t candidate_count;
    struct view *view;
};

static void matching_finish(struct matching *matching) {
    free(matching->query);
    free(matching->sums);
    free(matching->parts);
    free(matching->values);
    free(matching->touched);
    free(matching->sought);
    free(matching->candidates);
    free(matching->view);
}

static uint32_t value_of(uint32_t weight, uint16_t impact) {
    return (uint32_t)((uint64_t)weight * impact / RARENESS_ONE);
}

/* -------------------------------------------------------------- first pass */

static void add_posting(struct matching *matching, const struct index_posting *posting,
                        uint32_t weight, bool first) {
    uint32_t value = value_of(weight, posting->impact);
    uint32_t *at = &matching->values[posting->slot];
    if (*at == 0) {
        matching->touched[matching->touched_count++] = posting->slot;
        *at = value + 1;
    } else if (!first) {
        *at += value;
    } else if (value + 1 > *at) {
        *at = value + 1;
    }
}

/* Add what a unit is worth for each tool: its best alternative. (The further terms of one that has
 * several are added to what is best so far: a little more than the second pass will find.) */
static void add_unit(struct matching *matching, const struct query_unit *unit) {
    for (size_t i = unit->first; i < unit->first + unit->count; i++) {
        const struct query_alternative *alternative = &matching->query->alternatives[i];
        for (size_t k = 0; k < alternative->count; k++) {
            const struct index_term *term = alternative->terms[k];
            for (uint32_t p = 0; p < term->count; p++) {
                add_posting(matching, &term->postings[p], alternative->weights[k], k == 0);
            }
        }
    }
    for (size_t i = 0; i < matching->touched_count; i++) {
        uint32_t slot = matching->touched[i];
        matching->parts[slot] += matching->values[slot];
        matching->values[slot] = 0;
    }
    matching->touched_count = 0;
}

struct ranked {
    uint64_t id;
    uint32_t slot;
    uint32_t sum;
};

static bool is_better(const struct ranked *a, const struct ranked *b) {
    return a->sum != b->sum ? a->sum > b->sum : a->id < b->id;
}

/* The worst of the heap is at its top: put `item` in its place. */
static void replace_worst(struct ranked *heap, size_t count, struct ranked item) {
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && is_better(&heap[child], &heap[child + 1]);
        if (is_better(&heap[child], &item)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
}

static void add_to_heap(struct ranked *heap, size_t at, struct ranked item) {
    while (at > 0 && is_better(&heap[(at - 1) / 2], &item)) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = item;
}

static bool may_be_found(const struct matching *matching, uint64_t id) {
    const struct match_query *wanted = matching->wanted;
    return wanted->accept == NULL || wanted->accept(wanted->user, id);
}

static void add_candidate(struct matching *matching, uint32_t slot) {
    for (size_t i = 0; i < matching->candidate_count; i++) {
        if (matching->candidates[i].slot == slot) {
            return;
        }
    }
    matching->candidates[matching->candidate_count++] =
            (struct candidate){.slot = slot, .id = matching->index->tools[slot].id};
}

/* The tools with the largest sums become candidates. */
static void take_best(struct matching *matching, const uint32_t *sums, size_t most) {
    struct ranked heap[BEST_OF_ALL];
    size_t count = 0;
    for (uint32_t slot = 0; slot < matching->index->slot_count; slot++) {
        struct ranked item = {matching->index->tools[slot].id, slot, sums[slot]};
        bool enters = item.sum > 0 && (count < most || is_better(&item, &heap[0]));
        if (enters && may_be_found(matching, item.id)) {
            if (count < most) {
                add_to_heap(heap, count++, item);
            } else {
                replace_worst(heap, count, item);
            }
        }
    }
    for (size_t i = 0; i < count; i++) {
        add_candidate(matching, heap[i].slot);
    }
}

/* What earlier texts led to may have no word of this one. */
static void take_boosted(struct matching *matching) {
    size_t most = matching->wanted->boost_count < BOOSTED_MAX ? matching->wanted->boost_count
                                                              : BOOSTED_MAX;
    for (size_t i = 0; i < most; i++) {
        uint32_t slot;
        uint64_t id = matching->wanted->boosts[i].id;
        if (index_find_slot(matching->index, id, &slot) && may_be_found(matching, id)) {
            add_candidate(matching, slot);
        }
    }
}

/* A short answer in a conversation may have no word of the tool that it is for. */
static void take_called(struct matching *matching) {
    const struct query *query = matching->query;
    for (uint32_t slot = 0; query->called_count > 0 && slot < matching->index->slot_count; slot++) {
        const struct index_tool *tool = &matching->index->tools[slot];
        for (size_t i = 0; tool->name != 0 && i < query->called_count; i++) {
            if (query->called[i] == tool->name && matching->candidate_count < CALLED_MAX &&
                may_be_found(matching, tool->id)) {
                add_candidate(matching, slot);
            }
        }
    }
}

static void find_candidates(struct matching *matching) {
    const struct query *query = matching->query;
    size_t unit = 0;
    take_called(matching);
    for (size_t segment = 0; segment < query->segments; segment++) {
        for (; unit < query->unit_count && query->units[unit].segment == segment; unit++) {
            add_unit(matching, &query->units[unit]);
        }
        if (query->segments > 1) {
            take_best(matching, matching->parts, BEST_OF_SEGMENT);
        }
        for (size_t slot = 0; slot < matching->index->slot_count; slot++) {
            matching->sums[slot] += matching->parts[slot];
            matching->parts[slot] = 0;
        }
    }
    take_best(matching, matching->sums, BEST_OF_ALL);
    take_boosted(matching);
}

/* ------------------------------------------------------------- second pass */

/* By address, which decides nothing but how a term is found. */
static int compare_sought(const void *left, const void *right) {
    const struct sought *a = left;
    const struct sought *b = right;
    if (a->term != b->term) {
        return (uintptr_t)a->term < (uintptr_t)b->term ? -1 : 1;
    }
    return a->alternative < b->alternative ? -1 : a->alternative > b->alternative;
}

static int list_sought(struct matching *matching, struct toolrack_error *err) {
    const struct query *query = matching->query;
    matching->sought =
            calloc(query->alternative_count * QUERY_TERMS_MAX + 1, sizeof *matching->sought);
    if (matching->sought == NULL) {
        return error_oom(err);
    }
    for (size_t a = 0; a < query->alternative_count; a++) {
        const struct query_alternative *alternative = &query->alternatives[a];
        for (size_t k = 0; k < alternative->count; k++) {
            matching->sought[matching->sought_count++] =
                    (struct sought){alternative->terms[k], (uint32_t)a, alternative->weights[k]};
        }
    }
    qsort(matching->sought, matching->sought_count, sizeof *matching->sought, compare_sought);
    return 0;
}

static size_t find_sought(const struct matching *matching, const struct index_term *term) {
    size_t low = 0;
    size_t high = matching->sought_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)matching->sought[middle].term < (uintptr_t)term) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Enter one term of the tool: the most that it is worth for the text. */
static uint32_t view_entry(const struct matching *matching, const struct index_entry *entry) {
    struct view *view = matching->view;
    uint32_t most = 0;
    for (size_t i = find_sought(matching, entry->term);
         i < matching->sought_count && matching->sought[i].term == entry->term; i++) {
        const struct sought *sought = &matching->sought[i];
        if (view->values[sought->alternative] == 0) {
            view->entries[sought->alternative] = entry;
        }
        view->values[sought->alternative] += value_of(sought->weight, entry->impact) + 1;
        most = sought->weight > most ? sought->weight : most;
    }
    return most;
}

static void view_tool(const struct matching *matching, const struct index_tool *tool) {
    struct view *view = matching->view;
    memset(view->values, 0, matching->query->alternative_count * sizeof view->values[0]);
    view->named = 0;
    view->explained = 0;
    for (uint32_t i = 0; i < tool->count; i++) {
        uint32_t weight = view_entry(matching, &tool->entries[i]);
        if (i < tool->named) {
            uint32_t rare = rareness(tool->entries[i].term->count, matching->index->count);
            view->named += rare;
            view->explained += weight < rare ? weight : rare;
        }
    }
}

/* The best alternative of a unit: its number, or -1. */
static int64_t best_of(const struct view *view, const struct query_unit *unit) {
    int64_t best = -1;
    for (uint32_t i = unit->first; i < unit->first + unit->count; i++) {
        if (view->values[i] > 0 && (best < 0 || view->values[i] > view->values[best])) {
            best = i;
        }
    }
    return best;
}

/* What the alternative is worth, in 1/RARENESS_ONE. */
static double worth(const struct view *view, int64_t alternative) {
    return (double)view->values[alternative] / INDEX_IMPACT_ONE * RARENESS_ONE;
}

static void judge(struct matching *matching, struct candidate *candidate) {
    const struct query *query = matching->query;
    double most[QUERY_SEGMENTS_MAX] = {0};
    double covered[QUERY_SEGMENTS_MAX] = {0};
    double most_all = 0;
    double blamed[QUERY_SEGMENTS_MAX] = {0};
    double blamed_all = 0;
    double base = matching->weights->base;
    view_tool(matching, &matching->index->tools[candidate->slot]);
    for (size_t u = 0; u < query->unit_count; u++) {
        const struct query_unit *unit = &query->units[u];
        int64_t best = best_of(matching->view, unit);
        double value = best >= 0 ? worth(matching->view, best) : 0;
        double explained = base * unit->weight + (1 - base) * value;
        candidate->segments[unit->segment] += value;
        candidate->all += value;
        covered[unit->segment] += best >= 0 ? explained : 0;
        candidate->coverage_all += best >= 0 ? explained : 0;
        most[unit->segment] += unit->weight;
        most_all += unit->weight;
        double blame = best < 0 && unit->held ? HELD_PART * unit->weight : unit->weight;
        blamed[unit->segment] += blame;
        blamed_all += blame;
    }
    for (size_t s = 0; s < query->segments; s++) {
        double part = blamed[s] > 0 ? covered[s] / blamed[s] : 0;
        candidate->segments[s] = most[s] > 0 ? candidate->segments[s] / most[s] : 0;
        candidate->coverage = part > candidate->coverage ? part : candidate->coverage;
    }
    candidate->all = most_all > 0 ? candidate->all / most_all : 0;
    candidate->coverage_all = blamed_all > 0 ? candidate->coverage_all / blamed_all : 0;
    candidate->name_coverage =
            matching->view->named > 0 ? matching->view->explained / matching->view->named : 0;
}

/* ------------------------------------------------------------------ fusion */

/* What is the same for all candidates. */
struct fusion {
    double name_part;
    double parts[QUERY_SEGMENTS_MAX]; /* of the text's weight: each segment's, fully from
                                         SEGMENT_FULL on */
    double best[QUERY_SEGMENTS_MAX];  /* of all candidates */
    double best_all;
};

static void weigh_segments(const struct matching *matching, struct fusion *fusion) {
    const struct query *query = matching->query;
    double sum = 0;
    double letters = 0;
    for (size_t u = 0; u < query->unit_count; u++) {
        const struct query_unit *unit = &query->units[u];
        fusion->parts[unit->segment] += unit->weight;
        letters += unit->letters ? unit->weight : 0;
        sum += unit->weight;
    }
    for (size_t s = 0; s < query->segments; s++) {
        double part = sum > 0 ? fusion->parts[s] / sum : 0;
        fusion->parts[s] = part < SEGMENT_FULL ? part / SEGMENT_FULL : 1;
    }
    fusion->name_part = sum > 0 ? matching->weights->name * letters / sum : 0;
}

static bool was_called(const struct matching *matching, const struct candidate *candidate) {
    uint64_t name = matching->index->tools[candidate->slot].name;
    for (size_t i = 0; i < matching->query->called_count; i++) {
        if (matching->query->called[i] == name) {
            return true;
        }
    }
    return false;
}

/* What is left of a score if the tool's name says that it does something else. */
static double action_factor(const struct matching *matching, const struct candidate *candidate,
                            size_t segment) {
    uint32_t wanted = matching->query->actions[segment];
    uint32_t does = matching->index->tools[candidate->slot].actions;
    if (wanted == 0) {
        return does == 0 || (does & READING_ACTIONS) != 0 ? 1 : matching->weights->unasked_action;
    }
    return does != 0 && (wanted & does) == 0 ? matching->weights->other_action : 1;
}

static void adjust(const struct matching *matching, struct candidate *candidate,
                   struct fusion *fusion) {
    double whole = matching->weights->whole;
    double name = 1 - fusion->name_part + fusion->name_part * candidate->name_coverage;
    if (was_called(matching, candidate)) {
        name *= matching->query->again ? matching->weights->called_again
                                       : matching->weights->called_before;
    }
    for (size_t s = 0; s < matching->query->segments; s++) {
        double fit = (candidate->segments[s] + whole * candidate->all) / (1 + whole);
        fit *= name * action_factor(matching, candidate, s);
        candidate->segments[s] = fit;
        fusion->best[s] = fit > fusion->best[s] ? fit : fusion->best[s];
    }
    candidate->all *= name * action_factor(matching, candidate, 0);
    fusion->best_all = candidate->all > fusion->best_all ? candidate->all : fusion->best_all;
}

static double boost_of(const struct match_query *wanted, uint64_t id) {
    for (size_t i = 0; i < wanted->boost_count; i++) {
        if (wanted->boosts[i].id == id) {
            return wanted->boosts[i].value;
        }
    }
    return 0;
}

static void score(const struct matching *matching, struct candidate *candidate,
                  const struct fusion *fusion) {
    double sure = matching->weights->clause_sure;
    double most = 0;
    for (size_t s = 0; s < matching->query->segments; s++) {
        double best = fusion->best[s];
        double fit = best > 0 ? candidate->segments[s] / best : 0;
        fit *= fusion->parts[s] * (1 - sure + sure * best);
        if (fit > most) {
            most = fit;
            candidate->segment = (unsigned)s;
        }
    }
    double part = matching->query->segments > 1 ? matching->weights->clause : 0;
    double all = fusion->best_all > 0 ? candidate->all / fusion->best_all : 0;
    candidate->boost = boost_of(matching->wanted, candidate->id);
    candidate->fit = (1 - part) * all + part * most;
}

/* How well the best other tool of the same group fits. */
static double group_fit(const struct matching *matching, const struct candidate *candidate) {
    double best = 0;
    uint64_t group = matching->index->tools[candidate->slot].group;
    for (size_t i = 0; group != 0 && i < matching->candidate_count; i++) {
        const struct candidate *other = &matching->candidates[i];
        if (other != candidate && matching->index->tools[other->slot].group == group) {
            best = other->fit > best ? other->fit : best;
        }
    }
    return best;
}

static void finish_score(const struct matching *matching, struct candidate *candidate) {
    double sum = candidate->fit + matching->weights->group * group_fit(matching, candidate) +
                 matching->weights->history * candidate->boost;
    candidate->score = floor(sum * SCORE_PARTS + 0.5) / SCORE_PARTS;
}

static int compare_candidates(const void *left, const void *right) {
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static void rank(struct matching *matching) {
    struct fusion fusion = {0};
    weigh_segments(matching, &fusion);
    for (size_t i = 0; i < matching->candidate_count; i++) {
        judge(matching, &matching->candidates[i]);
        adjust(matching, &matching->candidates[i], &fusion);
    }
    for (size_t i = 0; i < matching->candidate_count; i++) {
        score(matching, &matching->candidates[i], &fusion);
    }
    for (size_t i = 0; i < matching->candidate_count; i++) {
        finish_score(matching, &matching->candidates[i]);
    }
    qsort(matching->candidates, matching->candidate_count, sizeof *matching->candidates,
          compare_candidates);
}

/* ----------------------------------------------------------------- reasons */

static enum index_field best_field(unsigned fields) {
    static const enum index_field order[] = {
            INDEX_NAME,     INDEX_TITLE,     INDEX_TAGS,     INDEX_DESCRIPTION,    INDEX_SCENARIOS,
            INDEX_EXAMPLES, INDEX_PARAMETER, INDEX_CATEGORY, INDEX_PARAMETER_TEXT, INDEX_CHOICE};
    size_t i = 0;
    while (i + 1 < ARRAY_LENGTH(order) && (fields & 1u << order[i]) == 0) {
        i++;
    }
    return order[i];
}

/* Keep the reasons with the largest shares, in their order; of equal ones those that come first. */
static void add_reason(struct match_hit *hit, const struct match_reason *reason) {
    size_t at = hit->reason_count;
    while (at > 0 && hit->reasons[at - 1].share < reason->share) {
        at--;
    }
    if (at == MATCH_REASONS_MAX) {
        return;
    }
    size_t kept = hit->reason_count < MATCH_REASONS_MAX ? hit->reason_count : MATCH_REASONS_MAX - 1;
    memmove(&hit->reasons[at + 1], &hit->reasons[at], (kept - at) * sizeof hit->reasons[0]);
    hit->reasons[at] = *reason;
    hit->reason_count = kept + 1;
}

static void add_reason_of(const struct matching *matching, const struct query_unit *unit,
                          double sum, struct match_hit *hit) {
    int64_t best = best_of(matching->view, unit);
    if (best < 0 || sum <= 0) {
        return;
    }
    const struct index_entry *entry = matching->view->entries[best];
    struct match_reason reason = {
            .start = unit->start,
            .end = unit->end,
            .relation = matching->query->alternatives[best].relation,
            .field = best_field(entry->fields),
            .share = floor(worth(matching->view, best) / sum * SCORE_PARTS) / SCORE_PARTS,
    };
    size_t length =
            entry->term->length < sizeof reason.word ? entry->term->length : sizeof reason.word - 1;
    memcpy(reason.word, entry->term->text, utf8_cut(entry->term->text, length));
    add_reason(hit, &reason);
}

static void explain(struct matching *matching, const struct candidate *candidate,
                    struct match_hit *ret) {
    const struct query *query = matching->query;
    double sum = 0;
    view_tool(matching, &matching->index->tools[candidate->slot]);
    for (size_t u = 0; u < query->unit_count; u++) {
        int64_t best = best_of(matching->view, &query->units[u]);
        sum += best >= 0 ? worth(matching->view, best) : 0;
    }
    double words = candidate->score > 0
                           ? 1 - matching->weights->history * candidate->boost / candidate->score
                           : 0;
    for (size_t u = 0; u < query->unit_count; u++) {
        add_reason_of(matching, &query->units[u], words > 0 ? sum / words : 0, ret);
    }
    ret->history = candidate->boost > 0 ? 1 - words : 0;
    if (candidate->boost > 0) {
        add_reason(ret, &(struct match_reason){.relation = MATCH_HISTORY, .share = 1 - words});
    }
}

/* -------------------------------------------------------------------- find */

static int prepare(struct matching *matching, struct toolrack_error *err) {
    size_t slots = (size_t)matching->index->slot_count + 1;
    matching->query = malloc(sizeof *matching->query);
    matching->view = malloc(sizeof *matching->view);
    matching->sums = calloc(slots, sizeof *matching->sums);
    matching->parts = calloc(slots, sizeof *matching->parts);
    matching->values = calloc(slots, sizeof *matching->values);
    matching->touched = calloc(slots, sizeof *matching->touched);
    matching->candidates = calloc(CANDIDATES_MAX, sizeof *matching->candidates);
    bool ready = matching->query != NULL && matching->view != NULL && matching->sums != NULL &&
                 matching->parts != NULL && matching->values != NULL && matching->touched != NULL &&
                 matching->candidates != NULL;
    return ready ? 0 : error_oom(err);
}

/* The score of the best is how much of the text it covers; that of the others in proportion. */
static void write_hits(struct matching *matching, struct match_hit *ret, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct candidate *candidate = &matching->candidates[i];
        const struct candidate *best = &matching->candidates[0];
        double top = best->coverage > best->boost ? best->coverage : best->boost;
        ret[i] = (struct match_hit){
                .id = candidate->id,
                .score = best->score > 0 ? top * candidate->score / best->score : 0,
                .coverage = candidate->coverage,
                .coverage_all = candidate->coverage_all,
                .name_coverage = candidate->name_coverage,
                .clause = candidate->segment,
        };
        explain(matching, candidate, &ret[i]);
    }
}

static void mark_held(struct query *query, const struct values *values) {
    for (size_t i = 0; i < query->unit_count; i++) {
        struct query_unit *unit = &query->units[i];
        unit->held = values != NULL && values_hold(values, unit->start, unit->end);
    }
}

static int find(struct matching *matching, struct match_hit *ret, size_t room, size_t *ret_count,
                struct toolrack_error *err) {
    const struct match_query *wanted = matching->wanted;
    int code = prepare(matching, err);
    if (code == 0) {
        code = query_read(matching->index, matching->weights, NULL, wanted->text, wanted->length,
                          matching->query, err);
    }
    if (code == 0) {
        mark_held(matching->query, wanted->values);
        code = list_sought(matching, err);
    }
    if (code == 0) {
        find_candidates(matching);
        rank(matching);
        size_t count = matching->candidate_count < room ? matching->candidate_count : room;
        write_hits(matching, ret, count);
        *ret_count = count;
    }
    return code;
}

int match_find(struct index *index, const struct match_query *query, struct match_hit *ret,
               size_t room, size_t *ret_count, struct toolrack_error *err) {
    OBJECT_CHECK(index, INDEX_MAGIC);
    CLEANUP(matching_finish)
    struct matching matching = {.index = index, .wanted = query, .weights = query->weights};
    if (matching.weights == NULL) {
        matching.weights = &match_weights;
    }
    (void)pthread_rwlock_rdlock(&index->lock);
    int code = find(&matching, ret, room, ret_count, err);
    (void)pthread_rwlock_unlock(&index->lock);
    return code;
}
