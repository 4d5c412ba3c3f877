/* undone.h - of a text that wants several things done, which of them the call of one tool does, and
 * what is left.
 *
 * Arguments come only from the wishes that the tool is for: of "add milk to the list and remind me
 * tomorrow at 9" no reminder's time is an item of the list. What is left is told to whoever asks;
 * if that stands first, or belongs to the same call after all, it is asked which is meant. */
#pragma once

#include "choose/selecting.h"

/** Find the wishes that a tool is for, and read their values (selecting_values()).
 * @param found  the tool
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int undone_find(struct selecting *selecting, const struct shortlisted *found,
                struct toolrack_error *err);

/** Take the arguments from the whole text again: they lack something that another wish has. */
void undone_forget(struct selecting *selecting);

/** The first wish of which it has to be asked whether it comes before the call, or belongs to it:
 * one that stands before those that the tool is for, any other where all gave arguments, and one
 * that neither this tool nor another clearly has. NULL: none. */
const struct order *undone_asked(const struct selecting *selecting,
                                 const struct shortlisted *found);

/** A wish as a part of what was said: from its first word that says something. */
void undone_place(const struct selecting *selecting, const struct order *wish, size_t *ret_start,
                  size_t *ret_end);

/** Add "undone": the wishes that a call would leave, in their words.
 * @param is_chosen  whether there may be a call; else the array is empty */
void undone_add(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct selecting *selecting,
                bool is_chosen);
