/* eval.h - the files of the evaluation data: tools by id, items one a line. */
#pragma once

#include <yyjson.h>

#include "choose/arguments.h"

struct eval;

/** Read the tools and give each item of a JSON Lines file to `each`; returns what main() returns.
 */
int eval_run(const char *tools_folder, const char *items,
             int (*each)(struct eval *, yyjson_val *item));

/** The tool with an id; NULL: there is none. */
yyjson_val *eval_tool(struct eval *eval, const char *id);

struct arguments_tool eval_arguments_tool(yyjson_val *tool);

/** The context of an item: the date in its `now`, at midnight UTC. */
struct arguments_context eval_context(yyjson_val *item);
