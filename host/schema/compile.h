/* compile.h - from schemas in a library to nodes. */
#pragma once

#include "schema/program.h"
#include "schema/reference.h"

/** Make the node of `root` and of everything it leads to. */
int compile_program(struct library *library, struct schema *schema, struct place *root);
