/* Tools as they are shown: one in full, in the formats of providers, recommended. */
#include "view/tool.h"

#include <string.h>

#include "serve/rest/call.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"
#include "toolrack/format.h"
#include "toolrack/records.h"
#include "toolrack/serving.h"
#include "view/failure.h"

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)
CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

void tools_show(struct rest_request *request) {
    struct rest *rest = request->rest;
    const char *name = rest_part(request, "name");
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = subset_find(&rest->subset, &request->principal, name, NULL);
    if (tool == NULL || !rest_shows(request, tool)) {
        rest_fail_unknown(request, name);
        return;
    }
    yyjson_mut_val *root = rest_object(request);
    view_add_tool_page(rest->host, request->doc, root, tool,
                       principal_knows_places(&request->principal));
    rest_answer(request, root);
}

/* ------------------------------------------------------------------- export */

const char **tools_named(struct rest_request *request, const char *allow) {
    struct rest *rest = request->rest;
    struct arena *arena = &request->arena;
    size_t count = 0;
    char *left = arena_copy(arena, allow, strlen(allow));
    const char **names = arena_alloc(arena, (strlen(allow) + 2) * sizeof *names);
    if (left == NULL || names == NULL) {
        return NULL;
    }
    while (left != NULL) {
        const char *name = strsep(&left, ",");
        name += strspn(name, " ");
        const char *selector;
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *shown =
                subset_find(&rest->subset, &request->principal, name, &selector);
        CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *there = toolrack_get(rest->host, name);
        if (name[0] != '\0' && (shown != NULL || there == NULL)) {
            names[count++] = selector;
        }
    }
    names[count] = NULL;
    return names;
}

/* Likewise the names of all tools that the principal is shown. */
static const char **select_shown(struct rest_request *request) {
    struct rest *rest = request->rest;
    struct arena *arena = &request->arena;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    size_t count = 0;
    if (toolrack_list(rest->host, NULL, &tools, NULL) < 0) {
        return NULL;
    }
    const char **names = arena_alloc(arena, (toolrack_tools_count(tools) + 1) * sizeof *names);
    for (size_t i = 0; names != NULL && i < toolrack_tools_count(tools); i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        const char *name = toolrack_tool_name(tool);
        const char *selector;
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *shown =
                subset_find(&rest->subset, &request->principal, name, &selector);
        /* Of several versions the one that its name means to the principal. */
        if (shown != NULL && toolrack_tool_uid(shown) == toolrack_tool_uid(tool)) {
            names[count] = arena_copy(arena, selector, strlen(selector));
            if (names[count++] == NULL) {
                return NULL;
            }
        }
    }
    if (names != NULL) {
        names[count] = NULL;
    }
    return names;
}

