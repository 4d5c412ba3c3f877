/* number.h - JSON numbers compared by their exact mathematical value, without lossy casts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/** A number by value: 1 and 1.0 are the same integer. `real` is used only if the number has a
 * fraction or is beyond NUMBER_INTEGER_MAX. */
struct number {
    bool is_integer;
    int128 integer;
    double real;
};

/** Whole reals up to here are converted to integers exactly; 64-bit integers are far below. */
#define NUMBER_INTEGER_MAX 0x1p100

/** Integers up to here are exact as double. */
#define NUMBER_EXACT_MAX ((int128)1 << 53)

/** Of an integer beyond 64 bits that the parser kept as its digits (YYJSON_READ_BIGNUM_AS_RAW) the
 * value is exact up to NUMBER_INTEGER_MAX. */
struct number number_of(yyjson_val *value);

/** Whether a value is a number, also one that was kept as its digits. */
static inline bool number_is(yyjson_val *value) {
    return yyjson_is_num(value) || yyjson_is_raw(value);
}

/** Room that number_text() needs: yyjson's pool for one number. */
#define NUMBER_SCRATCH_SIZE 512u

/** The shortest digits of a finite real that read back as the same real, as yyjson writes them;
 * NULL if it cannot. The string is in `scratch`. [any-thread] */
const char *number_text(double real, char scratch[static NUMBER_SCRATCH_SIZE], size_t *ret_length);

/** Negative, 0 or positive. */
int number_compare(struct number a, struct number b);

/** Whether a number has no fraction: 1.0 and 1e300 have none. */
bool number_is_whole(yyjson_val *value);

/** A prepared divisor. Its decimal value is digits * 10^exponent. */
struct divisor {
    uint64_t whole;  /**< the divisor if it is a 64-bit integer, else 0 */
    uint64_t digits; /**< of its shortest decimal form */
    int exponent;
};

struct divisor number_divisor(yyjson_val *value);

/** Whether `value` is a multiple of the divisor in decimal arithmetic: 0.0075 is a multiple of
 * 0.0001, although their doubles do not divide evenly. */
bool number_divides(const struct divisor *divisor, yyjson_val *value);
