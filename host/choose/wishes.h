/* wishes.h - what a text of several wishes wants called, and what the calls take of each other.
 *
 *   clauses.h     the parts of the text that may each be a wish
 *   wish-calls.c  the calls: each clause goes through the five steps. A clause that chooses nothing
 *                says more of the one before, or wants the same once more with other values
 *   wish-value.c  what was taken for a value, and is none
 *   wish-list.c   a list of values where a tool takes one: a call for each
 *   wish-unused.c values of the text that no call uses
 *   wish-output.c what the calls give, by the schemas of their results
 *   wish-mark.c   words for that: "it", "the result", "the translated text", 它
 *   wish-several.c words for several of them: "the two numbers", 两个结果
 *   wish-link.c   what a call takes of the result of one before: by words that stand for it ("it",
 *                "the result", 它), and where the text gives a required parameter no value, by what
 *                the results of the calls before say they are
 *
 * No model is asked. The same text, context and tools give the same wishes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/arena.h"
#include "choose/choose.h"

/** Most calls of one text. */
#define WISHES_MAX 64u

/** A parameter that takes the result of a call before. */
struct wish_link {
    const char *pointer; /**< of the parameter, in the arguments */
    size_t from;         /**< the call */
    const char *path;    /**< JSON Pointer in its result; "" for all of it */
    const char
            *before;    /**< of a text that has it inside: what stands before it; else NULL. It
                           goes on with the text of the link before, if that has the parameter too */
    const char *behind; /**< likewise: what stands behind it */
    bool said;          /**< the text says so; else it only fits */
    bool open;          /**< the text does not say which of several parts of the result */
    const char *item;   /**< the call is made for each item of the result, and the parameter takes
                           this of it: a JSON Pointer, "" for all; else NULL */
};

/** A parameter for which the text has no value that holds. */
struct wish_ask {
    const char *pointer;
    const char *question;
    const char *reason; /**< why the value of the text does not hold; NULL: there is none */
    yyjson_val *schema; /**< of the parameter; NULL: not known. Borrowed from the tool's profile */
    bool required;
};

/** A call. */
struct wish {
    const char *tool;
    const char *title; /**< NULL: none */
    size_t start;      /**< what says so: bytes [start, end) of the text */
    size_t end;
    double confidence;    /**< of the choice of the tool, 0 to 1 */
    const char *question; /**< about the tool, or whether a value is meant; NULL: none */
    yyjson_mut_val
            *arguments; /**< an object: what the text says and what the schema has as default */
    const struct wish_link *links;
    size_t link_count;
    const struct wish_ask *asks;
    size_t ask_count;
    bool after; /**< the text wants it after the one before, and both change something */
};

/** Most conditions, and most values that no call uses; further ones are not told. */
#define CONDITIONS_MAX 8u
#define UNUSED_MAX     32u

/** A part of the text for which nothing is called, or a value that no call uses. */
struct wish_left {
    const char *text;
    size_t length;
};

struct wishes {
    struct arena arena;
    yyjson_mut_doc *doc; /**< of the arguments */
    struct wish *items;
    size_t count;
    const struct wish_left *left;
    size_t left_count;
    const struct wish_left *unused; /**< in the order of the text, none of a part that is left */
    size_t unused_count;
    const struct wish_left *conditions; /**< "if it rains": whether they hold is not known */
    size_t condition_count;
    const struct wish_left *refused; /**< "don't delete mail 7": nothing is called for it */
    size_t refused_count;
    bool cut;             /**< only the beginning of the text is read */
    const char *question; /**< what would decide, where no tool is chosen; NULL: nothing */
    void *inner;
};

/** Find them.
 * @param options  as toolrack_select() takes them
 * @param ret      to be released with wishes_finish(), also after a failure; borrows from the tools
 *                 of the registry, to which it holds references
 * @return as toolrack_select(). [any-thread] */
int choose_wishes(const struct choose *choose, const struct toolrack_select_options *options,
                  struct wishes *ret, struct toolrack_error *err);
/** An empty one is ignored. */
void wishes_finish(struct wishes *wishes);
