/* check.h - what is wrong with a plan beside the tools that there are, before anything runs.
 *
 * Its tools must exist, be enabled and be permitted, and the arguments must fit their schemas as
 * far as they are known: a value that a run gives is known by the schema that says it. */
#pragma once

#include "plan/plan.h"
#include "registry/registry.h"
#include "toolrack/plan.h"

/** What is known of a tool that is a plan itself. */
struct plan_inside {
    char *calls; /* which tools it calls, and those that are plans in turn, in words; owned. NULL:
                  * it is no plan */
};

/** The tools of a checked plan, each a reference: those of the nodes in their order, and those of
 * the fallbacks, NULL where there is none. */
struct plan_tools {
    struct toolrack_tool **tools;
    struct toolrack_tool **fallbacks;
    struct plan_inside *inside; /* of each node, and then of its fallback; NULL: of none */
    uint32_t count;
};

/** What is inside a tool of a node; NULL: it is no plan. */
static inline const struct plan_inside *plan_tools_inside(const struct plan_tools *tools,
                                                          uint32_t node, bool is_fallback) {
    const struct plan_inside *inside =
            tools->inside != NULL ? &tools->inside[2u * node + is_fallback] : NULL;
    return inside != NULL && inside->calls != NULL ? inside : NULL;
}

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
