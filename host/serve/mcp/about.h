/* about.h - what the server says of itself. */
#pragma once

#include "base/buf.h"
#include "serve/mcp/dialect.h"
#include "serve/mcp/server.h"

/** Append an object Implementation: the server's name and version. */
void about_add_server(struct buf *out, const struct dialect *dialect);

/** What plugins offer now beside tools: the bits of enum change of its lists. */
unsigned about_offered(struct mcp *mcp);

/** Append an object ServerCapabilities.
 * @param offered  as about_offered() */
void about_add_capabilities(struct buf *out, unsigned offered, const struct dialect *dialect);

/** Append the member "instructions", if there are any. */
void about_add_instructions(struct buf *out, const struct mcp *mcp);
