/* interface.c - the functions that a tool calls while it runs.
 *
 * The tool's input is not trusted: paths, strings and sizes may be NULL or wrong, and then the call
 * fails, never the host. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-twice.h"
#include "base/json.h"
#include "base/name.h"
#include "base/number.h"
#include "base/utf8.h"
#include "run/writer.h"

/* Longest message of a tool; longer ones are cut. */
#define MESSAGE_LENGTH_MAX 4096u
/* Longest name of a source file; longer ones are cut. */
#define PLACE_LENGTH_MAX   128u

/* -------------------------------------------------------------- arguments */

static yyjson_val *present(struct tr_call *base, const char *path) {
    yyjson_val *value = json_at(run_of(base)->arguments, path);
    return yyjson_is_null(value) ? NULL : value;
}

const char *run_arguments(struct run *run, size_t *ret_length) {
    if (run->given_arguments == NULL && run->arguments_filled) {
        yyjson_alc alc = arena_alc(&run->arena);
        run->given_arguments = yyjson_val_write_opts(run->arguments, YYJSON_WRITE_NOFLAG, &alc,
                                                     &run->given_length, NULL);
    } else if (run->given_arguments == NULL) {
        /* The caller's string may not end in a zero. */
        run->given_arguments = arena_copy(&run->arena, run->arguments_text, run->arguments_length);
        run->given_length = run->arguments_length;
    }
    if (run->given_arguments == NULL) {
        (void)run_no_memory(run);
        return NULL;
    }
    *ret_length = run->given_length;
    return run->given_arguments;
}

static const char *get_arguments(struct tr_call *base, uint64_t *ret_length) {
    size_t length = 2;
    const char *text = run_arguments(run_of(base), &length);
    if (ret_length != NULL) {
        *ret_length = length;
    }
    return text != NULL ? text : "{}";
}

static int32_t kind(struct tr_call *base, const char *path) {
    yyjson_val *value = json_at(run_of(base)->arguments, path);
    switch (yyjson_get_type(value)) {
    case YYJSON_TYPE_NULL: return TR_JSON_NULL;
    case YYJSON_TYPE_BOOL: return TR_JSON_BOOL;
    case YYJSON_TYPE_NUM: return TR_JSON_NUMBER;
    case YYJSON_TYPE_STR: return TR_JSON_STRING;
    case YYJSON_TYPE_ARR: return TR_JSON_ARRAY;
    case YYJSON_TYPE_OBJ: return TR_JSON_OBJECT;
    default: return TR_JSON_ABSENT;
    }
}

static uint64_t count(struct tr_call *base, const char *path) {
    yyjson_val *value = json_at(run_of(base)->arguments, path);
    return yyjson_is_ctn(value) ? yyjson_get_len(value) : 0;
}

/* Each of the following takes NULL for an argument that is absent or null. */

static tr_status take_bool(yyjson_val *value, bool *ret) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    if (!yyjson_is_bool(value)) {
        return TR_INVALID_ARGUMENTS;
    }
    *ret = yyjson_get_bool(value);
    return TR_OK;
}

/* Powers of two that bound the 64-bit integers, exact as doubles. */
#define TWO_63 9223372036854775808.0
#define TWO_64 18446744073709551616.0

static tr_status take_i64(yyjson_val *value, int64_t *ret) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    if (yyjson_is_sint(value) || (yyjson_is_uint(value) && yyjson_get_uint(value) <= INT64_MAX)) {
        *ret = yyjson_get_sint(value);
        return TR_OK;
    }
    double real = yyjson_get_real(value);
    if (!yyjson_is_real(value) || real != trunc(real) || real < -TWO_63 || real >= TWO_63) {
        return TR_INVALID_ARGUMENTS;
    }
    *ret = (int64_t)real;
    return TR_OK;
}

