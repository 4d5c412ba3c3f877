/* layout.h - C types in libffi's terms. */
#pragma once

#include <ffi.h>

#include "ffi/shape.h"

/** libffi's type of a value as it is stored, which is also how it is returned and, except for bytes
 * and arrays, how it is passed.
 *
 * libffi works out the layout of a struct from its fields alone, so that a struct with members that
 * the plugin did not describe would be passed wrongly; it is found out by comparing.
 *
 * @param arena  for types of structs, which ffi_prep_cif() completes: they cannot be shared
 * @param place  of the type, for messages
 * @return 0; TOOLRACK_E_REFUSED when libffi's layout is not the plugin's; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int layout_create(struct arena *arena, const struct shape *shape, const struct place *place,
                  ffi_type **ret, struct toolrack_error *err);
