/* wants.h - what a package wants, and what is different from what is installed: what a person is
 * shown before he agrees.
 *
 * Both are descriptors that were read from files: nothing of them was run. */
#pragma once

#include <yyjson.h>

#include "plugin/descriptor.h"

/* Most changes that are listed; `more` counts the rest. */
#define WANTS_CHANGES_MAX 256u

/** Add `tools` (name, version, permission, description, whether they are destructive or reach the
 * world outside) and `capabilities`, as texts such as "read:${home}/notes". Callers need not check
 * what is added (registry/document.h). [any-thread] */
void wants_describe(const struct descriptor *desc, yyjson_mut_doc *doc, yyjson_mut_val *root);

/** Add `changes`, an array of objects: `kind`, `tool` (of most kinds), `text`, and `breaks`, which
 * is true of what a caller could do and no longer can. Kinds:
 *
 *     tool-removed  tool-added  tool-arguments  tool-result  permission  flags  text
 *     capability-added  capability-removed  plugin
 *
 * The first that break something or want more. `more` counts those beyond the limit. [any-thread]
 */
void wants_compare(const struct descriptor *old, const struct descriptor *now, yyjson_mut_doc *doc,
                   yyjson_mut_val *root);
