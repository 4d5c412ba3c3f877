/* turn-responses.c - turns of OpenAI Responses: items, of which some are calls. */
#include "base/cleanup.h"
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
    int code = turn_add_call(reader, item, yyjson_obj_get(item, "call_id"),
                             yyjson_obj_get(item, "name"), yyjson_obj_get(item, "arguments"));
    return code == 0 && turn_is(yyjson_obj_get(item, "status"), "incomplete") ? turn_cut_off(reader)
                                                                              : code;
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

static int read_turn(struct turn_reader *reader, yyjson_val *root) {
    if (yyjson_is_arr(root)) {
        return read_items(reader, root, "");
    }
    yyjson_val *output = yyjson_obj_get(root, "output");
    if (output == NULL && yyjson_is_str(yyjson_obj_get(root, "type"))) {
        return read_item(reader, root);
    }
    return yyjson_is_arr(output)
                   ? read_items(reader, output, "/output")
                   : turn_refuse(reader, output != NULL ? "/output" : "",
                                 "expected a response with an array 'output', or that array");
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
