/* deed.h - what is done, by a text and by a tool, where it has an opposite: on and off, add and
 * remove.
 *
 * Tools of one subject share their words, so that a text that wants the timer stopped is nearest to
 * the tool that starts it, where no other is. lexicon/opposites.txt says which deeds exclude one
 * another; such a tool is never right. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/tool-words.h"
#include "choose/words.h"

struct refused;
struct turns;

/* Most deeds that are kept. */
#define DEEDS_MAX 12u

/** Deeds, each as a value of the lexicon. */
struct deeds {
    const char *items[DEEDS_MAX];
    size_t count;
};

/** What a text wants done. */
struct deeds_wanted {
    struct deeds first; /**< what it wants before all else; empty: it has no opposite */
    struct deeds all;   /**< and what else it names */
    size_t at;          /**< the words of the first: from here */
    size_t last;        /**< to here */
};

/** What a tool does: what its name says or what its description begins with, and all that its
 * name and the first sentence of its description name. */
struct deeds_done {
    struct deeds first;
    struct deeds all;
};

/** The deeds of a text, of a conversation of the wishes that are open.
 * @param refused  what it says not to do. [any-thread] */
void deeds_of_text(const struct words *words, const struct turns *turns,
                   const struct refused *refused, struct deeds_wanted *ret);

/** The deeds of a tool. [any-thread] */
void deeds_of_tool(const struct tool_words *tool, struct deeds_done *ret);

/** Add the deeds at a word.
 * @return how many words name them; 0: none does. [any-thread] */
size_t deeds_at(const struct words *words, size_t at, struct deeds *deeds);

/** Whether a deed changes nothing, or nothing that was there. [any-thread] */
bool deed_is_harmless(const char *deed);

/** Whether a tool does the opposite of what a text wants, and nothing that it wants. [any-thread]
 */
bool deeds_exclude(const struct deeds_wanted *wanted, const struct deeds_done *done);
