/* Input: the schema of a tool, and behind a zero byte its name. Describes it in all formats and
 * checks what must hold of any definition. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "format/definitions.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds) {
    if (!holds) {
        abort();
    }
}

static void check_name(enum toolrack_format format, const char *name) {
    must(name != NULL && name[0] != '\0' && strlen(name) <= FORMAT_NAME_MAX);
    for (const char *at = name; *at != '\0'; at++) {
        bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_';
        bool inner = (*at >= '0' && *at <= '9') || *at == '-';
        bool extra = (format == TOOLRACK_FORMAT_GEMINI && (*at == '.' || *at == ':')) ||
                     (format == TOOLRACK_FORMAT_MCP && *at == '.');
        must(letter || ((inner || extra) && (at > name || format != TOOLRACK_FORMAT_GEMINI)));
    }
}

static void check_parameters(enum toolrack_format format, yyjson_val *parameters) {
    must(yyjson_equals_str(yyjson_obj_get(parameters, "type"), "object"));
    if (format != TOOLRACK_FORMAT_MCP) {
        must(yyjson_obj_get(parameters, "anyOf") == NULL);
        must(yyjson_obj_get(parameters, "oneOf") == NULL);
        must(yyjson_obj_get(parameters, "allOf") == NULL);
        must(yyjson_obj_get(parameters, "$ref") == NULL);
        must(yyjson_obj_get(parameters, "$schema") == NULL);
    }
}

static void check_definition(enum toolrack_format format, yyjson_val *definition) {
    static const char *const keys[] = {"parameters",           "parameters", "input_schema",
                                       "parametersJsonSchema", "parameters", "inputSchema"};
    if (format == TOOLRACK_FORMAT_GEMINI) {
        definition = yyjson_arr_get_first(yyjson_obj_get(definition, "functionDeclarations"));
    } else if (format == TOOLRACK_FORMAT_OPENAI || format == TOOLRACK_FORMAT_OLLAMA) {
        definition = yyjson_obj_get(definition, "function");
    }
    check_name(format, yyjson_get_str(yyjson_obj_get(definition, "name")));
    check_parameters(format, yyjson_obj_get(definition, keys[format]));
}

static void check_report(const struct buf *report, bool refused) {
    CLEANUP(buf_finish) struct buf list = BUF_INIT;
    buf_add_char(&list, '[');
    buf_add(&list, report->data, report->length);
    buf_add_char(&list, ']');
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(list.data, list.length, 0);
    must(doc != NULL);
    must(!refused || yyjson_arr_size(yyjson_doc_get_root(doc)) > 0);
}

static void describe(enum toolrack_format format, const struct format_tool *tool) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(buf_finish) struct buf quiet = BUF_INIT;
    CLEANUP(buf_finish) struct buf report = BUF_INIT;
    struct toolrack_error err;
    int code = format_definitions(format, tool, 1, NULL, &out, &report, NULL, &err);
    if (code < 0) {
        must(code == TOOLRACK_E_NO_MEMORY);
        return;
    }
    must(format_definitions(format, tool, 1, NULL, &quiet, NULL, NULL, &err) == 0);
    must(strcmp(quiet.data, out.data) == 0); /* who asks why gets the same */
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(out.data, out.length, YYJSON_READ_BIGNUM_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    must(yyjson_is_arr(root));
    if (yyjson_arr_size(root) > 0) {
        check_definition(format, yyjson_arr_get_first(root));
    }
    check_report(&report, yyjson_arr_size(root) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CLEANUP(freep) char *text = calloc(1, size + 2); /* so that both texts end */
    must(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    size_t length = strlen(text);
    const char *name = length < size ? text + length + 1 : "fuzzed";
    const struct format_tool tool = {
            .name = name, .description = name, .schema = text, .result_schema = text};
    for (enum toolrack_format f = 0; f < TOOLRACK_FORMAT_COUNT; f++) {
        describe(f, &tool);
    }
    return 0;
}
