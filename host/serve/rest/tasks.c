/* Tasks: each principal's own, and all for administrators. */
#include "toolrack/serving.h"

#include "serve/rest/handlers.h"
#include "serve/rest/request.h"

static const char *owner_of(const struct rest_request *request) {
    return request->principal.admin ? NULL : request->principal.id;
}

void rest_tasks_list(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_tasks(request->rest->host, owner_of(request), &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, "tasks", text);
    }
}

static void show(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_task_get(request->rest->host, owner_of(request), rest_part(request, "id"), &text,
                          rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_whole(request, text);
    }
}

void rest_tasks_show(struct rest_request *request) {
    show(request);
}

/* A task that has ended is of no use to its owner but for its result, which takes room. */
static void remove_ended(struct rest_request *request) {
    const char *id = rest_part(request, "id");
    if (toolrack_task_remove(request->rest->host, owner_of(request), id, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    yyjson_mut_val *root = rest_object(request);
    json_add_text(request->doc, root, "taskId", id);
    (void)yyjson_mut_obj_add_bool(request->doc, root, "removed", true);
    rest_answer(request, root);
}

void rest_tasks_delete(struct rest_request *request) {
    int code = toolrack_task_cancel(request->rest->host, owner_of(request),
                                    rest_part(request, "id"), rest_err(request));
    if (code == TOOLRACK_E_EXISTS) {
        remove_ended(request);
    } else if (code < 0) {
        rest_fail(request);
    } else {
        show(request);
    }
}
