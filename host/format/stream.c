/* stream.c - build a message from a response that arrives in pieces.
 *
 * Bytes are split into lines, lines are joined to events, and an event is one JSON text; each
 * provider's file adds it to its message. Server-sent events are read as the HTML standard says:
 * lines end in CR, LF or both, `data` lines of one event are joined, an empty line ends it, other
 * fields are ignored.
 *
 * Invariants:
 *
 *  (1) Every string that grows is gathered in its own buffer in `texts`, and set in the document
 *      once, at the end: appending takes linear time.
 *  (2) After a failure `error` is set, and nothing more is read. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-lenient.h"
#include "base/json-twice.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/name.h"
#include "base/utf8.h"
#include "format/stream-parts.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Most bytes of an invalid line that an error shows. */
#define SHOWN_MAX 60

static const struct stream_format *const formats[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] = &stream_openai,
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = &stream_responses,
        [TOOLRACK_FORMAT_ANTHROPIC] = &stream_anthropic,
        [TOOLRACK_FORMAT_GEMINI] = &stream_gemini,
        [TOOLRACK_FORMAT_OLLAMA] = &stream_ollama,
};

/* ---------------------------------------------------------- bytes to events */

static int refuse(struct toolrack_error *err, const struct buf *text, const char *what) {
    int shown = text->length < SHOWN_MAX ? (int)text->length : SHOWN_MAX;
    return error_set(err, TOOLRACK_E_INVALID, "%s: \"%.*s\"", what, shown,
                     text->data != NULL ? text->data : "");
}

/* Whatever copies, compares or reads the message later may go down its levels by recursion. */
static int check_depth(const yyjson_doc *doc, const char *what, struct toolrack_error *err) {
    return doc != NULL && json_is_deeper(doc->root, STREAM_DEPTH_MAX)
                   ? stream_exceed(err, "%s is nested deeper than the %u levels allowed", what,
                                   STREAM_DEPTH_MAX)
                   : 0;
}

/* Of two members of one name a proxy that checks answers may have read the other: a filter's word
 * after `null`, the end of the answer after `false`, or a failure. So each event is asked, also one
 * that looks like a piece of text. Where a format sees itself that a member which it reads is there
 * twice, the others asked are those with a part of a call, an ending, or values that are kept
 * whole: to search each piece of text takes a tenth of what a stream takes. */
static int check_twice(yyjson_val *root, const char *what, struct toolrack_error *err) {
    char pointer[JSON_POINTER_MAX];
    enum json_twice twice = json_find_twice(root, pointer);
    return twice == JSON_TWICE_NO_MEMORY ? error_oom(err)
           : twice == JSON_TWICE_FOUND
                   ? error_set_field(err, TOOLRACK_E_INVALID, pointer,
                                     "%s gives this member twice: which one counts is not known",
                                     what)
                   : 0;
}

/* Parse JSON; NULL: a failure, `ret_why` says which. Half a surrogate pair is kept: the other half
 * may be at the start of the next piece of the same string. */
static yyjson_doc *read_json(struct toolrack_stream *stream, const struct buf *text,
                             struct arena *arena, yyjson_read_err *ret_why) {
    const yyjson_read_flag flags = YYJSON_READ_BIGNUM_AS_RAW;
    const yyjson_alc alc = arena_alc(arena);
    CLEANUP(buf_finish) struct buf mended = BUF_INIT;
    yyjson_doc *doc = yyjson_read_opts(text->data, text->length, flags, &alc, ret_why);
    if (doc == NULL && ret_why->code == YYJSON_READ_ERROR_INVALID_STRING &&
        utf8_valid(text->data, text->length) &&
        json_add_without_halves(&mended, text->data, text->length, true)) {
        doc = yyjson_read_opts(mended.data, mended.length,
                               flags | YYJSON_READ_ALLOW_INVALID_UNICODE, &alc, ret_why);
        stream->has_halves = true;
    }
    if (mended.failed) {
        ret_why->code = YYJSON_READ_ERROR_MEMORY_ALLOCATION;
    }
    return doc;
}

