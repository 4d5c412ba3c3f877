/* which.h - what to ask when no tool fits well enough: the question that would decide between
 * the best candidates, in English or Chinese as the text.
 *
 * It is about what tells them apart: what they do ("read or delete?"), else what they require ("a
 * city, or a latitude and a longitude?"), else what they are for. */
#pragma once

#include "choose/fit.h"
#include "choose/profile.h"

/* Candidates that one question names, and bytes of a tool's description that are quoted. */
#define WHICH_CANDIDATES_MAX 3u
#define WHICH_PURPOSE_MAX    120u

/** A candidate; borrowed. */
struct which_candidate {
    const struct index_document *texts;
    const struct profile *profile;
    double score; /**< 0 to 1 */
};

/** Make the question.
 * @param candidates  the best first; no more than WHICH_CANDIDATES_MAX are asked for
 * @param ret         to be released with free()
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int which_ask(const struct fit_wish *wish, const struct which_candidate *candidates, size_t count,
              char **ret, struct toolrack_error *err);

/** Say instead that a tool would fit which cannot run now, and what tells why or changes that.
 * @param enabled  false: that it is not enabled is why
 * @param ret      to be released with free()
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int which_held(const struct fit_wish *wish, const char *tool, bool enabled, char **ret,
               struct toolrack_error *err);

/** What to ask where the text only says what is not to be done.
 * @param ret  receives the question, to be released with free()
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int which_ask_instead(const struct fit_wish *wish, char **ret, struct toolrack_error *err);

/** What to ask where the tool that fits does the opposite of what is wanted.
 * @param ret  to be released with free()
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int which_ask_opposite(const struct fit_wish *wish, const struct deeds_wanted *wanted,
                       const char *tool, char **ret, struct toolrack_error *err);

/** What to ask where the text asks or tells, and the tool that fits would change something.
 * @param ret  to be released with free()
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int which_ask_wanted(const struct fit_wish *wish, const char *tool, char **ret,
                     struct toolrack_error *err);
