/* resources.h - the methods of resources. */
#pragma once

#include <yyjson.h>

struct request;

void resources_list(struct request *request, yyjson_val *params);
void resources_list_templates(struct request *request, yyjson_val *params);
void resources_read(struct request *request, yyjson_val *params);
/** Of the handshake era: listen.h is the other's way. */
void resources_subscribe(struct request *request, yyjson_val *params);
void resources_unsubscribe(struct request *request, yyjson_val *params);
