/* outcome.h - parts of what is answered, as JSON, the same in each answer.
 *
 * Numbers are rounded to OUTCOME_PARTS parts of 1, so that they are the same whatever computed
 * them. */
#pragma once

#include <yyjson.h>

#include "choose/arguments.h"
#include "choose/label.h"
#include "choose/shortlist.h"
#include "choose/wording.h"

#define OUTCOME_PARTS 10000.0

/** A number from 0 to 1, rounded. [any-thread] */
double outcome_round(double value);
void outcome_add_number(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, double value);

/** Add `permission`, `granted` and `whitelisted`. */
void outcome_add_permission(yyjson_mut_doc *doc, yyjson_mut_val *object,
                            const struct shortlisted *found);

/** Add `reasons`: the words of the text that a tool has.
 * @param wording  the one that was matched */
void outcome_add_match_reasons(yyjson_mut_doc *doc, yyjson_mut_val *object,
                               const struct match_hit *hit, const struct wording *wording);

/** Add the labels of a text as an object: the best one, and `others`. */
void outcome_add_labels(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct label *labels,
                        size_t count, const struct wording *wording);

/** Add `missing` and `invalid`; empty arrays for NULL. */
void outcome_add_questions(yyjson_mut_doc *doc, yyjson_mut_val *object,
                           const struct arguments *arguments);

/** Add `arguments`: an object; {} for none.
 * @param given  where others hold than those of the rules; else NULL */
void outcome_add_arguments(yyjson_mut_doc *doc, yyjson_mut_val *object,
                           const struct arguments *arguments, yyjson_val *given);

/** Add `assumed`: the parameters whose value nothing says.
 * @param arguments  of the rules; NULL: none
 * @param unsaid     pointers of what a model guessed, a zero behind each; NULL: none */
void outcome_add_assumed(yyjson_mut_doc *doc, yyjson_mut_val *object,
                         const struct arguments *arguments, const struct buf *unsaid);

/** Add `values`: each argument, and where it comes from. */
void outcome_add_values(yyjson_mut_doc *doc, yyjson_mut_val *object,
                        const struct arguments *arguments, const char *text);

/** The name of a parameter for people: its JSON Pointer without the first slash. */
const char *outcome_parameter(const char *pointer);

/** Add "embeddings": what an embeddings model was sent, and whether its vectors counted; null if
 * the configuration names none. */
void outcome_add_embeddings(yyjson_mut_doc *doc, yyjson_mut_val *root,
                            const struct embedded *embedded, const struct embed *embed);
