/* request-answer.c - what is sent because of a request, until it is answered or cancelled; and
 * clients of sessions that leave meanwhile and come back. */
#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/client.h"
#include "serve/mcp/guard.h"
#include "serve/mcp/request.h"
#include "toolrack/serving.h"

/* Take the right to finish the exchange. False: another has it. */
static bool take_end(struct request *request, const struct exchange_answer *answer,
                     struct exchange **ret_exchange, struct toolrack_call **ret_call) {
    struct mcp *mcp = request->mcp;
    lock_take(&request->lock);
    bool ends = !request->answered;
    request->answered = true;
    *ret_call = ends ? STEAL(request->call) : NULL;
    *ret_exchange = request->exchange;
    if (ends && request->stream != REPLAY_OWN && answer->text != NULL) {
        char id[REPLAY_ID_ROOM];
        replay_add(&request->client->replay, request->stream, answer->text, answer->length, true,
                   id);
    }
    (void)pthread_cond_broadcast(&request->changed);
    lock_release(&request->lock);
    if (ends && request->registered) {
        lock_take(&mcp->lock);
        request_unlink(request);
        lock_release(&mcp->lock);
        request_unref(request); /* that of `live` */
    }
    return ends;
}

static void leave(struct request *request) {
    if (request->opening.run != NULL &&
        timer_clear(&request->mcp->timers, TIMER_STREAM, &request->opening)) {
        request_unref(request); /* the timer's; the caller has one too */
    }
    if (request->at_end != NULL) {
        request->at_end(request);
    }
    lock_take(&request->lock);
    void (*function)(struct request *) = request->leave;
    lock_release(&request->lock);
    if (function != NULL) {
        function(request);
    }
}

static void prepare(struct request *request) {
    if (request->before_answer != NULL) {
        request->before_answer(request);
    }
}

