/* From a sentence to a tool: searched, chosen, and how that went. */
#include <stdint.h>
#include <string.h>

#include "serve/rest/call.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"
#include "toolrack/choose.h"
#include "toolrack/plan.h"

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

/* Whether the principal is shown a tool and may call it. */
static bool may_use(void *user, const struct toolrack_tool *tool) {
    const struct rest_request *request = user;
    return subset_has(&request->rest->subset, &request->principal, tool) &&
           call_has_scope(request, tool);
}

/* Who may use all tools is asked about none of them. */
static void set_principal(struct rest_request *request, struct toolrack_select_options *options) {
    options->principal = request->principal.id;
    options->shows = call_has_all(request) ? NULL : may_use;
    options->user = request;
}

void select_search(struct rest_request *request) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    set_principal(request, &options);
    options.text = rest_query(request, "text");
    options.limit = rest_query_number(request, "limit");
    options.explain = true;
    if (toolrack_search(request->rest->host, &options, &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_whole(request, text);
    }
}

/* The names of an array in the arena, NULL-terminated. NULL: out of memory. */
static const char **read_names(struct rest_request *request, yyjson_val *array) {
    size_t at;
    size_t count;
    yyjson_val *item;
    const char **names = arena_alloc(&request->arena, (yyjson_arr_size(array) + 1) * sizeof *names);
    if (names != NULL) {
        yyjson_arr_foreach (array, at, count, item) {
            names[at] = yyjson_get_str(item);
        }
        names[yyjson_arr_size(array)] = NULL;
    }
    return names;
}

void select_choose(struct rest_request *request) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    yyjson_val *context = yyjson_obj_get(request->json, "context");
    yyjson_val *tools = yyjson_obj_get(request->json, "tools");
    bool has_context = yyjson_is_obj(context);
    CLEANUP(freep) char *said = has_context ? yyjson_val_write(context, 0, NULL) : NULL;
    set_principal(request, &options);
    options.text = rest_text(request, "text");
    options.context = said;
    options.limit = rest_number(request, "limit");
    options.explain = yyjson_is_true(yyjson_obj_get(request->json, "explain"));
    options.tools = tools != NULL ? read_names(request, tools) : NULL;
    if ((has_context && said == NULL) || (tools != NULL && options.tools == NULL)) {
        rest_oom(request);
    } else if (toolrack_select(request->rest->host, &options, &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_whole(request, text);
    }
}

void select_plan(struct rest_request *request) {
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    yyjson_val *context = yyjson_obj_get(request->json, "context");
    yyjson_val *tools = yyjson_obj_get(request->json, "tools");
    bool has_context = yyjson_is_obj(context);
    CLEANUP(freep) char *said = has_context ? yyjson_val_write(context, 0, NULL) : NULL;
    set_principal(request, &options);
    options.text = rest_text(request, "text");
    options.context = said;
    options.tools = tools != NULL ? read_names(request, tools) : NULL;
    if ((has_context && said == NULL) || (tools != NULL && options.tools == NULL)) {
        rest_oom(request);
    } else if (toolrack_plan_make(request->rest->host, &options, &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_whole(request, text);
    }
}

/* Of administrators any choice is taken, of others their own. */
static const char *owner_of(const struct rest_request *request) {
    return request->principal.admin ? NULL : request->principal.id;
}

/* Whether a principal may say that a tool is right: one that it is not shown is unknown to it, and
 * one that it may not call gets no word of it. If not, the request has been answered. */
static bool may_name(struct rest_request *request, const char *name) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool =
            subset_find(&request->rest->subset, &request->principal, name, NULL);
    if (tool == NULL || !rest_shows(request, tool)) {
        rest_fail_unknown(request, name);
        return false;
    }
    if (!call_has_scope(request, tool)) {
        rest_refuse_scope(request, toolrack_tool_permission(tool));
        return false;
    }
    return true;
}

void select_note(struct rest_request *request) {
    struct toolrack *host = request->rest->host;
    const char *id = rest_part(request, "id");
    yyjson_val *worked = yyjson_obj_get(request->json, "worked");
    const char *tool = rest_text(request, "tool");
    int code = 0;
    if (worked == NULL && tool == NULL) {
        rest_refuse(request, TOOLRACK_E_INVALID, "nothing is said; send worked or tool");
        return;
    }
    if (tool != NULL && tool[0] != '\0' && !may_name(request, tool)) {
        return;
    }
    if (tool != NULL) {
        code = toolrack_select_feedback(host, owner_of(request), id, tool[0] != '\0' ? tool : NULL,
                                        rest_err(request));
    }
    if (code == 0 && worked != NULL) {
        code = toolrack_select_worked(host, owner_of(request), id, yyjson_is_true(worked),
                                      rest_err(request));
    }
    if (code < 0) {
        rest_fail(request);
        return;
    }
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "id", id);
    if (worked != NULL) {
        (void)yyjson_mut_obj_add_bool(request->doc, root, "worked", yyjson_is_true(worked));
    }
    if (tool != NULL) {
        json_add_text(request->doc, root, "tool", tool[0] != '\0' ? tool : NULL);
    }
    rest_answer(request, root);
}
