#include "serve/rest/call.h"

#include "base/cleanup.h"
#include "base/object.h"
#include "serve/rest/request.h"

/* ------------------------------------------------------------------- which tool */

bool call_has_scope(const struct rest_request *request, const struct toolrack_tool *tool) {
    return (request->principal.permissions & (1u << toolrack_tool_permission(tool))) != 0;
}

bool call_has_all(const struct rest_request *request) {
    uint32_t all = (1u << TOOLRACK_PERMISSION_DANGEROUS << 1) - 1;
    return !subset_is_part(&request->rest->subset, &request->principal) &&
           (request->principal.permissions & all) == all;
}

/* The tool of a name that the principal may call: a reference; NULL: there is none. */
static struct toolrack_tool *find_called(struct rest_request *request, const char *name) {
    struct toolrack_tool *tool =
            subset_find(&request->rest->subset, &request->principal, name, NULL);
    if (tool != NULL && (!toolrack_tool_enabled(tool) || !call_has_scope(request, tool))) {
        toolrack_tool_unref(STEAL(tool));
    }
    return tool;
}

struct toolrack_tool *call_renewed(void *user) {
    struct rest_request *request = user;
    OBJECT_CHECK(request, REST_REQUEST_MAGIC);
    if (request->renewed) {
        return NULL;
    }
    request->renewed = true; /* the plugin of the new file is there to be called */
    return find_called(request, rest_part(request, "name"));
}

int call_approve(void *user, const struct toolrack_approval_request *asked) {
    (void)user;
    (void)asked;
    return TOOLRACK_APPROVAL_ASK_LATER; /* an administrator answers, at /api/approvals */
}

void call_options(struct rest_request *request, struct toolrack_call_options *ret) {
    *ret = (struct toolrack_call_options)TOOLRACK_CALL_OPTIONS_INIT;
    ret->deadline_ms = (uint32_t)rest_query_number(request, "timeout_ms");
    ret->caller = request->principal.id;
    ret->party = request->principal.party;
    ret->channel = "rest";
    ret->conversation = rest_query(request, "conversation");
    ret->trace = request->trace;
    ret->approve = call_approve;
}

void call_write_result(struct buf *out, const struct toolrack_result *result) {
    size_t length = 0;
    const char *json = toolrack_result_json(result, &length);
    buf_add_text(out, "{\"result\":");
    buf_add(out, json, length);
    buf_printf(out, ",\"duration_ns\":%llu",
               (unsigned long long)toolrack_result_duration_ns(result));
    const char *changed = toolrack_result_changed(result, &length);
    if (changed != NULL) {
        buf_add_text(out, ",\"changed\":");
        buf_add(out, changed, length);
    }
    buf_add_char(out, '}');
}
