/* evidence.h - what speaks for a value as the value of a parameter, and how much.
 *
 * Each candidate has a list of features: what kind the value is and what the parameter takes, the
 * words before and behind it, its place in the text, its unit, whether it is like an example. The
 * score is the sum of their weights. The weights were fitted on public data by
 * tests/bench/eval/fit-evidence.c; evidence-weights.c has them and says how. Features name no tool,
 * no parameter and no word: they are about kinds, cues and distances, so one set of weights serves
 * all. */
#pragma once

#include "choose/candidate.h"
#include "choose/choice.h"
#include "choose/parameter.h"
#include "choose/values-parts.h"

/* Most candidates of one parameter. */
#define EVIDENCE_CANDIDATES_MAX 1600u

/* All features. With another number they are others, and their weights are to be fitted anew. */
#define EVIDENCE_FEATURE_COUNT 8817u

struct evidence; /* all that is known before candidates are compared */

/** Compare all parameters with all values. `fast` leaves out parts of chunks.
 * @param ret  of the arena; the values and parameters are borrowed as long as it lives
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int evidence_create(const struct values *values, const struct parameters *parameters, bool fast,
                    struct arena *arena, struct evidence **ret, struct toolrack_error *err);

/** The candidates of one parameter, the first of them FORM_NONE; with features and scores.
 * @param ret  room for EVIDENCE_CANDIDATES_MAX
 * @return how many. */
size_t evidence_candidates(const struct evidence *evidence, size_t parameter,
                           struct candidate *ret);

/** Whether a word of the text is one of the names of a parameter or of its tool, in either
 * language: it says what is wanted, and is no value. [any-thread] */
bool evidence_is_name(const struct evidence *evidence, size_t parameter, size_t token);

/** Whether a word of the text is of the name of a parameter, in either language. [any-thread] */
bool evidence_is_label(const struct evidence *evidence, size_t parameter, size_t token);

/** Whether a value is a day or a time, as the hint of a parameter wants it. [any-thread] */
bool evidence_is_time_wanted(const struct parameter *parameter, const struct value *value);

/** Of each feature, in hundredths. */
extern const int16_t evidence_weights[EVIDENCE_FEATURE_COUNT];
