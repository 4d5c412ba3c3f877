#include "worker/exchange.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-string.h"
#include "base/json.h"
#include "base/utf8.h"
#include "run/run.h"
#include "toolrack/plugin.h"
#include "worker/cpu.h"
#include "worker/crash.h"
#include "worker/peak.h"
#include "worker/protocol.h"

/* Nothing from a worker is trusted: a message that is not an expected frame of protocol.h ends the
 * worker. A frame costs its sender a hand-over, so the number of frames is not limited; the
 * deadline is checked after each. */

/* Most frames of a call without a caller that are answered in one check. */
#define LINGER_FRAMES_MAX 64

/* Costs that a worker reports are accepted below this value: 3 days, 256 TiB. */
#define BELIEVABLE_MAX (UINT64_C(1) << 48)

/* Levels of {"content": [{...}], "structuredContent": ...} around what a tool says. */
#define CONTENT_DEPTH 3u

struct exchange {
    struct lane *lane;
    struct channel *channel;
    struct crew_call *call;
    struct crew_reply *reply;
    struct toolrack_error *err;
    int code;
    bool is_unanswered;   /* what the tool asked for comes with another call */
    uint64_t cpu_from_ns; /* what the worker had used, not long before */
};

static enum exchange_end nonsense(struct exchange *exchange, const char *what) {
    exchange->code = error_set(exchange->err, TOOLRACK_E_EXECUTION_FAILED,
                               "the worker of plugin '%s' sent nonsense (%s) and was ended",
                               exchange->lane->worker->crew->id, what);
    return EXCHANGE_NONSENSE;
}

/* Values below BELIEVABLE_MAX can be added very often without overflow; PROTOCOL_UNMEASURED is
 * above it. */
static void take_cost(uint64_t cpu_ns, uint64_t memory, struct crew_reply *reply) {
    if (cpu_ns < BELIEVABLE_MAX) {
        reply->cpu_ns = cpu_ns;
    }
    if (memory < BELIEVABLE_MAX) {
        reply->memory = memory;
    }
}

/* What a call has used that does not come back by its deadline: its CPU time by the word of its
 * thread, its memory by that of the kernel. If the thread does not answer, as it blocks the signal
 * or gets no CPU: what the worker has used since up to a second before the call, and no more than
 * one thread can use within the deadline. */
static void take_late_cost(struct exchange *exchange, uint64_t cpu_ns) {
    char path[sizeof "/proc/2147483647/status"];
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)exchange->lane->worker->process.pid);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (cpu_ns == UINT64_MAX) {
        uint64_t most_ns = exchange->call->deadline_ms * CLOCK_NS_PER_MS;
        cpu_ns = cpu_since(exchange->lane->worker, exchange->cpu_from_ns);
        cpu_ns = cpu_ns != UINT64_MAX && cpu_ns > most_ns ? most_ns : cpu_ns;
    }
    take_cost(cpu_ns, fd >= 0 ? peak_read(fd, PROTOCOL_UNMEASURED) : PROTOCOL_UNMEASURED,
              exchange->reply);
}

static enum exchange_end leave(struct exchange *exchange, int code) {
    exchange->code =
            code == TOOLRACK_E_CANCELLED   ? call_cancelled_error(exchange->call, exchange->err)
            : code == TOOLRACK_E_NO_MEMORY ? error_oom(exchange->err)
                                           : call_late_error(exchange->call, "", exchange->err);
    channel_cancel(exchange->channel);
    if (code == TOOLRACK_E_TIMEOUT) {
        CLEANUP(buf_finish) struct buf trace = BUF_INIT;
        const struct worker *worker = exchange->lane->worker;
        const char *const known[] = {worker->crew->path,
                                     worker->crew->supervisor->options.worker_program, NULL};
        uint64_t cpu_ns = crash_ask_trace(exchange->channel, worker->process.pidfd, known, &trace);
        error_set_trace(exchange->err, trace.length > 0 ? trace.data : "");
        take_late_cost(exchange, cpu_ns);
    }
    return EXCHANGE_LEFT;
}

/* -------------------------------------------------------------------- result */

