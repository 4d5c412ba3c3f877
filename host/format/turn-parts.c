#include "format/turn-parts.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-lenient.h"
#include "base/json-write.h"
#include "base/json.h"
#include "format/definitions.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Initial capacity for calls. */
#define CALLS_AT_FIRST 8u

/* Longest arguments that stay parsed for their call; what longer ones take is released before. */
#define PARSED_MAX 16384u

/* ------------------------------------------------------------------- reading */

int turn_refuse(struct turn_reader *reader, const char *place, const char *what) {
    return error_set_field(reader->err, TOOLRACK_E_INVALID, place,
                           "not a message of the format '%s': %s",
                           toolrack_format_name(reader->message->format), what);
}

int turn_check_element(struct turn_reader *reader, yyjson_val *element, const char *place,
                       size_t index) {
    if (yyjson_is_obj(element)) {
        return 0;
    }
    char at[JSON_POINTER_MAX];
    (void)snprintf(at, sizeof at, "%s/%zu", place, index);
    return turn_refuse(reader, at, "expected an object");
}

bool turn_is_models(yyjson_val *object) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (object, at, count, key, value) {
        if (turn_is(key, "role") && yyjson_is_str(value) && yyjson_get_len(value) > 0 &&
            !turn_is(value, "assistant") && !turn_is(value, "model")) {
            return false;
        }
    }
    return true;
}

int turn_check_role(struct turn_reader *reader, yyjson_val *message, const char *place) {
    if (reader->message->count == 0 || turn_is_models(message)) {
        return 0;
    }
    char at[JSON_POINTER_MAX];
    (void)snprintf(at, sizeof at, "%s/role", place);
    return turn_refuse(reader, at,
                       "it has calls, and only those of a model are made: the role must be "
                       "\"assistant\" or \"model\"");
}

bool turn_says_error(yyjson_val *error) {
    switch (yyjson_get_type(error)) {
    case YYJSON_TYPE_STR: return yyjson_get_len(error) > 0;
    case YYJSON_TYPE_NUM: return yyjson_get_num(error) != 0;
    case YYJSON_TYPE_BOOL: return yyjson_get_bool(error);
    case YYJSON_TYPE_ARR: return yyjson_arr_size(error) > 0;
    case YYJSON_TYPE_OBJ: return yyjson_obj_size(error) > 0;
    case YYJSON_TYPE_RAW: return true;
    default: return false;
    }
}

const char *turn_error_reason(yyjson_val *error) {
    /* Where a provider's failure says what it is, by preference. */
    static const char *const members[] = {"message", "detail", "error", "type", "code", "status"};
    yyjson_val *reason = error;
    for (size_t i = 0; yyjson_is_obj(reason) && i < ARRAY_LENGTH(members); i++) {
        yyjson_val *member = yyjson_obj_get(error, members[i]);
        reason = yyjson_is_str(member) && yyjson_get_len(member) > 0 ? member : reason;
    }
    return yyjson_is_str(reason) && yyjson_get_len(reason) > 0 ? yyjson_get_str(reason)
                                                               : "no reason given";
}

bool turn_is_error(struct turn_reader *reader, yyjson_val *object, const char *place) {
    yyjson_val *error = yyjson_obj_get(object, "error");
    if (!turn_says_error(error)) {
        return false;
    }
    (void)error_set_field(reader->err, TOOLRACK_E_INVALID, place,
                          "the provider answered with an error: %s", turn_error_reason(error));
    return true;
}

/* The last call added. */
static struct format_call *last_call(struct turn_reader *reader) {
    return &reader->message->calls[reader->message->count - 1];
}

int turn_add_problem(struct turn_reader *reader, int code, const char *why) {
    struct format_call *call = last_call(reader);
    struct toolrack_error *problem = arena_alloc(&reader->message->arena, sizeof *problem);
    if (problem == NULL) {
        return error_oom(reader->err);
    }
    (void)error_set(problem, code, "%s", why);
    error_set_tool(problem, call->name);
    call->problem = problem;
    return 0;
}

int turn_cut_off(struct turn_reader *reader) {
    if (reader->message->count == 0 || last_call(reader)->problem != NULL ||
        strcmp(last_call(reader)->arguments, "{}") != 0) {
        return 0;
    }
    return turn_add_problem(reader, TOOLRACK_E_INVALID_ARGUMENTS,
                            "the response reached its length limit before the arguments of this "
                            "call were written: call the tool again, with less text before it");
}

static bool is_odd(yyjson_val *arguments) {
    const char *word;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (arguments, at, count, key, value) {
        if (format_looks_made(yyjson_get_str(key), yyjson_get_len(key))) {
            return true;
        }
    }
    return format_is_wrapped(arguments, &word) != NULL;
}

