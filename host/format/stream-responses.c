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

/* Some providers send the whole response without its items. */
static int take_response(struct toolrack_stream *stream, yyjson_val *response,
                         struct toolrack_error *err) {
    yyjson_val *output = yyjson_obj_get(response, "output");
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *item;
    if (yyjson_arr_size(output) > 0) {
        stream->item_count = 0;
    }
    yyjson_arr_foreach (output, at, count, item) {
        code = code < 0 ? code : put_item(stream, at, item, err);
        stream->refused = stream->refused || is_refusal(item);
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
 * is complete. */
static void break_off(struct toolrack_stream *stream) {
    for (size_t i = 0; i < stream->item_count; i++) {
        yyjson_mut_val *item = stream->items[i].object;
        yyjson_mut_val *status = yyjson_mut_obj_get(item, "status");
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(item, "type"), "function_call") &&
            yyjson_mut_is_str(status) && !yyjson_mut_equals_str(status, "completed")) {
            stream_break_off(stream, item, "arguments", false);
        }
    }
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    yyjson_val *type = yyjson_obj_get(event, "type");
    if (turn_is(type, "error") || turn_is(type, "response.failed")) {
        yyjson_val *error = yyjson_obj_get(yyjson_obj_get(event, "response"), "error");
        yyjson_val *message = yyjson_obj_get(error, "message");
        return stream_fail(message != NULL ? message : yyjson_obj_get(event, "message"), err);
    }
    uint64_t index = yyjson_get_uint(yyjson_obj_get(event, "output_index"));
    if (turn_is(type, "response.output_text.delta") || turn_is(type, "response.refusal.delta")) {
        stream_show(stream, yyjson_obj_get(event, "delta"));
        stream->refused = stream->refused || turn_is(type, "response.refusal.delta");
    } else if (turn_is(type, "response.output_item.added") ||
               turn_is(type, "response.output_item.done")) {
        yyjson_val *item = yyjson_obj_get(event, "item");
        return yyjson_is_obj(item) ? put_item(stream, index, item, err) : 0;
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
    yyjson_val *output = yyjson_obj_get(root, "output");
    size_t at;
    size_t count;
    yyjson_val *item;
    if (!yyjson_is_arr(output)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the response has no array 'output'; it is not one of OpenAI Responses");
    }
    yyjson_arr_foreach (output, at, count, item) {
        size_t part_at;
        size_t parts;
        yyjson_val *part;
        yyjson_arr_foreach (yyjson_obj_get(item, "content"), part_at, parts, part) {
            bool is_text = turn_is(yyjson_obj_get(part, "type"), "output_text");
            stream_show(stream, yyjson_obj_get(part, is_text ? "text" : "refusal"));
        }
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
