/* note.h - what calls use, noted instead of counted.
 *
 * To count the calls of a tool writes, twice a call, a line of the cache that all other calls of it
 * read. So a call notes the tool in a place of its CPU (base/shard.h), while it is a reader of the
 * snapshot in which it has found it (rcu.h). The last reference is given up after all snapshots
 * with the tool are gone and their readers have ended: so whoever gives it up sees each note, and
 * turns it into a reference, which the call releases at its end. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct note {
    _Atomic(uintptr_t) object;
};

/** Note the use of an object, inside an RCU reader of a snapshot that has it.
 * @param here  as of shard_here()
 * @return NULL: there is no free note; take a reference instead. [any-thread] */
struct note *note_begin(const void *object, unsigned here);
/** End the use. False: the note was turned into a reference, which is to be released. [any-thread]
 */
bool note_end(struct note *note, const void *object);
/** Turn all notes of an object into references. The caller has one, and no snapshot has the object
 * any more. */
void note_refer(const void *object, atomic_uint *refs);
