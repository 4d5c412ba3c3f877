/* Input: a schema as some generator wrote it. Translates it, and checks what must hold of any: what
 * is told is readable, what is translated is JSON, says the same when it is translated again, and
 * is compiled if the schema was, unless something was told: what an old keyword says may be wrong.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json-write.h"
#include "base/json.h"
#include "schema/schema.h"
#include "schema/translate.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds) {
    if (!holds) {
        abort();
    }
}

static void check_report(void *user, const char *pointer, const char *fix, const char *cause) {
    bool *told = user;
    *told = true;
    must(pointer[0] == '\0' || pointer[0] == '/');
    must(strlen(pointer) < JSON_POINTER_MAX);
    must(fix[0] != '\0' && cause[0] != '\0');
}

/* The translation as text. */
static char *translate(yyjson_val *schema, bool *ret_told) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, schema);
    must(copy != NULL);
    translate_schema(doc, copy, check_report, ret_told);
    must(json_doc_is_whole(doc));
    char *text = yyjson_mut_val_write(copy, YYJSON_WRITE_NOFLAG, NULL);
    must(text != NULL);
    return text;
}

static bool compiles(yyjson_val *root) {
    const struct schema_options options = {.dialect = SCHEMA_2020_12};
    struct toolrack_error err = {0};
    struct schema *schema = NULL;
    int code = schema_compile(root, &options, &schema, &err);
    must(code == 0 || (err.code == code && err.message[0] != '\0'));
    schema_destroy(schema);
    return code == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool told = false;
    bool told_again = false;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read((const char *)data, size, YYJSON_READ_BIGNUM_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (root == NULL || json_is_deeper(root, JSON_DEEPER_MAX)) {
        return 0;
    }
    CLEANUP(freep) char *text = translate(root, &told);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *translated = yyjson_read(text, strlen(text), YYJSON_READ_BIGNUM_AS_RAW);
    must(translated != NULL);
    CLEANUP(freep) char *again = translate(yyjson_doc_get_root(translated), &told_again);
    /* A reference at the root that leads to itself is followed so many times. */
    must(strcmp(text, again) == 0 ||
         yyjson_obj_get(yyjson_doc_get_root(translated), "$ref") != NULL);
    if (!told && compiles(root)) {
        must(compiles(yyjson_doc_get_root(translated)));
    }
    return 0;
}
