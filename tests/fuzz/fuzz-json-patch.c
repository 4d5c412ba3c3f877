/* The json plugin's patches: any operations on any document end, a document is what it was before
 * where a test says so, and the operations that are made of two documents make one of the other. */
#include <stdint.h>
#include <stdlib.h>
#include <yyjson.h>

#include "base/json-equal.h"
#include "base/json.h"
#include "patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static bool same(yyjson_mut_doc *made, yyjson_val *wanted) {
    yyjson_doc *doc = yyjson_mut_doc_imut_copy(made, NULL);
    struct budget budget = {.steps = DIFF_STEPS_MAX};
    bool equal = json_equal(yyjson_doc_get_root(doc), wanted, &budget);
    bool ended = budget_ended(&budget);
    yyjson_doc_free(doc);
    return equal || ended;
}

/* Whether a key is twice in an object, which no operation can name. */
static bool has_twins(yyjson_val *value) {
    size_t i;
    size_t count;
    yyjson_val *key;
    yyjson_val *item;
    json_obj_foreach (value, i, count, key, item) {
        if (yyjson_obj_getn(value, yyjson_get_str(key), yyjson_get_len(key)) != item ||
            has_twins(item)) {
            return true;
        }
    }
    yyjson_arr_foreach (value, i, count, item) {
        if (has_twins(item)) {
            return true;
        }
    }
    return false;
}

static void apply(yyjson_val *document, yyjson_val *patch, yyjson_val *wanted) {
    char message[PATCH_MESSAGE_MAX];
    size_t at;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, document));
    enum patch_end end = patch_apply(doc, patch, &at, message);
    require(wanted == NULL || (end == PATCH_OK && same(doc, wanted)));
    if (end == PATCH_OK) {
        free(yyjson_mut_write(doc, 0, NULL));
    } else {
        require(at < yyjson_arr_size(patch) && message[0] != '\0');
    }
    yyjson_mut_doc_free(doc);
}

static void compare(yyjson_val *from, yyjson_val *to) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *patch = patch_diff(doc, from, to);
    if (patch != NULL && !has_twins(from) && !has_twins(to)) {
        yyjson_doc *read = yyjson_mut_val_imut_copy(patch, NULL);
        apply(from, yyjson_doc_get_root(read), to);
        yyjson_doc_free(read);
    }
    yyjson_mut_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    yyjson_doc *doc = yyjson_read((const char *)data, size, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *from = yyjson_obj_get(root, "from");
    yyjson_val *to = yyjson_obj_get(root, "to");
    yyjson_val *patch = yyjson_obj_get(root, "patch");
    if (from != NULL && !json_is_deeper(root, PATCH_DEPTH_MAX)) {
        if (to != NULL) {
            compare(from, to);
        }
        if (yyjson_is_arr(patch)) {
            apply(from, patch, NULL);
        }
    }
    yyjson_doc_free(doc);
    return 0;
}
