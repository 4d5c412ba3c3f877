#include "provider/agent.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/rendering.h"
#include "base/text.h"
#include "base/utf8.h"
#include "net/http.h"
#include "net/libcurl.h"
#include "net/retry.h"
#include "provider/conversation.h"
#include "provider/endpoint.h"
#include "provider/events.h"
#include "provider/headers.h"
#include "provider/kept.h"
#include "provider/key-pieces.h"
#include "provider/keys.h"
#include "provider/parameters.h"
#include "provider/refusal.h"
#include "provider/refused.h"
#include "provider/transcript.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(struct toolrack_stream, toolrack_stream_free)

struct agent {
    const struct agent_options *options;
    const struct toolrack_agent_options *app;
    struct agent_outcome *outcome;
    struct key key;
    struct key_stream shown; /* text of the model */
    char *url;
    struct http *http;
    struct conversation conversation;
    struct transcript *transcript;
    struct events events;
    struct buf secrets; /* of calls */
    bool has_begun;     /* the transcript says so */
    bool has_text;      /* some text of the answer has come */
    bool is_unsent;     /* the model's last message is not sent again */
};

void agent_outcome_finish(struct agent_outcome *outcome) {
    for (size_t i = 0; i < outcome->called_count; i++) {
        free(outcome->called[i].tool);
        free(outcome->called[i].changed);
    }
    free(outcome->called);
    buf_finish(&outcome->text);
    free(outcome->transcript);
    *outcome = (struct agent_outcome){0};
}

/* ---------------------------------------------------------------- requests */

static void give_text(void *user, const char *text, size_t length) {
    struct agent *agent = user;
    buf_add(&agent->outcome->text, text, length);
    agent->app->text(agent->app->user, text, length);
}

static void take_text(void *user, const char *text, size_t length) {
    struct agent *agent = user;
    agent->has_text = true;
    key_stream_feed(&agent->key, &agent->shown, text, length, give_text, agent);
}

static void add_masked(void *user, const char *text, size_t length) {
    buf_add(user, text, length);
}

/* Why the message ended, as far as the stream knows; also for a stream that failed. */
static void keep_ending(struct agent *agent, const struct toolrack_stream *stream) {
    struct agent_outcome *outcome = agent->outcome;
    const char *reason = "";
    outcome->ending =
            stream != NULL ? toolrack_stream_ending(stream, &reason) : TOOLRACK_ENDING_NONE;
    CLEANUP(buf_finish) struct buf whole = BUF_INIT; /* a part of a key would not be known as one */
    struct key_stream masked = {0};
    buf_add(&whole, "", 0);
    key_stream_feed(&agent->key, &masked, reason, strlen(reason), add_masked, &whole);
    key_stream_end(&agent->key, &masked, add_masked, &whole);
    utf8_copy(outcome->reason, sizeof outcome->reason, whole.failed ? "" : whole.data);
    utf8_make_line(outcome->reason);
}

#define IN_BRACKETS_ROOM (AGENT_REASON_ROOM + 3)

/* The provider's word for a message: " (max_tokens)"; "" where there is none. */
static const char *reason_of(const struct agent *agent, char ret[IN_BRACKETS_ROOM]) {
    const char *reason = agent->outcome->reason;
    bool is_said = reason[0] != '\0';
    (void)snprintf(ret, IN_BRACKETS_ROOM, "%s%s%s", is_said ? " (" : "", reason,
                   is_said ? ")" : "");
    return ret;
}

/* Where the bytes of an answer go. */
struct feeding {
    struct agent *agent;
    struct toolrack_stream *stream;
    bool has_begun;
};

/* What begins so is in none of the formats: the address is that of a site. */
static int feed(void *user, const char *bytes, size_t length, struct toolrack_error *err) {
    struct feeding *feeding = user;
    if (!feeding->has_begun && length > 0 && bytes[0] == '<') {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s answers with a page of HTML; is this the address of a model?",
                         feeding->agent->url);
    }
    if (!feeding->has_begun) {
        events_answer(&feeding->agent->events);
    }
    feeding->has_begun = true;
    return toolrack_stream_feed(feeding->stream, bytes, length, err);
}

