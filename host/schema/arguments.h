/* arguments.h - the arguments of a call, from texts such as "name=value".
 *
 * `amount=5` says nothing about the type of 5. The tool's schema does: a string
 * property keeps the text as it is, any other reads it as JSON. What does not
 * fit is passed on as it reads, for the call to refuse with its reason. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

/* Deepest "a.b.c=v". */
#define ARGUMENTS_DEPTH_MAX 16u

/** Append the JSON object of a call to `out`: see toolrack_arguments().
 *
 * @param schema  the tool's schema; "" or NULL when nothing is known
 * @return 0; TOOLRACK_E_INVALID for a value that is not name=value; TOOLRACK_E_INVALID_ARGUMENTS
 * for one that cannot be set and for a wrong `json`; TOOLRACK_E_NO_MEMORY. [any-thread] */
int arguments_build(const char *schema, const char *json, const char *const *values, size_t count,
                    struct buf *out, struct toolrack_error *err);
