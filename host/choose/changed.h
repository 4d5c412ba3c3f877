/* changed.h - words and signs that change the value beside them: "half of 50", "20-30", "mail 5,
 * no, mail 6", "the file next to a.txt".
 *
 * An argument that has only a part of what is said so is another value than was meant.
 * lexicon/changers.txt has the words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/values-parts.h"
#include "choose/words.h"

struct changed_text {
    const struct values *values;
    const struct words *words;
    bool dialogue; /**< the text has turns: what takes back what was said is read there */
    /** Whether a token is part of an argument, or of what an argument was read from. */
    bool (*takes)(const void *user, size_t token);
    /** Whether the texts of the tool have these words: "before" may be its parameter. */
    bool (*explains)(const void *user, size_t at, size_t count);
    const void *user;
};

/** Find the first words that change a value and that no argument has.
 * @param ret_first  receives the first token of them
 * @param ret_last   receives the token behind them
 * @return false: there are none. [any-thread] */
bool changed_find(const struct changed_text *text, size_t *ret_first, size_t *ret_last);
