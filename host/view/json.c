#include "view/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

static void *note(void *incomplete, void *memory) {
    if (memory == NULL) {
        *(bool *)incomplete = true;
    }
    return memory;
}

static void *allocate(void *context, size_t size) {
    return note(context, malloc(size));
}

static void *reallocate(void *context, void *old, size_t old_size, size_t size) {
    (void)old_size;
    return note(context, realloc(old, size));
}

static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}

yyjson_mut_doc *json_new(bool *incomplete) {
    const yyjson_alc alc = {allocate, reallocate, release, incomplete};
    return yyjson_mut_doc_new(&alc);
}

void json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *text) {
    if (text == NULL) {
        (void)yyjson_mut_obj_add_null(doc, object, key);
        return;
    }
    size_t length = strlen(text);
    if (utf8_valid(text, length)) { /* as nearly all of them */
        (void)yyjson_mut_obj_add_strncpy(doc, object, key, text, length);
        return;
    }
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    text_add_valid(&valid, text, length);
    if (valid.failed && doc != NULL) {
        (void)note(doc->alc.ctx, NULL);
    }
    (void)yyjson_mut_obj_add_strncpy(doc, object, key, valid.data != NULL ? valid.data : "",
                                     valid.length);
}

void json_add_json(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *json,
                   size_t length) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = json != NULL ? yyjson_read(json, length, YYJSON_READ_BIGNUM_AS_RAW) : NULL;
    yyjson_mut_val *value = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    if (value != NULL) {
        (void)yyjson_mut_obj_add_val(doc, object, key, value);
    } else {
        (void)yyjson_mut_obj_add_null(doc, object, key);
    }
}

void json_add_members(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *json,
                      size_t length) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json != NULL ? yyjson_read(json, length, 0) : NULL;
    if (read == NULL && doc != NULL) {
        (void)note(doc->alc.ctx, NULL);
    }
    yyjson_val *root = yyjson_doc_get_root(read);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (root, at, count, key, value) {
        (void)yyjson_mut_obj_add(object, yyjson_val_mut_copy(doc, key),
                                 yyjson_val_mut_copy(doc, value));
    }
}

static yyjson_doc *read_text(const struct toolrack_text *text, yyjson_read_flag flags) {
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    return yyjson_read(json, length, flags);
}

yyjson_doc *json_read(const struct toolrack_text *text) {
    return read_text(text, YYJSON_READ_BIGNUM_AS_RAW);
}

yyjson_doc *json_read_exact(const struct toolrack_text *text) {
    return read_text(text, YYJSON_READ_NUMBER_AS_RAW);
}
