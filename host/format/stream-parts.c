#include "format/stream-parts.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* --------------------------------------------------------------- the message */

void stream_show_text(struct toolrack_stream *stream, const char *said, size_t length) {
    stream->has_shown = true;
    if (stream->text == NULL) {
        return;
    }
    if (!stream->has_halves) {
        stream->text(stream->user, said, length);
        return;
    }
    /* Half a surrogate pair at the end is shown with its other half. */
    CLEANUP(buf_finish) struct buf now = BUF_INIT;
    buf_add(&now, stream->unshown.data, stream->unshown.length);
    buf_add(&now, said, length);
    buf_clear(&stream->unshown);
    if (now.failed) {
        stream->no_memory = true;
        return;
    }
    size_t half = utf8_half_at_end(now.data, now.length);
    buf_add(&stream->unshown, now.data + now.length - half, half);
    stream->no_memory = stream->no_memory || stream->unshown.failed;
    length = utf8_join_halves(now.data, now.length - half);
    if (length > 0) {
        stream->text(stream->user, now.data, length);
    }
}

yyjson_mut_val *stream_copy(struct toolrack_stream *stream, yyjson_val *value) {
    yyjson_mut_val *copy = yyjson_val_mut_copy(stream->doc, value);
    stream->no_memory = stream->no_memory || (value != NULL && copy == NULL);
    return copy;
}

void stream_put(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                yyjson_mut_val *value) {
    /* yyjson would remove the member if `value` were NULL. */
    stream->no_memory = value == NULL ||
                        !yyjson_mut_obj_put(object, yyjson_mut_strcpy(stream->doc, key), value) ||
                        stream->no_memory;
}

void stream_set(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                yyjson_val *value) {
    yyjson_mut_val *copy = value != NULL ? stream_copy(stream, value) : NULL;
    if (copy != NULL) {
        stream_put(stream, object, key, copy);
    }
}

/* Not at random: the same response is always the same message. NULL: no memory. */
static yyjson_mut_val *make_id(struct toolrack_stream *stream) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const uint64_t from[] = {stream->seed, stream->ids_made++};
    unsigned char hash[crypto_generichash_BYTES];
    char id[STREAM_ID_LENGTH];
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)from, sizeof from, NULL, 0);
    for (size_t i = 0; i < STREAM_ID_LENGTH; i++) {
        id[i] = digits[hash[i] % (sizeof digits - 1)];
    }
    return yyjson_mut_strncpy(stream->doc, id, sizeof id);
}

void stream_give_id(struct toolrack_stream *stream, yyjson_mut_val *call, const char *key) {
    yyjson_mut_val *given = yyjson_mut_obj_get(call, key);
    size_t length = yyjson_mut_get_len(given);
    stream->ids = stream->ids != NULL ? stream->ids : yyjson_mut_obj(stream->doc);
    if (length == 0 ||
        yyjson_mut_obj_getn(stream->ids, yyjson_mut_get_str(given), length) != NULL) {
        given = make_id(stream);
        stream_put(stream, call, key, given);
    }
    stream->no_memory = !yyjson_mut_obj_add(stream->ids,
                                            yyjson_mut_strn(stream->doc, yyjson_mut_get_str(given),
                                                            yyjson_mut_get_len(given)),
                                            yyjson_mut_true(stream->doc)) ||
                        stream->no_memory;
}

void stream_append(struct toolrack_stream *stream, yyjson_mut_val *array, yyjson_mut_val *value) {
    stream->no_memory = !yyjson_mut_arr_append(array, value) || stream->no_memory;
}

void stream_filter(struct toolrack_stream *stream, yyjson_mut_val *array,
                   bool (*is_empty)(yyjson_mut_val *element)) {
    for (size_t left = yyjson_mut_arr_size(array); left > 0; left--) {
        yyjson_mut_val *element = yyjson_mut_arr_remove_first(array);
        if (!is_empty(element)) {
            stream_append(stream, array, element);
        }
    }
}