/* Take an event that is parsed, or was not. */
static int take_parsed(struct toolrack_stream *stream, const struct buf *text, yyjson_doc *doc,
                       const yyjson_read_err *why, struct toolrack_error *err) {
    yyjson_val *event = yyjson_doc_get_root(doc);
    if (doc == NULL && why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(err);
    }
    if (check_depth(doc, "an event of the stream", err) < 0) {
        return TOOLRACK_E_LIMIT_EXCEEDED;
    }
    if (stream->is_failure) {
        int code = yyjson_is_obj(event) ? stream_find_error(event, err) : 0;
        if (code < 0) {
            return code;
        }
        return doc != NULL ? stream_fail(event, err)
                           : error_set(err, TOOLRACK_E_EXECUTION_FAILED, STREAM_FAILED "%.*s",
                                       (int)(text->length < SHOWN_MAX ? text->length : SHOWN_MAX),
                                       text->data);
    }
    if (!yyjson_is_obj(event) && stream->complete) {
        return 0; /* some providers send usage after the end, whole or cut off */
    }
    if (doc == NULL && why->code == YYJSON_READ_ERROR_UNEXPECTED_END && stream->format->lines &&
        !stream->has_fields) {
        stream->is_whole = true; /* it has several lines */
        buf_add(&stream->data, text->data, text->length);
        return stream->data.failed ? error_oom(err) : 0;
    }
    if (!yyjson_is_obj(event)) {
        return refuse(err, text, "the stream has an event that is not a JSON object");
    }
    if (stream->seed == 0) {
        stream->seed = name_hash(text->data, text->length);
    }
    stream->has_fields = true;
    stream->has_twice = false;
    stream->decides = false;
    int code = stream->format->sees_twice ? 0 : check_twice(event, "an event of the stream", err);
    if (code == 0 && !stream->format->looks && stream_look(stream, event)) {
        code = stream_tell_error(event, err);
    }
    code = code < 0 ? code : stream->format->event(stream, event, err);
    if (code == 0 && (stream->has_twice || (stream->format->sees_twice && stream->decides))) {
        code = check_twice(event, "an event of the stream", err);
    }
    return code == 0 && stream->no_memory ? error_oom(err) : code;
}

/* Bytes of the stack for an event that is parsed: most events fit. */
#define EVENT_ROOM 8192u

/* `text` is not empty. */
static int take_event(struct toolrack_stream *stream, const struct buf *text,
                      struct toolrack_error *err) {
    _Alignas(16) char memory[EVENT_ROOM];
    struct arena arena;
    yyjson_read_err why = {0};
    if (stream->over) {
        return 0;
    }
    arena_init(&arena, memory, sizeof memory);
    yyjson_doc *doc = read_json(stream, text, &arena, &why);
    int code = take_parsed(stream, text, doc, &why, err);
    arena_finish(&arena);
    return code;
}

/* What the `data` of an event is. */
static int take_data(struct toolrack_stream *stream, const struct buf *data,
                     struct toolrack_error *err) {
    int code = 0;
    if (data->length == 6 && memcmp(data->data, "[DONE]", 6) == 0) {
        stream->complete = true;
        stream->over = true;
    } else if (data->length > 0) {
        code = take_event(stream, data, err);
    }
    stream->is_failure = false;
    return code;
}

/* An empty line: the event is complete. */
static int end_event(struct toolrack_stream *stream, struct toolrack_error *err) {
    if (!stream->has_data) {
        return 0;
    }
    stream->has_data = false;
    int code = take_data(stream, &stream->data, err);
    buf_clear(&stream->data);
    return code;
}

/* Read a field and its value; a line without a colon is a field without a value. */
static int take_field(struct toolrack_stream *stream, const struct buf *line,
                      struct toolrack_error *err) {
    const char *colon = memchr(line->data, ':', line->length);
    size_t name_length = colon != NULL ? (size_t)(colon - line->data) : line->length;
    size_t at = colon != NULL ? name_length + 1 : line->length;
    if (at < line->length && line->data[at] == ' ') {
        at++;
    }
    const bool is_error = name_length == 5 && memcmp(line->data, "error", 5) == 0; /* llama.cpp's */
    stream->is_failure = stream->is_failure || (is_error && at < line->length);
    if (is_error || (name_length == 4 && memcmp(line->data, "data", 4) == 0)) {
        buf_add(&stream->data, "\n", stream->has_data);
        stream->has_data = true;
        buf_add(&stream->data, line->data + at, line->length - at);
    } else if (name_length == 5 && memcmp(line->data, "event", 5) == 0) {
        stream->is_failure = line->length - at == 5 && memcmp(line->data + at, "error", 5) == 0;
    } else if (line->data[0] == '{' || line->data[0] == '<') {
        return refuse(err, line, "the response is not an event stream; it has the line");
    }
    stream->has_fields = true;
    return 0;
}

