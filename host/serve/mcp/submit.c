/* submit.c - see submit.h. */
#include "serve/mcp/submit.h"

#include "serve/mcp/client.h"
#include "serve/mcp/level.h"
#include "serve/mcp/log.h"
#include "serve/mcp/progress.h"
#include "serve/mcp/question.h"
#include "serve/mcp/request.h"

void submit_options(struct request *request, struct toolrack_call_options *ret) {
    *ret = (struct toolrack_call_options)TOOLRACK_CALL_OPTIONS_INIT;
    ret->caller = request->principal.id;
    ret->party = request->principal.party;
    ret->channel = "mcp";
    ret->trace = request->trace;
    if (request->client != NULL) {
        ret->conversation = request->client->id;
    }
    ret->user = request;
    if (request->progress != NULL) {
        ret->progress = progress_report;
        progress_watch(request);
    }
    ret->input = question_ask;
    ret->log = request->log_level != LEVEL_NONE ? log_report : NULL;
}
