/* about.h - what the server says of itself. */
#pragma once

#include "base/buf.h"
#include "serve/mcp/server.h"

/** Append an object Implementation: the server's name and version. */
void about_add_server(struct buf *out);

/** Append an object ServerCapabilities: what is there now. */
void about_add_capabilities(struct buf *out, struct mcp *mcp, bool stateless);

/** Append the member "instructions", if there are any. */
void about_add_instructions(struct buf *out, const struct mcp *mcp);
