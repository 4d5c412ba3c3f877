/* tools.h - one call of a tool of an MCP server. */
#pragma once

#include "remote/mcp/client.h"
#include "run/run.h"

/** Call a tool and take its result as the reply of the run. What the server asks meanwhile is asked
 * of the call's caller, with the server's name; progress and log lines are the call's.
 * @param tool     its name at the server
 * @param mirrored  header lines of its arguments, each with its end; NULL: none
 * @return as a tool's function returns. [call-thread] */
tr_status mount_tools_call(struct mcp_client *client, struct run *run, const char *tool,
                           const char *mirrored);
