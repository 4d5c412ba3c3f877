/* turn.c - what is the same in the turns of all providers.
 *
 * What a model wrote is not believed: a call that cannot be made is kept with its
 * reason, for the model shall read it; only a message that is none is refused. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/rendering.h"
#include "format/turn-parts.h"

/* Calls for which there is room at first, and bytes that most results do not need. */
#define CALLS_AT_FIRST 8u
#define RESULT_ROOM    160u

/* Room for arguments that are read only to see what they are: most are short. */
#define ARGUMENTS_ROOM 8192u

static const struct turn_format *const formats[] = {
        [TOOLRACK_FORMAT_OPENAI] = &turn_openai,
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = &turn_responses,
        [TOOLRACK_FORMAT_ANTHROPIC] = &turn_anthropic,
        [TOOLRACK_FORMAT_GEMINI] = &turn_gemini,
        [TOOLRACK_FORMAT_OLLAMA] = &turn_ollama,
        [TOOLRACK_FORMAT_MCP] = &turn_mcp,
};

/* ------------------------------------------------------------------- reading */

bool turn_is(yyjson_val *value, const char *text) {
    return yyjson_equals_str(value, text);
}

int turn_refuse(struct turn_reader *reader, const char *place, const char *what) {
    return error_set_field(reader->err, TOOLRACK_E_INVALID, place,
                           "this is no message of the format '%s': %s",
                           toolrack_format_name(reader->message->format), what);
}

bool turn_is_error(struct turn_reader *reader, yyjson_val *root) {
    yyjson_val *error = yyjson_obj_get(root, "error");
    yyjson_val *message = yyjson_is_obj(error) ? yyjson_obj_get(error, "message") : error;
    if (!yyjson_is_str(message)) {
        return false;
    }
    (void)error_set_field(reader->err, TOOLRACK_E_INVALID, "/error",
                          "the response is an error of the provider: %s", yyjson_get_str(message));
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
                            "the answer had become too long when this was called, and ended "
                            "before its arguments: call it again, with less said before");
}

static bool is_blank(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n') {
            return false;
        }
    }
    return true;
}

static void set_arguments(struct format_call *call, const char *text, size_t length) {
    call->arguments = text;
    call->arguments_length = length;
}

/* Text that should be a JSON object: models write what they like. */
static int take_text(struct turn_reader *reader, yyjson_val *arguments) {
    const char *text = yyjson_get_str(arguments);
    size_t length = yyjson_get_len(arguments);
    yyjson_read_err why;
    if (is_blank(text, length)) {
        return 0;
    }
    _Alignas(16) char memory[ARGUMENTS_ROOM];
    yyjson_alc pool;
    bool fits =
            length < sizeof memory &&
            yyjson_read_max_memory_usage(length, YYJSON_READ_BIGNUM_AS_RAW) < sizeof memory / 2 &&
            yyjson_alc_pool_init(&pool, memory, sizeof memory);
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW,
                                       fits ? &pool : NULL, &why);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(reader->err);
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    int code = 0;
    if (doc == NULL) {
        char reason[128];
        (void)snprintf(reason, sizeof reason, "the arguments are not JSON: %s at byte %zu", why.msg,
                       why.pos);
        code = turn_add_problem(reader, TOOLRACK_E_INVALID_ARGUMENTS, reason);
    } else if (yyjson_is_obj(root)) {
        set_arguments(last_call(reader), text, length);
    } else if (!yyjson_is_null(root)) {
        code = turn_add_problem(reader, TOOLRACK_E_INVALID_ARGUMENTS,
                                "the arguments must be one JSON object, such as {\"key\": "
                                "\"value\"}");
    }
    yyjson_doc_free(doc);
    return code;
}

static int take_object(struct turn_reader *reader, yyjson_val *arguments) {
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_val_write(arguments, YYJSON_WRITE_NOFLAG, &length);
    char *kept = text != NULL ? arena_copy(&reader->message->arena, text, length) : NULL;
    if (kept == NULL) {
        return error_oom(reader->err);
    }
    set_arguments(last_call(reader), kept, length);
    return 0;
}

