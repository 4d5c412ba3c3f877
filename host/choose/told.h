/* told.h - whether a text orders something now, or only tells of it.
 *
 * "Bob said: turn on the light", "> turn on the light" and 老板让我打开灯 tell what somebody wants;
 * "if it rains, close the window" is for later. Often the deed is meant, but that is not sure: it
 * is asked. lexicon/reports.txt has the words; mood.h is about questions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/words.h"

/** The first word by which a text tells of what it wants. A word that is part of a value counts
 * not: "remind me when I get home".
 * @param text      that the words are of
 * @param is_value  whether a word is part of a value
 * @param ret       the word
 * @return false: there is none. [any-thread] */
bool told_find(const char *text, const struct words *words,
               bool (*is_value)(const void *user, const struct word *word), const void *user,
               size_t *ret);

/** Words [first, last) by which a text says when what it wants is to be done: "if it rains", up to
 * the end of their part of the text. */
struct told_condition {
    size_t first;
    size_t last;
    size_t begin;  /**< behind "if" */
    bool compares; /**< it is about more or less than something: no value of what is wanted */
};

/** The first condition of a text from a word on.
 * @return false: there is none. [any-thread] */
bool told_condition_find(const struct words *words, size_t from, struct told_condition *ret);
