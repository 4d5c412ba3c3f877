#include "base/shard.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes of all of them. */
static atomic_uint_fast32_t in_use;

static size_t whole_size(size_t size) {
    return (size + SHARD_ALIGN - 1) / SHARD_ALIGN * SHARD_ALIGN;
}

/* Zeroed memory; NULL: there is none, or too much is in use. */
static void *take(size_t size) {
    if (atomic_fetch_add_explicit(&in_use, size, memory_order_relaxed) + size <= SHARDS_BYTES_MAX) {
        void *memory = aligned_alloc(SHARD_ALIGN, size);
        if (memory != NULL) {
            return memset(memory, 0, size);
        }
    }
    (void)atomic_fetch_sub_explicit(&in_use, size, memory_order_relaxed);
    return NULL;
}

static void give(void *memory, size_t size) {
    if (memory != NULL) {
        (void)atomic_fetch_sub_explicit(&in_use, size, memory_order_relaxed);
        free(memory);
    }
}

void shards_finish(struct shards *shards) {
    struct shard_table *table = atomic_load(&shards->others);
    for (size_t i = 0; table != NULL && i < SHARD_COUNT; i++) {
        give(atomic_load(&table->shards[i]), table->size);
    }
    give(table, whole_size(sizeof *table));
    atomic_store(&shards->others, NULL);
}

static struct shard_table *table_of(struct shards *shards, size_t size) {
    struct shard_table *table = atomic_load_explicit(&shards->others, memory_order_acquire);
    if (table != NULL) {
        return table;
    }
    struct shard_table *made = take(whole_size(sizeof *made));
    if (made != NULL) {
        made->size = whole_size(size);
        if (atomic_compare_exchange_strong(&shards->others, &table, made)) {
            return made;
        }
        give(made, whole_size(sizeof *made));
    }
    return table;
}

void *shards_first_use(struct shards *shards, unsigned here, void *first, size_t size) {
    unsigned home = 0;
    if (atomic_load_explicit(&shards->home, memory_order_relaxed) == 0 &&
        atomic_compare_exchange_strong(&shards->home, &home, here + 1)) {
        return first;
    }
    struct shard_table *table = table_of(shards, size);
    if (table == NULL) {
        return first;
    }
    void *shard = atomic_load_explicit(&table->shards[here], memory_order_acquire);
    if (shard == NULL) {
        void *made = take(table->size);
        if (made != NULL && atomic_compare_exchange_strong(&table->shards[here], &shard, made)) {
            return made;
        }
        give(made, table->size);
    }
    return shard != NULL ? shard : first;
}

void *shards_next(const struct shards *shards, void *first, unsigned *at) {
    struct shard_table *table = atomic_load_explicit(&shards->others, memory_order_acquire);
    if (*at == 0) {
        *at = 1;
        return first;
    }
    while (table != NULL && *at <= SHARD_COUNT) {
        void *shard = atomic_load_explicit(&table->shards[(*at)++ - 1], memory_order_acquire);
        if (shard != NULL) {
            return shard;
        }
    }
    return NULL;
}

/* Let who holds a shard go on, also where this thread has the higher priority. */
static void wait_a_moment(void) {
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
}

void shard_wait_hold(struct shard_hold *hold) {
    while (!shard_try_hold(hold)) {
        wait_a_moment();
    }
}

void *shards_hold_any(struct shards *shards, unsigned here, void *first, size_t size) {
    for (unsigned tried = 1;; tried++) {
        void *shard = shards_own(shards, (here + tried) % SHARD_COUNT, first, size);
        if (shard_try_hold(shard)) {
            return shard;
        }
        if (tried > SHARD_COUNT) {
            wait_a_moment();
        }
    }
}