/* The app's headers take the place of ours with the same name. */
static void collect_headers(const struct agent *agent, const char *ret[HEADERS_MAX + 3]) {
    const char *const *lines = agent->app->headers;
    const char *const ours[] = {agent->key.header, agent->app->format == TOOLRACK_FORMAT_ANTHROPIC
                                                           ? "anthropic-version: 2023-06-01"
                                                           : NULL};
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(ours); i++) {
        if (ours[i] != NULL && !headers_has(lines, ours[i])) {
            ret[count++] = ours[i];
        }
    }
    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++) {
        ret[count++] = lines[i];
    }
    ret[count] = NULL;
}

/* Whether and when another try may succeed, and why. */
struct retry {
    struct conversation_refused dropped; /* what further requests do not have; no name: nothing */
    bool may_pass;
    uint32_t wait_ms;
    struct buf why;
};

static void retry_finish(struct retry *retry) {
    buf_finish(&retry->why);
}

/* Whether the provider was busy, and said so in a stream that had begun with success: while nothing
 * of an answer was shown that is the same as such a status. A stream that exceeds a limit of ours
 * would do so again. */
static bool has_failed_early(const struct agent *agent, struct toolrack_stream *stream,
                             unsigned tries, struct retry *retry, struct toolrack_error *err) {
    const char *message = NULL;
    struct toolrack_error why;
    int code = stream != NULL && !agent->has_text
                       ? toolrack_stream_end(stream, &message, NULL, &why)
                       : 0;
    if ((code != TOOLRACK_E_IO && code != TOOLRACK_E_LIMIT_EXCEEDED) || why.lasting) {
        return false;
    }
    retry->may_pass = true;
    retry->wait_ms = retry_wait_ms(tries);
    buf_add_text(&retry->why, why.message);
    *err = why;
    return true;
}

/* Tell of a request that is about to be sent. */
static int announce(const struct agent *agent, unsigned tries, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (agent->app->verbose) {
        events_note(&agent->events, "step %u: asks %s at %s", agent->outcome->steps,
                    agent->app->model, agent->url);
    }
    buf_printf(&text, "{\"step\":%u,\"try\":%u,\"messages\":%zu}", agent->outcome->steps, tries,
               agent->conversation.count);
    return text.failed
                   ? error_oom(err)
                   : transcript_write(agent->transcript, "request", text.data, text.length, err);
}

/* Send a request, and feed the stream with what comes of it. */
static int post(struct agent *agent, const struct buf *body, unsigned tries,
                struct toolrack_stream *stream, struct http_response *response,
                struct toolrack_error *err) {
    const char *headers[HEADERS_MAX + 3];
    collect_headers(agent, headers);
    const struct http_request request = {.url = agent->url,
                                         .headers = headers,
                                         .body = body->data,
                                         .length = body->length,
                                         .response_max = agent->options->response_max};
    struct feeding feeding = {.agent = agent, .stream = stream};
    const struct http_sink sink = {.take = feed, .user = &feeding};
    events_request(&agent->events, tries);
    int code = http_post(agent->http, &request, &sink, response, err);
    agent->outcome->has_sent = http_has_sent(agent->http);
    key_redact(&agent->key, response->text.data, response->text.length);
    keep_ending(agent, stream);
    return code;
}

/* The provider answers with another status than success: what it refuses of the request is dropped
 * from the next one, or the error says what to do. */
static int take_refusal(struct agent *agent, const struct http_response *response, unsigned tries,
                        struct retry *retry, struct toolrack_error *err) {
    const char *advice = NULL;
    const bool is_of_request = response->status == 400 || response->status == 422;
    if (is_of_request && response->text.length > 0 &&
        !conversation_drop_refused(&agent->conversation, response->text.data, &retry->dropped)) {
        advice = conversation_refusal_advice(&agent->conversation, response->text.data);
    }
    agent->outcome->ending = refusal_ending(response);
    uint32_t wait_ms;
    const bool may_pass = refusal_may_pass(response, &wait_ms);
    agent->outcome->wait_ms = wait_ms < REFUSAL_REST_MS_MAX ? wait_ms : REFUSAL_REST_MS_MAX;
    int code = refusal_set(&(struct refusal){.url = agent->url,
                                             .response = response,
                                             .key = &agent->key,
                                             .tries = tries,
                                             .place = agent->options->place,
                                             .advice = advice},
                           err);
    if (may_pass) {
        retry->wait_ms = wait_ms > 0 || response->has_retry_after ? wait_ms : retry_wait_ms(tries);
        retry->may_pass = true;
        buf_printf(&retry->why, "the provider answers %ld: ", response->status);
        refusal_add_reason(response, &retry->why);
    }
    return code;
}

