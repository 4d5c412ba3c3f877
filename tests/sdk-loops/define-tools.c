/* define-tools FORMAT: tools of others, as a JSON array of objects with name, description and
 * schema on standard input, become definitions on standard output. */
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "format/definitions.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static int define(enum toolrack_format format, yyjson_val *tools, struct buf *out) {
    size_t count = yyjson_arr_size(tools);
    CLEANUP(freep) struct format_tool *list = calloc(count + 1, sizeof *list);
    CLEANUP(freep) char **schemas = calloc(count + 1, sizeof *schemas);
    if (list == NULL || schemas == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        yyjson_val *tool = yyjson_arr_get(tools, i);
        schemas[i] = yyjson_val_write(yyjson_obj_get(tool, "schema"), 0, NULL);
        list[i] = (struct format_tool){.name = yyjson_get_str(yyjson_obj_get(tool, "name")),
                                       .description =
                                               yyjson_get_str(yyjson_obj_get(tool, "description")),
                                       .schema = schemas[i]};
    }
    struct toolrack_error err;
    int code = format_definitions(format, list, count, NULL, out, NULL, NULL, &err);
    if (code < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    for (size_t i = 0; i < count; i++) {
        free(schemas[i]);
    }
    return code;
}

int main(int argc, char **argv) {
    enum toolrack_format format = TOOLRACK_FORMAT_COUNT;
    yyjson_read_err wrong;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read_fp(stdin, 0, NULL, &wrong);
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    if (argc != 2 || doc == NULL || toolrack_format_find(argv[1], &format, NULL) < 0 ||
        define(format, yyjson_doc_get_root(doc), &out) < 0) {
        return 1;
    }
    return fwrite(out.data, 1, out.length, stdout) == out.length ? 0 : 1;
}
