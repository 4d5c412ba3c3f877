/* request.c - see request.h. */
#include "serve/mcp/request.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/object.h"
#include "base/thread.h"
#include "base/traceparent.h"
#include "serve/mcp/client.h"
#include "serve/mcp/level.h"
#include "serve/mcp/meta.h"
#include "serve/principal.h"
#include "toolrack/serving.h"

/* Most memory that a request keeps for the next one. */
#define KEPT_OUT_MAX 65536u

static void init_request(struct request *request) {
    request->magic = REQUEST_MAGIC;
    lock_init(&request->lock);
    clock_cond_init(&request->changed);
}

static void destroy(struct request *request) {
    buf_finish(&request->out);
    toolrack_error_free(request->err);
    (void)pthread_cond_destroy(&request->changed);
    lock_finish(&request->lock);
    OBJECT_WIPE(request, REQUEST_MAGIC);
    free(request);
}

/* Empty what a request had, except for what init_request() made and the memory of `out`. */
static void reset(struct request *request) {
    request->exchange = NULL;
    request->headers = NULL;
    request->client = NULL;
    request->dialect = NULL;
    request->id = NULL;
    request->id_length = 0;
    request->capabilities = 0;
    request->log_level = LEVEL_NONE;
    atomic_store_explicit(&request->log_lines, 0, memory_order_relaxed);
    request->registered = false;
    request->was_live = false;
    request->answered = false;
    request->stream = REPLAY_OWN;
    request->call = NULL;
    request->trace = NULL;
    request->progress = NULL;
    request->before_answer = NULL;
    request->at_end = NULL;
    request->leave = NULL;
    request->grant = NULL;
    request->guard = (struct timer){0};
    request->look = NULL;
    request->tool = NULL;
    request->tool_before = NULL;
    request->called = NULL;
    request->new_session = NULL;
    request->mrtr = NULL;
    request->wanted = NULL;
    request->listen = NULL;
    request->opening = (struct timer){0};
    request->by_call_tool = false;
    request->choice = NULL;
    request->search = NULL;
    request->planned = NULL;
    request->offers = NULL;
    request->page = NULL;
    request->task = NULL;
    request->asked = NULL;
    request->approval = NULL;
    request->arguments = NULL;
    request->arguments_length = 0;
    arena_init(&request->arena, request->room, sizeof request->room);
}

/* The memory of a request that was released, best by this thread. NULL: there is none. Caller holds
 * mcp->lock. */
static struct request *take_free(struct mcp *mcp) {
    struct request **own = &mcp->free[thread_number() % SERVER_FREE_LISTS];
    for (size_t i = 0; *own == NULL && mcp->free_count > 0 && i < SERVER_FREE_LISTS; i++) {
        own = &mcp->free[i];
    }
    struct request *request = *own;
    if (request != NULL) {
        *own = request->free_next;
        mcp->free_count--;
    }
    return request;
}

/* There is a request less. */
static void forget(struct mcp *mcp) {
    LOCK_SCOPE(&mcp->lock);
    mcp->used_count--;
    if (mcp->waiting > 0) {
        (void)pthread_cond_broadcast(&mcp->quiet);
    }
}

struct request *request_create(struct mcp *mcp, const struct principal *principal,
                               const struct mcp_headers *headers, struct exchange *exchange) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    lock_take(&mcp->lock);
    struct request *request = take_free(mcp);
    mcp->used_count++;
    lock_release(&mcp->lock);
    if (request == NULL) {
        request = calloc(1, sizeof *request);
        if (request == NULL) {
            forget(mcp);
            return NULL;
        }
        init_request(request);
    }
    reset(request);
    atomic_store_explicit(&request->refs, 1, memory_order_relaxed);
    request->mcp = mcp;
    request->principal = *principal;
    request->headers = headers;
    request->no_events = headers != NULL && headers->no_events;
    request->exchange = exchange;
    return request;
}

struct request *request_ref(struct request *request) {
    OBJECT_CHECK(request, REQUEST_MAGIC);
    (void)atomic_fetch_add_explicit(&request->refs, 1, memory_order_relaxed);
    return request;
}