static tr_status take_u64(yyjson_val *value, uint64_t *ret) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    if (yyjson_is_uint(value)) {
        *ret = yyjson_get_uint(value);
        return TR_OK;
    }
    double real = yyjson_get_real(value);
    if (!yyjson_is_real(value) || real != trunc(real) || real < 0 || real >= TWO_64) {
        return TR_INVALID_ARGUMENTS;
    }
    *ret = (uint64_t)real;
    return TR_OK;
}

static tr_status take_f64(yyjson_val *value, double *ret) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    if (yyjson_is_real(value)) {
        *ret = yyjson_get_real(value);
        return TR_OK;
    }
    if (!number_is(value)) {
        return TR_INVALID_ARGUMENTS;
    }
    struct number number = number_of(value);
    *ret = yyjson_is_num(value) ? yyjson_get_num(value)
           : number.is_integer  ? (double)number.integer
                                : number.real;
    return TR_OK;
}

static tr_status take_string(yyjson_val *value, const char **ret, uint64_t *ret_length) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    /* A tool that does not ask for the length would treat a zero inside as the end. */
    if (text == NULL || (ret_length == NULL && strlen(text) != length)) {
        return TR_INVALID_ARGUMENTS;
    }
    *ret = text;
    if (ret_length != NULL) {
        *ret_length = length;
    }
    return TR_OK;
}

static tr_status take_bytes(struct run *run, yyjson_val *value, struct tr_bytes *ret) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    if (!yyjson_is_str(value)) {
        return TR_INVALID_ARGUMENTS;
    }
    size_t length = yyjson_get_len(value);
    size_t size = 0;
    void *data = arena_alloc(&run->arena, base64_decoded_size_max(length) + 1);
    if (data == NULL) {
        return run_no_memory(run);
    }
    if (base64_decode(yyjson_get_str(value), length, data, &size) != NULL) {
        return TR_INVALID_ARGUMENTS;
    }
    *ret = (struct tr_bytes){.data = data, .size = size};
    return TR_OK;
}

static tr_status get_bool(struct tr_call *base, const char *path, bool *ret) {
    return take_bool(present(base, path), ret);
}

static tr_status get_i64(struct tr_call *base, const char *path, int64_t *ret) {
    return take_i64(present(base, path), ret);
}

static tr_status get_u64(struct tr_call *base, const char *path, uint64_t *ret) {
    return take_u64(present(base, path), ret);
}

static tr_status get_f64(struct tr_call *base, const char *path, double *ret) {
    return take_f64(present(base, path), ret);
}

static tr_status get_string(struct tr_call *base, const char *path, const char **ret,
                            uint64_t *ret_length) {
    return take_string(present(base, path), ret, ret_length);
}

static tr_status get_bytes(struct tr_call *base, const char *path, struct tr_bytes *ret) {
    return take_bytes(run_of(base), present(base, path), ret);
}

/* Unlike the others it also gives a null. */
static tr_status take_json(struct run *run, yyjson_val *value, const char **ret,
                           uint64_t *ret_length) {
    if (value == NULL) {
        return TR_ABSENT;
    }
    yyjson_alc alc = arena_alc(&run->arena);
    size_t length = 0;
    const char *text = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &alc, &length, NULL);
    if (text == NULL) {
        return run_no_memory(run);
    }
    *ret = text;
    if (ret_length != NULL) {
        *ret_length = length;
    }
    return TR_OK;
}

static tr_status get_json(struct tr_call *base, const char *path, const char **ret,
                          uint64_t *ret_length) {
    struct run *run = run_of(base);
    return take_json(run, json_at(run->arguments, path), ret, ret_length);
}

/* The members of an object, of which each search begins behind the one found last: a tool reads
 * its arguments mostly in the order in which they come. */
struct members {
    yyjson_val *first;
    size_t count;
    yyjson_val *next;
    size_t left; /* from `next` on */
};

static struct members members_of(yyjson_val *object) {
    size_t count = unsafe_yyjson_get_len(object);
    yyjson_val *first = unsafe_yyjson_get_first(object);
    return (struct members){.first = first, .count = count, .next = first, .left = count};
}