yyjson_mut_val *stream_object(struct toolrack_stream *stream, yyjson_mut_val *object,
                              const char *key) {
    yyjson_mut_val *member = yyjson_mut_obj_get(object, key);
    if (!yyjson_mut_is_obj(member)) {
        member = yyjson_mut_obj(stream->doc);
        stream_put(stream, object, key, member);
    }
    return member;
}

yyjson_mut_val *stream_array(struct toolrack_stream *stream, yyjson_mut_val *object,
                             const char *key) {
    yyjson_mut_val *member = yyjson_mut_obj_get(object, key);
    if (!yyjson_mut_is_arr(member)) {
        member = yyjson_mut_arr(stream->doc);
        stream_put(stream, object, key, member);
    }
    return member;
}

/* Make room for one more than `count` elements of `size` bytes. NULL: no memory. */
static void *make_room(void *things, size_t count, size_t *room, size_t size) {
    if (count < *room) {
        return things;
    }
    size_t wanted = *room > 0 ? 2 * *room : 8;
    void *grown = realloc(things, wanted * size);
    if (grown != NULL) {
        *room = wanted;
    }
    return grown;
}

struct stream_item *stream_find_item(struct toolrack_stream *stream, uint64_t index) {
    for (size_t i = stream->item_count; i > 0; i--) {
        if (stream->items[i - 1].index == index) {
            return &stream->items[i - 1];
        }
    }
    return NULL;
}

int stream_add_item(struct toolrack_stream *stream, uint64_t index, yyjson_mut_val *object,
                    struct toolrack_error *err) {
    if (stream->item_count == STREAM_ITEMS_MAX) {
        return stream_exceed(err, "the message has more than the %u parts allowed",
                             STREAM_ITEMS_MAX);
    }
    if (yyjson_mut_obj_size(object) > STREAM_MEMBERS_MAX) {
        return stream_exceed(err, "a part of the message has more than the %u members allowed",
                             STREAM_MEMBERS_MAX);
    }
    struct stream_item *items =
            make_room(stream->items, stream->item_count, &stream->item_room, sizeof *stream->items);
    if (items == NULL || object == NULL) {
        return error_oom(err);
    }
    stream->items = items;
    items[stream->item_count++] = (struct stream_item){.index = index, .object = object};
    return 0;
}

int stream_take_each(struct toolrack_stream *stream, yyjson_val *array,
                     int (*take)(struct toolrack_stream *stream, uint64_t index,
                                 yyjson_val *element, struct toolrack_error *err),
                     struct toolrack_error *err) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *element;
    yyjson_arr_foreach (array, at, count, element) {
        code = code < 0 ? code : take(stream, at, element, err);
    }
    return code;
}

static struct stream_text *known_text(const struct toolrack_stream *stream,
                                      const yyjson_mut_val *object, const char *key) {
    for (size_t i = stream->text_count; i > 0; i--) {
        struct stream_text *text = &stream->texts[i - 1];
        if (text->object == object && text->key[0] == key[0] && strcmp(text->key, key) == 0) {
            return text;
        }
    }
    return NULL;
}

bool stream_has_text(const struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                     yyjson_val *text) {
    const struct stream_text *known = known_text(stream, object, key);
    const char *string = yyjson_get_str(text);
    const size_t length = yyjson_get_len(text);
    if (known == NULL) {
        return yyjson_mut_equals_strn(yyjson_mut_obj_get(object, key), string, length);
    }
    return known->text.length == length && length > 0 &&
           memcmp(known->text.data, string, length) == 0;
}

/* A growing string at `key`, with the present value; NULL: no memory. */
static struct stream_text *add_text(struct toolrack_stream *stream, yyjson_mut_val *object,
                                    const char *key) {
    struct stream_text *texts =
            make_room(stream->texts, stream->text_count, &stream->text_room, sizeof *stream->texts);
    yyjson_mut_val *kept = yyjson_mut_strcpy(stream->doc, key);
    if (texts == NULL || kept == NULL) {
        stream->texts = texts != NULL ? texts : stream->texts;
        return NULL;
    }
    stream->texts = texts;
    struct stream_text *text = &texts[stream->text_count++];
    yyjson_mut_val *before = yyjson_mut_obj_get(object, key);
    *text = (struct stream_text){.object = object, .key = yyjson_mut_get_str(kept)};
    if (yyjson_mut_is_str(before)) {
        buf_add(&text->text, yyjson_mut_get_str(before), yyjson_mut_get_len(before));
    }
    return text;
}

