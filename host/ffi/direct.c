#include "ffi/direct.h"

#include <stddef.h>

#include "base/sanitizer.h"

/* ------------------------------------------------------------------ registers */

/* Structs up to this size are returned in registers, larger ones in memory; x86-64. */
#define RESULT_IN_REGISTERS_MAX 16u

/* The registers that are taken so far. */
struct taken {
    uint32_t words;
    uint32_t vectors;
};

static bool take_words(struct taken *taken, uint32_t count, uint32_t *ret_offset) {
    *ret_offset = taken->words * (uint32_t)sizeof(direct_word);
    taken->words += count;
    return taken->words <= DIRECT_WORDS;
}

static bool take_vector(struct taken *taken, uint32_t *ret_offset) {
    *ret_offset = (uint32_t)offsetof(struct direct_registers, vectors) +
                  taken->vectors * (uint32_t)sizeof(direct_vector);
    taken->vectors++;
    return taken->vectors <= DIRECT_VECTORS;
}

static enum direct_result result_kind(const struct shape *result) {
#if defined(__x86_64__)
    if (result != NULL && shape_is_struct(result)) {
        return result->size > RESULT_IN_REGISTERS_MAX ? DIRECT_MEMORY : DIRECT_NOT;
    }
#elif defined(__aarch64__)
    /* The address of a large result is in x8, which no C type of a function names. */
    if (result != NULL && shape_is_struct(result)) {
        return DIRECT_NOT;
    }
#else
    return DIRECT_NOT;
#endif
    return result == NULL           ? DIRECT_WORD
           : shape_is_pair(result)  ? DIRECT_PAIR
           : shape_is_float(result) ? DIRECT_VECTOR
                                    : DIRECT_WORD;
}

enum direct_result direct_plan(struct shape_member *members, uint32_t count, bool wants_call,
                               const struct shape *result, uint32_t *ret_call) {
    enum direct_result kind = result_kind(result);
    struct taken taken = {.words = kind == DIRECT_MEMORY ? 1 : 0};
    bool fits = !wants_call || take_words(&taken, 1, ret_call);
    for (uint32_t i = 0; i < count && fits; i++) {
        const struct shape *shape = members[i].shape;
        fits = !shape_is_struct(shape) &&
               (shape_is_float(shape)
                        ? take_vector(&taken, &members[i].offset)
                        : take_words(&taken, shape_is_pair(shape) ? 2 : 1, &members[i].offset));
    }
    return fits ? kind : DIRECT_NOT;
}

/* ----------------------------------------------------------------------- call */

struct pair {
    direct_word first, second;
};

#if DIRECT_WORDS == 8
#define WORD_TYPES uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define WORDS(r)                                                                              \
    (r)->words[0], (r)->words[1], (r)->words[2], (r)->words[3], (r)->words[4], (r)->words[5], \
            (r)->words[6], (r)->words[7]
#elif DIRECT_WORDS == 6
#define WORD_TYPES uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t
#define WORDS(r) \
    (r)->words[0], (r)->words[1], (r)->words[2], (r)->words[3], (r)->words[4], (r)->words[5]
#else
#define WORD_TYPES uint64_t
#define WORDS(r)   (r)->words[0]
#endif
#define VECTOR_TYPES double, double, double, double, double, double, double, double
#define VECTORS(r)                                                                       \
    (r)->vectors[0], (r)->vectors[1], (r)->vectors[2], (r)->vectors[3], (r)->vectors[4], \
            (r)->vectors[5], (r)->vectors[6], (r)->vectors[7]

typedef uint64_t word_function(WORD_TYPES, VECTOR_TYPES);
typedef struct pair pair_function(WORD_TYPES, VECTOR_TYPES);
typedef double vector_function(WORD_TYPES, VECTOR_TYPES);

SANITIZER_SKIPS_FUNCTION_TYPE
void direct_call(enum direct_result kind, void (*function)(void),
                 const struct direct_registers *registers, void *result) {
    switch (kind) {
    case DIRECT_VECTOR:
        *(direct_vector *)result =
                ((vector_function *)function)(WORDS(registers), VECTORS(registers));
        return;
    case DIRECT_PAIR:
        *(struct pair *)result = ((pair_function *)function)(WORDS(registers), VECTORS(registers));
        return;
    case DIRECT_MEMORY:
        (void)((word_function *)function)(WORDS(registers), VECTORS(registers));
        return;
    case DIRECT_WORD:
        *(direct_word *)result = ((word_function *)function)(WORDS(registers), VECTORS(registers));
        return;
    case DIRECT_NOT: break;
    }
    assert(false);
}