/* Whether the connection failed after a complete message. */
static bool is_whole_anyway(int code, struct toolrack_stream *stream) {
    const char *message = NULL;
    struct toolrack_error unheard;
    return (code == TOOLRACK_E_IO || code == TOOLRACK_E_TIMEOUT) &&
           toolrack_stream_end(stream, &message, NULL, &unheard) == 0;
}

/* One try; on failure `retry` says whether to try again. */
static int try_once(struct agent *agent, const struct buf *body, unsigned tries,
                    struct toolrack_stream **ret, struct retry *retry, struct toolrack_error *err) {
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    CLEANUP(http_response_finish) struct http_response response = {0};
    int code = announce(agent, tries, err);
    code = code < 0 ? code
                    : toolrack_stream_new(agent->app->format, take_text, agent, &stream, err);
    if (code < 0) {
        return code;
    }
    code = post(agent, body, tries, stream, &response, err);
    if (is_whole_anyway(code, stream)) {
        *ret = STEAL(stream);
        return 0;
    }
    if (code == TOOLRACK_E_IO && http_was_reset(agent->http)) {
        retry->may_pass = true;
        retry->wait_ms = retry_wait_ms(tries);
        buf_add_text(&retry->why, "the provider closed the connection without an answer");
    }
    if ((code < 0 || response.status == 200) &&
        has_failed_early(agent, stream, tries, retry, err)) {
        return err->code;
    }
    if (code == 0 && response.status == 200) {
        *ret = STEAL(stream);
    } else if (code == 0) {
        code = take_refusal(agent, &response, tries, retry, err);
    }
    return code;
}

/* Wait for the next try; the app is told each second what is left. */
static int wait_for_retry(const struct agent *agent, const struct retry *retry,
                          struct toolrack_error *err) {
    const struct toolrack_agent_options *app = agent->app;
    uint64_t until_ns = clock_now_ns() + (uint64_t)retry->wait_ms * CLOCK_NS_PER_MS;
    int code = 0;
    for (uint64_t now_ns; code == 0 && (now_ns = clock_now_ns()) < until_ns;) {
        uint32_t left_ms = (uint32_t)((until_ns - now_ns) / CLOCK_NS_PER_MS) + 1;
        if (app->wait != NULL) {
            app->wait(app->user, left_ms);
        }
        code = http_wait(agent->http, left_ms < 1000 ? left_ms : (left_ms - 1) % 1000 + 1, err);
    }
    if (app->wait != NULL) {
        app->wait(app->user, 0);
    }
    return code;
}

/* Whether the wait that the provider asks for is not too long, by the app's limit or its word. */
static bool may_wait(const struct agent *agent, const struct retry *retry) {
    const struct toolrack_agent_options *app = agent->app;
    uint64_t most_ms = app->wait_ms_max != 0 ? app->wait_ms_max : TOOLRACK_AGENT_WAIT_MS_DEFAULT;
    return retry->wait_ms <= most_ms ||
           (app->wait_longer != NULL &&
            app->wait_longer(app->user, retry->why.data, retry->wait_ms));
}

/* Ask until there is an answer. After text of an answer was shown, there is no further try. What a
 * provider refuses of a request, it is asked without: no more often than there are such parts. */
