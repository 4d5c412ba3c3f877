/* bind.h - C values from JSON. */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "ffi/place.h"
#include "ffi/shape.h"

/** What one binding works with. All borrowed. */
struct binder {
    struct arena *arena; /**< for all that values point to */
    struct toolrack_error *err;
};

/** Write the C value of one parameter or field.
 *
 * @param value   or NULL: absent
 * @param stored  where the member's stored form goes, aligned for it
 * @param up      the place of the object it is in, or NULL for a parameter
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS with the field; TOOLRACK_E_LIMIT_EXCEEDED when the
 *         values do not fit arena->size_max; TOOLRACK_E_NO_MEMORY.
 * Texts stay where they are in the JSON document, which must outlive the value. [any-thread] */
int bind_member(const struct binder *binder, const struct shape_member *member, yyjson_val *value,
                void *stored, const struct place *up);

/** Bind the default of a member once, and those of the fields below it, so that no call can fail
 * because of one.
 *
 * @param place  of the member, for messages
 * @return 0; TOOLRACK_E_REFUSED when a default is not a value of its type; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int bind_check_default(const struct shape_member *member, const struct place *place,
                       struct toolrack_error *err);

/** The same for the fields below a type. */
int bind_check_defaults(const struct shape *shape, const struct place *place,
                        struct toolrack_error *err);

/** The error of an allocation that the arena did not make: TOOLRACK_E_LIMIT_EXCEEDED by its limit,
 * else TOOLRACK_E_NO_MEMORY. */
int bind_no_memory(const struct binder *binder);
