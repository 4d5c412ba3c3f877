#include "remote/mcp/tools.h"

#include <string.h>

#include "base/clock.h"
#include "base/json-equal.h"
#include "base/json-write.h"
#include "base/json.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A call that is under way. */
struct calling {
    struct mcp_client *client;
    struct session *session;
    struct run *run;
    const char *tool;
};

/* ------------------------------------------------------------------- wait */

static uint64_t until_ns(void *user) {
    const struct calling *calling = user;
    return atomic_load(&calling->run->deadline_ns);
}

static bool is_cancelled(void *user) {
    const struct calling *calling = user;
    return calling->run->host->cancelled(calling->run);
}

/* ---------------------------------------------------------------- questions */

/* A text in the run's arena, with the server's name before it: whoever is asked must know by whom.
 */
static const char *name_asker(const struct calling *calling, const char *message) {
    return arena_printf(&calling->run->arena, "MCP server '%s' asks: %s",
                        mcp_client_name(calling->client), message != NULL ? message : "");
}

static const char *write_value(struct run *run, yyjson_val *value) {
    const yyjson_alc alc = arena_alc(&run->arena);
    return value != NULL ? yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL)
                         : NULL;
}

/* @return whether this can be asked */
static bool make_input(const struct calling *calling, const char *method, yyjson_val *params,
                       struct tr_input *ret) {
    *ret = (struct tr_input){.size = sizeof *ret};
    if (strcmp(method, "sampling/createMessage") == 0) {
        ret->kind = TR_INPUT_SAMPLE;
        ret->request = write_value(calling->run, params);
        return ret->request != NULL;
    }
    if (strcmp(method, "elicitation/create") != 0) {
        return false;
    }
    bool is_url = yyjson_equals_str(yyjson_obj_get(params, "mode"), "url");
    ret->kind = is_url ? TR_INPUT_URL : TR_INPUT_FORM;
    ret->message = name_asker(calling, yyjson_get_str(yyjson_obj_get(params, "message")));
    ret->schema =
            is_url ? NULL : write_value(calling->run, yyjson_obj_get(params, "requestedSchema"));
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
static void answer_request(struct calling *calling, const struct message *request) {
    struct tr_input input;
    CLEANUP(buf_finish) struct buf result = BUF_INIT;
    if (!make_input(calling, request->method, request->params, &input)) {
        mount_session_answer(calling->session, request, NULL, -32601, "this client cannot do that");
        return;
    }
    (void)run_ask(calling->run, &input, 1); /* why it could not be asked ends the call, too */
    write_input(&result, &input);
    if (result.length == 0 || result.failed) {
        mount_session_answer(calling->session, request, NULL, -1, "no model answered");
    } else {
        mount_session_answer(calling->session, request, result.data, 0, NULL);
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

static void take_log(const struct calling *calling, yyjson_val *params) {
    yyjson_val *data = yyjson_obj_get(params, "data");
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (!yyjson_is_str(data) && data != NULL) {
        json_add_value(&text, data);
    }
    const char *line = yyjson_is_str(data) ? yyjson_get_str(data) : text.data;
    if (line != NULL && !text.failed) {
        calling->run->host->log(calling->run, level_of(params), line);
    }
}

static void take(void *user, struct message *message) {
    struct calling *calling = user;
    struct run *run = calling->run;
    yyjson_val *params = message->params;
    if (message->kind == MESSAGE_REQUEST) {
        answer_request(calling, message);
    } else if (strcmp(message->method, "notifications/progress") == 0) {
        const char *said = yyjson_get_str(yyjson_obj_get(params, "message"));
        run->host->progress(run, yyjson_get_num(yyjson_obj_get(params, "progress")),
                            yyjson_get_num(yyjson_obj_get(params, "total")), said);
    } else if (strcmp(message->method, "notifications/message") == 0) {
        take_log(calling, params);
    }
    mcp_message_destroy(message);
}

/* ------------------------------------------------------------------ result */

static tr_status refuse_result(const struct calling *calling, const char *what) {
    return run_fail(calling->run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                    "MCP server '%s' answered with a result that cannot be used: %s",
                    mcp_client_name(calling->client), what);
}

/* A failure of the tool itself: its texts say why. */
static tr_status take_failure(const struct calling *calling, yyjson_val *content) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (content, at, count, block) {
        const char *said = yyjson_get_str(yyjson_obj_get(block, "text"));
        if (said != NULL) {
            buf_printf(&text, "%s%s", text.length > 0 ? "; " : "", said);
        }
    }
    return tr_fail(&calling->run->base, TR_FAILED, NULL, "%s",
                   text.length > 0 && !text.failed ? text.data : "it does not say why");
}

/* Whether a text says the same as the structured result, as clients of earlier revisions need it.
 */
static bool repeats(yyjson_val *block, yyjson_val *structured) {
    yyjson_val *text = yyjson_obj_get(block, "text");
    struct budget budget = {.steps = 1000000};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = structured != NULL && yyjson_is_str(text)
                              ? yyjson_read(yyjson_get_str(text), yyjson_get_len(text), 0)
                              : NULL;
    return doc != NULL && json_equal(yyjson_doc_get_root(doc), structured, &budget);
}

static tr_status add_block(const struct calling *calling, yyjson_val *block) {
    struct run *run = calling->run;
    yyjson_val *text = yyjson_obj_get(block, "text");
    bool is_plain = yyjson_equals_str(yyjson_obj_get(block, "type"), "text") &&
                    yyjson_is_str(text) && yyjson_obj_size(block) == 2;
    if (is_plain && strlen(yyjson_get_str(text)) == yyjson_get_len(text)) {
        return tr_reply_text(&run->base, yyjson_get_str(text));
    }
    if (!content_is_block(block)) {
        return refuse_result(calling, "one of its blocks is none that MCP has");
    }
    const char *json = write_value(run, block);
    return json != NULL ? tr_reply_content(&run->base, json) : run_no_memory(run);
}

static tr_status take_result(const struct calling *calling, yyjson_val *result) {
    struct run *run = calling->run;
    yyjson_val *content = yyjson_obj_get(result, "content");
    yyjson_val *structured = yyjson_obj_get(result, "structuredContent");
    tr_status status = TR_OK;
    if (content != NULL && !yyjson_is_arr(content)) {
        return refuse_result(calling, "its \"content\" is no array");
    }
    if (yyjson_is_true(yyjson_obj_get(result, "isError"))) {
        return take_failure(calling, content);
    }
    if (content == NULL && structured == NULL) {
        return refuse_result(calling, "it has neither \"content\" nor \"structuredContent\"");
    }
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (content, at, count, block) {
        if (status == TR_OK && !repeats(block, structured)) {
            status = add_block(calling, block);
        }
    }
    if (status == TR_OK && structured != NULL) {
        const char *json = write_value(run, structured);
        status = json != NULL ? tr_reply_json(&run->base, json) : run_no_memory(run);
    } else if (status == TR_OK && count == 0) {
        status = tr_reply_text(&run->base, "");
    }
    return status;
}

/* A failure of the protocol. Its codes are of JSON-RPC and of MCP. */
static tr_status take_protocol_failure(const struct calling *calling,
                                       const struct message *answer) {
    return answer->code == -32602
                   ? tr_fail(&calling->run->base, TR_INVALID_ARGUMENTS, NULL, "%s", answer->text)
                   : run_fail(calling->run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                              "MCP server '%s': %s (%lld)", mcp_client_name(calling->client),
                              answer->text, (long long)answer->code);
}

/* ------------------------------------------------------------------- rounds */

/* The server wants answers, and the call once more with them (2026-07-28).
 * @param out  receives the members to add to the next request */
static tr_status answer_inputs(struct calling *calling, yyjson_val *result, struct buf *out) {
    struct tr_input inputs[RUN_INPUTS_MAX];
    yyjson_val *keys[RUN_INPUTS_MAX];
    yyjson_val *requests = yyjson_obj_get(result, "inputRequests");
    yyjson_val *state = yyjson_obj_get(result, "requestState");
    uint32_t count = 0;
    yyjson_obj_iter each = yyjson_obj_iter_with(requests); /* none without an object */
    yyjson_val *key;
    if (yyjson_obj_size(requests) > RUN_INPUTS_MAX || (requests == NULL && state == NULL)) {
        return refuse_result(calling, "it asks for nothing, or for more than 16 inputs");
    }
    while ((key = yyjson_obj_iter_next(&each)) != NULL) {
        yyjson_val *request = yyjson_obj_iter_get_val(key);
        const char *method = yyjson_get_str(yyjson_obj_get(request, "method"));
        if (method == NULL ||
            !make_input(calling, method, yyjson_obj_get(request, "params"), &inputs[count])) {
            return refuse_result(calling, "it asks for what this client did not offer");
        }
        keys[count++] = key;
    }
    tr_status status = count > 0 ? run_ask(calling->run, inputs, count) : TR_OK;
    if (status != TR_OK && status != TR_ABSENT) {
        return status;
    }
    buf_add_text(out, ",\"inputResponses\":{");
    for (uint32_t i = 0; i < count; i++) {
        CLEANUP(buf_finish) struct buf answer = BUF_INIT;
        write_input(&answer, &inputs[i]);
        if (answer.length == 0) {
            return run_fail(calling->run, TOOLRACK_E_EXECUTION_FAILED, TR_ABSENT, NULL,
                            "MCP server '%s' asks a model, and the caller has none",
                            mcp_client_name(calling->client));
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
static tr_status take_no_answer(const struct calling *calling, const struct toolrack_error *err) {
    struct run *run = calling->run;
    if (err->code == TOOLRACK_E_CANCELLED) {
        return run_fail(run, TOOLRACK_E_CANCELLED, TR_CANCELLED, NULL, "%s", err->message);
    }
    (void)run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL, "%s", err->message);
    run->error.signal = err->signal;
    return TR_FAILED;
}

/* One request. @param more  the members that it has beside name and arguments */
static tr_status ask(struct calling *calling, const struct buf *more, struct message **ret) {
    struct toolrack_error why;
    struct run *run = calling->run;
    size_t length;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const struct session_wait wait = {.is_call = true,
                                      .until_ns = until_ns,
                                      .is_cancelled = is_cancelled,
                                      .take = take,
                                      .user = calling};
    const char *arguments = run_arguments(run, &length);
    if (arguments == NULL) {
        return TR_FAILED;
    }
    uint64_t number = mount_session_number(calling->session);
    mcp_client_begin(calling->client, &text, number, "tools/call");
    buf_add_text(&text, ",\"name\":");
    buf_add_json_string(&text, calling->tool, strlen(calling->tool));
    buf_add_text(&text, ",\"arguments\":");
    buf_add(&text, arguments, length);
    buf_add(&text, more->data, more->length);
    buf_add_text(&text, "}}");
    int code = mount_session_ask(calling->session, number, &text, &wait, ret, &why);
    return code < 0 ? take_no_answer(calling, &why) : run->failed ? TR_FAILED : TR_OK;
}

static tr_status call(struct calling *calling) {
    CLEANUP(buf_finish) struct buf more = BUF_INIT;
    for (unsigned round = 0; round < TOOLS_ROUNDS_MAX; round++) {
        CLEANUP(mcp_message_destroyp) struct message *answer = NULL;
        tr_status status = ask(calling, &more, &answer);
        if (status != TR_OK) {
            return status;
        }
        if (answer->kind == MESSAGE_FAILURE) {
            return take_protocol_failure(calling, answer);
        }
        if (!yyjson_equals_str(yyjson_obj_get(answer->result, "resultType"), "input_required")) {
            return take_result(calling, answer->result);
        }
        buf_clear(&more);
        status = answer_inputs(calling, answer->result, &more);
        if (status != TR_OK || more.failed) {
            return more.failed ? run_no_memory(calling->run) : status;
        }
    }
    return refuse_result(calling, "it asks for more again and again");
}

tr_status mount_tools_call(struct mcp_client *client, struct run *run, const char *tool) {
    struct toolrack_error why;
    struct calling calling = {.client = client, .run = run, .tool = tool};
    const struct session_wait wait = {
            .until_ns = until_ns, .is_cancelled = is_cancelled, .user = &calling};
    CLEANUP(mount_session_unrefp) struct session *session = NULL;
    if (mcp_client_hold(client, &wait, &session, &why) < 0) {
        return take_no_answer(&calling, &why);
    }
    calling.session = session;
    return call(&calling);
}
