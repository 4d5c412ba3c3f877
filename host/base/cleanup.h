/* cleanup.h - local variables that own a resource, and how they hand it over.
 *
 *     CLEANUP(buf_finish) struct buf text = BUF_INIT;      // undone at the end of the scope
 *     CLEANUP(freep) char *copy = strdup(name);
 *     *ret_copy = STEAL(copy);                             // handed over: copy is NULL now
 *
 * The function named in CLEANUP gets a pointer to the local and must accept an empty one. */
#pragma once

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

#define STEAL(pointer)                                   \
    __extension__({                                      \
        __typeof__(&(pointer)) steal_from_ = &(pointer); \
        __typeof__(pointer) stolen_ = *steal_from_;      \
        *steal_from_ = NULL;                             \
        stolen_;                                         \
    })

/** For any `T *local` from malloc(). */
static inline void freep(void *local) {
    free(*(void **)local);
}

/** For an `int fd`; -1 is empty. */
static inline void closep(int *fd) {
    if (*fd >= 0) {
        (void)close(*fd);
    }
}

/** Define `<function>p` for CLEANUP from a destroy or unref function that takes NULL. */
#define CLEANUP_DEFINE(type, function)             \
    static inline void function##p(type **local) { \
        function(*local);                          \
    }

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))
