/* succession.h - how a version of a tool differs from the one before it.
 *
 * Within one line of versions (1.2.0 to 1.3.0), a newer version promises that callers of the older
 * one can call it unchanged. When the newer one is registered, the schemas are checked for that. A
 * difference is logged and kept; it refuses nothing. */
#pragma once

#include "base/log.h"
#include "base/semver.h"
#include "registry/tool.h"
#include "schema/compatibility.h"

struct succession {
    char older[SEMVER_LENGTH_MAX + 1];
    struct compatibility differences;
};

/** The version that a registration succeeds, or NULL: the highest release that it promises to be
 * compatible with and that is not the same version with the same schemas. `tools` begins with those
 * of its name, versions downwards. [writer] */
const struct registration *succession_find(struct toolrack_tool *const *tools, size_t count,
                                           const struct registration *reg);

/** The later of two versions; either may be NULL. */
const struct registration *succession_later(const struct registration *a,
                                            const struct registration *b);

/** Compare a registration with the one that it succeeds (NULL: none), and keep the differences in
 * it. Whether there are any. [writer] */
bool succession_note(struct registration *reg, const struct registration *older,
                     const struct log *log);

/** Log them. */
void succession_tell(const struct registration *reg, int level, const struct log *log);
