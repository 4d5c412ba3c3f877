#include "choose/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "choose/mood.h"
#include "choose/turns.h"
#include "choose/which.h"

/* How much each measure says, for odds that are even at 0: found by tests/bench/eval/calibrate.c.
 * The scene only decides between tools that fit alike: it says nothing that the words do not.
 * X(measure of struct fit, weight) */
#define FUNCTION_WEIGHTS(X) \
    X(shared, 4.38)         \
    X(objects, 0.43)        \
    X(name, 0.66)           \
    X(purpose, 1.84)        \
    X(head, 0.28)           \
    X(intent, 0.90)         \
    X(scene, 0.05)
#define FUNCTION_BIAS -4.70

/* The same of step 3: how well a tool matches beside the one that matches best, how much of the
 * text it explains, and the text of its name. */
#define BESIDE_WEIGHT   5.42
#define COVERAGE_WEIGHT 2.16
#define NAMED_WEIGHT    0.73

/* The same of struct arguments_fit: a tool that requires much must be given much. */
#define FIT_WEIGHT       0.85
#define REQUIRED_WEIGHT  -0.87
#define GIVEN_WEIGHT     0.85
#define KIND_WEIGHT      0.15
#define SPARE_WEIGHT     -0.28
#define PARAMETERS_BIAS  -0.5
#define PARAMETERS_COUNT 8u /* more count as so many */
#define KINDS_COUNT      3u /* the same of those that get just what they are about */
#define SPARE_COUNT      3u /* and of values that none takes */

/* How much better another tool must fit to come before one that takes all values of the text. */
#define LEFT_WEIGHT 1.5

/* Tools with this share of the best score fit alike. */
#define ALIKE_SHARE 0.9

/* What earlier texts add that were the same, or take. */
#define HISTORY_WEIGHT 3.0

/* How certain the best tool is at most where a person said of the text that none is right. */
#define NONE_CONFIDENCE 0.05

/* How much cost and success decide: less than any difference of fit that can be seen. */
#define COST_WEIGHT    0.05
#define SUCCESS_WEIGHT 0.15

/* Odds that differ by no more are the same: by more than one call that worked changes those of a
 * tool that was never called, SUCCESS_WEIGHT * (2 / 3 - 1 / 2), and a word more in a description.
 * Then the priority decides, which is higher the more a plugin is trusted. */
#define SAME_ODDS 0.03

/* Tools that the text alone has so near to one another may be told apart by earlier texts. */
#define NEAR_ODDS 0.5

/* Of which the text alone is so certain, no earlier text pushes below the threshold. With less,
 * more right tools are no longer first than come back. */
#define ALONE_CERTAIN 0.75

/* What is left of the score of a tool that is never chosen. */
#define REFUSED_SHARE 0.1

/* A whitelisted tool comes first when it matches at least this share of the best match. */
#define FIRST_SHARE 0.5

/* Shares of the cost. */
#define COST_OF_PERMISSION 0.6
#define COST_OF_TIME       0.4
/* Without a call, nothing is known of the time. */
#define TIME_UNKNOWN       0.5

/* How much an opinion counts, in calls. */
#define OPINION_CALLS 3.0

/* -------------------------------------------------------------- dimensions */

/* Odds as a number from 0 to 1. Not the logistic function, whose last bits depend on the library;
 * both are one half at 0. */
static double certainty(double odds) {
    double size = odds < 0 ? -odds : odds;
    return 0.5 + 0.5 * odds / (1 + size);
}

/* The odds of a score that certainty() made; a certain one has as much as can be told apart. */
static double odds_of(double score) {
    double distance = 2 * score - 1;
    double size = distance < 0 ? -distance : distance;
    return distance / (size < 1 ? 1 - size : 1 / EVALUATE_PARTS);
}

static double rounded(double value) {
    double bounded = value < 0 ? 0 : value > 1 ? 1 : value;
    return (double)(int64_t)(bounded * EVALUATE_PARTS + 0.5) / EVALUATE_PARTS;
}

static double function_odds(const struct fit *fit) {
    double odds = FUNCTION_BIAS;
#define ADD_MEASURE(name, weight) odds += (weight)*fit->name;
    FUNCTION_WEIGHTS(ADD_MEASURE)
#undef ADD_MEASURE
    return odds;
}

/* How well a tool matches, without what earlier texts give. */
static double score_alone(const struct match_hit *hit) {
    return hit->score * (1 - hit->history);
}

