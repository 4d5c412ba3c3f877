/* A schema of any text: arguments are made by it, typical ones, those at its bounds and those
 * outside of it, and all of them can be written as JSON. Its pattern, too, is any text. */
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "author/generate.h"
#include "author/pattern.h"

/* Beyond what one pattern may make, with the character that goes over the limit. */
#define PATTERN_LENGTH_MAX (65536u * 2)

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_pattern(const unsigned char *data, size_t size) {
    struct random random = {.state = size};
    char *pattern = malloc(size + 1);
    if (pattern == NULL) {
        return;
    }
    memcpy(pattern, data, size);
    pattern[size] = '\0';
    for (int is_long = 0; is_long < 2; is_long++) {
        struct buf text = BUF_INIT;
        pattern_write(pattern, &random, is_long != 0, &text);
        if (text.length > PATTERN_LENGTH_MAX) {
            abort();
        }
        buf_finish(&text);
    }
    free(pattern);
}

static void check_written(yyjson_mut_val *value) {
    char *text = yyjson_mut_val_write(value, YYJSON_WRITE_ALLOW_INVALID_UNICODE, NULL);
    if (value == NULL || text == NULL) {
        abort();
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    yyjson_doc *schema = yyjson_read((const char *)data, size, 0);
    struct generator generator = {.schema = yyjson_doc_get_root(schema),
                                  .random = {.state = size},
                                  .doc = yyjson_mut_doc_new(NULL)};
    check_pattern(data, size);
    if (schema != NULL && generator.doc != NULL) {
        check_written(generate_typical(&generator));
        check_written(generate_bounds(&generator));
        check_written(generate_wrong(&generator));
    }
    yyjson_mut_doc_free(generator.doc);
    yyjson_doc_free(schema);
    return 0;
}
