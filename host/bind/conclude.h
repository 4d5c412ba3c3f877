/* conclude.h - from a C function to the definition of a tool. */
#pragma once

#include <yyjson.h>

#include "bind/parts.h"

/** Make the definition of a function.
 *
 * @param ret_reason     why there is none, in the model's arena; NULL with a definition
 * @param ret_undecided  how many things a person must decide
 * @return 0; TOOLRACK_E_INVALID for a decision that names no choice; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int conclude(const struct concluding *concluding, const struct model_function *function,
             yyjson_mut_val **ret, const char **ret_reason, size_t *ret_undecided,
             struct toolrack_error *err);
