/* past.h - what was chosen for earlier texts, and whether that was right.
 *
 * The rows of the store (selections.h) that say that a text led to a tool, or away from one that
 * was chosen where no tool is right, are kept in an index: before each use the rows that are new to
 * it are read, also those of other processes. Texts are kept by principal. What others' texts say
 * counts too, but only in sum: for each word of a text a principal counts once for a tool, however
 * many texts it has, a quarter of an own text, and all others together at most half.
 * A word of others counts only if at least three of them led this way by texts with it; what fewer
 * have is as if it were not kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/selections.h"

/* Most tools that earlier texts lead to, for one text. */
#define PAST_LEADS_MAX 16u

struct past;

/** NULL when out of memory.
 * @param store  borrowed until past_destroy(). [any-thread] */
struct past *past_create(struct store *store);
/** NULL is ignored. [any-thread] */
void past_destroy(struct past *past);

/** A tool that earlier texts led to, or away from. Its strings are valid until past_leads_finish().
 */
struct past_lead {
    char *tool;
    char *plugin; /**< its identity */
    /** How much of the text is explained by the texts that led to this tool, 1 for all of it. From
     * 0.3 on it is about the part of such leads that are right (on 399 earlier texts of 84 tools of
     * MetaTool: 0.19 of those from 0.3 to 0.4, 0.52 of those from 0.5, 0.82 from 0.7); less than
     * 0.3 says almost nothing. */
    double value;
    bool away; /**< the texts led away from it: somebody said that no tool is right for them */
    bool same; /**< the principal said so of this very text */
};

struct past_leads {
    struct past_lead items[PAST_LEADS_MAX]; /**< the strongest first */
    size_t count;
    bool none; /**< of this very text the principal said that no tool is right */
};

/** Find the tools that texts like this one led to, or away from.
 * @param principal  whose own texts count more; NULL: nobody's
 * @param ret        to be released with past_leads_finish(), also after a failure
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int past_find(struct past *past, const char *text, size_t length, const char *principal,
              int64_t now_ms, struct past_leads *ret, struct toolrack_error *err);
void past_leads_finish(struct past_leads *leads);

/** The id of a principal's text, by the key of the store: nobody can guess the text by it. What
 * looks like a secret (secret-form.h) has no part in it, not even for who has the store.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int past_id(struct past *past, const char *principal, const char *text, size_t length,
            char ret[STORE_SELECTION_ID_SIZE], struct toolrack_error *err);
