/* A sentence and the parameters of a tool: whatever they are, the arguments are one JSON object,
 * each value that is reported is JSON with spans inside the text, and the fit is a number from 0
 * to 1. The schema and the text are separated by a zero. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "choose/arguments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void require_json(const char *json) {
    yyjson_doc *doc = yyjson_read(json, strlen(json), YYJSON_READ_NOFLAG);
    require(doc != NULL);
    yyjson_doc_free(doc);
}

static void check(const struct arguments *arguments, size_t length) {
    require_json(arguments->json);
    require(arguments->json[0] == '{');
    for (size_t i = 0; i < arguments->value_count; i++) {
        const struct arguments_value *value = &arguments->values[i];
        require_json(value->json);
        for (size_t k = 0; k < value->span_count; k++) {
            require(value->spans[k].start <= value->spans[k].end && value->spans[k].end <= length);
        }
    }
    for (size_t i = 0; i < arguments->missing_count; i++) {
        require(arguments->missing[i].question[0] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *zero = memchr(data, 0, size);
    size_t schema_length = zero != NULL ? (size_t)(zero - data) : size;
    size_t text_at = zero != NULL ? schema_length + 1 : size;
    /* A copy of the text alone, so that a byte beyond it is found. */
    char *text = malloc(size - text_at + 1);
    require(text != NULL);
    memcpy(text, data + text_at, size - text_at);
    struct arguments_context context = {
            .has_now = true, .now_ms = INT64_C(1795744800000), .offset_minutes = 480};
    struct values *values = NULL;
    struct toolrack_error err;
    require(values_read(text, size - text_at, &context, &values, &err) == 0);
    yyjson_doc *doc = yyjson_read((const char *)data, schema_length, YYJSON_READ_NOFLAG);
    struct arguments_tool tool = {.name = "tool", .parameters = yyjson_doc_get_root(doc)};
    struct arguments_fit fit;
    require(arguments_fit(values, &tool, &fit, &err) == 0);
    require(fit.fit >= 0 && fit.fit <= 1 && fit.found <= fit.required);
    struct arguments *arguments = NULL;
    if (arguments_fill(values, &tool, &arguments, &err) == 0) {
        check(arguments, size - text_at);
    }
    arguments_destroy(arguments);
    yyjson_doc_free(doc);
    values_destroy(values);
    free(text);
    return 0;
}
