/* stream-ollama.c - streams of Ollama's /api/chat: a line of JSON for each piece. */
#include "base/error.h"
#include "format/stream-parts.h"

static int take_call(struct toolrack_stream *stream, uint64_t at, yyjson_val *call,
                     struct toolrack_error *err) {
    (void)at; /* a message may come in several lines */
    yyjson_mut_val *copy = stream_copy(stream, call);
    stream->decides = true;
    int code = stream_add_item(stream, stream->item_count, copy, err);
    if (code == 0) {
        stream_append(stream, stream_array(stream, stream->root, "tool_calls"), copy);
    }
    return code;
}

/* What a line and its message have that is read. A line is a token, so they are found by one walk
 * over each. */
struct line {
    yyjson_val *message;
    yyjson_val *done;
    yyjson_val *reason;
    yyjson_val *content;
    yyjson_val *thinking;
    yyjson_val *calls;
    yyjson_val *error;
    yyjson_val *object;
};

static void read_line(struct toolrack_stream *stream, yyjson_val *line, struct line *ret) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (line, at, count, key, value) {
        if (turn_is(key, "message")) {
            stream_take_once(stream, &ret->message, value);
        } else if (turn_is(key, "done")) {
            stream_take_once(stream, &ret->done, value);
        } else if (turn_is(key, "done_reason")) {
            stream_take_once(stream, &ret->reason, value);
        } else if (turn_is(key, "error")) {
            stream_take_once(stream, &ret->error, value);
        } else if (turn_is(key, "object")) {
            stream_take_once(stream, &ret->object, value);
        }
    }
    json_obj_foreach (ret->message, at, count, key, value) {
        if (turn_is(key, "content")) {
            stream_take_once(stream, &ret->content, value);
        } else if (turn_is(key, "thinking")) {
            stream_take_once(stream, &ret->thinking, value);
        } else if (turn_is(key, "tool_calls")) {
            stream_take_once(stream, &ret->calls, value);
        }
    }
}

static int take_line(struct toolrack_stream *stream, yyjson_val *line, struct toolrack_error *err) {
    struct line has = {NULL};
    read_line(stream, line, &has);
    /* Only the last line has numbers of tokens. */
    if ((has.error != NULL || has.object != NULL || yyjson_get_bool(has.done)) &&
        stream_look(stream, line)) {
        int code = stream_tell_error(line, err);
        if (code < 0) {
            return code;
        }
    }
    stream_gather(stream, stream->root, "content", has.content, false);
    stream_gather(stream, stream->root, "thinking", has.thinking, false);
    stream_show(stream, has.content);
    int code = stream_take_each(stream, has.calls, take_call, err);
    stream_set_reason(stream, has.reason);
    stream->complete = yyjson_get_bool(has.done);
    stream->over = stream->complete;
    return code;
}

static int take_whole(struct toolrack_stream *stream, yyjson_val *root,
                      struct toolrack_error *err) {
    return yyjson_is_obj(yyjson_obj_get(root, "message"))
                   ? take_line(stream, root, err)
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the response has no message; it is not one of Ollama");
}

/* An id is optional here, but one that is empty is none. */
static void end(struct toolrack_stream *stream) {
    size_t at;
    size_t count;
    yyjson_mut_val *call;
    yyjson_mut_val *calls = yyjson_mut_obj_get(stream->root, "tool_calls");
    yyjson_mut_arr_foreach(calls, at, count, call) {
        if (yyjson_mut_obj_get(call, "id") != NULL) {
            stream_give_id(stream, call, "id");
        }
    }
    if (stream_is_cut_off(stream)) {
        yyjson_mut_val *last = yyjson_mut_arr_get_last(calls);
        stream_break_off_object(stream, yyjson_mut_obj_get(last, "function"), "arguments");
    }
    if (yyjson_mut_obj_get(stream->root, "content") == NULL) {
        stream_put(stream, stream->root, "content", yyjson_mut_str(stream->doc, ""));
    }
}

const struct stream_format stream_ollama = {.event = take_line,
                                            .whole = take_whole,
                                            .end = end,
                                            .role = "assistant",
                                            .lines = true,
                                            .looks = true,
                                            .sees_twice = true};
