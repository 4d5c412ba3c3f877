/* shape.h - objects of the newest revision, written as an earlier one has them. */
#pragma once

#include "serve/mcp/dialect.h"

/** Whether a revision has all members that plugins may give, so that nothing need be left out. */
bool shape_is_whole(const struct dialect *dialect);

/** Append an object without the members that a revision has not. A link to a resource, or audio, is
 * a text where there is none. */
void shape_add(struct buf *out, const struct dialect *dialect, yyjson_val *value);

/** The same of a tool of a list: its title moves into its annotations. */
void shape_add_tool(struct buf *out, const struct dialect *dialect, yyjson_val *tool);
