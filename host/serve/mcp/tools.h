/* tools.h - the methods of tools. */
#pragma once

#include <yyjson.h>

struct request;

void tools_list(struct request *request, yyjson_val *params);
void tools_call(struct request *request, yyjson_val *params);
