/* plan-tool.h - a plan that the configuration makes a tool. */
#pragma once

#include "config/definition.h"

/** Reads the plan and gives its inputs as parameters. Its tools need not be there yet: they are
 * checked when it is called, with the permissions that they have then. */
definition_make_plan plan_tool_make;
