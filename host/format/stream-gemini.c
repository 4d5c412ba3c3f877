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
    stream->decides = stream->decides || !is_plain;
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

/* What an event has that is read, found by one walk over each object. */
struct event {
    yyjson_val *candidates;
    yyjson_val *feedback;
};

struct candidate {
    yyjson_val *index;
    yyjson_val *content;
    yyjson_val *reason;
};

static struct event read_event(struct toolrack_stream *stream, yyjson_val *event) {
    struct event has = {NULL, NULL};
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (event, at, count, key, value) {
        if (turn_is(key, "candidates")) {
            stream_take_once(stream, &has.candidates, value);
        } else if (turn_is(key, "promptFeedback")) {
            stream_take_once(stream, &has.feedback, value);
        }
    }
    return has;
}

static struct candidate read_candidate(struct toolrack_stream *stream, yyjson_val *candidate) {
    struct candidate has = {NULL, NULL, NULL};
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (candidate, at, count, key, value) {
        if (turn_is(key, "index")) {
            stream_take_once(stream, &has.index, value);
        } else if (turn_is(key, "content")) {
            stream_take_once(stream, &has.content, value);
        } else if (turn_is(key, "finishReason")) {
            stream_take_once(stream, &has.reason, value);
        }
    }
    return has;
}

/* Of several candidates only the first is used; they arrive in any order. */
static struct candidate first_candidate(struct toolrack_stream *stream, yyjson_val *candidates) {
    size_t at;
    size_t count;
    yyjson_val *candidate;
    yyjson_arr_foreach (candidates, at, count, candidate) {
        const struct candidate has = read_candidate(stream, candidate);
        if (yyjson_get_uint(has.index) == 0) {
            return has;
        }
    }
    return (struct candidate){NULL, NULL, NULL};
}

static yyjson_val *read_parts(struct toolrack_stream *stream, yyjson_val *content) {
    yyjson_val *parts = NULL;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (content, at, count, key, value) {
        if (turn_is(key, "parts")) {
            stream_take_once(stream, &parts, value);
        }
    }
    return parts;
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    const struct event has = read_event(stream, event);
    yyjson_val *blocked = yyjson_obj_get(has.feedback, "blockReason");
    stream->decides = stream->decides || has.feedback != NULL;
    if (yyjson_is_str(blocked)) {
        stream_set_reason(stream, blocked);
        return stream_fail(blocked, err);
    }
    const struct candidate candidate = first_candidate(stream, has.candidates);
    int code = stream_take_each(stream, read_parts(stream, candidate.content), take_part, err);
    /* Some models send "STOP" with each piece. */
    stream_set_reason(stream, candidate.reason);
    stream->complete =
            stream->complete || (stream_is_text(candidate.reason) &&
                                 !turn_is(candidate.reason, "FINISH_REASON_UNSPECIFIED"));
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

const struct stream_format stream_gemini = {
        .event = take_event, .whole = take_whole, .end = end, .role = "model", .sees_twice = true};
