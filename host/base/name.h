/* name.h - names of tools: their rule, their hash, and what was probably meant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Longest tool name, without its final zero. */
#define NAME_LENGTH_MAX 64

/** Whether `name` matches ^[A-Za-z_][A-Za-z0-9_-]{0,63}$, which every provider accepts. */
bool name_valid(const char *name);

__extension__ typedef unsigned __int128 name_product;

static inline uint64_t name_mix(uint64_t hash, uint64_t word) {
    name_product product = (name_product)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/** A hash of `length` bytes, for tables in memory. Eight at a time: one by one they took longer
 * than all else in a lookup. */
static inline uint32_t name_hash(const char *name, size_t length) {
    uint64_t hash = length;
    size_t at = 0;
    for (; length - at >= sizeof hash; at += sizeof hash) {
        uint64_t word;
        memcpy(&word, name + at, sizeof word);
        hash = name_mix(hash, word);
    }
    uint64_t rest = 0;
    for (; at < length; at++) {
        rest = rest << 8 | (unsigned char)name[at];
    }
    return (uint32_t)name_mix(hash, rest);
}

/** How many single-character edits (insert, delete, replace, swap of neighbours) lead from `a` to
 * `b`, case aside; `max` + 1 when more than `max`. Only the first NAME_LENGTH_MAX bytes count. */
unsigned name_distance(const char *a, const char *b, unsigned max);
