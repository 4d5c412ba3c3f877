/* Turns: what all providers have in common.
 *
 * What a model wrote is not trusted: a call that cannot be made is kept with the reason, which is
 * sent to the model; only a message of another format is refused. */
#include "format/turn.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hidden.h"
#include "base/json-lenient.h"
#include "base/json-twice.h"
#include "base/json.h"
#include "base/rendering.h"
#include "base/visible.h"
#include "format/turn-parts.h"

/* Enough bytes for what is around most results, and for their escapes. */
#define RESULT_ROOM  160u
/* A longer result may be kept instead of written. */
#define RESULT_SHORT 4096u

static const struct turn_format *const formats[] = {
        [TOOLRACK_FORMAT_OPENAI] = &turn_openai,
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = &turn_responses,
        [TOOLRACK_FORMAT_ANTHROPIC] = &turn_anthropic,
        [TOOLRACK_FORMAT_GEMINI] = &turn_gemini,
        [TOOLRACK_FORMAT_OLLAMA] = &turn_ollama,
        [TOOLRACK_FORMAT_MCP] = &turn_mcp,
};

/* ------------------------------------------------------------------- reading */

/* Text that is no JSON: often it is the whole stream of a response. */
static int refuse_text(const char *text, size_t length, const yyjson_read_err *why,
                       struct toolrack_error *err) {
    static const char *const fields[] = {"data:", "event:", "id:", "retry:", ": "};
    static const char advice[] = "ask the provider with \"stream\": false, or put the message "
                                 "together with toolrack_stream_feed()";
    if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(err);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(fields); i++) {
        if (length >= strlen(fields[i]) && memcmp(text, fields[i], strlen(fields[i])) == 0) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "the message is a stream of events, not one JSON text: %s", advice);
        }
    }
    if (why->code == YYJSON_READ_ERROR_UNEXPECTED_CONTENT && why->pos < length &&
        text[why->pos] == '{') {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the message is a stream of JSON texts, of which the second begins at "
                         "byte %zu: %s",
                         why->pos, advice);
    }
    return error_set(err, TOOLRACK_E_INVALID, "the message is not JSON: %s at byte %zu", why->msg,
                     why->pos);
}

/* The arguments that an object is in: what a model gives twice there is an error of its call. */
static yyjson_val *arguments_with(void *user, yyjson_val *object) {
    const struct format_message *message = user;
    for (size_t i = 0; i < message->count; i++) {
        yyjson_val *arguments = message->calls[i].parsed;
        if (arguments != NULL && object >= arguments &&
            object < unsafe_yyjson_get_next(arguments)) {
            return arguments;
        }
    }
    return NULL;
}

/* Of two members of one name, whoever showed or checked the message may have read the other. */
static int refuse_twice(struct format_message *message, yyjson_val *root,
                        struct toolrack_error *err) {
    char pointer[JSON_POINTER_MAX];
    enum json_twice twice = json_find_twice_but(root, arguments_with, message, pointer);
    if (twice == JSON_TWICE_NO_MEMORY) {
        return error_oom(err);
    }
    return twice == JSON_TWICE_NONE
                   ? 0
                   : error_set_field(err, TOOLRACK_E_INVALID, pointer,
                                     "the message gives this member twice; give it once");
}

/* Find the calls. Of a message without any, or that cannot be read, it is told if another format
 * has its calls where they are. */
static int read_calls(struct turn_reader *reader, yyjson_val *root) {
    enum toolrack_format format = reader->message->format;
    if (turn_is_error(reader, root, "/error")) {
        return TOOLRACK_E_INVALID;
    }
    int code = formats[format]->read(reader, root);
    if (reader->message->count > 0) {
        return code;
    }
    enum toolrack_format likely = turn_likely_format(root, format);
    if (likely == format || (code != 0 && code != TOOLRACK_E_INVALID)) {
        return code;
    }
    char what[128];
    (void)snprintf(what, sizeof what, "it looks like %s: use --format %s",
                   toolrack_format_name(likely), toolrack_format_name(likely));
    return turn_refuse(reader, "", what);
}

int format_read_message(enum toolrack_format format, const char *text, size_t length,
                        struct format_message *ret, struct toolrack_error *err) {
    return format_read_message_in(format, text, length, NULL, 0, ret, err);
}

