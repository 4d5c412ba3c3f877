/* deed.h - what is done, by a text and by a tool, where it has an opposite: on and off, add and
 * remove.
 *
 * Tools of one subject share their words, so that a text that wants the timer stopped is nearest to
 * the tool that starts it, where no other is. opposite.h says which deeds exclude one another; such
 * a tool is never right. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/opposite.h"
#include "choose/tool-words.h"
#include "choose/words.h"

struct refused;
struct turns;

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

/** Whether a tool does the opposite of what a text wants, and nothing that it wants. [any-thread]
 */
bool deeds_exclude(const struct deeds_wanted *wanted, const struct deeds_done *done);
