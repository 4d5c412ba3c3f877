/* inputs.h - what a tool asks a client for, as requests of the protocol, and the answers. */
#pragma once

#include <stdbool.h>

#include "serve/mcp/dialect.h"

/** The capability (one bit) that a client needs to answer; a bit that none has where the revision
 * knows no such request. */
unsigned inputs_capability(const struct toolrack_input *input);

/** Append the members `method` and `params` of the request.
 * @param id  of an elicitation by address, or NULL: the revision has none */
void inputs_add(struct buf *out, const struct dialect *dialect, const struct toolrack_input *input,
                const char *id);

/** Take the result of the request. @return false: it is no result of such a request */
bool inputs_take(struct toolrack_input *input, yyjson_val *result);
