/* cases.h - arguments for the calls of one tool, as texts. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "author/bench.h"
#include "author/generate.h"

/* Most examples that a tool can have. */
#define CASES_EXAMPLES_MAX 16u

struct cases {
    struct bench *bench;
    size_t tool;
    struct generator generator;
    yyjson_doc *schema;
    yyjson_doc *example_docs[CASES_EXAMPLES_MAX];
    yyjson_val *examples[CASES_EXAMPLES_MAX];
    yyjson_mut_val *list; /* of cases_make(); NULL: none was made */
};

/** Begin with a tool; the same seed and rule give the same arguments. */
void cases_begin(struct cases *ret, struct bench *bench, size_t tool, enum rule rule);
void cases_end(struct cases *cases);

/** Arguments that fit the schema, to be freed; NULL: none could be made. */
char *cases_typical(struct cases *cases);

/** Make the list of arguments at the bounds of the schema, or outside of it. @return how many */
size_t cases_make(struct cases *cases, enum rule rule);

/** Take one out of the list, which the seed chooses; to be freed. NULL: there is none. */
char *cases_take(struct cases *cases);

/** Make arguments that crash a tool smaller, as long as they do and fit its schema as much as
 * before. @return the smallest, to be freed; NULL: `arguments` are that. */
char *cases_shrink(struct bench *bench, size_t tool, const char *arguments);
