/* validate.h - check a document that a person writes with its JSON Schema: a configuration, a plan.
 *
 * The schema is the only description of the document: it is installed for editors, and the host
 * checks with it before it reads anything. So code that reads a value afterwards can rely on its
 * type and range. A value that does not fit becomes a problem; its neighbours are still checked.
 * Three keywords of the schema are used in problems: the fix shows `examples`, `errorMessage`
 * replaces the reason when that would only quote a pattern, and `otherNames` has, by the names that
 * other programs give to a key, an array of the properties that may be meant, a sentence that says
 * what to do instead, or an object with the property that is meant and a sentence on how to write
 * it. */
#pragma once

#include <yyjson.h>

#include "config/problem.h"

struct validator;

/** The JSON Schema of configurations, toolrack.schema.json, as installed. */
extern const char config_schema[];

/* The rules that a problem can break. */
enum validator_rule { VALIDATOR_VALUE, VALIDATOR_MISSING, VALIDATOR_KEY, VALIDATOR_RULES };

/** A kind of document. All is static. */
struct validator_kind {
    const char *schema; /* its text */
    const char *file;   /* the name of the file that it is installed as */
    const char *whole;  /* what a cause calls the whole document */
    const char *rules[VALIDATOR_RULES];
};

/** Configurations. */
extern const struct validator_kind validator_configuration;

/** @return 0; TOOLRACK_E_NO_MEMORY. Release with validator_destroy(). [any-thread] */
int validator_create(const struct validator_kind *kind, struct validator **ret,
                     struct toolrack_error *err);
/** NULL is ignored. */
void validator_destroy(struct validator *validator);

/** Check the root of a document; of a configuration without the definitions in "tools", which are
 * checked one by one. Out of memory is recorded in the problems. [one thread at a time] */
void validator_check_file(struct validator *validator, yyjson_val *root, struct problems *problems);

/** Check one definition, the value at `pointer` in the file. Causes name places inside the
 * definition.
 * @param tool  its name for the problems, if it is valid; or NULL
 * [one thread at a time] */
void validator_check_definition(struct validator *validator, yyjson_val *definition,
                                const char *pointer, const char *tool, struct problems *problems);
