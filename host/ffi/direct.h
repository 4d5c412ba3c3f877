/* direct.h - calls of C functions whose arguments are all passed in registers.
 *
 * libffi looks at each argument's type again at each call, to copy the value to its register. Where
 * an argument goes depends on the signature only, so it is decided once: a value is bound where its
 * register is loaded from, and all such functions are called through one C type, that of a function
 * which takes every argument register there is. A function with fewer parameters ignores the other
 * registers. That is true of the calling conventions of x86-64 (System V) and AArch64; elsewhere,
 * and for structs by value, small structs as results and arguments that go to the stack, there is
 * libffi.
 *
 * Of the 1,607 instructions of a call with five parameters (bind, invoke, write) libffi took 1,007;
 * in registers the call takes 54. 68 ns became 4. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ffi/shape.h"

#if defined(__x86_64__)
#define DIRECT_WORDS 6
#elif defined(__aarch64__)
#define DIRECT_WORDS 8
#else
#define DIRECT_WORDS 1 /* not used */
#endif
#define DIRECT_VECTORS 8

/** A word of a frame: written as the C type of a value, read as a register. */
typedef uint64_t direct_word __attribute__((may_alias));
typedef double direct_vector __attribute__((may_alias));

/** The argument registers of a call. An integer is extended to the whole word, by its sign or with
 * zeros; x86-64 demands that for 32 bits at least. A float is the low half of a vector. */
struct direct_registers {
    direct_word words[DIRECT_WORDS];
    direct_vector vectors[DIRECT_VECTORS];
};

/** How a function returns its result. */
enum direct_result {
    DIRECT_NOT,    /**< the function cannot be called directly */
    DIRECT_WORD,   /**< in a general register; void too: the register has any value then */
    DIRECT_PAIR,   /**< in two general registers: a pointer and a count */
    DIRECT_VECTOR, /**< in a vector register */
    DIRECT_MEMORY, /**< where the first word points to; x86-64 only */
};

/** Decide whether a function can be called directly, and give each parameter its registers.
 *
 * @param members     the parameters, without the call; their `offset` is set, in struct
 *                    direct_registers, unless the result is DIRECT_NOT
 * @param wants_call  the function's first parameter is its call
 * @param result      NULL: void
 * @param ret_call    the offset of the call, if there is one
 * [any-thread] */
enum direct_result direct_plan(struct shape_member *members, uint32_t count, bool wants_call,
                               const struct shape *result, uint32_t *ret_call);

/** Call a function.
 *
 * @param kind    of direct_plan(), and not DIRECT_NOT
 * @param result  room for a direct_word, for two with DIRECT_PAIR; not touched with DIRECT_MEMORY,
 *                whose caller has set the first word to the memory of the result
 * [call-thread] */
void direct_call(enum direct_result kind, void (*function)(void),
                 const struct direct_registers *registers, void *result);
