/* owner.h - who has a tool's name.
 *
 * Plugins of one origin (plugin/origin.h) share the names of their tools: the highest version is
 * the default. Of plugins of several origins one origin owns the name, and the tools of the others
 * are refused, whatever their versions: the one that an administrator chose, else the one of the
 * highest trust, else the one that provided the name first. What the app registers and the
 * configuration defines counts as builtin, since neither comes from a folder. */
#pragma once

#include "base/log.h"
#include "registry/change.h"
#include "registry/refusal.h"

/* The rule of a row about a tool that is registered, and not the default, since another plugin of
 * its origin has a higher version. The rule of refusals is REFUSAL_TOOL_EXISTS. */
#define OWNER_RULE_SHARED "tool-shared"

/* A tool of a name that several origins provide. */
struct owner_claim {
    const char *identity;
    bool chosen;   /* an administrator chose its plugin for the name */
    int64_t order; /* smaller: provided the name earlier; INT64_MAX: not recorded */
};

/* How owners are found and told; the functions may be NULL. They are called under the lock of the
 * registry's writers. */
struct owner_rules {
    const struct log *log;
    /* Fill in `chosen` and `order`, which are false and INT64_MAX. */
    void (*claims)(void *user, const char *tool, struct owner_claim *claims, size_t count);
    /* A call by the name of `other` does not run it, but `owner`. It was logged. */
    void (*shadowed)(void *user, const struct toolrack_tool *owner,
                     const struct toolrack_tool *other, const char *why);
    void *user;
};

/** Remove from a sorted change the tools that do not own their names; each gets a row, unless it
 * has the same row already.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int owners_resolve(struct change *change, const struct owner_rules *rules,
                   struct toolrack_refusals *refusals, struct toolrack_error *err);

/** For a change that registers all or nothing: set the error for the first new tool that does not
 * own its name. @return 0; TOOLRACK_E_EXISTS; TOOLRACK_E_NO_MEMORY. */
int owners_check(const struct change *change, const struct owner_rules *rules,
                 struct toolrack_error *err);

/** Write the rows about names of a sorted change that several plugins of one origin provide,
 * instead of those that there are. */
void owners_note_shared(const struct change *change, const struct owner_rules *rules,
                        struct toolrack_refusals *refusals);
