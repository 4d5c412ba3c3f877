/* turn-anthropic.c - turns of Anthropic Messages: blocks, of which some are calls. */
#include <string.h>

#include "base/cleanup.h"
#include "format/turn-parts.h"

/* The types of images that the API accepts. */
static const char *const image_types[] = {"image/jpeg", "image/png", "image/gif", "image/webp"};

static int read_call(struct turn_reader *reader, yyjson_val *block) {
    yyjson_val *input = yyjson_obj_get(block, "input");
    /* stream.c writes this for arguments that are not valid JSON. */
    yyjson_val *broken =
            yyjson_obj_size(input) == 1 ? yyjson_obj_get(input, TURN_BROKEN_INPUT) : NULL;
    return turn_add_call(reader, block, yyjson_obj_get(block, "id"), yyjson_obj_get(block, "name"),
                         yyjson_is_str(broken) ? broken : input);
}

/* Whether the model was stopped within a call. */
static bool is_cut_off(yyjson_val *root, yyjson_val *content) {
    yyjson_val *reason = yyjson_obj_get(root, "stop_reason");
    return (turn_is(reason, "max_tokens") || turn_is(reason, "model_context_window_exceeded")) &&
           turn_is(yyjson_obj_get(yyjson_arr_get_last(content), "type"), "tool_use");
}

static int read_turn(struct turn_reader *reader, yyjson_val *root) {
    yyjson_val *content = yyjson_obj_get(root, "content");
    if (yyjson_is_str(content)) {
        return 0;
    }
    if (!yyjson_is_arr(content)) {
        return turn_refuse(reader, content != NULL ? "/content" : "",
                           "expected an object with an array 'content'");
    }
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (content, at, count, block) {
        code = code < 0 ? code : turn_check_element(reader, block, "/content", at);
        if (code == 0 && turn_is(yyjson_obj_get(block, "type"), "tool_use")) {
            code = read_call(reader, block);
        }
    }
    code = code < 0 ? code : turn_check_role(reader, root, "");
    return code == 0 && is_cut_off(root, content) ? turn_cut_off(reader) : code;
}

static bool is_shown(const struct turn_piece *piece) {
    for (size_t i = 0; piece->kind == TURN_IMAGE && i < ARRAY_LENGTH(image_types); i++) {
        if (strcmp(piece->mime_type, image_types[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void write_piece(struct buf *out, const struct turn_piece *piece) {
    if (is_shown(piece)) {
        buf_printf(out,
                   "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"%s\","
                   "\"data\":",
                   piece->mime_type);
        buf_add_json_string(out, piece->data, piece->data_length);
        buf_add_text(out, "}}");
    } else {
        buf_add_text(out, "{\"type\":\"text\",\"text\":");
        buf_add_json_string(out, piece->text, piece->length);
        buf_add_char(out, '}');
    }
}

static void write_result(struct buf *out, const struct format_call *call,
                         const struct turn_result *result) {
    buf_add_text(out, "{\"type\":\"tool_result\",");
    turn_write_member(out, "tool_use_id", yyjson_obj_get(call->raw, "id"));
    buf_add_text(out, "\"content\":");
    if (result->count == 1 && !is_shown(&result->pieces[0])) {
        turn_write_text(out, result);
    } else {
        bool first = true;
        buf_add_char(out, '[');
        for (size_t i = 0; i < result->count; i++) {
            if (result->pieces[i].length > 0) { /* the API refuses a block with an empty text */
                buf_add(out, ",", !first);
                write_piece(out, &result->pieces[i]);
                first = false;
            }
        }
        buf_add_char(out, ']');
    }
    buf_add_text(out, result->failed ? ",\"is_error\":true}" : "}");
}

const struct turn_format turn_anthropic = {read_turn, "[{\"role\":\"user\",\"content\":[",
                                           write_result, "]}]"};
