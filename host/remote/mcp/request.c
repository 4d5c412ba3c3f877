#include "remote/mcp/request.h"

#include <string.h>

#include "base/json-write.h"
#include "base/json.h"
#include "base/utf8.h"

/* ------------------------------------------------------------------- wait */

static uint64_t until_ns(void *user) {
    const struct mount_request *request = user;
    return atomic_load(&request->run->deadline_ns);
}

static bool is_cancelled(void *user) {
    const struct mount_request *request = user;
    return request->run->host->cancelled(request->run);
}

/* ---------------------------------------------------------------- questions */

/* A text in the run's arena, with the server's name before it: whoever is asked must know by whom.
 * It is one line, so that none in it looks like a question of somebody else. */
static const char *name_asker(const struct mount_request *request, const char *message) {
    char *text = arena_printf(&request->run->arena, "MCP server '%s' asks: %s",
                              mcp_client_name(request->client), message != NULL ? message : "");
    if (text != NULL) {
        utf8_make_line(text);
    }
    return text;
}

const char *mount_request_text(struct run *run, yyjson_val *value) {
    const yyjson_alc alc = arena_alc(&run->arena);
    return value != NULL ? yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL)
                         : NULL;
}

/* @return whether this can be asked */
static bool make_input(const struct mount_request *request, const char *method, yyjson_val *params,
                       struct tr_input *ret) {
    *ret = (struct tr_input){.size = sizeof *ret};
    if (strcmp(method, "sampling/createMessage") == 0) {
        ret->kind = TR_INPUT_SAMPLE;
        ret->request = mount_request_text(request->run, params);
        return ret->request != NULL;
    }
    if (strcmp(method, "elicitation/create") != 0) {
        return false;
    }
    bool is_url = yyjson_equals_str(yyjson_obj_get(params, "mode"), "url");
    ret->kind = is_url ? TR_INPUT_URL : TR_INPUT_FORM;
    ret->message = name_asker(request, yyjson_get_str(yyjson_obj_get(params, "message")));
    ret->schema =
            is_url ? NULL
                   : mount_request_text(request->run, yyjson_obj_get(params, "requestedSchema"));
    ret->request = is_url ? yyjson_get_str(yyjson_obj_get(params, "url")) : NULL;
    return ret->message != NULL && (!is_url || ret->request != NULL);
}

/* Append the answer, as the result of the server's request; nothing if nobody's model answered. */
static void write_input(struct buf *out, const struct tr_input *input) {
    bool is_given = input->answer == TR_ANSWER_ACCEPTED;
    if (input->kind == TR_INPUT_SAMPLE) {
        buf_add_text(out, is_given ? input->content : "");
    } else if (is_given && input->kind == TR_INPUT_FORM) {
        buf_add_text(out, "{\"action\":\"accept\",\"content\":");
        buf_add_text(out, input->content != NULL ? input->content : "{}");
        buf_add_char(out, '}');
    } else {
        buf_printf(out, "{\"action\":\"%s\"}",
                   is_given                              ? "accept"
                   : input->answer == TR_ANSWER_DECLINED ? "decline"
                                                         : "cancel");
    }
}

/* A request of the server, in the era in which servers send some. */
static void answer_request(struct mount_request *request, const struct message *asked) {
    struct tr_input input;
    CLEANUP(buf_finish) struct buf result = BUF_INIT;
    if (!make_input(request, asked->method, asked->params, &input)) {
        mount_session_answer(request->session, asked, NULL, -32601, "this client cannot do that");
        return;
    }
    (void)run_ask(request->run, &input, 1); /* why it could not be asked ends the call, too */
    write_input(&result, &input);
    if (result.length == 0 || result.failed) {
        mount_session_answer(request->session, asked, NULL, -1, "no model answered");
    } else {
        mount_session_answer(request->session, asked, result.data, 0, NULL);
    }
}

/* ------------------------------------------------- what comes during the call */

static int level_of(yyjson_val *params) {
    static const char *const errors[] = {"error", "critical", "alert", "emergency"};
    yyjson_val *level = yyjson_obj_get(params, "level");
    for (size_t i = 0; i < ARRAY_LENGTH(errors); i++) {
        if (yyjson_equals_str(level, errors[i])) {
            return TR_LOG_ERROR;
        }
    }
    return yyjson_equals_str(level, "warning") ? TR_LOG_WARNING
           : yyjson_equals_str(level, "debug") ? TR_LOG_DEBUG
                                               : TR_LOG_INFO;
}

