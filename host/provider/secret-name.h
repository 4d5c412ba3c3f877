/* secret-name.h - which members of a request are secrets, by their names.
 *
 * A key belongs into the environment or a header: what is in the query is logged by every proxy and
 * server, and what is in the body is kept in the transcript. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

/** Whether a name is that of a secret: "api_key", "accessToken", "x-functions-key", "sig"; but not
 * "max_tokens", "eos_token" or "prompt_cache_key". [any-thread] */
bool secret_name(const char *name, size_t length);

/** The name of the first member, of any object in a value, that is a secret, and has a text or a
 * number; NULL: there is none. [any-thread] */
const char *secret_name_in(yyjson_val *value);

/** Replace the value of each such member by SECRET_MASK. @return false: it cannot be done */
bool secret_names_mask(yyjson_mut_val *value);
