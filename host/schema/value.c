#include "schema/value.h"

#include <string.h>

#include "schema/number.h"
#include "schema/schema.h"

static bool equal(yyjson_val *a, yyjson_val *b, unsigned depth, struct budget *budget);

static bool same_text(yyjson_val *a, yyjson_val *b) {
    size_t length = unsafe_yyjson_get_len(a);
    return unsafe_yyjson_get_len(b) == length &&
           memcmp(unsafe_yyjson_get_str(a), unsafe_yyjson_get_str(b), length) == 0;
}

static bool same_number(yyjson_val *a, yyjson_val *b) {
    /* The parser gives one form to one integer; only reals can be equal in another form. */
    if (!yyjson_is_real(a) && !yyjson_is_real(b)) {
        return unsafe_yyjson_get_uint(a) == unsafe_yyjson_get_uint(b) &&
               number_compare(number_of(a), number_of(b)) == 0;
    }
    return number_compare(number_of(a), number_of(b)) == 0;
}

static bool equal_arrays(yyjson_val *a, yyjson_val *b, unsigned depth, struct budget *budget) {
    size_t count = unsafe_yyjson_get_len(a);
    if (count != unsafe_yyjson_get_len(b)) {
        return false;
    }
    a = unsafe_yyjson_get_first(a);
    b = unsafe_yyjson_get_first(b);
    for (size_t i = 0; i < count; i++) {
        if (!equal(a, b, depth, budget)) {
            return false;
        }
        a = unsafe_yyjson_get_next(a);
        b = unsafe_yyjson_get_next(b);
    }
    return true;
}

/* The value of `key` in an object, searched from the key at `*at` on and around once: objects made
 * by one program have one order, and then each search ends at its first try. */
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
        if (same_text(candidate, key)) {
            return candidate + 1;
        }
    }
    return NULL;
}

static bool equal_objects(yyjson_val *a, yyjson_val *b, unsigned depth, struct budget *budget) {
    size_t count = unsafe_yyjson_get_len(a);
    if (count != unsafe_yyjson_get_len(b)) {
        return false;
    }
    yyjson_val *key = unsafe_yyjson_get_first(a);
    yyjson_val *at = unsafe_yyjson_get_first(b);
    size_t index = 0;
    for (size_t i = 0; i < count; i++) {
        yyjson_val *other = find_from(b, &at, &index, key, budget);
        if (other == NULL || !equal(key + 1, other, depth, budget)) {
            return false;
        }
        key = unsafe_yyjson_get_next(key + 1);
    }
    return true;
}

static bool equal(yyjson_val *a, yyjson_val *b, unsigned depth, struct budget *budget) {
    yyjson_type type = unsafe_yyjson_get_type(a);
    if (!budget_spend(budget, 1) || type != unsafe_yyjson_get_type(b)) {
        return false;
    }
    if (depth == SCHEMA_DEPTH_MAX) {
        budget->too_deep = true;
        return false;
    }
    switch (type) {
    case YYJSON_TYPE_BOOL: return unsafe_yyjson_get_bool(a) == unsafe_yyjson_get_bool(b);
    case YYJSON_TYPE_NUM: return same_number(a, b);
    case YYJSON_TYPE_STR: return same_text(a, b);
    case YYJSON_TYPE_ARR: return equal_arrays(a, b, depth + 1, budget);
    case YYJSON_TYPE_OBJ: return equal_objects(a, b, depth + 1, budget);
    default: return true; /* null */
    }
}

bool value_equal(yyjson_val *a, yyjson_val *b, struct budget *budget) {
    return equal(a, b, 0, budget);
}

/* The finaliser of a 64-bit mixing hash: each bit of the input reaches each bit of the output. */
static uint64_t mix(uint64_t h) {
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
    return h ^ (h >> 33);
}

static uint64_t hash_bytes(const char *bytes, size_t length) {
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

static uint64_t hash(yyjson_val *value, unsigned depth, struct budget *budget);

static uint64_t hash_container(yyjson_val *value, unsigned depth, struct budget *budget) {
    bool is_object = unsafe_yyjson_is_obj(value);
    size_t count = unsafe_yyjson_get_len(value);
    uint64_t sum = mix(count + (is_object ? 5 : 6));
    yyjson_val *at = unsafe_yyjson_get_first(value);
    for (size_t i = 0; i < count && budget->steps >= 0; i++) {
        if (is_object) { /* a sum, since the order does not matter */
            uint64_t key = hash_bytes(unsafe_yyjson_get_str(at), unsafe_yyjson_get_len(at));
            at++;
            sum += mix(key ^ (hash(at, depth, budget) * 31));
        } else {
            sum = mix(sum ^ hash(at, depth, budget));
        }
        at = unsafe_yyjson_get_next(at);
    }
    return sum;
}

static uint64_t hash(yyjson_val *value, unsigned depth, struct budget *budget) {
    if (!budget_spend(budget, 1)) {
        return 0;
    }
    if (depth == SCHEMA_DEPTH_MAX) {
        budget->too_deep = true;
        return 0;
    }
    switch (unsafe_yyjson_get_type(value)) {
    case YYJSON_TYPE_BOOL: return mix(unsafe_yyjson_get_bool(value) ? 3 : 4);
    case YYJSON_TYPE_NUM: return hash_number(value);
    case YYJSON_TYPE_STR:
        return hash_bytes(unsafe_yyjson_get_str(value), unsafe_yyjson_get_len(value));
    case YYJSON_TYPE_ARR:
    case YYJSON_TYPE_OBJ: return hash_container(value, depth + 1, budget);
    default: return mix(7);
    }
}

uint64_t value_hash(yyjson_val *value, struct budget *budget) {
    return hash(value, 0, budget);
}

static bool has_text(yyjson_val *value) {
    return unsafe_yyjson_is_str(value) || unsafe_yyjson_is_raw(value);
}

/* Containers hold the distance to their next neighbour, not addresses, so the cells can be copied
 * as they are; only texts have to move. */
yyjson_val *value_copy(struct arena *arena, yyjson_val *value) {
    size_t count = value_cells(value);
    yyjson_val *copy = arena_alloc(arena, count * sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    memcpy(copy, value, count * sizeof *copy);
    for (size_t i = 0; i < count; i++) {
        if (has_text(&copy[i])) {
            size_t length = unsafe_yyjson_get_len(&copy[i]);
            copy[i].uni.str = arena_copy(arena, copy[i].uni.str, length);
            if (copy[i].uni.str == NULL) {
                return NULL;
            }
        }
    }
    return copy;
}

bool value_contains(yyjson_val *root, yyjson_val *value) {
    return value >= root && value < unsafe_yyjson_get_next(root);
}

void value_locate(yyjson_val *root, yyjson_val *value, struct text *text) {
    while (root != value) {
        bool is_object = unsafe_yyjson_is_obj(root);
        size_t index = 0;
        yyjson_val *at = unsafe_yyjson_get_first(root);
        yyjson_val *key = at;
        for (;; index++) {
            key = at;
            at += is_object;
            if (value_contains(key, value) || value_contains(at, value)) {
                break;
            }
            at = unsafe_yyjson_get_next(at);
        }
        if (is_object) {
            text_add_key(text, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
        } else {
            text_add_index(text, index);
        }
        if (key == value) { /* a place may also be a property's name */
            return;
        }
        root = at;
    }
}