static int ask(struct agent *agent, struct toolrack_stream **ret, struct toolrack_error *err) {
    for (unsigned tries = 1;; tries++) {
        CLEANUP(retry_finish) struct retry retry = {0};
        CLEANUP(buf_finish) struct buf wait = BUF_INIT;
        CLEANUP(buf_finish) struct buf body = BUF_INIT;
        int code = conversation_body(&agent->conversation, &body, err);
        code = code < 0 ? code : try_once(agent, &body, tries, ret, &retry, err);
        if (retry.dropped.name != NULL) {
            const char *instead = retry.dropped.instead;
            events_note(&agent->events, "the provider refuses %s; asking with%s %s",
                        retry.dropped.name, instead != NULL ? "" : "out",
                        instead != NULL ? instead : "it");
            refused_keep(agent->options->state_dir, agent->url, agent->app->model,
                         retry.dropped.name);
            tries--;
            continue;
        }
        if (code == 0 || !retry.may_pass || agent->options->asks_once || tries > RETRY_COUNT_MAX) {
            return code;
        }
        buf_add_text(&wait, retry.wait_ms > 0 ? "in " : "at once");
        if (retry.wait_ms > 0) {
            text_add_wait(&wait, retry.wait_ms);
        }
        if (retry.why.failed || wait.failed) {
            return error_oom(err);
        }
        key_redact(&agent->key, retry.why.data, retry.why.length);
        if (!may_wait(agent, &retry)) {
            struct toolrack_error before = *err;
            return retry.wait_ms < RETRY_AFTER_MS_MAX
                           ? error_set(err, code,
                                       "%s; it wants to be asked again %s: --max-wait %us waits "
                                       "for it",
                                       before.message, wait.data, (retry.wait_ms + 999) / 1000)
                           : error_set(err, code,
                                       "%s; it wants to be asked again in a day or later: ask "
                                       "again then",
                                       before.message);
        }
        events_note(&agent->events, "%s; asking again %s", retry.why.data, wait.data);
        code = wait_for_retry(agent, &retry, err);
        if (code < 0) {
            return code;
        }
    }
}

/* -------------------------------------------------------------------- steps */

/* Run the calls of a message that was accepted. */
static int run_calls(struct agent *agent, const char *message, size_t length,
                     const struct buf *shown, struct toolrack_text **ret,
                     struct toolrack_error *err) {
    const struct agent_options *options = agent->options;
    uint64_t begin_ns = clock_now_ns();
    int code = events_begin_calls(&agent->events, shown->data, shown->length, err);
    if (code == 0) {
        struct agent_watch watch = events_watch(&agent->events);
        code = options->answer(options->user, message, length, &watch, ret, err);
        agent->outcome->tools_ns += agent->events.count > 0 ? clock_now_ns() - begin_ns : 0;
    }
    events_end_calls(&agent->events, code == 0);
    return code;
}

/* The message as it is shown and kept. */
static int mask_message(struct agent *agent, const char *message, size_t length, struct buf *ret,
                        struct toolrack_error *err) {
    const struct agent_options *options = agent->options;
    if (options->secrets == NULL) {
        buf_add(ret, message, length);
        return ret->failed ? error_oom(err) : 0;
    }
    return call_secrets_of_message(agent->app->format, message, length, options->secrets,
                                   options->user, &agent->secrets, ret, err);
}

static int keep_results(struct agent *agent, const char *results, size_t length,
                        struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    int code = call_secrets_of_results(results, length, &agent->secrets, &kept, err);
    return code < 0 ? code
                    : transcript_write(agent->transcript, "results", kept.data, kept.length, err);
}

/* Run the calls of the message and append their results; `ret_goes_on`: there were calls. */
static int do_turn(struct agent *agent, const char *message, size_t length, const struct buf *shown,
                   bool *ret_goes_on, struct toolrack_error *err) {
    const struct agent_options *options = agent->options;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *results = NULL;
    int code = options->check(agent->app->format, message, length, err);
    agent->is_unsent = code < 0;
    if (code == 0) {
        code = run_calls(agent, message, length, shown, &results, err);
    }
    if (code < 0) {
        return code;
    }
    CLEANUP(buf_finish) struct buf redacted = BUF_INIT;
    size_t results_length = 0;
    const char *text = toolrack_text_data(results, &results_length);
    buf_add(&redacted, text, results_length);
    code = redacted.failed ? error_oom(err)
                           : key_redact_json(&agent->key, redacted.data, redacted.length, err);
    if (code < 0) {
        return code;
    }
    text = redacted.data;
    *ret_goes_on = strcmp(text, "[]") != 0;
    if (!*ret_goes_on) {
        return 0;
    }
    code = keep_results(agent, text, results_length, err);
    if (code == 0) {
        code = conversation_add_results(&agent->conversation, text, results_length, err);
    }
    struct pollfd stop = {.fd = agent->app->stop_fd, .events = POLLIN};
    if (code == 0 && poll(&stop, 1, 0) > 0) {
        code = error_set(err, TOOLRACK_E_CANCELLED, "the conversation was interrupted");
    }
    return code;
}

