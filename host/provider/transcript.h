/* transcript.h - the record of a conversation, one JSON object on each line.
 *
 * For people to read later, and for conversations that go on (kept.h). It contains all results of
 * tools, so only its owner may read it; it never contains a key. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "provider/keys.h"

/* Room for "20260131-235959-0123456789abcdef" and its final zero. */
#define TRANSCRIPT_ID_ROOM 40u

/* Where they are in the state folder, and what their names end with. */
#define TRANSCRIPT_FOLDER "transcripts"
#define TRANSCRIPT_ENDING ".jsonl"

/* Most bytes of one from which a conversation goes on. */
#define TRANSCRIPT_RESUMED_MAX (64u * 1024 * 1024)

struct transcript;

/** Make a name for a conversation: the date and time, and a random number. */
void transcript_id(char ret[TRANSCRIPT_ID_ROOM]);

/** Whether it may be the name of one that is kept. */
bool transcript_id_valid(const char *id);

/** Where a transcript is. */
struct transcript_place {
    const char *file;      /**< its path; NULL: in the folder `transcripts` of the state folder,
                            * which is created if missing */
    const char *state_dir; /**< the state folder; NULL: none; without a file nothing is kept then */
    const char *id;        /**< of the conversation */
    bool is_kept;          /**< it is there already, and a conversation goes on in it */
};

/** Open a transcript, for one conversation at a time.
 * @return 0; TOOLRACK_E_REFUSED when another process has it, or others may write to it; of one that
 * is kept, TOOLRACK_E_NOT_FOUND, TOOLRACK_E_INVALID for an id that is none; TOOLRACK_E_INVALID for
 * a file that is no transcript; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int transcript_open(const struct transcript_place *place, struct transcript **ret,
                    struct toolrack_error *err);

/** Set the key, before anything is written.
 * @param key  borrowed; replaced by asterisks in everything that is written */
void transcript_set_key(struct transcript *transcript, const struct key *key);

/** Append all whole lines to `ret`. A part of a line at the end is taken off when the next one is
 * written.
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int transcript_read(struct transcript *transcript, struct buf *ret, struct toolrack_error *err);

void transcript_close(struct transcript *transcript);

/** The path; NULL: nothing is kept. Borrowed. */
const char *transcript_path(const struct transcript *transcript);

/** Write a line: kind and time, and a value under the name of its kind.
 * @param value  JSON text
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
int transcript_write(struct transcript *transcript, const char *kind, const char *value,
                     size_t length, struct toolrack_error *err);
