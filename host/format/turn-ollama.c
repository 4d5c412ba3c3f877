/* turn-ollama.c - turns of Ollama's /api/chat. */
#include "format/turn-parts.h"

static int read_message(struct turn_reader *reader, yyjson_val *message, const char *place) {
    if (!yyjson_is_obj(message)) {
        return turn_refuse(reader, place, "expected the assistant's message, an object");
    }
    if (yyjson_obj_get(message, "role") == NULL && yyjson_obj_get(message, "content") == NULL &&
        yyjson_obj_get(message, "tool_calls") == NULL) {
        return turn_refuse(reader, place, "it has no message, role, content or tool_calls");
    }
    return turn_read_tool_calls(reader, message, place);
}

static int read_turn(struct turn_reader *reader, yyjson_val *root) {
    yyjson_val *message = yyjson_obj_get(root, "message");
    yyjson_val *reason = yyjson_obj_get(root, "done_reason");
    const struct turn_end end = {.ending = turn_ending(reader, reason),
                                 .reason = reason,
                                 .place = "/done_reason",
                                 .is_in_call = true};
    int code = message == NULL ? read_message(reader, root, "")
                               : read_message(reader, message, "/message");
    return code < 0 ? code : turn_end(reader, &end);
}

/* Results are matched to calls by id; without ids, by name and order. */
static void write_result(struct buf *out, const struct format_call *call,
                         const struct turn_result *result) {
    buf_add_text(out, "{\"role\":\"tool\",");
    turn_write_member(out, "tool_name",
                      yyjson_obj_get(yyjson_obj_get(call->raw, "function"), "name"));
    turn_write_member(out, "tool_call_id", yyjson_obj_get(call->raw, "id"));
    buf_add_text(out, "\"content\":");
    turn_write_text(out, result);
    buf_add_char(out, '}');
}

const struct turn_format turn_ollama = {read_turn, "[", write_result, "]"};
