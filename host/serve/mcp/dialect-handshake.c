/* dialect-handshake.c - revisions 2024-11-05 to 2025-11-25: a client introduces itself once, and
 * the server remembers it: for a pipe, or for a session of HTTP. */
#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/about.h"
#include "serve/mcp/ask.h"
#include "serve/mcp/clients.h"
#include "serve/mcp/methods.h"
#include "serve/mcp/progress.h"
#include "serve/mcp/request.h"

static void begin_result(struct buf *out, const char *type) {
    (void)out;
    (void)type;
}

static void end_result(struct buf *out) {
    (void)out;
}

static int status(enum rpc_code code) {
    return code == RPC_PARSE_ERROR || code == RPC_INVALID_REQUEST ? 400 : 200;
}

#define DIALECT(name, own_traits)                                                         \
    {                                                                                     \
        .version = (name), .traits = (own_traits), .no_resource = RPC_RESOURCE_NOT_FOUND, \
        .begin_result = begin_result, .end_result = end_result, .status = status,         \
        .input = ask_input                                                                \
    }

const struct dialect dialects_handshake[DIALECTS_HANDSHAKE_COUNT] = {
        DIALECT("2025-11-25", DIALECT_NOTES | DIALECT_STRUCTURED | DIALECT_PRIMES |
                                      DIALECT_URL_MODE | DIALECT_ICONS),
        DIALECT("2025-06-18", DIALECT_NOTES | DIALECT_STRUCTURED),
        DIALECT("2025-03-26", DIALECT_NOTES),
        DIALECT("2024-11-05", 0),
};

const struct dialect *dialect_find(const char *version) {
    for (size_t i = 0; i < DIALECTS_HANDSHAKE_COUNT; i++) {
        if (strcmp(dialects_handshake[i].version, version) == 0) {
            return &dialects_handshake[i];
        }
    }
    return NULL;
}

struct client *handshake_client(struct request *request, const char *id) {
    const char *session = request->headers->session;
    const char *version = request->headers->version;
    request->id = id;
    request->id_length = id != NULL ? strlen(id) : 0;
    request->dialect = &dialects_handshake[0];
    if (version != NULL && dialect_find(version) == NULL) {
        request_fail(request, 400, RPC_INVALID_REQUEST, NULL,
                     "the header MCP-Protocol-Version names a version that is not supported: "
                     "'%.64s'; send the one that the answer to initialize has",
                     version);
        return NULL;
    }
    if (session == NULL) {
        request_fail(request, 400, RPC_INVALID_REQUEST, NULL,
                     "the header Mcp-Session-Id is missing: call initialize, and send the id that "
                     "its answer has; clients of %s name their version in _meta instead",
                     dialect_stateless.version);
        return NULL;
    }
    struct client *client = client_find(request->mcp, session, &request->principal);
    if (client == NULL) {
        request_fail(request, 404, RPC_NO_SESSION, NULL,
                     "the session has ended or never was: call initialize again");
    }
    return client;
}

/* What the client said of itself. @return false, and it is answered: there was no handshake. */
static bool take_client(struct request *request, const struct rpc_message *message,
                        const struct method *method) {
    struct client *client = request->client;
    lock_take(&client->lock);
    const struct dialect *dialect = client->dialect;
    /* Questions go to the client in the stream of the request that needs them. */
    request->capabilities = client->capabilities & (request->no_events ? CAPABILITY_TASKS : ~0u);
    request->log_level = client->log_level;
    lock_release(&client->lock);
    request->dialect = dialect != NULL ? dialect : &dialects_handshake[0];
    if (dialect == NULL && (method == NULL || (method->traits & METHOD_BEFORE) == 0)) {
        request_fail(request, 0, RPC_INVALID_REQUEST, NULL,
                     "%s before initialize: call initialize first, or name protocol version %s in "
                     "_meta",
                     message->method, dialect_stateless.version);
        return false;
    }
    return true;
}

void handshake_request(struct request *request, const struct rpc_message *message) {
    const struct method *method = method_find(message->method, METHOD_HANDSHAKE);
    bool begins = method != NULL && method->run == initialize;
    if (request->headers != NULL) {
        CLEANUP(client_unrefp)
        struct client *session = begins ? client_create(request->mcp, &request->principal, false)
                                        : handshake_client(request, message->id);
        if (session == NULL) {
            if (begins) {
                request_oom(request);
            }
            return;
        }
        if (!request_register(request, session, message)) {
            return;
        }
    }
    if (!take_client(request, message, method)) {
        return;
    }
    const char *problem = NULL;
    yyjson_val *meta = yyjson_obj_get(message->params, "_meta");
    request_take_trace(request, meta);
    if (!progress_begin(request, meta, &problem)) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "%s",
                     problem != NULL ? problem : "the server is out of memory");
    } else if (method == NULL) {
        request_fail(request, 0, RPC_METHOD_NOT_FOUND, NULL, "unknown method: %s", message->method);
    } else {
        method->run(request, message->params);
    }
}

void handshake_notification(struct request *request, const struct rpc_message *message) {
    /* notifications/initialized needs nothing, and unknown ones are ignored. */
    (void)request;
    (void)message;
}

void initialize(struct request *request, yyjson_val *params) {
    const char *version = rpc_string(params, "protocolVersion");
    if (version == NULL) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "params.protocolVersion must be a string, such as \"%s\"",
                     dialects_handshake[0].version);
        return;
    }
    /* An unknown version, and a newer one, is negotiated down. */
    const struct dialect *dialect = dialect_find(version);
    if (dialect == NULL) {
        dialect = &dialects_handshake[0];
    }
    struct client *client = request->client;
    unsigned offered = about_offered(request->mcp);
    lock_take(&client->lock);
    client->dialect = dialect;
    client->offered = offered;
    client->capabilities = capabilities_read(yyjson_obj_get(params, "capabilities"));
    lock_release(&client->lock);
    request->dialect = dialect;
    if (!client->is_pipe && !client_list(client)) {
        request_fail(request, 503, RPC_INTERNAL_ERROR, NULL,
                     "the server has as many sessions as it may have; try again later");
        return;
    }
    request->new_session = client->is_pipe ? NULL : client->secret;
    struct buf *out = request_result(request);
    rpc_add_string(out, "protocolVersion", dialect->version);
    rpc_add_member(out, "capabilities");
    about_add_capabilities(out, offered, dialect);
    rpc_add_member(out, "serverInfo");
    about_add_server(out, dialect);
    about_add_instructions(out, request->mcp);
    request_complete(request);
}
