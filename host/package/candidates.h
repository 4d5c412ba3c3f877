/* candidates.h - of all that the indexes have, the version to take.
 *
 * It is the highest that is wanted, whichever index has it: with the first one that has any, who
 * has the key of an index could keep a correction from those who have a second one. And it is one
 * whose signature is of a key that may be taken: with the highest of all, he could keep every
 * update from them, by a version that nobody can install. */
#pragma once

#include "package/source.h"

/* Most versions whose signatures are got to choose one. */
#define CANDIDATES_TRIED_MAX 16u

/** What is wanted. All borrowed. */
struct candidates_wanted {
    const char *id;
    const char *follows; /* the id of a key; only it, or who follows it, may have signed. "": any
                            that signs the plugin */
    bool releases_first; /* a release is taken before a higher pre-release */
    bool (*takes)(void *user, const char *version);
    void *user;
};

/** Choose and get a package.
 * @param indexes    NULL-terminated, not empty
 * @param fetched    SOURCE_INDEXES_MAX, those that were fetched already have a location; to be
 *                   released by candidates_finish()
 * @param ret        as of source_open_entry()
 * @param ret_found  false: no index has what is wanted
 * @return as source_open_entry(), also for the best one where no key may be taken; of an index that
 *         cannot be used, only if no other has what is wanted. [any-thread] */
int candidates_open(const struct source_judge *judge, const char *const *indexes,
                    struct source_index *fetched, const struct candidates_wanted *wanted,
                    struct source *ret, bool *ret_found, struct toolrack_error *err);

void candidates_finish(struct source_index *fetched);
