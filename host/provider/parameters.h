/* parameters.h - parameters of a request, such as the temperature, in each provider's words. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "toolrack/format.h"

/* Most parameters of a request, and most steps in the name of one. */
#define PARAMETERS_MAX       64u
#define PARAMETERS_DEPTH_MAX 8u

/** Append the members of a request's body, each with a comma behind it.
 *
 * temperature, top_p, top_k, max_tokens, seed and stop are the same parameter in each format, which
 * may have another name and place for it. Any other name is the provider's own: a member of the
 * body, "a.b" the member b of its member a. A value is JSON, or else a string.
 *
 * @param url         of the request: in OpenAI's format only OpenAI itself, and Azure, have
 *                    `max_completion_tokens` for max_tokens
 * @param parameters  "NAME=VALUE", up to NULL; NULL: none
 * @return 0; TOOLRACK_E_INVALID: the message has the parameter, also for one that looks like a key;
 * TOOLRACK_E_NO_MEMORY. [any-thread]
 */
int parameters_write(enum toolrack_format format, const char *url, const char *const *parameters,
                     struct buf *out, struct toolrack_error *err);
