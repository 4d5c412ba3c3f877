/* stream-gemini.c - streams of Gemini's streamGenerateContent: each event is a response with some
 * of the parts. Parts with a signature are kept unchanged: the provider requires them back
 * unchanged. */
#include <string.h>

#include "format/stream-parts.h"

/* Whether a part has only text, and perhaps a thought flag. */
static bool is_plain(yyjson_val *part) {
    size_t known = (size_t)(yyjson_obj_get(part, "text") != NULL) +
                   (size_t)(yyjson_obj_get(part, "thought") != NULL);
    return yyjson_is_str(yyjson_obj_get(part, "text")) && yyjson_obj_size(part) == known;
}

static bool is_plain_copy(yyjson_mut_val *part) {
    size_t known = (size_t)(yyjson_mut_obj_get(part, "text") != NULL) +
                   (size_t)(yyjson_mut_obj_get(part, "thought") != NULL);
    return yyjson_mut_is_str(yyjson_mut_obj_get(part, "text")) &&
           yyjson_mut_obj_size(part) == known;
}

/* The last part, if the text of `part` continues it; else NULL. */
static yyjson_mut_val *continued(struct toolrack_stream *stream, yyjson_val *part) {
    yyjson_mut_val *last =
            stream->item_count > 0 ? stream->items[stream->item_count - 1].object : NULL;
    bool same = yyjson_mut_get_bool(yyjson_mut_obj_get(last, "thought")) ==
                yyjson_get_bool(yyjson_obj_get(part, "thought"));
    return last != NULL && same && is_plain(part) && is_plain_copy(last) ? last : NULL;
}

static int take_part(struct toolrack_stream *stream, yyjson_val *part, struct toolrack_error *err) {
    yyjson_val *text = yyjson_obj_get(part, "text");
    yyjson_mut_val *last = continued(stream, part);
    if (!yyjson_get_bool(yyjson_obj_get(part, "thought"))) {
        stream_show(stream, text);
    }
    if (last != NULL) {
        stream_gather(stream, last, "text", text, false);
        return 0;
    }
    yyjson_mut_val *copy = stream_copy(stream, part);
    int code = stream_add_item(stream, stream->item_count, copy, err);
    if (code == 0) {
        stream_append(stream, stream_array(stream, stream->root, "parts"), copy);
    }
    return code;
}

/* Of several candidates only the first is used; they arrive in any order. */
static yyjson_val *first_candidate(yyjson_val *event) {
    size_t at;
    size_t count;
    yyjson_val *candidate;
    yyjson_arr_foreach (yyjson_obj_get(event, "candidates"), at, count, candidate) {
        if (yyjson_get_uint(yyjson_obj_get(candidate, "index")) == 0) {
            return candidate;
        }
    }
    return NULL;
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    yyjson_val *blocked = yyjson_obj_get(yyjson_obj_get(event, "promptFeedback"), "blockReason");
    if (stream_is_error(event, err)) {
        return TOOLRACK_E_EXECUTION_FAILED;
    }
    if (yyjson_is_str(blocked)) {
        stream_set_reason(stream, blocked);
        return stream_fail(blocked, err);
    }
    yyjson_val *candidate = first_candidate(event);
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *part;
    yyjson_arr_foreach (yyjson_obj_get(yyjson_obj_get(candidate, "content"), "parts"), at, count,
                        part) {
        code = code < 0 ? code : take_part(stream, part, err);
    }
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
        code = code < 0 ? code : take_event(stream, response, err);
    }
    return yyjson_is_obj(root) ? take_event(stream, root, err) : code;
}

/* An id is optional here, but one that is empty is none. */
static void end(struct toolrack_stream *stream) {
    size_t at;
    size_t count;
    yyjson_mut_val *part;
    yyjson_mut_arr_foreach(stream_array(stream, stream->root, "parts"), at, count, part) {
        yyjson_mut_val *call = yyjson_mut_obj_get(part, "functionCall");
        if (yyjson_mut_obj_get(call, "id") != NULL) {
            stream_give_id(stream, call, "id");
        }
    }
}

const struct stream_format stream_gemini = {take_event, take_whole, end, "model", false};
