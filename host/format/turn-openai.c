/* turn-openai.c - turns of OpenAI Chat Completions. */
#include <stdio.h>

#include "format/turn-parts.h"

/* The one call of the API before it had `tool_calls`. */
static int read_lone_call(struct turn_reader *reader, yyjson_val *lone, yyjson_val *name) {
    int code = turn_add_call(reader, lone, NULL, name, yyjson_obj_get(lone, "arguments"));
    if (code == 0) {
        reader->message->calls[0].is_lone = true;
    }
    return code;
}

/* The model writes a refusal where others write their answer. */
static int check_refusal(struct turn_reader *reader, yyjson_val *message, const char *place) {
    if (!turn_is_text(yyjson_obj_get(message, "refusal"))) {
        return 0;
    }
    char at[64];
    (void)snprintf(at, sizeof at, "%s/refusal", place);
    return turn_end(reader, &(struct turn_end){.ending = TOOLRACK_ENDING_REFUSAL, .place = at});
}

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
    if (code == 0 && reader->message->count == 0 && yyjson_get_len(name) > 0) {
        code = read_lone_call(reader, lone, name);
        code = code < 0 ? code : turn_check_role(reader, message, place);
    }
    return code < 0 ? code : check_refusal(reader, message, place);
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
    yyjson_val *message = yyjson_obj_get(choice, "message");
    bool has_none = message == NULL && turn_is_text(reason); /* a filter took all of it */
    int code = has_none ? 0 : read_message(reader, message, "/choices/0/message");
    const struct turn_end end = {.ending = turn_ending(reader, reason),
                                 .reason = reason,
                                 .place = "/choices/0/finish_reason",
                                 .is_in_call = true};
    return code < 0 ? code : turn_end(reader, &end);
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
