#include "base/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    alignas(max_align_t) char bytes[];
};

/* Each block is as large as all blocks before it together: small arenas waste little, growing ones
 * allocate rarely. With a first block of 4 KiB, a thousand descriptors of 2 KiB would cause half
 * the page faults of a cold scan. */
#define ARENA_BLOCK_SIZE_MIN 1024u
#define ARENA_BLOCK_SIZE_MAX 65536u
#define ARENA_ALIGN          alignof(max_align_t)

static size_t round_up(size_t size) {
    return (size + ARENA_ALIGN - 1) & ~(ARENA_ALIGN - 1);
}

void arena_init(struct arena *arena, void *first, size_t first_size) {
    *arena = (struct arena){0};
    uintptr_t start = (uintptr_t)first;
    size_t skip = round_up(start) - start;
    if (first != NULL && first_size > skip) {
        arena->at = (char *)first + skip;
        arena->end = (char *)first + first_size;
    }
}

void arena_finish(struct arena *arena) {
    while (arena->blocks != NULL) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->at = NULL;
    arena->end = NULL;
    arena->size = 0;
    arena->limited = false;
}

static void *alloc_from_new_block(struct arena *arena, size_t size) {
    size_t block_size = arena->size < ARENA_BLOCK_SIZE_MIN   ? ARENA_BLOCK_SIZE_MIN
                        : arena->size > ARENA_BLOCK_SIZE_MAX ? ARENA_BLOCK_SIZE_MAX
                                                             : arena->size;
    bool shared = size <= block_size / 4; /* later allocations use the rest of the block */
    size_t room = shared ? block_size : size;
    size_t total = sizeof(struct arena_block) + room;
    if (total < room) {
        return NULL;
    }
    if (arena->size_max != 0 &&
        (total > arena->size_max || arena->size > arena->size_max - total)) {
        arena->limited = true;
        return NULL;
    }
    struct arena_block *block = malloc(total);
    if (block == NULL) {
        return NULL;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    __atomic_store_n(&arena->size, arena->size + total, __ATOMIC_RELAXED);
    /* A large allocation gets its own block; the current block, which may have room, stays
     * current. */
    if (shared) {
        arena->at = block->bytes + size;
        arena->end = block->bytes + room;
    }
    return block->bytes;
}

void *arena_alloc(struct arena *arena, size_t size) {
    if (size > SIZE_MAX - ARENA_ALIGN) {
        return NULL;
    }
    size = round_up(size == 0 ? 1 : size);
    if ((size_t)(arena->end - arena->at) >= size) {
        void *memory = arena->at;
        arena->at += size;
        return memory;
    }
    return alloc_from_new_block(arena, size);
}

void *arena_zalloc(struct arena *arena, size_t size) {
    void *memory = arena_alloc(arena, size);
    return memory == NULL ? NULL : memset(memory, 0, size);
}

size_t arena_size(const struct arena *arena) {
    return __atomic_load_n(&arena->size, __ATOMIC_RELAXED);
}

char *arena_copy(struct arena *arena, const char *text, size_t length) {
    char *copy = length == SIZE_MAX ? NULL : arena_alloc(arena, length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)length + 1, format, args);
    }
    va_end(args);
    return text;
}

static void *alc_malloc(void *ctx, size_t size) {
    return arena_alloc(ctx, size);
}

static void *alc_realloc(void *ctx, void *old, size_t old_size, size_t size) {
    struct arena *arena = ctx;
    /* The newest allocation of the current block grows or shrinks in place. */
    size_t old_rounded = round_up(old_size == 0 ? 1 : old_size);
    if ((char *)old + old_rounded == arena->at && size <= SIZE_MAX - ARENA_ALIGN) {
        size_t rounded = round_up(size == 0 ? 1 : size);
        if (rounded <= (size_t)(arena->end - (char *)old)) {
            arena->at = (char *)old + rounded;
            return old;
        }
    }
    if (size <= old_size) {
        return old;
    }
    void *moved = arena_alloc(arena, size);
    return moved == NULL ? NULL : memcpy(moved, old, old_size);
}

static void alc_free(void *ctx, void *memory) {
    (void)ctx;
    (void)memory;
}

yyjson_alc arena_alc(struct arena *arena) {
    return (yyjson_alc){
            .malloc = alc_malloc, .realloc = alc_realloc, .free = alc_free, .ctx = arena};
}
