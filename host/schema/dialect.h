/* dialect.h - names of types.
 *
 * Tools come from many programming languages, and their authors use the type names of these. */
#pragma once

/** The type of JSON Schema that a name of a type means: "str", "List[int]", "Double". "" when it
 * means any value; NULL when no language is known that has it. Static. [any-thread] */
const char *dialect_type(const char *said);
