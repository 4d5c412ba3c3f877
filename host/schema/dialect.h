/* dialect.h - names of types.
 *
 * Tools come from many programming languages, and their authors use the type names of these. */
#pragma once

#include <stdbool.h>

/** The type of JSON Schema that a name of a type means: "str", "List[int]", "Double". "" when it
 * means any value; NULL when no language is known that has it. Static. [any-thread] */
const char *dialect_type(const char *said);

/** Whether a name that means "integer" is of a type without negative values: "uint", "UInt64".
 * [any-thread] */
bool dialect_is_unsigned(const char *said);
