/* expression-parts.h - the parts of arithmetic expressions, for the files that read them.
 *
 * An expression is read and written in one go: from the first token that belongs to it to its end.
 * Finding it and writing it are the same function, so what is found is what is written. */
#pragma once

#include "base/buf.h"
#include "choose/values-parts.h"

/* Sums inside sums: "the square root of the sum of 9 and 16" has two. */
#define EXPRESSION_DEPTH_MAX 4u

/** Words of arithmetic and the tokens they have. */
struct expression_word {
    const char *text;
    uint8_t tokens;
    const char *sign;
};

/** The word of a table that begins at a token; the longest of a beginning is first in a table.
 * NULL: none. */
const struct expression_word *expression_word_at(const struct values *values, size_t at,
                                                 const struct expression_word *words, size_t count);
#define EXPRESSION_WORD_AT(values, at, words) \
    expression_word_at(values, at, words, sizeof(words) / sizeof *(words))

/** Whether token `at` is a word. */
bool expression_is_word(const struct values *values, size_t at, const char *word);

/** A word or sign that stands between two operands; `ret_length` is its number of tokens. NULL:
 * none. */
const char *expression_operator_at(const struct values *values, size_t at, size_t *ret_length);

/** What stands behind an operand: "squared", 的平方. NULL: none. */
const struct expression_word *expression_ending_at(const struct values *values, size_t at);

/** Read one operand: a number with what belongs to it, a root of it, a sum of several.
 * @return the token behind it; 0: there is none. */
size_t expression_read_operand(const struct values *values, size_t at, size_t depth,
                               struct buf *out);

/** Read several operands, and what is done with all of them: "the sum of 3, 4 and 5", "half of 90",
 * 3和5的和.
 * @return the token behind it; 0: there is none. */
size_t expression_read_group(const struct values *values, size_t at, size_t depth, struct buf *out);

/** Whether a word that says what is done with the numbers behind it begins at a token. */
bool expression_begins(const struct values *values, size_t at);

/** Read what is said of numbers, step by step: "add 40 and 2 and multiply by 3".
 * @param ret_unclear  the words go on with arithmetic that is not understood
 * @return the token behind it; 0: there is none. */
size_t expression_read(const struct values *values, size_t at, struct buf *out, bool *ret_unclear);

/** Read operands with operators between them.
 * @return the token behind it; 0: there is none. */
size_t expression_read_flat(const struct values *values, size_t at, struct buf *out);

/** The loosest operator outside of brackets: 1 + and -, 2 * and /, 3 ^, 4 none. */
int expression_loosest(const char *text, size_t length);

/** Write a text, in brackets if its loosest operator binds less than `least`. */
void expression_add_operand(const struct buf *text, int least, struct buf *out);

/** Write two texts with an operator between them, in brackets where that is needed. */
void expression_join(const struct buf *left, const char *sign, const struct buf *right,
                     struct buf *out);

/** Write a number with as few digits as say it. */
void expression_add_number(double number, struct buf *out);
