/* session.c - what HTTP alone has: the stream and the end of a session, clients that leave. */
#include "base/cleanup.h"
#include "base/object.h"
#include "serve/mcp/clients.h"
#include "serve/mcp/request.h"

/* A request of a session without a message; NULL: it is answered. The session is a reference. */
static struct request *receive(struct mcp *mcp, const struct mcp_principal *principal,
                               const struct mcp_headers *headers, struct mcp_exchange *exchange,
                               struct client **ret_client) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    struct request *request = request_create(mcp, principal, headers, exchange);
    if (request == NULL) {
        exchange->calls->finish(exchange, &(struct mcp_answer){.status = 500});
        return NULL;
    }
    if (headers->session == NULL) {
        /* The methods GET and DELETE are those of sessions. */
        request_end(request, 405);
    } else if ((*ret_client = handshake_client(request, NULL)) != NULL) {
        return request;
    }
    request_unref(request);
    return NULL;
}

void mcp_get(struct mcp *mcp, const struct mcp_principal *principal,
             const struct mcp_headers *headers, struct mcp_exchange *exchange) {
    struct client *client = NULL;
    struct request *request = receive(mcp, principal, headers, exchange, &client);
    if (request == NULL) {
        return;
    }
    request_register_stream(request, client);
    lock_take(&client->lock);
    struct request *before = client->stream;
    client->stream = request_ref(request);
    lock_release(&client->lock);
    if (before != NULL) {
        /* The client came back, perhaps before the loss of its last stream was noticed. */
        request_end(before, 200);
        request_unref(before);
    }
    request->headers = NULL;
    request_open(request);
    request_unref(request);
    client_unref(client);
}

static void end_session(struct client *client) {
    if (client_unlist(client)) {
        client_gone(client);
        requests_cancel(client->mcp, client);
    }
}

void mcp_delete(struct mcp *mcp, const struct mcp_principal *principal,
                const struct mcp_headers *headers, struct mcp_exchange *exchange) {
    struct client *client = NULL;
    struct request *request = receive(mcp, principal, headers, exchange, &client);
    if (request != NULL) {
        end_session(client);
        request_end(request, 204);
        request_unref(request);
        client_unref(client);
    }
}