/* Without a match, nothing of a tool is in the text.
 * @param score  of the match, and that of the best */
static double match_odds(const struct match_hit *match, double score, double best) {
    static const struct match_hit none = {0};
    const struct match_hit *hit = match != NULL ? match : &none;
    double beside = best > 0 ? score / best : 0;
    beside = beside < 1 ? beside : 1; /* a tool that is refused may match better than the best */
    return BESIDE_WEIGHT * (beside - 1) + COVERAGE_WEIGHT * hit->coverage +
           NAMED_WEIGHT * hit->name_coverage;
}

static double permission_cost(const struct evaluate_tool *tool) {
    switch (tool->permission) {
    case TOOLRACK_PERMISSION_SAFE: return 1;
    case TOOLRACK_PERMISSION_CONFIRM: return 0.6;
    case TOOLRACK_PERMISSION_DANGEROUS: return tool->granted ? 0.5 : 0;
    }
    return 0;
}

/* How many times a number can be halved, with a linear fraction. */
static double halvings(uint64_t value) {
    unsigned whole = 0;
    while (value >> whole > 1) {
        whole++;
    }
    return whole + (double)(value - (UINT64_C(1) << whole)) / (double)(UINT64_C(1) << whole);
}

/* 1 for a short call, 0 for a long one. */
static double time_cost(const struct evaluate_tool *tool) {
    if (tool->mean_ns == 0) {
        return TIME_UNKNOWN;
    }
    double least = halvings(EVALUATE_FAST_NS);
    double most = halvings(EVALUATE_SLOW_NS);
    double cost = 1 - (halvings(tool->mean_ns) - least) / (most - least);
    return cost < 0 ? 0 : cost > 1 ? 1 : cost;
}

/* One half where nothing is known, and closer to what is known the more that is. */
static double success_of(const struct evaluate_tool *tool, double history) {
    uint64_t failures = tool->failures < tool->calls ? tool->failures : tool->calls;
    double good = (double)(tool->calls - failures) + OPINION_CALLS * (double)tool->good;
    double all = (double)tool->calls + OPINION_CALLS * ((double)tool->good + (double)tool->bad);
    double success = (good + 1) / (all + 2);
    return success + (history > 0 ? 1 - success : success) * history / 2;
}

static double bounded(unsigned count) {
    return count < PARAMETERS_COUNT ? count : PARAMETERS_COUNT;
}

static double parameters_odds(const struct arguments_fit *fit) {
    return PARAMETERS_BIAS + FIT_WEIGHT * fit->fit + REQUIRED_WEIGHT * bounded(fit->required) +
           GIVEN_WEIGHT * bounded(fit->named) +
           KIND_WEIGHT * (fit->of_kind < KINDS_COUNT ? fit->of_kind : KINDS_COUNT) +
           SPARE_WEIGHT * (fit->left < SPARE_COUNT ? fit->left : SPARE_COUNT);
}

/* What a tool has of a text, and of the wish that stands for itself in it: the better counts. */
static void measure(const struct fit_text *text, const struct fit_text *alone,
                    const struct fit_tool *tool, struct fit *ret) {
    struct fit fit;
    fit_measure(text, tool, ret);
    if (alone != NULL) {
        fit_measure(alone, tool, &fit);
        *ret = function_odds(&fit) > function_odds(ret) ? fit : *ret;
    }
}

static int fit_arguments(const struct values *values, const struct evaluate_tool *tool,
                         struct evaluated *ret, struct toolrack_error *err) {
    const struct arguments_tool wanted = {.name = tool->texts.name,
                                          .description = tool->texts.description,
                                          .parameters = profile_schema(tool->profile),
                                          .read = profile_parameters(tool->profile)};
    return values != NULL ? arguments_fit(values, &wanted, &ret->arguments, err) : 0;
}

/* Where one tool takes what the last wish of a conversation gives, the values of earlier wishes say
 * nothing for a tool that takes none of it. */
static void drop_past(struct evaluation *evaluation) {
    bool open = false;
    for (size_t i = 0; i < evaluation->count; i++) {
        open = open || evaluation->items[i].arguments.open;
    }
    for (size_t i = 0; open && i < evaluation->count; i++) {
        struct arguments_fit *fit = &evaluation->items[i].arguments;
        if (fit->past) {
            *fit = (struct arguments_fit){.required = fit->required,
                                          .fit = fit->required > 0 ? 0 : 1,
                                          .left = fit->left,
                                          .past = true};
        }
    }
}

