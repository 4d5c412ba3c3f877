/* turn-openai.c - turns of OpenAI Chat Completions. */
#include "format/turn-parts.h"

static int read_message(struct turn_reader *reader, yyjson_val *message, const char *place) {
    if (!yyjson_is_obj(message)) {
        return turn_refuse(reader, place, "expected the assistant's message, an object");
    }
    yyjson_val *lone = yyjson_obj_get(message, "function_call");
    yyjson_val *name = yyjson_obj_get(lone, "name");
    if (yyjson_obj_get(message, "role") == NULL && yyjson_obj_get(message, "content") == NULL &&
        yyjson_obj_get(message, "tool_calls") == NULL && lone == NULL) {
        return turn_refuse(reader, place, "it has no choices, role, content or tool_calls");
    }
    int code = turn_read_tool_calls(reader, message, place);
    if (code < 0 || reader->message->count > 0 || yyjson_get_len(name) == 0) {
        return code;
    }
    code = turn_add_call(reader, lone, NULL, name, yyjson_obj_get(lone, "arguments"));
    if (code < 0) {
        return code;
    }
    reader->message->calls[0].is_lone = true;
    return turn_check_role(reader, message, place);
}

static int read_choice(struct turn_reader *reader, yyjson_val *choice) {
    yyjson_val *reason = yyjson_obj_get(choice, "finish_reason");
    if (turn_is_error(reader, choice, "/choices/0/error")) {
        return TOOLRACK_E_INVALID;
    }
    if (turn_is(reason, "error")) {
        return error_set_field(reader->err, TOOLRACK_E_INVALID, "/choices/0/finish_reason",
                               "the provider answered with an error and gave no reason");
    }
    int code = read_message(reader, yyjson_obj_get(choice, "message"), "/choices/0/message");
    bool is_cut_off = turn_is(reason, "length") || turn_is(reason, "content_filter");
    return code == 0 && is_cut_off ? turn_cut_off(reader) : code;
}

static int read_turn(struct turn_reader *reader, yyjson_val *root) {
    yyjson_val *choices = yyjson_obj_get(root, "choices");
    return choices == NULL ? read_message(reader, root, "")
                           : read_choice(reader, yyjson_arr_get_first(choices));
}

/* The format has no flag for errors and no images: everything is text. */
static void write_result(struct buf *out, const struct format_call *call,
                         const struct turn_result *result) {
    buf_add_text(out, call->is_lone ? "{\"role\":\"function\"," : "{\"role\":\"tool\",");
    turn_write_member(out, call->is_lone ? "name" : "tool_call_id",
                      yyjson_obj_get(call->raw, call->is_lone ? "name" : "id"));
    buf_add_text(out, "\"content\":");
    turn_write_text(out, result);
    buf_add_char(out, '}');
}

const struct turn_format turn_openai = {read_turn, "[", write_result, "]"};