static bool is_blank(const struct buf *text) {
    for (size_t i = 0; i < text->length; i++) {
        if (strchr(" \t\r\n", text->data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Refuse a message that was withdrawn or cannot be read, before any of its calls runs. */
static int check_ending(const struct agent *agent, struct toolrack_error *err) {
    char reason[IN_BRACKETS_ROOM];
    switch (agent->outcome->ending) {
    case TOOLRACK_ENDING_REFUSAL:
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the model refuses the task: change the task, or ask another model");
    case TOOLRACK_ENDING_SAFETY:
    case TOOLRACK_ENDING_CONTENT_FILTER:
        return error_set(err, TOOLRACK_E_REFUSED,
                         "the provider's %s stopped the answer%s: change the task, or ask another "
                         "model",
                         agent->outcome->ending == TOOLRACK_ENDING_SAFETY ? "safety filter"
                                                                          : "content filter",
                         reason_of(agent, reason));
    case TOOLRACK_ENDING_MALFORMED_CALL:
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "the model wrote a call that cannot be read%s: try again, or ask another "
                         "model",
                         reason_of(agent, reason));
    case TOOLRACK_ENDING_STOPPED:
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "the provider stopped the answer%s: try again, or ask another model",
                         reason_of(agent, reason));
    default: return 0;
    }
}

/* What there is to say of a message whose calls ran, or that has none and is the last. */
static int judge_ending(struct agent *agent, bool goes_on, struct toolrack_error *err) {
    char reason[IN_BRACKETS_ROOM];
    struct agent_outcome *outcome = agent->outcome;
    if (outcome->ending == TOOLRACK_ENDING_LENGTH && goes_on) {
        events_note(&agent->events,
                    "the model's message is cut off at a limit of tokens%s: calls may be missing",
                    reason_of(agent, reason));
    } else if (outcome->ending == TOOLRACK_ENDING_LENGTH) {
        return error_set(
                err, TOOLRACK_E_LIMIT_EXCEEDED,
                "the answer is cut off at a limit of tokens%s: ask for a shorter one, or allow "
                "more (--parameter max_tokens=NUMBER)",
                reason_of(agent, reason));
    } else if (!goes_on && is_blank(&outcome->text)) {
        outcome->ending = TOOLRACK_ENDING_EMPTY;
        agent->is_unsent = true;
        return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                         "the model's answer is empty%s: it has neither text nor calls; try again, "
                         "or ask another model",
                         reason_of(agent, reason));
    } else if (outcome->ending == TOOLRACK_ENDING_OTHER) {
        events_note(&agent->events,
                    "the model ended its message for a reason that is not known here%s",
                    reason_of(agent, reason));
    }
    return 0;
}

/* Offer the tools that are new. */
static int offer_more(struct agent *agent, struct toolrack_error *err) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *tools = NULL;
    const struct agent_options *options = agent->options;
    int code = options->more != NULL ? options->more(options->user, &tools, err) : 0;
    return code == 0 && tools != NULL ? conversation_add_tools(&agent->conversation,
                                                               toolrack_text_data(tools, NULL), err)
                                      : code;
}

