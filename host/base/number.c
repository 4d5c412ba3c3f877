#include "base/number.h"

#include <math.h>

/* A number that the parser kept as its digits. */
static struct number number_of_digits(const char *digits) {
    int128 most = (int128)NUMBER_INTEGER_MAX;
    bool negative = digits[0] == '-';
    const char *at = digits + negative;
    int128 integer = 0;
    while (*at >= '0' && *at <= '9' && integer <= most) {
        integer = integer * 10 + (*at++ - '0');
    }
    if (*at == '\0' && integer <= most) {
        return (struct number){.is_integer = true, .integer = negative ? -integer : integer};
    }
    yyjson_val real = {0};
    (void)yyjson_read_number(digits, &real, YYJSON_READ_ALLOW_INF_AND_NAN, NULL, NULL);
    return (struct number){.real = yyjson_get_num(&real)};
}

struct number number_of(yyjson_val *value) {
    if (yyjson_is_raw(value)) {
        return number_of_digits(yyjson_get_raw(value));
    }
    if (yyjson_is_uint(value)) {
        return (struct number){.is_integer = true, .integer = yyjson_get_uint(value)};
    }
    if (yyjson_is_sint(value)) {
        return (struct number){.is_integer = true, .integer = yyjson_get_sint(value)};
    }
    double real = yyjson_get_real(value);
    /* A cast instead of trunc(), so that programs need not load the mathematics library. */
    if (fabs(real) <= NUMBER_INTEGER_MAX && (double)(int128)real == real) {
        return (struct number){.is_integer = true, .integer = (int128)real};
    }
    return (struct number){.real = real};
}

/* `real` either has a fraction, so its floor fits an int128, or is beyond every integer. */
static int compare_integer_to_real(int128 integer, double real) {
    if (fabs(real) > NUMBER_INTEGER_MAX) {
        return real > 0 ? -1 : 1;
    }
    int128 whole = (int128)real; /* towards zero: below zero the floor is one less */
    return integer <= whole - (real < 0) ? -1 : 1;
}

int number_compare(struct number a, struct number b) {
    if (a.is_integer && b.is_integer) {
        return a.integer < b.integer ? -1 : a.integer > b.integer;
    }
    if (a.is_integer) {
        return compare_integer_to_real(a.integer, b.real);
    }
    if (b.is_integer) {
        return -compare_integer_to_real(b.integer, a.real);
    }
    return a.real < b.real ? -1 : a.real > b.real;
}

bool number_is_whole(yyjson_val *value) {
    if (!yyjson_is_real(value)) {
        return true;
    }
    double real = yyjson_get_real(value); /* what was kept as digits has no fraction either */
    return fabs(real) < 0x1p53 ? (double)(int64_t)real == real : isfinite(real) != 0;
}

const char *number_text(double real, char scratch[static NUMBER_SCRATCH_SIZE], size_t *ret_length) {
    yyjson_alc alc;
    yyjson_val number = {0};
    *ret_length = 0;
    (void)yyjson_alc_pool_init(&alc, scratch, NUMBER_SCRATCH_SIZE);
    unsafe_yyjson_set_real(&number, real);
    return yyjson_val_write_opts(&number, 0, &alc, ret_length, NULL);
}

struct decimal {
    uint64_t digits;
    int exponent;
};

/* The shortest decimal form of a positive real, taken from the text that yyjson writes. */
static struct decimal decimal_of_real(double real) {
    char scratch[NUMBER_SCRATCH_SIZE];
    size_t length;
    const char *text = number_text(real, scratch, &length);
    struct decimal decimal = {0};
    bool after_point = false;
    size_t i = 0;
    for (; i < length && text[i] != 'e'; i++) {
        if (text[i] == '.') {
            after_point = true;
        } else if (text[i] != '0' || decimal.digits > 0 || after_point) {
            /* Trailing zeros beyond 17 digits would overflow; they only raise the exponent. */
            if (decimal.digits > UINT64_MAX / 10 - 1) {
                decimal.exponent += !after_point;
                continue;
            }
            decimal.digits = decimal.digits * 10 + (uint64_t)(text[i] - '0');
            decimal.exponent -= after_point;
        }
    }
    if (i < length) {
        i++;
        int sign = text[i] == '-' ? -1 : 1;
        int power = 0;
        for (i += text[i] == '-' || text[i] == '+'; i < length; i++) {
            power = power * 10 + (text[i] - '0');
        }
        decimal.exponent += sign * power;
    }
    return decimal;
}