/* EXCHANGE_DONE with code 0: it is one JSON value on one line, as a tool can have replied with. */
static enum exchange_end check_json(struct exchange *exchange, const struct frame_result *result) {
    const char *json = result->value;
    size_t length = result->length;
    /* Parsing a large string, such as base64 or a file, would take most of the time of its call. */
    if (!result->is_content && !exchange->call->wants_json && json_is_string(json, length)) {
        return EXCHANGE_DONE;
    }
    /* The result is later passed on in protocols where each line is a message. */
    if (memchr(json, '\n', length) != NULL || memchr(json, '\r', length) != NULL) {
        return nonsense(exchange, "a result of several lines");
    }
    yyjson_alc alc = arena_alc(exchange->call->arena);
    yyjson_read_err failure;
    yyjson_doc *doc =
            yyjson_read_opts((char *)(uintptr_t)json, length, YYJSON_READ_NOFLAG, &alc, &failure);
    if (doc == NULL && failure.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        exchange->code = error_oom(exchange->err);
        return EXCHANGE_DONE;
    }
    yyjson_val *value = yyjson_doc_get_root(doc);
    if (value == NULL) {
        return nonsense(exchange, "a result that is not JSON");
    }
    if (result->is_content && !content_is_valid(value, result->is_structured)) {
        return nonsense(exchange, "content that no tool can have replied with");
    }
    /* Content blocks stand around the tool's own JSON. */
    unsigned depth_max = JSON_REPLY_DEPTH_MAX + (result->is_content ? CONTENT_DEPTH : 0);
    if (json_is_deeper(value, depth_max)) {
        exchange->code = error_set(exchange->err, TOOLRACK_E_LIMIT_EXCEEDED, JSON_TOO_DEEP,
                                   JSON_REPLY_DEPTH_MAX);
        return EXCHANGE_DONE;
    }
    exchange->reply->json = value;
    return EXCHANGE_DONE;
}

/* The frame becomes the result: a copy would take as long as the check. */
static enum exchange_end take_json(struct exchange *exchange, const struct frame_result *result) {
    struct buf *out = &exchange->reply->out;
    enum exchange_end end = check_json(exchange, result);
    if (end != EXCHANGE_DONE || exchange->code < 0) {
        return end;
    }
    out->data = channel_keep(exchange->channel, &out->room);
    assert(result->value == out->data + sizeof(struct toolrack_result));
    out->length = sizeof(struct toolrack_result) + result->length;
    struct toolrack_result *head = (struct toolrack_result *)(void *)out->data;
    *head = (struct toolrack_result){.is_content = result->is_content};
    return EXCHANGE_DONE;
}

static enum exchange_end take_text(struct exchange *exchange, const struct frame_result *result) {
    exchange->code =
            result_take_text(result->value, result->length, &exchange->reply->out, exchange->err);
    return exchange->code == TOOLRACK_E_INVALID ? nonsense(exchange, "a text that is not UTF-8")
                                                : EXCHANGE_DONE;
}

static enum exchange_end take_result(struct exchange *exchange, const struct frame_in *frame) {
    struct frame_result result;
    if (!read_result(frame, &result)) {
        return nonsense(exchange, "an unreadable result");
    }
    exchange->code = 0;
    enum exchange_end end =
            result.is_text ? take_text(exchange, &result) : take_json(exchange, &result);
    if (end == EXCHANGE_DONE && exchange->code == 0) {
        exchange->reply->is_content = result.is_content;
        exchange->reply->is_structured = result.is_structured;
        take_cost(result.cpu_ns, result.memory, exchange->reply);
    }
    return end;
}

/* --------------------------------------------------------------------- frames */

static bool dismiss(struct exchange *exchange, uint32_t count) {
    struct frame_answer answer = {.deadline_ns =
                                          exchange->call != NULL ? exchange->call->deadline_ns : 0,
                                  .count = count};
    for (uint32_t i = 0; i < count; i++) {
        answer.answers[i].action = TR_ANSWER_DISMISSED;
    }
    return send_answer(exchange->channel, &answer);
}

