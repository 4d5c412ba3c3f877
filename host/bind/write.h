/* write.h - types of C in the words of a definition. */
#pragma once

#include <yyjson.h>

#include "bind/model.h"

/** Add "type" and what belongs to it. False: no definition can say it: a union, a struct without a
 * member that can be said. [any-thread] */
bool write_value_type(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct model_type *type);

/** Whether all of a struct can be said, so that it can be passed by value. [any-thread] */
bool write_is_whole(const struct model_type *type);

/** Whether a struct has a pointer that cannot be said, so that only the library can make one.
 * [any-thread] */
bool write_is_handle(const struct model_type *type);

/** Append the prototype, as in a header. [any-thread] */
struct buf;
void write_prototype(struct buf *out, const struct model_function *function);
