/* generate.h - arguments by the schema of a tool: typical ones, those at its bounds, and those
 * outside of it.
 *
 * A schema says only in part what a tool takes, so what is made here is made to fit and then
 * checked by the host (toolrack_arguments_check()). Typical numbers are neither 0 nor at a bound:
 * what fails at those is found by its own rule. */
#pragma once

#include <stddef.h>
#include <yyjson.h>

#include "author/random.h"

/* Most cases of one tool at the bounds, and outside. */
#define GENERATE_CASES_MAX 400u

struct generator {
    struct random random;
    yyjson_val *schema;    /* of the arguments */
    yyjson_val **examples; /* arguments of examples: where strings with a meaning come from */
    size_t example_count;
    yyjson_mut_doc *doc; /* owns what is made */
    uint32_t left;       /* values that may still be made: schemas may lead to themselves */
};

/** Typical arguments; NULL when out of memory. */
yyjson_mut_val *generate_typical(struct generator *generator);

/** An array of arguments, each of which differs from typical ones in one value, which is at a
 * bound; NULL when out of memory. */
yyjson_mut_val *generate_bounds(struct generator *generator);

/** An array of arguments, each of which breaks the schema in one way; NULL when out of memory. */
yyjson_mut_val *generate_wrong(struct generator *generator);
