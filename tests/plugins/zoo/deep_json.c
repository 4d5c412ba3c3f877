/* Fault: replies JSON that is nested 1,000,000 levels deep. */
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

#define LEVELS ((size_t)1000000)

static tr_status zoo_deep_json(struct tr_call *call) {
    char *json = malloc(2 * LEVELS + 1);
    if (json == NULL) {
        return tr_fail(call, TR_FAILED, NULL, "no memory for the reply");
    }
    memset(json, '[', LEVELS);
    memset(json + LEVELS, ']', LEVELS);
    json[2 * LEVELS] = '\0';
    tr_status status = tr_reply_json(call, json);
    free(json);
    return status;
}
ZOO_FAULT(zoo_deep_json)
ZOO_PLUGIN(zoo_deep_json)
