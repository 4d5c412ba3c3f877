/* plan-tool.h - a plan that the configuration makes a tool. */
#pragma once

#include "config/definition.h"
#include "plan/check.h"

/** Reads the plan and gives its inputs as parameters. Its tools need not be there yet: they are
 * checked when it is called, with the permissions that they have then. */
definition_make_plan plan_tool_make;

/** Gets what keeps a plan tool from being called.
 * @param name     of the tool
 * @param pointer  of what is to be changed in the configuration
 * @param cause    one line; borrowed, as all, until it returns */
typedef void plan_tools_problem(void *user, const char *name, const char *pointer,
                                const char *cause, const char *fix);

/** Find the plan tools of the configuration whose calls are refused whatever the arguments are:
 * plans that come round, and those that have less permission than a tool that they call. In the
 * order of the configuration.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int plan_tools_check(const struct toolrack *host, plan_tools_problem *take, void *user,
                     struct toolrack_error *err);

/** Find what is inside the tools of a plan that are plans themselves: what a person agrees to with
 * them. Their pins have it.
 * @param tools  complete as far as they were found
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int plan_tools_look_inside(struct plan_tools *tools, struct toolrack_error *err);