/* The match of the best tool that may be chosen. */
struct best_match {
    double score;
    double alone; /* without what earlier texts give */
};

static double rank_odds(const struct evaluated *item, double success) {
    return COST_WEIGHT * (item->cost - 0.5) + SUCCESS_WEIGHT * (success - 0.5);
}

static void evaluate_one(const struct fit_text *text, const struct fit_text *alone,
                         const struct values *values, const struct evaluate_tool *tool,
                         const struct best_match *best, struct evaluated *ret) {
    const struct match_hit *match = tool->match;
    measure(text, alone, profile_fit(tool->profile), &ret->fit);
    const double fit = function_odds(&ret->fit);
    double function = fit + match_odds(match, match != NULL ? match->score : 0, best->score);
    double parameters = values != NULL ? parameters_odds(&ret->arguments) : 0;
    ret->function = rounded(certainty(function));
    ret->parameters = rounded(certainty(parameters));
    ret->cost =
            rounded(COST_OF_PERMISSION * permission_cost(tool) + COST_OF_TIME * time_cost(tool));
    ret->success = rounded(success_of(tool, tool->history));
    ret->score = rounded(certainty(function + parameters + HISTORY_WEIGHT * tool->history +
                                   rank_odds(ret, ret->success)));
    double matched = match_odds(match, match != NULL ? score_alone(match) : 0, best->alone);
    ret->alone = rounded(
            certainty(fit + matched + parameters + rank_odds(ret, rounded(success_of(tool, 0)))));
}

/* ------------------------------------------------------------------- order */

static bool is_refused(const struct fit_wish *wish, const struct evaluate_tool *tool) {
    const struct fit_tool *fit = profile_fit(tool->profile);
    return refused_is_done(wish->refused, wish->words, fit_tool_intent(fit), fit_tool_is_named,
                           fit);
}

/* Of the tools that may be chosen. */
static struct best_match find_best(const struct fit_wish *wish, const struct evaluate_tool *tools,
                                   size_t count) {
    struct best_match best = {0, 0};
    for (size_t i = 0; i < count; i++) {
        const struct match_hit *match = tools[i].match;
        if (!tools[i].left_out && match != NULL && !is_refused(wish, &tools[i])) {
            best.score = match->score > best.score ? match->score : best.score;
            best.alone = score_alone(match) > best.alone ? score_alone(match) : best.alone;
        }
    }
    return best;
}

/* Whether the text surely gives all that a tool requires, and the tool leaves no value of it. */
static bool takes_all(const struct evaluated *item) {
    const struct arguments_fit *fit = &item->arguments;
    return fit->required > 0 && fit->sure == fit->required && fit->left == 0 && fit->taken > 0;
}

/* How certain a tool must be to come before one that takes all, for that one's certainty. */
static double certainty_before(double score) {
    return certainty(odds_of(score) + LEFT_WEIGHT);
}

/* A tool that leaves values of the text gives way to one that takes all of them and that would be
 * chosen too: it is as certain as the other at most. Thus it is never this that makes the host
 * abstain, or choose where it would not. */
static void prefer_taking(struct evaluation *evaluation) {
    const struct evaluated *best = NULL;
    for (size_t i = 0; i < evaluation->count; i++) {
        const struct evaluated *item = &evaluation->items[i];
        if (takes_all(item) && item->score >= EVALUATE_THRESHOLD && item->score < 1 &&
            (best == NULL || item->score > best->score)) {
            best = item;
        }
    }
    for (size_t i = 0; best != NULL && i < evaluation->count; i++) {
        struct evaluated *item = &evaluation->items[i];
        if (item->arguments.left > 0 && item->score >= best->score &&
            item->score < certainty_before(best->score)) {
            item->score = best->score - 1 / EVALUATE_PARTS;
        }
    }
}

/* Why a tool is never chosen for a text. */
static enum evaluated_out find_out(const struct fit_wish *wish, const struct evaluation *evaluation,
                                   const struct evaluate_tool *tool) {
    const struct fit_tool *fit = profile_fit(tool->profile);
    return is_refused(wish, tool)                                      ? EVALUATED_REFUSED
           : deeds_exclude(&evaluation->wanted, fit_tool_deeds(fit))   ? EVALUATED_OPPOSITE
           : evaluation->asks && fit_tool_changes(fit) && !tool->reads ? EVALUATED_CHANGES
                                                                       : EVALUATED_IN;
}

