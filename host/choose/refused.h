/* refused.h - what a text says not to do: "don't delete it", 不要删除, and no to "are you sure?".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/words.h"

/* Most verbs that are kept. */
#define REFUSED_MAX 8u

struct refused {
    size_t verbs[REFUSED_MAX];  /**< words of the text */
    size_t begins[REFUSED_MAX]; /**< of each, the first word that belongs to it: of its part, where
                                   the thing stands before: "mail 6 must not be deleted" */
    size_t says[REFUSED_MAX];   /**< of each, the first word that says no */
    bool orders[REFUSED_MAX];   /**< it is an order, no "without" and "instead of" */
    size_t count;
    bool all; /**< nothing is wanted: no other verb or question, or the person took it back */
};

/** What a text refuses; `words` are its words. [any-thread] */
void refused_find(const char *text, size_t length, const struct words *words, struct refused *ret);

/** Whether a word is of what is not to be done, where something else is. [any-thread] */
bool refused_is_said(const struct refused *refused, const struct words *words, size_t at);

/** The next part of a text that orders what is not to be done, up to where something else is
 * wanted: "don't delete mail 6, 7 or 8".
 * @param from       look from this word on
 * @param ret_first  receives its first word
 * @param ret_last   receives the word behind it
 * @return false: there is none, or nothing else is wanted. [any-thread] */
bool refused_next_part(const struct refused *refused, const struct words *words, size_t from,
                       size_t *ret_first, size_t *ret_last);

/** Whether a tool has a word in its name. */
typedef bool refused_is_named(const void *tool, const char *stem, size_t length);

/** Whether a tool does what is refused and nothing that is wanted.
 * @param intent    what the tool does; NULL: that is not known
 * @param is_named  whether the tool is named after a word
 * @param tool      its argument. [any-thread] */
bool refused_is_done(const struct refused *refused, const struct words *words, const char *intent,
                     refused_is_named *is_named, const void *tool);
