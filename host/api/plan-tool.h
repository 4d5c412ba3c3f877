/* plan-tool.h - a plan that the configuration makes a tool. */
#pragma once

#include "config/definition.h"
#include "plan/check.h"

/** Reads the plan and gives its inputs as parameters. Its tools need not be there yet: they are
 * checked when it is called, with the permissions that they have then. */
definition_make_plan plan_tool_make;

/** Find what is inside the tools of a plan that are plans themselves: what a person agrees to with
 * them. Their pins have it.
 * @param tools  complete as far as they were found
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int plan_tools_look_inside(struct plan_tools *tools, struct toolrack_error *err);
