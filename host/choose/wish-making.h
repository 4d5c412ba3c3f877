/* wish-making.h - wishes while they are found: what the files of wishes.h share. */
#pragma once

#include "base/arena.h"
#include "choose/clauses.h"
#include "choose/inside.h"
#include "choose/refused.h"
#include "choose/selecting.h"
#include "choose/values-parts.h"
#include "choose/wishes.h"

/* Most texts that go through the five steps for one text: each clause, and pieces of some. */
#define WISH_TRIES_MAX 192u

/** What the five steps made of a part of the text. */
struct tried {
    struct selecting selecting;
    size_t start; /**< the part: bytes [start, end) */
    size_t end;
    char *text;
    const struct shortlisted *found; /**< the tool that is chosen; NULL: none */
};

/* Parts of results that are looked at, of one call and of all. */
#define OUTPUTS_MAX     24u
#define OUTPUTS_ALL_MAX (OUTPUTS_MAX * WISHES_MAX)

/** A part of the result of a call. */
struct output {
    size_t from;
    const char *path; /**< JSON Pointer */
    yyjson_val *schema;
    struct words name;
    struct words text; /**< what is said of it */
    double sought;     /**< how much of its name the text of its call has, 0 to 1 */
    bool echo;         /**< a parameter of the tool has its name: it only says that again */
};

/* Bytes of digits that stand for a result, and most results that a call takes. */
#define MARK_ROOM 16u
#define MARKS_MAX 8u

/** Digits that stand for the result of a call. */
struct standing {
    char digits[MARK_ROOM];
    size_t from;
    const char *path; /**< JSON Pointer in it */
};

/** A clause in whose text digits stand in place of a word for what came before. */
struct marked {
    struct clause clause; /**< found: where the word is; written: its text is behind the whole text;
                             its words are those of the other */
    char digits[MARK_ROOM];
    size_t from;      /**< the call whose result it is */
    const char *path; /**< JSON Pointer in it; NULL: not said */
    bool computed;    /**< a word of arithmetic stands behind it: "that times 3" */
    struct standing more[MARKS_MAX - 1]; /**< further results: "add the two numbers" */
    size_t more_count;
};

/** A call. */
struct called {
    const struct tried *by; /**< whose tool it has */
    size_t start;
    size_t end;
    bool then;   /**< what is before it is done before it */
    bool again;  /**< it is for the same as the one before, with other values */
    bool listed; /**< it is for one value of a list of the text */
    bool refers; /**< its text has a word for a result: it has no value of the text of another */
    bool has_mark;
    struct marked mark;          /**< the digits that stand for a result of a call before */
    yyjson_mut_val *said;        /**< the arguments that its own words say */
    yyjson_mut_val *values;      /**< the same, with those that it has from the one before */
    struct arguments *arguments; /**< owned: of the text that says most of it */
    size_t filled;               /**< where that text begins */
    struct wish_link *links;
    size_t link_count;
};

/** Pieces of the text that gave a call nothing when it was made. */
struct spare {
    struct clause clause;
    size_t call; /**< the call that they were tried for */
};

struct making {
    const struct choose *choose;
    const struct toolrack_select_options *options;
    struct arena *arena;
    yyjson_mut_doc *doc;
    char *text; /**< as it was said, signs that are none of it blank; behind it, made texts */
    size_t length;
    size_t made; /**< where the next of these begins */
    size_t room;
    struct asked asked; /**< the whole text */
    struct words words;
    struct clauses pieces;
    struct clauses clauses;
    struct tried *tried[WISH_TRIES_MAX];
    size_t tried_count;
    struct called calls[WISHES_MAX];
    size_t count;
    struct wish_left conditions[CONDITIONS_MAX]; /**< that compare: blank in the text */
    size_t condition_count;
    struct wish_left refused[REFUSED_MAX]; /**< blank in the text */
    size_t refused_count;
    bool cut; /**< the text goes on behind the words that are read of it */
    struct wish_left left[CLAUSES_MAX];
    size_t left_count;
    struct spare spares[CLAUSES_MAX];
    size_t spare_count;
    struct output *outputs; /**< of the first calls, one after the other */
    size_t output_count;
    size_t known; /**< so many calls */
    struct toolrack_error *err;
};

