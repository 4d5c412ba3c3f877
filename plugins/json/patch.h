/* patch.h - JSON Patch (RFC 6902): applying one, and making one of two documents. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

/* Deepest document that is patched or compared, and values that the copies of one patch may have
 * together: operations can double a document each. */
#define PATCH_DEPTH_MAX  128u
#define PATCH_VALUES_MAX 1000000u

/* Steps of one comparison of two documents. */
#define DIFF_STEPS_MAX 20000000

#define PATCH_MESSAGE_MAX 512u

enum patch_end {
    PATCH_OK,
    PATCH_REFUSED,  /**< an operation is wrong, or does not fit the document */
    PATCH_TOO_LARGE /**< a limit, or no memory */
};

/** Apply the operations in order to doc->root.
 *
 * @param doc      is changed, also where it fails
 * @param patch    an array of objects, of another document; borrowed
 * @param ret_at   where it fails: index of the operation
 * @param message  where it fails: one line. [any-thread] */
enum patch_end patch_apply(yyjson_mut_doc *doc, yyjson_val *patch, size_t *ret_at,
                           char message[static PATCH_MESSAGE_MAX]);

/** The operations that make `to` of `from`, as an array in `doc` with strings borrowed from both.
 * NULL: the documents take more than DIFF_STEPS_MAX steps, are too deep, or there is no memory.
 * [any-thread] */
yyjson_mut_val *patch_diff(yyjson_mut_doc *doc, yyjson_val *from, yyjson_val *to);
