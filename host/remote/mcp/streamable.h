/* streamable.h - an MCP server of the web: the transport "Streamable HTTP" of both eras.
 *
 * Each message that goes out is a POST, whose response is the answer, or a stream of events with
 * the answer among them. In the era of sessions the server may end such a stream early, and it is
 * resumed by a GET after the last event; and another GET brings what it says unasked. In the
 * stateless era the end of the connection cancels the request.
 *
 * All requests run in one multi handle of libcurl, which the thread that receives drives. */
#pragma once

#include "remote/mcp/streamable-options.h"
#include "remote/mcp/transport.h"

/** Load libcurl and be ready; nothing is sent yet. @param options  struct streamable_options
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int streamable_open(const void *options, struct transport **ret, struct toolrack_error *err);
