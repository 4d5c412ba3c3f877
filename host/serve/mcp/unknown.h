/* unknown.h - why a name is that of no tool that a principal can call. */
#pragma once

#include "base/buf.h"

struct request;

/** Append why, without a final stop: the tool is disabled, or none has the name, with the nearest
 * one that the principal is shown, or else where the names are. */
void unknown_tool_explain(struct request *request, const char *name, const char *where,
                          struct buf *out);
