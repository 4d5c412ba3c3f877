/* stream-anthropic.c - streams of Anthropic Messages: blocks that start, grow and stop. */
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "format/stream-parts.h"

/* Kinds of growth: the type of the delta, its member, and the block's member that grows. */
static const struct growth {
    const char *type;
    size_t type_length;
    const char *from;
    size_t from_length;
    const char *to;
    bool is_json;
} growths[] = {
#define GROWTH(type, from, to, is_json) \
    { type, sizeof type - 1, from, sizeof from - 1, to, is_json }
        GROWTH("text_delta", "text", "text", false),
        GROWTH("input_json_delta", "partial_json", "input", true),
        GROWTH("thinking_delta", "thinking", "thinking", false),
        GROWTH("signature_delta", "signature", "signature", false),
#undef GROWTH
};

static int add_block(struct toolrack_stream *stream, uint64_t index, yyjson_val *block,
                     struct toolrack_error *err) {
    yyjson_mut_val *copy = stream_copy(stream, block);
    int code = stream_add_item(stream, index, copy, err);
    if (code == 0) {
        stream_append(stream, stream_array(stream, stream->root, "content"), copy);
        if (turn_is(yyjson_obj_get(block, "type"), "text")) {
            stream_show(stream, yyjson_obj_get(block, "text"));
        }
    }
    return code;
}

static int begin_block(struct toolrack_stream *stream, yyjson_val *event,
                       struct toolrack_error *err) {
    yyjson_val *block = yyjson_obj_get(event, "content_block");
    return yyjson_is_obj(block)
                   ? add_block(stream, yyjson_get_uint(yyjson_obj_get(event, "index")), block, err)
                   : error_set(err, TOOLRACK_E_INVALID,
                               "a content_block_start has no content_block");
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
        const struct growth *growth = &growths[i];
        if (yyjson_equals_strn(type, growth->type, growth->type_length)) {
            stream_gather(stream, item->object, growth->to,
                          yyjson_obj_getn(delta, growth->from, growth->from_length),
                          growth->is_json);
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

/* The model may have been stopped within its last block. */
static void take_reason(struct toolrack_stream *stream, yyjson_val *reason) {
    stream_set_reason(stream, reason);
    if (stream->item_count > 0 && stream_is_cut_off(stream)) {
        yyjson_mut_val *last = stream->items[stream->item_count - 1].object;
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(last, "type"), "tool_use")) {
            stream_break_off(stream, last, "input", true);
        }
    }
}

/* Some servers have all blocks in the message that begins. */
static int take_start(struct toolrack_stream *stream, yyjson_val *message,
                      struct toolrack_error *err) {
    int code = stream_take_each(stream, yyjson_obj_get(message, "content"), add_block, err);
    take_reason(stream, yyjson_obj_get(message, "stop_reason"));
    return code;
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    yyjson_val *type = yyjson_obj_get(event, "type");
    if (turn_is(type, "content_block_start")) {
        return begin_block(stream, event, err);
    }
    if (turn_is(type, "content_block_delta")) {
        return grow_block(stream, event, err);
    }
    if (turn_is(type, "message_start")) {
        return take_start(stream, yyjson_obj_get(event, "message"), err);
    }
    if (turn_is(type, "message_delta")) {
        take_reason(stream, yyjson_obj_get(yyjson_obj_get(event, "delta"), "stop_reason"));
    }
    stream->complete = turn_is(type, "message_stop");
    stream->over = stream->complete;
    return 0;
}

static int take_whole(struct toolrack_stream *stream, yyjson_val *root,
                      struct toolrack_error *err) {
    yyjson_val *content = yyjson_obj_get(root, "content");
    if (!yyjson_is_arr(content)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the response has no array 'content'; it is not one of Anthropic "
                         "Messages");
    }
    return take_start(stream, root, err);
}

/* The API refuses a request with a text that is blank, also where the model has written it. */
static bool is_blank(yyjson_mut_val *block) {
    const char *text = yyjson_mut_get_str(yyjson_mut_obj_get(block, "text"));
    return yyjson_mut_equals_str(yyjson_mut_obj_get(block, "type"), "text") && text != NULL &&
           strspn(text, " \t\r\n") == yyjson_mut_get_len(yyjson_mut_obj_get(block, "text"));
}

static void end(struct toolrack_stream *stream) {
    yyjson_mut_val *content = stream_array(stream, stream->root, "content");
    size_t at;
    size_t count;
    yyjson_mut_val *block;
    stream_filter(stream, content, is_blank);
    yyjson_mut_arr_foreach(content, at, count, block) {
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(block, "type"), "tool_use")) {
            stream_give_id(stream, block, "id");
        }
    }
}

const struct stream_format stream_anthropic = {take_event, take_whole, end, "assistant", false};
