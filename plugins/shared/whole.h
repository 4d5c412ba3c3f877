/* whole.h - a file that a caller names or sends, as bytes in memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <toolrack/plugin.h>

/** Which file a call is about. */
struct whole {
    const char *field; /**< the argument that says it: "path" or "data" */
    const char *name;  /**< the path as it was given, or "" */
    const void *data;
    size_t size;
    void *owned; /**< what whole_finish() releases */
};

/** Read the file that the argument `path` names in the granted folders, or take the base64 of the
 * argument `data`: one of both must be there. At most `size_max` bytes. A failure fails the call.
 * [call-thread] */
bool whole_read(struct tr_call *call, size_t size_max, struct whole *ret);
void whole_finish(struct whole *whole);
