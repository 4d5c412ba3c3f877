/* methods.c - the table of methods. */
#include "serve/mcp/methods.h"

#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/listen.h"
#include "serve/mcp/log.h"
#include "serve/mcp/prompts.h"
#include "serve/mcp/request.h"
#include "serve/mcp/resources.h"
#include "serve/mcp/task.h"
#include "serve/mcp/tools.h"

#define BOTH (METHOD_HANDSHAKE | METHOD_STATELESS)

static void ping(struct request *request, yyjson_val *params) {
    (void)params;
    (void)request_result(request);
    request_complete(request);
}

/* The most frequent first. */
static const struct method methods[] = {
        {"tools/call", BOTH, "name", tools_call},
        {"tools/list", BOTH, NULL, tools_list},
        {"resources/read", BOTH, "uri", resources_read},
        {"resources/list", BOTH, NULL, resources_list},
        {"resources/templates/list", BOTH, NULL, resources_list_templates},
        {"resources/subscribe", METHOD_HANDSHAKE, NULL, resources_subscribe},
        {"resources/unsubscribe", METHOD_HANDSHAKE, NULL, resources_unsubscribe},
        {"prompts/get", BOTH, "name", prompts_get},
        {"prompts/list", BOTH, NULL, prompts_list},
        {"completion/complete", BOTH, NULL, completion_complete},
        {"ping", METHOD_HANDSHAKE | METHOD_BEFORE, NULL, ping},
        {"initialize", METHOD_HANDSHAKE | METHOD_BEFORE, NULL, initialize},
        {"server/discover", METHOD_STATELESS, NULL, discover},
        {"tasks/get", METHOD_STATELESS, "taskId", task_get},
        {"tasks/update", METHOD_STATELESS, "taskId", task_update},
        {"tasks/cancel", METHOD_STATELESS, "taskId", task_cancel},
        {"logging/setLevel", METHOD_HANDSHAKE, NULL, log_set_level},
        {"subscriptions/listen", METHOD_STATELESS, NULL, listen_begin},
};

const struct method *method_find(const char *name, unsigned trait) {
    for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
        if (strcmp(methods[i].name, name) == 0) {
            return (methods[i].traits & trait) != 0 ? &methods[i] : NULL;
        }
    }
    return NULL;
}