static struct stream_text *find_text(struct toolrack_stream *stream, yyjson_mut_val *object,
                                     const char *key) {
    struct stream_text *known = known_text(stream, object, key);
    return known != NULL ? known : add_text(stream, object, key);
}

/* A part of type "text" at the end of an array. */
static yyjson_mut_val *add_text_part(struct toolrack_stream *stream, yyjson_mut_val *array) {
    yyjson_mut_val *part = yyjson_mut_obj(stream->doc);
    stream_append(stream, array, part);
    stream_put(stream, part, "type", yyjson_mut_str(stream->doc, "text"));
    stream_put(stream, part, "text", yyjson_mut_str(stream->doc, ""));
    return part;
}

/* Where a piece of a string that has not begun belongs: a growing string at `key`, or, if an array
 * has come there, one of a part of it. NULL: no memory. */
static struct stream_text *begin_text(struct toolrack_stream *stream, yyjson_mut_val *object,
                                      const char *key) {
    yyjson_mut_val *parts = yyjson_mut_obj_get(object, key);
    if (!yyjson_mut_is_arr(parts)) {
        return add_text(stream, object, key);
    }
    yyjson_mut_val *last = yyjson_mut_arr_get_last(parts);
    if (!yyjson_mut_equals_str(yyjson_mut_obj_get(last, "type"), "text")) {
        last = add_text_part(stream, parts);
    }
    return find_text(stream, last, "text");
}

void stream_add_piece(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                      yyjson_val *text, bool is_json) {
    struct stream_text *gathered = known_text(stream, object, key);
    if (gathered == NULL && yyjson_get_len(text) == 0 &&
        yyjson_mut_is_arr(yyjson_mut_obj_get(object, key))) {
        return;
    }
    /* An array would have taken the place of one that has begun. */
    gathered = gathered != NULL ? gathered : begin_text(stream, object, key);
    if (gathered == NULL) {
        stream->no_memory = true;
        return;
    }
    gathered->is_json = is_json;
    buf_add(&gathered->text, yyjson_get_str(text), yyjson_get_len(text));
    stream->no_memory = stream->no_memory || gathered->text.failed;
}

/* -------------------------------------------------------- arrays in pieces */

/* Nesting of arrays in arrays whose elements are continued; deeper ones are copied. */
#define EXTEND_DEPTH_MAX 4u

/* Members that grow when an element is continued; all others keep one value. */
static const char *const growing[] = {"text", "thinking", "summary", "data"};