/* A tool that is never chosen is less certain than those that may be. */
static void keep_out(struct evaluated *item, enum evaluated_out out) {
    item->out = out;
    item->score = rounded(item->score * REFUSED_SHARE);
    item->alone = rounded(item->alone * REFUSED_SHARE);
    item->first = false;
}

/* Whether a text does not say what is to be done, and the two best do different things with what it
 * is about: "the file". */
static bool is_open(const struct fit_wish *wish, const struct evaluate_tool *tools,
                    const struct evaluation *evaluation) {
    if (wish->intent_count > 0 || evaluation->count < 2 ||
        evaluation->items[1].score < ALIKE_SHARE * evaluation->items[0].score) {
        return false;
    }
    const char *does[2];
    for (size_t i = 0; i < 2; i++) {
        does[i] = fit_tool_intent(profile_fit(tools[evaluation->items[i].index].profile));
    }
    return does[0] != NULL && does[1] != NULL && strcmp(does[0], does[1]) != 0;
}

static bool is_before(const struct evaluate_tool *tools, const struct evaluated *a,
                      const struct evaluated *b) {
    if (a->first != b->first) {
        return a->first;
    }
    if (a->score > b->score || a->score < b->score) {
        return a->score > b->score;
    }
    int32_t left = tools[a->index].priority;
    int32_t right = tools[b->index].priority;
    return left != right ? left > right : a->index < b->index;
}

static void sort_all(const struct evaluate_tool *tools, struct evaluation *evaluation) {
    for (size_t i = 1; i < evaluation->count; i++) {
        struct evaluated item = evaluation->items[i];
        size_t at = i;
        for (; at > 0 && is_before(tools, &item, &evaluation->items[at - 1]); at--) {
            evaluation->items[at] = evaluation->items[at - 1];
        }
        evaluation->items[at] = item;
    }
}

/* Whether the score tells two tools apart; that only one may be chosen does. */
static bool are_alike(const struct evaluated *a, const struct evaluated *b) {
    return a->first == b->first && odds_of(a->score) - odds_of(b->score) <= SAME_ODDS &&
           (a->score >= EVALUATE_THRESHOLD) == (b->score >= EVALUATE_THRESHOLD);
}

/* Of those that the score does not tell apart from the best that is left, the one with the highest
 * priority comes first. */
static void prefer_priority(const struct evaluate_tool *tools, struct evaluation *evaluation) {
    struct evaluated *items = evaluation->items;
    for (size_t i = 0; i < evaluation->count; i++) {
        size_t first = i;
        for (size_t k = i + 1; k < evaluation->count && are_alike(&items[i], &items[k]); k++) {
            first = tools[items[k].index].priority > tools[items[first].index].priority ? k : first;
        }
        struct evaluated item = items[first];
        memmove(&items[i + 1], &items[i], (first - i) * sizeof item);
        items[i] = item;
    }
}

/* Earlier texts decide between tools that the text alone has nearly equal. They push no tool below
 * the threshold of which the text alone is certain, and a tool that it would not choose is not
 * called because of them (surely.h). */
static void weigh_history(const struct evaluate_tool *tools, struct evaluation *evaluation) {
    size_t best = 0;
    bool any = false;
    for (size_t i = 0; i < evaluation->count; i++) {
        const struct evaluated *item = &evaluation->items[i];
        const double history = tools[item->index].history;
        any = any || history > 0 || history < 0;
        best = item->first == evaluation->items[best].first &&
                               item->alone > evaluation->items[best].alone
                       ? i
                       : best;
    }
    if (!any) {
        return;
    }
    struct evaluated alone = evaluation->items[best];
    if (evaluation->items[0].score < EVALUATE_THRESHOLD && alone.alone >= ALONE_CERTAIN &&
        tools[alone.index].history >= 0) {
        alone.score = alone.alone;
        memmove(&evaluation->items[1], &evaluation->items[0], best * sizeof alone);
        evaluation->items[0] = alone;
    }
    const struct evaluated *first = &evaluation->items[0];
    evaluation->led = first->alone < EVALUATE_THRESHOLD ||
                      odds_of(alone.alone) - odds_of(first->alone) > NEAR_ODDS;
}

