/* principal.h - copies of who sends a message. */
#pragma once

#include "base/arena.h"
#include "serve/mcp/mcp.h"

/** Copy what a principal's pointers lead to. @return false: out of memory */
bool principal_keep(struct mcp_principal *principal, struct arena *arena);
