/* headers.h - headers of HTTP that repeat what is in the message, since 2026-07-28.
 *
 * Something between client and server may decide by the headers, so a message that says otherwise
 * is refused. */
#pragma once

#include <stdbool.h>

#include "serve/mcp/methods.h"
#include "serve/mcp/rpc.h"

struct request;

/** Compare Mcp-Method and Mcp-Name. `method` is NULL for an unknown one.
 * @return false: the request is answered */
bool headers_match(struct request *request, const struct rpc_message *message,
                   const struct method *method);

/** Compare the headers Mcp-Param-NAME that a tool's schema asks for, as it is listed, with its
 * arguments, which may be NULL. Nothing to do without headers.
 * @return false: the request is answered */
bool headers_check_arguments(struct request *request, const char *schema, yyjson_val *arguments);

/** The value of a header as it is meant: `=?base64?...?=` decoded.
 * @param ret  receives it, zero-terminated
 * @return false: it has characters that no header value may have, or is not base64 */
bool headers_decode(const char *value, struct buf *ret);
