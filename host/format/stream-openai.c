/* stream-openai.c - streams of OpenAI Chat Completions, and of the many compatible providers. */
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "format/stream-parts.h"

static bool has_other_id(const struct stream_item *item, yyjson_val *id) {
    const char *known = yyjson_mut_get_str(yyjson_mut_obj_get(item->object, "id"));
    return stream_is_text(id) && known != NULL && strcmp(known, yyjson_get_str(id)) != 0;
}

/* Whether a delta without an id has a name and arguments, or another name, although the call that
 * it would continue is complete. */
static bool begins_another(const struct toolrack_stream *stream, const struct stream_item *item,
                           yyjson_val *delta) {
    yyjson_val *function = yyjson_obj_get(delta, "function");
    yyjson_val *arguments = yyjson_obj_get(function, "arguments");
    yyjson_val *name = yyjson_obj_get(function, "name");
    yyjson_mut_val *known = yyjson_mut_obj_get(item->object, "function");
    return !stream_is_text(yyjson_obj_get(delta, "id")) && stream_is_text(name) &&
           (stream_is_text(arguments) || yyjson_is_obj(arguments) ||
            !stream_has_text(stream, known, "name", name)) &&
           stream_is_whole(stream, known, "arguments");
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

/* Names arrive in one piece from most providers, from some in several; others repeat the whole name
 * with each piece of the arguments. */
static void add_name(struct toolrack_stream *stream, yyjson_mut_val *made, yyjson_val *name) {
    if (stream_is_text(name) && yyjson_mut_obj_get(made, "name") == NULL) {
        stream_set(stream, made, "name", name);
    } else if (stream_is_text(name) && !stream_has_text(stream, made, "name", name)) {
        stream_gather(stream, made, "name", name, false);
    }
}

static void add_function(struct toolrack_stream *stream, yyjson_mut_val *call, const char *key,
                         yyjson_val *function) {
    yyjson_val *arguments = yyjson_obj_get(function, "arguments");
    if (!yyjson_is_obj(function)) {
        return;
    }
    stream->decides = true;
    yyjson_mut_val *made = stream_object(stream, call, key);
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

/* It tells its number itself. */
static int take_call(struct toolrack_stream *stream, uint64_t at, yyjson_val *delta,
                     struct toolrack_error *err) {
    (void)at;
    struct stream_item *item = find_call(stream, delta);
    stream->decides = true;
    int code = item != NULL ? 0 : begin_call(stream, delta, err);
    if (code < 0) {
        return code;
    }
    item = item != NULL ? item : &stream->items[stream->item_count - 1];
    if (stream_is_text(yyjson_obj_get(delta, "id"))) {
        stream_set(stream, item->object, "id", yyjson_obj_get(delta, "id"));
    }
    if (stream_is_text(yyjson_obj_get(delta, "type"))) {
        stream_set(stream, item->object, "type", yyjson_obj_get(delta, "type"));
    }
    /* Signatures of thoughts, from providers that have them. */
    stream_set(stream, item->object, "extra_content", yyjson_obj_get(delta, "extra_content"));
    add_function(stream, item->object, "function", yyjson_obj_get(delta, "function"));
    add_custom(stream, item->object, yyjson_obj_get(delta, "custom"));
    return 0;
}

/* Whether a member of a delta or message can be one of the message that is made. Whose that is, is
 * known; and a message with choices would be read as a response, whose calls are in them. */
static bool is_kept(yyjson_val *key) {
    return !turn_is(key, "role") && !turn_is(key, "choices") && !turn_is(key, "error");
}

/* Arrays arrive in pieces too: thoughts with their signatures, or the content itself. */
static int take_arrays(struct toolrack_stream *stream, yyjson_val *delta,
                       struct toolrack_error *err) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (delta, at, count, key, value) {
        const char *name = stream_name(key);
        if (code < 0 || !yyjson_is_arr(value) || name == NULL || strcmp(name, "tool_calls") == 0 ||
            !is_kept(key)) {
            continue;
        }
        if (yyjson_mut_obj_size(stream->root) > STREAM_MEMBERS_MAX) {
            return stream_exceed(err, "the message has more than the %u members allowed",
                                 STREAM_MEMBERS_MAX);
        }
        stream->decides = true; /* all that it has is kept */
        code = stream_extend(stream, stream->root, name, value, err);
    }
    return code;
}

static void show_content(struct toolrack_stream *stream, yyjson_val *content) {
    size_t at;
    size_t count;
    yyjson_val *part;
    stream_show(stream, content);
    yyjson_arr_foreach (content, at, count, part) {
        if (turn_is(yyjson_obj_get(part, "type"), "text")) {
            stream_show(stream, yyjson_obj_get(part, "text"));
        }
    }
}

static void show_refusal(struct toolrack_stream *stream, yyjson_val *refusal) {
    stream_show(stream, refusal);
    if (stream_is_text(refusal)) {
        stream->refused = true;
        stream->decides = true;
    }
}

/* What a delta may have. Nearly each has one of them, so they are found by one walk over it. */
enum member {
    CONTENT,
    REFUSAL,
    REASONING_CONTENT, /* this and the next are other providers' names for thoughts */
    REASONING,
    EXTRA_CONTENT,
    FUNCTION_CALL, /* the one call of the API before it had `tool_calls` */
    TOOL_CALLS,
    MEMBERS
};

static const struct {
    const char *key;
    size_t length;
} members[MEMBERS] = {
#define MEMBER(key) \
    { key, sizeof key - 1 }
        [CONTENT] = MEMBER("content"),
        [REFUSAL] = MEMBER("refusal"),
        [REASONING_CONTENT] = MEMBER("reasoning_content"),
        [REASONING] = MEMBER("reasoning"),
        [EXTRA_CONTENT] = MEMBER("extra_content"),
        [FUNCTION_CALL] = MEMBER("function_call"),
        [TOOL_CALLS] = MEMBER("tool_calls"),
#undef MEMBER
};

static void find_members(struct toolrack_stream *stream, yyjson_val *delta,
                         yyjson_val *ret[MEMBERS]) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (delta, at, count, key, value) {
        for (size_t i = 0; i < MEMBERS; i++) {
            if (yyjson_equals_strn(key, members[i].key, members[i].length)) {
                stream_take_once(stream, &ret[i], value);
            }
        }
    }
}

