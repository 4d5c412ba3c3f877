/* answer-arguments.h - the arguments of a model's call, in the names of its definition and in those
 * of the tool. */
#pragma once

#include "api/answer-names.h"
#include "format/turn.h"

/** Call properties by their own names, and take arguments out of what the model wrapped them in:
 * where the tool does not take them as they are, and does take what is in the wrapper.
 * @param name           of the tool
 * @param ret_arguments  the arguments that the call has; another text, in the arena, if they are
 *                       changed */
void answer_arguments_mend(struct answer_names *names, const struct toolrack_call_options *options,
                           const struct format_call *call, struct toolrack_tool *tool,
                           const char *name, const char **ret_arguments);

/** Have the error of a call say the names of properties that its definition has.
 * @param name       of the tool
 * @param arguments  as they were mended */
void answer_arguments_explain(struct answer_names *names,
                              const struct toolrack_call_options *options,
                              const struct format_call *call, const char *name,
                              const char *arguments, struct toolrack_error *err);
