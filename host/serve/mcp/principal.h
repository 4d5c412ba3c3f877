/* principal.h - copies of who sends a message. */
#pragma once

#include "base/arena.h"
#include "serve/mcp/mcp.h"

/* Of the principal of a session, and of a pipe, whose client nobody knows. */
#define SESSION_PREFIX "session:"
#define PIPE_PREFIX    "stdio:"
/* The party of all of whom nobody knows who they are. */
#define PARTY_UNKNOWN  "unknown"

/** Copy what a principal's pointers lead to, and say of what party it is; that of a pipe, which is
 * its own, is to be set. @return false: out of memory */
bool principal_keep(struct mcp_principal *principal, struct arena *arena);
