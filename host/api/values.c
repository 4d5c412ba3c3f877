/* Errors and memory for an embedding program. They are here and not in base/, because the command
 * has its own copy of base/: only the library knows the size of its errors. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "toolrack/toolrack.h"

void *toolrack_alloc(size_t size) {
    return malloc(size > 0 ? size : 1);
}

void toolrack_free(void *memory) {
    free(memory);
}

struct toolrack_error *toolrack_error_create(void) {
    return calloc(1, sizeof(struct toolrack_error));
}

void toolrack_error_free(struct toolrack_error *err) {
    free(err);
}

void toolrack_error_copy(struct toolrack_error *to, const struct toolrack_error *from) {
    if (to == NULL || from == NULL || to == from) {
        return;
    }
    to->code = from->code;
    to->signal = from->signal;
    to->from_tool = from->from_tool;
    to->tool_code = from->tool_code;
    to->cause = from->cause;
    to->brief_length = from->brief_length;
    to->begun = from->begun;
    to->lasting = from->lasting;
    (void)strcpy(to->tool, from->tool);
    (void)strcpy(to->field, from->field);
    (void)strcpy(to->message, from->message);
    (void)strcpy(to->trace, from->trace);
    to->mistake_count = from->mistake_count;
    to->mistakes_length = from->mistakes_length;
    memcpy(to->mistakes, from->mistakes, from->mistake_count > 0 ? from->mistakes_length : 0);
}

int toolrack_error_code(const struct toolrack_error *err) {
    return err != NULL ? err->code : TOOLRACK_E_NO_MEMORY;
}

const char *toolrack_error_message(const struct toolrack_error *err) {
    return err != NULL ? err->message : "out of memory";
}

const char *toolrack_error_tool(const struct toolrack_error *err) {
    return err != NULL ? err->tool : "";
}

const char *toolrack_error_field(const struct toolrack_error *err) {
    return err != NULL ? err->field : "";
}

const char *toolrack_error_mistake(const struct toolrack_error *err, size_t index,
                                   const char **ret_message) {
    *ret_message = NULL;
    return err != NULL ? error_mistake(err, index, ret_message) : NULL;
}

const char *toolrack_error_trace(const struct toolrack_error *err) {
    return err != NULL ? err->trace : "";
}

int toolrack_error_signal(const struct toolrack_error *err) {
    return err != NULL ? err->signal : 0;
}

enum toolrack_cause toolrack_error_cause(const struct toolrack_error *err) {
    return err != NULL ? err->cause : TOOLRACK_CAUSE_OTHER;
}

size_t toolrack_error_brief_length(const struct toolrack_error *err) {
    size_t length = strlen(toolrack_error_message(err));
    return err == NULL || err->brief_length == 0 || err->brief_length > length ? length
                                                                               : err->brief_length;
}

bool toolrack_error_is_from_tool(const struct toolrack_error *err) {
    return err != NULL && err->from_tool;
}

bool toolrack_error_has_begun(const struct toolrack_error *err) {
    return err != NULL && err->begun;
}

bool toolrack_error_is_recoverable(const struct toolrack_error *err) {
    return toolrack_code_is_recoverable(toolrack_error_code(err)) && (err == NULL || !err->lasting);
}

int toolrack_error_tool_code(const struct toolrack_error *err) {
    return err != NULL ? err->tool_code : 0;
}
