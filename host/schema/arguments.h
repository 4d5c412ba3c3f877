/* arguments.h - the arguments of a call, from strings such as "name=value".
 *
 * `amount=5` does not state the type of 5; the tool's schema does: for a string property the value
 * is kept unchanged, for any other it is parsed as JSON. A value that does not fit is passed on
 * unchanged, and the call refuses it with a reason. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* Deepest "a.b.c=v". */
#define ARGUMENTS_DEPTH_MAX 16u

/** Append the JSON object of a call to `out`: see toolrack_arguments().
 *
 * @param schema  the tool's schema; "" or NULL: not known
 * @return 0; TOOLRACK_E_INVALID for a string that is not name=value; TOOLRACK_E_INVALID_ARGUMENTS
 *         for a value that cannot be set and for an invalid `json`; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
int arguments_build(const char *schema, const char *json, const char *const *values, size_t count,
                    struct buf *out, struct toolrack_error *err);
