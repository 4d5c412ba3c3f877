/* turn-mcp.c - calls of the Model Context Protocol: JSON-RPC requests of tools/call.
 *
 * A tool that does not exist is an error of the protocol; every other failure is a result that
 * reports it to the model. */
#include <stdio.h>

#include "base/json-write.h"
#include "format/turn-parts.h"

/* JSON-RPC's code for invalid parameters. */
#define INVALID_PARAMS (-32602)

/* As the server has it (serve/mcp/meta.h). */
#define TURN_META_CHANGED "toolrack/changed"

static int read_request(struct turn_reader *reader, yyjson_val *request, const char *place) {
    yyjson_val *id = yyjson_obj_get(request, "id");
    yyjson_val *params = yyjson_obj_get(request, "params");
    if (!turn_is(yyjson_obj_get(request, "method"), "tools/call")) {
        return turn_refuse(reader, place, "expected a request of tools/call");
    }
    if (!yyjson_is_str(id) && !yyjson_is_num(id) && !yyjson_is_raw(id)) { /* raw: a long number */
        return turn_refuse(reader, place, "the id of a request must be a string or a number");
    }
    return turn_add_call(reader, request, id, yyjson_obj_get(params, "name"),
                         yyjson_obj_get(params, "arguments"));
}

static int read_turn(struct turn_reader *reader, yyjson_val *root) {
    if (!yyjson_is_arr(root)) {
        return read_request(reader, root, "");
    }
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *request;
    yyjson_arr_foreach (root, at, count, request) {
        char place[32];
        (void)snprintf(place, sizeof place, "/%zu", at);
        code = code < 0 ? code : read_request(reader, request, place);
    }
    return code;
}

static void write_result(struct buf *out, const struct format_call *call,
                         const struct turn_result *result) {
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",");
    turn_write_member(out, "id", yyjson_obj_get(call->raw, "id"));
    if (result->not_found) {
        buf_printf(out, "\"error\":{\"code\":%d,\"message\":", INVALID_PARAMS);
        turn_write_text(out, result);
        buf_add_text(out, "}}");
        return;
    }
    buf_add_text(out, "\"result\":{\"content\":[");
    for (size_t i = 0; i < result->count; i++) {
        const struct turn_piece *piece = &result->pieces[i];
        buf_add(out, ",", i > 0);
        if (piece->block != NULL) {
            json_add_value(out, piece->block);
        } else {
            buf_add_text(out, "{\"type\":\"text\",\"text\":");
            buf_add_json_string(out, piece->text, piece->length);
            buf_add_char(out, '}');
        }
    }
    buf_add_char(out, ']');
    if (result->structured != NULL) {
        buf_add_text(out, ",\"structuredContent\":");
        buf_add(out, result->structured, result->structured_length);
    }
    if (result->changed != NULL) {
        buf_add_text(out, ",\"_meta\":{\"" TURN_META_CHANGED "\":");
        buf_add(out, result->changed, result->changed_length);
        buf_add_char(out, '}');
    }
    buf_add_text(out, result->failed ? ",\"isError\":true}}" : "}}");
}

const struct turn_format turn_mcp = {read_turn, "[", write_result, "]"};
