#include "base/json-twice.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/sort.h"

/* The values of a parsed text are one array in the order of the text, so a walk over it meets each
 * object, at any depth and without recursion. */

/* Up to so many names are compared each with each; more are sorted, as their number is the
 * caller's choice. */
#define FEW 16u

static inline size_t length_of(yyjson_val *key) {
    return unsafe_yyjson_get_len(key);
}

/* This is a part of each call. Nearly all names differ in length or in the first byte, which is
 * there: a text ends with a zero. */
static inline bool is_same(yyjson_val *a, yyjson_val *b) {
    const char *one = unsafe_yyjson_get_str(a);
    const char *other = unsafe_yyjson_get_str(b);
    return length_of(a) == length_of(b) && *one == *other && memcmp(one, other, length_of(a)) == 0;
}

static inline yyjson_val *next_key(yyjson_val *key) {
    return unsafe_yyjson_get_next(key + 1);
}

/* One bit of 64, by the length and the first byte: names of different bits are not the same. */
static inline uint64_t bit_of(yyjson_val *key) {
    const unsigned first = (unsigned char)*unsafe_yyjson_get_str(key);
    return UINT64_C(1) << ((length_of(key) * 8 + first) % 64);
}

/* The second of two keys, or NULL. Compared are those whose bit another one has. */
static yyjson_val *find_in_few(yyjson_val *object, size_t count) {
    yyjson_val *keys[FEW];
    yyjson_val *key = unsafe_yyjson_get_first(object);
    uint64_t seen = 0;
    for (size_t i = 0; i < count; i++, key = next_key(key)) {
        const uint64_t bit = bit_of(key);
        for (size_t j = 0; (seen & bit) != 0 && j < i; j++) {
            if (is_same(keys[j], key)) {
                return key;
            }
        }
        seen |= bit;
        keys[i] = key;
    }
    return NULL;
}

static int compare(const void *a, const void *b) {
    yyjson_val *one = *(yyjson_val *const *)a;
    yyjson_val *other = *(yyjson_val *const *)b;
    size_t length = length_of(one);
    size_t other_length = length_of(other);
    return length != other_length
                   ? (length > other_length) - (length < other_length)
                   : memcmp(unsafe_yyjson_get_str(one), unsafe_yyjson_get_str(other), length);
}

/* The same, in *ret. False: out of memory. */
static bool find_in_many(yyjson_val *object, size_t count, yyjson_val **ret) {
    *ret = NULL;
    yyjson_val **keys = malloc(count * sizeof(yyjson_val *));
    yyjson_val *key = unsafe_yyjson_get_first(object);
    if (keys == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++, key = next_key(key)) {
        keys[i] = key;
    }
    sort(keys, count, sizeof(yyjson_val *), compare);
    for (size_t i = 1; *ret == NULL && i < count; i++) {
        *ret = is_same(keys[i - 1], keys[i]) ? keys[i] : NULL;
    }
    free((void *)keys);
    return true;
}

/* The second of two keys of an object, or NULL. False: out of memory. */
static inline bool find_in(yyjson_val *object, yyjson_val **ret) {
    size_t count = unsafe_yyjson_get_len(object);
    if (count > FEW) {
        return find_in_many(object, count, ret);
    }
    *ret = NULL;
    if (count == 2 || count == 3) { /* most have so many: in a third of the time */
        yyjson_val *first = unsafe_yyjson_get_first(object);
        yyjson_val *second = next_key(first);
        yyjson_val *third = count == 3 ? next_key(second) : NULL;
        *ret = is_same(first, second)                                               ? second
               : third != NULL && (is_same(first, third) || is_same(second, third)) ? third
                                                                                    : NULL;
    } else if (count > 3) {
        *ret = find_in_few(object, count);
    }
    return true;
}

enum json_twice json_find_twice(yyjson_val *root, char ret_pointer[static JSON_POINTER_MAX]) {
    const yyjson_val *end = unsafe_yyjson_get_next(root);
    const yyjson_val *flat = root + 1;
    yyjson_val *twice = NULL;
    if (unsafe_yyjson_is_obj(root)) { /* most arguments have no object in them */
        flat += 2 * unsafe_yyjson_get_len(root);
        if (!find_in(root, &twice)) {
            return JSON_TWICE_NO_MEMORY;
        }
    }
    if (twice == NULL && end == flat) {
        return JSON_TWICE_NONE;
    }
    for (yyjson_val *at = root + 1; twice == NULL && at < end; at++) {
        while (at < end && !unsafe_yyjson_is_obj(at)) {
            at++;
        }
        if (at < end && !find_in(at, &twice)) {
            return JSON_TWICE_NO_MEMORY;
        }
    }
    if (twice == NULL) {
        return JSON_TWICE_NONE;
    }
    json_point_at(root, twice, ret_pointer);
    return JSON_TWICE_FOUND;
}

enum json_twice json_find_twice_but(yyjson_val *root,
                                    yyjson_val *(*part_of)(void *user, yyjson_val *object),
                                    void *user, char ret_pointer[static JSON_POINTER_MAX]) {
    const yyjson_val *end = unsafe_yyjson_get_next(root);
    for (yyjson_val *at = root; at < end;) {
        yyjson_val *twice = NULL;
        if (unsafe_yyjson_is_obj(at) && !find_in(at, &twice)) {
            return JSON_TWICE_NO_MEMORY;
        }
        yyjson_val *left_out = twice != NULL ? part_of(user, at) : NULL;
        if (twice != NULL && left_out == NULL) {
            json_point_at(root, twice, ret_pointer);
            return JSON_TWICE_FOUND;
        }
        at = left_out != NULL ? unsafe_yyjson_get_next(left_out) : at + 1;
    }
    return JSON_TWICE_NONE;
}
