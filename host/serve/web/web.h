/* web.h - the page by which a person sees and administers the host: files that are part of the
 * program, and say nothing of the host themselves. What the page shows it asks of REST. */
#pragma once

#include <stddef.h>

#include "serve/front.h"

/** A file of the page; see pack. */
struct web_file {
    const char *path; /* of its URL */
    const char *type;
    const char *tag; /* of its bytes, in quotes */
    const char *text;
    size_t length;
};

extern const struct web_file web_files[];
extern const size_t web_file_count;

/** The front of the page; static. */
struct front *web_front(void);
