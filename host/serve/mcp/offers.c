/* offers.c - see offers.h. */
#include "serve/mcp/offers.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/object.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/request.h"
#include "serve/mcp/result.h"
#include "serve/mcp/scope.h"
#include "serve/mcp/shape.h"
#include "serve/mcp/submit.h"

CLEANUP_DEFINE(struct toolrack_error, toolrack_error_free)

/* No plugin has it. */
static void refuse_unknown(struct request *request) {
    const struct offers *offers = request->offers;
    CLEANUP(buf_finish) struct buf data = BUF_INIT;
    if (offers->what == TOOLRACK_OFFER_PROMPT && offers->near != NULL) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "unknown prompt: %s; did you mean %s?",
                     offers->subject, offers->near);
        return;
    }
    if (offers->what == TOOLRACK_OFFER_PROMPT) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "unknown prompt: %s; prompts/list has those that are there", offers->subject);
        return;
    }
    buf_add_char(&data, '{');
    rpc_add_string(&data, "uri", offers->subject);
    buf_add_char(&data, '}');
    if (data.failed) {
        request_oom(request);
        return;
    }
    request_fail(request, 0, request->dialect->no_resource, data.data,
                 "unknown resource: %s; resources/list and resources/templates/list have those "
                 "that are there",
                 offers->subject);
}

static void fail(struct request *request, const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    switch (toolrack_error_code(err)) {
    case TOOLRACK_E_INPUT_REQUIRED: mrtr_ask(request); return;
    case TOOLRACK_E_NOT_FOUND: refuse_unknown(request); return;
    case TOOLRACK_E_NO_MEMORY: request_oom(request); return;
    default: break;
    }
    if (mrtr_refuse(request)) {
        return;
    }
    bool is_wrong = toolrack_error_code(err) == TOOLRACK_E_INVALID_ARGUMENTS;
    result_add_reason(&words, &request->principal, err);
    request_fail(request, 0, is_wrong ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR, NULL, "%s",
                 words.failed ? "the server is out of memory" : words.data);
}

static void end(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct request *request = user;
    OBJECT_CHECK(request, REQUEST_MAGIC);
    if (result != NULL) {
        request->offers->end(request, result);
    } else if (request->offers->fail != NULL) {
        request->offers->fail(request);
    } else {
        if (request->offers->refused != NULL) {
            request->offers->refused(request);
        }
        fail(request, err);
    }
    toolrack_result_free(result);
    request_unref(request);
}

void offers_ask(struct request *request, const struct offers *offers) {
    struct toolrack_call_options options;
    CLEANUP(toolrack_error_freep) struct toolrack_error *err = toolrack_error_create();
    struct toolrack_call *call = NULL;
    struct offers *kept = arena_alloc(&request->arena, sizeof *kept);
    submit_options(request, &options);
    options.deadline_ms = offers->deadline_ms;
    if (!offers->asks) {
        options.input = NULL; /* the protocol has no way to ask here */
    }
    if (kept == NULL || (!offers->for_all && !scope_plugins(request->mcp, &request->principal,
                                                            &request->arena, &options.plugins))) {
        request_oom(request);
        return;
    }
    *kept = *offers;
    request->offers = kept;
    (void)request_ref(request); /* end()'s */
    /* What is only asked on the way to something else cannot be cancelled: the request has one call
     * at a time. */
    bool is_way = offers->fail != NULL;
    int code = toolrack_offer_submit(request->mcp->host, offers->what, offers->arguments, &options,
                                     end, request, is_way ? NULL : &call, err);
    if (code < 0) {
        end(request, NULL, err);
    } else if (!is_way) {
        request_set_call(request, call);
    }
}

void offers_add(struct request *request, const struct toolrack_result *result) {
    struct buf *out = &request->out;
    size_t length = 0;
    const char *json = toolrack_result_json(result, &length);
    if (shape_is_whole(request->dialect)) {
        bool is_next = length > 2 && out->length > 0 && out->data[out->length - 1] != '{';
        buf_add(out, ",", is_next);
        buf_add(out, json + 1, length - 2);
        return;
    }
    yyjson_doc *doc = yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW);
    out->failed = out->failed || doc == NULL;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (yyjson_doc_get_root(doc), at, count, key, value) {
        rpc_add_member(out, yyjson_get_str(key));
        shape_add(out, request->dialect, value);
    }
    yyjson_doc_free(doc);
}

bool offers_check_scope(struct request *request, const char *what) {
    if ((request->principal.permissions & (1u << TOOLRACK_PERMISSION_SAFE)) != 0) {
        return true;
    }
    request_refuse_scope(request, what, TOOLRACK_PERMISSION_SAFE);
    return false;
}
