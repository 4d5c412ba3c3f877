/* arena.h - memory of one owner, released all at once.
 *
 * Memory is handed out in order and never released one by one. The first block may be the caller's
 * own (a stack array), so that a small call needs no malloc(). */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/error.h"

struct arena_block;

struct arena {
    char *at;                   /**< next free byte of the current block */
    char *end;                  /**< its end */
    struct arena_block *blocks; /**< blocks from malloc, newest first */
    size_t size;                /**< bytes in those blocks, headers included */
    size_t size_max;            /**< most bytes from malloc; 0: no limit */
    bool limited;               /**< an allocation failed because of size_max */
};

/** An arena with no memory yet, or with `first` (borrowed, must outlive it). */
void arena_init(struct arena *arena, void *first, size_t first_size);

/** Release all memory. The arena may be used again, without the first block. */
void arena_finish(struct arena *arena);

/** `size` bytes aligned for any type, not cleared; NULL when out of memory or over size_max. */
void *arena_alloc(struct arena *arena, size_t size);

/** Like arena_alloc(), but cleared. */
void *arena_zalloc(struct arena *arena, size_t size);

/** The `size` of an arena that another thread may be using. [any-thread] */
size_t arena_size(const struct arena *arena);

/** A zero-terminated copy; NULL as for arena_alloc(). */
char *arena_copy(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) TOOLRACK_PRINTF(2, 3);

/** The arena as an allocator for yyjson; documents made with it need no free. */
yyjson_alc arena_alc(struct arena *arena);
