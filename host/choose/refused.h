/* refused.h - what a text says not to do: "don't delete it", 不要删除, and no to "are you sure?".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/words.h"

/* Most verbs that are kept. */
#define REFUSED_MAX 8u

struct refused {
    size_t verbs[REFUSED_MAX]; /**< words of the text */
    size_t count;
    bool all; /**< nothing is wanted: no other verb or question, or the person took it back */
};

/** What a text refuses; `words` are its words. [any-thread] */
void refused_find(const char *text, size_t length, const struct words *words, struct refused *ret);

/** Whether a word is of what is not to be done, where something else is. [any-thread] */
bool refused_is_said(const struct refused *refused, const struct words *words, size_t at);

/** Whether a tool has a word in its name. */
typedef bool refused_is_named(const void *tool, const char *stem, size_t length);

/** Whether a tool does what is refused and nothing that is wanted.
 * @param intent    what the tool does; NULL: that is not known
 * @param is_named  whether the tool is named after a word
 * @param tool      its argument. [any-thread] */
bool refused_is_done(const struct refused *refused, const struct words *words, const char *intent,
                     refused_is_named *is_named, const void *tool);
