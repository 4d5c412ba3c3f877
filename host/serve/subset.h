/* subset.h - the part of the tools that a principal is shown: those of its profile, and of the list
 * of its token. What is not in it is unknown to it, whatever protocol it speaks. */
#pragma once

#include <stdbool.h>

#include "serve/principal.h"
#include "toolrack/toolrack.h"

/** Of a server: its host, and the profile of principals that have none, or NULL. */
struct subset {
    struct toolrack *host;
    const char *profile;
};

/** The profile whose tools a principal is shown, or NULL: all. */
const char *subset_profile(const struct subset *subset, const struct principal *principal);
/** Whether a principal is shown a part of the tools only. */
bool subset_is_part(const struct subset *subset, const struct principal *principal);
/** Whether a tool is in the part that a principal is shown. */
bool subset_has(const struct subset *subset, const struct principal *principal,
                const struct toolrack_tool *tool);

/** The tool that a name, perhaps with a version or range, means to a principal, disabled or not: as
 * toolrack_get() finds it, or the version that its token's list names where that has not the
 * default.
 *
 * @param ret_selector  receives the name by which toolrack_get() finds it, borrowed from `name` or
 *                      from the list; may be NULL
 * @return a reference; NULL: there is none, or it is not shown it */
struct toolrack_tool *subset_find(const struct subset *subset, const struct principal *principal,
                                  const char *name, const char **ret_selector);
