/* selecting.h - what a selection has found so far: the steps (select.c) fill it, and what shows
 * them reads it. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "choose/arguments.h"
#include "choose/asked.h"
#include "choose/evaluate.h"
#include "choose/label.h"
#include "choose/model.h"
#include "choose/orders.h"
#include "choose/shortlist.h"
#include "choose/words.h"

struct choose;

/** What a model said, or why it did not. */
struct assisted {
    bool asked;
    bool has_sent;                 /**< it got the request, or a part of it */
    unsigned taken;                /**< steps for which what it said holds */
    size_t candidates;             /**< that it was sent */
    struct toolrack_error problem; /**< with code 0: none */
    yyjson_doc *said;              /**< its answer; NULL: none */
};

/* Labels of a text that are kept, and tools that are evaluated. */
#define SELECT_LABELS_MAX     4u
#define SELECT_CANDIDATES_MAX 24u

/* What a selection has found so far. A step reads what those before it have set. */
struct selecting {
    const struct choose *choose;
    struct asked asked;
    struct words words;
    struct words alone; /* of a conversation: those of a last wish that stands for itself */

    struct label scenes[SELECT_LABELS_MAX]; /* scene */
    size_t scene_count;

    struct label intents[SELECT_LABELS_MAX]; /* intent */
    size_t intent_count;
    unsigned steps; /* how many things the text wants done */

    struct shortlist shortlist; /* match */

    size_t left_out;           /* evaluate: how many of the shortlist, by their scene */
    struct profile **profiles; /* of the shortlist, in its order; references */
    struct values *values;
    struct evaluation evaluation;

    struct orders orders;  /* of a text of several: all of them; else none */
    bool done[ORDERS_MAX]; /* those that the tool is for (undone.h) */
    char *own_text;        /* the text with blanks for the others; NULL: there are none */
    struct values *own;    /* its values */

    struct arguments *arguments; /* of the best candidate; NULL: there is none, or no schema */

    char *doubt; /* what has to be asked of a call that is complete (surely.h); NULL: nothing */

    struct assisted assisted; /* what a model said; by then what holds of that is above */
    yyjson_val *given;        /* the arguments, where those of the model hold; borrowed from it */
    struct buf unsaid;        /* pointers of those of them that nothing says, a zero behind each */
};

/** The best candidate, or NULL. */
const struct shortlisted *selecting_best(const struct selecting *selecting);
/** The tool that is chosen; NULL: none is. */
const struct shortlisted *selecting_chosen(const struct selecting *selecting);

/** Whether the call can be made as it is, if its tool is granted. */
bool selecting_is_sure(const struct selecting *selecting);

/** What has to be asked first; NULL: nothing. */
const char *selecting_question(const struct selecting *selecting);

/** The arguments about which something may have to be asked; NULL: none. */
const struct arguments *selecting_open(const struct selecting *selecting);

/** The arguments that the text has for a candidate, by the rules.
 * @return see arguments_fill() */
int selecting_fill(const struct selecting *selecting, const struct shortlisted *found,
                   struct arguments **ret, struct toolrack_error *err);

/** Run the five steps, without a model. Nothing is kept.
 * @param options  borrowed until selecting_finish()
 * @param ret      to be released with selecting_finish(), also after a failure
 * @return as toolrack_select(). Defined in select.c. */
int selecting_run(const struct choose *choose, const struct toolrack_select_options *options,
                  struct selecting *ret, struct toolrack_error *err);

/** The values that the arguments are taken from: of the wishes that the tool is for. */
const struct values *selecting_values(const struct selecting *selecting);

/** An empty one is ignored. */
void selecting_finish(struct selecting *selecting);