static bool is_growing(const char *key) {
    for (size_t i = 0; i < ARRAY_LENGTH(growing); i++) {
        if (strcmp(key, growing[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_same(yyjson_mut_val *kept, yyjson_val *value) {
    return yyjson_is_str(value)
                   ? yyjson_mut_equals_strn(kept, yyjson_get_str(value), yyjson_get_len(value))
                   : yyjson_is_uint(value) && yyjson_mut_is_uint(kept) &&
                             yyjson_mut_get_uint(kept) == yyjson_get_uint(value);
}

/* The element of an array that `piece` continues, or NULL. */
static yyjson_mut_val *continued(yyjson_mut_val *array, yyjson_val *piece) {
    yyjson_val *index = yyjson_obj_get(piece, "index");
    yyjson_val *type = yyjson_obj_get(piece, "type");
    size_t at;
    size_t count;
    yyjson_mut_val *element;
    if (yyjson_is_uint(index)) {
        yyjson_mut_arr_foreach(array, at, count, element) {
            if (is_same(yyjson_mut_obj_get(element, "index"), index) &&
                (type == NULL || is_same(yyjson_mut_obj_get(element, "type"), type))) {
                return element;
            }
        }
        return NULL;
    }
    yyjson_mut_val *last = yyjson_mut_arr_get_last(array);
    yyjson_val *key;
    yyjson_val *value;
    if (type == NULL || !yyjson_mut_is_obj(last)) {
        return NULL;
    }
    json_obj_foreach (piece, at, count, key, value) {
        const char *name = stream_name(key);
        if (name == NULL ||
            (!is_growing(name) && !is_same(yyjson_mut_obj_get(last, name), value))) {
            return NULL;
        }
    }
    return last;
}

static int extend_array(struct toolrack_stream *stream, yyjson_mut_val *array, yyjson_val *pieces,
                        unsigned depth, struct toolrack_error *err);

static int extend_element(struct toolrack_stream *stream, yyjson_mut_val *element,
                          yyjson_val *piece, unsigned depth, struct toolrack_error *err) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (yyjson_obj_size(piece) > STREAM_MEMBERS_MAX ||
        yyjson_mut_obj_size(element) > STREAM_MEMBERS_MAX) {
        return stream_exceed(err, "a part of the message has more than the %u members allowed",
                             STREAM_MEMBERS_MAX);
    }
    json_obj_foreach (piece, at, count, key, value) {
        const char *name = stream_name(key);
        if (code < 0) {
            break;
        }
        if (name == NULL) {
            continue;
        }
        if (yyjson_is_str(value) && is_growing(name)) {
            stream_gather(stream, element, name, value, false);
        } else if (yyjson_is_arr(value) && is_growing(name) && depth < EXTEND_DEPTH_MAX) {
            code = extend_array(stream, stream_array(stream, element, name), value, depth + 1, err);
        } else if (!yyjson_is_null(value)) {
            stream_set(stream, element, name, value);
        }
    }
    return code;
}

static int extend_array(struct toolrack_stream *stream, yyjson_mut_val *array, yyjson_val *pieces,
                        unsigned depth, struct toolrack_error *err) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *piece;
    yyjson_arr_foreach (pieces, at, count, piece) {
        yyjson_mut_val *element = yyjson_is_obj(piece) ? continued(array, piece) : NULL;
        if (code < 0) {
            break;
        }
        if (element != NULL) {
            code = extend_element(stream, element, piece, depth, err);
        } else if (yyjson_mut_arr_size(array) >= STREAM_ITEMS_MAX) {
            code = stream_exceed(err, "the message has more than the %u parts allowed",
                                 STREAM_ITEMS_MAX);
        } else {
            stream_append(stream, array, stream_copy(stream, piece));
        }
    }
    return code;
}

int stream_extend(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                  yyjson_val *array, struct toolrack_error *err) {
    struct stream_text *before = known_text(stream, object, key);
    yyjson_mut_val *made = stream_array(stream, object, key);
    if (before != NULL && before->text.length > 0) {
        before->object = add_text_part(stream, made);
        before->key = "text";
    } else if (before != NULL) {
        /* Nothing was said so far. */
        buf_finish(&before->text);
        *before = stream->texts[--stream->text_count];
    }
    return stream->no_memory ? error_oom(err) : extend_array(stream, made, array, 0, err);
}

/* Longest string that is checked for being complete: the check runs at each piece. */
#define WHOLE_LENGTH_MAX 4096u

bool stream_is_whole(const struct toolrack_stream *stream, yyjson_mut_val *object,
                     const char *key) {
    const struct stream_text *text = known_text(stream, object, key);
    if (text == NULL) {
        return yyjson_mut_is_obj(yyjson_mut_obj_get(object, key));
    }
    if (text->text.length < 2 || text->text.length > WHOLE_LENGTH_MAX ||
        text->text.data[text->text.length - 1] != '}') {
        return false;
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(text->text.data, text->text.length, YYJSON_READ_BIGNUM_AS_RAW);
    return yyjson_is_obj(yyjson_doc_get_root(doc));
}

void stream_break_off(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                      bool is_json) {
    if (yyjson_mut_obj_size(yyjson_mut_obj_get(object, key)) > 0) {
        return; /* it arrived in one piece */
    }
    struct stream_text *text = find_text(stream, object, key);
    if (text == NULL) {
        stream->no_memory = true;
    } else if (text->text.length == 0) {
        text->is_json = is_json;
        buf_add_char(&text->text, '{');
        stream->no_memory = stream->no_memory || text->text.failed;
    }
}

void stream_break_off_object(struct toolrack_stream *stream, yyjson_mut_val *call,
                             const char *key) {
    yyjson_mut_val *given = yyjson_mut_obj_get(call, key);
    if (yyjson_mut_is_obj(call) &&
        (given == NULL || yyjson_mut_is_null(given) ||
         (yyjson_mut_is_obj(given) && yyjson_mut_obj_size(given) == 0))) {
        yyjson_mut_val *made = yyjson_mut_obj(stream->doc);
        stream_put(stream, made, TURN_BROKEN_INPUT, yyjson_mut_str(stream->doc, "{"));
        stream_put(stream, call, key, made);
    }
}

void stream_set_reason(struct toolrack_stream *stream, yyjson_val *reason) {
    stream->decides = stream->decides || stream_is_text(reason);
    if (stream_is_text(reason) && !stream_takes_back(stream, yyjson_get_str(reason))) {
        buf_clear(&stream->reason);
        buf_add(&stream->reason, yyjson_get_str(reason), yyjson_get_len(reason));
        stream->no_memory = stream->no_memory || stream->reason.failed;
    }
}

/* Words of providers for failures that may pass, and statuses that they put in their place. */
static const struct {
    const char *word;
    uint64_t status;
    int code;
} passing[] = {
        {"overloaded_error", 529, TOOLRACK_E_IO},
        {"overloaded", 503, TOOLRACK_E_IO},
        {"server_is_overloaded", 502, TOOLRACK_E_IO},
        {"service_unavailable", 504, TOOLRACK_E_IO},
        {"service_unavailable_error", 500, TOOLRACK_E_IO},
        {"unavailable", 503, TOOLRACK_E_IO},
        {"api_error", 500, TOOLRACK_E_IO},
        {"server_error", 500, TOOLRACK_E_IO},
        {"internal_server_error", 500, TOOLRACK_E_IO},
        {"internal", 500, TOOLRACK_E_IO},
        {"rate_limit_error", 429, TOOLRACK_E_LIMIT_EXCEEDED},
        {"rate_limit_exceeded", 429, TOOLRACK_E_LIMIT_EXCEEDED},
        {"too_many_requests", 429, TOOLRACK_E_LIMIT_EXCEEDED},
        {"resource_exhausted", 429, TOOLRACK_E_LIMIT_EXCEEDED},
};

/* What kind of failure an object tells of. A quota that is used up does not pass. */
static int code_of(yyjson_val *error) {
    static const char *const kinds[] = {"type", "code", "status"};
    int code = TOOLRACK_E_EXECUTION_FAILED;
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        yyjson_val *kind = yyjson_obj_get(error, kinds[i]);
        const char *word = yyjson_is_str(kind) ? yyjson_get_str(kind) : "";
        if (strcmp(word, "insufficient_quota") == 0) {
            return TOOLRACK_E_EXECUTION_FAILED;
        }
        for (size_t k = 0; k < ARRAY_LENGTH(passing) && code == TOOLRACK_E_EXECUTION_FAILED; k++) {
            if (strcasecmp(word, passing[k].word) == 0 ||
                (yyjson_is_uint(kind) && yyjson_get_uint(kind) == passing[k].status)) {
                code = passing[k].code;
            }
        }
    }
    return code;
}

int stream_exceed(struct toolrack_error *err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int code = error_setv(err, TOOLRACK_E_LIMIT_EXCEEDED, NULL, format, args);
    va_end(args);
    if (err != NULL) {
        err->lasting = true;
    }
    return code;
}

int stream_fail(yyjson_val *message, struct toolrack_error *err) {
    return error_set(err, code_of(message), STREAM_FAILED "%s", turn_error_reason(message));
}

int stream_tell_error(yyjson_val *event, struct toolrack_error *err) {
    yyjson_val *error = yyjson_obj_get(event, "error");
    if (turn_says_error(error)) {
        return stream_fail(error, err);
    }
    return turn_is(yyjson_obj_get(event, "object"), "error") ? stream_fail(event, err) : 0;
}
