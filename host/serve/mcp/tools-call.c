/* tools-call.c - tools/call: one call, from the message to its result.
 *
 * The call runs on a thread of the host, so any number of them at once. */
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/object.h"
#include "serve/mcp/approve.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/headers.h"
#include "serve/mcp/later.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/progress.h"
#include "serve/mcp/request.h"
#include "serve/mcp/result.h"
#include "serve/mcp/run-plan.h"
#include "serve/mcp/search.h"
#include "serve/mcp/submit.h"
#include "serve/mcp/task.h"
#include "serve/mcp/tools.h"
#include "serve/mcp/unknown.h"
#include "toolrack/choose.h"
#include "toolrack/format.h"

/* A call that cannot be made: an error of the protocol, and of call_tool a result, which
 * the model reads. */
TOOLRACK_PRINTF(2, 3)
static void refuse_tool(struct request *request, const char *format, ...) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (text.failed) {
        request_oom(request);
    } else if (!request->by_call_tool) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "%s", text.data);
    } else {
        struct buf *out = request_result(request);
        result_add_text(out, text.data, text.length);
        buf_add_text(out, ",\"isError\":true");
        request_complete(request);
    }
}

static void refuse_unknown(struct request *request, const char *name) {
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    unknown_tool_explain(request, name, request->by_call_tool ? "search_tools" : "tools/list",
                         &why);
    if (why.failed) {
        request_oom(request);
    } else {
        refuse_tool(request, "%s", why.data);
    }
}

/* The tool of that name among those that a principal with a part of the tools is shown: a
 * reference, or NULL. */
static struct toolrack_tool *find_shown(struct request *request, const char *name) {
    struct mcp *mcp = request->mcp;
    struct catalogue *catalogue = catalogue_get(mcp, &request->principal);
    const struct entry *entry = catalogue != NULL ? catalogue_find(catalogue, name) : NULL;
    struct toolrack_tool *tool = entry != NULL ? toolrack_get(mcp->host, entry->selector) : NULL;
    if (catalogue != NULL) {
        catalogue_release(mcp, catalogue);
    }
    if (tool != NULL && !catalogue_has(mcp, &request->principal, tool)) { /* changed meanwhile */
        toolrack_tool_unref(STEAL(tool));
    }
    return tool;
}

/* The tool of that name, if the principal is shown it and it is enabled: a reference, or NULL. */
static struct toolrack_tool *find_tool(struct request *request, const char *name) {
    struct mcp *mcp = request->mcp;
    struct toolrack_tool *tool = catalogue_is_part(mcp, &request->principal)
                                         ? find_shown(request, name)
                                         : toolrack_get(mcp->host, name);
    if (tool != NULL && !toolrack_tool_enabled(tool)) {
        toolrack_tool_unref(STEAL(tool));
    }
    return tool;
}

/* Whether the principal may call tools of the tool's permission at all. */
static bool has_scope(const struct request *request, const struct toolrack_tool *tool) {
    return (request->principal.permissions & (1u << toolrack_tool_permission(tool))) != 0;
}

/* The file of the tool was exchanged before the call began: the tool of that name, if it may be
 * called as the other one. Once a call: the plugin of the new file is there to be called. */
static struct toolrack_tool *find_renewed(void *user) {
    struct request *request = user;
    OBJECT_CHECK(request, REQUEST_MAGIC);
    struct toolrack_tool *tool =
            request->tool_before == NULL ? find_tool(request, request->called) : NULL;
    if (tool != NULL && !has_scope(request, tool)) {
        toolrack_tool_unref(STEAL(tool));
    }
    if (tool != NULL) {
        request->tool_before = request->tool;
        request->tool = toolrack_tool_ref(tool);
    }
    return tool;
}

/* Whether how a call ended says that the tool was right or wrong for what was wanted. */
static bool says_of_choice(const struct toolrack_result *result, const struct toolrack_error *err) {
    int code = result == NULL ? toolrack_error_code(err) : 0;
    return code == 0 || code == TOOLRACK_E_EXECUTION_FAILED || code == TOOLRACK_E_TIMEOUT ||
           code == TOOLRACK_E_INVALID_ARGUMENTS;
}

/* The choice that the call comes of learns how it went. That it is not known is no fault of the
 * call. */
static void note_choice(struct request *request, const struct toolrack_result *result,
                        const struct toolrack_error *err) {
    if (request->choice != NULL && principal_comes_again(&request->principal) &&
        says_of_choice(result, err)) {
        (void)toolrack_select_worked(request->mcp->host, request->principal.id, request->choice,
                                     result != NULL, NULL);
    }
}

static void end_call(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct request *request = user;
    OBJECT_CHECK(request, REQUEST_MAGIC);
    note_choice(request, result, err);
    approve_end(request, result == NULL && toolrack_error_code(err) == TOOLRACK_E_INPUT_REQUIRED);
    if (task_end(request, result, err)) {
        /* The request is answered. */
    } else if (result != NULL) {
        result_add(request_result(request), request->dialect, request->tool, result);
        request_complete(request);
    } else if (toolrack_error_code(err) == TOOLRACK_E_NOT_FOUND) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "%s", toolrack_error_message(err));
    } else if (toolrack_error_code(err) == TOOLRACK_E_INPUT_REQUIRED) {
        mrtr_ask(request);
    } else if (!mrtr_refuse(request)) {
        result_add_failure(request_result(request), &request->principal, request->tool, err);
        request_complete(request);
    }
    toolrack_result_free(result);
    request_unref(request);
}

