/* log.c - see log.h. */
#include "serve/mcp/log.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "serve/mcp/client.h"
#include "serve/mcp/level.h"
#include "serve/mcp/request.h"

static int level_of(enum toolrack_log_level level) {
    switch (level) {
    case TOOLRACK_LOG_DEBUG: return 0;
    case TOOLRACK_LOG_INFO: return 1;
    case TOOLRACK_LOG_WARNING: return 3;
    case TOOLRACK_LOG_ERROR: return 4;
    }
    return 1;
}

void log_report(void *user, enum toolrack_log_level level, const char *line) {
    struct request *request = user;
    int index = level_of(level);
    if (request->log_level == LEVEL_NONE || index < request->log_level) {
        return;
    }
    unsigned lines = atomic_fetch_add_explicit(&request->log_lines, 1, memory_order_relaxed);
    if (lines >= LOG_LINES_MAX) {
        return;
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"
                       "{\"level\":\"");
    buf_add_text(&out, level_name(index));
    buf_add_char(&out, '"');
    rpc_add_string(&out, "logger",
                   request->tool != NULL ? toolrack_tool_name(request->tool) : NULL);
    if (lines + 1 == LOG_LINES_MAX) {
        line = "the call logs more than 1000 lines; the others are left out";
    }
    text_add_valid(&text, line, strlen(line));
    rpc_add_member(&out, "data");
    buf_add_json_string(&out, text.data != NULL ? text.data : "", text.length);
    buf_add_text(&out, "}}");
    (void)request_send(request, &out);
}

void log_set_level(struct request *request, yyjson_val *params) {
    int level = level_find(rpc_string(params, "level"));
    if (level == LEVEL_NONE) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "level must be one of debug, info, notice, warning, error, critical, alert "
                     "and emergency");
        return;
    }
    struct client *client = request->client;
    lock_take(&client->lock);
    client->log_level = level;
    lock_release(&client->lock);
    (void)request_result(request);
    request_complete(request);
}