static void finish(struct request *request, const struct exchange_answer *answer) {
    struct toolrack_call *call = NULL;
    struct exchange *exchange;
    (void)request_ref(request);
    if (take_end(request, answer, &exchange, &call)) {
        leave(request);
        if (exchange != NULL) {
            exchange->calls->finish(exchange, answer);
        }
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
    finish(request, &(struct exchange_answer){.status = 200,
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
    struct exchange_answer answer = {.status = status, .text = out->data, .length = out->length};
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
    CLEANUP(buf_finish) struct buf told = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vprintf(&message, format, args);
    va_end(args);
    const char *text = message.data != NULL ? message.data : "";
    principal_add_message(&told, &request->principal, text, message.length);
    bool is_lost = message.failed || told.failed;
    fail(request, status, code, data,
         is_lost             ? "out of memory"
         : told.data != NULL ? told.data
                             : "");
}

void request_oom(struct request *request) {
    fail(request, 500, RPC_INTERNAL_ERROR, NULL, "the server is out of memory");
}

void request_refuse_capability(struct request *request, unsigned capabilities) {
    CLEANUP(buf_finish) struct buf data = BUF_INIT;
    buf_add_text(&data, "{\"requiredCapabilities\":");
    capabilities_add(&data, capabilities);
    buf_add_char(&data, '}');
    CLEANUP(buf_finish) struct buf missing = BUF_INIT;
    capabilities_add(&missing, capabilities);
    if (data.failed || missing.failed) {
        request_oom(request);
    } else {
        request_fail(request, 0, RPC_MISSING_CAPABILITY, data.data,
                     "the request needs what the client does not declare in its capabilities: %s",
                     missing.data);
    }
}

void request_refuse_scope(struct request *request, const char *what,
                          enum toolrack_permission permission) {
    const char *scope = request->mcp->settings.scopes[permission];
    struct buf *out = &request->out;
    buf_clear(out);
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    buf_printf(&message, "the authorisation has not the scope that %s needs: %s", what, scope);
    rpc_add_error(out, request->id, RPC_INVALID_REQUEST, message.failed ? "" : message.data, NULL);
    finish(request, &(struct exchange_answer){.status = 403,
                                              .text = out->failed ? NULL : out->data,
                                              .length = out->length,
                                              .missing_scope = scope});
}

void request_end(struct request *request, int status) {
    finish(request, &(struct exchange_answer){.status = status});
}

/* Whether what is sent before the answer has ids and is kept. */
static bool is_kept(const struct request *request) {
    return request->client != NULL && !request->client->is_pipe && request->dialect != NULL &&
           (request->dialect->traits & DIALECT_STATELESS) == 0;
}

static void send_event(struct request *request, const char *id, const char *text, size_t length) {
    if (request->exchange != NULL) {
        request->exchange->calls->send(request->exchange, id, text, length);
    }
}

/* Begin the event stream. Caller holds the lock. */
static void begin_stream(struct request *request) {
    char id[REPLAY_ID_ROOM];
    if ((request->dialect->traits & DIALECT_PRIMES) != 0) {
        replay_add(&request->client->replay, request->stream, "", 0, false, id);
        send_event(request, id, "", 0);
    } else {
        send_event(request, NULL, "", 0);
    }
}

void request_open(struct request *request) {
    LOCK_SCOPE(&request->lock);
    if (!request->answered) {
        begin_stream(request);
    }
}

static void open_now(struct timer *timer) {
    struct request *request = (struct request *)((char *)timer - offsetof(struct request, opening));
    struct client *client = request->client;
    struct exchange *paused = NULL;
    lock_take(&client->lock);
    bool returns = client->streamed;
    lock_release(&client->lock);
    lock_take(&request->lock);
    if (!request->answered && request->exchange != NULL && request->stream == REPLAY_OWN) {
        request->stream = replay_begin(&client->replay);
        begin_stream(request);
        paused = returns ? STEAL(request->exchange) : NULL;
    }
    lock_release(&request->lock);
    if (paused != NULL) {
        paused->calls->pause(paused, REQUEST_RETRY_MS);
        paused->calls->finish(paused, &(struct exchange_answer){.status = 202});
    }
    request_unref(request);
}

void request_open_later(struct request *request) {
    if (request->no_events || !is_kept(request) ||
        (request->dialect->traits & DIALECT_PRIMES) == 0) {
        return;
    }
    request->opening.run = open_now;
    (void)request_ref(request);
    if (!timer_set(&request->mcp->timers, TIMER_STREAM, &request->opening)) {
        request_unref(request);
    }
}

bool request_send(struct request *request, const struct buf *message) {
    char id[REPLAY_ID_ROOM];
    LOCK_SCOPE(&request->lock);
    if (request->answered || message->failed || request->no_events) {
        return false;
    }
    if (!is_kept(request)) {
        send_event(request, NULL, message->data, message->length);
        return true;
    }
    if (request->stream == REPLAY_OWN && request->id != NULL) {
        request->stream = replay_begin(&request->client->replay);
        begin_stream(request);
    }
    replay_add(&request->client->replay, request->stream, message->data, message->length, false,
               id);
    send_event(request, id, message->data, message->length);
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

/* By HTTP a request is answered by a message or by a stream of them, which may be empty: 202 is for
 * what needs no answer. */
static void end_without_answer(const struct request *request, struct exchange *exchange,
                               const struct exchange_answer *nothing) {
    bool is_of_pipe = request->client != NULL && request->client->is_pipe;
    if (!is_of_pipe && request->id != NULL && !request->no_events) {
        exchange->calls->send(exchange, NULL, "", 0);
    }
    exchange->calls->finish(exchange, nothing);
}

void request_cancel(struct request *request) {
    struct toolrack_call *call = NULL;
    struct exchange *exchange;
    struct exchange_answer nothing = {.status = 200};
    if (take_end(request, &nothing, &exchange, &call)) {
        leave(request);
        if (call != NULL) {
            toolrack_cancel(call);
        }
        if (exchange != NULL) {
            end_without_answer(request, exchange, &nothing);
        }
    }
    toolrack_call_unref(call);
}

void request_cut(struct request *request) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT; /* the request's own is its call's to write */
    struct toolrack_call *call = NULL;
    struct exchange *exchange;
    rpc_add_error(&out, request->id, RPC_INTERNAL_ERROR,
                  "the server ended before it answered the request, whose call was cancelled; what "
                  "the tool had done by then stays done",
                  NULL);
    struct exchange_answer answer = {.status = 503,
                                     .text = out.failed ? NULL : out.data,
                                     .length = out.length,
                                     .is_begun = true};
    if (take_end(request, &answer, &exchange, &call)) {
        leave(request);
        if (call != NULL) {
            toolrack_cancel(call);
        }
        if (exchange != NULL) {
            exchange->calls->finish(exchange, &answer);
        }
    }
    toolrack_call_unref(call);
}

void request_wake(struct request *request) {
    LOCK_SCOPE(&request->lock);
    (void)pthread_cond_broadcast(&request->changed);
}

bool request_is_over(struct request *request) {
    LOCK_SCOPE(&request->lock);
    return request->answered;
}

/* ------------------------------------------------- clients that leave and return */

void request_gone(struct request *request, const struct exchange *exchange) {
    bool is_revoked = request->grant != NULL && !toolrack_token_grant_holds(request->grant);
    if (request->id == NULL || !is_kept(request) || is_revoked) {
        request_cancel(request);
        return;
    }
    lock_take(&request->lock);
    struct exchange *left = NULL;
    if (!request->answered && request->exchange == exchange) {
        left = STEAL(request->exchange);
    }
    lock_release(&request->lock);
    if (left != NULL) {
        left->calls->finish(left, &(struct exchange_answer){.status = 202});
        guard_begin(request, NULL);
    }
}

/* Send what is kept of a stream. Caller holds the lock. */
static void send_kept(struct request *request, uint64_t stream, uint64_t after) {
    struct event *events = replay_after(&request->client->replay, stream, after);
    for (const struct event *at = events; at != NULL; at = at->next) {
        char id[REPLAY_ID_ROOM];
        replay_write_id(id, at->stream, at->number);
        send_event(request, id, at->text, at->length);
    }
    replay_free(events);
}

bool request_resume(struct request *request, const struct request *get, uint64_t after) {
    lock_take(&request->lock);
    bool resumes = !request->answered;
    struct exchange *before = request->exchange;
    if (resumes) {
        get->exchange->own = request->mcp;
        request->exchange = get->exchange;
        /* If this ends without an answer too, the client must not ask with no id: that would be for
         * the stream of the session. */
        char id[REPLAY_ID_ROOM];
        replay_write_id(id, request->stream, after);
        bool primes = (request->dialect->traits & DIALECT_PRIMES) != 0;
        send_event(request, primes ? id : NULL, "", 0);
        send_kept(request, request->stream, after);
    }
    lock_release(&request->lock);
    if (resumes && before != NULL) {
        /* Its loss was not noticed yet. */
        before->calls->finish(before, &(struct exchange_answer){.status = 202});
    }
    return resumes;
}

void request_replay(struct request *get, uint64_t stream, uint64_t after) {
    LOCK_SCOPE(&get->lock);
    send_kept(get, stream, after);
}
