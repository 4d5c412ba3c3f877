/* stream-openai.c - streams of OpenAI Chat Completions, and of the many compatible providers. */
#include <string.h>

#include "format/stream-parts.h"

/* Growing strings of a delta; the last two are other providers' names for thoughts. */
static const char *const texts[] = {"content", "refusal", "reasoning_content", "reasoning"};

static bool is_text(yyjson_val *value) {
    return yyjson_is_str(value) && yyjson_get_len(value) > 0;
}

static bool has_other_id(const struct stream_item *item, yyjson_val *id) {
    const char *known = yyjson_mut_get_str(yyjson_mut_obj_get(item->object, "id"));
    return is_text(id) && known != NULL && strcmp(known, yyjson_get_str(id)) != 0;
}

/* Whether a delta without an id has a name and arguments, although the call that it would continue
 * is complete. */
static bool begins_another(const struct toolrack_stream *stream, const struct stream_item *item,
                           yyjson_val *delta) {
    yyjson_val *function = yyjson_obj_get(delta, "function");
    yyjson_val *arguments = yyjson_obj_get(function, "arguments");
    return !is_text(yyjson_obj_get(delta, "id")) && is_text(yyjson_obj_get(function, "name")) &&
           (is_text(arguments) || yyjson_is_obj(arguments)) &&
           stream_is_whole(stream, yyjson_mut_obj_get(item->object, "function"), "arguments");
}

/* The call that a delta continues; NULL: it begins a call. Some providers leave out the index, and
 * some number every call 0: then a different id means another call, and so does, without ids, a
 * complete call after a complete one. */
static struct stream_item *find_call(struct toolrack_stream *stream, yyjson_val *delta) {
    yyjson_val *index = yyjson_obj_get(delta, "index");
    struct stream_item *item = NULL;
    if (yyjson_is_uint(index)) {
        item = stream_find_item(stream, yyjson_get_uint(index));
    } else if (stream->item_count > 0) {
        item = &stream->items[stream->item_count - 1];
    }
    bool is_other = item != NULL && (has_other_id(item, yyjson_obj_get(delta, "id")) ||
                                     begins_another(stream, item, delta));
    return is_other ? NULL : item;
}

static int begin_call(struct toolrack_stream *stream, yyjson_val *delta,
                      struct toolrack_error *err) {
    yyjson_val *index = yyjson_obj_get(delta, "index");
    yyjson_mut_val *call = yyjson_mut_obj(stream->doc);
    int code = stream_add_item(
            stream, yyjson_is_uint(index) ? yyjson_get_uint(index) : stream->item_count, call, err);
    if (code == 0) {
        stream_append(stream, stream_array(stream, stream->root, "tool_calls"), call);
    }
    return code;
}

/* Names arrive in one piece; some providers repeat them with each piece of the arguments. */
static void add_name(struct toolrack_stream *stream, yyjson_mut_val *made, yyjson_val *name) {
    if (is_text(name)) {
        stream_set(stream, made, "name", name);
    }
}

static void add_function(struct toolrack_stream *stream, yyjson_mut_val *call,
                         yyjson_val *function) {
    yyjson_val *arguments = yyjson_obj_get(function, "arguments");
    if (!yyjson_is_obj(function)) {
        return;
    }
    yyjson_mut_val *made = stream_object(stream, call, "function");
    add_name(stream, made, yyjson_obj_get(function, "name"));
    if (yyjson_is_obj(arguments)) {
        stream_set(stream, made, "arguments", arguments);
    } else {
        stream_gather(stream, made, "arguments", arguments, false);
    }
}

static void add_custom(struct toolrack_stream *stream, yyjson_mut_val *call, yyjson_val *custom) {
    if (yyjson_is_obj(custom)) {
        yyjson_mut_val *made = stream_object(stream, call, "custom");
        add_name(stream, made, yyjson_obj_get(custom, "name"));
        stream_gather(stream, made, "input", yyjson_obj_get(custom, "input"), false);
    }
}

static int take_call(struct toolrack_stream *stream, yyjson_val *delta,
                     struct toolrack_error *err) {
    struct stream_item *item = find_call(stream, delta);
    int code = item != NULL ? 0 : begin_call(stream, delta, err);
    if (code < 0) {
        return code;
    }
    item = item != NULL ? item : &stream->items[stream->item_count - 1];
    if (is_text(yyjson_obj_get(delta, "id"))) {
        stream_set(stream, item->object, "id", yyjson_obj_get(delta, "id"));
    }
    if (is_text(yyjson_obj_get(delta, "type"))) {
        stream_set(stream, item->object, "type", yyjson_obj_get(delta, "type"));
    }
    /* Signatures of thoughts, from providers that have them. */
    stream_set(stream, item->object, "extra_content", yyjson_obj_get(delta, "extra_content"));
    add_function(stream, item->object, yyjson_obj_get(delta, "function"));
    add_custom(stream, item->object, yyjson_obj_get(delta, "custom"));
    return 0;
}

static int take_delta(struct toolrack_stream *stream, yyjson_val *delta,
                      struct toolrack_error *err) {
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        stream_gather(stream, stream->root, texts[i], yyjson_obj_get(delta, texts[i]), false);
    }
    stream_show(stream, yyjson_obj_get(delta, "content"));
    stream_show(stream, yyjson_obj_get(delta, "refusal"));
    stream->refused = stream->refused || is_text(yyjson_obj_get(delta, "refusal"));
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (yyjson_obj_get(delta, "tool_calls"), at, count, call) {
        code = code < 0 ? code : take_call(stream, call, err);
    }
    return code;
}

/* Read why the message ended: at the length limit or by a filter, its last call may be
 * incomplete. */
static void take_reason(struct toolrack_stream *stream, yyjson_val *reason) {
    stream_set_reason(stream, reason);
    stream->complete = stream->complete || yyjson_is_str(reason);
    if (stream->item_count > 0 &&
        (turn_is(reason, "length") || turn_is(reason, "content_filter"))) {
        yyjson_mut_val *call = stream->items[stream->item_count - 1].object;
        yyjson_mut_val *function = yyjson_mut_obj_get(call, "function");
        if (function != NULL) {
            stream_break_off(stream, function, "arguments", false);
        }
    }
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    if (stream_is_error(event, err)) {
        return TOOLRACK_E_EXECUTION_FAILED;
    }
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *choice;
    yyjson_arr_foreach (yyjson_obj_get(event, "choices"), at, count, choice) {
        /* Of several choices only the first is used. */
        if (code == 0 && yyjson_get_uint(yyjson_obj_get(choice, "index")) == 0) {
            code = take_delta(stream, yyjson_obj_get(choice, "delta"), err);
            take_reason(stream, yyjson_obj_get(choice, "finish_reason"));
        }
    }
    return code;
}

static void end(struct toolrack_stream *stream) {
    if (yyjson_mut_obj_get(stream->root, "content") == NULL) {
        stream_put(stream, stream->root, "content", yyjson_mut_null(stream->doc));
    }
}

const struct stream_format stream_openai = {take_event, end, "assistant", false};
