/* shortlist.h - the tools that a text may be about, with what is known of them.
 *
 * The tools that match (indexed.h), less those that cannot run at all (their plugin has failed or
 * is in quarantine) and those on the blacklist. A dangerous tool without a grant stays: it is shown
 * as such. Whitelisted tools that match come first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "choose/choose.h"
#include "choose/indexed.h"
#include "choose/vectors.h"
#include "store/statistics.h"

/** One of them. */
struct shortlisted {
    struct toolrack_tool *tool; /**< a reference */
    struct match_hit hit;
    double history; /**< what earlier texts say for it, 1, to against it, -1 */
    bool said;      /**< of this very text the principal said that it is right */
    bool whitelisted;
    bool left_out; /**< it is about something else (narrow.h) */
    bool granted;  /**< no decision keeps it from running; a confirm tool still asks */
    struct store_record record;
};

struct shortlist {
    struct shortlisted *items; /**< the best match first, whitelisted ones before */
    size_t count;
    bool none;                  /**< of this very text the principal said that no tool is right */
    struct toolrack_tool *held; /**< matches better than all others and cannot run; NULL: none */
    double held_score;          /**< how well; 0: another may take its place */
    bool held_clearly;          /**< that matches so much better that no other is meant */
    struct embedded embedded;   /**< what the embeddings model was asked, if one was */
};

/** What is looked for. */
struct shortlist_query {
    const char *text; /**< borrowed */
    size_t length;
    const struct values *values; /**< of the text; NULL: not known */
    size_t said;                 /**< how many bytes of it were said (wording.h) */
    const char *whole;           /**< all that was said, as it is kept for later texts; borrowed */
    size_t whole_length;
    const char *const *tools; /**< only these names, NULL-terminated; NULL: all */
    bool tells_held;          /**< also a tool that is disabled, see `held` */
    bool keeps_named;         /**< those of `tools` also where no word of them matches */
    bool (*shows)(void *user, const struct toolrack_tool *tool); /**< may be NULL */
    void *user;
    const char *principal; /**< whose earlier texts count; NULL: nobody's own */
    size_t limit;
    int64_t now_ms;
};

/** Find them, also by what earlier texts led to (past.h) and, where the configuration names a model
 * for that, by what they mean (vectors.h): `limit` at most, and the whitelisted ones
 * that match beside.
 * @param ret  to be released with shortlist_finish(), also after a failure
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int shortlist_find(const struct choose *choose, const struct shortlist_query *query,
                   struct shortlist *ret, struct toolrack_error *err);

/** An empty one is ignored. */
void shortlist_finish(struct shortlist *shortlist);
