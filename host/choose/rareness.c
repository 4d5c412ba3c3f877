#include "choose/rareness.h"

#define FRACTION_BITS 8u

/* The logarithm to base 2 of a number of at least 1, in 1/256: each squaring of what is left
 * between 1 and 2 gives one bit more. */
static uint32_t log2_of(uint64_t number) {
    uint32_t whole = 63u - (uint32_t)__builtin_clzll(number);
    uint64_t left = whole < 31 ? number << (31 - whole) : number >> (whole - 31); /* 2^31 is 1 */
    uint32_t fraction = 0;
    for (unsigned i = 0; i < FRACTION_BITS; i++) {
        left = left * left >> 31;
        unsigned bit = (unsigned)(left >> 32);
        fraction = fraction << 1 | bit;
        left >>= bit;
    }
    return whole << FRACTION_BITS | fraction;
}

/* 1 + (count - having + 0.5) / (having + 0.5) is (2 count + 2) / (2 having + 1). */
uint32_t rareness(size_t having, size_t count) {
    uint64_t ratio = (2 * (uint64_t)count + 2) * RARENESS_ONE / (2 * (uint64_t)having + 1);
    return ratio > RARENESS_ONE ? log2_of(ratio) - FRACTION_BITS * RARENESS_ONE : 0;
}
