/* succession.h - how a version of a tool differs from the one before it.
 *
 * A step within one line of versions (1.2.0 to 1.3.0) promises that whoever called the older one
 * may call the newer. Whether the schemas keep that promise is looked at when the newer one is
 * registered; that they do not is told and kept, and stops nothing. */
#pragma once

#include "base/log.h"
#include "base/semver.h"
#include "registry/tool.h"
#include "schema/compatibility.h"

struct succession {
    char older[SEMVER_LENGTH_MAX + 1];
    struct compatibility differences;
};

/** The version that a registration succeeds, among tools that begin with those of its name,
 * versions downwards: the highest release that it promises to be compatible with and that does not
 * say just the same; or NULL. [writer] */
const struct registration *succession_find(struct toolrack_tool *const *tools, size_t count,
                                           const struct registration *reg);

/** The later one of two, either of which may be NULL. */
const struct registration *succession_later(const struct registration *a,
                                            const struct registration *b);

/** Compare a registration that nobody has seen yet with the one that it succeeds (NULL: none); say
 * in the log and keep in it how they differ. [writer] */
void succession_note(struct registration *reg, const struct registration *older,
                     const struct log *log);
