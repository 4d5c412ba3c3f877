/* prompts.h - the methods of prompts, and of completion. */
#pragma once

#include <yyjson.h>

struct request;

void prompts_list(struct request *request, yyjson_val *params);
void prompts_get(struct request *request, yyjson_val *params);
/** Values of an argument of a prompt, or of a variable of a resource template. */
void completion_complete(struct request *request, yyjson_val *params);
