/* search.h - calls of search_tools, select_tool and describe_tool. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "serve/mcp/search-tools.h"

struct request;

/** Answer a call of one of them. */
void search_call(struct request *request, enum search_tool tool, yyjson_val *arguments);
