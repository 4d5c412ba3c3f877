#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "run/run.h"
#include "toolrack/plugin.h"
#include "worker/crew-parts.h"
#include "worker/protocol.h"

/* Nothing that comes from a worker is believed: what is no frame of protocol.h, or is not to be
 * expected here, ends the worker. A frame costs its sender a turn, so that they need no limit of
 * their number; each is measured against the deadline. */

/* Most frames of a call without a caller that are answered in one look. */
#define LINGER_FRAMES_MAX 64

/* Less than this is believed of what a worker says it took: 3 days, 256 TiB. */
#define BELIEVABLE_MAX (UINT64_C(1) << 48)

/* What the worker did wrong, in two places. */
#define DIFFERENT_TEXT "a text beside a result that says something else"

struct exchange {
    struct lane *lane;
    struct channel *channel;
    struct crew_call *call;
    struct crew_reply *reply;
    struct toolrack_error *err;
    int code;
};

static enum exchange_end nonsense(struct exchange *exchange, const char *what) {
    exchange->code = error_set(exchange->err, TOOLRACK_E_EXECUTION_FAILED,
                               "the worker of plugin '%s' sent nonsense (%s) and was ended",
                               exchange->lane->worker->crew->id, what);
    return EXCHANGE_NONSENSE;
}

static enum exchange_end leave(struct exchange *exchange, int code) {
    const char *tool = exchange->call->tool_name;
    exchange->code = code;
    if (code == TOOLRACK_E_CANCELLED) {
        (void)error_set(exchange->err, code, "the call of '%s' was cancelled", tool);
    } else if (code == TOOLRACK_E_NO_MEMORY) {
        (void)error_oom(exchange->err);
    } else {
        (void)error_set(exchange->err, code, "Tool '%s' did not finish within its deadline", tool);
    }
    channel_cancel(exchange->channel);
    return EXCHANGE_LEFT;
}

/* -------------------------------------------------------------------- result */

/* A string with nothing to unescape: then it is JSON, on one line, for read_result() has found it
 * to be UTF-8. To parse a large one, such as base64, would take as long as all else that is done
 * with it here. */
static bool is_plain_string(const struct frame_result *result) {
    const char *json = result->json;
    size_t length = result->json_length;
    return length >= 2 && json[0] == '"' && json[length - 1] == '"' &&
           json_plain_run(json + 1, length - 2) == length - 2;
}

/* What need not be parsed says the same as its plain text where they are the same. */
static bool is_same_plain(const struct frame_result *result) {
    return result->text == NULL ||
           (result->text_length == result->json_length - 2 &&
            memcmp(result->text, result->json + 1, result->text_length) == 0);
}

static const char *check_json(const struct frame_result *result) {
    /* It is passed on where a line is a message. */
    if (memchr(result->json, '\n', result->json_length) != NULL ||
        memchr(result->json, '\r', result->json_length) != NULL) {
        return "a result of several lines";
    }
    return NULL;
}

/* The plain text is the string that the JSON stands for. */
static bool is_same_text(const struct frame_result *result, yyjson_val *json) {
    return yyjson_is_str(json) && yyjson_get_len(json) == result->text_length &&
           memcmp(yyjson_get_str(json), result->text, result->text_length) == 0;
}

static struct toolrack_result *result_of(struct buf *out) {
    return (struct toolrack_result *)(void *)out->data;
}

static void add_result(const struct frame_result *result, struct buf *out) {
    size_t size = sizeof(struct toolrack_result) + result->json_length + 1;
    (void)buf_reserve(out, size + (result->text != NULL ? result->text_length : 0));
    result_begin(out);
    if (!out->failed) {
        result_of(out)->is_content = result->is_content;
    }
    buf_add(out, result->json, result->json_length);
    if (result->text == NULL || out->failed) {
        return;
    }
    buf_add(out, "", 1);
    size_t text_at = out->length;
    buf_add(out, result->text, result->text_length);
    if (!out->failed) {
        result_of(out)->json_length = result->json_length;
        result_of(out)->text_at = text_at;
        result_of(out)->text_length = result->text_length;
    }
}

/* What the worker says is content has the shape of it. */
static bool is_content(const struct frame_result *result, yyjson_val *json) {
    return yyjson_is_arr(yyjson_obj_get(json, "content")) &&
           (yyjson_obj_get(json, "structuredContent") != NULL) == result->is_structured;
}

