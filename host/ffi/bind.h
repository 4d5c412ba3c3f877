/* bind.h - C values from JSON. */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "ffi/place.h"
#include "ffi/shape.h"

/** The context of one binding. All borrowed. */
struct binder {
    struct arena *arena; /**< for all memory that values point to */
    struct toolrack_error *err;
};

/** Write the C value of one parameter or field.
 *
 * @param value   or NULL: absent
 * @param stored  memory for the member's stored form, suitably aligned
 * @param up      the place of the enclosing object, or NULL for a parameter
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS with the field; TOOLRACK_E_LIMIT_EXCEEDED if the values
 *         exceed arena->size_max; TOOLRACK_E_NO_MEMORY. Strings are not copied: the JSON document
 *         must outlive the value. [any-thread] */
int bind_member(const struct binder *binder, const struct shape_member *member, yyjson_val *value,
                void *stored, const struct place *up);

/** Write the C values of all parameters of a call into its frame, each at the offset of its member.
 * A value narrower than a word is extended with zeros.
 *
 * @param values  of each member, or NULL: absent
 * @return as bind_member(). [any-thread] */
int bind_params(const struct binder *binder, const struct shape_member *members, uint32_t count,
                yyjson_val *const *values, char *frame);

/** Bind the default of a member and those of the fields below it once, so that no call can fail
 * because of a default.
 *
 * @param place  the member's place, for messages
 * @return 0; TOOLRACK_E_REFUSED if a default is not a value of its type; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int bind_check_default(const struct shape_member *member, const struct place *place,
                       struct toolrack_error *err);

/** The same for the fields below a type. */
int bind_check_defaults(const struct shape *shape, const struct place *place,
                        struct toolrack_error *err);

/** Set the error of a failed allocation in the arena: TOOLRACK_E_LIMIT_EXCEEDED if its limit was
 * reached, else TOOLRACK_E_NO_MEMORY. */
int bind_no_memory(const struct binder *binder);
