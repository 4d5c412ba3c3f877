/* stem.h - an English word without its ending, by Porter's algorithm (1980).
 *
 * "files" and "file" have one stem, and so have "translate", "translation" and "translator". A stem
 * need not be a word. Part of the program, so that an index and a result are the same to the byte
 * whichever libraries a machine has; and lexicon/compile.py uses the same code. */
#pragma once

#include <stddef.h>

/** @param word  a word in lower case; one that has a byte beyond a to z is its own stem
 * @param ret   room for `length` bytes; may be `word` itself
 * @return the length of the stem, at most `length`. [any-thread] */
size_t stem_english(const char *word, size_t length, char *ret);