static yyjson_val *find_member(struct members *members, const char *name) {
    size_t length = strlen(name);
    for (size_t tries = members->count; tries > 0; tries--) {
        if (members->left == 0) {
            members->left = members->count;
            members->next = members->first;
        }
        yyjson_val *key = members->next;
        members->next = unsafe_yyjson_get_next(key + 1);
        members->left--;
        if (unsafe_yyjson_get_len(key) == length &&
            name_equals(unsafe_yyjson_get_str(key), name, length)) {
            return key + 1;
        }
    }
    return NULL;
}

static tr_status take_argument(struct run *run, const struct tr_argument *argument,
                               yyjson_val *value) {
    void *ret = argument->value;
    if (argument->kind == TR_KIND_JSON) {
        return take_json(run, value, ret, NULL);
    }
    value = yyjson_is_null(value) ? NULL : value;
    switch (argument->kind) {
    case TR_KIND_BOOL: return take_bool(value, ret);
    case TR_KIND_I64: return take_i64(value, ret);
    case TR_KIND_U64: return take_u64(value, ret);
    case TR_KIND_F64: return take_f64(value, ret);
    case TR_KIND_STRING: return take_string(value, ret, NULL);
    case TR_KIND_BYTES: return take_bytes(run, value, ret);
    default: return TR_INVALID_ARGUMENTS;
    }
}

/* Five arguments take 590 instructions, and 1,060 by as many getters, each of
 * which looks at its path and searches from the first member. */
static tr_status get_all(struct tr_call *base, struct tr_argument *arguments, uint32_t count,
                         uint32_t size) {
    struct run *run = run_of(base);
    struct members members = members_of(run->arguments);
    if (size < sizeof *arguments || (arguments == NULL && count > 0)) {
        return TR_INVALID_ARGUMENTS;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tr_argument *argument = (void *)((char *)arguments + (size_t)i * size);
        bool is_usable = argument->name != NULL && argument->value != NULL;
        tr_status status =
                is_usable ? take_argument(run, argument, find_member(&members, argument->name))
                          : TR_INVALID_ARGUMENTS;
        argument->status = status;
        if (status != TR_OK && status != TR_ABSENT && status != TR_INVALID_ARGUMENTS) {
            return status;
        }
    }
    return TR_OK;
}

/* ---------------------------------------------------------------- replies */

/* Append a block whose data are valid as long as the call. */
static tr_status append_block(struct run *run, const struct reply_block *block) {
    struct reply_block *kept = arena_alloc(&run->arena, sizeof *kept);
    if (kept == NULL) {
        return run_no_memory(run);
    }
    *kept = *block;
    if (run->last_block != NULL) {
        run->last_block->next = kept;
    } else {
        run->first_block = kept;
    }
    run->last_block = kept;
    run->block_count++;
    run->reply_size += block->size;
    return TR_OK;
}

/* Append a block with copies of its strings and data. */
static tr_status add_block(struct run *run, struct reply_block block) {
    const char **strings[] = {&block.mime_type, &block.uri};
    if (run->block_count == RUN_BLOCKS_MAX) {
        return run_fail(run, TOOLRACK_E_LIMIT_EXCEEDED, TR_LIMIT_EXCEEDED, NULL,
                        "the reply has more than the %u blocks allowed", RUN_BLOCKS_MAX);
    }
    if (block.size > TOOLRACK_RESULT_MAX - run->reply_size) {
        return run_too_large(run);
    }
    block.data = arena_copy(&run->arena, block.data, block.size);
    bool failed = block.data == NULL;
    for (size_t i = 0; !failed && i < ARRAY_LENGTH(strings); i++) {
        const char *string = *strings[i];
        *strings[i] = string != NULL ? arena_copy(&run->arena, string, strlen(string)) : NULL;
        failed = string != NULL && *strings[i] == NULL;
    }
    return failed ? run_no_memory(run) : append_block(run, &block);
}