int format_read_message_in(enum toolrack_format format, const char *text, size_t length,
                           void *memory, size_t size, struct format_message *ret,
                           struct toolrack_error *err) {
    if ((unsigned)format >= TOOLRACK_FORMAT_COUNT) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no format number %d", (int)format);
    }
    if (length > FORMAT_MESSAGE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the message has %zu bytes, more than the %u allowed", length,
                         FORMAT_MESSAGE_MAX);
    }
    struct format_message message = {.format = format};
    yyjson_read_err why;
    arena_init(&message.arena, memory, size);
    const yyjson_alc alc = arena_alc(&message.arena);
    /* Numbers that do not fit into a double are passed to the tool as written. */
    message.doc = json_read_lenient(text, length, YYJSON_READ_BIGNUM_AS_RAW,
                                    length < size / 2 ? &alc : NULL, &why);
    if (message.doc == NULL) {
        arena_finish(&message.arena);
        return refuse_text(text, length, &why, err);
    }
    struct turn_reader reader = {.message = &message, .err = err};
    yyjson_val *root = yyjson_doc_get_root(message.doc);
    if (json_is_deeper(root, JSON_DEEPER_MAX)) {
        format_message_finish(&message);
        return error_set(err, TOOLRACK_E_INVALID, "the message is nested deeper than %u levels",
                         JSON_DEEPER_MAX);
    }
    int code = read_calls(&reader, root);
    code = code < 0 ? code : refuse_twice(&message, root, err);
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

/* A result that is being split into pieces; its memory is in the arena. */
struct taking {
    struct turn_result *result;
    struct arena *arena;
    yyjson_doc *doc; /* of the outcome, if it had to be parsed */
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

/* How many bytes a text in base64 stands for. */
static size_t size_of_base64(const char *data, size_t length) {
    while (length > 0 && data[length - 1] == '=') {
        length--;
    }
    return length / 4 * 3 + length % 4 * 3 / 4;
}

/* A block that is not text gets a description as its text. */
static void add_block(struct taking *taking, yyjson_val *block) {
    yyjson_val *type = yyjson_obj_get(block, "type");
    struct turn_piece piece = {.block = block};
    yyjson_val *text = yyjson_obj_get(block, "text");
    if (turn_is(type, "image") || turn_is(type, "audio")) {
        yyjson_val *data = yyjson_obj_get(block, "data");
        piece.kind = turn_is(type, "image") ? TURN_IMAGE : TURN_AUDIO;
        piece.data = text_or(data, "");
        piece.data_length = yyjson_is_str(data) ? yyjson_get_len(data) : 0;
        piece.mime_type = text_or(yyjson_obj_get(block, "mimeType"), "application/octet-stream");
        size_t size = size_of_base64(piece.data, piece.data_length);
        add_words(taking, piece,
                  arena_printf(taking->arena, "(%s, %s, %zu byte%s: it cannot be shown here)",
                               piece.kind == TURN_IMAGE ? "an image" : "a sound", piece.mime_type,
                               size, size == 1 ? "" : "s"));
        return;
    }
    if (turn_is(type, "resource")) {
        yyjson_val *resource = yyjson_obj_get(block, "resource");
        piece.kind = TURN_RESOURCE;
        text = yyjson_obj_get(resource, "text");
        if (!yyjson_is_str(text)) {
            add_words(
                    taking, piece,
                    arena_printf(taking->arena, "(a file, %s, %s: it cannot be shown here)",
                                 text_or(yyjson_obj_get(resource, "uri"), "unnamed"),
                                 text_or(yyjson_obj_get(resource, "mimeType"), "of unknown type")));
            return;
        }
    }
    if (turn_is(type, "resource_link")) {
        piece.kind = TURN_RESOURCE;
        add_words(taking, piece,
                  arena_printf(taking->arena, "(a link to %s: %s)",
                               text_or(yyjson_obj_get(block, "name"), "a resource"),
                               text_or(yyjson_obj_get(block, "uri"), "unnamed")));
        return;
    }
    piece.text = text_or(text, "");
    piece.length = yyjson_is_str(text) ? yyjson_get_len(text) : 0;
    add_piece(taking, piece);
}

static void set_structured(struct turn_result *result, const char *json, size_t length) {
    if (length > 0 && json[0] == '{') {
        result->structured = json;
        result->structured_length = length;
    }
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
    if (structured == NULL) {
        return;
    }
    /* The model sees only text: the JSON beside the blocks becomes a text piece. */
    yyjson_alc alc = arena_alc(taking->arena);
    size_t length = 0;
    const char *json = yyjson_val_write_opts(structured, YYJSON_WRITE_NOFLAG, &alc, &length, NULL);
    if (json == NULL) {
        taking->no_memory = true;
        return;
    }
    add_piece(taking, (struct turn_piece){.text = json, .length = length, .is_json = true});
    set_structured(taking->result, json, length);
}

/* What of a message is for developers, such as where a crash was, a model has no use for. */
static size_t length_for_developers(const struct toolrack_error *err) {
    size_t length = strlen(err->message);
    return err->brief_length > 0 && err->brief_length < length ? length - err->brief_length : 0;
}

void format_add_failure(struct buf *out, const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf said = BUF_INIT;
    error_add_text(&said, err);
    said.length -= said.failed ? 0 : length_for_developers(err);
    hidden_add_visible(out, said.data != NULL ? said.data : "", said.length);
    out->failed = out->failed || said.failed;
}

static void take_failure(struct taking *taking, const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    format_add_failure(&text, err);
    taking->result->failed = true;
    taking->result->not_found = err->code == TOOLRACK_E_NOT_FOUND;
    if (make_pieces(taking, 1)) {
        add_words(taking, (struct turn_piece){0},
                  text.failed ? NULL : arena_copy(taking->arena, text.data, text.length));
    }
}

/* A result that is neither a string nor content is shown as JSON. */
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
        return;
    }
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

