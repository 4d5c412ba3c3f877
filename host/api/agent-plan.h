/* agent-plan.h - a model that writes plans: it is offered one tool, run_plan, and told which tools
 * a plan may call. */
#pragma once

#include "api/agent-tools.h"
#include "base/buf.h"
#include "provider/outcome.h"

/** Read the tools, and append what the model is told of them after the system prompt of the app.
 * @return as agent_tools_read() */
int agent_plan_system(struct agent_tools *tools, struct buf *out, struct toolrack_error *err);

/** The definitions and the answer of struct agent_options (provider/agent.h), with the tools as
 * user. What is wrong with a plan, and why it failed, is a result for the model that is an error.
 */
int agent_plan_definitions(void *user, struct toolrack_text **ret, struct toolrack_error *err);
int agent_plan_answer(void *user, const char *message, size_t length,
                      const struct agent_watch *watch, struct toolrack_text **ret,
                      struct toolrack_error *err);
