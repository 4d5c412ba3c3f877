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

/** Whether a word is a verb of the past: "turned" and "sent", but not "need". [any-thread] */
bool mood_is_past(const struct word *word);

/** Whether a word says what a tool does, and how many words say so; 0: it does not. */
typedef size_t mood_is_act(const void *user, const struct words *words, size_t at);

/** Whether a text says only that something was done: "mail 5 was deleted", "Bob has paid 5 euros",
 * 邮件5已经删除了. What a tool does stands in it as what is past, and nowhere as a wish.
 * @param is_act  for the tool. [any-thread] */
bool mood_tells_done(const struct words *words, mood_is_act *is_act, const void *user);

/** Whether a tool changes something, as far as its name and its description say. [any-thread] */
bool mood_changes(const struct tool_words *tool);

/** Whether a tool does something, for all that is known: what it does is no reading, though the
 * verb may be one that no lexicon has. [any-thread] */
bool mood_acts(const struct tool_words *tool);
