/* seen.h - what was seen of an index: its number, its bytes and its key, so that nobody can show an
 * older one, or one of his own.
 *
 * One file for each index, packages/indexes/HASH.json, named by the hash of its location. */
#pragma once

#include "package/index.h"
#include "package/keyring.h"
#include "package/layout.h"

/** What is judged of an index. */
struct seen_index {
    const char *location;
    const struct package_index *index;
    const char *sha256;            /* of its bytes, in hexadecimal digits */
    const struct keyring_key *key; /* which signed it */
};

/** Whether an index may be used: it is not of the future, has not expired, its number is not lower
 * than one that was seen, the same number has the same bytes, and its key is the one of the first
 * time, or follows it.
 * @param ret_new  whether it is another one than was noted
 * @return 0; TOOLRACK_E_REFUSED, TOOLRACK_E_PERMISSION_DENIED: the message says which;
 * TOOLRACK_E_IO when what was seen cannot be read; TOOLRACK_E_NO_MEMORY. [any-thread] */
int seen_judge(const struct layout *layout, const struct seen_index *seen, int64_t now_s,
               bool *ret_new, struct toolrack_error *err);

/** Note it. Holds the lock.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY */
int seen_note(const struct layout *layout, const struct seen_index *seen,
              struct toolrack_error *err);