static struct decimal decimal_of(yyjson_val *value) {
    if (yyjson_is_real(value)) {
        return decimal_of_real(fabs(yyjson_get_real(value)));
    }
    if (yyjson_is_raw(value)) { /* of a divisor: as near as a double is */
        return decimal_of_real(fabs((double)number_of(value).integer));
    }
    int64_t signed_value = yyjson_get_sint(value);
    bool negative = yyjson_is_sint(value) && signed_value < 0;
    return (struct decimal){.digits =
                                    negative ? 0 - (uint64_t)signed_value : yyjson_get_uint(value)};
}

struct divisor number_divisor(yyjson_val *value) {
    struct decimal decimal = decimal_of(value);
    struct number number = number_of(value);
    bool whole = number.is_integer && number.integer <= UINT64_MAX;
    return (struct divisor){.whole = whole ? (uint64_t)number.integer : 0,
                            .digits = decimal.digits,
                            .exponent = decimal.exponent};
}

static uint64_t multiply_modulo(uint64_t a, uint64_t b, uint64_t modulus) {
    return (uint64_t)((uint128)a * b % modulus);
}

static uint64_t power_of_ten_modulo(unsigned power, uint64_t modulus) {
    uint64_t result = 1 % modulus;
    uint64_t base = 10 % modulus;
    for (; power > 0; power >>= 1) {
        if (power & 1) {
            result = multiply_modulo(result, base, modulus);
        }
        base = multiply_modulo(base, base, modulus);
    }
    return result;
}

/* Whether a.digits * 10^a.exponent divides evenly; exact, since both are decimals. */
static bool decimal_divides(const struct divisor *divisor, struct decimal a) {
    if (a.digits == 0) {
        return true;
    }
    int shift = a.exponent - divisor->exponent;
    if (shift >= 0) {
        uint64_t power = power_of_ten_modulo((unsigned)shift, divisor->digits);
        return multiply_modulo(a.digits % divisor->digits, power, divisor->digits) == 0;
    }
    /* Append zeros to the divisor; with 20 zeros it exceeds any 64-bit number. */
    uint128 scaled = divisor->digits;
    for (; shift < 0 && scaled <= UINT64_MAX; shift++) {
        scaled *= 10;
    }
    return shift == 0 && a.digits % scaled == 0;
}

/* The same of digits that are more than 64 bits: by long division. */
static bool digits_divide(const struct divisor *divisor, const char *digits) {
    uint64_t rest = 0;
    int zeros = divisor->exponent < 0 ? -divisor->exponent : 0;
    if (divisor->exponent > 0 || divisor->digits == 0) { /* then it ends in zeros, as few do */
        struct number number = number_of_digits(digits);
        uint128 scaled = divisor->digits;
        for (int i = 0; i < divisor->exponent && scaled <= UINT64_MAX; i++) {
            scaled *= 10;
        }
        return number.is_integer && scaled != 0 && scaled <= UINT64_MAX &&
               number.integer % (int128)scaled == 0;
    }
    for (const char *at = digits + (digits[0] == '-'); *at >= '0' && *at <= '9'; at++) {
        rest = (uint64_t)(((uint128)rest * 10 + (unsigned)(*at - '0')) % divisor->digits);
    }
    for (; zeros > 0 && rest != 0; zeros--) {
        rest = (uint64_t)((uint128)rest * 10 % divisor->digits);
    }
    return rest == 0;
}

bool number_divides(const struct divisor *divisor, yyjson_val *value) {
    if (yyjson_is_raw(value)) {
        return digits_divide(divisor, yyjson_get_raw(value));
    }
    if (yyjson_is_uint(value) && divisor->whole != 0) {
        return yyjson_get_uint(value) % divisor->whole == 0;
    }
    if (yyjson_is_real(value) && !isfinite(yyjson_get_real(value))) {
        return false;
    }
    return divisor->digits != 0 && decimal_divides(divisor, decimal_of(value));
}
