#include "format/stream-parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* --------------------------------------------------------------- the message */

void stream_show(const struct toolrack_stream *stream, yyjson_val *text) {
    if (stream->text != NULL && yyjson_get_len(text) > 0 && yyjson_is_str(text)) {
        stream->text(stream->user, yyjson_get_str(text), yyjson_get_len(text));
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

void stream_append(struct toolrack_stream *stream, yyjson_mut_val *array, yyjson_mut_val *value) {
    stream->no_memory = !yyjson_mut_arr_append(array, value) || stream->no_memory;
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
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the message has more than the %u parts allowed", STREAM_ITEMS_MAX);
    }
    if (yyjson_mut_obj_size(object) > STREAM_MEMBERS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "a part of the message has more than the %u members allowed",
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

static struct stream_text *known_text(const struct toolrack_stream *stream,
                                      const yyjson_mut_val *object, const char *key) {
    for (size_t i = stream->text_count; i > 0; i--) {
        struct stream_text *text = &stream->texts[i - 1];
        if (text->object == object && strcmp(text->key, key) == 0) {
            return text;
        }
    }
    return NULL;
}

/* The growing string at `key`, created with the present value; NULL: no memory. */
static struct stream_text *find_text(struct toolrack_stream *stream, yyjson_mut_val *object,
                                     const char *key) {
    struct stream_text *known = known_text(stream, object, key);
    if (known != NULL) {
        return known;
    }
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

void stream_gather(struct toolrack_stream *stream, yyjson_mut_val *object, const char *key,
                   yyjson_val *text, bool is_json) {
    if (!yyjson_is_str(text)) {
        return;
    }
    struct stream_text *gathered = find_text(stream, object, key);
    if (gathered == NULL) {
        stream->no_memory = true;
        return;
    }
    gathered->is_json = is_json;
    buf_add(&gathered->text, yyjson_get_str(text), yyjson_get_len(text));
    stream->no_memory = stream->no_memory || gathered->text.failed;
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

void stream_set_reason(struct toolrack_stream *stream, yyjson_val *reason) {
    if (yyjson_is_str(reason) && yyjson_get_len(reason) > 0) {
        buf_clear(&stream->reason);
        buf_add(&stream->reason, yyjson_get_str(reason), yyjson_get_len(reason));
        stream->no_memory = stream->no_memory || stream->reason.failed;
    }
}

int stream_fail(yyjson_val *message, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_EXECUTION_FAILED,
                     "the provider ended the response with an error: %s",
                     yyjson_is_str(message) ? yyjson_get_str(message) : "no reason given");
}

bool stream_is_error(yyjson_val *event, struct toolrack_error *err) {
    yyjson_val *error = yyjson_obj_get(event, "error");
    if (error == NULL || yyjson_is_null(error)) {
        return false;
    }
    (void)stream_fail(yyjson_is_obj(error) ? yyjson_obj_get(error, "message") : error, err);
    return true;
}
