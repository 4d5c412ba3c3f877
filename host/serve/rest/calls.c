/* POST /api/tools/{name}/call: one call, from the request to its result; or to a task.
 *
 * The call runs on a thread of the host. A client that takes an event stream gets progress and log
 * lines of the tool before the result. */
#include <sodium.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/object.h"
#include "serve/rest/call.h"
#include "serve/rest/handlers.h"
#include "serve/rest/job.h"
#include "serve/rest/request.h"
#include "serve/rest/told.h"
#include "toolrack/serving.h"

/* ------------------------------------------------------------------- the answer */

static void end_call(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct rest_request *request = user;
    OBJECT_CHECK(request, REST_REQUEST_MAGIC);
    told_end(request);
    if (result == NULL) {
        rest_fail_of(request, err);
    } else {
        call_write_result(&request->out, result);
        if (request->out.failed) {
            rest_oom_done(request);
        } else {
            rest_answer_json(request, 200, request->out.data, request->out.length, NULL, NULL);
        }
    }
    toolrack_result_free(result);
    rest_request_unref(request);
}

/* ------------------------------------------------------------------- the call */

/* The handle of a call that was submitted. The client may have left before it was there. */
static void take_call(struct rest_request *request, struct toolrack_call *call) {
    lock_take(&request->lock);
    request->call = call;
    bool is_gone = request->gone;
    lock_release(&request->lock);
    if (is_gone) {
        toolrack_cancel(call);
    }
}

static void submit(struct rest_request *request) {
    struct toolrack_call_options options;
    struct toolrack_call *call = NULL;
    call_options(request, &options);
    options.renewed = call_renewed;
    options.user = request;
    if (request->prefers_events && !told_begin(request, &options)) {
        rest_oom(request);
        return;
    }
    (void)rest_request_ref(request); /* end_call()'s */
    int code = toolrack_submit_tool(request->rest->host, request->tool, request->body,
                                    request->body_length, &options, end_call, request, &call,
                                    rest_err(request));
    if (code < 0) {
        end_call(request, NULL, request->err);
    } else {
        take_call(request, call);
    }
}

/* A call of a disabled tool: only by its name, and not by a reference, the host refuses it, in its
 * words. */
static void submit_by_name(struct rest_request *request, const char *name) {
    struct toolrack_call_options options;
    struct toolrack_call *call = NULL;
    call_options(request, &options);
    options.user = request;
    (void)rest_request_ref(request); /* end_call()'s */
    if (toolrack_submit(request->rest->host, name, request->body, &options, end_call, request,
                        &call, rest_err(request)) < 0) {
        end_call(request, NULL, request->err);
    } else {
        take_call(request, call);
    }
}

/* ------------------------------------------------------------------- as a task */

/* On a thread that may wait for the store. What the arguments refuse needs no task: the call is
 * made, and refused, as without the preference. */
static void begin_task(struct work *work) {
    struct rest_request *request =
            (struct rest_request *)((char *)work - offsetof(struct rest_request, work));
    if (toolrack_arguments_check(request->tool, request->body, request->body_length, NULL) < 0) {
        submit(request);
    } else {
        rest_job_begin(request);
    }
    rest_request_unref(request);
}

static void submit_as_task(struct rest_request *request) {
    /* The transport has its body back before the call begins. */
    const char *body = request->body != NULL ? request->body : "";
    request->body = arena_copy(&request->arena, body, request->body_length);
    request->work.run = begin_task;
    (void)rest_request_ref(request);
    if (request->body == NULL || !workers_add(&request->rest->store, &request->work)) {
        rest_request_unref(request);
        rest_oom(request);
    }
}

/* Where the next of a list begins; a text in quotes may have commas. */
static const char *next_of(const char *at) {
    for (bool is_quoted = false; *at != '\0' && (is_quoted || *at != ','); at++) {
        if (is_quoted && at[0] == '\\' && at[1] != '\0') {
            at++;
        } else if (*at == '"') {
            is_quoted = !is_quoted;
        }
    }
    return at + (*at == ',');
}

/* Whether a Prefer header (RFC 7240) has a preference. */
static bool prefers(const char *list, const char *wanted) {
    size_t length = strlen(wanted);
    for (const char *at = list != NULL ? list : ""; *at != '\0'; at = next_of(at)) {
        at += strspn(at, " \t");
        if (strcspn(at, " \t,;=") == length && strncasecmp(at, wanted, length) == 0) {
            return true;
        }
    }
    return false;
}

void call_tool(struct rest_request *request) {
    struct rest *rest = request->rest;
    const char *name = rest_part(request, "name");
    request->tool = subset_find(&rest->subset, &request->principal, name, NULL);
    if (request->tool == NULL) {
        rest_fail_unknown(request, name);
    } else if (!call_has_scope(request, request->tool)) {
        rest_refuse_scope(request, toolrack_tool_permission(request->tool));
    } else if (!toolrack_tool_enabled(request->tool)) {
        submit_by_name(request, name);
    } else if (prefers(request->prefer, "respond-async")) {
        submit_as_task(request);
    } else {
        submit(request);
    }
}

/* ------------------------------------------------------------- a model's message */

static void leave_turn(struct rest_request *request) {
    toolrack_cancel_conversation(request->rest->host, request->more);
}

/* A conversation that no other request has, so that it can be ended when the client leaves: the id
 * of a request will not do, since clients choose it. NULL: out of memory. */
static char *make_conversation(struct rest_request *request) {
    unsigned char bits[16];
    char digits[2 * sizeof bits + 1];
    randombytes_buf(bits, sizeof bits);
    (void)sodium_bin2hex(digits, sizeof digits, bits, sizeof bits);
    return arena_printf(&request->arena, "rest:%s", digits);
}

void call_message(struct rest_request *request) {
    struct toolrack_call_options options;
    struct toolrack_export_options offered = TOOLRACK_EXPORT_OPTIONS_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    enum toolrack_format format;
    /* The calls of a message that name tools cannot be told apart before they are made. */
    if (!call_has_all(request)) {
        rest_refuse(request, TOOLRACK_E_PERMISSION_DENIED,
                    "the token is for a part of the tools; call them one by one, by POST "
                    "/api/tools/NAME/call");
        return;
    }
    if (toolrack_format_find(rest_query(request, "format"), &format, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    call_options(request, &options);
    options.model = rest_query(request, "model");
    if (rest_query(request, "allow") != NULL) {
        offered.allow = tools_named(request, rest_query(request, "allow"));
        if (offered.allow == NULL) {
            rest_oom(request);
            return;
        }
        options.offered = &offered;
    }
    if (options.conversation == NULL) {
        request->more = make_conversation(request);
        options.conversation = request->more;
        lock_take(&request->lock);
        request->leave = request->more != NULL ? leave_turn : NULL;
        lock_release(&request->lock);
    }
    if (toolrack_answer(request->rest->host, format, request->body, request->body_length, &options,
                        &text, rest_err(request)) < 0) {
        rest_fail(request);
    } else {
        rest_answer_text(request, "messages", text);
    }
}
