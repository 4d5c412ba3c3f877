/* kept.h - a text that is made once and given to many clients, with its ETag. Those that are
 * sending it have references. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "serve/rest/request.h"

struct kept {
    atomic_uint refs;
    char *text;
    size_t length;
    char tag[REST_TAG_ROOM];
};

/** @param text  taken, to be released by free(), also on failure; NULL gives NULL
 * @return a reference; NULL: out of memory */
struct kept *kept_create(char *text, size_t length);
struct kept *kept_ref(struct kept *kept);
/** NULL is ignored. */
void kept_unref(struct kept *kept);

/** Answer with it.
 * @param kept  a reference, taken; NULL: out of memory */
void rest_answer_kept(struct rest_request *request, struct kept *kept);
