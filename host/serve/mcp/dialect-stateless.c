/* dialect-stateless.c - revision 2026-07-28: each request stands alone. */
#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/about.h"
#include "serve/mcp/client.h"
#include "serve/mcp/headers.h"
#include "serve/mcp/level.h"
#include "serve/mcp/meta.h"
#include "serve/mcp/methods.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/progress.h"
#include "serve/mcp/request.h"

static void begin_result(struct buf *out, const char *type) {
    buf_add_text(out, "\"resultType\":\"");
    buf_add_text(out, type);
    buf_add_char(out, '"');
}

static void end_result(struct buf *out) {
    buf_add_text(out, ",\"_meta\":{\"" META_SERVER "\":");
    about_add_server(out, &dialect_stateless);
    buf_add_char(out, '}');
}

static int status(enum rpc_code code) {
    switch (code) {
    case RPC_METHOD_NOT_FOUND: return 404;
    case RPC_PARSE_ERROR:
    case RPC_INVALID_REQUEST:
    case RPC_HEADER_MISMATCH:
    case RPC_MISSING_CAPABILITY:
    case RPC_UNSUPPORTED_VERSION: return 400;
    default: return 200;
    }
}

const struct dialect dialect_stateless = {
        .version = "2026-07-28",
        .traits = DIALECT_STATELESS | DIALECT_NOTES | DIALECT_STRUCTURED | DIALECT_ANY_VALUE |
                  DIALECT_URL_MODE | DIALECT_ICONS,
        .no_resource = RPC_INVALID_PARAMS,
        .begin_result = begin_result,
        .end_result = end_result,
        .status = status,
        .input = mrtr_input,
};

static void refuse_version(struct request *request, const char *version) {
    CLEANUP(buf_finish) struct buf data = BUF_INIT;
    buf_add_text(&data, "{\"supported\":[\"");
    buf_add_text(&data, dialect_stateless.version);
    buf_add_text(&data, "\"]");
    rpc_add_string(&data, "requested", version);
    buf_add_char(&data, '}');
    if (data.failed) {
        request_oom(request);
        return;
    }
    request_fail(request, 400, RPC_UNSUPPORTED_VERSION, data.data,
                 "protocol version %s is not supported by requests that carry it in _meta; earlier "
                 "versions begin with initialize",
                 version);
}

/* What each request must say of its client. */
static bool read_meta(struct request *request, const struct rpc_message *message) {
    yyjson_val *meta = yyjson_obj_get(message->params, "_meta");
    yyjson_val *capabilities = yyjson_obj_get(meta, META_CAPABILITIES);
    yyjson_val *level = yyjson_obj_get(meta, META_LOG_LEVEL);
    const char *version = rpc_string(meta, META_VERSION);
    const char *header = request->headers != NULL ? request->headers->version : NULL;
    const char *problem = NULL;
    if (version == NULL) {
        request_fail(request, 400, RPC_INVALID_PARAMS, NULL,
                     "params._meta must have \"" META_VERSION "\", such as \"%s\"; a client of an "
                     "earlier version calls initialize first",
                     dialect_stateless.version);
        return false;
    }
    if (request->headers != NULL && (header == NULL || strcmp(header, version) != 0)) {
        request_fail(request, 400, RPC_HEADER_MISMATCH, NULL,
                     "the header MCP-Protocol-Version (%s) differs from \"" META_VERSION
                     "\" in _meta (%s)",
                     header != NULL ? header : "absent", version);
        return false;
    }
    if (strcmp(version, dialect_stateless.version) != 0) {
        refuse_version(request, version);
        return false;
    }
    if (!yyjson_is_obj(capabilities)) {
        request_fail(request, 400, RPC_INVALID_PARAMS, NULL,
                     "params._meta must have \"" META_CAPABILITIES "\", an object");
        return false;
    }
    request->capabilities = capabilities_read(capabilities);
    request_take_trace(request, meta);
    request->log_level = level_find(rpc_string(meta, META_LOG_LEVEL));
    if (level != NULL && request->log_level == LEVEL_NONE) {
        problem = "\"" META_LOG_LEVEL "\" in _meta must be one of debug, info, notice, warning, "
                  "error, critical, alert and emergency";
    }
    if (problem != NULL || !progress_begin(request, meta, &problem)) {
        request_fail(request, 400, RPC_INVALID_PARAMS, NULL, "%s",
                     problem != NULL ? problem : "the server is out of memory");
        return false;
    }
    return true;
}

void stateless_request(struct request *request, const struct rpc_message *message) {
    /* At a pipe it is registered with its client, whose id it is. */
    if (request->client == NULL && !request_register(request, NULL, message)) {
        return;
    }
    if (!read_meta(request, message)) {
        return;
    }
    const struct method *method = method_find(message->method, METHOD_STATELESS);
    if (request->headers != NULL && !headers_match(request, message, method)) {
        return;
    }
    if (method == NULL) {
        request_fail(request, 0, RPC_METHOD_NOT_FOUND, NULL, "unknown method: %s", message->method);
        return;
    }
    method->run(request, message->params);
}

void discover(struct request *request, yyjson_val *params) {
    (void)params;
    struct buf *out = request_result(request);
    rpc_add_member(out, "supportedVersions");
    buf_add_text(out, "[\"");
    buf_add_text(out, dialect_stateless.version);
    buf_add_text(out, "\"]");
    rpc_add_member(out, "capabilities");
    about_add_capabilities(out, about_offered(request->mcp), &dialect_stateless);
    about_add_instructions(out, request->mcp);
    buf_add_text(out, ",\"ttlMs\":60000,\"cacheScope\":\"public\"");
    request_complete(request);
}
