#include "serve/rest/kept.h"

#include <stdlib.h>

struct kept *kept_create(char *text, size_t length) {
    struct kept *kept = text != NULL ? calloc(1, sizeof *kept) : NULL;
    if (kept == NULL) {
        free(text);
        return NULL;
    }
    atomic_init(&kept->refs, 1);
    kept->text = text;
    kept->length = length;
    rest_make_tag(text, length, kept->tag);
    return kept;
}

struct kept *kept_ref(struct kept *kept) {
    (void)atomic_fetch_add(&kept->refs, 1);
    return kept;
}

void kept_unref(struct kept *kept) {
    if (kept != NULL && atomic_fetch_sub(&kept->refs, 1) == 1) {
        free(kept->text);
        free(kept);
    }
}

static void release(void *lent) {
    kept_unref(lent);
}

void rest_answer_kept(struct rest_request *request, struct kept *kept) {
    if (kept == NULL) {
        rest_oom(request);
    } else {
        rest_answer_lent(request, kept->text, kept->length, kept->tag, release, kept);
    }
}
