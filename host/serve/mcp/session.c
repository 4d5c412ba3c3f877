/* session.c - what HTTP alone has: the stream and the end of a session, clients that leave. */
#include <stdint.h>

#include "base/cleanup.h"
#include "base/object.h"
#include "serve/mcp/clients.h"
#include "serve/mcp/request.h"

/* A request of a session without a message; NULL: it is answered. The session is a reference. */
static struct request *receive(struct mcp *mcp, const struct principal *principal,
                               const struct mcp_headers *headers, struct exchange *exchange,
                               struct client **ret_client) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    struct request *request = request_create(mcp, principal, headers, exchange);
    if (request == NULL) {
        exchange->calls->finish(exchange, &(struct exchange_answer){.status = 500});
        return NULL;
    }
    *ret_client = handshake_client(request, NULL);
    if (*ret_client != NULL) {
        return request;
    }
    request_unref(request);
    return NULL;
}

/* Take the place of the stream that belongs to no request. */
static void leave_stream(struct request *request) {
    struct client *client = request->client;
    lock_take(&client->lock);
    bool is_its = client->stream == request;
    if (is_its) {
        client->stream = NULL;
    }
    lock_release(&client->lock);
    if (is_its) {
        request_unref(request);
    }
}

static void take_stream(struct client *client, struct request *request) {
    lock_take(&client->lock);
    struct request *before = client->stream;
    client->stream = request_ref(request);
    client->streamed = true;
    lock_release(&client->lock);
    if (before != NULL) {
        /* The client came back, perhaps before the loss of its last stream was noticed. */
        request_end(before, 200);
        request_unref(before);
    }
    if (request_is_over(request)) {
        leave_stream(request); /* the client has left already */
    }
}

/* The client comes back for the rest of the stream of a request. */
static void resume(struct client *client, struct request *get, uint64_t stream, uint64_t after) {
    struct request *request = request_of_stream(client, stream);
    bool resumes = request != NULL && request_resume(request, get, after);
    request_unref(request);
    if (!resumes) {
        /* It was answered meanwhile: the answer is the last event. */
        if (!replay_has(&client->replay, stream, after)) {
            /* A client that finds an empty stream comes back for ever; after 405 it does not. */
            request_fail(get, 405, RPC_INVALID_REQUEST, NULL,
                         "nothing is left of this stream: its request was answered or cancelled");
            return;
        }
        request_register_stream(get, client);
        request_open(get);
        request_replay(get, stream, after);
        request_end(get, 200);
    }
}

void mcp_get(struct mcp *mcp, const struct principal *principal, const struct mcp_headers *headers,
             struct exchange *exchange) {
    struct client *client = NULL;
    struct request *request = receive(mcp, principal, headers, exchange, &client);
    if (request == NULL) {
        return;
    }
    uint64_t stream = REPLAY_OWN;
    uint64_t after = UINT64_MAX;
    if (headers->last_event_id != NULL) {
        (void)replay_read_id(headers->last_event_id, &stream, &after);
    }
    request->headers = NULL;
    lock_take(&client->lock);
    request->dialect = client->dialect;
    lock_release(&client->lock);
    if (stream != REPLAY_OWN) {
        resume(client, request, stream, after);
    } else {
        request->at_end = leave_stream;
        request_register_stream(request, client);
        request_open(request);
        request_replay(request, REPLAY_OWN, after);
        take_stream(client, request);
    }
    request_unref(request);
    client_unref(client);
}

static void end_session(struct client *client) {
    if (client_unlist(client)) {
        client_gone(client);
        requests_cancel(client->mcp, client);
    }
}

void mcp_delete(struct mcp *mcp, const struct principal *principal,
                const struct mcp_headers *headers, struct exchange *exchange) {
    struct client *client = NULL;
    struct request *request = receive(mcp, principal, headers, exchange, &client);
    if (request != NULL) {
        end_session(client);
        request_end(request, 204);
        request_unref(request);
        client_unref(client);
    }
}
