/* surely.h - whether a call can be made as it is, though no argument is missing: a choice is called
 * ready only if the text leaves nothing open.
 *
 * Each word of the wish must be explained: by a value that was taken, by the texts of the tool, or
 * as a word that says nothing by itself. Values must be whole: no word is cut, none that belongs to
 * the sentence is inside, and each stands where its parameter is named rather than another one. */
#pragma once

#include "choose/selecting.h"

/** What has to be asked before a call.
 * @param found  the tool, of which the arguments of `selecting` are complete
 * @param ret    receives the question, in the language of the text, to be freed; NULL: nothing
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int surely_ask(const struct selecting *selecting, const struct shortlisted *found, char **ret,
               struct toolrack_error *err);
