/* listed.h - the value at a JSON Pointer, without counting to the late items of a long array for
 * each of many references: where one is looked at first, its items are listed.
 *
 * A list takes 8 bytes for an item that has at least 16. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

/* Arrays with fewer items are not listed. */
#define LISTED_MIN 256u

struct listed;

/** As yyjson_ptr_getn(), which gives `value` for an empty pointer.
 * @param lists  of the document that `value` is in, which is not changed; NULL at first; to be
 *               released by listed_free() before the document is */
yyjson_val *listed_find(struct listed **lists, yyjson_val *value, const char *pointer,
                        size_t length);

/** NULL is ignored. */
void listed_free(struct listed *lists);
