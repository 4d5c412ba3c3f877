/* validate.h - check a configuration with its JSON Schema.
 *
 * toolrack.schema.json is the only description of the file: it is installed for editors, and the
 * host checks with it before it reads anything. So code that reads a value afterwards can rely on
 * its type and range. A value that does not fit becomes a problem; its neighbours are still
 * checked. Two keywords of the schema are used in problems: the fix shows `examples`, and
 * `errorMessage` replaces the reason when that would only quote a pattern. */
#pragma once

#include <yyjson.h>

#include "config/problem.h"

struct validator;

/** The JSON Schema of configurations, toolrack.schema.json, as installed. */
extern const char config_schema[];

/** @return 0; TOOLRACK_E_NO_MEMORY. Release with validator_destroy(). [any-thread] */
int validator_create(struct validator **ret, struct toolrack_error *err);
/** NULL is ignored. */
void validator_destroy(struct validator *validator);

/** Check the root of a file, except the definitions in "tools", which are checked one by one. Out
 * of memory is recorded in the problems. [one thread at a time] */
void validator_check_file(struct validator *validator, yyjson_val *root, struct problems *problems);

/** Check one definition, the value at `pointer` in the file. Causes name places inside the
 * definition.
 * @param tool  its name for the problems, if it is valid; or NULL
 * [one thread at a time] */
void validator_check_definition(struct validator *validator, yyjson_val *definition,
                                const char *pointer, const char *tool, struct problems *problems);
