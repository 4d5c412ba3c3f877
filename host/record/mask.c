#include "record/mask.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* A schema of a result is about the JSON reply, alone or beside content blocks; these may repeat it
 * as text. */
static yyjson_mut_val *mask_reply(yyjson_val *schema, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    yyjson_mut_val *reply = yyjson_mut_obj_get(root, "structuredContent");
    if (!yyjson_mut_is_arr(yyjson_mut_obj_get(root, "content")) || reply == NULL) {
        return schema_mask(schema, doc, root);
    }
    (void)yyjson_mut_obj_replace(root, yyjson_mut_str(doc, "content"),
                                 yyjson_mut_str(doc, SECRET_MASK));
    (void)yyjson_mut_obj_replace(root, yyjson_mut_str(doc, "structuredContent"),
                                 schema_mask(schema, doc, reply));
    return root;
}

static const char *mask(yyjson_doc *schema_doc, const char *text, struct arena *arena,
                        yyjson_mut_val *(*hide)(yyjson_val *schema, yyjson_mut_doc *doc,
                                                yyjson_mut_val *root)) {
    yyjson_alc alc = arena_alc(arena);
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_NOFLAG);
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *changed = doc != NULL ? yyjson_doc_mut_copy(doc, NULL) : NULL;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(changed);
    if (root == NULL) {
        return SECRET_MASK;
    }
    yyjson_mut_doc_set_root(changed, hide(yyjson_doc_get_root(schema_doc), changed, root));
    char *masked = json_write(changed, YYJSON_WRITE_NOFLAG, &alc, NULL);
    return masked != NULL ? masked : SECRET_MASK;
}

const char *mask_arguments(yyjson_doc *schema, const char *arguments, struct arena *arena) {
    return mask(schema, arguments, arena, schema_mask_arguments);
}

const char *mask_result(yyjson_doc *schema, const char *result, struct arena *arena) {
    return mask(schema, result, arena, mask_reply);
}

void mask_collect(yyjson_doc *schema, const char *arguments, struct buf *ret) {
    const char *text = arguments[0] != '\0' ? arguments : "{}";
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(text, strlen(text), YYJSON_READ_NUMBER_AS_RAW);
    if (doc != NULL) {
        schema_collect_arguments(yyjson_doc_get_root(schema), yyjson_doc_get_root(doc), ret);
    } else {
        secrets_add(ret, "", 1);
    }
}

bool mask_hides(const char *masked_arguments, const char *place) {
    if (place[0] == '\0') {
        return false;
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(masked_arguments, strlen(masked_arguments), YYJSON_READ_NOFLAG);
    bool masked = doc == NULL || place[0] != '/';
    /* Check each value on the path to the place. */
    for (size_t end = 1; !masked; end++) {
        if (place[end] == '/' || place[end] == '\0') {
            masked = yyjson_equals_str(yyjson_doc_ptr_getn(doc, place, end), SECRET_MASK);
        }
        if (place[end] == '\0') {
            break;
        }
    }
    return masked;
}