static void take_log(const struct mount_request *request, yyjson_val *params) {
    yyjson_val *data = yyjson_obj_get(params, "data");
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (yyjson_is_str(data)) {
        buf_add_text(&text, yyjson_get_str(data));
    } else if (data != NULL) {
        json_add_value(&text, data);
    }
    if (text.length > 0 && !text.failed) {
        mcp_client_hide(request->client, text.data);
        request->run->host->log(request->run, level_of(params), text.data);
    }
}

static void take(void *user, struct message *message) {
    struct mount_request *request = user;
    struct run *run = request->run;
    yyjson_val *params = message->params;
    if (message->kind == MESSAGE_REQUEST) {
        answer_request(request, message);
    } else if (strcmp(message->method, "notifications/progress") == 0) {
        const char *said = yyjson_get_str(yyjson_obj_get(params, "message"));
        run->host->progress(run, yyjson_get_num(yyjson_obj_get(params, "progress")),
                            yyjson_get_num(yyjson_obj_get(params, "total")), said);
    } else if (strcmp(message->method, "notifications/message") == 0) {
        take_log(request, params);
    }
    mcp_message_destroy(message);
}

/* ------------------------------------------------------------------- rounds */

/* The server wants answers, and the request once more with them (2026-07-28).
 * @param out  receives the members to add to the next request */
static tr_status answer_inputs(struct mount_request *request, yyjson_val *result, struct buf *out) {
    struct tr_input inputs[RUN_INPUTS_MAX];
    yyjson_val *keys[RUN_INPUTS_MAX];
    yyjson_val *requests = yyjson_obj_get(result, "inputRequests");
    yyjson_val *state = yyjson_obj_get(result, "requestState");
    uint32_t count = 0;
    yyjson_obj_iter each = yyjson_obj_iter_with(requests); /* none without an object */
    yyjson_val *key;
    if (yyjson_obj_size(requests) > RUN_INPUTS_MAX || (requests == NULL && state == NULL)) {
        return mount_request_refuse(request, "it asks for nothing, or for more than 16 inputs");
    }
    while ((key = yyjson_obj_iter_next(&each)) != NULL) {
        yyjson_val *asked = yyjson_obj_iter_get_val(key);
        const char *method = yyjson_get_str(yyjson_obj_get(asked, "method"));
        if (method == NULL ||
            !make_input(request, method, yyjson_obj_get(asked, "params"), &inputs[count])) {
            return mount_request_refuse(request, "it asks for what this client did not offer");
        }
        keys[count++] = key;
    }
    tr_status status = count > 0 ? run_ask(request->run, inputs, count) : TR_OK;
    if (status != TR_OK && status != TR_ABSENT) {
        return status;
    }
    buf_add_text(out, ",\"inputResponses\":{");
    for (uint32_t i = 0; i < count; i++) {
        CLEANUP(buf_finish) struct buf answer = BUF_INIT;
        write_input(&answer, &inputs[i]);
        if (answer.length == 0) {
            return run_fail(request->run, TOOLRACK_E_EXECUTION_FAILED, TR_ABSENT, NULL,
                            "MCP server '%s' asks a model, and the caller has none",
                            mcp_client_name(request->client));
        }
        buf_add_text(out, i > 0 ? "," : "");
        json_add_value(out, keys[i]);
        buf_add_char(out, ':');
        buf_add(out, answer.data, answer.length);
    }
    buf_add_char(out, '}');
    if (state != NULL) {
        buf_add_text(out, ",\"requestState\":");
        json_add_value(out, state);
    }
    return TR_OK;
}

/* Why there is no answer. What only the host decides is told as it wants it. */
static tr_status take_no_answer(const struct mount_request *request, struct toolrack_error *err) {
    struct run *run = request->run;
    mcp_client_hide(request->client, err->message);
    if (err->code == TOOLRACK_E_CANCELLED) {
        return run_fail(run, TOOLRACK_E_CANCELLED, TR_CANCELLED, NULL, "%s", err->message);
    }
    (void)run_fail(run,
                   err->code == TOOLRACK_E_LIMIT_EXCEEDED ? TOOLRACK_E_LIMIT_EXCEEDED
                                                          : TOOLRACK_E_EXECUTION_FAILED,
                   TR_FAILED, NULL, "%s", err->message);
    run->error.signal = err->signal;
    return TR_FAILED;
}

