/* param-header.h - `x-mcp-header` in the schema of a tool's arguments: the name of a header of HTTP
 * that repeats an argument, by the revision 2026-07-28 of the Model Context Protocol.
 *
 * A client that meets one that the revision does not allow leaves out the tool, and a header that
 * nobody can send must not be demanded: such an annotation counts as none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#define PARAM_HEADER_KEYWORD   "x-mcp-header"
/* Most headers of one tool, and the deepest property that may have one: those of the root have
 * depth 1. */
#define PARAM_HEADERS_MAX      64u
#define PARAM_HEADER_DEPTH_MAX 32u

/** An annotation that is taken out.
 * @param name  of the header, of any characters; "" if it is no string
 * @param why   it is not allowed: "it ..." */
typedef void param_header_tell(void *user, const char *name, const char *why);

/** Whether a schema, as text, may have an annotation: a quick check. [any-thread] */
bool param_header_may_be_in(const char *schema);

/** Take the annotations out of a schema that the revision does not allow: the name is no token of
 * HTTP or is that of an annotation before it, whatever the case of its letters; or it stands
 * elsewhere than in a property of type string, integer or boolean that is reached from the root by
 * `properties` alone. Values of `default`, `const`, `enum` and `examples` are no schemas, and stay.
 * @param tell  NULL: nobody wants to know
 * @return how many. [any-thread] */
size_t param_header_clean(yyjson_mut_val *schema, param_header_tell *tell, void *user);
