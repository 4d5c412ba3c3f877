/* Two texts, split at the first zero: whatever they are, comparing them ends, and what it tells
 * fits its limits. A schema is compatible with itself. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "schema/compatibility.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_told(const struct compatibility *told) {
    check(told->count <= COMPATIBILITY_DIFFERENCES_MAX && told->count <= told->found);
    for (size_t i = 0; i < told->count; i++) {
        check(told->items[i].rule != NULL && told->items[i].text[0] != '\0');
        check(strlen(told->items[i].field) < COMPATIBILITY_FIELD_MAX);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char *texts = calloc(1, size + 2);
    check(texts != NULL);
    if (size > 0) {
        memcpy(texts, data, size);
    }
    const char *second = texts + strlen(texts) + 1;
    second = second <= texts + size ? second : "";
    struct compatibility told = COMPATIBILITY_INIT;
    compatibility_of_arguments(texts, second, &told);
    compatibility_of_results(texts, second, &told);
    check_told(&told);
    struct compatibility none = COMPATIBILITY_INIT;
    compatibility_of_arguments(texts, texts, &none);
    check(none.found == 0);
    free(texts);
    return 0;
}
