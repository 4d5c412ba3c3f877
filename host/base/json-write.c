#include "base/json-write.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"

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
    CLEANUP(freep) char *text = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &length);
    if (text == NULL) {
        out->failed = true;
        return;
    }
    buf_add(out, text, length);
}
