/* request.c - see request.h. */
#include "serve/mcp/request.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/object.h"
#include "serve/mcp/client.h"
#include "serve/mcp/level.h"
#include "serve/mcp/principal.h"

/* Most memory that a request keeps for the next one. */
#define KEPT_OUT_MAX 65536u

static void init_request(struct request *request) {
    request->magic = REQUEST_MAGIC;
    lock_init(&request->lock);
    clock_cond_init(&request->changed);
}

static void destroy(struct request *request) {
    buf_finish(&request->out);
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
    request->call = NULL;
    request->progress = NULL;
    request->before_answer = NULL;
    request->at_end = NULL;
    request->tool = NULL;
    request->new_session = NULL;
    request->mrtr = NULL;
    request->wanted = NULL;
    request->listen = NULL;
    request->by_call_tool = false;
    request->search = NULL;
    request->task = NULL;
    request->asked = NULL;
    request->arguments = NULL;
    request->arguments_length = 0;
    arena_init(&request->arena, request->room, sizeof request->room);
}

/* There is a request less. */
static void forget(struct mcp *mcp) {
    LOCK_SCOPE(&mcp->lock);
    mcp->used_count--;
    if (mcp->waiting > 0) {
        (void)pthread_cond_broadcast(&mcp->quiet);
    }
}

