#include "registry/document.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "plugin/origin.h"
#include "registry/text.h"

yyjson_mut_doc *document_begin(yyjson_mut_val **ret_root) {
    yyjson_mut_doc *doc = json_doc_create();
    *ret_root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, *ret_root);
    return doc;
}

yyjson_mut_doc *document_begin_list(yyjson_mut_val **ret_root) {
    yyjson_mut_doc *doc = json_doc_create();
    *ret_root = yyjson_mut_arr(doc);
    yyjson_mut_doc_set_root(doc, *ret_root);
    return doc;
}

void document_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                       const char *text) {
    if (text != NULL) {
        (void)yyjson_mut_obj_add_strcpy(doc, object, key, text);
    } else {
        (void)yyjson_mut_obj_add_null(doc, object, key);
    }
}

void document_add_identity(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *identity) {
    size_t length = identity_id_length(identity);
    if (length > 0) {
        (void)yyjson_mut_obj_add_strncpy(doc, object, "plugin", identity, length);
    } else {
        (void)yyjson_mut_obj_add_null(doc, object, "plugin");
    }
    document_add_text(doc, object, "origin",
                      identity[length] != '\0' ? identity + length + 1 : NULL);
}

int document_end(yyjson_mut_doc *doc, struct toolrack_text **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    size_t length = 0;
    CLEANUP(freep) char *text = json_doc_is_whole(doc) ? json_write(doc, 0, NULL, &length) : NULL;
    yyjson_mut_doc_free(doc);
    if (text == NULL) {
        return error_oom(err);
    }
    buf_add(&out, text, length);
    *ret = text_create(&out);
    return *ret != NULL ? 0 : error_oom(err);
}
