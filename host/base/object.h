/* object.h - a magic number in each long-lived struct, so that a wrong pointer is found at once.
 *
 *     struct crew {
 *         uint32_t magic; // CREW_MAGIC
 *         ...
 *     };
 *     #define CREW_MAGIC 0x77657263u
 *
 * The maker sets the magic number, every function that other files call checks it, and the
 * destroyer wipes it before it gives the memory back: a pointer to something else, or to something
 * that was freed, then fails an assertion at its first use. A build with NDEBUG checks nothing. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/** The object is alive and what its type says. For our own bugs only. */
#define OBJECT_CHECK(object, expected) assert((object) != NULL && (object)->magic == (expected))

/** The object is being destroyed. The compiler must not drop the store, though nothing valid reads
 * it. */
#define OBJECT_WIPE(object, expected)               \
    do {                                            \
        OBJECT_CHECK((object), (expected));         \
        *(volatile uint32_t *)&(object)->magic = 0; \
    } while (0)
