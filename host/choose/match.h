/* match.h - how well tools fit a task that is described in words.
 *
 * Words are compared literally: runs of letters and digits, without (ASCII) case and without the
 * "s" of a plural; a_b and aB are two words. A word that few tools have counts more than one that
 * many have, and a word in a name more than one in a description (BM25 over weighted fields).
 * recommend.h accepts any other numbers from 0 to 1 instead. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/* Most words of a task, and most bytes of a word; the rest is ignored. */
#define MATCH_WORDS_MAX     64u
#define MATCH_WORD_SIZE_MAX 64u

enum match_field {
    MATCH_NAME,
    MATCH_TITLE,
    MATCH_TAGS,
    MATCH_CATEGORY,
    MATCH_PURPOSE,
    MATCH_SCENARIOS,
    MATCH_DESCRIPTION,
    MATCH_FIELDS
};

/** The texts of one tool; NULL: the tool has none. */
struct match_tool {
    const char *fields[MATCH_FIELDS];
};

/** How well each of `count` tools fits, from 0 (no word of the task) to 1.
 * @param ret  room for `count` numbers
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int match_task(const char *task, const struct match_tool *tools, size_t count, double *ret,
               struct toolrack_error *err);
