/* result.h - JSON from C values. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "ffi/shape.h"

/** The context of writing one result. All borrowed. */
struct writer {
    struct buf *out;
    size_t start;    /**< length of `out` before the result */
    size_t size_max; /**< most bytes of JSON in the result */
    struct arena *arena;
    struct toolrack_error *err;
};

/** Append the JSON of a stored value. On failure `out` contains a part of it.
 *
 * The value comes from a plugin's function. Its pointers are trusted, as C cannot check them;
 * everything else is checked.
 *
 * @param place  the value's place; NULL: the result itself
 * @return 0; TOOLRACK_E_EXECUTION_FAILED for a value that does not match its type or that JSON
 *         cannot represent; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int result_write(const struct writer *writer, const struct shape *shape, const void *stored,
                 const struct place *place);
