/* verb-mcp-client.h - the part of the verb `mcp` that tells clients of the server. */
#pragma once

#include "cli/cli.h"

/** Print the entry for the client of --print-config, or put it into the file of that of --install.
 * @return an exit code. */
int mcp_tell_client(struct cli *cli);
