/* stream-anthropic.c - streams of Anthropic Messages: blocks that start, grow and stop. */
#include "base/cleanup.h"
#include "base/error.h"
#include "format/stream-parts.h"

/* Kinds of growth: the type of the delta, its member, and the block's member that grows. */
static const struct growth {
    const char *type;
    const char *from;
    const char *to;
    bool is_json;
} growths[] = {
        {"text_delta", "text", "text", false},
        {"input_json_delta", "partial_json", "input", true},
        {"thinking_delta", "thinking", "thinking", false},
        {"signature_delta", "signature", "signature", false},
};

static int begin_block(struct toolrack_stream *stream, yyjson_val *event,
                       struct toolrack_error *err) {
    yyjson_val *block = yyjson_obj_get(event, "content_block");
    if (!yyjson_is_obj(block)) {
        return error_set(err, TOOLRACK_E_INVALID, "a content_block_start has no content_block");
    }
    yyjson_mut_val *copy = stream_copy(stream, block);
    int code = stream_add_item(stream, yyjson_get_uint(yyjson_obj_get(event, "index")), copy, err);
    if (code == 0) {
        stream_append(stream, stream_array(stream, stream->root, "content"), copy);
        if (turn_is(yyjson_obj_get(block, "type"), "text")) {
            stream_show(stream, yyjson_obj_get(block, "text"));
        }
    }
    return code;
}

static int grow_block(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    uint64_t index = yyjson_get_uint(yyjson_obj_get(event, "index"));
    struct stream_item *item = stream_find_item(stream, index);
    yyjson_val *delta = yyjson_obj_get(event, "delta");
    yyjson_val *type = yyjson_obj_get(delta, "type");
    if (item == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the stream continues block %llu, which it never began",
                         (unsigned long long)index);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(growths); i++) {
        if (turn_is(type, growths[i].type)) {
            stream_gather(stream, item->object, growths[i].to,
                          yyjson_obj_get(delta, growths[i].from), growths[i].is_json);
        }
    }
    if (turn_is(type, "text_delta")) {
        stream_show(stream, yyjson_obj_get(delta, "text"));
    } else if (turn_is(type, "citations_delta") && yyjson_obj_get(delta, "citation") != NULL) {
        stream_append(stream, stream_array(stream, item->object, "citations"),
                      stream_copy(stream, yyjson_obj_get(delta, "citation")));
    }
    return 0;
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    yyjson_val *type = yyjson_obj_get(event, "type");
    if (stream_is_error(event, err)) {
        return TOOLRACK_E_EXECUTION_FAILED;
    }
    if (turn_is(type, "content_block_start")) {
        return begin_block(stream, event, err);
    }
    if (turn_is(type, "content_block_delta")) {
        return grow_block(stream, event, err);
    }
    /* The model may have been stopped within its last block. */
    yyjson_val *reason = yyjson_obj_get(yyjson_obj_get(event, "delta"), "stop_reason");
    stream_set_reason(stream, reason);
    if (turn_is(type, "message_delta") && stream->item_count > 0 &&
        (turn_is(reason, "max_tokens") || turn_is(reason, "model_context_window_exceeded"))) {
        yyjson_mut_val *last = stream->items[stream->item_count - 1].object;
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(last, "type"), "tool_use")) {
            stream_break_off(stream, last, "input", true);
        }
    }
    stream->complete = turn_is(type, "message_stop");
    return 0;
}

static void end(struct toolrack_stream *stream) {
    (void)stream_array(stream, stream->root, "content");
}

const struct stream_format stream_anthropic = {take_event, end, "assistant", false};
