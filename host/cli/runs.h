/* runs.h - runs of plans by what a person types. */
#pragma once

#include "cli/cli.h"

/** The id of the run that begins with what was typed; the same when none does: then the host says
 * why. @param ret  to be freed. @return 0; or the code of the failure. (verb-runs.c) */
int runs_find(struct cli *cli, const char *given, char **ret);
