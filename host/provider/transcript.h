/* transcript.h - the record of a conversation, one JSON object on each line.
 *
 * For people to read later. It contains all results of tools, so only its owner may read it; it
 * never contains a key. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "provider/keys.h"

/* Room for "20260131-235959-0123456789abcdef" and its final zero. */
#define TRANSCRIPT_ID_ROOM 40u

struct transcript;

/** Make a name for a conversation: the date and time, and a random number. */
void transcript_id(char ret[TRANSCRIPT_ID_ROOM]);

/** Open a new transcript.
 * @param file       its path; NULL: in the folder `transcripts` of the state folder, which is
 *                   created if missing
 * @param state_dir  the state folder; NULL: none; without a file nothing is kept then
 * @param id         of the conversation
 * @param key        borrowed; replaced by asterisks in everything that is written
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int transcript_open(const char *file, const char *state_dir, const char *id, const struct key *key,
                    struct transcript **ret, struct toolrack_error *err);
void transcript_close(struct transcript *transcript);

/** The path; NULL: nothing is kept. Borrowed. */
const char *transcript_path(const struct transcript *transcript);

/** Write a line: kind and time, and a value under the name of its kind.
 * @param value  JSON text
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int transcript_write(struct transcript *transcript, const char *kind, const char *value,
                     size_t length, struct toolrack_error *err);
