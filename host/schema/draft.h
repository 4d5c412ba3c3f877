/* draft.h - keywords that 2020-12 writes otherwise than earlier drafts do.
 *
 * Only what has one meaning is changed: what is left is for schema_compile() to refuse. Each
 * function looks at a schema itself, not at those in it, and needs no memory unless it says so. */
#pragma once

#include <yyjson.h>

/** Gets what was changed, a sentence. */
typedef void draft_report(void *user, const char *what);

/** `"exclusiveMinimum": true` beside a minimum, of draft 4 and OpenAPI 3.0; likewise the maximum.
 * [any-thread] */
void draft_update_limits(yyjson_mut_val *schema, draft_report *report, void *user);

/** A list in `items`, with `additionalItems`, until 2019-09. [any-thread] */
void draft_update_items(yyjson_mut_val *schema, draft_report *report, void *user);

/** `dependencies`, until draft 7. Memory is from the document; where it runs out, they stay.
 * [any-thread] */
void draft_update_dependencies(yyjson_mut_doc *doc, yyjson_mut_val *schema, draft_report *report,
                               void *user);