tr_status run_add_written(struct run *run) {
    const struct buf *text = &run->writer.text;
    run->has_json = true;
    return append_block(
            run, &(struct reply_block){.kind = REPLY_JSON,
                                       .data = text->data + sizeof(struct toolrack_result),
                                       .size = text->length - sizeof(struct toolrack_result)});
}

static tr_status reply_text(struct tr_call *base, const char *text, uint64_t length) {
    struct run *run = run_of(base);
    if (text == NULL) {
        return run_misuse(run, "the text is NULL");
    }
    length = length == UINT64_MAX ? strlen(text) : length;
    if (length > TOOLRACK_RESULT_MAX) {
        return run_too_large(run);
    }
    if (!utf8_valid(text, (size_t)length)) {
        return run_misuse(run, "the text is not UTF-8");
    }
    return add_block(
            run, (struct reply_block){.kind = REPLY_TEXT, .data = text, .size = (size_t)length});
}

static tr_status reply_json(struct tr_call *base, const char *json, uint64_t length) {
    struct run *run = run_of(base);
    if (json == NULL) {
        return run_misuse(run, "the JSON is NULL");
    }
    length = length == UINT64_MAX ? strlen(json) : length;
    if (length > TOOLRACK_RESULT_MAX) {
        return run_too_large(run);
    }
    if (run->has_json || run->writer.begun) {
        return run_misuse(run, "it has two JSON replies; a call may have one");
    }
    yyjson_read_err why;
    yyjson_doc *doc = run_read_json(run, json, (size_t)length, &why);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return run_no_memory(run);
    }
    if (doc == NULL) {
        return run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                        "the tool's reply cannot be used: it is not JSON, %s at byte %zu", why.msg,
                        why.pos);
    }
    if (json_is_deeper(yyjson_doc_get_root(doc), JSON_REPLY_DEPTH_MAX)) {
        return run_fail(run, TOOLRACK_E_LIMIT_EXCEEDED, TR_LIMIT_EXCEEDED, NULL, JSON_TOO_DEEP,
                        JSON_REPLY_DEPTH_MAX);
    }
    char pointer[JSON_POINTER_MAX];
    enum json_twice twice = json_find_twice(yyjson_doc_get_root(doc), pointer);
    if (twice == JSON_TWICE_NO_MEMORY) {
        return run_no_memory(run);
    }
    if (twice == JSON_TWICE_FOUND) { /* a check and a reader could each take another value */
        return run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                        "the tool's reply cannot be used: %s is given twice", pointer);
    }
    run->structured = yyjson_doc_get_root(doc);
    run->has_json = true;
    return add_block(
            run, (struct reply_block){.kind = REPLY_JSON, .data = json, .size = (size_t)length});
}

static tr_status reply_media(struct tr_call *base, enum reply_kind media, const void *data,
                             uint64_t size, const char *mime_type) {
    struct run *run = run_of(base);
    if (mime_type == NULL || (data == NULL && size > 0)) {
        return run_misuse(run, "an image or sound needs data and a MIME type");
    }
    if (size > TOOLRACK_RESULT_MAX) {
        return run_too_large(run);
    }
    if (!utf8_valid(mime_type, strlen(mime_type))) {
        return run_misuse(run, "the MIME type is not UTF-8");
    }
    return add_block(run, (struct reply_block){.kind = media,
                                               .data = data != NULL ? data : "",
                                               .size = (size_t)size,
                                               .mime_type = mime_type});
}

static tr_status reply_image(struct tr_call *base, const void *data, uint64_t size,
                             const char *mime_type) {
    return reply_media(base, REPLY_IMAGE, data, size, mime_type);
}

static tr_status reply_audio(struct tr_call *base, const void *data, uint64_t size,
                             const char *mime_type) {
    return reply_media(base, REPLY_AUDIO, data, size, mime_type);
}

