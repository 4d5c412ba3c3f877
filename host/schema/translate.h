/* translate.h - a schema as generators of other languages and earlier drafts write it, written as
 * JSON Schema 2020-12 has it.
 *
 * Only what has one meaning is changed:
 *
 *   types of other languages                      those of JSON Schema (dialect.h), with what is in
 *                                                   their brackets and their bounds (type-text.h)
 *   a list in items, exclusiveMinimum: true,      prefixItems, a number, dependentRequired and
 *     dependencies, divisibleBy                     dependentSchemas, multipleOf
 *   required: true at a property                  its name in `required`
 *   nullable: true beside a type, an enum         that type or null, in an enum too
 *   nullable: true beside a choice or reference   that, or null, as alternatives
 *   a keyword that is null, an empty enum         none
 *   a reference to an `id`, or to an `$id` that   one to its place
 *     is a name alone
 *   a place within a schema with an `id`          one from the root
 *   $schema of drafts 3 to 6, OpenAPI 3.1         none
 *   a reference at the root                       what it refers to
 *   no type at the root                           object
 *
 * What says nothing and was meant to say something is told, and stays: see doubtful.h.
 *
 * A schema whose `$schema` names draft 7 or 2019-09 keeps what these have. */
#pragma once

#include <yyjson.h>

/** Told of each change: the place in the schema as it was given, what was there and is taken for
 * what, and what to write. */
typedef void translate_report(void *user, const char *pointer, const char *fix, const char *cause);

/** Translate a schema of arguments and all in it. What means nothing stays: it is for
 * schema_compile() to refuse.
 * @param doc     of json_doc_create(), which knows afterwards whether memory was missing
 * @param schema  changed in place [any-thread] */
void translate_schema(yyjson_mut_doc *doc, yyjson_mut_val *schema, translate_report *report,
                      void *user);
