/* index-text.h - the terms of a text: what a tool is found by.
 *
 *   a word       its stem; a number as it is
 *   parts        of a name that are joined, two and three as one: "YouTube" is found by "youtube"
 *   characters   of Chinese, each two that stand together; one that stands alone, alone */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/words.h"

enum index_kind {
    INDEX_WORD,
    INDEX_STOP,   /**< a word that says nothing by itself */
    INDEX_JOINED, /**< parts of a name as one */
};

/** Called with each term (not zero-terminated, valid during the call). False: stop. */
typedef bool (*index_take)(void *user, const char *text, size_t length, enum index_kind kind);

/** Give the terms of the word at `at` and of what ends there. `ret` of an earlier call that
 * returned false is false. */
bool index_terms_at(const struct words *words, size_t at, index_take take, void *user);

/** Write words as one term, without spaces: its length; 0 if it is longer than `room`. */
size_t index_joined(const struct words *words, size_t at, size_t count, char *ret, size_t room);
