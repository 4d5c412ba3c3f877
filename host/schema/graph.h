/* graph.h - properties of a whole program, determined once after compiling. */
#pragma once

#include "schema/program.h"
#include "schema/reference.h"

/** Refuse schemas that would apply themselves to the same value without end (`$ref` and `allOf`),
 * and set whether filling can ever find a default. */
int graph_finish(struct library *library, struct schema *schema, const struct place *root);

/** The default of a property's schema: its own, or that of the schema it refers to. */
yyjson_val *graph_default(const struct node *node);