/* Ask the caller for what the tool asks for. NULL: answered. */
static const char *take_question(struct exchange *exchange, const struct frame_in *frame) {
    struct crew_call *call = exchange->call;
    struct frame_question question;
    struct toolrack_input inputs[PROTOCOL_INPUTS_MAX];
    if (!read_question(frame, &question)) {
        return "an unreadable question";
    }
    for (uint32_t i = 0; i < question.count; i++) {
        const struct frame_input *from = &question.inputs[i];
        inputs[i] = (struct toolrack_input){.size = sizeof inputs[i],
                                            .key = from->key,
                                            .kind = (enum toolrack_input_kind)from->kind,
                                            .message = from->message,
                                            .schema = from->schema,
                                            .request = from->request,
                                            .answer = TOOLRACK_ANSWER_NOBODY};
    }
    struct frame_answer answer = {.count = question.count};
    if (call->input != NULL) {
        answer.later = call->input(call->user, inputs, question.count) == TOOLRACK_INPUT_LATER;
    }
    exchange->is_unanswered = exchange->is_unanswered || answer.later;
    answer.deadline_ns = call->deadline_ns;
    for (uint32_t i = 0; i < question.count; i++) {
        answer.answers[i] =
                (struct frame_answered){.action = inputs[i].answer, .content = inputs[i].content};
    }
    /* An answer that is too long for a frame is replaced by "dismissed". */
    bool sent = send_answer(exchange->channel, &answer) || dismiss(exchange, question.count);
    for (uint32_t i = 0; i < question.count; i++) {
        free(inputs[i].content);
    }
    return sent ? NULL : "a question that could not be answered";
}

/* Handle a message of the running tool. NULL: done, and the worker holds the channel again. */
static const char *take_message(struct exchange *exchange, const struct frame_in *frame) {
    const struct crew_call *call = exchange->call;
    struct output *output = &exchange->lane->worker->output;
    struct frame_log log;
    struct frame_progress progress;
    switch (frame->type) {
    case FRAME_LOG: {
        char room[LOG_LINE_MAX];
        if (!read_log(frame, &log)) {
            return "an unreadable log line";
        }
        const char *line = output_visible(output, log.message, room);
        if (output_passes_log(output, line, clock_now_ns())) {
            call->log(call->user, log.level, line);
        }
        send_plain(exchange->channel, FRAME_GO_ON);
        return NULL;
    }
    case FRAME_PROGRESS:
        if (!read_progress(frame, &progress)) {
            return "an unreadable progress";
        }
        if (output_passes_progress(output, clock_now_ns())) {
            call->progress(call->user, progress.done, progress.total, progress.message);
        }
        send_plain(exchange->channel, FRAME_GO_ON);
        return NULL;
    case FRAME_QUESTION: return take_question(exchange, frame);
    default: return "a frame that is not expected during a call";
    }
}

/* Whether a worker may end a call with this code. Whether a call is permitted, asks for consent or
 * finds its tool is the host's to say, and so are its deadline and its cancellation. */
static bool is_workers_to_say(const struct exchange *exchange, int code) {
    const struct crew_call *call = exchange->call;
    switch (code) {
    case TOOLRACK_E_INVALID_ARGUMENTS:
    case TOOLRACK_E_EXECUTION_FAILED:
    case TOOLRACK_E_LIMIT_EXCEEDED:
    case TOOLRACK_E_NO_MEMORY: return true;
    case TOOLRACK_E_CANCELLED: return atomic_load(&call->interrupted) || call_is_late(call);
    case TOOLRACK_E_TIMEOUT: return call_is_late(call);
    default: return false;
    }
}

/* What a tool may have said though only the host decides it. */
static bool is_claimable(int code) {
    return code == TOOLRACK_E_PERMISSION_DENIED || code == TOOLRACK_E_TIMEOUT ||
           code == TOOLRACK_E_CANCELLED;
}

static enum exchange_end take_failure(struct exchange *exchange, const struct frame_in *frame) {
    struct frame_failure failure;
    if (!read_failure(frame, &failure)) {
        return nonsense(exchange, "an unreadable failure");
    }
    if (!is_workers_to_say(exchange, failure.code)) {
        return nonsense(exchange, "a failure that only the host can decide");
    }
    take_cost(failure.cpu_ns, failure.memory, exchange->reply);
    exchange->code =
            error_set_field(exchange->err, failure.code, failure.field, "%s", failure.message);
    utf8_make_line(exchange->err->field);
    error_set_trace(exchange->err, failure.trace);
    /* Whatever the worker says, a failure to execute is its own word and not the host's. */
    exchange->err->from_tool =
            failure.from_tool == 1 || failure.code == TOOLRACK_E_EXECUTION_FAILED;
    exchange->err->tool_code =
            failure.code == TOOLRACK_E_EXECUTION_FAILED && is_claimable(failure.tool_code)
                    ? failure.tool_code
                    : 0;
    return EXCHANGE_DONE;
}

