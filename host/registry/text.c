#include "registry/text.h"

#include <stdlib.h>
#include <string.h>

struct toolrack_text *text_create(const struct buf *buf) {
    struct toolrack_text *text = buf->failed ? NULL : malloc(sizeof *text + buf->length + 1);
    if (text != NULL) {
        atomic_init(&text->refs, 1);
        text->names = NULL;
        text->length = buf->length;
        if (buf->length > 0) {
            memcpy(text->data, buf->data, buf->length);
        }
        text->data[buf->length] = '\0';
    }
    return text;
}

struct toolrack_text *text_create_definitions(const struct buf *buf, enum toolrack_format format,
                                              struct toolrack_text *names) {
    struct toolrack_text *text = names != NULL ? text_create(buf) : NULL;
    if (text != NULL) {
        text->format = format;
        text->names = text_ref(names);
    }
    return text;
}

struct toolrack_text *text_ref(struct toolrack_text *text) {
    atomic_fetch_add_explicit(&text->refs, 1, memory_order_relaxed);
    return text;
}

void toolrack_text_unref(struct toolrack_text *text) {
    if (text != NULL && atomic_fetch_sub_explicit(&text->refs, 1, memory_order_acq_rel) == 1) {
        toolrack_text_unref(text->names);
        free(text);
    }
}

const char *toolrack_text_data(const struct toolrack_text *text, size_t *ret_length) {
    if (ret_length != NULL) {
        *ret_length = text->length;
    }
    return text->data;
}