void request_unref(struct request *request) {
    if (request == NULL ||
        atomic_fetch_sub_explicit(&request->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    OBJECT_CHECK(request, REQUEST_MAGIC);
    struct mcp *mcp = request->mcp;
    toolrack_tool_unref(request->tool);
    toolrack_tool_unref(request->tool_before);
    toolrack_token_grant_unref(request->grant);
    struct client *client = request->client;
    if (request->call != NULL) {
        toolrack_call_unref(request->call);
    }
    arena_finish(&request->arena);
    if (request->out.room > KEPT_OUT_MAX) {
        buf_finish(&request->out);
    }
    lock_take(&mcp->lock);
    if (request->was_live && client != NULL) {
        client->used_count--;
    }
    bool keeps = mcp->free_count < SERVER_FREE_MAX;
    if (keeps) {
        struct request **own = &mcp->free[thread_number() % SERVER_FREE_LISTS];
        request->free_next = *own;
        *own = request;
        mcp->free_count++;
    }
    mcp->used_count--;
    if (mcp->waiting > 0) {
        (void)pthread_cond_broadcast(&mcp->quiet);
    }
    lock_release(&mcp->lock);
    client_unref(client);
    if (!keeps) {
        destroy(request);
    }
}

void requests_free(struct mcp *mcp) {
    struct request *request;
    while ((request = take_free(mcp)) != NULL) {
        destroy(request);
    }
}

/* ------------------------------------------------------------ registration */

static uint32_t hash_of(const struct client *client, const char *id, size_t length) {
    uint32_t hash = 2166136261u ^ (uint32_t)((uintptr_t)client >> 6);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)id[i]) * 16777619u;
    }
    return hash;
}

/* The live request of a client and id. Caller holds mcp->lock. */
static struct request *find(struct mcp *mcp, const struct client *client, const char *id,
                            size_t length, uint32_t hash) {
    struct request *request = mcp->buckets[hash % SERVER_BUCKETS];
    for (; request != NULL; request = request->bucket_next) {
        if (request->hash == hash && request->client == client && request->id_length == length &&
            memcmp(request->id, id, length) == 0) {
            break;
        }
    }
    return request;
}

/* Caller holds mcp->lock. */
static void link_request(struct mcp *mcp, struct request *request) {
    request->live_prev = NULL;
    request->live_next = mcp->live;
    if (mcp->live != NULL) {
        mcp->live->live_prev = request;
    }
    mcp->live = request_ref(request);
    mcp->live_count++;
    if (request->client != NULL && request->id != NULL) {
        struct request **bucket = &mcp->buckets[request->hash % SERVER_BUCKETS];
        request->bucket_next = *bucket;
        *bucket = request;
    }
    request->registered = true;
    request->was_live = true;
    if (request->client != NULL) {
        request->client->used_count++;
    }
    request->exchange->own = mcp;
}

void request_unlink(struct request *request) {
    struct mcp *mcp = request->mcp;
    *(request->live_prev != NULL ? &request->live_prev->live_next : &mcp->live) =
            request->live_next;
    if (request->live_next != NULL) {
        request->live_next->live_prev = request->live_prev;
    }
    if (request->client != NULL && request->id != NULL) {
        struct request **at = &mcp->buckets[request->hash % SERVER_BUCKETS];
        while (*at != request) {
            at = &(*at)->bucket_next;
        }
        *at = request->bucket_next;
    }
    request->registered = false;
    mcp->live_count--;
}

/* Who sends a request of which the transport has not said it, and that belongs to no session. */
static const char *who(struct request *request) {
    const char *id = request->exchange->calls->who(request->exchange);
    return id != NULL ? arena_copy(&request->arena, id, strlen(id)) : NULL;
}

