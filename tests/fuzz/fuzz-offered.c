/* fuzz-offered.c - any JSON as what a plugin offers or replies with beside its tools. The first
 * byte chooses what it is. What is taken is sound: taken once more, it is the same; what is not is
 * explained. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/offered.h"
#include "run/run.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

/* Take a list. @return it as the member of an object, as text to be released */
static char *take(enum offered_kind kind, yyjson_val *root, size_t *ret_left_out,
                  const char **ret_wrong) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_mut_val *items = yyjson_mut_obj_add_arr(doc, object, offered_list_name(kind));
    yyjson_mut_doc_set_root(doc, object);
    *ret_wrong = "not set";
    *ret_left_out = offered_take(kind, root, doc, items, ret_wrong);
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    require(yyjson_mut_arr_size(items) <= OFFERED_ITEMS_MAX);
    yyjson_mut_arr_foreach(items, at, count, item) {
        require(offered_key(kind, item) != NULL);
    }
    return yyjson_mut_write(doc, 0, NULL);
}

static void check_list(enum offered_kind kind, yyjson_val *root) {
    yyjson_val *list = yyjson_obj_get(root, offered_list_name(kind));
    size_t left_out;
    const char *wrong;
    CLEANUP(freep) char *taken = take(kind, root, &left_out, &wrong);
    require(taken != NULL && left_out <= yyjson_arr_size(list));
    require((wrong != NULL) == (left_out > 0 || !yyjson_is_arr(list)));
    CLEANUP(yyjson_doc_freep) yyjson_doc *again = yyjson_read(taken, strlen(taken), 0);
    yyjson_val *items = yyjson_obj_get(yyjson_doc_get_root(again), offered_list_name(kind));
    require(yyjson_arr_size(items) + left_out == yyjson_arr_size(list));
    CLEANUP(freep)
    char *twice = take(kind, yyjson_doc_get_root(again), &left_out, &wrong);
    require(twice != NULL && left_out == 0 && wrong == NULL && strcmp(taken, twice) == 0);
}

enum reply { REPLY_READ, REPLY_PROMPT, REPLY_COMPLETION, REPLY_COUNT };

static enum offered_reply take_reply(enum reply reply, yyjson_val *root, bool is_content,
                                     struct buf *out, const char **ret_wrong) {
    *ret_wrong = NULL;
    return reply == REPLY_READ     ? offered_read(root, is_content, out, ret_wrong)
           : reply == REPLY_PROMPT ? offered_prompt(root, is_content, out, ret_wrong)
                                   : offered_completion(root, out, ret_wrong);
}

static void check_done(enum reply reply, const struct buf *out) {
    static const char *const pointers[] = {"/contents", "/messages", "/completion/values"};
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(out->data, out->length, 0);
    yyjson_val *list = yyjson_doc_ptr_get(doc, pointers[reply]);
    const char *wrong;
    CLEANUP(buf_finish) struct buf again = BUF_INIT;
    require(yyjson_is_arr(list));
    require(reply != REPLY_COMPLETION || yyjson_arr_size(list) <= OFFERED_VALUES_MAX);
    require(take_reply(reply, yyjson_doc_get_root(doc), false, &again, &wrong) == OFFERED_DONE);
    require(again.length == out->length && memcmp(again.data, out->data, out->length) == 0);
}

static void check_reply(enum reply reply, yyjson_val *root) {
    /* Content comes from a result, so it is valid. */
    bool is_content = content_is_valid(root, false) || content_is_valid(root, true);
    const char *wrong;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    switch (take_reply(reply, root, is_content, &out, &wrong)) {
    case OFFERED_DONE: check_done(reply, &out); break;
    case OFFERED_NOTHING: require(yyjson_is_null(root)); break;
    case OFFERED_WRONG: require(wrong != NULL && wrong[0] != '\0'); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = size > 1 ? yyjson_read((const char *)data + 1, size - 1, 0) : NULL;
    if (doc == NULL) {
        return 0;
    }
    unsigned what = data[0] % (OFFERED_KIND_COUNT + REPLY_COUNT);
    if (what < OFFERED_KIND_COUNT) {
        check_list((enum offered_kind)what, yyjson_doc_get_root(doc));
    } else {
        check_reply((enum reply)(what - OFFERED_KIND_COUNT), yyjson_doc_get_root(doc));
    }
    return 0;
}
