/* match.h - which tools fit a text: step 3.
 *
 * The words of the text are looked up in the index, with their synonyms and, from Chinese to
 * English and back, their translations (lexicon/synonyms.txt, lexicon/glossary.txt). A word that
 * few tools have counts more than one that many have, one in a name more than one in a description,
 * and the tenth repetition of a word nothing (BM25 over weighted fields): a description that
 * repeats words, or has many, gains nothing. A text of several clauses ("do this, then that") is
 * ranked as a whole and by its clauses, so that a tool for each of them is among the first.
 *
 * The same index and text give the same result, to the bit; tools with equal scores are in the
 * order of their ids. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "choose/index.h"

struct values;

/** Most results, reasons of one result, and bytes of a shown word with its final zero. */
#define MATCH_HITS_MAX    1000u
#define MATCH_REASONS_MAX 8u
#define MATCH_WORD_MAX    48u

/** What earlier texts say for a tool (history). */
struct match_boost {
    uint64_t id;
    double value; /**< of struct past_lead: 0: nothing, to 1: the same text led to it */
};

/** How much each signal counts. The words: in 1/RARENESS_ONE of one that says something. */
struct match_weights {
    uint32_t stop; /**< one that says nothing by itself */
    uint32_t number;
    uint32_t quoted;   /**< one in quotation marks: rather a value than a wish. It hardly changes
                          what is found in ordinary texts, and keeps a text that is only passed on
                          from choosing the tool */
    uint32_t literal;  /**< one of a path, a URL or an address, or of a text that is passed on */
    uint32_t joined;   /**< two words that are one in some name */
    uint32_t crossing; /**< two Chinese characters that are of two words */
    uint32_t synonym;  /**< times what the lexicon says */
    uint32_t translation;
    uint32_t translation_too; /**< beside the Chinese word itself, where some tool has it: without
                                 it one tool described in Chinese hides all those in English */
    bool clauses;             /**< a text of several wishes is ranked by each of them too */
    bool turns;               /**< in a conversation the last wish counts */
    double name; /**< of a score: how much depends on how much of the tool's name the text explains;
                    nothing for a text in Chinese, for names are not */
    double other_action;   /**< what is left of it where the name says that the tool does something
                              else */
    double unasked_action; /**< the same if the text names no action: then it is rather a question
                            */
    double called_before;  /**< the same for a tool that the conversation has called already */
    double called_again;   /**< the same where the last wish asks for it again ("and for Rome
                              instead") */
    double group;          /**< what the best other tool of its group adds */
    double whole;  /**< a tool fits a clause by its words, and by the whole text so many times */
    double clause; /**< how much of a score comes from the clause that fits best */
    double clause_sure; /**< how much less a clause counts that even the best does not explain */
    double base;    /**< how far a word is explained by a tool that has it, but is not about it */
    double history; /**< what an earlier text that was the same is worth, beside the best fit */
};

/** Those that the host uses. */
extern const struct match_weights match_weights;

struct match_query {
    const char *text; /**< borrowed; any bytes */
    size_t length;
    /** The values of the text: words of them that a tool has not say little against it, for what it
     * covers; no order depends on them. NULL: they are not known. Borrowed. */
    const struct values *values;
    /** Whether a tool may be among the results; NULL: all may. Called with the index locked: it
     * must not change the index. */
    bool (*accept)(void *user, uint64_t id);
    void *user;
    const struct match_boost *boosts; /**< borrowed; each id once, in any order */
    size_t boost_count;
    /** NULL: match_weights. Others tell what a signal gives (tests/bench/eval/retrieval.c). */
    const struct match_weights *weights;
};

enum match_relation {
    MATCH_SAME,        /**< the word itself, or another form of it */
    MATCH_SYNONYM,     /**< one that means nearly the same */
    MATCH_TRANSLATION, /**< the same in the other language */
    MATCH_HISTORY,     /**< earlier texts; without word and field */
    MATCH_VECTOR,      /**< what the texts mean (vectors.h); without word and field */
};

/** A word of the text that a tool has. */
struct match_reason {
    uint32_t start; /**< where it stands in the text of the query, in bytes */
    uint32_t end;
    enum match_relation relation;
    enum index_field field;    /**< the one that counts most, of those that have it */
    double share;              /**< of the tool's score; all of a tool sum to at most 1 */
    char word[MATCH_WORD_MAX]; /**< as the index has it: a stem, or two characters */
};

struct match_hit {
    uint64_t id;
    double score;   /**< 0 to 1; a tool that fits the whole text perfectly has 1 */
    double history; /**< the share of it that earlier texts give, 0 to 1 */
    /** How much of the text the tool explains: the weight of its words that the tool has, among
     * that of all; 0 to 1. Of a text of several clauses that of the best clause. */
    double coverage;
    /** The same, of the whole text. */
    double coverage_all;
    /** How much of the tool's name and title the text explains, 0 to 1. */
    double name_coverage;
    /** The clause that the tool fits best, from 0. */
    unsigned clause;
    size_t reason_count;
    struct match_reason reasons[MATCH_REASONS_MAX]; /**< the largest share first */
};

/** Find the tools that fit, the best first.
 * @param ret        room for `room` results, MATCH_HITS_MAX at most
 * @param ret_count  how many there are; 0: no word of the text is known
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int match_find(struct index *index, const struct match_query *query, struct match_hit *ret,
               size_t room, size_t *ret_count, struct toolrack_error *err);
