/* dialect.h - names of types.
 *
 * Tools come from many programming languages, and their authors use the type names of these. */
#pragma once

#include <yyjson.h>

/** The type of JSON Schema that a name of a type means: "str", "List[int]", "Double". "" when it
 * means any value; NULL when no language is known that has it. Static. [any-thread] */
const char *dialect_type(const char *said);

/** Told of each change: `pointer` is the place of the type in the schema, `meant` "" for any. */
typedef void dialect_report(void *user, const char *pointer, const char *said, const char *meant);

/** Write the types of a schema, at any depth, as JSON Schema names them. Names that mean nothing
 * stay: they are for schema_compile() to refuse. Memory is from the document; where it runs out,
 * something stays as it is.
 * @param schema  changed in place [any-thread] */
void dialect_correct(yyjson_mut_doc *doc, yyjson_mut_val *schema, dialect_report *report,
                     void *user);
