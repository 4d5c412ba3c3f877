/* turn-anthropic.c - turns of Anthropic Messages: blocks, of which some are calls. */
#include <string.h>

#include "base/cleanup.h"
#include "format/turn-parts.h"

/* The types of images that the API accepts. */
static const char *const image_types[] = {"image/jpeg", "image/png", "image/gif", "image/webp"};

static int read_call(struct turn_reader *reader, yyjson_val *block) {
    return turn_add_call(reader, block, yyjson_obj_get(block, "id"), yyjson_obj_get(block, "name"),
                         turn_arguments(yyjson_obj_get(block, "input")));
}

static int end_turn(struct turn_reader *reader, yyjson_val *root, yyjson_val *content) {
    yyjson_val *reason = yyjson_obj_get(root, "stop_reason");
    yyjson_val *last = yyjson_obj_get(yyjson_arr_get_last(content), "type");
    const struct turn_end end = {.ending = turn_ending(reader, reason),
                                 .reason = reason,
                                 .place = "/stop_reason",
                                 .is_in_call = turn_is(last, "tool_use")};
    return turn_end(reader, &end);
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
    return code < 0 ? code : end_turn(reader, root, content);
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
