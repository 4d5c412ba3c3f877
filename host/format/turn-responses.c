/* turn-responses.c - turns of OpenAI Responses: items, of which some are calls. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "format/turn-parts.h"

/* An item that is another's by its role is no call, whatever its type: the agent leaves it out of
 * the conversation too. */
static int read_item(struct turn_reader *reader, yyjson_val *item) {
    yyjson_val *type = yyjson_obj_get(item, "type");
    if (!turn_is_models(item)) {
        return 0;
    }
    if (turn_is(type, "custom_tool_call")) {
        return turn_add_custom(reader, item, yyjson_obj_get(item, "call_id"),
                               yyjson_obj_get(item, "name"));
    }
    if (!turn_is(type, "function_call")) {
        return 0;
    }
    yyjson_val *status = yyjson_obj_get(item, "status");
    int code = turn_add_call(reader, item, yyjson_obj_get(item, "call_id"),
                             yyjson_obj_get(item, "name"), yyjson_obj_get(item, "arguments"));
    bool is_cut_off = yyjson_is_str(status) && !turn_is(status, "completed");
    return code == 0 && is_cut_off ? turn_cut_off(reader) : code;
}

static int read_items(struct turn_reader *reader, yyjson_val *items, const char *place) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (items, at, count, item) {
        code = code < 0 ? code : turn_check_element(reader, item, place, at);
        code = code < 0 ? code : read_item(reader, item);
    }
    return code;
}

static int check_refusal(struct turn_reader *reader, yyjson_val *item, const char *place,
                         size_t index) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *part;
    yyjson_val *content = yyjson_obj_get(item, "content"); /* the macro looks several times */
    yyjson_arr_foreach (content, at, count, part) {
        if (code == 0 && turn_is(yyjson_obj_get(part, "type"), "refusal") && turn_is_models(item)) {
            char where[96];
            (void)snprintf(where, sizeof where, "%s/%zu/content/%zu", place, index, at);
            code = turn_end(reader,
                            &(struct turn_end){.ending = TOOLRACK_ENDING_REFUSAL, .place = where});
        }
    }
    return code;
}

/* The model may refuse in any item, and what it calls in the others is not made. */
static int check_refusals(struct turn_reader *reader, yyjson_val *items, const char *place) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (items, at, count, item) {
        code = code < 0 ? code : check_refusal(reader, item, place, at);
    }
    return code;
}

/* A response that has not ended may get more calls, and one that failed has none to make. */
static int check_status(struct turn_reader *reader, yyjson_val *status) {
    bool is_lost = turn_is(status, "failed") || turn_is(status, "cancelled");
    bool is_open = turn_is(status, "queued") || turn_is(status, "in_progress");
    return is_lost || is_open
                   ? error_set_field(reader->err, TOOLRACK_E_INVALID, "/status",
                                     "the response has the status '%s', so no call of it is made: "
                                     "%s",
                                     yyjson_get_str(status),
                                     is_lost ? "ask again"
                                             : "retrieve it again when that is 'completed'")
                   : 0;
}

/* Of a call the status says whether it is complete; some servers give the last one none. */
static int end_response(struct turn_reader *reader, yyjson_val *root, yyjson_val *output) {
    yyjson_val *status = yyjson_obj_get(root, "status");
    yyjson_val *reason = yyjson_obj_get(yyjson_obj_get(root, "incomplete_details"), "reason");
    yyjson_val *last = yyjson_arr_get_last(output);
    bool has_reason = turn_is_text(reason);
    reason = has_reason ? reason : turn_is(status, "incomplete") ? status : NULL;
    const struct turn_end end = {.ending = turn_ending(reader, reason),
                                 .reason = reason,
                                 .place = has_reason ? "/incomplete_details/reason" : "/status",
                                 .is_in_call =
                                         turn_is(yyjson_obj_get(last, "type"), "function_call") &&
                                         yyjson_obj_get(last, "status") == NULL};
    int code = check_status(reader, status);
    return code < 0 ? code : turn_end(reader, &end);
}

static int read_turn(struct turn_reader *reader, yyjson_val *root) {
    yyjson_val *output = yyjson_obj_get(root, "output");
    if (!yyjson_is_arr(root) && output == NULL && yyjson_is_str(yyjson_obj_get(root, "type"))) {
        return read_item(reader, root);
    }
    yyjson_val *items = yyjson_is_arr(root) ? root : output;
    const char *place = items == root ? "" : "/output";
    if (!yyjson_is_arr(items)) {
        return turn_refuse(reader, output != NULL ? "/output" : "",
                           "expected a response with an array 'output', or that array");
    }
    int code = read_items(reader, items, place);
    code = code < 0 ? code : check_refusals(reader, items, place);
    return code < 0 || items == root ? code : end_response(reader, root, output);
}

static void write_piece(struct buf *out, const struct turn_piece *piece) {
    if (piece->kind != TURN_IMAGE) {
        buf_add_text(out, "{\"type\":\"input_text\",\"text\":");
        buf_add_json_string(out, piece->text, piece->length);
        buf_add_char(out, '}');
        return;
    }
    CLEANUP(buf_finish) struct buf url = BUF_INIT;
    buf_printf(&url, "data:%s;base64,", piece->mime_type);
    buf_add(&url, piece->data, piece->data_length);
    buf_add_text(out, "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":");
    buf_add_json_string(out, url.data != NULL ? url.data : "", url.length);
    buf_add_char(out, '}');
    out->failed = out->failed || url.failed;
}

/* A call that was made by a program of the model has a `caller`, and its result must repeat it. */
static void write_result(struct buf *out, const struct format_call *call,
                         const struct turn_result *result) {
    bool custom = turn_is(yyjson_obj_get(call->raw, "type"), "custom_tool_call");
    buf_printf(out, "{\"type\":\"%s_output\",", custom ? "custom_tool_call" : "function_call");
    turn_write_member(out, "call_id", yyjson_obj_get(call->raw, "call_id"));
    turn_write_member(out, "namespace", yyjson_obj_get(call->raw, "namespace"));
    turn_write_member(out, "caller", yyjson_obj_get(call->raw, "caller"));
    buf_add_text(out, "\"output\":");
    bool has_image = false;
    for (size_t i = 0; i < result->count; i++) {
        has_image = has_image || result->pieces[i].kind == TURN_IMAGE;
    }
    if (!has_image) {
        turn_write_text(out, result);
        buf_add_char(out, '}');
        return;
    }
    buf_add_char(out, '[');
    for (size_t i = 0; i < result->count; i++) {
        buf_add(out, ",", i > 0);
        write_piece(out, &result->pieces[i]);
    }
    buf_add_text(out, "]}");
}

const struct turn_format turn_responses = {read_turn, "[", write_result, "]"};