/* The same for text that does not live as long as the message. */
static int take_copy(struct turn_reader *reader, const char *text, size_t length, unsigned times);

/* How often arguments may be JSON text within a JSON string. */
#define ENCODED_MAX 3u

/* Read arguments given as text, which may be anything; `times` it was within a string already. */
static int take_text(struct turn_reader *reader, const char *text, size_t length, unsigned times) {
    size_t blank = 0;
    while (blank < length && memchr(" \t\r\n", text[blank], 4) != NULL) {
        blank++;
    }
    if (blank == length) {
        return 0;
    }
    yyjson_read_err why;
    const yyjson_alc alc = arena_alc(&reader->message->arena);
    bool stays = length <= PARSED_MAX;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW,
                                       stays ? &alc : NULL, &why);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(reader->err);
    }
    CLEANUP(buf_finish) struct buf mended = BUF_INIT;
    if (doc == NULL && why.code == YYJSON_READ_ERROR_INVALID_STRING &&
        json_add_without_halves(&mended, text, length, false)) {
        /* Only once: what is appended has none. */
        return take_copy(reader, mended.data, mended.length, times);
    }
    if (mended.failed) {
        return error_oom(reader->err);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (doc == NULL) {
        char reason[256];
        (void)snprintf(reason, sizeof reason,
                       "the arguments are not JSON: %s at byte %zu; call the tool again with one "
                       "complete JSON object",
                       why.msg, why.pos);
        return turn_add_problem(reader, TOOLRACK_E_INVALID_ARGUMENTS, reason);
    }
    if (yyjson_is_obj(root)) {
        last_call(reader)->arguments = text;
        last_call(reader)->arguments_length = length;
        last_call(reader)->was_encoded = times > 0;
        last_call(reader)->is_odd = is_odd(root);
        last_call(reader)->parsed = stays ? root : NULL;
        return 0;
    }
    if (yyjson_is_str(root) && times < ENCODED_MAX) {
        return take_copy(reader, yyjson_get_str(root), yyjson_get_len(root), times + 1);
    }
    return yyjson_is_null(root)
                   ? 0
                   : turn_add_problem(reader, TOOLRACK_E_INVALID_ARGUMENTS,
                                      "the arguments must be one JSON object, such as {\"key\": "
                                      "\"value\"}");
}

static int take_copy(struct turn_reader *reader, const char *text, size_t length, unsigned times) {
    const char *kept = arena_copy(&reader->message->arena, text, length);
    return kept != NULL ? take_text(reader, kept, length, times) : error_oom(reader->err);
}

static int take_object(struct turn_reader *reader, yyjson_val *arguments) {
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_val_write(arguments, YYJSON_WRITE_NOFLAG, &length);
    char *kept = text != NULL ? arena_copy(&reader->message->arena, text, length) : NULL;
    if (kept == NULL) {
        return error_oom(reader->err);
    }
    last_call(reader)->arguments = kept;
    last_call(reader)->parsed = arguments;
    last_call(reader)->is_odd = is_odd(arguments);
    last_call(reader)->arguments_length = length;
    return 0;
}

/* Read arguments, or add a problem. */
static int take_arguments(struct turn_reader *reader, yyjson_val *arguments) {
    if (arguments == NULL || yyjson_is_null(arguments)) {
        return 0;
    }
    if (yyjson_is_str(arguments)) {
        return take_text(reader, yyjson_get_str(arguments), yyjson_get_len(arguments), 0);
    }
    return yyjson_is_obj(arguments)
                   ? take_object(reader, arguments)
                   : turn_add_problem(
                             reader, TOOLRACK_E_INVALID_ARGUMENTS,
                             "the arguments must be one JSON object, or a string that holds one");
}

/* A call whose name is no name of a tool. */
static int add_nameless(struct turn_reader *reader, yyjson_val *name) {
    char why[128];
    const char *what = name == NULL || yyjson_is_null(name) ? "has no name"
                       : !yyjson_is_str(name)               ? "has a name that is not a string"
                       : yyjson_get_len(name) == 0          ? "has an empty name"
                                                            : "has a name with a zero byte";
    (void)snprintf(why, sizeof why, "the call %s: give the name of the tool to call", what);
    return turn_add_problem(reader, TOOLRACK_E_NOT_FOUND, why);
}

