/* validate.h - what is wrong with a configuration, by its own JSON Schema.
 *
 * toolrack.schema.json is the one description of the file: editors use it as it is installed, and
 * the host checks with it before it reads anything. So whoever reads a value afterwards knows its
 * type and range. A value that does not fit becomes a problem; what stands beside it is checked all
 * the same. Two of the schema's keywords are for the words of problems: `examples` has what the fix
 * shows, `errorMessage` replaces the reason where a pattern would be all that could be said. */
#pragma once

#include <yyjson.h>

#include "config/problem.h"

struct validator;

/** The JSON Schema of configurations, toolrack.schema.json, as it is installed. */
extern const char config_schema[];

/** @return 0; TOOLRACK_E_NO_MEMORY. Release with validator_destroy(). [any-thread] */
int validator_create(struct validator **ret, struct toolrack_error *err);
/** NULL is ignored. */
void validator_destroy(struct validator *validator);

/** Check the root of a file; but not the definitions in "tools", of which each is checked by
 * itself. That there was no memory is noted in the problems. [one thread at a time] */
void validator_check_file(struct validator *validator, yyjson_val *root, struct problems *problems);

/** Check one definition, the value at `pointer` in the file. Causes name places within it.
 * @param tool  its name where that is sound, for the problems; or NULL
 * [one thread at a time] */
void validator_check_definition(struct validator *validator, yyjson_val *definition,
                                const char *pointer, const char *tool, struct problems *problems);