static int take_delta(struct toolrack_stream *stream, yyjson_val *delta,
                      struct toolrack_error *err) {
    yyjson_val *has[MEMBERS] = {NULL};
    find_members(stream, delta, has);
    for (size_t i = CONTENT; i <= REASONING; i++) { /* the strings that grow */
        stream_gather(stream, stream->root, members[i].key, has[i], false);
    }
    show_content(stream, has[CONTENT]);
    show_refusal(stream, has[REFUSAL]);
    stream_set(stream, stream->root, members[EXTRA_CONTENT].key, has[EXTRA_CONTENT]);
    stream->decides = stream->decides || has[EXTRA_CONTENT] != NULL;
    add_function(stream, stream->root, members[FUNCTION_CALL].key, has[FUNCTION_CALL]);
    int code = take_arrays(stream, delta, err);
    if (code == 0 && yyjson_is_obj(has[TOOL_CALLS])) {
        return take_call(stream, 0, has[TOOL_CALLS], err); /* text-generation-inference's */
    }
    return code < 0 ? code : stream_take_each(stream, has[TOOL_CALLS], take_call, err);
}

/* Read why the message ended. Some servers send "" until the end, and some the reason with each
 * piece. */
static void take_reason(struct toolrack_stream *stream, yyjson_val *reason) {
    stream_set_reason(stream, reason);
    stream->complete = stream->complete || stream_is_text(reason);
}

/* What a choice has that is read. Nearly each event has one, so they are found by one walk. */
struct choice {
    yyjson_val *index;
    yyjson_val *delta;
    yyjson_val *message;
    yyjson_val *reason;
    yyjson_val *error;
    yyjson_val *object;
};

static void read_choice(struct toolrack_stream *stream, yyjson_val *choice, struct choice *ret) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (choice, at, count, key, value) {
        yyjson_val **member = turn_is(key, "index")           ? &ret->index
                              : turn_is(key, "delta")         ? &ret->delta
                              : turn_is(key, "finish_reason") ? &ret->reason
                              : turn_is(key, "message")       ? &ret->message
                              : turn_is(key, "error")         ? &ret->error
                              : turn_is(key, "object")        ? &ret->object
                                                              : NULL;
        if (member != NULL) {
            stream_take_once(stream, member, value);
        }
    }
}

