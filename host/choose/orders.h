/* orders.h - where one text surely wants several things done: "add milk to the list and remind me
 * at 9". (clauses.h finds what may be a wish, for whoever can try it.)
 *
 * An order begins where a piece of the text (clauses.h) begins with a verb that is one, and the
 * order before it has its verb and an object by then. "Find and replace", "milk and cheese",
 * "light the lamp or the candle" and the text behind a colon or "remind me to" are no wishes of
 * their own. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "choose/words.h"

struct clauses;

/** Most wishes that are told apart; what follows belongs to the last. */
#define ORDERS_MAX 16u

/** Most verbs that are known beside those of the lexicons, and bytes of one with its final zero. */
#define ORDERS_VERBS_MAX 48u
#define ORDERS_VERB_SIZE 32u

/** A verb by what a tool says of itself: "greet", where it is described as "Greet a person". */
struct orders_verb {
    char stem[ORDERS_VERB_SIZE];
    /** It is only a name, and names may be nouns: a verb where a clause begins with it. */
    bool name;
};
struct orders_verbs {
    struct orders_verb items[ORDERS_VERBS_MAX];
    size_t count;
};

struct order {
    size_t first; /**< its words: from here */
    size_t end;   /**< to before here */
    size_t begin; /**< behind "and", "then", "please" */
    /** Refers to what the wish before is about: "find the file and delete it". */
    bool refers;
};

struct orders {
    struct order items[ORDERS_MAX];
    size_t count; /**< 1 at least, unless there is no word */
};

/** The verb that the first word of a tool's name or description is; a word that says nothing, or is
 * too long, is none.
 * @param name  see struct orders_verb
 * @return whether it is one. [any-thread] */
bool orders_verb_of(const struct word *word, bool name, struct orders_verb *ret);

/** Divide a text into orders, one behind the other, without gaps: words before the first belong to
 * the first, pieces that want nothing to the order before.
 * @param words   of the text
 * @param pieces  of clauses_read()
 * @param verbs   beside those of the lexicons; NULL: none. [any-thread] */
void orders_read(const char *text, const struct words *words, const struct clauses *pieces,
                 const struct orders_verbs *verbs, struct orders *ret);