static int take_step(struct agent *agent, bool *ret_goes_on, struct toolrack_error *err) {
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    agent->outcome->steps++;
    agent->has_text = false;
    buf_clear(&agent->outcome->text);
    keep_ending(agent, NULL);
    int code = offer_more(agent, err);
    code = code < 0 ? code : ask(agent, &stream, err);
    if (code == TOOLRACK_E_EXECUTION_FAILED) {
        int withdrawn = check_ending(agent, err); /* the provider reports it as an error */
        code = withdrawn < 0 ? withdrawn : code;
    }
    const char *message = NULL;
    size_t length = 0;
    if (code == 0) {
        code = toolrack_stream_end(stream, &message, &length, err);
        keep_ending(agent, stream);
        events_message(&agent->events, stream);
    }
    key_stream_end(&agent->key, &agent->shown, give_text, agent);
    /* From here on nobody sees a key that the model has said: no tool, no file, no question. */
    CLEANUP(buf_finish) struct buf redacted = BUF_INIT;
    if (code == 0) {
        buf_add(&redacted, message, length);
        code = redacted.failed ? error_oom(err)
                               : key_redact_json(&agent->key, redacted.data, length, err);
    }
    if (code == 0) {
        code = conversation_renew_ids(&agent->conversation, &redacted, err);
        message = redacted.data;
        length = redacted.length;
    }
    if (agent->outcome->text.length > 0) {
        agent->app->text(agent->app->user, NULL, 0);
    }
    CLEANUP(buf_finish) struct buf shown = BUF_INIT;
    if (code == 0) {
        code = mask_message(agent, message, length, &shown, err);
    }
    if (code == 0) {
        code = transcript_write(agent->transcript, "message", shown.data, shown.length, err);
    }
    if (code == 0) {
        size_t before = agent->conversation.foreign;
        code = conversation_add_message(&agent->conversation, message, length, err);
        if (agent->conversation.foreign > before) {
            events_note(&agent->events,
                        "the model's message has %zu part%s that no model may write (another role, "
                        "results of calls); not sent on as such",
                        agent->conversation.foreign - before,
                        agent->conversation.foreign - before > 1 ? "s" : "");
        }
    }
    if (code == 0) {
        code = check_ending(agent, err);
        agent->is_unsent = code < 0;
    }
    if (code == 0) {
        code = do_turn(agent, message, length, &shown, ret_goes_on, err);
    }
    return code < 0 ? code : judge_ending(agent, *ret_goes_on, err);
}

static int take_steps(struct agent *agent, struct toolrack_error *err) {
    unsigned most =
            agent->app->steps_max != 0 ? agent->app->steps_max : TOOLRACK_AGENT_STEPS_DEFAULT;
    bool goes_on = true;
    while (goes_on && agent->outcome->steps < most) {
        int code = take_step(agent, &goes_on, err);
        if (code < 0) {
            return code;
        }
    }
    return goes_on ? error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "the model still calls tools after %u steps; --max-steps allows "
                               "more, up to %u",
                               most, TOOLRACK_AGENT_STEPS_MAX)
                   : 0;
}

/* ---------------------------------------------------------------- beginning */

static void add_member(struct buf *out, const char *key, const char *text) {
    buf_printf(out, ",\"%s\":", key);
    if (text != NULL) {
        buf_add_json_string(out, text, strlen(text));
    } else {
        buf_add_text(out, "null");
    }
}

static void add_members(struct buf *out, const char *key, const char *const *texts) {
    buf_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; texts != NULL && texts[i] != NULL; i++) {
        buf_add_text(out, i > 0 ? "," : "");
        buf_add_json_string(out, texts[i], strlen(texts[i]));
    }
    buf_add_char(out, ']');
}

/* With which settings the conversation begins or goes on, and with what message of the user; for
 * kept.h. Headers are not kept: they may hold keys. */
static void add_settings(const struct agent *agent, struct buf *out) {
    const struct toolrack_agent_options *app = agent->app;
    buf_add_text(out, "{\"url\":");
    buf_add_json_string(out, agent->url, strlen(agent->url));
    add_member(out, "format", toolrack_format_name(app->format));
    add_member(out, "id", app->call->conversation);
    add_member(out, "name", agent->options->name);
    add_member(out, "endpoint", app->endpoint);
    add_member(out, "model", app->model);
    add_member(out, "system", app->system);
    buf_printf(out, ",\"plan\":%s", app->plan != 0 ? "true" : "false");
    add_members(out, "query", agent->options->query);
    add_members(out, "parameters", agent->options->parameters);
    add_member(out, "task", app->task);
}