static int take_arguments(struct turn_reader *reader, yyjson_val *arguments) {
    set_arguments(last_call(reader), "{}", 2);
    if (arguments == NULL || yyjson_is_null(arguments)) {
        return 0;
    }
    if (yyjson_is_str(arguments)) {
        return take_text(reader, arguments);
    }
    return yyjson_is_obj(arguments)
                   ? take_object(reader, arguments)
                   : turn_add_problem(reader, TOOLRACK_E_INVALID_ARGUMENTS,
                                      "the arguments must be a JSON object, or text of one");
}

/* Room for one more call. False: no memory. */
static bool make_room(struct format_message *message) {
    if (message->count < message->room) {
        return true;
    }
    size_t room = message->room > 0 ? 2 * message->room : CALLS_AT_FIRST;
    struct format_call *calls = arena_alloc(&message->arena, room * sizeof *calls);
    if (calls == NULL) {
        return false;
    }
    if (message->count > 0) {
        memcpy(calls, message->calls, message->count * sizeof *calls);
    }
    message->calls = calls;
    message->room = room;
    return true;
}

/* The text of a name, which a zero byte would make another one. */
static const char *name_of(yyjson_val *name) {
    const char *text = yyjson_get_str(name);
    return text != NULL && strlen(text) == yyjson_get_len(name) ? text : "";
}

int turn_add_call(struct turn_reader *reader, yyjson_val *raw, yyjson_val *id, yyjson_val *name,
                  yyjson_val *arguments) {
    struct format_message *message = reader->message;
    if (message->count == FORMAT_CALLS_MAX) {
        return error_set(reader->err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the message has more than the %u calls allowed", FORMAT_CALLS_MAX);
    }
    if (!make_room(message)) {
        return error_oom(reader->err);
    }
    message->calls[message->count++] =
            (struct format_call){.id = yyjson_get_str(id), .name = name_of(name), .raw = raw};
    return take_arguments(reader, arguments);
}

/* One of `tool_calls`. */
static int read_tool_call(struct turn_reader *reader, yyjson_val *call) {
    yyjson_val *function = yyjson_obj_get(call, "function");
    yyjson_val *id = yyjson_obj_get(call, "id");
    yyjson_val *custom = yyjson_obj_get(call, "custom");
    if (custom == NULL || function != NULL) {
        return turn_add_call(reader, call, id, yyjson_obj_get(function, "name"),
                             yyjson_obj_get(function, "arguments"));
    }
    int code = turn_add_call(reader, call, id, yyjson_obj_get(custom, "name"), NULL);
    return code < 0 ? code
                    : turn_add_problem(reader, TOOLRACK_E_INVALID_ARGUMENTS,
                                       "it was called as a custom tool, with free text, but takes "
                                       "a JSON object: call it as a function");
}

int turn_read_tool_calls(struct turn_reader *reader, yyjson_val *message, const char *place) {
    yyjson_val *calls = yyjson_obj_get(message, "tool_calls");
    if (calls == NULL || yyjson_is_null(calls)) {
        return 0;
    }
    if (!yyjson_is_arr(calls)) {
        char at[64];
        (void)snprintf(at, sizeof at, "%s/tool_calls", place);
        return turn_refuse(reader, at, "it must be an array");
    }
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (calls, at, count, call) {
        code = code < 0 ? code : read_tool_call(reader, call);
    }
    return code;
}

static int read_root(struct format_message *message, struct toolrack_error *err) {
    struct turn_reader reader = {.message = message, .err = err};
    yyjson_val *root = yyjson_doc_get_root(message->doc);
    return turn_is_error(&reader, root) ? TOOLRACK_E_INVALID
                                        : formats[message->format]->read(&reader, root);
}

static int parse(const char *text, size_t length, yyjson_doc **ret, struct toolrack_error *err) {
    if (length > FORMAT_MESSAGE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the message has %zu bytes, more than the %u allowed", length,
                         FORMAT_MESSAGE_MAX);
    }
    yyjson_read_err why;
    /* Numbers that no double holds go to the tool as they were written. */
    *ret = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW, NULL, &why);
    if (*ret != NULL) {
        return 0;
    }
    return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                   ? error_oom(err)
                   : error_set(err, TOOLRACK_E_INVALID, "the message is not JSON: %s at byte %zu",
                               why.msg, why.pos);
}

int format_read_message(enum toolrack_format format, const char *text, size_t length,
                        struct format_message *ret, struct toolrack_error *err) {
    if ((unsigned)format >= TOOLRACK_FORMAT_COUNT) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no format with the number %d",
                         (int)format);
    }
    struct format_message message = {.format = format};
    int code = parse(text, length, &message.doc, err);
    if (code < 0) {
        return code;
    }
    arena_init(&message.arena, NULL, 0);
    code = read_root(&message, err);
    if (code < 0) {
        format_message_finish(&message);
        return code;
    }
    *ret = message;
    return 0;
}

