/* evaluate.h - which of the candidates fits best, or none well enough: step 4.
 *
 * Four dimensions, each from 0 to 1:
 *
 *   function    does the tool do what the text wants? (fit.h, and step 3)
 *   parameters  are the required ones in the text, and does the tool take what the text gives?
 *   cost        1 is cheap: no permission is needed, and calls are short
 *   success     how often calls gave a result, opinions, and earlier texts that led to the tool
 *
 * The score is how certain it is that the tool is the right one: mostly the first two, which are
 * calibrated so that 0.5 is an even chance; cost and success decide between tools that fit alike,
 * then the priority. Below EVALUATE_THRESHOLD no tool is chosen, and a question is asked instead.
 *
 * Pure functions: the same text and candidates give the same evaluation. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choose/arguments.h"
#include "choose/deed.h"
#include "choose/fit.h"
#include "choose/match.h"
#include "choose/profile.h"
#include "choose/refused.h"
#include "toolrack/toolrack.h"

/** The confidence below which the host abstains. */
#define EVALUATE_THRESHOLD 0.5

/* Times of a call that count as shortest, and as longest. */
#define EVALUATE_FAST_NS UINT64_C(1000000)
#define EVALUATE_SLOW_NS UINT64_C(30000000000)

/** A candidate; all is borrowed. */
struct evaluate_tool {
    struct index_document texts;
    const struct profile *profile; /**< of these texts */
    const struct match_hit *match; /**< of step 3; NULL: it was not asked */
    double history;                /**< what earlier texts say for it, 1, to against it, -1 */
    enum toolrack_permission permission;
    bool granted;         /**< no decision keeps it from running */
    uint64_t deadline_ms; /**< of a call; 0: none is known */
    uint64_t mean_ns;     /**< of its calls; 0: unknown */
    uint64_t calls;
    uint64_t failures;
    uint64_t good; /**< opinions */
    uint64_t bad;
    int32_t priority;
    bool whitelisted;
    bool reads;    /**< it says that it changes nothing */
    bool left_out; /**< it is no candidate */
};

/** Why a tool is never chosen, however well it fits. */
enum evaluated_out {
    EVALUATED_IN,       /**< it may be chosen */
    EVALUATED_REFUSED,  /**< it does what the text says not to do */
    EVALUATED_OPPOSITE, /**< it does the opposite of what the text wants */
    EVALUATED_CHANGES,  /**< it changes something, and the text only asks or tells */
};

/** A candidate that was evaluated. */
struct evaluated {
    size_t index; /**< among the candidates given */
    double score; /**< 0 to 1, rounded to EVALUATE_PARTS */
    double alone; /**< the same of the text alone, without earlier texts */
    double function;
    double parameters;
    double cost;
    double success;
    enum evaluated_out out;         /**< why it is never chosen */
    bool first;                     /**< it is whitelisted and fits: before all others */
    struct fit fit;                 /**< what function was computed of */
    struct arguments_fit arguments; /**< likewise parameters */
};
#define EVALUATE_PARTS 10000.0

struct evaluation {
    struct evaluated *items; /**< the best first */
    size_t count;
    /** That the first is right; 0: there is none. Half of its score where the text does not say
     * what is to be done, and the second does something else and fits alike. */
    double confidence;
    struct refused refused;     /**< what the text says not to do */
    struct deeds_wanted wanted; /**< what it wants done, where that has an opposite */
    bool asks;                  /**< it wants nothing changed: it asks or tells */
    size_t kept_out; /**< the candidate that would be chosen, were it not for that; or SIZE_MAX */
    bool open;       /**< the confidence is half, as said there */
    bool abstained;  /**< the confidence is below the threshold */
    bool led;        /**< earlier texts led to the first: by the text alone another one would be
                        chosen, or none */
    char *question;  /**< what would decide, in the language of the text; NULL: nothing is open */
};

/** Evaluate candidates. One that is left out is none.
 * @param values  of the text; NULL: parameters are not compared
 * @param ret     to be released with evaluation_finish(), also after a failure
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int evaluate(const struct fit_wish *asked, const struct values *values,
             const struct evaluate_tool *tools, size_t count, struct evaluation *ret,
             struct toolrack_error *err);
/** An empty one is ignored. [any-thread] */
void evaluation_finish(struct evaluation *evaluation);