/* The settings, and the first body. */
static int write_beginning(struct agent *agent, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    add_settings(agent, &text);
    buf_add_text(&text, ",\"body\":");
    struct conversation unmarked = agent->conversation; /* marks are of one request */
    unmarked.extras &= ~(unsigned)CONVERSATION_CACHE_CONTROL;
    int code = conversation_body(&unmarked, &text, err);
    buf_add_char(&text, '}');
    if (code == 0 && text.failed) {
        code = error_oom(err);
    }
    return code < 0 ? code
                    : transcript_write(agent->transcript, "beginning", text.data, text.length, err);
}

/* ------------------------------------------------------------ one that is kept */

/* Tell the model of calls that have no results: whether they took effect is not known, and they are
 * not repeated. A message whose calls nobody can answer is taken back.
 * @param ret_is_answer  the message has no calls */
static int answer_open(struct agent *agent, bool *ret_is_answer, struct toolrack_error *err) {
    struct kept *kept = agent->options->kept;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *results = NULL;
    int code = agent->options->unfinished(agent->options->user, kept->open, strlen(kept->open),
                                          &results, err);
    if (code < 0 && code != TOOLRACK_E_NO_MEMORY) {
        kept_drop_open(kept);
        agent->is_unsent = true;
        return 0;
    }
    if (code < 0) {
        return code;
    }
    size_t length = 0;
    const char *text = toolrack_text_data(results, &length);
    *ret_is_answer = strcmp(text, "[]") == 0;
    if (*ret_is_answer) {
        return 0;
    }
    code = transcript_write(agent->transcript, "results", text, length, err);
    return code < 0 ? code : conversation_add_results(&kept->conversation, text, length, err);
}

/* Add the user's message to the kept ones; without one, they have to be such that an answer of the
 * model can follow. */
static int add_task(struct agent *agent, bool is_answer, struct toolrack_error *err) {
    struct kept *kept = agent->options->kept;
    if (agent->app->task != NULL) {
        return conversation_add_task(&kept->conversation, agent->app->task, err);
    }
    if (is_answer && !kept->has_failed) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the conversation has ended with an answer; give a task to go on");
    }
    if (is_answer) {
        kept_drop_open(kept);
        agent->is_unsent = true;
    }
    return kept->conversation.count > 0
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the conversation has no message that could be sent; give a task");
}

/* Go on where the conversation ended. */
static int go_on(struct agent *agent, struct toolrack_error *err) {
    struct kept *kept = agent->options->kept;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    bool is_answer = false;
    int code = kept->open != NULL ? answer_open(agent, &is_answer, err) : 0;
    if (code == 0) {
        code = add_task(agent, is_answer, err);
    }
    if (code == 0) {
        code = conversation_add_all(&agent->conversation, &kept->conversation, err);
    }
    if (code < 0) {
        return code;
    }
    add_settings(agent, &text);
    buf_add_text(&text, agent->is_unsent ? ",\"unsent\":true}" : "}");
    agent->is_unsent = false;
    return text.failed ? error_oom(err)
                       : transcript_write(agent->transcript, "resume", text.data, text.length, err);
}

/* -------------------------------------------------------------------- life */

/* Write how the conversation ended; a failure to write is ignored. */
static void write_end(struct agent *agent, const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_error unheard;
    buf_printf(&text, "{\"steps\":%u,\"calls\":%zu,\"ending\":\"%s\"%s", agent->outcome->steps,
               agent->outcome->calls, toolrack_ending_word(agent->outcome->ending),
               agent->is_unsent ? ",\"unsent\":true" : "");
    if (err != NULL) {
        buf_printf(&text, ",\"type\":\"%s\",\"message\":", toolrack_code_name(err->code));
        buf_add_json_string(&text, err->message, strlen(err->message));
    }
    buf_add_char(&text, '}');
    if (!text.failed && agent->has_begun) {
        (void)transcript_write(agent->transcript, "end", text.data, text.length, &unheard);
    }
}

/* Of a single question nothing is asked again: there is nothing to keep for the next request. */
static int set_extras(struct agent *agent, struct toolrack_error *err) {
    bool goes_on = !agent->options->asks_once;
    return conversation_set_extras(
            &agent->conversation, goes_on ? CONVERSATION_EXTRAS : CONVERSATION_STORE,
            goes_on && endpoint_is_openai(agent->url) ? agent->app->call->conversation : NULL, err);
}

