/* call.h - what a call is made with, and what it gives. */
#pragma once

#include "base/buf.h"
#include "toolrack/toolrack.h"

struct rest_request;

/** Whether the principal may call tools of the tool's permission at all. */
bool call_has_scope(const struct rest_request *request, const struct toolrack_tool *tool);

/** Whether the principal is shown all tools, and may call any. */
bool call_has_all(const struct rest_request *request);

/** What every call of a request is made with; `user` is to be set. */
void call_options(struct rest_request *request, struct toolrack_call_options *ret);
/** Nobody is asked: `approve` of these options. */
int call_approve(void *user, const struct toolrack_approval_request *asked);
/** `renewed` of the options, with the request as `user`. */
struct toolrack_tool *call_renewed(void *user);

/** {"result": ..., "duration_ns": ...} */
void call_write_result(struct buf *out, const struct toolrack_result *result);
