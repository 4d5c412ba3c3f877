#include "base/json-write.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

/* Allocations for documents of this thread that failed; a document has the number at its begin. */
static _Thread_local uintptr_t failures;

static void *take(void *context, size_t size) {
    void *memory = malloc(size);
    (void)context;
    failures += memory == NULL;
    return memory;
}

static void *grow(void *context, void *memory, size_t old_size, size_t size) {
    void *grown = realloc(memory, size);
    (void)context;
    (void)old_size;
    failures += grown == NULL;
    return grown;
}

static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}

yyjson_mut_doc *json_doc_create(void) {
    const yyjson_alc alc = {
            .malloc = take, .realloc = grow, .free = release, .ctx = (void *)failures};
    return yyjson_mut_doc_new(&alc);
}

bool json_doc_is_whole(const yyjson_mut_doc *doc) {
    return doc != NULL && (uintptr_t)doc->alc.ctx == failures;
}

static char *copy(const struct buf *text, const yyjson_alc *alc) {
    char *room = alc != NULL ? alc->malloc(alc->ctx, text->length + 1) : malloc(text->length + 1);
    if (room != NULL) {
        memcpy(room, text->data, text->length);
        room[text->length] = '\0';
    }
    return room;
}

/* What is around the bytes that are not UTF-8 is, so that they can be replaced in the text. */
static char *write_valid(const yyjson_mut_doc *doc, yyjson_write_flag flags, const yyjson_alc *alc,
                         size_t *ret_length) {
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    size_t length = 0;
    CLEANUP(freep)
    char *text = yyjson_mut_write(doc, flags | YYJSON_WRITE_ALLOW_INVALID_UNICODE, &length);
    if (text == NULL) {
        return NULL;
    }
    text_add_valid(&valid, text, length);
    *ret_length = valid.length;
    return valid.failed ? NULL : copy(&valid, alc);
}

char *json_write(const yyjson_mut_doc *doc, yyjson_write_flag flags, const yyjson_alc *alc,
                 size_t *ret_length) {
    size_t unheard = 0;
    size_t *length = ret_length != NULL ? ret_length : &unheard;
    yyjson_write_err why = {0};
    if (doc == NULL) {
        return NULL;
    }
    flags |= YYJSON_WRITE_INF_AND_NAN_AS_NULL;
    char *text = yyjson_mut_write_opts(doc, flags, alc, length, &why);
    return text == NULL && why.code == YYJSON_WRITE_ERROR_INVALID_STRING
                   ? write_valid(doc, flags, alc, length)
                   : text;
}

void json_add_value(struct buf *out, yyjson_val *value) {
    size_t length = 0;
    if (yyjson_is_raw(value)) {
        buf_add(out, yyjson_get_raw(value), yyjson_get_len(value));
        return;
    }
    CLEANUP(freep) char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &length);
    if (text == NULL) {
        out->failed = true;
        return;
    }
    buf_add(out, text, length);
}

/* ------------------------------------------------------------------- sorted */

/* A key that is there twice keeps its order. */
static int compare_keys(const void *a, const void *b) {
    yyjson_val *x = *(yyjson_val *const *)a;
    yyjson_val *y = *(yyjson_val *const *)b;
    size_t length = yyjson_get_len(x) < yyjson_get_len(y) ? yyjson_get_len(x) : yyjson_get_len(y);
    int order = memcmp(yyjson_get_str(x), yyjson_get_str(y), length);
    if (order == 0 && yyjson_get_len(x) != yyjson_get_len(y)) {
        order = yyjson_get_len(x) < yyjson_get_len(y) ? -1 : 1;
    }
    return order != 0 ? order : x < y ? -1 : x > y;
}

static void add_sorted(struct buf *out, yyjson_val *value);

static void add_object(struct buf *out, yyjson_val *object) {
    CLEANUP(freep) yyjson_val **keys = calloc(yyjson_obj_size(object) + 1, sizeof(yyjson_val *));
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (keys == NULL) {
        out->failed = true;
        return;
    }
    json_obj_foreach (object, at, count, key, value) {
        keys[at] = key;
    }
    qsort(keys, count, sizeof(yyjson_val *), compare_keys);
    buf_add_char(out, '{');
    for (at = 0; at < count; at++) {
        buf_add(out, ",", at > 0);
        json_add_value(out, keys[at]);
        buf_add_char(out, ':');
        add_sorted(out, yyjson_obj_iter_get_val(keys[at]));
    }
    buf_add_char(out, '}');
}

static void add_sorted(struct buf *out, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *item;
    if (yyjson_is_obj(value)) {
        add_object(out, value);
    } else if (yyjson_is_arr(value)) {
        buf_add_char(out, '[');
        yyjson_arr_foreach (value, at, count, item) {
            buf_add(out, ",", at > 0);
            add_sorted(out, item);
        }
        buf_add_char(out, ']');
    } else {
        json_add_value(out, value);
    }
}

void json_add_sorted(struct buf *out, const char *text, size_t length) {
    yyjson_doc *doc = yyjson_read(text, length, YYJSON_READ_NUMBER_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (root == NULL || json_is_deeper(root, JSON_DEEPER_MAX)) {
        buf_add(out, text, length);
    } else {
        add_sorted(out, root);
    }
    yyjson_doc_free(doc);
}
