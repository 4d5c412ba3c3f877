/* fuzz-secret-form.c - secrets in any bytes: only bytes of the text are marked, the masked copy has
 * all others as they are and a mask for each run of marked ones, and what is collected of them ends
 * in a zero. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "choose/secret-form.h"
#include "schema/secret.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

/* What is not marked stands in the copy, in its order, and each run of marked bytes is a mask. */
static void check_copy(const char *text, size_t size, const bool *hidden, const char *copy,
                       size_t length) {
    size_t at = 0;
    for (size_t i = 0; i < size; i++) {
        if (!hidden[i]) {
            require(at < length && copy[at] == text[i]);
            at++;
        } else if (i == 0 || !hidden[i - 1]) {
            require(length - at >= strlen(SECRET_MASK) &&
                    memcmp(copy + at, SECRET_MASK, strlen(SECRET_MASK)) == 0);
            at += strlen(SECRET_MASK);
        }
    }
    require(at == length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + (size == 0)); /* no zero behind it */
    bool *hidden = calloc(size + 1, sizeof *hidden);
    size_t length = 0;
    struct buf all = BUF_INIT;
    require(text != NULL && hidden != NULL);
    memcpy(text, data, size);
    bool found = secret_form_find(text, size, hidden);
    require(found == (memchr(hidden, true, size) != NULL) && !hidden[size]);
    char *copy = secret_form_mask(text, size, &length);
    require(copy != NULL);
    check_copy(text, size, hidden, copy, length);
    secret_form_collect(text, size, &all);
    require(!all.failed && (all.length == 0 || (found && all.data[all.length - 1] == '\0')));
    buf_finish(&all);
    free(copy);
    free(hidden);
    free(text);
    return 0;
}