static int ask(const struct fit_wish *wish, const struct evaluate_tool *tools,
               struct evaluation *evaluation, struct toolrack_error *err) {
    struct which_candidate candidates[WHICH_CANDIDATES_MAX];
    size_t count = 0;
    if (evaluation->refused.all) {
        return which_ask_instead(wish, &evaluation->question, err);
    }
    if (evaluation->kept_out < SIZE_MAX && !wish->none) {
        const struct evaluate_tool *tool = &tools[evaluation->kept_out];
        return evaluation->asks
                       ? which_ask_wanted(wish, tool->texts.name, &evaluation->question, err)
                       : which_ask_opposite(wish, &evaluation->wanted, tool->texts.name,
                                            &evaluation->question, err);
    }
    for (; !wish->none && count < evaluation->count && count < WHICH_CANDIDATES_MAX; count++) {
        const struct evaluated *item = &evaluation->items[count];
        candidates[count] = (struct which_candidate){&tools[item->index].texts,
                                                     tools[item->index].profile, item->score};
    }
    return which_ask(wish, candidates, count, &evaluation->question, err);
}

/* What a text says that keeps tools out. */
static void read_wishes(const struct fit_wish *wish, struct evaluation *evaluation) {
    const size_t length = wish->said > 0 ? wish->said : wish->length;
    struct turns turns;
    turns_read(wish->text, length, &turns);
    refused_find(wish->text, length, wish->words, &evaluation->refused);
    deeds_of_text(wish->words, &turns, &evaluation->refused, &evaluation->wanted);
    evaluation->asks = mood_only_asks(wish->words, &turns, &evaluation->refused, false);
    evaluation->kept_out = SIZE_MAX;
}

/* Keep out the tools that are never chosen, and the best of them in mind. */
static void keep_all_out(const struct fit_wish *wish, const struct evaluate_tool *tools,
                         struct evaluation *evaluation) {
    double best = EVALUATE_THRESHOLD;
    for (size_t i = 0; i < evaluation->count; i++) {
        struct evaluated *item = &evaluation->items[i];
        enum evaluated_out out = find_out(wish, evaluation, &tools[item->index]);
        if (out > EVALUATED_REFUSED && item->score >= best) {
            best = item->score;
            evaluation->kept_out = item->index;
        }
        if (out != EVALUATED_IN) {
            keep_out(item, out);
        }
    }
}

int evaluate(const struct fit_wish *asked, const struct values *values,
             const struct evaluate_tool *tools, size_t count, struct evaluation *ret,
             struct toolrack_error *err) {
    struct fit_text *text = NULL;
    struct fit_text *alone = NULL;
    *ret = (struct evaluation){.items = calloc(count + 1, sizeof *ret->items)};
    struct fit_wish refusing = *asked;
    const struct fit_wish *wish = &refusing;
    read_wishes(asked, ret);
    refusing.refused = &ret->refused;
    refusing.values = values;
    int code = ret->items != NULL ? fit_text_create(wish, &text, err) : error_oom(err);
    const struct best_match best = find_best(wish, tools, count);
    if (code == 0 && wish->alone != NULL) {
        code = fit_text_create(wish->alone, &alone, err);
    }
    for (size_t i = 0; code == 0 && i < count; i++) {
        if (tools[i].left_out) {
            continue;
        }
        struct evaluated *item = &ret->items[ret->count++];
        double match = tools[i].match != NULL ? tools[i].match->score : 0;
        *item = (struct evaluated){.index = i};
        item->first = tools[i].whitelisted && match >= FIRST_SHARE * best.score;
        code = fit_arguments(values, &tools[i], item, err);
    }
    drop_past(ret);
    for (size_t i = 0; code == 0 && i < ret->count; i++) {
        struct evaluated *item = &ret->items[i];
        evaluate_one(text, alone, values, &tools[item->index], &best, item);
    }
    fit_text_destroy(text);
    fit_text_destroy(alone);
    if (code < 0) {
        return code;
    }
    keep_all_out(wish, tools, ret);
    prefer_taking(ret);
    sort_all(tools, ret);
    prefer_priority(tools, ret);
    weigh_history(tools, ret);
    ret->confidence = ret->count > 0 ? ret->items[0].score : 0;
    ret->open = is_open(wish, tools, ret);
    ret->confidence =
            ret->open || ret->refused.all ? rounded(ret->confidence / 2) : ret->confidence;
    if (wish->none && ret->confidence > NONE_CONFIDENCE) {
        ret->confidence = NONE_CONFIDENCE;
    }
    ret->abstained = ret->refused.all || ret->confidence < EVALUATE_THRESHOLD;
    return ret->abstained ? ask(wish, tools, ret, err) : 0;
}

void evaluation_finish(struct evaluation *evaluation) {
    free(evaluation->items);
    free(evaluation->question);
    *evaluation = (struct evaluation){0};
}