/* Whether the first line that has anything in it begins a JSON text. */
static bool begins_json(const struct buf *line) {
    size_t blank = 0;
    while (blank < line->length && strchr(" \t", line->data[blank]) != NULL) {
        blank++;
    }
    return blank < line->length && strchr("{[", line->data[blank]) != NULL;
}

/* Take a line; it may be borrowed from what was fed. */
static int take_line(struct toolrack_stream *stream, struct buf line, struct toolrack_error *err) {
    /* A byte order mark at the beginning is skipped. */
    if (!stream->begun && line.length >= 3 && memcmp(line.data, "\xef\xbb\xbf", 3) == 0) {
        line.data += 3;
        line.length -= 3;
    }
    stream->begun = true;
    if (!stream->has_fields && !stream->is_whole && !stream->format->lines) {
        stream->is_whole = begins_json(&line);
    }
    if (stream->is_whole) {
        buf_add(&stream->data, "\n", stream->data.length > 0);
        buf_add(&stream->data, line.data, line.length);
        return 0;
    }
    if (stream->format->lines) {
        return line.length > 0 ? take_event(stream, &line, err) : 0;
    }
    return line.length > 0 ? take_field(stream, &line, err) : end_event(stream, err);
}

static int check_room(const struct toolrack_stream *stream, const struct buf *line,
                      struct toolrack_error *err) {
    if (line->failed || stream->data.failed) {
        return error_oom(err);
    }
    if (stream->bytes > STREAM_BYTES_MAX) {
        return stream_exceed(err, "the stream has more than the %u bytes allowed",
                             STREAM_BYTES_MAX);
    }
    if (line->length > STREAM_EVENT_MAX || stream->data.length > STREAM_EVENT_MAX - line->length) {
        return stream_exceed(err, "an event of the stream has more than the %u bytes allowed",
                             STREAM_EVENT_MAX);
    }
    return 0;
}

static const char *find_byte(const char *at, const char *end, char byte) {
    const char *found = memchr(at, byte, (size_t)(end - at));
    return found != NULL ? found : end;
}

/* Take the rest of a line, of which the beginning may have been fed before, or keep it. */
static int take_rest(struct toolrack_stream *stream, const char *bytes, size_t length,
                     bool is_complete, struct toolrack_error *err) {
    bool is_kept = stream->line.length > 0 || !is_complete;
    if (is_kept) {
        buf_add(&stream->line, bytes, length);
    }
    const struct buf line =
            is_kept ? stream->line
                    : (struct buf){.data = (char *)(uintptr_t)bytes, .length = length};
    int code = check_room(stream, &line, err);
    if (code == 0 && is_complete) {
        code = take_line(stream, line, err);
        buf_clear(&stream->line);
    }
    return code;
}

/* Whether the line from `bytes` to `line_end` is an event that has come whole: nearly all are. It
 * is taken where it is, as `ret`, instead of being gathered: a tenth of all that a stream takes. */
static bool is_whole_event(const struct toolrack_stream *stream, const char *bytes,
                           const char *line_end, const char *end, struct buf *ret) {
    static const char field[] = "data: ";
    const size_t length = sizeof field - 1;
    *ret = (struct buf){.data = (char *)(uintptr_t)bytes + length,
                        .length = (size_t)(line_end - bytes) - length};
    return stream->has_fields && !stream->has_data && !stream->format->lines &&
           stream->line.length == 0 && (size_t)(end - bytes) > length && line_end + 1 < end &&
           memcmp(bytes, field, length) == 0 && line_end[0] == '\n' && line_end[1] == '\n';
}

/* All lines may end in CR, in LF or in both: the next of each, or the end, is searched once and not
 * for each line. */
static int feed(struct toolrack_stream *stream, const char *bytes, size_t length,
                struct toolrack_error *err) {
    const char *end = bytes + length;
    const char *line_feed = find_byte(bytes, end, '\n');
    const char *carriage = find_byte(bytes, end, '\r');
    struct buf event;
    while (bytes < end) {
        if (line_feed < bytes) {
            line_feed = find_byte(bytes, end, '\n');
        }
        if (carriage < bytes) {
            carriage = find_byte(bytes, end, '\r');
        }
        if (stream->after_return && bytes == line_feed) {
            stream->after_return = false;
            bytes++;
            continue;
        }
        const char *line_end = line_feed < carriage ? line_feed : carriage;
        stream->after_return = line_end < end && line_end == carriage;
        if (is_whole_event(stream, bytes, line_end, end, &event)) {
            int code = check_room(stream, &event, err);
            code = code < 0 ? code : take_data(stream, &event, err);
            if (code < 0) {
                return code;
            }
            bytes = line_end + 2;
            continue;
        }
        int code = take_rest(stream, bytes, (size_t)(line_end - bytes), line_end < end, err);
        if (code < 0) {
            return code;
        }
        bytes = line_end < end ? line_end + 1 : end;
    }
    return 0;
}

