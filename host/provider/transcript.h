/* transcript.h - what was asked, said and done, a JSON object on each line.
 *
 * For the person to look at later. It holds whatever the tools gave, so only its
 * owner may read it; it never holds a key. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "provider/keys.h"

/* Room for "20260131-235959-0123456789abcdef" and its final zero. */
#define TRANSCRIPT_ID_ROOM 40u

struct transcript;

/** A name for a conversation: the date, and a number that no other has. */
void transcript_id(char ret[TRANSCRIPT_ID_ROOM]);

/** Open a new one.
 * @param file       where; NULL: in the folder `transcripts` of the state folder, made when it is
 *                   not there
 * @param state_dir  the state folder; NULL: there is none, and without a file nothing is kept
 * @param id         of the conversation
 * @param key        borrowed; it is overwritten with asterisks in all that is written
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int transcript_open(const char *file, const char *state_dir, const char *id, const struct key *key,
                    struct transcript **ret, struct toolrack_error *err);
void transcript_close(struct transcript *transcript);

/** Where it is; NULL where nothing is kept. Borrowed. */
const char *transcript_path(const struct transcript *transcript);

/** Write a line: kind and time, and a value under the name of its kind.
 * @param value  text of JSON
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int transcript_write(struct transcript *transcript, const char *kind, const char *value,
                     size_t length, struct toolrack_error *err);