static bool is_text(const struct turn_piece *piece) {
    return piece->kind == TURN_TEXT || piece->kind == TURN_RESOURCE;
}

/* Put what the model is told in place of all text, if that is too long. Images and sounds stay. */
static void keep_long(struct taking *taking, const struct format_call *call,
                      const struct format_keeping *keeping) {
    struct turn_result *result = taking->result;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf told = BUF_INIT;
    size_t length = 0;
    for (size_t i = 0; i < result->count; i++) {
        length += is_text(&result->pieces[i]) ? result->pieces[i].length : 0;
    }
    if (length <= keeping->length_max) {
        return;
    }
    size_t kept = 1; /* the first piece becomes that of the text */
    struct turn_piece *pieces = arena_alloc(taking->arena, (result->count + 1) * sizeof *pieces);
    for (size_t i = 0; i < result->count && pieces != NULL; i++) {
        const struct turn_piece *piece = &result->pieces[i];
        if (!is_text(piece)) {
            pieces[kept++] = *piece;
        } else if (piece->length > 0) {
            buf_add(&text, "\n", text.length > 0);
            buf_add(&text, piece->text, piece->length);
        }
    }
    const char *copy =
            pieces != NULL && !text.failed &&
                            keeping->keep(keeping->user, call, text.data, text.length, &told) &&
                            !told.failed
                    ? arena_copy(taking->arena, told.data, told.length)
                    : NULL;
    if (copy == NULL) {
        taking->no_memory = true;
        return;
    }
    pieces[0] = (struct turn_piece){.text = copy, .length = told.length};
    result->pieces = pieces;
    result->count = kept;
    result->structured = NULL;
    result->structured_length = 0;
}

static int write_result(const struct format_message *message, const struct format_call *call,
                        const struct format_outcome *outcome, struct buf *out,
                        struct toolrack_error *err) {
    _Alignas(16) char memory[4096];
    struct turn_result result = {.model = message->model,
                                 .changed = outcome->changed,
                                 .changed_length = outcome->changed_length};
    struct arena arena;
    struct taking taking = {.result = &result, .arena = &arena};
    struct format_outcome shown = *outcome;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct visible visible = {0};
    arena_init(&arena, memory, sizeof memory);
    if (outcome->json == NULL) {
        take_failure(&taking, outcome->err);
    } else if (!visible_json(outcome->json, outcome->length, &text, &visible)) {
        taking.no_memory = true;
    } else {
        if (visible.found) { /* a model reads what a person would not see */
            shown.json = text.data;
            shown.length = text.length;
        }
        take_success(&taking, &shown);
        result.failed = outcome->is_error;
        if (outcome->keeping != NULL && !taking.no_memory) {
            keep_long(&taking, call, outcome->keeping);
        }
    }
    if (!taking.no_memory) {
        formats[message->format]->write(out, call, &result);
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
    size_t room = message->count * RESULT_ROOM;
    for (size_t i = 0; i < message->count; i++) {
        room += outcomes[i].length < RESULT_SHORT ? outcomes[i].length : 0;
    }
    (void)buf_reserve(out, room);
    buf_add_text(out, message->count > 0 ? format->before : "[");
    for (size_t i = 0; i < message->count && code == 0; i++) {
        buf_add(out, ",", i > 0);
        code = write_result(message, &message->calls[i], &outcomes[i], out, err);
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
