/* library.h - a library of the system, loaded when something needs it.
 *
 * Linked, such libraries would make every verb slower. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct library {
    const char *name;         /* "libcurl" */
    const char *file;         /* "libcurl.so.4" */
    const char *package;      /* of Debian */
    const char *oldest;       /* the version that has all functions */
    const char *who_needs_it; /* "the conversation needs" */
    const char *const *functions;
    size_t function_count;
};

/** Load a library and look its functions up. `ret` is a struct of pointers to them, in the order of
 * their names; it is not changed on failure. No other thread may use `ret` meanwhile.
 * @return 0; TOOLRACK_E_IO: the message names what is missing. */
int library_load(const struct library *library, void *ret, struct toolrack_error *err);