/* EXCHANGE_DONE with the code 0: it is a result. */
static enum exchange_end parse_result(struct exchange *exchange,
                                      const struct frame_result *result) {
    const char *wrong = check_json(result);
    if (wrong != NULL) {
        return nonsense(exchange, wrong);
    }
    yyjson_alc alc = arena_alc(exchange->call->arena);
    yyjson_read_err failure;
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)result->json, result->json_length,
                                       YYJSON_READ_NOFLAG, &alc, &failure);
    if (doc == NULL && failure.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        exchange->code = error_oom(exchange->err);
        return EXCHANGE_DONE;
    }
    yyjson_val *json = yyjson_doc_get_root(doc);
    if (json == NULL) {
        return nonsense(exchange, "a result that is no JSON");
    }
    if (result->text != NULL && !is_same_text(result, json)) {
        return nonsense(exchange, DIFFERENT_TEXT);
    }
    if (result->is_content && !is_content(result, json)) {
        return nonsense(exchange, "content that has no blocks");
    }
    exchange->reply->json = json;
    return EXCHANGE_DONE;
}

/* Sums of a great many of these do not overflow; what was not measured is more. */
static void take_cost(uint64_t cpu_ns, uint64_t memory, struct crew_reply *reply) {
    if (cpu_ns < BELIEVABLE_MAX) {
        reply->cpu_ns = cpu_ns;
    }
    if (memory < BELIEVABLE_MAX) {
        reply->memory = memory;
    }
}

static enum exchange_end take_result(struct exchange *exchange, const struct frame_in *frame) {
    struct frame_result result;
    if (!read_result(frame, &result)) {
        return nonsense(exchange, "an unreadable result");
    }
    if (result.json_length > TOOLRACK_RESULT_MAX) {
        return nonsense(exchange, "a result larger than is allowed");
    }
    enum exchange_end end = EXCHANGE_DONE;
    if (exchange->call->wants_json || result.is_content || !is_plain_string(&result)) {
        end = parse_result(exchange, &result);
    } else if (!is_same_plain(&result)) {
        end = nonsense(exchange, DIFFERENT_TEXT);
    }
    if (end != EXCHANGE_DONE || exchange->code < 0) {
        return end;
    }
    add_result(&result, &exchange->reply->out);
    exchange->reply->is_content = result.is_content;
    exchange->reply->is_structured = result.is_structured;
    take_cost(result.cpu_ns, result.memory, exchange->reply);
    exchange->code = exchange->reply->out.failed ? error_oom(exchange->err) : 0;
    return EXCHANGE_DONE;
}

static bool is_code(int code) {
    return code < 0 && code >= TOOLRACK_E_NO_MEMORY;
}

static enum exchange_end take_failure(struct exchange *exchange, const struct frame_in *frame) {
    struct frame_failure failure;
    if (!read_failure(frame, &failure) || !is_code(failure.code)) {
        return nonsense(exchange, "an unreadable failure");
    }
    take_cost(failure.cpu_ns, failure.memory, exchange->reply);
    exchange->code =
            error_set_field(exchange->err, failure.code, failure.field, "%s", failure.message);
    return EXCHANGE_DONE;
}

/* -------------------------------------------------------- what the tool says meanwhile */

/* NULL: it was taken, and the turn is the worker's again. */
static const char *take_log(struct exchange *exchange, const struct frame_in *frame) {
    struct frame_log log;
    if (!read_log(frame, &log) || log.level < LOG_DEBUG || log.level > LOG_ERROR) {
        return "an unreadable log line";
    }
    output_note(&exchange->lane->worker->output, log.message);
    exchange->call->log(exchange->call->user, log.level, log.message);
    return send_plain(exchange->channel, FRAME_GO_ON) ? NULL : "a log line that was not answered";
}

static const char *take_progress(struct exchange *exchange, const struct frame_in *frame) {
    struct frame_progress progress;
    if (!read_progress(frame, &progress)) {
        return "an unreadable progress";
    }
    exchange->call->progress(exchange->call->user, progress.done, progress.total, progress.message);
    return send_plain(exchange->channel, FRAME_GO_ON) ? NULL : "a progress that was not answered";
}

static bool dismiss(struct channel *channel) {
    return send_answer(channel, &(struct frame_answer){.action = TR_ANSWER_DISMISSED});
}

static const char *take_question(struct exchange *exchange, const struct frame_in *frame) {
    struct frame_question question;
    if (!read_question(frame, &question)) {
        return "an unreadable question";
    }
    CLEANUP(freep) char *content = NULL;
    struct frame_answer answer = {.action = TR_ANSWER_NOBODY};
    if (exchange->call->ask != NULL) {
        answer.action = exchange->call->ask(exchange->call->user, question.message, question.schema,
                                            &content);
    }
    answer.content = content;
    /* An answer that is too long for a frame is no answer. */
    return send_answer(exchange->channel, &answer) || dismiss(exchange->channel)
                   ? NULL
                   : "a question that could not be answered";
}

/* --------------------------------------------------------------------- frames */

static bool is_late(const struct crew_call *call) {
    return call->deadline_ns != 0 && clock_now_ns() >= call->deadline_ns;
}

