/* name.h - names of tools: their rule, their hash, and what was probably meant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Longest tool name, without its final zero. */
#define NAME_LENGTH_MAX 64

/** Whether `name` matches ^[A-Za-z_][A-Za-z0-9_-]{0,63}$, which every provider accepts. */
bool name_valid(const char *name);

/** FNV-1a of `length` bytes. */
static inline uint32_t name_hash(const char *name, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    }
    return hash;
}

/** How many single-character edits (insert, delete, replace, swap of neighbours) lead from `a` to
 * `b`, case aside; `max` + 1 when more than `max`. Only the first NAME_LENGTH_MAX bytes count. */
unsigned name_distance(const char *a, const char *b, unsigned max);