void request_take_trace(struct request *request, yyjson_val *meta) {
    struct traceparent trace;
    const char *header = request->headers != NULL ? request->headers->traceparent : NULL;
    if (!traceparent_read(rpc_string(meta, META_TRACEPARENT), &trace) &&
        !traceparent_read(header, &trace)) {
        return;
    }
    char *text = traceparent_begin(&trace) ? arena_alloc(&request->arena, TRACEPARENT_ROOM) : NULL;
    if (text != NULL) {
        traceparent_write(&trace, text);
        request->trace = text;
    }
}

bool request_register(struct request *request, struct client *client,
                      const struct rpc_message *message) {
    struct mcp *mcp = request->mcp;
    request->client = client != NULL ? client_ref(client) : NULL;
    if (client != NULL && client->is_pipe) {
        request->principal = client->principal;
    } else if (!principal_keep(&request->principal, &request->arena)) {
        request_oom(request);
        return false;
    } else if (request->principal.grant != NULL) {
        request->grant = toolrack_token_grant_ref(request->principal.grant);
    }
    if (request->principal.id == NULL) {
        request->principal.id = client != NULL ? client->principal.id : who(request);
    }
    if (request->principal.id == NULL) {
        request_oom(request);
        return false;
    }
    request->id = message->id;
    request->id_length = message->id_length;
    request->hash = client != NULL ? hash_of(client, request->id, request->id_length) : 0;
    const char *problem = NULL;
    int status = 0;
    lock_take(&mcp->lock);
    if (mcp->draining) {
        status = 503;
        problem = "the server is ending; send the request to the next one";
    } else if (client != NULL &&
               find(mcp, client, request->id, request->id_length, request->hash) != NULL) {
        problem = "a request with this id is not answered yet; choose another id";
    } else {
        link_request(mcp, request);
    }
    lock_release(&mcp->lock);
    if (problem != NULL) {
        request_fail(request, status, RPC_INVALID_REQUEST, NULL, "%s", problem);
    }
    return problem == NULL;
}

void request_register_stream(struct request *request, struct client *client) {
    request->client = client_ref(client);
    LOCK_SCOPE(&request->mcp->lock);
    link_request(request->mcp, request);
}

struct request *request_find(struct mcp *mcp, struct client *client, const char *id) {
    size_t length = strlen(id);
    LOCK_SCOPE(&mcp->lock);
    struct request *request = find(mcp, client, id, length, hash_of(client, id, length));
    return request != NULL ? request_ref(request) : NULL;
}

struct request *request_of_stream(struct client *client, uint64_t stream) {
    struct mcp *mcp = client->mcp;
    LOCK_SCOPE(&mcp->lock);
    struct request *request = mcp->live;
    while (request != NULL && (request->client != client || request->stream != stream)) {
        request = request->live_next;
    }
    return request != NULL ? request_ref(request) : NULL;
}

struct request *request_of_exchange(struct mcp *mcp, const struct exchange *exchange) {
    LOCK_SCOPE(&mcp->lock);
    struct request *request = mcp->live;
    while (request != NULL && request->exchange != exchange) {
        request = request->live_next;
    }
    return request != NULL ? request_ref(request) : NULL;
}

/* The live requests of a client (NULL: all), each with a reference; NULL: there are none. */
static struct request **collect(struct mcp *mcp, const struct client *client, size_t *ret_count) {
    size_t count = 0;
    LOCK_SCOPE(&mcp->lock);
    struct request **list = mcp->live_count > 0 ? malloc(mcp->live_count * sizeof *list) : NULL;
    for (struct request *at = mcp->live; list != NULL && at != NULL; at = at->live_next) {
        if (client == NULL || at->client == client) {
            list[count++] = request_ref(at);
        }
    }
    *ret_count = count;
    return list;
}

void requests_each(struct mcp *mcp, const struct client *client,
                   void (*function)(struct request *request)) {
    size_t count = 0;
    CLEANUP(freep) struct request **list = collect(mcp, client, &count);
    for (size_t i = 0; i < count; i++) {
        function(list[i]);
        request_unref(list[i]);
    }
}

void requests_cancel(struct mcp *mcp, const struct client *client) {
    requests_each(mcp, client, request_cancel);
}
