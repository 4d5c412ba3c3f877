/* seal.h - what the server gives a client to bring back: cursors and states. Nobody else can make
 * or change one, and nobody can read it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "serve/mcp/server.h"

enum seal_kind { SEAL_CURSOR = 1, SEAL_STATE = 2 };

/** Append `data` sealed, as characters of base64url. */
void seal_add(const struct mcp *mcp, enum seal_kind kind, const void *data, size_t length,
              struct buf *out);

/** Append what was sealed with this kind.
 * @return false: it was not sealed by this process, or was changed; or out of memory */
bool seal_open(const struct mcp *mcp, enum seal_kind kind, const char *text, size_t length,
               struct buf *out);
