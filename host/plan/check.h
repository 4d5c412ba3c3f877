/* check.h - what is wrong with a plan beside the tools that there are, before anything runs.
 *
 * Its tools must exist, be enabled and be permitted, and the arguments must fit their schemas as
 * far as they are known: a value that a run gives is known by the schema that says it. */
#pragma once

#include "plan/plan.h"
#include "registry/registry.h"
#include "toolrack/plan.h"

/** The tools of a checked plan, each a reference: those of the nodes in their order, and those of
 * the fallbacks, NULL where there is none. */
struct plan_tools {
    struct toolrack_tool **tools;
    struct toolrack_tool **fallbacks;
    uint32_t count;
};

/** Who looks its tools up by name. `find` NULL: the registry. */
struct plan_finder {
    struct registry *registry;
    bool has_commands; /* what to do is told as commands: a person at a shell reads it */
    toolrack_plan_find *find;
    void *user;
};

/** Check a plan.
 * @param problems  receives all that is wrong
 * @param ret       receives the tools, to be released by plan_tools_finish() also after a failure;
 *                  complete if no problem is an error
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int plan_check(const struct plan *plan, const struct plan_finder *finder, struct problems *problems,
               struct plan_tools *ret, struct toolrack_error *err);
void plan_tools_finish(struct plan_tools *tools);