/* Take one frame. *ret_over: the call is over; the return value says how. */
static enum exchange_end take_frame(struct exchange *exchange, const struct frame_in *frame,
                                    bool *ret_over) {
    *ret_over = true;
    if (exchange->is_unanswered &&
        (frame->type == FRAME_RESULT || frame->type == FRAME_FAILURE)) { /* whatever it says */
        exchange->code = run_unanswered_error(
                &(struct run_context){.tool = exchange->call->tool_name}, exchange->err);
        return EXCHANGE_DONE;
    }
    if (frame->type == FRAME_RESULT) {
        return take_result(exchange, frame);
    }
    if (frame->type == FRAME_FAILURE) {
        return take_failure(exchange, frame);
    }
    const char *wrong = take_message(exchange, frame);
    if (wrong != NULL) {
        return nonsense(exchange, wrong);
    }
    if (atomic_load(&exchange->call->interrupted)) {
        return leave(exchange, TOOLRACK_E_CANCELLED);
    }
    if (call_is_late(exchange->call)) {
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
        case CHANNEL_INTERRUPTED: /* possibly meant for the previous call */
            is_over = atomic_load(&exchange->call->interrupted);
            end = is_over ? leave(exchange, TOOLRACK_E_CANCELLED) : end;
            break;
        case CHANNEL_GONE: return EXCHANGE_GONE;
        case CHANNEL_NONSENSE: return nonsense(exchange, "something that is not a frame");
        case CHANNEL_NO_MEMORY: return leave(exchange, TOOLRACK_E_NO_MEMORY);
        }
        if (is_over) {
            return end;
        }
    }
}

enum exchange_end exchange_run(struct crew_call *call, struct crew_reply *ret, int *ret_code,
                               struct toolrack_error *err) {
    struct exchange exchange = {.lane = call->lane,
                                .channel = call->lane->channel,
                                .call = call,
                                .reply = ret,
                                .err = err};
    const struct frame_call frame = {.tool = call->tool,
                                     .deadline_ns = call->deadline_ns,
                                     .values = call->values,
                                     .value_count = call->value_count,
                                     .arguments = call->values == NULL ? call->arguments : NULL,
                                     .arguments_length = call->arguments_length,
                                     .tool_name = call->tool_name,
                                     .caller = call->caller,
                                     .channel = call->channel,
                                     .conversation = call->conversation,
                                     .trace = call->trace};
    enum exchange_end end = EXCHANGE_DONE;
    ret->json = NULL;
    ret->is_content = false;
    ret->is_structured = false;
    ret->ran = false;
    if (call->secrets != NULL && call->secrets->length > 0) {
        output_hide(&exchange.lane->worker->output, call->secrets);
    }
    cpu_renew(exchange.lane->worker);
    exchange.cpu_from_ns =
            atomic_load_explicit(&exchange.lane->worker->cpu_used_ns, memory_order_relaxed);
    if (atomic_load(&call->interrupted)) {
        exchange.code = call_cancelled_error(call, err);
    } else if (!send_call(exchange.channel, &frame)) {
        exchange.code = error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                  "no room for the arguments of '%s' in the memory that is shared "
                                  "with its worker, or out of memory",
                                  call->tool_name);
    } else {
        ret->ran = true;
        end = receive(&exchange);
    }
    if (end == EXCHANGE_DONE) {
        channel_settle(exchange.channel);
    }
    output_tell_dropped_said(&exchange.lane->worker->output);
    *ret_code = exchange.code;
    return end;
}

/* ------------------------------------------------------------- without a caller */

enum lingering exchange_linger(struct lane *lane) {
    struct channel *channel = lane->channel;
    for (unsigned i = 0; i < LINGER_FRAMES_MAX && channel_is_held(channel); i++) {
        struct frame_in frame;
        enum channel_wait came = channel_receive(channel, 1, &frame);
        if (came != CHANNEL_FRAME) { /* no frame yet, or no memory for it */
            return came == CHANNEL_NONSENSE ? LINGER_NONSENSE : LINGER_ON;
        }
        switch (frame.type) { /* messages have no receiver any more */
        case FRAME_RESULT:
        case FRAME_FAILURE: channel_settle(channel); return LINGER_OVER;
        case FRAME_LOG:
        case FRAME_PROGRESS: send_plain(channel, FRAME_GO_ON); break;
        case FRAME_QUESTION: {
            struct frame_question question;
            if (read_question(&frame, &question) &&
                dismiss(&(struct exchange){.channel = channel}, question.count)) {
                break;
            }
            return LINGER_NONSENSE;
        }
        default: return LINGER_NONSENSE;
        }
    }
    return LINGER_ON;
}