static tr_status reply_resource(struct tr_call *base, const char *uri, const char *mime_type,
                                const char *text, const void *data, uint64_t size) {
    struct run *run = run_of(base);
    if (uri == NULL || (text == NULL && data == NULL && size > 0)) {
        return run_misuse(run, "a resource needs a URI and data");
    }
    if (text != NULL) {
        size = strlen(text);
    }
    if (size > TOOLRACK_RESULT_MAX) {
        return run_too_large(run);
    }
    if (!utf8_valid(uri, strlen(uri)) || (text != NULL && !utf8_valid(text, (size_t)size)) ||
        (mime_type != NULL && !utf8_valid(mime_type, strlen(mime_type)))) {
        return run_misuse(run, "a text of the resource is not UTF-8");
    }
    return add_block(run, (struct reply_block){.kind = REPLY_RESOURCE,
                                               .data = text != NULL   ? text
                                                       : data != NULL ? data
                                                                      : "",
                                               .size = (size_t)size,
                                               .mime_type = mime_type,
                                               .uri = uri,
                                               .is_text = text != NULL});
}

static tr_status reply_content(struct tr_call *base, const char *json, uint64_t length) {
    struct run *run = run_of(base);
    if (json == NULL) {
        return run_misuse(run, "the content is NULL");
    }
    length = length == UINT64_MAX ? strlen(json) : length;
    if (length > TOOLRACK_RESULT_MAX) {
        return run_too_large(run);
    }
    yyjson_read_err why;
    yyjson_doc *doc = run_read_json(run, json, (size_t)length, &why);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return run_no_memory(run);
    }
    yyjson_val *block = yyjson_doc_get_root(doc);
    if (!content_is_block(block) || json_is_deeper(block, JSON_REPLY_DEPTH_MAX)) {
        return run_misuse(run, "it is no content block of MCP");
    }
    /* Written again: on one line. */
    yyjson_alc alc = arena_alc(&run->arena);
    size_t size = 0;
    const char *text = yyjson_val_write_opts(block, YYJSON_WRITE_NOFLAG, &alc, &size, NULL);
    return text != NULL ? add_block(run, (struct reply_block){.kind = REPLY_CONTENT,
                                                              .data = text,
                                                              .size = size})
                        : run_no_memory(run);
}

static void add_link_member(struct buf *out, const char *key, const char *text) {
    if (text != NULL) {
        buf_printf(out, ",\"%s\":", key);
        buf_add_json_string(out, text, strlen(text));
    }
}

static bool is_utf8(const char *text) {
    return text == NULL || utf8_valid(text, strlen(text));
}

