#include "base/ring.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* Stands before each record. */
struct ring_head {
    _Alignas(RING_ALIGN) atomic_uint size; /* including the head; 0: not committed */
    bool filler;
};

bool ring_init(struct ring *ring, size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ring->memory = memory != MAP_FAILED ? memory : NULL;
    ring->size = size;
    ring->written = 0;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    return ring->memory != NULL;
}

void ring_finish(struct ring *ring) {
    if (ring->memory != NULL) {
        (void)munmap(ring->memory, ring->size);
    }
    ring->memory = NULL;
}

static struct ring_head *head_at(const struct ring *ring, size_t position) {
    return (struct ring_head *)(void *)(ring->memory + (position & (ring->size - 1)));
}

static size_t whole_size(size_t size) {
    return (sizeof(struct ring_head) + size + RING_ALIGN - 1) & ~(size_t)(RING_ALIGN - 1);
}

static void commit(struct ring_head *head, size_t size) {
    atomic_store_explicit(&head->size, (unsigned)size, memory_order_release);
}

void *ring_reserve(struct ring *ring, size_t size) {
    size_t whole = whole_size(size);
    size_t before = atomic_load_explicit(&ring->head, memory_order_relaxed);
    size_t left;
    size_t fill;
    do {
        left = ring->size - (before & (ring->size - 1));
        fill = left < whole ? left : 0;
        if (before + fill + whole - atomic_load_explicit(&ring->tail, memory_order_acquire) >
            ring->size) {
            return NULL;
        }
        /* Sequentially consistent, as a consumer reads it before it sleeps. */
    } while (!atomic_compare_exchange_weak_explicit(&ring->head, &before, before + fill + whole,
                                                    memory_order_seq_cst, memory_order_relaxed));
    if (fill > 0) {
        head_at(ring, before)->filler = true;
        commit(head_at(ring, before), fill);
    }
    return head_at(ring, before + fill) + 1;
}

/* How far ahead of writers memory is prefetched into their cache: their stores would wait for it,
 * and with them the thread's next atomic operation. */
#define AHEAD      256u
#define CACHE_LINE 64u

void ring_commit(void *record, size_t size) {
    const char *next = (const char *)record + size;
    commit((struct ring_head *)record - 1, whole_size(size));
    for (size_t i = 0; i < AHEAD; i += CACHE_LINE) {
        __builtin_prefetch((const void *)((uintptr_t)next + i), 1); /* may be past the end */
    }
}

const void *ring_next(struct ring *ring, size_t *at) {
    for (;;) {
        struct ring_head *head = head_at(ring, *at);
        if (*at - atomic_load_explicit(&ring->tail, memory_order_relaxed) == ring->size) {
            return NULL; /* wrapped around */
        }
        size_t size = atomic_load_explicit(&head->size, memory_order_acquire);
        if (size == 0) {
            return NULL;
        }
        *at += size;
        if (!head->filler) {
            return head + 1;
        }
    }
}

/* Less than this is not worth a restart. Also, a writer that reserves between the restart's two
 * steps sees the rest of the memory as used, and this much as free. */
#define RESTART_AFTER(size) ((size) / 8)

/* Skip the rest of the memory, unless a writer has reserved a part of it. */
static void restart(struct ring *ring, size_t at) {
    size_t place = at & (ring->size - 1);
    size_t next = at - place + ring->size;
    if (place > RESTART_AFTER(ring->size) &&
        atomic_compare_exchange_strong_explicit(&ring->head, &at, next, memory_order_seq_cst,
                                                memory_order_relaxed)) {
        atomic_store_explicit(&ring->tail, next, memory_order_release);
    }
}

void ring_release(struct ring *ring, size_t at) {
    size_t from = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    size_t start = from & (ring->size - 1);
    size_t length = at - from;
    size_t first = length < ring->size - start ? length : ring->size - start;
    ring->written = first < length                  ? ring->size
                    : start + first > ring->written ? start + first
                                                    : ring->written;
    memset(ring->memory + start, 0, first);
    memset(ring->memory, 0, length - first);
    atomic_store_explicit(&ring->tail, at, memory_order_release);
    restart(ring, at);
}

/* So much is taken from the writers at a time, which is a multiple of any page. */
#define GIVEN_AT_ONCE (64u * 1024)

/* The rest of the memory is reserved in pieces, as a writer would do, and released without its
 * pages; the last piece ends where the memory does, and the ring starts again. Memory that is not
 * reserved is zero, and so is a page that was given back. */
void ring_give_back(struct ring *ring, size_t kept) {
    size_t at = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    size_t left = ring->size - (at & (ring->size - 1));
    if (ring->written <= kept) {
        return;
    }
    while (left > 0) {
        size_t piece = left % GIVEN_AT_ONCE != 0 ? left % GIVEN_AT_ONCE : GIVEN_AT_ONCE;
        size_t reserved = at;
        if (!atomic_compare_exchange_strong_explicit(&ring->head, &reserved, at + piece,
                                                     memory_order_seq_cst, memory_order_relaxed)) {
            return; /* there are records */
        }
        if (ring->size - left >= kept) {
            (void)madvise(ring->memory + (ring->size - left), piece, MADV_DONTNEED);
        }
        at += piece;
        left -= piece;
        atomic_store_explicit(&ring->tail, at, memory_order_release);
    }
    ring->written = kept;
}
