/* stream-responses.c - streams of OpenAI Responses: items that start, grow and end; the last event
 * repeats the whole response. */
#include <stdlib.h>

#include "base/error.h"
#include "format/stream-parts.h"

static int put_item(struct toolrack_stream *stream, uint64_t index, yyjson_val *item,
                    struct toolrack_error *err) {
    struct stream_item *known = stream_find_item(stream, index);
    yyjson_mut_val *copy = stream_copy(stream, item);
    if (known == NULL || copy == NULL) {
        return stream_add_item(stream, index, copy, err);
    }
    known->object = copy;
    return 0;
}

/* The text of a part of a message; NULL: it is of another kind. */
static yyjson_val *text_of(yyjson_val *part) {
    yyjson_val *type = yyjson_obj_get(part, "type");
    return turn_is(type, "output_text") ? yyjson_obj_get(part, "text")
           : turn_is(type, "refusal")   ? yyjson_obj_get(part, "refusal")
                                        : NULL;
}

/* The bit of a part, in the set of those that were shown. */
static uint64_t bit_of(uint64_t part) {
    return UINT64_C(1) << (part < 63 ? part : 63);
}

/* The parts of an item that were shown; of an item whose beginning did not come, all or none. */
static uint64_t shown_of(const struct toolrack_stream *stream, const struct stream_item *item) {
    return item != NULL ? item->shown : stream->has_shown ? UINT64_MAX : 0;
}

/* Show the texts of an item, without those parts. */
static void show_item(struct toolrack_stream *stream, yyjson_val *item, uint64_t shown) {
    size_t at;
    size_t count;
    yyjson_val *part;
    yyjson_val *content = yyjson_obj_get(item, "content"); /* the macro looks several times */
    yyjson_arr_foreach (content, at, count, part) {
        if ((shown & bit_of(at)) == 0) {
            stream_show(stream, text_of(part));
        }
    }
}

/* A piece of a part's text. */
static void take_piece(struct toolrack_stream *stream, uint64_t index, yyjson_val *event) {
    struct stream_item *item = stream_find_item(stream, index);
    stream_show(stream, yyjson_obj_get(event, "delta"));
    if (item != NULL) {
        item->shown |= bit_of(yyjson_get_uint(yyjson_obj_get(event, "content_index")));
    }
}

/* The whole text of a part: from some servers all that comes of it. */
static int take_part(struct toolrack_stream *stream, uint64_t index, yyjson_val *event,
                     yyjson_val *text, struct toolrack_error *err) {
    struct stream_item *item = stream_find_item(stream, index);
    uint64_t part = yyjson_get_uint(yyjson_obj_get(event, "content_index"));
    if ((shown_of(stream, item) & bit_of(part)) == 0) {
        stream_show(stream, text);
    }
    if (item == NULL) {
        yyjson_mut_val *made = yyjson_mut_obj(stream->doc);
        stream_put(stream, made, "type", yyjson_mut_str(stream->doc, "message"));
        stream_put(stream, made, "role", yyjson_mut_str(stream->doc, "assistant"));
        int code = stream_add_item(stream, index, made, err);
        if (code < 0) {
            return code;
        }
        item = stream_find_item(stream, index);
    }
    item->shown |= bit_of(part);
    yyjson_mut_val *content = stream_array(stream, item->object, "content");
    if (stream_is_text(text) && yyjson_mut_arr_size(content) == part) {
        bool is_refused = yyjson_obj_get(event, "refusal") != NULL;
        yyjson_mut_val *made = yyjson_mut_obj(stream->doc);
        stream_append(stream, content, made);
        stream_put(stream, made, "type",
                   yyjson_mut_str(stream->doc, is_refused ? "refusal" : "output_text"));
        stream_set(stream, made, is_refused ? "refusal" : "text", text);
    }
    return 0;
}

static bool is_refusal(yyjson_val *item) {
    size_t at;
    size_t count;
    yyjson_val *part;
    yyjson_arr_foreach (yyjson_obj_get(item, "content"), at, count, part) {
        if (turn_is(yyjson_obj_get(part, "type"), "refusal")) {
            return true;
        }
    }
    return false;
}

/* An item that is complete. */
static int end_item(struct toolrack_stream *stream, uint64_t index, yyjson_val *item,
                    struct toolrack_error *err) {
    stream->refused = stream->refused || is_refusal(item);
    return put_item(stream, index, item, err);
}

/* All that has come of the texts is in items that began with them. */
static void show_items(struct toolrack_stream *stream) {
    for (size_t i = 0; i < stream->item_count; i++) {
        size_t at;
        size_t count;
        yyjson_mut_val *part;
        yyjson_mut_val *content = yyjson_mut_obj_get(stream->items[i].object, "content");
        yyjson_mut_arr_foreach(content, at, count, part) {
            yyjson_mut_val *text = yyjson_mut_obj_get(part, "text");
            text = text != NULL ? text : yyjson_mut_obj_get(part, "refusal");
            if (yyjson_mut_get_len(text) > 0) {
                stream_show_text(stream, yyjson_mut_get_str(text), yyjson_mut_get_len(text));
            }
        }
    }
}

/* What the whole response says of a response that is lost, or goes on without this request. */
static int check_status(yyjson_val *response, struct toolrack_error *err) {
    yyjson_val *status = yyjson_obj_get(response, "status");
    yyjson_val *error = yyjson_obj_get(response, "error");
    if (turn_is(status, "failed") || turn_is(status, "cancelled")) {
        return stream_fail(turn_says_error(error) ? error : status, err);
    }
    return turn_is(status, "queued") || turn_is(status, "in_progress")
                   ? error_set(err, TOOLRACK_E_INVALID,
                               "the response has the status '%s': ask without 'background'",
                               yyjson_get_str(status))
                   : 0;
}