static int hold(struct mount_request *request, struct toolrack_error *err) {
    const struct session_wait wait = {
            .until_ns = until_ns, .is_cancelled = is_cancelled, .user = request};
    return mcp_client_hold(request->client, &wait, &request->session, err);
}

/* @return as mount_session_ask() */
static int ask_once(struct mount_request *request, const char *method, const struct buf *members,
                    const struct buf *more, struct message **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const struct session_wait wait = {.is_call = true,
                                      .mirrored = request->mirrored,
                                      .silence_ms = mcp_client_call_ms(request->client),
                                      .until_ns = until_ns,
                                      .is_cancelled = is_cancelled,
                                      .take = take,
                                      .user = request};
    uint64_t number = mount_session_number(request->session);
    mcp_client_begin(request->client, &text, number, method);
    buf_add(&text, members->data, members->length);
    buf_add(&text, more->data, more->length);
    buf_add_text(&text, "}}");
    text.failed = text.failed || members->failed;
    return mount_session_ask(request->session, number, &text, &wait, ret, err);
}

/* One of the rounds, and once more if the server has forgotten the session and did not take it.
 * @param more  the members that it has beside its own */
static tr_status ask(struct mount_request *request, const char *method, const struct buf *members,
                     const struct buf *more, struct message **ret) {
    struct toolrack_error why;
    int code = ask_once(request, method, members, more, ret, &why);
    if (code == TOOLRACK_E_UNAVAILABLE) {
        mount_request_finish(request);
        code = hold(request, &why);
        code = code == 0 ? ask_once(request, method, members, more, ret, &why) : code;
    }
    return code < 0 ? take_no_answer(request, &why) : request->run->failed ? TR_FAILED : TR_OK;
}

tr_status mount_request_ask(struct mount_request *request, const char *method,
                            const struct buf *members, struct message **ret) {
    CLEANUP(buf_finish) struct buf more = BUF_INIT;
    for (unsigned round = 0; round < REQUEST_ROUNDS_MAX; round++) {
        CLEANUP(mcp_message_destroyp) struct message *answer = NULL;
        tr_status status = ask(request, method, members, &more, &answer);
        if (status != TR_OK) {
            return status;
        }
        if (answer->kind == MESSAGE_FAILURE ||
            !yyjson_equals_str(yyjson_obj_get(answer->result, "resultType"), "input_required")) {
            *ret = STEAL(answer);
            return TR_OK;
        }
        buf_clear(&more);
        status = answer_inputs(request, answer->result, &more);
        if (status != TR_OK || more.failed) {
            return more.failed ? run_no_memory(request->run) : status;
        }
    }
    return mount_request_refuse(request, "it asks for more again and again");
}

/* ------------------------------------------------------------------ its life */

tr_status mount_request_begin(struct mount_request *request, struct mcp_client *client,
                              struct run *run) {
    struct toolrack_error why;
    *request = (struct mount_request){.client = client, .run = run};
    return hold(request, &why) < 0 ? take_no_answer(request, &why) : TR_OK;
}

void mount_request_finish(struct mount_request *request) {
    if (request->client != NULL && request->run->failed) { /* the server may quote what it has */
        mcp_client_hide(request->client, request->run->error.message);
    }
    mount_session_unref(request->session);
    request->session = NULL;
}

/* ----------------------------------------------------------------- failures */

tr_status mount_request_refuse(const struct mount_request *request, const char *what) {
    return run_fail(request->run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                    "MCP server '%s' answered with a result that cannot be used: %s",
                    mcp_client_name(request->client), what);
}

/* A failure of the protocol. Its codes are of JSON-RPC and of MCP. */
tr_status mount_request_fail(const struct mount_request *request, const struct message *answer) {
    return answer->code == -32602
                   ? tr_fail(&request->run->base, TR_INVALID_ARGUMENTS, NULL, "%s", answer->text)
                   : run_fail(request->run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                              "MCP server '%s': %s (%lld)", mcp_client_name(request->client),
                              answer->text, (long long)answer->code);
}
