/* ring.h - records from many threads to one, without a lock and without waiting.
 *
 * Whoever writes reserves room with one atomic exchange, fills it and commits; a full
 * ring says so instead of waiting. The reader takes records in the order in which
 * their room was reserved: one that is not committed yet holds up those behind it.
 *
 * Invariants:
 *
 *  (1) Bytes from `tail` to `head` are reserved; positions only grow, and stand for the
 *      place `position % size` in the memory.
 *  (2) Where nothing is reserved the memory is zero: so a record's head is zero until it
 *      is committed. The reader clears what it releases.
 *  (3) No record goes over the end of the memory: one that would comes behind a filler.
 *  (4) A ring that is emptied begins again at the start of the memory: so it uses no more of
 *      it, and of the caches, than what was put into it at a time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Records begin at multiples of this, and lose that much to their head. */
#define RING_ALIGN 16u

struct ring {
    char *memory;
    size_t size;
    _Alignas(64) atomic_size_t head;
    _Alignas(64) atomic_size_t tail;
};

/** A ring of `size` bytes, a power of two. False: out of memory. */
bool ring_init(struct ring *ring, size_t size);
void ring_finish(struct ring *ring);

/** Room for a record, to be committed soon; NULL: the ring is full. [any-thread] */
void *ring_reserve(struct ring *ring, size_t size);
void ring_commit(void *record, size_t size);

/** Bytes that are reserved and not released. [any-thread] */
static inline size_t ring_used(struct ring *ring) {
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    return atomic_load_explicit(&ring->head, memory_order_seq_cst) - tail;
}

/** The next committed record at *at, which is then behind it; NULL: none is committed there.
 * Reading begins at ring_start() and ends with ring_release(), of all that was read. [reader] */
const void *ring_next(struct ring *ring, size_t *at);
void ring_release(struct ring *ring, size_t at);
static inline size_t ring_start(struct ring *ring) {
    return atomic_load_explicit(&ring->tail, memory_order_relaxed);
}
