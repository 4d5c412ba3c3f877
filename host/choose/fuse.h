/* fuse.h - two rankings as one: that by words and that by vectors. */
#pragma once

#include <stddef.h>

#include "choose/match.h"
#include "choose/vectors.h"

/* What a place in a ranking counts: 1 / (FUSE_FLAT + place), and the sum of both counts for a tool
 * (reciprocal rank fusion). Scores of words and cosines cannot be compared, and no model's cosines
 * with another's; places can. With 60, the value of the paper that introduced it (Cormack, Clarke
 * and Buettcher, 2009) and of most who use it since, a tool that both rankings have among their
 * first is before one that a single ranking has first: neither decides alone. */
#define FUSE_FLAT 60.0

/** Put the hits of both rankings into one, the best first.
 *
 * A tool that has no vector yet is as good by vectors as by words, so that it neither gains nor
 * loses. The best has the score that the best by words had; if there was none, its cosine.
 *
 * @param hits   those by words, the best first; receives those of both
 * @param count  how many there are; receives how many there are then
 * @param room   of `hits`; the last are left out if there are more
 * @param lacks  whether a tool has no vector yet
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int fuse(struct match_hit *hits, size_t *count, size_t room, const struct vectors_found *found,
         bool (*lacks)(void *user, uint64_t id), void *user, struct toolrack_error *err);
