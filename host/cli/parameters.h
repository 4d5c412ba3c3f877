/* parameters.h - the parameters of a tool as a table, from the JSON Schema of its arguments. */
#pragma once

#include "cli/cli.h"

/** Append the table, or nothing when the schema names no parameters. */
void parameters_print(struct cli *cli, const char *schema);

/** Append a line about a result from its schema; NULL: nothing. */
void parameters_print_result(struct cli *cli, const char *schema);
