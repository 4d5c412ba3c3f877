/* result.h - JSON from C values. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "ffi/shape.h"

/** What one result is written with. All borrowed. */
struct writer {
    struct buf *out;
    size_t start;    /**< length of `out` before the result */
    size_t size_max; /**< bytes of JSON the result may have */
    struct arena *arena;
    struct toolrack_error *err;
};

/** Append the JSON of a stored value. On failure `out` holds a part of it.
 *
 * The value comes from a plugin's function and is believed as far as C makes one: its pointers lead
 * to what they should. All else is checked.
 *
 * @param place  of the value; NULL is the result itself
 * @return 0; TOOLRACK_E_EXECUTION_FAILED for a value that is not what the type says or that JSON
 *         cannot say; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int result_write(const struct writer *writer, const struct shape *shape, const void *stored,
                 const struct place *place);
