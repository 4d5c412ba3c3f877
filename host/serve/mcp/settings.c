/* settings.c - see settings.h. */
#include "serve/mcp/settings.h"

#include "base/error.h"
#include "serve/mcp/rpc.h"
#include "toolrack/serving.h"

static uint32_t number_of(yyjson_val *object, const char *key) {
    return (uint32_t)yyjson_get_uint(yyjson_obj_get(object, key));
}

int settings_read(struct toolrack *host, struct settings *ret, struct toolrack_error *err) {
    struct toolrack_text *text = NULL;
    size_t length = 0;
    if (toolrack_serving(host, &text, NULL) < 0) {
        return error_oom(err);
    }
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    toolrack_text_unref(text);
    if (doc == NULL) {
        return error_oom(err);
    }
    yyjson_val *serve = yyjson_doc_get_root(doc);
    yyjson_val *tasks = yyjson_obj_get(serve, "tasks");
    yyjson_val *limits = yyjson_obj_get(serve, "limits");
    yyjson_val *scopes = yyjson_obj_get(yyjson_obj_get(serve, "oauth"), "scopes");
    *ret = (struct settings){
            .doc = doc,
            .instructions = rpc_string(serve, "instructions"),
            .scopes = {rpc_string(scopes, "safe"), rpc_string(scopes, "confirm"),
                       rpc_string(scopes, "dangerous")},
            .sessions_max = number_of(limits, "sessions"),
            .session_idle_s = number_of(limits, "session_idle_s"),
            .questions_max = number_of(limits, "questions"),
            .search = yyjson_equals_str(yyjson_obj_get(serve, "expose"), "search"),
            .pinned = yyjson_obj_get(serve, "pinned"),
            .profiles = yyjson_obj_get(serve, "profiles"),
            .approves = yyjson_equals_str(yyjson_obj_get(serve, "elicitation"), "approve"),
            .task_after_ms = number_of(tasks, "after_ms"),
            .task_poll_ms = number_of(tasks, "poll_ms"),
            .task_tools = yyjson_obj_get(tasks, "tools"),
    };
    for (size_t i = 0; i < sizeof ret->scopes / sizeof ret->scopes[0]; i++) {
        if (ret->scopes[i] == NULL) { /* without OAuth no scope is asked for */
            ret->scopes[i] = "";
        }
    }
    return 0;
}

void settings_finish(struct settings *settings) {
    yyjson_doc_free(settings->doc);
}

bool settings_search(const struct settings *settings, const char *profile) {
    yyjson_val *lists = profile != NULL ? yyjson_obj_get(settings->profiles, profile) : NULL;
    yyjson_val *expose = yyjson_obj_get(lists, "expose");
    return expose != NULL ? yyjson_equals_str(expose, "search") : settings->search;
}

enum toolrack_task_mode settings_task_of(const struct settings *settings, const char *name,
                                         enum toolrack_task_mode mode) {
    yyjson_val *said = yyjson_obj_get(settings->task_tools, name);
    if (yyjson_equals_str(said, "never")) {
        return TOOLRACK_TASK_NEVER;
    }
    if (yyjson_equals_str(said, "always")) {
        return TOOLRACK_TASK_ALWAYS;
    }
    return said != NULL ? TOOLRACK_TASK_AUTO : mode;
}

enum toolrack_task_mode settings_task(const struct settings *settings,
                                      const struct toolrack_tool *tool) {
    return settings_task_of(settings, toolrack_tool_name(tool), toolrack_tool_task(tool));
}
