/* arguments.h - the arguments of a call, from what stands on the command line.
 *
 * `--arg amount=5` says nothing about the type of 5. The tool's schema does: a
 * string property keeps the text as it is, any other reads it as JSON. What
 * does not fit is passed on as it reads, for the host to refuse with its reason. */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "cli/options.h"

/* Deepest `--arg a.b.c=v`. */
#define ARGUMENTS_DEPTH_MAX 16u

/** Build the JSON object of a call.
 *
 * `name=value` sets a property, `a.b=value` one inside the object a. Given once more, an array
 * property gets one more item; a JSON array adds its items. What --arg sets takes the place of the
 * same property in `json`.
 *
 * @param schema  the tool's schema, borrowed; "" or NULL when nothing is known
 * @param json    the text of the object to begin with; NULL or "" is {}
 * @param args    the values of --arg
 * @param ret     the text of the object, to be released by free()
 * @return 0; TOOLRACK_E_INVALID for an --arg that is no name=value (a usage error);
 *         TOOLRACK_E_INVALID_ARGUMENTS for one that cannot be set and for a wrong `json`;
 *         TOOLRACK_E_NO_MEMORY. */
int arguments_build(const char *schema, const char *json, const struct texts *args, char **ret,
                    struct toolrack_error *err);
