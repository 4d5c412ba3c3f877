/* receive.c - a message that has arrived: what it is, of which era, and who handles it. */
#include <string.h>

#include "base/cleanup.h"
#include "base/object.h"
#include "serve/mcp/ask.h"
#include "serve/mcp/client.h"
#include "serve/mcp/meta.h"
#include "serve/mcp/request.h"
#include "toolrack/serving.h"

/* Whether a request is of the stateless era: it names its revision in `_meta`, or in the header
 * that revision or, without a session, an unknown one; server/discover is of no other era. A
 * handshake that names a newer revision is still a handshake. */
static bool is_stateless(const struct request *request, const struct rpc_message *message) {
    if (yyjson_obj_get(yyjson_obj_get(message->params, "_meta"), META_VERSION) != NULL ||
        strcmp(message->method, "server/discover") == 0) {
        return true;
    }
    const struct mcp_headers *headers = request->headers;
    if (headers == NULL || headers->version == NULL || strcmp(message->method, "initialize") == 0) {
        return false;
    }
    return strcmp(headers->version, dialect_stateless.version) == 0 ||
           (headers->session == NULL && dialect_find(headers->version) == NULL);
}

static void receive_request(struct request *request, struct client *pipe,
                            const struct rpc_message *message) {
    /* Errors before the dialect is known carry the id too. */
    request->id = message->id;
    request->id_length = message->id_length;
    bool stateless = is_stateless(request, message);
    if (stateless) {
        request->dialect = &dialect_stateless;
    }
    if (pipe != NULL && !request_register(request, pipe, message)) {
        return;
    }
    (stateless ? stateless_request : handshake_request)(request, message);
}

/* notifications/cancelled, of both eras: by the id of a request of the same client. */
static void cancel(struct request *request, struct client *client, yyjson_val *params) {
    size_t length = 0;
    yyjson_alc alc = arena_alc(&request->arena);
    const char *id = rpc_scalar(yyjson_obj_get(params, "requestId"), &alc, &length);
    struct request *cancelled = id != NULL ? request_find(request->mcp, client, id) : NULL;
    if (cancelled != NULL) {
        request_cancel(cancelled);
        request_unref(cancelled);
    }
}

static void receive_notification(struct request *request, struct client *client,
                                 const struct rpc_message *message) {
    if (strcmp(message->method, "notifications/cancelled") == 0 && client != NULL) {
        cancel(request, client, message->params);
    } else if (client != NULL) {
        request->client = client_ref(client);
        handshake_notification(request, message);
    }
    request_end(request, 202);
}

/* The session that a notification or a response belongs to, or the pipe: a new reference. NULL: to
 * none (`ret_answered`: and the exchange is finished). */
static struct client *find_client(struct request *request, struct client *pipe,
                                  bool *ret_answered) {
    *ret_answered = false;
    if (pipe != NULL) {
        return client_ref(pipe);
    }
    const char *version = request->headers->version;
    if (version != NULL && strcmp(version, dialect_stateless.version) == 0) {
        return NULL;
    }
    struct client *client = handshake_client(request, NULL);
    *ret_answered = client == NULL;
    return client;
}

static void receive_broken(struct request *request, const struct rpc_message *message) {
    request->id = message->id;
    request->id_length = message->id_length;
    request_fail(request, 400, message->code, NULL, "%s", message->problem);
}

/* False: the configuration does not have the principal's profile, and the message is refused. */
static bool check_profile(struct request *request, const struct rpc_message *message) {
    const char *profile = request->principal.profile;
    if (profile == NULL || toolrack_has_profile(request->mcp->host, profile)) {
        return true;
    }
    if (message->kind != RPC_RESPONSE) {
        request->id = message->id;
        request->id_length = message->id_length;
    }
    request_fail(request, 404, RPC_INVALID_REQUEST, NULL,
                 "the configuration has no profile of the name %.64s", profile);
    return false;
}

static void receive(struct request *request, struct client *pipe, char *text, size_t length) {
    struct rpc_message message;
    yyjson_alc alc = arena_alc(&request->arena);
    if (!rpc_read(text, length, &alc, &message)) {
        request_oom(request);
        return;
    }
    if (!check_profile(request, &message)) {
        return;
    }
    if (message.kind == RPC_REQUEST) {
        receive_request(request, pipe, &message);
        return;
    }
    if (message.kind == RPC_BROKEN) {
        receive_broken(request, &message);
        return;
    }
    bool is_answered;
    CLEANUP(client_unrefp) struct client *client = find_client(request, pipe, &is_answered);
    if (is_answered) {
        return;
    }
    if (message.kind == RPC_NOTIFICATION) {
        receive_notification(request, client, &message);
        return;
    }
    if (client != NULL && message.id != NULL) {
        ask_answer(client, &message);
    }
    request_end(request, 202);
}

static void receive_text(struct mcp *mcp, struct client *pipe, const struct principal *principal,
                         const struct mcp_headers *headers, char *text, size_t length,
                         struct exchange *exchange) {
    struct request *request = request_create(mcp, principal, headers, exchange);
    if (request == NULL) {
        exchange->calls->finish(exchange, &(struct exchange_answer){.status = 500});
        return;
    }
    receive(request, pipe, text, length);
    request->headers = NULL;
    request_unref(request);
}

void mcp_pipe_receive(struct mcp_pipe *pipe, char *text, size_t length, struct exchange *exchange) {
    struct client *client = (struct client *)pipe;
    OBJECT_CHECK(client, CLIENT_MAGIC);
    receive_text(client->mcp, client, &client->principal, NULL, text, length, exchange);
}

void mcp_post(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
              char *text, size_t length, struct exchange *exchange) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    receive_text(mcp, NULL, principal, headers, text, length, exchange);
}
