/* listen.h - subscriptions/listen: a request that is answered by notifications until it is
 * cancelled. */
#pragma once

#include <yyjson.h>

struct mcp;
struct request;

/* Most resources of one subscription. */
#define LISTEN_RESOURCES_MAX 1024u

void listen_begin(struct request *request, yyjson_val *params);

/** Tell all subscriptions that want to know of changes: bits of enum change. */
void listen_tell(struct mcp *mcp, unsigned changes);
/** The same of a resource. */
void listen_tell_resource(struct mcp *mcp, const char *uri);

/** The server ends: the subscription is answered. Nothing for other requests. */
void listen_end(struct request *request);
