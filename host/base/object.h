/* object.h - a magic number in each long-lived struct, so that a wrong pointer is found at once.
 *
 *     struct crew {
 *         uint32_t magic; // CREW_MAGIC
 *         ...
 *     };
 *     #define CREW_MAGIC 0x77657263u
 *
 * The function that creates the object sets the magic number, every function that other files call
 * checks it, and the function that destroys the object wipes it before it frees the memory: a
 * pointer to another type or to freed memory then fails an assertion at its first use. A build with
 * NDEBUG checks nothing. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/** Assert that the object is alive and of the expected type. Only for bugs of the host. */
#define OBJECT_CHECK(object, expected) assert((object) != NULL && (object)->magic == (expected))

/** Mark the object as destroyed. The store is volatile so that the compiler does not drop it. */
#define OBJECT_WIPE(object, expected)               \
    do {                                            \
        OBJECT_CHECK((object), (expected));         \
        *(volatile uint32_t *)&(object)->magic = 0; \
    } while (0)
