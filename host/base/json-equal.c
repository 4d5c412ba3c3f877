#include "base/json-equal.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static bool same_string(yyjson_val *a, yyjson_val *b) {
    size_t length = unsafe_yyjson_get_len(a);
    return unsafe_yyjson_get_len(b) == length &&
           memcmp(unsafe_yyjson_get_str(a), unsafe_yyjson_get_str(b), length) == 0;
}

/* The value of `key` in an object, searched from the key at `*at` on, once around: objects made by
 * one program have the same order, and then the first comparison of each search succeeds. */
static yyjson_val *find_from(yyjson_val *object, yyjson_val **at, size_t *index, yyjson_val *key,
                             struct budget *budget) {
    size_t count = unsafe_yyjson_get_len(object);
    for (size_t tried = 0; tried < count; tried++) {
        if (*index == count) {
            *at = unsafe_yyjson_get_first(object);
            *index = 0;
        }
        yyjson_val *candidate = *at;
        *at = unsafe_yyjson_get_next(candidate + 1);
        *index += 1;
        if (!budget_spend(budget, 1)) {
            return NULL;
        }
        if (same_string(candidate, key)) {
            return candidate + 1;
        }
    }
    return NULL;
}

static bool equal(yyjson_val *a, yyjson_val *b, unsigned depth, struct budget *budget) {
    yyjson_type type = unsafe_yyjson_get_type(a);
    if (!budget_spend(budget, 1)) {
        return false;
    }
    if (type == YYJSON_TYPE_RAW || unsafe_yyjson_get_type(b) == YYJSON_TYPE_RAW) {
        return number_is(a) && number_is(b) && number_compare(number_of(a), number_of(b)) == 0;
    }
    if (type != unsafe_yyjson_get_type(b)) {
        return false;
    }
    if (depth == JSON_EQUAL_DEPTH_MAX) {
        budget->too_deep = true;
        return false;
    }
    switch (type) {
    case YYJSON_TYPE_BOOL: return unsafe_yyjson_get_bool(a) == unsafe_yyjson_get_bool(b);
    case YYJSON_TYPE_NUM:
        /* The parser stores equal integers in the same form; only reals can equal a value of
         * another form. */
        return (yyjson_is_real(a) || yyjson_is_real(b) ||
                unsafe_yyjson_get_uint(a) == unsafe_yyjson_get_uint(b)) &&
               number_compare(number_of(a), number_of(b)) == 0;
    case YYJSON_TYPE_STR: return same_string(a, b);
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ: break;
    default: return true; /* null */
    }
    size_t count = unsafe_yyjson_get_len(a);
    if (count != unsafe_yyjson_get_len(b)) {
        return false;
    }
    yyjson_val *at = unsafe_yyjson_get_first(a);
    yyjson_val *other = unsafe_yyjson_get_first(b);
    size_t index = 0;
    for (size_t i = 0; i < count; i++) {
        yyjson_val *match = other;
        if (type == YYJSON_TYPE_OBJ) {
            match = find_from(b, &other, &index, at, budget);
            at++;
        } else {
            other = unsafe_yyjson_get_next(other);
        }
        if (match == NULL || !equal(at, match, depth + 1, budget)) {
            return false;
        }
        at = unsafe_yyjson_get_next(at);
    }
    return true;
}

bool json_equal(yyjson_val *a, yyjson_val *b, struct budget *budget) {
    return equal(a, b, 0, budget);
}

/* ------------------------------------------------------------------------------------ hashing */

