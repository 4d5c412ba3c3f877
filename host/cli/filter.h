/* filter.h - what the filters of `list` name: an unknown name is not the same as no tools. */
#pragma once

#include "cli/cli.h"

/** The name under which a refused tool or file is listed. */
const char *filter_row_name(const struct toolrack_refusal *refusal);

/** Whether a word of the command line, NAME or NAME@VERSION or NAME@RANGE, is for a row. `*`, `?`
 * and `[` in its name are a pattern. `version` may be NULL: no version is that of the row. */
bool filter_matches(const char *word, const char *name, const char *version);

/** Check that each name, plugin, tag, category and scenario of the command line exists, whatever
 * the other filters say. A pattern or a purpose may match nothing.
 * @return 0; or the code of the failure: TOOLRACK_E_NOT_FOUND with the nearest name. */
int filter_check(struct cli *cli);