/* OpenRouter and others report in the choice that the provider behind them failed. */
static int find_failure(yyjson_val *choice, const struct choice *has, struct toolrack_error *err) {
    int code = has->error != NULL || has->object != NULL ? stream_tell_error(choice, err) : 0;
    return code == 0 && turn_is(has->reason, "error") ? stream_fail(NULL, err) : code;
}

/* Some servers stream one chunk that has the message whole, and some repeat it whole at the end. */
static yyjson_val *delta_of(const struct toolrack_stream *stream, const struct choice *has) {
    bool has_begun = stream->has_shown || stream->text_count > 0 || stream->item_count > 0;
    return has->delta != NULL || has_begun ? has->delta : has->message;
}

static int take_event(struct toolrack_stream *stream, yyjson_val *event,
                      struct toolrack_error *err) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *choice;
    yyjson_val *choices = yyjson_obj_get(event, "choices"); /* the macro looks several times */
    yyjson_arr_foreach (choices, at, count, choice) {
        struct choice has = {NULL};
        read_choice(stream, choice, &has);
        /* Of several choices only the first is used. */
        if (code == 0 && yyjson_get_uint(has.index) == 0) {
            code = take_delta(stream, delta_of(stream, &has), err);
            take_reason(stream, has.reason);
            code = code == 0 ? find_failure(choice, &has, err) : code;
        }
    }
    return code;
}

/* The members of the message stay as they are, except null. */
static int take_whole(struct toolrack_stream *stream, yyjson_val *root,
                      struct toolrack_error *err) {
    yyjson_val *choice = yyjson_arr_get_first(yyjson_obj_get(root, "choices"));
    struct choice has = {NULL};
    read_choice(stream, choice, &has);
    yyjson_val *message = has.message;
    yyjson_val *reason = has.reason;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    int code = find_failure(choice, &has, err);
    if (code < 0) {
        return code;
    }
    if (message == NULL && stream_is_text(reason)) {
        take_reason(stream, reason); /* Google's, of an answer that its filter took all of */
        return 0;
    }
    if (!yyjson_is_obj(message)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the response has no message in its choices; it is not one of Chat "
                         "Completions");
    }
    if (yyjson_obj_size(message) > STREAM_MEMBERS_MAX) {
        return stream_exceed(err, "the message has more than the %u members allowed",
                             STREAM_MEMBERS_MAX);
    }
    json_obj_foreach (message, at, count, key, value) {
        if (!yyjson_is_null(value) && stream_name(key) != NULL && is_kept(key)) {
            stream_set(stream, stream->root, stream_name(key), value);
        }
    }
    take_reason(stream, reason);
    show_content(stream, yyjson_obj_get(message, "content"));
    show_refusal(stream, yyjson_obj_get(message, "refusal"));
    return 0;
}

/* The model was stopped while it wrote the call: arguments of which nothing has arrived would count
 * as empty. */
static void break_off(struct toolrack_stream *stream, yyjson_mut_val *function) {
    yyjson_mut_val *arguments = yyjson_mut_obj_get(function, "arguments");
    if (function != NULL && yyjson_mut_get_len(arguments) == 0) {
        stream_put(stream, function, "arguments", yyjson_mut_str(stream->doc, "{"));
    }
}

static void end(struct toolrack_stream *stream) {
    yyjson_mut_val *calls = yyjson_mut_obj_get(stream->root, "tool_calls");
    size_t at;
    size_t count;
    yyjson_mut_val *call;
    yyjson_mut_arr_foreach(calls, at, count, call) {
        if (yyjson_mut_is_obj(call)) {
            stream_give_id(stream, call, "id");
        }
    }
    if (stream_is_cut_off(stream)) {
        break_off(stream, yyjson_mut_obj_get(yyjson_mut_arr_get_last(calls), "function"));
        break_off(stream, yyjson_mut_obj_get(stream->root, "function_call"));
    }
    if (yyjson_mut_obj_get(stream->root, "content") == NULL) {
        stream_put(stream, stream->root, "content", yyjson_mut_null(stream->doc));
    }
}

const struct stream_format stream_openai = {.event = take_event,
                                            .whole = take_whole,
                                            .end = end,
                                            .role = "assistant",
                                            .sees_twice = true};
