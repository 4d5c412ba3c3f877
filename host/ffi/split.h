/* split.h - a struct by value that libffi passes wrongly.
 *
 * libffi before 3.4.7 (Debian 12 has 3.4.4) copies all 16 bytes of a struct to the general register
 * of its first half, on x86-64. If that is the last general register the second half lands in the
 * first vector register, and the function's first floating-point argument is lost
 * (https://github.com/libffi/libffi/issues/574). Such a struct is passed as its two halves, which
 * are in the same registers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ffi/shape.h"

/** Whether a parameter must be passed as two arguments: 8 bytes as an integer, 8 bytes as a double.
 *
 * @param members     the parameters, without the call
 * @param index       of the parameter
 * @param wants_call  the function's first parameter is its call
 * @param result      NULL: void
 * [any-thread] */
bool split_needed(const struct shape_member *members, uint32_t index, bool wants_call,
                  const struct shape *result);