/* The finaliser of a 64-bit mixing hash: each bit of the input affects each bit of the output. */
static uint64_t mix(uint64_t h) {
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

static uint64_t hash_string(yyjson_val *string) {
    const char *bytes = unsafe_yyjson_get_str(string);
    size_t length = unsafe_yyjson_get_len(string);
    uint64_t hash = mix(length);
    uint64_t word = 0;
    while (length >= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = mix(hash ^ word);
        bytes += sizeof word;
        length -= sizeof word;
    }
    word = 0;
    memcpy(&word, bytes, length);
    return mix(hash ^ word);
}

static uint64_t hash_number(yyjson_val *value) {
    struct number number = number_of(value);
    if (number.is_integer) {
        return mix((uint64_t)number.integer) ^ mix((uint64_t)((uint128)number.integer >> 64) + 1);
    }
    uint64_t bits = 0;
    memcpy(&bits, &number.real, sizeof bits);
    return mix(bits + 2);
}

static uint64_t hash(yyjson_val *value, unsigned depth, struct budget *budget) {
    if (!budget_spend(budget, 1)) {
        return 0;
    }
    if (depth == JSON_EQUAL_DEPTH_MAX) {
        budget->too_deep = true;
        return 0;
    }
    switch (unsafe_yyjson_get_type(value)) {
    case YYJSON_TYPE_BOOL: return mix(unsafe_yyjson_get_bool(value) ? 3 : 4);
    case YYJSON_TYPE_RAW:
    case YYJSON_TYPE_NUM: return hash_number(value);
    case YYJSON_TYPE_STR: return hash_string(value);
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ: break;
    default: return mix(7);
    }
    bool is_object = unsafe_yyjson_is_obj(value);
    size_t count = unsafe_yyjson_get_len(value);
    uint64_t sum = mix(count + (is_object ? 5 : 6));
    yyjson_val *at = unsafe_yyjson_get_first(value);
    for (size_t i = 0; i < count && budget->steps >= 0; i++) {
        if (is_object) { /* a sum, since the order does not matter */
            uint64_t key = hash_string(at);
            at++;
            sum += mix(key ^ (hash(at, depth + 1, budget) * 31));
        } else {
            sum = mix(sum ^ hash(at, depth + 1, budget));
        }
        at = unsafe_yyjson_get_next(at);
    }
    return sum;
}

uint64_t json_hash(yyjson_val *value, struct budget *budget) {
    return hash(value, 0, budget);
}

/* --------------------------------------------------------------------------------- uniqueness */

/* Short arrays by pairs, longer ones by a hash table of hashes. The table is on the stack up to
 * UNIQUE_STACK_ITEMS items, from malloc above. Items are compared only if their full hashes are
 * equal, and each comparison takes steps, so crafted items exhaust the budget and cause no long
 * delay. */
#define UNIQUE_PAIR_ITEMS  8u
#define UNIQUE_STACK_ITEMS 128u

struct slot {
    uint64_t hash;
    yyjson_val *item; /* NULL: free */
    size_t index;
};

static enum json_unique check_by_table(yyjson_val *array, struct slot *table, size_t mask,
                                       struct budget *budget, size_t *ret_first,
                                       size_t *ret_second) {
    size_t count = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = json_hash(item, budget);
        size_t at = (size_t)hash & mask;
        for (; table[at].item != NULL; at = (at + 1) & mask) {
            if (!budget_spend(budget, 1) || budget->too_deep) {
                return JSON_UNIQUE_ENDED;
            }
            if (table[at].hash == hash && json_equal(table[at].item, item, budget)) {
                *ret_first = table[at].index;
                *ret_second = i;
                return JSON_REPEATED;
            }
        }
        table[at] = (struct slot){hash, item, i};
        item = unsafe_yyjson_get_next(item);
    }
    return budget_ended(budget) ? JSON_UNIQUE_ENDED : JSON_UNIQUE;
}

static enum json_unique check_on_stack(yyjson_val *array, struct budget *budget, size_t *ret_first,
                                       size_t *ret_second) {
    struct slot table[UNIQUE_STACK_ITEMS * 2] = {0};
    return check_by_table(array, table, UNIQUE_STACK_ITEMS * 2 - 1, budget, ret_first, ret_second);
}

enum json_unique json_check_unique(yyjson_val *array, struct budget *budget, size_t *ret_first,
                                   size_t *ret_second) {
    size_t count = unsafe_yyjson_get_len(array);
    if (!budget_spend(budget, count)) {
        return JSON_UNIQUE_ENDED;
    }
    if (count > UNIQUE_STACK_ITEMS) {
        size_t room = UNIQUE_STACK_ITEMS * 4;
        while (room / 2 < count) {
            room *= 2;
        }
        struct slot *table = calloc(room, sizeof *table);
        if (table == NULL) {
            return JSON_UNIQUE_NO_MEMORY;
        }
        enum json_unique unique =
                check_by_table(array, table, room - 1, budget, ret_first, ret_second);
        free(table);
        return unique;
    }
    if (count > UNIQUE_PAIR_ITEMS) {
        return check_on_stack(array, budget, ret_first, ret_second);
    }
    yyjson_val *items[UNIQUE_PAIR_ITEMS];
    yyjson_val *item = unsafe_yyjson_get_first(array);
    for (size_t i = 0; i < count; i++) {
        items[i] = item;
        for (size_t j = 0; j < i; j++) {
            if (json_equal(items[j], item, budget)) {
                *ret_first = j;
                *ret_second = i;
                return JSON_REPEATED;
            }
        }
        item = unsafe_yyjson_get_next(item);
    }
    return budget_ended(budget) ? JSON_UNIQUE_ENDED : JSON_UNIQUE;
}