static void report_progress(void *user, double done, double total, const char *message) {
    struct request *request = user;
    if (!task_progress(request, done, total, message) && request->progress != NULL) {
        progress_report(request, done, total, message);
    }
}

/* The arguments as JSON text in the arena. Clients write none as nothing, null and "". */
static const char *write_arguments(struct request *request, yyjson_val *arguments,
                                   size_t *ret_length) {
    *ret_length = 2;
    if (arguments == NULL || yyjson_is_null(arguments) || yyjson_equals_str(arguments, "")) {
        return "{}";
    }
    yyjson_alc alc = arena_alc(&request->arena);
    return yyjson_val_write_opts(arguments, YYJSON_WRITE_NOFLAG, &alc, ret_length, NULL);
}

static void submit(struct request *request) {
    struct toolrack_call_options options;
    submit_options(request, &options);
    task_watch(request);
    if (request->progress != NULL || request->task != NULL) {
        options.progress = report_progress;
    }
    options.approve = approve_call;
    options.renewed = find_renewed;
    options.tolerance =
            (uint64_t)toolrack_format_tolerance(request->mcp->host, TOOLRACK_FORMAT_MCP);
    struct toolrack_call *call = NULL;
    if (request->err == NULL) {
        request->err = toolrack_error_create();
    }
    request_open_later(request);
    (void)request_ref(request); /* end_call()'s */
    int code = toolrack_submit_tool(request->mcp->host, request->tool, request->arguments,
                                    request->arguments_length, &options, end_call, request, &call,
                                    request->err);
    if (code < 0) {
        end_call(request, NULL, request->err);
    } else if (!task_take_call(request, call)) {
        request_set_call(request, call);
    }
}

/* A call that is a task from its beginning. */
static void submit_task(struct request *request) {
    if (task_make_first(request)) {
        submit(request);
    }
}

/* Call a tool that is not one for searching. */
static void call_tool(struct request *request, yyjson_val *params, const char *name,
                      yyjson_val *arguments) {
    request->tool = find_tool(request, name);
    if (request->tool == NULL) {
        refuse_unknown(request, name);
        return;
    }
    if (!has_scope(request, request->tool)) {
        request_refuse_scope(request, "the tool", toolrack_tool_permission(request->tool));
        return;
    }
    request->called = arena_copy(&request->arena, name, strlen(name));
    /* Headers repeat the arguments of the tool that the message names. */
    if (!request->by_call_tool &&
        !headers_check_arguments(request, toolrack_tool_schema(request->tool), arguments)) {
        return;
    }
    request->arguments = write_arguments(request, arguments, &request->arguments_length);
    if (request->arguments == NULL || request->called == NULL) {
        request_oom(request);
    } else if (request->arguments[0] != '{') {
        refuse_tool(request, "%s must be an object",
                    request->by_call_tool ? "the arguments of the tool" : "params.arguments");
    } else if (mrtr_begin(request, params, "tools/call", toolrack_tool_name(request->tool),
                          request->arguments, request->arguments_length)) {
        if (task_is_due(request)) {
            later_run(request, submit_task);
        } else {
            submit(request);
        }
    }
}

/* call_tool: the call of the tool that it names. */
static void call_named(struct request *request, yyjson_val *params, yyjson_val *arguments) {
    CLEANUP(buf_finish) struct buf problem = BUF_INIT;
    const yyjson_alc alc = arena_alc(&request->arena);
    request->by_call_tool = true;
    if (search_tools_check(SEARCH_CALL, arguments, &alc, &problem)) {
        const char *choice = rpc_string(arguments, "choice");
        request->choice =
                choice != NULL ? arena_copy(&request->arena, choice, strlen(choice)) : NULL;
        call_tool(request, params, rpc_string(arguments, "name"),
                  rpc_object(yyjson_obj_get(arguments, "arguments"), &alc));
    } else if (problem.failed) {
        request_oom(request);
    } else {
        refuse_tool(request, "InvalidArguments: %s.", problem.data);
    }
}

void tools_call(struct request *request, yyjson_val *params) {
    const char *name = rpc_string(params, "name");
    const yyjson_alc alc = arena_alc(&request->arena);
    yyjson_val *arguments = rpc_object(yyjson_obj_get(params, "arguments"), &alc);
    if (name == NULL) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "params.name %s",
                     rpc_string_fault(params, "name"));
        return;
    }
    enum search_tool search = catalogue_is_search(request->mcp, &request->principal)
                                      ? search_tools_find(name)
                                      : SEARCH_NONE;
    switch (search) {
    case SEARCH_CALL: call_named(request, params, arguments); break;
    case SEARCH_RUN: run_plan_call(request, params, arguments); break;
    case SEARCH_SEARCH:
    case SEARCH_SELECT:
    case SEARCH_DESCRIBE: search_call(request, search, arguments); break;
    default: call_tool(request, params, name, arguments); break;
    }
}