/* Take one frame; *ret_over: with it the call is over, and how. */
static enum exchange_end take_frame(struct exchange *exchange, const struct frame_in *frame,
                                    bool *ret_over) {
    const char *wrong = NULL;
    *ret_over = true;
    switch (frame->type) {
    case FRAME_RESULT: return take_result(exchange, frame);
    case FRAME_FAILURE: return take_failure(exchange, frame);
    case FRAME_LOG: wrong = take_log(exchange, frame); break;
    case FRAME_PROGRESS: wrong = take_progress(exchange, frame); break;
    case FRAME_QUESTION: wrong = take_question(exchange, frame); break;
    default: wrong = "a frame that is none of a call's"; break;
    }
    if (wrong != NULL) {
        return nonsense(exchange, wrong);
    }
    if (atomic_load(&exchange->call->interrupted)) {
        return leave(exchange, TOOLRACK_E_CANCELLED);
    }
    if (is_late(exchange->call)) {
        return leave(exchange, TOOLRACK_E_TIMEOUT);
    }
    *ret_over = false;
    return EXCHANGE_DONE;
}

static enum exchange_end receive(struct exchange *exchange) {
    for (;;) {
        struct frame_in frame;
        bool is_over = true;
        enum exchange_end end = EXCHANGE_DONE;
        switch (channel_receive(exchange->channel, exchange->call->deadline_ns, &frame)) {
        case CHANNEL_FRAME: end = take_frame(exchange, &frame, &is_over); break;
        case CHANNEL_LATE: return leave(exchange, TOOLRACK_E_TIMEOUT);
        case CHANNEL_INTERRUPTED: /* perhaps one that was meant for the call before */
            is_over = atomic_load(&exchange->call->interrupted);
            end = is_over ? leave(exchange, TOOLRACK_E_CANCELLED) : end;
            break;
        case CHANNEL_GONE: return EXCHANGE_GONE;
        case CHANNEL_NONSENSE: return nonsense(exchange, "something that is no frame");
        case CHANNEL_NO_MEMORY: return leave(exchange, TOOLRACK_E_NO_MEMORY);
        }
        if (is_over) {
            return end;
        }
    }
}

static bool send(const struct exchange *exchange) {
    const struct crew_call *call = exchange->call;
    const struct frame_call frame = {.tool = call->tool,
                                     .deadline_ns = call->deadline_ns,
                                     .arguments = call->arguments,
                                     .arguments_length = call->arguments_length,
                                     .tool_name = call->tool_name,
                                     .caller = call->caller,
                                     .channel = call->channel,
                                     .conversation = call->conversation,
                                     .trace = call->trace};
    return send_call(exchange->channel, &frame);
}

enum exchange_end exchange_run(struct crew_call *call, struct crew_reply *ret, int *ret_code,
                               struct toolrack_error *err) {
    struct exchange exchange = {.lane = call->lane,
                                .channel = call->lane->channel,
                                .call = call,
                                .reply = ret,
                                .err = err};
    enum exchange_end end = EXCHANGE_DONE;
    ret->json = NULL;
    ret->is_content = false;
    ret->is_structured = false;
    worker_renew_cpu(exchange.lane->worker);
    if (atomic_load(&call->interrupted)) {
        exchange.code = error_set(err, TOOLRACK_E_CANCELLED, "the call of '%s' was cancelled",
                                  call->tool_name);
    } else if (!send(&exchange)) {
        exchange.code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                  "no room for the arguments of '%s' in the memory that is shared "
                                  "with its worker, or out of memory",
                                  call->tool_name);
    } else {
        end = receive(&exchange);
    }
    if (end == EXCHANGE_DONE) {
        channel_settle(exchange.channel);
    }
    *ret_code = exchange.code;
    return end;
}

/* ------------------------------------------------------------- without a caller */

/* Answer what nobody listens to any more. */
static enum lingering answer(struct channel *channel, const struct frame_in *frame) {
    switch (frame->type) {
    case FRAME_RESULT:
    case FRAME_FAILURE: channel_settle(channel); return LINGER_OVER;
    case FRAME_LOG:
    case FRAME_PROGRESS: return send_plain(channel, FRAME_GO_ON) ? LINGER_ON : LINGER_NONSENSE;
    case FRAME_QUESTION: return dismiss(channel) ? LINGER_ON : LINGER_NONSENSE;
    default: return LINGER_NONSENSE;
    }
}

enum lingering exchange_linger(struct lane *lane) {
    for (unsigned i = 0; i < LINGER_FRAMES_MAX && channel_is_held(lane->channel); i++) {
        struct frame_in frame;
        enum lingering linger = LINGER_ON;
        switch (channel_receive(lane->channel, 1, &frame)) {
        case CHANNEL_FRAME: linger = answer(lane->channel, &frame); break;
        case CHANNEL_NONSENSE: linger = LINGER_NONSENSE; break;
        default: return LINGER_ON; /* nothing yet, or no memory to take it to */
        }
        if (linger != LINGER_ON) {
            return linger;
        }
    }
    return LINGER_ON;
}