void format_message_finish(struct format_message *message) {
    yyjson_doc_free(message->doc);
    arena_finish(&message->arena);
    *message = (struct format_message){0};
}

/* ------------------------------------------------------------------- writing */

void turn_write_value(struct buf *out, yyjson_val *value) {
    size_t length = 0;
    CLEANUP(freep) char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &length);
    if (text == NULL) {
        out->failed = true;
        return;
    }
    buf_add(out, text, length);
}

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
        turn_write_value(out, value);
    }
    buf_add_char(out, ',');
}

void turn_write_text(struct buf *out, const struct turn_result *result, unsigned without) {
    if (result->count == 1 && (TURN_BIT(result->pieces[0].kind) & without) == 0) {
        buf_add_json_string(out, result->pieces[0].text, result->pieces[0].length);
        return;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    bool first = true;
    for (size_t i = 0; i < result->count; i++) {
        if ((TURN_BIT(result->pieces[i].kind) & without) == 0) {
            buf_add(&text, "\n", !first);
            buf_add(&text, result->pieces[i].text, result->pieces[i].length);
            first = false;
        }
    }
    buf_add_json_string(out, text.data != NULL ? text.data : "", text.length);
    out->failed = out->failed || text.failed;
}

/* A result that is being taken apart; what is made for it stands in the arena. */
struct taking {
    struct turn_result *result;
    struct arena *arena;
    yyjson_doc *doc; /* of the outcome, where it had to be parsed */
    bool no_memory;
};

static void add_piece(struct taking *taking, struct turn_piece piece) {
    taking->result->pieces[taking->result->count++] = piece;
}

static void add_words(struct taking *taking, struct turn_piece piece, const char *words) {
    if (words == NULL) {
        taking->no_memory = true;
        return;
    }
    piece.text = words;
    piece.length = strlen(words);
    add_piece(taking, piece);
}

static const char *text_or(yyjson_val *value, const char *otherwise) {
    return yyjson_is_str(value) ? yyjson_get_str(value) : otherwise;
}

static void add_media(struct taking *taking, yyjson_val *block, bool is_image) {
    yyjson_val *data = yyjson_obj_get(block, "data");
    struct turn_piece piece = {
            .kind = is_image ? TURN_IMAGE : TURN_AUDIO,
            .data = text_or(data, ""),
            .data_length = yyjson_get_len(data),
            .mime_type = text_or(yyjson_obj_get(block, "mimeType"), "application/octet-stream"),
            .block = block};
    add_words(taking, piece,
              arena_printf(taking->arena, "(%s, %s: it cannot be shown here)",
                           is_image ? "an image" : "a sound", piece.mime_type));
}

static void add_resource(struct taking *taking, yyjson_val *block) {
    yyjson_val *resource = yyjson_obj_get(block, "resource");
    yyjson_val *text = yyjson_obj_get(resource, "text");
    struct turn_piece piece = {.kind = TURN_RESOURCE, .block = block};
    if (yyjson_is_str(text)) {
        piece.text = yyjson_get_str(text);
        piece.length = yyjson_get_len(text);
        add_piece(taking, piece);
        return;
    }
    add_words(taking, piece,
              arena_printf(taking->arena, "(a file, %s, %s: it cannot be shown here)",
                           text_or(yyjson_obj_get(resource, "uri"), "without a name"),
                           text_or(yyjson_obj_get(resource, "mimeType"), "of no stated type")));
}

static void add_block(struct taking *taking, yyjson_val *block) {
    yyjson_val *type = yyjson_obj_get(block, "type");
    if (turn_is(type, "image") || turn_is(type, "audio")) {
        add_media(taking, block, turn_is(type, "image"));
    } else if (turn_is(type, "resource")) {
        add_resource(taking, block);
    } else {
        yyjson_val *text = yyjson_obj_get(block, "text");
        add_piece(taking, (struct turn_piece){.text = text_or(text, ""),
                                              .length = yyjson_get_len(text),
                                              .block = block});
    }
}

static void set_structured(struct turn_result *result, const char *json, size_t length) {
    if (length > 0 && json[0] == '{') {
        result->structured = json;
        result->structured_length = length;
    }
}

/* The JSON beside the blocks is for the model as well, who sees texts. */
static void add_structured(struct taking *taking, yyjson_val *value) {
    yyjson_alc alc = arena_alc(taking->arena);
    size_t length = 0;
    const char *json = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, &length, NULL);
    if (json == NULL) {
        taking->no_memory = true;
        return;
    }
    add_piece(taking, (struct turn_piece){.text = json, .length = length, .is_json = true});
    set_structured(taking->result, json, length);
}

