#include "api/builtin.h"

#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "toolrack/plugin.h"

/* Returns its arguments: shows what a model sends. */
static tr_status run_echo(struct tr_call *call, void *host) {
    (void)host;
    return tr_reply_json(call, tr_arguments(call));
}

static tr_status run_current_time(struct tr_call *call, void *host) {
    (void)host;
    char text[CLOCK_TEXT_ROOM];
    int64_t now_ms = clock_wall_ms();
    if (clock_wall_text(now_ms / 1000, text)[0] == '\0') {
        return tr_fail(call, TR_FAILED, NULL, "the system's clock shows no date");
    }
    (void)tr_put_object(call, NULL);
    (void)tr_put_string(call, "utc", text);
    (void)tr_put_i64(call, "unix_ms", now_ms);
    return tr_put_end(call);
}

/* As toolrack_list_info(), filtered by category or tag if the arguments have them. */
static tr_status run_list_tools(struct tr_call *call, void *host) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    struct toolrack_text *tools = NULL;
    struct toolrack_error err;
    filter.category = tr_get_string(call, "category", NULL);
    filter.tag = tr_get_string(call, "tag", NULL);
    if (toolrack_list_info(host, &filter, &tools, &err) < 0) {
        return tr_fail(call, TR_FAILED, NULL, "%s", err.message);
    }
    tr_status status = tr_reply_json(call, toolrack_text_data(tools, NULL));
    toolrack_text_unref(tools);
    return status;
}

const struct builtin builtins[] = {
        {"echo", run_echo},
        {"current_time", run_current_time},
        {"list_tools", run_list_tools},
};

const size_t builtin_count = ARRAY_LENGTH(builtins);
