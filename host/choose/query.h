/* query.h - a text as what is looked up in the index: its units.
 *
 * A unit is a word, or two Chinese characters, with all that may stand for it: the word itself,
 * synonyms, translations. Units are in segments, one for each wish ("show the weather, then send a
 * mail"), so that each wish can find its tool. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "choose/index-parts.h"
#include "choose/match.h"
#include "choose/rareness.h"

/** Most units and segments, alternatives of all units, terms of one alternative. Words beyond are
 * left out; segments beyond are one with the last. */
#define QUERY_UNITS_MAX        256u
#define QUERY_SEGMENTS_MAX     8u
#define QUERY_ALTERNATIVES_MAX 2048u
#define QUERY_TERMS_MAX        5u

/** Most tools that a conversation names as called already. */
#define QUERY_CALLED_MAX 8u

/** Something that may stand for a unit: terms of which a tool should have all. Weights are in
 * 1/RARENESS_ONE. */
struct query_alternative {
    const struct index_term *terms[QUERY_TERMS_MAX]; /**< those that some tool has */
    uint32_t weights[QUERY_TERMS_MAX]; /**< of each: what a tool is worth that is all about it */
    uint32_t count;
    enum match_relation relation;
};

struct query_unit {
    uint32_t start; /**< in the text, in bytes */
    uint32_t end;
    uint32_t weight; /**< what it may be worth at most */
    uint32_t part;   /**< of what a word counts that says something, in 1/RARENESS_ONE */
    uint32_t first;  /**< its alternatives among all */
    uint32_t count;
    uint8_t segment;
    bool letters; /**< not Chinese */
    bool held;    /**< part of a value */
};

struct query {
    struct query_unit units[QUERY_UNITS_MAX];
    size_t unit_count;
    struct query_alternative alternatives[QUERY_ALTERNATIVES_MAX];
    size_t alternative_count;
    size_t segments;
    uint32_t unknown; /**< pairs of Chinese characters that are no units, since no tool has them:
                         the sum of what `part` would be */
    uint32_t actions[QUERY_SEGMENTS_MAX]; /**< what is to be done: bits as of actions_at() */
    uint64_t called[QUERY_CALLED_MAX];    /**< names of tools: index_hash() of each */
    size_t called_count;
    bool again; /**< the last wish is for the same once more, with another value */
};

/** What of an index a reader may know: what it may not is as if it were not there. */
struct query_view {
    uint32_t (*count)(void *user, const struct index_term *term); /**< that have a term */
    void *user;
    size_t total;
};

/** Read a text. The caller holds the lock of the index until it needs the query no more.
 * @param view  NULL: all of the index
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int query_read(const struct index *index, const struct match_weights *weights,
               const struct query_view *view, const char *text, size_t length, struct query *ret,
               struct toolrack_error *err);
