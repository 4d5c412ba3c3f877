/* mood.h - whether a text wants done what it names, or asks or tells of it.
 *
 * "Is the light on?", "who turned it off?", "I turned it off", "how do I turn it on?",
 * 灯是谁打开的: an answer may read something for these, and must change nothing. "Can you turn it
 * on?" and 能不能 打开 are wishes. lexicon/moods.txt has the words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/tool-words.h"
#include "choose/words.h"

struct refused;
struct turns;

/** Whether a text asks or tells and has no wish that something is changed; of a conversation the
 * wishes that are open.
 * @param refused  what it says not to do
 * @param any      "I watered it" tells though no lexicon has the verb. [any-thread] */
bool mood_only_asks(const struct words *words, const struct turns *turns,
                    const struct refused *refused, bool any);

/** Whether a tool changes something, as far as its name and its description say. [any-thread] */
bool mood_changes(const struct tool_words *tool);

/** Whether a tool does something, for all that is known: what it does is no reading, though the
 * verb may be one that no lexicon has. [any-thread] */
bool mood_acts(const struct tool_words *tool);
