/* Plans before they run: POST /api/plans/check. */
#include "serve/plans.h"

#include "base/cleanup.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)

/* The body is the plan as it is, so that lines are those of the client's text. */
void rest_plans_check(struct rest_request *request) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    struct buf *out = &request->out;
    size_t depth = 0;
    size_t width = 0;
    if (plans_open(&request->rest->subset, &request->principal, request->body, request->body_length,
                   &findings, &plan, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    if (plan != NULL) {
        toolrack_plan_size(plan, &depth, &width);
    }
    buf_printf(out, "{\"runs\":%s,\"nodes\":%zu,\"depth\":%zu,\"width\":%zu,\"findings\":",
               plan != NULL ? "true" : "false", plan != NULL ? toolrack_plan_count(plan) : 0, depth,
               width);
    plans_add_findings(out, &request->principal, findings, true);
    buf_add_char(out, '}');
    if (out->failed) {
        rest_oom(request);
    } else {
        rest_answer_json(request, 200, out->data, out->length, NULL, NULL);
    }
}