/* Some providers send the whole response without its items. */
static int take_response(struct toolrack_stream *stream, yyjson_val *response,
                         struct toolrack_error *err) {
    int lost = check_status(response, err);
    if (lost < 0) {
        return lost;
    }
    yyjson_val *output = yyjson_obj_get(response, "output");
    if (yyjson_arr_size(output) > 0) {
        stream->item_count = 0;
    }
    int code = stream_take_each(stream, output, end_item, err);
    if (!stream->has_shown) {
        show_items(stream);
    }
    stream_set_reason(stream, turn_is(yyjson_obj_get(response, "status"), "incomplete")
                                      ? yyjson_obj_get(response, "status")
                                      : NULL);
    stream_set_reason(stream,
                      yyjson_obj_get(yyjson_obj_get(response, "incomplete_details"), "reason"));
    stream->complete = true;
    stream->over = true;
    return code;
}

/* The response ended at its length limit or by a filter: the status of a call says whether the call
 * is complete; the last one may have none. */
static void break_off(struct toolrack_stream *stream) {
    for (size_t i = 0; i < stream->item_count; i++) {
        yyjson_mut_val *item = stream->items[i].object;
        yyjson_mut_val *status = yyjson_mut_obj_get(item, "status");
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(item, "type"), "function_call") &&
            (status == NULL
                     ? i + 1 == stream->item_count
                     : yyjson_mut_is_str(status) && !yyjson_mut_equals_str(status, "completed"))) {
            stream_break_off(stream, item, "arguments", false);
        }
    }
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    yyjson_val *type = yyjson_obj_get(event, "type");
    if (turn_is(type, "error") || turn_is(type, "response.failed") ||
        turn_is(type, "response.cancelled")) {
        yyjson_val *response = yyjson_obj_get(event, "response");
        yyjson_val *error = yyjson_obj_get(response, "error");
        return stream_fail(yyjson_is_obj(error) ? error : response != NULL ? response : event, err);
    }
    uint64_t index = yyjson_get_uint(yyjson_obj_get(event, "output_index"));
    if (turn_is(type, "response.output_text.delta") || turn_is(type, "response.refusal.delta")) {
        take_piece(stream, index, event);
        if (turn_is(type, "response.refusal.delta")) {
            stream->refused = true;
        }
    } else if (turn_is(type, "response.content_part.added") ||
               turn_is(type, "response.content_part.done")) {
        yyjson_val *part = yyjson_obj_get(event, "part");
        stream->refused = stream->refused || turn_is(yyjson_obj_get(part, "type"), "refusal");
    } else if (turn_is(type, "response.output_text.done")) {
        return take_part(stream, index, event, yyjson_obj_get(event, "text"), err);
    } else if (turn_is(type, "response.refusal.done")) {
        stream->refused = true;
        return take_part(stream, index, event, yyjson_obj_get(event, "refusal"), err);
    } else if (turn_is(type, "response.output_item.added")) {
        yyjson_val *item = yyjson_obj_get(event, "item");
        return yyjson_is_obj(item) ? put_item(stream, index, item, err) : 0;
    } else if (turn_is(type, "response.output_item.done")) {
        yyjson_val *item = yyjson_obj_get(event, "item");
        show_item(stream, item, shown_of(stream, stream_find_item(stream, index)));
        return yyjson_is_obj(item) ? end_item(stream, index, item, err) : 0;
    } else if (turn_is(type, "response.function_call_arguments.delta")) {
        struct stream_item *item = stream_find_item(stream, index);
        if (item != NULL) {
            stream_gather(stream, item->object, "arguments", yyjson_obj_get(event, "delta"), false);
        }
    } else if (turn_is(type, "response.completed") || turn_is(type, "response.incomplete")) {
        int code = take_response(stream, yyjson_obj_get(event, "response"), err);
        if (code == 0 && turn_is(type, "response.incomplete")) {
            break_off(stream);
        }
        return code;
    }
    return 0;
}

static int take_whole(struct toolrack_stream *stream, yyjson_val *root,
                      struct toolrack_error *err) {
    if (!yyjson_is_arr(yyjson_obj_get(root, "output"))) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the response has no array 'output'; it is not one of OpenAI Responses");
    }
    int code = take_response(stream, root, err);
    if (code == 0 && turn_is(yyjson_obj_get(root, "status"), "incomplete")) {
        break_off(stream);
    }
    return code;
}

static int compare_items(const void *a, const void *b) {
    uint64_t left = ((const struct stream_item *)a)->index;
    uint64_t right = ((const struct stream_item *)b)->index;
    return (left > right) - (left < right);
}

static void end(struct toolrack_stream *stream) {
    if (stream->item_count > 0) {
        qsort(stream->items, stream->item_count, sizeof *stream->items, compare_items);
    }
    for (size_t i = 0; i < stream->item_count; i++) {
        yyjson_mut_val *item = stream->items[i].object;
        yyjson_mut_val *type = yyjson_mut_obj_get(item, "type");
        stream_append(stream, stream->root, item);
        if (yyjson_mut_equals_str(type, "function_call") ||
            yyjson_mut_equals_str(type, "custom_tool_call")) {
            stream_give_id(stream, item, "call_id");
        }
    }
}

const struct stream_format stream_responses = {take_event, take_whole, end, NULL, false};
