#include "ffi/split.h"

#if defined(__x86_64__)

#define WORDS        6u
#define VECTORS      8u
#define HALF         8u
#define HALVES_BYTES 16u

/* What a value takes. */
struct registers {
    uint32_t words;
    uint32_t vectors;
    bool first_is_word;
};

/* A half with a member that is no floating-point number is a word. */
static void mark_words(const struct shape *shape, uint32_t at, bool is_word[2]) {
    if (shape_is_struct(shape)) {
        for (uint32_t i = 0; i < shape->member_count; i++) {
            mark_words(shape->members[i].shape, at + shape->members[i].offset, is_word);
        }
    } else if (shape_is_pair(shape)) {
        is_word[0] = is_word[1] = true;
    } else if (!shape_is_float(shape)) {
        is_word[at / HALF] = true;
    }
}

static struct registers registers_of(const struct shape *shape) {
    if (!shape_is_struct(shape)) {
        return shape_is_float(shape) ? (struct registers){.vectors = 1}
                                     : (struct registers){.words = shape_is_pair(shape) ? 2 : 1};
    }
    bool is_word[2] = {false, false};
    if (shape->size > HALVES_BYTES) {
        return (struct registers){0}; /* on the stack */
    }
    mark_words(shape, 0, is_word);
    uint32_t halves = shape->size > HALF ? 2 : 1;
    uint32_t words = (is_word[0] ? 1u : 0u) + (is_word[1] ? 1u : 0u);
    return (struct registers){
            .words = words, .vectors = halves - words, .first_is_word = is_word[0]};
}

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* A struct is either in registers or on the stack, as a whole. */
static void take(struct registers *taken, const struct shape *shape) {
    struct registers wanted = registers_of(shape);
    if (!shape_is_struct(shape) ||
        (taken->words + wanted.words <= WORDS && taken->vectors + wanted.vectors <= VECTORS)) {
        taken->words = least(taken->words + wanted.words, WORDS);
        taken->vectors = least(taken->vectors + wanted.vectors, VECTORS);
    }
}

bool split_needed(const struct shape_member *members, uint32_t index, bool wants_call,
                  const struct shape *result) {
    const struct shape *shape = members[index].shape;
    struct registers wanted = registers_of(shape);
    if (!shape_is_struct(shape) || wanted.words != 1 || wanted.vectors != 1 ||
        !wanted.first_is_word) {
        return false;
    }
    bool has_address = result != NULL && shape_is_struct(result) && result->size > HALVES_BYTES;
    struct registers taken = {.words = (has_address ? 1u : 0u) + (wants_call ? 1u : 0u)};
    for (uint32_t i = 0; i < index; i++) {
        take(&taken, members[i].shape);
    }
    return taken.words == WORDS - 1 && taken.vectors < VECTORS;
}

#else

bool split_needed(const struct shape_member *members, uint32_t index, bool wants_call,
                  const struct shape *result) {
    (void)members;
    (void)index;
    (void)wants_call;
    (void)result;
    return false;
}

#endif
