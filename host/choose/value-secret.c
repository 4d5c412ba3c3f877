/* Secrets that the text calls so: "with password hunter2!X", 密码是a1b2c3!@#. They are whole to the
 * white space, with their signs, and only a parameter for a secret takes them. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "choose/secret-form.h"
#include "choose/values-parts.h"

/* The end without the sign that ends the sentence. */
static size_t trim(const struct values *values, size_t start, size_t end) {
    bool last = end == values->length || values->text[end] == ' ' || values->text[end] == '\n';
    bool stop = values->text[end - 1] == '.' || values->text[end - 1] == '?';
    return end - (last && stop && end - 1 > start);
}

static void add(struct values *values, size_t start, size_t end) {
    size_t first;
    size_t last;
    value_tokens_in(values, start, end, &first, &last);
    struct value *value = value_add(values, VALUE_CODE, first, last);
    if (value != NULL) {
        value->start = (uint32_t)start;
        value->end = (uint32_t)end;
        value->piece = PIECE_SECRET;
    }
}

bool value_find_secrets(struct values *values) {
    CLEANUP(freep) bool *hidden = calloc(values->length + 1, sizeof *hidden);
    if (hidden == NULL) {
        return false;
    }
    (void)secret_form_find(values->text, values->length, hidden);
    for (size_t start = 0; start < values->length; start++) {
        size_t end = start;
        while (hidden[end]) {
            end++;
        }
        if (end > start) {
            add(values, start, trim(values, start, end));
            start = end;
        }
    }
    return true;
}
