/* wish-making.h - wishes while they are found: what the files of wishes.h share. */
#pragma once

#include "base/arena.h"
#include "choose/clauses.h"
#include "choose/inside.h"
#include "choose/selecting.h"
#include "choose/wishes.h"

/* Most texts that go through the five steps for one text: each clause, and pieces of some. */
#define WISH_TRIES_MAX 192u

/** What the five steps made of a part of the text. */
struct tried {
    struct selecting selecting;
    char *text;
    const struct shortlisted *found; /**< the tool that is chosen; NULL: none */
};

/** A call. */
struct called {
    const struct tried *by; /**< whose tool it has */
    size_t start;
    size_t end;
    bool then;                   /**< what is before it is done before it */
    bool again;                  /**< it is for the same as the one before, with other values */
    yyjson_mut_val *said;        /**< the arguments that its own words say */
    yyjson_mut_val *values;      /**< the same, with those that it has from the one before */
    struct arguments *arguments; /**< owned: of the text that says most of it */
    struct wish_link *links;
    size_t link_count;
};

struct making {
    const struct choose *choose;
    const struct toolrack_select_options *options;
    struct arena *arena;
    yyjson_mut_doc *doc;
    char *text; /**< as it was said, signs that are none of it blank */
    size_t length;
    struct asked asked; /**< the whole text */
    struct words words;
    struct clauses pieces;
    struct clauses clauses;
    struct tried *tried[WISH_TRIES_MAX];
    size_t tried_count;
    struct called calls[WISHES_MAX];
    size_t count;
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

/** Find what calls take of each other: sets their links. */
int wish_link_all(struct making *making);
