/* ring.h - a queue of records from many threads to one, without locks and without waiting.
 *
 * A writer reserves room with one compare-and-swap, fills it and commits; if the ring is full,
 * reserving fails instead of waiting. The consumer takes records in the order in which their room
 * was reserved: an uncommitted record delays those after it.
 *
 * Invariants:
 *
 *  (1) Bytes from `tail` to `head` are reserved; positions only grow, and mean the offset `position
 *      % size` in the memory.
 *  (2) Memory that is not reserved is zero: so a record's head is zero until it is committed. The
 *      consumer clears what it releases.
 *  (3) No record crosses the end of the memory: a filler takes the rest, and the record follows it.
 *  (4) An emptied ring starts again at the start of the memory: so it uses only as much memory and
 *      cache as was in it at one time.
 *
 * The memory is mapped, not allocated: a page takes memory from the first record in it on, until
 * ring_give_back(). Of the heap calloc() may clear all of it, and the first call of a host took
 * 6.6 ms for that. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Alignment of records, and size of a record's head. */
#define RING_ALIGN 16u

struct ring {
    char *memory;
    size_t size;
    _Alignas(64) atomic_size_t head;
    _Alignas(64) atomic_size_t tail;
    size_t written; /* so many bytes from the start on may take memory; for the reader alone */
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

/** The next committed record at *at, which is moved behind it; NULL: no record is committed there.
 * Reading begins at ring_start() and ends with ring_release() of all records read. [reader] */
const void *ring_next(struct ring *ring, size_t *at);
void ring_release(struct ring *ring, size_t at);

/** Give the memory of an empty ring back to the system, but for the first `kept` bytes, which are
 * at least an eighth of it. Nothing happens while there are records. No writer finds the ring full
 * for it. [reader] */
void ring_give_back(struct ring *ring, size_t kept);

static inline size_t ring_start(struct ring *ring) {
    return atomic_load_explicit(&ring->tail, memory_order_relaxed);
}