struct request *request_create(struct mcp *mcp, const struct mcp_principal *principal,
                               const struct mcp_headers *headers, struct mcp_exchange *exchange) {
    OBJECT_CHECK(mcp, MCP_MAGIC);
    lock_take(&mcp->lock);
    struct request *request = mcp->free;
    mcp->used_count++;
    if (request != NULL) {
        mcp->free = request->free_next;
        mcp->free_count--;
    }
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
        request->free_next = mcp->free;
        mcp->free = request;
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
    while (mcp->free != NULL) {
        struct request *request = mcp->free;
        mcp->free = request->free_next;
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
    request->exchange->mcp = mcp;
}

/* Caller holds mcp->lock. */
static void unlink_request(struct mcp *mcp, struct request *request) {
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

bool request_register(struct request *request, struct client *client,
                      const struct rpc_message *message) {
    struct mcp *mcp = request->mcp;
    request->client = client != NULL ? client_ref(client) : NULL;
    if (client != NULL && client->is_pipe) {
        request->principal = client->principal;
    } else if (!principal_keep(&request->principal, &request->arena)) {
        request_oom(request);
        return false;
    }
    if (request->principal.id == NULL) {
        request->principal.id = client != NULL ? client->principal.id : "anonymous";
    }
    request->id = message->id;
    request->id_length = message->id_length;
    request->hash = client != NULL ? hash_of(client, request->id, request->id_length) : 0;
    const char *problem = NULL;
    lock_take(&mcp->lock);
    if (mcp->draining) {
        problem = "the server is ending; send the request to the next one";
    } else if (client != NULL &&
               find(mcp, client, request->id, request->id_length, request->hash) != NULL) {
        problem = "a request with this id is not answered yet; choose another id";
    } else {
        link_request(mcp, request);
    }
    lock_release(&mcp->lock);
    if (problem != NULL) {
        request_fail(request, 0, RPC_INVALID_REQUEST, NULL, "%s", problem);
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

struct request *request_of_exchange(struct mcp *mcp, const struct mcp_exchange *exchange) {
    LOCK_SCOPE(&mcp->lock);
    struct request *request = mcp->live;
    while (request != NULL && request->exchange != exchange) {
        request = request->live_next;
    }
    return request != NULL ? request_ref(request) : NULL;
}

/* ----------------------------------------------------------------- answers */

/* Take the right to finish the exchange. False: another has it. */
static bool take_end(struct request *request, struct toolrack_call **ret_call) {
    struct mcp *mcp = request->mcp;
    lock_take(&request->lock);
    bool ends = !request->answered;
    request->answered = true;
    *ret_call = ends ? STEAL(request->call) : NULL;
    (void)pthread_cond_broadcast(&request->changed);
    lock_release(&request->lock);
    if (ends && request->registered) {
        lock_take(&mcp->lock);
        unlink_request(mcp, request);
        lock_release(&mcp->lock);
        request_unref(request); /* that of `live` */
    }
    return ends;
}

static void leave(struct request *request) {
    if (request->at_end != NULL) {
        request->at_end(request);
    }
}

static void prepare(struct request *request) {
    if (request->before_answer != NULL) {
        request->before_answer(request);
    }
}

static void finish(struct request *request, const struct mcp_answer *answer) {
    struct toolrack_call *call = NULL;
    (void)request_ref(request);
    if (take_end(request, &call)) {
        leave(request);
        request->exchange->calls->finish(request->exchange, answer);
    }
    toolrack_call_unref(call);
    request_unref(request);
}

struct buf *request_result(struct request *request) {
    return request_result_of(request, "complete");
}

struct buf *request_result_of(struct request *request, const char *type) {
    struct buf *out = &request->out;
    buf_clear(out);
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add(out, request->id, request->id_length);
    buf_add_text(out, ",\"result\":{");
    request->dialect->begin_result(out, type);
    return out;
}

void request_complete(struct request *request) {
    request->dialect->end_result(&request->out);
    request_complete_whole(request);
}

void request_complete_whole(struct request *request) {
    struct buf *out = &request->out;
    buf_add_text(out, "}}");
    if (out->failed) {
        request_oom(request);
        return;
    }
    prepare(request);
    finish(request, &(struct mcp_answer){.status = 200,
                                         .text = out->data,
                                         .length = out->length,
                                         .session = request->new_session});
}

static void fail(struct request *request, int status, int code, const char *data,
                 const char *message) {
    struct buf *out = &request->out;
    if (out->failed) {
        buf_finish(out);
    }
    buf_clear(out);
    rpc_add_error(out, request->id, code, message, data);
    if (status == 0) {
        status = request->dialect != NULL ? request->dialect->status((enum rpc_code)code) : 400;
    }
    struct mcp_answer answer = {.status = status, .text = out->data, .length = out->length};
    if (out->failed) {
        answer.text = NULL;
        answer.status = 500;
    }
    prepare(request);
    finish(request, &answer);
}

void request_fail(struct request *request, int status, int code, const char *data,
                  const char *format, ...) {
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    fail(request, status, code, data, message.failed ? "out of memory" : message.data);
}

void request_oom(struct request *request) {
    fail(request, 500, RPC_INTERNAL_ERROR, NULL, "the server is out of memory");
}

void request_refuse_capability(struct request *request, unsigned capabilities) {
    CLEANUP(buf_finish) struct buf data = BUF_INIT;
    buf_add_text(&data, "{\"requiredCapabilities\":");
    capabilities_add(&data, capabilities);
    buf_add_char(&data, '}');
    if (data.failed) {
        request_oom(request);
    } else {
        request_fail(request, 0, RPC_MISSING_CAPABILITY, data.data,
                     "the request needs what the client does not declare in its capabilities");
    }
}

void request_refuse_scope(struct request *request, enum toolrack_permission permission) {
    const char *scope = request->mcp->settings.scopes[permission];
    struct buf *out = &request->out;
    buf_clear(out);
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    buf_printf(&message, "the authorisation has not the scope that the tool needs: %s", scope);
    rpc_add_error(out, request->id, RPC_INVALID_REQUEST, message.failed ? "" : message.data, NULL);
    finish(request, &(struct mcp_answer){.status = 403,
                                         .text = out->failed ? NULL : out->data,
                                         .length = out->length,
                                         .missing_scope = scope});
}

void request_end(struct request *request, int status) {
    finish(request, &(struct mcp_answer){.status = status});
}

void request_open(struct request *request) {
    LOCK_SCOPE(&request->lock);
    if (!request->answered) {
        request->exchange->calls->send(request->exchange, NULL, "", 0);
    }
}

bool request_send(struct request *request, const struct buf *message) {
    LOCK_SCOPE(&request->lock);
    if (request->answered || message->failed) {
        return false;
    }
    request->exchange->calls->send(request->exchange, NULL, message->data, message->length);
    return true;
}

/* ------------------------------------------------------------ cancellation */

void request_set_call(struct request *request, struct toolrack_call *call) {
    lock_take(&request->lock);
    bool is_over = request->answered;
    if (!is_over) {
        request->call = call;
    }
    lock_release(&request->lock);
    if (is_over) {
        /* It ended before this, which changes nothing; or its request was cancelled. */
        toolrack_cancel(call);
        toolrack_call_unref(call);
    }
}

void request_cancel(struct request *request) {
    struct toolrack_call *call = NULL;
    if (take_end(request, &call)) {
        leave(request);
        if (call != NULL) {
            toolrack_cancel(call);
        }
        request->exchange->calls->finish(request->exchange, &(struct mcp_answer){.status = 202});
    }
    toolrack_call_unref(call);
}

void request_gone(struct request *request) {
    request_cancel(request);
}

void request_wake(struct request *request) {
    LOCK_SCOPE(&request->lock);
    (void)pthread_cond_broadcast(&request->changed);
}

bool request_is_over(struct request *request) {
    LOCK_SCOPE(&request->lock);
    return request->answered;
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
