/* clauses.h - the parts of a text that may each be a wish: "read the file, count its lines and send
 * the number" are three.
 *
 * A piece ends at a full stop, a line, a comma, or before "then", "and" and the like
 * (lexicon/connectives.txt); nothing ends inside of quotes, a path or a name of two words. Where a
 * piece says itself what is to be done, it begins a clause; the others belong to the clause before,
 * or, at the beginning of a sentence, to the one behind ("for the report, read ..."). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/words.h"

struct values;

/** Most of one text; the last goes on to its end. */
#define CLAUSES_MAX 64u

/** What stands before it. */
enum clause_begin {
    CLAUSE_BESIDE, /**< nothing, a full stop, a comma, "and", "also" */
    CLAUSE_THEN,   /**< what is done before: "then", "finally", 然后 */
};

struct clause {
    size_t start; /**< bytes of the text: [start, end), with the signs around its words */
    size_t end;
    size_t first; /**< its words: [first, last) */
    size_t last;
    enum clause_begin begin;
    bool sentence; /**< a sentence or a line begins with it */
    bool wish;     /**< it says itself what is to be done, or asks */
    bool or_else;  /**< "or" stands before it: another way to say the same */
};

struct clauses {
    struct clause items[CLAUSES_MAX];
    size_t count;
};

/** The pieces of a text, one behind the other, without a gap.
 * @param words   of the text
 * @param values  of the text: no piece ends inside of a value in quotes or the like; NULL: not
 * known [any-thread] */
void clauses_read(const char *text, size_t length, const struct words *words,
                  const struct values *values, struct clauses *ret);

/** The clauses that the pieces make. `ret` may be `pieces`. [any-thread] */
void clauses_join(const struct clauses *pieces, struct clauses *ret);
