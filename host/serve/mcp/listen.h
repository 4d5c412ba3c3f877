/* listen.h - subscriptions/listen: a request that is answered by notifications until it is
 * cancelled. */
#pragma once

#include <yyjson.h>

struct mcp;
struct request;
struct toolrack_text;

/* Most tasks of one subscription; of resources see watches.h. */
#define LISTEN_TASKS_MAX 1024u

void listen_begin(struct request *request, yyjson_val *params);

/** Tell all subscriptions that want to know of changes: bits of enum change. */
void listen_tell(struct mcp *mcp, unsigned changes);
/** The same of a resource of a plugin: those whose principals are shown it. */
void listen_tell_resource(struct mcp *mcp, const char *plugin, const char *uri);

/** The same of a task, whose text is what toolrack_task_get() gives: only subscriptions of its
 * owner. */
void listen_tell_task(struct mcp *mcp, const char *owner, const char *id,
                      const struct toolrack_text *text);

/** The server ends: the subscription is answered. Nothing for other requests. */
void listen_end(struct request *request);
