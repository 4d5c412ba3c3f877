#include "provider/events.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "provider/key-pieces.h"
#include "provider/said.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Bytes of a result that are read for its line: far more than the line has, since the key must be
 * masked before the text is cut, and white space is left out. */
#define RESULT_READ_MAX 16384u

void events_note(const struct events *events, const char *format, ...) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    va_list args;
    va_start(args, format);
    buf_vprintf(&line, format, args);
    va_end(args);
    if (!line.failed) {
        key_redact(events->key, line.data, line.length);
        events->app->note(events->app->user, line.data);
    }
}

/* `event` has its kind, and what belongs to that. */
static void tell(const struct events *events, struct toolrack_agent_event *event) {
    event->size = sizeof *event;
    event->step = events->outcome->steps;
    event->tries = events->tries;
    if (events->app->event != NULL) {
        events->app->event(events->app->user, event);
    }
}

/* ---------------------------------------------------------------- requests */

void events_request(struct events *events, unsigned tries) {
    events->tries = tries;
    events->request_ns = clock_now_ns();
    tell(events, &(struct toolrack_agent_event){.kind = TOOLRACK_AGENT_REQUEST});
}

void events_answer(struct events *events) {
    uint64_t duration_ns = clock_now_ns() - events->request_ns;
    if (events->outcome->first_byte_ns == 0) {
        events->outcome->first_byte_ns = duration_ns;
    }
    tell(events,
         &(struct toolrack_agent_event){.kind = TOOLRACK_AGENT_ANSWER, .duration_ns = duration_ns});
}

/* Unknown numbers add nothing. */
static void add_count(int64_t *sum, int64_t count) {
    if (count >= 0) {
        *sum = (*sum > 0 ? *sum : 0) + count;
    }
}

static void add_usage(struct agent_outcome *outcome, const struct toolrack_usage *usage) {
    struct toolrack_usage *sum = &outcome->usage;
    if (!outcome->has_usage) {
        *sum = (struct toolrack_usage){.size = sizeof *sum,
                                       .input = TOOLRACK_TOKENS_UNKNOWN,
                                       .cached = TOOLRACK_TOKENS_UNKNOWN,
                                       .written = TOOLRACK_TOKENS_UNKNOWN,
                                       .output = TOOLRACK_TOKENS_UNKNOWN,
                                       .reasoning = TOOLRACK_TOKENS_UNKNOWN};
    }
    outcome->has_usage = true;
    add_count(&sum->input, usage->input);
    add_count(&sum->cached, usage->cached);
    add_count(&sum->written, usage->written);
    add_count(&sum->output, usage->output);
    add_count(&sum->reasoning, usage->reasoning);
}

void events_message(struct events *events, const struct toolrack_stream *stream) {
    struct toolrack_usage usage = TOOLRACK_USAGE_INIT;
    bool is_said = toolrack_stream_usage(stream, &usage);
    if (is_said) {
        add_usage(events->outcome, &usage);
        events->outcome->counted += usage.input >= 0 && usage.output >= 0;
    }
    tell(events, &(struct toolrack_agent_event){.kind = TOOLRACK_AGENT_MESSAGE,
                                                .duration_ns = clock_now_ns() - events->request_ns,
                                                .usage = is_said ? &usage : NULL});
}

/* -------------------------------------------------------------------- calls */

/* `event` has its kind; a call whose name could not be kept is not told of. */
static void tell_of_call(const struct events *events, size_t index,
                         struct toolrack_agent_event *event) {
    if (index < events->count && events->calls[index].tool != NULL) {
        event->call = (uint32_t)index;
        event->calls = (uint32_t)events->count;
        event->tool = events->calls[index].tool;
        event->arguments = events->calls[index].arguments;
        tell(events, event);
    }
}

static void take_call(void *user, const struct said_call *call) {
    struct events *events = user;
    struct events_call *kept = &events->calls[call->index];
    kept->tool = strdup(call->tool);
    kept->arguments = strdup(call->arguments);
    tell_of_call(events, call->index,
                 &(struct toolrack_agent_event){.kind = TOOLRACK_AGENT_CALL_BEGAN});
    if (events->app->event == NULL && call->index < SAID_LINES_MAX) {
        events_note(events, "calls %s %s", call->tool, call->arguments);
    } else if (events->app->event == NULL && call->index + 1 == events->count) {
        events_note(events, "calls %zu more", events->count - SAID_LINES_MAX);
    }
}

int events_begin_calls(struct events *events, const char *message, size_t length,
                       struct toolrack_error *err) {
    enum toolrack_format format = events->app->format;
    events->count = said_calls(format, message, length, NULL, NULL);
    events->calls = calloc(events->count + 1, sizeof *events->calls);
    if (events->calls == NULL) {
        events->count = 0;
        return error_oom(err);
    }
    (void)said_calls(format, message, length, take_call, events);
    return 0;
}