static int open_transcript(struct agent *agent, struct toolrack_error *err) {
    const struct agent_options *options = agent->options;
    int code = 0;
    if (options->kept != NULL) {
        agent->transcript = STEAL(options->kept->transcript);
    } else {
        code = transcript_open(&(struct transcript_place){.file = agent->app->transcript,
                                                          .state_dir = options->state_dir,
                                                          .id = agent->app->call->conversation},
                               &agent->transcript, err);
    }
    if (code == 0) {
        transcript_set_key(agent->transcript, &agent->key);
    }
    return code;
}

static int open_parts(struct agent *agent, struct toolrack_error *err) {
    const struct toolrack_agent_options *app = agent->app;
    int code = libcurl_load(err);
    if (code == 0) {
        code = endpoint_url(app->format, app->endpoint, app->model, &agent->url, err);
    }
    if (code == 0) {
        code = endpoint_add_query(&agent->url, app->query, err);
    }
    if (code == 0) {
        code = headers_check(app->headers, err);
    }
    CLEANUP(buf_finish) struct buf parameters = BUF_INIT;
    if (code == 0) {
        code = parameters_write(app->format, agent->url, app->parameters, &parameters, err);
    }
    if (code == 0) {
        code = key_read(app->format, agent->options->key_variable, &agent->key, err);
    }
    if (code == 0) {
        code = key_add_headers(&agent->key, app->headers, err);
    }
    if (code == 0 && agent->options->results != NULL) {
        results_hide(agent->options->results, &agent->key, &agent->secrets);
    }
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *tools = NULL;
    if (code == 0) {
        code = agent->options->definitions(agent->options->user, &tools, err);
    }
    if (code == 0) {
        code = conversation_init(&agent->conversation, app->format, app->model,
                                 agent->options->system, toolrack_text_data(tools, NULL),
                                 agent->options->kept == NULL ? app->task : NULL, err);
    }
    if (code == 0) {
        code = set_extras(agent, err);
    }
    if (code == 0) {
        code = conversation_set_parameters(&agent->conversation, &parameters, err);
    }
    if (code == 0) {
        refused_apply(agent->options->state_dir, agent->url, app->model, &agent->conversation);
    }
    if (code == 0) {
        agent->http = http_create(app->stop_fd);
        code = agent->http != NULL ? 0 : error_oom(err);
    }
    if (code == 0) {
        code = open_transcript(agent, err);
    }
    const char *path = code == 0 ? transcript_path(agent->transcript) : NULL;
    if (path != NULL) {
        agent->outcome->transcript = strdup(path);
        code = agent->outcome->transcript != NULL ? 0 : error_oom(err);
    }
    return code;
}

int agent_run(const struct agent_options *options, struct agent_outcome *ret,
              struct toolrack_error *err) {
    *ret = (struct agent_outcome){0};
    struct agent agent = {.options = options, .app = options->app, .outcome = ret};
    agent.events = (struct events){
            .app = options->app, .key = &agent.key, .secrets = &agent.secrets, .outcome = ret};
    uint64_t begin_ns = clock_now_ns();
    int code = open_parts(&agent, err);
    if (code == 0) {
        code = options->kept != NULL ? go_on(&agent, err) : write_beginning(&agent, err);
    }
    agent.has_begun = code == 0;
    if (code == 0) {
        code = take_steps(&agent, err);
    }
    if (code < 0) {
        key_redact_error(&agent.key, err);
    }
    ret->total_ns = clock_now_ns() - begin_ns;
    write_end(&agent, code < 0 ? err : NULL);
    transcript_close(agent.transcript);
    conversation_finish(&agent.conversation);
    http_destroy(agent.http);
    if (options->results != NULL) {
        results_hide(options->results, NULL, NULL);
    }
    key_finish(&agent.key);
    if (agent.secrets.data != NULL) {
        explicit_bzero(agent.secrets.data, agent.secrets.length);
    }
    buf_finish(&agent.secrets);
    free(agent.url);
    return code;
}