int turn_add_call(struct turn_reader *reader, yyjson_val *raw, yyjson_val *id, yyjson_val *name,
                  yyjson_val *arguments) {
    struct format_message *message = reader->message;
    if (message->count == FORMAT_CALLS_MAX) {
        return error_set(reader->err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the message has more than the %u calls allowed", FORMAT_CALLS_MAX);
    }
    if (message->count == message->room) {
        size_t room = message->room > 0 ? 2 * message->room : CALLS_AT_FIRST;
        struct format_call *calls = arena_alloc(&message->arena, room * sizeof *calls);
        if (calls == NULL) {
            return error_oom(reader->err);
        }
        if (message->count > 0) {
            memcpy(calls, message->calls, message->count * sizeof *calls);
        }
        message->calls = calls;
        message->room = room;
    }
    /* A name with a zero byte would be cut to another name. */
    const char *text = yyjson_get_str(name);
    bool is_sound = text != NULL && strlen(text) == yyjson_get_len(name);
    message->calls[message->count++] = (struct format_call){.id = yyjson_get_str(id),
                                                            .name = is_sound ? text : "",
                                                            .arguments = "{}",
                                                            .arguments_length = 2,
                                                            .raw = raw};
    int code = take_arguments(reader, arguments);
    bool is_named = is_sound && text[0] != '\0';
    return code == 0 && !is_named && last_call(reader)->problem == NULL ? add_nameless(reader, name)
                                                                        : code;
}

yyjson_val *turn_arguments(yyjson_val *arguments) {
    yyjson_val *broken =
            yyjson_obj_size(arguments) == 1 ? yyjson_obj_get(arguments, TURN_BROKEN_INPUT) : NULL;
    return yyjson_is_str(broken) ? broken : arguments;
}

int turn_add_custom(struct turn_reader *reader, yyjson_val *raw, yyjson_val *id, yyjson_val *name) {
    int code = turn_add_call(reader, raw, id, name, NULL);
    return code < 0 ? code
                    : turn_add_problem(reader, TOOLRACK_E_INVALID_ARGUMENTS,
                                       "this tool was called as a custom tool, with free text, but "
                                       "takes a JSON object: call it as a function");
}

/* Read one of `tool_calls`. */
static int read_tool_call(struct turn_reader *reader, yyjson_val *call) {
    yyjson_val *function = yyjson_obj_get(call, "function");
    yyjson_val *id = yyjson_obj_get(call, "id");
    yyjson_val *custom = yyjson_obj_get(call, "custom");
    if (custom == NULL || function != NULL) {
        return turn_add_call(reader, call, id, yyjson_obj_get(function, "name"),
                             turn_arguments(yyjson_obj_get(function, "arguments")));
    }
    return turn_add_custom(reader, call, id, yyjson_obj_get(custom, "name"));
}

#define CALLS_PLACE_MAX 64u

/* Where the calls are. To write it takes as long as to read one: it is done when it is told. */
static const char *calls_at(const char *place, char out[static CALLS_PLACE_MAX]) {
    (void)snprintf(out, CALLS_PLACE_MAX, "%s/tool_calls", place);
    return out;
}

int turn_read_tool_calls(struct turn_reader *reader, yyjson_val *message, const char *place) {
    yyjson_val *calls = yyjson_obj_get(message, "tool_calls");
    if (calls == NULL || yyjson_is_null(calls)) {
        return 0;
    }
    char list[CALLS_PLACE_MAX];
    if (!yyjson_is_arr(calls)) {
        return turn_refuse(reader, calls_at(place, list), "it must be an array");
    }
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (calls, at, count, call) {
        code = code < 0              ? code
               : yyjson_is_obj(call) ? read_tool_call(reader, call)
                                     : turn_check_element(reader, call, calls_at(place, list), at);
    }
    return code < 0 ? code : turn_check_role(reader, message, place);
}

/* ------------------------------------------------------------------- writing */

void turn_write_member(struct buf *out, const char *key, yyjson_val *value) {
    if (value == NULL) {
        return;
    }
    buf_add_char(out, '"');
    buf_add_text(out, key);
    buf_add_text(out, "\":");
    if (yyjson_is_str(value)) {
        buf_add_json_string(out, yyjson_get_str(value), yyjson_get_len(value));
    } else {
        json_add_value(out, value);
    }
    buf_add_char(out, ',');
}

void turn_write_text(struct buf *out, const struct turn_result *result) {
    if (result->count == 1 && !result->pieces[0].is_apart) {
        buf_add_json_string(out, result->pieces[0].text, result->pieces[0].length);
        return;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    bool first = true;
    for (size_t i = 0; i < result->count; i++) {
        if (!result->pieces[i].is_apart) {
            buf_add(&text, "\n", !first);
            buf_add(&text, result->pieces[i].text, result->pieces[i].length);
            first = false;
        }
    }
    buf_add_json_string(out, text.data != NULL ? text.data : "", text.length);
    out->failed = out->failed || text.failed;
}
