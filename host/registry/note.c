#include "registry/note.h"

#include "base/shard.h"

/* Invariants:
 *
 *  (1) A note is 0, or an object, or an object with IS_REFERENCE: then who began it has a
 *      reference.
 *  (2) Only note_begin() changes a note that is 0, and only the note_end() for it makes it 0.
 *  (3) None begins for an object that is in no snapshot any more. */
#define IS_REFERENCE ((uintptr_t)1)

/* As many as fit into a line. Further calls at once on a CPU are counted, such as those that wait
 * for a worker. */
#define NOTES 8u

struct notes {
    _Alignas(SHARD_ALIGN) struct note notes[NOTES];
};

static struct notes all[SHARD_COUNT];

/* The shards that have been used at any time, a bit each: only these are looked through. */
static atomic_uint_fast64_t used;
_Static_assert(SHARD_COUNT <= 64, "a bit each");

struct note *note_begin(const void *object, unsigned here) {
    uint_fast64_t bit = UINT64_C(1) << here;
    if ((atomic_load_explicit(&used, memory_order_relaxed) & bit) == 0) {
        (void)atomic_fetch_or(&used, bit);
    }
    for (unsigned i = 0; i < NOTES; i++) {
        struct note *at = &all[here].notes[i];
        uintptr_t expected = 0;
        if (atomic_load_explicit(&at->object, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&at->object, &expected, (uintptr_t)object,
                                                    memory_order_acq_rel, memory_order_relaxed)) {
            return at;
        }
    }
    return NULL;
}

bool note_end(struct note *note, const void *object) {
    uintptr_t expected = (uintptr_t)object;
    if (atomic_compare_exchange_strong_explicit(&note->object, &expected, 0, memory_order_acq_rel,
                                                memory_order_acquire)) {
        return true;
    }
    atomic_store_explicit(&note->object, 0, memory_order_release);
    return false;
}

static void refer(struct note *note, uintptr_t object, atomic_uint *refs) {
    if (atomic_load_explicit(&note->object, memory_order_acquire) != object) {
        return;
    }
    (void)atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&note->object, &object, object | IS_REFERENCE,
                                                 memory_order_acq_rel, memory_order_acquire)) {
        (void)atomic_fetch_sub_explicit(refs, 1, memory_order_relaxed); /* it has ended meanwhile */
    }
}

void note_refer(const void *object, atomic_uint *refs) {
    for (uint_fast64_t left = atomic_load(&used); left != 0; left &= left - 1) {
        struct notes *at = &all[__builtin_ctzll(left)];
        for (unsigned i = 0; i < NOTES; i++) {
            refer(&at->notes[i], (uintptr_t)object, refs);
        }
    }
}
