/* stream-gemini.c - streams of Gemini's streamGenerateContent: each event is a response with some
 * of the parts. Parts with a signature are kept unchanged: the provider requires them back
 * unchanged. */
#include <string.h>

#include "format/stream-parts.h"

static int take_part(struct toolrack_stream *stream, uint64_t at, yyjson_val *part,
                     struct toolrack_error *err) {
    (void)at; /* the parts of a message come in several events */
    yyjson_val *text = yyjson_obj_get(part, "text");
    yyjson_val *thought = yyjson_obj_get(part, "thought");
    struct stream_item *last =
            stream->item_count > 0 ? &stream->items[stream->item_count - 1] : NULL;
    bool is_thought = yyjson_get_bool(thought);
    bool is_plain = yyjson_is_str(text) && yyjson_obj_size(part) == (thought != NULL ? 2 : 1);
    if (!is_thought) {
        stream_show(stream, text);
    }
    if (is_plain && last != NULL && last->is_plain && last->is_thought == is_thought) {
        stream_gather(stream, last->object, "text", text, false);
        return 0;
    }
    yyjson_mut_val *copy = stream_copy(stream, part);
    int code = stream_add_item(stream, stream->item_count, copy, err);
    if (code == 0) {
        last = &stream->items[stream->item_count - 1];
        last->is_plain = is_plain;
        last->is_thought = is_thought;
        stream_append(stream, stream_array(stream, stream->root, "parts"), copy);
    }
    return code;
}

/* Of several candidates only the first is used; they arrive in any order. */
static yyjson_val *first_candidate(yyjson_val *event) {
    size_t at;
    size_t count;
    yyjson_val *candidate;
    yyjson_val *candidates = yyjson_obj_get(event, "candidates");
    yyjson_arr_foreach (candidates, at, count, candidate) {
        if (yyjson_get_uint(yyjson_obj_get(candidate, "index")) == 0) {
            return candidate;
        }
    }
    return NULL;
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    yyjson_val *blocked = yyjson_obj_get(yyjson_obj_get(event, "promptFeedback"), "blockReason");
    if (yyjson_is_str(blocked)) {
        stream_set_reason(stream, blocked);
        return stream_fail(blocked, err);
    }
    yyjson_val *candidate = first_candidate(event);
    yyjson_val *parts = yyjson_obj_get(yyjson_obj_get(candidate, "content"), "parts");
    int code = stream_take_each(stream, parts, take_part, err);
    /* Some models send "STOP" with each piece. */
    yyjson_val *reason = yyjson_obj_get(candidate, "finishReason");
    stream_set_reason(stream, reason);
    stream->complete = stream->complete ||
                       (stream_is_text(reason) && !turn_is(reason, "FINISH_REASON_UNSPECIFIED"));
    return code;
}

/* A response, or the array of those that would have been the events. */
static int take_whole(struct toolrack_stream *stream, yyjson_val *root,
                      struct toolrack_error *err) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *response;
    if (yyjson_is_obj(root) && yyjson_obj_get(root, "candidates") == NULL &&
        yyjson_obj_get(root, "promptFeedback") == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the response has no candidates; it is not one of Gemini");
    }
    yyjson_arr_foreach (root, at, count, response) {
        code = code < 0 ? code : stream_find_error(response, err);
        code = code < 0 ? code : take_event(stream, response, err);
    }
    return yyjson_is_obj(root) ? take_event(stream, root, err) : code;
}

/* A part with an empty text and nothing else that is sent back, such as a signature. */
static bool is_empty(yyjson_mut_val *part) {
    yyjson_mut_val *text = yyjson_mut_obj_get(part, "text");
    size_t members = yyjson_mut_obj_get(part, "thought") != NULL ? 2 : 1;
    return yyjson_mut_is_str(text) && yyjson_mut_get_len(text) == 0 &&
           yyjson_mut_obj_size(part) == members;
}

/* The call of a part, in either spelling. */
static yyjson_mut_val *call_of(yyjson_mut_val *part) {
    yyjson_mut_val *call = yyjson_mut_obj_get(part, "functionCall");
    return call != NULL ? call : yyjson_mut_obj_get(part, "function_call");
}

/* An id is optional here, but one that is empty is none. */
static void end(struct toolrack_stream *stream) {
    yyjson_mut_val *parts = stream_array(stream, stream->root, "parts");
    size_t at;
    size_t count;
    yyjson_mut_val *part;
    stream_filter(stream, parts, is_empty);
    yyjson_mut_arr_foreach(parts, at, count, part) {
        yyjson_mut_val *call = call_of(part);
        if (yyjson_mut_obj_get(call, "id") != NULL) {
            stream_give_id(stream, call, "id");
        }
    }
    if (stream_is_cut_off(stream)) {
        stream_break_off_object(stream, call_of(yyjson_mut_arr_get_last(parts)), "args");
    }
}

const struct stream_format stream_gemini = {take_event, take_whole, end, "model", false};
