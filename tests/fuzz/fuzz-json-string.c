/* Any bytes: as a text they become a JSON string that says the same, or are no UTF-8; as JSON they
 * are a string if the parser takes them for one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/json-string.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void write_text(const char *text, size_t size) {
    struct buf out = BUF_INIT;
    require(buf_add_json_text(&out, text, size) == utf8_valid(text, size));
    if (out.length > 0) {
        struct buf unchecked = BUF_INIT;
        buf_add_json_string(&unchecked, text, size);
        require(unchecked.length == out.length);
        require(memcmp(unchecked.data, out.data, out.length) == 0);
        buf_finish(&unchecked);
        yyjson_doc *doc = yyjson_read(out.data, out.length, 0);
        yyjson_val *value = yyjson_doc_get_root(doc);
        require(json_is_string(out.data, out.length));
        require(yyjson_is_str(value) && yyjson_get_len(value) == size);
        require(memcmp(yyjson_get_str(value), text, size) == 0);
        yyjson_doc_free(doc);
    }
    buf_finish(&out);
}

static void check_string(const char *json, size_t size) {
    bool is_bare =
            size > 0 && json[0] == '"' && json[size - 1] == '"'; /* no white space around it */
    yyjson_doc *doc = size > 0 ? yyjson_read(json, size, 0) : NULL;
    require(json_is_string(json, size) == (is_bare && yyjson_is_str(yyjson_doc_get_root(doc))));
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    /* In memory of its own, so that AddressSanitizer sees one byte too many. */
    char *own = malloc(size + 2);
    require(own != NULL);
    memcpy(own + 1, data, size);
    own[0] = '"';
    own[size + 1] = '"';
    check_string(own, size + 2);
    memmove(own, data, size);
    own = realloc(own, size + (size == 0));
    require(own != NULL);
    write_text(own, size);
    check_string(own, size);
    free(own);
    return 0;
}
