/* layout.h - C types as libffi types. */
#pragma once

#include <ffi.h>

#include "ffi/shape.h"

/** The libffi type of a value's stored form, which is also the form in which it is returned and,
 * except for bytes and arrays, passed.
 *
 * libffi computes the layout of a struct from its fields only, so a struct with members that the
 * plugin did not describe would be passed wrongly; comparing the layouts detects this.
 *
 * @param arena  for the types of structs, which cannot be shared, as ffi_prep_cif() changes them
 * @param place  the type's place, for messages
 * @return 0; TOOLRACK_E_REFUSED if libffi's layout differs from the plugin's; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int layout_create(struct arena *arena, const struct shape *shape, const struct place *place,
                  ffi_type **ret, struct toolrack_error *err);
