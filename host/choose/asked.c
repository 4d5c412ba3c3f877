#include "choose/asked.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

void asked_finish(struct asked *asked) {
    wording_finish(&asked->wording);
    values_destroy(asked->values);
    yyjson_doc_free(asked->context);
    *asked = (struct asked){0};
}

static int read_context(struct asked *asked, struct toolrack_error *err) {
    const char *text = asked->options.context;
    yyjson_read_err problem = {0};
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    size_t length = strlen(text);
    if (length > TOOLRACK_SELECT_CONTEXT_MAX) {
        return error_set(err, TOOLRACK_E_INVALID, "the context has %zu bytes, and may have %u",
                         length, TOOLRACK_SELECT_CONTEXT_MAX);
    }
    asked->context = yyjson_read_opts((char *)(uintptr_t)text, length, 0, NULL, &problem);
    if (asked->context == NULL && problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return error_oom(err);
    }
    if (asked->context == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "the context is not JSON: %s at byte %zu",
                         problem.msg, problem.pos);
    }
    if (!yyjson_is_obj(yyjson_doc_get_root(asked->context))) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the context must be a JSON object, such as {\"time_zone\":\"UTC\"}");
    }
    return arguments_context_read(yyjson_doc_get_root(asked->context), &asked->said, err);
}

int asked_read(const struct toolrack_select_options *options, size_t limit, struct asked *ret,
               struct toolrack_error *err) {
    *ret = (struct asked){0};
    struct toolrack_select_options *taken = &ret->options;
    if (options != NULL) {
        memcpy(taken, options, options->size < sizeof *taken ? options->size : sizeof *taken);
    }
    if (options != NULL && options->size < offsetof(struct toolrack_select_options, context)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the options have %zu bytes by their size; begin them with "
                         "TOOLRACK_SELECT_OPTIONS_INIT",
                         options->size);
    }
    if (taken->text == NULL || taken->text[strspn(taken->text, " \t\r\n")] == '\0') {
        return error_set(err, TOOLRACK_E_INVALID, "there is no text that says what is wanted");
    }
    ret->length = strlen(taken->text);
    if (ret->length > TOOLRACK_SELECT_TEXT_MAX) {
        return error_set(err, TOOLRACK_E_INVALID, "the text has %zu bytes, and may have %u",
                         ret->length, TOOLRACK_SELECT_TEXT_MAX);
    }
    ret->limit = taken->limit == 0         ? limit
                 : taken->limit < SIZE_MAX ? (size_t)taken->limit
                                           : SIZE_MAX;
    int code = read_context(ret, err);
    if (code == 0 && !ret->said.has_now) {
        code = arguments_context_set_now(&ret->said, clock_wall_ms(), err);
    }
    if (code == 0) {
        code = values_read(taken->text, ret->length, &ret->said, &ret->values, err);
    }
    return code < 0 ? code
                    : wording_make(taken->text, ret->length, ret->values, &ret->wording, err);
}