/* ---------------------------------------------------------------------- API */

static int tell_error(const struct toolrack_stream *stream, struct toolrack_error *err) {
    if (err != NULL) {
        *err = stream->error;
    }
    return stream->error.code;
}

int toolrack_stream_new(enum toolrack_format format,
                        void (*text)(void *user, const char *text, size_t length), void *user,
                        struct toolrack_stream **ret, struct toolrack_error *err) {
    const char *name = toolrack_format_name(format);
    if (name == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no format number %d", (int)format);
    }
    if (formats[format] == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "the format '%s' has no streams", name);
    }
    struct toolrack_stream *stream = malloc(sizeof *stream);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root =
            formats[format]->role != NULL ? yyjson_mut_obj(doc) : yyjson_mut_arr(doc);
    if (stream == NULL || root == NULL ||
        (formats[format]->role != NULL &&
         !yyjson_mut_obj_add_str(doc, root, "role", formats[format]->role))) {
        free(stream);
        yyjson_mut_doc_free(doc);
        return error_oom(err);
    }
    yyjson_mut_doc_set_root(doc, root);
    /* All but the error, which is large and has its code only. */
    memset(stream, 0, offsetof(struct toolrack_stream, error));
    stream->error.code = 0;
    stream->format = formats[format];
    stream->kind = format;
    for (size_t i = 0; i < STREAM_COUNTS; i++) {
        stream->counts[i] = TOOLRACK_TOKENS_UNKNOWN;
    }
    stream->text = text;
    stream->user = user;
    stream->doc = doc;
    stream->root = root;
    *ret = stream;
    return 0;
}

int toolrack_stream_feed(struct toolrack_stream *stream, const char *bytes, size_t length,
                         struct toolrack_error *err) {
    if (stream->error.code < 0) {
        return tell_error(stream, err);
    }
    if (stream->result != NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "the stream has ended already");
    }
    stream->bytes += length < STREAM_BYTES_MAX + 1u - stream->bytes
                             ? length
                             : STREAM_BYTES_MAX + 1u - stream->bytes;
    return feed(stream, bytes, length, &stream->error) < 0 ? tell_error(stream, err) : 0;
}

/* Text that is a JSON object becomes that object; other text, and that of an object which is nested
 * too deep, becomes an object that contains it. */
static yyjson_mut_val *read_value(struct toolrack_stream *stream, const struct buf *text) {
    if (text->length == 0) {
        return yyjson_mut_obj(stream->doc);
    }
    yyjson_read_err why = {0};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc =
            json_read_lenient(text->data, text->length, YYJSON_READ_BIGNUM_AS_RAW, NULL, &why);
    yyjson_val *value = yyjson_doc_get_root(doc);
    bool is_object = yyjson_is_obj(value) && !json_is_deeper(value, STREAM_DEPTH_MAX);
    if (is_object || (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)) {
        return yyjson_val_mut_copy(stream->doc, value);
    }
    yyjson_mut_val *broken = yyjson_mut_obj(stream->doc);
    (void)yyjson_mut_obj_add_strncpy(stream->doc, broken, TURN_BROKEN_INPUT, text->data,
                                     text->length);
    return broken;
}

/* Take a response that is one JSON text. */
static int take_whole_parsed(struct toolrack_stream *stream, yyjson_doc *doc,
                             const yyjson_read_err *why, struct toolrack_error *err) {
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (doc == NULL && why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(err);
    }
    if (doc == NULL && why->code == YYJSON_READ_ERROR_UNEXPECTED_END) {
        return 0; /* it is not complete */
    }
    if (doc == NULL) {
        return refuse(err, &stream->data,
                      "the response is neither an event stream nor one JSON text");
    }
    if (check_depth(doc, "the response", err) < 0) {
        return TOOLRACK_E_LIMIT_EXCEEDED;
    }
    int code = stream_find_error(root, err);
    code = code < 0 ? code : check_twice(root, "the response", err);
    if (code < 0) {
        return code;
    }
    stream->seed = name_hash(stream->data.data, stream->data.length);
    size_t at;
    size_t count;
    yyjson_val *event;
    yyjson_arr_foreach (root, at, count, event) { /* what would have been the events */
        (void)stream_look(stream, event);
    }
    (void)stream_look(stream, root);
    code = stream->format->whole(stream, root, err);
    stream->complete = true;
    return code == 0 && stream->no_memory ? error_oom(err) : code;
}