static void take_progress(void *user, size_t call, double done, double total, const char *message) {
    const struct events *events = user;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(freep) char *text = message != NULL ? strdup(message) : NULL;
    if (text != NULL) {
        key_redact(events->key, text, strlen(text));
        secrets_mask(events->secrets, text);
        said_add(&line, text, strlen(text));
    }
    tell_of_call(events, call,
                 &(struct toolrack_agent_event){.kind = TOOLRACK_AGENT_CALL_PROGRESS,
                                                .done = done,
                                                .total = total,
                                                .message = line.failed ? NULL : line.data});
}

/* Keep it for the outcome, which lists the first of them. */
static void keep(struct events *events, const char *tool, const struct agent_call_end *end,
                 const char *state) {
    struct agent_outcome *outcome = events->outcome;
    outcome->calls++;
    if (outcome->called_count == TOOLRACK_AGENT_CALLED_MAX) {
        return;
    }
    if (outcome->called_count == outcome->called_room) {
        size_t room = outcome->called_room > 0 ? 2 * outcome->called_room : 16;
        struct agent_called *grown = reallocarray(outcome->called, room, sizeof *grown);
        if (grown == NULL) {
            return;
        }
        outcome->called = grown;
        outcome->called_room = room;
    }
    outcome->called[outcome->called_count++] =
            (struct agent_called){.step = outcome->steps,
                                  .tool = tool != NULL ? strdup(tool) : NULL,
                                  .state = state,
                                  .duration_ns = end->duration_ns,
                                  .code = end->code,
                                  .changed = end->changed != NULL ? strdup(end->changed) : NULL};
}

/* What was changed in the arguments, as the command says it of its own calls. */
static void tell_changes(const struct events *events, const char *tool, const char *changed) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(changed, strlen(changed), 0);
    size_t at;
    size_t count;
    yyjson_val *change;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, change) {
        events_note(events, "%s: the argument %s was changed to fit: %s", tool,
                    yyjson_get_str(yyjson_obj_get(change, "field")),
                    yyjson_get_str(yyjson_obj_get(change, "change")));
    }
}

static void take_end(void *user, size_t call, const struct agent_call_end *end) {
    struct events *events = user;
    struct events_call *kept = call < events->count ? &events->calls[call] : NULL;
    CLEANUP(buf_finish) struct buf read = BUF_INIT;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    struct toolrack_error unheard;
    const char *state = end->code == 0                      ? "succeeded"
                        : end->code == TOOLRACK_E_CANCELLED ? "cancelled"
                                                            : "failed";
    buf_add(&read, end->text, end->length < RESULT_READ_MAX ? end->length : RESULT_READ_MAX);
    if (!read.failed && key_redact_json(events->key, read.data, read.length, &unheard) < 0) {
        buf_clear(&read);
    }
    if (read.data != NULL) {
        secrets_mask(events->secrets, read.data);
        read.length = strlen(read.data);
    }
    buf_add(&line, "", 0);
    /* What to do stands at the end of a failure: that is not cut. */
    if (end->code == 0) {
        said_add(&line, read.data != NULL ? read.data : "", read.length);
    } else {
        text_add_line(&line, read.data != NULL ? read.data : "", read.length);
    }
    keep(events, kept != NULL ? kept->tool : NULL, end, state);
    if (kept != NULL && !read.failed && !line.failed) {
        kept->result = strdup(line.data);
    }
    if (end->changed != NULL && kept != NULL && kept->tool != NULL) {
        tell_changes(events, kept->tool, end->changed);
    }
    tell_of_call(events, call,
                 &(struct toolrack_agent_event){.kind = TOOLRACK_AGENT_CALL_ENDED,
                                                .duration_ns = end->duration_ns,
                                                .state = state,
                                                .result = line.failed ? "" : line.data,
                                                .code = end->code});
}

struct agent_watch events_watch(struct events *events) {
    return (struct agent_watch){.user = events, .progress = take_progress, .ended = take_end};
}

void events_end_calls(struct events *events, bool is_whole) {
    bool is_noted = is_whole && events->app->event == NULL;
    for (size_t i = 0; i < events->count; i++) {
        struct events_call *call = &events->calls[i];
        if (is_noted && i < SAID_LINES_MAX && call->tool != NULL && call->result != NULL) {
            events_note(events, "%s: %s", call->tool, call->result);
        }
        free(call->tool);
        free(call->arguments);
        free(call->result);
    }
    if (is_noted && events->count > SAID_LINES_MAX) {
        events_note(events, "%zu more results", events->count - SAID_LINES_MAX);
    }
    free(events->calls);
    events->calls = NULL;
    events->count = 0;
}