static bool make_pieces(struct taking *taking, size_t count) {
    taking->result->pieces = arena_alloc(taking->arena, count * sizeof *taking->result->pieces);
    taking->no_memory = taking->no_memory || taking->result->pieces == NULL;
    return taking->result->pieces != NULL;
}

static void take_content(struct taking *taking) {
    yyjson_val *root = yyjson_doc_get_root(taking->doc);
    yyjson_val *blocks = yyjson_obj_get(root, "content");
    yyjson_val *structured = yyjson_obj_get(root, "structuredContent");
    if (!make_pieces(taking, yyjson_arr_size(blocks) + 1)) {
        return;
    }
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (blocks, at, count, block) {
        add_block(taking, block);
    }
    if (structured != NULL) {
        add_structured(taking, structured);
    }
}

static void take_json(struct taking *taking, const struct format_outcome *outcome) {
    yyjson_val *root = yyjson_doc_get_root(taking->doc);
    struct turn_piece piece = {.text = outcome->json, .length = outcome->length, .is_json = true};
    if (yyjson_is_str(root)) {
        piece = (struct turn_piece){.text = yyjson_get_str(root), .length = yyjson_get_len(root)};
    }
    if (make_pieces(taking, 1)) {
        add_piece(taking, piece);
        set_structured(taking->result, outcome->json, outcome->length);
    }
}

static void take_failure(struct taking *taking, const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    error_add_text(&text, err);
    taking->result->failed = true;
    taking->result->not_found = err->code == TOOLRACK_E_NOT_FOUND;
    if (make_pieces(taking, 1)) {
        add_words(taking, (struct turn_piece){0},
                  text.failed ? NULL : arena_copy(taking->arena, text.data, text.length));
    }
}

/* What is no text and no content is shown as the JSON it is. */
static void take_success(struct taking *taking, const struct format_outcome *outcome) {
    if (outcome->is_content || outcome->json[0] == '"') {
        taking->doc = yyjson_read(outcome->json, outcome->length, YYJSON_READ_BIGNUM_AS_RAW);
        taking->no_memory = taking->doc == NULL;
    }
    if (taking->no_memory) {
        return;
    }
    if (outcome->is_content) {
        take_content(taking);
    } else {
        take_json(taking, outcome);
    }
}

static int write_result(const struct turn_format *format, const struct format_call *call,
                        const struct format_outcome *outcome, struct buf *out,
                        struct toolrack_error *err) {
    _Alignas(16) char memory[4096];
    struct turn_result result = {0};
    struct arena arena;
    struct taking taking = {.result = &result, .arena = &arena};
    arena_init(&arena, memory, sizeof memory);
    if (outcome->json == NULL) {
        take_failure(&taking, outcome->err);
    } else {
        take_success(&taking, outcome);
    }
    if (!taking.no_memory) {
        format->write(out, call, &result);
    }
    yyjson_doc_free(taking.doc);
    arena_finish(&arena);
    return taking.no_memory || out->failed ? error_oom(err) : 0;
}

int format_write_results(const struct format_message *message,
                         const struct format_outcome *outcomes, struct buf *out,
                         struct toolrack_error *err) {
    const struct turn_format *format = formats[message->format];
    size_t before = out->length;
    int code = 0;
    (void)buf_reserve(out, message->count * RESULT_ROOM);
    buf_add_text(out, message->count > 0 ? format->before : "[");
    for (size_t i = 0; i < message->count && code == 0; i++) {
        buf_add(out, ",", i > 0);
        code = write_result(format, &message->calls[i], &outcomes[i], out, err);
    }
    buf_add_text(out, message->count > 0 ? format->after : "]");
    if (code == 0 && out->failed) {
        code = error_oom(err);
    }
    if (code < 0) {
        buf_truncate(out, before);
    }
    return code;
}
