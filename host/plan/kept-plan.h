/* kept-plan.h - a plan as it is kept, without the secrets (schema/secret.h) that its text has.
 *
 * Secret is what the text gives to a parameter that is marked, also by way of an item; a value in
 * place of a result that is marked; what a secret is compared with; the default of an input that is
 * marked. References are no secrets. */
#pragma once

#include "plan/run.h"

/** Of each node whether its result has secrets: its tool says so, or a value that may take its
 * place refers to one; to be released with free(). NULL: no memory. [any-thread] */
bool *kept_plan_secret_nodes(const struct plan *plan, const struct plan_tools *tools);

/** Whether a template refers to a secret input, or to the result of a secret node.
 * @param secret    of each node
 * @param template  NULL: it refers to nothing [any-thread] */
bool kept_plan_refers_to_secret(const struct plan *plan, const bool *secret, yyjson_val *template);

/** Write a plan as it is kept.
 * @param secret      of each node
 * @param ret_masked  set to true of each node of which something was masked, without which it
 *                    cannot be made
 * @return to be released with free(); NULL: no memory. [any-thread] */
char *kept_plan_write(const struct plan *plan, const struct plan_tools *tools, const bool *secret,
                      bool *ret_masked);
