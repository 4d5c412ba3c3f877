/* define-tools FORMAT: tools of others, as a JSON array of objects with name, description and
 * schema on standard input, become definitions on standard output.
 * define-tools limits: the limits of the formats that are about one definition, as JSON. */
#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "format/definitions.h"
#include "format/limits.h"

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

/* As expressions of JavaScript: what a name must match, and a key. */
static int print_limits(void) {
    static const char *const keys[] = {[KEYS_ANY] = "",
                                       [KEYS_ANTHROPIC] = "^[A-Za-z0-9_.-]{1,64}$",
                                       [KEYS_IDENTIFIER] = "^[A-Za-z_][A-Za-z0-9_]{0,63}$"};
    for (int i = 0; i < TOOLRACK_FORMAT_COUNT; i++) {
        const struct provider_limits *limits = &provider_limits[i];
        (void)printf("%s\"%s\":{\"name\":\"^%s[A-Za-z0-9_%s-]{1,%u}$\",\"key\":\"%s\","
                     "\"description\":%u,\"tools\":%u}",
                     i > 0 ? "," : "{", toolrack_format_name((enum toolrack_format)i),
                     limits->name_letter_first ? "(?=[A-Za-z_])" : "", limits->name_extra,
                     limits->name_max, keys[limits->keys], limits->description_max,
                     limits->tools_max);
    }
    return puts("}") >= 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "limits") == 0) {
        return print_limits();
    }
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
