/* results.h - results of a conversation that are too long for its model, kept so that it may read
 * them in parts.
 *
 * Each is a file of the folder `results` of the state folder, which only its owner can read:
 * "CONVERSATION.NUMBER". Without a state folder they are in memory. A model names a result by its
 * number alone: there is no way to the result of another conversation, or to any other file. What
 * is kept has no key, and no secret of the conversation's calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "provider/keys.h"

/* Most results of one conversation. */
#define RESULTS_MAX             10000u
/* Most bytes of the results of all conversations of a state folder, or of one in memory: beyond
 * that the oldest go. How long a file is kept. */
#define RESULTS_BYTES_MAX       (256u * 1024 * 1024)
#define RESULTS_AGE_S_MAX       (30u * 86400)
/* Most places of a text that a search gives, and bytes of a line around each. */
#define RESULTS_PLACES_MAX      20u
#define RESULTS_PLACE_BYTES_MAX 160u

struct results;

/** Open the results of a conversation, with those that an earlier process kept.
 * @param state_dir     NULL: they are in memory, as those of an id that is no plain name
 * @param conversation  copied
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int results_create(const char *state_dir, const char *conversation, struct results **ret,
                   struct toolrack_error *err);
/** Files stay. NULL is ignored. */
void results_destroy(struct results *results);

/** Overwrite this key in all that is kept from now on, and mask these secrets, which may become
 * more; borrowed. NULL: there are none. */
void results_hide(struct results *results, const struct key *key, const struct buf *secrets);

/** Remove the files of a conversation that is removed.
 * @return 0; TOOLRACK_E_IO. */
int results_forget(const char *state_dir, const char *conversation, struct toolrack_error *err);

/** The number of results that were kept, so that their numbers are from 1 to this. */
uint64_t results_count(const struct results *results);

/** Keep a text, which is UTF-8, with a zero behind it.
 * @param text        the keys in it are overwritten in place, and the secrets are masked, so that
 * no two parts of it have one between them
 * @param length      its length, also if this fails; a mask is shorter than what it hides
 * @param ret_number  receives its number
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int results_keep(struct results *results, char *text, size_t *length, uint64_t *ret_number,
                 struct toolrack_error *err);

/** A part of a result. */
struct results_part {
    uint64_t number;
    uint64_t begin; /**< in bytes; moved to the begin of a character */
    uint64_t end;   /**< set by results_read() */
    uint64_t size;  /**< of the whole result; set by both */
};

/** Append up to `length` bytes from part->begin on, in whole characters and at least one.
 * @return 0; TOOLRACK_E_NOT_FOUND for a number of none, and one that is not kept any more;
 *         TOOLRACK_E_INVALID_ARGUMENTS for a begin behind the end; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
int results_read(const struct results *results, struct results_part *part, size_t length,
                 struct buf *out, struct toolrack_error *err);

/** Append a line for each place of a text from part->begin on: "byte N: " and what is around it.
 * part->end receives where the search ended.
 * @param ret_count  receives how many lines were appended
 * @return as results_read() */
int results_find(const struct results *results, struct results_part *part, const char *text,
                 struct buf *out, size_t *ret_count, struct toolrack_error *err);
