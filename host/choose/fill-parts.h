/* fill-parts.h - the filling of parameters, for the files that do it. */
#pragma once

#include "choose/evidence.h"
#include "schema/schema.h"

/* Candidates of one parameter that are kept: those with the highest scores. */
#define KEPT_MAX 24u

/* How much lower than leaving it out a candidate may be and still fill a required parameter: a
 * person can correct a wrong value as easily as answer a question. In hundredths, as the scores. */
#define REQUIRED_BONUS 60

/** What `used` has of a word: some parameter has taken it, for itself alone. */
#define FILL_USED 1u

struct kept {
    uint8_t form;
    uint16_t index;
    uint16_t first; /**< tokens of the text, [first, last) */
    uint16_t last;
    int32_t margin; /**< above leaving the parameter out */
};

struct choice_state {
    struct kept kept[KEPT_MAX];
    size_t count;
    size_t at; /**< the candidate that is next, or that fills the parameter */
    bool done; /**< filled, or nothing left */
    bool filled;
    uint8_t source; /**< enum arguments_source, where it is not of the text */
    const char *json;
    const char *origin; /**< JSON Pointer in the earlier results; NULL: not of them */
};

/* Most elements of an array of objects. */
#define FILL_ELEMENTS_MAX 16u

/** A parameter in a later element of an array of objects. */
struct fill_more {
    size_t parameter;
    size_t element; /**< from 1: the first is among the states */
    struct kept kept;
    const char *pointer;
    const char *json;
};

struct fill {
    const struct values *values;
    const struct arguments_tool *tool;
    struct parameters parameters;
    struct evidence *evidence;
    struct arena arena;
    struct choice_state *states;
    uint8_t *used;    /**< [tokens]: some parameter has taken this word */
    uint8_t *telling; /**< [tokens]: a value that says something covers this word */
    struct fill_more *more;
    size_t more_count;
};

/** Whether a candidate is a value of the text: no choice, and nothing of the context. */
static inline bool fill_is_value(const struct kept *kept) {
    return kept->last > kept->first && kept->form != FORM_NONE && !evidence_is_choice(kept->form);
}

/** The JSON of a candidate, of the arena; NULL: it has none. */
const char *fill_render(struct fill *fill, size_t p, const struct kept *kept);

/** Whether one value is valid against its own schema; `failure` says why not, and may be NULL.
 * References lead into the whole document, which the caller checks. */
bool fill_is_valid(const struct parameter *parameter, const char *json,
                   struct schema_failure *failure);

/** Give a parameter a value that no candidate has. `words` of the text stand for it; NULL: none. */
void fill_take(struct choice_state *state, enum arguments_source source, const char *json,
               const char *origin, const struct value_reference *words);

/** Fill what the text leaves open and the context says. */
void fill_from_context(struct fill *fill);

/** Find the further elements of arrays of objects: "apples at 3 dollars and pears at 4".
 * @return false: out of memory. */
bool fill_groups(struct fill *fill);

/** Take the texts that stand behind the names of their parameters, before any other: fill-label.c.
 */
void fill_labels(struct fill *fill);

/** Give both ends of a range the day that the text names: fill-range.c. */
void fill_ranges(struct fill *fill);

/** Give each parameter that takes prose the whole clause: fill-clause.c.
 * @return false: out of memory. */
bool fill_clauses(struct fill *fill);

/** Leave out the choices that the text does not name, and take the defaults of required parameters.
 */
void fill_settle_guesses(struct fill *fill);

/** Where something is asked anyway, leave out what is weak. */
void fill_doubt(struct fill *fill);

/** Make what was filled the result of arguments_fill(). */
int fill_write_result(struct fill *fill, struct arguments **ret, struct toolrack_error *err);

/** Count what was filled for arguments_fit(). */
void fill_count_fit(const struct fill *fill, struct arguments_fit *ret);