static tr_status reply_link(struct tr_call *base, const struct tr_link *link) {
    struct run *run = run_of(base);
    struct tr_link known = {0};
    if (link == NULL || link->size < offsetof(struct tr_link, title)) {
        return run_misuse(run, "a link does not state its size");
    }
    memcpy(&known, link, link->size < sizeof known ? link->size : sizeof known);
    if (known.uri == NULL || known.name == NULL || !content_is_uri(known.uri, strlen(known.uri))) {
        return run_misuse(run, "a link needs a URI and a name");
    }
    if (!is_utf8(known.name) || !is_utf8(known.title) || !is_utf8(known.description) ||
        !is_utf8(known.mime_type)) {
        return run_misuse(run, "a text of the link is not UTF-8");
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    buf_add_text(&out, "{\"type\":\"resource_link\"");
    add_link_member(&out, "uri", known.uri);
    add_link_member(&out, "name", known.name);
    add_link_member(&out, "title", known.title);
    add_link_member(&out, "description", known.description);
    add_link_member(&out, "mimeType", known.mime_type);
    if (known.bytes > 0) {
        buf_printf(&out, ",\"size\":%llu", (unsigned long long)known.bytes);
    }
    buf_add_char(&out, '}');
    return out.failed ? run_no_memory(run)
                      : add_block(run, (struct reply_block){.kind = REPLY_CONTENT,
                                                            .data = out.data,
                                                            .size = out.length});
}

/* ------------------------------------------------------------------- fail */

/* What a tool says of its failure; permission, deadline and cancellation are the host's to decide.
 */
static int error_code_of(tr_status code) {
    switch (code) {
    case TR_INVALID_ARGUMENTS: return TOOLRACK_E_INVALID_ARGUMENTS;
    case TR_PERMISSION_DENIED: return TOOLRACK_E_PERMISSION_DENIED;
    case TR_TIMED_OUT: return TOOLRACK_E_TIMEOUT;
    case TR_CANCELLED: return TOOLRACK_E_CANCELLED;
    case TR_LIMIT_EXCEEDED: return TOOLRACK_E_LIMIT_EXCEEDED;
    default: return TOOLRACK_E_EXECUTION_FAILED;
    }
}

/* A string of the plugin made showable: UTF-8, cut if too long. It is built in `room`, so logging
 * and progress take no memory of the call. */
static const char *presentable(char room[MESSAGE_LENGTH_MAX + 1], const char *text) {
    if (text == NULL) {
        return "";
    }
    size_t length = strnlen(text, MESSAGE_LENGTH_MAX);
    length = length == MESSAGE_LENGTH_MAX ? utf8_cut(text, length) : length;
    if (!utf8_valid(text, length)) {
        return "(a message that is not UTF-8)";
    }
    memcpy(room, text, length);
    room[length] = '\0';
    return room;
}

/* Whether the host may have decided so: then the tool repeats it. */
static bool is_tools_to_say(const struct run *run, int error_code) {
    bool is_late = run->deadline_ns != 0 && clock_now_ns() >= run->deadline_ns;
    switch (error_code) {
    case TOOLRACK_E_PERMISSION_DENIED: return false;
    case TOOLRACK_E_TIMEOUT: return is_late;
    case TOOLRACK_E_CANCELLED: return is_late || run->host->cancelled(run);
    default: return true;
    }
}

/* "weather.c:12", of strings of the plugin. */
static void set_place(struct run *run, const char *file, int32_t line) {
    char room[MESSAGE_LENGTH_MAX + 1];
    char place[PLACE_LENGTH_MAX + 1];
    char text[PLACE_LENGTH_MAX + sizeof ":-2147483648"];
    const char *path = presentable(room, file);
    const char *slash = strrchr(path, '/');
    utf8_copy(place, sizeof place, slash != NULL ? slash + 1 : path);
    utf8_make_line(place);
    (void)snprintf(text, sizeof text, "%s:%d", place, (int)line);
    error_set_trace(&run->error, text);
}

static tr_status fail_at(struct tr_call *base, tr_status code, const char *field,
                         const char *message, const char *file, int32_t line) {
    struct run *run = run_of(base);
    char room[MESSAGE_LENGTH_MAX + 1];
    if (run->failed) {
        return code == TR_OK ? TR_FAILED : code;
    }
    /* Fields are JSON Pointers; a path may leave out the first slash. */
    const char *path = presentable(room, field);
    const char *slash = path[0] == '\0' || path[0] == '/' ? "" : "/";
    const char *pointer = arena_printf(&run->arena, "%s%s", slash, path);
    const char *text = presentable(room, message);
    int error_code = error_code_of(code);
    bool is_claim = !is_tools_to_say(run, error_code);
    code = run_fail(run, is_claim ? TOOLRACK_E_EXECUTION_FAILED : error_code,
                    code == TR_OK ? TR_FAILED : code, pointer != NULL ? pointer : "", "%s%s%s%s",
                    is_claim ? "the tool says " : "",
                    is_claim ? toolrack_code_name(error_code) : "", is_claim ? ": " : "",
                    text[0] != '\0' ? text : "the tool failed and did not say why");
    run->error.from_tool = true;
    run->error.tool_code = is_claim ? error_code : 0;
    if (file != NULL) {
        set_place(run, file, line);
    }
    return code;
}

static tr_status fail(struct tr_call *base, tr_status code, const char *field,
                      const char *message) {
    return fail_at(base, code, field, message, NULL, 0);
}

/* ---------------------------------------------------------------- the rest */

static void progress(struct tr_call *base, double done, double total, const char *message) {
    struct run *run = run_of(base);
    if (!isfinite(done) || !isfinite(total)) {
        return;
    }
    char room[MESSAGE_LENGTH_MAX + 1];
    run->host->progress(run, done, total, message != NULL ? presentable(room, message) : NULL);
}

static void log_message(struct tr_call *base, int32_t level, const char *message) {
    struct run *run = run_of(base);
    if (level < TR_LOG_DEBUG || level > TR_LOG_ERROR) {
        level = TR_LOG_INFO;
    }
    char room[MESSAGE_LENGTH_MAX + 1];
    const char *text = presentable(room, message);
    if (text[strspn(text, " \t\r\n")] != '\0') { /* an empty one tells nothing */
        run->host->log(run, level, text);
    }
}

static uint64_t time_left_ms(struct tr_call *base) {
    struct run *run = run_of(base);
    if (run->deadline_ns == 0) {
        return UINT64_MAX;
    }
    uint64_t now = clock_now_ns();
    return now >= run->deadline_ns ? 0 : (run->deadline_ns - now) / CLOCK_NS_PER_MS;
}

static bool cancelled(struct tr_call *base) {
    const struct run *run = run_of(base);
    return run->is_unanswered || run->host->cancelled(run) ||
           (run->deadline_ns != 0 && clock_now_ns() >= run->deadline_ns);
}

static const char *context(struct tr_call *base, int32_t key) {
    const struct run_context *known = &run_of(base)->context;
    switch (key) {
    case TR_CONTEXT_CALLER: return known->caller;
    case TR_CONTEXT_CHANNEL: return known->channel;
    case TR_CONTEXT_CONVERSATION: return known->conversation;
    case TR_CONTEXT_TRACE: return known->trace;
    case TR_CONTEXT_TOOL: return known->tool;
    default: return NULL;
    }
}

static void *alloc(struct tr_call *base, uint64_t size) {
    struct run *run = run_of(base);
    void *memory = arena_alloc(&run->arena, size);
    if (memory == NULL) {
        (void)run_fail(run, TOOLRACK_E_LIMIT_EXCEEDED, TR_LIMIT_EXCEEDED, NULL,
                       "the tool asked for %llu bytes more than the %u that a call may take",
                       (unsigned long long)size, RUN_MEMORY_MAX);
    }
    return memory;
}

static tr_status ask(struct tr_call *base, const char *message, const char *schema,
                     const char **ret_content) {
    return run_ask_person(run_of(base), message, schema, ret_content);
}

static tr_status ask_for_inputs(struct tr_call *base, struct tr_input *inputs, uint32_t count) {
    return run_ask(run_of(base), inputs, count);
}

const struct tr_call_api run_api = {
        .size = sizeof(struct tr_call_api),
        .arguments = get_arguments,
        .kind = kind,
        .count = count,
        .get_bool = get_bool,
        .get_i64 = get_i64,
        .get_u64 = get_u64,
        .get_f64 = get_f64,
        .get_string = get_string,
        .get_bytes = get_bytes,
        .get_json = get_json,
        .reply_text = reply_text,
        .reply_json = reply_json,
        .reply_image = reply_image,
        .reply_audio = reply_audio,
        .reply_resource = reply_resource,
        .fail = fail,
        .progress = progress,
        .log = log_message,
        .cancelled = cancelled,
        .time_left_ms = time_left_ms,
        .context = context,
        .alloc = alloc,
        .put_begin = writer_begin,
        .put_end = writer_end,
        .put_string = writer_string,
        .put_bool = writer_bool,
        .put_i64 = writer_i64,
        .put_u64 = writer_u64,
        .put_f64 = writer_f64,
        .put_json = writer_json,
        .ask = ask,
        .fail_at = fail_at,
        .inputs = ask_for_inputs,
        .reply_content = reply_content,
        .reply_link = reply_link,
        .get_all = get_all,
};
