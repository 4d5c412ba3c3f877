/* name.h - names of tools: their rule, their hash, and suggestions for mistyped names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Longest tool name, without its final zero. */
#define NAME_LENGTH_MAX 64

/** Whether `name` matches ^[A-Za-z_][A-Za-z0-9_-]{0,63}$, which every provider accepts. */
bool name_valid(const char *name);

/** Whether `id` matches ^[A-Za-z_][A-Za-z0-9_.-]{0,63}$, the rule of plugin ids: a tool's name,
 * with dots. */
bool name_valid_id(const char *id);

__extension__ typedef unsigned __int128 name_product;

static inline uint64_t name_mix(uint64_t hash, uint64_t word) {
    name_product product = (name_product)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/** A hash of `length` bytes, for tables in memory. Eight bytes at a time: byte by byte took longer
 * than the rest of a lookup. */
static inline uint32_t name_hash(const char *name, size_t length) {
    uint64_t hash = length;
    size_t at = 0;
    for (; length - at >= sizeof hash; at += sizeof hash) {
        uint64_t word;
        memcpy(&word, name + at, sizeof word);
        hash = name_mix(hash, word);
    }
    uint64_t rest = 0;
    if (length >= sizeof hash && at < length) { /* a load that overlaps the one before it */
        memcpy(&rest, name + length - sizeof rest, sizeof rest);
        rest = __builtin_bswap64(rest) & ((UINT64_C(1) << 8 * (length - at)) - 1);
        at = length;
    }
    for (; at < length; at++) {
        rest = rest << 8 | (unsigned char)name[at];
    }
    return (uint32_t)name_mix(hash, rest);
}

/** memcmp() without its call, for names of the same length: two possibly overlapping loads instead
 * of a loop. */
static inline bool name_equals(const char *a, const char *b, size_t length) {
    if (length >= 8) {
        if (length > 16) {
            return memcmp(a, b, length) == 0;
        }
        uint64_t a8, b8, a8_end, b8_end;
        memcpy(&a8, a, 8);
        memcpy(&b8, b, 8);
        memcpy(&a8_end, a + length - 8, 8);
        memcpy(&b8_end, b + length - 8, 8);
        return ((a8 ^ b8) | (a8_end ^ b8_end)) == 0;
    }
    if (length >= 4) {
        uint32_t a4, b4, a4_end, b4_end;
        memcpy(&a4, a, 4);
        memcpy(&b4, b, 4);
        memcpy(&a4_end, a + length - 4, 4);
        memcpy(&b4_end, b + length - 4, 4);
        return ((a4 ^ b4) | (a4_end ^ b4_end)) == 0;
    }
    for (size_t i = 0; i < length; i++) {
        if (a[i] != b[i]) {
            return false;
        }
    }
    return true;
}

/** The search for the name that a mistyped one was probably meant to be:
 *
 *     struct nearest nearest = nearest_to(typed);
 *     nearest_try(&nearest, candidate);               of each candidate
 *     if (nearest.name != NULL) ...                   "did you mean"
 *
 * A candidate is near if at most about one character in three is wrong (inserted, deleted, replaced
 * or swapped with its neighbour; case does not count), or if the typed name is its first word
 * ("memory" of "memory_mb"), which counts as one edit. Of equally near candidates the first wins.
 * Only the first NAME_LENGTH_MAX bytes count. */
struct nearest {
    const char *typed;  /**< borrowed */
    const char *name;   /**< the nearest candidate so far, borrowed; NULL: none is near */
    unsigned edits_end; /**< a better candidate has fewer edits than this */
    size_t within;      /**< length of the candidate that stands within the typed name; 0: none */
};

struct nearest nearest_to(const char *typed);

/** The letters of a name: of each of 16 classes as many of four bits as the name has letters of it.
 * An edit adds at most one of them and removes at most one, and case does not count: so most names
 * are known not to be near without a look at them. */
uint64_t name_letters(const char *name);

/** Whether more than so many bits are set. */
static inline bool name_has_more_letters(uint64_t letters, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        letters &= letters - 1; /* without the lowest one */
    }
    return letters != 0;
}

/** Whether a candidate with these letters can be near what was typed, within `edits` edits, or have
 * that as its first word. */
static inline bool nearest_may_be(uint64_t typed, uint64_t candidate, unsigned edits) {
    uint64_t removed = typed & ~candidate;
    return removed == 0 || (!name_has_more_letters(removed, edits) &&
                            !name_has_more_letters(candidate & ~typed, edits));
}

/** The next part of what was written that may be a name of a tool, as nearest_try_tool() takes
 * them, from *at of *length on, which are zero at first. False: there are no more. */
bool nearest_part(const char *written, size_t *at, size_t *length);

/** Returns whether the candidate is the nearest so far. */
bool nearest_try(struct nearest *nearest, const char *candidate);

/** The same for a tool: one is nearest whose name stands within what a model wrote around it, and
 * of these the longest. Before it may be others' prefixes ("server__add", "functions.add",
 * "mcp_x_add"), behind it "_tool", or what is no part of a name ("add:0", "add<|channel|>x"). */
bool nearest_try_tool(struct nearest *nearest, const char *candidate);