/** The tool of a call, its schema, and its parameters. */
static inline const struct toolrack_tool *called_tool(const struct called *call) {
    return call->by->found->tool;
}
static inline const struct profile *called_profile(const struct called *call) {
    const struct selecting *selecting = &call->by->selecting;
    return selecting->profiles[call->by->found - selecting->shortlist.items];
}

/** Have bytes of the texts go through the five steps. wish-calls.c
 * @param ret  NULL: there is no room for more, or the part is empty */
int wish_try_part(struct making *making, size_t start, size_t end, struct tried **ret);
/** The arguments that they have for the tool of a call. */
int wish_fill_part(struct making *making, const struct called *call, size_t start, size_t end,
                   struct arguments **ret);
/** Add a call, with the arguments of a piece; none where there is no room. */
int wish_begin_call(struct making *making, const struct tried *by, const struct clause *piece,
                    bool then);
/** Whether something that the tool of a clause needs is not in it, or what was taken for it is no
 * value. */
bool wish_lacks_arguments(const struct making *making, const struct clause *clause,
                          const struct tried *tried);

/** Where a clause has lists of values and the tool takes one of them: add a call for each value.
 * wish-list.c
 * @param by       the choice for the whole clause
 * @param mark     its text, where digits stand for a result of a call before; else NULL
 * @param ret_end  the end of the part of the clause that the calls are of; 0: none was added */
int wish_add_listed(struct making *making, const struct clause *clause, const struct tried *by,
                    const struct marked *mark, size_t *ret_end);

/** Find what all calls give, as far as that is not known. wish-output.c */
int wish_outputs_find(struct making *making);
void wish_outputs_finish(struct making *making);
/** Of the words of a name, by weight: how many others have, 0 to 1. */
double wish_share(const struct words *name, const struct words *others);
/** Whether words of a text, not in quotes, are like one. */
bool wish_has_word(const struct words *words, const struct word *word);
/** Whether a word is one that many results have: "result", "value". */
bool wish_is_generic(const struct word *word);

/** A part of the text that gives values. */
struct wish_part {
    size_t start;               /**< where it begins */
    const struct clause *piece; /**< the piece with which it ends */
    bool own;                   /**< the piece has no tool of its own */
};

/** Whether what was taken for a value of a call is one, and not the clause itself, "of each", or
 * "times 3" where an expression is wanted. wish-value.c */
bool wish_is_value(const struct making *making, const struct called *call,
                   const struct wish_part *part, const struct arguments_value *value);

/** Whether a word for what came before is one for a whole result: "it", "that amount", but not
 * "this folder". */
bool wish_is_result(const struct values *values, const struct value_reference *reference);
/** Find in a clause a word for what came before: "it", "the result", "the translated text".
 * wish-mark.c
 * @param ret_found  false: it has none, or there is no room */
int wish_mark_find(struct making *making, const struct clause *clause, struct marked *ret,
                   bool *ret_found);
/** Put digits in its place, or digits in quotes. @return as above */
int wish_mark_write(struct making *making, const struct clause *clause, bool quoted,
                    struct marked *marked);
/** Put a text in its place. */
int wish_mark_put(struct making *making, const struct clause *clause, const char *text,
                  struct marked *marked);
/** Digits that the text has not.
 * @param number  0 at first; others are found each time */
void wish_mark_digits(const struct making *making, unsigned *number, char ret[MARK_ROOM]);
/** Find in a clause words for several earlier results that are numbers, "the two numbers", and put
 * digits for each in their place. wish-several.c
 * @param ret_found  false: it has none, or it is not clear which results are meant */
int wish_several_find(struct making *making, const struct clause *clause, struct marked *ret,
                      bool *ret_found);

/** Find the values of the text that no call uses. wish-unused.c */
int wish_find_unused(struct making *making, struct wishes *wishes);

/** The part of the result of a call that is a number: what a clause names, else what the text asks
 * of that call. NULL: there is none. wish-link.c
 * @param ret_open  it may be one of several */
const struct output *wish_output_number(const struct making *making, size_t from,
                                        const struct clause *clause, bool *ret_open);
/** Find what calls take of each other: sets their links. wish-link.c */
int wish_link_all(struct making *making);