void tools_export(struct rest_request *request) {
    struct toolrack_export_options options = TOOLRACK_EXPORT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    enum toolrack_format format;
    const char *allow = rest_query(request, "allow");
    const char *profile = rest_query(request, "profile");
    if (toolrack_format_find(rest_part(request, "format"), &format, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    options.limit = (uint32_t)rest_query_number(request, "limit");
    options.budget = (uint32_t)rest_query_number(request, "budget");
    options.profile = profile;
    if (allow != NULL || subset_is_part(&request->rest->subset, &request->principal)) {
        options.allow = allow != NULL ? tools_named(request, allow) : select_shown(request);
        if (options.allow == NULL) {
            rest_oom(request);
            return;
        }
    } else if (profile == NULL) {
        options.profile = TOOLRACK_PROFILE_BASIC;
    }
    if (toolrack_export(request->rest->host, format, &options, &text, &report, rest_err(request)) <
        0) {
        rest_fail(request);
        return;
    }
    size_t lengths[2];
    const char *definitions = toolrack_text_data(text, &lengths[0]);
    const char *notes = toolrack_text_data(report, &lengths[1]);
    struct buf *out = &request->out;
    buf_add_text(out, "{\"definitions\":");
    buf_add(out, definitions, lengths[0]);
    buf_add_text(out, ",\"report\":");
    buf_add(out, notes, lengths[1]);
    buf_add_char(out, '}');
    if (out->failed) {
        rest_oom(request);
    } else {
        rest_answer_json(request, 200, out->data, out->length, NULL, NULL);
    }
}

/* ------------------------------------------------------------ recommendation */

/* Whether the principal is shown the tool of a row and may call it. */
static bool may_use(const struct rest_request *request, yyjson_val *row) {
    const struct rest *rest = request->rest;
    const char *name = yyjson_get_str(yyjson_obj_get(row, "tool"));
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = name != NULL ? toolrack_get(rest->host, name) : NULL;
    return tool != NULL && subset_has(&rest->subset, &request->principal, tool) &&
           (request->principal.permissions & (1u << toolrack_tool_permission(tool))) != 0;
}

void tools_recommend(struct rest_request *request) {
    struct toolrack_recommend_options options = TOOLRACK_RECOMMEND_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    uint64_t limit = rest_query_number(request, "limit");
    options.task = rest_query(request, "task");
    options.limit = call_has_all(request) ? limit : UINT32_MAX; /* those of others are left out */
    if (toolrack_recommend(request->rest->host, &options, &text, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read(text);
    yyjson_mut_val *root = rest_object(request);
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(request->doc, root, "recommendations");
    size_t at;
    size_t count;
    yyjson_val *row;
    size_t left = limit != 0 ? limit : 10;
    yyjson_arr_foreach (yyjson_doc_get_root(read), at, count, row) {
        if (left > 0 && may_use(request, row)) {
            (void)yyjson_mut_arr_append(array, yyjson_val_mut_copy(request->doc, row));
            left--;
        }
    }
    if (read == NULL) {
        rest_oom(request);
    } else {
        rest_answer(request, root);
    }
}

/* ------------------------------------------------------------------ settings */

/* One of the settings that a request has, each as the host keeps it; first the one that most
 * probably is refused. */
static int set_default(struct rest_request *request, const char *name) {
    yyjson_val *version = yyjson_obj_get(request->json, "default");
    const char *text = yyjson_get_str(version);
    return version == NULL ? 0
                           : toolrack_set_default(request->rest->host, name,
                                                  text != NULL && text[0] != '\0' ? text : NULL,
                                                  rest_who(request), rest_err(request));
}

static int set_priority(struct rest_request *request, const char *name) {
    yyjson_val *priority = yyjson_obj_get(request->json, "priority");
    return priority == NULL ? 0
                            : toolrack_set_priority(request->rest->host, name,
                                                    (int)yyjson_get_sint(priority),
                                                    rest_who(request), rest_err(request));
}

static int set_enabled(struct rest_request *request, const char *name) {
    yyjson_val *enabled = yyjson_obj_get(request->json, "enabled");
    return enabled == NULL
                   ? 0
                   : toolrack_set_enabled(request->rest->host, name, yyjson_is_true(enabled),
                                          rest_who(request), rest_err(request));
}

void tools_set(struct rest_request *request) {
    struct rest *rest = request->rest;
    const char *name = rest_part(request, "name");
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = subset_find(&rest->subset, &request->principal, name, NULL);
    if (tool == NULL) {
        rest_fail_unknown(request, name);
        return;
    }
    if (yyjson_obj_size(request->json) == 0) {
        rest_refuse(request, TOOLRACK_E_INVALID,
                    "nothing is to be set; send enabled, priority or default");
        return;
    }
    int code = set_default(request, name);
    code = code < 0 ? code : set_priority(request, name);
    code = code < 0 ? code : set_enabled(request, name);
    if (code < 0) {
        rest_fail_named(request, code, name);
        return;
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *now = toolrack_get(rest->host, name);
    yyjson_mut_val *root = rest_object(request);
    view_add_tool(request->doc, root, now != NULL ? now : tool);
    view_add_reached(rest->host, request->doc, root);
    rest_answer(request, root);
}
