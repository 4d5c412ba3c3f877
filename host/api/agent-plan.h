/* agent-plan.h - a model that writes plans: it is offered one tool, run_plan, and told which tools
 * a plan may call. */
#pragma once

#include "base/buf.h"
#include "toolrack/agent.h"

/** Append what the model is told of the tools, after the system prompt of the app (NULL: none). */
void agent_plan_system(struct toolrack *host, const char *system, struct buf *out);

/** The definitions and the answer of struct agent_options (provider/agent.h). What is wrong with a
 * plan, and why it failed, is a result for the model that is an error. */
int agent_plan_definitions(struct toolrack *host, enum toolrack_format format,
                           struct toolrack_text **ret, struct toolrack_error *err);
int agent_plan_answer(struct toolrack *host, const struct toolrack_agent_options *app,
                      const char *message, size_t length, struct toolrack_text **ret,
                      struct toolrack_error *err);
