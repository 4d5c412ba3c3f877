/* link.h - a path that is walked name by name, through symbolic links, by who looks at each name.
 *
 * `at` is the path so far, without links; "" is the root. `rest` is what is still to be walked. */
#pragma once

#include <limits.h>
#include <stddef.h>

struct link_walk {
    char at[PATH_MAX];
    char rest[PATH_MAX];
    unsigned links; /* followed so far */
};

/** Take the slashes, "." and ".." from the begin of the rest, and walk them.
 * @return the length of the next name, with which the rest begins; 0: the end */
size_t link_next_name(struct link_walk *walk);

/** Put the target of the link `link`, whose name was taken from the rest, before the rest.
 * @return 0, or an errno value */
int link_follow(struct link_walk *walk, const char *link);