static int take_whole(struct toolrack_stream *stream, struct toolrack_error *err) {
    struct arena arena;
    yyjson_read_err why = {0};
    arena_init(&arena, NULL, 0);
    yyjson_doc *doc = read_json(stream, &stream->data, &arena, &why);
    int code = take_whole_parsed(stream, doc, &why, err);
    arena_finish(&arena);
    return code;
}

/* The message as text. Halves of surrogate pairs are joined in it, since their strings are complete
 * now. */
static char *write_message(struct toolrack_stream *stream, size_t *ret_length) {
    if (!stream->has_halves) {
        return json_write(stream->doc, 0, NULL, ret_length);
    }
    char *text = yyjson_mut_write(stream->doc, YYJSON_WRITE_ALLOW_INVALID_UNICODE, ret_length);
    if (text != NULL) {
        *ret_length = utf8_join_halves(text, *ret_length);
        text[*ret_length] = '\0';
    }
    return text;
}

/* Whether anything of a message has come, beside the role that it begins with. */
static bool has_message(const struct toolrack_stream *stream) {
    return stream->text_count > 0 || stream->item_count > 0 ||
           (stream->format->role != NULL ? yyjson_mut_obj_size(stream->root) > 1
                                         : yyjson_mut_arr_size(stream->root) > 0);
}

static int end(struct toolrack_stream *stream, struct toolrack_error *err) {
    /* The last line is read even without a line end: some providers send none. */
    int code = stream->line.length > 0 ? take_line(stream, stream->line, err) : 0;
    buf_clear(&stream->line);
    if (code == 0 && stream->is_whole) {
        code = stream->data.failed ? error_oom(err) : take_whole(stream, err);
    } else if (code == 0 && !stream->format->lines) {
        code = end_event(stream, err);
    }
    if (stream->has_error && !has_message(stream) && (code == 0 || code == TOOLRACK_E_INVALID)) {
        return stream_fail(NULL, err);
    }
    if (code < 0) {
        return code;
    }
    if (!stream->complete) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the response ended too early, after %zu bytes: send the request again",
                         stream->bytes);
    }
    if (stream->unshown.length > 0) {
        stream->text(stream->user, "\xef\xbf\xbd", 3);
    }
    for (size_t i = 0; i < stream->text_count; i++) {
        struct stream_text *text = &stream->texts[i];
        if (text->is_json && stream->has_halves && text->text.length > 0) {
            buf_truncate(&text->text, utf8_join_halves(text->text.data, text->text.length));
        }
        stream_put(stream, text->object, text->key,
                   text->is_json
                           ? read_value(stream, &text->text)
                           : yyjson_mut_strncpy(stream->doc,
                                                text->text.data != NULL ? text->text.data : "",
                                                text->text.length));
    }
    if (stream->format->end != NULL) {
        stream->format->end(stream);
    }
    stream->result = stream->no_memory ? NULL : write_message(stream, &stream->result_length);
    return stream->result != NULL ? 0 : error_oom(err);
}

int toolrack_stream_end(struct toolrack_stream *stream, const char **ret, size_t *ret_length,
                        struct toolrack_error *err) {
    if (stream->error.code < 0 || (stream->result == NULL && end(stream, &stream->error) < 0)) {
        return tell_error(stream, err);
    }
    *ret = stream->result;
    if (ret_length != NULL) {
        *ret_length = stream->result_length;
    }
    return 0;
}

void toolrack_stream_free(struct toolrack_stream *stream) {
    if (stream == NULL) {
        return;
    }
    for (size_t i = 0; i < stream->text_count; i++) {
        buf_finish(&stream->texts[i].text);
    }
    free(stream->texts);
    free(stream->items);
    free(stream->result);
    buf_finish(&stream->line);
    buf_finish(&stream->data);
    buf_finish(&stream->reason);
    buf_finish(&stream->unshown);
    yyjson_mut_doc_free(stream->doc);
    free(stream);
}
